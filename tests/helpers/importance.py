"""A posterior so small that weighted draws from the prior tell what it is."""

from typing import Any, NamedTuple

import numpy as np

from helpers import posterior_reference as reference
from nearer import Comparisons
from nearer.sampling import diagnose
from nearer.sampling.model import model_of

ROWS = [[0, 1, 2], [0, 1, 3], [1, 2, 3], [2, 3, 0], [3, 2, 1], [1, 0, 3]]
ASKED = np.array([[0, 1, 0, 3], [2, 0, 2, 1], [0, 1, 1, 2]])


class Gaps(NamedTuple):
    """Between draws and the truth, for each quantity: chances of questions, then a distance and some unknowns."""

    means: Any
    errors: Any
    deviations: Any
    variances: Any  # relative


def small_model(kind, p=1, people=False):
    """Four objects; three people, if they are told apart, do not agree."""
    quadruplets = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 1, 1, 3], [0, 1, 2, 3]]
    if people:
        quadruplets += [[2, 3, 0, 1], [0, 3, 1, 2]]
    names = ["ann", "bob", "ann", "eve", "bob", "ann"] if people else None
    if kind == "triplets":
        comparisons = Comparisons.from_triplets(ROWS, weights=[1, 2, 1, 1, 3, 1], annotators=names)
    else:
        comparisons = Comparisons.from_quadruplets(quadruplets, annotators=names)
    return model_of(comparisons, p)[0]


def quantities(model, unknowns):
    n_people, p = model.comparisons.n_annotators, model.n_components
    parts = reference.split(unknowns, 4, p, n_people)
    points = reference.map_of(unknowns, model.exposure, 4, p, n_people)
    gaps = np.log(np.linalg.norm(points[..., 0, :] - points[..., 1, :], axis=-1))
    own = [parts.steeper[..., :1], parts.careless[..., 1:2]] if n_people else []
    chances = reference.chances(points, *reference.answering(parts.numbers), ASKED)
    return np.concatenate([chances, gaps[..., None], parts.numbers[..., [2, 3, 5]], *own], axis=-1)


def gaps_to_the_truth(model, unknowns):
    """Gaps of draws, (chains, draws, size)."""
    rng, n_people = np.random.default_rng(5), model.comparisons.n_annotators
    truth = reference.prior_draws(rng, 200_000, 4, model.n_components, n_people=n_people)
    truth = truth[np.abs(truth[:, -3]) < 100]  # so far out in the Cauchy tail, one in 2600, distances overflow
    weights = np.exp(reference.log_likelihood(truth, model))
    found = []
    drawn_and_exact = np.moveaxis(quantities(model, unknowns), -1, 0), quantities(model, truth).T
    for drawn, exact in zip(*drawn_and_exact, strict=True):
        mean = np.average(exact, weights=weights)
        variance = np.average((exact - mean) ** 2, weights=weights)
        exact_error = np.sqrt(weights**2 @ (exact - mean) ** 2) / weights.sum()
        error = np.hypot(exact_error, np.sqrt(variance / diagnose(drawn).effective))
        found.append((drawn.mean() - mean, error, np.sqrt(variance), drawn.var() / variance - 1))
    return Gaps(*np.array(found).T)
