"""Whole runs with few fits, for tests of what a run does with its parts: ellipses and curves need not be right."""

from nearer.checking import random_responders
from nearer.evaluation import uncertainty
from nearer.evaluation.curves import learning_curve
from nearer.evaluation.uncertainty import bootstrap
from nearer.optimize.solvers import descent
from nearer.sampling import Microcanonical


def one_start(patch):
    """Have every map found from one start, by a patch as of pytest: enough where a fold in it would not matter."""
    patch.setattr(descent, "has_default_restarts", lambda *_: False)


def few_draws(patch):
    """Have posteriors drawn far too few times to trust."""
    few = Microcanonical(2, n_warmup=100, n_steps=200, thin=10, n_starts=2, n_climb=20)
    patch.setattr(Microcanonical, "for_work", lambda work: few)
    patch.setattr(Microcanonical, "for_cross_validation", lambda work=0: few)


def few_folds(patch):
    """Have people judged by maps of few folds, which takes most of the time of `check`."""
    patch.setattr(random_responders, "_N_FOLDS", 3)  # of 10


def few_repeats(patch):
    """Have few fits made for a bootstrap, a learning curve and the findings, of one start each, and few draws."""
    one_start(patch)
    few_draws(patch)
    few_folds(patch)
    patch.setattr(uncertainty, "N_STEPS", 2)  # of 8
    patch.setitem(bootstrap.__kwdefaults__, "n_simulations", 5)  # of 60
    patch.setitem(learning_curve.__kwdefaults__, "n_repeats", 2)  # of 5
