"""Compiled loops over comparisons; nothing else imports numba.

The comparisons are cut into blocks, each with a gradient of its own, and the blocks are added up in order. How many
there are depends on the problem and not on the machine, so that any number of threads gives the same numbers to the
last bit. A pool of plain threads runs them: numba's parallel loops take four times as long to compile and do not
survive a fork. Importing this package takes numba's 0.4 seconds: callers import it inside functions.
"""

from nearer.data.rows import Rows as Rows
from nearer.optimize.kernels.compiling import default_threads as default_threads
from nearer.optimize.kernels.gram import normal_cg as normal_cg
from nearer.optimize.kernels.gram import normal_product as normal_product
from nearer.optimize.kernels.points import add_gradient as add_gradient
from nearer.optimize.kernels.points import evaluate as evaluate
from nearer.optimize.kernels.points import evaluate_stream as evaluate_stream
from nearer.optimize.kernels.points import object_weights as object_weights
from nearer.optimize.kernels.points import squared_distances as squared_distances
from nearer.optimize.kernels.points import union as union
