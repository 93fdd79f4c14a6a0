"""Summaries of draws: convergence of the chains, predictive probabilities, one map with its uncertainty, dimensions.

R-hat and the effective number of draws are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): chains are
split in halves, and draws replaced by normal scores of their ranks, so that heavy tails do no harm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray
from nearer.geometry import align, rotation
from nearer.sampling.chains import ConditionalMoves
from nearer.sampling.model import Draws

MAX_RHAT = 1.1
MIN_EFFECTIVE_DRAWS = 25
MAX_PAIRS = 2000  # whose distances are diagnosed where they have to converge
_TAILS = (0.05, 0.95)
_ALIGNMENT_ROUNDS = 5
_MIN_VARIANCE_RATIO = 2.0  # between objects over between draws, of an axis that is resolved
_MIN_RELATIVE_VARIANCE = 0.15  # of an axis that counts, over the mean variance of the axes before it
# Two positions of an object: deviations between their means, distance in sizes of the map, share of the rarer one.
_MIN_SEPARATION, _MIN_DISTANCE, _MIN_SHARE = 5.0, 0.5, 0.1
_MIN_BIMODAL_DRAWS = 40


class Diagnosis(NamedTuple):
    """Convergence of one quantity, or of several.

    Attributes
    ----------
    rhat : float or ndarray
        1 if the chains agree; above 1.05 or so they have not explored the same posterior yet.
    effective : float or ndarray
        The number of independent draws that would determine the mean as precisely (bulk effective sample size).
    tail : float or ndarray
        The same for the 5% and 95% quantiles, the smaller of both (tail effective sample size).
    """

    rhat: Any
    effective: Any
    tail: Any = float("nan")

    @property
    def worst(self) -> Diagnosis:
        """The largest R-hat and the smallest numbers of draws; infinite and 0 where one is not known."""
        rhat, *sizes = (np.ravel(each) for each in self)
        smallest = (float(np.nan_to_num(each, nan=0.0).min(initial=np.inf)) for each in sizes)
        return Diagnosis(float(np.nan_to_num(rhat, nan=np.inf).max(initial=1.0)), *smallest)


def diagnose(draws: FloatArray) -> Diagnosis:
    """Return R-hat and the effective numbers of draws of one quantity, or of several at once.

    Parameters
    ----------
    draws : ndarray, shape (chains, draws) or (..., chains, draws)

    Examples
    --------
    >>> bool(abs(diagnose(np.random.default_rng(0).normal(size=(4, 500))).rhat - 1) < 0.01)
    True
    """
    half = draws.shape[-1] // 2
    halves = np.concatenate([draws[..., :half], draws[..., draws.shape[-1] - half :]], axis=-2)
    if half < 2:
        return Diagnosis(*np.full((3, *halves.shape[:-2]), np.nan)) if draws.ndim > 2 else Diagnosis(*[np.nan] * 3)
    scores = _scores(halves)
    spread = _scores(np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True)))
    tails = np.quantile(draws, _TAILS, axis=(-2, -1), keepdims=True)
    tail = np.minimum(*(_effective((halves <= each).astype(np.float64)) for each in tails))
    found = np.array([np.maximum(_rhat(scores), _rhat(spread)), _effective(scores), tail])
    found[:, np.ptp(halves, axis=(-2, -1)) == 0] = np.nan
    return Diagnosis(*(found if draws.ndim > 2 else found.tolist()))


def _scores(values: FloatArray) -> FloatArray:
    """Return the normal scores of the ranks of the values of each quantity, (..., chains, draws)."""
    ranks = rankdata(values.reshape(*values.shape[:-2], -1), axis=-1).reshape(values.shape)
    return np.asarray(ndtri((ranks - 0.375) / (np.prod(values.shape[-2:]) + 0.25)))


def _rhat(values: FloatArray) -> FloatArray:
    within = values.var(axis=-1, ddof=1).mean(axis=-1)
    between = values.mean(axis=-1).var(axis=-1, ddof=1)
    length = values.shape[-1]
    ratio = np.divide(between, within, out=np.full_like(within, np.nan), where=within > 0)
    return np.asarray(np.sqrt((length - 1) / length + ratio))


def _effective(values: FloatArray) -> FloatArray:
    """Return the number of draws over the integrated autocorrelation time, by Geyer's initial monotone sequence."""
    chains, length = values.shape[-2:]
    centered = values - values.mean(axis=-1, keepdims=True)
    transformed = rfft(centered, next_fast_len(2 * length), axis=-1)
    covariance = irfft(np.abs(transformed) ** 2, axis=-1)[..., :length].mean(axis=-2) / length
    within = covariance[..., :1] * length / (length - 1)
    total = within * (length - 1) / length + values.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    correlation = 1 - np.divide(within - covariance, total, out=np.ones_like(covariance), where=total > 0)
    correlation[..., 0] = 1
    # Sums of adjacent pairs are positive and fall for a reversible chain, up to noise (Geyer 1992).
    pairs = correlation[..., : length // 2 * 2].reshape(*correlation.shape[:-1], -1, 2)
    sums = pairs.sum(axis=-1)
    sums[..., max((length - 3) // 2, 0) :] = -1.0  # the last correlations are those of a few draws
    end = (sums <= 0).argmax(axis=-1)[..., None]
    kept = np.where(np.arange(sums.shape[-1]) < end, np.minimum.accumulate(sums, axis=-1), 0.0).sum(axis=-1)
    # Half a pair more: what is left of the correlation where the sequence ends.
    rest = np.take_along_axis(pairs[..., 0], end, axis=-1)[..., 0]
    time = 2 * kept - 1 + np.maximum(rest, 0.0)
    return np.asarray(chains * length / np.maximum(time, 1 / np.log10(chains * length)))


def pairs_of(n_objects: int, most: int) -> NDArray[np.integer]:
    """Return all pairs of objects, or so many at random if there are more, (k, 2)."""
    if n_objects * (n_objects - 1) // 2 <= most:
        return np.column_stack(np.triu_indices(n_objects, 1))
    drawn = np.random.default_rng(0).integers(n_objects, size=(most, 2))
    return np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)


def relative_distances(points: FloatArray, pairs: NDArray[np.integer]) -> FloatArray:
    """Return the distances of pairs in each draw over the size of its map, which is left open, (k, pairs)."""
    sizes = points.var(axis=1).sum(axis=1, keepdims=True)
    squares = np.stack([((points[:, i] - points[:, j]) ** 2).sum(axis=1) for i, j in pairs], axis=1)
    return np.asarray(np.sqrt(squares / sizes))


def predictive_probability(draws: Draws, rows: NDArray[np.integer], n_threads: int | None = None) -> FloatArray:
    """Return the mean probability over draws that each row, (m, 3) or (m, 4), is answered as written."""
    from nearer.optimize.kernels import compiling, posterior

    objects = np.ascontiguousarray(rows, dtype=np.int32)
    probabilities = np.empty(len(objects))
    bounds = compiling.block_bounds(len(objects), 0)

    def block(number: int) -> None:
        posterior.predict(*draws, objects, bounds[number], bounds[number + 1], probabilities)

    compiling.run_blocks(block, len(bounds) - 1, n_threads)
    return probabilities


def _centered(draws: Draws) -> FloatArray:
    return draws.points - draws.points.mean(axis=1, keepdims=True)


class Summary(NamedTuple):
    """One map for all draws, and the mean squares of their deviations from it once aligned."""

    embedding: FloatArray  # (n, q): centered, axes in order of falling variance, as large as the draws are
    covariances: FloatArray  # (n, q, q)


def mean_map(draws: Draws) -> FloatArray:
    """Return the mean of the draws after rotating each onto it (generalized Procrustes), (n, p)."""
    centered = _centered(draws)
    mean = centered[-1]
    for _ in range(_ALIGNMENT_ROUNDS):
        mean = (centered @ rotation(centered, mean)[0]).mean(axis=0)
    return mean


def align_draws(
    draws: Draws,
    embedding: FloatArray,
    seen: NDArray[np.integer] | None = None,
    conditional: ConditionalMoves | None = None,
) -> Summary:
    """Return a map as large as the draws, and their deviations from it after aligning each by the objects ``seen``.

    The covariance of what is ``conditional`` is known, and taken in place of that of the draws (Rao-Blackwell): an
    ellipsoid of the covariance of 60 draws holds the truth less often than it says.
    """
    # Comparisons do not fix the scale: if it were left in, ellipses of 50% would hold 60 to 70% of the objects.
    rotated = align(draws.points, embedding, scaling=False, seen=seen).mean(axis=0)
    chosen = slice(None) if seen is None else seen
    size = float(np.vdot(embedding[chosen], embedding[chosen]))
    embedding = embedding * (np.vdot(rotated[chosen], embedding[chosen]) / size if size > 0 else 0.0)
    aligned = align(draws.points, embedding, seen=seen)
    deviations = aligned - embedding
    if conditional is not None:
        points, onto = draws.points[:, chosen], aligned[:, chosen]
        turns = np.linalg.pinv(points - points.mean(axis=1, keepdims=True)) @ (onto - onto.mean(axis=1, keepdims=True))
        deviations[:, chosen] -= conditional.moves @ turns
    covariances = np.einsum("kip,kiq->ipq", deviations, deviations) / len(deviations)
    if conditional is not None:
        turn = turns.mean(axis=0)
        covariances[chosen] += turn.T @ conditional.covariances @ turn
    return Summary(embedding, covariances)


def dimension_shares(draws: Draws) -> FloatArray:
    """Return the share of draws that have 1, 2, ... dimensions, (p,)."""
    # The model shrinks an axis that is not needed to a hundredth and less; the least one that is needed has about half
    # the variance of the others.
    centered = _centered(draws)
    variances = np.linalg.eigvalsh(np.swapaxes(centered, 1, 2) @ centered)[:, ::-1]
    before = np.cumsum(variances, axis=1) / np.arange(1, variances.shape[1] + 1)
    counts = np.cumprod(variances[:, 1:] >= _MIN_RELATIVE_VARIANCE * before[:, :-1], axis=1).sum(axis=1)
    return np.bincount(counts, minlength=variances.shape[1]) / len(counts)


def n_resolvable_dimensions(draws: Draws, n_components: int) -> int:
    """Return along how many axes the deviation between objects is at least 1.4 times that between draws.

    Draws are not aligned for this: with many dimensions and few objects, rotations would make any two configurations
    similar. With n objects, signal variances v_k and a variance s of the draws in each of q dimensions, the mean of the
    draws' Gram matrices has eigenvalues n v_k + b, and b = n q s / (n - 1) where there is no signal. So v_k >= 2 s if
    eigenvalue k is at least b (1 + 2 (n - 1) / q), with b the mean of those after it.
    """
    n, free = draws.points.shape[1:]
    if n < 3:
        return int(min(n - 1, free))
    centered = _centered(draws)
    gram = np.einsum("kip,kjp->ij", centered, centered, optimize=True) / len(centered)
    eigenvalues = np.linalg.eigvalsh(gram)[:0:-1].clip(min=0.0)  # without that of the mean, which is 0
    after = np.append(np.cumsum(eigenvalues[:0:-1])[::-1] / np.arange(n - 2, 0, -1), 0.0)
    resolved = np.flatnonzero(eigenvalues >= (1 + _MIN_VARIANCE_RATIO * (n - 1) / n_components) * after)
    return min(int(resolved[resolved < n_components].max(initial=-1)) + 1, n_components)


def bimodal_objects(maps: FloatArray, embedding: FloatArray) -> NDArray[np.intp]:
    """Return the objects that have two positions, far apart, and hardly ever lie between them.

    Answers may leave open on which side of a line an object lies. Along the direction in which its position varies
    most, draws are split in two such that their variance within is least; the means are then 2.6 deviations apart under
    a normal distribution. ``maps``, (k, n, p), are aligned with the centered ``embedding``, (n, p).
    """
    k = len(maps)
    if k < _MIN_BIMODAL_DRAWS:
        return np.empty(0, dtype=np.intp)
    deviations = np.swapaxes(maps - maps.mean(axis=0), 0, 1)  # (n, k, p)
    axes = np.linalg.eigh(np.swapaxes(deviations, 1, 2) @ deviations)[1][:, :, -1]
    along = np.sort(np.einsum("nkp,np->nk", deviations, axes), axis=1)
    below = np.arange(1, k)
    sums = np.cumsum(along, axis=1)[:, :-1]  # the sum of all is 0
    between = sums**2 / below + sums**2 / (k - below)
    cut = between.argmax(axis=1)
    rows = np.arange(len(along))
    distance = np.abs(sums[rows, cut]) * (1 / below[cut] + 1 / (k - below[cut]))
    within = np.sqrt(np.maximum((along**2).sum(axis=1) - between[rows, cut], 0.0) / k)
    size = np.sqrt(np.mean(np.sum(embedding**2, axis=1)))
    rarer = np.minimum(below[cut], k - below[cut]) / k
    two_modes = (distance > _MIN_SEPARATION * within) & (distance > _MIN_DISTANCE * size) & (rarer >= _MIN_SHARE)
    return np.flatnonzero(two_modes)
