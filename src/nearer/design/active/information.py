r"""What the answers to questions would tell about the map, jointly.

Draws from the posterior stand for what is possible. With the chances :math:`p_k` of an answer in draw k, the variance
:math:`c_{qq}` of :math:`p_k` over draws is what is not known about the map, and the mean :math:`s_q` of
:math:`p_k (1 - p_k)` is the noise that remains whoever knows the map. What is not known about another answer t goes
with it as far as their covariance :math:`c_{tq}` says. In a normal approximation question q is worth

.. math:: \frac{\sum_t c_{tq}^2}{(s_q + c_{qq}) \sum_t c_{tt}} + \frac1n \log\Big(1 + \frac{c_{qq}}{s_q}\Big)

with t all questions that may be asked. The first term is the share of the variance of their answers that the answer to
q takes away (the expected predictive information gain of Bickford Smith et al., 2023, to first order). The second is
twice the mutual information of answer and map, for each of n coordinates: the share by which a typical variance of
these falls. The first alone is slow to learn how parts of a map lie to each other; the second alone, D-optimality,
spends questions on what few answers depend on.

A covariance over K draws is off by chance, and its square too large by :math:`c_{tt} c_{qq} / K` on average; that is
taken off.

A batch is chosen greedily. Once a question is in it, what its answer will tell is taken off the covariances of all
others (the update of a Gaussian process), so that a second question that asks the same is worth little. Covariances
live in the space of draws: :math:`c_{ij} = f_i^T M f_j` with centred chances :math:`f` and a matrix M that begins as
the identity, and loses :math:`u u^T` with each question.

If only some answers matter, these alone are t, and the second term is left out.
"""

from __future__ import annotations

import numpy as np

from nearer._common.arrays import FloatArray

_LEAST_NOISE = 1e-3
_NOTHING = 1e-12  # of variance


class Batch:
    """Questions to choose from, and what is left to learn once some are chosen.

    Parameters
    ----------
    chances : ndarray, shape (k, q, o)
        The chance of each of o answers to each of q questions in each of k draws.
    targets : ndarray, shape (k, t), optional
        Chances of what matters; the answers to all of the questions, and the map itself, if left out.
    n_coordinates : int
        Of the map.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> unsure, same, sure = rng.uniform(size=100), rng.uniform(size=100), np.full(100, 0.9)
    >>> chances = np.stack([unsure, unsure, same, sure], axis=1)
    >>> batch = Batch(np.stack([chances, 1 - chances], axis=2), n_coordinates=10)
    >>> first, second, third = batch.pick(), batch.pick(), batch.pick()
    >>> 2 in (first, second), third in (0, 1)
    (True, True)
    """

    def __init__(self, chances: FloatArray, targets: FloatArray | None = None, *, n_coordinates: int = 1) -> None:
        facets = chances[:, :, :1] if chances.shape[2] == 2 else chances  # the second answer of two says nothing new
        n_draws, self.n_questions, self.n_facets = facets.shape
        noise = (facets * (1 - facets)).mean(axis=0) + _LEAST_NOISE
        self.noise = noise.ravel() * (1.0 if self.n_facets == 1 else self.n_facets / (self.n_facets - 1))
        self.features = _centred(facets.reshape(n_draws, -1))
        self.left = np.eye(n_draws)
        self.variances = (self.features**2).sum(axis=0)
        self.open = np.ones(self.n_questions, dtype=bool)
        matters = self.features if targets is None else _centred(targets)
        self.matters = matters @ matters.T
        self.shared = np.einsum("kq,kq->q", self.features, self.matters @ self.features)  # sums of c_tq^2
        self.weight_of_map = 1 / n_coordinates if targets is None else 0.0

    def gains(self) -> FloatArray:
        """Return what the answer to each question would bring now, (q,)."""
        unknown = float(np.sum(self.matters * self.left))  # sum of c_tt
        by_chance = self.variances * (unknown / len(self.left))
        taken = np.maximum(self.shared - by_chance, 0.0) / ((self.noise + self.variances) * max(unknown, _NOTHING))
        per_facet = taken + self.weight_of_map * np.log1p(self.variances / self.noise)
        gains: FloatArray = per_facet.reshape(self.n_questions, self.n_facets).sum(axis=1)
        return gains

    def pick(self, barred: np.ndarray | None = None) -> int | None:
        """Choose the best question that is left, and take what it will tell as known; None if there is none."""
        may = self.open if barred is None else self.open & ~barred
        if not may.any():
            return None
        best = int(np.where(may, self.gains(), -np.inf).argmax())
        self.take(best)
        return best

    def take(self, question: int) -> None:
        """Take the answer to a question as known."""
        self.open[question] = False
        updates, mattering = np.empty((2, self.n_facets, len(self.left)))
        sizes = np.empty(self.n_facets)
        for facet in range(self.n_facets):  # one after the other, in the space of draws alone
            place = question * self.n_facets + facet
            update = self.left @ self.features[:, place]
            update /= np.sqrt(self.noise[place] + self.features[:, place] @ update)
            of_matters = self.matters @ update
            updates[facet], mattering[facet] = update, self.left @ of_matters
            sizes[facet] = update @ of_matters
            self.left -= np.outer(update, update)
        # The features are large: they are read once for all facets.
        by_update, by_mattering = (np.concatenate([updates, mattering]) @ self.features).reshape(2, self.n_facets, -1)
        for facet in range(self.n_facets):
            self.shared += by_update[facet] * (sizes[facet] * by_update[facet] - 2 * by_mattering[facet])
        self.variances = np.maximum(self.variances - np.square(by_update).sum(axis=0), 0.0)


def _centred(chances: FloatArray) -> FloatArray:
    """Return chances, (k, q), without their means, such that products are covariances."""
    centred: FloatArray = (chances - chances.mean(axis=0)) / np.sqrt(len(chances))
    return centred
