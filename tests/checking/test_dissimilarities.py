"""Checks of dissimilarities: each finds what was planted, and nothing in clean data."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from nearer.checking import check_dissimilarities
from nearer.checking.findings import format_finding
from nearer.data.dissimilarities import Dissimilarities

N = 9
PAIRS = np.triu_indices(N, 1)


@pytest.fixture
def ratings():
    rng = np.random.default_rng(0)
    d = pdist(rng.normal(size=(N, 2)))
    return np.clip(np.round(1 + 6 * d / d.max() + 0.5 * rng.normal(size=(6, len(d)))), 1, 7)


def data_of(values, both_ways=False):
    sums, trials = np.zeros((2, len(values), N, N))
    trials[:, *PAIRS] = ~np.isnan(values)
    sums[:, *PAIRS] = np.nan_to_num(values)
    if both_ways:
        other = np.random.default_rng(1).permuted(values, axis=1)
        trials[:, PAIRS[1], PAIRS[0]], sums[:, PAIRS[1], PAIRS[0]] = 1, other
    return Dissimilarities(sums, trials, [f"o{at}" for at in range(N)], "ratings", tuple("abcdef"[: len(values)]))


def codes(data):
    found = check_dissimilarities(data)
    for each in found:
        assert format_finding(each)
    return {each.code: each for each in found}


def test_clean_ratings(ratings):
    found = codes(data_of(ratings))
    assert set(found) == {"judgments", "people-agree"}


def test_people(ratings):
    ratings[0], ratings[1], ratings[2] = 4, 8 - ratings[1], np.random.default_rng(3).permutation(ratings[2])
    found = codes(data_of(ratings))
    assert found["constant-raters"].concerned == ("a",)
    assert found["reversed-raters"].concerned == ("b",)
    assert found["unrelated-raters"].concerned == ("c",)
    assert found["reversed-raters"].numbers["people"][0] < -0.5


def test_a_value_beyond_the_scale(ratings):
    ratings[2, 4] = 99
    numbers = codes(data_of(ratings))["far-judgments"].numbers
    assert (numbers["values"], numbers["n"], numbers["low"], numbers["high"]) == ([99.0], 1, 1.0, 7.0)


def test_missing_pairs(ratings):
    a, b = PAIRS
    ratings[:, (a == 0) & (b > 1)] = np.nan
    found = codes(data_of(ratings))
    assert found["few-judged"].concerned == ("o0",)
    assert found["unjudged-pairs"].numbers == {"n_pairs": 7, "n_possible": 36}
    ratings[:, (a < 4) != (b < 4)] = np.nan
    groups = codes(data_of(ratings))["unjudged-groups"]
    assert groups.severity == "error"
    assert sorted(map(len, groups.numbers["groups"])) == [4, 5]


def test_orders_that_disagree(ratings):
    found = codes(data_of(ratings, both_ways=True))["asymmetric"]
    assert found.severity == "warning"
    assert found.numbers["n_pairs"] == 6 * 36
