import gc
import os
import signal

import pytest
from helpers import few
from helpers.browsing import browser, chromium  # noqa: F401 - fixtures
from helpers.clusters import client, cluster_of_session  # noqa: F401 - fixtures

# What a shell runs in the background ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Programs of their own, which tests run in a process where Triton was not imported before.
collect_ignore = ["helpers/interpreted_triton.py", "helpers/compiled_triton.py"]

# Other solvers of estimators that are in the suite with their own: the whole contract of these is for `make test-all`.
SLOW_VARIANTS = {"Posterior", "Posterior-variational", "MVTE-single", "DMOE-admm"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if item.path.name == "test_contract.py" and isinstance(name, str) and name in SLOW_VARIANTS:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Have garbage looked for among what tests make, and not in all that was collected."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["triplets", "quadruplets"])
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def forks():
    """Programs that run as forks of one process, which has loaded what they need."""
    if not hasattr(os, "fork"):
        pytest.skip("processes cannot be forked here")
    from helpers.forks import Forks

    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture(scope="module")
def one_start():
    """Fits from one start, for tests that would not see a fold in a map."""
    with pytest.MonkeyPatch.context() as patch:
        few.one_start(patch)
        yield


@pytest.fixture(scope="module")
def few_folds():
    """Findings of people by maps of few folds, for tests of what is done with findings."""
    with pytest.MonkeyPatch.context() as patch:
        few.few_folds(patch)
        yield


@pytest.fixture(scope="module")
def few_repeats():
    """Whole runs with few fits, for tests of what a run does with its parts."""
    with pytest.MonkeyPatch.context() as patch:
        few.few_repeats(patch)
        yield
