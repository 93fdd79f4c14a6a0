"""The search for the views of highest likelihood, and for their number; see `nearer.optimize.problems.views`.

Which trial belongs to which view is a combinatorial question, and descent from one start often mixes the views up.
Starts are therefore many, random, and first descend on the *softened* likelihood (1 / b) log sum_v (pi_v P_v)^b with b
< 1, under which a trial is not assigned to one view before the views have taken shape. The tails come last: with heavy
ones a wrong view is cheap and trials can change sides; lighter ones, which separate the views sharply, start from
there.

Number and tails are chosen on held-out answers: views are added as long as each raises their log-likelihood by more
than its standard error and `MIN_GAIN`. Folds and the standard error take trials, or questions, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import assign_folds, group_indices, relabel_by_appearance, with_positive_weight
from nearer.embedding.fitting import Recipe, fit_points, place_points
from nearer.geometry import to_principal_axes
from nearer.model import StudentT
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.views import Mixture, PackedAnswers, ViewsProblem, assign_views, best_mixture
from nearer.optimize.solvers import Factored, Outcome, Progress, Solution, solve
from nearer.optimize.solvers.descent import best_of_restarts
from nearer.optimize.solvers.driver import Callback

SOFTNESS = (0.3, 1.0)  # from 0.1 on the views of few answers never part; 1 alone finds them less often
FIRST_TAILS, LIGHTER_TAILS, HEAVIER_TAILS = 3.0, (7.0, 15.0, 31.0), (1.0,)
_MAX_ROUNDS, _WEIGHT_TOL = 50, 1e-3  # of the weights
_AGREEMENT_TOL = 0.005 * float(np.log(2))  # of the mean log-likelihood, of which guessing loses log 2


@dataclass(frozen=True, eq=False)
class Views:
    """Maps of several views."""

    points: FloatArray  # (V, n, p), in order of falling weight
    mixture: Mixture
    alpha: float  # degrees of freedom
    trace: float  # the penalty of a single map, in the mean form of the problem


@dataclass(frozen=True, eq=False)
class ViewSearch:
    """How to look for views."""

    n_components: int
    alpha: float | None  # degrees of freedom; None to find them along with the views
    trace: float  # as a share of the penalty at which a single map is a point
    n_init: int
    solver: Factored  # of the descents that end a search; those that begin it are less exact

    def run(
        self,
        comparisons: Comparisons,
        n_views: int,
        rng: np.random.Generator,
        callback: Callback | None = None,
    ) -> list[FoundViews]:
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

    def continue_from(self, comparisons: Comparisons, known: Views, callback: Callback | None = None) -> FoundViews:
        """Return the views that descent from known ones, over the same objects, ends at."""
        kept, seen = relabel_by_appearance(comparisons)
        among = replace(known, points=known.points[:, seen])
        found = self._converge(PackedAnswers(kept), _unsolved(among), known.alpha, callback)
        return replace(found, value=_over_all_objects(found.value, seen, comparisons.n_objects))

    def _from_starts(self, packed: PackedAnswers, n_views: int, rng: np.random.Generator) -> Iterator[FoundViews]:
        """Yield views from different starts; a single map needs only one."""
        alpha = FIRST_TAILS if self.alpha is None else self.alpha
        if n_views == 1:
            recipe = Recipe(StudentT(alpha), Penalty(trace=self.trace, ridge=0.0), self.solver, self.n_components)
            one = fit_points(packed, recipe, rng)
            yield replace(one.solution, value=Views(one.embedding[None], Mixture.even(1), alpha, one.trace))
            return
        for _ in progress_bar("starts", self.n_init, range(self.n_init)):
            # One row of random numbers for each object, which are in order of appearance: names do not matter.
            points = rng.normal(scale=np.sqrt(alpha), size=(packed.n_objects, n_views, self.n_components))
            points = np.ascontiguousarray(np.swapaxes(points, 0, 1))
            found = _unsolved(Views(points, Mixture.even(n_views), alpha, 0.0))
            for softness in SOFTNESS:
                if not found.interrupted:
                    found = self._descend(packed, found, alpha, replace(self.solver, tol=1e-4), softness)
            yield found

    def _over_tails(self, packed: PackedAnswers, begun: FoundViews, callback: Callback | None) -> Iterator[FoundViews]:
        """Yield the views at each of the degrees of freedom, every time from those of the last."""
        first = self._converge(packed, begun, begun.value.alpha, callback)
        yield first
        for ladder in () if self.alpha is not None else (LIGHTER_TAILS, HEAVIER_TAILS):
            found = first
            for alpha in ladder:
                if found.interrupted:
                    return
                found = self._converge(packed, found, alpha, callback)
                yield found

    def _converge(
        self, packed: PackedAnswers, found: FoundViews, alpha: float, callback: Callback | None
    ) -> FoundViews:
        """Return the views, and weights, that no step improves any more."""
        # A map of other tails is about as good when distances in the unit sqrt(alpha) stay the same.
        views = found.value
        found = replace(found, value=replace(views, points=views.points * np.sqrt(alpha / views.alpha)))
        for _ in range(_MAX_ROUNDS):
            found = self._descend(packed, found, alpha, self.solver, 1.0, callback)
            before = found.value.mixture
            mixture = best_mixture(found.value.points, before, packed, StudentT(alpha))
            found = replace(found, value=replace(found.value, mixture=mixture))
            if found.interrupted or mixture.change(before) < _WEIGHT_TOL:
                return found
        return replace(found, outcome=Outcome.MAX_ITER)

    def _descend(
        self,
        packed: PackedAnswers,
        found: FoundViews,
        alpha: float,
        solver: Factored,
        softness: float,
        callback: Callback | None = None,
    ) -> FoundViews:
        """Return the views where a descent from those found so far ends, with the history of both."""
        views, loss = found.value, StudentT(alpha)
        n_views, n, p = views.points.shape
        trace = self.trace * loss.slope_at_zero * max(packed.largest_pull, 0.0)
        problem = ViewsProblem(
            packed, loss, trace, mixture=views.mixture, softness=softness, rank=p, n_threads=solver.n_threads
        )
        last = solve(problem, solver, views.points.reshape(-1, p), callback=callback)
        points = np.asarray(last.value, np.float64).reshape(n_views, n, p)
        history = [*found.history, *[Progress(found.n_iter + k, *rest) for k, *rest in last.history]]
        return Solution(Views(points, views.mixture, alpha, trace), last.outcome, found.n_iter + last.n_iter, history)


FoundViews: TypeAlias = Solution[Views]


def _unsolved(views: Views) -> FoundViews:
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


def select_likeliest(found: list[FoundViews], alpha: float | None = None) -> FoundViews:
    """Return the views of least objective, or those of the given degrees of freedom; interrupted if the search was."""
    chosen = [each for each in found if each.value.alpha == alpha] or found
    best = min(chosen, key=attrgetter("objective"))
    return replace(best, outcome=Outcome.INTERRUPTED) if found[-1].interrupted else best


def place_views(views: Views, added: Comparisons) -> Solution[FloatArray]:
    """Return the views with the objects of the comparisons that they lack, (V, n + k, p)."""
    # New objects are first placed in each map as if all comparisons were made from it.
    loss, (n_views, before, p) = StudentT(views.alpha), views.points.shape
    alone = [place_points(points, added, loss, 0.0).value for points in views.points]
    movable = np.tile(np.arange(added.n_objects) >= before, n_views)
    problem = ViewsProblem(PackedAnswers(added), loss, views.trace, mixture=views.mixture, movable=movable, rank=p)
    solution = solve(problem, Factored(tol=1e-8), np.concatenate(alone))
    placed = solution.value.reshape(n_views, added.n_objects, -1)
    return replace(solution, value=np.concatenate([views.points, placed[:, before:]], axis=1))


N_SPLITS, MAX_VIEWS = 5, 6
# A hundredth of the bit that an answer holds at most. A second view that is nearly the first once more gains next to
# nothing, and the standard error of that is next to nothing, too.
MIN_GAIN = 0.01 * float(np.log(2))


class ViewCount(NamedTuple):
    """A number of views, degrees of freedom (None if there was nothing to choose by), and what they were chosen by."""

    n_views: int
    alpha: float | None
    results: dict[str, Any] | None


def choose_number(comparisons: Comparisons, search: ViewSearch, rng: np.random.Generator) -> ViewCount:
    """Return the number of views and the degrees of freedom that predict held-out answers best."""
    comparisons = with_positive_weight(comparisons)
    units = group_indices(comparisons)
    n_folds = min(N_SPLITS, int(units.max()) + 1)
    if n_folds < 2:
        return ViewCount(1, None, None)
    folds = assign_folds(units, n_folds, rng)
    totals = np.bincount(units, comparisons.sample_weight).astype(np.float64)
    seeds = rng.integers(2**31, size=MAX_VIEWS)
    judged = [_held_out(comparisons, units, folds, 1, search, int(seeds[0]))]
    gains: list[tuple[float, float]] = []
    for number in range(2, MAX_VIEWS + 1):
        judged.append(_held_out(comparisons, units, folds, number, search, int(seeds[number - 1])))
        gains.append(_mean_and_error(judged[-1].log_likelihoods - judged[-2].log_likelihoods, totals))
        if gains[-1][0] <= max(gains[-1][1], MIN_GAIN):
            break
    else:
        number += 1
    results = {
        "n_views": np.arange(1, len(judged) + 1),
        "alpha": np.array([each.alpha for each in judged]),
        "mean_test_log_likelihood": np.array([each.log_likelihoods.sum() for each in judged]) / totals.sum(),
        "gain": np.array([mean for mean, _ in gains]),
        "gain_standard_error": np.array([error for _, error in gains]),
    }
    return ViewCount(number - 1, judged[number - 2].alpha, results)


class _HeldOut(NamedTuple):
    """The best degrees of freedom, and the log-likelihood of each unit from views that were fitted without it."""

    alpha: float
    log_likelihoods: FloatArray


def _held_out(
    comparisons: Comparisons,
    units: NDArray[np.intp],
    folds: NDArray[np.intp],
    n_views: int,
    search: ViewSearch,
    seed: int,
) -> _HeldOut:
    totals: dict[float, FloatArray] = {}
    n_folds = int(folds.max()) + 1
    for fold in progress_bar(f"{n_views} views", n_folds, range(n_folds), unit="fold"):
        found = search.run(comparisons[folds != fold], n_views, np.random.default_rng(seed + fold))
        if found[-1].interrupted:
            raise KeyboardInterrupt
        answers = PackedAnswers(comparisons[folds == fold])
        acts = answers.trials
        unit_of_act = np.zeros(len(acts.trial_weights), np.intp)
        unit_of_act[slice(None) if acts.trial_indices is None else acts.trial_indices] = units[folds == fold]
        for views in (each.value for each in found):
            judged = assign_views(views.points, views.mixture, answers, StudentT(views.alpha))
            total = totals.setdefault(views.alpha, np.zeros(int(units.max()) + 1))
            total += np.bincount(unit_of_act, acts.trial_weights * judged.log_likelihoods, len(total))
    best = max(totals, key=lambda alpha: float(totals[alpha].sum()))
    return _HeldOut(best, totals[best])


def _mean_and_error(sums: FloatArray, totals: FloatArray) -> tuple[float, float]:
    """Return the mean per comparison of sums over units, and its standard error."""
    mean = float(sums.sum() / totals.sum())
    return mean, float(np.sqrt(np.sum((sums - mean * totals) ** 2)) / totals.sum())
