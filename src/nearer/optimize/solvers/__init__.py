"""Algorithms for the problem of `nearer.optimize.problems.gram`: one a file, one driver loop, one kind of solution."""

from nearer.optimize.solvers.admm import ADMM as ADMM
from nearer.optimize.solvers.admm import Paper as Paper
from nearer.optimize.solvers.descent import Factored as Factored
from nearer.optimize.solvers.device_lbfgs import FactoredOnDevice as FactoredOnDevice
from nearer.optimize.solvers.driver import Outcome as Outcome
from nearer.optimize.solvers.driver import Progress as Progress
from nearer.optimize.solvers.driver import Restarts as Restarts
from nearer.optimize.solvers.driver import Solution as Solution
from nearer.optimize.solvers.driver import Solver as Solver
from nearer.optimize.solvers.driver import solve as solve
from nearer.optimize.solvers.gram import ClosedForm as ClosedForm
from nearer.optimize.solvers.gram import Projected as Projected
from nearer.optimize.solvers.gram import nearest_psd as nearest_psd
from nearer.optimize.solvers.shrinkage import Shrinkage as Shrinkage
from nearer.optimize.solvers.svrg import SVRG as SVRG
