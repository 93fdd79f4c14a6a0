"""SPoSE: sparse, nonnegative dimensions from odd-one-out trials (Zheng et al. 2019, Hebart et al. 2020).

What is minimized stands in `optimize.problems.choices`; how a fit begins, and its penalty is chosen, in
`embedding.dimensions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer, check_number
from nearer.data.choices import Choices
from nearer.data.comparisons import Comparisons
from nearer.data.groups import restrict_to_seen, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.dimensions import (
    MAX_DIMENSIONS,
    MAX_PATH_TRIALS,
    PenaltyPath,
    best_of,
    by_total_weight,
    final_tolerance,
    fit_from_start,
    penalty_path,
    refined_penalty,
    reproducibility,
    spectral_starts,
    without_empty,
)
from nearer.embedding.weight_intervals import weight_intervals
from nearer.optimize.problems.choices import WeightsProblem, item_similarities, pair_margins
from nearer.optimize.solvers import Solution, solve
from nearer.optimize.solvers.driver import Callback
from nearer.optimize.solvers.orthant import Orthant


@dataclass(eq=False, repr=False, kw_only=True)
class SPoSE(OrdinalEmbedding):
    r"""Sparse positive similarity embedding: dimensions with a meaning (Zheng et al. 2019; Hebart et al. 2020).

    Each object has nonnegative weights on dimensions, most of them 0, and the similarity of two objects is the inner
    product :math:`s_{ij} = x_i \cdot x_j`. The pair (i, j) of an odd-one-out trial {i, j, k} is named as the most alike
    with probability :math:`e^{s_{ij}} / (e^{s_{ij}} + e^{s_{ik}} + e^{s_{jk}})`; of two pairs, one with
    :math:`\mathrm{sigmoid}(s_\text{near} - s_\text{far})`. Minimized is :math:`-\log P`, summed over answers, plus
    ``penalty`` times the sum of all weights. Dimensions that the answers do not call for shrink to nothing.

    Parameters
    ----------
    n_components : int, optional
        The most dimensions. Left out: 100 to begin with, and more where all of them are used.
    penalty : float > 0, optional
        The rate of an exponential prior of the weights: the larger, the fewer and sparser dimensions. Left out: the one
        that predicts held-out trials best, along a path.
    n_starts : int, default 3
        Descents to the chosen penalty, of which the best counts.
    n_splits : int, default 2
        Random halves of the trials in which dimensions are found again. With 0 there is neither a reproducibility nor
        are there intervals.
    n_objects, random_state
        As for every estimator; random_state is for the folds of the path and for starts.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, p)
        Nonnegative weights; dimensions in the order of their total weight.
    reproducibility_ : ndarray, shape (p,)
        How well a dimension agrees between fits to halves of the trials, each from a start of its own: the least
        correlation between it and the dimensions that match it in both, or of these, as a mean over splits. Those from
        0.3 count as reproducible; the others are kept, as they may still predict: half of few answers misses much.
    weight_intervals_ : ndarray, shape (n_objects_, p, 2)
        Intervals of 95% of the weights; up to infinity for objects of `place`.
    penalty_ : float
    penalty_path_ : PenaltyPath or None
        Penalties, held-out losses and numbers of dimensions; None where a penalty was given.
    objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, comparisons_
        As for every estimator.

    Examples
    --------
    >>> from nearer.datasets import make_dimensions, sample_odd_one_out
    >>> weights = make_dimensions(60, 5, scale=1, random_state=0)
    >>> model = SPoSE(random_state=0).fit(sample_odd_one_out(weights, 5000, random_state=0))
    >>> model.embedding_.shape
    (60, 5)
    """

    n_components: Any = field(default=None, kw_only=False)  # an int, or None
    penalty: float | None = None
    n_starts: int = 3
    n_splits: int = 2
    _has_distances: ClassVar[bool] = False

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2): those of the model."""
        holds = expit(self.decision_function(X))
        return np.column_stack([1 - holds, holds])

    def _check_settings(self) -> None:
        if self.n_components is not None:
            super()._check_settings()
        check_integer("n_starts", self.n_starts, 1)
        check_integer("n_splits", self.n_splits, 0)
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        among, seen = restrict_to_seen(with_positive_weight(comparisons))
        choices, start = Choices.of(among), None if start is None else np.ascontiguousarray(start[seen])
        solver, rng = Orthant(tol=final_tolerance(choices)), self._repeatable_rng("start")
        with self._warning_of_early_interrupt():
            if start is not None:
                penalty, path = float(self.penalty_), self.penalty_path_
                solution = solve(WeightsProblem(choices, penalty), solver, start, callback=callback)
            else:
                penalty, path, solution = self._search(choices, solver, rng, callback)
            points, found_again, intervals = solution.value, None, None
            if start is None:
                points = by_total_weight(without_empty(points))
            if self.n_splits and points.any():
                found_again = reproducibility(points, choices, penalty, self.n_splits, rng)
                intervals = weight_intervals(points, choices, penalty, rng)
        embedding = np.zeros((comparisons.n_objects, points.shape[1]))
        embedding[seen] = points
        self._store_map(embedding, comparisons)
        self.reproducibility_, self.weight_intervals_ = found_again, None
        if intervals is not None:  # nothing is known of objects that nobody was asked about
            self.weight_intervals_ = np.tile([0.0, np.inf], (*embedding.shape, 1))
            self.weight_intervals_[seen] = intervals
        self._store_run(solution, solver)
        self.penalty_: float = penalty
        self.penalty_path_: PenaltyPath | None = path
        self._report(solution)

    def _search(
        self, choices: Choices, solver: Orthant, rng: np.random.Generator, callback: Callback | None
    ) -> tuple[float, PenaltyPath | None, Solution[FloatArray]]:
        """Return the penalty, the path that it was chosen on, and the best fit."""
        path, found, most = None, list[FloatArray](), choices.n_objects - 1
        size = min(self.n_components or MAX_DIMENSIONS, most)
        if self.penalty is None:
            path, points = penalty_path(choices, size, rng)
            while self.n_components is None and points.shape[1] == size < most:
                size = min(2 * size, most)
                path, points = penalty_path(choices, size, rng)
            found = [points]
        penalty = self.penalty if path is None else float(path.penalties[path.best])
        assert penalty is not None
        draw = spectral_starts(WeightsProblem(choices), size, rng)
        n_starts = self.n_starts
        if path is not None and choices.n_answers > MAX_PATH_TRIALS:
            penalty, points = refined_penalty(choices, penalty, draw(), rng)
            found, n_starts = [points], 1  # a descent takes minutes, and of so many answers they agree

        def fits() -> Iterator[Solution[FloatArray]]:
            for points in found:
                yield solve(WeightsProblem(choices, penalty), solver, points, callback=callback)
            for _ in range(n_starts - len(found)):
                yield fit_from_start(choices, penalty, draw(), solver, callback)

        return penalty, path, best_of(fits())

    def _report(self, solution: Solution[FloatArray]) -> None:
        if solution.interrupted:
            advice = f"{solution.outcome.value} after {self.n_iter_} iterations; the best fit so far is stored"
        elif not solution.outcome.ok:
            advice = f"{solution.outcome.value}; the result is usable"
        elif not self.embedding_.any():
            advice = "the penalty leaves no dimension; choose a smaller one, or collect more answers"
        else:
            return
        self._warn(advice, solution.interrupted)

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        return super()._with_chosen_settings().set_params(penalty=self.penalty_)

    def _for_cross_validation(self) -> OrdinalEmbedding:
        return self._copy_with(n_starts=1, n_splits=0)

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        return pair_margins(self.embedding_, quadruplets)

    def _trial_similarities(self, items: NDArray[np.intp]) -> FloatArray:
        return item_similarities(self.embedding_, items)

    def _rotate(self, axes: FloatArray) -> None:
        raise ValueError("the dimensions of SPoSE have a meaning as they are, and rotated weights would be negative")

    def _add_objects(self, added: Comparisons) -> None:
        """Find the weights of new objects, those of the old ones as they are."""
        old, n = self.embedding_, len(self.embedding_)
        mean = np.full((added.n_objects - n, old.shape[1]), max(old.mean(), 1e-3))
        movable = np.arange(added.n_objects) >= n
        problem = WeightsProblem(Choices.of(added), self.penalty_, movable=movable)
        solution = solve(problem, Orthant(tol=1e-8), np.concatenate([old, mean]))
        if solution.interrupted:
            raise KeyboardInterrupt
        self.embedding_ = np.concatenate([old, solution.value[n:]])
        if self.weight_intervals_ is not None:
            unknown = np.tile([0.0, np.inf], (added.n_objects - n, old.shape[1], 1))
            self.weight_intervals_ = np.concatenate([self.weight_intervals_, unknown])
