"""Seconds from comparisons to a relative duality gap of 1e-4, for the default DMOE and for harder penalties.

Run with `make bench`. Each line is the median of five fits; the limits are those the project has set itself on two
cores: 2 seconds at 100 objects and 1000 comparisons, 20 seconds at 400 and 5000.
"""

from __future__ import annotations

import statistics
import time

from nearer import Comparisons, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE

REPEATS = 5
LIMITS = {(100, 1000): 2.0, (400, 5000): 20.0}
SETTINGS: dict[str, DMOE] = {
    "default": DMOE(10),
    "ridge alone": DMOE(10, penalty=Penalty(trace=0.0, ridge=3.0)),
    "trace alone": DMOE(10, penalty=Penalty(trace=0.1, ridge=0.0)),
    "trace alone, one-sided": DMOE(10, penalty=Penalty(trace=0.1, ridge=0.0), nu=0.0),
    "power 1": DMOE(10, power=1),
    "specificities": DMOE(10, penalty=Penalty(specificity=20.0)),
}


def seconds_to_fit(model: DMOE, train: Comparisons) -> float:
    """Return the median time of a fit."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        model.fit(train)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print one line for each size and setting."""
    print(f"{'objects':>7} {'rows':>6}  {'setting':<24}{'seconds':>8} {'limit':>6} {'steps':>6} {'relative gap':>13}")
    for (n_objects, size), limit in LIMITS.items():
        train = sample_triplets(make_gaussian(n_objects, 10, random_state=0), size, random_state=0)
        for name, model in SETTINGS.items():
            seconds = seconds_to_fit(model, train)
            gap = model.dual_gap_ / model.history_[-1].objective
            print(f"{n_objects:7d} {size:6d}  {name:<24}{seconds:8.3f} {limit:6.1f} {model.n_iter_:6d} {gap:13.1e}")


if __name__ == "__main__":
    main()
