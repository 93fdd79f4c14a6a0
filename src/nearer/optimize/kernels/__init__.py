"""Compiled loops over comparisons; nothing else imports numba.

The comparisons are cut into blocks, each with a gradient of its own, and the blocks are added up in order. How many
there are depends on the problem and not on the machine, so that any number of threads gives the same numbers to the
last bit. A pool of plain threads runs them: numba's parallel loops take four times as long to compile and do not
survive a fork. Importing this package takes numba's 0.4 seconds: callers import it inside functions.
"""

from nearer.data.rows import Rows
from nearer.optimize.kernels.compiling import default_threads
from nearer.optimize.kernels.gram import normal_cg
from nearer.optimize.kernels.points import (
    add_gradient,
    evaluate,
    evaluate_stream,
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
    "normal_cg",
    "object_weights",
    "squared_distances",
    "union",
]
