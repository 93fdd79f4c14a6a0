"""Estimators: fit comparisons, get a map. All share one interface, that of scikit-learn."""

from nearer.embedding.classical import GNMDS, STE, TSTE
from nearer.embedding.dmoe import DMOE

__all__ = ["DMOE", "GNMDS", "STE", "TSTE"]
