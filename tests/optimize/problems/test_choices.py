"""The problem of nonnegative weights: probabilities, compiled loops against NumPy, gradients, information, solver."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from nearer import Comparisons
from nearer.data.choices import Choices, ItemTrials, PairTrials
from nearer.datasets import make_dimensions, sample_odd_one_out
from nearer.optimize import solve
from nearer.optimize.kernels.choices import evaluate_choices, evaluate_pairs
from nearer.optimize.problems.choices import (
    WeightsProblem,
    answer_losses,
    choice_log_probability,
    item_similarities,
    simulate_choices,
    utility_scale,
)
from nearer.optimize.problems.information import object_information
from nearer.optimize.solvers.orthant import Orthant

N, P = 9, 4
RNG = np.random.default_rng(0)
POINTS = np.maximum(RNG.normal(0.3, 0.6, size=(N, P)), 0)


def items_of(k, m, rng=RNG):
    return np.array([rng.permutation(N)[:k] for _ in range(m)], np.int32)


def loss_by_hand(points, items, central):
    """-log P of each trial, one after the other, by the formula of the docstring."""
    found = []
    for row in items:
        k, utilities = len(row), []
        for c in row:
            total = sum(points[c] @ points[a] for a in row if a != c)
            utilities.append((1 if central else -1) * 2 / (k - 1) * total)
        utilities = np.array(utilities)
        found.append(np.log(np.exp(utilities).sum()) - utilities[-1])
    return np.array(found)


def mixed(weighted=True):
    def weights(m):
        return RNG.uniform(0.5, 2, size=m) if weighted else np.empty(0)

    three, four, central = items_of(3, 30), items_of(4, 20), items_of(3, 10)
    quadruplets = items_of(4, 15)
    return Choices(
        N,
        75,
        (
            ItemTrials(three, weights(30), np.arange(30), False),
            ItemTrials(four, weights(20), np.arange(30, 50), False),
            ItemTrials(central, weights(10), np.arange(50, 60), True),
            PairTrials(quadruplets, weights(15), np.arange(60, 75)),
        ),
    )


def test_of_three_items_the_pair_that_is_left_is_named_by_the_softmax_of_similarities():
    items = items_of(3, 5)
    probability = np.exp(choice_log_probability(item_similarities(POINTS, items)))
    for row, found in zip(items, probability, strict=True):
        alike = np.exp([POINTS[b] @ POINTS[c] for b, c in [(row[1], row[2]), (row[0], row[2]), (row[0], row[1])]])
        np.testing.assert_allclose(found, alike / alike.sum())


def test_more_items_do_not_make_a_choice_sharper():
    """One odd item among k that are all alike: its log-odds do not depend on k."""
    for k in (3, 5, 8):
        similarities = np.full((1, k, k), 1.5)
        similarities[0, -1] = similarities[0, :, -1] = 0.2
        found = choice_log_probability(similarities)[0]
        others = 2 / (k - 1) * (1.5 * (k - 2) + 0.2)
        assert found[-1] - found[0] == pytest.approx(others - 2 * 0.2)


@pytest.mark.parametrize("central", [False, True])
@pytest.mark.parametrize("k", [3, 4, 6])
def test_compiled_loop_against_numpy(k, central):
    items, weights = items_of(k, 40), RNG.uniform(size=40)
    scale = utility_scale(k, central=central)
    value, gradient = evaluate_choices(POINTS, items, weights, scale)
    np.testing.assert_allclose(value, weights @ loss_by_hand(POINTS, items, central), rtol=1e-12)
    for number in [(0, 0), (3, 2), (8, 3)]:
        moved = POINTS.copy()
        moved[number] += 1e-6
        rise = weights @ (loss_by_hand(moved, items, central) - loss_by_hand(POINTS, items, central))
        np.testing.assert_allclose(gradient[number], rise / 1e-6, atol=1e-4)
    assert evaluate_choices(POINTS, items, np.empty(0), scale)[0] == pytest.approx(
        loss_by_hand(POINTS, items, central).sum()
    )


@pytest.mark.parametrize("width", [3, 4])
def test_pairs_against_numpy(width):
    rows, weights = items_of(width, 40), RNG.uniform(size=40)
    far = rows[:, [0, 2]] if width == 3 else rows[:, 2:]

    def loss(points):
        near = (points[rows[:, 0]] * points[rows[:, 1]]).sum(axis=1)
        return weights @ np.log1p(np.exp((points[far[:, 0]] * points[far[:, 1]]).sum(axis=1) - near))

    value, gradient = evaluate_pairs(POINTS, rows, weights)
    np.testing.assert_allclose(value, loss(POINTS), rtol=1e-12)
    for number in [(0, 0), (3, 2), (8, 3)]:
        moved = POINTS.copy()
        moved[number] += 1e-6
        np.testing.assert_allclose(gradient[number], (loss(moved) - loss(POINTS)) / 1e-6, atol=1e-4)


def test_any_number_of_threads_gives_the_same_bits():
    weights = make_dimensions(30, 5, random_state=0)
    choices = Choices.of(sample_odd_one_out(weights, 70_000, random_state=0))
    one, three = (WeightsProblem(choices, 1.0, n_threads=k).objective_and_gradient(weights) for k in (1, 3))
    assert one[0] == three[0]
    np.testing.assert_array_equal(one[1], three[1])


def test_the_penalty_of_weights_and_of_their_squares():
    choices = Choices.of(sample_odd_one_out(POINTS, 50, random_state=0))
    plain, penalized = (WeightsProblem(choices, *each).objective_and_gradient(POINTS) for each in ((), (3.0, 0.5)))
    share = 3.0 / choices.total_weight
    assert penalized[0] - plain[0] == pytest.approx(share * (POINTS.sum() + 0.25 * (POINTS**2).sum()))
    np.testing.assert_allclose(penalized[1] - plain[1], share * (1 + 0.5 * POINTS))


def test_losses_of_answers_add_up_to_the_problem():
    choices = mixed()
    mean = choices.weights @ answer_losses(POINTS, choices) / choices.total_weight
    assert WeightsProblem(choices).loss_and_gradient(POINTS)[0] == pytest.approx(mean)
    penalized = WeightsProblem(choices, 3.0).objective_and_gradient(POINTS)[0]
    assert penalized == pytest.approx(mean + 3.0 * POINTS.sum() / choices.total_weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_information_is_the_expected_curvature(weighted):
    """Of the loss in the weights of one object, by finite differences, averaged over answers that the weights give."""
    choices = mixed(weighted)
    item, step = 2, 1e-4
    expected = np.zeros((P, P))

    def naming(part, answer):
        items = part.items.copy()
        items[:, [answer, -1]] = items[:, [-1, answer]]
        return items

    for part in choices.parts:
        if isinstance(part, PairTrials):
            continue
        probability = np.exp(choice_log_probability(item_similarities(POINTS, part.items), central=part.central))
        for answer in range(part.items.shape[1]):
            named = naming(part, answer)
            for row, share, weight in zip(
                named, probability[:, answer], part.weights if weighted else np.ones(len(named)), strict=True
            ):
                slope = np.zeros(P)
                for d in range(P):
                    ends = []
                    for sign in (-1, 1):
                        moved = POINTS.copy()
                        moved[item, d] += sign * step
                        ends.append(loss_by_hand(moved, [row], part.central)[0])
                    slope[d] = (ends[1] - ends[0]) / (2 * step)
                expected += share * weight * np.outer(slope, slope)  # the variance of the score
    only = Choices(N, choices.n_trials, tuple(part for part in choices.parts if isinstance(part, ItemTrials)))
    np.testing.assert_allclose(list(object_information(POINTS, only))[item], expected, atol=1e-6)


def test_information_of_pairs():
    rows = np.array([[0, 1, 2, 3], [1, 2, 0, 2], [4, 5, 6, 7]], np.int32)
    choices = Choices(N, 3, (PairTrials(rows, np.array([1.0, 2.0, 1.0]), np.arange(3)),))
    expected = np.zeros((P, P))
    for (i, j, l, k), weight in zip(rows.tolist(), [1.0, 2.0, 1.0], strict=True):  # noqa: E741
        margin = POINTS[i] @ POINTS[j] - POINTS[l] @ POINTS[k]
        slope = sum(POINTS[b] * (a == 2) + POINTS[a] * (b == 2) for a, b in [(i, j)])
        slope = slope - sum(POINTS[b] * (a == 2) + POINTS[a] * (b == 2) for a, b in [(l, k)])
        chance = 1 / (1 + np.exp(-margin))
        expected += weight * chance * (1 - chance) * np.outer(slope, slope)
    np.testing.assert_allclose(list(object_information(POINTS, choices))[2], expected, atol=1e-12)


def test_simulated_answers_have_the_probabilities_of_the_model():
    items = np.tile(np.array([[0, 3, 5]], np.int32), (20_000, 1))
    rows = np.tile(np.array([[0, 1, 2]], np.int32), (20_000, 1))
    choices = Choices(
        N,
        40_000,
        (
            ItemTrials(items, np.empty(0), np.arange(20_000), False),
            PairTrials(rows, np.empty(0), np.arange(20_000, 40_000)),
        ),
    )
    drawn = simulate_choices(POINTS, choices, np.random.default_rng(0))
    named = drawn.parts[0].items[:, -1]
    expected = np.exp(choice_log_probability(item_similarities(POINTS, items[:1])))[0]
    np.testing.assert_allclose([(named == item).mean() for item in (0, 3, 5)], expected, atol=0.015)
    assert (np.sort(drawn.parts[0].items, axis=1) == [0, 3, 5]).all()
    holds = 1 / (1 + np.exp(POINTS[0] @ POINTS[2] - POINTS[0] @ POINTS[1]))
    assert (drawn.parts[1].objects[:, 1] == 1).mean() == pytest.approx(holds, abs=0.015)


def test_solver_agrees_with_l_bfgs_b():
    """From one start, on a problem with a penalty at which some weights are 0: the same minimum as SciPy's."""
    truth = make_dimensions(12, 3, scale=1.0, density=0.5, random_state=1)
    choices = Choices.of(sample_odd_one_out(truth, 3000, random_state=1))
    problem = WeightsProblem(choices, 10.0)
    start = truth + 0.1

    def flat(x):
        value, gradient = problem.objective_and_gradient(x.reshape(start.shape))
        return value, gradient.ravel()

    found = solve(problem, Orthant(tol=1e-12, max_iter=3000), start)
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    other = minimize(flat, start.ravel(), jac=True, bounds=[(0, None)] * start.size, options=options)
    assert found.objective == pytest.approx(other.fun, abs=1e-8)
    np.testing.assert_allclose(found.value, other.x.reshape(start.shape), atol=2e-3)
    assert 0 < (found.value == 0).sum() < start.size
    # The conditions of a minimum: no slope where weights are positive, a rising one where they are 0.
    _, gradient = problem.objective_and_gradient(found.value)
    assert np.abs(gradient[found.value > 0]).max() < 1e-5
    assert gradient[found.value == 0].min() > -1e-5


def test_only_movable_weights_move():
    choices = Choices.of(Comparisons.from_triplets([(0, 1, 2), (2, 1, 0), (1, 0, 3)]))
    movable = np.array([False, True, False, False])
    start = np.full((4, 2), 0.5)
    found = solve(WeightsProblem(choices, 0.01, movable=movable), Orthant(), start).value
    np.testing.assert_array_equal(found[~movable], start[~movable])
    assert (found[movable] != 0.5).all()


def test_all_pairs_of_a_trial_are_in_its_similarities():
    items = items_of(5, 3)
    similarities = item_similarities(POINTS, items)
    for row, found in zip(items, similarities, strict=True):
        for a, b in combinations(range(5), 2):
            assert found[a, b] == found[b, a] == pytest.approx(POINTS[row[a]] @ POINTS[row[b]])
