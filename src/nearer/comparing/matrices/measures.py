r"""How alike two lists of distances are: four correlations, each over the same pairs of objects.

Comparisons fix the order of distances much better than their sizes, so that measures of order come first:

- **Spearman**: the correlation of ranks.
- **Kendall's tau-b**: with C and D the numbers of pairs of pairs that both lists order alike and the other way round,
  n0 that of all of them, and n1 and n2 those tied in the one and in the other list,
  (C - D) / sqrt((n0 - n1) (n0 - n2)).
- **Kendall's tau-a**: (C - D) / n0. A model that predicts many equal distances is not paid for leaving them open, so
  that it can be set beside a model that orders everything (Nili et al. 2014).
- **Pearson**: the correlation of the distances themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.stats import kendalltau, rankdata

from nearer._common.arrays import FloatArray

Measure: TypeAlias = Literal["spearman", "kendall", "tau-a", "pearson"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
#: As people write them.
NAMES: dict[Measure, str] = {
    "spearman": "Spearman's correlation",
    "kendall": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "pearson": "Pearson's correlation",
}


def pearson(first: FloatArray, second: FloatArray) -> float:
    """Return Pearson's correlation; 0 where all values of a list are the same.

    Examples
    --------
    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 6)
    1.0
    """
    one, other = unit_length(first), unit_length(second)
    return float(np.clip(one @ other, -1.0, 1.0))


def unit_length(values: FloatArray) -> FloatArray:
    """Return values centred and of length 1, whose products are correlations; zeros where all are the same."""
    centred: FloatArray = values - values.mean()
    length = float(np.linalg.norm(centred))
    # What rounding leaves of equal values is no variation.
    alike = length <= 1e-12 * float(np.abs(values).max(initial=0.0)) * np.sqrt(len(values))
    return np.zeros_like(centred) if alike else centred / length


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's correlation.

    Examples
    --------
    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 9.0, 4.0])), 6)
    0.5
    """
    return pearson(rankdata(first), rankdata(second))


def kendall(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b.

    Examples
    --------
    >>> round(kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 9.0, 4.0])), 6)
    0.333333
    """
    found = float(kendalltau(first, second, variant="b").statistic)
    return 0.0 if np.isnan(found) else found


def tau_a(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-a.

    Examples
    --------
    >>> round(tau_a(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 4.0])), 6)
    0.666667
    """
    return kendall(first, second) * float(np.sqrt((1 - tied(first)) * (1 - tied(second))))


def tied(values: FloatArray) -> float:
    """Return the share of pairs of values that are equal.

    Examples
    --------
    >>> round(tied(np.array([1.0, 1.0, 4.0])), 6)
    0.333333
    """
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    n = len(values)
    return float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))


FUNCTIONS: dict[Measure, Callable[[FloatArray, FloatArray], float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "tau-a": tau_a,
    "pearson": pearson,
}


def measure_of(name: str) -> Callable[[FloatArray, FloatArray], float]:
    """Return the function that measures so, or say which there are.

    Examples
    --------
    >>> measure_of("cosine")
    Traceback (most recent call last):
    ValueError: measure 'cosine' is not known; choose one of spearman, kendall, tau-a, pearson
    """
    if name not in FUNCTIONS:
        raise ValueError(f"measure {name!r} is not known; choose one of {', '.join(MEASURES)}")
    return FUNCTIONS[name]
