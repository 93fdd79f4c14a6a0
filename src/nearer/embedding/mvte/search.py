"""The search for the views of highest likelihood; see `nearer.optimize.problems.views`.

Which act belongs to which view is a combinatorial question, and descent from one start often mixes the views up. Starts
are therefore many, random, and first descend on the *softened* likelihood (1 / b) log sum_v (pi_v P_v)^b with b < 1,
under which an act is not given to one view before the views have taken shape. The tails come last: with heavy ones a
wrong view is cheap and acts can change sides; lighter ones, which tell the views apart sharply, start from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import relabel_by_appearance
from nearer.embedding.fitting import Recipe, fit_points
from nearer.embedding.placing import place_points
from nearer.geometry import to_principal_axes
from nearer.model import StudentT
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.views import Mixture, PackedAnswers, ViewsProblem, best_mixture
from nearer.optimize.solvers import Factored, Outcome, Progress, Solution, solve
from nearer.optimize.solvers.descent import best_of_restarts
from nearer.optimize.solvers.driver import Callback

SOFTNESS = (0.3, 1.0)  # from 0.1 on the views of few answers never part; 1 alone finds them less often
FIRST_TAILS, LIGHTER_TAILS, HEAVIER_TAILS = 3.0, (7.0, 15.0, 31.0), (1.0,)
_ROUNDS, _SETTLED = 50, 1e-3  # of the weights
_AGREEING = 0.005 * float(np.log(2))  # of the mean log-likelihood, of which guessing loses log 2


@dataclass(frozen=True, eq=False)
class Views:
    """Maps of several views.

    Attributes
    ----------
    points : ndarray, shape (V, n, p)
        In order of falling weight.
    mixture : Mixture
    alpha : float
        Degrees of freedom.
    trace : float
        The penalty of a single map, in the mean form of the problem.
    """

    points: FloatArray
    mixture: Mixture
    alpha: float
    trace: float


@dataclass(frozen=True, eq=False)
class ViewSearch:
    """How to look for views.

    Attributes
    ----------
    n_components, n_init : int
    alpha : float or None
        Degrees of freedom; None to find them along with the views.
    trace : float
        As a share of the penalty at which a single map is a point.
    solver : Factored
        Of the descents that end a search; those that begin it are less exact.
    """

    n_components: int
    alpha: float | None
    trace: float
    n_init: int
    solver: Factored

    def run(
        self,
        comparisons: Comparisons,
        n_views: int,
        rng: np.random.Generator,
        callback: Callback | None = None,
    ) -> list[Found]:
        """Return the views of highest likelihood that were found, at each of the degrees of freedom that are open.

        Ctrl-C ends the search; the outcome of the last views then says so.
        """
        kept, seen = relabel_by_appearance(comparisons)
        packed = PackedAnswers(kept)
        # A single map comes from one search, which counts its own descents.
        best = best_of_restarts(self._begun(packed, n_views, rng), _AGREEING)
        found = [best] if best.interrupted else list(self._at_all_tails(packed, best, callback))
        return [
            replace(each, value=_unpacked(each.value, seen, comparisons.n_objects), restarts=best.restarts)
            for each in found
        ]

    def go_on(self, comparisons: Comparisons, known: Views, callback: Callback | None = None) -> Found:
        """Return the views that descent from known ones, over the same objects, ends at."""
        kept, seen = relabel_by_appearance(comparisons)
        among = replace(known, points=known.points[:, seen])
        found = self._ended(PackedAnswers(kept), _not_started(among), known.alpha, callback)
        return replace(found, value=_unpacked(found.value, seen, comparisons.n_objects))

    def _begun(self, packed: PackedAnswers, n_views: int, rng: np.random.Generator) -> Iterator[Found]:
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
            found = _not_started(Views(points, Mixture.even(n_views), alpha, 0.0))
            for softness in SOFTNESS:
                if not found.interrupted:
                    found = self._descended(packed, found, alpha, replace(self.solver, tol=1e-4), softness)
            yield found

    def _at_all_tails(self, packed: PackedAnswers, begun: Found, callback: Callback | None) -> Iterator[Found]:
        """Yield the views at each of the degrees of freedom, every time from those of the last."""
        first = self._ended(packed, begun, begun.value.alpha, callback)
        yield first
        for ladder in () if self.alpha is not None else (LIGHTER_TAILS, HEAVIER_TAILS):
            found = first
            for alpha in ladder:
                if found.interrupted:
                    return
                found = self._ended(packed, found, alpha, callback)
                yield found

    def _ended(self, packed: PackedAnswers, found: Found, alpha: float, callback: Callback | None) -> Found:
        """Return the views, and weights, that no step improves any more."""
        # A map of other tails is about as good when distances in the unit sqrt(alpha) stay the same.
        views = found.value
        found = replace(found, value=replace(views, points=views.points * np.sqrt(alpha / views.alpha)))
        for _ in range(_ROUNDS):
            found = self._descended(packed, found, alpha, self.solver, 1.0, callback)
            before = found.value.mixture
            mixture = best_mixture(found.value.points, before, packed, StudentT(alpha))
            found = replace(found, value=replace(found.value, mixture=mixture))
            if found.interrupted or mixture.change(before) < _SETTLED:
                return found
        return replace(found, outcome=Outcome.MAX_ITER)

    def _descended(
        self,
        packed: PackedAnswers,
        found: Found,
        alpha: float,
        solver: Factored,
        softness: float,
        callback: Callback | None = None,
    ) -> Found:
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


Found: TypeAlias = Solution[Views]


def _not_started(views: Views) -> Found:
    return Solution(views, Outcome.MAX_ITER, 0, [])


def _unpacked(views: Views, seen: NDArray[np.integer], n_objects: int) -> Views:
    """Return views over all objects, each map centred and in its principal axes, in order of falling weight."""
    everywhere = np.zeros((len(views.points), n_objects, views.points.shape[2]))
    mentioned = np.isin(np.arange(n_objects), seen)
    for target, points in zip(everywhere, views.points, strict=True):
        target[seen] = points
        target[:] = to_principal_axes(target, mentioned)
    order = np.argsort(-views.mixture.weights, kind="stable")
    mixture = views.mixture._replace(weights=views.mixture.weights[order])
    return replace(views, points=everywhere[order], mixture=mixture)


def likeliest(found: list[Found], alpha: float | None = None) -> Found:
    """Return the views of least objective, or those of the given degrees of freedom; interrupted if the search was."""
    chosen = [each for each in found if each.value.alpha == alpha] or found
    best = min(chosen, key=attrgetter("objective"))
    return replace(best, outcome=Outcome.INTERRUPTED) if found[-1].interrupted else best


def place_views(views: Views, added: Comparisons) -> Solution[FloatArray]:
    """Return the views with the objects of the comparisons that they lack, (V, n + k, p).

    Old points stay. New ones are placed in each map as if all comparisons were made from it, and then descend on the
    likelihood of the mixture.
    """
    loss, (n_views, before, p) = StudentT(views.alpha), views.points.shape
    alone = [place_points(points, added, loss, 0.0).value for points in views.points]
    movable = np.tile(np.arange(added.n_objects) >= before, n_views)
    problem = ViewsProblem(PackedAnswers(added), loss, views.trace, mixture=views.mixture, movable=movable, rank=p)
    solution = solve(problem, Factored(tol=1e-8), np.concatenate(alone))
    placed = solution.value.reshape(n_views, added.n_objects, -1)
    return replace(solution, value=np.concatenate([views.points, placed[:, before:]], axis=1))
