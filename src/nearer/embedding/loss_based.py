"""Estimators whose map has a loss: it gives probabilities, and places new objects."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.file import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import Fitted
from nearer.embedding.placing import place_points
from nearer.geometry import embedding_from_gram
from nearer.losses import Loss
from nearer.problems.margins import MarginMap
from nearer.solvers import Outcome
from nearer.solvers.driver import AnySolver


class LossEmbedding(OrdinalEmbedding):
    """Base of estimators whose map has a loss."""

    trace_: float
    _total_weight: float

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss with this estimator's settings."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        They are those of the method's own model of answers (see `nearer.losses`), at the margins of the fitted map. A
        map that fits its training answers too closely is also too sure of itself: nothing here is calibrated on
        held-out answers.
        """
        distances = self._distances(self._comparisons(X).quadruplets)
        holds = self._loss().probability_of(*distances)
        return np.column_stack([1 - holds, holds])

    def _keep_fitted(self, fitted: Fitted, comparisons: Judgments, solver: AnySolver) -> None:
        self._keep_map(fitted.embedding, comparisons)
        self._keep_run(fitted.solution, solver)
        self.trace_, self._total_weight = fitted.trace, fitted.total_weight

    def _report(self, fitted: Fitted) -> None:
        """Warn of a fit that is not what it should be."""
        outcome = fitted.solution.outcome
        if outcome is Outcome.INTERRUPTED:
            advice = f"{outcome.value} after {self.n_iter_} iterations; the best map so far is on the estimator"
        elif outcome is Outcome.MAX_ITER:
            advice = (
                f"{outcome.value}. The result is usable; for a better one pass solver={type(self.solver_).__name__}"
                f"(...) of nearer.solvers with max_iter above {self.solver_.max_iter} or a larger tol, or raise the "
                "penalty"
            )
        elif fitted.vanishing_trace == 0:
            advice = "the answers cancel each other out, so that no map is better than a single point; check the data"
        elif self.trace_ >= fitted.vanishing_trace:
            advice = f"{Outcome.VANISHED.value}; choose a trace well below 1"
        elif not self.embedding_.any():
            advice = f"{Outcome.VANISHED.value}; choose a smaller trace or a larger specificity"
        else:
            return
        self._tell(advice, fitted.solution.interrupted)

    def _extend(self, added: Comparisons) -> None:
        self.embedding_ = self._placed(self.embedding_, added)
        self.objects_, self.n_objects_ = added.objects, added.n_objects

    def _placed(self, points: FloatArray, added: Comparisons) -> FloatArray:
        """Return the given points and those of the objects beyond them."""
        solution = place_points(points, added, self._loss(), self.trace_ * self._total_weight)
        if solution.interrupted:
            raise KeyboardInterrupt
        if not solution.outcome.ok:
            self._warn(f"new objects may not be at their best places: {solution.outcome.value}")
        return solution.value


class GramEmbedding(LossEmbedding):
    """Base of estimators that may have a Gram matrix, which then predicts in place of the map."""

    gram_: FloatArray
    specificities_: FloatArray

    def check_consistency(self) -> None:
        """Refuse fitted values that do not belong together."""
        super().check_consistency()
        n = self.n_objects_
        if hasattr(self, "gram_") and self.gram_.shape != (n, n):
            raise ValueError(f"gram_ has shape {self.gram_.shape}, and there are {n} objects")

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        if not hasattr(self, "gram_"):
            return super()._distances(quadruplets)
        return MarginMap.from_quadruplets(quadruplets, self.n_objects_).distances(self.gram_)

    def _extend(self, added: Comparisons) -> None:
        if not hasattr(self, "gram_"):
            super()._extend(added)
            return
        # The old objects keep their block of the matrix; new ones get points in the space that it spans. A constant on
        # the diagonal changes no margin; this one brings the matrix of the closed form into the cone.
        n = self.n_objects_
        lift = max(0.0, -float(np.linalg.eigvalsh(self.gram_)[0]))
        points = self._placed(embedding_from_gram(self.gram_ + lift * np.eye(n), n), added)
        gram = points @ points.T - lift * np.eye(len(points))
        gram[:n, :n] = self.gram_
        super()._extend(added)
        self.gram_ = gram
        if hasattr(self, "specificities_"):
            self.specificities_ = np.pad(self.specificities_, (0, len(points) - n))
