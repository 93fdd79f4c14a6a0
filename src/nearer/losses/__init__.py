"""Losses of a comparison: what a margin, or a pair of distances, costs, and which chance of an answer it stands for.

`nearer.losses.base` says what each offers; hinges and likelihoods have a file each.
"""

from nearer.losses.base import Compiled, Evaluation, Family, Loss, MarginLoss, ProximableLoss
from nearer.losses.hinges import DistanceHinge, Hinge, MeanVariance, SoftHinge, TwoSidedHinge
from nearer.losses.likelihoods import CrowdKernel, Logistic, LogRatio, StudentT

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
