"""Fitting a path of candidates to comparisons, each from where the last one ended.

Only the order of the candidates is wanted, so that a few steps for each will do: the full fit of the one that is
chosen comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray, PointArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import restricted
from nearer.embedding.dmoe.candidates import Candidate
from nearer.embedding.predictor import Predictor
from nearer.embedding.probability import spread_of_points
from nearer.losses import TwoSidedHinge
from nearer.problems.distances import clear_ties
from nearer.problems.gram import Problem
from nearer.problems.margins import MarginMap
from nearer.problems.points import FactoredProblem, InMemory, rows_of
from nearer.problems.spectrum import leading_pull
from nearer.solvers import ADMM, ClosedForm, Factored, Outcome, Solution, solve

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
    problem = Problem(margins, _loss(candidates[0]), weights)
    solution: Solution | None = None
    for candidate in candidates:
        diagonal = candidate.penalty.diagonal
        assert diagonal is not None
        if problem.margins.diagonal != diagonal or problem.loss != _loss(candidate):
            # One problem serves all candidates that differ in their weights alone: its pull is worked out once.
            problem = replace(problem, margins=replace(margins, diagonal=diagonal), loss=_loss(candidate))
        solver: Any = ClosedForm() if closed else replace(_ADMM, start=None if solution is None else solution.state)
        solution = _uninterrupted(solve(candidate.penalty.of(problem), solver))
        everywhere = solution.among(seen, train.n_objects)
        assert everywhere.gram is not None
        yield Predictor.of(everywhere.gram, everywhere.specificities, diagonal)


def _points(candidates: Sequence[Candidate], train: Comparisons) -> Iterator[Points]:
    rank = candidates[0].rank
    assert rank != "full"
    # The direction of an object that none of these comparisons mentions would take a place in the start.
    n_objects = train.n_objects
    train, seen = restricted(train)
    problem = FactoredProblem(InMemory(train), _loss(candidates[0]))
    problem = replace(problem, spectrum=leading_pull(problem, rank))
    assert problem.spectrum is not None
    largest = float(problem.spectrum.eigenvalues[0])
    start: Any = "spectral"
    for candidate in candidates:
        penalized = candidate.penalty.over_points(replace(problem, loss=_loss(candidate)), largest)
        solution = _uninterrupted(solve(penalized, replace(_POINTS, rank=rank, start=start)))
        assert solution.points is not None
        # One point has no gradient out of it: nothing to go on from.
        start = solution.points if np.ptp(solution.points, axis=0).any() else "spectral"
        placed = np.zeros((n_objects, rank))
        placed[seen] = solution.points - solution.points.mean(axis=0)
        yield Points(placed)


def _uninterrupted(solution: Solution) -> Solution:
    if solution.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


def _loss(candidate: Candidate) -> TwoSidedHinge:
    return TwoSidedHinge(candidate.nu, candidate.power)
