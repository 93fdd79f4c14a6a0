import numpy as np

from nearer._common.randomness import stream
from nearer.datasets import make_gaussian


def test_one_seed_and_purpose_give_one_stream():
    np.testing.assert_array_equal(stream(3, "start").normal(size=9), stream(3, "start").normal(size=9))


def test_data_and_start_are_uncorrelated_when_both_get_the_same_seed():
    points = make_gaussian(200, 10, random_state=0).ravel()
    start = stream(0, "start").normal(size=(200, 10)).ravel()
    # 2000 independent pairs: a correlation beyond 4 standard errors would be no accident.
    assert abs(np.corrcoef(points, start)[0, 1]) < 4 / np.sqrt(points.size)


def test_purposes_differ_for_a_seed_sequence_and_keep_its_spawn_key():
    first, second = np.random.SeedSequence(0).spawn(2)
    draws = {float(stream(seed, purpose).normal()) for seed in (first, second) for purpose in ("points", "split")}
    assert len(draws) == 4


def test_a_generator_is_used_as_it_is():
    generator = np.random.default_rng(0)
    assert stream(generator, "start") is generator


def test_random_state_objects_are_accepted_and_advance():
    state = np.random.RandomState(0)
    assert stream(state, "start").normal() != stream(state, "start").normal()
