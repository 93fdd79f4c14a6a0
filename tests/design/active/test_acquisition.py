"""What questions tell together."""

import numpy as np
import pytest

from nearer.design.active.acquisition import GreedyBatch


def probabilities_of(rng, n_draws=80, n_questions=12):
    linear = rng.standard_normal((n_draws, 4)) @ rng.standard_normal((4, n_questions))
    chances = 1 / (1 + np.exp(-linear))
    return np.stack([chances, 1 - chances], axis=2)


def test_variances_are_those_of_gaussian_conditioning(rng):
    chances = probabilities_of(rng)
    batch = GreedyBatch(chances)
    values = chances[:, :, 0]
    covariances = np.cov(values.T, bias=True)
    noise = np.diag(batch.noise)
    chosen = [batch.pick() for _ in range(5)]
    among = covariances[np.ix_(chosen, chosen)] + noise[np.ix_(chosen, chosen)]
    cross = covariances[:, chosen]
    left = covariances - cross @ np.linalg.solve(among, cross.T)
    np.testing.assert_allclose(batch.variances, np.diag(left), atol=1e-10)


def test_gains_about_targets_are_those_of_gaussian_conditioning(rng):
    chances, matter = probabilities_of(rng), probabilities_of(rng, n_questions=7)[:, :, 0]
    batch = GreedyBatch(chances, matter)
    covariances = np.cov(np.column_stack([chances[:, :, 0], matter]).T, bias=True)
    chosen = [batch.pick() for _ in range(5)]
    among = covariances[np.ix_(chosen, chosen)] + np.diag(batch.noise[chosen])
    cross = covariances[:, chosen]
    left = covariances - cross @ np.linalg.solve(among, cross.T)
    shared, variances = (left[12:, :12] ** 2).sum(axis=0), np.diag(left)[:12]
    np.testing.assert_allclose(batch.shared, shared, atol=1e-10)
    taken = np.maximum(shared - variances * np.trace(left[12:, 12:]) / len(chances), 0.0)
    size = (variances + batch.noise) * np.trace(left[12:, 12:])
    np.testing.assert_allclose(batch.gains(), taken / size, atol=1e-10)


def test_spurious_covariances_have_no_gain(rng):
    """Of forty draws, answers that have nothing to do with what matters seem to: the mean of that is taken off."""
    seeming, counted = [], []
    for _ in range(200):
        held, matter = rng.uniform(size=(40, 1)), rng.uniform(size=(40, 30))
        batch = GreedyBatch(np.stack([held, 1 - held], axis=2), matter)
        seeming.append(batch.shared[0])
        counted.append(batch.shared[0] - batch.variances[0] * np.trace(batch.targets) / 40)
    assert abs(np.mean(counted)) < 0.1 * np.mean(seeming)


def test_without_targets_the_map_has_a_share_of_the_gain(rng):
    chances = probabilities_of(rng)
    held = chances[:, :, 0]
    told = np.log1p(held.var(axis=0) / ((held * (1 - held)).mean(axis=0) + 1e-3))
    given = GreedyBatch(chances, held)
    np.testing.assert_allclose(GreedyBatch(chances, n_coordinates=5).gains() - given.gains(), told / 5)


def test_a_different_question_precedes_a_third_copy(rng):
    unsure, other, sure = rng.uniform(size=(3, 200))
    held = np.stack([unsure, unsure, unsure, 0.1 + 0.8 * other, 0.9 + 0.01 * sure], axis=1)
    batch = GreedyBatch(np.stack([held, 1 - held], axis=2), held[:, 2:])
    for _ in range(3):  # the answers are noisy: each of two that say the same tells something
        batch.pick()
    assert not batch.is_open[3]


def test_picks_are_distinct_and_not_barred(rng):
    batch = GreedyBatch(probabilities_of(rng))
    barred = range(3)
    picked = [batch.pick(barred) for _ in range(10)]
    assert picked[-1] is None
    assert sorted(picked[:-1]) == list(range(3, 12))


def test_targets_decide(rng):
    first, second = rng.uniform(size=(2, 300))
    held = np.stack([first, second], axis=1)
    chances = np.stack([held, 1 - held], axis=2)
    assert GreedyBatch(chances, targets=second[:, None]).pick() == 1
    assert GreedyBatch(chances, targets=first[:, None]).pick() == 0


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_certain_answers_have_no_gain(sure):
    held = np.full((50, 3, 2), [sure, 1 - sure])
    assert (GreedyBatch(held).gains() == 0).all()
