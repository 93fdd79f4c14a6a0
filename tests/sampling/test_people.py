"""People who weigh the axes differently and have maps of their own: density, draws, and what is made of them."""

import numpy as np
import pytest
from helpers import posterior_reference as reference
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import norm

from nearer import Comparisons
from nearer.sampling.annotators import PeopleDraws, annotator_parameters, answer_probabilities
from nearer.sampling.differences import joint_axes, people_differences
from nearer.sampling.microcanonical import Microcanonical, sample_until_converged
from nearer.sampling.model import Draws, draws_of, model_of
from nearer.sampling.nuts import NUTS, sample_nuts

N, P, PEOPLE, M = 8, 3, 4, 120


def about(people, seed=0):
    rng = np.random.default_rng([seed, 3])
    rows = rng.permuted(np.tile(np.arange(N), (M, 1)), axis=1)[:, :3]
    who = rng.integers(PEOPLE, size=M)
    comparisons = Comparisons.from_triplets(rows, annotators=who, n_objects=N, weights=rng.choice([1.0, 2.0], M))
    return model_of(comparisons, P, people=people)[0]


def log_density(q, model):
    """The density in plain NumPy, with a loop over people, written from the docstring of `nearer.sampling.people`."""
    core, answers, layout = q[: model.core_size], model.comparisons, model.people.layout
    weights, maps = np.split(q[model.core_size : -2], [layout.n_people * P])
    unknowns = reference.split(core, N, P, PEOPLE)
    common = reference.map_of(core, model.exposure, N, P, PEOPLE)
    spreads = np.exp(np.exp(unknowns.numbers[0]) * unknowns.u)
    spreads /= np.linalg.norm(spreads)
    slopes, lapses = reference.answering_of_people(unknowns)
    _, offset, _ = reference.answering(unknowns.numbers)
    total = reference.log_prior(core, N, P, model.prior, PEOPLE) + norm.logpdf(q[model.core_size : -2]).sum()
    total += norm.logpdf(q[-2:], layout.centers, layout.scales).sum()
    quadruplets = answers.pairs[answers.rows].reshape(-1, 4)
    for person in range(PEOPLE):
        own = common.copy()
        if layout.n_maps:
            places = layout.whose == person
            own[layout.objects[places]] += np.exp(q[-1]) * spreads * maps.reshape(-1, P)[places]
        own = own * np.exp(np.exp(q[-2]) * weights.reshape(PEOPLE, P)[person] / 2)
        mine = answers.annotators == person
        found = reference.chances(own, slopes[person], offset, lapses[person], quadruplets[mine])
        total += (np.log(found) * answers.total_weights[mine]).sum()
    return total


@pytest.mark.parametrize("people", ["weights", "maps"])
def test_the_density_is_that_of_its_definition(people):
    model, rng = about(people), np.random.default_rng(1)
    qs = 0.7 * rng.standard_normal((3, model.size))
    ours = [model.density(q)[0] for q in qs]
    theirs = [log_density(q, model) for q in qs]
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-10)


@pytest.mark.parametrize("people", ["weights", "maps"])
def test_the_gradient_is_that_of_finite_differences(people):
    model = about(people)
    q = 0.7 * np.random.default_rng(2).standard_normal(model.size)
    numeric = approx_fprime(q, lambda at: model.density(at)[0], 1e-7)
    np.testing.assert_allclose(model.density(q)[1], numeric, atol=2e-4)


def test_unknowns_grow_with_what_people_were_asked_about():
    model = about("maps")
    asked = len(set(zip(model.people.layout.whose.tolist(), model.people.layout.objects.tolist(), strict=True)))
    assert model.people.layout.n_maps == asked <= N * PEOPLE
    assert model.size == model.core_size + (PEOPLE + asked) * P + 2
    assert about("weights").size == model.core_size + PEOPLE * P + 2
    assert about("noise").people is None


