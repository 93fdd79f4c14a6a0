"""How far a map can be trusted with answers it has not seen: folds, held-out error, learning curve, dimension."""

from nearer.evaluation.dimension import DimensionChoice, choose_dimension
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import HeldOutError, held_out_error
from nearer.evaluation.learning_curve import LearningCurve, learning_curve

__all__ = [
    "DimensionChoice",
    "HeldOutError",
    "LearningCurve",
    "WholeKFold",
    "choose_dimension",
    "held_out_error",
    "learning_curve",
]
