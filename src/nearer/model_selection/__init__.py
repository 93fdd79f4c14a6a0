"""How far a map can be trusted with answers it has not seen: folds, held-out error, learning curve, dimension."""

from nearer.model_selection.dimension import DimensionChoice, choose_dimension
from nearer.model_selection.folds import WholeKFold
from nearer.model_selection.held_out import HeldOutError, held_out_error
from nearer.model_selection.learning import LearningCurve, learning_curve

__all__ = [
    "DimensionChoice",
    "HeldOutError",
    "LearningCurve",
    "WholeKFold",
    "choose_dimension",
    "held_out_error",
    "learning_curve",
]
