"""The model of `nearer.posterior.model` in plain NumPy, written from its docstring; of one vector q or of many."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import cauchy, norm

from nearer.posterior.model import Prior


class Unknowns(NamedTuple):
    z: Any
    u: Any
    v: Any
    numbers: Any


def split(q, n, p):
    """Coordinates (..., n, p), axes (..., p), scales (..., n) and the seven numbers (..., 7)."""
    z, u, v, numbers = np.split(q, [n * p, n * p + p, n * p + p + n], axis=-1)
    return Unknowns(z.reshape(*z.shape[:-1], n, p), u, v, numbers)


def map_of(q, exposure, n, p):
    z, u, v, numbers = split(q, n, p)
    sigma, omega, rho, gamma = (
        np.exp(numbers[..., 0]),
        np.exp(numbers[..., 1]),
        expit(numbers[..., 5]),
        numbers[..., 6],
    )
    spreads = np.exp(sigma[..., None] * u)
    spreads /= np.sqrt((spreads**2).sum(axis=-1, keepdims=True))
    y = spreads[..., None, :] * z
    lengths = np.linalg.norm(y, axis=-1)
    scales = np.exp(omega[..., None] * v + gamma[..., None] * exposure)
    return y * (lengths ** (rho[..., None] - 1) * scales)[..., None]


def answering(numbers):
    """Slope beta, offset alpha and lapse rate pi."""
    b, k = np.exp(numbers[..., 2]), np.exp(numbers[..., 3])
    return b * (1 + k), 2 * k, expit(numbers[..., 4])


def chances(points, slope, offset, lapse, objects):
    """P(near) of each row, (..., m)."""
    rows = objects if objects.shape[1] == 4 else objects[:, [0, 1, 0, 2]]
    i, j, l, k = rows.T  # noqa: E741
    near = ((points[..., i, :] - points[..., j, :]) ** 2).sum(axis=-1)
    far = ((points[..., l, :] - points[..., k, :]) ** 2).sum(axis=-1)
    slope, offset, lapse = (np.asarray(number)[..., None] for number in (slope, offset, lapse))
    return lapse / 2 + (1 - lapse) * expit(slope * np.log((offset + far) / (offset + near)))


def log_prior(q, n, p, prior):
    z, u, v, numbers = split(q, n, p)
    total = norm.logpdf(z).sum(axis=(-2, -1)) + norm.logpdf(u).sum(axis=-1) + norm.logpdf(v).sum(axis=-1)
    centres, scales = np.array(prior.centres), np.array(prior.scales)
    total += norm.logpdf(numbers[..., :6], centres[:6], scales[:6]).sum(axis=-1)
    return total + cauchy.logpdf(numbers[..., 6], centres[6], scales[6])


def log_likelihood(q, objects, weights, exposure, n, p):
    found = chances(map_of(q, exposure, n, p), *answering(split(q, n, p).numbers), objects)
    return (np.log(found) * (weights if len(weights) else 1.0)).sum(axis=-1)


def log_density(q, objects, weights, exposure, n, p, prior):
    return log_prior(q, n, p, prior) + log_likelihood(q, objects, weights, exposure, n, p)


def prior_draws(rng, k, n, p, prior=None):
    """Draws from the prior, (k, size)."""
    prior = prior or Prior()
    numbers = np.array(prior.centres) + np.array(prior.scales) * rng.standard_normal((k, 7))
    numbers[:, 6] = prior.centres[6] + prior.scales[6] * rng.standard_cauchy(k)
    return np.hstack([rng.standard_normal((k, n * p + p + n)), numbers])
