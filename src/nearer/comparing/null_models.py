r"""Null models of a map and an attribute: what could be if they had nothing to do with each other.

A test asks how often such chance explains as much as the data do, and is valid for what its null model leaves in place:

- **Exchangeable objects.** Any order of the objects is as likely as any other. Not so where objects are near copies of
  each other, or where map and attribute both change smoothly along a line or a tree: neighbors then agree in both, and
  a few coincidences count as many.
- **Exchangeable within blocks** (``within``). Objects are permuted among those of their block, and both sides are
  centered in each block: what blocks have in common is taken out.
- **Smooth along something known** (``along``): a time, a position, a tree. With D the distances along it, H the
  centering matrix and V the eigenvectors of -H D H / 2, the coefficients of map or attribute, V^T Y, get random signs,

      Y* = V S V^T Y,    S = diag(+-1),

  which keeps how smooth they are: every quadratic form in functions of H D H, such as Moran's I (Moran spectral
  randomization, Wagner and Dray 2015, with these eigenvectors in place of those of a neighborhood matrix). Brownian
  motion along a line or a tree has the variogram D and so the covariance -H D H / 2 once it is centered. The
  coefficients of any Gaussian process whose covariance has these eigenvectors, white noise among them, are independent
  and symmetric about 0: signs can be exchanged, and the p-value is exact. As V S V^T is symmetric, it does not matter
  whether map or attribute is the one that gets the signs; it is enough that one of the two is such a process. What it
  cannot exclude is a common *trend*, a curve that is the same in every repetition of the study.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.data.conversions import read_dissimilarities

_N_REFERENCES = 50  # simulated maps without copies
_CLUMPED = 0.5  # of the distance to the nearest neighbor on such maps
_MIN_SHARE = 0.1  # of objects with so near a neighbor, from which a note is worth it


@dataclass(frozen=True, eq=False)
class NullModel:
    """How objects may be randomized; exchangeable if neither blocks nor distances are given.

    Attributes
    ----------
    blocks : ndarray of int, shape (n,), or None
    distances : ndarray, shape (n, n), or None

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = np.array([1.0, 2.0, 30.0, 40.0])[:, None]
    >>> drawn = NullModel(blocks=np.array([0, 0, 1, 1])).draw(values, 100, rng)
    >>> bool((drawn[:, :2] < 3).all()), drawn.shape
    (True, (100, 4, 1))
    """

    blocks: NDArray[np.intp] | None = None
    distances: FloatArray | None = None

    def among(self, objects: NDArray[np.bool_]) -> NullModel:
        """Return the null model of some of the objects."""
        return NullModel(
            None if self.blocks is None else self.blocks[objects],
            None if self.distances is None else self.distances[np.ix_(objects, objects)],
        )

    def centered(self, values: FloatArray) -> FloatArray:
        """Return values, (n, q), less the mean of their block; as they are without blocks."""
        if self.blocks is None:
            return values
        members = np.eye(int(self.blocks.max()) + 1)[self.blocks]
        means = (members.T @ values) / np.maximum(members.sum(axis=0), 1)[:, None]
        return np.asarray(values - means[self.blocks])

    def draw(self, response: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Return randomized responses, (count, n, q)."""
        n = len(response)
        if self.distances is not None:
            signs = rng.choice([-1.0, 1.0], size=(count, self._eigenvectors.shape[1], 1))
            return np.asarray(self._eigenvectors @ (signs * (self._eigenvectors.T @ response)))
        if self.blocks is None:
            return np.asarray(response[rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)])
        by_block = np.argsort(self.blocks, kind="stable")
        keys = self.blocks[by_block] + rng.random((count, n))  # sorted by block, and at random within it
        orders = np.empty((count, n), dtype=np.intp)
        orders[:, by_block] = by_block[np.argsort(keys, axis=1)]
        return np.asarray(response[orders])

    @cached_property
    def _eigenvectors(self) -> FloatArray:
        """Those of the centered distances, without the constant, (n, n - 1)."""
        assert self.distances is not None
        n = len(self.distances)
        centering = np.eye(n) - 1 / n
        # The constant, of eigenvalue 0, is moved to the end of the spectrum, away from others that are 0.
        gram = -centering @ self.distances @ centering / 2
        apart = 2 * float(np.abs(gram).sum(axis=1).max()) + 1.0
        return np.asarray(np.linalg.eigh(gram + apart / n)[1][:, :-1])


