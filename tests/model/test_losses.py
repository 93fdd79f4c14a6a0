import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from nearer.model import (
    CrowdKernel,
    DistanceHinge,
    Hinge,
    Logistic,
    MarginLoss,
    MeanVariance,
    SoftHinge,
    StudentT,
    TwoSidedHinge,
)

PROXIMABLE = [TwoSidedHinge(nu, power) for power in (1, 2) for nu in (0.0, 0.3, 1.0, 2.5)] + [Hinge(1), Hinge(2)]
LOG_RATIOS = [StudentT(1.0), StudentT(7.5), CrowdKernel(0.2), CrowdKernel(3.0)]
SUMS = [*PROXIMABLE, Hinge(3.5), TwoSidedHinge(0.5, 1.5), SoftHinge(), Logistic(), *LOG_RATIOS, DistanceHinge()]
ALL = [*SUMS, MeanVariance(), MeanVariance(0.4, 0.7)]
MARGINS = np.linspace(-3.1, 4.2, 37)  # avoids the kink at 1
STEPS = [0.1, 1.0, 4.0]


def problem(seed=0, m=30):
    rng = np.random.default_rng(seed)
    shares = rng.uniform(size=m)
    return rng.uniform(0, 3, m), rng.uniform(0, 3, m), shares / shares.sum()


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_derivatives_match_finite_differences(loss):
    near, far, shares = problem()
    value, near_slopes, far_slopes = loss.evaluate(near, far, shares)
    step = 1e-6
    for q in range(len(near)):
        bump = np.zeros_like(near)
        bump[q] = step
        for slopes, plus, minus in (
            (near_slopes, (near + bump, far), (near - bump, far)),
            (far_slopes, (near, far + bump), (near, far - bump)),
        ):
            numeric = (loss.evaluate(*plus, shares).value - loss.evaluate(*minus, shares).value) / (2 * step)
            assert slopes[q] == pytest.approx(numeric, abs=1e-8)
    assert np.isfinite(value)


