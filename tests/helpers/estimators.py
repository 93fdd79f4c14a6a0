"""The estimators that the contract holds for; a new one joins this list and nothing else."""

from sklearn.base import clone

from nearer import Penalty
from nearer.embedding import (
    CKL,
    DMOE,
    FORTE,
    GNMDS,
    LOE,
    LORE,
    MVTE,
    SOE,
    SPE,
    STE,
    TSTE,
    BestOf,
    NonmetricMDS,
    PosteriorEmbedding,
    SPoSE,
)
from nearer.optimize import Factored
from nearer.sampling import NUTS, Microcanonical, Variational

ESTIMATORS = {
    "DMOE": DMOE(),
    "DMOE-fixed": DMOE(penalty=Penalty()),
    "DMOE-rank": DMOE(penalty=Penalty(0.05, 0.0), nu=0.0, power=12, rank=3),
    "DMOE-specificity": DMOE(penalty=Penalty(specificity=20)),
    "DMOE-diagonal": DMOE(penalty=Penalty(diagonal=0.5)),
    "DMOE-hinge": DMOE(power=1, nu=0.2),
    "DMOE-fixed-hinge": DMOE(penalty=Penalty(), power=1, nu=0.2),
    "DMOE-paper": DMOE(solver="paper"),
    "DMOE-closed": DMOE(solver="closed"),
    "DMOE-admm": DMOE(solver="admm"),
    "DMOE-factored": DMOE(solver="factored", nu=0.2),
    "DMOE-fixed-factored": DMOE(solver="factored", nu=0.2, penalty=Penalty(0.01, ridge=0.0)),
    "GNMDS": GNMDS(),
    "GNMDS-steep": GNMDS(power=3.5),
    "GNMDS-projected": GNMDS(trace=0.05, solver="projected"),
    "GNMDS-projected-hinge": GNMDS(trace=0.05, power=1, solver="projected"),
    "SOE": SOE(),
    "LOE": LOE(),
    "LORE": LORE(2),
    "FORTE": FORTE(trace=0.05),
    "SPE": SPE(tol=0.01),
    "STE": STE(),
    "STE-projected": STE(trace=0.05, solver="projected"),
    "TSTE": TSTE(trace=0.01),
    "TSTE-projected": TSTE(trace=0.05, solver="projected"),
    "CKL": CKL(),
    # The number of views is found in test_mvte.
    "MVTE": MVTE(n_views=2, alpha=3.0, n_init=2),
    "MVTE-single": MVTE(n_views=1),
    "NonmetricMDS": NonmetricMDS(n_init=2),
    "BestOf": BestOf(methods=[CKL(), GNMDS(), SOE(trace=0.01)], n_splits=3),
    "SPoSE": SPoSE(penalty=0.5, n_starts=2, n_splits=0),
    # Far too few draws to trust, and enough to check what must hold of any number.
    "Posterior": PosteriorEmbedding(2, solver=NUTS(2, n_warmup=40, n_draws=20, thin=2), random_state=0),
    "Posterior-microcanonical": PosteriorEmbedding(
        2, solver=Microcanonical(2, n_warmup=200, n_steps=600, thin=10, n_starts=2, n_climb=20), random_state=0
    ),
    "Posterior-variational": PosteriorEmbedding(2, solver=Variational(400, 20), random_state=0),
}
# For what does not depend on how long a fit takes. One start is one descent, where by default there are several.
ONE_START = Factored(n_init=1)
FEW_DRAWS = {"solver": Microcanonical(2, n_warmup=100, n_steps=40, thin=5, n_starts=1, n_climb=10)}
QUICKER = {
    "Posterior": FEW_DRAWS,
    "Posterior-microcanonical": FEW_DRAWS,
    "Posterior-variational": {"solver": Variational(100, 20)},
    "BestOf": {"methods": [CKL(solver=ONE_START), SOE(trace=0.01, solver=ONE_START)], "n_splits": 2},
    "MVTE": {"n_init": 1},
    "MVTE-single": {"n_init": 1},
}


def quicker(name):
    """Return an estimator of the list with settings that take less time."""
    return clone(ESTIMATORS[name]).set_params(**QUICKER.get(name, {}))
