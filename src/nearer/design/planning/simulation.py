"""One simulated study: a true map, people who look at it, and what they answer.

The distance that a person feels for a pair is d2^s times an error exp(-g), g drawn from Gumbel's distribution anew for
each pair and answer. The difference of two such errors is logistic, so that for two pairs

    P(right) = 1 / (1 + (d2(near) / d2(far))^s),

and the nearest of many pairs is chosen with probability in proportion to d2^-s (Luce's rule). Only ratios of distances
count: the map has no scale. The slope s is set so that the share of wrong comparisons is the noise of the study.

A person may also lapse, and then answers at random, whatever is shown. With an offset, d2 + alpha in place of d2, that
is the model of `PosteriorEmbedding`, from which a study that goes on after a pilot draws its map and its people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_far_codes, trial_indices
from nearer.datasets.synthetic import distinct_rows
from nearer.design.planning.design import Design
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import pair_distances

Bools = NDArray[np.bool_]

_SPREAD = 0.5  # of the logarithm of the slope, or of the rate of guessing, between people
_TRIED = 20_000  # answers by which slopes are set
_LEAST, _MOST = -8.0, 12.0  # logarithms of the slope


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers, and the m comparisons that follow from them.

    Attributes
    ----------
    rows : ndarray of int, shape (m, 4)
        Near pair and far pair.
    right : ndarray of bool, shape (m,)
        Whether a comparison is true of the map.
    answer_of : ndarray of int, shape (m,)
        Number of the answer that a comparison follows from, ascending from 0.
    weights : ndarray, shape (m,)
    n_objects : int
    """

    rows: NDArray[np.integer]
    right: Bools
    answer_of: NDArray[np.intp]
    weights: FloatArray
    n_objects: int

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return int(self.answer_of[-1]) + 1

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons; those of one answer share a trial."""
        several = len(self.rows) > self.n_answers
        one_anchor = bool((self.rows[:, 0] == self.rows[:, 2]).all())
        make = Comparisons.from_triplets if one_anchor else Comparisons.from_quadruplets
        return make(
            self.rows[:, [0, 1, 3]] if one_anchor else self.rows,
            weights=None if (self.weights == 1).all() else self.weights,
            trials=self.answer_of if several else None,
            n_objects=self.n_objects,
        )

    def part(self, start: int, stop: int | None = None) -> Asked:
        """Return the answers from one number up to another."""
        low, high = np.searchsorted(self.answer_of, [start, self.n_answers if stop is None else stop])
        rows = slice(int(low), int(high))
        return Asked(
            self.rows[rows], self.right[rows], self.answer_of[rows] - start, self.weights[rows], self.n_objects
        )


def joined(parts: Sequence[Asked]) -> Asked:
    """Return answers one after the other, in one copy of all of them."""
    before = np.cumsum([0, *(part.n_answers for part in parts)])
    return Asked(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.answer_of + first for part, first in zip(parts, before[:-1], strict=True)]),
        np.concatenate([part.weights for part in parts]),
        parts[0].n_objects,
    )


def shared_weights(answer_of: NDArray[np.intp]) -> FloatArray:
    """Return the weight of each row, (m,): all rows of one answer share a weight of 1."""
    weights: FloatArray = 1 / np.bincount(answer_of)[answer_of]
    return weights


@dataclass(frozen=True, eq=False)
class World:
    """The true map of one study and the people in it.

    Attributes
    ----------
    design : Design
    points : ndarray, shape (n, p)
    slopes : ndarray, shape (annotators,)
        s in the module's formula, of each person; infinite for people who err only by guessing.
    lapses : ndarray, shape (annotators,)
        How often each answers at random.
    offset : float
        alpha in the module's formula.
    """

    design: Design
    points: FloatArray
    slopes: FloatArray
    lapses: FloatArray
    offset: float = 0.0

    def log_distances(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> FloatArray:
        """Return logarithms of squared distances of pairs plus the offset, of the shape of the indices."""
        tiny = np.finfo(np.float64).tiny
        distances = pair_distances(self.points, first.ravel(), second.ravel()) + self.offset
        return np.log(np.maximum(distances, tiny)).reshape(first.shape)

    def felt(self, distances: FloatArray, answer_of: NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
        """Return felt distances, whose order is the answer, from true ones of shape (rows, pairs).

        Rows of one answer have one person, who guesses all of them or none.
        """
        n_answers = int(answer_of.max()) + 1
        person = rng.integers(len(self.slopes), size=n_answers)
        felt = distances
        if np.isfinite(self.slopes).all():
            felt = self.slopes[person][answer_of][:, None] * distances - rng.gumbel(size=distances.shape)
        if not self.lapses.any():
            return felt
        guessed = rng.random(n_answers) < self.lapses[person]
        return np.where(guessed[answer_of][:, None], rng.random(distances.shape), felt)

    def share_wrong(self, distances: FloatArray, rng: np.random.Generator) -> float:
        """Return the share of wrong comparisons in answers about true distances, shape (answers, pairs)."""
        if distances.shape[1] == 2:
            person = rng.integers(len(self.slopes), size=len(distances))
            odds = -self.slopes[person] * np.abs(distances[:, 0] - distances[:, 1])
            return float(np.mean(answer_probability(odds, self.lapses[person])))
        order = np.argsort(self.felt(distances, np.arange(len(distances)), rng), axis=1)
        near, far = (np.take_along_axis(distances, order[:, ranks], 1) for ranks in self.design.ranks.T)
        return float(np.mean(near > far))

    def draw_pairs(
        self, n_answers: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Draw what is shown: both objects of each pair, and the logarithm of its squared distance."""
        seen = distinct_rows(n_answers, self.design.n_seen, self.design.n_objects, rng)
        first, second = seen[:, self.design.pairs[:, 0]], seen[:, self.design.pairs[:, 1]]
        return first, second, self.log_distances(first, second)

    def pairs_of(self, questions: Comparisons) -> FloatArray:
        """Return logarithms of squared distances of both pairs of comparisons as written, shape (m, 2)."""
        rows = questions.quadruplets
        return self.log_distances(rows[:, [0, 2]], rows[:, [1, 3]])

    def ask(self, n_answers: int, rng: np.random.Generator) -> Asked:
        """Ask random questions of the kind of the study, which may repeat."""
        first, second, distances = self.draw_pairs(n_answers, rng)
        order = np.argsort(self.felt(distances, np.arange(n_answers), rng), axis=1)
        near, far = order[:, self.design.ranks[:, 0]], order[:, self.design.ranks[:, 1]]
        columns = [np.take_along_axis(side, rank, 1).ravel() for rank in (near, far) for side in (first, second)]
        right = np.take_along_axis(distances, near, 1) <= np.take_along_axis(distances, far, 1)
        answer_of = np.repeat(np.arange(n_answers), near.shape[1])
        weights = shared_weights(answer_of)
        return Asked(np.column_stack(columns), right.ravel(), answer_of, weights, self.design.n_objects)

    def answered(self, answers: Comparisons, rng: np.random.Generator) -> Asked:
        """Return answers that are there, in random order, and which of their comparisons are true of this map."""
        answer_of = trial_indices(answers)
        answer_of = rng.permutation(int(answer_of.max()) + 1)[answer_of]
        weights = shared_weights(answer_of) if answers.weights is None else answers.sample_weight
        order = np.argsort(answer_of, kind="stable")
        i, j, l, k = rows = answers.oriented[order].T  # noqa: E741
        right = self.log_distances(i, j) <= self.log_distances(l, k)
        return Asked(rows.T, right, answer_of[order], weights[order], self.design.n_objects)

    def ask_again(self, questions: Comparisons, rng: np.random.Generator) -> Asked:
        """Ask the questions of given comparisons, in random order; a trial is one answer."""
        answer_of = trial_indices(questions)
        answer_of = rng.permutation(int(answer_of.max()) + 1)[answer_of]
        order = np.argsort(answer_of, kind="stable")
        answer_of, rows = answer_of[order], questions.quadruplets[order]
        # One pair first, whichever was written first: errors are drawn in that order.
        first, second = near_far_codes(rows, questions.n_objects)
        rows = np.where((first > second)[:, None], rows[:, [2, 3, 0, 1]], rows)
        distances = self.log_distances(rows[:, [0, 2]], rows[:, [1, 3]])
        felt = self.felt(distances, answer_of, rng)
        if questions.trials is not None:
            # Within an answer a pair is felt once, in whatever rows it comes.
            keys = np.column_stack([np.repeat(answer_of, 2), np.sort(rows.reshape(-1, 2), axis=1)])
            _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            felt = felt.ravel()[index][inverse.ravel()].reshape(-1, 2)
        turned = felt[:, 0] > felt[:, 1]
        rows = np.where(turned[:, None], rows[:, [2, 3, 0, 1]], rows)
        right = turned == (distances[:, 0] > distances[:, 1])
        return Asked(rows, right, answer_of, shared_weights(answer_of), self.design.n_objects)


