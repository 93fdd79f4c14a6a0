"""The model: distinct comparisons, exposure, maps of draws, and annotators."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import posterior_reference as reference
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.io import read_answers
from nearer.sampling.annotators import annotator_parameters, draw_annotator_effects
from nearer.sampling.model import (
    HYPERPARAMETERS,
    DistinctComparisons,
    Draws,
    Prior,
    distinct_comparisons,
    draws_of,
    exposure_counts,
    log_exposures,
    model_of,
)


def quadruplets(kind="quadruplets", n=7, m=60, seed=0):
    return random_quadruplets(np.random.default_rng(seed), n, m, kind)


def total_weights_of(rows, weights, people):
    """Total weights: a mapping from (near pair, far pair, person), unordered pairs."""
    found = {}
    for (i, j, l, k), weight, person in zip(rows.tolist(), weights, people, strict=True):  # noqa: E741
        key = (frozenset((i, j)), frozenset((l, k)), person)
        found[key] = found.get(key, 0.0) + weight
    return found


def same_bits(one, other):
    for name in ("pairs", "rows", "weights", "annotators", "n_annotators"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("n_people", [0, 4])
def test_distinct_comparisons_have_the_total_weights_of_the_rows(kind, n_people):
    rng = np.random.default_rng(1)
    rows, weights, y = quadruplets(kind), rng.uniform(0.1, 2, 60), rng.choice([-1, 1], 60)
    people = rng.integers(max(n_people, 1), size=60)
    turned = np.where(y[:, None] < 0, rows[:, [2, 3, 0, 1]], rows)
    names = np.array(["ann", "bob", "eve", "zoe"])[people] if n_people else None
    found = distinct_comparisons(Comparisons.from_quadruplets(rows, y, weights=weights, annotators=names))
    expected = total_weights_of(turned, weights, people.tolist())
    given = total_weights_of(found.quadruplets, found.weights, found.annotators.tolist())
    assert expected.keys() == given.keys()
    assert len(found) == len(given)
    assert all(given[key] == pytest.approx(expected[key]) for key in expected)
    assert found.n_annotators == n_people
    assert {array.dtype for array in (found.pairs, found.rows, found.annotators)} == {np.dtype(np.int32)}


def test_rows_are_ordered_by_annotator_and_pairs_are_those_compared(kind):
    rows = quadruplets(kind)
    names = np.random.default_rng(0).choice(["ann", "bob", "eve"], 60)
    found = distinct_comparisons(Comparisons.from_quadruplets(rows, annotators=names, n_objects=50))
    assert (np.diff(found.annotators) >= 0).all()
    assert np.unique(found.annotators).tolist() == [0, 1, 2]
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    compared = {frozenset(pair) for pair in rows.reshape(-1, 2).tolist()}
    assert [frozenset(pair) for pair in found.pairs.tolist()] == sorted(compared, key=sorted)
    assert np.unique(found.rows).tolist() == list(range(len(compared)))


def test_annotators_are_distinguished_if_there_are_two_and_it_is_wanted():
    rows = quadruplets()
    alone = distinct_comparisons(Comparisons.from_quadruplets(rows, annotators=["ann"] * 60))
    same_bits(alone, distinct_comparisons(Comparisons.from_quadruplets(rows)))
    several = Comparisons.from_quadruplets(rows, annotators=["ann", "bob"] * 30)
    same_bits(distinct_comparisons(several, by_annotator=False), alone)
    assert distinct_comparisons(several).n_annotators == 2
    # Someone whose answers have no weight is nobody.
    silent = Comparisons.from_quadruplets(rows, annotators=["ann"] * 59 + ["bob"], weights=np.r_[np.ones(59), 0])
    assert distinct_comparisons(silent).n_annotators == 0


def test_the_same_answer_of_two_annotators_stays_two_rows():
    twice = Comparisons.from_triplets([[0, 1, 2], [0, 1, 2], [0, 1, 2]], annotators=["bob", "ann", "bob"])
    found = distinct_comparisons(twice)
    assert found.quadruplets.tolist() == [[0, 1, 0, 2]] * 2
    assert (found.weights.tolist(), found.annotators.tolist()) == ([1.0, 2.0], [0, 1])


def test_equivalent_triplets_and_quadruplets_give_the_same_comparisons():
    rows = quadruplets("triplets")
    rng = np.random.default_rng(2)
    for columns in ([0, 1], [2, 3]):
        turn = rng.random(60) < 0.5
        rows[np.ix_(turn, columns)] = rows[np.ix_(turn, columns[::-1])]
    plain = distinct_comparisons(Comparisons.from_triplets(quadruplets("triplets")[:, [0, 1, 3]]))
    same_bits(distinct_comparisons(Comparisons.from_quadruplets(rows)), plain)


@pytest.mark.parametrize("n_people", [0, 3])
def test_row_order_orientation_and_repetition_change_no_bit(kind, n_people):
    rng = np.random.default_rng(3)
    rows = quadruplets(kind)
    weights, names = rng.uniform(0.1, 2, 60), rng.integers(max(n_people, 1), size=60)
    rows[40:], names[40:] = rows[:20], names[:20]  # said more than once: the sum of weights depends on the order
    rows[30:40], names[30:40] = rows[:10], names[:10]
    plain = distinct_comparisons(Comparisons.from_quadruplets(rows, weights=weights, annotators=names))
    order, flip = rng.permutation(60), rng.random(60) < 0.5
    turned = np.where(flip[:, None], rows[:, [2, 3, 0, 1]], rows)[order]
    said = {"weights": weights[order], "annotators": names[order]}
    same_bits(distinct_comparisons(Comparisons.from_quadruplets(turned, ~flip[order], **said)), plain)
    doubled = distinct_comparisons(
        Comparisons.from_quadruplets(np.tile(rows, (2, 1)), weights=np.tile(weights, 2), annotators=np.tile(names, 2))
    )
    np.testing.assert_array_equal(doubled.rows, plain.rows)
    np.testing.assert_allclose(doubled.weights, 2 * plain.weights, rtol=1e-15)


def test_a_repeated_row_and_a_row_of_weight_two_are_the_same_to_the_last_bit(kind):
    rows = np.unique(quadruplets(kind), axis=0)
    names, counts = np.arange(len(rows)) % 3, np.arange(len(rows)) % 4 + 1
    repeated = Comparisons.from_quadruplets(np.repeat(rows, counts, axis=0), annotators=np.repeat(names, counts))
    same_bits(
        distinct_comparisons(repeated),
        distinct_comparisons(Comparisons.from_quadruplets(rows, weights=counts, annotators=names)),
    )


def test_contradictions_stay_two_rows():
    found = distinct_comparisons(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 2, 1]]))
    assert found.quadruplets.tolist() == [[0, 1, 0, 2], [0, 2, 0, 1]]
    assert found.weights.tolist() == [1.0, 2.0]


def test_rows_of_one_trial_share_their_weight():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3], [0, 2, 4]]
    found = distinct_comparisons(Comparisons.from_triplets(rows, trials=["a", "a", "a", "b", "c"]))
    assert found.quadruplets[:, [0, 1, 3]].tolist() == rows
    np.testing.assert_allclose(found.weights, [3**-0.4] * 3 + [1, 1])
    doubled = distinct_comparisons(Comparisons.from_triplets(rows, trials=[1, 1, 1, 2, 3], weights=[2.0] * 5))
    np.testing.assert_allclose(doubled.weights, 2 * found.weights)


def test_an_answer_weighs_the_same_whether_or_not_weights_divide_it_among_its_rows():
    rows, trials = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 2, 3]], ["a", "a", "a", "b"]
    plain = Comparisons.from_triplets(rows, trials=trials)
    shared = Comparisons.from_triplets(rows, trials=trials, weights=[1 / 3] * 3 + [1])
    halved = Comparisons.from_triplets(rows, trials=trials, weights=[1 / 6] * 3 + [1 / 2])
    np.testing.assert_allclose(distinct_comparisons(shared).total_weights, distinct_comparisons(plain).total_weights)
    np.testing.assert_allclose(
        distinct_comparisons(halved).total_weights, distinct_comparisons(plain).total_weights / 2
    )
    np.testing.assert_allclose(exposure_counts(shared), [2, 1, 2, 2, 1])


def test_a_grid_weighs_the_same_in_memory_as_from_a_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,shown,chosen\na,b;c;d;e,b;c\nb,a;c;d;f,f;a\n")
    read = read_answers(path, kind="grid").comparisons
    plain = Comparisons.from_triplets(read.objects[read.rows], trials=read.trials)
    assert read.weights is not None
    np.testing.assert_allclose(distinct_comparisons(read).total_weights, distinct_comparisons(plain).total_weights)


def test_rows_of_weight_zero_do_not_count_in_their_trial():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    found = distinct_comparisons(Comparisons.from_triplets(rows, trials=["a"] * 3, weights=[1, 1, 0]))
    assert found.quadruplets[:, [0, 1, 3]].tolist() == rows[:2]
    np.testing.assert_allclose(found.weights, 2**-0.4)


def test_trials_may_have_any_label():
    rows = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    found = distinct_comparisons(Comparisons.from_triplets(rows, trials=[("a", 1), ("a", 1), 7]))
    np.testing.assert_allclose(found.weights, [2**-0.4, 2**-0.4, 1])


def test_empty_comparisons():
    none = DistinctComparisons.empty()
    assert (len(none), none.n_annotators, none.quadruplets.shape, none.total_weights.shape) == (0, 0, (0, 4), (0,))


def test_unit_weights_are_not_stored():
    found = distinct_comparisons(Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]]))
    assert found.weights.size == 0
    assert found.total_weights.tolist() == [1.0, 1.0]


def test_a_model_is_over_the_objects_that_are_compared():
    model, seen = model_of(Comparisons.from_triplets([[3, 9, 5], [5, 3, 9]], n_objects=20), 2)
    assert seen.tolist() == [3, 5, 9]
    # 3 near 9 and not 5; 5 near 3 and not 9.
    assert sorted(model.comparisons.quadruplets.tolist()) == [[0, 1, 1, 2], [0, 2, 0, 1]]
    assert model.comparisons.weights.size == 0
    assert (model.n_objects, model.size) == (3, 3 * 2 + 2 + 3 + 9)


def test_annotators_have_two_unknowns_each_if_distinguished():
    rows = Comparisons.from_triplets([[0, 2, 1], [1, 0, 2], [0, 2, 1]], annotators=["ann", "bob", "eve"])
    told, together = model_of(rows, 2)[0], model_of(rows, 2, by_annotator=False)[0]
    assert (told.comparisons.n_annotators, told.size) == (3, 3 * 2 + 2 + 3 + 2 * 3 + 9)
    assert (together.comparisons.n_annotators, together.size) == (0, 3 * 2 + 2 + 3 + 9)


def test_exposure_follows_from_weighted_trials():
    rows = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [4, 0, 1]]
    weights = np.array([90.0, 2.0, 0.5, 0.0])
    model, seen = model_of(Comparisons.from_triplets(rows, weights=weights, n_objects=6), 1)
    assert seen.tolist() == [0, 1, 2, 3]
    exposures, least = log_exposures(np.array([92.5, 92, 90.5, 2.5]))
    np.testing.assert_allclose(model.exposure, exposures - exposures.mean())
    np.testing.assert_allclose(model.exposure - model.least_exposure, exposures - least)
    assert model.exposure[3] < model.exposure[2] - 2
    np.testing.assert_array_equal(model.comparisons.weights, [90, 2, 0.5])


def test_chance_differences_in_counts_are_no_exposure():
    """With rates known to come from a gamma distribution, means given the numbers are better than the numbers."""
    rng = np.random.default_rng(0)
    by_luck = rng.poisson(6.0, size=4000).astype(float)
    assert np.abs(log_exposures(by_luck)[0]).max() < 0.2 < np.log1p(by_luck).std()
    rates = rng.gamma(2.0, 3.0, size=4000)
    times = rng.poisson(rates).astype(float)
    found, least = log_exposures(times)
    truth = np.log(rates / rates.mean())
    closeness = [np.mean((np.exp(of) - np.exp(truth)) ** 2) for of in (found, np.log(times / 6 + 1e-9), 0 * found)]
    assert closeness[0] < 0.9 * closeness[1]
    assert closeness[0] < 0.5 * closeness[2]
    np.testing.assert_allclose(np.exp(found).mean(), 1)
    assert found.min() - np.log(2) - 1e-12 <= least <= found.min() + 1e-12


def test_unseen_objects_have_half_the_exposure_of_the_rarest():
    exposures, least = log_exposures(np.array([10.0, 1000, 1000, 1000]))
    np.testing.assert_allclose(least, exposures[0] - np.log(2))
    np.testing.assert_array_equal(log_exposures(np.array([4.0]))[0], [0])


def test_draws_are_maps_with_answer_models():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    unknowns = reference.prior_draws(np.random.default_rng(0), 6, model.n_objects, 3)
    draws = draws_of(model, unknowns)
    assert isinstance(draws, Draws)
    assert len(draws) == 6
    np.testing.assert_allclose(draws.points, reference.map_of(unknowns, model.exposure, model.n_objects, 3), rtol=1e-6)
    for found, expected in zip(draws[1:], reference.answering(unknowns[:, -9:]), strict=True):
        np.testing.assert_allclose(found, expected)


def test_starts_differ_and_have_hyperparameters_at_their_centers():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 3)
    first, second = (model.start(np.random.default_rng(seed)) for seed in (0, 1))
    assert (first[: 3 * model.n_objects] != second[: 3 * model.n_objects]).all()
    np.testing.assert_array_equal(first[-9:], Prior().centers)
    assert len(HYPERPARAMETERS) == len(Prior().centers) == len(Prior().scales)


def test_the_prior_is_as_wide_as_its_docstring_says():
    draws = reference.prior_draws(np.random.default_rng(0), 20_000, 2, 2)
    unknowns = reference.split(draws, 2, 2)
    lapse = reference.answering(unknowns.numbers)[2]
    scale = np.exp(np.exp(unknowns.numbers[:, 1]) * unknowns.v[:, 0])
    assert 0.6 < np.mean((lapse > 0.004) & (lapse < 0.08)) < 0.75
    assert np.mean((scale < 1.2) & (scale > 1 / 1.2)) > 0.6


def crew(p=2, n_people=3, m=60):
    """A model of people who answered different numbers of questions, and draws of its unknowns from the prior."""
    people = np.sort(np.random.default_rng(0).choice(n_people, size=m, p=[0.6, 0.3, 0.1]))
    model = reference.model_about(quadruplets(m=m), 7, p, people=people, weights=np.linspace(0.5, 2, m))
    return model, reference.prior_draws(np.random.default_rng(1), 4000, 7, p, n_people=n_people)


def test_annotator_parameters_match_the_reference():
    model, unknowns = crew()
    for found, expected in zip(
        annotator_parameters(model, unknowns),
        reference.answering_of_people(reference.split(unknowns, 7, 2, 3)),
        strict=True,
    ):
        assert found.shape == (4000, 3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(
        draws_of(model, unknowns[:50]).points,
        reference.map_of(unknowns[:50], model.exposure, 7, 2, 3),
        rtol=1e-6,
        atol=1e-9,
    )


def test_annotators_are_drawn_by_their_shares_of_the_answers():
    model, unknowns = crew()
    draws = draws_of(model, unknowns)
    found = draw_annotator_effects(model, unknowns, draws, np.random.default_rng(0))
    slopes, lapses = annotator_parameters(model, unknowns)
    someone = (found.slopes[:, None] == slopes) & (found.lapses[:, None] == lapses)
    assert (someone.sum(axis=1) == 1).all()
    distinct = model.comparisons
    shares = np.bincount(distinct.annotators, distinct.weights) / distinct.weights.sum()
    np.testing.assert_allclose(someone.mean(axis=0), shares, atol=5 * 0.5 / np.sqrt(4000))
    assert found.points is draws.points
    assert found.offsets is draws.offsets


def test_without_annotators_draws_are_unchanged():
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 2)
    unknowns = reference.prior_draws(np.random.default_rng(0), 6, 7, 2)
    draws = draws_of(model, unknowns)
    assert draw_annotator_effects(model, unknowns, draws, np.random.default_rng(0)) is draws


def test_exposure_does_not_leak_the_answer_of_a_grid():
    """Of a grid of six the two chosen are in four rows each, the other four in two."""
    grid = [[0, near, far] for near in (1, 2) for far in (3, 4, 5, 6)]
    model, _ = model_of(Comparisons.from_triplets([*grid, [1, 2, 3]], trials=["grid"] * 8 + ["other"]), 1)
    np.testing.assert_array_equal(model.exposure, 0)
    both = Comparisons.from_triplets([*grid, [1, 2, 3]], trials=["grid"] * 8 + ["other"])
    np.testing.assert_array_equal(exposure_counts(both), [1, 2, 2, 2, 1, 1, 1])
    weighted = Comparisons.from_triplets(grid, trials=["grid"] * 8, weights=[3.0] * 8)
    np.testing.assert_allclose(exposure_counts(weighted), 3)


def test_kernel_arguments_are_cached():
    """Sorting the pairs anew for each density would take several times as long as the density itself."""
    model, _ = model_of(Comparisons.from_quadruplets(quadruplets()), 2)
    assert model.arguments is model.arguments
    other = replace(model, comparisons=replace(model.comparisons, rows=model.comparisons.rows[:, ::-1].copy()))
    q = model.start(np.random.default_rng(0))
    assert other.density(q)[0] != model.density(q)[0]


def test_exposure_ignores_chosen_questions():
    """How often the plan asks about objects counts, and not how often earlier answers made it worth asking."""
    rng = np.random.default_rng(0)
    planned = np.array([rng.permutation(8)[:3] for _ in range(40)])
    chosen = np.tile([0, 1, 2], (200, 1))
    both = Comparisons.from_triplets(np.concatenate([planned, chosen]), chosen=[False] * 40 + [True] * 200)
    np.testing.assert_array_equal(exposure_counts(both), np.bincount(planned.ravel()))
    np.testing.assert_array_equal(model_of(Comparisons.from_triplets(chosen, chosen=[True] * 200), 1)[0].exposure, 0)
    assert model_of(Comparisons.from_triplets(np.concatenate([planned, chosen])), 1)[0].exposure[0] > 0.5
