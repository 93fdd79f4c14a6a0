from dataclasses import replace

import numpy as np
import pytest

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import (
    AnnotatorReliability,
    annotator_reliability,
    comparison_error,
    margins,
    reliability_weights,
)

POINTS = make_gaussian(15, 2, random_state=0)
ALL = sample_triplets(POINTS)
MODEL = STE(2, random_state=0)


def people(flipped, n_answers, seed=0, per_trial=1):
    """Answers of people who are wrong this often, in trials of so many rows that are wrong together."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(len(flipped)), n_answers)
    wrong = rng.random(len(person)) < np.asarray(flipped)[person]
    rows = ALL.rows[rng.integers(len(ALL), size=(len(person), per_trial))]
    return Comparisons.from_triplets(
        rows.reshape(-1, 3),
        np.repeat(np.where(wrong, -1, 1), per_trial),
        annotators=np.repeat(np.array([f"p{number:02}" for number in person]), per_trial),
        trials=np.repeat(np.arange(len(person)), per_trial) if per_trial > 1 else None,
        n_objects=15,
    )


def known(errors, n_answers):
    errors = np.array(errors)
    names = np.array([f"p{number:02}" for number in range(len(errors))])
    return AnnotatorReliability(names, np.full(len(errors), n_answers), errors, errors, errors)


def test_with_few_people_each_is_judged_by_a_map_of_all_others():
    comparisons = people([0.05, 0.2, 0.4], 150)
    found = annotator_reliability(MODEL, comparisons, n_groups=10)
    for name, error in zip(found.names, found.errors, strict=True):
        own = comparisons.annotators == name
        others = STE(2, random_state=0).fit(comparisons[~own])
        assert error == pytest.approx(comparison_error(comparisons[own], others.embedding_))


def test_errors_of_many_people_are_near_their_rates_and_intervals_hold_them():
    rates = np.linspace(0.02, 0.5, 24)
    found = annotator_reliability(MODEL, people(rates, 150), n_groups=4, random_state=0)
    assert found.names.tolist() == sorted(found.names.tolist())
    assert found.n_answers.tolist() == [150] * 24
    clean = 0.08  # what the map itself gets wrong
    expected = rates + clean * (1 - 2 * rates)
    assert np.abs(found.errors - expected).mean() < 0.05
    assert np.mean((found.lows <= expected) & (expected <= found.highs)) >= 0.85
    assert found.lows[-1] > found.highs[0]


def test_intervals_count_trials_and_not_rows():
    single, grids = (annotator_reliability(MODEL, people([0.2, 0.2], 100, per_trial=k)) for k in (1, 5))
    assert grids.n_answers.tolist() == [100, 100]
    widths = [found.highs - found.lows for found in (single, grids)]
    assert widths[1] == pytest.approx(widths[0], rel=0.25)


def test_who_answered_must_be_known():
    with pytest.raises(ValueError, match="do not say who answered"):
        annotator_reliability(MODEL, ALL)
    with pytest.raises(ValueError, match="one annotator"):
        annotator_reliability(MODEL, people([0.1], 50))
    with pytest.raises(ValueError, match="do not say who answered"):
        reliability_weights(known([0.1], 50), ALL)


def test_weights_are_log_odds_where_there_are_many_answers():
    weights = reliability_weights(known([0.1, 0.2, 0.3], 100_000), people([0, 0, 0], 1))
    odds = np.log([9.0, 4.0, 7 / 3])
    assert weights == pytest.approx(odds / odds.mean(), rel=1e-2)


def test_weights_make_the_likeliest_map_win():
    """Among maps, weighted contradictions rank as the likelihood of people with these error rates does."""
    rates = np.array([0.05, 0.2, 0.4])
    comparisons = people(rates, 60, seed=3)
    weights = reliability_weights(known(rates, 10**6), comparisons)
    person = np.repeat(np.arange(3), 60)
    costs, likelihoods = [], []
    for seed in range(30):
        against = margins(comparisons, make_gaussian(15, 2, random_state=seed)) < 0
        costs.append(weights @ against)
        likelihoods.append(np.log(np.where(against, rates[person], 1 - rates[person])).sum())
    assert np.corrcoef(costs, likelihoods)[0, 1] < -0.9999


def test_weights_at_chance_or_worse_are_zero_and_their_sum_is_kept():
    comparisons = people([0, 0, 0], 1)
    weights = reliability_weights(known([0.1, 0.5, 0.9], 10**6), comparisons)
    assert weights[1] == pytest.approx(0, abs=1e-2)
    assert weights[2] == 0
    assert weights.mean() == pytest.approx(1)
    doubled = replace(comparisons, weights=np.array([2.0, 2.0, 5.0]))
    assert reliability_weights(known([0.1, 0.2, 0.3], 50), doubled).sum() == pytest.approx(9)
    with pytest.raises(ValueError, match="all weights are 0"):
        reliability_weights(known([0.6, 0.7, 0.9], 10**6), comparisons)


def test_few_answers_are_drawn_towards_the_usual_and_strangers_get_it():
    errors = [0.0, 0.1, 0.15, 0.2, 0.3]
    spread = [np.ptp(reliability_weights(known(errors, n), people([0] * 5, 1))) for n in (5, 200)]
    assert spread[0] < 0.5 * spread[1]
    strangers = Comparisons.from_triplets(ALL.rows[:3], annotators=["p00", "p04", "stranger"])
    best, worst, stranger = reliability_weights(known(errors, 200), strangers)
    assert worst < stranger < best


def test_weights_give_a_better_map_where_some_answer_at_random():
    gains = []
    for seed in range(4):
        comparisons = people([0.05] * 6 + [0.5] * 6, 60, seed=seed)
        found = annotator_reliability(MODEL, comparisons, n_groups=12)
        weighted = replace(comparisons, weights=reliability_weights(found, comparisons))
        plain, better = (
            comparison_error(ALL, STE(2, random_state=0).fit(each).embedding_) for each in (comparisons, weighted)
        )
        gains.append((plain, better))
    plain, better = np.mean(gains, axis=0)
    assert better < 0.8 * plain