@pytest.mark.parametrize("loss", [loss for loss in ALL if isinstance(loss, MarginLoss)], ids=str)
def test_derivative_is_that_of_value(loss):
    numeric = (loss.value(MARGINS + 1e-6) - loss.value(MARGINS - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.derivative(MARGINS), numeric, atol=1e-6)


@pytest.mark.parametrize("loss", PROXIMABLE, ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_prox_minimizes(loss, step):
    for point in MARGINS:
        found = loss.prox(np.array([point]), step)[0]

        def cost(x, point=point):
            return float(loss.value(np.array([x]))[0] + (x - point) ** 2 / (2 * step))

        best = minimize_scalar(cost, bounds=(-20, 20), method="bounded", options={"xatol": 1e-10})
        assert cost(found) <= best.fun + 1e-9


@pytest.mark.parametrize("loss", PROXIMABLE, ids=str)
def test_conjugate_is_the_supremum(loss):
    grid = np.linspace(-60, 60, 240_001)
    values = loss.value(grid)
    for slope in np.linspace(-0.95, 0.95, 39).round(2):
        conjugate = loss.conjugate(np.array([slope]))[0]
        attained = slope * grid - values
        if np.isinf(conjugate):
            assert attained.argmax() in (0, len(grid) - 1)  # it would grow with the grid
        else:
            assert conjugate == pytest.approx(attained.max(), abs=1e-3)


@pytest.mark.parametrize("loss", PROXIMABLE, ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_prox_and_conjugate_meet_in_the_fenchel_equality(loss, step):
    """The residual of a prox is a slope at its result, where phi(x) + phi*(v) = x v."""
    result = loss.prox(MARGINS, step)
    slopes = loss.clip_slopes((MARGINS - result) / step)
    np.testing.assert_allclose(loss.value(result) + loss.conjugate(slopes), result * slopes, atol=1e-12)


@pytest.mark.parametrize("loss", PROXIMABLE, ids=str)
def test_clipped_slopes_are_in_the_domain_and_others_are_left_alone(loss):
    slopes = np.linspace(-3, 3, 61)
    assert np.isfinite(loss.conjugate(loss.clip_slopes(slopes))).all()
    inside = slopes[np.isfinite(loss.conjugate(slopes))]
    np.testing.assert_array_equal(loss.clip_slopes(inside), inside)


def test_mean_variance_degenerates_to_gnmds():
    near, far, shares = problem(3)
    for mine, theirs in zip(
        MeanVariance(0, 0).evaluate(near, far, shares), Hinge(1).evaluate(near, far, shares), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_mean_variance_by_its_definition():
    near, far, shares = problem(4)
    margins = far - near
    mean = np.average(margins, weights=shares)
    variance = np.average((margins - mean) ** 2, weights=shares)
    hinge = np.average(np.maximum(1 - margins, 0), weights=shares)
    assert MeanVariance(0.4, 0.7).evaluate(near, far, shares).value == pytest.approx(
        hinge - 0.4 * mean + 0.7 * variance
    )


def test_two_sided_hinge_is_the_papers_formula():
    """Eq. bisides-hinge at a few points: below, at and above the target."""
    np.testing.assert_allclose(TwoSidedHinge(0.5, 1).value(np.array([-1.0, 1.0, 2.0])), [2.0, 0.0, 0.5])
    np.testing.assert_allclose(TwoSidedHinge(0.5, 2).value(np.array([-1.0, 1.0, 3.0])), [4.0, 0.0, 2.0])


def test_other_losses_of_margins_are_their_formulas():
    np.testing.assert_array_equal(Hinge(power=1).value(np.array([0.0, 1.0, 3.0])), [1, 0, 0])
    np.testing.assert_allclose(SoftHinge().value(np.array([-20.0, 1.0, 20.0])), [21, np.log(2), 0], atol=1e-8)
    np.testing.assert_allclose(Logistic().value(np.zeros(1)), np.log(2))


def test_student_t_is_the_kernel_ratio_and_tends_to_the_logistic():
    assert StudentT(1.0).probability_of(np.array([1.0]), np.array([3.0]))[0] == pytest.approx(2 / 3)
    near, far = np.array([0.4, 2.0]), np.array([1.0, 0.5])
    kernels = [(1 + d2 / 3.0) ** (-(3.0 + 1) / 2) for d2 in (near, far)]
    np.testing.assert_allclose(StudentT(3.0).probability_of(near, far), kernels[0] / sum(kernels))
    # As alpha grows, (1 + d2 / alpha)^(-(alpha + 1) / 2) tends to exp(-d2 / 2).
    np.testing.assert_allclose(
        StudentT(1e8).probability_of(near, far), Logistic().probability((far - near) / 2), atol=1e-6
    )


def test_crowd_kernel_is_its_formula():
    near, far = np.array([0.4, 2.0]), np.array([1.0, 0.5])
    probability = (0.3 + far) / (2 * 0.3 + near + far)
    np.testing.assert_allclose(CrowdKernel(0.3).probability_of(near, far), probability)
    assert CrowdKernel(0.3).evaluate(near, far, np.array([0.25, 0.75])).value == pytest.approx(
        -0.25 * np.log(probability[0]) - 0.75 * np.log(probability[1])
    )


def test_distance_hinge_is_its_formula():
    """Distances, not their squares: 3 and 5 fall short of nothing, 2 and 2.5 by a half."""
    value, *slopes = DistanceHinge().evaluate(np.array([9.0, 4.0]), np.array([25.0, 6.25]), np.array([0.5, 0.5]))
    assert value == pytest.approx(0.5 * 0.5**2)
    np.testing.assert_allclose(slopes, [[0, 0.25 / 2.0], [0, -0.25 / 2.5]])


def test_distance_hinge_is_finite_where_points_coincide():
    zero = np.zeros(1)
    for near, far in ((zero, zero), (zero, zero + 0.5), (zero + 0.5, zero)):
        assert np.isfinite(np.concatenate(DistanceHinge().evaluate(near, far, np.ones(1))[1:])).all()


@pytest.mark.parametrize("loss", SUMS, ids=str)
def test_the_slope_at_zero_is_that_of_the_loss(loss):
    if isinstance(loss, DistanceHinge):
        assert loss.slope_at_zero == Hinge(2).slope_at_zero
        return
    zero, one, step = np.zeros(1), np.ones(1), 1e-7
    fall = loss.evaluate(zero, zero, one).value - loss.evaluate(zero, zero + step, one).value
    assert loss.slope_at_zero == pytest.approx(fall / step, rel=1e-5)


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_a_sum_over_comparisons_names_its_compiled_loop(loss):
    if isinstance(loss, MeanVariance):
        with pytest.raises(ValueError, match="MeanVariance is no sum"):
            _ = loss.compiled
    else:
        assert all(isinstance(number, float) for number in loss.compiled.parameters)


def test_squared_loss_estimates_the_expected_answer():
    """With 80% of answers as written the best constant margin is 0.6, which stands for a probability of 0.8."""
    loss = TwoSidedHinge(nu=1.0, power=2)
    best = minimize_scalar(lambda g: 0.8 * loss.value(np.array([g]))[0] + 0.2 * loss.value(np.array([-g]))[0]).x
    assert loss.probability(np.array([best]))[0] == pytest.approx(0.8)


@pytest.mark.parametrize("loss", [Logistic(), *LOG_RATIOS, TwoSidedHinge(), DistanceHinge()], ids=str)
def test_probabilities_of_the_two_answers_sum_to_one(loss):
    near, far, _ = problem(5)
    np.testing.assert_allclose(loss.probability_of(near, far) + loss.probability_of(far, near), 1)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: TwoSidedHinge(nu=-1), "nu"),
        (lambda: TwoSidedHinge(nu=np.nan), "nu"),
        (lambda: TwoSidedHinge(power=0.5), "power"),
        (lambda: StudentT(0.0), "alpha"),
        (lambda: CrowdKernel(0.0), "mu"),
        (lambda: CrowdKernel(np.inf), "mu"),
        (lambda: MeanVariance(variance_weight=-1), "variance_weight"),
    ],
)
def test_bad_settings_are_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()
