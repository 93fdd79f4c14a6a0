"""How people answer, and what a comparison costs: the answer model, and losses of margins and of pairs of distances."""

from nearer.model.answers import AnswerModel as AnswerModel
from nearer.model.losses import Compiled as Compiled
from nearer.model.losses import CrowdKernel as CrowdKernel
from nearer.model.losses import DistanceHinge as DistanceHinge
from nearer.model.losses import Hinge as Hinge
from nearer.model.losses import Logistic as Logistic
from nearer.model.losses import LogRatio as LogRatio
from nearer.model.losses import Loss as Loss
from nearer.model.losses import MarginLoss as MarginLoss
from nearer.model.losses import MeanVariance as MeanVariance
from nearer.model.losses import SoftHinge as SoftHinge
from nearer.model.losses import StudentT as StudentT
from nearer.model.losses import TwoSidedHinge as TwoSidedHinge
