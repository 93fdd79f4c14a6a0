"""The test of groups: scores against finite differences, contrasts that no shift of the map changes, sign flips."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from benchmarks.validity.groups import TwoGroups
from nearer.comparing import group_tests
from nearer.comparing.group_models import Responses, fit_common, fit_dimensions, log_probabilities
from nearer.comparing.group_tests import (
    Blocks,
    GroupScores,
    efficient_scores,
    jacobians,
    object_p_values,
    sign_flip_test,
    step_down,
)
from nearer.data import Comparisons


def responses_to(study, seed=0):
    comparisons, groups, _, moved = study.draw(np.random.default_rng(seed))
    return Responses.of(comparisons), groups, moved


def fitted_to(responses, q, largest=4, seed=0):
    maps = fit_dimensions(responses, max(largest, q), np.random.default_rng(seed))
    return fit_common(responses, maps[q], 2)


@pytest.fixture(scope="module")
def small():
    responses, groups, _ = responses_to(TwoGroups(7, sizes=(4, 5), n_answers=(30, 30)))
    return responses, groups, fitted_to(responses, 2)


@pytest.fixture(scope="module")
def scores(small):
    responses, groups, fitted = small
    return efficient_scores(responses, fitted, groups, 2, np.random.default_rng(0))


def person_log_likelihood(responses, fitted, person):
    mine = responses.people == person
    return responses.weights[mine] @ log_probabilities(responses.subset(mine), fitted)


def test_rows_sum_to_the_derivatives_without_those_of_slope_and_lapse(small):
    """A person's score is the derivative by the map less its regression on those by slope and lapse rate."""
    responses, groups, fitted = small
    (part,) = jacobians(responses, fitted, groups, 2)
    step, person = 1e-5, 2
    inside = responses.people[part.chosen] == person

    def derivative(change):
        high, low = (person_log_likelihood(responses, change(sign * step), person) for sign in (1, -1))
        return (high - low) / (2 * step)

    def moved(k):
        return lambda by: replace(fitted, points=fitted.points + by * np.eye(14)[k].reshape(7, 2))

    def deviating(by):
        return replace(fitted, deviations=fitted.deviations + by)

    def lapsing(by):
        return replace(fitted, lapses=expit(logit(fitted.lapses) + by))

    raw = np.array([derivative(moved(k)) for k in range(14)])
    nuisance = np.array([derivative(deviating), derivative(lapsing)])
    # The same for every answer that could have been given: the expected information, by all rows of the person.
    mine = responses.subset(responses.people == person)
    information = np.zeros((16, 16))
    for way in (mine, replace(mine, rows=mine.rows[:, [2, 3, 0, 1]])):
        for row in range(len(way.rows)):
            one = way.subset(np.arange(len(way.rows)) == row)
            chance = np.exp(log_probabilities(one, fitted))[0]
            of_row = []
            for change in [*(moved(k) for k in range(14)), deviating, lapsing]:
                high, low = (one.weights @ log_probabilities(one, change(sign * step)) for sign in (1, -1))
                of_row.append((high - low) / (2 * step))
            information += chance * np.outer(of_row, of_row)
    regression = information[:14, 14:] @ np.linalg.pinv(information[14:, 14:])
    np.testing.assert_allclose(
        (part.derivatives[inside].T @ part.residuals[inside])[:14], raw - regression @ nuisance, atol=1e-4
    )
    efficient = information[:14, :14] - regression @ information[14:, :14]
    np.testing.assert_allclose((part.derivatives[inside].T @ part.derivatives[inside])[:14, :14], efficient, atol=1e-4)


def test_rows_come_whole_people_at_a_time(small, monkeypatch):
    responses, groups, fitted = small
    (whole,) = jacobians(responses, fitted, groups, 2)
    monkeypatch.setattr(group_tests, "_CHUNK_NUMBERS", 70 * 16)  # numbers of two people
    parts = list(jacobians(responses, fitted, groups, 2))
    assert len(parts) > 2
    np.testing.assert_array_equal(np.concatenate([part.chosen for part in parts]), whole.chosen)
    np.testing.assert_allclose(np.concatenate([part.derivatives for part in parts]), whole.derivatives, atol=1e-12)
    people = [set(responses.people[part.chosen]) for part in parts]
    assert sum(map(len, people)) == 9


