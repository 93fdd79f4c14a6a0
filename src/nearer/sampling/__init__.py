"""Samplers of the posterior of maps, their prior, and diagnostics of their draws.

Data flows one way: model (comparisons and a prior make a density) -> microcanonical, nuts, variational or laplace (a
density becomes draws) -> summaries (draws become predictions, a map and its dimensions).
`nearer.embedding.PosteriorEmbedding` is the estimator.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
