"""Difference scaling: the likelihood of answers about objects whose order on one continuum is known.

Objects have places psi on a scale, in a known order. A question sets a lower pair i < j against an upper pair l < k, as
they come in that order, and with the noise sigma of the decision

    P(the upper pair is called the farther apart) = F(eta),    eta = ((psi_k - psi_l) - (psi_j - psi_i)) / sigma.

The order says which end of an interval is its upper one, so that eta is linear in psi: a generalized linear model with
a concave likelihood (Knoblauch and Maloney 2008). Its parameters are the steps (psi_{a+1} - psi_a) / sigma from one
object to the next. Adding a constant to psi changes nothing, and psi is not forced to rise.

Answers may be *separated*: some steps satisfy all of them, so that any multiple is more likely still and there is no
maximum. A ridge then makes one: it draws each step to the size of the noise, and so prefers an even scale that rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.losses.links import Link

_FLAT = 1e-4  # of the weight of a question: with more curvature in all directions there is a minimum


class OrderedQuestions(NamedTuple):
    """Distinct questions along an order, with the weights of their answers.

    Attributes
    ----------
    pairs : ndarray of int, shape (q, 4)
        Positions (lower end, upper end) of the lower pair, then of the upper pair.
    farther : ndarray, shape (q,)
        Weight of the answers that the upper pair is the farther apart.
    totals : ndarray, shape (q,)
        Weight of all answers.
    """

    pairs: NDArray[np.intp]
    farther: FloatArray
    totals: FloatArray

    @classmethod
    def of(cls, comparisons: Comparisons, position: NDArray[np.intp]) -> Self:
        """Return the questions of comparisons whose objects have these positions in the order, (n,).

        Which way round a question was written plays no part.

        Examples
        --------
        >>> twice = Comparisons.from_triplets([[1, 0, 2], [1, 2, 0]])
        >>> OrderedQuestions.of(twice, np.arange(3))
        OrderedQuestions(pairs=array([[0, 1, 1, 2]]), farther=array([1.]), totals=array([2.]))
        """
        kept = comparisons.sample_weight > 0
        near, far = np.sort(position[comparisons.oriented[kept].reshape(-1, 2, 2)], axis=2).transpose(1, 0, 2)
        upper_is_far = (near[:, 0] < far[:, 0]) | ((near[:, 0] == far[:, 0]) & (near[:, 1] < far[:, 1]))
        lower, upper = np.where(upper_is_far[:, None], near, far), np.where(upper_is_far[:, None], far, near)
        pairs, question = np.unique(np.column_stack([lower, upper]), axis=0, return_inverse=True)
        weights = comparisons.sample_weight[kept]
        farther, totals = np.zeros((2, len(pairs)))
        farther += np.bincount(question.ravel(), weights * upper_is_far, len(pairs))
        totals += np.bincount(question.ravel(), weights, len(pairs))
        return cls(pairs, farther, totals)

    def design(self, n_objects: int) -> FloatArray:
        """Return the matrix that makes differences of intervals of places, (q, n): two ends are 1, two are -1."""
        matrix = np.zeros((len(self.pairs), n_objects))
        rows = np.arange(len(self.pairs))
        for end, sign in zip(self.pairs.T, (1.0, -1.0, -1.0, 1.0), strict=True):
            matrix[rows, end] += sign
        return matrix


@dataclass(frozen=True, eq=False)
class ScalingProblem:
    """Minus the log-likelihood of answers, over parameters theta: eta = offset + design theta.

    Parameters
    ----------
    design : ndarray, shape (q, k)
    farther, totals : ndarray, shape (q,)
        Weights of the answers, as in `OrderedQuestions`.
    link : Link
    offset : ndarray, shape (q,), optional
        What is known already.
    ridge : float >= 0
        Weight of the squared differences of the parameters from the centre, halved.
    centre : float

    Examples
    --------
    >>> from nearer.losses.links import Probit
    >>> problem = ScalingProblem(np.eye(1), np.array([3.0]), np.array([4.0]), Probit())
    >>> round(problem.value(np.zeros(1)), 4)
    2.7726
    """

    design: FloatArray
    farther: FloatArray
    totals: FloatArray
    link: Link
    offset: FloatArray | float = 0.0
    ridge: float = 0.0
    centre: float = 0.0

    @classmethod
    def over_steps(cls, questions: OrderedQuestions, n_objects: int, link: Link) -> Self:
        """Return the problem over the steps between objects at positions 0..n-1, which all occur."""
        places = questions.design(n_objects)
        # A place is the sum of the steps before it.
        design = places[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        return cls(design, questions.farther, questions.totals, link, centre=1.0)

    @property
    def n_parameters(self) -> int:
        """The number k of parameters."""
        return int(self.design.shape[1])

    @property
    def n_objects(self) -> int:
        """The number of objects, as the driver counts them."""
        return self.n_parameters + 1

    @property
    def n_open(self) -> int:
        """How many directions no question says anything about."""
        return self.n_parameters - int(np.linalg.matrix_rank(self.design))

    def eta(self, theta: FloatArray) -> FloatArray:
        """Return the differences of intervals in units of the noise, (q,)."""
        return self.offset + self.design @ theta

    def value(self, theta: FloatArray) -> float:
        """Return minus the log-likelihood, and the ridge."""
        eta = self.eta(theta)
        nearer = self.totals - self.farther
        likelihood = self.farther @ self.link.log_probability(eta) + nearer @ self.link.log_probability(-eta)
        return float(self.ridge / 2 * np.sum((theta - self.centre) ** 2) - likelihood)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient, (k,)."""
        eta = self.eta(theta)
        pull = self.farther * self.link.slope(eta) - (self.totals - self.farther) * self.link.slope(-eta)
        return self.ridge * (theta - self.centre) - pull @ self.design

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Return the matrix of second derivatives, (k, k)."""
        eta = self.eta(theta)
        curvature = self.farther * self.link.curvature(eta)
        curvature += (self.totals - self.farther) * self.link.curvature(-eta)
        return self._weighted(curvature)

    def information(self, theta: FloatArray) -> FloatArray:
        """Return Fisher's information: the Hessian that is expected of answers of the model, (k, k)."""
        eta = self.eta(theta)
        return self._weighted(self.totals * self.link.slope(eta) * self.link.slope(-eta))

    def _weighted(self, curvature: FloatArray) -> FloatArray:
        matrix: FloatArray = (self.design.T * curvature) @ self.design
        matrix[np.diag_indices(len(matrix))] += self.ridge
        return matrix

    def separated(self, theta: FloatArray) -> bool:
        """Whether answers are separated, given where the descent has ended.

        Curvature vanishes on the way to infinity. Where there is next to none a linear program decides: does any
        direction agree with every answer, and with one strictly?
        """
        if np.linalg.eigvalsh(self.hessian(theta))[0] > _FLAT * self.totals.max():
            return False
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
        drawn = rng.binomial(draws.astype(np.int64), self.link.probability(self.eta(theta)))
        return np.asarray(drawn * (self.totals / draws))

    def residuals(self, theta: FloatArray) -> FloatArray:
        """Return the deviance residuals of the questions, (q,); the sum of their squares is the deviance."""
        eta = self.eta(theta)
        share = self.farther / self.totals
        log_far, log_near = self.link.log_probability(eta), self.link.log_probability(-eta)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(share > 0, share * (np.log(share) - log_far), 0.0)
            near = np.where(share < 1, (1 - share) * (np.log1p(-share) - log_near), 0.0)
        # Rounding may leave a little less than 0 where the fit is exact.
        sizes = np.sqrt(np.maximum(2 * self.totals * (far + near), 0.0))
        return np.asarray(np.sign(share - self.link.probability(eta)) * sizes)
