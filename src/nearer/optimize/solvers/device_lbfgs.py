"""L-BFGS over points on a device: the descent of `optimize.solvers.descent`, decision for decision. Experimental.

To ask a GPU whether a step was good is to leave it idle until it hears what is next. So no decision is taken on the
host. A *tick* is one evaluation, and whatever may follow from it, a step that is accepted, a shorter one, the next
penalty, the end, is worked out as tensors, of which `torch.where` keeps those that apply. After the end, ticks change
nothing. The host looks every ten ticks whether there is an end.

A tick is some two hundred small operations. Recorded once, as a CUDA graph, all of them are one launch, which reads and
writes the same tensors each time. Points and pairs are float32; objectives and scalar products are summed in float64,
where the device has it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.devices import accumulation_dtype, available_device, import_torch
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import OnDevice, Source, objective_and_gradient
from nearer.optimize.solvers.descent import (
    MIN_CURVATURE,
    MIN_DECREASE,
    MIN_STEP,
    PATH_TOL,
    PATH_WINDOW_ITERATIONS,
    WINDOW_ITERATIONS,
    DescentSettings,
    begin_descent,
)
from nearer.optimize.solvers.driver import Outcome, Progress, Solver

if TYPE_CHECKING:
    from torch import Tensor

StateT = TypeVar("StateT", bound=tuple[Any, ...])  # a NamedTuple of tensors

_recording_lock = threading.Lock()
_recording_failed = threading.Event()


def record_if_possible(step: Callable[[StateT], StateT], state: StateT) -> tuple[Callable[[StateT], StateT], StateT]:
    """Return a step and the state to begin with: on CUDA recorded and in place, elsewhere as they are."""
    if state[0].device.type != "cuda" or _recording_failed.is_set():
        return step, state
    try:
        return record_step(step, state)
    except RuntimeError as error:  # of the driver, and of operations that cannot be recorded
        _recording_failed.set()  # PyTorch may not recover from it so far that another attempt could succeed
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(
            f"a step of the descent could not be recorded on {str(state[0].device)!r} ({reason[:300]}); its operations "
            "are launched one by one in this process, which gives the same result and takes longer. Should memory run "
            "short later on, begin a new process",
            RuntimeWarning,
            stacklevel=2,
        )
        return step, state


def record_step(step: Callable[[StateT], StateT], state: StateT) -> tuple[Callable[[StateT], StateT], StateT]:
    """Record a step as a CUDA graph; return its replay, and the copy of the state that it reads and writes."""
    cuda, device = import_torch("cuda").cuda, state[0].device
    kept = type(state)(*(tensor.clone() for tensor in state))
    aside, graph = cuda.Stream(device), cuda.CUDAGraph()
    with _recording_lock:
        aside.wait_stream(cuda.current_stream(device))
        with cuda.stream(aside):
            step(kept)  # libraries set themselves up at their first call, which cannot be recorded
            cuda.synchronize(device)
            # Not by torch.cuda.graph, which before PyTorch 2.9 collects garbage first, for a tenth of a second.
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                step_in_place(step, kept)
            except BaseException:
                with suppress(RuntimeError):  # it says only that something failed before
                    graph.capture_end()
                raise
            graph.capture_end()
        cuda.current_stream(device).wait_stream(aside)

    def replay(_: StateT, reads: Any = step) -> StateT:  # the graph reads what the step refers to, and does not own it
        graph.replay()
        return kept

    return replay, kept


def step_in_place(step: Callable[[StateT], StateT], state: StateT) -> None:
    """Take a step and write its result over the state."""
    results = [after.clone() if any(after is each for each in state) else after for after in step(state)]
    for tensor, after in zip(state, results, strict=True):
        tensor.copy_(after)


TICKS_PER_LOOK = 10  # from one look to the next: nine in vain cost less than ten looks
_RUNNING, _CONVERGED, _STALLED = range(3)
_OUTCOMES = {_CONVERGED: Outcome.CONVERGED, _STALLED: Outcome.STALLED}
# Arrays of the size of the points: iterate, gradients, direction, what is in between, and each pair before and after;
# where a tick is recorded, what it begins with is there once more.
N_ARRAYS, N_ARRAYS_PER_PAIR = 20, 10


class DescentTensors(NamedTuple):
    """Everything that changes, on the device."""

    iterate: Tensor  # (n, p)
    gradient: Tensor  # (n, p)
    direction: Tensor  # (n, p)
    steps: Tensor  # (memory, n, p); of the pairs of curvature, oldest first; zeros where there is none
    changes: Tensor  # (memory, n, p); of the gradient, along these steps
    objective: Tensor  # (); at the iterate
    slope: Tensor  # (); along the direction
    length: Tensor  # (); of the step that is tried next
    recent: Tensor  # (WINDOW + 1,); the last objectives at this penalty, oldest first; infinite where there are none
    stage: Tensor  # (1,); the place on the path of penalties
    status: Tensor  # (); whether it goes on, and how it ended


@dataclass(frozen=True, eq=False)
class DeviceState:
    """What the driver sees: a descent on the device, and the host's last look at it."""

    descent: DescentTensors  # on CUDA the same tensors in all states: what they hold is that of the last
    path: Tensor  # the trace penalties from the first to the one asked for
    tick: Callable[[DescentTensors], DescentTensors]
    ticks: int
    progress: Progress
    outcome: Outcome | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class FactoredOnDevice(DescentSettings):
    """Settings of L-BFGS over points on a GPU, or another device of PyTorch. Experimental.

    An iteration is one evaluation, so that a shorter step counts as one, and the history has every tenth. The result is
    that of `Factored` but for rounding: additions on a GPU have no fixed order, so that two runs differ by as much.

    Parameters
    ----------
    device : str
        "cuda", "cuda:1" and so on, "mps" or "cpu".
    dtype : {"float32", "float64"}
        Of the points.
    tol, max_iter, memory, start, path, n_init, n_threads
        As for `Factored`. Comparisons cannot be held out: ``validation`` must be 0.
    """

    dtype: Literal["float64", "float32"] = "float32"
    device: str = "cuda"

    def copy(self, source: Source, n_columns: int) -> OnDevice:
        """Return comparisons on the device, for points of ``n_columns`` columns, or raise an error."""
        if available_device(self.device) != self.device:
            raise ValueError(f"FactoredOnDevice takes the name of one device, got {self.device!r}")
        there = OnDevice.copy_of(source, self.device, self.dtype)
        there.check_memory(n_columns, N_ARRAYS + N_ARRAYS_PER_PAIR * self.memory)
        return there

    def check(self, problem: FactoredProblem) -> None:
        super().check(problem)
        if self.validation:
            raise ValueError("validation judges every step on the host; leave it out, or device")
        if not isinstance(problem.source, OnDevice) or problem.movable is not None:
            raise ValueError("this solver works on comparisons on a device; take nearer.optimize.Factored() here")
        if self.device == "mps" and self.dtype == "float64":
            raise ValueError("device='mps' has no float64; leave dtype out")

    def init(self, problem: FactoredProblem, start: PointArray | None, rng: np.random.Generator) -> DeviceState:
        torch = import_torch(self.device)
        points, penalties = begin_descent(problem, self, start, rng)
        iterate = torch.tensor(points, device=self.device)
        path = torch.tensor(penalties, dtype=accumulation_dtype(self.device), device=self.device)
        value, gradient = objective_and_gradient(problem, iterate, path[0])
        pairs = iterate.new_zeros((self.memory, *iterate.shape))
        recent = torch.full((WINDOW_ITERATIONS + 1,), torch.inf, dtype=path.dtype, device=self.device)
        recent[-1] = value
        slope, length = torch.zeros_like(value), torch.ones_like(value)
        stage = torch.zeros(1, dtype=torch.long, device=self.device)
        status = torch.where(gradient.any(), _RUNNING, _CONVERGED)
        first = DescentTensors(iterate, gradient, gradient, pairs, pairs, value, slope, length, recent, stage, status)
        evaluate = partial(_tick, problem, path=path, tol=self.tol)
        tick, descent = record_if_possible(evaluate, _with_direction(first, status == _RUNNING))
        return _read_back(DeviceState(descent, path, tick, 0, Progress(-1, 0.0)))

    def step(self, problem: FactoredProblem, state: DeviceState) -> DeviceState:
        state = replace(state, descent=state.tick(state.descent), ticks=state.ticks + 1)
        return _read_back(state) if state.ticks % TICKS_PER_LOOK == 0 or state.ticks == self.max_iter else state

    def done(self, problem: FactoredProblem, state: DeviceState) -> Outcome | None:
        return state.outcome

    def value(self, state: DeviceState) -> FloatArray:
        return np.asarray(state.descent.iterate.cpu().numpy(), np.float64)


