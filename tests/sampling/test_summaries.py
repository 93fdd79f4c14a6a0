"""What draws tell: convergence, probabilities, one map with its spread, dimensions."""

import numpy as np
import pytest
from helpers import posterior_reference as reference
from scipy.signal import lfilter
from scipy.stats import ortho_group

from nearer.sampling import diagnose
from nearer.sampling.chains import ConditionalMoves
from nearer.sampling.model import Draws
from nearer.sampling.summaries import (
    align_draws,
    bimodal_objects,
    dimension_shares,
    n_resolvable_dimensions,
    predictive_probability,
)


def autoregressive(correlation, chains=4, length=5000, seed=0):
    """Stationary chains x_t = correlation * x_(t-1) + noise, of variance 1."""
    rng = np.random.default_rng(seed)
    noise = np.sqrt(1 - correlation**2) * rng.standard_normal((chains, length))
    noise[:, 0] = rng.standard_normal(chains)
    return lfilter([1.0], [1.0, -correlation], noise, axis=1)


@pytest.mark.parametrize("correlation", [-0.4, 0.0, 0.5, 0.9])
def test_effective_size_of_autoregressive_chains(correlation):
    """The integrated autocorrelation time is (1 + c) / (1 - c)."""
    diagnosis = diagnose(autoregressive(correlation))
    expected = 20_000 * (1 - correlation) / (1 + correlation)
    assert diagnosis.effective == pytest.approx(expected, rel=0.15)
    assert diagnosis.rhat == pytest.approx(1, abs=0.01)


def test_effective_size_predicts_the_variance_of_the_mean():
    """The variance of the mean over many repetitions is 1 / effective."""
    means = [autoregressive(0.8, 2, 500, seed).mean() for seed in range(400)]
    sizes = [diagnose(autoregressive(0.8, 2, 500, seed)).effective for seed in range(50)]
    assert np.median(sizes) == pytest.approx(1 / np.var(means), rel=0.2)


def test_effective_size_is_invariant_under_monotone_maps():
    draws = autoregressive(0.7)
    assert diagnose(np.exp(5 * draws)).effective == diagnose(draws).effective


def test_heavy_tails_do_no_harm():
    draws = np.random.default_rng(0).standard_cauchy((4, 2000))
    diagnosis = diagnose(draws)
    assert diagnosis.rhat < 1.01
    assert diagnosis.effective > 6000


@pytest.mark.parametrize(
    "spoil",
    [
        lambda draws: draws + np.array([[0.0], [0.0], [0.0], [3.0]]),  # another place
        lambda draws: draws * np.array([[1.0], [1.0], [1.0], [6.0]]),  # the same place, another spread
        lambda draws: draws + np.linspace(0, 3, 1000),  # on the way in all chains alike
    ],
    ids=["place", "spread", "trend"],
)
def test_rhat_detects_disagreeing_chains(spoil):
    draws = np.random.default_rng(0).standard_normal((4, 1000))
    assert diagnose(draws).rhat < 1.01
    assert diagnose(spoil(draws)).rhat > 1.1


def test_rhat_of_one_chain_compares_its_halves():
    draws = np.random.default_rng(0).standard_normal((1, 1000))
    assert diagnose(draws).rhat < 1.02
    assert diagnose(np.sort(draws)).rhat > 1.5


def test_diagnosis_of_constants_and_few_draws_is_nan():
    for draws in (np.ones((4, 100)), np.random.default_rng(0).normal(size=(4, 3)), np.ones((2, 1))):
        assert np.isnan(diagnose(draws)).all()


@pytest.mark.parametrize("length", [50, 101, 400])
@pytest.mark.parametrize("correlation", [-0.5, 0.3, 0.95])
def test_diagnoses_are_those_of_arviz(correlation, length):
    arviz = pytest.importorskip("arviz_stats", reason="arviz-stats is not installed")
    draws = np.exp(autoregressive(correlation, 4, length))
    found = diagnose(draws)
    assert found.rhat == pytest.approx(float(arviz.rhat(draws)), rel=1e-6)
    assert found.effective == pytest.approx(float(arviz.ess(draws, method="bulk")), rel=1e-6)
    assert found.tail == pytest.approx(float(arviz.ess(draws, method="tail", prob=(0.05, 0.95))), rel=1e-6)


