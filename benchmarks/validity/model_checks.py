"""Checks of the model: size and power of `nearer.checking.predictive_checks`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.validity.rates import Outcome, Rate, own_questions
from nearer import Comparisons
from nearer.checking import predictive_checks
from nearer.embedding import PosteriorEmbedding

TITLE = "Checks of the model"
ABOUT = """
`predictive_checks` compares answers with those that a fitted posterior would give. Checks of views and of questions
take into account that the posterior has been fitted to these answers; p-values of triads and of the position are plain
posterior predictive ones, which are conservative. Worlds: 12 people answer random triplets about 12 objects of a
plane, with log-odds 3 log((0.3 + far^2) / (0.3 + near^2)); slopes and lapse rates of people differ (standard
deviations 0.4 of the logarithm and 1 of the logit, around 3%). *Own maps*: each person sees each object displaced,
with this standard deviation (objects have 1). *Own weights*: of the two dimensions, with this standard deviation of
their logarithms. *Weights of anchors*: which dimension counts depends on the object that others are compared with,
whoever answers (standard deviation of the logarithms). *Effects of questions*: each question has log-odds of its own,
with this standard deviation, that no map has. Where *log-odds are larger*, answers are sure wherever a map is right,
and chains converge slowly. *Position*: this share of answers is the first option, whatever is asked. Posteriors are of
the fast sampler, with three dimensions at most, and 99 replications.
"""
_N_OBJECTS, _N_PEOPLE = 12, 12
Check = Literal["views", "questions", "triads", "position"]


@dataclass(frozen=True)
class World:
    """What people differ in, and what else goes on."""

    n_answers: int = 60
    uneven: bool = False  # half of the people give a fifth of the answers of the others
    slope: float = 3.0
    slope_spread: float = 0.4
    lapse_spread: float = 1.0
    own_maps: float = 0.0
    own_weights: float = 0.0
    anchor_weights: float = 0.0
    question_effects: float = 0.0
    position: float = 0.0


def study(world: World, rng: np.random.Generator) -> tuple[Comparisons, NDArray[np.bool_]]:
    """Return the answers of a study, and whether the first option was chosen."""
    points = rng.normal(size=(_N_OBJECTS, 2))
    maps = points + world.own_maps * rng.normal(size=(_N_PEOPLE, *points.shape))
    maps *= np.exp(world.own_weights * rng.normal(size=(_N_PEOPLE, 1, 2)))
    rows = own_questions(rng, _N_PEOPLE, world.n_answers, _N_OBJECTS).reshape(-1, 3)
    person = np.repeat(np.arange(_N_PEOPLE), world.n_answers)
    if world.uneven:
        kept = (person % 2 == 0) | (rng.random(len(person)) < 0.2)
        rows, person = rows[kept], person[kept]
    weights = np.exp(world.anchor_weights * rng.normal(size=(_N_OBJECTS, 1)) * [1, -1])[rows[:, 0]]
    anchor, first, second = (maps[person, rows[:, column]] for column in range(3))
    one, other = ((np.square(anchor - each) * weights).sum(axis=1) for each in (first, second))
    effects = world.question_effects / np.sqrt(2) * rng.normal(size=(_N_OBJECTS,) * 3)
    effect = effects[tuple(rows.T)] - effects[tuple(rows[:, [0, 2, 1]].T)]
    slopes = world.slope * np.exp(world.slope_spread * rng.normal(size=_N_PEOPLE))[person]
    lapses = expit(-3.5 + world.lapse_spread * rng.normal(size=_N_PEOPLE))[person]
    log_odds = slopes * np.log((0.3 + other) / (0.3 + one)) + effect
    chosen = rng.random(len(rows)) < lapses / 2 + (1 - lapses) * expit(log_odds)
    chosen |= rng.random(len(rows)) < world.position
    answers = np.where(chosen, 1, -1)
    return Comparisons.from_triplets(rows, answers, annotators=person, n_objects=_N_OBJECTS), chosen


def rejects(rng: np.random.Generator, world: World, check: Check) -> Outcome:
    """Return whether a check rejects at 5%."""
    answers, chosen = study(world, rng)
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = PosteriorEmbedding(max_components=3, solver="fast", n_jobs=1, random_state=seed)
        found = predictive_checks(method.fit(answers), first_chosen=chosen, n_replications=99, random_state=seed)
    return Outcome(int(found[check].p_value <= 0.05))


_CHECKS: dict[Check, str] = {
    "views": "people differ by more than slope and lapse rate",
    "questions": "people agree about questions where no map does",
    "triads": "answers are intransitive beyond noise",
    "position": "the position of options matters",
}
_SCORES: tuple[Check, ...] = ("views", "questions")


def _rate(check: Check, name: str, world: World, kind: Literal["size", "power"], n_runs: int) -> Rate:
    answers = f"{'20 or 100' if world.uneven else world.n_answers} answers each"
    high = 0.07 if kind == "size" else 1.0
    run = partial(rejects, world=world, check=check)
    return Rate(_CHECKS[check], f"{name}; {answers}", kind, run, n_runs, 0.0, high)


def _steep(check: Check, slope: float) -> Rate:
    """Return the rate where answers have hardly any noise, but for lapses."""
    run = partial(rejects, world=World(slope=slope), check=check)
    return Rate(
        _CHECKS[check], f"log-odds {slope / 3:.0f} times as large; 60 answers each", "size", run, 100, 0.0, 0.07
    )


RATES = [
    *(_rate(check, "slopes and lapse rates differ", World(), "size", 300) for check in _CHECKS),
    _rate("views", "slopes and lapse rates differ", World(n_answers=100, uneven=True), "size", 300),
    _rate("views", "no person differs", World(slope_spread=0.0, lapse_spread=0.0), "size", 300),
    _rate("views", "effects of questions 1", World(question_effects=1.0), "size", 300),
    _rate("questions", "own maps 0.4", World(own_maps=0.4), "size", 300),
    _rate("views", "own maps 0.2", World(own_maps=0.2), "power", 100),
    _rate("views", "own maps 0.4", World(own_maps=0.4), "power", 100),
    _rate("views", "own weights 0.7", World(own_weights=0.7), "power", 100),
    _rate("questions", "weights of anchors 0.7", World(anchor_weights=0.7), "power", 100),
    _rate("questions", "weights of anchors 0.7", World(anchor_weights=0.7, n_answers=200), "power", 50),
    _rate("questions", "effects of questions 1", World(question_effects=1.0), "power", 100),
    _rate("triads", "effects of questions 1", World(question_effects=1.0), "power", 100),
    _rate("triads", "effects of questions 2", World(question_effects=2.0, n_answers=200), "power", 50),
    _rate("position", "position 4%", World(position=0.04), "power", 100),
    _rate("position", "position 8%", World(position=0.08), "power", 100),
    *(_steep(check, slope) for slope in (9.0, 300.0) for check in _SCORES),
]
