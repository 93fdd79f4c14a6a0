"""Difference scaling: the likelihood of answers about objects of known order, maximized by Newton's method.

Objects have places psi on a scale, in a known order. A question sets a lower pair i < j against an upper pair l < k, as
they come in that order, and with the noise sigma of the decision (Knoblauch and Maloney 2008)

    P(the upper pair is judged farther apart) = F(eta),    eta = ((psi_k - psi_l) - (psi_j - psi_i)) / sigma.

The parameters are the steps (psi_{a+1} - psi_a) / sigma from one object to the next, and psi is not forced to rise.
People *lapse*: P = lambda / 2 + (1 - lambda) F, where lambda is fixed, or one more parameter, the last. Only without
lapses is the likelihood concave; with them Newton's method takes Fisher's information for the Hessian. Answers may be
*separated*: some steps satisfy all of them, and there is no maximum. A ridge then makes one: it draws each step to the
size of the noise, and so prefers an even scale that rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import linprog

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.model.answers import Link, LogProbability, answer_probability, log_answer_probability
from nearer.optimize.solvers.driver import Outcome, Progress, Solver

MIN_CURVATURE = 1e-4  # of the weight of a question: with more curvature in all directions there is a minimum

MAX_STEP = 1e6  # in units of the noise
MIN_LOG_PROBABILITY = -100.0  # of a probability that is divided by


class OrderedQuestions(NamedTuple):
    """Distinct questions along an order, with the weights of their answers."""

    pairs: NDArray[np.intp]  # (q, 4); positions (lower end, upper end) of the lower pair, then of the upper pair
    farther: FloatArray  # (q,); weight of the answers that the upper pair is farther apart
    totals: FloatArray  # (q,); weight of all answers

    @classmethod
    def of(cls, comparisons: Comparisons, position: NDArray[np.intp]) -> Self:
        """Return the questions of comparisons whose objects have these positions in the order, (n,)."""
        kept = comparisons.sample_weight > 0
        near, far = np.sort(position[comparisons.oriented[kept].reshape(-1, 2, 2)], axis=2).transpose(1, 0, 2)
        upper_is_far = (near[:, 0] < far[:, 0]) | ((near[:, 0] == far[:, 0]) & (near[:, 1] < far[:, 1]))
        lower, upper = np.where(upper_is_far[:, None], near, far), np.where(upper_is_far[:, None], far, near)
        pairs, question = np.unique(np.column_stack([lower, upper]), axis=0, return_inverse=True)
        weights = comparisons.sample_weight[kept]
        sums = [np.bincount(question.ravel(), each, len(pairs)) for each in (weights * upper_is_far, weights)]
        return cls(pairs, *np.asarray(sums, np.float64))

    def intervals(self) -> FloatArray:
        """Return the matrix that makes differences of intervals of lengths of their own, (q, number of intervals)."""
        ends, which = np.unique(self.pairs.reshape(-1, 2), axis=0, return_inverse=True)
        lower, upper = which.reshape(-1, 2).T
        return _signed_incidence((upper, lower), (1.0, -1.0), len(ends))

    def design(self, n_objects: int) -> FloatArray:
        """Return the matrix that makes differences of intervals of places, (q, n): two ends are 1, two are -1."""
        return _signed_incidence([*self.pairs.T], (1.0, -1.0, -1.0, 1.0), n_objects)


def _signed_incidence(columns: Sequence[NDArray[np.intp]], signs: Sequence[float], width: int) -> FloatArray:
    matrix = np.zeros((len(columns[0]), width))
    for column, sign in zip(columns, signs, strict=True):
        matrix[np.arange(len(matrix)), column] += sign
    return matrix


@dataclass(frozen=True, eq=False)
class ScalingProblem:
    """Minus the log-likelihood of answers, over parameters theta: eta = offset + design steps."""

    design: FloatArray  # (q, k)
    farther: FloatArray  # (q,); weights of the answers, as in `OrderedQuestions`
    totals: FloatArray  # (q,); weights of the answers, as in `OrderedQuestions`
    link: Link
    offset: FloatArray | float = 0.0  # (q,), optional; what is known already
    ridge: float = 0.0  # >= 0; weight of the squared differences of the steps from the center, halved
    center: float = 0.0
    lapse: float | None = 0.0  # or None; the lapse rate. None: it is the last parameter, after the steps

    @classmethod
    def over_steps(
        cls, questions: OrderedQuestions, n_objects: int, link: Link, lapse: float | None = 0.0, ridge: float = 0.0
    ) -> Self:
        """Return the problem over the steps between objects at positions 0..n-1, which all occur."""
        places = questions.design(n_objects)
        # A place is the sum of the steps before it.
        design = places[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        return cls(design, questions.farther, questions.totals, link, ridge=ridge, center=1.0, lapse=lapse)

    @property
    def n_steps(self) -> int:
        return int(self.design.shape[1])

    @property
    def n_parameters(self) -> int:
        return self.n_steps + (self.lapse is None)

    @property
    def n_objects(self) -> int:
        return self.n_steps + 1

    @property
    def n_open(self) -> int:
        """The number of directions that no question determines."""
        return self.n_steps - int(np.linalg.matrix_rank(self.design))

    def lapse_of(self, theta: FloatArray) -> float:
        return float(theta[-1]) if self.lapse is None else self.lapse

    def eta(self, theta: FloatArray) -> FloatArray:
        """Return the differences of intervals in units of the noise, (q,)."""
        return self.offset + self.design @ theta[: self.n_steps]

    def chances(self, theta: FloatArray) -> FloatArray:
        """Return the probability that the upper pair is judged farther apart, (q,)."""
        return answer_probability(self.eta(theta), self.lapse_of(theta), self.link)

    def value(self, theta: FloatArray) -> float:
        # With lapses the likelihood is bounded, so that nothing else would hold a step in a flat direction back.
        if not 0 <= self.lapse_of(theta) < 1 or np.abs(theta).max() > MAX_STEP:
            return np.inf
        far, near = self._answers(theta)
        likelihood = self.farther @ far.answer + (self.totals - self.farther) @ near.answer
        return float(self.ridge / 2 * np.sum(self._away(theta) ** 2) - likelihood)

    def gradient(self, theta: FloatArray) -> FloatArray:
        far, near = self._slopes(theta)
        pull = self.farther * far - (self.totals - self.farther) * near
        by_steps = self.ridge * self._away(theta) - pull @ self.design
        return by_steps if self.lapse is not None else np.append(by_steps, self.lapse_slope(theta))

    def lapse_slope(self, theta: FloatArray) -> float:
        """Return the derivative of minus the log-likelihood by the lapse rate."""
        log_far, log_near = self._bounded_logs(theta)
        towards_far = 0.5 - self.link.probability(self.eta(theta))
        by_answer = (self.totals - self.farther) * np.exp(-log_near) - self.farther * np.exp(-log_far)
        return float(by_answer @ towards_far)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the matrix of second derivatives; where there are lapses, what is expected of it."""
        if self.lapse != 0:
            return self.information(theta)
        eta = self.eta(theta)
        curvature = self.farther * self.link.curvature(eta)
        curvature += (self.totals - self.farther) * self.link.curvature(-eta)
        return self._with_ridge((self.design.T * curvature) @ self.design)

    def information(self, theta: FloatArray) -> FloatArray:
        """Return Fisher's information: the Hessian that is expected of answers of the model."""
        jacobian = self.standardized_jacobian(theta)
        return self._with_ridge(jacobian.T @ jacobian)

    def standardized_slopes(self, theta: FloatArray) -> FloatArray:
        """Return derivatives of the chances by eta, over the standard deviations of answers, (q,)."""
        far, near = self._slopes(theta)
        return np.sqrt(self.totals * far * near)

    def standardized_jacobian(self, theta: FloatArray) -> FloatArray:
        """Return derivatives of the chances by the parameters, over the standard deviations of answers, (q, k)."""
        by_steps = self.standardized_slopes(theta)[:, None] * self.design
        if self.lapse is not None:
            return by_steps
        by_lapse = (0.5 - self.link.probability(self.eta(theta))) * self._precision(theta)
        return np.column_stack([by_steps, by_lapse])

    def pearson_residuals(self, theta: FloatArray) -> FloatArray:
        """Return answers minus what is expected, over their standard deviations, (q,)."""
        return (self.farther / self.totals - self.chances(theta)) * self._precision(theta)

    def separated(self, theta: FloatArray) -> bool:
        """Whether answers are separated, given where the descent has ended."""
        # Curvature vanishes on the way to infinity. Where there is next to none a linear program decides: does any
        # direction agree with every answer, and with one strictly? Lapses may account for any answer, so that with a
        # lapse rate above 0 next to no curvature is enough.
        hessian = self.hessian(theta)[: self.n_steps, : self.n_steps]
        if np.linalg.eigvalsh(hessian)[0] > MIN_CURVATURE * self.totals.max():
            return False
        if self.lapse_of(theta) > 0:
            return True
        signs = np.where(self.farther > 0, 1.0, -1.0)
        agreeing = signs[:, None] * self.design
        both = (self.farther > 0) & (self.farther < self.totals)
        found = linprog(
            -agreeing[~both].sum(axis=0),
            A_ub=-agreeing[~both],
            b_ub=np.zeros(int((~both).sum())),
            A_eq=agreeing[both],
            b_eq=np.zeros(int(both.sum())),
            bounds=(-1, 1),
        )
        return bool(found.success and agreeing[~both].sum(axis=0) @ found.x > 1e-6)

    def simulated(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return weights of answers drawn from the model, (q,); weights that are whole are numbers of answers."""
        draws = np.ceil(self.totals)
        drawn = rng.binomial(draws.astype(np.int64), self.chances(theta))
        return drawn * (self.totals / draws)

    def _bounded_logs(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the probabilities of both answers, (q,) each, none too small to divide by."""
        far, near = self._answers(theta)
        return np.maximum(far.answer, MIN_LOG_PROBABILITY), np.maximum(near.answer, MIN_LOG_PROBABILITY)

    def _slopes(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much these logarithms rise as eta moves towards each answer, (q,) each."""
        eta = self.eta(theta)
        far, near = self._answers(theta)
        return np.exp(far.attentive) * self.link.slope(eta), np.exp(near.attentive) * self.link.slope(-eta)

    def _answers(self, theta: FloatArray) -> tuple[LogProbability, LogProbability]:
        eta, lapse, logs = self.eta(theta), self.lapse_of(theta), self.link.log_probability
        return log_answer_probability(logs(eta), lapse), log_answer_probability(logs(-eta), lapse)

    def _precision(self, theta: FloatArray) -> FloatArray:
        """Return one over the standard deviation of the share of answers to each question, (q,)."""
        log_far, log_near = self._bounded_logs(theta)
        return np.sqrt(self.totals) * np.exp(-(log_far + log_near) / 2)

    def _away(self, theta: FloatArray) -> FloatArray:
        return theta[: self.n_steps] - self.center

    def _with_ridge(self, matrix: FloatArray) -> FloatArray:
        steps = np.arange(self.n_steps)
        matrix[steps, steps] += self.ridge
        return matrix


MIN_DECREASE = 1e-4  # of what the slope promises, that a step must achieve
MAX_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class NewtonState:
    """Iterates of `Newton`; the decrement is twice the decrease that the last step was to bring."""

    theta: FloatArray
    progress: Progress
    decrement: float = np.inf
    stalled: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Newton(Solver):
    """Settings of Newton's method.

    Parameters
    ----------
    tol : float
        Stop after a step that was to lower the objective by less than this.
    max_iter : int
    """

    tol: float = 1e-10
    max_iter: int = 100

    def init(self, problem: ScalingProblem, start: FloatArray | None, rng: np.random.Generator) -> NewtonState:
        theta = np.zeros(problem.n_parameters) if start is None else start
        return NewtonState(theta, Progress(0, problem.value(theta)))

    def step(self, problem: ScalingProblem, state: NewtonState) -> NewtonState:
        theta, value = state.theta, state.progress.objective
        gradient, hessian = problem.gradient(theta), problem.hessian(theta)
        try:
            direction = -np.asarray(cho_solve(cho_factor(hessian), gradient))
        except LinAlgError:  # flat to rounding, as far out as separated answers lead
            direction = -np.linalg.pinv(hessian, hermitian=True) @ gradient
        decrement, iteration = float(-gradient @ direction), state.progress.iteration + 1
        length = 1.0
        for _ in range(MAX_HALVINGS):
            after = problem.value(theta + length * direction)
            if after <= value - MIN_DECREASE * length * decrement:
                return NewtonState(theta + length * direction, Progress(iteration, after), decrement)
            length /= 2
        return NewtonState(theta, Progress(iteration, value), decrement, stalled=True)

    def done(self, problem: ScalingProblem, state: NewtonState) -> Outcome | None:
        if state.decrement / 2 <= self.tol:
            return Outcome.CONVERGED
        return Outcome.STALLED if state.stalled else None

    def value(self, state: NewtonState) -> FloatArray:
        return state.theta