def for_device(solver: Any, device: str | None, *, in_memory: bool = True) -> Solver:
    """Return the counterpart of a solver on a device; the solver itself where no device is to be used."""
    able = isinstance(solver, DescentSettings) and not solver.validation and in_memory
    if device is None or (device == "auto" and not able):
        return solver
    if not isinstance(solver, DescentSettings):
        raise ValueError(
            f"device={device!r} is for L-BFGS over points, solver='factored'; {type(solver).__name__} runs on the CPU: "
            "leave device out"
        )
    found = available_device(device)
    if found is None:
        return solver
    if isinstance(solver, FactoredOnDevice):
        return replace(solver, device=found)
    settings: dict[str, Any] = {each.name: getattr(solver, each.name) for each in fields(solver)}
    return FactoredOnDevice(**settings | {"dtype": "float32", "device": found})


def _read_back(state: DeviceState) -> DeviceState:
    """Return the state with what the host sees now: the one place where it waits for the device."""
    descent = state.descent
    objective, status = import_torch("cpu").stack([descent.objective, descent.status.to(descent.objective)]).tolist()
    progress = Progress(state.ticks, objective)
    return replace(state, progress=progress, outcome=_OUTCOMES.get(int(status)))


def _tick(problem: FactoredProblem, now: DescentTensors, path: Tensor, tol: float) -> DescentTensors:
    """Return the descent after one evaluation: `Factored.step` and `Factored.done`, all branches at once."""
    torch = import_torch("cpu")
    where, zero = torch.where, problem.objective_at_zero
    running, last = now.status == _RUNNING, len(path) - 1
    step = now.length * now.direction
    iterate = now.iterate + step
    trial, gradient = objective_and_gradient(problem, iterate, path[now.stage][0])
    accepted = running & (trial <= now.objective + MIN_DECREASE * now.length * now.slope)

    # A shorter step: the minimum of the parabola through what is known, within reason; half where the trial overflowed.
    bend = 2 * (trial - now.objective - now.slope * now.length)
    parabola = where(torch.isfinite(trial), -now.slope * now.length**2 / bend, torch.inf)
    shorter = torch.maximum(torch.minimum(parabola, 0.5 * now.length), 0.1 * now.length)
    failed = running & ~accepted & (shorter < MIN_STEP)

    # An accepted one: with its pair, if that is curved upwards.
    change = gradient - now.gradient
    product, square = _dot(step, change), _dot(change, change)
    curved = accepted & (product > MIN_CURVATURE * square)
    # Before giving up, forget the curvature and try the plain gradient, then the next penalty.
    usable = _usable(now.steps, now.changes)[0]
    any_pair = usable.any()
    forget = failed & any_pair
    # A new pair takes the place of one that is of no use, if there is such a one, or else of the oldest.
    others = torch.arange(len(usable) - 1, device=usable.device)
    kept = others + (others >= usable.to(torch.int8).argmin())
    steps = where(forget, 0, where(curved, torch.cat([now.steps[kept], step[None]]), now.steps))
    changes = where(forget, 0, where(curved, torch.cat([now.changes[kept], change[None]]), now.changes))
    iterate, gradient = where(accepted, iterate, now.iterate), where(accepted, gradient, now.gradient)
    objective = where(accepted, trial, now.objective)
    recent = where(accepted, torch.cat([now.recent[1:], trial[None]]), now.recent)

    arrived = (now.stage == last)[0]
    over = accepted & (~gradient.any() | (arrived & _has_settled(recent, WINDOW_ITERATIONS, tol * zero)))
    stalled = failed & ~any_pair & arrived
    settled = accepted & _has_settled(recent, PATH_WINDOW_ITERATIONS, PATH_TOL * zero)
    further = ~over & ~arrived & (settled | (failed & ~any_pair))

    # The next penalty, at the same iterate: it falls by `drop`, which is 0 if there is no change.
    stage = now.stage + further
    drop = (path[now.stage] - path[stage])[0]
    objective = objective - drop * _dot(iterate, iterate)
    gradient, changes = gradient - 2 * drop * iterate, changes - 2 * drop * steps
    recent = where(further, torch.cat([torch.full_like(recent[1:], torch.inf), objective[None]]), recent)

    status = where(over, _CONVERGED, where(stalled, _STALLED, now.status))
    length = where(running & ~accepted, shorter, now.length)
    after = DescentTensors(
        iterate, gradient, now.direction, steps, changes, objective, now.slope, length, recent, stage, status
    )
    return _with_direction(after, (accepted | forget | further) & (status == _RUNNING))


