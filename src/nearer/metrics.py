"""How well a map agrees with comparisons, and with the truth: those of `nearer.evaluation.metrics`."""

from nearer.evaluation.metrics import (
    MarginStatistics,
    ReliabilityCurve,
    comparison_error,
    error_from_margins,
    expected_calibration_error,
    margin_statistics,
    margins,
    pair_distances,
    procrustes_error,
    reliability_curve,
    soft_error,
)

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
