from dataclasses import replace

import numpy as np
import pytest
from helpers.drawn_rows import kernel, random_quadruplets

from nearer.optimize.problems.margins import MarginMap, squared_distances

N, M = 7, 40


@pytest.fixture
def rows(kind):
    return random_quadruplets(np.random.default_rng(1), N, M, kind)


def symmetric(rng):
    matrix = rng.normal(size=(N, N))
    return matrix + matrix.T


def test_margins_are_inner_products_with_the_papers_matrices(rows):
    gram = symmetric(np.random.default_rng(2))
    expected = [np.vdot(kernel(row, N), gram) for row in rows]
    np.testing.assert_allclose(MarginMap.from_quadruplets(rows, N)(gram), expected, atol=1e-12)


def test_margins_of_points_are_differences_of_squared_distances(rows):
    points = np.random.default_rng(3).normal(size=(N, 3))
    i, j, l, k = rows.T  # noqa: E741
    expected = ((points[l] - points[k]) ** 2).sum(1) - ((points[i] - points[j]) ** 2).sum(1)
    np.testing.assert_allclose(MarginMap.from_quadruplets(rows, N)(points @ points.T), expected, atol=1e-12)


@pytest.mark.parametrize("diagonal", [1.0, 0.3, 0.0])
def test_adjoint(rows, diagonal):
    rng = np.random.default_rng(4)
    margins = replace(MarginMap.from_quadruplets(rows, N), diagonal=diagonal)
    gram, weights = symmetric(rng), rng.normal(size=M)
    assert np.vdot(weights, margins(gram)) == pytest.approx(np.vdot(margins.adjoint(weights), gram))


def test_adjoint_is_a_sum_of_the_papers_matrices(rows):
    weights = np.random.default_rng(5).normal(size=M)
    expected = sum(weight * kernel(row, N) for weight, row in zip(weights, rows, strict=True))
    np.testing.assert_allclose(MarginMap.from_quadruplets(rows, N).adjoint(weights), expected, atol=1e-12)


def test_adjoint_is_a_laplacian(rows):
    laplacian = MarginMap.from_quadruplets(rows, N).adjoint(np.random.default_rng(6).normal(size=M))
    np.testing.assert_allclose(laplacian.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_array_equal(laplacian, laplacian.T)


def test_triplet_matrix_has_the_papers_pattern():
    """Eq. K_t of the paper, with the sign that rewards a near pair."""
    expected = -np.array([[0, -1, 1], [-1, 1, 0], [1, 0, -1]])
    adjoint = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), 3).adjoint(np.ones(1))
    np.testing.assert_array_equal(adjoint, expected)


def test_translation_changes_no_distance():
    points = np.random.default_rng(7).normal(size=(N, 2))
    moved = points + np.array([3.0, -1.0])
    np.testing.assert_allclose(squared_distances(points @ points.T), squared_distances(moved @ moved.T), atol=1e-12)


def test_merging_keeps_every_weighted_sum(rows):
    rng = np.random.default_rng(8)
    repeated = np.concatenate([rows, rows[::-1][:20], rows[:9][:, [1, 0, 3, 2]]])
    weights = rng.integers(0, 3, len(repeated)).astype(float)
    whole = MarginMap.from_quadruplets(repeated, N)
    merged, totals = whole.merge_duplicates(weights)
    np.testing.assert_allclose(merged.adjoint(totals), whole.adjoint(weights), atol=1e-12)
    gram = symmetric(rng)
    assert totals @ merged(gram) ** 2 == pytest.approx(weights @ whole(gram) ** 2)
    assert len(merged) <= len(rows)
    assert (totals > 0).all()


def test_a_diagonal_weight_is_a_constant_and_specificities(rows):
    gram, weight = symmetric(np.random.default_rng(9)), 0.3
    margins = MarginMap.from_quadruplets(rows, N)
    shifted = gram + np.diag((weight - 1) * np.diag(gram) + 5.0)
    np.testing.assert_allclose(replace(margins, diagonal=weight)(gram), margins(shifted), atol=1e-12)


def test_objects_in_no_comparison_can_be_left_out(rows):
    spread = np.array([1, 2, 4, 5, 6, 8, 9])
    whole = MarginMap.from_quadruplets(spread[rows], 11)
    small, seen = whole.over_seen_objects()
    np.testing.assert_array_equal(seen, spread)
    gram = np.zeros((11, 11))
    gram[np.ix_(spread, spread)] = symmetric(np.random.default_rng(10))
    np.testing.assert_array_equal(small(gram[np.ix_(spread, spread)]), whole(gram))
