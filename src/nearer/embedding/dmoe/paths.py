"""The settings that DMOE chooses from, as paths along which one fit begins where the last one ended.

Two kinds of maps share the work. Where comparisons are few beside the coordinates, a full Gram matrix under a ridge
predicts best, with specificities if the answers are free of errors, with a light diagonal if people gave them. Where
they are many, or often wrong, it is a map of few dimensions under a trace penalty, from just below the one at which
it vanishes for noisy answers down to almost none for clean ones. A path goes from the strongest penalty to the
weakest.

While candidates are compared only their order is wanted, so that a few steps for each will do: the full fit of the one
that is chosen comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray, PointArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import restrict_to_seen
from nearer.embedding.predictor import Predictor, spread_of_points
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap, clear_ties
from nearer.optimize.problems.points import FactoredProblem, Penalty, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory, as_rows
from nearer.optimize.solvers import ADMM, ClosedForm, Factored, Solution, solve
from nearer.optimize.solvers.driver import AnySolver, ValueT

Rank: TypeAlias = int | Literal["full"]

# Trace and ridge, from strong ridges, for few comparisons, to weak ones.
_RIDGES = ((0.01, 10.0), (0.005, 3.0), (0.2, 0.3))
_TRACES = (0.6, 0.35, 0.2, 0.1, 0.03, 0.005)
# A high power weighs the comparisons that are hardest to satisfy, as the tail of a likelihood does: for clean answers.
_STEEP, _STEEP_TRACES = 12.0, (0.03, 0.006, 0.0015)
_SMALL_RANK, _LARGE_RANK = 2, 10
# Comparisons for each object: maps of small rank are hopeless below the first and fully trusted above the second.
_TOO_FEW, _ENOUGH = 2.5, 10.0
_ADMM = ADMM(tol=2e-2, max_iter=12, check_every=3)
_POINTS = Factored(tol=3e-4, max_iter=200, path=())


@dataclass(frozen=True)
class Candidate:
    """One full setting of DMOE; ``rank`` is that of the matrix that predicts."""

    penalty: Penalty
    nu: float
    power: float
    rank: Rank

    @property
    def loss(self) -> TwoSidedHinge:
        """The two-sided hinge with these settings."""
        return TwoSidedHinge(self.nu, self.power)

    def params(self) -> dict[str, Any]:
        """Return the arguments of DMOE that ask for this setting."""
        return {"penalty": self.penalty, "nu": self.nu, "power": self.power, "rank": self.rank}


class Path(NamedTuple):
    """Candidates of one kind, from the strongest penalty to the weakest, and how much trust they have beforehand."""

    name: str
    candidates: tuple[Candidate, ...]
    trust: float = 1.0


@dataclass(frozen=True)
class Given:
    """What the user has settled; None is open."""

    penalty: Penalty
    nu: float | None = None
    power: float | None = None
    rank: Rank | None = None

    def allows(self, candidate: Candidate) -> bool:
        """Whether a candidate, after `fill`, is what was asked for and can be fitted."""
        if self.rank is not None and candidate.rank != self.rank:
            return False
        if candidate.rank == "full":
            return candidate.power in (1, 2) and candidate.penalty != Penalty(0.0, 0.0, *_shape(candidate.penalty))
        return candidate.power > 1 and _shape(candidate.penalty) == (1.0, np.inf)

    def fill(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the values that were given."""
        return replace(
            candidate,
            penalty=self.penalty.filled_from(candidate.penalty),
            nu=candidate.nu if self.nu is None else self.nu,
            power=candidate.power if self.power is None else self.power,
        )


def paths(
    given: Given, n_components: int, solver: Literal["auto", "admm", "closed", "factored"], per_object: float = np.inf
) -> list[Path]:
    """Return the paths to search, without doubles and without what the given values rule out.

    Parameters
    ----------
    given : Given
    n_components : int
    solver : str
        The kind of solver that there is to choose for.
    per_object : float
        The number of comparisons for each object.

    Examples
    --------
    >>> [path.name for path in paths(Given(Penalty.open()), 2, "auto")]
    ['full, specificities', 'full, light diagonal', 'rank 2', 'rank 10', 'rank 10, power 12']
    >>> [len(path.candidates) for path in paths(Given(Penalty(0.1, None, 1.0, np.inf), nu=1.0), 2, "admm")]
    [3, 1]
    """
    make = {"auto": _auto, "admm": _over_gram_matrices, "closed": _closed, "factored": _over_points}[solver]
    ranks = (n_components,) if solver == "factored" else _ranks(given, n_components)
    kept: list[Path] = []
    seen: set[Candidate] = set()
    for path in make(ranks):
        candidates = [given.fill(candidate) for candidate in path.candidates]
        candidates = [each for each in dict.fromkeys(candidates) if given.allows(each) and each not in seen]
        seen.update(candidates)
        full = path.candidates[0].rank == "full"
        too_few = per_object < _TOO_FEW and not full and any(other.trust == 1 for other in kept)
        if candidates and not too_few:
            kept.append(Path(path.name, tuple(candidates), 1.0 if full else min(1.0, per_object / _ENOUGH)))
    return kept


def _ranks(given: Given, n_components: int) -> tuple[int, ...]:
    if isinstance(given.rank, int):
        return (given.rank,)
    return tuple(sorted({_SMALL_RANK, n_components, _LARGE_RANK}))