def test_rigid_motions_have_no_score(small, scores):
    """Translations, rotation and scale are in the null space of the information, which whitening leaves out."""
    fitted = small[2]
    assert scores.unwhiten.shape[0] == 14 + 2
    assert scores.unwhiten.shape[1] <= 14 + 2 - 3
    centered = fitted.points - fitted.points.mean(axis=0)
    for motion in (np.tile([1.0, 0.0], (7, 1)), centered @ np.array([[0.0, 1.0], [-1.0, 0.0]])):
        direction = np.concatenate([motion.ravel(), [0.0, 0.0]])
        assert np.abs(np.linalg.pinv(scores.unwhiten) @ direction).max() < 1e-2 * np.linalg.norm(direction)


def test_shares_of_groups_sum_to_the_information_of_all(scores):
    np.testing.assert_allclose(scores.shares.sum(axis=0), np.eye(scores.shares.shape[1]), atol=1e-8)
    np.testing.assert_allclose(scores.contrast(0), -scores.contrast(1), atol=1e-8)
    np.testing.assert_allclose(scores.contrast_information(0), scores.contrast_information(1), atol=1e-8)


def test_what_is_restored_changes_no_contrast(scores):
    """It is each block's information times one vector, which the matrix shares take out."""
    for draw in (0, 7):
        np.testing.assert_allclose(scores.contributions(1, draw).sum(axis=0), scores.contrast(1), atol=1e-8)
        assert np.abs(scores.contributions(1, draw) - scores.contributions(1)).max() > 0.01


def test_the_map_being_a_little_off_changes_no_contrast():
    """Contrasts have matrix shares: a shift of the map that all share is taken out, though groups differ in effort."""
    study = TwoGroups(8, sizes=(4, 20), n_answers=(300, 20), lapses=(0.0, 0.0))
    responses, groups, _ = responses_to(study)
    fitted = fitted_to(responses, 2)
    best = efficient_scores(responses, fitted, groups, 2, np.random.default_rng(0))
    step = 0.02 * np.random.default_rng(1).normal(size=fitted.points.shape)
    off = efficient_scores(responses, replace(fitted, points=fitted.points + step), groups, 2, np.random.default_rng(0))
    coordinates = [np.linalg.pinv(each.unwhiten.T) @ each.contrast(1) for each in (best, off)]
    change = np.linalg.norm(coordinates[1] - coordinates[0])
    total = [np.linalg.pinv(each.unwhiten.T) @ each.scores.sum(axis=0) for each in (best, off)]
    assert change < 0.2 * np.linalg.norm(total[1] - total[0])


