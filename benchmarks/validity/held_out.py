"""The held-out error: how often its interval holds the error on new answers."""

from __future__ import annotations

from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.data.groups import Grouping
from nearer.datasets.synthetic import distinct_rows
from nearer.embedding import TSTE, PosteriorEmbedding
from nearer.evaluation import comparison_error, held_out_error
from nearer.evaluation.held_out import Evaluable
from nearer.optimize.problems.margins import pair_distances

TITLE = "The held-out error"
ABOUT = """
`held_out_error` says how often maps err on answers they have not seen, by five-fold cross-validation. Its interval is
for the expected error of the method with the answers of four folds about these objects; *such maps* is that
expectation, estimated from maps of 150 other data sets. Readers take it for the error of the map they look at, which
was learned from all answers: *the map shown* is its error on 10,000 new answers. Where whole people are held out, the
new answers are those of new people. Maps are by t-STE in two dimensions, and where the posterior is named, by
`PosteriorEmbedding`. Asked for are 95%; more is no fault, as the correction for training parts that overlap is meant to
be large enough for methods that are unsteady.
"""
_N_TESTED = 10_000
_N_OTHERS = 30  # data sets, of five maps each


class World(NamedTuple):
    """A true map and people, with an interval's unit; objects, people and questions are drawn from a seed."""

    name: str
    n_objects: int
    n_answers: int
    slope: float
    dimension: int = 2
    lapse: float = 0.0
    n_people: int = 1
    uneven: bool = False  # a few people give most answers, and people differ in slope and lapses
    by: Grouping = "trials"
    posterior: bool = False

    @property
    def estimator(self) -> Evaluable:
        """What maps are learned by."""
        if self.posterior:
            return PosteriorEmbedding(2, n_objects=self.n_objects, random_state=0)._for_cross_validation()
        return TSTE(2, trace=0.02, n_objects=self.n_objects)

    @property
    def points(self) -> FloatArray:
        """The true map: the same in all data sets."""
        return np.random.default_rng(self.n_objects).normal(size=(self.n_objects, self.dimension))

    def people(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slope, lapse rate and share of the answers of each person."""
        same = np.ones(self.n_people)
        if not self.uneven:
            return self.slope * same, self.lapse * same, same / self.n_people
        shares = rng.lognormal(sigma=1.0, size=self.n_people)
        lapses = np.clip(self.lapse * rng.lognormal(sigma=0.7, size=self.n_people), 0, 0.9)
        return self.slope * rng.lognormal(sigma=0.5, size=self.n_people), lapses, shares / shares.sum()

    def ask(self, rng: np.random.Generator, n: int, people: tuple[FloatArray, ...]) -> Comparisons:
        """Return answers to random triplets."""
        slopes, lapses, shares = people
        person = rng.choice(len(shares), p=shares, size=n)
        rows = distinct_rows(n, 3, self.n_objects, rng)
        near, far = (np.log(pair_distances(self.points, rows[:, 0], rows[:, side])) for side in (1, 2))
        chance = lapses[person] / 2 + (1 - lapses[person]) * expit(slopes[person] * (far - near))
        y = np.where(rng.random(n) < chance, 1, -1)
        annotators = person if self.n_people > 1 else None
        return Comparisons.from_triplets(rows, y, annotators=annotators, n_objects=self.n_objects)

    def tested(self, rng: np.random.Generator, people: tuple[FloatArray, ...]) -> Comparisons:
        """Return new answers, of the same people or of many others where people are held out."""
        if self.by != "annotators":
            return self.ask(rng, _N_TESTED, people)
        return self.ask(rng, _N_TESTED, self._replace(n_people=500).people(rng))

    def error(self, learned: Comparisons, tested: Comparisons) -> float:
        """Return the error of a map."""
        return comparison_error(tested, clone(self.estimator).fit(learned).embedding_)


WORLDS = (
    World("30 objects, 600 answers, close calls", 30, 600, 1.5),
    World("20 objects, 300 answers, close calls and 40% lapses", 20, 300, 3.0, lapse=0.4),
    World("20 objects, 1,500 answers, close calls", 20, 1500, 2.0),
    World("3-D truth, 25 objects, 800 answers, 10% lapses", 25, 800, 2.0, dimension=3, lapse=0.1),
    World("12 people of unequal effort and care, 25 objects, 600 answers", 25, 600, 2.0, 2, 0.15, 12, True),
    World(
        "12 people of unequal effort and care, held out whole, 25 objects, 600 answers",
        25, 600, 2.0, 2, 0.15, 12, True, "annotators",
    ),
    World("posterior, 20 objects, 400 answers, close calls and 10% lapses", 20, 400, 2.0, 2, 0.1, posterior=True),
)  # fmt: skip


@cache
def expected_error(world: World) -> float:
    """Return the expected error of maps of four fifths of the answers, from data sets of their own."""
    rng, errors = np.random.default_rng(7), []
    for _ in range(_N_OTHERS):
        people = world.people(rng)
        tested = world.tested(rng, people)
        errors += [world.error(world.ask(rng, round(0.8 * world.n_answers), people), tested) for _ in range(5)]
    return float(np.mean(errors))


def holds(rng: np.random.Generator, *, world: World, shown: bool) -> Outcome:
    """Return whether the interval holds the error of the map shown, or the expected error of such maps."""
    people = world.people(rng)
    answers = world.ask(rng, world.n_answers, people)
    found = held_out_error(world.estimator, answers, by=world.by, random_state=int(rng.integers(2**31)))
    truth = world.error(answers, world.tested(rng, people)) if shown else expected_error(world)
    return Outcome(int(found.map_low <= truth <= found.map_high))


RATES = [
    Rate(
        f"interval of the held-out error: {'the map shown' if shown else 'such maps'}", world.name, "coverage",
        partial(holds, world=world, shown=shown), n_runs=100 if world.posterior else 200, low=0.93,
    )
    for world in WORLDS
    for shown in (True, False)
    if shown or (world.n_people == 1 and not world.posterior)
]  # fmt: skip
