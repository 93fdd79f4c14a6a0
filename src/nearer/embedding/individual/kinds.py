r"""How many kinds of people there are: mixtures over what is known of each person's weights.

What the answers of a person say about c is quadratic (`nearer.embedding.individual.evidence`), with everything else
about the person integrated out. A mixture of K normal distributions of one width is fitted to that by expectation
maximization (as Bovy, Hogg and Roweis 2011 do with noisy data), and K is the one with the smallest BIC, if each of its
kinds has three people or more, and its BIC is below that of one kind by 6 or more, which is strong evidence (Kass and
Raftery 1995). People who differ by degrees are one wide kind; people who do not differ are one narrow kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from nearer._common.arrays import FloatArray
from nearer.embedding.individual.evidence import Quadratic

MOST_KINDS = 5
_ROUNDS, _SETTLED = 200, 1e-5
_LEAST_WIDTH = 1e-3
_STRONG, _FEWEST = 6.0, 3


class Kinds(NamedTuple):
    """Kinds of people.

    Attributes
    ----------
    centres : ndarray, shape (K, d)
        Contrasts of the logarithms of their weights.
    of_people : ndarray of int, shape (s,)
    bic : ndarray
        Of 1, 2, ... kinds, until it rises.
    """

    centres: FloatArray
    of_people: NDArray[np.intp]
    bic: FloatArray


def about_weights(shape: Quadratic, deviations: FloatArray) -> Quadratic:
    """Return what is said of c alone, with g and l integrated out."""
    d = shape.pull.shape[1] - 2
    rest = shape.curvature[:, d:, d:] + np.diag(1 / np.maximum(deviations[d:], 1e-6) ** 2)
    link = np.linalg.solve(rest, shape.curvature[:, d:, :d])
    curvature = shape.curvature[:, :d, :d] - np.swapaxes(shape.curvature[:, d:, :d], 1, 2) @ link
    pull = shape.pull[:, :d] - np.einsum("sab,sa->sb", link, shape.pull[:, d:])
    return Quadratic(curvature, pull)


def kinds_of(shape: Quadratic, spread: float) -> Kinds:
    """Return the number of kinds with the smallest BIC, their centres, the largest kind first, and who is of which.

    With a spread of 0 nobody differs, and there is one kind.
    """
    n_people, d = shape.pull.shape
    if spread == 0:
        return Kinds(np.zeros((1, d)), np.zeros(n_people, np.intp), np.zeros(1))
    found, bics = [], []
    most = max(min(MOST_KINDS, n_people // 3), 1)
    for number in range(1, most + 1):
        mixture = _mixture(shape, number)
        found.append(mixture)
        # The map itself holds the mean of all: only centres beyond the first are free.
        free = (number - 1) * (d + 1) + 1
        bics.append(free * np.log(n_people) - 2 * mixture.likelihood)
        if number > 2 and bics[-1] > bics[-2]:
            break
    sizes = [np.bincount(each.belongs.argmax(axis=1), minlength=len(each.centres)).min() for each in found]
    judged = [bic + _STRONG if size >= _FEWEST else np.inf for bic, size in zip(bics, sizes, strict=True)]
    best = found[int(np.argmin([bics[0], *judged[1:]]))]
    order = np.argsort(-best.shares, kind="stable")
    return Kinds(best.centres[order], np.argsort(order)[best.belongs.argmax(axis=1)], np.array(bics))


class _Mixture(NamedTuple):
    centres: FloatArray
    shares: FloatArray
    belongs: FloatArray
    likelihood: float


def _mixture(shape: Quadratic, number: int) -> _Mixture:
    """Return the likeliest mixture of so many kinds that expectation maximization finds from clusters."""
    d = shape.pull.shape[1]
    guesses = np.linalg.solve(shape.curvature + np.eye(d), shape.pull[:, :, None])[:, :, 0]
    clusters = KMeans(number, n_init=3, random_state=0).fit(guesses)
    shares = np.bincount(clusters.labels_, minlength=number) / len(guesses)
    centres = np.zeros((1, d)) if number == 1 else clusters.cluster_centers_
    found = (_climbed(shape, centres, shares, width) for width in (0.1, 0.5))
    return max(found, key=lambda mixture: mixture.likelihood)


def _climbed(shape: Quadratic, centres: FloatArray, shares: FloatArray, width: float) -> _Mixture:
    n_people, d = shape.pull.shape
    before = -np.inf
    for _ in range(_ROUNDS):
        # Relative to each centre, a person is drawn from N(0, width^2); pulls move along.
        pulls = shape.pull[:, None] - np.einsum("sde,ke->skd", shape.curvature, centres)
        covariance = np.linalg.inv(shape.curvature + np.eye(d) / width**2)
        means = np.einsum("sde,ske->skd", covariance, pulls)
        offsets = np.einsum("sd,kd->sk", shape.pull, centres)
        offsets -= np.einsum("kd,sde,ke->sk", centres, shape.curvature, centres) / 2
        logs = offsets + np.einsum("skd,skd->sk", pulls, means) / 2
        logs += (np.linalg.slogdet(covariance)[1] / 2 - d * np.log(width))[:, None] + np.log(shares)
        totals = logsumexp(logs, axis=1)
        belongs = np.exp(logs - totals[:, None])
        likelihood = float(totals.sum())
        if likelihood - before < _SETTLED * n_people:
            break
        before = likelihood
        shares = np.maximum(belongs.mean(axis=0), 1e-12)
        if len(centres) > 1:
            moved = centres + means
            centres = np.einsum("sk,skd->kd", belongs, moved) / (n_people * shares)[:, None]
            means = moved - centres
        squares = np.einsum("sk,skd->", belongs, means**2) + np.trace(covariance, axis1=1, axis2=2).sum()
        width = max(float(np.sqrt(squares / (n_people * d))), _LEAST_WIDTH)
    return _Mixture(centres, shares, belongs, likelihood)
