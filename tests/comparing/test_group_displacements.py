"""Displacements between groups: their intervals hold them, rigid motions are none, and small ones are equivalent."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.validity.groups import TwoGroups
from nearer.comparing.group_displacements import (
    LOOSE_DEPARTURE,
    GroupMap,
    SquaredLength,
    displacements,
    group_map,
    untested_displacements,
)
from nearer.comparing.group_models import (
    Responses,
    departure_precision,
    fit_common,
    fit_departing,
    fit_dimensions,
)
from nearer.geometry import align

NO_END = np.full(2000, 1e9)  # degrees of freedom


def known(points, influence):
    """The map of a group that answers determine."""
    return GroupMap(points, influence, np.zeros(len(points)))


@pytest.mark.parametrize("length", [0.0, 1.0, 5.0])
def test_the_interval_of_a_length_holds_it(length):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2000, 2)) + np.array([length, 0])
    noise = SquaredLength.of(np.tile(np.eye(2), (2000, 1, 1)), NO_END, 0.9)
    lows, highs = noise.interval(np.square(vectors).sum(axis=1), 0.9)
    assert ((lows <= length) & (length <= highs)).mean() == pytest.approx(0.9 if length else 0.95, abs=0.02)


def test_few_people_make_intervals_wider():
    covariance, squares = np.eye(2)[None], np.array([9.0])
    known, guessed = (SquaredLength.of(covariance, np.array([df]), 0.95).interval(squares, 0.95) for df in (1e9, 5.0))
    assert guessed[0] < known[0]
    assert guessed[1] > known[1]


@pytest.mark.parametrize("covariance", [np.eye(2), np.diag([1.0, 0.1])])
def test_a_length_at_the_bound_is_seldom_called_less(covariance):
    rng = np.random.default_rng(0)
    roots, points = np.sqrt(np.diag(covariance)), np.zeros((400, 2))
    people = rng.normal(size=(40, 400, 2)) * roots / np.sqrt(40)
    called = {}
    for length in (0.0, 2.0, 5.0):
        vectors = np.array([length, 0.0]) + rng.normal(size=(400, 2)) * roots
        found = displacements(
            known(points, 0 * people), known(vectors, people), 1.0, max(length, 5.0), 0.95, np.ones(400, bool)
        )
        called[length] = (found.equivalence_p_values <= 0.05).mean()
    assert called[0.0] > 0.9
    assert called[5.0] <= 0.07
    near = displacements(
        known(points, 0 * people), known(points, people), 1.0, 0.5, 0.95, np.ones(400, bool)
    ).equivalence_p_values
    assert near.min() > 0.2  # nothing is known, whatever was observed


def test_very_long_and_unknown_lengths_have_ends():
    noise = SquaredLength.of(np.tile(np.eye(2), (2, 1, 1)), np.full(2, 1e9), 0.95)
    lows, highs = noise.interval(np.array([1e8, np.nan]), 0.95)
    np.testing.assert_allclose([lows[0], highs[0]], [1e4 - 1.96, 1e4 + 1.96], atol=1e-3)
    assert np.isnan([lows[1], highs[1]]).all()


@pytest.fixture(scope="module")
def drawn():
    comparisons, groups, _, _ = TwoGroups(8, sizes=(6, 6), n_answers=(60, 60)).draw(np.random.default_rng(0))
    responses = Responses.of(comparisons)
    return responses, groups, fit_common(responses, fit_dimensions(responses, 3, np.random.default_rng(0))[2], 2)


def test_influences_are_of_people_and_no_rigid_motion(drawn):
    responses, groups, common = drawn
    found = group_map(responses.subset(groups == 0), common)
    assert found.influence.shape == (12, 8, 2)
    assert (found.influence[6:] == 0).all()
    assert (np.abs(found.influence[:6]).max(axis=(1, 2)) > 0).all()
    np.testing.assert_allclose(found.influence.sum(axis=1), 0, atol=1e-9)
    centered = common.points - common.points.mean(axis=0)
    for motion in (centered, centered @ np.array([[0.0, 1.0], [-1.0, 0.0]])):
        np.testing.assert_allclose(np.einsum("bip,ip->b", found.influence, motion), 0, atol=1e-8)


def test_an_influence_is_what_the_map_changes_by_without_a_person(drawn):
    """To first order; the correction for the fit makes it longer than the step without the person alone."""
    responses, groups, common = drawn
    part = responses.subset(groups == 0)
    whole = group_map(part, common)
    ratios, cosines = [], []
    for person in range(6):
        rest = group_map(part.subset(part.people != person), common).points
        change, influence = (whole.points - rest).ravel(), whole.influence[person].ravel()
        cosines.append(change @ influence / np.linalg.norm(change) / np.linalg.norm(influence))
        ratios.append(np.linalg.norm(influence) / np.linalg.norm(change))
    assert np.median(cosines) > 0.8
    assert 0.6 < np.median(ratios) < 1.2  # 1 - H to the power of 1/2, where leaving out takes that of 1


@pytest.mark.parametrize("sizes", [(8, 8), (4, 12)])
def test_intervals_hold_the_displacements_of_few_people(sizes):
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        study = TwoGroups(8, sizes=sizes, n_answers=(60, 60), moved_by=0.6, own=0.4)
        comparisons, groups, maps, _ = study.draw(rng)
        responses = Responses.of(comparisons)
        common = fit_common(responses, fit_dimensions(responses, 3, rng)[2], 2)
        first, second = (group_map(responses.subset(groups == g), common) for g in (0, 1))
        moves = displacements(first, second, 1.0, 0.25, 0.95, np.ones(8, dtype=bool))
        truth = np.linalg.norm(align(maps[1], common.points) - align(maps[0], common.points), axis=1)
        held += ((moves.lows <= truth) & (truth <= moves.highs))[np.isfinite(moves.lows)].tolist()
    assert len(held) > 75
    assert 0.9 <= np.mean(held) <= 1


def test_people_in_both_groups_cancel_what_they_have_in_common():
    """Whoever sees an object elsewhere in both conditions says nothing about a difference between them."""
    rng = np.random.default_rng(0)
    own, points = rng.normal(size=(10, 5, 2)), rng.normal(size=(5, 2))
    noise = 0.003 * rng.normal(size=(2, 10, 5, 2))
    first, second = known(points, own + noise[0]), known(points + 0.1, own + noise[1])
    moves = displacements(first, second, 1.0, 0.25, 0.95, np.arange(5) > 0)
    assert np.isnan(moves.lengths).tolist() == [True, False, False, False, False]
    assert (moves.highs[1:] < 0.25).all()
    assert (moves.lows[1:] > 0.05).all()
    assert (moves.equivalence_p_values[1:] <= 0.05).all()
    apart = displacements(first, known(second.points, -second.influence), 1.0, 0.25, 0.95, np.ones(5, dtype=bool))
    assert (apart.equivalence_p_values > 0.05).all()


def test_what_few_answers_leave_to_the_prior_has_no_interval(drawn):
    """A place that follows the map of all is not known, though it hardly varies with people."""
    responses, groups, common = drawn
    about = (responses.rows == 3).any(axis=1)
    seldom = about & (groups == 0) & (np.arange(len(about)) != np.flatnonzero(about & (groups == 0))[0])
    first, second = (group_map(responses.subset((groups == g) & ~seldom), common) for g in (0, 1))
    assert first.prior_shares[3] > 0.5
    assert (second.prior_shares < 0.2).all()
    found = displacements(first, second, 1.0, 5.0, 0.95, np.ones(8, dtype=bool))
    for each in (found.lows, found.highs, found.corrected, found.equivalence_p_values):
        assert np.isnan(each[3])
        assert np.isfinite(each[first.prior_shares < 0.2]).all()
    assert np.isfinite(found.lengths).all()


def test_the_share_of_the_prior_is_what_the_map_follows_it_by(drawn):
    responses, groups, common = drawn
    part = responses.subset((groups == 0) & (np.arange(len(groups)) % 2 == 0))
    precision, step = departure_precision(common, LOOSE_DEPARTURE), 0.02
    whole = fit_departing(part, common, precision)
    response = np.empty((16, 16))
    for k in range(16):
        nudged = common.points + step * np.eye(16)[k].reshape(8, 2)
        moved = fit_departing(part, replace(common, points=nudged), precision, whole)
        response[:, k] = (moved - whole).ravel() / step
    center = whole - whole.mean(axis=0)
    turned = center @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    rigid = np.column_stack([np.tile(np.eye(2), (8, 1)), turned.ravel()])
    rigid = np.linalg.qr(rigid)[0]
    response -= rigid @ (rigid.T @ response)
    followed = np.linalg.norm(response.reshape(8, 2, 16), ord=2, axis=(1, 2))
    found = group_map(part, common).prior_shares
    assert followed.max() > 3 * followed.min()
    np.testing.assert_allclose(found, followed, atol=0.15)


def test_one_person_does_not_tell_how_much_a_group_differs(drawn):
    responses, groups, common = drawn
    one, others = (group_map(responses.subset(each), common) for each in (responses.people == 0, groups == 1))
    assert np.isfinite(others.influence).all()
    found = displacements(one, others, 1.0, 5.0, 0.95, np.ones(8, dtype=bool))
    assert np.isnan(found.highs).all()
    assert np.isnan(found.equivalence_p_values).all()


def test_without_a_test_there_are_no_intervals():
    found = untested_displacements(np.zeros((2, 2)), np.ones((2, 2)), 2.0, np.array([True, False]))
    assert np.isnan(found.lows).all()
    assert np.isnan(found.equivalence_p_values).all()
    assert found.lengths[0] == pytest.approx(np.sqrt(2) / 2)
    assert np.isnan(found.lengths[1])