def test_answers_have_the_probability_of_the_map_of_who_gave_them():
    model = about("maps")
    unknowns = model.draw_prior(2, np.random.default_rng(3))
    rows = np.arange(len(model.comparisons))
    found = answer_probabilities(model, unknowns, rows)
    people = PeopleDraws.of(model, unknowns, np.arange(PEOPLE), np.arange(N), np.random.default_rng(0))
    common, (slopes, lapses) = draws_of(model, unknowns), annotator_parameters(model, unknowns)
    for row in (0, 40, 90):
        person = model.comparisons.annotators[row]
        own = people.draws_of(common, person, np.random.default_rng(0))
        expected = reference.chances(
            own.points, slopes[:, person], own.offsets, lapses[:, person], model.comparisons.quadruplets[row : row + 1]
        )
        np.testing.assert_allclose(found[:, row], expected[:, 0], rtol=1e-10)


def test_a_new_person_varies_as_the_spreads_say():
    k, n, p = 4000, 3, 2
    common = Draws(np.ones((k, n, p)), np.ones(k), np.zeros(k), np.zeros(k))
    spreads, axes = np.tile([0.8, 0.5], (k, 1)), np.tile([0.9, 0.3], (k, 1))

    people = PeopleDraws(
        np.array(["a"]), np.ones((k, 1)), np.zeros((k, 1)), spreads, axes, np.zeros((k, 1, p)),
        np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros((k, 1, p)), np.full(k, 7.0), np.full(k, 0.1),
    )  # fmt: skip

    new = people.draws_of(common, None, np.random.default_rng(0))
    assert (new.slopes == 7).all()
    assert (new.lapses == 0.1).all()
    logs = np.log(np.abs(new.points))
    # Weights are those of a person: alike for all objects, different for each axis.
    known = people.draws_of(common, 0, np.random.default_rng(0))
    np.testing.assert_array_equal(known.points[:, 0], 1.0)  # seen, without departure, weights of 1
    np.testing.assert_allclose((known.points[:, 1] - 1).std(axis=0), 0.5 * axes[0], rtol=0.05)
    assert 0.3 < logs[:, 0, 1].std() < 0.6


def world(seed, weight_spread=0.0, departure=0.0, n=14, people=12, each=120):
    """Answers of people by a known map, weights and maps of their own."""
    rng = np.random.default_rng([seed, 11])
    points = rng.normal(size=(n, 2)) / np.sqrt(2)
    logs = weight_spread * rng.normal(size=(people, 2))
    own = np.exp(logs / 2)[:, None] * (points + departure * rng.normal(size=(people, n, 2)) / np.sqrt(2))

    def ask(count):
        who = np.repeat(np.arange(people), count)
        rows = rng.permuted(np.tile(np.arange(n), (len(who), 1)), axis=1)[:, :3]
        near, far = (((own[who, rows[:, 0]] - own[who, rows[:, k]]) ** 2).sum(axis=1) + 0.1 for k in (1, 2))
        y = rng.random(len(who)) < expit(5 * np.log(far / near))
        return Comparisons.from_triplets(rows, np.where(y, 1, -1), annotators=who, n_objects=n)

    return points, logs, ask(each), ask(60)


def drawn(comparisons, n_components=2, people="maps", seed=0):
    model, seen = model_of(comparisons, n_components, people=people)
    found = sample_until_converged(model, Microcanonical(), [], np.random.SeedSequence(seed), 2, silent=True)
    unknowns = found.unknowns.reshape(-1, model.size)
    labels = np.unique(comparisons.annotators)
    return model, unknowns, PeopleDraws.of(model, unknowns, labels, seen, np.random.default_rng(0))


