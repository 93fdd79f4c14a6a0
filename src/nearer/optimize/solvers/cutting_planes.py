"""Structure preserving embedding: linear constraints on squared distances, found one after the other.

A *cut* is a weighted sum of squared distances that must be at least the margin; there are far too many to write down.
An *oracle* looks at a map and names those that it violates most. With A the similarities, of largest eigenvalue |A|,

    maximize over G >= 0, tr(G) = n, centered    <G, A> / (n |A|) - slack * xi    subject to    cut_q(G) >= margin - xi

Each step solves the problem of the cuts so far, over X of G = X X^T by the method of multipliers (Burer and Monteiro
2003), and adds the worst ones of its solution. The multipliers give a bound: no map of any dimension is better than

    n lambda_max(A / (n |A|) + sum_q y_q B_q) - margin * sum_q y_q,        <B_q, G> = cut_q(G),

over the vectors that are orthogonal to ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize
from scipy.spatial.distance import cdist

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import Graph
from nearer.geometry import double_center
from nearer.optimize.problems.margins import pair_distances
from nearer.optimize.solvers.driver import Outcome, Progress, Solver

MAX_OBJECTS_FOR_BOUND = 600  # objects: beyond, eigenvalues at each step take too long
BLOCK_DISTANCES = 4_000_000  # distances at a time


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts, one a row: entries of pairs of objects with weights."""

    cut: NDArray[np.int64]  # (e,)
    first: NDArray[np.int64]  # (e,)
    second: NDArray[np.int64]  # (e,)
    weight: FloatArray  # (e,); the cut is the sum of weight * d2(first, second) over its entries
    n_cuts: int

    @classmethod
    def of_triplets(cls, rows: NDArray[np.integer]) -> Cuts:
        """Return the cuts d2(far) - d2(near) of triplets, (m, 3), or quadruplets, (m, 4)."""
        quadruplets = (rows[:, [0, 1, 0, 2]] if rows.shape[1] == 3 else rows).astype(np.int64)
        m = len(rows)
        return cls(
            np.tile(np.arange(m), 2),
            np.concatenate([quadruplets[:, 2], quadruplets[:, 0]]),
            np.concatenate([quadruplets[:, 3], quadruplets[:, 1]]),
            np.repeat([1.0, -1.0], m),
            m,
        )

    def plus(self, other: Cuts) -> Cuts:
        return Cuts(
            np.concatenate([self.cut, other.cut + self.n_cuts]),
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, other.second]),
            np.concatenate([self.weight, other.weight]),
            self.n_cuts + other.n_cuts,
        )

    def incidence(self, n_objects: int) -> Any:
        """Return the sparse matrix that takes points to the differences of the pairs, (e, n)."""
        e = len(self.cut)
        ones = np.ones(e)
        places = np.tile(np.arange(e), 2), np.concatenate([self.first, self.second])
        return sp.csr_array((np.concatenate([ones, -ones]), places), shape=(e, n_objects))

    def values(self, points: FloatArray) -> FloatArray:
        return self.summed(pair_distances(points, self.first, self.second))

    def summed(self, squares: FloatArray) -> FloatArray:
        """Return the value of each cut, (n_cuts,), given the squared distances of its pairs, (e,)."""
        return np.bincount(self.cut, self.weight * squares, minlength=self.n_cuts).astype(np.float64)

    def laplacian(self, multipliers: FloatArray, n_objects: int) -> FloatArray:
        """Return the matrix B with <B, G> = sum of multiplier * cut, (n, n)."""
        shares = multipliers[self.cut] * self.weight
        matrix = np.zeros((n_objects, n_objects))
        np.add.at(matrix, (self.first, self.second), -shares)
        matrix = matrix + matrix.T
        matrix[np.diag_indices(n_objects)] -= matrix.sum(axis=1)
        return matrix


