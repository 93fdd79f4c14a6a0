import numpy as np
import pytest

from benchmarks.accuracy import trial as limit
from benchmarks.accuracy.datasets import Variant
from benchmarks.accuracy.figures import draw_errors
from benchmarks.accuracy.trial import Truth, known_numbers, posterior_vote
from nearer.optimize.problems.margins import error_from_margins, pair_distances
from nearer.sampling import NUTS
from nearer.sampling.model import draws_of, model_of
from nearer.sampling.summaries import predictive_probability


@pytest.mark.parametrize(("slope", "flipped"), [(None, 0.1), (9.0, 0.0)])
def test_the_model_answers_as_the_truth_does(slope, flipped):
    drawn = Variant(60, 3, flipped=flipped, logistic_slope=slope)(seed=0, trial=0, size=400)
    model, _ = model_of(drawn.train, 3)
    unknowns = known_numbers(model, drawn.truth)
    points = np.random.default_rng(0).normal(size=(60, 3)) * np.sqrt(drawn.truth.variance)
    unknowns[: 60 * 3] = points.ravel() / np.sqrt(drawn.truth.variance)
    draws = draws_of(model, unknowns[None])
    i, j, k = drawn.test.rows[:500].T
    near, far = pair_distances(points, i, j), pair_distances(points, i, k)
    if slope is None:
        expected = np.where(near < far, 0.9, 0.1)
        clear = np.abs(np.log(far / near)) > 0.5  # a step cannot be sampled: close calls are less sure
    else:
        expected, clear = 1 / (1 + np.exp(-slope * (far - near))), slice(None)
    found = predictive_probability(draws, drawn.test.rows[:500], 1)
    np.testing.assert_allclose(found[clear], expected[clear], atol=0.01)


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(limit, "_SAMPLER", NUTS(n_chains=2, n_warmup=100, n_draws=200, thin=4))


@pytest.mark.usefixtures("few_draws")
def test_the_vote_is_better_than_the_answers_it_learned_from():
    drawn = Variant(60, 2, flipped=0.2)(seed=0, trial=0, size=1200)
    predictions = posterior_vote(drawn)
    assert error_from_margins(predictions.decision) < 0.18  # one answer in five was wrong
    assert predictions.embedding is None


@pytest.mark.usefixtures("few_draws")
def test_objects_that_nobody_asked_about_are_where_the_prior_has_them():
    """One that is known to be near is nearer than one of which nothing is known, and that more often than not."""
    right = []
    for trial in range(3):
        drawn = Variant(60, 3)(seed=0, trial=trial, size=30)
        unseen = np.setdiff1d(np.arange(60), drawn.train.rows)
        close = {frozenset(pair) for pair in drawn.train.oriented[:, :2].tolist()}
        anchor, near, far = drawn.test.rows.T

        def is_close(other, anchor=anchor, close=close):
            return np.array([frozenset(pair) in close for pair in zip(anchor.tolist(), other.tolist(), strict=True)])

        asked = (is_close(near) & np.isin(far, unseen)) | (is_close(far) & np.isin(near, unseen))
        right.append(posterior_vote(drawn).decision[asked] > 0)
    assert np.concatenate(right).mean() > 0.6


def test_truth_without_noise_is_steep_and_steeper_with_more_comparisons():
    drawn = Variant(60, 2)(seed=0, trial=0, size=1200)
    steepness = [
        known_numbers(model_of(drawn.train[:size], 2)[0], Truth(0.05, 2))[-7] for size in (50, 100, 1200)
    ]  # fmt: skip
    assert steepness[0] == pytest.approx(np.log(30))
    assert steepness[1] == steepness[0]
    assert steepness[2] > steepness[0]


def test_a_figure_of_the_limit_alone(tmp_path):
    rows = [{"data": "d2", "method": "limit", "size": size, "median": None, "limit": 0.1} for size in (50, 100)]
    draw_errors(rows, tmp_path / "d2.png")
    assert (tmp_path / "d2.png").stat().st_size > 5000