def test_planted_weights_and_their_axes_are_found():
    points, logs, comparisons, _ = world(0, weight_spread=0.8)
    model, unknowns, people = drawn(comparisons)
    turned = points @ np.array([[0.6, -0.8], [0.8, 0.6]])  # a map whose axes are not those that people weigh
    found, axes = people_differences(people, draws_of(model, unknowns), turned - turned.mean(axis=0))
    assert found.axes_identified
    assert found.axes_error < 8
    np.testing.assert_allclose(np.abs(axes).max(axis=0), 0.8, atol=0.08)
    order = np.argmax(np.abs(np.array([[0.6, -0.8], [0.8, 0.6]]) @ axes), axis=0)
    planted = logs - logs.mean(axis=0)
    planted = (planted - planted.mean(axis=1, keepdims=True))[:, order]
    assert np.corrcoef(np.log(found.weights).ravel(), planted.ravel())[0, 1] > 0.95
    inside = (found.weight_intervals[..., 0] <= np.exp(planted)) & (np.exp(planted) <= found.weight_intervals[..., 1])
    assert inside.mean() > 0.7
    assert found.weight_spread.low > 0.3
    assert found.departure_spread.high < 0.25


def test_people_who_do_not_differ_share_one_map():
    _, _, comparisons, _ = world(1)
    model, unknowns, people = drawn(comparisons)
    common = draws_of(model, unknowns)
    found, axes = people_differences(people, common, common.points[0] - common.points[0].mean(axis=0))
    assert not found.axes_identified
    np.testing.assert_array_equal(np.abs(axes), np.eye(2))
    assert found.weight_spread.mean < 0.3
    assert found.departure_spread.mean < 0.2
    assert set(found.kinds) == {0}


def test_maps_of_their_own_predict_better_than_the_common_one():
    _, _, comparisons, new = world(2, departure=0.8)
    losses = {}
    for kind in ("noise", "maps"):
        model, unknowns, people = drawn(comparisons, people=kind)
        common, total = draws_of(model, unknowns), 0.0
        for person in range(12):
            mine = new.annotators == person
            own = people.draws_of(common, person, np.random.default_rng(0))
            found = reference.chances(own.points, own.slopes, own.offsets, own.lapses, new.oriented[mine]).mean(axis=0)
            total -= np.log(found).sum()
        losses[kind] = total / len(new)
    assert losses["maps"] < losses["noise"] - 0.1


@pytest.mark.slow
def test_both_samplers_agree_about_people():
    _, _, comparisons, _ = world(3, weight_spread=0.6, departure=0.3, n=8, people=6, each=60)
    model, _ = model_of(comparisons, 2, people="maps")
    seeds = np.random.SeedSequence(1).spawn(4)
    exact = sample_nuts(model, NUTS(n_draws=1500), seeds, 2).unknowns.reshape(-1, model.size)
    fast = sample_until_converged(model, Microcanonical.thorough(), [], np.random.SeedSequence(0), 2, silent=True)
    fast = fast.unknowns.reshape(-1, model.size)
    rows = np.arange(len(model.comparisons))
    chances = [answer_probabilities(model, of[::4], rows).mean(axis=0) for of in (exact, fast)]
    assert np.abs(chances[0] - chances[1]).mean() < 0.01
    spreads = [model.people_numbers(of) for of in (exact, fast)]
    for number in range(2):
        gap = spreads[0][:, number].mean() - spreads[1][:, number].mean()
        assert abs(gap) < 0.35 * spreads[0][:, number].std()


@pytest.mark.parametrize("q", [2, 3, 5])
def test_joint_axes_diagonalize_matrices_that_share_axes(q):
    rng = np.random.default_rng(q)
    axes = np.linalg.qr(rng.normal(size=(q, q)))[0]
    noise = 0.01 * rng.normal(size=(7, q, q))
    matrices = np.einsum("qd,sd,rd->sqr", axes, rng.normal(size=(7, q)), axes) + noise + np.swapaxes(noise, 1, 2)
    found = joint_axes(matrices)
    np.testing.assert_allclose(found.T @ found, np.eye(q), atol=1e-12)
    assert np.abs(found.T @ axes).max(axis=0).min() > 0.99
