"""Kinds of people, or latent classes: a mixture of normal distributions over the weights that they give to the axes.

What is known of a person is the likelihood of the logarithms of their weights: their posterior without its prior. So
people with few answers, of whom little is known, are no kind of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from nearer._common.arrays import FloatArray

_MAX_KINDS = 5
_MAX_EM_STEPS, _EM_TOL = 200, 1e-5
_MIN_WIDTH = 1e-3
_STRONG_EVIDENCE, _MIN_PEOPLE = 6.0, 3
_MIN_CURVATURE = 1e-6


class Kinds(NamedTuple):
    """Kinds of people: who is of which, (s,), the largest being 0, and the weights of each, (kinds, q)."""

    of_people: NDArray[np.intp]
    weights: FloatArray

    @classmethod
    def single(cls, n_people: int, n_axes: int) -> Kinds:
        """Return the only kind of people who do not differ."""
        return cls(np.zeros(n_people, np.intp), np.ones((1, n_axes)))


class _Likelihood(NamedTuple):
    """The logarithm of the likelihood of each person: curvatures H, (s, d, d), and pulls h, (s, d)."""

    curvature: FloatArray
    pull: FloatArray


def find_kinds(logs: FloatArray, spread: float) -> Kinds:
    """Return the kinds of people by the smallest BIC, from draws of the logarithms of their weights, (k, s, q).

    ``spread`` is the standard deviation of these a priori.
    """
    _, n_people, q = logs.shape
    contrasts = helmert(q).T  # weights are relative to each other
    shape = _likelihood(logs @ contrasts, spread)
    found, bics = [], []
    for number in range(1, max(min(_MAX_KINDS, n_people // 3), 1) + 1):
        mixture = _mixture(shape, number)
        found.append(mixture)
        # The map itself holds the mean of all: only centers beyond the first are free.
        bics.append(((number - 1) * q + 1) * np.log(n_people) - 2 * mixture.likelihood)
        if number > 2 and bics[-1] > bics[-2]:
            break
    sizes = [np.bincount(each.belongs.argmax(axis=1), minlength=len(each.centers)).min() for each in found]
    judged = [bic + _STRONG_EVIDENCE if size >= _MIN_PEOPLE else np.inf for bic, size in zip(bics, sizes, strict=True)]
    best = found[int(np.argmin([bics[0], *judged[1:]]))]
    order = np.argsort(-best.shares, kind="stable")
    return Kinds(np.argsort(order)[best.belongs.argmax(axis=1)], np.exp(best.centers[order] @ contrasts.T))


def _likelihood(contrasts: FloatArray, spread: float) -> _Likelihood:
    """Return the posterior of contrasts, (k, s, d), without their prior of this spread, each as normal."""
    d = contrasts.shape[2]
    means = contrasts.mean(axis=0)
    deviations = contrasts - means
    precision = np.linalg.inv(np.einsum("ksd,kse->sde", deviations, deviations) / len(contrasts) + 1e-10 * np.eye(d))
    values, vectors = np.linalg.eigh(precision - np.eye(d) / spread**2)
    curvature = np.einsum("sdk,sk,sek->sde", vectors, np.maximum(values, _MIN_CURVATURE), vectors)
    return _Likelihood(curvature, np.einsum("sde,se->sd", precision, means))


class _Mixture(NamedTuple):
    centers: FloatArray
    shares: FloatArray
    belongs: FloatArray
    likelihood: float


def _mixture(shape: _Likelihood, number: int) -> _Mixture:
    """Return the likeliest mixture of so many kinds that expectation maximization finds from clusters."""
    d = shape.pull.shape[1]
    guesses = np.linalg.solve(shape.curvature + np.eye(d), shape.pull[:, :, None])[:, :, 0]
    clusters = KMeans(number, n_init=3, random_state=0).fit(guesses)
    shares = np.bincount(clusters.labels_, minlength=number) / len(guesses)
    centers = np.zeros((1, d)) if number == 1 else clusters.cluster_centers_
    found = (_expectation_maximization(shape, centers, shares, width) for width in (0.1, 0.5))
    return max(found, key=lambda mixture: mixture.likelihood)


def _expectation_maximization(shape: _Likelihood, centers: FloatArray, shares: FloatArray, width: float) -> _Mixture:
    n_people, d = shape.pull.shape
    before = -np.inf
    for _ in range(_MAX_EM_STEPS):
        # Relative to each center, a person is drawn from N(0, width^2); pulls move along.
        pulls = shape.pull[:, None] - np.einsum("sde,ke->skd", shape.curvature, centers)
        covariance = np.linalg.inv(shape.curvature + np.eye(d) / width**2)
        means = np.einsum("sde,ske->skd", covariance, pulls)
        offsets = np.einsum("sd,kd->sk", shape.pull, centers)
        offsets -= np.einsum("kd,sde,ke->sk", centers, shape.curvature, centers) / 2
        logs = offsets + np.einsum("skd,skd->sk", pulls, means) / 2
        logs += (np.linalg.slogdet(covariance)[1] / 2 - d * np.log(width))[:, None] + np.log(shares)
        totals = logsumexp(logs, axis=1)
        belongs = np.exp(logs - totals[:, None])
        likelihood = float(totals.sum())
        if likelihood - before < _EM_TOL * n_people:
            break
        before = likelihood
        shares = np.maximum(belongs.mean(axis=0), 1e-12)
        if len(centers) > 1:
            moved = centers + means
            centers = np.einsum("sk,skd->kd", belongs, moved) / (n_people * shares)[:, None]
            means = moved - centers
        squares = np.einsum("sk,skd->", belongs, means**2) + np.trace(covariance, axis1=1, axis2=2).sum()
        width = max(float(np.sqrt(squares / (n_people * d))), _MIN_WIDTH)
    return _Mixture(centers, shares, belongs, likelihood)
