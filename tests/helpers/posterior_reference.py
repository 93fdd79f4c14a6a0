"""The model of `nearer.sampling.model` in plain NumPy, written from its docstring; of one vector q or of many."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import cauchy, norm

from nearer.sampling.model import DistinctComparisons, Model, Prior


class Unknowns(NamedTuple):
    z: Any
    u: Any
    v: Any
    steeper: Any
    careless: Any
    numbers: Any


def model_about(rows, n, p, *, weights=(), people=None, exposure=None, prior=None):
    """A model of triplets or quadruplets as they are, row by row; ``people`` must be in order."""
    rows = np.asarray(rows)
    rows = np.sort((rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]).reshape(-1, 2, 2), axis=2)
    pairs, which = np.unique(rows.reshape(-1, 2), axis=0, return_inverse=True)
    n_people = 0 if people is None else int(max(people)) + 1
    people = np.zeros(len(rows), np.int32) if people is None else np.asarray(people, np.int32)
    which = which.reshape(-1, 2).astype(np.int32)
    answers = DistinctComparisons(pairs.astype(np.int32), which, np.asarray(weights, float), people, n_people)
    return Model(np.zeros(n) if exposure is None else exposure, -1.0, p, prior or Prior(), answers)


def split(q, n, p, n_people=0):
    """Coordinates (..., n, p), axes (..., p), scales (..., n), two numbers a person, and the nine numbers (..., 9)."""
    parts = np.split(q, np.cumsum([n * p, p, n, n_people, n_people]), axis=-1)
    return Unknowns(parts[0].reshape(*q.shape[:-1], n, p), *parts[1:])


def map_of(q, exposure, n, p, n_people=0):
    z, u, v, _, _, numbers = split(q, n, p, n_people)
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
    """Slope beta, offset alpha and lapse rate pi, of someone as people are in the middle."""
    b, k = np.exp(numbers[..., 2]), np.exp(numbers[..., 3])
    return b * (1 + k), 2 * k, expit(numbers[..., 4])


def answering_of_people(unknowns):
    """Slope and lapse rate of each person, (..., people): the logarithm and the logit are normal around the common."""
    slope, _, _ = answering(unknowns.numbers)
    spreads = np.exp(unknowns.numbers[..., 7:9])
    slopes = slope[..., None] * np.exp(spreads[..., :1] * unknowns.steeper)
    return slopes, expit(unknowns.numbers[..., 4:5] + spreads[..., 1:] * unknowns.careless)


def chances(points, slope, offset, lapse, objects):
    """P(near) of each row, (..., m); slope and lapse may be those of each row."""
    rows = objects if objects.shape[1] == 4 else objects[:, [0, 1, 0, 2]]
    i, j, l, k = rows.T  # noqa: E741
    near = ((points[..., i, :] - points[..., j, :]) ** 2).sum(axis=-1)
    far = ((points[..., l, :] - points[..., k, :]) ** 2).sum(axis=-1)
    slope, offset, lapse = (
        np.asarray(number) if np.ndim(number) == near.ndim else np.asarray(number)[..., None]
        for number in (slope, offset, lapse)
    )
    return lapse / 2 + (1 - lapse) * expit(slope * np.log((offset + far) / (offset + near)))


def log_prior(q, n, p, prior, n_people=0):
    unknowns = split(q, n, p, n_people)
    total = norm.logpdf(unknowns.z).sum(axis=(-2, -1))
    for standard in unknowns[1:5]:
        total += norm.logpdf(standard).sum(axis=-1)
    for number, (centre, scale) in enumerate(zip(prior.centers, prior.scales, strict=True)):
        shape = cauchy if number == 6 else norm
        total += shape.logpdf(unknowns.numbers[..., number], centre, scale)
    return total


def log_likelihood(q, model):
    answers, n, p = model.comparisons, model.n_objects, model.n_components
    unknowns = split(q, n, p, answers.n_annotators)
    slope, offset, lapse = answering(unknowns.numbers)
    if answers.n_annotators:
        slope, lapse = (of[..., answers.annotators] for of in answering_of_people(unknowns))
    points = map_of(q, model.exposure, n, p, answers.n_annotators)
    found = chances(points, slope, offset, lapse, answers.pairs[answers.rows].reshape(-1, 4))
    return (np.log(found) * (answers.weights if len(answers.weights) else 1.0)).sum(axis=-1)


def log_density(q, model):
    n_people = model.comparisons.n_annotators
    return log_prior(q, model.n_objects, model.n_components, model.prior, n_people) + log_likelihood(q, model)


def prior_draws(rng, k, n, p, prior=None, n_people=0):
    """Draws from the prior, (k, size)."""
    prior = prior or Prior()
    numbers = np.array(prior.centers) + np.array(prior.scales) * rng.standard_normal((k, len(prior.centers)))
    numbers[:, 6] = prior.centers[6] + prior.scales[6] * rng.standard_cauchy(k)
    return np.hstack([rng.standard_normal((k, n * p + p + n + 2 * n_people)), numbers])
