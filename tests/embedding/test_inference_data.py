"""A posterior as ArviZ takes it: groups, shapes, likelihood; `summary` and `loo` of ArviZ run on it."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from nearer.datasets import draw_questions, make_gaussian, simulate_answers
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.inference_data import groups_of
from nearer.embedding.storage import load_model, save_model
from nearer.evaluation import leave_one_out
from nearer.sampling import Microcanonical
from nearer.sampling.model import TRIAL_EXPONENT

SHORT = Microcanonical(n_chains=3, n_warmup=200, n_steps=600, thin=20, n_starts=1, n_climb=20)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, M = 7, 120


def judged(people=4):
    points = make_gaussian(N, 2, variance=1, random_state=0)
    questions = draw_questions(N, M // 2, random_state=0)
    answers = simulate_answers(points, np.tile(questions, (2, 1))[:M], slope=3, lapses=0.1, random_state=1)
    names = None if people is None else np.array([f"p{number % people}" for number in range(M)])
    return replace(answers, annotators=names, trials=np.arange(M) // 2)


def fitted(answers, **settings):
    return PosteriorEmbedding(2, solver=SHORT, max_components=3, random_state=0, **settings).fit(answers)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted(judged())


def test_draws_are_kept_by_chain(model):
    groups, dims, coords = groups_of(model, 0)
    draws = groups["posterior"]
    n_draws = len(model.draws_) // 3
    assert model.convergence_.n_chains == 3
    assert draws["place"].shape == (3, n_draws, N, 2)
    assert draws["distance"].shape == (3, n_draws, N * (N - 1) // 2)
    assert draws["person_lapse"].shape == (3, n_draws, 4)
    assert coords["person"] == ["p0", "p1", "p2", "p3"]
    assert all(len(coords[dim]) == draws[name].shape[2] for name, (dim, *_) in dims.items() if name in draws)
    offsets = model.draws_.offsets.reshape(3, n_draws)
    np.testing.assert_array_equal(draws["offset"], offsets)
    # On the map: places differ from it by as much as the map says, and nearly in the middle.
    np.testing.assert_allclose(draws["place"].mean(axis=(0, 1)), model.embedding_, atol=0.3 * model.embedding_.std())
    spread = np.sqrt(np.square(draws["place"] - model.embedding_).mean(axis=(0, 1)))
    np.testing.assert_allclose(spread, model.embedding_std_, rtol=1e-6)


def test_distances_are_relative_to_the_size_of_each_draw(model):
    distance = groups_of(model, 0)[0]["posterior"]["distance"].reshape(len(model.draws_), -1)
    points = model.draws_.points[5]
    apart = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(N, 1)]
    np.testing.assert_allclose(distance[5], apart / np.sqrt(points.var(axis=0).sum()))


@pytest.mark.parametrize("people", [None, 4])
def test_the_likelihood_of_a_trial_is_that_of_its_rows_by_who_answered(people):
    """By the formula, draw by draw; a trial of two rows counts as 2^0.6 rows."""
    answers = judged(people)
    model = fitted(answers)
    logs = groups_of(model, 0)[0]["log_likelihood"]["answer"].reshape(len(model.draws_), -1)
    assert logs.shape[1] == M // 2
    draws, people_draws = model.draws_, model._posterior.people
    for number in (0, 7):
        points, offset = draws.points[number], draws.offsets[number]
        expected = np.zeros(M // 2)
        for row, (near_1, near_2, far_1, far_2) in enumerate(answers.oriented):
            near, far = np.sum((points[near_1] - points[near_2]) ** 2), np.sum((points[far_1] - points[far_2]) ** 2)
            slope, lapse = draws.slopes[number], draws.lapses[number]
            if people is not None:
                who = int(answers.annotators[row][1:])
                slope, lapse = people_draws.slopes[number, who], people_draws.lapses[number, who]
            chance = lapse / 2 + (1 - lapse) * expit(slope * np.log((offset + far) / (offset + near)))
            expected[row // 2] += 2**-TRIAL_EXPONENT * np.log(chance)
        np.testing.assert_allclose(logs[number], expected)


def test_predicted_choices_are_drawn_with_the_probabilities_of_the_draws(model):
    groups, _, _ = groups_of(model, 0)
    observed, predicted = groups["observed_data"]["choice"], groups["posterior_predictive"]["choice"]
    assert 0.2 < observed.mean() < 0.8  # which pair comes first has nothing to do with the answer
    answers = model.comparisons_
    as_written = model.predict_proba(answers)[:, 1]
    holds = np.where(answers.answers == 1, as_written, 1 - as_written)
    first = np.where(observed == 1, holds, 1 - holds)
    n_draws = len(model.draws_)
    deviations = (predicted.mean(axis=(0, 1)) - first) / np.sqrt(first * (1 - first) / n_draws)
    assert np.sqrt(np.mean(deviations**2)) < 1.5
    again = groups_of(model, 0)[0]["posterior_predictive"]["choice"]
    np.testing.assert_array_equal(predicted, again)


def test_a_stored_model_has_the_same_chains(model, tmp_path):
    again = load_model(save_model(model, tmp_path / "model"))
    assert again.convergence_ == model.convergence_
    np.testing.assert_array_equal(
        groups_of(again, 0)[0]["posterior"]["place"], groups_of(model, 0)[0]["posterior"]["place"]
    )


def test_summary_and_loo_of_arviz_run(model):
    arviz = pytest.importorskip("arviz_stats", reason="arviz-stats is not installed")
    tree = model.to_arviz(random_state=0)
    summary = arviz.summary(tree, var_names=["distance", "place", "slope", "lapse", "person_lapse"], round_to="none")
    assert len(summary) == N * (N - 1) // 2 + 2 * N + 2 + 4
    distances = summary.loc[[name.startswith("distance") for name in summary.index]]
    worst = model.convergence_.worst
    np.testing.assert_allclose(distances["r_hat"].max(), worst.rhat, rtol=1e-6)
    np.testing.assert_allclose(distances["ess_bulk"].min(), worst.effective, rtol=1e-6)
    assert summary.loc["lapse", "mean"] == pytest.approx(float(tree.posterior["lapse"].mean()), rel=1e-6)


def test_loo_of_trials_agrees_with_arviz():
    arviz = pytest.importorskip("arviz_stats", reason="arviz-stats is not installed")
    model = fitted(judged(None))
    found = arviz.loo(model.to_arviz(random_state=0))
    own = leave_one_out(model, random_state=0)
    assert found.n_data_points == len(own.names) == M // 2
    assert found.elpd == pytest.approx(own.elpd, rel=0.02)


def test_without_arviz_the_error_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"arviz-base"):
        model.to_arviz()
