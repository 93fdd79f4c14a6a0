"""Measures and the Mantel test, against loops over pairs and closed forms."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import kendalltau, pearsonr, spearmanr

from nearer.comparing import mantel
from nearer.comparing.matrix_tests import MEASURES, measure_function, tau_a

RNG = np.random.default_rng(0)


def matrix(n, seed):
    return squareform(pdist(np.random.default_rng(seed).normal(size=(n, 2))))


@pytest.mark.parametrize("ties", [False, True])
def test_measures_are_those_of_scipy(ties):
    first, second = RNG.normal(size=(2, 40))
    if ties:
        first, second = first.round(), second.round()
    assert measure_function("spearman")(first, second) == pytest.approx(spearmanr(first, second).statistic)
    assert measure_function("kendall")(first, second) == pytest.approx(kendalltau(first, second).statistic)
    assert measure_function("pearson")(first, second) == pytest.approx(pearsonr(first, second).statistic)


def test_tau_a_counts_pairs_of_pairs_one_by_one():
    first, second = RNG.integers(4, size=(2, 15)).astype(float)
    signs = [np.sign(first[a] - first[b]) * np.sign(second[a] - second[b]) for a, b in combinations(range(15), 2)]
    assert tau_a(first, second) == pytest.approx(np.mean(signs))


@pytest.mark.parametrize("measure", MEASURES)
def test_a_list_that_is_always_the_same_explains_nothing(measure):
    assert measure_function(measure)(np.full(5, 0.1), np.arange(5.0)) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_p_is_the_share_of_all_orders_at_least_as_high(measure):
    first, second = matrix(5, 1), matrix(5, 2)
    values = squareform(second)
    every = [
        measure_function(measure)(squareform(first[np.ix_(order, order)]), values) for order in permutations(range(5))
    ]
    exact = np.mean(np.array(every) >= every[0] - 1e-10)
    found = mantel(first, second, measure=measure, n_permutations=600, random_state=0)
    assert found.correlation == pytest.approx(every[0])
    assert found.p_value == pytest.approx(exact, abs=0.1)  # five standard errors


@pytest.mark.parametrize("measure", ["spearman", "pearson"])
def test_the_fast_way_is_the_plain_one(measure):
    first, second = matrix(7, 3), matrix(7, 4)
    found = mantel(first, second, measure=measure, n_permutations=99, random_state=np.random.default_rng(1))
    rng, values = np.random.default_rng(1), squareform(second)
    orders = [rng.permutation(7) for _ in range(99)]
    plain = [measure_function(measure)(squareform(first[np.ix_(order, order)]), values) for order in orders]
    assert found.p_value == (1 + np.sum(np.array(plain) >= found.correlation - 1e-10)) / 100


def test_unknown_distances_are_left_out():
    first, second = matrix(8, 5), matrix(8, 5)
    second[0, 1] = second[1, 0] = np.nan
    first[2, 3] = np.nan  # known the other way round
    found = mantel(first, second, n_permutations=99, random_state=0)
    assert (found.n_pairs, found.correlation) == (27, pytest.approx(1.0))
    assert found.p_value == 0.01


def test_the_mantel_test_has_its_nominal_size():
    p_values = [
        mantel(matrix(8, 2 * seed), matrix(8, 2 * seed + 1), n_permutations=39, random_state=seed).p_value
        for seed in range(200)
    ]
    # Exact: 2 of 40 orders at 0.05, and a tenth at 0.1. Five standard errors to either side.
    assert np.mean(np.array(p_values) <= 0.05) < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(p_values) == pytest.approx(0.5, abs=5 * 0.29 / np.sqrt(200))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="8 and 7 objects"):
        mantel(matrix(8, 0), matrix(7, 0))
    with pytest.raises(ValueError, match="at least 4 objects"):
        mantel(matrix(3, 0), matrix(3, 0))
    with pytest.raises(ValueError, match="choose one of spearman"):
        mantel(matrix(8, 0), matrix(8, 0), measure="cosine")
