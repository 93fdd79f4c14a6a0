"""Answers of people who weigh the axes of one map differently."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from nearer import Comparisons


class Planted(NamedTuple):
    """The map, logarithms of weights relative to their means over axes and people, and the answers."""

    points: np.ndarray
    log_weights: np.ndarray
    comparisons: Comparisons


def planted_weights(log_weights, n_answers, n_objects=20, errors=0.12, seed=0):
    """Return answers with logistic noise on the margins of each person, of which a share are against the truth."""
    rng = np.random.default_rng([seed, 17])
    n_people, p = log_weights.shape
    points = rng.normal(size=(n_objects, p))
    person = np.repeat(np.arange(n_people), n_answers)
    rows = np.array([rng.choice(n_objects, 3, replace=False) for _ in person])
    weights = np.exp(log_weights)[person]
    near, far = (((points[rows[:, 0]] - points[rows[:, side]]) ** 2 * weights).sum(axis=1) for side in (1, 2))
    steep = np.exp(brentq(lambda log: expit(-np.exp(log) * np.abs(far - near)).mean() - errors, -10, 10))
    y = rng.random(len(rows)) < expit(steep * (far - near))
    profile = log_weights - log_weights.mean(axis=1, keepdims=True)
    names = np.array([f"p{number:02d}" for number in range(n_people)])[person]
    comparisons = Comparisons.from_triplets(rows, y, annotators=names, n_objects=n_objects)
    return Planted(points, profile - profile.mean(axis=0), comparisons)
