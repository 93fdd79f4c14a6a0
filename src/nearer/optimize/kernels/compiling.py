"""How loops are compiled, cut into blocks and handed to threads, and two instructions that numba lacks.

A triplet moves three rows of the gradient. The compiler must assume that two of them may be one, so it adds number by
number: that was half the time of a loop over comparisons. `push` writes the order down, a few columns at a time, and
vector instructions do it. The rows of a map that is larger than the cache come from memory, and a processor looks ahead
no further than a few comparisons; asked for the rows of many at once, it fetches them together.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, event
from numba.core.errors import TypingError
from numba.extending import intrinsic

from nearer._common.progress import progress_bar

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError(
        "NUMBA_DISABLE_JIT is set in the environment, and these loops run only when they are compiled; unset it before "
        "Python starts"
    )

# Sums may be reordered (which lets them use vector instructions), but NaN and infinity keep their meaning.
_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}
MAX_BLOCKS = 8
MIN_BLOCK_ROWS = 8192  # a smaller block costs more to hand to a thread than to do
thread_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=thread_pools.clear)  # threads do not follow into a forked process
cache_folders: set[str] = set()  # in which compiled loops are kept
_SETTINGS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _compile(function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """Compile at first use, cached on disk where a folder is writable."""
    try:
        compiled: Any = numba.njit(cache=True, **settings, **_SETTINGS)(function)
    except RuntimeError:  # numba found no folder that it may write to
        return numba.njit(**settings, **_SETTINGS)(function)
    cache_folders.add(compiled._cache.cache_path)  # numba has no public way to it
    _tolerate_damage(compiled._cache)
    return compiled


# A compiled loop over several arrays may be there twice, with vector instructions and without, and which one runs
# depends on where the arrays happen to lie in memory. With sums in order both give the same bits.
loop, loop_in_order = partial(_compile, fastmath=_FASTMATH), _compile
# Inlined by LLVM into the loops that call them: calls would take half as long again, and numba's ``inline`` recompiles.
inlined = numba.njit(forceinline=True, fastmath=_FASTMATH, **_SETTINGS)
inlined_in_order = numba.njit(forceinline=True, **_SETTINGS)


class _CompilationBar(event.Listener):
    """A bar on terminals while a loop of this package is compiled, which happens at its first use only."""

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


def _tolerate_damage(cache: Any) -> None:
    """Recompile where a cache file is damaged, and continue where none can be written; numba raises."""
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


def default_threads() -> int:
    """Return the number of threads of the loops: NUMBA_NUM_THREADS, which pools of processes set, or that of cores."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def block_bounds(n_rows: int, n_objects: int) -> list[int]:
    """Return the bounds of the blocks: 1, 2, 4 or 8 of them, each with at least four times as many rows as objects."""
    # With fewer rows, adding up the gradients of the blocks would take as long as making them; another number of blocks
    # would leave some of two or four threads waiting for the last one.
    possible = n_rows // max(MIN_BLOCK_ROWS, 4 * n_objects)
    count = next(number for number in (MAX_BLOCKS, 4, 2, 1) if number <= max(possible, 1))
    return [n_rows * number // count for number in range(count + 1)]


def run_blocks(block: Callable[[int], Any], count: int, n_threads: int | None) -> list[Any]:
    """Return ``block(number)`` for 0 .. count - 1, computed by ``n_threads`` threads."""
    threads = min(count, n_threads or default_threads())
    if threads == 1:
        return [block(number) for number in range(count)]
    if threads not in thread_pools:
        thread_pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="nearer")
    return list(thread_pools[threads].map(block, range(count)))


CACHE_LINE_BYTES = 64


