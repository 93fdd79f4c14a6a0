import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.stats import ortho_group

from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.evaluation import (
    comparison_error,
    expected_calibration_error,
    margin_statistics,
    margins,
    procrustes_error,
    reliability_curve,
)
from nearer.optimize.problems.margins import error_from_margins, pair_distances, soft_error


@pytest.fixture(scope="module")
def points():
    return make_gaussian(15, 3, random_state=0)


@pytest.fixture(scope="module")
def judged(points):
    return sample_triplets(points, 300, flipped=0.3, random_state=0)


@pytest.fixture(scope="module")
def quadruplets():
    rng = np.random.default_rng(5)
    rows = np.array([rng.permutation(15)[:4] for _ in range(200)])
    return rows, rng.choice([-1, 1], size=200)


def test_truth_is_never_wrong(points):
    truth = sample_triplets(points)
    assert comparison_error(truth, points) == 0
    assert comparison_error(truth.rows[:, [0, 2, 1]], points) == 1


def test_the_origin_is_all_ties(judged):
    origin = np.zeros((15, 2))
    assert comparison_error(judged, origin) == 0.5
    assert comparison_error(judged, origin, ties="satisfied") == 0
    assert comparison_error(judged, gram=np.zeros((15, 15))) == 0.5


def test_margins_are_their_definition(points, quadruplets):
    rows, y = quadruplets
    expected = [
        sign * (((points[a] - points[b]) ** 2).sum() - ((points[i] - points[j]) ** 2).sum())
        for (i, j, a, b), sign in zip(rows, y, strict=True)
    ]
    np.testing.assert_allclose(margins(rows, points, y=y), expected, rtol=1e-12)
    np.testing.assert_allclose(margins(rows, gram=points @ points.T, y=y), expected, rtol=1e-9, atol=1e-14)


def test_gram_and_embedding_agree(points, judged, quadruplets):
    gram = points @ points.T
    rows, y = quadruplets
    assert comparison_error(judged, points) == comparison_error(judged, gram=gram)
    assert comparison_error(rows, points, y=y) == comparison_error(rows, gram=gram, y=y)
    by_points, by_gram = margin_statistics(judged, points), margin_statistics(judged, gram=gram)
    np.testing.assert_allclose(by_points, by_gram, rtol=1e-10)


def test_rotation_and_translation_change_no_margin(points, judged):
    moved = points @ ortho_group.rvs(3, random_state=1) + [3.0, -1.0, 2.0]
    np.testing.assert_allclose(margins(judged, moved), margins(judged, points), rtol=1e-9, atol=1e-13)


def test_relabelling_objects_changes_nothing(points, judged):
    order = np.random.default_rng(2).permutation(15)
    relabelled = np.argsort(order)[judged.rows]
    assert comparison_error(relabelled, points[order]) == comparison_error(judged, points)


def test_scale_multiplies_mean_by_its_square_and_variance_by_its_fourth_power(points, judged):
    one, three = margin_statistics(judged, points), margin_statistics(judged, 3 * points)
    np.testing.assert_allclose(three, (9 * one.mean, 81 * one.variance))


def test_opposite_answers_negate_margins_and_complement_the_error(points, judged):
    y = np.where(np.arange(300) % 3, 1, -1)
    gamma = margins(judged.rows, points, y=y)
    np.testing.assert_array_equal(gamma, -margins(judged.rows, points, y=-y))
    np.testing.assert_allclose(
        comparison_error(judged.rows, points, y=y), 1 - comparison_error(judged.rows, points, y=-y)
    )
    # An answer of -1 is the row with near and far exchanged.
    exchanged = judged.rows.copy()
    exchanged[y < 0] = exchanged[y < 0][:, [0, 2, 1]]
    np.testing.assert_array_equal(gamma, margins(exchanged, points))


def test_whole_weights_are_repetitions(points, judged):
    weights = np.random.default_rng(3).integers(0, 4, size=300)
    repeated = np.repeat(judged.rows, weights, axis=0)
    weighted = Comparisons.from_triplets(judged.rows, weights=weights, n_objects=15)
    error = comparison_error(repeated, points)
    np.testing.assert_allclose(comparison_error(weighted, points), error)
    np.testing.assert_allclose(comparison_error(judged.rows, points, sample_weight=weights), error)
    np.testing.assert_allclose(margin_statistics(weighted, points), margin_statistics(repeated, points))


def test_equal_distances_are_ties_whatever_their_rounding():
    # On a grid of tenths the distances to both neighbours differ by rounding; nothing else is equal.
    grid = np.arange(30)[:, None] * 0.1
    centre = np.arange(1, 29)
    tied = np.column_stack([centre, centre - 1, centre + 1])
    raw = (grid[centre + 1] - grid[centre]) ** 2 - (grid[centre] - grid[centre - 1]) ** 2
    assert raw.any()  # otherwise this tests nothing
    assert not margins(tied, grid).any()
    assert comparison_error(tied, grid) == 0.5


