"""Fitting a path of candidates to comparisons, each from where the last one ended.

Only the order of the candidates is wanted, so that a few steps for each will do: the full fit of the one that is
chosen comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray, PointArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import restricted
from nearer.embedding.dmoe.candidates import Candidate
from nearer.embedding.predictor import Predictor
from nearer.embedding.probability import spread_of_points
from nearer.problems.distances import clear_ties
from nearer.problems.gram import Problem
from nearer.problems.margins import MarginMap
from nearer.problems.points import FactoredProblem, InMemory, leading_pull, rows_of
from nearer.solvers import ADMM, ClosedForm, Factored, Solution, solve
from nearer.solvers.driver import AnySolver, ValueT

_ADMM = ADMM(tol=2e-2, max_iter=12, check_every=3)
_POINTS = Factored(tol=3e-4, max_iter=200, path=())


@dataclass(frozen=True, eq=False)
class Points:
    """Points, (n, r)."""

    points: PointArray

    def margins(self, comparisons: Comparisons) -> FloatArray:
        """Return the margins of comparisons as answered, (m,)."""
        from nearer import kernels

        return clear_ties(*kernels.squared_distances(self.points, rows_of(comparisons)))

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
    margins, weights = MarginMap.from_quadruplets(train.oriented, train.n_objects).merged(train.sample_weight)
    margins, seen = margins.over_seen_objects()
    problem = Problem(margins, candidates[0].loss, weights)
    solver: AnySolver = ClosedForm() if closed else _ADMM
    state = None
    for candidate in candidates:
        diagonal = candidate.penalty.settled().diagonal
        if problem.margins.diagonal != diagonal or problem.loss != candidate.loss:
            # One problem serves all candidates that differ in their weights alone: its pull is worked out once.
            problem = replace(problem, margins=replace(margins, diagonal=diagonal), loss=candidate.loss)
        solution = _uninterrupted(solve(candidate.penalty.over_gram_matrices(problem), solver, state))
        state = None if closed else solution.state
        everywhere = solution.value.among(seen, train.n_objects)
        yield Predictor.of(everywhere.matrix, everywhere.specificities, diagonal)


def _points(candidates: Sequence[Candidate], train: Comparisons) -> Iterator[Points]:
    rank = int(candidates[0].rank)
    # The direction of an object that none of these comparisons mentions would take a place in the start.
    n_objects = train.n_objects
    train, seen = restricted(train)
    problem = FactoredProblem(InMemory(train), candidates[0].loss, rank=rank)
    spectrum = leading_pull(problem, rank)
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
