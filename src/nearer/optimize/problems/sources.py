"""Where the comparisons of a problem over points come from, and sums over all of them.

A *source* gives out blocks of rows. The sums that a fit needs, losses with their gradients, Laplacian products and
counts, are sums over blocks; a source whose rows lie elsewhere works them out there instead. On a cluster the points go
out to the workers that hold the rows, and a value and a gradient come back. On a device of PyTorch a descent that runs
there gets tensors that nobody has waited for. Comparisons in memory and those in files are summed over the same pieces
in the same order: a fit finds the same map to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.devices import accumulation_dtype, import_torch, refuse_too_large
from nearer.data.cluster import ComparisonsOnCluster, load_on_cluster
from nearer.data.comparisons import Comparisons
from nearer.data.rows import BLOCK_ROWS, Rows, sample_ranges
from nearer.data.streamed import ComparisonsFile, StreamedComparisons
from nearer.model import Compiled

if TYPE_CHECKING:
    from torch import Tensor

    from nearer.optimize.kernels.tensors import TensorRows
    from nearer.optimize.problems.points import FactoredProblem

Evaluation: TypeAlias = tuple[float, PointArray]  # a value and its gradient, (n, p)
N_CHUNKS_PER_BLOCK = 8  # so that the streams of eight threads hold no more than one block would


class Tally(NamedTuple):
    """What one pass over all comparisons counts."""

    object_weights: FloatArray  # (n,): of the comparisons of each object; 0 for those that nothing moves
    parents: NDArray[np.intp]  # (n,): a forest whose trees are the connected components; a root is its own parent
    total_weight: float  # the number of comparisons, if each has weight 1

    @classmethod
    def of(cls, blocks: Iterable[Rows], n_objects: int) -> Tally:
        from nearer.optimize import kernels

        weights, parents, total = np.zeros(n_objects), np.arange(n_objects), 0.0
        for rows in blocks:
            weights += kernels.object_weights(rows, n_objects)
            kernels.union(rows, parents)
            total += float(rows.weights.sum() if rows.weights.size else len(rows))
        return cls(weights, parents, total)

    def merge(self, other: Tally) -> Tally:
        from nearer.optimize import kernels

        parents = self.parents.copy()
        # Each object and its parent, as a pair to join.
        kernels.union(Rows.of(np.column_stack([np.arange(len(parents)), other.parents, other.parents])), parents)
        return Tally(self.object_weights + other.object_weights, parents, self.total_weight + other.total_weight)

    @property
    def n_connected_components(self) -> int:
        """The number of connected components, of objects in some comparison."""
        return int(np.sum((self.parents == np.arange(len(self.parents))) & (self.object_weights > 0)))


class Source(ABC):
    """Where comparisons come from."""

    comparisons: Any

    @property
    def n_objects(self) -> int:
        return int(self.comparisons.n_objects)

    def __len__(self) -> int:
        return len(self.comparisons)

    @abstractmethod
    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons, some at a time; blocks in random order if ``rng`` is given."""

    def check_blocks(self) -> None:  # noqa: B027 - most sources have blocks
        """Raise ValueError where `blocks` would; solvers that need blocks call it first."""

    @cached_property
    def tally(self) -> Tally:
        return Tally.of(self.blocks(), self.n_objects)

    def evaluate(self, compiled: Compiled, points: PointArray, n_threads: int | None = None) -> Evaluation:
        """Return the weighted sum of a loss over all comparisons and its gradient at the points, (n, p)."""
        from nearer.optimize import kernels

        total, gradient = 0.0, None
        for rows in self.blocks():
            value, slope = kernels.evaluate(compiled, points, rows, n_threads)
            total += value
            gradient = slope if gradient is None else np.add(gradient, slope, out=gradient)
        assert gradient is not None
        return total, gradient

    def to_device(self, block: FloatArray) -> Any:
        """Return a matrix, (n, k), where the comparisons are, as `evaluate` takes it."""
        return block

    def sample(self, n_rows: int) -> Rows:
        """Return at most ``n_rows`` comparisons, evenly spaced in the first block."""
        return next(self.blocks()).thin(n_rows)


