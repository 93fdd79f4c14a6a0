"""MVTE: several maps at once, for answers that were given from several points of view.

Which trial belongs to which view is a combinatorial question, and descent from one start often mixes the views up.
Starts are therefore many, random, and first descend on a *softened* likelihood, under which a trial is not assigned to
one view before the views have taken shape. The tails come last: with heavy ones a wrong view is cheap and trials can
change sides; lighter ones, which separate the views sharply, start from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent
from nearer._common.parameters import check_counts
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import assign_folds, group_indices, relabel_by_appearance, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import Recipe, completed, fit_points, place_points
from nearer.geometry import align, to_principal_axes
from nearer.model import StudentT
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import clear_ties, pair_distances
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.views import Mixture, PackedAnswers, ViewsProblem, assign_views, best_mixture
from nearer.optimize.solvers import Factored, Outcome, Progress, Solution, solve
from nearer.optimize.solvers.descent import best_of_restarts
from nearer.optimize.solvers.driver import Callback, limited_blas

_SOFTNESS = (0.3, 1.0)  # from 0.1 on the views of few answers never part; 1 alone finds them less often
_FIRST_TAILS, _LIGHTER_TAILS, _HEAVIER_TAILS = 3.0, (7.0, 15.0, 31.0), (1.0,)
_MAX_ROUNDS, _WEIGHT_TOL = 50, 1e-3  # of the weights
_AGREEMENT_TOL = 0.005 * float(np.log(2))  # of the mean log-likelihood, of which guessing loses log 2
_SOLVER, _ROUGH_SOLVER = Factored(tol=1e-5), Factored(tol=1e-4)  # of the descents that end, and that begin, a search
_POINT_SIZE = 1e-3  # of the unit of the map
_N_SPLITS, _MAX_VIEWS = 5, 6
# A hundredth of the bit that an answer holds at most. A second view that is nearly the first once more gains next to
# nothing, and the standard error of that is next to nothing, too.
MIN_GAIN = 0.01 * float(np.log(2))


@dataclass(frozen=True, eq=False)
class Views:
    """Maps of several views."""

    points: FloatArray  # (V, n, p), in order of falling weight
    mixture: Mixture
    alpha: float  # degrees of freedom
    trace: float  # the penalty of a single map, in the mean form of the problem


_FoundViews: TypeAlias = Solution[Views]


@dataclass(eq=False, repr=False, kw_only=True)
class MVTE(OrdinalEmbedding):
    """Multi-view triplet embedding (after Amid and Ukkonen 2015): a mixture of t-STE maps.

    Maximizes the likelihood P(near) = sum_v weights_v P_v(near), where P_v is that of t-STE in the map of view v, but
    for a share of answers that are guesses. The rows of a trial, where trials are known, are judged from one view;
    otherwise each comparison may have its own.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of each map.
    n_views : int, optional
        The number of maps. Left out, views are added as long as each raises the log-likelihood of held-out answers, in
        five folds, by more than its standard error and 0.01 bits an answer.
    alpha : float > 0, optional
        Degrees of freedom of t-STE. Left out, those of 1, 3, 7, 15 and 31 that predict held-out answers best if the
        number of views is open, too, and that make the answers most likely if it is given.
    trace : float >= 0, default 0.001
        Penalty on the trace of the Gram matrix, as a share of the value at which a single map is a point.
    n_init : int, default 10
        The number of random starts, of which the best is kept; a single view needs none.
    n_objects, random_state
        As for every estimator; random_state is for starts and folds; None is 0.

    Attributes
    ----------
    views_ : ndarray, shape (n_views_, n_objects_, n_components)
        The maps, that of the largest weight first, each centered and with axes in order of falling variance.
    weights_ : ndarray, shape (n_views_,)
        The share of the answers that is given from each view.
    responsibilities_ : ndarray, shape (m, n_views_)
        How likely each view is the one that a row of `comparisons_` was judged from; worked out when asked for.
    embedding_ : ndarray, shape (n_objects_, n_components)
        The first of the views. Predictions are those of all.
    n_views_, alpha_, lapse_ : int, float, float
        The lapse rate is the share of answers that are guesses.
    cv_results_ : dict or None
        ``n_views``, the best ``alpha`` for each, ``mean_test_log_likelihood`` of a comparison, and ``gain`` and
        ``gain_standard_error`` of one more view; None if the number was given or there were too few answers to hold
        any out.
    objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. Iterations are those of the descents that led to the views.

    See Also
    --------
    TSTE : a single map.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> maps = [make_gaussian(20, 2, random_state=seed) for seed in (0, 1)]
    >>> color, taste = [sample_triplets(points, 1000, random_state=seed) for seed, points in enumerate(maps)]
    >>> model = MVTE(n_components=2, n_views=2, random_state=0).fit(color + taste)
    >>> model.views_.shape
    (2, 20, 2)
    >>> bool(abs(model.weights_ - 0.5).max() < 0.1)
    True
    """

    n_views: int | None = None
    alpha: float | None = None
    trace: float = 0.001
    n_init: int = 10
    views_: FloatArray = field(init=False)

    @property
    def responsibilities_(self) -> FloatArray:
        """How likely each view is the one that a row of `comparisons_` was judged from, (m, n_views_)."""
        check_is_fitted(self)
        answers = PackedAnswers(self._require_in_memory(self.comparisons_))
        shares = assign_views(self.views_, self._views().mixture, answers, StudentT(self.alpha_)).responsibilities
        return np.ascontiguousarray(answers.trials.to_rows(shares).T)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2), from a view not known."""
        holds = expit(self.decision_function(X))
        return np.column_stack([1 - holds, holds])

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an MVTE, not yet fitted, with the chosen degrees of freedom; refused where there are several views."""
        # A fit to other comparisons may put another view first, which does not show where objects lie in this one.
        check_is_fitted(self)
        if self.n_views_ > 1:
            raise ValueError(
                f"the map is the first of {self.n_views_} views ({percent(self.weights_[0])} of the answers), and maps "
                "of other answers may show another view first"
            )
        return self._fast_surrogate()

    def _fast_surrogate(self) -> OrdinalEmbedding:
        """Return an MVTE, not yet fitted, of the chosen number of views and degrees of freedom."""
        check_is_fitted(self)
        return self._copy_with(n_views=self.n_views_, alpha=self.alpha_)

    def _check_state(self) -> None:
        super()._check_state()
        if self.views_.shape != (len(self.weights_), *self.embedding_.shape):
            raise ValueError(f"views_ has shape {self.views_.shape}, and there are {self.n_objects_} objects")

    def _rotate(self, axes: FloatArray) -> None:
        self.views_ = self.views_ @ axes + 0.0
        self.embedding_ = self.views_[0].copy()

    def _check_settings(self) -> None:
        super()._check_settings()
        check_counts(n_views=1 if self.n_views is None else self.n_views, n_init=self.n_init)
        if Penalty(trace=self.trace, ridge=0.0).is_open:
            raise ValueError("trace must be a finite number >= 0, got None")
        if self.alpha is not None:
            StudentT(self.alpha)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        with self._warning_of_early_interrupt(), limited_blas("points", comparisons.n_objects):
            if start is not None and self._has_views_to_go_on_from():
                found = self._continue(comparisons, callback)
            else:
                n_views, alpha, self.cv_results_ = self.n_views or 1, None, None
                if self.n_views is None:
                    n_views, alpha, self.cv_results_ = self._choose_number(comparisons)
                all_tails = self._search(comparisons, n_views, self._repeatable_rng("start"), callback)
                chosen = [each for each in all_tails if each.value.alpha == alpha] or all_tails
                found = min(chosen, key=attrgetter("objective"))
                if all_tails[-1].interrupted:
                    found = replace(found, outcome=Outcome.INTERRUPTED)
        views = found.value
        self._store_map(views.points[0].copy(), comparisons)
        self.views_, self.alpha_ = views.points, float(views.alpha)
        self.weights_, self.lapse_ = views.mixture
        self.n_views_ = len(self.weights_)
        self.trace_ = float(views.trace)
        self._store_run(found, _SOLVER)
        self._report(found)

    def _has_views_to_go_on_from(self) -> bool:
        """Whether the present views are what the settings ask for."""
        same = self.n_views in (None, len(self.weights_)) and self.alpha in (None, self.alpha_)
        return same and self.views_.shape[2] == self.n_components and not self._is_point(self.views_)

    def _views(self) -> Views:
        return Views(self.views_, Mixture(self.weights_, self.lapse_), self.alpha_, self.trace_)

    def _is_point(self, points: FloatArray) -> bool:
        return bool(np.abs(points).max() < _POINT_SIZE * np.sqrt(self.alpha_))

    def _report(self, found: _FoundViews) -> None:
        outcome = found.outcome
        if found.interrupted:
            advice = f"{outcome.value} after {self.n_iter_} iterations; the best views so far are on the estimator"
        elif not outcome.ok:
            advice = f"{outcome.value}. The result is usable; raise trace for a better one"
        elif self._is_point(self.views_):
            advice = "all views are single points: choose a trace well below 1, or check for answers that cancel out"
        else:
            return
        self._warn(advice, found.interrupted)

    def _add_objects(self, added: Comparisons) -> None:
        """Place the objects that the maps lack, in all of them."""
        # New objects are first placed in each map as if all comparisons were made from it.
        loss, (n_views, before, p), mixture = StudentT(self.alpha_), self.views_.shape, self._views().mixture
        alone = [place_points(points, added, loss, 0.0).value for points in self.views_]
        movable = np.tile(np.arange(added.n_objects) >= before, n_views)
        problem = ViewsProblem(PackedAnswers(added), loss, self.trace_, mixture=mixture, movable=movable, rank=p)
        solution = completed(solve(problem, Factored(tol=1e-8), np.concatenate(alone)))
        placed = solution.value.reshape(n_views, added.n_objects, -1)
        self.views_ = np.concatenate([self.views_, placed[:, before:]], axis=1)
        self.embedding_ = self.views_[0].copy()

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return the log-odds that comparisons hold."""
        i, j, l, k = quadruplets.T  # noqa: E741
        odds = []
        for points in self.views_:
            near, far = pair_distances(points, i, j), pair_distances(points, l, k)
            odds.append(np.where(clear_ties(near, far) == 0, 0.0, StudentT(self.alpha_).log_odds(near, far)))
        weights = self.weights_[:, None]
        holds, fails = (answer_probability(sign * np.stack(odds), self.lapse_) for sign in (1, -1))
        margins: FloatArray = np.log((weights * holds).sum(axis=0)) - np.log((weights * fails).sum(axis=0))
        return margins

    def _search(
        self, comparisons: Comparisons, n_views: int, rng: np.random.Generator, callback: Callback | None = None
    ) -> list[_FoundViews]:
        """Return the views of highest likelihood that were found, at each of the degrees of freedom that are open."""
        kept, seen = relabel_by_appearance(comparisons)
        packed = PackedAnswers(kept)
        # A single map comes from one search, which counts its own descents.
        best = best_of_restarts(self._from_starts(packed, n_views, rng), _AGREEMENT_TOL)
        found = [best] if best.interrupted else list(self._over_tails(packed, best, callback))
        return [
            replace(each, value=_over_all_objects(each.value, seen, comparisons.n_objects), restarts=best.restarts)
            for each in found
        ]

    def _continue(self, comparisons: Comparisons, callback: Callback | None) -> _FoundViews:
        """Return the views that descent from the present ones ends at, rotated onto these."""
        kept, seen = relabel_by_appearance(comparisons)
        among = replace(self._views(), points=self.views_[:, seen])
        found = self._converge(PackedAnswers(kept), _unsolved(among), self.alpha_, callback)
        views = _over_all_objects(found.value, seen, comparisons.n_objects)
        maps = zip(views.points, self.views_, strict=True)
        aligned = [align(new, old, scaling=False, moving=False) for new, old in maps]
        return replace(found, value=replace(views, points=np.stack(aligned)))

    def _from_starts(self, packed: PackedAnswers, n_views: int, rng: np.random.Generator) -> Iterator[_FoundViews]:
        """Yield views from different starts; a single map needs only one."""
        alpha = _FIRST_TAILS if self.alpha is None else self.alpha
        if n_views == 1:
            recipe = Recipe(StudentT(alpha), Penalty(trace=self.trace, ridge=0.0), _SOLVER, self.n_components)
            one = fit_points(packed, recipe, rng)
            yield replace(one.solution, value=Views(one.embedding[None], Mixture.even(1), alpha, one.trace))
            return
        for _ in progress_bar("starts", self.n_init, range(self.n_init)):
            # One row of random numbers for each object, which are in order of appearance: names do not matter.
            points = rng.normal(scale=np.sqrt(alpha), size=(packed.n_objects, n_views, self.n_components))
            points = np.ascontiguousarray(np.swapaxes(points, 0, 1))
            found = _unsolved(Views(points, Mixture.even(n_views), alpha, 0.0))
            for softness in _SOFTNESS:
                if not found.interrupted:
                    found = self._descend(packed, found, alpha, _ROUGH_SOLVER, softness)
            yield found

    def _over_tails(
        self, packed: PackedAnswers, begun: _FoundViews, callback: Callback | None
    ) -> Iterator[_FoundViews]:
        """Yield the views at each of the degrees of freedom, every time from those of the last."""
        first = self._converge(packed, begun, begun.value.alpha, callback)
        yield first
        for ladder in () if self.alpha is not None else (_LIGHTER_TAILS, _HEAVIER_TAILS):
            found = first
            for alpha in ladder:
                if found.interrupted:
                    return
                found = self._converge(packed, found, alpha, callback)
                yield found

    def _converge(
        self, packed: PackedAnswers, found: _FoundViews, alpha: float, callback: Callback | None
    ) -> _FoundViews:
        """Return the views, and weights, that no step improves any more."""
        # A map of other tails is about as good when distances in the unit sqrt(alpha) stay the same.
        views = found.value
        found = replace(found, value=replace(views, points=views.points * np.sqrt(alpha / views.alpha)))
        for _ in range(_MAX_ROUNDS):
            found = self._descend(packed, found, alpha, _SOLVER, 1.0, callback)
            before = found.value.mixture
            mixture = best_mixture(found.value.points, before, packed, StudentT(alpha))
            found = replace(found, value=replace(found.value, mixture=mixture))
            if found.interrupted or mixture.change(before) < _WEIGHT_TOL:
                return found
        return replace(found, outcome=Outcome.MAX_ITER)

    def _descend(
        self,
        packed: PackedAnswers,
        found: _FoundViews,
        alpha: float,
        solver: Factored,
        softness: float,
        callback: Callback | None = None,
    ) -> _FoundViews:
        """Return the views where a descent from those found so far ends, with the history of both."""
        views, loss = found.value, StudentT(alpha)
        n_views, n, p = views.points.shape
        trace = self.trace * loss.slope_at_zero * max(packed.largest_pull, 0.0)
        problem = ViewsProblem(packed, loss, trace, mixture=views.mixture, softness=softness, rank=p)
        last = solve(problem, solver, views.points.reshape(-1, p), callback=callback)
        points = np.asarray(last.value, np.float64).reshape(n_views, n, p)
        history = [*found.history, *[Progress(found.n_iter + k, *rest) for k, *rest in last.history]]
        return Solution(Views(points, views.mixture, alpha, trace), last.outcome, found.n_iter + last.n_iter, history)

    def _choose_number(self, comparisons: Comparisons) -> tuple[int, float | None, dict[str, Any] | None]:
        """Return the number of views and the degrees of freedom that predict held-out answers best, and the search."""
        comparisons = with_positive_weight(comparisons)
        units = group_indices(comparisons)
        n_folds = min(_N_SPLITS, int(units.max()) + 1)
        if n_folds < 2:
            return 1, None, None
        rng = self._repeatable_rng("folds")
        folds = assign_folds(units, n_folds, rng)
        totals = np.bincount(units, comparisons.sample_weight).astype(np.float64)
        seeds = rng.integers(2**31, size=_MAX_VIEWS)
        alphas: list[float] = []
        held_out: list[FloatArray] = []
        gains: list[tuple[float, float]] = []
        for number in range(1, _MAX_VIEWS + 1):
            alpha, log_likelihoods = self._held_out(comparisons, units, folds, number, int(seeds[number - 1]))
            alphas.append(alpha)
            held_out.append(log_likelihoods)
            if number > 1:
                more = held_out[-1] - held_out[-2]
                gain = float(more.sum() / totals.sum())
                error = float(np.sqrt(np.sum((more - gain * totals) ** 2)) / totals.sum())
                gains.append((gain, error))
                if gain <= max(error, MIN_GAIN):
                    break
        else:
            number += 1
        results = {
            "n_views": np.arange(1, len(alphas) + 1),
            "alpha": np.array(alphas),
            "mean_test_log_likelihood": np.array([each.sum() for each in held_out]) / totals.sum(),
            "gain": np.array([gain for gain, _ in gains]),
            "gain_standard_error": np.array([error for _, error in gains]),
        }
        return number - 1, alphas[number - 2], results

    def _held_out(
        self, comparisons: Comparisons, units: NDArray[np.intp], folds: NDArray[np.intp], n_views: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Return the best degrees of freedom, and the log-likelihood of each unit from views fitted without it."""
        totals: dict[float, FloatArray] = {}
        n_folds = int(folds.max()) + 1
        for fold in progress_bar(f"{n_views} views", n_folds, range(n_folds), unit="fold"):
            found = self._search(comparisons[folds != fold], n_views, np.random.default_rng(seed + fold))
            completed(found[-1])
            answers = PackedAnswers(comparisons[folds == fold])
            acts = answers.trials
            unit_of_act = np.zeros(len(acts.trial_weights), np.intp)
            unit_of_act[slice(None) if acts.trial_indices is None else acts.trial_indices] = units[folds == fold]
            for views in (each.value for each in found):
                judged = assign_views(views.points, views.mixture, answers, StudentT(views.alpha))
                total = totals.setdefault(views.alpha, np.zeros(int(units.max()) + 1))
                total += np.bincount(unit_of_act, acts.trial_weights * judged.log_likelihoods, len(total))
        best = max(totals, key=lambda alpha: float(totals[alpha].sum()))
        return best, totals[best]


def _unsolved(views: Views) -> _FoundViews:
    return Solution(views, Outcome.MAX_ITER, 0, [])


def _over_all_objects(views: Views, seen: NDArray[np.integer], n_objects: int) -> Views:
    """Return views over all objects, each map centered and in its principal axes, in order of falling weight."""
    everywhere = np.zeros((len(views.points), n_objects, views.points.shape[2]))
    mentioned = np.isin(np.arange(n_objects), seen)
    for target, points in zip(everywhere, views.points, strict=True):
        target[seen] = points
        target[:] = to_principal_axes(target, mentioned)
    order = np.argsort(-views.mixture.weights, kind="stable")
    mixture = views.mixture._replace(weights=views.mixture.weights[order])
    return replace(views, points=everywhere[order], mixture=mixture)