def _push_instruction(width, shared):
    """Return an instruction for ``width`` columns; if ``shared``, the pairs have one first object, and i is l."""

    @intrinsic
    def push_columns(context, points, gradient, i, j, l, k, column, near, far):  # noqa: E741
        if points.layout != "C" or gradient.layout != "C":
            raise TypingError("points and gradients must be in C order, rows one after another without a gap")

        def build(context, builder, signature, arguments):
            vector = ir.VectorType(context.get_value_type(points.dtype), width)
            size = points.dtype.bitwidth // 8
            of_points, of_gradient = (
                context.make_array(kind)(context, builder, value)
                for kind, value in zip((points, gradient), arguments, strict=False)
            )
            first, second, third, fourth, column, near, far = arguments[2:]

            def place(array, row):
                columns = cgutils.unpack_tuple(builder, array.shape)[1]
                start = builder.gep(array.data, [builder.add(builder.mul(row, columns), column)])
                return builder.bitcast(start, vector.as_pointer())

            def repeated(value):
                once = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
                return builder.shuffle_vector(once, once, ir.Constant(ir.VectorType(ir.IntType(32), width), None))

            def difference(slope, row, other):
                x, y = (builder.load(place(of_points, each), align=size) for each in (row, other))
                return builder.fmul(repeated(slope), builder.fsub(x, y))

            pulled, pushed = difference(near, first, second), difference(far, third, fourth)
            if shared:
                steps = [(first, builder.fadd, builder.fadd(pulled, pushed))]
            else:
                steps = [(first, builder.fadd, pulled), (third, builder.fadd, pushed)]
            for row, apply, step in [*steps, (second, builder.fsub, pulled), (fourth, builder.fsub, pushed)]:
                target = place(of_gradient, row)
                builder.store(apply(builder.load(target, align=size), step), target, align=size)
            return context.get_dummy_value()

        return types.void(points, gradient, i, j, l, k, column, near, far), build

    return push_columns


def _push_columns(shared):
    """Return a function that adds to all columns, four and two at a time as long as there are as many."""
    push_four, push_two, push_one = (_push_instruction(width, shared) for width in (4, 2, 1))

    @inlined
    def push_columns(points, gradient, i, j, l, k, near, far):  # noqa: E741
        p = np.uint64(points.shape[1])
        c = np.uint64(0)
        while c + np.uint64(4) <= p:
            push_four(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(4)
        if c + np.uint64(2) <= p:
            push_two(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(2)
        if c < p:
            push_one(points, gradient, i, j, l, k, c, near, far)

    return push_columns


_push_apart, _push_shared = _push_columns(shared=False), _push_columns(shared=True)


@inlined
def push(points, gradient, i, j, l, k, near, far):  # noqa: E741
    """Add the gradient of near * d2(i, j) + far * d2(l, k)."""
    near = points.dtype.type(2 * near)
    far = points.dtype.type(2 * far)
    if i == l:
        _push_shared(points, gradient, i, j, l, k, near, far)
    else:
        _push_apart(points, gradient, i, j, l, k, near, far)


def _prefetch_instruction(to_write):
    """Return an instruction that begins to fetch the line of the cache where a number of an array in C order lies."""

    @intrinsic
    def ask_for_line(context, array, row, column):
        def build(context, builder, signature, arguments):
            found, (_, row, column) = context.make_array(array)(context, builder, arguments[0]), arguments
            columns = cgutils.unpack_tuple(builder, found.shape)[1]
            place = builder.gep(found.data, [builder.add(builder.mul(row, columns), column)])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            into_all_caches, of_data = number(3), number(1)
            builder.call(function, [builder.bitcast(place, byte), number(to_write), into_all_caches, of_data])
            return context.get_dummy_value()

        return types.void(array, row, column), build

    return ask_for_line


def _prefetch_row(ask_for_line):
    """Return a function that begins to fetch one row of an array, (n, p)."""

    @inlined
    def ask_for_row(array, row):
        column, last = np.uint64(0), np.uint64(array.shape[1] - 1)
        while column < last:
            ask_for_line(array, row, column)
            column += np.uint64(CACHE_LINE_BYTES // array.itemsize)
        ask_for_line(array, row, last)  # a row seldom begins where a line does, and so it ends in one more

    return ask_for_row


prefetch_points, prefetch_gradient = (_prefetch_row(_prefetch_instruction(to_write)) for to_write in (0, 1))
