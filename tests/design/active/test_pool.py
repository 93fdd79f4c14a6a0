"""Forms of questions, and which may be asked."""

from math import comb

import numpy as np
import pytest

from nearer.design.active.pool import Pool, form_of
from nearer.sampling.model import TRIAL_EXPONENT, Draws
from nearer.sampling.summaries import predictive_probability

KINDS = ["triplet", "odd-one-out", "most-central", "2 of 5"]


def some_draws(n_draws=6, n_objects=9, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_draws, n_objects, 2))
    return Draws(points, rng.uniform(1, 4, n_draws), rng.uniform(0.1, 1, n_draws), rng.uniform(0, 0.2, n_draws))


def some_questions(form, count=20, n_objects=9, seed=1):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_objects)[: form.width] for _ in range(count)])


@pytest.mark.parametrize("kind", KINDS)
def test_answer_probabilities_are_those_of_their_comparisons(kind):
    form, draws = form_of(kind), some_draws()
    questions = some_questions(form)
    found = form.probabilities(draws, questions)
    assert found.shape == (len(draws), len(questions), form.n_answers)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    for number, question in enumerate(questions[:5]):
        for k in range(len(draws)):
            held = [predictive_probability(draws.one(k), form.comparisons(question, a)) for a in range(form.n_answers)]
            likely = np.array([np.prod(each ** (len(each) ** -TRIAL_EXPONENT)) for each in held])
            np.testing.assert_allclose(found[k, number], likely / likely.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_of_an_answer_is_that_of_its_question(kind):
    form = form_of(kind)
    questions = some_questions(form)
    for question, key in zip(questions, form.keys(questions), strict=True):
        for answer in range(form.n_answers):
            assert form.key_of(form.comparisons(question, answer)) == key


def test_keys_ignore_the_order_of_options():
    first, second = form_of("triplet").keys(np.array([[4, 1, 2], [4, 2, 1]]))
    assert first == second
    other, same = form_of("odd-one-out").keys(np.array([[4, 1, 2], [2, 4, 1]]))
    assert other == same


def test_comparisons_of_odd_one_out_and_most_central():
    form = form_of("odd-one-out")
    assert form.comparisons(np.array([7, 8, 9]), 0).tolist() == [[8, 9, 8, 7], [8, 9, 9, 7]]
    assert form_of("most-central").comparisons(np.array([7, 8, 9]), 0).tolist() == [[7, 8, 8, 9], [7, 9, 8, 9]]


@pytest.mark.parametrize("kind", ["pairs", "3 of 2", "0 of 4", "9 of 20", "2 of 30"])
def test_unknown_forms_are_rejected(kind):
    with pytest.raises(ValueError, match="of"):
        form_of(kind)


TRIPLET, ODD = form_of("triplet"), form_of("odd-one-out")


def keys_of(pool, count, rng):
    return set(pool.form.keys(pool.draw(count, rng)))


@pytest.mark.parametrize(("form", "expected"), [(TRIPLET, 6 * comb(5, 2)), (ODD, comb(6, 3)), (form_of("2 of 4"), 30)])
def test_the_size_of_a_pool_is_the_number_of_distinct_questions(form, expected, rng):
    pool = Pool(form, 6)
    assert pool.size == expected == len(keys_of(pool, 4000, rng))
    everything = pool.draw_new(pool.size, rng, ())
    assert len(set(form.keys(everything))) == expected
    assert len(pool.draw_new(3, rng, form.keys(everything))) == 0


def test_groups_kept_apart(rng):
    pool = Pool(TRIPLET, 7, apart=[[0, 1, 2], [3, 4]])
    found = keys_of(pool, 6000, rng)
    for group in ({0, 1, 2}, {3, 4}):
        assert all(len(group & set(key)) < 2 for key in found)
    assert len(found) == pool.size
    assert (0, 3, 5) in pool
    assert (0, 1, 5) not in pool


def test_each_question_is_as_likely_as_any_other(rng):
    pool = Pool(TRIPLET, 5, apart=[[0, 1]])
    keys = pool.form.keys(pool.draw(21_000, rng))
    counts = np.unique(np.array(keys), axis=0, return_counts=True)[1]
    assert len(counts) == 21
    assert (counts.min() > 850) & (counts.max() < 1150)


def test_allowed_questions_are_drawn_in_either_order(rng):
    allowed = np.array([[0, 1, 2], [0, 2, 1], [3, 1, 2]])
    pool = Pool(TRIPLET, 4, allowed)
    assert pool.size == 2
    assert {tuple(row) for row in pool.draw(200, rng).tolist()} == {(0, 1, 2), (0, 2, 1), (3, 1, 2), (3, 2, 1)}
    assert len(pool.draw_new(5, rng, [(0, 1, 2)])) == 1
    assert (1, 0, 2) not in pool


def test_objects_that_came_up_less_often_come_first(rng):
    pool = Pool(TRIPLET, 12)
    times = np.where(np.arange(12) < 4, 0.0, 10.0)
    drawn = pool.draw_new(8, rng, (), times)
    assert np.bincount(drawn.ravel(), minlength=12)[:4].sum() >= 11  # 8 if all came as often
    spread = pool.draw_new(60, rng, (), np.zeros(12))
    counts = np.bincount(spread.ravel(), minlength=12)
    assert counts.max() - counts.min() <= 4


def test_questions_about_one_object(rng):
    drawn = Pool(TRIPLET, 30).draw_new(10, rng, (), np.zeros(30), about=17)
    assert len(drawn) == 10
    assert (drawn == 17).any(axis=1).all()


@pytest.mark.parametrize("arguments", [(TRIPLET, 2), (TRIPLET, 4, None, [[0, 1], [2, 3]]), (form_of("2 of 8"), 8)])
def test_pools_without_a_question(arguments):
    with pytest.raises(ValueError, match="no question is left"):
        Pool(*arguments)


def test_an_object_in_two_groups():
    with pytest.raises(ValueError, match="two groups"):
        Pool(TRIPLET, 6, apart=[[0, 1], [1, 2]])
