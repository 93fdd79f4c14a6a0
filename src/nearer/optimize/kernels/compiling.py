"""How loops are compiled, cut into blocks and handed to threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numba
from numba.core import event

from nearer._common.progress import progress_bar

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "NUMBA_DISABLE_JIT is set in the environment, and these loops run only when they are compiled; unset it before "
        "Python starts"
    )

# Sums may be reordered (which lets them use vector instructions), but NaN and infinity keep their meaning.
_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}
_MOST_BLOCKS = 8
FEWEST_ROWS = 8192  # a smaller block costs more to hand to a thread than to do
pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=pools.clear)  # threads do not follow into a forked process
_SETTINGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at first use, kept on disk for the next process where there is a folder to keep it in."""
    return _compile(function, fastmath=_FASTMATH)


def in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile without reordering sums.

    A compiled loop over several arrays may be there twice, with vector instructions and without, and which one runs
    depends on where the arrays happen to lie in memory. With sums in order both give the same bits.
    """
    return _compile(function)


def _compile(function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    try:
        compiled: Any = numba.njit(cache=True, **settings, **_SETTINGS)(function)
    except RuntimeError:  # numba found no folder that it may write to
        compiled = numba.njit(**settings, **_SETTINGS)(function)
    else:
        _forgive_damage(compiled._cache)  # numba has no public way to it
    return compiled  # type: ignore[no-any-return]


class _CompilationBar(event.Listener):
    """Shows on a terminal that a loop of this package is being compiled, which happens at its first use only."""

    def __init__(self) -> None:
        self._thread: int | None = None  # the one whose compilation is shown
        self._depth = 0
        self._bar: Any = None

    def on_start(self, event: Any) -> None:
        if self._thread is None and event.data["dispatcher"].py_func.__module__.startswith("nearer."):
            self._thread = threading.get_ident()
            self._bar = progress_bar("compiling loops, at first use only", bar_format="{desc}: {elapsed}")
        if self._thread == threading.get_ident():
            self._depth += 1

    def on_end(self, event: Any) -> None:
        if self._thread == threading.get_ident():
            self._depth -= 1
            if self._depth == 0:
                self._bar.close()
                self._thread = None


event.register("numba:compile", _CompilationBar())


def _forgive_damage(cache: Any) -> None:
    """Compile anew where a file of the cache is damaged, and go on where one cannot be written; numba raises."""
    load, save = cache.load_overload, cache.save_overload

    def load_overload(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception:
            cache.flush()
            return None

    def save_overload(signature: Any, data: Any) -> None:
        with suppress(OSError):
            save(signature, data)

    cache.load_overload, cache.save_overload = load_overload, save_overload


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a piece into the loops that call it: as a call it would take half as long again.

    LLVM does it, with what was compiled once for all callers; numba's own ``inline`` compiles it anew in each of them.
    """
    compiled: Callable[..., Any] = numba.njit(forceinline=True, fastmath=_FASTMATH, **_SETTINGS)(function)
    return compiled


def part_in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a piece into loops whose sums stay in order: its own must, too."""
    compiled: Callable[..., Any] = numba.njit(forceinline=True, **_SETTINGS)(function)
    return compiled


def default_threads() -> int:
    """Return how many threads the loops use: what NUMBA_NUM_THREADS says, or the number of cores.

    Pools of processes, such as joblib's, set that variable for their workers.
    """
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def blocks(n_rows: int, n_objects: int) -> list[int]:
    """Return the bounds of the blocks: 1, 2, 4 or 8 of them, each with at least four times as many rows as objects.

    With fewer rows, adding up the gradients of the blocks would take as long as making them; another number of blocks
    would leave some of two or four threads waiting for the last one.
    """
    possible = n_rows // max(FEWEST_ROWS, 4 * n_objects)
    count = next(number for number in (_MOST_BLOCKS, 4, 2, 1) if number <= max(possible, 1))
    return [n_rows * number // count for number in range(count + 1)]


def run(block: Callable[[int], Any], count: int, n_threads: int | None) -> list[Any]:
    """Return what ``block`` returns for 0 .. count - 1, done by so many threads."""
    threads = min(count, n_threads or default_threads())
    if threads == 1:
        return [block(number) for number in range(count)]
    if threads not in pools:
        pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="nearer")
    return list(pools[threads].map(block, range(count)))
