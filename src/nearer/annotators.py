"""How reliable each person is, and weights from it. The home of these names is `nearer.evaluation.annotators`."""

from nearer.evaluation.annotators import AnnotatorReliability, annotator_reliability, reliability_weights

__all__ = ["AnnotatorReliability", "annotator_reliability", "reliability_weights"]
