"""What every estimator has in common: comparisons in, a map and predictions out.

An estimator stores its settings, and `fit` turns comparisons into a `Problem`, hands it to a solver and keeps the
result. A subclass says only which loss, which penalties and which solver it stands for.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons, as_comparisons
from nearer.losses import Loss
from nearer.margins import FloatArray, MarginMap
from nearer.metrics import clear_ties, error_from_margins
from nearer.problem import Problem
from nearer.solvers import Outcome, Solution, Solver, embedding_from_gram, solve
from nearer.streams import RandomState, stream


class OrdinalEmbedding(BaseEstimator):
    """Base of all estimators; see `nearer.embedding` for those to use.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, n_components)
        The map: one row for each object, axes in order of falling variance.
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

    #: What to change when the solver runs out of iterations.
    _more_iterations: ClassVar[str] = "raise max_iter or tol on the solver object"

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
        comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects)
        margins = MarginMap.from_quadruplets(comparisons.oriented, comparisons.n_objects)
        margins, weights = margins.merged(comparisons.sample_weight)
        margins, seen = margins.over_seen_objects()
        problem = self._penalized(Problem(margins, self._loss(), weights))
        solution = solve(problem, self._solver(), stream(self.random_state, "start"))
        self._keep(problem, solution.among(seen, comparisons.n_objects), comparisons)
        self._report(problem, solution)
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
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2)."""
        holds = self._loss().probability_of(*self._distances(self._comparisons(X).quadruplets))
        return np.column_stack([1 - holds, holds])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of comparisons that the map satisfies, ties counted half: 1 - `comparison_error`."""
        comparisons = self._comparisons(X, y, sample_weight)
        margins = clear_ties(*self._distances(comparisons.oriented))
        return 1.0 - error_from_margins(margins, comparisons.sample_weight)

    def _check_settings(self) -> None:
        if isinstance(self.n_components, bool) or not isinstance(self.n_components, int | np.integer):
            raise ValueError(f"n_components must be an integer >= 1, got {self.n_components!r}")
        if self.n_components < 1:
            raise ValueError(f"n_components must be an integer >= 1, got {self.n_components!r}")

    def _keep(self, problem: Problem, solution: Solution, comparisons: Comparisons) -> None:
        self.objects_ = comparisons.objects
        self.n_objects_ = comparisons.n_objects
        self.classes_ = np.array([-1, 1])
        self.embedding_ = embedding_from_gram(solution.gram, self.n_components)
        self.gram_ = solution.gram
        self.n_iter_ = solution.n_iter
        self.converged_ = solution.outcome.ok
        self.history_ = solution.history
        self.trace_ = problem.trace

    def _report(self, problem: Problem, solution: Solution) -> None:
        if solution.outcome is Outcome.MAX_ITER:
            warnings.warn(
                f"{type(self).__name__} stopped after {solution.n_iter} iterations: {solution.outcome.value}. "
                f"The result is usable; for a better one {self._more_iterations}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif problem.trace >= problem.vanishing_trace or not solution.gram.any():
            warnings.warn(
                f"{type(self).__name__}: {Outcome.VANISHED.value}; choose a trace well below 1.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _comparisons(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Comparisons:
        """Return comparisons over the objects of the fitted map."""
        check_is_fitted(self)
        if isinstance(X, Comparisons) or not np.array_equal(self.objects_, np.arange(self.n_objects_)):
            return as_comparisons(X, y, sample_weight, objects=self.objects_)
        return as_comparisons(X, y, sample_weight, n_objects=self.n_objects_)

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)
