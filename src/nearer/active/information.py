r"""What the answers to questions would tell about the map, jointly.

Draws from the posterior stand for what is possible. With the chances :math:`p_k` of an answer in draw k, the variance
of :math:`p_k` over draws is what is not known about the map, and the mean of :math:`p_k (1 - p_k)` is the noise that
remains whoever knows the map. To first order the answer brings :math:`\frac12 \log(1 + c / s)` with c the former and s
the latter: a normal approximation to the mutual information of answer and map.

A batch is chosen greedily. Once a question is in it, what its answer will tell is taken off the covariances of all
others (the update of a Gaussian process), so that a second question that asks the same is worth little. Covariances
live in the space of draws: :math:`c_{ij} = f_i^T M f_j` with centred chances :math:`f` and a matrix M that begins as
the identity, and loses :math:`u u^T` with each question.

If only some answers t matter, a question counts for what it takes off the variances of these,
:math:`\sum_t c_{tq}^2 / (s_q + c_{qq})`. A covariance over K draws is off by chance, and its square too large by
:math:`c_{tt} c_{qq} / K` on average; that is taken off.
"""

from __future__ import annotations

import numpy as np

from nearer.common.arrays import FloatArray

_LEAST_NOISE = 1e-3


class Batch:
    """Questions to choose from, and what is left to learn once some are chosen.

    Parameters
    ----------
    chances : ndarray, shape (k, q, o)
        The chance of each of o answers to each of q questions in each of k draws.
    targets : ndarray, shape (k, t), optional
        Chances of what matters; everything matters if left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> unsure, same, sure = rng.uniform(size=100), rng.uniform(size=100), np.full(100, 0.9)
    >>> chances = np.stack([unsure, unsure, same, sure], axis=1)
    >>> batch = Batch(np.stack([chances, 1 - chances], axis=2))
    >>> first, second, third = batch.pick(), batch.pick(), batch.pick()
    >>> 2 in (first, second), third in (0, 1)
    (True, True)
    """

    def __init__(self, chances: FloatArray, targets: FloatArray | None = None) -> None:
        facets = chances[:, :, :1] if chances.shape[2] == 2 else chances  # the second answer of two says nothing new
        n_draws, self.n_questions, self.n_facets = facets.shape
        noise = (facets * (1 - facets)).mean(axis=0) + _LEAST_NOISE
        self.noise = noise.ravel() * (1.0 if self.n_facets == 1 else self.n_facets / (self.n_facets - 1))
        self.features = _centred(facets.reshape(n_draws, -1))
        self.left = np.eye(n_draws)
        self.variances = (self.features**2).sum(axis=0)
        self.open = np.ones(self.n_questions, dtype=bool)
        self.matters: FloatArray | None = None
        if targets is not None:
            matters = _centred(targets)
            self.matters = matters @ matters.T
            self.shared = np.einsum("kq,kq->q", self.features, self.matters @ self.features)  # sums of c_tq^2

    def gains(self) -> FloatArray:
        """Return what the answer to each question would bring now, (q,)."""
        per_facet: FloatArray
        if self.matters is None:
            per_facet = 0.5 * np.log1p(self.variances / self.noise)
        else:
            by_chance = self.variances * (np.sum(self.matters * self.left) / len(self.left))
            per_facet = np.maximum(self.shared - by_chance, 0.0) / (self.noise + self.variances)
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
        for place in range(question * self.n_facets, (question + 1) * self.n_facets):
            told = self.left @ self.features[:, place]
            told /= np.sqrt(self.noise[place] + self.features[:, place] @ told)
            with_told = told @ self.features
            if self.matters is not None:
                mattering = self.matters @ told
                with_mattering = (self.left @ mattering) @ self.features
                self.shared += with_told * ((told @ mattering) * with_told - 2 * with_mattering)
            self.variances = np.maximum(self.variances - with_told**2, 0.0)
            self.left -= np.outer(told, told)


def _centred(chances: FloatArray) -> FloatArray:
    """Return chances, (k, q), without their means, such that products are covariances."""
    centred: FloatArray = (chances - chances.mean(axis=0)) / np.sqrt(len(chances))
    return centred
