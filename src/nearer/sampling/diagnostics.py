"""Whether chains agree, and how much their draws are worth.

Both figures are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): chains are split in halves, and draws
replaced by normal scores of their ranks, so that heavy tails do no harm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray

WORST_RHAT = 1.1
LEAST_EFFECTIVE = 25


class Diagnosis(NamedTuple):
    """How one quantity was sampled.

    Attributes
    ----------
    rhat : float
        1 if the chains agree with each other; above 1.05 or so they have not seen the same posterior yet.
    effective : float
        The number of independent draws that would know the mean as well.
    """

    rhat: float
    effective: float


def diagnose(draws: FloatArray) -> Diagnosis:
    """Return R-hat and the effective number of draws of one quantity.

    Parameters
    ----------
    draws : ndarray, shape (chains, draws)

    Examples
    --------
    >>> independent = np.random.default_rng(0).normal(size=(4, 500))
    >>> diagnosis = diagnose(independent)
    >>> bool(abs(diagnosis.rhat - 1) < 0.01), bool(1500 < diagnosis.effective < 2500)
    (True, True)
    >>> bool(diagnose(independent + [[0], [0], [0], [5]]).rhat > 1.5)
    True
    """
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
    if half < 2 or np.ptp(halves) == 0:
        return Diagnosis(float("nan"), float("nan"))
    scores = _scores(halves)
    spread = _scores(np.abs(halves - np.median(halves)))
    return Diagnosis(max(_rhat(scores), _rhat(spread)), _effective(scores))


def _scores(values: FloatArray) -> FloatArray:
    ranks = rankdata(values).reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (values.size + 0.25)))


def _rhat(values: FloatArray) -> float:
    within = values.var(axis=1, ddof=1).mean()
    between = values.mean(axis=1).var(ddof=1)
    length = values.shape[1]
    return float(np.sqrt((length - 1) / length + between / within)) if within > 0 else float("nan")


def _effective(values: FloatArray) -> float:
    chains, length = values.shape
    centred = values - values.mean(axis=1, keepdims=True)
    transformed = rfft(centred, next_fast_len(2 * length), axis=1)
    covariance = irfft(np.abs(transformed) ** 2, axis=1)[:, :length].mean(axis=0) / length
    within = covariance[0] * length / (length - 1)
    total = within * (length - 1) / length + values.mean(axis=1).var(ddof=1)
    correlation = 1 - (within - covariance) / total
    correlation[0] = 1
    # Sums of neighbours are positive and fall for a reversible chain; noise ends both (Geyer 1992).
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: ends[0] if len(ends) else len(pairs)])
    time = max(2 * pairs.sum() - 1, 1 / np.log10(chains * length))
    return float(chains * length / time)
