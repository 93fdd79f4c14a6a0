"""How well an embedding or a Gram matrix agrees with comparisons: errors, margins, calibration, scorers.

The error is the weighted share of negative margins gamma = y * (d2(far) - d2(near)). **A tie counts one half**:
counting it as satisfied rewards a method that leaves unseen objects at the origin. Margins of at most 1e-12 times the
sum of their two squared distances are ties up to rounding, and exactly zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.arrays import FloatArray, checked_points, refuse_nonfinite
from nearer._common.parameters import check_integer
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.labels import are_indices, format_label, read_answers, read_weights
from nearer.geometry import DimensionMatch as DimensionMatch
from nearer.geometry import match_dimensions as match_dimensions
from nearer.geometry import procrustes_error as procrustes_error
from nearer.optimize.problems.margins import (
    MarginMap,
    Ties,
    check_weights,
    clear_ties,
)
from nearer.optimize.problems.margins import error_from_margins as error_from_margins
from nearer.optimize.problems.margins import pair_distances as pair_distances
from nearer.optimize.problems.margins import soft_error as soft_error


class MarginStatistics(NamedTuple):
    """Weighted mean and variance of the margins, the two moments the margin distribution is judged by."""

    mean: float
    variance: float


def comparison_error(
    comparisons: Comparisons | ArrayLike,
    embedding: ArrayLike | None = None,
    *,
    gram: ArrayLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ties: Ties = "half",
) -> float:
    """Weighted share of comparisons with a negative margin, from 0 to 1.

    Parameters
    ----------
    comparisons : Comparisons or array of shape (m, 3) or (m, 4)
        Triplets or quadruplets.
    embedding : array of shape (n, p), optional
        Coordinates of the objects. Give this or ``gram``, not both.
    gram : array of shape (n, n), optional
        Gram matrix of the objects.
    y, sample_weight : array of shape (m,), optional
        Answers, +1 or -1, and weights, unless the comparisons have their own.
    ties : {"half", "satisfied"}
        Whether a tie counts one half, or nothing at all as in the paper.

    Examples
    --------
    >>> points = [[0.0], [1.0], [3.0]]
    >>> comparison_error([[0, 1, 2], [2, 0, 1]], points)
    0.5
    >>> comparison_error([[0, 1, 2]], [[0.0], [0.0], [0.0]])
    0.5
    >>> comparison_error([[0, 1, 2]], [[0.0], [0.0], [0.0]], ties="satisfied")
    0.0
    """
    gamma, judged = _margins(comparisons, embedding, gram, y, sample_weight)
    return error_from_margins(gamma, judged.sample_weight, ties=ties)


def margins(
    comparisons: Comparisons | ArrayLike,
    embedding: ArrayLike | None = None,
    *,
    gram: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> FloatArray:
    """Margins gamma = y * (d2(far) - d2(near)), (m,); exactly zero for ties up to rounding.

    Parameters
    ----------
    comparisons, embedding, gram, y
        As in `comparison_error`.

    Examples
    --------
    >>> margins([[0, 1, 2], [2, 0, 1]], [[0.0], [1.0], [3.0]])
    array([ 8., -5.])
    """
    gamma, _ = _margins(comparisons, embedding, gram, y, None)
    return gamma


def margin_statistics(
    comparisons: Comparisons | ArrayLike,
    embedding: ArrayLike | None = None,
    *,
    gram: ArrayLike | None = None,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> MarginStatistics:
    """Weighted mean and variance of the margins: the mean squared deviation, as the weights are taken to sum to one.

    Parameters
    ----------
    comparisons, embedding, gram, y, sample_weight
        As in `comparison_error`.

    Examples
    --------
    >>> margin_statistics([[0, 1, 2], [2, 1, 0]], [[0.0], [1.0], [3.0]])
    MarginStatistics(mean=6.5, variance=2.25)
    """
    gamma, judged = _margins(comparisons, embedding, gram, y, sample_weight)
    weights = check_weights(gamma, judged.sample_weight)
    mean = float(np.average(gamma, weights=weights))
    return MarginStatistics(mean, float(np.average((gamma - mean) ** 2, weights=weights)))


def _margins(
    comparisons: Comparisons | ArrayLike,
    embedding: ArrayLike | None,
    gram: ArrayLike | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[FloatArray, Comparisons]:
    if (embedding is None) == (gram is None):
        given = "neither" if embedding is None else "both"
        raise ValueError(f"give either an embedding (n, p) or gram=, a Gram matrix (n, n); got {given}")
    space = _checked_gram(gram) if gram is not None else checked_points(embedding, "embedding")
    n_objects = len(space)
    if isinstance(comparisons, Comparisons) and comparisons.n_objects > n_objects:
        raise ValueError(
            f"the comparisons are about {comparisons.n_objects} objects, but the "
            f"{'embedding' if gram is None else 'gram'} has {n_objects} rows; give one row for each object"
        )
    judged = as_comparisons(comparisons, y, sample_weight, n_objects=n_objects)
    if not isinstance(comparisons, Comparisons) and not are_indices(judged.objects):
        raise ValueError(
            f"the rows hold labels such as {format_label(judged.objects[0])}, but coordinates have no names; pass "
            "indices, or a Comparisons whose objects are in the order of the coordinates"
        )
    if gram is None:
        near_first, near_second, far_first, far_second = judged.oriented.T
        near = pair_distances(space, near_first, near_second)
        far = pair_distances(space, far_first, far_second)
    else:
        near, far = MarginMap.from_quadruplets(judged.oriented, n_objects).distances(space)
    return clear_ties(near, far), judged


def _checked_gram(gram: ArrayLike) -> FloatArray:
    array = np.asarray(gram, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"gram must have shape (n, n); got shape {array.shape}; coordinates are the second argument")
    refuse_nonfinite(array, "gram")
    if not np.allclose(array, array.T, rtol=0, atol=1e-8 * np.abs(array).max(initial=0.0)):
        raise ValueError("gram is not symmetric; if that is rounding, pass (gram + gram.T) / 2")
    return array


def accuracy_scorer(
    estimator: Any, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Score an estimator by its share of correct predictions, ties one half, for the ``scoring`` of scikit-learn.

    Pass this function, not ``scoring="accuracy"``: scorers that scikit-learn knows by name need a ``y``, and give nan
    without it; comparisons mostly have none, because the nearer pair is written first.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> triplets = sample_triplets(make_gaussian(8, 2, random_state=0), 150, random_state=1)
    >>> scorers = {"accuracy": accuracy_scorer, "neg_log_loss": neg_log_loss_scorer}
    >>> found = cross_validate(STE(2, random_state=0), triplets, scoring=scorers, cv=3)
    >>> bool(found["test_accuracy"].min() > 0.9), bool(found["test_neg_log_loss"].max() < 0)
    (True, True)
    """
    return float(estimator.score(X, y, sample_weight))


