import pytest
from helpers import few


@pytest.fixture(params=["triplets", "quadruplets"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def one_start():
    """Fits from one start, for tests that would not see a fold in a map."""
    with pytest.MonkeyPatch.context() as patch:
        few.one_start(patch)
        yield


@pytest.fixture(scope="module")
def few_repeats():
    """Whole runs with few fits, for tests of what a run does with its parts."""
    with pytest.MonkeyPatch.context() as patch:
        few.few_repeats(patch)
        yield
