"""Whether other answers would give the same distances: those of `nearer.evaluation.reproducibility`."""

from nearer.evaluation.reproducibility import DISTANCES_FAIR, DISTANCES_GOOD, SplitHalf, ellipse_size, split_half

__all__ = ["DISTANCES_FAIR", "DISTANCES_GOOD", "SplitHalf", "ellipse_size", "split_half"]
