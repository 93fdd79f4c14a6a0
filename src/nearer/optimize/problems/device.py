"""The problem over points with its comparisons on a device: what a descent asks of it, and nothing sent to the host.

`OnDevice` is a source like any other: sums over all its comparisons are worked out where they lie, so that the start
of a descent, which thinks in NumPy, works as it does for comparisons in memory. A descent that lives on the device
itself asks for tensors instead, and gets back tensors that nobody has waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.devices import refuse_too_large, sums_in, torch_or_advice
from nearer.data.rows import Rows
from nearer.model import Compiled
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory, Source, Tally

if TYPE_CHECKING:
    from torch import Tensor

    from nearer.optimize.kernels.tensors import TensorRows


@dataclass(frozen=True, eq=False)
class OnDevice(Source):
    """Comparisons in memory, and a copy of them on a device.

    Parameters
    ----------
    host : InMemory
    device : str
        One that is there; see `nearer._common.devices.available_device`.
    dtype : str
        Of the weights: that of the points.
    """

    host: InMemory
    device: str
    dtype: str = "float32"

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
    def n_objects(self) -> int:
        """The number of objects."""
        return self.host.n_objects

    def __len__(self) -> int:
        return len(self.host)

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons from the host."""
        return self.host.blocks(rng)

    def sample(self, n_rows: int) -> Rows:
        """Return at most so many comparisons from the host: those that a fit there would begin with."""
        return self.host.sample(n_rows)

    @cached_property
    def tally(self) -> Tally:
        """What one pass over all comparisons counts; on the device, where a processor would take a second."""
        from nearer.optimize.kernels import tensors

        if self.device == "mps":  # which lacks the operations
            return self.host.tally
        mentions, groups = (count(self.rows, self.n_objects) for count in (tensors.mentions, tensors.groups))
        weights = self.host.rows.weights
        total = float(weights.sum() if weights.size else len(self))
        return Tally(mentions.cpu().numpy(), groups.cpu().numpy(), total)

    @cached_property
    def rows(self) -> TensorRows:
        """The comparisons on the device, copied when they are first asked for."""
        from nearer.optimize.kernels.tensors import TensorRows

        return TensorRows.of(self.host.rows, self.device, getattr(torch_or_advice(self.device), self.dtype))

    def check_memory(self, n_columns: int, n_vectors: int) -> None:
        """Raise MemoryError if a descent with so many arrays of n points of so many columns would not fit."""
        from nearer.optimize.kernels.tensors import CHUNK, TensorRows

        rows = self.host.rows
        size = 8 if self.dtype == "float64" else 4
        n_bytes = TensorRows.n_bytes(len(rows), rows.objects.shape[1], bool(rows.weights.size))
        n_bytes += n_vectors * self.n_objects * n_columns * size
        n_bytes += 12 * 8 * min(CHUNK, len(rows) * n_columns)  # the start is in float64
        what = f"{len(self)} comparisons of {self.n_objects} objects in {n_columns} dimensions"
        refuse_too_large(self.device, n_bytes, what)

    def evaluate_tensors(self, compiled: Compiled, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of a loss over all comparisons, (), and its gradient, (n, p), on the device."""
        from nearer.optimize.kernels import tensors

        if self.device.startswith("cuda"):
            loops = _triton_loops()
            if loops is not None and loops.works(
                self.device,
                compiled,
                triplets=len(self.rows.columns) == 3,
                weighted=self.rows.weights is not None,
                n_columns=points.shape[1],
                dtype=points.dtype,
            ):
                found: tuple[Tensor, Tensor] = loops.evaluate(compiled, points, self.rows)
                return found
        return tensors.evaluate(compiled, points, self.rows)

    def evaluate(self, compiled: Compiled, points: Any, n_threads: int | None = None) -> tuple[Any, Any]:
        """Return the same for points on the host, as exactly as the device allows, or for a tensor, as tensors."""
        if not isinstance(points, np.ndarray):
            return self.evaluate_tensors(compiled, points)
        value, gradient = self.evaluate_tensors(compiled, self._copied(points))
        return float(value), gradient.cpu().numpy().astype(points.dtype)

    def beside(self, block: FloatArray) -> Any:
        """Return a tall matrix on the device, if that has float64: nothing less will do for a start."""
        return self._copied(block) if sums_in(self.device) == torch_or_advice(self.device).float64 else block

    def _copied(self, points: PointArray) -> Tensor:
        torch = torch_or_advice(self.device)
        copied: Tensor = torch.tensor(points, dtype=sums_in(self.device), device=self.device)
        return copied


def objective_and_gradient(problem: FactoredProblem, points: Tensor, trace: Tensor) -> tuple[Tensor, Tensor]:
    """Return the value to be minimized, (), and its gradient, (n, p), at a trace penalty, (), all on the device."""
    source, sums = problem.source, sums_in(points.device.type)
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
