"""The noise ceiling: how often its interval holds the truth, whatever makes questions hard."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.datasets.synthetic import unrank_questions
from nearer.evaluation.ceiling import noise_ceiling

TITLE = "The noise ceiling"
ABOUT = """
`nearer.evaluation.noise_ceiling` estimates the least error of any predictor shared by all people from questions that
were answered several times. Each run draws the questions, and with them how hard each is, anew. The truth is the mean
minority share over all questions of that world, and the interval is asked for 95%. Two or three answers per question
leave it between two bounds, however many questions there are: the interval then has to hold all between them, and
covers more than 95% by necessity. Answers are independent of each other, except where *10 people answer all questions*
and have lapse rates of their own, uniform up to 40%: the interval is then about these people, and covers the ceiling of
all people, whose mean lapse rate is 20%, less often.
"""
_N_OBJECTS = 30
_MAX_LAPSE = 0.4


class World(NamedTuple):
    """Shares of one answer among all people: toss-ups, sure questions, and beta-distributed ones, behind lapses."""

    name: str
    toss_ups: float
    sure: float  # share of the minority in the other questions; NaN: beta-distributed
    shape: float = 1.0
    lapse: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the shares of n questions."""
        others = rng.beta(self.shape, self.shape, n) if np.isnan(self.sure) else np.full(n, self.sure)
        shares: FloatArray = np.where(rng.random(n) < self.toss_ups, 0.5, others)
        return self.lapse + (1 - 2 * self.lapse) * shares

    @property
    def ceiling(self) -> float:
        """The mean share of the minority."""
        of_beta = 0.5 - 4**-self.shape * np.exp(-np.log(self.shape) - betaln(self.shape, self.shape))
        others = of_beta if np.isnan(self.sure) else self.sure
        return float(self.lapse + (1 - 2 * self.lapse) * (self.toss_ups / 2 + (1 - self.toss_ups) * others))


WORLDS = (
    World("40% toss-ups, the others 2.8% wrong", 0.4, 0.028),
    World("beta-distributed shares", 0.0, np.nan, 0.5),
    World("all questions equally hard, 20% wrong", 0.0, 0.2),
    World("beta-distributed shares and 10% lapses", 0.0, np.nan, 0.4, 0.05),
)


def asked(shares: FloatArray, repeats: int, rng: np.random.Generator) -> Comparisons:
    """Return independent answers to different questions, each asked so many times."""
    rows = np.column_stack(unrank_questions(np.arange(len(shares)), _N_OBJECTS))
    which = np.repeat(np.arange(len(shares)), repeats)
    y = np.where(rng.random(len(which)) < shares[which], 1, -1)
    return Comparisons.from_triplets(rows[which], y, n_objects=_N_OBJECTS)


def holds(rng: np.random.Generator, *, world: World, n_questions: int, repeats: int) -> Outcome:
    """Return whether the interval holds the ceiling of the world."""
    found = noise_ceiling(asked(world.draw(n_questions, rng), repeats, rng))
    assert found is not None
    return Outcome(int(found.low <= world.ceiling <= found.high))


def holds_for_all_people(rng: np.random.Generator, *, n_questions: int, n_people: int) -> Outcome:
    """Return whether the interval, of the answers of some people, holds the ceiling of all people."""
    wrong = rng.uniform(0, _MAX_LAPSE, n_people) / 2
    rows = np.column_stack(unrank_questions(np.arange(n_questions), _N_OBJECTS))
    y = np.where(rng.random((n_questions, n_people)) < wrong, -1, 1)
    people = np.tile(np.arange(n_people), n_questions)
    answers = Comparisons.from_triplets(
        np.repeat(rows, n_people, axis=0), y.ravel(), annotators=people, n_objects=_N_OBJECTS
    )
    found = noise_ceiling(answers)
    assert found is not None
    return Outcome(int(found.low <= _MAX_LAPSE / 4 <= found.high))


RATES = [
    Rate(
        "interval of the noise ceiling",
        f"{world.name}; {n_questions:,} questions answered {repeats} times",
        "coverage",
        partial(holds, world=world, n_questions=n_questions, repeats=repeats),
        low=0.93,
    )
    for world in WORLDS
    for n_questions in (50, 1000)
    for repeats in (2, 3, 6, 20)
] + [
    Rate(
        "interval of the noise ceiling",
        f"10 people answer all questions, lapse rates up to 40%; {n_questions:,} questions",
        "coverage",
        partial(holds_for_all_people, n_questions=n_questions, n_people=10),
    )
    for n_questions in (50, 300)
]
