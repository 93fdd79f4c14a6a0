"""Those who answer: slope, lapse rate, weights of the axes and map of each, drawn from the posterior.

`nearer.sampling.people` has the model of how people differ. An object that nobody asked a person about is drawn from
the prior, given the common map and how much people differ; so is all of a person who has not answered yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.labels import Labels, factorize
from nearer.model.answers import answer_probability
from nearer.sampling.model import Draws, Model, draws_of
from nearer.sampling.people import PeopleLayout

_MAX_RELIABILITY_DRAWS = 100
_INTERVAL_PERCENTILES = (2.5, 97.5)


def annotator_parameters(model: Model, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slope and lapse rate of each annotator in each draw, (k, annotators) each."""
    first, n_annotators = model.first_effect, model.comparisons.n_annotators
    hyper = model.hyperparameters(unknowns).T
    steepness = np.exp(hyper[7])[:, None] * unknowns[:, first : first + n_annotators]
    lapse = np.exp(hyper[8])[:, None] * unknowns[:, first + n_annotators : first + 2 * n_annotators]
    slopes = np.exp(hyper[2][:, None] + steepness) * (1 + np.exp(hyper[3]))[:, None]
    return slopes, expit(hyper[4][:, None] + lapse)


def axis_spreads(model: Model, unknowns: FloatArray) -> FloatArray:
    """Return the spreads of the axes in each draw, (k, p)."""
    first = model.n_objects * model.n_components
    spreads = np.exp(np.exp(model.hyperparameters(unknowns)[:, :1]) * unknowns[:, first : first + model.n_components])
    return np.asarray(spreads / np.linalg.norm(spreads, axis=1, keepdims=True))


def draw_annotator_effects(model: Model, unknowns: FloatArray, draws: Draws, rng: np.random.Generator) -> Draws:
    """Return draws each with the answer model of a random annotator, by their shares of the answers."""
    comparisons, n_annotators = model.comparisons, model.comparisons.n_annotators
    if n_annotators == 0:
        return draws
    counts = np.bincount(comparisons.annotators, comparisons.total_weights, n_annotators)
    slopes, lapses = annotator_parameters(model, unknowns)
    drawn = np.arange(len(draws)), rng.choice(n_annotators, size=len(draws), p=counts / counts.sum())
    return Draws(draws.points, slopes[drawn], draws.offsets, lapses[drawn])


def _log_ratios(model: Model, unknowns: FloatArray, some: NDArray[np.integer] | slice) -> Iterator[FloatArray]:
    """Yield for each draw log((far + offset) / (near + offset)) of some rows, by the map of who answered, (m,)."""
    from nearer.optimize.kernels import posterior

    common, pairs, rows = draws_of(model, unknowns), model.comparisons.pairs, model.comparisons.rows
    if model.people is not None:
        pairs, rows, layout, p = model.people.pairs, model.people.rows, model.people.layout, model.n_components
        axes, n_places = axis_spreads(model, unknowns), len(layout.objects)
        factors, departures, places = np.empty((layout.n_people, p)), np.empty((n_places, p)), np.empty((n_places, p))
    i, j = pairs.T
    near, far = rows[some].T
    for k, points in enumerate(common.points):
        if model.people is not None:
            of_people = unknowns[k, model.first_of_people :]
            posterior.place_people(of_people, tuple(layout), axes[k], points, factors, departures, places)
            points = places
        logs = np.log(common.offsets[k] + ((points[i] - points[j]) ** 2).sum(axis=1))
        yield logs[far] - logs[near]


def answer_probabilities(model: Model, unknowns: FloatArray, some: NDArray[np.integer]) -> FloatArray:
    """Return the probability of some of the model's answers in each draw, (k, m), by the map of who gave them."""
    slopes, lapses = annotator_parameters(model, unknowns)
    whose = model.comparisons.annotators[some]
    ratios = np.array(list(_log_ratios(model, unknowns, some)))
    return np.asarray(answer_probability(slopes[:, whose] * ratios, lapses[:, whose]))


class Reliability(NamedTuple):
    """How often an annotator's answer agrees with the map: mean over the posterior, and its 95% interval."""

    mean: float
    low: float
    high: float


def annotator_reliability(
    model: Model, unknowns: FloatArray, comparisons: Comparisons
) -> dict[str, Reliability] | None:
    """Return the reliability of each annotator over the questions they answered; None if not distinguished."""
    distinct, n_annotators = model.comparisons, model.comparisons.n_annotators
    if n_annotators == 0 or comparisons.annotators is None:
        return None
    n_draws = min(len(unknowns), _MAX_RELIABILITY_DRAWS)
    some = unknowns[np.linspace(0, len(unknowns) - 1, n_draws).astype(int)]
    slopes, lapses = annotator_parameters(model, some)
    totals = np.bincount(distinct.annotators, distinct.total_weights, n_annotators)
    found = np.empty((len(some), n_annotators))
    for number, ratios in enumerate(_log_ratios(model, some, slice(None))):
        odds = slopes[number][distinct.annotators] * np.abs(ratios)
        agreement = distinct.total_weights * answer_probability(odds, lapses[number][distinct.annotators])
        found[number] = np.bincount(distinct.annotators, agreement, n_annotators) / totals
    names = [str(label) for label in factorize(comparisons.annotators)[0].tolist()]
    lows, highs = np.percentile(found, _INTERVAL_PERCENTILES, axis=0)
    columns = found.mean(axis=0).tolist(), lows.tolist(), highs.tolist()
    return {name: Reliability(*row) for name, *row in zip(names, *columns, strict=True)}


