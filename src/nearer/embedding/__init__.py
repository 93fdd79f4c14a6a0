"""Estimators: fit comparisons, get a map. All share one interface, that of scikit-learn."""

from nearer.embedding.best_of import BestOf
from nearer.embedding.dmoe import DMOE
from nearer.embedding.hinges import GNMDS, SOE
from nearer.embedding.likelihoods import CKL, STE, TSTE
from nearer.embedding.loe import LOE
from nearer.embedding.mvte import MVTE
from nearer.embedding.nonmetric import NonmetricMDS
from nearer.embedding.posterior import PosteriorEmbedding
from nearer.embedding.spe import SPE

__all__ = [
    "CKL",
    "DMOE",
    "GNMDS",
    "LOE",
    "MVTE",
    "SOE",
    "SPE",
    "STE",
    "TSTE",
    "BestOf",
    "NonmetricMDS",
    "PosteriorEmbedding",
]
