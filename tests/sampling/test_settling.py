"""Draws until predictions have settled: repeatability, early ends, interrupts, and chains that are replaced."""

import os
import signal
import time
import warnings

import numpy as np
import pytest
from helpers import posterior_twin as twin

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.sampling import Diagnosis, Microcanonical, Prior, diagnose, microcanonical, settling
from nearer.sampling.climbing import Climb
from nearer.sampling.maps import chances_of
from nearer.sampling.model import draws_of, model_of
from nearer.sampling.people import people_of
from nearer.sampling.settling import sample_until_settled

# Or it might settle before.
SHORT = Microcanonical(3, n_warmup=100, n_steps=400, thin=10, n_starts=3, n_climb=20, tolerance=1e-30)
ENDLESS = Microcanonical(2, n_warmup=100, n_steps=10_000_000, thin=10, tolerance=1e-9, n_starts=2, n_climb=10)
POINTS = make_gaussian(12, 2, random_state=1)
ANSWERS = sample_triplets(POINTS, 300, flipped=0.05, random_state=0)


@pytest.fixture(scope="module")
def model():
    return model_of(ANSWERS, 2)[0]


def run_of(model, settings, seed=0, budget=None):
    return settling._Run(model, settings, np.random.SeedSequence(seed), 1, budget)


def share_right(model, unknowns, rows):
    return np.mean(chances_of(draws_of(model, unknowns), rows) > 0.5)


def test_a_seed_gives_the_same_bits_whatever_the_threads(model):
    one, again, two = (sample_until_settled(model, SHORT, [], np.random.SeedSequence(0), k) for k in (1, 1, 2))
    for other in (again, two):
        np.testing.assert_array_equal(other.unknowns, one.unknowns)
        np.testing.assert_array_equal(other.densities, one.densities)
        assert other.n_steps == one.n_steps
    different = sample_until_settled(model, SHORT, [], np.random.SeedSequence(1), 1)
    assert (different.unknowns != one.unknowns).all()


def test_draws_and_densities_belong_together(model):
    found = sample_until_settled(model, SHORT, [], np.random.SeedSequence(0), 1)
    assert found.unknowns.shape == (3, 40, model.size)
    assert (found.interrupted, found.n_divergent) == (False, 0)
    for unknowns, values in zip(found.unknowns, found.densities, strict=True):
        np.testing.assert_array_equal([model.density(q)[0] for q in unknowns], values)
    assert len(np.unique(found.densities)) == 120
    # Two gradients for each step of the climbs that went on, and one for each step of the chains, or more: where steps
    # turn out to be too long, they draw again.
    assert found.n_steps >= 3 * 500 + 2 * 5 * 20


def test_it_ends_when_predictions_have_settled_and_goes_on_while_they_have_not(model):
    most = 5000
    settings = {"n_warmup": 300, "n_steps": most, "thin": 20}
    easy, hard = (
        sample_until_settled(model, Microcanonical(tolerance=tolerance, **settings), [], np.random.SeedSequence(0), 1)
        for tolerance in (0.01, 1e-30)
    )
    assert easy.unknowns.shape[1] < most // 20
    assert easy.unknowns.shape[1] % 50 == 0  # whole rounds
    assert hard.unknowns.shape[1] == most // 20
    # What it settled on is what more draws say, and better than guessing.
    rows = sample_triplets(POINTS).rows
    one, other = (chances_of(draws_of(model, of.unknowns.reshape(-1, model.size)), rows) for of in (easy, hard))
    assert np.abs(one - other).mean() < 0.04
    assert np.mean(other > 0.5) > 0.9


def test_the_error_that_it_settles_by_is_what_more_draws_take_away():
    """Of few answers; more draws are those of all repetitions together."""
    weak = twin.model_about(sample_triplets(POINTS, 50, random_state=1).rows, len(POINTS), 2)
    settings = Microcanonical(4, n_warmup=300, n_steps=400, thin=20, tolerance=0.9)
    runs = [run_of(weak, settings, seed) for seed in range(6)]
    votes, said = [], []
    for run in runs:
        found = run.result([])
        votes.append(chances_of(draws_of(weak, found.unknowns.reshape(-1, weak.size)), runs[0].questions))
        said.append(run._judge().error)
    lead = np.mean(votes, axis=0) - 0.5
    lost = [np.mean(2 * np.abs(lead) * ((vote > 0.5) != (lead > 0))) for vote in votes]
    assert np.mean(lost) / 3 < np.mean(said) < 3 * np.mean(lost)


