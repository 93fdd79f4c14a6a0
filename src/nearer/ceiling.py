"""The smallest error that any predictor could have. The home of these names is `nearer.evaluation.ceiling`."""

from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling

__all__ = ["NoiseCeiling", "noise_ceiling"]
