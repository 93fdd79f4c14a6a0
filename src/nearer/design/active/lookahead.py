r"""Looking ahead: questions that would come next, and what their answers would add to the precision of a map.

Where a map x is the true one, a comparison of weight w is answered as written with probability p(g), at log-odds
:math:`g = \beta \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}}` (`nearer.model.AnswerModel`).
Its answer carries the Fisher information

.. math:: w \, \frac{p'(g)^2}{p (1 - p)} \, \nabla g \, \nabla g^T

about the coordinates. The sum over all answers, and the precision of the prior (a normal cloud with the spreads that
the map has, and the correlations that features suggest), is the precision H of the posterior in its normal
approximation. The truth then deviates by :math:`d \sim N(0, H^{-1})`. Answers to come with information
:math:`M = U^T U` observe U d up to standard normal noise, and what is learned from them is

.. math:: a = (H + M)^{-1} U^T (U d + \varepsilon), \qquad \varepsilon \sim N(0, I).

It has the covariance :math:`H^{-1} - (H + M)^{-1}`; d - a is left, with :math:`(H + M)^{-1}`, and is independent of it.
Both are drawn here: as changes of the log-odds of comparisons, and as displacements of objects after removing
similarity transformations.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from nearer._common.arrays import FloatArray
from nearer.design.active.acquisition import GreedyBatch
from nearer.design.active.pool import Pool
from nearer.model.answers import AnswerModel, answer_derivatives
from nearer.sampling.model import TRIAL_EXPONENT, Draws

Choose: TypeAlias = Literal["information", "random"]

RANDOM_SHARE = 0.15  # of the questions that `Questions` asks: tests and repeats
_N_CANDIDATES, _MAX_PICKED = 4000, 400  # beyond the latter each picked question represents several
_MIN_VARIANCE = 1e-6  # of an axis, relative to the map
_DEPENDENCE_TOL = 1e-12  # squared length relative to the longest, of a combination of other movements


class DrawnModel(NamedTuple):
    """A draw: a map and its answer model."""

    points: FloatArray
    answers: AnswerModel


class WeightedComparisons(NamedTuple):
    """Comparisons as rows of near and far pairs, (m, 4), and their weights, (m,); directions do not matter."""

    rows: NDArray[np.integer]
    weights: FloatArray


class Lookahead:
    """Questions that may be asked, and their answers by draws from the posterior."""

    def __init__(self, draws: Draws, pool: Pool, rng: np.random.Generator) -> None:
        self.draws, self.pool, self.rng = draws, pool, rng

    def truth(self, number: int) -> DrawnModel:
        """Return one of the draws."""
        points, *parameters = self.draws
        return DrawnModel(points[number], AnswerModel(*(float(values[number]) for values in parameters)))

    def next_questions(self, n_answers: int, choose: Choose) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the next questions, (q, width), and how many answers each represents, (q,).

        They are random, or chosen jointly but for the share of tests and repeats.
        """
        n_chosen = 0 if choose == "random" else round(n_answers * (1 - RANDOM_SHARE))
        drawn = self.pool.draw(max(n_answers - n_chosen, 1), self.rng)
        if n_chosen == 0:
            return drawn, np.full(len(drawn), n_answers / len(drawn))
        candidates = self.pool.all_or_sample(_N_CANDIDATES, self.rng)
        probabilities = self.pool.form.probabilities(self.draws, candidates)
        batch = GreedyBatch(probabilities, n_coordinates=self.draws.points[0].size)
        picked: list[Any] = [batch.pick() for _ in range(min(n_chosen, _MAX_PICKED, len(candidates)))]
        chosen = candidates[picked]
        counts = np.repeat([n_chosen / len(chosen), (n_answers - n_chosen) / len(drawn)], [len(chosen), len(drawn)])
        return np.concatenate([chosen, drawn]), counts

    def simulate(self, questions: NDArray[np.intp], counts: FloatArray, number: int) -> WeightedComparisons:
        """Return answers if a draw were the truth, with the weights that the posterior gives them."""
        probabilities = self.pool.form.probabilities(self.draws.one(number), questions)[0]
        rows = self._answers(questions, probabilities)
        per_answer = rows.shape[1]
        weights = np.repeat(counts * per_answer**-TRIAL_EXPONENT, per_answer)
        return WeightedComparisons(rows.reshape(-1, 4), weights)

    def test_comparisons(self, k: int) -> NDArray[np.intp]:
        """Return k comparisons from answers to random questions, (k, 4), one of each answer."""
        questions = self.pool.draw(k, self.rng)
        probabilities = np.empty((k, self.pool.form.n_answers))
        some = self.rng.integers(len(self.draws), size=k)
        for number in np.unique(some):
            rows = np.flatnonzero(some == number)
            probabilities[rows] = self.pool.form.probabilities(self.draws.one(int(number)), questions[rows])[0]
        answers = self._answers(questions, probabilities)
        return answers[np.arange(k), self.rng.integers(answers.shape[1], size=k)]

    def _answers(self, questions: NDArray[np.intp], probabilities: FloatArray) -> NDArray[np.intp]:
        """Return the comparisons of a random answer to each question, (q, r, 4)."""
        uniform = self.rng.random(len(questions))[:, None]
        answers = np.minimum((np.cumsum(probabilities, axis=1) < uniform).sum(axis=1), probabilities.shape[1] - 1)
        return questions[np.arange(len(questions))[:, None, None], self.pool.form.rows[answers]]


