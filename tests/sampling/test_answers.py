"""Answers as the model takes them: different comparisons, their weights, trials, and people."""

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.io import read_answers
from nearer.sampling.answers import Answers, answers_of
from nearer.sampling.model import times_asked


def quadruplets(kind="quadruplets", n=7, m=60, seed=0):
    return random_quadruplets(np.random.default_rng(seed), n, m, kind)


def said(rows, weights, people):
    """What is said with which weight: a mapping from (near pair, far pair, person), unordered pairs."""
    found = {}
    for (i, j, l, k), weight, person in zip(rows.tolist(), weights, people, strict=True):  # noqa: E741
        key = (frozenset((i, j)), frozenset((l, k)), person)
        found[key] = found.get(key, 0.0) + weight
    return found


def same_bits(one, other):
    for name in ("pairs", "rows", "weights", "people", "n_people"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("n_people", [0, 4])
def test_answers_say_what_was_said(kind, n_people):
    rng = np.random.default_rng(1)
    rows, weights, y = quadruplets(kind), rng.uniform(0.1, 2, 60), rng.choice([-1, 1], 60)
    people = rng.integers(max(n_people, 1), size=60)
    turned = np.where(y[:, None] < 0, rows[:, [2, 3, 0, 1]], rows)
    names = np.array(["ann", "bob", "eve", "zoe"])[people] if n_people else None
    found = answers_of(Comparisons.from_quadruplets(rows, y, weights=weights, annotators=names))
    expected = said(turned, weights, people.tolist())
    given = said(found.quadruplets, found.weights, found.people.tolist())
    assert expected.keys() == given.keys()
    assert len(found) == len(given)
    assert all(given[key] == pytest.approx(expected[key]) for key in expected)
    assert found.n_people == n_people
    assert {array.dtype for array in (found.pairs, found.rows, found.people)} == {np.dtype(np.int32)}


def test_rows_are_in_the_order_of_people_and_pairs_are_those_that_are_compared(kind):
    rows = quadruplets(kind)
    names = np.random.default_rng(0).choice(["ann", "bob", "eve"], 60)
    found = answers_of(Comparisons.from_quadruplets(rows, annotators=names, n_objects=50))
    assert (np.diff(found.people) >= 0).all()
    assert np.unique(found.people).tolist() == [0, 1, 2]
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    compared = {frozenset(pair) for pair in rows.reshape(-1, 2).tolist()}
    assert [frozenset(pair) for pair in found.pairs.tolist()] == sorted(compared, key=sorted)
    assert np.unique(found.rows).tolist() == list(range(len(compared)))


def test_one_person_alone_is_not_told_apart_nor_are_people_whom_nobody_asked_for():
    rows = quadruplets()
    alone = answers_of(Comparisons.from_quadruplets(rows, annotators=["ann"] * 60))
    same_bits(alone, answers_of(Comparisons.from_quadruplets(rows)))
    several = Comparisons.from_quadruplets(rows, annotators=["ann", "bob"] * 30)
    same_bits(answers_of(several, people=False), alone)
    assert answers_of(several).n_people == 2
    # Someone whose answers have no weight is nobody.
    silent = Comparisons.from_quadruplets(rows, annotators=["ann"] * 59 + ["bob"], weights=np.r_[np.ones(59), 0])
    assert answers_of(silent).n_people == 0


def test_the_same_answer_of_two_people_stays_two_rows():
    twice = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 1, 2]], annotators=["bob", "ann", "bob"])
    found = answers_of(twice)
    assert found.quadruplets.tolist() == [[0, 1, 0, 2]] * 2
    assert (found.weights.tolist(), found.people.tolist()) == ([1.0, 2.0], [0, 1])


def test_triplets_and_quadruplets_that_say_the_same_are_the_same_whatever_the_order_in_the_pairs():
    rows = quadruplets("triplets")
    rng = np.random.default_rng(2)
    for columns in ([0, 1], [2, 3]):
        turn = rng.random(60) < 0.5
        rows[np.ix_(turn, columns)] = rows[np.ix_(turn, columns[::-1])]
    plain = answers_of(Comparisons.from_triplets(quadruplets("triplets")[:, [0, 1, 3]]))
    same_bits(answers_of(Comparisons.from_quadruplets(rows)), plain)


