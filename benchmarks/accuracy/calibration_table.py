"""Whether probabilities mean what they say, kept so that records of many trials can be pooled.

The curve of one trial is that of `nearer.evaluation.reliability_curve`, in 15 bins. A record keeps the sums behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.schema_checks import list_of, number, refuse
from nearer.evaluation.metrics import ReliabilityCurve, reliability_curve

N_BINS = 15
Counts = list[list[float]]


def reliability(probability: NDArray[np.float64], answers: NDArray[np.int8]) -> Counts:
    """Count predictions by their confidence.

    Parameters
    ----------
    probability : array of shape (m,)
        That the answer is +1.
    answers : array of {-1, +1}, shape (m,)

    Returns
    -------
    list of 3 lists of length 15
        For each bin: predictions, the sum of their confidences, and how many were right (of a confidence of exactly
        one half, half).

    Examples
    --------
    >>> counts = reliability(np.array([0.9, 0.1, 0.9]), np.array([1, -1, -1], dtype=np.int8))
    >>> [row[12] for row in counts]
    [3.0, 2.7, 2.0]
    """
    curve = reliability_curve(probability, answers, n_bins=N_BINS)
    means = (np.ones(N_BINS), curve.confidence, curve.right)
    return [np.nan_to_num(curve.weight * mean).round(6).tolist() for mean in means]


def check_counts(value: Any, place: str) -> None:
    """Want what `reliability` returns, of at least one prediction."""
    list_of(list_of(number(0)), least=3)(value, place)
    if [len(row) for row in value] != [N_BINS] * 3 or not sum(value[0]) > 0:
        refuse(place, f"three lists of {N_BINS} counts that are not all 0", value)


def curve_of(counts: Counts) -> ReliabilityCurve:
    """Return the curve that counts belong to.

    Examples
    --------
    >>> curve_of([[2.0, 0.0], [1.2, 0.0], [1.0, 0.0]]).confidence
    array([0.6, nan])
    """
    number, confidence, right = np.asarray(counts)
    seen = np.where(number > 0, number, np.nan)
    return ReliabilityCurve(number, confidence / seen, right / seen)


def expected_calibration_error(counts: Counts) -> float:
    """Return the mean gap between confidence and share of right predictions.

    Examples
    --------
    >>> expected_calibration_error(reliability(np.array([0.8, 0.8]), np.array([1, -1], dtype=np.int8)))
    0.3
    """
    return round(curve_of(counts).error, 9)


def pooled(many: Sequence[Counts]) -> Counts:
    """Return the counts of several records together, each record with the same weight.

    Examples
    --------
    >>> pooled([[[1.0], [0.8], [1.0]], [[9.0], [9.0], [0.0]]])
    [[2.0], [1.8], [1.0]]
    """
    shares = [np.asarray(counts) / np.sum(counts[0]) for counts in many]
    return [list(map(float, row)) for row in np.sum(shares, axis=0)]


def log_loss(probability: NDArray[np.float64], answers: NDArray[np.int8]) -> float:
    """Return the mean negative logarithm of the probability of what was answered; 0 and 1 count as the next float.

    Examples
    --------
    >>> round(log_loss(np.array([0.5, 0.5]), np.array([1, -1], dtype=np.int8)), 4)
    0.6931
    """
    tiny = np.finfo(np.float64).eps
    chance = np.where(answers > 0, probability, 1 - probability).clip(tiny, 1 - tiny)
    return float(-np.log(chance).mean())
