"""Planning from a pilot: how often the predicted interval holds the error of the finished study."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.validity.rates import Outcome, Rate
from nearer.design import Design, estimate_noise, predict_error
from nearer.design.planning.prediction import learned_margins
from nearer.design.planning.simulation import draw_ground_truth
from nearer.embedding import TSTE
from nearer.optimize.problems.margins import error_from_margins

TITLE = "Planning from first answers"
ABOUT = """
`estimate_noise` learns from the first part of a study how noisy its answers are, and `predict_error(..., pilot=...)`
predicts what error the map of the whole study will have on new answers. Each run draws a true map, people and all
answers, shows the first part to `estimate_noise`, and then lets the study go on: the map (t-STE in two dimensions) of
all answers is judged by 4,000 new ones. Nothing is known beforehand of the noise, nor of whether errors are close calls
or guesses. The interval of the prediction, from 39 simulated studies, is asked for 90%, and so is that of the share of
the first answers that is wrong.
"""
N_TESTED = 4000
N_REPLICATIONS = 39


class Study(NamedTuple):
    """A study and its pilot; maps are learned in two dimensions."""

    name: str
    design: Design
    n_pilot: int
    n_answers: int
    n_people: int | None = None  # known in the pilot


STUDIES = (
    Study("15 objects, triplets, 15% close calls", Design(15, 2, 0.15), 150, 300),
    Study("30 objects, triplets, 15% close calls", Design(30, 2, 0.15), 400, 800),
    Study("20 objects, triplets, 20% guesses", Design(20, 2, 0.2, noise_model="guesses"), 250, 500),
    Study("30 objects, triplets, 10% guesses, round", Design(30, 2, 0.1, noise_model="guesses", decay=0.0), 400, 1600),
    Study("20 objects, odd-one-out, 10% close calls", Design(20, 2, 0.1, "odd-one-out"), 150, 300),
    Study("25 objects in 4-D, triplets, 10% close calls", Design(25, 4, 0.1), 400, 800),
    Study("25 objects, 10 people who differ, 20% close calls", Design(25, 2, 0.2, n_annotators=10), 400, 800),
)


def holds_noise(rng: np.random.Generator, *, study: Study) -> Outcome:
    """Return whether the interval of the noise holds the share of the first answers that is wrong."""
    first = draw_ground_truth(study.design, rng).ask(study.n_pilot, rng)
    found = estimate_noise(first.comparisons, 2, random_state=rng)
    return Outcome(int(found.low <= np.mean(~first.is_correct) <= found.high))


def go_on(rng: np.random.Generator, study: Study) -> tuple[Any, Any, float, float]:
    """Return the noise estimated and the error predicted from a pilot, and both as they turn out."""
    world = draw_ground_truth(study.design, rng)
    asked, tested = world.ask(study.n_answers, rng), world.ask(N_TESTED, rng).comparisons
    first = asked.part(0, study.n_pilot)
    estimator = TSTE(2, trace=0.02, n_objects=study.design.n_objects)
    found = estimate_noise(first.comparisons, 2, random_state=rng)
    design = Design(study.design.n_objects, 2, kind=study.design.kind)
    predicted = predict_error(
        design, study.n_answers, pilot=found, estimator=estimator, n_replications=N_REPLICATIONS, random_state=rng
    )
    reached = error_from_margins(learned_margins(estimator, asked.comparisons, tested), tested.sample_weight)
    return found, predicted, float(np.mean(~first.is_correct)), float(reached)


def holds_error(rng: np.random.Generator, *, study: Study) -> Outcome:
    """Return whether the interval holds the error that the finished study has."""
    _, predicted, _, reached = go_on(rng, study)
    return Outcome(int(predicted.low <= reached <= predicted.high))


RATES = [
    Rate(
        "error of the finished study, 90% interval",
        f"{study.name}; {study.n_pilot} of {study.n_answers:,} answers known",
        "coverage", partial(holds_error, study=study), n_runs=60, low=0.85, high=0.95,
    )
    for study in STUDIES
] + [
    Rate(
        "share of the first answers that is wrong, 90% interval", f"{study.name}; {study.n_pilot} answers",
        "coverage", partial(holds_noise, study=study), n_runs=60, low=0.85, high=1.0,
    )
    for study in STUDIES
    if study.design.n_components == 2  # of more, what the map lacks counts as noise
]  # fmt: skip
