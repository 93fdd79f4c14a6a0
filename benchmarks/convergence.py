"""Convergence of distances: the default fit, and one with ``solver="thorough"``, of the same simulated studies.

    python -m benchmarks.convergence

Studies of 15 to 60 objects in two or three dimensions are answered by people with lapse rates of their own. All
distances of each fit are diagnosed: the largest R-hat, the smallest bulk and tail effective sample size, and seconds,
of the clock and of all cores.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np

from nearer._common.progress import progress_bar
from nearer._common.results import text_table
from nearer.data.comparisons import Comparisons
from nearer.datasets import draw_questions, make_gaussian, simulate_answers
from nearer.embedding import PosteriorEmbedding
from nearer.sampling import Diagnosis
from nearer.sampling.summaries import MAX_PAIRS

SIZES = (15, 20, 30, 45, 60)
SEEDS = range(4)
SOLVERS = ("auto", "thorough")
_ANSWERS_PER_OBJECT = (10, 20, 30, 40)  # one for each seed
_N_PEOPLE = 20


def simulated_study(n_objects: int, seed: int) -> Comparisons:
    """Return answers of people who lapse in up to 20% of their answers."""
    points = make_gaussian(n_objects, 2 + seed % 2, variance=1, random_state=seed)
    questions = draw_questions(n_objects, n_objects * _ANSWERS_PER_OBJECT[seed % 4], random_state=seed)
    lapses = np.random.default_rng([seed, n_objects]).uniform(0, 0.2, _N_PEOPLE)
    return simulate_answers(
        points,
        questions,
        slope=2.0,
        lapses=lapses,
        people=_N_PEOPLE,
        random_state=np.random.SeedSequence([seed, n_objects, 1]),
    )


def fit(answers: Comparisons, solver: str) -> tuple[Diagnosis, float, float]:
    """Return the convergence of all distances, seconds, and seconds of all cores."""
    start, used = time.perf_counter(), os.times()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that chains disagree is what is measured
        model = PosteriorEmbedding(solver=solver, random_state=0).fit(answers)
    seconds, cores = time.perf_counter() - start, os.times().user - used.user
    return model._posterior.diagnose_distances(MAX_PAIRS)[1], seconds, cores


def rows() -> Iterator[list[str]]:
    """Yield a row of the table for each study."""
    fit(simulated_study(15, 0), "fast")  # compiles
    studies = list(product(SIZES, SEEDS))
    n_met = dict.fromkeys(SOLVERS, 0)
    for size, seed in progress_bar("fits", len(studies), studies, unit="study"):
        answers = simulated_study(size, seed)
        row = [str(size), str(len(answers))]
        for solver in SOLVERS:
            found, seconds, cores = fit(answers, solver)
            n_met[solver] += bool(found.rhat < 1.01 and min(found.effective, found.tail) > 400)
            row += [
                f"{found.rhat:.3f}",
                f"{found.effective:.0f}",
                f"{found.tail:.0f}",
                f"{seconds:.1f}",
                f"{cores:.1f}",
            ]
        yield row
    yield ["met", "", *(cell for solver in SOLVERS for cell in (f"{n_met[solver]} of {len(studies)}", "", "", "", ""))]


if __name__ == "__main__":
    measures = ["R-hat", "bulk", "tail", "s", "CPU s"]
    head = ["objects", "answers", *(f"{solver} {measure}" for solver in SOLVERS for measure in measures)]
    sys.stdout.write("\n".join(text_table([head, *rows()])) + "\n")
