"""How many answers a study needs: simulated studies, and the paper's theorem beside them."""

from nearer.planning.design import Design
from nearer.planning.errors import PredictedError, predict_error
from nearer.planning.noise import NoiseEstimate, estimate_noise
from nearer.planning.plans import Plan, plan, plot_plan
from nearer.planning.theorem import theorem_bound, theorem_excess

__all__ = [
    "Design",
    "NoiseEstimate",
    "Plan",
    "PredictedError",
    "estimate_noise",
    "plan",
    "plot_plan",
    "predict_error",
    "theorem_bound",
    "theorem_excess",
]
