"""What numba has no words for: adding to several columns of rows of a gradient at once, and asking for rows in advance.

A triplet moves three rows of the gradient. The compiler must assume that two of them may be one, so it adds number by
number: that was half the time of a loop over comparisons. Here the order is written down instead, one row after the
other and a few columns at a time. It is right for any rows, the same or not, and vector instructions do it.

The rows of a map that is larger than the cache come from memory, which takes as long as a hundred multiplications. A
processor looks ahead no further than a few comparisons, and so it waits for each of them; asked for the rows of many at
once, it fetches them side by side.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from nearer.optimize.kernels.compiling import part

_LINE = 64  # bytes


def _pushing(width, shared):
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


_push_four, _push_two, _push_one = (_pushing(width, shared=False) for width in (4, 2, 1))
_push_four_shared, _push_two_shared, _push_one_shared = (_pushing(width, shared=True) for width in (4, 2, 1))


@part
def push(points, gradient, i, j, l, k, near, far):  # noqa: E741
    """Add the gradient of near * d2(i, j) + far * d2(l, k)."""
    near = points.dtype.type(2 * near)
    far = points.dtype.type(2 * far)
    p = np.uint64(points.shape[1])
    c = np.uint64(0)
    if i == l:
        while c + np.uint64(4) <= p:
            _push_four_shared(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(4)
        if c + np.uint64(2) <= p:
            _push_two_shared(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(2)
        if c < p:
            _push_one_shared(points, gradient, i, j, l, k, c, near, far)
    else:
        while c + np.uint64(4) <= p:
            _push_four(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(4)
        if c + np.uint64(2) <= p:
            _push_two(points, gradient, i, j, l, k, c, near, far)
            c += np.uint64(2)
        if c < p:
            _push_one(points, gradient, i, j, l, k, c, near, far)


def _asking(to_write):
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


def _by_row(ask_for_line):
    """Return a piece that begins to fetch one row of an array, (n, p)."""

    @part
    def ask_for_row(array, row):
        column, last = np.uint64(0), np.uint64(array.shape[1] - 1)
        while column < last:
            ask_for_line(array, row, column)
            column += np.uint64(_LINE // array.itemsize)
        ask_for_line(array, row, last)  # a row seldom begins where a line does, and so it ends in one more

    return ask_for_row


ask_for_points, ask_for_gradient = (_by_row(_asking(to_write)) for to_write in (0, 1))
