"""Bayesian maps: what is believed before and after the comparisons.

Data flows one way: answers -> model (answers and priors -> a density) -> settling, nuts or variational (a density ->
draws) -> maps (draws -> chances and dimensions), with diagnostics beside. `nearer.embedding.PosteriorEmbedding` is what
to use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
