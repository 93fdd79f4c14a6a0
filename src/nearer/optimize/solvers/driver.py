"""One loop for all solvers.

A solver is a frozen set of settings with a few small methods; everything that changes lives in the state they pass on.
`solve` holds the only loop: it starts the solver, steps it, records its progress, and ends with a `Solution` whose
`outcome` is a name and a sentence, not a flag.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from nearer._common.progress import progress_bar

# A step over Gram matrices is one eigendecomposition among small vector operations; one over points has these alone.
MIN_OBJECTS_FOR_THREADS = {"gram": 2000, "points": 100_000}


class Outcome(Enum):
    """How a solver ended, as a sentence; `ok` whether it solves the problem."""

    CONVERGED = "the stopping rule was met"
    VANISHED = "the penalty on the trace is so large that G = 0 is the solution"
    STALLED = "no step improves the objective any more, at the limit of floating-point numbers"
    HELD_OUT = "the error on held-out comparisons no longer falls"
    MAX_ITER = "the iterations ran out before the stopping rule was met"
    INTERRUPTED = "the fit was interrupted"

    @property
    def ok(self) -> bool:
        """Whether the result solves the problem as well as was asked."""
        return self not in (Outcome.MAX_ITER, Outcome.INTERRUPTED)


class Progress(NamedTuple):
    """One line of a solver's history; ``gap`` is the duality gap, NaN where there is no certificate."""

    iteration: int
    objective: float
    gap: float = np.nan


class Restarts(NamedTuple):
    """How many descents were tried on one problem, and how many of them ended as low as the best."""

    tried: int
    agreed: int

    @classmethod
    def of(cls, objectives: Sequence[float], tolerance: float) -> Self:
        """Return the number of objectives, and of those that are within the tolerance of the lowest."""
        return cls(len(objectives), int(np.sum(np.asarray(objectives) <= min(objectives) + tolerance)))


NO_RESTARTS = Restarts(1, 1)
ValueT = TypeVar("ValueT")
Callback = Callable[[Progress], None]
Space: TypeAlias = Literal["gram", "points"]


@dataclass(frozen=True, eq=False)
class Solution(Generic[ValueT]):
    """What a solver found.

    Attributes
    ----------
    value : Gram or ndarray of shape (n, p)
        A Gram matrix, or points: what the solver moves.
    outcome : Outcome
    n_iter : int
    history : list of Progress
    state : State, optional
        Where the solver ended, for those that can go on from there.
    restarts : Restarts
        How many descents it is the best of.
    """

    value: ValueT
    outcome: Outcome
    n_iter: int
    history: list[Progress]
    state: Any = None
    restarts: Restarts = NO_RESTARTS

    @property
    def objective(self) -> float:
        """The objective at the end."""
        return self.history[-1].objective

    @property
    def dual_gap(self) -> float:
        """The proven distance of the objective from its minimum; NaN where there is no certificate."""
        return self.history[-1].gap

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.outcome is Outcome.INTERRUPTED


class Solver(ABC):
    """The settings and steps of an algorithm; the other modules hold one each."""

    space: ClassVar[Space] = "points"  # what it moves through

    @property
    def max_iter(self) -> int:
        """The most steps to take."""
        return 1

    def check(self, problem: Any) -> None:  # noqa: B027 - most problems will do
        """Raise ValueError, saying what to change, if the solver cannot handle the problem."""

    @abstractmethod
    def init(self, problem: Any, start: Any, rng: np.random.Generator) -> Any:
        """Return the state before the first step; ``start`` is None where the settings say how to begin."""

    @abstractmethod
    def step(self, problem: Any, state: Any) -> Any:
        """Return the state after one more step; its ``progress`` is that of the last time it was worked out."""

    @abstractmethod
    def done(self, problem: Any, state: Any) -> Outcome | None:
        """Return how it ended, or None while it goes on."""

    def value(self, state: Any) -> Any:
        """Return what has been found if this state is the last."""
        return state.points


AnySolver: TypeAlias = Solver


def has_settled(objectives: Sequence[float], window: int, decrease: float) -> bool:
    """Whether the last ``window`` steps lowered the objective by no more than ``decrease``."""
    last = objectives[-window - 1 :]
    return len(last) > window and last[0] - last[-1] <= decrease


def solve(
    problem: Any,
    solver: Solver,
    start: Any = None,
    *,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Solution[Any]:
    """Run a solver on a problem.

    An interrupt (Ctrl-C) ends the loop with what it has; the outcome says so.

    Parameters
    ----------
    problem : Problem or FactoredProblem
        What the solver is made for.
    solver : Solver
    start : ndarray of shape (n, p), or a state, optional
        Points to go on from, or for ADMM the `Solution.state` of a fit to the same comparisons.
    rng : numpy Generator, optional
        For solvers with a random start.
    callback : callable, optional
        Called with each `Progress`.
    """
    solver.check(problem)
    with limited_blas(solver.space, problem.n_objects), progress_bar("fit", solver.max_iter) as bar:
        state = solver.init(problem, start, rng if rng is not None else np.random.default_rng())
        history = [state.progress]
        outcome = solver.done(problem, state)
        n_iter = 0
        try:
            while outcome is None and n_iter < solver.max_iter:
                n_iter += 1
                state = solver.step(problem, state)
                if state.progress is not history[-1]:
                    history.append(state.progress)
                    bar.set_postfix_str(f"objective {state.progress.objective:.6g}", refresh=False)
                    if callback is not None:
                        callback(state.progress)
                bar.update()
                outcome = solver.done(problem, state)
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
    outcome = outcome or Outcome.MAX_ITER
    return Solution(solver.value(state), outcome, n_iter, history, state)


def limited_blas(space: Space, n_objects: int) -> Any:
    """Return a context in which BLAS uses one thread if the problem is small."""
    # A second one then costs more in waiting than it saves in work, and much more where another program wants the core.
    limit = 1 if n_objects < MIN_OBJECTS_FOR_THREADS[space] else None
    return _controller().limit(limits=limit, user_api="blas")


_controller = cache(ThreadpoolController)  # finding the libraries takes a tenth of the time of a small fit
