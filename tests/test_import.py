import subprocess
import sys

import pytest

HEAVY = ["numba", "matplotlib", "pooch", "torch", "pandas"]


@pytest.mark.parametrize(
    "module", ["nearer", "nearer.embedding", "nearer.datasets", "nearer.metrics", "nearer.cli", "nearer.plotting"]
)
def test_import_loads_nothing_heavy(module):
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