def _auto(ranks: tuple[int, ...]) -> list[Path]:
    return _ridges() + _over_points(ranks)


def _over_gram_matrices(ranks: tuple[int, ...]) -> list[Path]:
    traces = [Candidate(Penalty(trace, 0.0), 1.0, 2, "full") for trace in _TRACES[:4]]
    return [*_ridges(), Path("full, trace alone", tuple(traces))]


def _ridges() -> list[Path]:
    def path(name: str, diagonal: float, specificity: float) -> Path:
        penalties = [Penalty(trace, ridge, diagonal, specificity) for trace, ridge in _RIDGES]
        return Path(name, tuple(Candidate(penalty, 1.0, 2, "full") for penalty in penalties))

    return [path("full, specificities", 1.0, 20.0), path("full, light diagonal", 0.4, np.inf)]


def _closed(ranks: tuple[int, ...]) -> list[Path]:
    def path(name: str, diagonal: float) -> Path:
        penalties = [Penalty(0.0, ridge, diagonal) for ridge in (30.0, 10.0, 3.0, 1.0)]
        return Path(name, tuple(Candidate(penalty, 1.0, 2, "full") for penalty in penalties))

    return [path("closed form", 1.0), path("closed form, light diagonal", 0.4)]


def _over_points(ranks: tuple[int, ...]) -> list[Path]:
    def path(name: str, rank: int, power: float, traces: tuple[float, ...]) -> Path:
        return Path(name, tuple(Candidate(Penalty(trace, 0.0), 0.0, power, rank) for trace in traces))

    made = [path(f"rank {rank}", rank, 2, _TRACES) for rank in ranks]
    return [*made, path(f"rank {ranks[-1]}, power {_STEEP:g}", ranks[-1], _STEEP, _STEEP_TRACES)]


def _shape(penalty: Penalty) -> tuple[float | None, float | None]:
    return penalty.diagonal, penalty.specificity


@dataclass(frozen=True, eq=False)
class Points:
    """Points, (n, r)."""

    points: PointArray

    def margins(self, comparisons: Comparisons) -> FloatArray:
        """Return the margins of comparisons as answered, (m,)."""
        from nearer.optimize import kernels

        return clear_ties(*kernels.squared_distances(self.points, as_rows(comparisons)))

    def spread(self, objects: NDArray[np.integer]) -> float:
        """Return the mean squared distance between these objects."""
        return spread_of_points(self.points[objects])

    def predictor(self) -> Predictor:
        """Return their Gram matrix."""
        return Predictor.of(self.points @ self.points.T)


def along(candidates: Sequence[Candidate], train: Comparisons, closed: bool) -> Iterator[Predictor | Points]:
    """Return what each candidate of a path makes of comparisons, one after the other.

    Parameters
    ----------
    candidates : sequence of Candidate
        All of one rank.
    train : Comparisons
        Of weights above 0.
    closed : bool
        Whether full matrices are those of the closed form.

    Examples
    --------
    >>> from nearer import Penalty
    >>> rows = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])
    >>> path = [Candidate(Penalty(0.1, ridge), 1.0, 2, "full") for ridge in (3.0, 1.0)]
    >>> [bool((found.margins(rows) > 0).all()) for found in along(path, rows, closed=False)]
    [True, True]
    """
    yield from _gram_matrices(candidates, train, closed) if candidates[0].rank == "full" else _points(candidates, train)


def _gram_matrices(candidates: Sequence[Candidate], train: Comparisons, closed: bool) -> Iterator[Predictor]:
    margins, weights = MarginMap.from_quadruplets(train.oriented, train.n_objects).merge_duplicates(train.sample_weight)
    margins, seen = margins.over_seen_objects()
    problem = Problem(margins, candidates[0].loss, weights)
    solver: AnySolver = ClosedForm() if closed else _ADMM
    state = None
    for candidate in candidates:
        diagonal = candidate.penalty.values().diagonal
        if problem.margins.diagonal != diagonal or problem.loss != candidate.loss:
            # One problem serves all candidates that differ in their weights alone: its pull is worked out once.
            problem = replace(problem, margins=replace(margins, diagonal=diagonal), loss=candidate.loss)
        solution = _uninterrupted(solve(candidate.penalty.over_gram_matrices(problem), solver, state))
        state = None if closed else solution.state
        everywhere = solution.value.expand(seen, train.n_objects)
        yield Predictor.of(everywhere.matrix, everywhere.specificities, diagonal)


def _points(candidates: Sequence[Candidate], train: Comparisons) -> Iterator[Points]:
    rank = int(candidates[0].rank)
    # The direction of an object that none of these comparisons mentions would take a place in the start.
    n_objects = train.n_objects
    train, seen = restrict_to_seen(train)
    problem = FactoredProblem(InMemory(train), candidates[0].loss, rank=rank)
    spectrum = laplacian_spectrum(problem, rank)
    problem, start = replace(problem, spectrum=spectrum), None
    for candidate in candidates:
        penalized = candidate.penalty.over_points(replace(problem, loss=candidate.loss), float(spectrum.eigenvalues[0]))
        points = _uninterrupted(solve(penalized, _POINTS, start)).value
        # One point has no gradient out of it: nothing to go on from.
        start = points if np.ptp(points, axis=0).any() else None
        placed = np.zeros((n_objects, rank))
        placed[seen] = points - points.mean(axis=0)
        yield Points(placed)


def _uninterrupted(solution: Solution[ValueT]) -> Solution[ValueT]:
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution
