"""An attribute and a map as a regression of one on the other, and null models: what could be without any relation.

With U an orthonormal basis of the predictors, and Y the response, centered, R2 = |U^T Y|^2 / |Y|^2. For words the
statistic is Welch's pseudo-F (Hamidi et al. 2019), for a line or tree signs of coefficients are random (Wagner and Dray
2015). The page on mathematics has the formulas, and what each null model leaves in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.data.conversions import check_dissimilarities

_BATCH_SIZE = 10**6  # entries of resampled columns
_MAX_CATEGORIES = 100
_ZERO_TOL = 1e-9  # of size 1
_N_REFERENCES = 50  # simulated maps without copies
_NEAR_SHARE = 0.5  # of the median distance to the nearest neighbor on such maps
_MIN_SHARE = 0.1  # of objects with so near a neighbor, from which there is a note


@dataclass(frozen=True, eq=False)
class NullModel:
    """How objects may be randomized: within blocks, (n,), along distances, (n, n), or freely if neither is given."""

    blocks: NDArray[np.intp] | None = None
    distances: FloatArray | None = None

    def subset(self, objects: NDArray[np.bool_]) -> NullModel:
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
        return values - means[self.blocks]

    def draw(self, response: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Return randomized responses, (count, n, q)."""
        n = len(response)
        if self.distances is not None:
            signs = rng.choice([-1.0, 1.0], size=(count, self._eigenvectors.shape[1], 1))
            return self._eigenvectors @ (signs * (self._eigenvectors.T @ response))
        if self.blocks is None:
            return response[rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)]
        by_block = np.argsort(self.blocks, kind="stable")
        keys = self.blocks[by_block] + rng.random((count, n))  # sorted by block, and at random within it
        orders = np.empty((count, n), dtype=np.intp)
        orders[:, by_block] = by_block[np.argsort(keys, axis=1)]
        return response[orders]

    @cached_property
    def _eigenvectors(self) -> FloatArray:
        """The eigenvectors of the centered distances, without the constant, (n, n - 1)."""
        assert self.distances is not None
        n = len(self.distances)
        centering = np.eye(n) - 1 / n
        # The constant, of eigenvalue 0, is moved to the end of the spectrum, away from others that are 0.
        gram = -centering @ self.distances @ centering / 2
        apart = 2 * float(np.abs(gram).sum(axis=1).max()) + 1.0
        return np.linalg.eigh(gram + apart / n)[1][:, :-1]


def read_line(along: ArrayLike, n: int) -> FloatArray:
    """Return distances along a line of positions, (n,), or a given matrix of distances, (n, n)."""
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
    return check_dissimilarities(distances)


def read_blocks(within: list[object], n: int) -> NDArray[np.intp]:
    """Return the number of the block of each object."""
    if len(within) != n:
        raise ValueError(f"within needs a block for each of the {n} objects, got {len(within)}")
    blocks = np.unique([str(block) for block in within], return_inverse=True)[1]
    if np.bincount(blocks).max() < 2:
        raise ValueError("every block of within has a single object, so that nothing can be permuted")
    return np.asarray(blocks, dtype=np.intp)


