"""What stands where is balanced within lists and over them."""

import numpy as np
import pytest

from nearer.design.lists.sides import Showing, balanced_places


def drawn(n_objects, n_questions, n_places, n_lists, rng):
    rows = np.array([rng.permutation(n_objects)[:n_places] for _ in range(n_questions * n_lists)])
    return rows, np.repeat(np.arange(n_lists), n_questions)


def counts_of(placed, lists, n_objects):
    counts = np.zeros((lists.max() + 1, n_objects, placed.shape[1]), int)
    for row, which in zip(placed, lists, strict=True):
        counts[which, row, np.arange(len(row))] += 1
    return counts


@pytest.mark.parametrize(
    ("n_objects", "n_questions", "n_places", "n_lists"), [(20, 60, 2, 4), (15, 60, 3, 2), (30, 40, 8, 1)]
)
def test_each_object_is_in_each_place_about_equally_often(n_objects, n_questions, n_places, n_lists):
    rng = np.random.default_rng(0)
    rows, lists = drawn(n_objects, n_questions, n_places, n_lists, rng)
    placed = balanced_places(rows, [[Showing(int(at))] for at in lists], n_objects, rng)
    assert (np.sort(placed) == np.sort(rows)).all()
    counts = counts_of(placed, lists, n_objects)
    assert np.ptp(counts, axis=2).max() <= 2
    assert np.ptp(counts.sum(axis=0), axis=1).max() <= 4
    by_chance = np.ptp(counts_of(rng.permuted(rows, axis=1), lists, n_objects), axis=2).max()
    assert by_chance > 2


def test_a_second_showing_counts_with_its_sides_swapped():
    """Shown twice with sides swapped, every object is left as often as right, whatever the first places are."""
    rng = np.random.default_rng(1)
    rows, _ = drawn(9, 25, 2, 1, rng)
    placed = balanced_places(rows, [[Showing(0), Showing(1, 1)]] * len(rows), 9, rng)
    both = np.concatenate([placed, np.roll(placed, 1, axis=1)])
    assert np.ptp(counts_of(both, np.zeros(50, int), 9)[0], axis=1).max() == 0


def test_right_answers_are_spread_over_the_places():
    rng = np.random.default_rng(2)
    rows, _ = drawn(12, 40, 2, 1, rng)
    right = [int(row[0]) if at < 8 else -1 for at, row in enumerate(rows)]
    placed = balanced_places(rows, [[Showing(0)]] * 40, 12, rng, right)
    assert sum(placed[at, 0] == right[at] for at in range(8)) == 4
