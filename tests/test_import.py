import subprocess
import sys

import pytest

HEAVY = ["numba", "matplotlib", "pooch", "torch", "pandas", "polars", "narwhals", "pyarrow", "sphinx", "jinja2"]


@pytest.mark.parametrize(
    "module",
    [
        "nearer", "nearer.embedding", "nearer.datasets", "nearer.metrics", "nearer.cli.main", "nearer.plotting",
        "nearer.formats", "nearer.report", "nearer.checking", "nearer.planning", "nearer.storage", "nearer.runs",
        "nearer.graphs",
    ],
)  # fmt: skip
def test_import_loads_nothing_heavy(module):
    # scikit-learn itself loads pandas where it is installed.
    code = (
        f"import sys, sklearn.base, sklearn.utils.validation; before = set(sys.modules); import {module}; "
        f"print([name for name in {HEAVY!r} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
