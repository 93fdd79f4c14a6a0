"""Checks of answers before a map is made of them, and of the model that was fitted to them."""

from nearer._common.findings import Finding
from nearer.checking.dissimilarities import check_dissimilarities
from nearer.checking.doctor import check, check_errors
from nearer.checking.findings import Findings
from nearer.checking.messages import Message, message_of
from nearer.checking.predictive import PredictiveCheck, PredictiveChecks, predictive_checks

__all__ = [
    "Finding",
    "Findings",
    "Message",
    "PredictiveCheck",
    "PredictiveChecks",
    "check",
    "check_dissimilarities",
    "check_errors",
    "message_of",
    "predictive_checks",
]
