"""The search for the views of highest likelihood; see `nearer.problems.views`.

Which act belongs to which view is a combinatorial question, and descent from one start often mixes the views up. Starts
are therefore many, random, and first descend on the *softened* likelihood (1 / b) log sum_v (pi_v P_v)^b with b < 1,
under which an act is not given to one view before the views have taken shape. The tails come last: with heavy ones a
wrong view is cheap and acts can change sides; lighter ones, which tell the views apart sharply, start from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import in_order_of_appearance
from nearer.embedding.fitting import fit_points
from nearer.embedding.placing import place_points
from nearer.geometry import principal
from nearer.losses import StudentT
from nearer.problems.penalty import Penalty
from nearer.problems.views import Answers, Mixture, ViewsProblem, best_mixture
from nearer.solvers import Factored, Outcome, Progress, Restarts, Solution, solve
from nearer.solvers.driver import Callback

SOFTNESS = (0.3, 1.0)  # from 0.1 on the views of few answers never part; 1 alone finds them less often
FIRST_TAILS, LIGHTER_TAILS, HEAVIER_TAILS = 3.0, (7.0, 15.0, 31.0), (1.0,)
_ROUNDS, _SETTLED = 50, 1e-3  # of the weights
_AGREEING = 0.005 * float(np.log(2))  # of the mean log-likelihood, of which guessing loses log 2


@dataclass(frozen=True, eq=False)
class Views:
    """Maps of several views, and how they were found.

    Attributes
    ----------
    points : ndarray, shape (V, n, p)
        In order of falling weight.
    mixture : Mixture
    alpha : float
        Degrees of freedom.
    trace : float
        The penalty of a single map, in the mean form of the problem.
    solution : Solution
        Of the last descent, with the history and the number of iterations of all that led to these views.
    """

    points: FloatArray
    mixture: Mixture
    alpha: float
    trace: float
    solution: Solution

    @property
    def objective(self) -> float:
        """What was minimized."""
        return self.solution.history[-1].objective

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.solution.outcome is Outcome.INTERRUPTED


@dataclass(frozen=True, eq=False)
class Search:
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
    ) -> list[Views]:
        """Return the views of highest likelihood that were found, at each of the degrees of freedom that are open.

        Ctrl-C ends the search; the outcome of the last views then says so.
        """
        kept, seen = in_order_of_appearance(comparisons)
        packed = Answers(kept)
        begun = list(self._begun(packed, n_views, rng))
        best = min(begun, key=lambda views: views.objective)
        if begun[-1].interrupted:
            found = [replace(best, solution=replace(best.solution, outcome=Outcome.INTERRUPTED))]
        else:
            found = list(self._at_all_tails(packed, best, callback))
        # A single map comes from one search, which counts its own descents.
        tried = [views.objective for views in begun]
        restarts = begun[0].solution.restarts if n_views == 1 else Restarts.of(tried, _AGREEING)
        found = [replace(views, solution=replace(views.solution, restarts=restarts)) for views in found]
        return [_unpacked(views, seen, comparisons.n_objects) for views in found]

    def go_on(self, comparisons: Comparisons, known: Views, callback: Callback | None = None) -> Views:
        """Return the views that descent from known ones, over the same objects, ends at."""
        kept, seen = in_order_of_appearance(comparisons)
        packed = Answers(kept)
        views = self._ended(packed, replace(known, points=known.points[:, seen]), known.alpha, callback)
        return _unpacked(views, seen, comparisons.n_objects)

    def _begun(self, packed: Answers, n_views: int, rng: np.random.Generator) -> Iterator[Views]:
        """Yield views from different starts; a single map needs only one."""
        alpha = FIRST_TAILS if self.alpha is None else self.alpha
        if n_views == 1:
            penalty, solver = Penalty(trace=self.trace, ridge=0.0), replace(self.solver, rank=self.n_components)
            one = fit_points(packed, StudentT(alpha), penalty, solver, rng)
            yield Views(one.embedding[None], Mixture.even(1), alpha, one.problem.trace, one.solution)
            return
        from tqdm import tqdm

        for _ in tqdm(range(self.n_init), desc="starts", delay=1, disable=None, leave=False):
            # One row of random numbers for each object, which are in order of appearance: names do not matter.
            points = rng.normal(scale=np.sqrt(alpha), size=(packed.n_objects, n_views, self.n_components))
            points = np.ascontiguousarray(np.swapaxes(points, 0, 1))
            views = Views(points, Mixture.even(n_views), alpha, 0.0, NOT_STARTED)
            for softness in SOFTNESS:
                if not views.interrupted:
                    views = self._descended(packed, views, alpha, replace(self.solver, tol=1e-4), softness)
            yield views
            if views.interrupted:
                return

    def _at_all_tails(self, packed: Answers, begun: Views, callback: Callback | None) -> Iterator[Views]:
        """Yield the views at each of the degrees of freedom, every time from those of the last."""
        first = self._ended(packed, begun, begun.alpha, callback)
        yield first
        for ladder in () if self.alpha is not None else (LIGHTER_TAILS, HEAVIER_TAILS):
            views = first
            for alpha in ladder:
                if views.interrupted:
                    return
                views = self._ended(packed, views, alpha, callback)
                yield views

    def _ended(self, packed: Answers, views: Views, alpha: float, callback: Callback | None) -> Views:
        """Return the views, and weights, that no step improves any more."""
        # A map of other tails is about as good when distances in the unit sqrt(alpha) stay the same.
        views = replace(views, points=views.points * np.sqrt(alpha / views.alpha))
        for _ in range(_ROUNDS):
            views = self._descended(packed, views, alpha, self.solver, 1.0, callback)
            before, loss = views.mixture, StudentT(alpha)
            mixture = best_mixture(views.points, before, packed, loss)
            views = replace(views, mixture=mixture)
            if views.interrupted or mixture.change(before) < _SETTLED:
                return views
        return replace(views, solution=replace(views.solution, outcome=Outcome.MAX_ITER))

    def _descended(
        self,
        packed: Answers,
        views: Views,
        alpha: float,
        solver: Factored,
        softness: float,
        callback: Callback | None = None,
    ) -> Views:
        n_views, n, p = views.points.shape
        loss = StudentT(alpha)
        trace = self.trace * loss.pull_of_zero * max(packed.largest_pull, 0.0)
        problem = ViewsProblem(
            packed, loss, trace, mixture=views.mixture, softness=softness, n_threads=solver.n_threads
        )
        solution = solve(problem, replace(solver, rank=p, start=views.points.reshape(-1, p)), callback=callback)
        assert solution.points is not None
        points = np.asarray(solution.points, np.float64).reshape(n_views, n, p)
        return Views(points, views.mixture, alpha, trace, _after(views.solution, solution))


NOT_STARTED = Solution(None, None, None, Outcome.MAX_ITER, 0, [])


def _after(before: Solution, last: Solution) -> Solution:
    """Return the last solution with the history of those before it; its points are with the views."""
    history = [*before.history, *[Progress(before.n_iter + k, *rest) for k, *rest in last.history]]
    return Solution(None, None, None, last.outcome, before.n_iter + last.n_iter, history)


def _unpacked(views: Views, seen: NDArray[np.integer], n_objects: int) -> Views:
    """Return views over all objects, each map centred and in its principal axes, in order of falling weight."""
    everywhere = np.zeros((len(views.points), n_objects, views.points.shape[2]))
    mentioned = np.isin(np.arange(n_objects), seen)
    for target, points in zip(everywhere, views.points, strict=True):
        target[seen] = points
        target[:] = principal(target, mentioned)
    order = np.argsort(-views.mixture.weights, kind="stable")
    mixture = views.mixture._replace(weights=views.mixture.weights[order])
    return replace(views, points=everywhere[order], mixture=mixture)


def likeliest(found: list[Views], alpha: float | None = None) -> Views:
    """Return the views of least objective, or those of the given degrees of freedom; interrupted if the search was."""
    chosen = [views for views in found if views.alpha == alpha] or found
    best = min(chosen, key=lambda views: views.objective)
    if found[-1].interrupted:
        best = replace(best, solution=replace(best.solution, outcome=Outcome.INTERRUPTED))
    return best


def place_views(views: Views, added: Comparisons) -> tuple[FloatArray, Outcome]:
    """Return the views with the objects of the comparisons that they lack, (V, n + k, p), and how these were placed.

    Old points stay. New ones are placed in each map as if all comparisons were made from it, and then descend on the
    likelihood of the mixture.
    """
    loss, (n_views, before, p) = StudentT(views.alpha), views.points.shape
    alone = [place_points(points, added, loss, 0.0)[0] for points in views.points]
    movable = np.tile(np.arange(added.n_objects) >= before, n_views)
    problem = ViewsProblem(Answers(added), loss, views.trace, mixture=views.mixture, movable=movable)
    solver = Factored(p, tol=1e-8, start=np.concatenate(alone))
    solution = solve(problem, solver)
    assert solution.points is not None
    placed = solution.points.reshape(n_views, added.n_objects, -1)
    return np.concatenate([views.points, placed[:, before:]], axis=1), solution.outcome
