"""Simulated studies: the design of a study, a true map with annotators, and their answers.

Every way of asking comes down to one rule. An answer is about some *pairs* of objects; the annotator perceives a
distance for each and orders the pairs by it; the answer reveals part of that order: which *ranks* are nearer than
which. The odd one of three reveals that the first pair comes before the others, the most central of three that the
third comes after them; a ranking reveals it all.

The distance perceived is d2^s times an error exp(-g), with g drawn from Gumbel's distribution for each pair and answer.
The difference of two such errors is logistic, so that for two pairs

    P(correct) = 1 / (1 + (d2(near) / d2(far))^s),

and the nearest of many pairs is chosen with probability in proportion to d2^-s (Luce's rule). Only ratios of distances
matter: the map has no scale. The slope s is set so that the share of wrong comparisons is the noise of the study.

An annotator may also lapse, and then guesses, whatever is shown. With an offset, d2 + alpha in place of d2, that is the
model of `PosteriorEmbedding`, from which a study that continues a pilot draws its map and its annotators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize
from nearer._common.parameters import check_integer
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_far_codes, trial_indices
from nearer.datasets.synthetic import distinct_rows
from nearer.io.answers import Kind
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import pair_distances

NoiseModel: TypeAlias = Literal["close-calls", "guesses"]
Against: TypeAlias = Literal["answers", "truth"]

DECAY = 2.0  # principal variances of maps of seven real sets fell as k^-1.1 by t-STE, k^-2.6 by CKL, in the median
MAX_COMPARISONS = 10_000_000  # more take hours, and gigabytes
_GRID_KINDS = ("grid", "ranked-grid")
_MAX_COUNTS = {"n_objects": 100_000, "n_components": 1000, "n_annotators": 1_000_000, "n_shown": 50, "n_chosen": 50}
_ANNOTATOR_SPREAD = 0.5  # of the logarithm of the slope, or of the rate of guessing
_N_CALIBRATION = 20_000  # answers by which slopes are set
_LOG_SLOPE_RANGE = -8.0, 12.0


@dataclass(frozen=True)
class Design:
    """The design of a study: its objects, the annotators and how they are asked.

    Attributes
    ----------
    n_objects, n_components : int
        n objects, whose true map has p dimensions.
    noise : float in [0, 0.5)
        Share of comparisons that are answered wrongly. `estimate_noise` estimates it from a pilot study.
    kind : str
        How people are asked, as in `nearer.io.Answers`.
    noise_model : {"close-calls", "guesses"}
        Whether a question is answered correctly with probability 1 / (1 + (d2(near) / d2(far))^s), where s follows from
        the noise, or twice as many answers as are wrong are guesses, whatever the distances.
    decay : float >= 0
        The true points are Gaussian, and their k-th principal variance is k^-decay. 0 is an isotropic cloud, which
        needs the most answers. Maps of real answers had 0.3 to 3.7.
    n_annotators : int, optional
        The slope of each, or the rate of guessing, is lognormal with a spread of one half. All alike if left out.
    n_shown, n_chosen : int, optional
        Objects in addition to the anchor in a ranking (3) or grid (6), and how many of these are chosen in a grid (2).

    Examples
    --------
    >>> Design(30, 2, kind="ranking", n_shown=4).comparisons_per_answer
    6
    """

    n_objects: int
    n_components: int
    noise: float = 0.1
    kind: Kind = "triplet"
    noise_model: NoiseModel = "close-calls"
    decay: float = DECAY
    n_annotators: int | None = None
    n_shown: int | None = None
    n_chosen: int | None = None

    def __post_init__(self) -> None:
        for name, most in _MAX_COUNTS.items():
            value = getattr(self, name)
            if value is not None or name in ("n_objects", "n_components"):
                check_integer(name, value, 1, most)
        for name, known in (("kind", get_args(Kind)), ("noise_model", get_args(NoiseModel))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(known)}")
        if not 0 <= self.noise < 0.5:
            raise ValueError(f"noise={self.noise} must be in [0, 0.5): one half is guessing")
        if not (np.isfinite(self.decay) and self.decay >= 0):
            raise ValueError(f"decay={self.decay} must be 0 or more")
        shown, chosen = self.shown_and_chosen
        if (self.n_shown or self.n_chosen) is not None and self.kind not in ("ranking", *_GRID_KINDS):
            raise ValueError(f"n_shown and n_chosen are for rankings and grids; a {self.kind} has no choice of them")
        if self.n_chosen is not None and self.kind == "ranking":
            raise ValueError("a ranking has no n_chosen; all objects shown are put in order")
        if not 1 <= chosen < shown:
            raise ValueError(f"n_chosen={chosen} of n_shown={shown}: at least one is chosen and one is not")
        if self.n_objects < self.question_width:
            raise ValueError(
                f"one {self.kind} question shows {self.question_width} objects, but n_objects={self.n_objects}; take "
                "more objects"
            )
        if self.n_components >= self.n_objects:
            raise ValueError(
                f"{pluralize(self.n_objects, 'object')} have a map of {self.n_objects - 1} dimensions at most, "
                f"got {self.n_components}; take fewer (--dimensions, n_components)"
            )

    def check_answers(self, n_answers: int, name: str = "n_answers") -> None:
        """Check that a number of answers can be simulated."""
        check_integer(name, n_answers, 1, MAX_COMPARISONS // self.comparisons_per_answer)

    def __str__(self) -> str:
        model = "most of them close calls" if self.noise_model == "close-calls" else "guessed whatever the distances"
        shape = "all axes alike" if self.decay == 0 else f"the k-th axis has a variance of k^-{self.decay:g}"
        wrong = f"{percent(self.noise)} of them wrong, {model}" if self.noise else "none of them wrong"
        return f"{self.of_objects} ({shape}), with {self.kind} answers, {wrong}"

    @property
    def of_objects(self) -> str:
        """Objects and dimensions in words."""
        return f"of {pluralize(self.n_objects, 'object')} in {pluralize(self.n_components, 'dimension')}"

    @property
    def shown_and_chosen(self) -> tuple[int, int]:
        """Objects shown in addition to the anchor, and how many are chosen."""
        shown = (6 if self.kind in _GRID_KINDS else 3) if self.n_shown is None else self.n_shown
        return shown, 2 if self.n_chosen is None and self.kind in _GRID_KINDS and shown > 2 else self.n_chosen or 1

    @property
    def question_width(self) -> int:
        """How many objects one question shows."""
        return int(self.pairs.max()) + 1

    @property
    def pairs(self) -> NDArray[np.intp]:
        """The pairs of shown objects that are ordered by their distances, (pairs, 2)."""
        if self.kind == "quadruplet":
            return np.array([[0, 1], [2, 3]])
        if self.kind in ("odd-one-out", "most-central"):
            return np.array([[0, 1], [0, 2], [1, 2]])
        others = 2 if self.kind == "triplet" else self.shown_and_chosen[0]
        return np.array([[0, other] for other in range(1, others + 1)])

    @property
    def ranks(self) -> NDArray[np.intp]:
        """The ranks of pairs that an answer compares, nearer one first, (comparisons, 2)."""
        first, second = np.triu_indices(len(self.pairs), 1)
        chosen = self.shown_and_chosen[1]
        compared = {
            "odd-one-out": first == 0,
            "most-central": second == 2,
            "grid": (first < chosen) & (second >= chosen),
            "ranked-grid": first < chosen,
        }.get(self.kind, first >= 0)
        return np.column_stack([first, second])[compared]

    @property
    def comparisons_per_answer(self) -> int:
        """How many comparisons follow from one answer."""
        return len(self.ranks)


@dataclass(frozen=True, eq=False)
class SimulatedAnswers:
    """Answers, and the m comparisons that follow from them."""

    rows: NDArray[np.integer]  # (m, 4): near pair and far pair
    is_correct: NDArray[np.bool_]  # (m,): whether a comparison is true of the map
    answer_of: NDArray[np.intp]  # (m,): number of the answer that a comparison follows from, ascending from 0
    weights: FloatArray  # (m,)
    n_objects: int

    @property
    def n_answers(self) -> int:
        """The number of answers."""
        return int(self.answer_of[-1]) + 1

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons; those of one answer share a trial."""
        one_anchor = bool((self.rows[:, 0] == self.rows[:, 2]).all())
        make = Comparisons.from_triplets if one_anchor else Comparisons.from_quadruplets
        return make(
            self.rows[:, [0, 1, 3]] if one_anchor else self.rows,
            weights=None if (self.weights == 1).all() else self.weights,
            trials=self.answer_of if len(self.rows) > self.n_answers else None,
            n_objects=self.n_objects,
        )

    def part(self, start: int, stop: int | None = None) -> SimulatedAnswers:
        """Return the answers from one number to another."""
        rows = slice(*np.searchsorted(self.answer_of, [start, self.n_answers if stop is None else stop]))
        return SimulatedAnswers(
            self.rows[rows], self.is_correct[rows], self.answer_of[rows] - start, self.weights[rows], self.n_objects
        )

    @staticmethod
    def concatenate(parts: Sequence[SimulatedAnswers]) -> SimulatedAnswers:
        """Return all answers in one, in order."""
        before = np.cumsum([0, *(part.n_answers for part in parts[:-1])])
        return SimulatedAnswers(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.is_correct for part in parts]),
            np.concatenate([part.answer_of + first for part, first in zip(parts, before, strict=True)]),
            np.concatenate([part.weights for part in parts]),
            parts[0].n_objects,
        )


