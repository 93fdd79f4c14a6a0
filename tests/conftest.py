import pytest

from nearer.evaluation.bootstrap import bootstrap
from nearer.evaluation.learning_curve import learning_curve


@pytest.fixture(params=["triplets", "quadruplets"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def few_repeats():
    """Whole runs with few fits, for tests of what a run does with its parts: ellipses and curves need not be right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bootstrap.__kwdefaults__, "n_simulations", 5)  # of 60
        patch.setitem(learning_curve.__kwdefaults__, "n_repeats", 2)  # of 5
        yield
