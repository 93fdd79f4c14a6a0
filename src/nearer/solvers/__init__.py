"""Algorithms for the problem of `nearer.problems.gram`: one a file, one driver loop, one kind of solution."""

from nearer.geometry import centred, embedding_from_gram
from nearer.solvers.admm import ADMM
from nearer.solvers.closed_form import ClosedForm
from nearer.solvers.convex_steps import nearest_psd
from nearer.solvers.device_lbfgs import FactoredOnDevice
from nearer.solvers.driver import Outcome, Progress, Restarts, Solution, Solver, solve
from nearer.solvers.lbfgs import Factored
from nearer.solvers.paper import Paper
from nearer.solvers.projected import Projected
from nearer.solvers.shrinkage import Shrinkage
from nearer.solvers.svrg import SVRG

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
    "centred",
    "embedding_from_gram",
    "nearest_psd",
    "solve",
]