def near_copies(points: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which objects lie much nearer to another than they would on a map of independent objects, (n,).

    Near is within half of the median distance to the nearest neighbor on normal maps of the same covariance. None are
    returned unless they are more, by a tenth of all objects, than on any of the simulated maps.
    """
    n, p = points.shape
    root = np.linalg.cholesky(np.cov(points.T).reshape(p, p) + 1e-12 * np.square(points).mean() * np.eye(p))
    references = [nearest_neighbors(rng.normal(size=(n, p)) @ root.T)[0] for _ in range(_N_REFERENCES)]
    limit = _NEAR_SHARE * float(np.median(references))
    near = nearest_neighbors(points)[0] < limit
    by_chance = max(float(np.mean(each < limit)) for each in references)
    return near if near.mean() > by_chance + _MIN_SHARE else np.zeros(n, dtype=bool)


def neighbors_agree(points: FloatArray, residuals: FloatArray, n_permutations: int, rng: np.random.Generator) -> float:
    """Return the p-value of neighbors on a map that have like residuals, (n, q), by permutations of these."""
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
    """Return the note that objects lie in near copies, and what to do."""
    return (
        f"{count} of {pluralize(total, 'object')} lie much nearer to another than chance would have them; if they are "
        "copies of one thing, p-values are too small: name the things (copies), and they are averaged"
    )


class NotFittable(ValueError):
    """Why an attribute cannot be fitted."""


@dataclass(frozen=True)
class Regression:
    """A column of attributes and a map, for the objects that have a value.

    ``points``, (n, p), are centered, and were so around ``middle``. There are ``values``, (n,), which are centered, or
    ``categories``, (n, k), a column of 0 and 1 for each of the ``words``. ``known`` are the objects with a value.
    """

    known: NDArray[np.bool_]
    points: FloatArray
    middle: FloatArray
    values: FloatArray | None
    categories: FloatArray | None
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, points: FloatArray, column: list[Any]) -> Regression:
        """Return the regression of a column; NotFittable says why there is none."""
        if len(column) != len(points):
            raise ValueError(f"an attribute needs a value for each of the {len(points)} objects, got {len(column)}")
        known = np.array([has_value(value) for value in column], dtype=bool)
        cells = [value for value, there in zip(column, known, strict=True) if there]
        placed = points[known]
        n, p = placed.shape
        if n < 2 or not np.ptp(placed, axis=0).any():
            raise NotFittable("fewer than two objects in different places have a value")
        middle = placed.mean(axis=0)
        placed = placed - middle
        if are_numbers(cells):
            values = np.array(cells, dtype=np.float64)
            if not np.isfinite(values).all() or np.ptp(values) == 0:
                raise NotFittable("its values are all the same" if np.isfinite(values).all() else "a value is infinite")
            if n < p + 3:
                raise NotFittable(
                    f"a map of {pluralize(p, 'axis', 'axes')} needs {p + 3} objects with a value, got {n}"
                )
            return cls(known, placed, middle, values - values.mean(), None)
        words, codes = np.unique([str(cell) for cell in cells], return_inverse=True)
        if not 2 <= len(words) <= min(n - 2, _MAX_CATEGORIES):
            raise NotFittable(
                f"{pluralize(len(words), 'word')} for {pluralize(n, 'object')} are no categories to compare"
            )
        return cls(known, placed, middle, None, np.eye(len(words))[codes], tuple(map(str, words)))

    @property
    def response(self) -> FloatArray:
        """What is explained, of size 1."""
        of = self.points if self.values is None else self.values[:, None]
        return of / np.linalg.norm(of)

    @property
    def basis(self) -> FloatArray:
        """An orthonormal basis of what explains, (n, r); that of categories has the constant in it, too."""
        if self.categories is not None:
            return self.categories / np.sqrt(self.categories.sum(axis=0))
        return orthonormal_basis(self.points)

    @property
    def freedom(self) -> int:
        """The degrees of freedom of what explains."""
        return int(self.basis.shape[1]) - (self.categories is not None)

    @property
    def r2(self) -> float:
        """The share that is explained."""
        return float(np.sum((self.basis.T @ self.response) ** 2))

    def p_value(self, null: NullModel, n_permutations: int, rng: np.random.Generator) -> float:
        """Return how often randomized objects (n of them, as those with a value) give as large a statistic."""
        response = null.centered(self.response)
        same = False
        if self.categories is not None and null.blocks is not None:
            same = not np.abs(null.centered(self.categories)).max() > _ZERO_TOL
        if np.linalg.norm(response) < _ZERO_TOL or same:
            raise NotFittable("it is the same for all objects of each block, so that nothing can be permuted")
        basis = orthonormal_basis(null.centered(self.points)) if self.categories is None else self.categories

        def statistic(drawn: FloatArray) -> FloatArray:
            if self.categories is not None:
                return welch_pseudo_f(drawn, self.categories)
            return np.sum(np.tensordot(drawn, basis, axes=(1, 0)) ** 2, axis=(1, 2))

        least = statistic(response[None])[0] * (1 - 1e-9)  # equal up to rounding is as large
        as_large, left = 0, n_permutations
        while left:
            number = min(left, max(_BATCH_SIZE // response.size, 1))
            as_large += int(np.count_nonzero(statistic(null.draw(response, number, rng)) >= least))
            left -= number
        return (1 + as_large) / (1 + n_permutations)

    @property
    def residuals(self) -> FloatArray:
        """What is not explained, (n, q)."""
        return self.response - self.basis @ (self.basis.T @ self.response)

    def interval(self, n_resamples: int, level: float, rng: np.random.Generator) -> tuple[float, float]:
        """Return the ends of the interval, by objects drawn with replacement."""
        n = len(self.points)
        counts = rng.multinomial(n, np.full(n, 1 / n), size=n_resamples).astype(np.float64)
        shares, freedom = self._by_numbers(counts) if self.categories is None else self._by_words(counts)
        twice = 1 - (1 - shares) * ((n - 1) / np.maximum(n - 1 - freedom, 1)) ** 2
        low, high = np.quantile(twice.clip(0, 1), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def _by_numbers(self, counts: FloatArray) -> tuple[FloatArray, NDArray[Any]]:
        """Return R2 and degrees of freedom with so many copies of the objects, each of shape (k,)."""
        assert self.values is not None
        both = np.column_stack([self.points, self.values])
        n, width = both.shape
        means = counts @ both / n
        squares = (counts @ (both[:, :, None] * both[:, None, :]).reshape(n, -1) / n).reshape(-1, width, width)
        squares -= means[:, :, None] * means[:, None, :]
        among, across, own = squares[:, :-1, :-1], squares[:, :-1, -1], squares[:, -1, -1]
        explained = np.einsum("kp,kpq,kq->k", across, np.linalg.pinv(among, rcond=1e-10, hermitian=True), across)
        return _quotient(explained, own), np.full(len(counts), self.freedom)

    def _by_words(self, counts: FloatArray) -> tuple[FloatArray, NDArray[Any]]:
        assert self.categories is not None
        n, p = self.points.shape
        sizes = counts @ self.categories
        sums = counts @ (self.categories[:, :, None] * self.points[:, None, :]).reshape(n, -1)
        squares = np.sum(sums.reshape(len(counts), -1, p) ** 2, axis=2)
        middle = np.sum((counts @ self.points) ** 2, axis=1) / n
        explained = np.sum(np.divide(squares, sizes, out=np.zeros_like(squares), where=sizes > 0), axis=1) - middle
        total = counts @ np.sum(self.points**2, axis=1) - middle
        return _quotient(explained, total), np.count_nonzero(sizes, axis=1) - 1

    @property
    def predicted_r2(self) -> float:
        """R2 of each object by the others; an object alone in its category is predicted by the mean of all others."""
        basis, response = self.basis, self.response
        n = len(response)
        leverage = np.sum(basis**2, axis=1) + (0 if self.categories is not None else 1 / n)
        alone = leverage > 1 - 1e-9
        missed = (response - basis @ (basis.T @ response)) / (1 - np.where(alone, 0.0, leverage))[:, None]
        by_mean = response * n / (n - 1)
        missed[alone] = by_mean[alone]
        return float(1 - np.sum(missed**2) / np.sum(by_mean**2))


def has_value(cell: Any) -> bool:
    """Whether a cell of an attribute is neither None nor NaN nor empty."""
    return bool(cell is not None and cell == cell and str(cell) != "")


def are_numbers(cells: list[Any]) -> bool:
    """Whether an attribute with these cells is one of numbers."""
    return all(isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_) for cell in cells)


def welch_pseudo_f(points: FloatArray, categories: FloatArray) -> FloatArray:
    """Return Welch's pseudo-F of centered maps, (b, n, p), for categories of any spread, (n, k): of shape (b,)."""
    sizes = categories.sum(axis=0)
    n_categories = len(sizes)
    means = np.tensordot(points, categories, axes=(1, 0)) / sizes  # (b, p, k)
    squares = np.square(points).sum(axis=2) @ categories - sizes * np.square(means).sum(axis=1)
    squares = squares.clip(min=0)
    pooled = squares.sum(axis=1, keepdims=True) / (sizes.sum() - n_categories)
    variances = np.where(sizes > 1, squares / np.maximum(sizes - 1, 1), pooled)
    # Objects in one place would weigh infinitely much.
    weights = sizes / np.maximum(variances, np.maximum(1e-9 * pooled, np.finfo(float).tiny))
    shares = weights / weights.sum(axis=1, keepdims=True)
    away = means - np.einsum("bpk,bk->bp", means, shares)[:, :, None]
    between = (weights * np.square(away).sum(axis=1)).sum(axis=1) / (n_categories - 1)
    unsure = (np.square(1 - shares) / np.maximum(sizes - 1, 1)).sum(axis=1)
    return between / (1 + 2 * (n_categories - 2) / (n_categories**2 - 1) * unsure)


def orthonormal_basis(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the space of columns."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, sizes > 1e-10 * sizes[0]]


def _quotient(explained: FloatArray, total: FloatArray) -> FloatArray:
    """Return shares; 0 where there is nothing to explain."""
    return np.divide(explained, total, out=np.zeros_like(total), where=total > 1e-14 * total.max()).clip(0, 1)