def neg_log_loss_scorer(
    estimator: Any, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Score an estimator by the mean log-probability of the answers, for the ``scoring`` of scikit-learn.

    Pass this function, not ``scoring="neg_log_loss"``, which needs a ``y``.

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> model = STE(1, random_state=0).fit([[0, 1, 2], [1, 0, 2]])
    >>> right = neg_log_loss_scorer(model, [[0, 1, 2]])
    >>> right < 0, neg_log_loss_scorer(model, [[0, 1, 2]], y=[-1]) < right
    (True, True)
    """
    comparisons = as_comparisons(X, y, sample_weight)
    probability = estimator.predict_proba(comparisons)[:, 1]
    if comparisons.answers is not None:
        probability = np.where(comparisons.answers > 0, probability, 1 - probability)
    smallest = np.finfo(np.float64).eps  # as scikit-learn's log_loss
    return float(np.average(np.log(np.maximum(probability, smallest)), weights=comparisons.sample_weight))


class ReliabilityCurve(NamedTuple):
    """Predictions in bins of equal width by their confidence, from 1/2 to 1.

    Attributes
    ----------
    weight : ndarray of shape (n_bins,)
        How many predictions are in a bin, or their total weight.
    confidence, right : ndarray of shape (n_bins,)
        Their mean confidence, and the share of them that was right; NaN in an empty bin.
    """

    weight: FloatArray
    confidence: FloatArray
    right: FloatArray

    @property
    def error(self) -> float:
        """The expected calibration error: the mean gap between confidence and share right."""
        seen = self.weight > 0
        return float(np.average(np.abs(self.confidence - self.right)[seen], weights=self.weight[seen]))


def reliability_curve(
    probability: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
) -> ReliabilityCurve:
    """Compare the confidence of predictions with the share of them that is right, in bins of equal width.

    For calibrated probabilities both are the same in every bin, up to noise. The confidence is the larger of the two
    probabilities, and a prediction of one half is half right.

    Parameters
    ----------
    probability : array of shape (m,)
        That the answer is +1: ``model.predict_proba(rows)[:, 1]``.
    y : array of {-1, +1} or bool, shape (m,), optional
        Answers; all +1 if left out.
    sample_weight : array of shape (m,), optional
        Non-negative, not all zero.
    n_bins : int

    Examples
    --------
    >>> curve = reliability_curve([0.9, 0.1, 0.9, 0.6], [1, -1, -1, 1], n_bins=2)
    >>> curve.confidence, curve.right.round(4)
    (array([0.6, 0.9]), array([1.    , 0.6667]))
    """
    chance = np.asarray(probability, dtype=np.float64)
    if chance.ndim != 1 or chance.size == 0:
        raise ValueError(
            f"probability must have shape (m,) with m >= 1, got shape {chance.shape}; of predict_proba take [:, 1]"
        )
    bad = ~((chance >= 0) & (chance <= 1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: probability is {chance[row]}, not from 0 to 1; pass probabilities, not margins")
    check_integer("n_bins", n_bins, 1)
    answers = np.ones(len(chance), np.int8) if y is None else read_answers(y, len(chance))
    weights = np.ones(len(chance)) if sample_weight is None else read_weights(sample_weight, len(chance))
    confidence = np.maximum(chance, 1 - chance)
    right = np.where(chance == 0.5, 0.5, (chance > 0.5) == (answers > 0))
    # Rounding up, not down: 1 - 0.1 and 0.9 are then in one bin whatever their last bits.
    place = np.clip(((confidence - 0.5) * 2 * n_bins + 1e-9).astype(int), 0, n_bins - 1)
    total, sure, hits = (np.bincount(place, weights * column, n_bins) for column in (1.0, confidence, right))
    seen = np.where(total > 0, total, np.nan)
    return ReliabilityCurve(total.astype(np.float64), sure / seen, hits / seen)


def expected_calibration_error(
    probability: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
) -> float:
    """Return the mean gap between confidence and share right over the bins of `reliability_curve`, from 0 to 1.

    With m predictions, even a calibrated method has about sqrt(n_bins / m) / 3.

    Examples
    --------
    >>> round(expected_calibration_error([0.8, 0.8, 0.8, 0.8], [1, -1, 1, -1]), 6)
    0.3
    """
    return reliability_curve(probability, y, sample_weight, n_bins).error
