"""What every estimator has in common: comparisons in, a map and predictions out.

An estimator stores its settings, and `fit` turns comparisons into a `Problem`, hands it to a solver and keeps the
result. A subclass says only which loss, which penalties and which solver it stands for.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nearer._rows import are_indices, show
from nearer.comparisons import Comparisons, as_comparisons
from nearer.losses import Loss
from nearer.margins import FloatArray, MarginMap
from nearer.metrics import clear_ties, error_from_margins
from nearer.problem import Problem
from nearer.solvers import Outcome, Solution, Solver, centred, embedding_from_gram, solve
from nearer.streams import RandomState, stream


class OrdinalEmbedding(BaseEstimator):
    """Base of all estimators; see `nearer.embedding` for those to use.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, n_components)
        The map: one row for each object, axes in order of falling variance, the mean of all objects compared at 0.
    gram_ : ndarray, shape (n_objects_, n_objects_)
        The Gram matrix that predicts; for methods without a rank limit it says more than `embedding_`.
    objects_ : ndarray, shape (n_objects_,)
        Labels of the objects.
    n_objects_, n_iter_ : int
    converged_ : bool
    history_ : list of Progress
        Iteration, objective and duality gap at each check.
    trace_ : float
        The weight of tr(G) in the mean form of the problem (the paper's lambda divided by the number of comparisons).
    """

    n_components: int
    n_objects: int | None
    random_state: RandomState

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss with this estimator's settings."""

    @abstractmethod
    def _penalized(self, problem: Problem) -> Problem:
        """Return the problem with this estimator's penalties."""

    @abstractmethod
    def _solver(self) -> Solver[Any]:
        """Return the solver that the settings ask for."""

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit a map to comparisons.

        Parameters
        ----------
        X : Comparisons or array-like, shape (m, 3) or (m, 4)
            Triplets (anchor, near, far) or quadruplets (near pair, far pair), as indices or labels.
        y : array-like, shape (m,), optional
            Answers: +1 (or True) as written, -1 (or False) the other way round. All +1 if left out.
        sample_weight : array-like, shape (m,), optional
            Nonnegative weights; a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        self._check_settings()
        solver = self._checked_solver()
        comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects)
        _refuse_huge(comparisons.n_objects)
        margins = MarginMap.from_quadruplets(comparisons.oriented, comparisons.n_objects)
        margins, weights = margins.merged(comparisons.sample_weight)
        margins, seen = margins.over_seen_objects()
        problem = self._penalized(Problem(margins, self._loss(), weights))
        solution = solve(problem, solver, stream(self.random_state, "start"))
        self.embedding_ = np.zeros((comparisons.n_objects, self.n_components))
        self.embedding_[seen] = embedding_from_gram(centred(solution.gram), self.n_components)
        self._keep(problem, solution.among(seen, comparisons.n_objects), comparisons)
        self._report(problem, solution, solver)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> FloatArray:
        """Fit and return `embedding_`, shape (n_objects_, n_components)."""
        return self.fit(X, y, sample_weight).embedding_

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins d2(far) - d2(near) of comparisons as written, shape (m,).

        Positive means that the near pair is nearer; ties up to rounding are exactly 0.
        """
        return clear_ties(*self._distances(self._comparisons(X).quadruplets))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 where a comparison holds as written, -1 where the other way round; a tie gives +1."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        They are those of the method's own model of answers (see `nearer.losses`), at the margins of the fitted map. A
        map that fits its training answers too closely is also too sure of itself: nothing here is calibrated on
        held-out answers.
        """
        holds = self._loss().probability_of(*self._distances(self._comparisons(X).quadruplets))
        return np.column_stack([1 - holds, holds])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of comparisons that the map satisfies, ties counted half: 1 - `comparison_error`."""
        comparisons = self._comparisons(X, y, sample_weight)
        margins = clear_ties(*self._distances(comparisons.oriented))
        return 1.0 - error_from_margins(margins, comparisons.sample_weight)

    def _check_settings(self) -> None:
        whole = isinstance(self.n_components, int | np.integer) and not isinstance(self.n_components, bool)
        if not whole or self.n_components < 1:
            raise ValueError(f"n_components must be an integer >= 1, got {self.n_components!r}")

    def _checked_solver(self) -> Solver[Any]:
        solver = self._solver()
        if isinstance(solver, type) or not hasattr(solver, "step"):
            raise ValueError(f"solver must be a name or an object such as nearer.solvers.ADMM(), got {solver!r}")
        return solver

    def _keep(self, problem: Problem, solution: Solution, comparisons: Comparisons) -> None:
        self.objects_ = comparisons.objects
        self.n_objects_ = comparisons.n_objects
        self.classes_ = np.array([-1, 1])
        self.gram_ = solution.gram
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.outcome.ok
        self.history_ = solution.history
        self.trace_ = problem.trace

    def _report(self, problem: Problem, solution: Solution, solver: Solver[Any]) -> None:
        if solution.outcome is Outcome.MAX_ITER:
            advice = (
                f"{solution.outcome.value}. The result is usable; for a better one pass solver="
                f"{type(solver).__name__}(...) of nearer.solvers with max_iter above {solver.max_iter} or a larger "
                "tol, or raise the penalty"
            )
        elif problem.vanishing_trace == 0:
            advice = "the answers cancel each other out, so that no map is better than a single point; check the data"
        elif problem.trace >= problem.vanishing_trace:
            advice = f"{Outcome.VANISHED.value}; choose a trace well below 1"
        elif not solution.gram.any():
            advice = f"{Outcome.VANISHED.value}; choose a smaller trace or a larger specificity"
        else:
            return
        warnings.warn(f"{type(self).__name__}: {advice}.", ConvergenceWarning, stacklevel=3)

    def _comparisons(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Comparisons:
        """Return comparisons over the objects of the fitted map."""
        check_is_fitted(self)
        if isinstance(X, Comparisons) or not are_indices(self.objects_):
            return as_comparisons(X, y, sample_weight, objects=self.objects_)
        comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects_)
        if not are_indices(comparisons.objects):
            raise ValueError(
                f"the map was fitted to indices 0..{self.n_objects_ - 1}, but the rows hold labels such as "
                f"{show(comparisons.objects[0])}; pass indices, or fit with the labels"
            )
        return comparisons

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)


def _refuse_huge(n_objects: int) -> None:
    """Refuse what no (n, n) matrix can be made for: most often identifiers taken for indices."""
    gigabytes = 8 * n_objects**2 / 1e9
    if gigabytes > 50:
        raise ValueError(
            f"{n_objects} objects need a Gram matrix of {gigabytes:.0f} GB; if the rows hold identifiers, not indices "
            "0..n-1, fit Comparisons.from_triplets(rows, objects=np.unique(rows))"
        )
