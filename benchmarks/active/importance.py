"""Whether held-out errors by importance are unbiased: on the random share of the questions, and on new answers.

Chosen questions are harder than others, so that an error over all answers depends more on the questions than
on the map. `Questions.held_out_error` counts the random share alone. Here it is compared with the error of
the same model on new answers, of the same noise, to random questions: their difference must be zero on average.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.accuracy.run import one_thread_each
from benchmarks.active.rules import Ours
from benchmarks.active.worlds import WORLDS
from benchmarks.records import side_by_side
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.optimize.problems.margins import error_from_margins

_NEW = 20_000  # answers that the true error is counted over


class Honesty(NamedTuple):
    """Means over runs of the unbiased error, of the true one, and of the naive one over all answers learned from.

    ``z`` is the mean of unbiased minus true error in units of its standard error; ``covered`` the share of runs whose
    interval holds the true error.
    """

    runs: int
    unbiased: float
    true: float
    naive: float
    standard_error: float
    z: float
    covered: float


def unbiased_errors(
    runs: int = 50,
    world: str = "cloud2-flips",
    n_answers: int = 600,
    *,
    batch: int = 60,
    seed: int = 0,
    n_jobs: int = 1,
) -> Honesty:
    """Compare the unbiased error with the true one.

    Parameters
    ----------
    runs : int
    world : str
        Of simulated answers.
    n_answers : int
        Answers in each run.
    batch, seed, n_jobs : int
    """
    calls = [(world, run, n_answers, batch, seed) for run in range(runs)]
    found: list[dict[str, float]] = []
    with progress_bar("unbiased errors", runs) as bar, one_thread_each():
        for one in side_by_side(one_run, calls, n_jobs):
            found.append(one)
            bar.update()
    unbiased, true, naive, covered = (
        np.array([one[name] for one in found]) for name in ("unbiased", "true", "naive", "covered")
    )
    spread = float(np.std(unbiased - true, ddof=1) / np.sqrt(runs)) if runs > 1 else float("nan")
    bias = float(np.mean(unbiased - true))
    return Honesty(
        runs,
        float(unbiased.mean()),
        float(true.mean()),
        float(naive.mean()),
        spread,
        bias / spread,
        float(covered.mean()),
    )


def one_run(world: str, run: int, n_answers: int, batch: int, seed: int) -> dict[str, Any]:
    """Return unbiased, true and naive error of one run, and whether the interval of the first holds the second."""
    place = WORLDS[world]
    life, rule_seed = place.life(seed, run), place.seed(seed, run).spawn(2)[1]
    rule = Ours(life, place.n_components, rule_seed)
    with threadpool_limits(limits=1):
        n_answered = 0
        while n_answered < n_answers:
            asked = rule.ask(min(batch, n_answers - n_answered))
            rule.tell(life.answer(asked))
            n_answered += len(asked)
        unbiased, model = rule.chooser.held_out_error(), rule.chooser.model_
        new = life.answer(life.questions[np.random.default_rng(rule_seed).integers(len(life.questions), size=_NEW)])
        true = error_from_margins(model.decision_function(Comparisons.from_triplets(new, n_objects=place.n_objects)))
        naive = error_from_margins(model.decision_function(rule.chooser.comparisons_))
    return {
        "unbiased": float(unbiased), "true": true, "naive": naive, "covered": unbiased.low <= true <= unbiased.high,
        "n_test": unbiased.n_answers,
    }  # fmt: skip
