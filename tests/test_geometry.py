"""Alignment: the least squares of all motions, whatever the points were turned by before."""

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.stats import special_ortho_group

from nearer.evaluation import procrustes_error
from nearer.geometry import align

RNG = np.random.default_rng(0)
ONTO = RNG.normal(size=(12, 3)) + 4
NOISY = 2.5 * ONTO @ special_ortho_group.rvs(3, random_state=0) + RNG.normal(size=(12, 3))


def test_what_is_left_is_the_procrustes_error():
    centred = ONTO - ONTO.mean(axis=0)
    left = np.sum((align(NOISY, ONTO) - ONTO) ** 2) / np.sum(centred**2)
    assert left == pytest.approx(procrustes_error(NOISY, ONTO))


def test_no_other_similarity_lies_nearer():
    best = np.sum((align(NOISY, ONTO) - ONTO) ** 2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        turn = special_ortho_group.rvs(3, random_state=seed)
        near = np.eye(3) + 1e-3 * (turn - turn.T)
        other = align(NOISY, ONTO) @ np.linalg.qr(near)[0] * (1 + 1e-3 * rng.normal()) + 1e-3 * rng.normal(size=3)
        assert np.sum((other - ONTO) ** 2) >= best


@pytest.mark.parametrize("scaling", [True, False])
def test_aligning_twice_changes_nothing_and_no_turn_before_it_matters(scaling):
    once = align(NOISY, ONTO, scaling=scaling)
    moved = NOISY @ special_ortho_group.rvs(3, random_state=1) * [1, 1, -1] - 7  # a mirror image
    for start in (once, moved):
        np.testing.assert_allclose(align(start, ONTO, scaling=scaling), once, atol=1e-12)


def test_without_moving_and_scaling_it_is_scipys_rotation():
    turn, _ = orthogonal_procrustes(NOISY, ONTO - ONTO.mean(axis=0))
    np.testing.assert_array_equal(align(NOISY, ONTO, scaling=False, moving=False), NOISY @ turn)


def test_a_stack_of_maps_is_aligned_map_by_map():
    stack = np.stack([NOISY, NOISY[::-1], ONTO])
    np.testing.assert_allclose(align(stack, ONTO), [align(each, ONTO) for each in stack], atol=1e-12)


def test_objects_that_are_not_seen_move_along_and_do_not_count():
    seen = np.arange(12) < 9
    strayed = NOISY.copy()
    strayed[~seen] += 100
    plain, other = align(NOISY, ONTO, seen=seen), align(strayed, ONTO, seen=seen)
    np.testing.assert_allclose(plain[seen], other[seen], atol=1e-12)
    np.testing.assert_allclose(align(NOISY[seen], ONTO[seen]), plain[seen], atol=1e-12)
    assert np.abs(other[~seen] - plain[~seen]).max() > 10


def test_a_map_of_more_dimensions_keeps_what_lies_in_those_of_the_other():
    flat = np.column_stack([ONTO[:, :2], np.zeros(12)])
    np.testing.assert_allclose(align(NOISY, flat)[:, :2], align(NOISY, ONTO[:, :2]), atol=1e-12)


def test_rows_must_match():
    with pytest.raises(ValueError, match=r"one row for each of the 12 of onto, got shape \(11, 3\)"):
        align(NOISY[1:], ONTO)
    with pytest.raises(ValueError, match="NaN"):
        align(NOISY, np.full((12, 3), np.nan))
