"""What numba has no words for: adding to several columns of several rows of one gradient at once.

A triplet moves three rows of the gradient. The compiler must assume that two of them may be one, so it adds number by
number: that was half the time of a loop over comparisons. Here the order is written down instead, one row after the
other and a few columns at a time. It is right for any rows, the same or not, and vector instructions do it.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from nearer.kernels.compiling import part


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
