"""Groups of people: displacements of objects, of `nearer.comparing.compare_groups`."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.groups import TwoGroups
from benchmarks.validity.rates import Outcome, Rate
from nearer.comparing.group_models import Responses, fit_groups
from nearer.comparing.group_tests import Blocks, displacements, efficient_scores, permutation_test
from nearer.comparing.groups import LOOSE_DEPARTURE, common_map
from nearer.geometry import align

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
        kind, n_runs, most = ("size", 400, 0.07) if is_null else ("power", 60, 1.0)
        displaced = partial(of_objects, study=study, count="displaced")
        found += [
            Rate("groups differ", name, kind, partial(differ, study=study), n_runs, 0.0, most),
            Rate("any object is displaced", name, kind, displaced, n_runs, 0.0, most),
        ]
        held = partial(of_objects, study=study, count="held")
        found.append(Rate("all intervals of displacements", name, "coverage", held, 200, 0.92))
    return found


RATES = _rates()
