"""Trials that are recovered from their comparisons, against the io code that makes comparisons of trials."""

from itertools import permutations

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.choices import Choices, ItemTrials, PairTrials
from nearer.datasets import make_gaussian, sample_triplets


def rows_of(items, *, central=False):
    """The comparisons that follow from naming the last item, written out one by one."""
    *others, named = items
    return [(a, named, b) if central else (a, b, named) for a, b in permutations(others, 2)]


def trials_of(sizes, rng, *, central=False, n=12):
    return [tuple(rng.permutation(n)[:size].tolist()) for size in sizes]


def as_set(part):
    return sorted((tuple(sorted(row[:-1])), row[-1]) for row in part.items.tolist())


@pytest.mark.parametrize("central", [False, True])
def test_trials_of_three_to_five_items_come_back(central):
    rng = np.random.default_rng(0)
    asked = trials_of([3, 4, 3, 5, 4, 3], rng)
    rows = [(number, row) for number, items in enumerate(asked) for row in rows_of(items, central=central)]
    order = rng.permutation(len(rows))
    trials, table = zip(*(rows[k] for k in order), strict=True)
    choices = Choices.of(Comparisons.from_triplets(table, trials=trials, n_objects=12))
    assert all(isinstance(part, ItemTrials) and part.central is central for part in choices.parts)
    found = {part.items.shape[1]: as_set(part) for part in choices.parts}
    expected = {k: sorted((tuple(sorted(i[:-1])), i[-1]) for i in asked if len(i) == k) for k in (3, 4, 5)}
    assert found == expected
    assert choices.total_weight == choices.n_answers == 6
    assert sorted(np.concatenate([part.trials for part in choices.parts]).tolist()) == list(range(6))


def test_answers_of_minus_one_turn_rows():
    written = [(0, 2, 1), (1, 2, 0)]
    choices = Choices.of(Comparisons.from_triplets(written, y=[-1, -1], trials=[7, 7]))
    (part,) = choices.parts
    np.testing.assert_array_equal(part.items, [[0, 1, 2]])


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 1, 2), (1, 2, 0)],  # two odd ones
        [(0, 1, 2), (0, 1, 2)],  # one row twice
        [(0, 1, 2), (3, 1, 2)],  # four items, and not all pairs
        [(0, 1, 2)],
        [(0, 1, 2), (1, 0, 2), (0, 3, 2)],
    ],
)
def test_other_rows_are_comparisons_of_two_pairs(rows):
    choices = Choices.of(Comparisons.from_triplets(rows, trials=[0] * len(rows), n_objects=4))
    (part,) = choices.parts
    assert isinstance(part, PairTrials)
    np.testing.assert_array_equal(part.objects, rows)
    assert choices.total_weight == pytest.approx(1)  # one trial is one answer


def test_quadruplets_and_rows_without_trials_stay_as_they_are():
    plain = sample_triplets(make_gaussian(10, 2, random_state=0), 50, random_state=0)
    (part,) = Choices.of(plain).parts
    np.testing.assert_array_equal(part.objects, plain.rows)
    quadruplets = Comparisons.from_quadruplets([(0, 1, 2, 3), (1, 2, 0, 3)], y=[1, -1], weights=[2, 0], trials=[0, 0])
    (part,) = Choices.of(quadruplets).parts
    np.testing.assert_array_equal(part.objects, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(part.weights, [2])


def test_weights_say_how_many_answers_a_trial_is():
    rows = [row for items in [(0, 1, 2), (1, 2, 3), (0, 2, 3)] for row in rows_of(items)]
    comparisons = Comparisons.from_triplets(rows, trials=np.repeat([0, 1, 2], 2), weights=[0.5, 0.5, 1, 1, 2, 2])
    (part,) = Choices.of(comparisons).parts
    np.testing.assert_array_equal(part.weights, [1, 1, 2])


def test_equal_labels_of_different_people_are_different_trials():
    rows = rows_of((0, 1, 2)) + rows_of((0, 1, 3))
    comparisons = Comparisons.from_triplets(rows, trials=[1] * 4, annotators=["a", "a", "b", "b"])
    choices = Choices.of(comparisons)
    assert as_set(choices.parts[0]) == [((0, 1), 2), ((0, 1), 3)]


def test_samples_and_parts_keep_trials_whole():
    rng = np.random.default_rng(1)
    rows = [row for items in trials_of([3] * 40, rng) for row in rows_of(items)]
    choices = Choices.of(Comparisons.from_triplets(rows, trials=np.repeat(np.arange(40), 2), n_objects=12))
    assert choices.sample(15, rng).n_answers == 15
    first = np.arange(40) < 10
    assert as_set(choices.take(first).parts[0]) == sorted(
        (tuple(sorted(row[:-1])), row[-1]) for row in choices.parts[0].items[:10].tolist()
    )
