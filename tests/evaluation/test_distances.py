"""Distances: matrices for other programs, and split-half reliability against the true distances."""

import csv
import io

import numpy as np
import pytest
from helpers.few import few_draws
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, PosteriorEmbedding
from nearer.evaluation.distances import (
    DISTANCES_FAIR,
    DISTANCES_GOOD,
    MAX_MATRIX_OBJECTS,
    DistanceReliability,
    _first_half,
    answers_factor,
    distance_matrix,
    distance_reliability,
    ellipse_size,
    matrix_csv,
    spearman_brown,
    split_half,
)
from nearer.evaluation.uncertainty import Bootstrap
from nearer.study.folder import write_distances

pytestmark = pytest.mark.usefixtures("one_start")
ANSWERS = sample_triplets(make_gaussian(8, 2, random_state=0), 120, random_state=0)


@pytest.fixture(scope="module")
def posterior():
    with pytest.MonkeyPatch.context() as patch:
        few_draws(patch)
        return PosteriorEmbedding(1, max_components=3, random_state=0, n_jobs=1).fit(ANSWERS)


def test_one_map_has_its_own_distances():
    model = STE(2, random_state=0).fit(ANSWERS)
    found = distance_matrix(model)
    np.testing.assert_allclose(found.matrix, squareform(pdist(model.embedding_)))
    assert found.spread is None


def test_the_spread_of_one_map_is_that_of_resampled_maps_as_large_as_the_ellipses():
    model = STE(2, random_state=0).fit(ANSWERS)
    maps = model.embedding_ + 0.1 * np.random.default_rng(1).normal(size=(7, 8, 2))
    places = Bootstrap(model.embedding_, maps, np.zeros((8, 2, 2)), model.objects_, inflation=4.0)
    found = distance_matrix(model, places)
    twin = squareform(2 * np.std([pdist(each) for each in maps], axis=0, ddof=1))
    np.testing.assert_allclose(found.spread, twin)


def test_a_posterior_has_the_mean_and_spread_of_its_draws_in_all_their_dimensions(posterior):
    maps = posterior.sample(len(posterior.draws_), 0)
    assert maps.shape[2] == 3 > posterior.embedding_.shape[1]
    apart = np.array([pdist(each) for each in maps])
    found = distance_matrix(posterior)
    np.testing.assert_allclose(squareform(found.matrix), apart.mean(axis=0))
    np.testing.assert_allclose(squareform(found.spread), apart.std(axis=0, ddof=1))


def test_a_table_has_names_on_both_sides_and_gives_back_the_numbers():
    labels = np.array(["a,b", "=x", "c"])
    matrix = squareform([1 / 3, 2.0, 1e-9])
    header, *rows = csv.reader(io.StringIO(matrix_csv(matrix, labels)))
    assert header == ["object", "a,b", "'=x", "c"]
    assert [row[0] for row in rows] == header[1:]
    np.testing.assert_allclose([[float(cell) for cell in row[1:]] for row in rows], matrix, rtol=1e-5)


