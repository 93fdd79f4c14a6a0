"""Groups of people: the test, the objects that moved, displacements and equivalence of `compare_groups`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.arrays import FloatArray
from nearer.comparing import compare_groups
from nearer.comparing.group_displacements import displacements, group_map
from nearer.comparing.group_models import Responses, fit_common, fit_dimensions, fit_maps
from nearer.comparing.group_results import Displacements
from nearer.comparing.group_tests import efficient_scores, sign_flip_test, step_down
from nearer.comparing.groups import BOUND
from nearer.data.comparisons import Comparisons
from nearer.geometry import align

Questions = Literal["any", "lists", "disjoint lists", "anchors"]


@dataclass(frozen=True)
class TwoGroups:
    """How studies are made.

    Parameters
    ----------
    n_objects, n_components : int
    sizes, n_answers : pair of int
        People in each group, and answers of each person.
    moved_by : float
        How far objects are moved in the second group, as a share of the spread.
    n_moved : int, optional
        How many; a third if left out.
    stretched : float
        By which factor the first axis is longer in the second group.
    own, own_share : float
        How far objects are from where the group has them in the eyes of each person, as a share of the spread, and in
        which share of the objects that is so.
    steepness : pair of float
        Of the logistic noise in each group, for the mean squared distance from the center in two dimensions.
    lapses : pair of float
        Highest lapse rates in the groups; those of people are uniform between 0 and these.
    questions : {"any", "lists", "disjoint lists", "anchors"}
        Whether each person is asked any triplets, those of a list of each group, those of lists that have none in
        common, or those whose anchors are in one half of the objects, which the other group's are not.
    n_questions : int
        In a list.
    """

    n_objects: int = 30
    n_components: int = 2
    sizes: tuple[int, int] = (30, 30)
    n_answers: tuple[int, int] = (100, 100)
    moved_by: float = 0.0
    n_moved: int | None = None
    stretched: float = 1.0
    own: float = 0.0
    own_share: float = 1.0
    steepness: tuple[float, float] = (1.5, 1.5)
    lapses: tuple[float, float] = (0.3, 0.3)
    questions: Questions = "any"
    n_questions: int = 150

    def draw(self, rng: np.random.Generator) -> tuple[Comparisons, NDArray[np.intp], FloatArray, NDArray[np.intp]]:
        """Return comparisons, the group of each, the true maps of both groups, (2, n, p), and who was moved."""
        n, p = self.n_objects, self.n_components
        points = rng.standard_normal((n, p))
        points -= points.mean(axis=0)
        points /= np.sqrt(np.square(points).mean())
        spread = np.sqrt(p)  # root mean square distance from the center
        moved = rng.choice(n, n // 3 if self.n_moved is None else self.n_moved, replace=False)
        away = rng.standard_normal((len(moved), p))
        maps = np.stack([points, points])
        maps[1, moved] += self.moved_by * spread * away / np.linalg.norm(away, axis=1, keepdims=True)
        maps[1, :, 0] *= self.stretched
        differ = rng.permutation(n) < round(self.own_share * n)
        asking = self._asking(rng)
        rows, people, group = [], [], np.repeat([0, 1], self.sizes)
        for person, g in enumerate(group):
            seen = maps[g] + self.own * spread / np.sqrt(p) * rng.standard_normal((n, p)) * differ[:, None]
            asked = asking(g, self.n_answers[g])
            near, far = (np.square(seen[asked[:, 0]] - seen[asked[:, k]]).sum(axis=1) for k in (1, 2))
            lapse = rng.uniform(0, self.lapses[g])
            chance = lapse / 2 + (1 - lapse) * expit(self.steepness[g] * 2 / p * (far - near))
            other = rng.random(len(asked)) >= chance
            asked[other] = asked[other][:, [0, 2, 1]]
            rows.append(asked)
            people.append(np.full(len(asked), person))
        numbers = np.concatenate(people)
        comparisons = Comparisons.from_triplets(np.concatenate(rows), annotators=numbers, n_objects=n)
        return comparisons, group[numbers], maps, moved

    def _asking(self, rng: np.random.Generator) -> Callable[[int, int], NDArray[np.intp]]:
        """Return what draws the questions of a person of a group."""
        n = self.n_objects

        def any_triplets(group: int, count: int) -> NDArray[np.intp]:
            return rng.random((count, n)).argsort(axis=1)[:, :3]

        def anchors(group: int, count: int) -> NDArray[np.intp]:
            keys = rng.random((count, n))
            anchor = rng.integers(n // 2, size=count) + group * (n // 2)
            keys[np.arange(count), anchor] = -1
            return keys.argsort(axis=1)[:, :3]

        if self.questions == "any":
            return any_triplets
        if self.questions == "anchors":
            return anchors
        if self.questions == "lists":
            lists = [any_triplets(g, self.n_questions) for g in (0, 1)]
        else:
            pairs = [(a, *pair) for a in range(n) for pair in combinations([b for b in range(n) if b != a], 2)]
            of_all = rng.permutation(np.array(pairs))
            lists = [of_all[g * self.n_questions : (g + 1) * self.n_questions] for g in (0, 1)]
        return lambda group, count: lists[group][rng.integers(self.n_questions, size=count)]


class Found(NamedTuple):
    """What the test finds in a study: its p-value, those of objects, and which were moved."""

    p_value: float
    object_p_values: FloatArray
    moved: NDArray[np.bool_]


_N_FLIPS = 999
_found: dict[int, Found] = {}  # of studies that several rates are of, by their random stream


def test_study(rng: np.random.Generator, study: TwoGroups) -> Found:
    """Return what the test finds in a study that is drawn."""
    key = hash((study, rng.bit_generator.state["state"]["state"]))
    if key not in _found:
        comparisons, groups, _, chosen = study.draw(rng)
        responses = Responses.of(comparisons)
        _, fitted = fit_maps(responses, np.arange(len(groups)), 2, rng)
        scores = efficient_scores(responses, fitted, groups, 2, rng)
        found = sign_flip_test(scores, _N_FLIPS, rng)
        every = np.ones(study.n_objects, dtype=bool)
        of_objects = step_down(responses, fitted, groups, scores, every, _N_FLIPS, 0.05, rng)
        moved = np.zeros(study.n_objects, dtype=bool)
        moved[chosen] = study.moved_by > 0
        _found[key] = Found(found.p_value, of_objects, moved)
    return _found[key]


def differ(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return whether the test of groups rejects."""
    return Outcome(int(test_study(rng, study).p_value <= 0.05))


