"""NonmetricMDS: Kruskal's method, for dissimilarities of which only the order counts, and for comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.parameters import check_counts, check_number
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import check_dissimilarities, comparison_chain, read_pair_weights
from nearer.data.groups import relabel_by_appearance
from nearer.data.streamed import Judgments
from nearer.embedding.fitting import LossEmbedding
from nearer.geometry import align, to_principal_axes
from nearer.model import DistanceHinge, Loss
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Solution, solve
from nearer.optimize.solvers.descent import best_of_restarts, spectral_start
from nearer.optimize.solvers.driver import Callback, limited_blas
from nearer.optimize.solvers.smacof import ComparedPairs, Smacof, StressProblem, Ties, TotalOrder

_MAX_OBJECTS = 20_000  # two matrices of 3 GB
_PLACING_SCALE = 10.0
_STRESS_AGREEMENT_TOL = 1e-3  # of stress
_RESAMPLE_TOL = 1e-5  # of stress, an iteration


@dataclass(eq=False, repr=False, kw_only=True)
class NonmetricMDS(LossEmbedding):
    """Nonmetric multidimensional scaling (Kruskal 1964), by majorization and monotone regression.

    Minimizes stress-1, the root of sum (d - h)^2 / sum d^2, where the disparities h are the numbers nearest to the
    distances d that are in the right order. `fit_dissimilarities` takes that order from a matrix, which may have
    gaps and ties; `fit` from comparisons, each of which is an order of its own, of two pairs.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    ties : {"primary", "secondary"}, default "primary"
        Whether pairs of equal dissimilarity may have different disparities, or must have the same. Comparisons have no
        ties.
    gap : float >= 0, default 0.3
        By how much the far disparity of a comparison must exceed the near one, in units of a typical distance. Less is
        better for answers without errors, more for many errors.
    n_init : int, default 4
        The number of starts, of which that of least stress is kept: one from the data, the others random.
    tol, max_iter : float, default 1e-6, and int, default 3000
        Stop when the stress falls by less than this in an iteration, or after so many.
    n_objects, random_state
        As for every estimator; random_state is for the random starts; None is 0.

    Attributes
    ----------
    stress_ : float
        Stress-1 of the map.
    disparities_ : ndarray, shape (n_objects_, n_objects_) or (m, 2)
        Of a matrix: the disparities, NaN where it has gaps. Of comparisons: those of the near and the far pair of each.
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. Distances that count have a mean square of 1. After `fit_dissimilarities` the
        comparisons are those of neighbors in the order.

    Examples
    --------
    >>> from scipy.spatial.distance import cdist
    >>> from nearer.datasets import make_gaussian
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> model = NonmetricMDS(n_components=2).fit_dissimilarities(np.exp(cdist(points, points)))
    >>> model.stress_ < 0.001
    True
    >>> from nearer.datasets import sample_triplets
    >>> NonmetricMDS().fit(sample_triplets(points, 800, random_state=0)).score(sample_triplets(points)) > 0.9
    True
    """

    ties: Literal["primary", "secondary"] = "primary"
    gap: float = 0.3
    n_init: int = 4
    tol: float = 1e-6
    max_iter: int = 3000

    def fit_dissimilarities(
        self,
        D: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        objects: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to the order of dissimilarities.

        Parameters
        ----------
        D : array-like, shape (n, n)
            Symmetric; NaN where a dissimilarity is not known. Its diagonal does not count.
        weights : array-like, shape (n, n), optional
            Symmetric and nonnegative; a pair of weight 0 is as good as missing.
        objects : sequence of labels, optional
            Of the rows; 0..n-1 if left out.
        callback : callable, optional
            Called with the `Progress` of each iteration.
        """
        self._check_settings()
        matrix = check_dissimilarities(D, self.n_objects)
        n = len(matrix)
        _check_n_objects(n)
        self._check_dimensions(n)
        pair_weights = read_pair_weights(weights, n)
        a, b = np.nonzero(np.triu(np.isfinite(matrix) & (pair_weights > 0), 1))
        values = matrix[a, b]
        chain = comparison_chain(np.column_stack([a, b]), values, n, objects)
        seen, problem, order = _ordered_pairs(np.array([a, b]), values, pair_weights[a, b], self.ties)
        first = partial(_classical_start, problem, order.ranks, self.n_components)
        solution = self._solve(problem, seen, chain, first, callback)
        self.disparities_ = np.full((n, n), np.nan)
        np.fill_diagonal(self.disparities_, 0.0)
        self.disparities_[a, b] = self.disparities_[b, a] = solution.state.disparities
        self._fitted_to_matrix = True
        self._report(solution)
        return self

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add comparisons to those fitted before and go on from the present map; the first call is a `fit`.

        A map of dissimilarities takes no comparisons: fit again with all dissimilarities, or add objects by `place`.
        """
        if getattr(self, "_fitted_to_matrix", False):
            raise ValueError(
                "the map was fitted to dissimilarities, to which partial_fit cannot add comparisons; call "
                "fit_dissimilarities with a larger matrix, or put new objects on the map with place"
            )
        return super().partial_fit(X, y, sample_weight)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_counts(n_init=self.n_init, max_iter=self.max_iter)
        if self.ties not in ("primary", "secondary"):
            raise ValueError(f"ties must be 'primary' or 'secondary', got {self.ties!r}")
        check_number("gap", self.gap, least=0)
        check_number("tol", self.tol, least=0)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        kept, seen = relabel_by_appearance(comparisons)
        _check_n_objects(len(seen))
        pairs, order = ComparedPairs.of(kept, self.gap)
        problem = StressProblem(pairs, order, len(seen))
        if start is not None and (start.shape[1] != self.n_components or not np.ptp(start) > 0):
            start = None
        first = partial(spectral_start, FactoredProblem(InMemory(kept), self._loss(), rank=self.n_components))
        solution = self._solve(problem, seen, comparisons, first, callback, start)
        pairs, order = ComparedPairs.of(comparisons, self.gap)
        ends = self.embedding_[pairs]
        distances = np.sqrt(np.sum((ends[:, 0] - ends[:, 1]) ** 2, axis=1))
        self.disparities_ = np.column_stack(order.of_comparisons(distances))
        self._fitted_to_matrix = False
        self._report(solution)

    def _solve(
        self,
        problem: StressProblem,
        seen: NDArray[np.integer],
        comparisons: Comparisons,
        first: Callable[[], PointArray],
        callback: Callback | None,
        before: FloatArray | None = None,
    ) -> Solution[FloatArray]:
        """Store the map of least stress, from the one before, or else from a first start and from random ones."""
        solver = Smacof(tol=self.tol, max_iter=self.max_iter)

        def descents() -> Iterator[Solution[FloatArray]]:
            rng = self._repeatable_rng("start")
            for number in progress_bar("starts", self.n_init, range(self.n_init)):
                random = rng.normal(size=(problem.n_objects, self.n_components))
                solution = solve(problem, solver, random if number else first(), callback=callback)
                yield solution
                if solution.objective == 0:
                    return

        with self._warning_of_early_interrupt():
            if before is not None:
                solution = solve(problem, solver, before[seen], callback=callback)
            else:
                with limited_blas("points", problem.n_objects):
                    solution = best_of_restarts(descents(), _STRESS_AGREEMENT_TOL)
        points = np.zeros((comparisons.n_objects, self.n_components))
        points[seen] = solution.value
        points = to_principal_axes(points, np.isin(np.arange(len(points)), seen))
        self._store_map(points if before is None else align(points, before, scaling=False, moving=False), comparisons)
        self._store_run(solution, solver)
        self.stress_ = solution.objective
        self.trace_, self._total_weight = 0.0, float(comparisons.sample_weight.sum())
        return solution

    def _report(self, solution: Any) -> None:
        outcome = solution.outcome
        if solution.interrupted:
            self._warn(f"{outcome.value}; the best map so far is on the estimator", interrupted=True)
        elif not outcome.ok:
            self._warn(f"{outcome.value}. The result is usable; for a better one raise max_iter or tol")

    def _placed_points(self, points: FloatArray, added: Comparisons) -> FloatArray:
        # The loss of SOE asks for a difference of 1; on a large map that is little more than the right order.
        placed = super()._placed_points(_PLACING_SCALE * points, added) / _PLACING_SCALE
        return np.concatenate([points, placed[len(points) :]])

    def _loss(self) -> Loss:
        return DistanceHinge()


def refit_map(model: NonmetricMDS, D: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the map, (n, p), of other dissimilarities of the objects of a fitted model, by one descent from its map.

    As the maps of resamples: a start of their own could end in another minimum, and they need no more digits than their
    noise leaves. Objects without a dissimilarity stay.
    """
    known = np.isfinite(D) if weights is None else np.isfinite(D) & (weights > 0)
    a, b = np.nonzero(np.triu(known, 1))
    shares = np.ones(len(a)) if weights is None else weights[a, b]
    seen, problem, _ = _ordered_pairs(np.array([a, b]), D[a, b], shares, model.ties)
    points = model.embedding_.copy()
    points[seen] = solve(
        problem, Smacof(tol=max(model.tol, _RESAMPLE_TOL), max_iter=model.max_iter), points[seen]
    ).value
    return points


