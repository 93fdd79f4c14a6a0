import numpy as np
import pytest

from benchmarks import triplets
from benchmarks.triplets import Size, draw_blocks, make_data, start_seeds
from nearer._common.randomness import stream
from nearer.datasets import make_gaussian
from nearer.evaluation import comparison_error


def questions(rows):
    return {(anchor, *sorted(pair)) for anchor, *pair in rows.tolist()}


def test_train_and_test_are_different_questions_answered_by_the_points():
    train, test = make_data(Size(12, 300), dimension=3, seed=4)
    points = make_gaussian(12, 3, random_state=4)
    assert len(train) == 300
    assert len(questions(train)) + len(questions(test)) == len(questions(np.vstack([train, test]))) == 12 * 11 * 10 // 2
    assert comparison_error(train, points) == comparison_error(test, points) == 0.0


def test_no_more_than_the_usual_number_is_held_out(monkeypatch):
    monkeypatch.setattr(triplets, "N_TEST", 50)
    assert make_data(Size(12, 300), dimension=3, seed=0).test.shape == (50, 3)


@pytest.mark.parametrize(("size", "words"), [((2, 1), "too small"), ((10, 0), "too small"), ((10, 360), "too large")])
def test_impossible_sizes_are_refused(size, words):
    with pytest.raises(ValueError, match=words):
        make_data(Size(*size), dimension=2, seed=0)


@pytest.mark.parametrize("n_objects", [9, 200])  # with a table of all distances, and without
def test_blocks_are_valid_triplets_over_all_objects(monkeypatch, n_objects):
    monkeypatch.setattr(triplets, "BLOCK", 1000)
    points = make_gaussian(n_objects, 2, random_state=0)
    rows = draw_blocks(points, 4500, stream(0, "triplets"))
    assert rows.dtype == np.int32
    assert comparison_error(rows, points) == 0.0  # also refuses rows that name an object twice
    assert set(np.unique(rows)) == set(range(n_objects))
    # Blocks go on in the stream, none repeats the one before it.
    assert not np.array_equal(rows[:1000], rows[1000:2000])


def test_starts_differ_from_repeat_to_repeat_and_from_seed_to_seed():
    assert len({*start_seeds(0, 5), *start_seeds(1, 5)}) == 10
