import numpy as np
import pytest

from benchmarks.accuracy import DATA_SETS
from benchmarks.accuracy.datasets import LOGISTIC_SLOPE, Variant, draw_real, find_file
from benchmarks.accuracy.trial import trial_seed
from benchmarks.paper.protocol import MUSIC, SYNTHETIC, draw_trial
from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian
from nearer.evaluation import comparison_error


def question(rows):
    return set(zip(rows[:, 0], rows[:, 1:].min(axis=1), rows[:, 1:].max(axis=1), strict=True))


def judged(n_answers, rows_each, n_objects=8):
    """Comparisons whose rows say which answer they came from, in no order."""
    rng = np.random.default_rng(1)
    rows = np.array([rng.choice(n_objects, 3, replace=False) for _ in range(n_answers * rows_each)])
    trials = rng.permutation(np.repeat(np.arange(n_answers), rows_each))
    return Comparisons.from_triplets(rows, trials=trials, n_objects=n_objects)


@pytest.mark.parametrize("name", list(DATA_SETS))
def test_five_sizes_from_half_a_comparison_an_object(name):
    data = DATA_SETS[name]
    assert len(data.sizes) == 5
    assert list(data.sizes) == sorted(data.sizes)
    assert name in ("synthetic", "music") or (data.sizes[0], data.sizes[-1]) == (
        data.n_objects // 2,
        20 * data.n_objects,
    )


def test_synthetic_is_the_experiment_that_reproduce_runs():
    ours, papers = DATA_SETS["synthetic"].draw(0, 2, 200), draw_trial(SYNTHETIC, 0, 2, 200)
    np.testing.assert_array_equal(ours.train.rows, papers.train.rows)
    np.testing.assert_array_equal(ours.test.rows, papers.test.rows)
    assert ours.folds_seed == papers.folds_seed


@pytest.mark.parametrize("noise", [{}, {"flipped": 0.1}, {"logistic_slope": LOGISTIC_SLOPE}])
def test_sizes_of_a_variant_are_nested_and_the_test_has_other_questions(noise):
    small, large = (Variant(60, 5, **noise)(0, 1, size) for size in (30, 1200))
    np.testing.assert_array_equal(small.train.rows, large.train.rows[:30])
    np.testing.assert_array_equal(small.test.rows, large.test.rows)
    assert len(small.test) == 50_000
    assert not question(large.train.rows) & question(large.test.rows)


def test_the_test_of_a_noisy_variant_is_right_and_its_answers_are_not():
    trial = Variant(60, 5, flipped=0.1)(0, 0, 1200)
    points = make_gaussian(60, 5, random_state=trial_seed(0, 0))
    assert comparison_error(trial.test, points) == 0
    assert (trial.answers < 0).mean() == pytest.approx(0.1, abs=0.01)
    assert comparison_error(trial.train, points) == pytest.approx(0.1, abs=0.03)


def test_logistic_answers_are_right_four_times_in_five():
    rates = [(DATA_SETS["logistic"].draw(0, trial, 50).answers > 0).mean() for trial in range(5)]
    assert np.mean(rates) == pytest.approx(0.8, abs=0.01)


def test_a_size_beyond_the_largest_is_refused():
    with pytest.raises(ValueError, match="up to 1200"):
        Variant(60, 5)(0, 0, 1201)


@pytest.mark.parametrize("rows_each", [1, 3])
@pytest.mark.parametrize("size", [10, 100])
def test_answers_stay_whole(rows_each, size):
    trial = draw_real(judged(600, rows_each), 2, 0, 0, size)
    assert not set(trial.train.trials) & set(trial.test.trials)
    assert size <= len(trial.train) < size + rows_each
    assert len(trial.train) + len(trial.test) == 600 * rows_each
    assert set(np.bincount(trial.train.trials)) <= {0, rows_each}


def test_sizes_of_human_judgments_are_nested_and_trials_differ():
    data = judged(600, 2)
    small, large, other = (draw_real(data, 2, 0, trial, size) for trial, size in ((0, 20), (0, 200), (1, 20)))
    np.testing.assert_array_equal(small.train.rows, large.train.rows[: len(small.train)])
    assert set(small.train.trials) != set(other.train.trials)


def test_a_large_test_is_cut_to_whole_answers():
    trial = draw_real(judged(3000, 7), 2, 0, 0, 50)
    assert len(trial.test) == 20_000 // 7 * 7
    assert set(np.bincount(trial.test.trials)) == {0, 7}


def test_a_file_is_found_and_large_sizes_leave_a_thousand_rows(judgments):
    cars = DATA_SETS["cars"]
    assert cars.is_there
    assert cars.fitting_sizes() == (30, 60, 180, 480, 800)
    assert len(cars.draw(0, 0, 800).test) == 1000


def test_what_is_not_there_is_said(no_data):
    assert not DATA_SETS["zappos"].is_there
    with pytest.raises(ValueError, match=r"no data for zappos: put zappos.npz into .* NEARER_DATA"):
        DATA_SETS["zappos"].draw(0, 0, 50)


@pytest.mark.skipif(find_file("music") is None, reason="music.npz is neither in ../shared/data nor in $NEARER_DATA")
def test_music_is_split_as_reproduce_does():
    ours, papers = DATA_SETS["music"].draw(0, 3, 1000), draw_trial(MUSIC, 0, 3, 1000)
    np.testing.assert_array_equal(ours.train.rows, papers.train.rows)
    np.testing.assert_array_equal(ours.test.rows, papers.test.rows)


@pytest.mark.parametrize("name", [name for name, data in DATA_SETS.items() if data.is_real])
def test_real_files_are_as_described(name):
    if find_file(name) is None:
        pytest.skip(f"{name}.npz is neither in ../shared/data nor in $NEARER_DATA")
    data = DATA_SETS[name]
    trial = data.draw(0, 0, data.sizes[0])
    assert trial.train.n_objects == data.n_objects
    assert data.fitting_sizes() == data.sizes