def test_files_of_an_earlier_map_go(tmp_path, posterior):
    assert write_distances(posterior, tmp_path) == ["distances.csv", "distances_spread.csv"]
    assert write_distances(STE(2, random_state=0).fit(ANSWERS), tmp_path) == ["distances.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["distances.csv"]


def test_there_is_no_matrix_of_very_many_objects(tmp_path):
    model = STE(1, random_state=0).fit(ANSWERS)
    model.n_objects_ = MAX_MATRIX_OBJECTS + 1
    assert write_distances(model, tmp_path) == []


QUICK = STE(2, trace=0.03, random_state=0)


def study(seed, n_objects, m, flipped):
    points = make_gaussian(n_objects, 2, random_state=seed)
    return points, sample_triplets(points, m, flipped=flipped, random_state=seed + 100)


@pytest.mark.parametrize(("n_objects", "m", "flipped"), [(15, 1300, 0.1), (25, 3000, 0.2), (15, 400, 0.0)])
def test_from_the_bound_for_good_on_distances_are_like_the_true_ones(n_objects, m, flipped):
    for seed in range(3):
        points, answers = study(seed, n_objects, m, flipped)
        found = split_half(QUICK, answers, random_state=seed)
        fitted = QUICK.fit(answers).embedding_
        actual = spearmanr(pdist(fitted), pdist(points)).statistic
        assert found.reliability >= DISTANCES_GOOD
        assert actual > 0.9
        assert np.sqrt(found.reliability) == pytest.approx(actual, abs=0.05)


def test_few_or_random_answers_are_not_reproducible():
    for seed in range(3):
        assert split_half(QUICK, study(seed, 25, 130, 0.2)[1], random_state=seed).reliability < DISTANCES_FAIR
        coins = study(seed, 15, 450, 0.5)[1]
        assert split_half(QUICK, coins, random_state=seed).reliability < DISTANCES_FAIR


def test_the_figure_is_that_of_spearman_and_brown():
    found = split_half(QUICK, study(0, 15, 500, 0.1)[1], random_state=0)
    assert found.reliability == pytest.approx(2 * found.half / (1 + found.half))
    assert found.low <= found.reliability <= found.high
    assert spearman_brown(found.half, 6) == pytest.approx(spearman_brown(found.reliability, 3))
    assert spearman_brown(0.6, answers_factor(0.6, 0.9)) == pytest.approx(0.9)


def test_a_map_of_too_few_dimensions_is_less_reliable_than_its_halves_agree():
    """What is missing is in both halves; only a map of enough dimensions shows that distances differ from the true."""
    errors, before = [], []
    for seed in range(3):
        points = make_gaussian(20, 4, random_state=seed)
        answers = sample_triplets(points, 2500, flipped=0.05, random_state=seed + 100)
        found = split_half(QUICK, answers, unrestricted=STE(4, random_state=0), n_splits=3, random_state=seed)
        actual = spearmanr(pdist(QUICK.fit(answers).embedding_), pdist(points)).statistic
        assert found.validity < 0.95
        assert found.reliability == pytest.approx(spearman_brown(found.half) * found.validity)
        assert "% of the variance of those in all of them" in str(found)
        errors.append(np.sqrt(found.reliability) - actual)
        before.append(np.sqrt(spearman_brown(found.half)) - actual)
    assert np.mean(before) > 0.06
    assert abs(np.mean(errors)) < 0.04


def test_enough_dimensions_have_nothing_to_add():
    answers = study(0, 15, 1300, 0.1)[1]
    alone = split_half(QUICK, answers, random_state=0)
    found = split_half(QUICK, answers, unrestricted=STE(3, random_state=0), random_state=0)
    assert alone.validity == 1
    assert found.half == alone.half
    assert found.validity > 0.93


def test_the_seed_decides_and_splits_differ():
    answers = study(0, 15, 300, 0.1)[1]
    first, again, other = (split_half(QUICK, answers, random_state=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert first.low < first.high


def test_halves_keep_people_whole_and_are_drawn_anew_though_each_gave_another_number_of_answers():
    answers = study(0, 12, 450, 0.1)[1]
    people = np.repeat(np.arange(9), [30, 34, 38, 42, 46, 54, 60, 70, 76])
    known = Comparisons.from_triplets(answers.rows, annotators=people, n_objects=12)
    found = split_half(QUICK, known, by="annotators", random_state=0)
    assert found.by == "annotators"
    assert found.low < found.high
    sizes = np.bincount(people)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert abs(sizes[_first_half(sizes, rng)].sum() - 225) <= 76 / 2


def test_nobody_is_alone_in_no_half():
    for sizes in ([1, 1000], [1000, 1, 1], [5, 5]):
        chosen = _first_half(np.array(sizes), np.random.default_rng(3))
        assert 0 < chosen.sum() < len(sizes)


def test_objects_that_nobody_compared_are_left_out():
    answers = study(0, 15, 900, 0.1)[1]
    more = Comparisons.from_triplets(answers.rows, n_objects=40)
    alone, among = (split_half(QUICK, each, random_state=0) for each in (answers, more))
    assert among.n_objects == alone.n_objects == 15
    assert among.reliability == pytest.approx(alone.reliability, abs=0.02)


@pytest.mark.parametrize(
    ("comparisons", "by", "why"),
    [
        (Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]]), "trials", "2 of the questions, which stay whole, cannot"),
        (study(0, 30, 100, 0.0)[1], "trials", "are too few to make a map of each half; ask at least 120"),
        (Comparisons.from_triplets(np.tile([[0, 1, 2], [1, 2, 0], [0, 3, 2], [3, 1, 2]], (9, 1)), trials=range(36)),
         "trials", "only 4 objects can be compared in both halves"),
        (study(0, 15, 200, 0.0)[1], "annotators", "do not say who answered"),
    ],
)  # fmt: skip
def test_too_few_answers_for_halves_say_why(comparisons, by, why):
    with pytest.raises(ValueError, match=why):
        split_half(QUICK, comparisons, by=by)


@pytest.mark.parametrize("n_splits", [0, True, 1.5])
def test_a_number_of_splits_that_cannot_be_is_refused(n_splits):
    with pytest.raises(ValueError, match="n_splits must be an integer >= 1"):
        split_half(QUICK, study(0, 15, 200, 0.0)[1], n_splits=n_splits)


