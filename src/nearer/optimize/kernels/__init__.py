"""Compiled loops over comparisons; nothing else imports numba.

They take triplets and quadruplets, answers, weights and 32 and 64 bit indices, and hold nothing of size n^2 that they
are not given. The comparisons are cut into blocks, each with a gradient of its own, and the blocks are added up in
order. How many there are depends on the problem and not on the machine, so that any number of threads gives the same
numbers to the last bit. The loops release the interpreter's lock; a pool of plain threads runs them. Numba's parallel
loops would take four times as long to compile and do not survive a fork.

Importing this package takes numba's 0.4 seconds: callers import it inside functions.
"""

from nearer.data.rows import Rows
from nearer.optimize.kernels.compiling import default_threads
from nearer.optimize.kernels.gram import normal_cg
from nearer.optimize.kernels.points import (
    add_gradient,
    evaluate,
    evaluate_stream,
    laplacian_product,
    object_weights,
    squared_distances,
    union,
)

__all__ = [
    "Rows",
    "add_gradient",
    "default_threads",
    "evaluate",
    "evaluate_stream",
    "laplacian_product",
    "normal_cg",
    "object_weights",
    "squared_distances",
    "union",
]
