"""Bayesian maps: what is believed before and after the comparisons.

Data flows one way: answers -> model (answers and priors -> a density) -> settling, nuts or variational (a density ->
draws) -> maps (draws -> chances and dimensions), with diagnostics beside. `nearer.embedding.PosteriorEmbedding` is what
to use.
"""

from typing import TYPE_CHECKING

from nearer.common.loading import loaded_when_asked

if TYPE_CHECKING:
    from nearer.posterior.diagnostics import Diagnosis, diagnose
    from nearer.posterior.microcanonical import Microcanonical
    from nearer.posterior.model import Draws, Prior
    from nearer.posterior.nuts import NUTS
    from nearer.posterior.variational import Variational

__all__ = ["NUTS", "Diagnosis", "Draws", "Microcanonical", "Prior", "Variational", "diagnose"]
__getattr__ = loaded_when_asked(
    __name__,
    {
        "NUTS": "nuts", "Diagnosis": "diagnostics", "Draws": "model", "Microcanonical": "microcanonical",
        "Prior": "model", "Variational": "variational", "diagnose": "diagnostics",
    },
)  # fmt: skip
