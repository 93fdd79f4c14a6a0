"""Estimators: fit comparisons, get a map. All share one interface, that of scikit-learn."""

from nearer.embedding.best_of import BestOf
from nearer.embedding.dmoe import DMOE
from nearer.embedding.hinges import GNMDS, SOE
from nearer.embedding.likelihoods import CKL, STE, TSTE
from nearer.embedding.posterior import PosteriorEmbedding

__all__ = ["CKL", "DMOE", "GNMDS", "SOE", "STE", "TSTE", "BestOf", "PosteriorEmbedding"]
