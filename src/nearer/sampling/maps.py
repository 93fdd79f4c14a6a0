"""What draws say: chances of answers, how far maps are from each other, and how many dimensions they have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.geometry import align, rotation
from nearer.sampling.model import Draws

_ROUNDS = 5
_RESOLVED = 2.0  # of the variance from draw to draw
_FAR_APART, _ELSEWHERE, _RARELY = 5.0, 0.5, 0.1  # deviations, sizes of the map, share of the draws
_FEWEST_OF_TWO = 40  # draws
_RELEVANT = 0.15  # of the mean variance of the axes before it


def chances_of(draws: Draws, rows: NDArray[np.integer], n_threads: int | None = None) -> FloatArray:
    """Return the mean chance over draws that each row, (m, 3) or (m, 4), holds as written."""
    from nearer.optimize.kernels import compiling, posterior

    objects = np.ascontiguousarray(rows, dtype=np.int32)
    chances = np.empty(len(objects))
    bounds = compiling.blocks(len(objects), 0)

    def block(number: int) -> None:
        posterior.predict(*draws, objects, bounds[number], bounds[number + 1], chances)

    compiling.run(block, len(bounds) - 1, n_threads)
    return chances


class Summary(NamedTuple):
    """One map for all draws.

    Attributes
    ----------
    embedding : ndarray, shape (n, q)
        Centred, axes in order of falling variance, as large as the draws are.
    covariances : ndarray, shape (n, q, q)
        How far draws lie from it once they are laid onto it: for each object the mean square of that.
    """

    embedding: FloatArray
    covariances: FloatArray


def mean_map(draws: Draws) -> FloatArray:
    """Return the mean of the draws after each has been turned onto it, (n, p)."""
    centred = draws.points - draws.points.mean(axis=1, keepdims=True)
    mean: FloatArray = centred[-1]
    for _ in range(_ROUNDS):
        mean = (centred @ rotation(centred, mean)[0]).mean(axis=0)
    return mean


def laid_onto(draws: Draws, embedding: FloatArray, seen: NDArray[np.integer] | None = None) -> Summary:
    """Return a map as large as the draws, and how far they are from it, each laid onto it as well as it can be.

    How a draw lies on the map is decided by the objects that were ``seen``; all, if that is left out.

    Comparisons fix no scale. That of the draws wanders, and if it were left in, ellipses would tell how large the map
    is and not where on it an object lies: those of 50% would hold 60 to 70% of the objects.
    """
    turned = align(draws.points, embedding, scaling=False, seen=seen).mean(axis=0)
    chosen = slice(None) if seen is None else seen
    size = float(np.vdot(embedding[chosen], embedding[chosen]))
    embedding = embedding * (np.vdot(turned[chosen], embedding[chosen]) / size if size > 0 else 0.0)
    away = align(draws.points, embedding, seen=seen) - embedding
    return Summary(embedding, np.einsum("kip,kiq->ipq", away, away) / len(away))


def dimensions_of(draws: Draws) -> FloatArray:
    """Return the share of draws that have 1, 2, ... dimensions, (p,).

    An axis counts if its variance is at least 0.15 of the mean variance of the axes before it. Where an axis is not
    needed the model shrinks it to a hundredth and less; in a cloud that needs it the least one has about a half.
    """
    centred = draws.points - draws.points.mean(axis=1, keepdims=True)
    variances = np.linalg.eigvalsh(np.swapaxes(centred, 1, 2) @ centred)[:, ::-1]
    before = np.cumsum(variances, axis=1) / np.arange(1, variances.shape[1] + 1)
    counts = np.cumprod(variances[:, 1:] >= _RELEVANT * before[:, :-1], axis=1).sum(axis=1)
    return np.bincount(counts, minlength=variances.shape[1]) / len(counts)


def n_resolvable_dimensions(draws: Draws, n_components: int) -> int:
    """Return along how many axes places vary, from object to object, at least 1.4 times as much as from draw to draw.

    Draws are not aligned for this: with many dimensions and few objects, rotations would make any two configurations
    alike. With n objects, signal variances v_k and a variance s of the draws in each of q dimensions, the mean of the
    draws' Gram matrices has eigenvalues n v_k + b, and b = n q s / (n - 1) where there is no signal. So v_k >= 2 s if
    eigenvalue k is at least b (1 + 2 (n - 1) / q), with b the mean of those after it.

    Parameters
    ----------
    draws : Draws
    n_components : int
        Dimensions that the draws have, beside those that vanish.
    """
    n, free = draws.points.shape[1:]
    if n < 3:
        return int(min(n - 1, free))
    centered = draws.points - draws.points.mean(axis=1, keepdims=True)
    gram = np.einsum("kip,kjp->ij", centered, centered, optimize=True) / len(centered)
    eigenvalues = np.linalg.eigvalsh(gram)[:0:-1].clip(min=0.0)  # without that of the mean, which is 0
    after = np.append(np.cumsum(eigenvalues[:0:-1])[::-1] / np.arange(n - 2, 0, -1), 0.0)
    resolved = np.flatnonzero(eigenvalues >= (1 + _RESOLVED * (n - 1) / n_components) * after)
    return min(int(resolved[resolved < n_components].max(initial=-1)) + 1, n_components)


def with_two_places(maps: FloatArray, embedding: FloatArray) -> NDArray[np.intp]:
    """Return the objects that lie in either of two places, far apart, and hardly ever between them.

    Answers may leave open on which side of a line an object lies, or a whole group of them: two maps explain them
    alike, and there are draws of both. Along the line on which the places of an object vary most, draws are split in
    two such that their variance within is least; of a normal distribution the means are then 2.6 deviations apart, of
    a uniform one 3.5.

    Parameters
    ----------
    maps : ndarray, shape (k, n, p)
        Draws, laid onto the map.
    embedding : ndarray, shape (n, p)
        The map, centred.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> embedding = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    >>> maps = embedding + 0.1 * rng.standard_normal((200, 3, 2))
    >>> maps[rng.random(200) < 0.3, 2] += [0.0, 2.0]
    >>> with_two_places(maps, embedding).tolist()
    [2]
    """
    k = len(maps)
    if k < _FEWEST_OF_TWO:
        return np.empty(0, dtype=np.intp)
    away = np.swapaxes(maps - maps.mean(axis=0), 0, 1)  # (n, k, p)
    axes = np.linalg.eigh(np.swapaxes(away, 1, 2) @ away)[1][:, :, -1]
    along = np.sort(np.einsum("nkp,np->nk", away, axes), axis=1)
    below = np.arange(1, k)
    sums = np.cumsum(along, axis=1)[:, :-1]  # the sum of all is 0
    between = sums**2 / below + sums**2 / (k - below)
    cut = between.argmax(axis=1)
    rows = np.arange(len(along))
    apart = np.abs(sums[rows, cut]) * (1 / below[cut] + 1 / (k - below[cut]))
    within = np.sqrt(np.maximum((along**2).sum(axis=1) - between[rows, cut], 0.0) / k)
    size = np.sqrt(np.mean(np.sum(embedding**2, axis=1)))
    rarer = np.minimum(below[cut], k - below[cut]) / k
    return np.flatnonzero((apart > _FAR_APART * within) & (apart > _ELSEWHERE * size) & (rarer >= _RARELY))
