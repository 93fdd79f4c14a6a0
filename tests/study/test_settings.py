import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, BestOf, PosteriorEmbedding
from nearer.io import Answers
from nearer.study import study
from nearer.study.settings import RunSettings
from nearer.study.study import fit_study


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
    large = RunSettings().for_answers(random_answers(10_000, 50_000))
    assert isinstance(large.estimator(2), BestOf)
    assert not large.chooses_dimension


def test_many_answers_about_some_objects_are_no_reason_to_leave_the_posterior():
    settings = RunSettings()
    assert settings.for_answers(random_answers(100, 400_000, n_people=200)) is settings


def test_a_note_says_that_another_method_was_chosen(monkeypatch):
    monkeypatch.setattr("nearer.study.settings.MAX_SAMPLED_WORK", 100)
    monkeypatch.setattr("nearer.study.study.ANALYSES", ())
    comparisons = sample_triplets(make_gaussian(8, 2, random_state=0), 150, random_state=1)
    answers = Answers(comparisons, np.arange(150), "triplet", "a.csv", np.arange(2, 152))
    found = fit_study(answers, RunSettings(n_components=2))
    assert isinstance(found.model, BestOf)
    assert [note for note in found.notes if "a posterior of maps would take minutes" in note]
    assert not fit_study(answers, RunSettings("STE", n_components=2)).notes


@pytest.mark.parametrize(("n_least", "kind"), [(151, BestOf), (150, CKL)])
def test_folds_choose_a_method_anew_unless_answers_are_very_many(n_least, kind, monkeypatch):
    judged = []
    monkeypatch.setattr(study, "_MIN_CHOSEN_ONCE", n_least)
    monkeypatch.setattr(study, "ANALYSES", study.ANALYSES[:1])
    monkeypatch.setattr(study, "held_out_error", lambda method, *_, **__: judged.append(type(method)))
    monkeypatch.setattr(BestOf, "_candidates", lambda *_: [CKL(random_state=0)])
    comparisons = sample_triplets(make_gaussian(8, 2, random_state=0), 150, random_state=1)
    answers = Answers(comparisons, np.arange(150), "triplet", "a.csv", np.arange(2, 152))
    study.fit_study(answers, RunSettings("best", n_components=2))
    assert judged == [kind]


def test_a_method_that_was_asked_for_stays_whatever_the_size():
    assert RunSettings("posterior").for_answers(random_answers(10_000, 50_000)).method == "posterior"


def test_held_out_trials_judge_an_approximated_posterior_without_further_fits(monkeypatch):
    monkeypatch.setattr("nearer.embedding.posterior_embedding.MAX_SAMPLED_WORK", 100)
    monkeypatch.setattr("nearer.embedding.posterior_embedding.MIN_ROWS_PER_OBJECT", 100)
    monkeypatch.setattr(study, "ANALYSES", study.ANALYSES[:1])
    monkeypatch.setattr(study, "held_out_error", None)  # which would fit again
    comparisons = sample_triplets(make_gaussian(24, 2, random_state=0), 4000, flipped=0.1, random_state=1)
    answers = Answers(comparisons, np.arange(4000), "triplet", "a.csv", np.arange(2, 4002))
    found = study.fit_study(answers, RunSettings())
    assert len(found.held_out_rows) < 300
    assert found.error.n_splits == 1
    assert found.error.low < found.error.error < found.error.high < 0.3
    assert any("calibrate its predictions" in note for note in found.notes)
