"""The loop of `optimize.kernels.points` in Triton, for CUDA: value and gradient in one pass. Experimental.

A program takes a block of rows, works out what each costs, and adds to the gradient with atomic additions, whose order
is not fixed: two runs agree but for rounding. PyTorch's operations in `optimize.kernels.tensors` do the same, with a
dozen passes through memory, and take over where Triton cannot work, for example for want of a C compiler.
"""

import warnings
from functools import cache

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from nearer.data.rows import Rows
from nearer.model import Compiled
from nearer.optimize.kernels import tensors
from nearer.optimize.kernels.tensors import TensorRows

MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 128, 2
BLOCK_ELEMENTS = 1024  # rows times columns: 118 registers a thread on sm_90; at four times as many they spill
AGREEMENT_RTOL = 1e-3


def evaluate(compiled: Compiled, points: Tensor, rows: TensorRows) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of a loss over comparisons and its gradient, as `optimize.kernels.tensors.evaluate`."""
    points = points.contiguous()
    n_columns = points.shape[1]
    columns = max(triton.next_power_of_2(n_columns), 2)
    block = min(max(BLOCK_ELEMENTS // columns, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)
    n_blocks = triton.cdiv(len(rows), block)
    gradient = torch.zeros_like(points)
    totals = torch.empty(n_blocks, dtype=torch.float64, device=points.device)
    first, second, *_ = (*compiled.parameters, 0.0, 0.0)
    with torch.cuda.device_of(points):  # Triton launches on the current device, not on that of its arguments
        _loop[(n_blocks,)](
            points,
            rows.columns,
            points if rows.weights is None else rows.weights,  # not read if there are none
            gradient,
            totals,
            len(rows),
            n_columns,
            first,
            second,
            FAMILY=compiled.family,
            SQUARED=compiled.family == "hinge" and second == 2,
            TRIPLETS=len(rows.columns) == 3,
            WEIGHTED=rows.weights is not None,
            ROWS=block,
            COLUMNS=columns,
        )
    return totals.sum(), gradient


@cache
def is_usable(
    device: str,
    compiled: Compiled,
    triplets: bool = True,
    weighted: bool = False,
    n_columns: int = 3,
    dtype: torch.dtype = torch.float32,
) -> bool:
    """Whether Triton compiles and runs this loop here and agrees with PyTorch; warns where it does not."""
    rng = np.random.default_rng(0)
    objects = rng.permuted(np.tile(np.arange(6), (300, 1)), axis=1)[:, : 3 if triplets else 4]
    rows = TensorRows.of(Rows.of(objects, None, rng.uniform(size=300) if weighted else None), device, dtype)
    points = torch.tensor(rng.normal(size=(6, n_columns)), dtype=dtype, device=device)
    try:
        found, expected = evaluate(compiled, points, rows), tensors.evaluate(compiled, points, rows)
        gap = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(found, expected, strict=True))
        reason = "" if gap < AGREEMENT_RTOL else f"it is off by {gap:.1e}"
    except Exception as error:  # compilers and drivers fail in ways of their own, and PyTorch takes over
        reason = f"{type(error).__name__}: {error}"
    if reason:
        warnings.warn(
            f"the Triton loop does not work on {device!r} ({reason[:300]}); PyTorch's operations take its place, which "
            "give the same result and take longer",
            RuntimeWarning,
            stacklevel=2,
        )
    return not reason


@triton.jit
def _loop(
    points,
    objects,
    weights,
    gradient,
    totals,
    n_rows,
    n_columns,
    first,
    second,
    FAMILY: tl.constexpr,
    SQUARED: tl.constexpr,
    TRIPLETS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    block = tl.program_id(0)
    # 64 bits: rows times four, and objects times columns, may be beyond 2^31
    rows = block.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here = rows < n_rows
    i = tl.load(objects + rows, mask=here, other=0).to(tl.int64)
    j = tl.load(objects + (rows + n_rows), mask=here, other=0).to(tl.int64)
    if TRIPLETS:
        l = i  # noqa: E741
        k = tl.load(objects + (rows + n_rows + n_rows), mask=here, other=0).to(tl.int64)
    else:
        l = tl.load(objects + (rows + n_rows + n_rows), mask=here, other=0).to(tl.int64)  # noqa: E741
        k = tl.load(objects + (rows + n_rows + n_rows + n_rows), mask=here, other=0).to(tl.int64)

    columns = tl.arange(0, COLUMNS)
    used = columns < n_columns
    inside = here[:, None] & used[None, :]
    at_i = i[:, None] * n_columns + columns[None, :]
    at_j = j[:, None] * n_columns + columns[None, :]
    at_l = l[:, None] * n_columns + columns[None, :]
    at_k = k[:, None] * n_columns + columns[None, :]
    a = tl.load(points + at_i, mask=inside, other=0.0) - tl.load(points + at_j, mask=inside, other=0.0)
    b = tl.load(points + at_l, mask=inside, other=0.0) - tl.load(points + at_k, mask=inside, other=0.0)
    near = tl.sum(a * a, axis=1)
    far = tl.sum(b * b, axis=1)

    # What a row costs, and the derivatives by the squared distances of its near and far pair.
    if FAMILY == "linear":
        cost = far - near
        by_far = tl.zeros_like(near) + 1.0
        by_near = -by_far
    elif FAMILY == "hinge":
        shortfall = 1.0 - (far - near)
        side = tl.where(shortfall > 0, 1.0, first)
        if SQUARED:
            cost = side * shortfall * shortfall
            by_near = 2.0 * side * shortfall
        else:
            size = tl.maximum(tl.abs(shortfall), 1e-30)  # of which there is a logarithm
            steepness = side * tl.exp((second - 1.0) * tl.log(size))
            cost = steepness * tl.abs(shortfall)
            by_near = tl.where(shortfall > 0, second, tl.where(shortfall < 0, -second, 0.0)) * steepness
        by_far = -by_near
    elif FAMILY == "logistic":
        gamma = far - near - first
        t = tl.exp(-tl.abs(gamma))
        cost = tl.maximum(-gamma, 0.0) + tl.log(1.0 + t)
        by_near = tl.where(gamma > 0, t, 1.0) / (1.0 + t)
        by_far = -by_near
    elif FAMILY == "log_ratio":
        from_near = near + first
        from_far = far + first
        odds = second * tl.log(from_far / from_near)
        t = tl.exp(-tl.abs(odds))
        cost = tl.maximum(-odds, 0.0) + tl.log(1.0 + t)
        slope = second * tl.where(odds > 0, t, 1.0) / (1.0 + t)
        by_near = slope / from_near
        by_far = -slope / from_far
    else:
        tl.static_assert(FAMILY == "distance_hinge")
        d_near = tl.sqrt(near)
        d_far = tl.sqrt(far)
        short = tl.maximum(1.0 + d_near - d_far, 0.0)
        cost = short * short
        by_near = short / tl.maximum(d_near, 1e-8)
        by_far = -short / tl.maximum(d_far, 1e-8)
    if WEIGHTED:
        weight = tl.load(weights + rows, mask=here, other=0.0)
        cost *= weight
        by_near *= weight
        by_far *= weight
    tl.store(totals + block, tl.sum(tl.where(here, cost, 0.0).to(tl.float64), axis=0))

    # Rows beyond the end have a = b = 0, and push nothing.
    push_near = 2.0 * by_near[:, None] * a
    push_far = 2.0 * by_far[:, None] * b
    push_near = push_near.to(points.dtype.element_ty)
    push_far = push_far.to(points.dtype.element_ty)
    # Relaxed: nobody reads the gradient before the launch is over, and an order among additions costs time.
    tl.atomic_add(gradient + at_j, -push_near, mask=inside, sem="relaxed")
    tl.atomic_add(gradient + at_k, -push_far, mask=inside, sem="relaxed")
    if TRIPLETS:
        lowest = tl.min(tl.where(here, i, 2147483647), axis=0)
        highest = tl.max(tl.where(here, i, 0), axis=0)
        if lowest == highest:
            # Rows are sorted by anchor, and where there are many of each, most blocks have one: one addition for all.
            together = tl.sum(push_near + push_far, axis=0)
            tl.atomic_add(gradient + lowest * n_columns + columns, together, mask=used, sem="relaxed")
        else:
            tl.atomic_add(gradient + at_i, push_near + push_far, mask=inside, sem="relaxed")
    else:
        tl.atomic_add(gradient + at_i, push_near, mask=inside, sem="relaxed")
        tl.atomic_add(gradient + at_l, push_far, mask=inside, sem="relaxed")