@dataclass(frozen=True, eq=False)
class NearestNeighbors:
    """Each neighbor must be nearer than each other object: for each anchor its farthest neighbor, nearest other."""

    graph: Graph

    @property
    def n_objects(self) -> int:
        return self.graph.n_objects

    @property
    def similarity(self) -> Any:
        return (self.graph.adjacency + self.graph.adjacency.T) / 2

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the worst cut of each anchor that has one short of the margin, and the largest shortfall."""
        n = self.n_objects
        anchors = np.flatnonzero(self.graph.counts)
        rows, shortfalls = [], []
        adjacency = self.graph.adjacency
        for block in np.array_split(anchors, -(-len(anchors) * n // BLOCK_DISTANCES)):
            squares = cdist(points[block], points, "sqeuclidean")
            linked = adjacency[block].toarray() > 0
            near = np.where(linked, squares, -np.inf).argmax(axis=1)
            place = np.arange(len(block))
            squares[place, block] = np.inf
            far = np.where(linked, np.inf, squares).argmin(axis=1)
            rows.append(np.column_stack([block, near, far]))
            shortfalls.append(margin - squares[place, far] + squares[place, near])
        shortfall = np.concatenate(shortfalls)
        return Cuts.of_triplets(np.concatenate(rows)[shortfall > 0]), float(shortfall.max())


@dataclass(frozen=True, eq=False)
class GivenComparisons:
    """Each comparison must hold: as many of the worst ones at a time as there are objects."""

    comparisons: Comparisons

    @property
    def n_objects(self) -> int:
        return self.comparisons.n_objects

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The different comparisons, as answered, (m, 4): equal ones are one constraint."""
        return np.unique(self.comparisons.oriented[self.comparisons.sample_weight > 0].astype(np.int64), axis=0)

    @property
    def similarity(self) -> Any:
        n = self.n_objects
        near = self.comparisons.oriented[:, :2]
        half = sp.csr_array((self.comparisons.sample_weight / 2, (near[:, 0], near[:, 1])), shape=(n, n))
        return half + half.T

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the worst comparisons that are short of the margin, and the largest shortfall."""
        i, j, l, k = self.rows.T  # noqa: E741
        shortfall = margin - pair_distances(points, l, k) + pair_distances(points, i, j)
        worst = np.argsort(-shortfall, kind="stable")[: self.n_objects]
        return Cuts.of_triplets(self.rows[worst[shortfall[worst] > 0]]), float(shortfall.max())


@dataclass(frozen=True, eq=False)
class BMatching:
    """The graph must be the shortest one of all with its degrees, by the margin for each edge that differs.

    The shortest one is found as a linear program in the edges: degrees as given, each edge between 0 and 1. Its optimum
    may have halves along odd cycles; such a cut asks for a little more than is needed, never for less.
    """

    graph: Graph

    def __post_init__(self) -> None:
        unequal = self.graph.adjacency - self.graph.adjacency.T
        if abs(unequal).sum() > 0:
            row, column = np.argwhere(unequal.toarray())[0]
            raise ValueError(
                f"a b-matching is symmetric, but of objects {row} and {column} only one is a neighbor of the other; "
                "take (adjacency + adjacency.T) > 0, or connectivity='knn'"
            )

    @property
    def n_objects(self) -> int:
        return self.graph.n_objects

    @property
    def similarity(self) -> Any:
        return self.graph.adjacency

    def worst(self, points: FloatArray, margin: float) -> tuple[Cuts, float]:
        """Return the cut of the shortest other graph, and how far it is short of the margin for each edge."""
        n = self.n_objects
        first, second = np.triu_indices(n, 1)
        squares = pair_distances(points, first, second)
        own = np.asarray(self.graph.adjacency.toarray()[first, second])
        places = np.concatenate([first, second]), np.tile(np.arange(len(first)), 2)
        degrees: Any = sp.csr_array((np.ones(2 * len(first)), places), shape=(n, len(first)))
        # An edge of the graph costs the margin more: else the graph itself would be the answer.
        found = linprog(squares + margin * own, A_eq=degrees, b_eq=self.graph.degrees, bounds=(0, 1), method="highs")
        other = found.x - own
        swapped = float(np.maximum(other, 0).sum())
        if swapped < 1e-6:
            return Cuts.of_triplets(np.empty((0, 4), np.int64)), -np.inf
        used = np.flatnonzero(np.abs(other) > 1e-9)
        weight = other[used] / swapped
        shortfall = margin - float(weight @ squares[used])
        return Cuts(np.zeros(len(used), np.int64), first[used], second[used], weight, 1), shortfall


Oracle: TypeAlias = NearestNeighbors | GivenComparisons | BMatching


@dataclass(frozen=True, eq=False)
class StructureProblem:
    """An oracle of constraints, the margin that they ask for, the price of what is missing, and the columns of X."""

    oracle: Oracle
    margin: float
    slack: float
    rank: int = 2
    trace: float = 0.0
    total_weight: float = 1.0

    @property
    def n_objects(self) -> int:
        return self.oracle.n_objects

    @cached_property
    def similarity(self) -> Any:
        """A / (n |A|), sparse."""
        matrix = self.oracle.similarity
        if self.n_objects <= MAX_OBJECTS_FOR_BOUND:
            largest = np.linalg.norm(matrix.toarray(), 2)
        else:
            from scipy.sparse.linalg import eigsh

            largest = eigsh(matrix, k=1, v0=np.ones(matrix.shape[0]), return_eigenvectors=False)[0]
        return matrix / (largest * self.n_objects)

    def objective(self, points: FloatArray) -> float:
        return self.price(points, self.oracle.worst(points, self.margin)[1])

    def price(self, points: FloatArray, shortfall: float) -> float:
        """Return the value to be maximized, given the largest shortfall."""
        return float(np.vdot(points, self.similarity @ points)) - self.slack * max(shortfall, 0.0)

    def bound(self, cuts: Cuts, multipliers: FloatArray) -> tuple[float, FloatArray | None]:
        """Return a value that no map exceeds, and the direction, (n,), that would gain most; NaN and None above 600."""
        n = self.n_objects
        if n > MAX_OBJECTS_FOR_BOUND:
            return float("nan"), None
        matrix = double_center(self.similarity.toarray() + cuts.laplacian(multipliers, n))
        # Ones would count as an eigenvector of 0: they are moved out of the way.
        eigenvalues, vectors = np.linalg.eigh(matrix - (1 + np.abs(matrix).sum()) / n)
        return float(n * eigenvalues[-1] - self.margin * multipliers.sum()), vectors[:, -1]


MAX_ROUNDS = 60  # of multipliers
STIFFNESS_GROWTH = 2.0
ESCAPE_LENGTH = 0.01  # of the size of the map


@dataclass(frozen=True, eq=False)
class CuttingState:
    """Points, the cuts so far and their multipliers."""

    points: FloatArray
    cuts: Cuts
    multipliers: FloatArray
    stiffness: float
    shortfall: float
    settled: bool  # whether the cuts so far imply all others
    progress: Progress
    stalled: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class CuttingPlanes(Solver):
    """Settings of the cutting-plane method.

    Parameters
    ----------
    tol : float
        How much of the margin may be missing in the end, and how exact each problem is solved; the mean of the squared
        norms of the points is 1.
    max_iter : int
        The most times that cuts are added.
    """

    tol: float = 1e-3
    max_iter: int = 200

    def check(self, problem: StructureProblem) -> None:
        if not (self.tol > 0 and self.max_iter >= 1 and problem.rank >= 1):
            raise ValueError(
                f"CuttingPlanes needs tol > 0 and max_iter >= 1, got {self}, and rank >= 1, got {problem.rank}"
            )

    def init(self, problem: StructureProblem, start: Any, rng: np.random.Generator) -> CuttingState:
        """Start with no cuts, from points whose Gram matrix is nearest to I / 2 + A / |A|, or from a map."""
        n = problem.n_objects
        if start is not None:
            points = np.asarray(start, dtype=np.float64)
        elif n <= MAX_OBJECTS_FOR_BOUND:
            eigenvalues, vectors = np.linalg.eigh(double_center(n * problem.similarity.toarray()))
            points = (vectors * np.sqrt(np.maximum(eigenvalues + 0.5, 0.01)))[:, ::-1][:, : problem.rank]
        else:
            points = rng.normal(size=(n, problem.rank))
        points = _normalize(points)
        cuts, shortfall = problem.oracle.worst(points, problem.margin)
        progress = Progress(0, problem.price(points, shortfall))
        return CuttingState(points, cuts, np.zeros(cuts.n_cuts), 1.0 / n, shortfall, False, progress)

    def step(self, problem: StructureProblem, state: CuttingState) -> CuttingState:
        points, multipliers, stiffness, missing = _solve(problem, state, self.tol)
        found, shortfall = problem.oracle.worst(points, problem.margin)
        value = problem.price(points, shortfall)
        bound, direction = problem.bound(state.cuts, multipliers)
        gap = bound - value
        settled = shortfall <= missing + 0.5 * self.tol
        cuts = state.cuts if settled else state.cuts.plus(found)
        if direction is not None and problem.rank >= problem.n_objects and gap > problem.slack * self.tol:
            points = _with_direction(points, direction)
        return CuttingState(
            points,
            cuts,
            np.concatenate([multipliers, np.zeros(cuts.n_cuts - len(multipliers))]),
            stiffness,
            shortfall,
            settled,
            Progress(state.progress.iteration + 1, value, gap),
            settled and state.settled and gap > 0.9 * state.progress.gap,
        )

    def done(self, problem: StructureProblem, state: CuttingState) -> Outcome | None:
        if not state.settled:
            return None
        if problem.rank < problem.n_objects or not state.progress.gap > problem.slack * self.tol:
            return Outcome.CONVERGED
        return Outcome.STALLED if state.stalled else None


def _solve(problem: StructureProblem, state: CuttingState, tol: float) -> tuple[FloatArray, FloatArray, float, float]:
    """Return points, multipliers, stiffness and the largest shortfall of the problem with the cuts of a state."""
    n, cuts, points = problem.n_objects, state.cuts, state.points
    differences = cuts.incidence(n)
    spread = differences.T.tocsr()
    multipliers, stiffness, shape = state.multipliers, state.stiffness, points.shape
    last = np.inf

    def shortfalls(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        gaps = differences @ at
        squares = np.einsum("ep,ep->e", gaps, gaps)
        return problem.margin - cuts.summed(squares), gaps

    def lagrangian(flat: FloatArray) -> tuple[float, FloatArray]:
        free = flat.reshape(shape)
        at = _normalize(free)
        missing, gaps = shortfalls(at)
        raised = project_multipliers(multipliers + stiffness * missing, problem.slack)
        pulled = problem.similarity @ at
        step = raised - multipliers
        value = -float(np.vdot(at, pulled)) + float(raised @ missing) - float(step @ step) / (2 * stiffness)
        gradient = -2 * pulled - 2 * (spread @ ((raised[cuts.cut] * cuts.weight)[:, None] * gaps))
        # Through the projection onto centered points of a fixed size.
        gradient -= gradient.mean(axis=0)
        gradient -= at * (float(np.vdot(at, gradient)) / n)
        return value, gradient.ravel() * np.sqrt(n) / np.linalg.norm(free - free.mean(axis=0))

    for _ in range(MAX_ROUNDS):
        settings: Any = {"maxiter": 300, "maxcor": 20, "ftol": 1e-15, "gtol": 0.01 * tol / n}
        found = minimize(lagrangian, points.ravel(), jac=True, method="L-BFGS-B", options=settings)
        points = _normalize(found.x.reshape(shape))
        missing, _ = shortfalls(points)
        raised = project_multipliers(multipliers + stiffness * missing, problem.slack)
        change = float(np.abs(raised - multipliers).max(initial=0.0)) / stiffness
        multipliers = raised
        if change < 0.25 * tol:
            break
        if change > 0.7 * last:
            stiffness *= STIFFNESS_GROWTH
        last = change
    return points, multipliers, stiffness, float(missing.max(initial=0.0))


def _with_direction(points: FloatArray, direction: FloatArray) -> FloatArray:
    """Return points with their smallest dimension replaced by a little of a direction."""
    # A dimension that has shrunk to nothing has no gradient, and points that lack one they need would stay without it.
    _, axes = np.linalg.eigh(points.T @ points)
    rotated = points @ axes
    rotated[:, 0] = ESCAPE_LENGTH * np.sqrt(len(points)) * direction
    return _normalize(rotated)


def project_multipliers(multipliers: FloatArray, slack: float) -> FloatArray:
    """Return the nearest multipliers that are at least 0 and sum to at most ``slack``."""
    clipped = np.maximum(multipliers, 0)
    if clipped.sum() <= slack:
        return clipped
    falling = np.sort(multipliers)[::-1]
    lowered = (np.cumsum(falling) - slack) / np.arange(1, len(falling) + 1)
    level = lowered[np.flatnonzero(falling > lowered)[-1]]
    return np.maximum(multipliers - level, 0)


def _normalize(points: FloatArray) -> FloatArray:
    """Return points with their mean at 0 and a mean squared norm of 1."""
    moved = points - points.mean(axis=0)
    return moved * (np.sqrt(len(points)) / np.linalg.norm(moved))
