from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.evaluation import LeaveOneOut, leave_one_out, pareto_smooth
from nearer.evaluation.annotator_quadrature import integrate_annotator, log_ratios
from nearer.sampling.annotators import Population

POINTS = make_gaussian(10, 2, random_state=0)


def answers(n_people=12, n_each=40, seed=0):
    """People with error rates from 2 to 30%, about points of a plane."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_each)
    rows = sample_triplets(POINTS, random_state=0).rows[rng.integers(360, size=len(person))]
    wrong = rng.random(len(person)) < np.linspace(0.02, 0.3, n_people)[person]
    return Comparisons.from_triplets(rows, np.where(wrong, -1, 1), annotators=person, n_objects=10)


def fitted(judged, p=2, seed=0):
    return PosteriorEmbedding(max_components=p, random_state=seed, n_jobs=1).fit(judged)


def test_smoothed_weights_are_those_of_arviz():
    raw = -0.8 * np.log((np.arange(1.0, 201.0) * 0.6180339887) % 1)
    weights, k = pareto_smooth(raw)
    assert k == pytest.approx(0.6255071931534824, abs=1e-8)
    expected = [-6.1374846059, -5.3675456855, -6.5159229818, -6.5199656983, -2.2877892985]
    assert weights[[0, 1, 54, 143, 88]] == pytest.approx(expected, abs=1e-8)
    assert np.sort(weights)[-3:] == pytest.approx([-3.2481597916, -2.9144768149, -2.2877892985], abs=1e-8)


def test_weights_that_are_alike_stay_so():
    weights, k = pareto_smooth(np.full(100, -3.0))
    assert k == 0
    assert np.exp(weights) == pytest.approx(np.full(100, 0.01))


def test_too_few_draws_cannot_be_relied_on():
    assert pareto_smooth(np.arange(8.0))[1] == np.inf


@pytest.mark.parametrize("n_rows", [3, 60, 600])
def test_quadrature_is_the_integral_over_a_dense_grid(n_rows):
    rng = np.random.default_rng(n_rows)
    population = Population(
        rng.normal(size=(3, 8, 2)), np.array([0.5, 1.0, 5.0]), np.array([5.0, 2.0, 20.0]),
        np.array([0.02, 0.1, 0.2]), np.array([0.3, 0.6, 0.1]), np.array([1.0, 0.5, 2.0]),
    )  # fmt: skip
    rows = np.argsort(rng.random((n_rows, 8)), axis=1)[:, [0, 1, 0, 2]]
    ratios, weights = log_ratios(population, rows), rng.uniform(0.5, 1, n_rows)
    ratios *= np.where(rng.random(n_rows) < 0.2 + 0.6 * expit(4 * ratios[0]), 1, -1)  # somebody lapses often
    grid = np.linspace(-7, 7, 281)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    for draw, found in enumerate(integrate_annotator(ratios, weights, population).log_likelihood):
        slopes = population.slopes[draw] * np.exp(population.slope_spreads[draw] * first)
        lapses = expit(logit(population.lapses[draw]) + population.lapse_spreads[draw] * second)
        logs = -(first**2 + second**2) / 2 - np.log(2 * np.pi)
        for ratio, weight in zip(ratios[draw], weights, strict=True):
            logs += weight * np.log(lapses / 2 + (1 - lapses) * expit(slopes * ratio))
        assert found == pytest.approx(logsumexp(logs) + 2 * np.log(grid[1] - grid[0]), abs=0.05)


def test_effects_drawn_for_a_person_have_the_moments_of_their_posterior():
    rng = np.random.default_rng(0)
    population = Population(
        np.repeat(rng.normal(size=(1, 8, 2)), 4000, axis=0), *np.tile([[1.0], [3.0], [0.1], [0.5], [0.7]], 4000)
    )
    rows = np.argsort(rng.random((80, 8)), axis=1)[:, [0, 1, 0, 2]]
    found = integrate_annotator(log_ratios(population, rows), np.ones(80), population)
    shares = np.exp(found.log_terms[0] - found.log_likelihood[0])
    slopes, lapses = found.draw(rng)
    for drawn, nodes in ((np.log(slopes), np.log(found.slopes[0])), (logit(lapses), logit(found.lapses[0]))):
        mean = shares @ nodes
        deviation = np.sqrt(shares @ (nodes - mean) ** 2)
        assert abs(drawn.mean() - mean) < 5 * deviation / np.sqrt(4000)
        assert drawn.std() == pytest.approx(deviation, rel=0.1)


def test_each_person_is_predicted_as_by_a_fit_without_them():
    judged = answers()
    model = fitted(judged)
    found = leave_one_out(model, refit=True, random_state=0)
    assert np.isnan(found.pareto_ks).any()
    assert (found.pareto_ks <= 0.7).sum() >= 4
    in_sample = leave_one_out(model, random_state=0)
    kept = in_sample.pareto_ks <= 0.7
    assert found.elpds[kept] == pytest.approx(in_sample.elpds[kept])
    exact = []
    for person in np.flatnonzero(kept)[:4]:
        others = fitted(judged[judged.annotators != person], seed=1)
        population = others.population(400, random_state=0)
        own = judged[judged.annotators == person].oriented
        terms = integrate_annotator(log_ratios(population, own), np.ones(len(own)), population)
        exact.append(logsumexp(terms.log_likelihood) - np.log(400))
    assert in_sample.elpds[np.flatnonzero(kept)[:4]] == pytest.approx(exact, abs=0.8)


def test_new_people_need_both_dimensions_of_a_plane_and_no_third():
    judged = answers(30, 40)
    line, plane, space = (leave_one_out(fitted(judged, p), random_state=0) for p in (1, 2, 3))
    gain = plane.minus(line)
    assert gain.difference > 4 * gain.standard_error
    more = space.minus(plane)
    assert more.difference < 2 * more.standard_error + 2
    assert gain.difference == pytest.approx(plane.elpd - line.elpd)


def test_trials_are_left_out_where_people_are_not_known():
    judged = replace(answers(), annotators=None)
    model = fitted(judged)
    found = leave_one_out(model, random_state=0)
    assert (found.by, len(found.names)) == ("trials", len(judged))
    in_sample = np.log(model.predict_proba(judged)[np.arange(len(judged)), (judged.answers > 0).astype(int)])
    assert found.elpds.sum() < in_sample.sum()
    assert found.elpds == pytest.approx(in_sample, abs=0.7)
    assert found.n_unreliable < len(judged) / 4


def test_results_of_different_people_are_not_compared():
    one = LeaveOneOut(np.array(["a", "b"]), np.array([-1.0, -2.0]), np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match="different people"):
        one.minus(replace(one, names=np.array(["a", "c"])))
    assert LeaveOneOut.from_dict(one.to_dict()).elpd == one.elpd
