"""How well a map agrees with comparisons, and with the truth where it is known."""

from nearer.evaluation.calibration import ReliabilityCurve, expected_calibration_error, reliability_curve
from nearer.evaluation.metrics import (
    MarginStatistics,
    accuracy_scorer,
    comparison_error,
    margin_statistics,
    margins,
    neg_log_loss_scorer,
)
from nearer.geometry import procrustes_error
from nearer.problems.margins import error_from_margins, pair_distances, soft_error

__all__ = [
    "MarginStatistics",
    "ReliabilityCurve",
    "accuracy_scorer",
    "comparison_error",
    "error_from_margins",
    "expected_calibration_error",
    "margin_statistics",
    "margins",
    "neg_log_loss_scorer",
    "pair_distances",
    "procrustes_error",
    "reliability_curve",
    "soft_error",
]
