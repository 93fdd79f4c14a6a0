import numpy as np
import pytest

from benchmarks.paper import SYNTHETIC, methods
from benchmarks.paper.methods import Unit, run_unit
from benchmarks.paper.protocol import draw_trial
from nearer._common.randomness import stream
from nearer.datasets import make_gaussian


def codes(comparisons):
    return comparisons.rows @ np.array([100**2, 100, 1])


def test_every_triplet_is_either_trained_on_or_tested():
    drawn = draw_trial(SYNTHETIC, seed=0, trial=3, size=1000)
    train, test = codes(drawn.train), codes(drawn.test)
    assert len(train) == 1000
    assert len(test) == 484_100
    assert len(np.union1d(train, test)) == 485_100


def test_sizes_of_one_trial_are_nested():
    small, large = (draw_trial(SYNTHETIC, seed=0, trial=0, size=size) for size in (200, 500))
    np.testing.assert_array_equal(small.train.rows, large.train.rows[:200])


def test_trials_and_seeds_have_points_of_their_own():
    first, second, other = (
        SYNTHETIC.load(np.random.SeedSequence(seed, spawn_key=(trial,))) for seed, trial in ((0, 0), (0, 1), (1, 0))
    )
    # Independent points answer about half of the questions alike.
    for another in (second, other):
        assert np.isin(codes(first), codes(another)).mean() == pytest.approx(0.5, abs=0.05)


def test_points_are_unrelated_to_the_start_of_an_estimator_with_the_same_seed():
    points = make_gaussian(100, 10, random_state=np.random.SeedSequence(0, spawn_key=(0,)))
    for seed in (0, np.random.SeedSequence(0, spawn_key=(0,))):
        start = stream(seed, "start").normal(size=points.shape)
        assert abs(np.corrcoef(points.ravel(), start.ravel())[0, 1]) < 0.15


def test_every_method_gets_the_same_rows_and_folds(monkeypatch):
    seen = []

    class Stop(Exception):
        pass

    def look(method, train, n_components, folds_seed):
        seen.append((method, train.rows.tobytes(), folds_seed))
        np.random.default_rng().normal()
        raise Stop

    monkeypatch.setattr(methods, "tune", look)
    for method in ("DMOE", "TSTE"):
        with pytest.raises(Stop):
            run_unit(SYNTHETIC, 0, Unit(200, 1, method))
    assert [method for method, _, _ in seen] == ["DMOE", "TSTE"]
    assert seen[0][1:] == seen[1][1:]


@pytest.mark.parametrize("size", [4, 485_100])
def test_a_size_without_folds_or_without_test_rows_is_refused(size):
    with pytest.raises(ValueError, match="from 10 to 485099"):
        draw_trial(SYNTHETIC, seed=0, trial=0, size=size)
