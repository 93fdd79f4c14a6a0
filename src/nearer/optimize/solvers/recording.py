"""A step that a GPU repeats by itself.

A tick of a descent is some two hundred small operations. Handed to CUDA one by one they take a millisecond or two,
however few numbers there are; recorded once, as a graph, all of them are one launch. A recorded step reads and writes
the same tensors each time, so that the state before it is gone after it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from nearer._common.devices import torch_or_advice

StateT = TypeVar("StateT", bound=tuple[Any, ...])  # a NamedTuple of tensors

_one_at_a_time = threading.Lock()
_failed = threading.Event()


def repeatable(step: Callable[[StateT], StateT], state: StateT) -> tuple[Callable[[StateT], StateT], StateT]:
    """Return a step and the state to begin with: on CUDA recorded and in place, elsewhere as they are.

    Parameters
    ----------
    step : callable
        Returns the state after one step; it reads no tensor on the host.
    state : NamedTuple of tensors
    """
    if state[0].device.type != "cuda" or _failed.is_set():
        return step, state
    try:
        return recorded(step, state)
    except RuntimeError as error:  # of the driver, and of operations that cannot be recorded
        _failed.set()  # PyTorch may not recover from it so far that another attempt could succeed
        reason = str(error).strip().partition("\n")[0]
        warnings.warn(
            f"a step of the descent could not be recorded on {str(state[0].device)!r} ({reason[:300]}); its operations "
            "are launched one by one in this process, which gives the same result and takes longer. Should memory run "
            "short later on, begin a new process",
            RuntimeWarning,
            stacklevel=2,
        )
        return step, state


def recorded(step: Callable[[StateT], StateT], state: StateT) -> tuple[Callable[[StateT], StateT], StateT]:
    """Record a step as a CUDA graph; the state that it begins with is a copy, and stays the place of all later ones."""
    cuda, device = torch_or_advice("cuda").cuda, state[0].device
    kept = type(state)(*(tensor.clone() for tensor in state))
    aside, graph = cuda.Stream(device), cuda.CUDAGraph()
    with _one_at_a_time:
        aside.wait_stream(cuda.current_stream(device))
        with cuda.stream(aside):
            step(kept)  # libraries set themselves up at their first call, which cannot be recorded
            cuda.synchronize(device)
            # Not by torch.cuda.graph, which before PyTorch 2.9 collects garbage first, for a tenth of a second.
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                in_place(step, kept)
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


def in_place(step: Callable[[StateT], StateT], state: StateT) -> None:
    """Do a step and write what comes of it over the state."""
    results = [after.clone() if any(after is each for each in state) else after for after in step(state)]
    for tensor, after in zip(state, results, strict=True):
        tensor.copy_(after)
