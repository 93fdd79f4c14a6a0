"""Losses of a comparison: what a margin, or a pair of distances, costs, and which chance of an answer it stands for.

`nearer.model.base` says what each offers; hinges and likelihoods have a file each.
"""

from nearer.model.base import Compiled, Evaluation, Family, Loss, MarginLoss, ProximableLoss
from nearer.model.hinges import DistanceHinge, Hinge, MeanVariance, SoftHinge, TwoSidedHinge
from nearer.model.likelihoods import CrowdKernel, Logistic, LogRatio, StudentT

__all__ = [
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
