"""Fixtures of the tests of active questions."""

import numpy as np
import pytest

from nearer.design.active import posterior
from nearer.sampling import Microcanonical


@pytest.fixture
def rng():
    """Return a generator."""
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def quick():
    """Let the posteriors of a module be rough: enough to see that questions are chosen."""
    begin = Microcanonical(n_chains=2, n_warmup=100, n_steps=400, thin=10, n_starts=2, n_climb=15)
    on = Microcanonical(n_chains=4, n_warmup=100, n_steps=100, thin=10, tolerance=1e-9, n_starts=1, n_climb=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "INITIAL_SETTINGS", begin)
        patch.setattr(posterior, "REFRESH_SETTINGS", on)
        yield
