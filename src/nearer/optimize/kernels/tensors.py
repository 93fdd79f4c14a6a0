"""Losses on points as operations of PyTorch: `optimize.kernels.points` on any device. Experimental.

The gradient is PyTorch's own. Every loss is written such that it is the one of the compiled loops also where there is
none: 0 at the kink of a hinge, and a distance below 1e-8 has the slope that it has there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from nearer._common.devices import accumulation_dtype
from nearer.data.rows import Rows
from nearer.model import Compiled, DistanceHinge

CHUNK_COORDINATES = 2**22  # coordinates of one side of the pairs, of which a dozen copies are in use at a time


class TensorRows(NamedTuple):
    """Comparisons on a device."""

    columns: Tensor  # (3, m); anchor, near and far object, or near and far pair, answers applied; sorted by the first
    weights: Tensor | None  # (m,), optional

    @classmethod
    def of(cls, rows: Rows, device: str, dtype: torch.dtype) -> TensorRows:
        """Copy comparisons to a device, weights as this dtype."""
        # In one piece: single columns would have to be gathered on the host.
        columns = [*torch.tensor(rows.objects, dtype=torch.int32, device=device).T]
        if rows.answers.size:
            is_reversed = torch.tensor(rows.answers, device=device) < 0
            for near, far in ((0, 2), (1, 3)) if len(columns) == 4 else ((1, 2),):
                a, b = columns[near], columns[far]
                columns[near], columns[far] = torch.where(is_reversed, b, a), torch.where(is_reversed, a, b)
        # Rows of one anchor next to each other read its point from the cache, and the Triton loop adds up their
        # gradients before it writes: sorting costs less than one evaluation and saves in each.
        order = torch.argsort(columns[0], stable=True)
        weights = torch.tensor(rows.weights, dtype=dtype, device=device)[order] if rows.weights.size else None
        return cls(torch.stack([column[order] for column in columns]), weights)

    @staticmethod
    def n_bytes(n_rows: int, width: int, weighted: bool) -> int:
        """Return their memory while they are sorted, for 32 bytes a row, which is the most they need."""
        return n_rows * (2 * 4 * width + 2 * 8 * weighted + 32)

    def __len__(self) -> int:
        return self.columns.shape[1]


def evaluate(compiled: Compiled, points: Tensor, rows: TensorRows) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of a loss over comparisons and its gradient with respect to the points."""
    loss, sums = LOSSES[compiled.family], accumulation_dtype(points.device.type)
    total = torch.zeros((), dtype=sums, device=points.device)
    gradient = torch.zeros_like(points)
    size = max(CHUNK_COORDINATES // points.shape[1], 1)
    for start in range(0, len(rows), size):
        columns = rows.columns[:, start : start + size]
        i, j, l, k = columns if len(columns) == 4 else (columns[0], columns[1], columns[0], columns[2])  # noqa: E741
        with torch.enable_grad():
            moved = points.detach().requires_grad_()
            costs = loss(_squared_distances(moved, i, j), _squared_distances(moved, l, k), *compiled.parameters)
            if rows.weights is not None:
                costs = costs * rows.weights[start : start + size]
            value = costs.sum(dtype=sums)
            (slope,) = torch.autograd.grad(value, moved)
        total += value.detach()
        gradient += slope
    return total, gradient


def object_weights(rows: TensorRows, n_objects: int) -> Tensor:
    """Return the total weight of the comparisons of each object, (n,)."""
    total = torch.zeros(n_objects, dtype=torch.float64, device=rows.columns.device)
    for column in rows.columns:
        total += torch.bincount(column, rows.weights, minlength=n_objects)
    return total


def connected_components(rows: TensorRows, n_objects: int) -> Tensor:
    """Return the smallest object of the connected component of each, (n,), by comparisons of weight above 0."""
    # Each object begins as its own parent. Round by round the larger parent of a pair is given the smaller one as its
    # own, and objects move up to the parents of their parents until these are roots, until no pair has two parents.
    columns = rows.columns if rows.weights is None else rows.columns[:, rows.weights != 0]
    ends = ((0, 1), (2, 3)) if len(columns) == 4 else ((0, 1), (0, 2))
    parents = torch.arange(n_objects, device=columns.device)
    while True:
        before = parents
        for start in range(0, columns.shape[1], CHUNK_COORDINATES):
            here = columns[:, start : start + CHUNK_COORDINATES]
            for a, b in ends:
                one, other = parents.index_select(0, here[a]), parents.index_select(0, here[b])
                larger, smaller = torch.maximum(one, other), torch.minimum(one, other)
                parents = parents.scatter_reduce(0, larger, smaller, "amin")
        while not torch.equal(above := parents[parents], parents):
            parents = above
        if torch.equal(parents, before):
            return parents


def _squared_distances(points: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return (points.index_select(0, a) - points.index_select(0, b)).square().sum(dim=1)


def _hinge(near: Tensor, far: Tensor, nu: float, power: float) -> Tensor:
    shortfall = 1 - (far - near)
    # relu and not clamp, whose slope at 0 is 1
    below = torch.relu(shortfall) ** power
    return below + nu * torch.relu(-shortfall) ** power if nu else below


def _root(square: Tensor) -> Tensor:
    """Return the square root, whose slope below the smallest distance is the one there."""
    fixed = square.detach()
    root = fixed.sqrt()
    return root + (square - fixed) / (2 * root.clamp(min=DistanceHinge.MIN_DISTANCE))


LOSSES: dict[str, Callable[..., Tensor]] = {
    "linear": lambda near, far: far - near,
    "hinge": _hinge,
    "logistic": lambda near, far, target: -logsigmoid(far - near - target),
    "log_ratio": lambda near, far, offset, slope: -logsigmoid(slope * torch.log((far + offset) / (near + offset))),
    "distance_hinge": lambda near, far: torch.relu(1 + _root(near) - _root(far)).square(),
}
