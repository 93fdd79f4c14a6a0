"""scikit-learn's own checks.

Most of them feed a random matrix of features, which names no objects, so the plain estimator refuses it and they are
excluded by name. They run all the same on an adapter that reads each row of features as the name of one triplet.
An excluded check that passes fails the suite (xfail_strict), so that the list stays true.
"""

import itertools
import zlib

import numpy as np
import pytest
from helpers.estimators import quicker
from sklearn.utils.estimator_checks import (
    check_methods_sample_order_invariance,
    check_methods_subset_invariance,
    parametrize_with_checks,
)
from sklearn.utils.validation import check_array

from nearer import Comparisons

NEEDS_COMPARISONS = "feeds a matrix of features; a row here must name three or four objects. Run on the adapter."
EXCLUDED = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ],
    NEEDS_COMPARISONS,
)
ANY_WIDTH = "triplets and quadruplets are accepted alike, whichever were fitted"
OWN_WIDTH = {
    "check_n_features_in": "the number of columns is that of triplets, not of features; see test_transform",
    "check_n_features_in_after_fitting": ANY_WIDTH,
}
# Their predictions are checked without the map.
ROWS_ARE_OBJECTS = dict.fromkeys(
    [
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
    ],
    "expects a row of the map for each row of X; it has one for each object. See test_transform",
)
# They expect a refusal of whatever is sparse, or a fit to it as features.
READS_GRAPHS = dict.fromkeys(
    [
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_sample_weight_equivalence_on_sparse_data",  # only in scikit-learn 1.6
    ],
    "a sparse matrix is the adjacency matrix of a graph",
)
# Weights and repeated rows are the same problem, but not always the same minimum of it, or the same folds.
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
FINDS_ANOTHER_MINIMUM = {
    "MVTEOfFeatures": {WEIGHTS: "expectation maximization from random maps enlarges the rounding of sums"},
    "BestOfOfFeatures": {WEIGHTS: "the check shuffles rows, and folds are dealt out in the order in which they appear"},
    "NonmetricMDSOfFeatures": {WEIGHTS: "random starts are dealt out in the order in which objects appear"},
}
NAMES = "DMOE GNMDS SOE STE TSTE CKL Posterior BestOf LOE LORE FORTE SPE MVTE NonmetricMDS"
CLASSES = [quicker(name) for name in NAMES.split()]  # what the checks ask does not depend on how long a fit takes
TRIPLETS = np.array(list(itertools.permutations(range(6), 3)))


class ReadsFeatures:
    """Reads each row of features as the name of one triplet; equal rows are equal triplets."""

    def _rows(self, X):
        if isinstance(X, Comparisons):  # `score` reads rows once, and hands them on
            return X
        X = np.ascontiguousarray(check_array(X, dtype=np.float64))
        return TRIPLETS[[zlib.crc32(row.tobytes()) % len(TRIPLETS) for row in X]]

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(self._rows(X), sample_weight=sample_weight)

    def partial_fit(self, X, y=None, sample_weight=None):
        return super().partial_fit(self._rows(X), sample_weight=sample_weight)

    def fit_transform(self, X, y=None, sample_weight=None):
        return super().fit_transform(X, sample_weight=sample_weight)

    def transform(self, X):
        return super().transform(self._rows(X))

    def decision_function(self, X):
        return super().decision_function(self._rows(X))

    def predict_proba(self, X):
        return super().predict_proba(self._rows(X))

    def score(self, X, y=None, sample_weight=None):
        return super().score(self._rows(X), sample_weight=sample_weight)


def adapted(estimator, *more):
    method = type(estimator)
    name = f"{method.__name__}OfFeatures" + "".join(each.__name__ for each in more)
    # Pickling looks the class up by name, and cloning its signature.
    adapter = globals().setdefault(name, type(name, (*more, ReadsFeatures, method), {"__init__": method.__init__}))
    adapter.__module__ = __name__
    return adapter(**estimator.get_params() | {"n_objects": 6})


def excluded(estimator):
    graphs = READS_GRAPHS if hasattr(estimator, "fit_graph") else {}
    # It fits only what has a max_iter.
    iterations = {"check_transformer_n_iter": NEEDS_COMPARISONS} if hasattr(estimator, "max_iter") else {}
    return EXCLUDED | OWN_WIDTH | graphs | iterations


@parametrize_with_checks(CLASSES, expected_failed_checks=excluded)
def test_estimator_checks(estimator, check):
    before = repr(estimator.get_params())
    check(estimator)
    assert repr(estimator.get_params()) == before


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [adapted(estimator) for estimator in CLASSES],
    expected_failed_checks=lambda estimator: (
        OWN_WIDTH | ROWS_ARE_OBJECTS | FINDS_ANOTHER_MINIMUM.get(type(estimator).__name__, {})
    ),
)
def test_estimator_checks_on_the_adapter(estimator, check):
    before = repr(estimator.get_params())
    check(estimator)
    assert repr(estimator.get_params()) == before


class WithoutMap:
    """Hides `transform`, for checks that ask it for a row for each row of X, of all that predict in that way."""

    @property
    def transform(self):
        raise AttributeError("hidden")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("check", [check_methods_sample_order_invariance, check_methods_subset_invariance])
@pytest.mark.parametrize("estimator", CLASSES, ids=lambda estimator: type(estimator).__name__)
def test_predictions_depend_on_their_own_row_alone(estimator, check):
    predictor = adapted(estimator, WithoutMap)
    assert not hasattr(predictor, "transform")
    assert hasattr(predictor, "predict_proba")
    check(type(predictor).__name__, predictor)
