from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from nearer import Comparisons
from nearer.checking import PredictiveChecks, predictive_checks
from nearer.checking.predictive import _Answered, _Questions, _Refit, _Views
from nearer.data.groups import question_indices
from nearer.embedding import PosteriorEmbedding
from nearer.model.answers import answer_probability
from nearer.sampling.annotators import Population

N_OBJECTS, N_PEOPLE = 10, 10


def study(n_each=80, own_maps=0.0, question_effects=0.0, per_trial=1, seed=0):
    """Answers of people who may see objects displaced, or agree about questions whatever the map; and who is first."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N_OBJECTS, 2))
    maps = points + own_maps * rng.normal(size=(N_PEOPLE, *points.shape))
    person = np.repeat(np.arange(N_PEOPLE), n_each)
    rows = np.argsort(rng.random((len(person), N_OBJECTS)), axis=1)[:, :3]
    anchor, first, second = (maps[person, rows[:, column]] for column in range(3))
    ratio = np.log((0.3 + np.square(anchor - second).sum(axis=1)) / (0.3 + np.square(anchor - first).sum(axis=1)))
    effects = rng.normal(scale=question_effects, size=(N_OBJECTS,) * 3)
    log_odds = 3 * ratio + effects[tuple(rows.T)] - effects[tuple(rows[:, [0, 2, 1]].T)]
    chosen = rng.random(len(rows)) < answer_probability(log_odds, 0.03)
    if per_trial > 1:  # the same answer again and again
        rows, person, chosen = (np.repeat(each, per_trial, axis=0) for each in (rows, person, chosen))
    trials = np.repeat(np.arange(N_PEOPLE * n_each), per_trial) if per_trial > 1 else None
    return Comparisons.from_triplets(
        rows, np.where(chosen, 1, -1), annotators=person, trials=trials, n_objects=N_OBJECTS
    )


def checked(judged, **settings):
    model = PosteriorEmbedding(max_components=3, solver="fast", n_jobs=1, random_state=0).fit(judged)
    return predictive_checks(model, n_replications=100, random_state=0, **settings)


def answered_by_chance(judged, n_draws=1):
    """Answers in random draws, with known effects of people."""
    rng = np.random.default_rng(1)
    population = Population(
        rng.normal(size=(n_draws, N_OBJECTS, 2)), *(np.full(n_draws, value) for value in (0.5, 3.0, 0.1, 0.4, 0.8))
    )
    return _Answered.of(judged, population, True, rng)


def log_likelihoods(answered, points, log_odds=0.0):
    """The log-likelihood of each answer with a map of its own, (m, n, p)."""
    i, j, l, k = answered.quadruplets.T  # noqa: E741
    rows = np.arange(len(i))
    near = np.square(points[rows, i] - points[rows, j]).sum(axis=1)
    far = np.square(points[rows, l] - points[rows, k]).sum(axis=1)
    slopes, lapses = answered.slopes[0, answered.person], answered.lapses[0, answered.person]
    return np.log(answer_probability(slopes * np.log((0.5 + far) / (0.5 + near)) + log_odds, lapses))


def products(scores, groups, parts):
    """The sum of products of scores of a group, but for those within a part of it."""
    shared = (groups[:, None] == groups) & (parts[:, None] != parts)
    return float(np.sum(shared * np.tensordot(scores, scores, axes=(range(1, scores.ndim),) * 2)))


def test_views_are_the_products_of_derivatives_by_displacements():
    judged = study(4, per_trial=2)
    answered = answered_by_chance(judged)
    points = np.tile(answered.population.points[0], (len(judged), 1, 1))
    scores = np.empty(points.shape)
    for place in np.ndindex(points.shape[1:]):
        moved = np.zeros(points.shape)
        moved[(slice(None), *place)] = 1e-5
        scores[(slice(None), *place)] = (
            log_likelihoods(answered, points + moved) - log_likelihoods(answered, points - moved)
        ) / 2e-5
    expected = products(scores, answered.person, answered.trial)
    draw = answered.draw(0)
    found = _Views.of_answers(answered, judged)(draw, 1 - draw.probability)
    assert found == pytest.approx(expected, rel=1e-5)


def test_questions_are_the_products_of_derivatives_by_log_odds():
    judged = study(60)
    answered = answered_by_chance(judged)
    points = np.tile(answered.population.points[0], (len(judged), 1, 1))
    scores = (log_likelihoods(answered, points, 1e-5) - log_likelihoods(answered, points, -1e-5)) / 2e-5
    first = judged.oriented[:, [1, 3]].argmin(axis=1)
    ends = np.sort(judged.oriented[:, [1, 3]], axis=1)
    question = (judged.oriented[:, 0] * 100 + ends[:, 0]) * 100 + ends[:, 1]
    # Which of the two options was chosen: agreement counts, not being near.
    signed = scores * np.where(first == 0, 1, -1)
    draw = answered.draw(0)
    found = _Questions.of_answers(answered, judged)(draw, 1 - draw.probability)
    assert found == pytest.approx(products(signed, question, answered.person), rel=1e-5)


def test_changes_of_a_refit_are_derivatives_of_the_probability():
    judged = study(5)
    answered = answered_by_chance(judged)
    draw = answered.draw(0)
    refit = _Refit(draw, answered)
    changes = refit.changes.toarray() * np.sqrt(draw.variance)[:, None]
    own = draw.points_of_wide_axes
    points = np.tile(own, (len(judged), 1, 1))
    for place in np.ndindex(own.shape):
        moved = np.zeros(points.shape)
        moved[(slice(None), *place)] = 1e-5
        up, down = (np.exp(log_likelihoods(answered, points + sign * moved)) for sign in (1, -1))
        np.testing.assert_allclose(changes[:, place[0] * 2 + place[1]], (up - down) / 2e-5, atol=1e-7)
    for effect, spread in enumerate((0.4, 0.8)):
        either = []
        for step in (1e-5, -1e-5):
            slopes, lapses = answered.slopes.copy(), answered.lapses.copy()
            if effect == 0:
                slopes *= np.exp(spread * step)
            else:
                lapses = expit(logit(lapses) + spread * step)
            either.append(np.exp(log_likelihoods(replace(answered, slopes=slopes, lapses=lapses), points)))
        by_person = changes[:, own.size + effect * N_PEOPLE :][:, :N_PEOPLE]
        rows = np.arange(len(judged))
        np.testing.assert_allclose(by_person[rows, answered.person], (either[0] - either[1]) / 2e-5, atol=1e-7)
        assert np.count_nonzero(by_person) <= len(judged)


def test_a_refit_leaves_what_a_penalized_regression_leaves():
    judged, rng = study(40), np.random.default_rng(0)
    answered = answered_by_chance(judged)
    draw = answered.draw(0)
    refit, deviation = _Refit(draw, answered), np.sqrt(draw.variance)
    changes = refit.changes.toarray()
    prior = refit.precision
    given = draw.replicated_residuals(answered, rng)
    stacked = np.vstack([changes, np.diag(np.sqrt(prior))])
    step = np.linalg.lstsq(stacked, np.append(given / deviation, np.zeros(len(prior))), rcond=None)[0]
    np.testing.assert_allclose(refit.residuals(given), given - deviation * (changes @ step), atol=1e-8)
    scattered = np.array([refit.scatter(rng) / deviation for _ in range(3000)])
    expected = np.sum((changes @ np.linalg.inv(stacked.T @ stacked)) * changes, axis=1)
    np.testing.assert_allclose(scattered.var(axis=0), expected, rtol=0.2)


def test_statistics_of_scores_vanish_on_average_where_the_model_holds():
    judged, rng = study(40), np.random.default_rng(0)
    answered = answered_by_chance(judged)
    draw = answered.draw(0)
    for statistic in (_Views.of_answers(answered, judged), _Questions.of_answers(answered, judged)):
        values = np.array([statistic(draw, draw.replicated_residuals(answered, rng)) for _ in range(400)])
        assert abs(values.mean()) < 4 * values.std() / 20


def test_answers_of_the_model_pass():
    first = np.random.default_rng(0).random(800) < 0.5
    found = checked(study(), first_chosen=first)
    assert [check.name for check in found.checks] == ["views", "questions", "triads", "position"]
    assert min(check.p_value for check in found.checks) > 0.05
    assert PredictiveChecks.from_dict(found.to_dict()) == found


def test_own_maps_are_views_and_effects_of_questions_are_not():
    found = checked(study(own_maps=0.6))
    assert found["views"].p_value < 0.03
    assert found["questions"].p_value > 0.05
    found = checked(study(200, question_effects=1.5))
    views, questions = ((each.observed - each.expected) / each.spread for each in found.checks[:2])
    assert questions > max(5, 3 * views)
    assert found["triads"].p_value < 0.05
    assert found["triads"].observed > found["triads"].expected


def test_answers_without_noise_pass_though_a_refit_is_not_linear():
    judged = study(60)
    points = np.random.default_rng(0).normal(size=(N_OBJECTS, 2))
    anchor, first, _, second = judged.oriented.T
    near = np.square(points[anchor] - points[first]).sum(axis=1)
    far = np.square(points[anchor] - points[second]).sum(axis=1)
    found = checked(replace(judged, rows=judged.oriented[:, [0, 1, 3]], answers=np.where(near < far, 1, -1)))
    assert min(check.p_value for check in found.checks) > 0.05


def test_a_habit_of_the_first_option_is_found():
    judged = study()
    habit = np.random.default_rng(1).random(len(judged)) < 0.6
    found = checked(judged, first_chosen=habit)["position"]
    assert found.p_value < 0.03
    assert found.observed > 0


def test_rows_of_one_trial_do_not_count_as_a_view():
    found = checked(study(40, per_trial=3))
    assert [check.name for check in found.checks] == ["views", "questions"]
    assert found["views"].p_value > 0.05
    as_trials = checked(replace(study(40, per_trial=3), trials=None))
    assert as_trials["views"].observed > found["views"].observed


def test_people_need_not_be_known():
    found = checked(replace(study(), annotators=None))
    assert [check.name for check in found.checks] == ["questions", "triads"]
    with pytest.raises(KeyError, match="views"):
        found["views"]


def test_questions_that_a_single_person_answered_say_nothing_of_agreement():
    judged = study()
    first = np.sort(np.unique(question_indices(judged), return_index=True)[1])
    found = checked(judged[first])
    assert [check.name for check in found.checks] == ["views", "triads"]


def test_every_answer_needs_its_position():
    with pytest.raises(ValueError, match="800 comparisons"):
        checked(study(), first_chosen=[True, False])
