"""The estimators that the contract holds for; a new one joins this list and nothing else."""

from nearer.embedding import DMOE, GNMDS, STE, TSTE

ESTIMATORS = {
    "DMOE": DMOE(),
    "DMOE-specificity": DMOE(specificity=0.05),
    "DMOE-hinge": DMOE(power=1, nu=0.2),
    "DMOE-paper": DMOE(solver="paper"),
    "DMOE-closed": DMOE(solver="closed"),
    "GNMDS": GNMDS(trace=0.01),
    "GNMDS-hinge": GNMDS(trace=0.01, power=1),
    "STE": STE(trace=0.003),
    "TSTE": TSTE(trace=0.003),
}
