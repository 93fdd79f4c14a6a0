"""Simulation-based calibration of the model of people (Talts, Betancourt, Simpson, Vehtari and Gelman 2018).

Where the truth is drawn from the prior and answers from the truth, the rank of the truth among draws from the posterior
is uniform, for every quantity. Axes may be numbered in any order and have either sign, so quantities do not depend on
that. With 110 studies,

    python -m benchmarks.validity.calibration 110

tests this by chi-square of ten bins of the ranks, and prints them.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import NamedTuple

import joblib
import numpy as np
from scipy.stats import chisquare

from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.sampling import Microcanonical
from nearer.sampling.annotators import PeopleDraws, annotator_parameters, answer_probabilities
from nearer.sampling.microcanonical import sample_until_converged
from nearer.sampling.model import HYPERPARAMETERS, Model, draws_of, model_of

N_OBJECTS, N_PEOPLE, N_ANSWERS, N_AXES = 10, 8, 60, 2
N_BINS = 10
_PAIRS = ((0, 1), (2, 3), (4, 5))


def study(rng: np.random.Generator, people: str) -> tuple[Model, FloatArray, Model]:
    """Return a model, unknowns drawn from its prior, (size,), and the model of answers that these give."""
    every = np.array([(a, b, a, c) for a, b, c in product(range(N_OBJECTS), repeat=3) if c < b and a not in (b, c)])
    rows = np.concatenate([rng.permutation(every)[:N_ANSWERS] for _ in range(N_PEOPLE)])
    asked = Comparisons.from_quadruplets(rows, annotators=np.repeat(np.arange(N_PEOPLE), N_ANSWERS))
    model, _ = model_of(asked, N_AXES, people=people)
    truth = model.draw_prior(1, rng)
    exposure = HYPERPARAMETERS.index("exposure")
    model.hyperparameters(truth)[0, exposure] = model.prior.scales[exposure] * rng.standard_cauchy()
    distinct = model.comparisons
    chances = answer_probabilities(model, truth, np.arange(len(distinct)))[0]
    y = np.where(rng.random(len(chances)) < chances, 1, -1)
    answers = Comparisons.from_quadruplets(distinct.quadruplets, y, annotators=distinct.annotators)
    answered, _ = model_of(answers, N_AXES, people=people)
    return model, truth[0], answered


class Quantities(NamedTuple):
    """Numbers of which each draw has one, (k,)."""

    names: list[str]
    values: FloatArray  # (quantities, k)


def quantities(model: Model, unknowns: FloatArray) -> Quantities:
    """Return what does not depend on how axes are numbered."""
    common = draws_of(model, unknowns)
    people = PeopleDraws.of(model, unknowns, np.arange(N_PEOPLE), np.arange(N_OBJECTS), np.random.default_rng(0))
    slopes, lapses = annotator_parameters(model, unknowns)
    hyper = dict(zip(HYPERPARAMETERS, model.hyperparameters(unknowns).T, strict=True))
    found: dict[str, FloatArray] = {f"distance {a}-{b}": _squares(common.points, a, b) for a, b in _PAIRS}
    found["ratio of distances"] = found["distance 0-1"] / found["distance 2-3"]
    found["spread of weights"] = people.spreads[:, 0]
    if not people.share_map:
        found["spread of maps"] = people.spreads[:, 1]
    for person in (0, 1):
        logs = people.log_weights[:, person]
        found[f"weights of {person}"] = np.abs(logs[:, 0] - logs[:, 1])
        own = people.draws_of(common, person, np.random.default_rng(0)).points
        found[f"ratio of distances of {person}"] = _squares(own, 0, 1) / _squares(own, 2, 3)
        found[f"slope of {person}"], found[f"lapse rate of {person}"] = slopes[:, person], lapses[:, person]
    for name in ("steepness", "kernel", "lapse", "steepness_spread", "lapse_spread", "unevenness"):
        found[name] = hyper[name]
    return Quantities(list(found), np.array(list(found.values())))


def _squares(points: FloatArray, a: int, b: int) -> FloatArray:
    """Return squared distances relative to the size of each map, which answers do not determine, (k,)."""
    size = points.var(axis=1).sum(axis=1)
    return np.asarray(np.square(points[:, a] - points[:, b]).sum(axis=1) / size)


def ranks(number: int, people: str) -> tuple[list[str], FloatArray]:
    """Return the names of the quantities, and the share of draws below the truth for each, of one study."""
    rng = np.random.default_rng(np.random.SeedSequence([len(people), number]))
    model, truth, answered = study(rng, people)
    seed = np.random.SeedSequence(int(rng.integers(2**31)))
    drawn = sample_until_converged(answered, Microcanonical(), [], seed, 1, silent=True)
    names, values = quantities(answered, drawn.unknowns.reshape(-1, answered.size))
    true = quantities(model, truth[None]).values
    return names, np.asarray(((values < true).mean(axis=1) + (values <= true).mean(axis=1)) / 2)


def main(n_studies: int, n_jobs: int) -> None:
    """Print the ranks in bins, and the chi-square test of each quantity."""
    for people in ("weights", "maps"):
        calls = (joblib.delayed(ranks)(number, people) for number in range(n_studies))
        found = joblib.Parallel(n_jobs=n_jobs)(calls)
        names = found[0][0]
        table = np.array([each for _, each in found]).T
        print(f"people={people!r}, {n_studies} studies: ranks in tenths, p-value of chi-square")
        for name, of_studies in zip(names, table, strict=True):
            counts = np.histogram(of_studies, N_BINS, (0, 1))[0]
            print(f"{name:<26}{' '.join(f'{count:3d}' for count in counts)}   {chisquare(counts).pvalue:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
