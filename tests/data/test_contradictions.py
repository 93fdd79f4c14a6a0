import numpy as np

from nearer import Comparisons
from nearer.data.groups import is_tied


def test_torn_rows_are_those_whose_opposite_is_in_the_same_trial_of_the_same_person():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(5)[:4] for _ in range(400)])
    rows = np.where(rng.random((400, 1)) < 0.5, rows, np.sort(rows, axis=1))
    y, trials, people = rng.choice([-1, 1], 400), rng.integers(8, size=400), rng.choice(["a", "b"], 400)
    comparisons = Comparisons.from_quadruplets(rows, y, trials=trials, annotators=people)
    pairs = [(frozenset(row[:2]), frozenset(row[2:])) for row in comparisons.oriented.tolist()]
    said = set(zip(trials, people, pairs, strict=True))
    expected = [(trial, person, pair[::-1]) in said for trial, person, pair in zip(trials, people, pairs, strict=True)]
    assert 50 < sum(expected) < 350
    assert is_tied(comparisons).tolist() == expected


def test_without_trials_every_row_is_an_answer():
    assert not is_tied(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]])).any()
