"""Axes with meaning: each rotation against another way to find it, and what no turn before it may change."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import ortho_group

from nearer.geometry import align, axes_along, axes_onto, gradient, rotate_to, varimax, varimax_axes

RNG = np.random.default_rng(3)
MAP = RNG.normal(size=(25, 3)) * [3.0, 2.0, 1.0]
MAP -= MAP.mean(axis=0)
FEATURE, SECOND = MAP @ [1.0, 2.0, -1.0] + RNG.normal(size=25), MAP @ [2.0, 0.0, 1.0] + RNG.normal(size=25)


def correlation(axis, feature):
    return np.corrcoef(MAP @ axis, feature)[0, 1]


def unit(angles):
    """A direction in three dimensions."""
    first, second = angles
    return np.array([np.cos(first) * np.cos(second), np.sin(first) * np.cos(second), np.sin(second)])


def test_the_first_axis_is_the_one_that_correlates_most():
    found = max(
        (minimize(lambda angles: -correlation(unit(angles), FEATURE), start) for start in RNG.normal(size=(5, 2))),
        key=lambda result: -result.fun,
    )
    first = axes_along(MAP, FEATURE)[:, 0]
    assert correlation(first, FEATURE) == pytest.approx(-found.fun, abs=1e-9)
    np.testing.assert_allclose(first, unit(found.x), atol=1e-4)


def test_a_second_feature_has_the_best_axis_at_right_angles_to_the_first():
    axes = axes_along(MAP, FEATURE, SECOND)
    np.testing.assert_array_equal(axes[:, 0], axes_along(MAP, FEATURE)[:, 0])

    def worse(angle):
        return -correlation(np.cos(angle) * axes[:, 1] + np.sin(angle) * axes[:, 2], SECOND)

    assert minimize_scalar(worse, bounds=(-1.5, 1.5), options={"xatol": 1e-9}).x == pytest.approx(0, abs=1e-6)
    assert -worse(0.0) > 0


def test_axes_beyond_the_features_are_principal():
    turned = rotate_to(MAP, FEATURE)
    covariance = np.cov(turned.T)
    assert covariance[1, 2] == pytest.approx(0, abs=1e-12)
    assert covariance[1, 1] > covariance[2, 2]
    assert (np.abs(turned[:, 1:]).max(axis=0) == turned[:, 1:].max(axis=0)).all()


@pytest.mark.parametrize("turn", [lambda points: rotate_to(points, FEATURE, SECOND), varimax])
def test_distances_stay_and_no_turn_before_it_matters(turn):
    once = turn(MAP)
    np.testing.assert_allclose(once @ once.T, MAP @ MAP.T, atol=1e-10)
    np.testing.assert_allclose(turn(once), once, atol=1e-8)
    for seed in range(3):
        np.testing.assert_allclose(turn(MAP @ ortho_group.rvs(3, random_state=seed)), once, atol=1e-8)


def test_objects_without_a_value_do_not_count():
    partly = FEATURE.copy()
    partly[:5] = np.nan
    first = axes_along(MAP, partly)[:, 0]
    slopes = gradient(MAP[5:], FEATURE[5:])
    np.testing.assert_allclose(first, slopes / np.linalg.norm(slopes), atol=1e-12)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ((np.ones(25),), "feature 1 grows in no direction"),
        ((FEATURE, 5 * FEATURE, FEATURE, FEATURE), "1 to 3 features, got 4"),
        ((), "1 to 3 features, got 0"),
        ((FEATURE[1:],), r"a number for each of the 25 objects, got shape \(24,\)"),
        ((np.full(25, np.nan),), "feature 1 grows in no direction"),
    ],
)
def test_features_that_turn_nothing_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        axes_along(MAP, *features)


def criterion(points):
    """Kaiser's: the variance of squared coordinates, summed over axes."""
    return (points**2).var(axis=0).sum()


@pytest.mark.parametrize("normalize", [False, True])
def test_varimax_in_the_plane_is_the_best_of_all_angles(normalize):
    for seed in range(5):
        points = np.random.default_rng(seed).normal(size=(15, 2)) * [2.0, 1.0]
        points -= points.mean(axis=0)
        judged = points / np.linalg.norm(points, axis=1, keepdims=True) if normalize else points

        def turned(angle, judged=judged):
            return judged @ [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]

        best = max(criterion(turned(angle)) for angle in np.linspace(0, np.pi / 2, 2001))
        found = criterion(judged @ varimax_axes(points, normalize=normalize))
        assert best <= found * (1 + 1e-12)
        assert found <= best * (1 + 1e-4)


def test_varimax_of_more_axes_is_the_best_that_a_general_solver_finds():
    heavy = np.random.default_rng(1).standard_t(3, size=(40, 4))
    heavy -= heavy.mean(axis=0)
    upper = np.triu_indices(4, 1)

    def lost(angles):
        skew = np.zeros((4, 4))
        skew[upper] = angles
        return -criterion(heavy @ expm(skew - skew.T))

    best = -min(minimize(lost, start).fun for start in np.random.default_rng(2).normal(size=(5, 6)))
    assert criterion(varimax(heavy)) >= best * (1 - 1e-9)


def test_varimax_finds_the_axes_that_objects_lie_on():
    sparse = np.zeros((30, 3))
    sparse[np.arange(30), np.arange(30) % 3] = np.linspace(1, 4, 30) * np.where(np.arange(30) % 2, 1, -1)
    sparse[:, 1] *= 0.5
    sparse -= sparse.mean(axis=0)
    turned = varimax(sparse @ ortho_group.rvs(3, random_state=0))
    variances = turned.var(axis=0)
    assert (np.diff(variances) < 0).all()
    order = np.argsort(-sparse.var(axis=0))
    assert np.abs(np.corrcoef(turned.T, sparse[:, order].T)[:3, 3:].diagonal()).min() > 0.995


def test_objects_that_are_not_seen_move_along():
    seen, strayed = np.arange(25) < 20, MAP.copy()
    strayed[20:] += 50
    np.testing.assert_allclose(varimax_axes(strayed, seen=seen)[:, 0], varimax_axes(MAP, seen=seen)[:, 0])


def test_a_map_is_turned_onto_the_objects_that_both_have():
    turn = ortho_group.rvs(3, random_state=5)
    other = 7 * (MAP @ turn)[:, :2] + 3
    other[4:9] = np.nan
    seen = np.isfinite(other).all(axis=1)
    axes = axes_onto(MAP, other, seen)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(MAP @ axes[:, :2], (MAP @ turn)[:, :2], atol=1e-8)
    same = 7 * MAP @ turn + 3
    same[4:9] = np.nan
    np.testing.assert_allclose(align(MAP, same, seen=seen)[seen], same[seen], atol=1e-8)
    wide = np.column_stack([MAP @ turn, np.arange(25)])
    np.testing.assert_allclose(axes_onto(MAP, wide), turn, atol=1e-8)
    with pytest.raises(ValueError, match="NaN"):
        align(MAP, other)
    with pytest.raises(ValueError, match="fewer than two"):
        axes_onto(MAP, other, np.arange(25) == 0)
