"""MVTE: the estimator, the search for its views, and the choice of their number."""

from nearer.embedding.mvte.estimator import MVTE

__all__ = ["MVTE"]