def test_the_size_of_ellipses_does_not_depend_on_the_map_s_scale_or_turn():
    points = make_gaussian(20, 2, random_state=0)
    roots = np.random.default_rng(0).normal(scale=0.05, size=(20, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    size = ellipse_size(points, covariances, 2.45)
    turned = ellipse_size(7 * points @ turn, 49 * turn.T @ covariances @ turn, 2.45)
    assert size == pytest.approx(turned)
    assert ellipse_size(points, 4 * covariances, 2.45) == pytest.approx(2 * size)
    assert ellipse_size(np.zeros((5, 2)), covariances[:5], 2.45) is None


class Drawn:
    """A posterior with given draws."""

    def __init__(self, draws, comparisons=None):
        self.draws, self.objects_, self.comparisons_ = draws, np.arange(draws.shape[1]), comparisons
        self._chosen = self

    def _full_rank_draws(self, n_draws, random_state):
        return self.draws[:n_draws]

    def _has_features(self):
        return np.zeros(self.draws.shape[1], dtype=bool)


def test_draws_that_agree_are_reliable_and_draws_without_anything_in_common_are_not():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))
    same = distance_reliability(Drawn(np.tile(points, (200, 1, 1))))
    assert same.overall == pytest.approx(1)
    np.testing.assert_allclose(same.of_objects, 1)
    np.testing.assert_allclose(same.of_pairs, 1)
    none = distance_reliability(Drawn(rng.normal(size=(200, 12, 2))))
    assert abs(none.overall) < 0.02
    assert none.of_objects.max() < 0.05


def test_the_reliability_is_the_squared_correlation_with_the_truth_where_draws_are_right():
    """Ranks of a truth that is itself a draw correlate with the mean as the reliability says."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(60):
        # The posterior of places known to within 0.2 to 1.2, with a standard normal prior.
        noise = np.linspace(0.2, 1.2, 12)[:, None]
        truth = rng.normal(size=(12, 2))
        share = 1 / (1 + noise**2)
        centers = share * (truth + noise * rng.normal(size=truth.shape))
        draws = centers + np.sqrt(1 - share) * rng.normal(size=(200, 12, 2))
        found = distance_reliability(Drawn(draws))
        ranks = np.mean([squareform(spearman_ranks(pdist(each))) for each in draws], axis=0)
        true = squareform(spearman_ranks(pdist(truth)))
        squares = [np.corrcoef(np.delete(ranks[i], i), np.delete(true[i], i))[0, 1] ** 2 for i in range(12)]
        overall = np.corrcoef(squareform(ranks), squareform(true))[0, 1] ** 2
        errors.append([found.overall - overall, *(found.of_objects - squares)])
    means, deviations = np.mean(errors, axis=0), np.std(errors, axis=0)
    assert abs(means[0]) < 3 * deviations[0] / np.sqrt(60) + 0.02
    assert np.abs(means[1:]).max() < 0.1
    assert found.of_objects[0] > found.of_objects[-1]


def spearman_ranks(values):
    return np.argsort(np.argsort(values)).astype(float)


def test_an_object_whose_place_is_open_has_unreliable_distances_and_the_others_keep_theirs():
    rng = np.random.default_rng(2)
    draws = np.tile(rng.normal(size=(10, 2)), (200, 1, 1))
    draws[:, 3] = rng.normal(size=(200, 2))
    found = distance_reliability(Drawn(draws))
    assert found.of_objects.argmin() == 3
    # Not 0: whatever its place, it is far from those at the rim and nearer to those in the middle.
    assert found.of_objects[3] < 0.45 < 0.6 < np.delete(found.of_objects, 3).min()
    np.testing.assert_array_equal(found.of_pairs, found.of_pairs.T)
    pairs = squareform(found.of_pairs - np.eye(10))
    assert found.overall == pytest.approx(pairs.mean(), abs=0.03)
    assert "(3) to" in found.summary()
    again = DistanceReliability.from_dict(found.to_dict())
    np.testing.assert_allclose(again.of_pairs, found.of_pairs)


def test_objects_in_no_comparison_have_no_reliability():
    model = PosteriorEmbedding(2, n_objects=9, solver="variational", random_state=0).fit(ANSWERS)
    found = distance_reliability(model)
    assert found.of_objects[8] == 0
    assert not found.of_pairs[8, :8].any()
    assert found.of_objects[:8].min() > 0.1


def test_a_single_map_does_not_know_how_surely_it_knows():
    with pytest.raises(ValueError, match="PosteriorEmbedding"):
        distance_reliability(STE(2, random_state=0).fit(ANSWERS))
