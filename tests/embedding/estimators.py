"""The estimators that the contract holds for; a new one joins this list and nothing else."""

from nearer import Penalty
from nearer.embedding import DMOE, GNMDS, STE, TSTE

ESTIMATORS = {
    "DMOE": DMOE(),
    "DMOE-specificity": DMOE(penalty=Penalty(specificity=20)),
    "DMOE-diagonal": DMOE(penalty=Penalty(diagonal=0.5)),
    "DMOE-hinge": DMOE(power=1, nu=0.2),
    "DMOE-paper": DMOE(solver="paper"),
    "DMOE-closed": DMOE(solver="closed"),
    "GNMDS": GNMDS(trace=0.05),
    "GNMDS-hinge": GNMDS(trace=0.05, power=1),
    "STE": STE(trace=0.05),
    "TSTE": TSTE(trace=0.05),
}
