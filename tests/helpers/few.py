"""Whole runs with few fits, for tests of what a run does with its parts: ellipses and curves need not be right."""

from nearer.evaluation import resampling
from nearer.evaluation.bootstrap import bootstrap
from nearer.evaluation.learning_curve import learning_curve
from nearer.solvers import restarts


def one_start(patch):
    """Have every map found from one start, by a patch as of pytest: enough where a fold in it would not matter."""
    patch.setattr(restarts, "several_by_default", lambda *_: False)


def few_repeats(patch):
    """Have few fits made for a bootstrap and a learning curve, of one start each."""
    one_start(patch)
    patch.setattr(resampling, "N_STEPS", 2)  # of 8
    patch.setitem(bootstrap.__kwdefaults__, "n_simulations", 5)  # of 60
    patch.setitem(learning_curve.__kwdefaults__, "n_repeats", 2)  # of 5
