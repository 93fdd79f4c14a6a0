"""Groups of people: displacements of objects, of `nearer.comparing.compare_groups`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.arrays import FloatArray
from nearer.comparing.group_models import Responses, fit_groups
from nearer.comparing.group_tests import LOOSE_DEPARTURE, Blocks, displacements, efficient_scores, permutation_test
from nearer.comparing.groups import common_map
from nearer.data.comparisons import Comparisons
from nearer.evaluation.intervals import wilson_interval
from nearer.geometry import align


@dataclass(frozen=True)
class TwoGroups:
    """How studies are made.

    Parameters
    ----------
    n_objects, n_components : int
    sizes : pair of int
        People in each group.
    n_answers : int
        Of each person.
    moved_by : float
        How far a third of the objects are moved in the second group, as a share of the spread.
    own : float
        How far each object is from where the group has it in the eyes of each person, as a share of the spread.
    steepness : float
        Of the logistic noise, on maps whose mean squared coordinate is 1.
    lapses : pair of float
        Highest lapse rates in the groups; those of people are uniform between 0 and these.
    """

    n_objects: int = 30
    n_components: int = 2
    sizes: tuple[int, int] = (30, 30)
    n_answers: int = 100
    moved_by: float = 0.0
    own: float = 0.0
    steepness: float = 1.5
    lapses: tuple[float, float] = (0.3, 0.3)

    def draw(self, rng: np.random.Generator) -> tuple[Comparisons, NDArray[np.intp], FloatArray, NDArray[np.intp]]:
        """Return comparisons, the group of each, the true maps of both groups, (2, n, p), and who was moved."""
        n, p = self.n_objects, self.n_components
        points = rng.standard_normal((n, p))
        points -= points.mean(axis=0)
        points /= np.sqrt(np.square(points).mean())
        spread = np.sqrt(p)  # root mean square distance from the centre
        moved = rng.choice(n, n // 3, replace=False)
        away = rng.standard_normal((len(moved), p))
        maps = np.stack([points, points])
        maps[1, moved] += self.moved_by * spread * away / np.linalg.norm(away, axis=1, keepdims=True)
        group = np.repeat([0, 1], self.sizes)
        rows, people = [], []
        for person, g in enumerate(group):
            seen = maps[g] + self.own * spread / np.sqrt(p) * rng.standard_normal((n, p))
            asked = rng.random((self.n_answers, n)).argsort(axis=1)[:, :3]
            near, far = (np.square(seen[asked[:, 0]] - seen[asked[:, k]]).sum(axis=1) for k in (1, 2))
            lapse = rng.uniform(0, self.lapses[g])
            chance = lapse / 2 + (1 - lapse) * expit(self.steepness * (far - near))
            other = rng.random(self.n_answers) >= chance
            asked[other] = asked[other][:, [0, 2, 1]]
            rows.append(asked)
            people.append(np.full(self.n_answers, person))
        numbers = np.concatenate(people)
        comparisons = Comparisons.from_triplets(np.concatenate(rows), annotators=numbers, n_objects=n)
        return comparisons, group[numbers], maps, moved


def p_value(study: TwoGroups, seed: int, n_permutations: int = 999) -> tuple[float, int, int]:
    """Return the p-value of one study, and how many objects that were moved, and were not, are called moved."""
    rng = np.random.default_rng(seed)
    comparisons, groups, _, moved = study.draw(rng)
    blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
    scores = efficient_scores(Responses.of(comparisons), common_map(comparisons, study.n_components), blocks)
    found = permutation_test(scores, blocks, n_permutations, rng)
    sure = found.object_p_values <= 0.05
    truly = np.zeros(study.n_objects, dtype=bool)
    truly[moved] = study.moved_by > 0
    return found.p_value, int(sure[truly].sum()), int(sure[~truly].sum())


STUDIES = {
    "no difference": TwoGroups(),
    "no difference, people have maps of their own": TwoGroups(own=0.5),
    "no difference, 15 objects, 20 people": TwoGroups(15, sizes=(10, 10)),
    "no difference, 10 and 50 people": TwoGroups(sizes=(10, 50)),
    "no difference but in noise": TwoGroups(lapses=(0.1, 0.8)),
    "no difference but in noise, 10 noisy and 50 people": TwoGroups(sizes=(10, 50), lapses=(0.8, 0.1)),
    "no difference but in noise, 10 quiet and 50 people": TwoGroups(sizes=(10, 50), lapses=(0.1, 0.8)),
    "no difference but in noise, 5 quiet and 25 people": TwoGroups(15, sizes=(5, 25), lapses=(0.1, 0.8)),
    "moved": TwoGroups(moved_by=0.5),
    "moved, people have maps of their own": TwoGroups(moved_by=0.5, own=0.5),
    "moved, 15 objects, 20 people": TwoGroups(15, sizes=(10, 10), moved_by=0.5),
    "moved, 10 and 50 people": TwoGroups(sizes=(10, 50), moved_by=0.5),
    "moved a little": TwoGroups(moved_by=0.2),
}


def rejections(study: TwoGroups, n_studies: int, seed: int = 0, level: float = 0.05) -> dict[str, Any]:
    """Return how often the test rejects, with its 95% interval, and the p-values.

    Examples
    --------
    >>> small = TwoGroups(8, sizes=(4, 4), n_answers=30)
    >>> found = rejections(small, 2)
    >>> found["n_studies"], len(found["p_values"])
    (2, 2)
    """
    found = [p_value(study, 1000 * seed + number) for number in range(n_studies)]
    p_values = np.array([p for p, _, _ in found])
    share = float((p_values <= level).mean())
    return {
        "n_studies": n_studies,
        "rejects": share,
        "interval": wilson_interval(share, n_studies, 1.96),
        "moved_found": float(np.mean([hits for _, hits, _ in found])),
        "wrongly_called_moved": float(np.mean([wrong > 0 for _, _, wrong in found])),
        "p_values": p_values,
    }


TITLE = "Groups of people"
ABOUT = """
`compare_groups` and `nearer compare --by` test whether groups of people differ, at 5%, and give each object a
displacement from one group to the other, with p-values and 95% intervals for all objects together: coverage is of all
intervals of a study at once. Worlds: 12 objects in two dimensions, 80 triplets from each person, lapse rates of
0 to 30%. *Own maps*: each person sees every object about half of the spread from where the group does, so that people
are no mere copies of their group. *Moved*: four objects lie half of the spread elsewhere in the second group.
"""

_N_PERMUTATIONS = 199
_WORLDS = {
    "no difference, 10 and 10 people": TwoGroups(12, sizes=(10, 10), n_answers=80),
    "no difference, own maps, 10 and 10 people": TwoGroups(12, sizes=(10, 10), n_answers=80, own=0.5),
    "moved, own maps, 10 and 10 people": TwoGroups(12, sizes=(10, 10), n_answers=80, moved_by=0.5, own=0.5),
    "moved, own maps, 5 and 25 people": TwoGroups(12, sizes=(5, 25), n_answers=80, moved_by=0.5, own=0.5),
    "moved, 20 and 20 people": TwoGroups(12, sizes=(20, 20), n_answers=80, moved_by=0.5),
}


def differ(rng: np.random.Generator, study: TwoGroups) -> Outcome:
    """Return whether the test of groups rejects."""
    comparisons, groups, _, _ = study.draw(rng)
    blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
    found = efficient_scores(Responses.of(comparisons), common_map(comparisons, 2), blocks)
    return Outcome(int(permutation_test(found, blocks, _N_PERMUTATIONS, rng).p_value <= 0.05))


def of_objects(rng: np.random.Generator, study: TwoGroups, count: str) -> Outcome:
    """Return whether all intervals hold the truth, or whether an object is called displaced."""
    comparisons, groups, maps, _ = study.draw(rng)
    responses, common = Responses.of(comparisons), common_map(comparisons, 2)
    blocks = Blocks.of(np.asarray(comparisons.annotators, dtype=np.intp), groups, 2)
    found = efficient_scores(responses, common, blocks)
    test = permutation_test(found, blocks, _N_PERMUTATIONS, rng)
    if count == "displaced":
        return Outcome(int((test.object_p_values <= 0.05).any()))
    fitted = [
        align(each.points, common.points)
        for each in fit_groups(responses, common, groups, [common] * 2, LOOSE_DEPARTURE)
    ]
    seen = np.ones(study.n_objects, dtype=bool)
    moves = displacements(found, blocks, test, fitted[1] - fitted[0], 1.0, 0.95, seen)
    true = np.linalg.norm(align(maps[1], common.points) - align(maps[0], common.points), axis=1)
    return Outcome(int(((moves.lows <= true) & (true <= moves.highs)).all()))


def _rates() -> list[Rate]:
    """Return all rates."""
    found = []
    for name, study in _WORLDS.items():
        is_null = study.moved_by == 0
        kind: Literal["size", "power"] = "size" if is_null else "power"
        n_runs, most = (400, 0.07) if is_null else (60, 1.0)
        displaced = partial(of_objects, study=study, count="displaced")
        found += [
            Rate("groups differ", name, kind, partial(differ, study=study), n_runs, 0.0, most),
            Rate("any object is displaced", name, kind, displaced, n_runs, 0.0, most),
        ]
        held = partial(of_objects, study=study, count="held")
        found.append(Rate("all intervals of displacements", name, "coverage", held, 200, 0.92))
    return found


RATES = _rates()
