"""What is sampled: a model over the objects that are compared, exposure, the maps of draws, and people."""

from dataclasses import replace

import numpy as np
from helpers import posterior_twin as twin
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.sampling.model import NUMBERS, Draws, Prior, draws_of, exposures_of, model_of, times_asked
from nearer.sampling.people import each_as_someone, people_of


def quadruplets(kind="quadruplets", n=7, m=60, seed=0):
    return random_quadruplets(np.random.default_rng(seed), n, m, kind)


def test_a_model_is_over_the_objects_that_are_compared():
    model, seen = model_of(Comparisons.from_triplets([[3, 9, 5], [5, 3, 9]], n_objects=20), 2)
    assert seen.tolist() == [3, 5, 9]
    # 3 near 9 and not 5; 5 near 3 and not 9.
    assert sorted(model.answers.quadruplets.tolist()) == [[0, 1, 1, 2], [0, 2, 0, 1]]
    assert model.answers.weights.size == 0
    assert (model.n_objects, model.size) == (3, 3 * 2 + 2 + 3 + 9)


def test_people_have_two_unknowns_each_unless_they_are_not_to_be_told_apart():
    rows = Comparisons.from_triplets([[0, 2, 1], [1, 0, 2], [0, 2, 1]], annotators=["ann", "bob", "eve"])
    told, together = model_of(rows, 2)[0], model_of(rows, 2, people=False)[0]
    assert (told.answers.n_people, told.size) == (3, 3 * 2 + 2 + 3 + 2 * 3 + 9)
    assert (together.answers.n_people, together.size) == (0, 3 * 2 + 2 + 3 + 9)


def test_exposure_is_how_often_the_study_asks_by_the_answers_that_count():
    rows = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [4, 0, 1]]
    weights = np.array([90.0, 2.0, 0.5, 0.0])
    model, seen = model_of(Comparisons.from_triplets(rows, weights=weights, n_objects=6), 1)
    assert seen.tolist() == [0, 1, 2, 3]
    exposures, least = exposures_of(np.array([92.5, 92, 90.5, 2.5]))
    np.testing.assert_allclose(model.exposure, exposures - exposures.mean())
    np.testing.assert_allclose(model.exposure - model.least_exposure, exposures - least)
    assert model.exposure[3] < model.exposure[2] - 2
    np.testing.assert_array_equal(model.answers.weights, [90, 2, 0.5])


def test_who_came_up_more_often_by_luck_is_not_more_exposed():
    """With rates known to come from a gamma distribution, means given the numbers are better than the numbers."""
    rng = np.random.default_rng(0)
    by_luck = rng.poisson(6.0, size=4000).astype(float)
    assert np.abs(exposures_of(by_luck)[0]).max() < 0.2 < np.log1p(by_luck).std()
    rates = rng.gamma(2.0, 3.0, size=4000)
    times = rng.poisson(rates).astype(float)
    found, least = exposures_of(times)
    truth = np.log(rates / rates.mean())
    closeness = [np.mean((np.exp(of) - np.exp(truth)) ** 2) for of in (found, np.log(times / 6 + 1e-9), 0 * found)]
    assert closeness[0] < 0.9 * closeness[1]
    assert closeness[0] < 0.5 * closeness[2]
    np.testing.assert_allclose(np.exp(found).mean(), 1)
    assert found.min() - np.log(2) - 1e-12 <= least <= found.min() + 1e-12


def test_one_that_never_came_up_counts_as_half_as_often_as_the_rarest():
    exposures, least = exposures_of(np.array([10.0, 1000, 1000, 1000]))
    np.testing.assert_allclose(least, exposures[0] - np.log(2))
    np.testing.assert_array_equal(exposures_of(np.array([4.0]))[0], [0])


def test_draws_are_maps_and_ways_to_answer():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    unknowns = twin.prior_draws(np.random.default_rng(0), 6, model.n_objects, 3)
    draws = draws_of(model, unknowns)
    assert isinstance(draws, Draws)
    assert len(draws) == 6
    np.testing.assert_allclose(draws.points, twin.map_of(unknowns, model.exposure, model.n_objects, 3), rtol=1e-6)
    for found, expected in zip(draws[1:], twin.answering(unknowns[:, -9:]), strict=True):
        np.testing.assert_allclose(found, expected)


def test_starts_differ_and_have_the_numbers_at_their_centres():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    first, second = (model.start(np.random.default_rng(seed)) for seed in (0, 1))
    assert (first[: 3 * model.n_objects] != second[: 3 * model.n_objects]).all()
    np.testing.assert_array_equal(first[-9:], Prior().centres)
    assert len(NUMBERS) == len(Prior().centres) == len(Prior().scales)


