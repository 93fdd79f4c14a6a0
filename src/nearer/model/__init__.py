"""How people answer, and what a comparison costs: the answer model, and losses of margins and of pairs of distances."""

from nearer.model.answers import AnswerModel
from nearer.model.losses import (
    Compiled,
    CrowdKernel,
    DistanceHinge,
    Evaluation,
    Family,
    Hinge,
    Logistic,
    LogRatio,
    Loss,
    MarginLoss,
    MeanVariance,
    ProximableLoss,
    SoftHinge,
    StudentT,
    TwoSidedHinge,
)

__all__ = [
    "AnswerModel",
    "Compiled",
    "CrowdKernel",
    "DistanceHinge",
    "Evaluation",
    "Family",
    "Hinge",
    "LogRatio",
    "Logistic",
    "Loss",
    "MarginLoss",
    "MeanVariance",
    "ProximableLoss",
    "SoftHinge",
    "StudentT",
    "TwoSidedHinge",
]