def draw_preposterior(
    truth: DrawnModel,
    known: WeightedComparisons,
    future: WeightedComparisons,
    tested: NDArray[np.integer],
    k: int,
    rng: np.random.Generator,
    n_axes: int | None = None,
    covariance: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Draw k truths around a map, and what future answers reveal of them.

    Return the deviations in the log-odds of the comparisons ``tested``, (k, t), what is learned of them, (k, t), and
    the mean squared displacements of objects from the truth before and after, (n,), along the first ``n_axes``.
    ``covariance`` is that of objects along an axis in the prior, (n, n), where features suggest one.
    """
    points, root, known_root = truth.points, _information_root(truth, future), _information_root(truth, known)
    spreads = points.var(axis=0)
    precisions = 1 / np.maximum(spreads, _MIN_VARIANCE * spreads.sum())
    prior = np.diag(np.tile(precisions, len(points)))
    if covariance is not None:
        prior = np.kron(np.linalg.inv(covariance), np.diag(precisions))
    before = prior + (known_root.T @ known_root).toarray()
    factor = cho_factor(before, lower=True)
    deviations = solve_triangular(factor[0], rng.standard_normal((points.size, k)), lower=True, trans="T")
    observed = root.T @ (root @ deviations + rng.standard_normal((root.shape[0], k)))
    learned = cho_solve(cho_factor(before + (root.T @ root).toarray(), lower=True), observed)
    gradients, similarities = log_odds_jacobian(truth, tested), _similarities(points)

    def mean_squares(changes: FloatArray) -> FloatArray:
        rest = changes - similarities @ (similarities.T @ changes)
        return (rest**2).mean(axis=1).reshape(points.shape)[:, :n_axes].sum(axis=1)

    squares = mean_squares(deviations), mean_squares(deviations - learned)
    return (gradients @ deviations).T, (gradients @ learned).T, *squares


def log_odds(truth: DrawnModel, rows: NDArray[np.integer]) -> FloatArray:
    """Return the log-odds of attentive answers to comparisons, (m,)."""
    near, far = (np.square(differences).sum(axis=1) for differences in _differences(truth, rows))
    return truth.answers.log_odds(near, far)


def log_odds_jacobian(truth: DrawnModel, rows: NDArray[np.integer]) -> csr_array:
    """Return the derivatives of log-odds with respect to all coordinates, (m, n p)."""
    m, p = len(rows), truth.points.shape[1]
    near, far = _differences(truth, rows)
    by_distances = truth.answers.log_odds_gradient((near**2).sum(axis=1), (far**2).sum(axis=1))
    by_near, by_far = (2 * by[:, None] * of for by, of in zip(by_distances, (near, far), strict=True))
    values = np.stack([by_near, -by_near, by_far, -by_far], axis=1)
    columns = rows[:, :, None] * p + np.arange(p)
    entries = np.repeat(np.arange(m), 4 * p), columns.ravel()
    return csr_array((values.ravel(), entries), shape=(m, truth.points.size))  # entries of an anchor add up


def _differences(truth: DrawnModel, rows: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Return the differences between the objects of the near and of the far pairs, (m, p)."""
    points = truth.points
    return points[rows[:, 0]] - points[rows[:, 1]], points[rows[:, 2]] - points[rows[:, 3]]


def _information_root(truth: DrawnModel, comparisons: WeightedComparisons) -> csr_array:
    """Return U, (m, n p), of which U^T U is the Fisher information of comparisons."""
    information = answer_derivatives(log_odds(truth, comparisons.rows), truth.answers.lapse).information.odds
    weights = np.sqrt(comparisons.weights * information)
    return csr_array(log_odds_jacobian(truth, comparisons.rows).multiply(weights[:, None]))


def _similarities(points: FloatArray) -> FloatArray:
    """Return an orthonormal basis, (n p, j), of infinitesimal translations, rotations and scaling."""
    n, p = points.shape
    centered = points - points.mean(axis=0)
    moves = [np.tile(axis, (n, 1)) for axis in np.eye(p)] + [centered]
    for first, second in combinations(range(p), 2):
        turn = np.zeros((n, p))
        turn[:, first], turn[:, second] = -centered[:, second], centered[:, first]
        moves.append(turn)
    rows = np.array(moves).reshape(len(moves), -1)
    squares, vectors = np.linalg.eigh(rows @ rows.T)  # of few rows: a decomposition of all coordinates takes long
    kept = squares > _DEPENDENCE_TOL * squares[-1]
    return rows.T @ (vectors[:, kept] / np.sqrt(squares[kept]))
