"""Studies of two groups of people, with and without a difference: how often the test says that there is one.

Objects are drawn from a normal distribution. In the second group a third of them may be moved, each by half of the
spread (the root mean square distance from the centre) in a direction of its own. People answer triplets with logistic
noise, lapse at rates of their own, and may each see a map that is a little their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.comparing.group_models import Responses
from nearer.comparing.group_tests import Blocks, efficient_scores, permutation_test
from nearer.comparing.groups import common_map
from nearer.data.comparisons import Comparisons
from nearer.evaluation.intervals import wilson_interval


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
