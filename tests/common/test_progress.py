"""A warning points at the line that called into the package."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer.embedding import DMOE, GNMDS, SOE, STE, NonmetricMDS
from nearer.optimize import Factored

ROWS = np.random.default_rng(0).permuted(np.tile(np.arange(8), (60, 1)), axis=1)[:, :3]
SHORT = [
    STE(solver=Factored(max_iter=1)),
    SOE(solver=Factored(max_iter=1)),
    GNMDS(trace=2.0),
    DMOE(solver=Factored(max_iter=1)),
    NonmetricMDS(max_iter=1),
]


@pytest.mark.parametrize("model", SHORT, ids=lambda model: type(model).__name__)
def test_warnings_of_fits_point_at_the_caller(model):
    for call in (model.fit, model.partial_fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(ROWS)
        found = [each for each in caught if each.category is ConvergenceWarning]
        assert found
        assert {each.filename for each in found} == {__file__}
