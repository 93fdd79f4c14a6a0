import numpy as np

from nearer import Comparisons
from nearer.embedding import BestOf, PosteriorEmbedding
from nearer.study.settings import RunSettings


def random_answers(n_objects, m, n_questions=None, n_people=None):
    rng = np.random.default_rng(0)
    rows = rng.integers(n_objects, size=(n_questions or m + m // 2, 3))
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])]
    rows = rows[rng.integers(len(rows), size=m) if n_questions else slice(m)]
    people = None if n_people is None else rng.integers(n_people, size=m)
    return Comparisons.from_triplets(rows, rng.choice([-1, 1], m), n_objects=n_objects, annotators=people)


def test_a_run_samples_the_posterior_by_default():
    settings = RunSettings()
    assert settings.for_answers(random_answers(20, 500)) is settings
    assert isinstance(settings.estimator(None), PosteriorEmbedding)


def test_what_counts_is_how_many_different_answers_there_are_and_not_how_many_rows():
    settings = RunSettings()
    assert settings.for_answers(random_answers(37, 200_000, n_questions=1329)) is settings
    assert settings.for_answers(random_answers(37, 60_000, n_questions=1329, n_people=500)) is settings


def test_where_there_is_too_much_held_out_answers_choose_a_method():
    for answers in (random_answers(10_000, 50_000), random_answers(100, 400_000, n_people=200)):
        large = RunSettings().for_answers(answers)
        assert isinstance(large.estimator(2), BestOf)
        assert not large.chooses_dimension


def test_a_method_that_was_asked_for_stays_whatever_the_size():
    assert RunSettings("posterior").for_answers(random_answers(10_000, 50_000)).method == "posterior"
