"""The likelihood of difference scaling, and whether it has a maximum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from nearer import Comparisons
from nearer.model.answers import LINKS
from nearer.optimize import Outcome, solve
from nearer.optimize.solvers.newton import Newton, OrderedQuestions, ScalingProblem


@pytest.mark.parametrize("link", LINKS)
def test_gradient_hessian_and_information(link):
    rng = np.random.default_rng(0)
    design, totals, theta = rng.normal(size=(7, 3)), rng.integers(1, 6, 7) * 1.0, rng.normal(size=3)
    problem = ScalingProblem(
        design, np.floor(totals * rng.random(7)), totals, LINKS[link], rng.normal(size=7), 0.3, 1.0
    )
    np.testing.assert_allclose(problem.gradient(theta), approx_fprime(theta, problem.value), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(problem.hessian(theta), approx_fprime(theta, problem.gradient), rtol=1e-5, atol=1e-5)
    expected = sum(
        chance * hessian_of(problem, theta, question, farther)
        for question, p in enumerate(problem.link.probability(problem.eta(theta)))
        for farther, chance in ((totals[question], p), (0.0, 1 - p))
    )
    np.testing.assert_allclose(problem.information(theta), expected + 0.3 * np.eye(3), rtol=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_gradient_and_information_with_lapses(link):
    rng = np.random.default_rng(0)
    design, totals, steps = rng.normal(size=(7, 3)), rng.integers(1, 6, 7) * 1.0, rng.normal(size=3)
    farther, offset = np.floor(totals * rng.random(7)), rng.normal(size=7)
    free = ScalingProblem(design, farther, totals, LINKS[link], offset, 0.3, 1.0, lapse=None)
    fixed = ScalingProblem(design, farther, totals, LINKS[link], offset, 0.3, 1.0, lapse=0.2)
    for problem, theta in ((free, np.append(steps, 0.2)), (fixed, steps)):
        np.testing.assert_allclose(problem.gradient(theta), approx_fprime(theta, problem.value), rtol=1e-5, atol=1e-5)
        chance = problem.chances(theta)
        slopes = approx_fprime(theta, problem.chances)
        expected = (slopes.T * (totals / (chance * (1 - chance)))) @ slopes + 0.3 * np.diag(np.arange(len(theta)) < 3)
        np.testing.assert_allclose(problem.information(theta), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(problem.hessian(theta), problem.information(theta))
    assert free.value(np.append(steps, 0.2)) == fixed.value(steps)
    assert free.value(np.append(steps, -0.01)) == np.inf
    assert free.lapse_slope(np.append(steps, 0.2)) == free.gradient(np.append(steps, 0.2))[-1]


def hessian_of(problem, theta, question, farther):
    """Return the Hessian of one question, all of whose answers are alike."""
    one = slice(question, question + 1)
    offset = problem.offset[one]
    return ScalingProblem(problem.design[one], np.array([farther]), problem.totals[one], problem.link, offset).hessian(
        theta
    )


def test_questions_are_the_same_whichever_way_they_are_written():
    ways = [[2, 0, 1, 3], [0, 2, 3, 1], [1, 3, 0, 2]]  # the last with the answer turned round
    found = OrderedQuestions.of(Comparisons.from_quadruplets(ways, [1, 1, -1]), np.arange(4))
    np.testing.assert_array_equal(found.pairs, [[0, 2, 1, 3]])
    assert found.farther == found.totals == 3
    # (psi_3 - psi_1) - (psi_2 - psi_0), of places and of steps.
    np.testing.assert_array_equal(found.design(4), [[1, -1, -1, 1]])
    problem = ScalingProblem.over_steps(found, 4, LINKS["probit"])
    steps = np.array([0.3, 0.5, 0.9])
    np.testing.assert_allclose(problem.eta(steps), [0.9 - 0.3])


def random_problem(rng, m=30, k=3, slope=1.0, link="probit"):
    design = rng.normal(size=(m, k))
    chance = LINKS[link].probability(slope * design @ np.ones(k))
    return ScalingProblem(design, rng.binomial(1, chance) * 1.0, np.ones(m), LINKS[link])


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_newton_finds_the_minimum_from_anywhere(link, ridge):
    problem = random_problem(np.random.default_rng(1), slope=0.5, link=link)
    problem = ScalingProblem(problem.design, problem.farther, problem.totals, problem.link, ridge=ridge, center=1.0)
    known = minimize(problem.value, np.zeros(3), jac=problem.gradient, options={"gtol": 1e-9}).x
    for start in (None, np.full(3, 20.0), np.array([-30.0, 5.0, 0.0])):
        solution = solve(problem, Newton(), start)
        assert solution.outcome is Outcome.CONVERGED
        assert solution.n_iter < 40
        np.testing.assert_allclose(solution.value, known, atol=1e-6)
        assert (np.diff([progress.objective for progress in solution.history]) <= 0).all()
    assert not problem.separated(known)


@pytest.mark.parametrize("link", LINKS)
def test_separation_is_found_where_it_is(link):
    rng = np.random.default_rng(2)
    apart = random_problem(rng, link=link)
    theta = np.array([1.0, -2.0, 0.5])
    apart = ScalingProblem(apart.design, (apart.design @ theta > 0) * 1.0, apart.totals, apart.link)
    assert apart.separated(solve(apart, Newton()).value)
    # One answer against it in a direction of its own is not enough, one in every direction is.
    design = np.concatenate([apart.design * [1, 1, 0], [[0, 0, 1], [0, 0, 1]]])
    farther = np.r_[(design[:-2] @ theta > 0) * 1.0, 1.0, 0.0]
    half = ScalingProblem(design, farther, np.ones(len(design)), apart.link)
    assert half.separated(solve(half, Newton()).value)
    mixed = ScalingProblem(design, np.full(len(design), 0.7), np.ones(len(design)), apart.link)
    assert not mixed.separated(solve(mixed, Newton()).value)
    # Answers that are nearly sure have a maximum, though far out.
    sure = ScalingProblem(np.ones((1, 1)), np.array([1e6]), np.array([1e6 + 1]), apart.link)
    assert not sure.separated(solve(sure, Newton()).value)


def test_simulated_answers_have_the_chances_of_the_model():
    rng = np.random.default_rng(3)
    problem = ScalingProblem(np.array([[0.5], [-1.0]]), np.zeros(2), np.array([4000.0, 0.5]), LINKS["probit"])
    drawn = problem.simulated(np.ones(1), rng)
    assert drawn[0] / 4000 == pytest.approx(0.6915, abs=0.04)
    assert drawn[1] in (0.0, 0.5)