@pytest.mark.parametrize("n_people", [0, 3])
def test_order_answers_and_repetitions_are_the_same_model_to_the_last_bit(kind, n_people):
    rng = np.random.default_rng(3)
    rows = quadruplets(kind)
    weights, names = rng.uniform(0.1, 2, 60), rng.integers(max(n_people, 1), size=60)
    rows[40:], names[40:] = rows[:20], names[:20]  # said more than once: the sum of weights depends on the order
    rows[30:40], names[30:40] = rows[:10], names[:10]
    plain = answers_of(Comparisons.from_quadruplets(rows, weights=weights, annotators=names))
    order, flip = rng.permutation(60), rng.random(60) < 0.5
    turned = np.where(flip[:, None], rows[:, [2, 3, 0, 1]], rows)[order]
    said = {"weights": weights[order], "annotators": names[order]}
    same_bits(answers_of(Comparisons.from_quadruplets(turned, ~flip[order], **said)), plain)
    doubled = answers_of(
        Comparisons.from_quadruplets(np.tile(rows, (2, 1)), weights=np.tile(weights, 2), annotators=np.tile(names, 2))
    )
    np.testing.assert_array_equal(doubled.rows, plain.rows)
    np.testing.assert_allclose(doubled.weights, 2 * plain.weights, rtol=1e-15)


def test_a_repeated_row_and_a_row_of_weight_two_are_the_same_to_the_last_bit(kind):
    rows = np.unique(quadruplets(kind), axis=0)
    names, counts = np.arange(len(rows)) % 3, np.arange(len(rows)) % 4 + 1
    repeated = Comparisons.from_quadruplets(np.repeat(rows, counts, axis=0), annotators=np.repeat(names, counts))
    same_bits(answers_of(repeated), answers_of(Comparisons.from_quadruplets(rows, weights=counts, annotators=names)))


def test_contradictions_stay_two_rows():
    found = answers_of(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 2, 1]]))
    assert found.quadruplets.tolist() == [[0, 1, 0, 2], [0, 2, 0, 1]]
    assert found.weights.tolist() == [1.0, 2.0]


def test_rows_of_one_trial_share_their_weight():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]
    found = answers_of(Comparisons.from_triplets(rows, trials=["a", "a", "a", "b", "c"]))
    assert found.quadruplets[:, [0, 1, 3]].tolist() == rows
    np.testing.assert_allclose(found.weights, [3**-0.4] * 3 + [1, 1])
    doubled = answers_of(Comparisons.from_triplets(rows, trials=[1, 1, 1, 2, 3], weights=[2.0] * 5))
    np.testing.assert_allclose(doubled.weights, 2 * found.weights)


def test_an_answer_weighs_the_same_whether_or_not_weights_divide_it_among_its_rows():
    rows, trials = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3]], ["a", "a", "a", "b"]
    plain = Comparisons.from_triplets(rows, trials=trials)
    shared = Comparisons.from_triplets(rows, trials=trials, weights=[1 / 3] * 3 + [1])
    halved = Comparisons.from_triplets(rows, trials=trials, weights=[1 / 6] * 3 + [1 / 2])
    np.testing.assert_allclose(answers_of(shared).total_weights, answers_of(plain).total_weights)
    np.testing.assert_allclose(answers_of(halved).total_weights, answers_of(plain).total_weights / 2)
    np.testing.assert_allclose(times_asked(shared), [2, 1, 2, 2, 1])


def test_a_grid_weighs_the_same_in_memory_as_from_a_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,shown,chosen\na,b;c;d;e,b;c\nb,a;c;d;f,f;a\n")
    read = read_answers(path, kind="grid").comparisons
    plain = Comparisons.from_triplets(read.objects[read.rows], trials=read.trials)
    assert read.weights is not None
    np.testing.assert_allclose(answers_of(read).total_weights, answers_of(plain).total_weights)


def test_a_row_of_weight_zero_is_no_row_of_its_trial_either():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    found = answers_of(Comparisons.from_triplets(rows, trials=["a"] * 3, weights=[1, 1, 0]))
    assert found.quadruplets[:, [0, 1, 3]].tolist() == rows[:2]
    np.testing.assert_allclose(found.weights, 2**-0.4)


def test_trials_may_have_any_label():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    found = answers_of(Comparisons.from_triplets(rows, trials=[("a", 1), ("a", 1), 7]))
    np.testing.assert_allclose(found.weights, [2**-0.4, 2**-0.4, 1])


def test_no_answers_are_no_answers():
    none = Answers.none()
    assert (len(none), none.n_people, none.quadruplets.shape, none.total_weights.shape) == (0, 0, (0, 4), (0,))


def test_weights_that_are_all_one_are_left_out_and_counted_all_the_same():
    found = answers_of(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]]))
    assert found.weights.size == 0
    assert found.total_weights.tolist() == [1.0, 1.0]
