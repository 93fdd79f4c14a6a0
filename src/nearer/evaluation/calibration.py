"""Whether probabilities mean what they say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.parameters import check_integer
from nearer.data.labels import read_answers, read_weights


class ReliabilityCurve(NamedTuple):
    """Predictions in bins of equal width by their confidence, from 1/2 to 1.

    Attributes
    ----------
    weight : ndarray of shape (n_bins,)
        How many predictions are in a bin, or their total weight.
    confidence : ndarray of shape (n_bins,)
        Their mean confidence; NaN in an empty bin.
    right : ndarray of shape (n_bins,)
        The share of them that was right; NaN in an empty bin.

    Examples
    --------
    >>> round(ReliabilityCurve(np.array([3.0, 1.0]), np.array([0.6, 0.9]), np.array([0.6, 0.5])).error, 6)
    0.1
    """

    weight: NDArray[np.float64]
    confidence: NDArray[np.float64]
    right: NDArray[np.float64]

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
    """Compare how sure predictions are with how often they are right.

    A prediction has a confidence, the larger of its two probabilities, and is right if the answer is the one with this
    probability; at exactly one half it is half right. Which way round a row is written therefore changes nothing, and
    rows that all read +1 are judged as well as others. If probabilities mean what they say, the share right in a bin is
    its mean confidence.

    Parameters
    ----------
    probability : array of shape (m,)
        That the answer is +1: ``model.predict_proba(rows)[:, 1]``.
    y : array of {-1, +1} or bool, shape (m,), optional
        Answers; all +1 if left out.
    sample_weight : array of shape (m,), optional
        Non-negative, not all zero.
    n_bins : int

    Returns
    -------
    ReliabilityCurve

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
    """Return the mean gap between how sure predictions are and how often they are right, over bins of confidence.

    Parameters
    ----------
    probability, y, sample_weight, n_bins
        As in `reliability_curve`.

    Returns
    -------
    float
        Between 0 and 1. With m predictions, even a calibrated method has about sqrt(n_bins / m) / 3.

    Examples
    --------
    >>> round(expected_calibration_error([0.8, 0.8, 0.8, 0.8], [1, -1, 1, -1]), 6)
    0.3
    """
    return reliability_curve(probability, y, sample_weight, n_bins).error
