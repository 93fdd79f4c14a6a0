"""Ways to ask."""

import numpy as np
import pytest

from nearer.design.active.forms import form_of
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
def test_chances_of_answers_are_those_of_their_comparisons(kind):
    form, draws = form_of(kind), some_draws()
    questions = some_questions(form)
    found = form.chances(draws, questions)
    assert found.shape == (len(draws), len(questions), form.n_answers)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    for number, question in enumerate(questions[:5]):
        for k in range(len(draws)):
            held = [predictive_probability(draws.only(k), form.comparisons(question, a)) for a in range(form.n_answers)]
            likely = np.array([np.prod(each ** (len(each) ** -TRIAL_EXPONENT)) for each in held])
            np.testing.assert_allclose(found[k, number], likely / likely.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_of_an_answer_is_that_of_its_question(kind):
    form = form_of(kind)
    questions = some_questions(form)
    for question, key in zip(questions, form.keys(questions), strict=True):
        for answer in range(form.n_answers):
            assert form.key_of(form.comparisons(question, answer)) == key


def test_the_order_of_the_options_makes_no_other_question():
    first, second = form_of("triplet").keys(np.array([[4, 1, 2], [4, 2, 1]]))
    assert first == second
    other, same = form_of("odd-one-out").keys(np.array([[4, 1, 2], [2, 4, 1]]))
    assert other == same


def test_who_is_the_odd_one_of_three():
    form = form_of("odd-one-out")
    assert form.comparisons(np.array([7, 8, 9]), 0).tolist() == [[8, 9, 8, 7], [8, 9, 9, 7]]
    assert form_of("most-central").comparisons(np.array([7, 8, 9]), 0).tolist() == [[7, 8, 8, 9], [7, 9, 8, 9]]


@pytest.mark.parametrize("kind", ["pairs", "3 of 2", "0 of 4", "9 of 20", "2 of 30"])
def test_forms_that_there_are_not(kind):
    with pytest.raises(ValueError, match="of"):
        form_of(kind)
