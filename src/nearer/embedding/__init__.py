"""Estimators: fit comparisons, get a map. All share one interface, that of scikit-learn."""

from nearer.embedding.best_of import BestOf
from nearer.embedding.classical import CKL, FORTE, GNMDS, STE, TSTE
from nearer.embedding.dmoe import DMOE
from nearer.embedding.graphs import LOE, SOE, SPE
from nearer.embedding.lore import LORE
from nearer.embedding.mlds import MLDS
from nearer.embedding.mvte import MVTE
from nearer.embedding.nonmetric_mds import NonmetricMDS
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.embedding.spose import SPoSE

__all__ = [
    "CKL",
    "DMOE",
    "FORTE",
    "GNMDS",
    "LOE",
    "LORE",
    "MLDS",
    "MVTE",
    "SOE",
    "SPE",
    "STE",
    "TSTE",
    "BestOf",
    "NonmetricMDS",
    "PosteriorEmbedding",
    "SPoSE",
]