def read_line(along: ArrayLike, n: int) -> FloatArray:
    """Return distances along a line of positions, (n,), or a given matrix of distances, (n, n).

    Examples
    --------
    >>> read_line([2000.0, 2001.0, 2004.0], 3)[0].tolist()
    [0.0, 1.0, 4.0]
    """
    try:
        given = np.asarray(along, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"along must be numbers, one for each object, or a matrix of distances: {error}") from error
    distances = np.abs(given[:, None] - given) if given.ndim == 1 else given
    if distances.shape != (n, n):
        raise ValueError(f"along must have shape ({n},) or ({n}, {n}), as there are {n} objects; got {given.shape}")
    if not np.isfinite(distances).all():
        raise ValueError("along must be finite numbers; leave objects without one out")
    if not distances.any():
        raise ValueError("along is the same for all objects, so that nothing can be smooth along it")
    return read_dissimilarities(distances)


def read_blocks(within: list[object], n: int) -> NDArray[np.intp]:
    """Return the number of the block of each object.

    Examples
    --------
    >>> read_blocks(["monday", "friday", "monday"], 3).tolist()
    [1, 0, 1]
    """
    if len(within) != n:
        raise ValueError(f"within needs a block for each of the {n} objects, got {len(within)}")
    blocks = np.unique([str(block) for block in within], return_inverse=True)[1]
    if np.bincount(blocks).max() < 2:
        raise ValueError("every block of within has a single object, so that nothing can be permuted")
    return np.asarray(blocks, dtype=np.intp)


def near_copies(points: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which objects lie much nearer to another than they would on a map of independent objects, (n,).

    The reference is normal, with the covariance of the map: a neighbor nearer than half of the median distance to the
    nearest neighbor there is near. None are returned unless they are more, by a tenth of all objects, than on
    any of the simulated maps.

    Examples
    --------
    >>> places = np.random.default_rng(0).normal(size=(10, 2))
    >>> rng = np.random.default_rng(1)
    >>> int(near_copies(places, rng).sum()), int(near_copies(np.repeat(places, 2, axis=0), rng).sum())
    (0, 20)
    """
    n, p = points.shape
    root = np.linalg.cholesky(np.cov(points.T).reshape(p, p) + 1e-12 * np.square(points).mean() * np.eye(p))
    references = [nearest_neighbors(rng.normal(size=(n, p)) @ root.T)[0] for _ in range(_N_REFERENCES)]
    limit = _CLUMPED * float(np.median(references))
    near = nearest_neighbors(points)[0] < limit
    by_chance = max(float(np.mean(each < limit)) for each in references)
    return near if near.mean() > by_chance + _MIN_SHARE else np.zeros(n, dtype=bool)


def neighbors_agree(points: FloatArray, residuals: FloatArray, n_permutations: int, rng: np.random.Generator) -> float:
    """Return the p-value of neighbors on a map that have like residuals, (n, q), by permutations of these.

    Examples
    --------
    >>> places = np.linspace(0, 1, 40)[:, None]
    >>> neighbors_agree(places, np.sin(6 * places), 99, np.random.default_rng(0))
    0.01
    """
    at = nearest_neighbors(points)[1]
    observed = float(np.vdot(residuals, residuals[at]))
    drawn = NullModel().draw(residuals, n_permutations, rng)
    as_large = int((np.einsum("knq,knq->k", drawn, drawn[:, at]) >= observed - 1e-12).sum())
    return (1 + as_large) / (1 + n_permutations)


def nearest_neighbors(points: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the distance to the nearest other object, (n,), and which it is."""
    found = cKDTree(points).query(points, k=2)
    distances, at = np.asarray(found[0], dtype=np.float64), np.asarray(found[1], dtype=np.intp)
    # An object in the very place of another may be found as its own second neighbor's first.
    own = at[:, 1] == np.arange(len(points))
    return np.where(own, distances[:, 0], distances[:, 1]), np.where(own, at[:, 0], at[:, 1])


def copies_text(count: int, total: int) -> str:
    """Say that objects lie in near copies, and what to do.

    Examples
    --------
    >>> copies_text(4, 9)
    '4 of 9 objects lie much nearer to another than chance would have them; if they are copies of one thing, ...'
    """
    return (
        f"{count} of {pluralize(total, 'object')} lie much nearer to another than chance would have them; if they are "
        "copies of one thing, p-values are too small: say which are (copies), and they are averaged"
    )