def test_the_prior_is_as_wide_as_its_docstring_says():
    draws = twin.prior_draws(np.random.default_rng(0), 20_000, 2, 2)
    unknowns = twin.split(draws, 2, 2)
    lapse = twin.answering(unknowns.numbers)[2]
    scale = np.exp(np.exp(unknowns.numbers[:, 1]) * unknowns.v[:, 0])
    assert 0.6 < np.mean((lapse > 0.004) & (lapse < 0.08)) < 0.75
    assert np.mean((scale < 1.2) & (scale > 1 / 1.2)) > 0.6


def crew(p=2, n_people=3, m=60):
    """A model of people who answered different numbers of questions, and draws of its unknowns from the prior."""
    people = np.sort(np.random.default_rng(0).choice(n_people, size=m, p=[0.6, 0.3, 0.1]))
    model = twin.model_about(quadruplets(m=m), 7, p, people=people, weights=np.linspace(0.5, 2, m))
    return model, twin.prior_draws(np.random.default_rng(1), 4000, 7, p, n_people=n_people)


def test_people_answer_as_the_twin_says():
    model, unknowns = crew()
    for found, expected in zip(
        people_of(model, unknowns), twin.answering_of_people(twin.split(unknowns, 7, 2, 3)), strict=True
    ):
        assert found.shape == (4000, 3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(
        draws_of(model, unknowns[:50]).points, twin.map_of(unknowns[:50], model.exposure, 7, 2, 3), rtol=1e-6, atol=1e-9
    )


def test_in_each_draw_someone_of_the_study_answers_as_often_as_in_the_study():
    model, unknowns = crew()
    draws = draws_of(model, unknowns)
    found = each_as_someone(model, unknowns, draws, np.random.default_rng(0))
    slopes, lapses = people_of(model, unknowns)
    someone = (found.slopes[:, None] == slopes) & (found.lapses[:, None] == lapses)
    assert (someone.sum(axis=1) == 1).all()
    answers = model.answers
    shares = np.bincount(answers.people, answers.weights) / answers.weights.sum()
    np.testing.assert_allclose(someone.mean(axis=0), shares, atol=5 * 0.5 / np.sqrt(4000))
    assert found.points is draws.points
    assert found.offsets is draws.offsets


def test_where_people_are_not_told_apart_draws_stay_as_they_are():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 2)
    unknowns = twin.prior_draws(np.random.default_rng(0), 6, 7, 2)
    draws = draws_of(model, unknowns)
    assert each_as_someone(model, unknowns, draws, np.random.default_rng(0)) is draws


def test_the_number_of_rows_of_a_trial_gives_no_answer_away():
    """Of a grid of six the two chosen are in four rows each, the other four in two."""
    grid = [[0, near, far] for near in (1, 2) for far in (3, 4, 5, 6)]
    model, _ = model_of(Comparisons.from_triplets([*grid, [1, 2, 3]], trials=["grid"] * 8 + ["other"]), 1)
    np.testing.assert_array_equal(model.exposure, 0)
    both = Comparisons.from_triplets([*grid, [1, 2, 3]], trials=["grid"] * 8 + ["other"])
    np.testing.assert_array_equal(times_asked(both), [1, 2, 2, 2, 1, 1, 1])
    weighted = Comparisons.from_triplets(grid, trials=["grid"] * 8, weights=[3.0] * 8)
    np.testing.assert_allclose(times_asked(weighted), 3)


def test_what_the_loops_take_is_made_once():
    """Sorting the pairs anew for each density would take several times as long as the density itself."""
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 2)
    assert model.arguments is model.arguments
    other = replace(model, answers=replace(model.answers, rows=model.answers.rows[:, ::-1].copy()))
    q = model.start(np.random.default_rng(0))
    assert other.density(q)[0] != model.density(q)[0]


def test_chosen_questions_give_no_answer_away():
    """How often the plan asks about objects counts, and not how often earlier answers made it worth asking."""
    rng = np.random.default_rng(0)
    planned = np.array([rng.permutation(8)[:3] for _ in range(40)])
    chosen = np.tile([0, 1, 2], (200, 1))
    both = Comparisons.from_triplets(np.concatenate([planned, chosen]), chosen=[False] * 40 + [True] * 200)
    np.testing.assert_array_equal(times_asked(both), np.bincount(planned.ravel()))
    np.testing.assert_array_equal(model_of(Comparisons.from_triplets(chosen, chosen=[True] * 200), 1)[0].exposure, 0)
    assert model_of(Comparisons.from_triplets(np.concatenate([planned, chosen])), 1)[0].exposure[0] > 0.5
