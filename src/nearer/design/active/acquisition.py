r"""The next questions: how much information their answers would give about the map, jointly.

Draws from the posterior represent what is possible. With the probabilities :math:`p_k` of an answer in draw k, the
variance :math:`c_{qq}` of :math:`p_k` over draws is the uncertainty about the map, and the mean :math:`s_q` of
:math:`p_k (1 - p_k)` is the noise that remains if the map is known. The uncertainty about another answer t falls with
it as far as their covariance :math:`c_{tq}` goes. In a normal approximation question q has a gain of

.. math:: \frac{\sum_t c_{tq}^2}{(s_q + c_{qq}) \sum_t c_{tt}} + \frac1n \log\Big(1 + \frac{c_{qq}}{s_q}\Big)

with t all questions that may be asked. The first term is the share of the variance of their answers that the answer to
q explains (the expected predictive information gain of Bickford Smith et al., 2023, to first order). The second is
twice the mutual information of answer and map, for each of n coordinates: the share by which a typical variance of
these falls. The first alone is slow to learn how parts of a map lie relative to each other; the second alone,
D-optimality, spends questions on what few answers depend on. If only some answers matter, these alone are t, and the
second term is dropped.

A covariance over K draws has sampling error, which makes its square too large by :math:`c_{tt} c_{qq} / K` on average;
that is subtracted.

A batch is chosen greedily. Once a question is in it, the covariances of all others are conditioned on its answer (the
update of a Gaussian process), so that a second question that asks the same gains little. Covariances are kept in the
space of draws: :math:`c_{ij} = f_i^T M f_j` with centered probabilities :math:`f` and a matrix M that begins as the
identity, and loses :math:`u u^T` with each question.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.design.active.pool import Form, QuestionKey, form_of
from nearer.sampling.model import Draws

_MIN_NOISE = 1e-3
_MIN_VARIANCE = 1e-12
_MAX_OPEN = 100  # open questions whose answers are taken as known
_N_TARGETS, _N_NEIGHBORS = 1000, 8


class GreedyBatch:
    """Questions to choose from, by the probabilities of their answers in draws, (k, q, o).

    ``targets``, (k, t), are probabilities of the answers that matter; all, and the map itself, if left out.
    """

    def __init__(self, probabilities: FloatArray, targets: FloatArray | None = None, *, n_coordinates: int = 1) -> None:
        facets = probabilities[:, :, :1] if probabilities.shape[2] == 2 else probabilities  # the second is redundant
        n_draws, self.n_questions, self.n_facets = facets.shape
        noise = (facets * (1 - facets)).mean(axis=0) + _MIN_NOISE
        self.noise = noise.ravel() * (1.0 if self.n_facets == 1 else self.n_facets / (self.n_facets - 1))
        self.features = _centered(facets.reshape(n_draws, -1))
        self.metric = np.eye(n_draws)  # M
        self.variances = (self.features**2).sum(axis=0)
        self.is_open = np.ones(self.n_questions, dtype=bool)
        relevant = self.features if targets is None else _centered(targets)
        self.targets = relevant @ relevant.T
        self.shared = np.einsum("kq,kq->q", self.features, self.targets @ self.features)  # sums of c_tq^2
        self.map_weight = 1 / n_coordinates if targets is None else 0.0

    def gains(self) -> FloatArray:
        """Return the gain of the answer to each question now, (q,)."""
        unknown = float(np.sum(self.targets * self.metric))  # sum of c_tt
        by_chance = self.variances * (unknown / len(self.metric))
        explained = np.maximum(self.shared - by_chance, 0.0)
        explained = explained / ((self.noise + self.variances) * max(unknown, _MIN_VARIANCE))
        per_facet = explained + self.map_weight * np.log1p(self.variances / self.noise)
        return per_facet.reshape(self.n_questions, self.n_facets).sum(axis=1)

    def pick(self, barred: Collection[int] = ()) -> int | None:
        """Choose the best question left, and condition on its answer; None if there is none."""
        candidates = self.is_open.copy()
        candidates[list(barred)] = False
        if not candidates.any():
            return None
        best = int(np.where(candidates, self.gains(), -np.inf).argmax())
        self.condition_on(best)
        return best

    def condition_on(self, question: int) -> None:
        """Take the answer to a question as known."""
        self.is_open[question] = False
        updates, target_updates = np.empty((2, self.n_facets, len(self.metric)))
        sizes = np.empty(self.n_facets)
        for facet in range(self.n_facets):  # one after the other, in the space of draws alone
            column = question * self.n_facets + facet
            update = self.metric @ self.features[:, column]
            update /= np.sqrt(self.noise[column] + self.features[:, column] @ update)
            of_targets = self.targets @ update
            updates[facet], target_updates[facet] = update, self.metric @ of_targets
            sizes[facet] = update @ of_targets
            self.metric -= np.outer(update, update)
        # The features are large: they are read once for all facets.
        by_update, by_target = (np.concatenate([updates, target_updates]) @ self.features).reshape(2, self.n_facets, -1)
        for facet in range(self.n_facets):
            self.shared += by_update[facet] * (sizes[facet] * by_update[facet] - 2 * by_target[facet])
        self.variances = np.maximum(self.variances - np.square(by_update).sum(axis=0), 0.0)


def _centered(probabilities: FloatArray) -> FloatArray:
    """Return probabilities, (k, q), without their means, such that products are covariances."""
    return (probabilities - probabilities.mean(axis=0)) / np.sqrt(len(probabilities))


class Acquisition:
    """Candidate questions, the best of which are asked one after the other, given those that are still open."""

    def __init__(
        self,
        form: Form,
        draws: Draws,
        candidates: NDArray[np.intp],
        open_questions: NDArray[np.intp],
        targets: FloatArray | None = None,
    ) -> None:
        self.questions = np.concatenate([open_questions[-_MAX_OPEN:], candidates])
        self.number = {key: number for number, key in enumerate(form.keys(self.questions))}
        probabilities = form.probabilities(draws, self.questions)
        self.batch = GreedyBatch(probabilities, targets, n_coordinates=draws.points[0].size)
        for number in range(len(self.questions) - len(candidates)):
            self.batch.condition_on(number)
        self.queue: list[int] = []

    def fill_queue(self, k: int) -> None:
        """Choose k questions before anybody asks for them."""
        while len(self.queue) < k and (chosen := self.batch.pick()) is not None:
            self.queue.append(chosen)

    def peek(self, k: int, barred: Collection[QuestionKey]) -> NDArray[np.intp]:
        """Return up to k questions that come next and are not barred, and leave them in the queue."""
        closed = self._numbers(barred)
        self.fill_queue(k + len(closed))
        chosen = [number for number in self.queue if number not in closed][:k]
        return self.questions[chosen].reshape(-1, self.questions.shape[1])

    def pop(self, barred: Collection[QuestionKey]) -> NDArray[np.intp] | None:
        """Return the most informative question that is not barred; None if there is none."""
        closed = self._numbers(barred)
        chosen = next((number for number in self.queue if number not in closed), None)
        if chosen is None:
            chosen = self.batch.pick(closed)
        else:
            self.queue.remove(chosen)
        return None if chosen is None else self.questions[chosen]

    def _numbers(self, keys: Collection[QuestionKey]) -> set[int]:
        """Return the numbers of those candidates that have one of the keys."""
        return {self.number[key] for key in keys if key in self.number}


def target_probabilities(
    draws: Draws, focus: NDArray[np.intp] | str | None, rng: np.random.Generator
) -> FloatArray | None:
    """Return probabilities of the answers that matter, (k, t); None where all matter.

    With a ``focus`` on objects these are triplets of them; with "neighbors", which of two of its nearest objects is
    nearer to an object.
    """
    if focus is None:
        return None
    if isinstance(focus, str):
        squares = np.zeros((draws.points.shape[1],) * 2)
        for points in draws.points:
            norms = np.square(points).sum(axis=1)
            squares += (norms[:, None] + norms - 2 * points @ points.T) / np.square(points).mean()
        np.fill_diagonal(squares, np.inf)
        near = np.argsort(squares, axis=1)[:, : min(_N_NEIGHBORS, len(squares) - 1)]
        anchors = rng.integers(len(near), size=_N_TARGETS)
        columns = np.array([rng.permutation(near.shape[1])[:2] for _ in anchors])
        rows = np.column_stack([anchors, near[anchors, columns[:, 0]], near[anchors, columns[:, 1]]])
    else:
        rows = focus[np.array([rng.permutation(len(focus))[:3] for _ in range(_N_TARGETS)])]
    return form_of("triplet").probabilities(draws, rows)[:, :, 0]