def _ordered_pairs(
    pairs: NDArray[np.intp], values: FloatArray, weights: FloatArray, ties: Ties
) -> tuple[NDArray[np.intp], StressProblem, TotalOrder]:
    """Return the objects in pairs, (2, k), and the problem of their order."""
    seen, inside = np.unique(pairs, return_inverse=True)
    order = TotalOrder(np.unique(values, return_inverse=True)[1].ravel(), weights / weights.sum(), ties)
    return seen, StressProblem(inside.reshape(2, -1).T, order, len(seen)), order


def _check_n_objects(n_objects: int) -> None:
    if n_objects > _MAX_OBJECTS:
        raise ValueError(
            f"{n_objects} objects need matrices of {8 * n_objects**2 / 1e9:.0f} GB each; fit SOE, which makes none"
        )


def _classical_start(problem: StressProblem, ranks: NDArray[np.intp], n_components: int) -> FloatArray:
    """Return classical scaling of the ranks: they are all that an increasing transformation leaves."""
    n, (a, b) = problem.n_objects, problem.pairs.T
    places = rankdata(ranks) / len(ranks)
    matrix = np.full((n, n), places.mean())
    np.fill_diagonal(matrix, 0.0)
    matrix[a, b] = matrix[b, a] = places
    squares = matrix**2
    gram = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    values, vectors = eigh(gram)
    kept = min(n_components, n)
    # A dimension that starts at 0 would stay there.
    sizes = np.sqrt(np.maximum(values[::-1][:kept], 1e-3 * max(values[-1], 1e-12)))
    points = np.zeros((n, n_components))
    points[:, :kept] = vectors[:, ::-1][:, :kept] * sizes
    return points
