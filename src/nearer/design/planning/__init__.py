"""How many answers a study needs: simulated studies, and the paper's theorem beside them."""

from nearer.design.planning.design import Design
from nearer.design.planning.errors import PredictedError, predict_error
from nearer.design.planning.noise import NoiseEstimate, estimate_noise
from nearer.design.planning.plans import Plan, plan, plot_plan
from nearer.design.planning.theorem import theorem_bound, theorem_excess

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
