"""The problem over points: the one of `nearer.optimize.problems.gram` with G = X X^T for points X of shape (n, p).

    minimize over X    sum_q c_q loss(d2(near_q), d2(far_q)) + trace * ||X||_F^2 + ridge / 2 * ||X^T X||_F^2

A value with its gradient costs O(m p + n p^2), in the compiled loops of `optimize.kernels`; nothing of size n^2 is
made. With features the points stand for places S Y (see `optimize.problems.covariance`). The comparisons come from a
source of `optimize.problems.sources`. All triplets of a graph are such a source, too, of which none is written down. A
graph is easily folded, so its descent has one dimension more than is wanted, and pays more and more for it. `Penalty`
holds weights in units that carry over from one set of comparisons to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.progress import progress_bar
from nearer._common.randomness import stream
from nearer.data.conversions import Graph
from nearer.data.rows import Rows
from nearer.model import Compiled, Loss
from nearer.optimize.problems.covariance import CovarianceRoot
from nearer.optimize.problems.margins import clear_ties, error_from_margins
from nearer.optimize.problems.sources import Source

if TYPE_CHECKING:
    from nearer.optimize.problems.gram import Problem

MAX_EXACT_OBJECTS = 300
N_KRYLOV_BLOCKS = 8
N_EXTRA_COLUMNS = 2


class Root(Protocol):
    """What makes places of the points that a penalty is on."""

    def times(self, representers: FloatArray, /) -> FloatArray:
        """Return the places, (n, p)."""

    def transposed_times(self, gradient: FloatArray, /) -> FloatArray:
        """Return the gradient with respect to the points from that with respect to places, (n, p)."""


MAX_CURVATURE_ROWS = 20_000


class Spectrum(NamedTuple):
    """Leading eigenvalues of the Laplacian A^T c, falling, (p,), and their vectors as columns, (n, p)."""

    eigenvalues: FloatArray
    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class FactoredProblem:
    """Comparisons, loss and penalty of one fit over points."""

    source: Source
    loss: Loss  # one with a compiled loop
    trace: float = 0.0  # weight of ||X||_F^2
    ridge: float = 0.0  # weight of ||X^T X||_F^2 / 2
    held_out: Rows | None = None  # comparisons that the map is evaluated on while it is fitted
    movable: NDArray[np.bool_] | None = None  # (n,), which objects may move; None for all
    spectrum: Spectrum | None = None  # the leading eigenpairs of A^T c, if known already
    rank: int = 2  # columns p of X
    n_threads: int | None = None  # of the compiled loops; as many as the machine allows if left out
    root: Root | None = None  # S, for points Y that stand for places X = S Y

    @property
    def n_objects(self) -> int:
        return self.source.n_objects

    def places(self, points: PointArray) -> PointArray:
        """Return where the objects lie: the points themselves, or S Y with a prior covariance."""
        return points if self.root is None else np.ascontiguousarray(self.root.times(points), points.dtype)

    @property
    def object_weights(self) -> FloatArray:
        """The total weight of the comparisons of each object, (n,); 0 for those that nothing moves."""
        return self.source.tally.object_weights

    @property
    def n_connected_components(self) -> int:
        """The number of connected components, of objects in some comparison."""
        return self.source.tally.n_connected_components

    @property
    def total_weight(self) -> float:
        """The sum of the weights: the number of comparisons, if each has weight 1."""
        return self.source.tally.total_weight

    @cached_property
    def objective_at_zero(self) -> float:
        """The objective when all objects lie at one point."""
        zero = np.zeros(1)
        return self.loss.evaluate(zero, zero, np.ones(1)).value

    def objective_and_gradient(self, points: PointArray, trace: float | None = None) -> tuple[float, PointArray]:
        """Return the value to be minimized and its gradient with respect to X, (n, p); at another trace if given."""
        trace = self.trace if trace is None else trace
        value, gradient = self.loss_and_gradient(points)
        if trace:
            value += trace * float(np.vdot(points, points))
            gradient += points.dtype.type(2 * trace) * points
        if self.ridge:
            square = points.T @ points
            value += self.ridge / 2 * float(np.vdot(square, square))
            gradient += points.dtype.type(2 * self.ridge) * (points @ square)
        if self.movable is not None:
            gradient[~self.movable] = 0
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        """Return the mean loss, without the penalty, and its gradient."""
        value, gradient = self._evaluate(self.loss.compiled, points)
        gradient /= points.dtype.type(self.total_weight)
        return value / self.total_weight, gradient

    def laplacian_product(self, points: TallMatrix) -> TallMatrix:
        """Return A^T c applied to the columns of ``points``, (n, p): the signed Laplacian of the comparisons."""
        _, twice = self._evaluate(Compiled("linear"), points)
        twice /= 2 * self.total_weight
        return twice

    def _evaluate(self, compiled: Compiled, points: Any) -> tuple[float, Any]:
        """Return the sum of a loss over all comparisons at points, or the places that they stand for; its gradient."""
        if self.root is None:
            return self.source.evaluate(compiled, points, self.n_threads)
        value, gradient = self.source.evaluate(compiled, self.places(points), self.n_threads)
        return value, np.ascontiguousarray(self.root.transposed_times(gradient), points.dtype)

    def held_out_error(self, points: PointArray) -> float:
        """Return the weighted share of held-out comparisons that the map gets wrong, ties counted half."""
        from nearer.optimize import kernels

        assert self.held_out is not None
        margins = clear_ties(*kernels.squared_distances(self.places(points), self.held_out, self.n_threads))
        return error_from_margins(margins, self.held_out.weights if self.held_out.weights.size else None)


def laplacian_spectrum(problem: FactoredProblem, rank: int) -> Spectrum:
    """Return the ``rank`` leading eigenpairs of A^T c; fewer if there are fewer objects."""
    if problem.spectrum is not None and len(problem.spectrum.eigenvalues) >= min(rank, problem.n_objects):
        return problem.spectrum
    width = rank + N_EXTRA_COLUMNS
    if problem.n_objects <= max(MAX_EXACT_OBJECTS, N_KRYLOV_BLOCKS * width):  # a space would be as large as the matrix
        pull = problem.laplacian_product(np.eye(problem.n_objects))
        eigenvalues, vectors = eigh((pull + pull.T) / 2)
        return Spectrum(eigenvalues[: -rank - 1 : -1], np.ascontiguousarray(vectors[:, : -rank - 1 : -1]))
    rng = stream(0, "start")  # any block will do, and one and the same makes fits repeat without a seed
    seen, n_blocks = problem.object_weights > 0, N_KRYLOV_BLOCKS
    if seen.sum() < n_blocks * width:  # one block has all directions that there are
        width, n_blocks = max(int(seen.sum()), rank), 1
    block = rng.normal(size=(problem.n_objects, width))
    block[~seen] = 0
    return Spectrum(*leading_eigenpairs(problem.laplacian_product, problem.source.to_device(block), rank, n_blocks))


TallMatrix: TypeAlias = Any  # ndarray or Tensor of float64

MIN_RELATIVE_DIAGONAL = 1e-4  # its square, in the products, is far from the precision of the numbers


def leading_eigenpairs(
    product: Callable[[TallMatrix], TallMatrix], block: TallMatrix, rank: int, n_blocks: int = 8
) -> tuple[FloatArray, FloatArray]:
    """Return leading eigenvalues, falling, (rank,), and their vectors as columns, (n, rank)."""
    n, width = block.shape
    shape = n_blocks * width, n
    # One array for all blocks, column after column: products with it read memory once, not once for each block.
    space = (np.empty(shape) if isinstance(block, np.ndarray) else block.new_empty(shape)).T
    # Of the images of the space only these products are kept: of a million objects they would be the largest thing.
    within = np.zeros((n_blocks * width, n_blocks * width))
    with progress_bar("start", n_blocks) as bar:
        for begin in range(0, n_blocks * width, width):
            end, before = begin + width, space[:, :begin]
            for _ in range(2):  # once leaves rounding errors as large as what remains of a block
                if begin:
                    block = block - before @ (before.T @ block)
                block = _orthonormal(block)
            space[:, begin:end] = block
            block = product(block)
            within[:end, begin:end] = _as_array(space[:, :end].T @ block)
            within[begin:end, :end] = within[:end, begin:end].T
            bar.update()
    eigenvalues, vectors = eigh(within)
    shares = np.ascontiguousarray(vectors[:, : -rank - 1 : -1])
    # Rounding, which differs on a device, must not decide the sign of a vector.
    shares *= np.sign(np.take_along_axis(shares, np.abs(shares).argmax(axis=0)[None], axis=0))
    return eigenvalues[: -rank - 1 : -1], _as_array(space @ _like(space, shares))


def _orthonormal(block: TallMatrix) -> TallMatrix:
    # By a Cholesky factor of its products, a tenth of the time of a QR decomposition; that one where columns are nearly
    # dependent, which the products would hide.
    try:
        factor = cholesky(_as_array(block.T @ block))
    except np.linalg.LinAlgError:
        return _like(block, np.linalg.qr(_as_array(block))[0])
    sizes = np.diagonal(factor)
    if sizes.min() <= MIN_RELATIVE_DIAGONAL * sizes.max():
        return _like(block, np.linalg.qr(_as_array(block))[0])
    return block @ _like(block, solve_triangular(factor, np.eye(len(factor))))


def _as_array(matrix: TallMatrix) -> FloatArray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.cpu().numpy()


def _like(tall: TallMatrix, matrix: FloatArray) -> TallMatrix:
    """Return an array as a matrix of the type and on the device of a tall one."""
    return matrix if isinstance(tall, np.ndarray) else tall.new_tensor(matrix)


@dataclass(frozen=True, eq=False)
class GraphTriplets(Source):
    """The triplets of a graph as a source of comparisons, a block at a time."""

    graph: Graph

    @property
    def n_objects(self) -> int:
        return self.graph.n_objects

    def __len__(self) -> int:
        return self.graph.n_triplets

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        for block in self.graph.blocks():
            yield Rows.of(block)


@dataclass(frozen=True, eq=False)
class GraphProblem(FactoredProblem):
    """The problem over points for all triplets of a graph, without listing them."""

    source: GraphTriplets
    pressure: float = 0.0  # weight of the squares of the coordinates from ``flat`` on
    flat: int = 0  # the number of dimensions that cost nothing more

    @property
    def graph(self) -> Graph:
        return self.source.graph

    @property
    def object_weights(self) -> FloatArray:
        graph = self.graph
        degrees = graph.degrees.astype(np.float64)
        others = graph.n_objects - 1 - degrees
        near = graph.adjacency.T @ others
        far = degrees.sum() - degrees - graph.adjacency.T @ degrees
        return degrees * others + near + far

    @property
    def n_connected_components(self) -> int:
        return 1  # an anchor is compared with all others

    @property
    def total_weight(self) -> float:
        return float(len(self.source))

    @property
    def n_triplets_per_edge(self) -> float:
        return self.total_weight / len(self.graph.neighbors)

    def objective_and_gradient(self, points: PointArray, trace: float | None = None) -> tuple[float, PointArray]:
        value, gradient = super().objective_and_gradient(points, trace)
        if self.pressure:
            extra = points[:, self.flat :]
            value += self.pressure * float(np.vdot(extra, extra))
            gradient[:, self.flat :] += points.dtype.type(2 * self.pressure) * extra
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        from nearer.optimize.kernels.graph import graph_hinge

        value, gradient = graph_hinge(points, self.graph.starts, self.graph.neighbors, self.n_threads)
        gradient /= points.dtype.type(self.total_weight)
        return value / self.total_weight, gradient

    def laplacian_product(self, points: PointArray) -> PointArray:
        return self.graph.laplacian_product(points) / self.total_weight


def _curvature(root: Root | None, objects: NDArray[np.integer]) -> float:
    """Return the unit of a ridge: representers that features stretch have a larger effect on margins."""
    return root.mean_curvature(objects) if isinstance(root, CovarianceRoot) else 1.0


class PenaltyValues(NamedTuple):
    """All values of a penalty."""

    trace: float
    ridge: float
    diagonal: float
    specificity: float


@dataclass(frozen=True)
class Penalty:
    r"""The penalty on a map: :math:`\lambda \,\mathrm{tr}\, G + \frac{\kappa}{2} \lVert G \rVert_F^2`, and more.

    A value of None is open: `DMOE` chooses it from the comparisons.

    Parameters
    ----------
    trace : float >= 0 or None, default 0.1
        Prefers few dimensions. As a share of the smallest lambda at which the map is a point, so that 1 is too much.
    ridge : float >= 0 or None, default 1
        Prefers maps whose distances differ little; any above 0 makes the solution unique. In units of one comparison:
        kappa is this number divided by the total weight.
    diagonal : float >= 0 or None, default 1
        How much an object's distance from the center adds to its distance from everything. 1 is the Euclidean
        distance of the paper; people's judgments of many objects are often predicted better by 0.3 to 0.6.
    specificity : float > 0 or None, default infinity
        Price of the specificities s_i that are added to the squared distances of each object (Winsberg and Carroll
        1989), in units of one comparison. Infinity means none; 10 to 100 helps when comparisons are few.

    Examples
    --------
    >>> Penalty(trace=0.2).ridge
    1.0
    >>> Penalty(trace=None, ridge=0.0).filled_from(Penalty(trace=0.3, ridge=5.0))
    Penalty(trace=0.3, ridge=0.0, diagonal=1.0, specificity=inf)
    """

    trace: float | None = 0.1
    ridge: float | None = 1.0
    diagonal: float | None = 1.0
    specificity: float | None = np.inf

    def __post_init__(self) -> None:
        for name in ("trace", "ridge", "diagonal"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or not 0 <= value < np.inf):
                raise ValueError(f"{name} must be a finite number >= 0, or None to have it chosen, got {value!r}")
        if self.specificity is not None and (not _is_number(self.specificity) or not self.specificity > 0):
            raise ValueError(
                f"specificity must be above 0 (infinity for none), or None to have it chosen, got {self.specificity!r}"
            )

    @classmethod
    def open(cls) -> Penalty:
        """Return the penalty of which all values are to be chosen."""
        return cls(None, None, None, None)

    @property
    def is_open(self) -> bool:
        return None in self._values()

    def filled_from(self, other: Penalty) -> Penalty:
        pairs = zip(self._values(), other._values(), strict=True)
        return Penalty(*(given if own is None else own for own, given in pairs))

    def over_gram_matrices(self, problem: Problem) -> Problem:
        """Return the problem with this penalty, in its own units."""
        trace, ridge, diagonal, specificity = self.values()
        if problem.margins.diagonal != diagonal:
            problem = replace(problem, margins=replace(problem.margins, diagonal=diagonal))
        return replace(
            problem,
            trace=trace * problem.vanishing_trace,
            ridge=ridge * _curvature(problem.margins.root, problem.margins.ends) / problem.total_weight,
            specificity=specificity / problem.total_weight,
        )

    def over_points(self, problem: FactoredProblem, largest_pull: float) -> FactoredProblem:
        """Return the problem over points with this penalty, given the largest eigenvalue of the pull A^T c."""
        trace, ridge, diagonal, specificity = self.values()
        if diagonal != 1 or specificity < np.inf:
            raise ValueError(
                f"diagonal={diagonal} and specificity={specificity} need a Gram matrix, which a solver over "
                "points does not make; leave them out, or use solver='admm'"
            )
        return replace(
            problem,
            trace=trace * problem.loss.slope_at_zero * max(largest_pull, 0.0),
            ridge=ridge
            * _curvature(problem.root, problem.source.sample(MAX_CURVATURE_ROWS).objects)
            / problem.total_weight,
        )

    def _values(self) -> tuple[float | None, ...]:
        return self.trace, self.ridge, self.diagonal, self.specificity

    def values(self) -> PenaltyValues:
        if self.trace is None or self.ridge is None or self.diagonal is None or self.specificity is None:
            raise ValueError(f"{self} has open values, which only DMOE chooses; give all of them")
        return PenaltyValues(self.trace, self.ridge, self.diagonal, self.specificity)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
