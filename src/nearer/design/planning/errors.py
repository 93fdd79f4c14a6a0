"""The error that simulated studies reach, and the error to expect of a real one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.design.planning.design import Against, Design
from nearer.design.planning.noise import NoiseEstimate
from nearer.design.planning.simulation import Asked, World, joined, make_world
from nearer.embedding import DMOE
from nearer.embedding.base import OrdinalEmbedding
from nearer.optimize.problems.margins import error_from_margins

_TESTED = 4000  # answers that a map is judged by
_FEWEST_TESTED = 100
_MOST_REPLICATIONS = 10_000


@dataclass(frozen=True)
class PredictedError:
    """The error that studies of one size reach.

    Attributes
    ----------
    error, low, high : float
        Median over simulated studies, and between which values the error of ``level`` of them lies.
    floor : float
        The error of the true map: the noise (of the median study), or 0 against the truth.
    n_answers : int
    against : {"answers", "truth"}
    level : float

    Examples
    --------
    >>> PredictedError(0.2, 0.18, 0.22, floor=0.1, n_answers=500, against="answers", level=0.9).error
    0.2
    """

    error: float
    low: float
    high: float
    floor: float
    n_answers: int
    against: Against
    level: float


@dataclass(eq=False)
class Replication:
    """One simulated study that asks on and on: the answers of a small size are the first of those of a larger one."""

    world: World
    rng: np.random.Generator
    asked: Asked
    first: Asked | None = None  # answers that are there, from which is learned before any of those asked
    fixed: bool = False  # the questions are given, and what is not learned from is left to judge by
    _errors: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        design: Design,
        rng: np.random.Generator,
        questions: Comparisons | None = None,
        pilot: NoiseEstimate | None = None,
    ) -> Self:
        """Draw a world and ask the first questions."""
        world = make_world(design, rng, questions) if pilot is None else pilot.world(design, rng)
        goes_on = pilot is not None and pilot.continued_by(design)
        first = world.answered(pilot.comparisons, rng) if pilot is not None and goes_on else None
        asked = world.ask(_TESTED, rng) if questions is None else world.ask_again(questions, rng)
        return cls(world, rng, asked, first, questions is not None)

    @property
    def noise(self) -> float:
        """The share of wrong comparisons among the answers that are simulated."""
        return float(np.average(~self.asked.right, weights=self.asked.weights))

    def errors(self, n_answers: int, estimator: OrdinalEmbedding) -> tuple[float, float]:
        """Return the error of a map of so many answers on others: against these answers, and against the truth."""
        if n_answers not in self._errors:
            train, test = self._split(n_answers)
            comparisons = test.comparisons
            margins = learned_margins(estimator, train.comparisons, comparisons)
            against = margins, np.where(test.right, margins, -margins)
            answers, truth = (error_from_margins(each, comparisons.sample_weight) for each in against)
            self._errors[n_answers] = answers, truth
        return self._errors[n_answers]

    def _split(self, n_answers: int) -> tuple[Asked, Asked]:
        """Return the answers to learn from, those that are there first, and others to judge by."""
        there = 0 if self.first is None else min(n_answers, self.first.n_answers)
        further = n_answers - there
        start, test = (0, self.asked.part(further)) if self.fixed else (_TESTED, self.asked.part(0, _TESTED))
        missing = start + further - self.asked.n_answers
        if missing > 0:  # blocks of one size, so that the first answers do not depend on how many follow
            blocks = [self.world.ask(_TESTED, self.rng) for _ in range(-(-missing // _TESTED))]
            self.asked = joined([self.asked, *blocks])
        parts = [] if self.first is None else [self.first.part(0, there)]
        return joined([*parts, *([self.asked.part(start, start + further)] if further else [])]), test


def predict_error(
    design: Design,
    n_answers: int,
    *,
    against: Against = "answers",
    questions: Comparisons | None = None,
    pilot: NoiseEstimate | None = None,
    estimator: OrdinalEmbedding | None = None,
    n_replications: int = 40,
    level: float = 0.9,
    random_state: RandomState = None,
) -> PredictedError:
    """Predict the error that a study of a given size will reach on new questions.

    Parameters
    ----------
    design : Design
        What the study is like.
    n_answers : int
        How many answers there are to learn from, those of the pilot among them.
    against : {"answers", "truth"}
        What the error is measured against: new answers of people, which are themselves wrong at times, or the order of
        the true distances.
    questions : Comparisons, optional
        The questions to ask, in random order, in place of uniformly drawn ones; their answers are not looked at. The
        error is that on the questions left over. Their trials stay whole, and each counts as one answer.
    pilot : NoiseEstimate, optional
        First answers, from `estimate_noise`. Each simulated study has a map, noise and people drawn from their
        posterior, in place of the noise and the decay of the design, and maps are learned from them and simulated
        further ones. If the design has another number of objects, it is a new study of other objects of their kind.
    estimator, n_replications, level, random_state
        As in `plan`. With fewer than ``2 / (1 - level) - 1`` replications the interval is all of them, and holds less.

    Returns
    -------
    PredictedError

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> few, many = (predict_error(Design(20, 2), m, estimator=quick, random_state=0) for m in (50, 1000))
    >>> 0.1 < many.error < few.error < 0.5
    True
    """
    check_run(design, against, level, n_replications, pilot)
    _check_questions(questions, design, n_answers, pilot)
    estimator = default_estimator(design, estimator)
    errors, noises = [], []
    with progress_bar("simulating", n_replications) as bar:
        for rng in generators(random_state, n_replications):
            study = Replication.start(design, rng, questions, pilot)
            errors.append(study.errors(n_answers, estimator))
            noises.append(study.noise)
            bar.update()
    low, error, high = quantiles(np.array(errors)[:, int(against == "truth")], level)
    floor = floor_of_studies(design, against, None if pilot is None else noises)
    return PredictedError(float(error), float(low), float(high), floor, n_answers, against, level)


def default_estimator(design: Design, estimator: OrdinalEmbedding | None) -> OrdinalEmbedding:
    """Return the estimator to fit with, over all objects of the study."""
    if estimator is None:
        return DMOE(design.n_components, n_objects=design.n_objects)
    if not isinstance(estimator, OrdinalEmbedding):
        raise ValueError(f"estimator must be one of nearer.embedding, such as DMOE(2), got {estimator!r}")
    own: OrdinalEmbedding = clone(estimator).set_params(n_objects=design.n_objects)
    return own


def generators(random_state: RandomState, how_many: int) -> list[np.random.Generator]:
    """Return generators for so many replications; the first ones are the same for a larger number."""
    seeds = stream(random_state, "answers").integers(2**62, size=how_many)
    return [np.random.default_rng(int(seed)) for seed in seeds]


def quantiles(errors: FloatArray, level: float) -> FloatArray:
    """Return the low end, the median and the high end of values over replications, the first axis.

    A further value lies between the k-th and the l-th of r with probability (l - k) / (r + 1), Weibull's rule.
    """
    shares = [(1 - level) / 2, 0.5, (1 + level) / 2]
    ends: FloatArray = np.quantile(errors, shares, axis=0, method="weibull")
    return ends


def floor_of_studies(design: Design, against: Against, noises: Sequence[float] | None) -> float:
    """Return the error of the true map: the noise of the design, or in the median of studies after a pilot."""
    if against == "truth":
        return 0.0
    return design.noise if noises is None else float(np.median(noises))


def check_run(
    design: Design, against: Against, level: float, n_replications: int, pilot: NoiseEstimate | None = None
) -> None:
    """Refuse settings of a simulation that make no sense."""
    if not isinstance(design, Design):
        raise ValueError(f"design must be a Design, such as Design(n_objects=20, n_components=2), got {design!r}")
    if against not in get_args(Against):
        raise ValueError(f"against={against!r} is neither 'answers' nor 'truth'")
    check_level(level)
    check_integer("n_replications", n_replications, 1, _MOST_REPLICATIONS)
    if pilot is not None and not isinstance(pilot, NoiseEstimate):
        raise ValueError(f"pilot must come from estimate_noise, got {type(pilot).__name__}")


def learned_margins(estimator: OrdinalEmbedding, train: Comparisons, test: Comparisons) -> FloatArray:
    """Return the margins of comparisons on a map that is learned from others."""
    with warnings.catch_warnings():
        # A search that meets one hard setting goes on to others, and nobody can change anything about a simulation.
        warnings.simplefilter("ignore", ConvergenceWarning)
        margins: FloatArray = clone(estimator).fit(train).decision_function(test)
    return margins


def _check_questions(
    questions: Comparisons | None, design: Design, n_answers: int, pilot: NoiseEstimate | None
) -> None:
    design.check_answers(n_answers)
    if questions is None:
        return
    if questions.n_objects != design.n_objects:
        raise ValueError(f"the questions are about {questions.n_objects} objects, but n_objects={design.n_objects}")
    there = int(trial_indices(questions).max()) + 1
    there += pilot.n_answers if pilot is not None and pilot.continued_by(design) else 0
    if there < n_answers + _FEWEST_TESTED:
        raise ValueError(
            f"n_answers={n_answers}, and {_FEWEST_TESTED} more to judge by, but there are only {there} questions; give "
            "more, or leave questions out to draw them uniformly"
        )