def gaussian_scores(rng, informations, groups, n_fitted=True):
    """Return scores of blocks of two groups whose true scores are normal, less what a fit takes from them."""
    r = informations.shape[1]
    whiten = np.linalg.inv(np.linalg.cholesky(informations.sum(axis=0)))
    shares = whiten @ informations @ whiten.T  # (b, r, r), which sum to 1
    true = np.stack([np.linalg.cholesky(each + 1e-9 * np.eye(r)) @ rng.normal(size=r) for each in shares])
    scores = true - shares @ true.sum(axis=0)
    drawn = rng.standard_normal((group_tests.N_RESTORED, r))
    blocks = Blocks(np.arange(len(groups)), groups, np.arange(len(groups)), 2)
    taken = np.einsum("brs,ds->dbr", shares, drawn)
    of_groups = np.stack([shares[groups == g].sum(axis=0) for g in (0, 1)])
    ridge = np.eye(r) / 4
    return GroupScores(blocks, scores, taken, of_groups, ridge, np.eye(r), (r // 2, 2))


def informations_of(rng, n_people, r, effort):
    rows = rng.normal(size=(n_people, 3 * r, r))
    return np.einsum("bmr,bms,b->brs", rows, rows, effort)


@pytest.mark.parametrize(("sizes", "effort"), [((4, 4), (1.0, 1.0)), ((3, 14), (8.0, 1.0))])
def test_p_is_uniform_where_scores_are_those_of_a_fit(sizes, effort):
    """Flipped as they are, what is left of scores by a fit is too small, and too many studies are significant."""
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], sizes)
    p_values, plain = [], []
    for _ in range(400):
        found = gaussian_scores(rng, informations_of(rng, len(groups), 8, np.repeat(effort, sizes)), groups)
        p_values.append(sign_flip_test(found, 199, rng).p_value)
        plain.append(sign_flip_test(replace(found, taken=np.zeros_like(found.taken)), 199, rng).p_value)
    assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.085
    assert 0.14 <= np.mean(np.array(p_values) <= 0.2) <= 0.25
    assert np.mean(np.array(plain) <= 0.2) > 0.26
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.05)


def test_p_of_objects_holds_for_all_of_them():
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], (6, 6))
    smallest = []
    for _ in range(200):
        found = gaussian_scores(rng, informations_of(rng, 12, 8, np.ones(12)), groups)
        smallest.append(object_p_values(found, np.arange(4), 199, rng).min())
    assert 0.01 <= np.mean(np.array(smallest) <= 0.05) <= 0.09


def test_a_shift_of_one_group_is_found():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], (8, 8))
    found = gaussian_scores(rng, informations_of(rng, 16, 8, np.ones(16)), groups)
    moved = np.where((groups == 1)[:, None] & (np.arange(8) == 0), 1.0, 0.0)
    shifted = replace(found, scores=found.scores + moved)
    assert sign_flip_test(shifted, 199, rng).p_value == pytest.approx(1 / 200)
    of_objects = object_p_values(shifted, np.arange(4), 199, rng)
    assert of_objects.argmin() == 0
    assert of_objects[0] <= 0.02


def test_people_differ_in_effort_and_groups_do_not_differ():
    """With one share for all dimensions in place of matrix shares these are significant in a quarter of studies."""
    study = TwoGroups(8, sizes=(4, 20), n_answers=(200, 10))
    p_values = []
    for seed in range(16):
        responses, groups, _ = responses_to(study, seed)
        rng = np.random.default_rng(seed)
        found = efficient_scores(responses, fitted_to(responses, 3), groups, 2, rng)
        p_values.append(sign_flip_test(found, 99, rng).p_value)
    assert np.sum(np.array(p_values) <= 0.05) <= 3
    assert np.mean(p_values) > 0.3


def test_a_map_of_too_few_dimensions_differs_between_questions_and_one_of_enough_does_not():
    study = TwoGroups(9, 4, sizes=(20, 20), questions="anchors", n_moved=0)
    flat, enough = [], []
    for seed in range(3):
        responses, groups, _ = responses_to(study, seed)
        for q, p_values in ((1, flat), (5, enough)):
            fitted, rng = fitted_to(responses, q, 5), np.random.default_rng(seed)
            p_values.append(sign_flip_test(efficient_scores(responses, fitted, groups, 2, rng), 99, rng).p_value)
    assert max(flat) <= 0.02
    assert max(enough) > 0.05


@pytest.fixture(scope="module")
def crossed():
    """People with maps of their own who answer in two conditions, in the second of which three objects moved."""
    rng = np.random.default_rng(0)
    rows, people, conditions = [], [], []
    points = rng.normal(size=(8, 2))
    elsewhere = points.copy()
    elsewhere[:3] *= -1
    for person in range(12):
        own = 0.4 * rng.normal(size=(8, 2))
        for condition, seen in enumerate((points + own, elsewhere + own)):
            for _ in range(40):
                i, j, k = rng.choice(8, 3, replace=False)
                near, far = (np.square(seen[i] - seen[a]).sum() for a in (j, k))
                rows.append([i, j, k] if rng.random() < expit(2 * (far - near)) else [i, k, j])
                people.append(person)
                conditions.append(condition)
    return Comparisons.from_triplets(np.array(rows), annotators=people, n_objects=8), np.array(conditions)