def test_many_objects_are_asked_about_without_asking_for_the_distance_of_one_to_itself():
    n = 2500
    rows = np.random.default_rng(0).permutation(n)[:2499].reshape(-1, 3)
    model = twin.model_about(rows, n, 1)
    for seed in range(100):
        run = run_of(model, SHORT, seed)
        assert (run.pairs[:, 0] != run.pairs[:, 1]).all()
        assert len(run.pairs) > 40


def test_long_thinning_leaves_draws_in_every_round(model):
    settings = Microcanonical(2, n_warmup=100, n_steps=6000, thin=1500, n_starts=2, n_climb=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sample_until_settled(model, settings, [], np.random.SeedSequence(0), 1)
    assert found.unknowns.shape == (2, 4, model.size)


def test_steps_that_are_no_multiple_of_thin_leave_none_over(model):
    """A round of fewer steps than a draw takes would draw for ever."""
    settings = Microcanonical(2, n_warmup=100, n_steps=2003, thin=10, tolerance=1e-9, n_starts=2, n_climb=10)
    found = sample_until_settled(model, settings, [], np.random.SeedSequence(0), 1, budget=30)
    assert found.unknowns.shape == (2, 200, model.size)


def test_a_budget_ends_it_in_about_that_time():
    budget = 0.8
    points = make_gaussian(200, 3, random_state=0)
    large, _ = model_of(sample_triplets(points, 20_000, flipped=0.1, random_state=0), 5)
    settings = Microcanonical(n_steps=10_000_000, tolerance=1e-9)
    began = time.monotonic()
    found = sample_until_settled(large, settings, [], np.random.SeedSequence(0), 2, budget)
    taken = time.monotonic() - began
    assert 0.9 * budget < taken < budget + 10
    assert not found.interrupted
    assert np.isfinite(found.unknowns).all()
    assert (
        share_right(large, found.unknowns.reshape(-1, large.size), sample_triplets(points, 2000, random_state=9).rows)
        > 0.7
    )


@pytest.mark.parametrize("budget", [1e-9, 0.02])
def test_of_a_tiny_budget_something_usable_comes_back(model, budget):
    found = sample_until_settled(model, ENDLESS, [], np.random.SeedSequence(0), 1, budget)
    assert found.unknowns.shape[2] == model.size
    assert found.unknowns.shape[1] >= 1
    assert np.isfinite(found.unknowns).all()
    assert not found.interrupted


def test_a_budget_that_ends_while_a_chain_is_replaced(monkeypatch):
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    run = run_of(SHARP, STUCK, budget=1e6)
    plain = run._replace_worthless

    def late():
        run.deadline = time.monotonic()
        return plain()

    run._replace_worthless = late
    found = run.result([])
    assert run.n_replaced == 1
    assert found.unknowns.shape[0] == 2  # the new chain has no draws yet


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that does something once the chains together walked so often."""
    plain, walked = microcanonical.Chain._walk, []

    def after(walks, what):
        def walk(self, n_steps):
            walked.append(1)
            if len(walked) == walks:
                what()
            return plain(self, n_steps)

        monkeypatch.setattr(microcanonical.Chain, "_walk", walk)

    return after


def press():
    os.kill(os.getpid(), signal.SIGINT)


def strike():
    raise KeyboardInterrupt


@pytest.mark.parametrize("what", [press, strike])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_keeps_the_draws(model, interrupt, what, n_threads):
    interrupt(2 * 20 + 500, what)
    found = sample_until_settled(model, ENDLESS, [], np.random.SeedSequence(0), n_threads)
    assert found.interrupted
    chains, drawn, _ = found.unknowns.shape
    assert chains * drawn >= 100
    assert found.densities.shape == (chains, drawn)


@pytest.mark.parametrize("what", [press, strike])
def test_an_interrupt_while_all_warm_up_goes_on(model, interrupt, what):
    interrupt(10, what)
    settings = Microcanonical(2, n_warmup=1_000_000, n_starts=2, n_climb=10)
    with pytest.raises(KeyboardInterrupt):
        sample_until_settled(model, settings, [], np.random.SeedSequence(0), 2)


def test_an_interrupt_while_starts_climb_goes_on(model, monkeypatch):
    plain, count = Climb.go, iter(range(100))

    def go(self, *arguments):
        if next(count) == 1:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(Climb, "go", go)
    with pytest.raises(KeyboardInterrupt):
        sample_until_settled(model, SHORT, [], np.random.SeedSequence(0), 1)


def test_an_error_in_a_chain_comes_out(model, interrupt):
    def fail():
        raise RuntimeError("out of luck")

    interrupt(30, fail)
    with pytest.raises(RuntimeError, match="out of luck"):
        sample_until_settled(model, SHORT, [], np.random.SeedSequence(0), 2)


def test_given_starts_climb_before_random_ones(model, monkeypatch):
    begun = []
    plain = Climb.__init__

    def begin(self, model, start, *arguments):
        begun.append(start.copy())
        plain(self, model, start, *arguments)

    monkeypatch.setattr(Climb, "__init__", begin)
    given = [np.full(model.size, 0.1), np.full(model.size, 0.2)]
    sample_until_settled(model, SHORT, given, np.random.SeedSequence(0), 1)
    assert len(begun) == 3 + 1  # the best one is unrolled
    np.testing.assert_array_equal(begun[:2], given)
    with_one = Microcanonical(3, n_warmup=100, n_steps=400, thin=10, n_starts=1, n_climb=20)
    sample_until_settled(model, with_one, given, np.random.SeedSequence(0), 1)
    assert len(begun) == 4 + 2
    np.testing.assert_array_equal(begun[4], given[0])


def test_a_line_is_found_in_a_plane_and_no_arc(monkeypatch):
    """From random starts objects on a line come to lie on an arc, from which no chain finds back."""
    line = np.random.default_rng(1).uniform(-1, 1, (30, 1))
    model = model_of(sample_triplets(line, 1400, flipped=0.15, random_state=3), 2)[0]

    def flatness(seed):
        run = settling._Run(model, Microcanonical.for_judging(), np.random.SeedSequence(seed), 1, None)
        with settling.progress_bar("climbing", silent=True) as run.bar:
            run._climb([])
        points = draws_of(model, run.climbs[0].mean[None]).points[0]
        extents = np.linalg.svd(points - points.mean(axis=0))[1]
        return extents[1] / extents[0]

    found = [flatness(seed) for seed in range(4)]
    assert np.median(found) < 0.12
    monkeypatch.setattr(settling, "unrolled", lambda model, unknowns: unknowns)
    assert np.median([flatness(seed) for seed in range(4)]) > 2 * np.median(found)


# Chains that are stuck: of one start the left half of the map lies on the right one, in another order. Steepness and
# lapses are known, or the chain would first doubt the answers, then unfold, and then trust them.
PLACES = make_gaussian(20, 2, random_state=0)
PLACES = (PLACES - PLACES.mean(axis=0)) / PLACES.std(axis=0)
KNOWN = Prior((-1.2, -2.3, 5.0, 0.0, -2.2, 1.0, 0.0, -1.2, 0.0), (0.5, 0.5, 0.1, 1.0, 0.1, 1.5, 0.06, 0.5, 0.7))
SHARP = model_of(sample_triplets(PLACES, 2000, flipped=0.05, random_state=0), 2, KNOWN)[0]
STUCK = Microcanonical(3, n_warmup=200, n_steps=2000, thin=20, tolerance=0.05)
EVERYTHING = sample_triplets(PLACES).rows


def flat_and_folded():
    flat, folded = SHARP.start(np.random.default_rng(0)), SHARP.start(np.random.default_rng(0))
    places, left = PLACES.copy(), PLACES[:, 0] < 0
    flat[:40] = places.ravel()
    places[left] = np.roll(places[left], 3, axis=0)
    places[:, 0] = np.abs(places[:, 0])
    folded[:40] = places.ravel()
    return flat, folded


def begin_at(monkeypatch, starts):
    """Have chains begin at given unknowns, whatever the climbs found."""

    def climb(self, _):
        self.climbs = [Climb(self.model, start, np.random.default_rng(0)) for start in starts]
        for climb in self.climbs:
            climb.log_deviation[:] = -4.0

    monkeypatch.setattr(settling._Run, "_climb", climb)


def test_a_chain_on_a_folded_map_is_replaced(monkeypatch):
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    run = run_of(SHARP, STUCK)
    found = run.result([])
    assert run.n_replaced == 1
    assert len(found.unknowns) == 3
    assert min(share_right(SHARP, chain, EVERYTHING) for chain in found.unknowns) > 0.97


def test_without_being_replaced_it_would_stay_there(monkeypatch):
    """Or the test before would say nothing."""
    flat, folded = flat_and_folded()
    begin_at(monkeypatch, [flat, folded, flat])
    monkeypatch.setattr(settling._Run, "_replace_worthless", lambda self: False)
    found = run_of(SHARP, STUCK).result([])
    assert [share_right(SHARP, chain, EVERYTHING) > 0.97 for chain in found.unknowns] == [True, False, True]


def test_chains_that_are_merely_unlucky_are_not_replaced():
    """With few answers and few draws their scores differ by chance."""
    for seed in range(8):
        few, _ = model_of(sample_triplets(POINTS, 60, flipped=0.2, random_state=seed), 2)
        settings = Microcanonical(4, n_warmup=100, n_steps=100, thin=20, n_starts=2, n_climb=20)
        run = run_of(few, settings, seed)
        run.result([])
        assert run.n_replaced == 0


def test_maps_that_explain_the_answers_alike_stay_both(monkeypatch):
    """Two groups that were never compared with each other: one may be mirrored, and nobody can tell."""
    rows = np.concatenate(
        [sample_triplets(POINTS[:6], random_state=0).rows, sample_triplets(POINTS[6:], random_state=0).rows + 6]
    )
    two, _ = model_of(Comparisons.from_triplets(np.tile(rows, (3, 1))), 2)
    one = two.start(np.random.default_rng(0))
    one[:24] = ((POINTS - POINTS.mean(axis=0)) / POINTS.std()).ravel()
    other = one.copy()
    other[12:24:2] *= -1
    begin_at(monkeypatch, [one, other])
    run = run_of(two, Microcanonical(2, n_warmup=200, n_steps=2000, thin=20))
    found = run.result([])
    assert run.n_replaced == 0

    def across(chain):
        points = draws_of(two, chain).points
        return np.linalg.norm(points[:, :6, None] - points[:, None, 6:], axis=3).reshape(len(chain), -1)

    distances = np.array([across(chain) for chain in found.unknowns])
    assert max(diagnose(distances[:, :, k]).rhat for k in range(36)) > 1.2  # two maps, and it shows


def test_coin_tossers_are_found_to_lapse_and_others_are_not():
    rng = np.random.default_rng(0)
    people = np.arange(660) % 6
    rows = rng.permutation(sample_triplets(POINTS).rows)
    tossed = (people < 2) & (rng.random(660) < 0.5)
    rows = np.where(tossed[:, None], rows[:, [0, 2, 1]], rows)
    model, _ = model_of(Comparisons.from_triplets(rows, annotators=people), 2)
    found = sample_until_settled(model, Microcanonical(2, n_warmup=400), [], np.random.SeedSequence(0), 2)
    unknowns = found.unknowns.reshape(-1, model.size)
    _, lapses = people_of(model, unknowns)
    assert lapses[:, :2].mean(axis=0).min() > 0.5
    assert lapses[:, 2:].mean(axis=0).max() < 0.2
    assert (np.quantile(lapses[:, :2], 0.05, axis=0) > np.quantile(lapses[:, 2:], 0.95, axis=0).max()).all()
    # They cost the map next to nothing.
    assert share_right(model, unknowns, sample_triplets(POINTS).rows) > 0.95


def test_a_single_chain_ends_by_its_halves_and_not_at_once(model, monkeypatch):
    settings = Microcanonical(1, n_warmup=100, n_steps=2000, thin=20, n_starts=1, n_climb=20)
    for rhat, n_draws in ((2.0, 2000 // 20), (1.0, 500 // 20)):
        monkeypatch.setattr(settling, "diagnose", lambda _, rhat=rhat: Diagnosis(rhat, 10.0))
        found = sample_until_settled(model, settings, [], np.random.SeedSequence(0), 1)
        assert found.unknowns.shape[1] == n_draws
        assert np.isnan(found.vote_error)
