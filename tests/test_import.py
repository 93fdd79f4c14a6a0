import json
import os
import subprocess
import sys

import pytest

HEAVY = [
    "numba",
    "matplotlib",
    "pooch",
    "torch",
    "pandas",
    "polars",
    "narwhals",
    "pyarrow",
    "sphinx",
    "jinja2",
    "dask",
    "distributed",
    "PIL",
    "soundfile",
]
MODULES = [
    "nearer", "nearer.embedding", "nearer.datasets", "nearer.evaluation", "nearer.cli.main", "nearer.plotting",
    "nearer.io", "nearer.report", "nearer.checking", "nearer.design", "nearer.embedding.storage",
    "nearer.study",     "nearer.data", "nearer.embedding.clustering", "nearer.comparing",
    "nearer.features",
]  # fmt: skip
# scikit-learn itself loads pandas where it is installed. Each module is imported in a fork, so by a process that has
# loaded nothing else of ours.
CODE = f"""
import json, os, sys
import sklearn.base, sklearn.utils.validation
before = set(sys.modules)
for module in sys.argv[1:]:
    if len(sys.argv) > 2 and os.fork() > 0:
        assert os.wait()[1] == 0, module
        continue
    __import__(module)
    print(json.dumps([module, [name for name in {HEAVY!r} if name in set(sys.modules) - before]]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def loaded():
    """Return what is heavy of what each module loads."""
    starts = [MODULES] if hasattr(os, "fork") else [[module] for module in MODULES]
    runs = [[sys.executable, "-c", CODE, *modules] for modules in starts]
    done = [subprocess.run(run, capture_output=True, text=True, check=True).stdout for run in runs]
    return dict(json.loads(line) for line in "".join(done).splitlines())


@pytest.mark.parametrize("module", MODULES)
def test_import_loads_nothing_heavy(module, loaded):
    assert loaded[module] == []


def test_a_plan_of_nothing_is_refused_before_anything_heavy_is_loaded():
    code = "import sys; from nearer.cli.main import main; assert main(['plan']) == 2; "
    code += "print([name for name in sys.argv[1:] if name in sys.modules])"
    run = [sys.executable, "-c", code, "numpy", "scipy", "sklearn", "numba"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_server_of_a_survey_loads_neither_scipy_nor_what_fits_maps():
    """A small machine serves a thousand people; maps are fitted in another process."""
    code = "import sys, nearer.survey.server; print([name for name in sys.argv[1:] if name in sys.modules])"
    run = [sys.executable, "-c", code, "scipy", "sklearn", "numba", "pandas", "pyarrow", "matplotlib"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"
