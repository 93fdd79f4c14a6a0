import subprocess
import sys

HEAVY = [
    "numba",
    "matplotlib",
    "pooch",
    "requests",
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
# scikit-learn itself loads pandas where it is installed.
CODE = f"""
import sys
import sklearn.base, sklearn.utils.validation
before = set(sys.modules)
for module in sys.argv[1:]:
    __import__(module)
    heavy = [name for name in {HEAVY!r} if name in set(sys.modules) - before]
    assert not heavy, (module, heavy)
"""


def test_imports_load_nothing_heavy():
    """Together they load nothing heavy, and so none of them does."""
    done = subprocess.run([sys.executable, "-c", CODE, *MODULES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