def unmoved_found(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return whether any object that was not moved is called displaced."""
    found = test_study(rng, study)
    return Outcome(int((found.object_p_values[~found.moved] <= 0.05).any()))


def moved_found(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return how many of the objects that were moved are called displaced."""
    found = test_study(rng, study)
    return Outcome(int((found.object_p_values[found.moved] <= 0.05).sum()), int(found.moved.sum()))


def displacements_of(rng: np.random.Generator, study: TwoGroups) -> tuple[Displacements, FloatArray, NDArray[np.intp]]:
    """Return displacements in a study, for a bound as long as that of the first object that was moved, and the truth.

    Lengths are shares of the spread; the third are the objects that were moved.
    """
    comparisons, groups, maps, moved = study.draw(rng)
    responses = Responses.of(comparisons)
    common = fit_common(responses, fit_dimensions(responses, 6, rng)[study.n_components], 3).principal()
    spread = float(np.sqrt(np.square(common.points).sum(axis=1).mean()))
    apart = align(maps[1], common.points) - align(maps[0], common.points)
    true = np.linalg.norm(apart, axis=1) / spread
    bound = float(true[moved[0]]) if study.moved_by > 0 else BOUND
    first, second = (group_map(responses.subset(groups == g), common) for g in (0, 1))
    every = np.ones(study.n_objects, dtype=bool)
    return displacements(first, second, spread, bound, 0.95, every), true, moved


def held(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return how many intervals of displacements hold the truth."""
    found, true, _ = displacements_of(rng, study)
    return Outcome(int(((found.lows <= true) & (true <= found.highs)).sum()), int(np.isfinite(found.lows).sum()))


def called_less(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return whether a displacement as long as the bound is called less; where none is, how many objects are."""
    found, true, moved = displacements_of(rng, study)
    called = found.equivalence_p_values <= 0.05
    if study.moved_by > 0:
        return Outcome(int(called[moved[0]]))
    return Outcome(int(called.sum()), len(true))


def verdict_is(rng: np.random.Generator, study: TwoGroups, verdicts: tuple[str, ...]) -> Outcome:
    """Return whether the verdict is one of several."""
    comparisons, groups, _, _ = study.draw(rng)
    found = compare_groups(comparisons, groups, n_components=2, n_permutations=_N_FLIPS, random_state=rng)
    return Outcome(int(found.verdict in verdicts))


TITLE = "Groups of people"
ABOUT = """
`compare_groups` and `nearer compare --by` test whether groups of people differ, at 5%, and which objects are displaced
(an object that stayed is called displaced in at most 5% of studies where none was moved). Unless stated otherwise 30
and 30 people answer 100 random triplets each about 12 objects in two dimensions, with lapse rates from 0 to 30%.
*Effort*: 8 people give 400 answers each, 40 people 20 each. *Steepness*: one group is close to guessing, the other
hardly ever errs. *5-D*: maps are asked for in two dimensions, but objects lie in five; groups have lists of 150
questions each, or of 60 with none in common. *Own maps*: each person sees every object, or those of a third of the
objects, about half of the spread from where the group does.

*Intervals* of displacements are of 95%, each for one object; where nothing is displaced their low end is 0 in 97.5%,
and nothing else can be missed. *Equivalence*: the bound is the length of the displacement
of one object, or a quarter of the spread where no object is displaced. *Verdicts* take 30 and 30 people; of weights of
dimensions there are some where one axis is 1.6 times as long in the second group.
"""
_SMALL = {"n_objects": 12}
_NULL = {
    "effort": TwoGroups(12, sizes=(8, 40), n_answers=(400, 20)),
    "steepness": TwoGroups(12, steepness=(0.4, 5.0)),
    "5-D, different lists": TwoGroups(12, 5, questions="lists"),
    "5-D, disjoint lists": TwoGroups(12, 5, questions="disjoint lists", n_questions=60),
    "10 and 10 people, 80 answers": TwoGroups(12, sizes=(10, 10), n_answers=(80, 80)),
    "own maps": TwoGroups(12, own=0.5),
    "own maps of a third of the objects": TwoGroups(12, own=0.5, own_share=1 / 3),
    "30 and 30 people": TwoGroups(12),
    "30 objects": TwoGroups(30),
}
_MOVED = {
    "30 objects, 10 moved by .5": TwoGroups(30, moved_by=0.5),
    "30 objects, one moved by .5": TwoGroups(30, moved_by=0.5, n_moved=1),
    "4 moved by .12": TwoGroups(12, moved_by=0.12),
    "own maps, 4 moved by .5": TwoGroups(12, moved_by=0.5, own=0.5),
}
_DISPLACED = {
    "4 moved by .5, 20 and 20 people, 80 answers": TwoGroups(12, sizes=(20, 20), n_answers=(80, 80), moved_by=0.5),
    "4 moved by .5, own maps, 10 and 10 people": TwoGroups(
        12, sizes=(10, 10), n_answers=(80, 80), moved_by=0.5, own=0.5
    ),
    "4 moved by .5, own maps, 5 and 25 people": TwoGroups(12, sizes=(5, 25), n_answers=(80, 80), moved_by=0.5, own=0.5),
    "4 moved by .5, effort": TwoGroups(12, sizes=(8, 40), n_answers=(400, 20), moved_by=0.5),
}
_AT_BOUND = {
    "30 and 30 people": TwoGroups(12, moved_by=0.3, n_moved=1),
    "own maps": TwoGroups(12, moved_by=0.5, n_moved=1, own=0.5),
    "10 and 10 people, 80 answers": TwoGroups(12, sizes=(10, 10), n_answers=(80, 80), moved_by=0.3, n_moved=1),
}
_VERDICTS: tuple[tuple[str, TwoGroups, tuple[str, ...], Literal["size", "power"], float], ...] = (
    ("no difference", TwoGroups(12), ("different", "weights"), "size", 0.05),
    ("4 moved by .3", TwoGroups(12, moved_by=0.3), ("different",), "power", 1.0),
    ("4 moved by .3", TwoGroups(12, moved_by=0.3), ("weights",), "size", 0.05),
    ("one axis longer", TwoGroups(12, stretched=1.6), ("weights",), "power", 1.0),
    ("one axis longer", TwoGroups(12, stretched=1.6), ("different",), "size", 0.05),
)
_LEAST_POWER = {
    "30 objects, 10 moved by .5": (0.98, 0.65),
    "30 objects, one moved by .5": (0.0, 0.0),
    "4 moved by .12": (0.65, 0.0),
}


def _of_moved(
    least: float, least_found: float
) -> list[tuple[str, Literal["size", "power"], Callable[..., Outcome], float, float]]:
    """Return the rates of studies in which objects were moved: name, kind, simulation, and range."""
    return [
        ("groups differ", "power", differ, least, 1.0),
        ("an object that stayed is displaced", "size", unmoved_found, 0.0, 0.1),
        ("an object that was moved is displaced", "power", moved_found, least_found, 1.0),
    ]


def _rates() -> list[Rate]:
    """Return all rates."""
    found = []
    for name, study in _NULL.items():
        for inference, simulate in (("groups differ", differ), ("an object that stayed is displaced", unmoved_found)):
            world = f"no difference; {name}"
            found.append(
                Rate(
                    inference,
                    world,
                    "size",
                    partial(simulate, study=study),
                    300,
                    0.03,
                    0.075,
                    studies=f"groups, {name}",
                )
            )
    for name, study in _MOVED.items():
        world, least = f"moved; {name}", _LEAST_POWER.get(name, (0.0, 0.0))
        found += [
            Rate(inference, world, kind, partial(simulate, study=study), 300, low, high, studies=f"groups, {name}")
            for inference, kind, simulate, low, high in _of_moved(*least)
        ]
    intervals = _DISPLACED | {name: _NULL[name] for name in ("30 and 30 people", "10 and 10 people, 80 answers")}
    found += [
        Rate("intervals of displacements", world, "coverage", partial(held, study=study), 150, 0.92, 0.98)
        for world, study in intervals.items()
    ]
    found += [
        Rate(
            "a displacement is called less than the bound", f"as long as the bound; {name}", "size",
            partial(called_less, study=study), 300, 0.0, 0.05,
        )
        for name, study in _AT_BOUND.items()
    ]  # fmt: skip
    found += [
        Rate(
            "a displacement is called less than the bound", f"no difference; {name}", "power",
            partial(called_less, study=_NULL[name]), 100,
        )
        for name in ("30 and 30 people", "10 and 10 people, 80 answers", "own maps")
    ]  # fmt: skip
    for name, study, verdicts, kind, most in _VERDICTS:
        simulate = partial(verdict_is, study=study, verdicts=verdicts)
        found.append(Rate("verdict", f"{name}: {' or '.join(verdicts)}", kind, simulate, 60, 0.0, most))
    return found


RATES = _rates()
