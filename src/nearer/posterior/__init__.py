"""Bayesian maps: what is believed before and after the comparisons.

Data flows one way: model (comparisons and priors -> a density) -> nuts or variational (a density -> draws) -> maps
(draws -> chances and dimensions), with diagnostics beside. `nearer.embedding.PosteriorEmbedding` is what to use.
"""

from nearer.posterior.diagnostics import Diagnosis, diagnose
from nearer.posterior.model import Draws, Prior
from nearer.posterior.nuts import NUTS
from nearer.posterior.variational import Variational

__all__ = ["NUTS", "Diagnosis", "Draws", "Prior", "Variational", "diagnose"]
