"""Algorithms for the problem of `nearer.optimize.problems.gram`: one a file, one driver loop, one kind of solution."""

from nearer.geometry import double_center, embedding_from_gram
from nearer.optimize.solvers.admm import ADMM, Paper
from nearer.optimize.solvers.descent import Factored
from nearer.optimize.solvers.device_lbfgs import FactoredOnDevice
from nearer.optimize.solvers.driver import Outcome, Progress, Restarts, Solution, Solver, solve
from nearer.optimize.solvers.gram import ClosedForm, Projected, nearest_psd
from nearer.optimize.solvers.shrinkage import Shrinkage
from nearer.optimize.solvers.svrg import SVRG

__all__ = [
    "ADMM",
    "SVRG",
    "ClosedForm",
    "Factored",
    "FactoredOnDevice",
    "Outcome",
    "Paper",
    "Progress",
    "Projected",
    "Restarts",
    "Shrinkage",
    "Solution",
    "Solver",
    "double_center",
    "embedding_from_gram",
    "nearest_psd",
    "solve",
]
