import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom, chi2

from nearer._common.randomness import stream
from nearer.datasets import make_dimensions, make_gaussian, sample_odd_one_out, sample_triplets
from nearer.datasets.synthetic import count_questions, unrank_questions


def as_questions(rows):
    """Rows without their answer: the pair sorted."""
    return np.column_stack([rows[:, 0], np.sort(rows[:, 1:], axis=1)])


@pytest.mark.parametrize("n", [3, 4, 5, 8, 13])
def test_unranking_is_a_bijection_onto_all_questions(n):
    numbers = np.arange(count_questions(n))
    found = set(zip(*(part.tolist() for part in unrank_questions(numbers, n)), strict=True))
    expected = {
        (anchor, *pair)
        for anchor in range(n)
        for pair in itertools.combinations([other for other in range(n) if other != anchor], 2)
    }
    assert len(numbers) == len(expected)
    assert found == expected


@pytest.mark.parametrize("n", [1000, 100_000, 2_000_000])
def test_unranking_is_exact_where_square_roots_round(n):
    # Pair numbers on both sides of every jump of the larger index are where a rounded root shows.
    larger = np.unique(np.linspace(1, n - 2, 5000).astype(np.int64))
    jump = larger * (larger - 1) // 2
    pair = np.concatenate([jump, jump + larger - 1])
    anchor, first, second = unrank_questions(pair, n)
    a, b = first - 1, second - 1  # anchor 0: every other object is counted past it
    assert not anchor.any()
    np.testing.assert_array_equal(b, np.tile(larger, 2))
    np.testing.assert_array_equal(b * (b - 1) // 2 + a, pair)


def test_all_triplets_are_all_questions_answered_by_distance():
    points = make_gaussian(random_state=0)
    judged = sample_triplets(points)
    assert judged.rows.shape == (485_100, 3)
    assert judged.n_objects == 100
    assert len(np.unique(as_questions(judged.rows), axis=0)) == 485_100
    distance = cdist(points, points)
    anchor, near, far = judged.rows.T
    assert (distance[anchor, near] < distance[anchor, far]).all()


def test_all_triplets_come_in_one_order():
    points = make_gaussian(8, 2, random_state=0)
    np.testing.assert_array_equal(sample_triplets(points).rows, sample_triplets(points).rows)


@pytest.mark.parametrize("share", [0.001, 0.5, 1.0])
def test_samples_are_without_replacement(share):
    points = make_gaussian(30, 3, random_state=1)
    size = int(share * count_questions(30))
    rows = sample_triplets(points, size, random_state=2).rows
    assert len(np.unique(as_questions(rows), axis=0)) == size


def test_samples_are_uniform_and_so_are_their_first_rows():
    points = make_gaussian(5, 2, random_state=0)
    total, size, repeats = count_questions(5), 10, 3000
    index = {tuple(row): number for number, row in enumerate(as_questions(sample_triplets(points).rows).tolist())}
    whole, head = np.zeros(total), np.zeros(total)
    for seed in range(repeats):
        numbers = [
            index[tuple(row)] for row in as_questions(sample_triplets(points, size, random_state=seed).rows).tolist()
        ]
        whole[numbers] += 1
        head[numbers[0]] += 1
    # Counts of a sample without replacement have variance m (1 - m/N) / N a repeat, hence the factor.
    statistic = ((whole - whole.mean()) ** 2).sum() / whole.mean() / (1 - size / total)
    assert statistic < chi2.ppf(1 - 1e-4, total - 1) * total / (total - 1)
    assert ((head - head.mean()) ** 2).sum() / head.mean() < chi2.ppf(1 - 1e-4, total - 1)


def test_few_questions_about_many_objects():
    # 62 million million questions: only arithmetic on numbers of questions gets through.
    rows = sample_triplets(make_gaussian(50_000, 2, random_state=0), 1000, random_state=0).rows
    assert len(np.unique(rows, axis=0)) == 1000
    assert rows.max() > 45_000


def test_flipped_share_is_binomial():
    points = make_gaussian(40, 4, random_state=0)
    truth = sample_triplets(points, 20_000, random_state=3)
    noisy = sample_triplets(points, 20_000, flipped=0.2, random_state=3)
    # One seed asks the same questions at any noise.
    np.testing.assert_array_equal(as_questions(truth.rows), as_questions(noisy.rows))
    wrong = (truth.rows[:, 1] != noisy.rows[:, 1]).sum()
    assert binom.ppf(1e-4, 20_000, 0.2) <= wrong <= binom.ppf(1 - 1e-4, 20_000, 0.2)


@pytest.mark.parametrize("flipped", [0.0, 0.3])
def test_frequencies_of_logistic_noise_alone_and_with_flips(flipped):
    # Gap d2(far) - d2(near) = 9 - 4 = 5 from anchor 0 in every one of many copies of one question.
    points, slope, copies = np.array([[0.0], [2.0], [3.0]]), 0.2, 4000
    options = {"logistic_slope": slope, "flipped": flipped}
    rows = np.concatenate([sample_triplets(points, **options, random_state=seed).rows for seed in range(copies)])
    right = 1 / (1 + np.exp(-slope * 5))
    chance = right * (1 - flipped) + (1 - right) * flipped
    rightly = ((rows[:, 0] == 0) & (rows[:, 1] == 1)).sum()
    assert binom.ppf(1e-4, copies, chance) <= rightly <= binom.ppf(1 - 1e-4, copies, chance)


def test_steep_logistic_noise_is_no_noise():
    points = make_gaussian(20, 3, random_state=0)
    np.testing.assert_array_equal(sample_triplets(points, logistic_slope=1e12).rows, sample_triplets(points).rows)


def test_ties_are_broken_at_random():
    # Neighbours on a regular grid, whose equal distances differ by rounding.
    points = np.arange(21)[:, None] * 0.1
    anchor, near, far = sample_triplets(points, random_state=0).rows.T
    tied = np.abs(anchor - near) == np.abs(anchor - far)
    left = (near < anchor)[tied].sum()
    assert tied.sum() == 100
    assert binom.ppf(1e-4, 100, 0.5) <= left <= binom.ppf(1 - 1e-4, 100, 0.5)
    assert (np.abs(anchor - near) <= np.abs(anchor - far)).all()


def test_gaussian_points_have_their_variance():
    points = make_gaussian(2000, 10, random_state=0)
    assert points.shape == (2000, 10)
    # Sample variance of N draws deviates by sqrt(2/N), relatively.
    assert abs(points.var() * 20 - 1) < 5 * np.sqrt(2 / points.size)
    assert abs(points.mean()) < 5 * np.sqrt(1 / 20 / points.size)


@pytest.mark.parametrize("other", ["triplets", "answers", "split", "start", "folds"])
def test_points_are_uncorrelated_with_every_other_stream_of_their_seed(other):
    points = make_gaussian(random_state=0)
    start = stream(0, other).normal(size=points.shape)
    assert abs(np.corrcoef(points.ravel(), start.ravel())[0, 1]) < 5 / np.sqrt(points.size)


@pytest.mark.parametrize("make", [lambda: 7, lambda: np.random.SeedSequence(7), lambda: np.random.RandomState(7)])
def test_seeds_repeat(make):
    points = make_gaussian(10, 2, random_state=make())
    np.testing.assert_array_equal(points, make_gaussian(10, 2, random_state=make()))
    first, second = (sample_triplets(points, 50, flipped=0.3, random_state=make()).rows for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_generators_are_used_up():
    rng = np.random.default_rng(0)
    assert (make_gaussian(3, 2, random_state=rng) != make_gaussian(3, 2, random_state=rng)).all()


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.zeros((2, 2)), {}, "three objects; got 2"),
        (np.zeros(4), {}, r"shape \(n, p\)"),
        (np.array([[0.0], [np.nan], [1.0]]), {}, "first is row 1"),
        (np.eye(3), {"n_triplets": 4}, "3 different questions"),
        (np.eye(3), {"n_triplets": 0}, "ask for 1 to 3"),
        (np.eye(3), {"flipped": 0.6}, r"in \[0, 0.5\]"),
        (np.eye(3), {"flipped": -0.1}, r"in \[0, 0.5\]"),
        (np.eye(3), {"logistic_slope": 0.0}, "positive and finite"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(points, options, message):
    with pytest.raises(ValueError, match=message):
        sample_triplets(points, **options)


@pytest.mark.parametrize("options", [{"n_objects": 0}, {"n_components": 0}, {"variance": 0.0}])
def test_bad_gaussians_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        make_gaussian(**options)


def test_dimensions_are_sparse_and_have_the_moments_of_their_gamma_distribution():
    weights = make_dimensions(2000, 60, density=0.2, shape=2.0, scale=0.5, random_state=0)
    positive = weights[weights > 0]
    assert (weights >= 0).all()
    assert (weights > 0).sum(axis=0).min() >= 5
    assert abs((weights > 0).mean() - 0.2) < 0.06  # shares of 60 dimensions, of standard deviation 0.12
    # Of shape k and scale s: mean k s, variance k s^2.
    np.testing.assert_allclose([positive.mean(), positive.var()], [1.0, 0.5], rtol=0.05)
    np.testing.assert_array_equal(weights, make_dimensions(2000, 60, density=0.2, random_state=0))


def test_odd_one_out_answers_follow_the_softmax_of_inner_products():
    weights = np.array([[1.0, 0.0], [0.8, 0.5], [0.0, 1.2], [0.5, 0.5]])
    answers = sample_odd_one_out(weights, 40_000, random_state=1)
    rows = answers.rows[::2]
    np.testing.assert_array_equal(answers.rows[1::2], rows[:, [1, 0, 2]])
    np.testing.assert_array_equal(answers.trials, np.repeat(np.arange(40_000), 2))
    assert (answers.weights == 0.5).all()
    statistic, freedom = 0.0, 0
    for trial in itertools.combinations(range(4), 3):
        odd = rows[(np.sort(rows, axis=1) == trial).all(axis=1), 2]
        observed = np.array([(odd == item).sum() for item in trial])
        alike = np.exp([weights[b] @ weights[c] for b, c in [(trial[1], trial[2]), trial[::2], trial[:2]]])
        expected = observed.sum() * alike / alike.sum()
        statistic, freedom = statistic + ((observed - expected) ** 2 / expected).sum(), freedom + 2
    assert chi2.ppf(0.001, freedom) < statistic < chi2.ppf(0.999, freedom)


def test_objects_of_trials_are_drawn_apart_from_the_weights():
    rows = sample_odd_one_out(np.ones((50, 3)), 3000, random_state=0).rows[::2]
    assert (np.diff(np.sort(rows, axis=1)) > 0).all()
    uniform = stream(0, "points").integers(50, size=(3000, 3))
    assert abs(np.corrcoef(rows.ravel(), uniform.ravel())[0, 1]) < 0.04


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_dimensions(0), "n_objects"),
        (lambda: make_dimensions(density=2), "share of the objects"),
        (lambda: make_dimensions(scale=0), "scale"),
        (lambda: sample_odd_one_out(np.ones((2, 1)), 5), "three objects"),
        (lambda: sample_odd_one_out(np.ones((5, 1)), 0), "n_trials"),
    ],
)
def test_bad_dimensions_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
