"""The problem over points: the one of `nearer.optimize.problems.gram` with G = X X^T for points X of shape (n, p).

    minimize over X    sum_q c_q loss(d2(near_q), d2(far_q)) + trace * ||X||_F^2 + ridge / 2 * ||X^T X||_F^2

The shares c_q are the weights divided by their sum. On G = X X^T the penalties are those on tr(G) and ||G||_F^2. A
value with its gradient costs O(m p + n p^2), in the compiled loops of `optimize.kernels`; nothing of size n^2 is made.

The comparisons come from a source of `optimize.problems.sources`: memory, or a file that is read a block at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.randomness import stream
from nearer.data.rows import Rows
from nearer.model import Compiled, Loss
from nearer.optimize.problems.krylov import Tall, leading_pairs
from nearer.optimize.problems.sources import Source

_MOST_FOR_EXACT = 300
_KRYLOV_BLOCKS = 8
_EXTRA_COLUMNS = 2


class Spectrum(NamedTuple):
    """Leading eigenvalues of the pull of the comparisons, falling, (p,), and their vectors as columns, (n, p)."""

    eigenvalues: FloatArray
    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class FactoredProblem:
    """Comparisons, loss and penalty of one fit over points.

    Parameters
    ----------
    source : Source
    loss : Loss
        One with a compiled loop.
    trace, ridge : float
        Weights of ||X||_F^2 and of ||X^T X||_F^2 / 2.
    held_out : Rows, optional
        Comparisons that judge the map while it is fitted.
    movable : ndarray of bool, shape (n,), optional
        Which objects may move; all if left out.
    spectrum : Spectrum, optional
        The leading pull of the comparisons, if it is known already; see `nearer.optimize.solvers.starts`.
    rank : int
        Columns p of X.
    n_threads : int, optional
        Of the compiled loops; as many as the machine allows if left out.

    Examples
    --------
    >>> from nearer.model import Hinge
    >>> from nearer.data.comparisons import Comparisons
    >>> from nearer.optimize.problems.sources import InMemory
    >>> comparisons = Comparisons.from_triplets([[0, 1, 2]])
    >>> problem = FactoredProblem(InMemory(comparisons), Hinge())
    >>> value, gradient = problem.objective_and_gradient(np.array([[0.0], [0.5], [1.0]]))
    >>> value, gradient.ravel().tolist()
    (0.0625, [0.5, 0.5, -1.0])
    """

    source: Source
    loss: Loss
    trace: float = 0.0
    ridge: float = 0.0
    held_out: Rows | None = None
    movable: NDArray[np.bool_] | None = None
    spectrum: Spectrum | None = None
    rank: int = 2
    n_threads: int | None = None

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return self.source.n_objects

    @property
    def mentions(self) -> FloatArray:
        """The total weight of the comparisons that mention each object, (n,); 0 for those that nothing moves."""
        return self.source.tally.mentions

    @property
    def n_groups(self) -> int:
        """The number of groups of objects that no comparison connects; objects in none of them do not count."""
        return self.source.tally.n_groups

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
        """Return the mean loss alone and its gradient."""
        value, gradient = self.source.evaluate(self.loss.compiled, points, self.n_threads)
        gradient /= points.dtype.type(self.total_weight)
        return value / self.total_weight, gradient

    def pull(self, points: Tall) -> Tall:
        """Return A^T c applied to the columns of ``points``, (n, p): the signed Laplacian of the comparisons.

        Its positive directions pull far pairs apart and near pairs together.
        """
        _, twice = self.source.evaluate(Compiled("linear"), points, self.n_threads)
        twice /= 2 * self.total_weight
        return twice

    def held_out_error(self, points: PointArray) -> float:
        """Return the weighted share of held-out comparisons that the map gets wrong, ties counted half."""
        from nearer.optimize import kernels
        from nearer.optimize.problems.margins import clear_ties, error_from_margins

        assert self.held_out is not None
        margins = clear_ties(*kernels.squared_distances(points, self.held_out, self.n_threads))
        return error_from_margins(margins, self.held_out.weights if self.held_out.weights.size else None)


def leading_pull(problem: FactoredProblem, rank: int) -> Spectrum:
    """Return the ``rank`` leading eigenpairs of A^T c; fewer if there are fewer objects."""
    if problem.spectrum is not None and len(problem.spectrum.eigenvalues) >= min(rank, problem.n_objects):
        return problem.spectrum
    width = rank + _EXTRA_COLUMNS
    if problem.n_objects <= max(_MOST_FOR_EXACT, _KRYLOV_BLOCKS * width):  # a space would be as large as the matrix
        pull = problem.pull(np.eye(problem.n_objects))
        eigenvalues, vectors = eigh((pull + pull.T) / 2)
        return Spectrum(eigenvalues[: -rank - 1 : -1], np.ascontiguousarray(vectors[:, : -rank - 1 : -1]))
    rng = stream(0, "start")  # any block will do, and one and the same makes fits repeat without a seed
    seen, n_blocks = problem.mentions > 0, _KRYLOV_BLOCKS
    if seen.sum() < n_blocks * width:  # one block has all directions that there are
        width, n_blocks = max(int(seen.sum()), rank), 1
    block = rng.normal(size=(problem.n_objects, width))
    block[~seen] = 0
    return Spectrum(*leading_pairs(problem.pull, problem.source.beside(block), rank, n_blocks))
