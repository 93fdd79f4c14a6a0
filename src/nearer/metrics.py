"""How well a map agrees with comparisons, and with the truth where it is known."""

from nearer.evaluation.calibration import ReliabilityCurve, expected_calibration_error, reliability_curve
from nearer.evaluation.metrics import MarginStatistics, comparison_error, margin_statistics, margins
from nearer.geometry import procrustes_error
from nearer.problems.margins import error_from_margins, pair_distances, soft_error

__all__ = [
    "MarginStatistics",
    "ReliabilityCurve",
    "comparison_error",
    "error_from_margins",
    "expected_calibration_error",
    "margin_statistics",
    "margins",
    "pair_distances",
    "procrustes_error",
    "reliability_curve",
    "soft_error",
]