def test_small_differences_are_not_ties():
    # Relative, not absolute: a map of any scale is judged alike.
    line = np.array([[0.0], [1.0], [1.0 + 1e-9]])
    for scale in (1e-9, 1.0, 1e9):
        assert comparison_error([[0, 1, 2]], scale * line) == 0


def test_table_and_row_gathers_agree(monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 4)) + 1e3
    first, second = rng.integers(20, size=(2, 1000))
    by_table = pair_distances(points, first, second)
    monkeypatch.setattr("nearer.optimize.problems.margins.BLOCK_ROWS", 7)
    by_rows = np.concatenate(
        [pair_distances(points, first[part], second[part]) for part in np.split(np.arange(1000), 10)]
    )
    np.testing.assert_allclose(by_table, by_rows, rtol=1e-13)


def test_objects_missing_from_an_array_are_no_obstacle(points):
    assert comparison_error([[0, 1, 2]], points) in (0.0, 1.0)


def test_error_from_margins_counts():
    gamma = np.array([-1.0, 0.0, 2.0, 0.0])
    assert error_from_margins(gamma) == 0.5
    assert error_from_margins(gamma, ties="satisfied") == 0.25
    assert error_from_margins(gamma, [1, 0, 3, 0]) == 0.25


@pytest.mark.parametrize("scaling", [True, False])
def test_procrustes_ignores_rigid_motion(points, scaling):
    moved = points @ ortho_group.rvs(3, random_state=0) + 7.0
    assert procrustes_error(moved, points, scaling=scaling) < 1e-12


def test_procrustes_scaling(points):
    assert procrustes_error(1e-6 * points, points) < 1e-12
    # |A Q - B|^2 / (|A|^2 + |B|^2) for A = 3 B.
    np.testing.assert_allclose(procrustes_error(3 * points, points, scaling=False), 4 / 10)


@pytest.mark.parametrize("scaling", [True, False])
def test_procrustes_is_symmetric_and_bounded(points, scaling):
    other = np.random.default_rng(1).normal(size=(15, 3))
    error = procrustes_error(other, points, scaling=scaling)
    assert 0 < error <= 1
    np.testing.assert_allclose(error, procrustes_error(points, other, scaling=scaling))


def test_procrustes_is_scipys_disparity(points):
    other = np.random.default_rng(1).normal(size=(15, 3))
    np.testing.assert_allclose(procrustes_error(other, points), procrustes(points, other)[2])


def test_procrustes_is_a_minimum(points):
    other = np.random.default_rng(1).normal(size=(15, 3))
    a, b = other - other.mean(axis=0), points - points.mean(axis=0)
    best = procrustes_error(other, points)
    for seed in range(50):
        turned = a @ ortho_group.rvs(3, random_state=seed)
        scale = (turned * b).sum() / (turned**2).sum()
        assert best <= ((scale * turned - b) ** 2).sum() / (b**2).sum()


def test_procrustes_pads_columns(points):
    flat = points[:, :2]
    assert procrustes_error(np.column_stack([flat, np.zeros(15)]), flat) < 1e-12
    np.testing.assert_allclose(procrustes_error(flat, points), procrustes_error(points, flat))


def test_orthogonal_shapes_share_nothing():
    # Centred configurations with A^T B = 0.
    assert procrustes_error([[1.0], [-1.0], [0.0], [0.0]], [[0.0], [0.0], [1.0], [-1.0]]) == 1


@pytest.mark.parametrize(
    ("embedding", "truth", "message"),
    [
        (np.ones((3, 2)), np.eye(3), "all rows of embedding are equal"),
        (np.eye(3), 0.1 * np.ones((3, 1)), "all rows of truth are equal"),
        (np.eye(3), np.eye(4), "3 rows and truth has 4"),
        (np.array([[np.nan], [0.0]]), np.eye(2), "first is row 0"),
        (np.zeros(3), np.eye(3), r"shape \(n, p\)"),
        (np.zeros((0, 2)), np.eye(3), "empty"),
    ],
)
def test_procrustes_refuses_with_a_remedy(embedding, truth, message):
    with pytest.raises(ValueError, match=message):
        procrustes_error(embedding, truth)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "got neither"),
        ({"embedding": np.eye(3), "gram": np.eye(3)}, "got both"),
        ({"embedding": np.array([[0.0], [1.0], [np.inf]])}, "first is row 2"),
        ({"embedding": np.zeros(3)}, r"shape \(n, p\)"),
        ({"gram": np.zeros((3, 2))}, r"shape \(n, n\)"),
        ({"gram": np.triu(np.ones((3, 3)))}, "not symmetric"),
        ({"embedding": np.eye(3), "ties": "never"}, "'half' or 'satisfied'"),
    ],
)
def test_errors_help(arguments, message):
    with pytest.raises(ValueError, match=message):
        comparison_error([[0, 1, 2]], **arguments)