class RangeSource(Source):
    """Comparisons of which any range of rows can be read: in memory and in files."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """How many rows are read at a time."""

    @abstractmethod
    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        """Return the comparisons from the first of these rising row numbers to the last, cut at each of them."""

    def evaluate(self, compiled: Compiled, points: PointArray, n_threads: int | None = None) -> Evaluation:
        from nearer.optimize import kernels

        chunk_rows = max(self.block_rows // N_CHUNKS_PER_BLOCK, 1)
        return kernels.evaluate_stream(compiled, points, self.between, len(self), chunk_rows, n_threads)

    def sample(self, n_rows: int) -> Rows:
        # of very many, runs of them
        parts = [
            rows.take(slice(None, None, run.step))
            for run in sample_ranges(len(self), n_rows, self.block_rows)
            for rows in self.between([run.start, run.stop])
        ]
        if len(parts) == 1:
            return parts[0]
        return Rows.of(*(np.concatenate(columns)[:n_rows] for columns in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class InMemory(RangeSource):
    """Comparisons that fit into memory, without a copy."""

    comparisons: Comparisons

    @property
    def block_rows(self) -> int:
        return BLOCK_ROWS

    @cached_property
    def rows(self) -> Rows:
        return as_rows(self.comparisons)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return blocks as a file would give them; a single one where the order is to be random."""
        m = len(self)
        return iter([self.rows]) if rng is not None else self.between([*range(0, m, self.block_rows), m])

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        whole = len(self)  # needs no slice, and small problems are evaluated thousands of times
        return (
            self.rows if stop - start == whole else self.rows.take(slice(start, stop)) for start, stop in pairwise(cuts)
        )


@dataclass(frozen=True, eq=False)
class Streamed(RangeSource):
    """Comparisons in files, read a block at a time."""

    comparisons: ComparisonsFile

    @property
    def block_rows(self) -> int:
        return self.comparisons.block_rows

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        return self.comparisons.blocks(rng)

    def between(self, cuts: Sequence[int]) -> Generator[Rows, None, None]:
        return self.comparisons.between(cuts)


def as_rows(comparisons: Comparisons) -> Rows:
    """Return comparisons as the compiled loops take them, without a copy."""
    return Rows.of(comparisons.rows, comparisons.answers, comparisons.weights)


def as_source(judgments: Comparisons | StreamedComparisons, *, on_cluster: bool = False) -> Source:
    """Return the source of judgments; with ``on_cluster`` the workers of a running client read files."""
    if isinstance(judgments, Comparisons):
        return InMemory(judgments)
    held = judgments
    if on_cluster and isinstance(judgments, ComparisonsFile):
        held = load_on_cluster(judgments) or judgments
    if isinstance(held, ComparisonsOnCluster):
        return OnCluster(held)
    assert isinstance(held, ComparisonsFile)
    return Streamed(held)


