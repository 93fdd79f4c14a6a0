"""DMOE: the estimator, its search for settings, and the candidates and paths of that search."""

from nearer.embedding.dmoe.estimator import DMOE

__all__ = ["DMOE"]
