"""The exact test of guessing: its size, its power, and what it must not depend on."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.groups import guessing_p_value


def triplets(rng, m, error, n=15, trials=None):
    points = rng.normal(size=(n, 2))
    rows = np.argpartition(rng.random((m, n)), 3, axis=1)[:, :3]
    away = np.linalg.norm(points[rows[:, :1]] - points[rows[:, 1:]], axis=2)
    wrong = (away[:, 0] > away[:, 1]) ^ (rng.random(m) < error)
    rows[wrong] = rows[wrong][:, [0, 2, 1]]
    return Comparisons.from_triplets(rows, n_objects=n, trials=trials)


def test_guesses_are_rejected_at_the_level():
    rng = np.random.default_rng(0)
    p_values = np.array([guessing_p_value(triplets(rng, 80, 0.5), rng) for _ in range(300)])
    assert 0.02 < np.mean(p_values <= 0.05) < 0.09
    assert 0.4 < p_values.mean() < 0.6


def test_answers_about_points_are_no_guesses():
    rng = np.random.default_rng(1)
    assert max(guessing_p_value(triplets(rng, 300, 0.2), rng) for _ in range(10)) < 0.01


def test_rows_of_one_trial_are_flipped_together():
    """Copies of one guess are one guess: ten rows of a trial that all say the same are no evidence."""
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(100):
        once = triplets(rng, 40, 0.5).rows
        rows = Comparisons.from_triplets(np.repeat(once, 10, axis=0), n_objects=15, trials=np.repeat(np.arange(40), 10))
        p_values.append(guessing_p_value(rows, rng))
    assert np.mean(np.array(p_values) <= 0.05) < 0.13


@pytest.mark.parametrize("m", [1, 3])
def test_hardly_any_answers_reject_nothing(m):
    rng = np.random.default_rng(3)
    assert guessing_p_value(triplets(rng, m, 0.0), rng) > 0.05


def test_the_way_a_row_is_written_changes_nothing():
    rng = np.random.default_rng(4)
    rows = triplets(rng, 120, 0.3).rows
    turned = np.random.default_rng(5).random(120) < 0.5
    written = rows.copy()
    written[turned] = written[turned][:, [0, 2, 1]]
    y = np.where(turned, -1, 1)
    first = guessing_p_value(Comparisons.from_triplets(rows, n_objects=15), np.random.default_rng(6))
    assert guessing_p_value(Comparisons.from_triplets(written, y, n_objects=15), np.random.default_rng(6)) == first