def make_world(design: Design, rng: np.random.Generator, questions: Comparisons | None = None) -> World:
    """Draw a true map and people; set their slopes by random questions, or those given.

    Examples
    --------
    >>> world = make_world(Design(30, 2, noise=0.1), np.random.default_rng(0))
    >>> bool(abs(1 - world.ask(10_000, np.random.default_rng(1)).right.mean() - 0.1) < 0.01)
    True
    """
    scales = np.arange(1, design.n_components + 1) ** (-design.decay / 2)
    points = rng.normal(size=(design.n_objects, design.n_components)) * scales
    skills = np.exp(_SPREAD * rng.normal(size=1 if design.n_annotators is None else design.n_annotators))
    skills = np.ones(1) if design.n_annotators is None else skills
    never = np.zeros(len(skills))
    if design.noise == 0 or design.noise_model == "guesses":
        # A random order is wrong about half of all comparisons: guessing twice the noise makes it the share of errors.
        return World(design, points, np.full(len(skills), np.inf), capped_rates(1 / skills, 2 * design.noise))
    world = World(design, points, skills, never)
    distances = world.pairs_of(questions) if questions is not None else world.draw_pairs(_TRIED, rng)[2]
    seed = int(rng.integers(2**62))
    low, high = _LEAST, _MOST
    for _ in range(24):
        middle = (low + high) / 2
        tried = replace(world, slopes=skills * np.exp(middle))
        # The same errors at any sharpness make the share of wrong answers monotone.
        wrong = tried.share_wrong(distances, np.random.default_rng(seed))
        low, high = (middle, high) if wrong > design.noise else (low, middle)
    return replace(world, slopes=skills * np.exp((low + high) / 2))


def capped_rates(sizes: FloatArray, mean: float) -> FloatArray:
    """Return rates of this mean in proportion to positive sizes, but for those that are 1, the largest there is.

    Parameters
    ----------
    sizes : ndarray, shape (k,)
    mean : float in [0, 1)

    Examples
    --------
    >>> capped_rates(np.array([1.0, 2.0, 9.0]), 0.5).tolist()
    [0.16666666666666666, 0.3333333333333333, 1.0]
    """
    rates: FloatArray = sizes * (mean / sizes.mean())
    while (rates > 1).any():
        full = rates >= 1
        # What is cut off falls to the others, of whom some may then be full as well.
        left = mean * len(sizes) - full.sum()
        rates = np.where(full, 1.0, sizes * (left / sizes[~full].sum()))
    return rates
