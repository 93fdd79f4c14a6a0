"""scikit-learn's own checks.

Those that look at parameters alone run on every estimator. Those that fit a random matrix of features run on a thin
adapter, which reads each row of features as the name of one triplet, over the common base (STE) and the two estimators
that clone or predict in a way of their own. What they ask of a fit, the contract asks of all estimators.
"""

import itertools
import zlib

import numpy as np
import pytest
from helpers.estimators import quicker
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from nearer import Comparisons, embedding

TRIPLETS = np.array(list(itertools.permutations(range(6), 3)))
OF_PARAMETERS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("name", OF_PARAMETERS)
def test_parameters_of_all_estimators(name):
    for estimator in embedding.__all__:
        getattr(estimator_checks, name)(estimator, getattr(embedding, estimator)())


class ReadsFeatures:
    """Reads each row of features as the name of one triplet; equal rows are equal triplets."""

    # A column here is one of features; and the rows of the map are objects, which is no output for rows of features.
    n_features_in_ = property(lambda self: self.width_, lambda self, width: setattr(self, "width_", width))
    transform = property()

    def _rows(self, X, fit=False):
        if isinstance(X, Comparisons):  # read already, and handed on to another method
            return X
        X = np.ascontiguousarray(validate_data(self, X, reset=fit, dtype=np.float64))
        rows = TRIPLETS[[zlib.crc32(row.tobytes()) % len(TRIPLETS) for row in X]]
        return Comparisons.from_triplets(rows, n_objects=6)

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(self._rows(X, fit=True), sample_weight=sample_weight)

    def partial_fit(self, X, y=None, sample_weight=None):
        first = not hasattr(self, "embedding_")
        return super().partial_fit(self._rows(X, fit=first), sample_weight=sample_weight)

    def decision_function(self, X):
        return super().decision_function(self._rows(X))

    def predict_proba(self, X):
        return super().predict_proba(self._rows(X))

    def score(self, X, y=None, sample_weight=None):
        return super().score(self._rows(X), sample_weight=sample_weight)


def adapted(name):
    estimator = quicker(name)
    method = type(estimator)
    # Pickling looks the class up by name, and cloning its signature.
    adapter = type(f"{method.__name__}OfFeatures", (ReadsFeatures, method), {"__init__": method.__init__})
    globals()[adapter.__name__], adapter.__module__ = adapter, __name__
    return adapter(**estimator.get_params() | {"n_objects": 6})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([adapted("STE")])
def test_fits_to_features_on_an_adapter(estimator, check):
    assert_passes(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([adapted(name) for name in ("DMOE", "Posterior")])
def test_fits_to_features_on_other_adapters(estimator, check):
    assert_passes(estimator, check)


def assert_passes(estimator, check):
    before = repr(estimator.get_params())
    check(estimator)
    assert repr(estimator.get_params()) == before