def test_more_objects_than_rows_are_refused():
    with pytest.raises(ValueError, match="about 5 objects"):
        comparison_error(Comparisons.from_triplets([[0, 1, 2]], n_objects=5), np.eye(3))


@pytest.mark.parametrize(
    ("gamma", "weights", "message"),
    [
        ([], None, "no comparisons"),
        ([1.0, np.nan], None, "row 1"),
        ([[1.0]], None, r"shape \(m,\)"),
        ([1.0, 2.0], [1.0], "2 comparisons"),
        ([1.0, 2.0], [0.0, 0.0], "positive weight"),
        ([1.0, 2.0], [-1.0, 1.0], "non-negative"),
    ],
)
def test_bad_margins_are_refused(gamma, weights, message):
    with pytest.raises(ValueError, match=message):
        error_from_margins(gamma, weights)


def test_labels_are_refused_where_coordinates_have_no_names():
    with pytest.raises(ValueError, match="labels such as"):
        comparison_error([("a", "b", "c")], [[0.0], [1.0], [3.0]])


@pytest.mark.parametrize("margins", [[], [np.nan, 1.0], [np.inf, 1.0], [[1.0]]])
def test_soft_error_refuses_what_is_no_set_of_margins(margins):
    with pytest.raises(ValueError, match=r"margin|comparisons"):
        soft_error(margins)


def test_soft_error_does_not_depend_on_scale_and_falls_with_good_margins():
    margins = np.random.default_rng(0).normal(0.5, 1, 200)
    assert soft_error(7 * margins) == pytest.approx(soft_error(margins))
    assert soft_error(margins + 1) < soft_error(margins) < 0.5 < soft_error(-margins)


def answered(probability, rng):
    return np.where(rng.random(len(probability)) < probability, 1, -1)


def test_answers_drawn_by_the_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    probability = rng.random(100_000)
    curve = reliability_curve(probability, answered(probability, rng))
    np.testing.assert_allclose(curve.right, curve.confidence, atol=0.025)
    np.testing.assert_allclose(curve.confidence, np.linspace(0.5, 1, 31)[1::2], atol=0.002)  # the middles of the bins
    assert curve.weight.sum() == 100_000


def test_the_error_of_a_calibrated_method_is_as_small_as_chance_allows():
    rng = np.random.default_rng(0)
    found = [
        expected_calibration_error(probability, answered(probability, rng)) for probability in rng.random((200, 1500))
    ]
    assert np.mean(found) == pytest.approx(np.sqrt(15 / 1500) / 3, rel=0.15)


def test_the_calibration_error_of_a_constant_is_its_distance_from_the_share_right():
    for confidence in (0.55, 0.8, 1.0):
        found = expected_calibration_error(np.full(10, confidence), [1] * 7 + [-1] * 3)
        assert found == pytest.approx(abs(confidence - 0.7))


def test_turning_rows_round_changes_no_curve():
    """With rows that all read +1 the same is found as with answers of both kinds."""
    rng = np.random.default_rng(1)
    probability = rng.random(3000)
    y = answered(probability, rng)
    plain = reliability_curve(probability, y)
    oriented = reliability_curve(np.where(y > 0, probability, 1 - probability))
    for one, other in zip(plain, oriented, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    as_bools = reliability_curve(probability, y > 0)
    np.testing.assert_array_equal(as_bools.right, plain.right)


def test_weights_of_a_curve_are_repetitions():
    rng = np.random.default_rng(2)
    probability, y, weights = rng.random(300), rng.choice([-1, 1], 300), rng.integers(0, 4, 300)
    weighted = reliability_curve(probability, y, weights, n_bins=7)
    repeated = reliability_curve(np.repeat(probability, weights), np.repeat(y, weights), n_bins=7)
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert weighted.error == pytest.approx(expected_calibration_error(probability, y, weights, 7))


def test_no_prediction_is_lost_at_the_ends_and_an_even_chance_is_half_right():
    curve = reliability_curve([0.0, 0.5, 1.0, 1.0])
    assert (curve.weight[0], curve.weight[-1], curve.weight.sum()) == (1, 3, 4)
    assert curve.right[0] == 0.5
    assert curve.right[-1] == pytest.approx(2 / 3)
    assert np.isnan(curve.right[1:-1]).all()
    assert np.isfinite(curve.error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.2, 0.8]],), r"\[:, 1\]"),
        (([],), "m >= 1"),
        (([0.2, 1.2],), "row 1: probability is 1.2"),
        (([0.2, np.nan],), "row 1"),
        (([0.2, 0.3], [1]), "y has 1 values"),
        (([0.2, 0.3], [0, 1]), "y is 0"),
        (([0.2, 0.3], None, [0, 0]), "weight"),
        (([0.2, 0.3], None, None, 0), "n_bins"),
    ],
)
def test_what_is_no_probability_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve(*arguments)