def test_people_in_both_groups_are_their_own_control(crossed):
    comparisons, conditions = crossed
    responses = Responses.of(comparisons)
    rng = np.random.default_rng(0)
    fitted = fitted_to(responses, 3)
    scores = efficient_scores(responses, fitted, conditions, 2, rng)
    assert scores.blocks.within
    assert scores.blocks.n_people == 12
    assert len(scores.blocks.groups) == 24
    for signs in group_tests._flips(60, scores.blocks, rng):
        of_people = np.array([signs[:, scores.blocks.people == person] for person in range(12)])
        np.testing.assert_array_equal(of_people[..., 0], of_people[..., 1])
    assert sign_flip_test(scores, 199, rng).p_value <= 0.01
    p_values = []
    for _ in range(8):
        mixed = rng.permutation(960) % 2
        dealt = efficient_scores(responses, fitted, mixed, 2, rng)
        p_values.append(sign_flip_test(dealt, 199, rng).p_value)
    assert np.mean(p_values) > 0.2


def test_the_smallest_p_counts_the_signs_there_are(scores):
    assert scores.blocks.n_people == 9
    assert sign_flip_test(scores, 4999, np.random.default_rng(0)).smallest_p == 2.0**-8
    assert sign_flip_test(scores, 19, np.random.default_rng(0)).smallest_p == 1 / 20


def test_objects_that_moved_are_found_one_after_another():
    responses, groups, moved = responses_to(TwoGroups(10, sizes=(15, 15), moved_by=0.8, n_moved=2))
    rng = np.random.default_rng(0)
    fitted = fitted_to(responses, 3)
    scores = efficient_scores(responses, fitted, groups, 2, rng)
    tested = np.ones(10, dtype=bool)
    tested[(moved[0] + 1) % 10] = (moved[0] + 1) % 10 == moved[1]
    found = step_down(responses, fitted, groups, scores, tested, 199, 0.05, rng)
    assert set(np.flatnonzero(found <= 0.05)) == set(moved)
    assert (found[~tested] == 1).all()


def test_an_object_with_a_place_in_each_group_is_no_difference():
    """What moved far makes others seem to move; once it is free, they do not."""
    responses, groups, moved = responses_to(TwoGroups(10, sizes=(15, 15), moved_by=1.5, n_moved=1), 1)
    rng = np.random.default_rng(0)
    fitted = fitted_to(responses, 3)
    before = efficient_scores(responses, fitted, groups, 2, rng)
    freed, start = group_tests._freed(responses, fitted, groups, int(moved[0]))
    assert freed.n_objects == 11
    assert (freed.rows[groups == 1] != moved[0]).all()
    after = efficient_scores(freed, fit_common(freed, start, 1), groups, 2, rng)
    others = np.setdiff1d(np.arange(10), moved)
    assert sign_flip_test(before, 199, rng).p_value == pytest.approx(1 / 200)
    assert sign_flip_test(after, 199, rng).p_value > 0.05
    assert object_p_values(after, others, 199, rng).min() > object_p_values(before, others, 199, rng).min() + 0.01


def test_three_groups_are_tested_together():
    responses, groups, _ = responses_to(TwoGroups(8, sizes=(10, 10), moved_by=0.8))
    three = np.where(responses.people % 2 == 0, groups, 2)
    rng = np.random.default_rng(0)
    fitted = fitted_to(responses, 3)
    assert sign_flip_test(efficient_scores(responses, fitted, three, 3, rng), 199, rng).p_value <= 0.02
    dealt = rng.permutation(20)[responses.people] % 3
    assert sign_flip_test(efficient_scores(responses, fitted, dealt, 3, rng), 199, rng).p_value > 0.02
