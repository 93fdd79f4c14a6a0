"""How people answer, and what a comparison costs: the answer model, and losses of margins and of pairs of distances.

`AnswerModel` gives the probability of an answer. `nearer.model.base` says what each loss offers; hinges and likelihoods
have a file each.
"""

from nearer.model.answers import AnswerModel
from nearer.model.base import Compiled, Evaluation, Family, Loss, MarginLoss, ProximableLoss
from nearer.model.hinges import DistanceHinge, Hinge, MeanVariance, SoftHinge, TwoSidedHinge
from nearer.model.likelihoods import CrowdKernel, Logistic, LogRatio, StudentT

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