def _shuffled(comparisons: Comparisons, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order of rows in which their trials come in random order, and the number of the trial of each."""
    answer_of = trial_indices(comparisons)
    answer_of = rng.permutation(int(answer_of.max()) + 1)[answer_of]
    order = np.argsort(answer_of, kind="stable")
    return order, answer_of[order]


def shared_weights(answer_of: NDArray[np.intp]) -> FloatArray:
    """Return the weight of each row, (m,), which sum to 1 for each answer."""
    return 1 / np.bincount(answer_of)[answer_of]


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The true map of a study and its annotators."""

    design: Design
    points: FloatArray  # (n, p)
    slopes: FloatArray  # (annotators,): s in the module's formula; infinite for annotators who err only by guessing
    lapses: FloatArray  # (annotators,): how often each guesses
    offset: float = 0.0  # alpha in the module's formula

    def log_distances(self, first: NDArray[np.integer], second: NDArray[np.integer]) -> FloatArray:
        """Return logarithms of squared distances of pairs plus the offset, of the shape of the indices."""
        tiny = np.finfo(np.float64).tiny
        distances = pair_distances(self.points, first.ravel(), second.ravel()) + self.offset
        return np.log(np.maximum(distances, tiny)).reshape(first.shape)

    def perceived(self, distances: FloatArray, answer_of: NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
        """Return perceived distances, whose order is the answer, from true ones, (rows, pairs).

        Rows of one answer have one annotator, who guesses all of them or none.
        """
        n_answers = int(answer_of.max()) + 1
        annotator, perceived = rng.integers(len(self.slopes), size=n_answers), distances
        if np.isfinite(self.slopes).all():
            perceived = self.slopes[annotator][answer_of][:, None] * distances - rng.gumbel(size=distances.shape)
        if not self.lapses.any():
            return perceived
        guessed = rng.random(n_answers) < self.lapses[annotator]
        return np.where(guessed[answer_of][:, None], rng.random(distances.shape), perceived)

    def error_rate(self, distances: FloatArray, rng: np.random.Generator) -> float:
        """Return the share of wrong comparisons in answers about true distances, (answers, pairs)."""
        if distances.shape[1] == 2:
            annotator = rng.integers(len(self.slopes), size=len(distances))
            odds = -self.slopes[annotator] * np.abs(distances[:, 0] - distances[:, 1])
            return float(np.mean(answer_probability(odds, self.lapses[annotator])))
        order = np.argsort(self.perceived(distances, np.arange(len(distances)), rng), axis=1)
        near, far = (np.take_along_axis(distances, order[:, ranks], 1) for ranks in self.design.ranks.T)
        return float(np.mean(near > far))

    def draw_pairs(
        self, n_answers: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
        """Draw questions: both objects of each pair, and the logarithm of its squared distance."""
        shown = distinct_rows(n_answers, self.design.question_width, self.design.n_objects, rng)
        first, second = (shown[:, column] for column in self.design.pairs.T)
        return first, second, self.log_distances(first, second)

    def distances_of(self, rows: NDArray[np.integer]) -> FloatArray:
        """Return logarithms of squared distances of both pairs of comparisons, (m, 4)."""
        return self.log_distances(rows[:, [0, 2]], rows[:, [1, 3]])

    def ask(self, n_answers: int, rng: np.random.Generator) -> SimulatedAnswers:
        """Return answers to random questions of the kind of the study, which may repeat."""
        first, second, distances = self.draw_pairs(n_answers, rng)
        order = np.argsort(self.perceived(distances, np.arange(n_answers), rng), axis=1)
        near, far = (order[:, ranks] for ranks in self.design.ranks.T)
        columns = [np.take_along_axis(side, rank, 1).ravel() for rank in (near, far) for side in (first, second)]
        is_correct = np.take_along_axis(distances, near, 1) <= np.take_along_axis(distances, far, 1)
        answer_of = np.repeat(np.arange(n_answers), near.shape[1])
        weights = shared_weights(answer_of)
        return SimulatedAnswers(np.column_stack(columns), is_correct.ravel(), answer_of, weights, self.design.n_objects)

    def compare_with(self, answers: Comparisons, rng: np.random.Generator) -> SimulatedAnswers:
        """Return given answers in random order, with whether their comparisons are true of this map."""
        order, answer_of = _shuffled(answers, rng)
        weights = shared_weights(answer_of) if answers.weights is None else answers.sample_weight[order]
        near, far = self.distances_of(rows := answers.oriented[order]).T
        return SimulatedAnswers(rows, near <= far, answer_of, weights, self.design.n_objects)

    def ask_again(self, questions: Comparisons, rng: np.random.Generator) -> SimulatedAnswers:
        """Return answers to the questions of given comparisons, in random order; a trial is one answer."""
        order, answer_of = _shuffled(questions, rng)
        rows = questions.quadruplets[order]
        # Canonical order of the pairs, in which errors are drawn.
        first, second = near_far_codes(rows, questions.n_objects)
        rows = np.where((first > second)[:, None], rows[:, [2, 3, 0, 1]], rows)
        distances = self.distances_of(rows)
        perceived = self.perceived(distances, answer_of, rng)
        if questions.trials is not None:
            # Within an answer a pair is perceived once, whatever rows it is in.
            keys = np.column_stack([np.repeat(answer_of, 2), np.sort(rows.reshape(-1, 2), axis=1)])
            _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            perceived = perceived.ravel()[index][inverse.ravel()].reshape(-1, 2)
        reversed_rows = perceived[:, 0] > perceived[:, 1]
        rows = np.where(reversed_rows[:, None], rows[:, [2, 3, 0, 1]], rows)
        is_correct = reversed_rows == (distances[:, 0] > distances[:, 1])
        return SimulatedAnswers(rows, is_correct, answer_of, shared_weights(answer_of), self.design.n_objects)


def draw_ground_truth(
    design: Design,
    rng: np.random.Generator,
    questions: Comparisons | None = None,
    coordinates: FloatArray | None = None,
) -> GroundTruth:
    """Draw a map and annotators; random questions, or those given, calibrate their slopes to the noise.

    Coordinates, (n, p), of variance 1, are those of objects that are not drawn independently.
    """
    scales = np.arange(1, design.n_components + 1) ** (-design.decay / 2)
    if coordinates is None:
        coordinates = rng.normal(size=(design.n_objects, design.n_components))
    points = coordinates * scales
    skills = np.exp(_ANNOTATOR_SPREAD * rng.normal(size=design.n_annotators or 1))
    skills = np.ones(1) if design.n_annotators is None else skills
    if design.noise == 0 or design.noise_model == "guesses":
        # A random order is wrong about half of all comparisons: guessing twice the noise makes it the share of errors.
        return GroundTruth(design, points, np.full(len(skills), np.inf), capped_rates(1 / skills, 2 * design.noise))
    truth = GroundTruth(design, points, skills, np.zeros(len(skills)))
    given = None if questions is None else truth.distances_of(questions.quadruplets)
    distances = truth.draw_pairs(_N_CALIBRATION, rng)[2] if given is None else given
    seed = int(rng.integers(2**62))
    low, high = _LOG_SLOPE_RANGE
    for _ in range(24):
        tried = replace(truth, slopes=skills * np.exp((low + high) / 2))
        # The same errors at any slope make the share of wrong answers monotone.
        wrong = tried.error_rate(distances, np.random.default_rng(seed))
        low, high = ((low + high) / 2, high) if wrong > design.noise else (low, (low + high) / 2)
    return replace(truth, slopes=skills * np.exp((low + high) / 2))


def capped_rates(sizes: FloatArray, mean: float) -> FloatArray:
    """Return rates in proportion to positive sizes, capped at 1, with this mean in [0, 1)."""
    rates = sizes * (mean / sizes.mean())
    while (rates > 1).any():
        full = rates >= 1  # the excess goes to the others, of which some may then be full as well
        left = mean * len(sizes) - full.sum()
        rates = np.where(full, 1.0, sizes * (left / sizes[~full].sum()))
    return rates