@dataclass(frozen=True, eq=False)
class PeopleDraws:
    """How people differ from the common map in each draw.

    Attributes
    ----------
    labels : ndarray of labels, shape (people,)
    slopes, lapses : ndarray, shape (k, people)
    spreads : ndarray, shape (k, 2)
        Standard deviations over people: of logarithms of weights, and of departures relative to the size of the map.
    axes : ndarray, shape (k, p)
        The spreads of the axes of the common map.
    log_weights : ndarray, shape (k, people, p)
        No rows where people have the same weights.
    people, objects : ndarray of int, shape (s,)
        Person and object of each place that answers are about.
    departures : ndarray, shape (k, s, p)
        Of these places from the common map, as multiples of the spreads; no rows where people share a map.
    new_slopes, new_lapses : ndarray, shape (k,)
        Those of a new person, drawn from the population.
    """

    labels: Labels
    slopes: FloatArray
    lapses: FloatArray
    spreads: FloatArray
    axes: FloatArray
    log_weights: FloatArray
    people: NDArray[np.int32]
    objects: NDArray[np.int32]
    departures: FloatArray
    new_slopes: FloatArray
    new_lapses: FloatArray

    @classmethod
    def of(
        cls,
        model: Model,
        unknowns: FloatArray,
        labels: Labels,
        compared: NDArray[np.integer],
        rng: np.random.Generator,
    ) -> PeopleDraws:
        """Return what unknowns, (k, size), say of people; ``compared`` are the positions of the model's objects."""
        k, p = len(unknowns), model.n_components
        layout = PeopleLayout.empty() if model.people is None else model.people.layout
        n_people, n_maps, first = layout.n_people, layout.n_maps, model.first_of_people
        last = first + n_people * p
        spreads = np.exp(model.people_numbers(unknowns)) if n_people else np.zeros((k, 2))
        spreads[:, 1] *= n_maps > 0
        hyper = model.hyperparameters(unknowns).T
        of_new = np.exp(hyper[7:9]) * rng.standard_normal((2, k)) + hyper[[2, 4]]
        return cls(
            labels,
            *annotator_parameters(model, unknowns),
            spreads,
            axis_spreads(model, unknowns),
            spreads[:, :1, None] * unknowns[:, first:last].reshape(k, n_people, p),
            layout.whose,
            compared[layout.objects].astype(np.int32),
            unknowns[:, last : last + n_maps * p].reshape(k, n_maps, p),
            np.exp(of_new[0]) * (1 + np.exp(hyper[3])),
            expit(of_new[1]),
        )

    @property
    def share_weights(self) -> bool:
        """Whether people differ in noise alone."""
        return self.log_weights.shape[1] == 0

    @property
    def share_map(self) -> bool:
        """Whether people differ in noise and in weights alone."""
        return self.departures.shape[1] == 0

    def draws_of(self, common: Draws, person: int | None, rng: np.random.Generator) -> Draws:
        """Return the maps of a person, or of a new one in each draw where it is None, with that person's noise."""
        (k, n, p), points = common.points.shape, common.points
        slopes, lapses = self.new_slopes, self.new_lapses
        if person is not None:
            slopes, lapses = self.slopes[:, person], self.lapses[:, person]
        if not self.share_map:
            own = rng.standard_normal((k, n, p))
            if person is not None:
                places = np.flatnonzero(self.people == person)
                own[:, self.objects[places]] = self.departures[:, places]
            points = points + (self.spreads[:, 1:] * self.axes)[:, None] * own
        if not self.share_weights:
            logs = self.spreads[:, :1] * rng.standard_normal((k, p)) if person is None else self.log_weights[:, person]
            points = points * np.exp(logs / 2)[:, None]
        return Draws(points, slopes, common.offsets, lapses)


class Population(NamedTuple):
    """Maps drawn from the posterior, and how the annotators who look at them differ."""

    points: FloatArray  # (k, n, p)
    offsets: FloatArray  # (k,)
    slopes: FloatArray  # (k,): of the median annotator
    lapses: FloatArray  # (k,)
    slope_spreads: FloatArray  # (k,): deviation of its logarithm over annotators; 0 where they are not distinguished
    lapse_spreads: FloatArray  # (k,): of its logit, likewise


def population_of(model: Model, unknowns: FloatArray, *, by_annotator: bool) -> Population:
    """Return the maps of unknowns, (k, size), and how annotators differ, if the answers distinguish them."""
    draws = draws_of(model, unknowns)
    spreads = np.exp(model.hyperparameters(unknowns).T[7:9]) * by_annotator
    return Population(draws.points, draws.offsets, draws.slopes, draws.lapses, *spreads)