def _has_settled(recent: Tensor, window: int, tol: float) -> Tensor:
    return recent[-window - 1] - recent[-1] <= window * tol


def _with_direction(descent: DescentTensors, again: Tensor) -> DescentTensors:
    """Return the descent with a new direction, -H g by the two-loop recursion, where it is to be found again."""
    torch = import_torch("cpu")
    where, gradient = torch.where, descent.gradient
    usable, products, squares = _usable(descent.steps, descent.changes)
    direction, scales, size = -gradient, [], torch.ones_like(descent.objective)
    for k in reversed(range(len(usable))):
        scale = where(usable[k], _dot(descent.steps[k], direction) / products[k], 0)
        direction = direction - scale * descent.changes[k]
        scales.append(scale)
    for k in range(len(usable)):  # the last that is usable counts
        size = where(usable[k], products[k] / squares[k], size)
    direction = size * direction
    for k, scale in enumerate(reversed(scales)):
        other = where(usable[k], _dot(descent.changes[k], direction) / products[k], 0)
        direction = direction + (scale - other) * descent.steps[k]

    # Without pairs, a tenth of the size of the map: far enough to learn the curvature, near enough to be safe.
    extent = _dot(descent.iterate, descent.iterate).sqrt()
    plain = 0.1 * where(extent > 0, extent, 1) / _dot(gradient, gradient).sqrt()
    direction = where(usable.any(), direction, -plain * gradient)
    return descent._replace(
        direction=where(again, direction, descent.direction),
        slope=where(again, _dot(direction, gradient), descent.slope),
        length=where(again, 1, descent.length),
    )


def _usable(steps: Tensor, changes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return which pairs are there and curved upwards, with s.y and y.y, (memory,) each."""
    products, squares = _dot(steps, changes, (1, 2)), _dot(changes, changes, (1, 2))
    return products > MIN_CURVATURE * squares, products, squares


def _dot(a: Tensor, b: Tensor, axes: tuple[int, ...] | None = None) -> Tensor:
    return (a * b).sum(dim=axes, dtype=accumulation_dtype(a.device.type))
