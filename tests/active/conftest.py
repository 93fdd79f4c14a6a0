"""Fixtures of the tests of active questions."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """Return a generator."""
    return np.random.default_rng(0)