@dataclass(frozen=True, eq=False)
class OnDevice(Source):
    """Comparisons in memory, and a copy of them on a device."""

    host: InMemory
    device: str  # one that is there; see `nearer._common.devices.available_device`
    dtype: str = "float32"  # of the weights: that of the points

    @classmethod
    def copy_of(cls, source: Source, device: str, dtype: str = "float32") -> OnDevice:
        """Return comparisons on a device, or raise ValueError if they are not in memory."""
        if not isinstance(source, InMemory):
            raise ValueError(
                f"device={device!r} needs all comparisons in memory, and these are read a block at a time; pass them "
                "as Comparisons or an array, or leave device out"
            )
        return cls(source, device, dtype)

    @property
    def comparisons(self) -> InMemory:
        return self.host

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        return self.host.blocks(rng)

    def sample(self, n_rows: int) -> Rows:
        return self.host.sample(n_rows)

    @cached_property
    def tally(self) -> Tally:
        from nearer.optimize.kernels import tensors

        if self.device == "mps":  # which lacks the operations
            return self.host.tally
        weights, components = (
            count(self.rows, self.n_objects) for count in (tensors.object_weights, tensors.connected_components)
        )
        given = self.host.rows.weights
        total = float(given.sum() if given.size else len(self))
        return Tally(weights.cpu().numpy(), components.cpu().numpy(), total)

    @cached_property
    def rows(self) -> TensorRows:
        """The comparisons on the device, copied when they are first asked for."""
        from nearer.optimize.kernels.tensors import TensorRows

        return TensorRows.of(self.host.rows, self.device, getattr(import_torch(self.device), self.dtype))

    def check_memory(self, n_columns: int, n_vectors: int) -> None:
        """Raise MemoryError if a descent with ``n_vectors`` arrays of (n, n_columns) would not fit."""
        from nearer.optimize.kernels.tensors import CHUNK_COORDINATES, TensorRows

        rows = self.host.rows
        size = 8 if self.dtype == "float64" else 4
        n_bytes = TensorRows.n_bytes(len(rows), rows.objects.shape[1], bool(rows.weights.size))
        n_bytes += n_vectors * self.n_objects * n_columns * size
        n_bytes += 12 * 8 * min(CHUNK_COORDINATES, len(rows) * n_columns)  # the start is in float64
        what = f"{len(self)} comparisons of {self.n_objects} objects in {n_columns} dimensions"
        refuse_too_large(self.device, n_bytes, what)

    def evaluate_tensors(self, compiled: Compiled, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of a loss over all comparisons, (), and its gradient, (n, p), on the device."""
        from nearer.optimize.kernels import tensors

        if self.device.startswith("cuda"):
            loops = _triton_loops()
            kind = len(self.rows.columns) == 3, self.rows.weights is not None, points.shape[1], points.dtype
            if loops is not None and loops.is_usable(self.device, compiled, *kind):
                return loops.evaluate(compiled, points, self.rows)
        return tensors.evaluate(compiled, points, self.rows)

    def evaluate(self, compiled: Compiled, points: Any, n_threads: int | None = None) -> tuple[Any, Any]:
        # as tensors for a tensor, else on the host
        if not isinstance(points, np.ndarray):
            return self.evaluate_tensors(compiled, points)
        value, gradient = self.evaluate_tensors(compiled, self._copied(points))
        return float(value), gradient.cpu().numpy().astype(points.dtype)

    def to_device(self, block: FloatArray) -> Any:
        """Return a matrix on the device, if that has float64, which a start needs."""
        return self._copied(block) if accumulation_dtype(self.device) == import_torch(self.device).float64 else block

    def _copied(self, points: PointArray) -> Tensor:
        return import_torch(self.device).tensor(points, dtype=accumulation_dtype(self.device), device=self.device)


def objective_and_gradient(problem: FactoredProblem, points: Tensor, trace: Tensor) -> tuple[Tensor, Tensor]:
    """Return the value to be minimized, (), and its gradient, (n, p), at a trace penalty, (), all on the device."""
    source, sums = problem.source, accumulation_dtype(points.device.type)
    assert isinstance(source, OnDevice)
    value, gradient = source.evaluate_tensors(problem.loss.compiled, points)
    value = value / problem.total_weight + trace * points.square().sum(dtype=sums)
    gradient = gradient / problem.total_weight + 2 * trace * points
    if problem.ridge:
        square = points.T @ points
        value = value + problem.ridge / 2 * square.square().sum(dtype=sums)
        gradient = gradient + 2 * problem.ridge * (points @ square)
    return value, gradient


def _triton_loops() -> Any:
    """Return the module of Triton's loops, or None where there is no Triton: it comes with PyTorch on Linux alone."""
    try:
        from nearer.optimize.kernels import triton_loops
    except ImportError:
        return None
    return triton_loops


@dataclass(frozen=True, eq=False)
class OnCluster(Source):
    """Comparisons on the workers of a dask cluster."""

    comparisons: ComparisonsOnCluster

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        return self.comparisons.blocks(rng)

    def check_blocks(self) -> None:
        self.comparisons.raise_for_blocks()

    @cached_property
    def tally(self) -> Tally:
        return self.comparisons.reduce(Tally.of, Tally.merge, self.n_objects)

    def evaluate(self, compiled: Compiled, points: PointArray, n_threads: int | None = None) -> Evaluation:
        # Workers use the threads that they were started with.
        return self.comparisons.reduce(_evaluate, _add, compiled, points)

    def sample(self, n_rows: int) -> Rows:
        return self.comparisons.sample(n_rows)


def _evaluate(blocks: Sequence[Rows], compiled: Compiled, points: PointArray) -> Evaluation:
    from nearer.optimize import kernels

    gradient = np.zeros_like(points)
    return sum(kernels.add_gradient(compiled, points, rows, gradient) for rows in blocks), gradient


def _add(one: Evaluation, other: Evaluation) -> Evaluation:
    return one[0] + other[0], np.add(one[1], other[1], out=one[1])
