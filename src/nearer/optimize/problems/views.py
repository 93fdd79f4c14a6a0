"""The likelihood of answers that were given from several views.

Every trial, or every comparison where trials are not known, is answered from one of V views; which one is not known.
With weights pi of the views and P_v(q) the probability of answer q in the map of view v, the likelihood of trial t is

    L_t = sum_v pi_v prod_(q in t) P_v(q),        P_v(q) = (1 - lapse) S_v(q) + lapse / 2,

with S_v(q) of t-STE; without lapses slips would be explained best by a view of their own. The gradient of log L_t is
that of one map, each comparison weighted by the responsibility r_tv = pi_v prod_q P_v(q) / L_t and by the probability
that it is no guess. Only weights and lapse rate alternate: given the maps, they are means of responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nearer._common.arrays import FloatArray, PointArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.model import LogRatio, StudentT
from nearer.model.answers import log_answer_probability
from nearer.optimize.problems.points import FactoredProblem, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory

MIN_PROBABILITY = 1e-6  # of weights and of the lapse rate: their logarithms must be finite
INITIAL_LAPSE = 0.05


@dataclass(frozen=True, eq=False)
class Trials:
    """Which comparisons are answered from one view: those of a trial."""

    trial_indices: NDArray[np.intp] | None  # (m,); the trial of each comparison; None if each is a trial of its own
    row_weights: FloatArray  # (m,); how often a comparison counts within its trial
    trial_weights: FloatArray  # (k,); how often a trial counts

    @classmethod
    def of(cls, comparisons: Comparisons) -> Trials:
        """Return the trials of comparisons; where none are known, each comparison is one."""
        weights = comparisons.sample_weight
        if comparisons.trials is None:
            return cls(None, np.ones(len(weights)), weights)
        members = trial_indices(comparisons)
        # A row of weight 2 is two rows of its trial, which has one view all the same.
        return cls(members, weights, (np.bincount(members, weights) > 0).astype(float))

    def sum_rows(self, probabilities: FloatArray) -> FloatArray:
        """Return the log-probabilities of trials from those of comparisons, (V, m) to (V, k)."""
        if self.trial_indices is None:
            return probabilities
        return np.stack(
            [np.bincount(self.trial_indices, self.row_weights * row, len(self.trial_weights)) for row in probabilities]
        )

    def to_rows(self, shares: FloatArray) -> FloatArray:
        """Return values of trials, (V, k), for each of their comparisons, (V, m)."""
        return shares if self.trial_indices is None else shares[:, self.trial_indices]


@dataclass(frozen=True, eq=False)
class PackedAnswers(InMemory):
    """Comparisons in memory, with what every evaluation needs of them."""

    @cached_property
    def trials(self) -> Trials:
        return Trials.of(self.comparisons)

    @cached_property
    def largest_pull(self) -> float:
        """The largest eigenvalue of the pull of all comparisons, whatever the loss."""
        return float(laplacian_spectrum(FactoredProblem(self, StudentT()), 1).eigenvalues[0])


class Mixture(NamedTuple):
    """The weights of the views, (V,), and the share of answers that are guesses."""

    weights: FloatArray
    lapse: float

    @classmethod
    def even(cls, n_views: int) -> Mixture:
        return cls(np.full(n_views, 1 / n_views), INITIAL_LAPSE)

    def change(self, before: Mixture) -> float:
        return float(max(np.abs(self.weights - before.weights).max(), abs(self.lapse - before.lapse)))


class ViewAssignment(NamedTuple):
    """Responsibilities and likelihoods of trials from several views."""

    responsibilities: FloatArray  # (V, k); of the views for each trial
    log_likelihoods: FloatArray  # (k,); the softened log-likelihood of each trial
    attentive: FloatArray  # (V, m); probability that an answer, if given from this view, is no guess


def assign_views(
    points: PointArray, mixture: Mixture, source: PackedAnswers, loss: LogRatio, softness: float = 1.0
) -> ViewAssignment:
    """Return responsibilities of the views, points of shape (V, n, p), for each trial, and its likelihood."""
    return _assign(_log_probabilities(points, source, loss), mixture, source.trials, softness)


def _log_probabilities(points: PointArray, source: PackedAnswers, loss: LogRatio) -> FloatArray:
    from nearer.optimize import kernels

    odds = [loss.log_odds(*kernels.squared_distances(np.ascontiguousarray(view), source.rows)) for view in points]
    return -np.logaddexp(0.0, -np.stack(odds))


def _assign(similar: FloatArray, mixture: Mixture, trials: Trials, softness: float = 1.0) -> ViewAssignment:
    probabilities, attentive = log_answer_probability(similar, mixture.lapse)
    joint = softness * (trials.sum_rows(probabilities) + np.log(mixture.weights)[:, None])
    total = logsumexp(joint, axis=0)
    return ViewAssignment(np.exp(joint - total), total / softness, np.exp(attentive))


@dataclass(frozen=True, eq=False, kw_only=True)
class ViewsProblem(FactoredProblem):
    """minimize -(1 / total weight) sum_t log L_t + trace * sum_v pi_v ||X_v||_F^2 over all views, (V n, p)."""

    # A view is penalized by its weight: two equal ones, or one that nothing is seen from, cost no less and no more than
    # a single one. Otherwise a weaker penalty would favor more views.

    mixture: Mixture
    softness: float = 1.0  # in (0, 1]; the power b of the softened likelihood; 1 for the likelihood itself

    @property
    def n_objects(self) -> int:
        return self.source.n_objects * len(self.mixture.weights)

    def objective_and_gradient(self, points: PointArray, trace: float | None = None) -> tuple[float, PointArray]:
        value, gradient = self.loss_and_gradient(points)
        prices = (self.trace if trace is None else trace) * np.repeat(self.mixture.weights, self.source.n_objects)
        value += float(prices @ np.sum(points**2, axis=1))
        gradient += 2 * prices[:, None] * points
        if self.movable is not None:
            gradient[~self.movable] = 0
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        from nearer.optimize import kernels

        assert isinstance(self.source, PackedAnswers)
        assert isinstance(self.loss, LogRatio)
        views = points.reshape(len(self.mixture.weights), -1, points.shape[1])
        assigned = assign_views(views, self.mixture, self.source, self.loss, self.softness)
        rows = self.source.rows
        each = rows.weights if rows.weights.size else 1.0
        answers = rows.answers if rows.answers.size else None
        gradients = []
        shares = self.source.trials.to_rows(assigned.responsibilities) * assigned.attentive
        for view, share in zip(views, shares, strict=True):
            weighted = kernels.Rows.of(rows.objects, answers, each * share)
            gradients.append(kernels.evaluate(self.loss.compiled, view, weighted, self.n_threads)[1])
        value = -float(self.source.trials.trial_weights @ assigned.log_likelihoods) / self.total_weight
        return value, np.concatenate(gradients) / self.total_weight


def best_mixture(points: PointArray, mixture: Mixture, source: PackedAnswers, loss: LogRatio) -> Mixture:
    """Return the weights and the lapse rate of highest likelihood, given the maps: a fixed point of mean shares."""
    trials, each = source.trials, source.comparisons.sample_weight
    similar = _log_probabilities(points, source, loss)
    for _ in range(200):
        before, assigned = mixture, _assign(similar, mixture, trials)
        shares = assigned.responsibilities @ trials.trial_weights / trials.trial_weights.sum()
        weights = np.maximum(shares, MIN_PROBABILITY)
        by_row = trials.to_rows(assigned.responsibilities)
        guessed = np.einsum("vq,vq,q->", by_row, 1 - assigned.attentive, each) / each.sum()
        mixture = Mixture(weights / weights.sum(), float(np.clip(guessed, MIN_PROBABILITY, 1 - MIN_PROBABILITY)))
        if mixture.change(before) < 1e-5:
            break
    return mixture
