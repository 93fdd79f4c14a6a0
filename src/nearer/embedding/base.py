"""What every estimator has in common: comparisons in, a map and predictions out.

An estimator stores its settings, and `fit` turns comparisons into a problem, hands it to a solver and keeps the
result. A subclass says only which loss, which penalty and which solver it stands for.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nearer.common.arrays import FloatArray
from nearer.common.randomness import RandomState, stream
from nearer.common.words import counted
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.file import ComparisonsFile
from nearer.data.labels import are_indices
from nearer.data.refusing import show
from nearer.data.units import alike
from nearer.embedding.fitting import Fitted, fit_gram, fit_points
from nearer.embedding.placing import place_points
from nearer.embedding.transformer import ReturnsMap
from nearer.geometry import align
from nearer.losses import Loss
from nearer.problems.distances import clear_ties, error_from_margins, pair_distances
from nearer.problems.penalty import Penalty
from nearer.problems.points import InMemory
from nearer.solvers import Outcome, Solver
from nearer.solvers.blas import limited_blas
from nearer.solvers.driver import Callback


class MapDraws(NamedTuple):
    """A distribution over maps: draws, (k, n, p), laid onto the map, and covariances of the places, (n, p, p)."""

    maps: FloatArray
    covariances: FloatArray


class OrdinalEmbedding(ReturnsMap, BaseEstimator):
    """Base of all estimators; see `nearer.embedding` for those to use.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, n_components)
        The map: one row for each object, axes in order of falling variance, the mean of all objects compared at 0.
    objects_ : ndarray, shape (n_objects_,)
        Labels of the objects.
    n_objects_, n_iter_ : int
    n_features_in_ : int
        The number of columns that were fitted: 3 of triplets, 4 of quadruplets.
    converged_ : bool
    history_ : list of Progress
        Iteration, objective and duality gap at each check.
    solver_ : solver object
        The one that found the map.
    restarts_ : Restarts
        ``tried``, the number of descents, and ``agreed``, how many of them ended as low as the best one, the map; see
        `nearer.solvers.restarts`.
    trace_ : float
        The weight of tr(G), the sum of the squared norms, in the mean form of the problem.
    comparisons_ : Comparisons or ComparisonsFile
        What the map was fitted to; `partial_fit` adds to it.
    """

    n_components: int
    n_objects: int | None
    random_state: RandomState
    embedding_: FloatArray
    comparisons_: Comparisons | ComparisonsFile
    n_objects_: int

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss with this estimator's settings."""

    @abstractmethod
    def _penalty(self, solver: Solver[Any, Any]) -> Penalty:
        """Return the penalty with this estimator's settings."""

    @abstractmethod
    def _solver(self, n_objects: int, n_comparisons: int) -> Solver[Any, Any]:
        """Return the solver that the settings ask for, at this size."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to comparisons.

        Ctrl-C during a fit leaves the best map so far on the estimator, says so, and goes on as an interrupt.

        Parameters
        ----------
        X : Comparisons, ComparisonsFile, or array-like of shape (m, 3) or (m, 4)
            Triplets (anchor, near, far) or quadruplets (near pair, far pair), as indices or labels.
        y : array-like, shape (m,), optional
            Answers: +1 (or True) as written, -1 (or False) the other way round. All +1 if left out.
        sample_weight : array-like, shape (m,), optional
            Nonnegative weights; a row of weight 2 counts as two rows.
        callback : callable, optional
            Called with the `Progress` of each iteration, of each descent if there are several.

        Returns
        -------
        self
        """
        self._check_settings()
        if isinstance(X, ComparisonsFile):
            self._check_file(X, y, sample_weight)
            self._check_dimensions(X.n_objects)
            return self._fit(X, callback=callback)
        comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects)
        self._check_dimensions(comparisons.n_objects)
        return self._fit(comparisons, callback=callback)

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add comparisons to those fitted before and go on from the present map; the first call is a `fit`.

        Objects that are new take part from where `place` puts them. Methods over Gram matrices start afresh, as their
        solution does not depend on the start. The map is turned to lie on the one before as well as it can.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, sample_weight)
        self._check_settings()
        added = self._with_new_objects(X, y, sample_weight)
        everything = self._joined(added)
        self._check_dimensions(everything.n_objects)
        if added.n_objects > self.n_objects_:
            self._extend(added)
            self._remember(everything)  # an interrupt from here on leaves objects on the map: keep what placed them
        same_dimension = self.n_components in (None, self.embedding_.shape[1])
        return self._fit(everything, start=self.embedding_ if same_dimension else None)

    def place(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> FloatArray:
        """Put new objects into the map without moving the old ones.

        The map then has them as its last rows, in the order of `objects_`, and predicts comparisons with them.

        Parameters
        ----------
        X, y, sample_weight
            Comparisons that mention the new objects, as for `fit`; with old ones or with each other.

        Returns
        -------
        ndarray, shape (k, n_components)
            The points of the new objects.
        """
        check_is_fitted(self)
        before = self.n_objects_
        added = self._with_new_objects(X, y, sample_weight)
        if added.n_objects == before:
            raise ValueError("all objects of these comparisons are on the map already; partial_fit takes more of them")
        everything = added if isinstance(self.comparisons_, ComparisonsFile) else self._joined(added)
        self._extend(added)
        if not isinstance(self.comparisons_, ComparisonsFile):
            self._remember(everything)  # or the next partial_fit would know nothing of the new objects
        return self.embedding_[before:]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins d2(far) - d2(near) of comparisons as written, shape (m,).

        Positive means that the near pair is nearer; ties up to rounding are exactly 0.
        """
        return self._margins(self._comparisons(X).quadruplets)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 where a comparison holds as written, -1 where the other way round; a tie gives +1."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        They are those of the method's own model of answers (see `nearer.losses`), at the margins of the fitted map. A
        map that fits its training answers too closely is also too sure of itself: nothing here is calibrated on
        held-out answers.
        """
        distances = self._distances(self._comparisons(X).quadruplets)
        holds = self._loss().probability_of(*distances)
        return np.column_stack([1 - holds, holds])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of comparisons that the map satisfies, ties counted half: 1 - `comparison_error`."""
        comparisons = self._comparisons(X, y, sample_weight)
        margins = self._margins(comparisons.oriented)
        return 1.0 - error_from_margins(margins, comparisons.sample_weight)

    @property
    def chosen_(self) -> OrdinalEmbedding:
        """The estimator that made the map: this one, or of several the one that was chosen."""
        return self

    def with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, that makes a map from other comparisons as this fit did.

        What the fit has chosen is not chosen again: the fits of a bootstrap or of split halves take the same settings.
        """
        same: OrdinalEmbedding = clone(self)
        return same

    def quick_stand_in(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, for what takes many fits: one like this, or a faster one of its kind."""
        same: OrdinalEmbedding = clone(self)
        return same

    def map_draws(self, n_draws: int, random_state: RandomState = None) -> MapDraws | None:
        """Return maps drawn from the distribution that the fit has found; None for a method that finds one map."""
        return None

    def _check_settings(self) -> None:
        whole = isinstance(self.n_components, int | np.integer) and not isinstance(self.n_components, bool)
        if not whole or self.n_components < 1:
            raise ValueError(f"n_components must be an integer >= 1, got {self.n_components!r}")

    def _check_dimensions(self, n_objects: int) -> None:
        """Refuse more dimensions than so many objects can fill: n points lie in n - 1 dimensions, whatever they are."""
        if self.n_components is not None and self.n_components >= n_objects:
            raise ValueError(
                f"n_components={self.n_components} is too many for {counted(n_objects, 'object')}, which fill "
                f"{counted(n_objects - 1, 'dimension')} at most; choose n_components={n_objects - 1} or fewer"
            )

    def _checked_solver(self, n_objects: int, n_comparisons: int) -> Solver[Any, Any]:
        solver = self._solver(n_objects, n_comparisons)
        if isinstance(solver, type) or not hasattr(solver, "step"):
            raise ValueError(f"solver must be a name or an object such as nearer.solvers.ADMM(), got {solver!r}")
        return solver

    def _check_file(self, file: ComparisonsFile, y: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        if y is not None or sample_weight is not None:
            raise ValueError("a ComparisonsFile brings its own answers and weights; pass it alone")
        if self.n_objects not in (None, file.n_objects):
            raise ValueError(
                f"n_objects={self.n_objects}, but the file has {file.n_objects}; leave it out here and make "
                "ComparisonsFile(path, n_objects=...)"
            )

    def _in_memory(self, comparisons: Comparisons | ComparisonsFile) -> Comparisons:
        if isinstance(comparisons, ComparisonsFile):
            name = type(self).__name__
            raise ValueError(f"{name} needs all comparisons in memory; fit SOE, STE or TSTE to a ComparisonsFile")
        return comparisons

    def _fit(
        self,
        comparisons: Comparisons | ComparisonsFile,
        callback: Callback | None = None,
        start: FloatArray | None = None,
    ) -> Self:
        self._settle(comparisons)
        solver = self._checked_solver(comparisons.n_objects, len(comparisons))
        if solver.space == "points":
            rank = self._rank()
            solver = replace(solver, rank=rank)  # type: ignore[type-var]
            fits = start is not None and start.shape[1] == rank
            if start is not None and fits and np.linalg.matrix_rank(start) >= min(rank, len(start) - 1):
                # A flat map, or a point, has no gradient out of it and would stay so: only others are gone on from.
                solver = replace(solver, start=start)  # type: ignore[type-var]
        try:
            with limited_blas(solver.space, comparisons.n_objects):
                fitted = self._solved(comparisons, solver, callback)
        except KeyboardInterrupt:
            warnings.warn(
                f"{type(self).__name__}: the fit was interrupted before its first iteration; there is no new map.",
                ConvergenceWarning,
                stacklevel=3,
            )
            raise
        if start is not None:
            fitted = replace(fitted, embedding=align(fitted.embedding, start, scaling=False, moving=False))
        self._keep(fitted, comparisons)
        self.solver_ = solver
        self._report(fitted, solver)
        return self

    def _solved(
        self,
        comparisons: Comparisons | ComparisonsFile,
        solver: Solver[Any, Any],
        callback: Callback | None,
    ) -> Fitted:
        loss, penalty, rng = self._loss(), self._penalty(solver), stream(self.random_state, "start")
        if solver.space == "points":
            source = comparisons if isinstance(comparisons, ComparisonsFile) else InMemory(comparisons)
            return fit_points(source, loss, penalty, solver, rng, callback)
        if isinstance(comparisons, ComparisonsFile):
            raise ValueError(
                f"{type(solver).__name__} works on a Gram matrix and needs all comparisons in memory; "
                "fit a ComparisonsFile with a solver over points: solver='factored' or nearer.solvers.SVRG()"
            )
        return self._finished(
            fit_gram(comparisons, loss, penalty, solver, self.n_components, rng, callback), comparisons
        )

    def _settle(self, comparisons: Comparisons | ComparisonsFile) -> None:
        """Set what is left open in the settings and depends on the comparisons."""

    def _rank(self) -> int:
        """Return the dimension of the points that a solver over points moves."""
        return self.n_components

    def _finished(self, fitted: Fitted, comparisons: Comparisons) -> Fitted:
        """Return a fit over Gram matrices with what the method does after its solver."""
        return fitted

    def _keep(self, fitted: Fitted, comparisons: Comparisons | ComparisonsFile) -> None:
        self.embedding_ = fitted.embedding
        self.comparisons_ = comparisons
        self.objects_ = comparisons.objects
        self.n_objects_ = comparisons.n_objects
        self.classes_ = np.array([-1, 1])
        self.n_iter_ = fitted.solution.n_iter
        self.converged_ = fitted.solution.outcome.ok
        self.history_ = fitted.solution.history
        self.restarts_ = fitted.solution.restarts
        self.trace_ = fitted.problem.trace
        self._total_weight = fitted.problem.total_weight

    def _report(self, fitted: Fitted, solver: Solver[Any, Any]) -> None:
        outcome, name = fitted.solution.outcome, type(self).__name__
        if outcome is Outcome.INTERRUPTED:
            advice = f"{outcome.value} after {self.n_iter_} iterations; the best map so far is on the estimator"
        elif outcome is Outcome.MAX_ITER:
            advice = (
                f"{outcome.value}. The result is usable; for a better one pass solver={type(solver).__name__}(...) of "
                f"nearer.solvers with max_iter above {solver.max_iter} or a larger tol, or raise the penalty"
            )
        elif fitted.vanishing_trace == 0:
            advice = "the answers cancel each other out, so that no map is better than a single point; check the data"
        elif self.trace_ >= fitted.vanishing_trace:
            advice = f"{Outcome.VANISHED.value}; choose a trace well below 1"
        elif not self.embedding_.any():
            advice = f"{Outcome.VANISHED.value}; choose a smaller trace or a larger specificity"
        else:
            return
        try:
            warnings.warn(f"{name}: {advice}.", ConvergenceWarning, stacklevel=4)
        finally:
            if outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt

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

    def _with_new_objects(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Comparisons:
        """Return comparisons over the objects of the map and those that it lacks, these last."""
        old = self.objects_
        if not isinstance(X, Comparisons) and are_indices(old):
            with warnings.catch_warnings():
                # Comparisons of new objects need not mention the first one.
                warnings.filterwarnings("ignore", "index 0 never occurs")
                comparisons = as_comparisons(X, y, sample_weight)
        elif not isinstance(X, Comparisons) and old.dtype.kind in "iu":
            # Integers that are labels: without the list of objects they would be read as indices.
            named = [*old.tolist(), *np.setdiff1d(np.asarray(X), old).tolist()]
            comparisons = as_comparisons(X, y, sample_weight, objects=named)
        else:
            comparisons = as_comparisons(X, y, sample_weight)
        if are_indices(old) != are_indices(comparisons.objects):
            raise ValueError(
                f"the map was fitted to objects such as {show(old[0])}, but these comparisons are about "
                f"{show(comparisons.objects[0])}; use the same labels, or indices, in both"
            )
        known = set(old.tolist())
        new = [label for label in comparisons.objects.tolist() if label not in known]
        if not new:
            return comparisons.over(old)
        comparisons = comparisons.over([*old.tolist(), *new])
        if not (comparisons.rows[(comparisons.rows >= len(old)).any(axis=1)] < len(old)).any():
            raise ValueError(
                f"no comparison links {show(new[0])} to an object of the map; add some, or fit all comparisons together"
            )
        unheard = np.setdiff1d(np.arange(len(old), comparisons.n_objects), comparisons.rows)
        if len(unheard):
            raise ValueError(
                f"object {show(comparisons.objects[unheard[0]])} is not on the map, and no comparison says where it "
                f"belongs; the map has {len(old)} objects, so new indices go on from {len(old)}"
                if are_indices(old)
                else f"object {show(comparisons.objects[unheard[0]])} is neither on the map nor in a comparison; "
                "leave it out of the objects"
            )
        return comparisons

    def _joined(self, added: Comparisons) -> Comparisons:
        """Return the comparisons of the fit and the added ones, over the objects of these."""
        if isinstance(self.comparisons_, ComparisonsFile):
            raise ValueError(
                f"the map was fitted to {self.comparisons_.path.name}, to which partial_fit cannot add; write all "
                "comparisons to one file and fit that, or put new objects on the map with place"
            )
        return Comparisons.concatenate(alike(self.comparisons_, added)).over(added.objects)

    def _remember(self, comparisons: Comparisons) -> None:
        """Keep the comparisons that the map, with objects placed on it, rests on."""
        self.comparisons_ = comparisons

    def _extend(self, added: Comparisons) -> None:
        """Place the objects that the map lacks."""
        self.embedding_ = self._placed(self.embedding_, added)
        self.objects_, self.n_objects_ = added.objects, added.n_objects

    def _placed(self, points: FloatArray, added: Comparisons) -> FloatArray:
        """Return the given points and those of the objects beyond them."""
        placed, outcome = place_points(points, added, self._loss(), self.trace_ * self._total_weight)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if not outcome.ok:
            message = f"{type(self).__name__}: new objects may not be at their best places: {outcome.value}."
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        return placed

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return what is positive where a comparison holds as written, and 0 for a tie."""
        return clear_ties(*self._distances(quadruplets))

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        i, j, l, k = quadruplets.T  # noqa: E741
        return pair_distances(self.embedding_, i, j), pair_distances(self.embedding_, l, k)
