"""People: how steep and how careless each is, and how reliable that makes their answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.model.answers import answer_probability
from nearer.sampling.model import NUMBERS, Draws, Model, draws_of

_MOST_DRAWS = 100
_ENDS = (2.5, 97.5)  # percent


class Reliability(NamedTuple):
    """How often someone's answer is the one that the map gives: mean over the posterior, and its interval of 95%."""

    mean: float
    low: float
    high: float


def reliability_of(model: Model, unknowns: FloatArray, comparisons: Comparisons) -> dict[str, Reliability] | None:
    """Return the reliability of each person, over the questions that they answered; None where they are not told apart.

    Parameters
    ----------
    model : Model
    unknowns : ndarray, shape (k, size)
    comparisons : Comparisons
        That the model is of.
    """
    answers = model.answers
    if answers.n_people == 0 or comparisons.annotators is None:
        return None
    some = unknowns[np.linspace(0, len(unknowns) - 1, min(len(unknowns), _MOST_DRAWS)).astype(int)]
    draws, (slopes, lapses) = draws_of(model, some), people_of(model, some)
    i, j = answers.pairs.T
    totals = np.bincount(answers.people, answers.total_weights, answers.n_people)
    found = np.empty((len(some), answers.n_people))
    for number, points in enumerate(draws.points):
        logs = np.log(draws.offsets[number] + ((points[i] - points[j]) ** 2).sum(axis=1))
        ratios = np.abs(logs[answers.rows[:, 0]] - logs[answers.rows[:, 1]])
        odds = slopes[number][answers.people] * ratios
        chances = answers.total_weights * answer_probability(odds, lapses[number][answers.people])
        found[number] = np.bincount(answers.people, chances, answers.n_people) / totals
    names = [str(label) for label in factorize(comparisons.annotators)[0].tolist()]
    lows, highs = np.percentile(found, _ENDS, axis=0)
    columns = found.mean(axis=0).tolist(), lows.tolist(), highs.tolist()
    return {name: Reliability(*row) for name, *row in zip(names, *columns, strict=True)}


def each_as_someone(model: Model, unknowns: FloatArray, draws: Draws, rng: np.random.Generator) -> Draws:
    """Return draws in each of which someone answers, anyone as often as in the study: their mean is that of people."""
    n_people, answers = model.answers.n_people, model.answers
    if n_people == 0:
        return draws
    counts = np.bincount(answers.people, answers.total_weights, n_people)
    slopes, lapses = people_of(model, unknowns)
    someone = np.arange(len(draws)), rng.choice(n_people, size=len(draws), p=counts / counts.sum())
    return Draws(draws.points, slopes[someone], draws.offsets, lapses[someone])


class Population(NamedTuple):
    """Maps drawn from the posterior, and how the people who look at them differ.

    Attributes
    ----------
    points : ndarray, shape (k, n, p)
    offsets : ndarray, shape (k,)
    slopes, lapses : ndarray, shape (k,)
        Of the median person.
    slope_spreads, lapse_spreads : ndarray, shape (k,)
        Standard deviations over people of the logarithm of the slope and of the logit of the lapse rate; 0 where
        people are not told apart.
    """

    points: FloatArray
    offsets: FloatArray
    slopes: FloatArray
    lapses: FloatArray
    slope_spreads: FloatArray
    lapse_spreads: FloatArray


def population_of(model: Model, unknowns: FloatArray, *, people: bool) -> Population:
    """Return the maps of unknowns, (k, size), and how people differ, where the answers tell them apart."""
    draws = draws_of(model, unknowns)
    spreads = np.exp(unknowns[:, -len(NUMBERS) :].T[7:9]) * people
    return Population(draws.points, draws.offsets, draws.slopes, draws.lapses, *spreads)


def people_of(model: Model, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slope and lapse rate of each person in each draw, (k, people) each."""
    n, p, n_people = model.n_objects, model.n_components, model.answers.n_people
    first = n * p + p + n
    numbers = unknowns[:, -len(NUMBERS) :].T
    steeper = np.exp(numbers[7])[:, None] * unknowns[:, first : first + n_people]
    careless = np.exp(numbers[8])[:, None] * unknowns[:, first + n_people : first + 2 * n_people]
    slopes: FloatArray = np.exp(numbers[2][:, None] + steeper) * (1 + np.exp(numbers[3]))[:, None]
    return slopes, expit(numbers[4][:, None] + careless)