def test_several_quantities_are_diagnosed_as_each_by_itself():
    draws = np.stack([autoregressive(0.5, seed=1, length=200), np.ones((4, 200)), autoregressive(0.9, length=200)])
    together = diagnose(draws)
    for number, alone in enumerate(map(diagnose, draws)):
        np.testing.assert_array_equal([each[number] for each in together], alone)
    assert np.isnan(together.tail[1])
    worst = diagnose(draws[[0, 2]]).worst
    assert worst == (together.rhat[[0, 2]].max(), together.effective[[0, 2]].min(), together.tail[[0, 2]].min())
    assert together.worst == (np.inf, 0, 0)  # a quantity that never changed has not converged


def test_the_middle_of_an_odd_number_of_draws_is_dropped():
    draws = autoregressive(0.3, length=1001)
    without = np.delete(draws, 500, axis=1)
    assert diagnose(draws)[:2] == diagnose(without)[:2]  # quantiles are those of all draws


def draws_with(points):
    k = len(points)
    return Draws(points, np.full(k, 2.0), np.full(k, 0.5), np.full(k, 0.01))


def cloud(variances, n=400, seed=0):
    """Points whose covariance matrix has exactly these eigenvalues, turned at random."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, len(variances)))
    points -= points.mean(axis=0)
    points = np.linalg.svd(points, full_matrices=False)[0] * np.sqrt(n * np.asarray(variances))
    p = len(variances)
    turn = ortho_group.rvs(p, random_state=rng) if p > 1 else np.array([[-1.0]])
    return points @ turn + rng.normal(size=p)


def test_probabilities_do_not_depend_on_threads_or_integer_type():
    rng = np.random.default_rng(0)
    draws = draws_with(rng.normal(size=(5, 30, 2)))
    rows = np.array([rng.choice(30, 3, replace=False) for _ in range(20_000)])
    one = predictive_probability(draws, rows, 1)
    np.testing.assert_array_equal(predictive_probability(draws, rows.astype(np.int32), 2), one)
    np.testing.assert_allclose(one, reference.chances(*draws, rows).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_rotated_copies_of_a_map_have_no_covariance(p):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(12, p)) * np.arange(p, 0, -1)
    truth -= truth.mean(axis=0)
    turns = [ortho_group.rvs(p, random_state=rng) if p > 1 else np.array([[-1.0]]) for _ in range(7)]
    copies = np.stack([truth @ turn + rng.normal(size=p) for turn in turns])
    summary = align_draws(draws_with(copies), 0.01 * truth)
    np.testing.assert_allclose(summary.embedding, truth, atol=1e-12)
    np.testing.assert_allclose(summary.covariances, 0, atol=1e-20)


def test_scaled_copies_of_a_map_have_no_covariance():
    """Comparisons fix no scale: copies of one map in several sizes say where every object lies, beyond doubt."""
    truth = cloud([4.0, 1.0], n=12)
    copies = np.stack([factor * truth for factor in (0.5, 1.0, 1.8)])
    summary = align_draws(draws_with(copies), truth - truth.mean(axis=0))
    np.testing.assert_allclose(summary.covariances, 0, atol=1e-20)
    np.testing.assert_allclose(summary.embedding, 1.1 * (truth - truth.mean(axis=0)), atol=1e-12)


def test_the_covariance_of_one_noisy_object():
    rng = np.random.default_rng(0)
    truth = 5 * rng.normal(size=(200, 2))
    truth -= truth.mean(axis=0)
    noisy = np.tile(truth, (2000, 1, 1))
    noise = rng.normal(size=(2000, 2)) @ np.array([[0.3, 0.1], [0.0, 0.2]])
    noisy[:, 7] += noise
    turned = np.stack([points @ ortho_group.rvs(2, random_state=rng) for points in noisy])
    summary = align_draws(draws_with(turned), truth)
    np.testing.assert_allclose(summary.covariances[7], noise.T @ noise / 2000, atol=0.005)
    assert np.delete(summary.covariances, 7, axis=0).max() < 1e-3


def test_draws_of_more_dimensions_are_aligned_with_the_leading_ones():
    flat = cloud([4.0, 1.0])
    flat -= flat.mean(axis=0)
    rng = np.random.default_rng(1)
    wide = np.stack([np.pad(flat, ((0, 0), (0, 3))) @ ortho_group.rvs(5, random_state=rng) for _ in range(4)])
    summary = align_draws(draws_with(wide), flat)
    np.testing.assert_allclose(summary.embedding, flat, atol=1e-10)
    assert summary.covariances.shape == (400, 2, 2)


def test_what_is_known_of_each_object_makes_covariances_of_few_draws_precise():
    rng = np.random.default_rng(2)
    n, p, few = 30, 2, 12
    truth = 5 * rng.standard_normal((n, p))
    truth -= truth.mean(axis=0)
    root = rng.standard_normal((n * p, n * p)) / 30 + np.eye(n * p)
    precision = root @ root.T
    own = np.linalg.inv([precision[i : i + p, i : i + p] for i in range(0, n * p, p)])
    moves = rng.multivariate_normal(np.zeros(n * p), np.linalg.inv(precision), size=4000)
    turn = 2 * ortho_group.rvs(p, random_state=rng)
    alone = np.einsum("ipq,kiq->kip", own, (moves @ precision).reshape(-1, n, p)) @ turn
    draws = (truth + moves.reshape(-1, n, p)) @ turn
    exact = align_draws(draws_with(draws), truth).covariances
    known = ConditionalMoves(alone[:few], turn.T @ own @ turn)
    found = [
        align_draws(draws_with(draws[:few]), truth, np.arange(n), each).covariances - exact for each in (None, known)
    ]
    assert np.linalg.norm(found[1]) < 0.5 * np.linalg.norm(found[0])
    assert np.linalg.norm(found[1]) < 0.2 * np.linalg.norm(exact)


def test_aligning_a_single_point():
    summary = align_draws(draws_with(np.zeros((3, 4, 2))), np.zeros((4, 2)))
    assert not summary.embedding.any()
    assert not summary.covariances.any()


@pytest.mark.parametrize(
    ("variances", "dimension"),
    [
        ([1.0], 1),
        ([1.0, 0.9], 2),
        ([1.0, 0.01], 1),
        ([1.0, 0.16], 2),
        ([1.0, 0.14], 1),
        ([1.0, 0.8, 0.01, 0.01], 2),
        ([1.0, 0.5, 0.12, 0.07], 3),  # 0.12 is 0.16 of the mean before it, 0.07 is 0.13
        ([1.0, 0.1, 0.09, 0.09], 1),  # an axis after one that does not count does not count either
    ],
)
def test_dimensions_of_constructed_maps(variances, dimension):
    shares = dimension_shares(draws_with(np.stack([cloud(variances, seed=seed) for seed in range(3)])))
    assert shares.shape == (len(variances),)
    assert int(shares.argmax()) + 1 == dimension
    assert shares.max() == 1


def test_dimension_shares_of_mixed_draws():
    maps = np.stack([cloud(variances) for variances in ([1, 0.9, 0.01], [1, 0.01, 0.01], [1, 1, 1], [2, 1.5, 0.02])])
    np.testing.assert_array_equal(dimension_shares(draws_with(maps)), [0.25, 0.5, 0.25])


def test_axes_count_where_objects_differ_more_than_draws_do():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 3)) * [3.0, 2.0, 0.5]
    points = centres + rng.normal(size=(200, 40, 3))  # along the third axis draws scatter twice as far as objects
    ones = np.ones(200)
    assert n_resolvable_dimensions(Draws(points, ones, ones, 0 * ones), 3) == 2
    assert n_resolvable_dimensions(Draws(rng.normal(size=(200, 40, 3)), ones, ones, 0 * ones), 3) == 0


def test_bimodal_objects_are_distinguished_from_uncertain_ones():
    rng = np.random.default_rng(0)
    embedding = rng.standard_normal((12, 3))
    embedding -= embedding.mean(axis=0)
    maps = embedding + rng.standard_normal((400, 12, 3)) * np.linspace(0.05, 2.0, 12)[:, None]
    maps[:, 3] = embedding[3] + rng.uniform(-2, 2, size=(400, 3))
    assert bimodal_objects(maps, embedding).tolist() == []
    there = rng.random(400) < 0.2
    maps[:, [0, 5]] = embedding[[0, 5]] + 0.2 * rng.standard_normal((400, 2, 3))
    maps[np.ix_(there, [0, 5])] += [1.0, -1.5, 0.5]
    assert bimodal_objects(maps, embedding).tolist() == [0, 5]
    # Not if the other place is next door, is hardly ever taken, or if draws are too few to tell.
    assert bimodal_objects(10 * embedding + maps, 10 * embedding).tolist() == []
    assert bimodal_objects(np.concatenate([maps[~there], maps[there][:10]]), embedding).tolist() == []
    assert bimodal_objects(maps[:20], embedding).tolist() == []
