"""The error to expect of a study: the noise of a pilot, and the errors of simulated studies.

Where few questions are repeated, disagreement cannot be counted, and a map errs both because some answers are wrong and
because they are few. The posterior of maps (`PosteriorEmbedding`) separates the two: each draw is a map with its answer
model and, if the answers name annotators, how much they differ. The noise of a draw is the share of answers to the
questions asked that contradict its map. A study that continues such a pilot is simulated from one draw each, so that
the uncertainty of noise, map, decay of its axes and annotators is part of the interval.

Where objects come with features, true maps depend on these, and maps are learned with them; and, for comparison,
without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, get_args

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.arrays import FloatArray
from nearer._common.formatting import format_level
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.features import Features
from nearer.data.groups import trial_indices, with_positive_weight
from nearer.data.labels import Labels, translate
from nearer.design.planning.features import StudyFeatures, plain_shares
from nearer.design.planning.simulation import Against, Design, GroundTruth, SimulatedAnswers, draw_ground_truth
from nearer.embedding import DMOE, PosteriorEmbedding
from nearer.embedding.base import OrdinalEmbedding
from nearer.optimize.problems.margins import error_from_margins
from nearer.sampling.features import FeatureShare
from nearer.sampling.model import HYPERPARAMETERS, Prior

_N_TESTED = 4000  # answers that a map is tested on
_MIN_TESTED = 100
_MAX_REPLICATIONS = 10_000
_MAX_PILOT_ANSWERS = 20_000  # the posterior of more is as narrow as needed
_MIN_PILOT_ANSWERS = 80
_N_DRAWS = 200
# Wider in lapse rates than the prior of a map: plans are asked for people who guess a quarter of their answers.
_LAPSE_CENTER, _LAPSE_SCALE = -2.5, 2.0


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise of a pilot study, and the posterior from which its continuation is simulated.

    Attributes
    ----------
    noise, low, high, level : float
        Share of comparisons answered wrongly: posterior median, and the interval of ``level``.
    comparisons, posterior : Comparisons, PosteriorEmbedding
        The answers, of positive weight, and what was fitted to them.

    Examples
    --------
    >>> judgments = Comparisons.from_triplets([[0, 1, 2]])
    >>> print(NoiseEstimate(0.1, 0.08, 0.13, 0.9, judgments, PosteriorEmbedding(2)))
    10.0% of the answers are wrong (90% interval 8.0% to 13.0%)
    """

    noise: float
    low: float
    high: float
    level: float
    comparisons: Comparisons
    posterior: PosteriorEmbedding

    @property
    def n_answers(self) -> int:
        """The number of answers; comparisons of one trial are one."""
        return int(trial_indices(self.comparisons).max()) + 1

    def __str__(self) -> str:
        low, high = (f"{100 * end:.1f}%" for end in (self.low, self.high))
        return f"{100 * self.noise:.1f}% of the answers are wrong ({format_level(self.level)} interval {low} to {high})"

    def is_continued_by(self, design: Design) -> bool:
        """Return whether a study is about the same objects; with another number of them it is a new study."""
        return design.n_objects == self.comparisons.n_objects

    @property
    def features(self) -> StudyFeatures | None:
        """The features that it was estimated with, and what they explain."""
        shares = self.posterior.feature_share_
        return None if shares is None else StudyFeatures(self.posterior.features_, shares, is_learned=True)

    def draw_ground_truth(self, design: Design, rng: np.random.Generator, alike: Labels | None = None) -> GroundTruth:
        """Draw a map and annotators; of a new study, all objects are new ones from the same population.

        ``alike``: those whose features the objects of a new study have.
        """
        return _draw_ground_truths(self.posterior, design, self.comparisons, 1, rng, alike)[0]


def estimate_noise(
    comparisons: Comparisons,
    n_components: int | None = None,
    *,
    features: Any = None,
    level: float = 0.9,
    random_state: RandomState = None,
) -> NoiseEstimate:
    """Estimate the share of wrong answers in a set that need not repeat any question.

    Parameters
    ----------
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
        At least 80 answers. Trials stay whole, each being one answer. Of more than 20,000 answers, so many are drawn.
    n_components : int, optional
        The most dimensions that the true map may have; further ones count as noise. If left out, up to 15, of which
        those that are not needed vanish.
    features : as for `PosteriorEmbedding`, optional
        What is known of the objects. Those with a row but no answer are objects of the study, too.
    level : float
        Of the interval.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    NoiseEstimate

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> clean, noisy = (
    ...     sample_triplets(make_gaussian(20, 2, random_state=0), 800, flipped=share, random_state=0)
    ...     for share in (0.0, 0.2)
    ... )
    >>> [estimate_noise(each, 2, random_state=0).noise > 0.1 for each in (clean, noisy)]
    [False, True]
    """
    check_level(level)
    judged = with_positive_weight(as_comparisons(comparisons))
    answer_of = trial_indices(judged)
    n_answers = int(answer_of.max()) + 1
    if n_answers < _MIN_PILOT_ANSWERS:
        raise ValueError(f"noise cannot be estimated from {n_answers} answers; {_MIN_PILOT_ANSWERS} or more are needed")
    rng, n = stream(random_state, "start"), judged.n_objects
    seed, learned = int(rng.integers(2**62)), judged
    if n_answers > _MAX_PILOT_ANSWERS:
        learned = judged[rng.permutation(n_answers)[answer_of] < _MAX_PILOT_ANSWERS]
    lapse, changed = HYPERPARAMETERS.index("lapse"), (_LAPSE_CENTER, _LAPSE_SCALE)
    prior = Prior(*((*row[:lapse], each, *row[lapse + 1 :]) for row, each in zip(Prior(), changed, strict=True)))
    posterior = PosteriorEmbedding(
        n_components, prior=prior, max_components=n_components, features=features, n_objects=n, random_state=seed
    )
    with warnings.catch_warnings():
        # Two maps that explain few answers equally well are both among the draws, which is all that is needed here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        posterior.fit(learned)
    if features is not None:
        learned, judged = learned.reindex(posterior.objects_), judged.reindex(posterior.objects_)
    truths = _draw_ground_truths(posterior, Design(judged.n_objects, 1), judged, _N_DRAWS, rng)
    shares = [truth.error_rate(truth.distances_of(learned.quadruplets), rng) for truth in truths]
    low, noise, high = np.quantile(shares, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return NoiseEstimate(float(noise), float(low), float(high), level, judged, posterior)


def _draw_ground_truths(
    posterior: PosteriorEmbedding,
    design: Design,
    answers: Comparisons,
    k: int,
    rng: np.random.Generator,
    alike: Labels | None = None,
) -> list[GroundTruth]:
    """Draw k maps, each with as many annotators as the design has, or as gave the answers."""
    n = answers.n_objects
    others = 0 if design.n_objects == n or alike is not None else n
    rows = None if alike is None else translate(np.arange(len(alike)), alike, answers.objects)
    drawn = posterior.population(k, others + design.n_objects, rng, alike=rows)
    n_annotators = 1 if answers.annotators is None else len(np.unique(answers.annotators))
    slope_effects, lapse_effects = rng.normal(size=(2, k, design.n_annotators or n_annotators))
    slopes = drawn.slopes[:, None] * np.exp(drawn.slope_spreads[:, None] * slope_effects)
    lapses = expit(logit(drawn.lapses)[:, None] + drawn.lapse_spreads[:, None] * lapse_effects)
    columns = zip(drawn.points[:, others:], slopes, lapses, drawn.offsets.tolist(), strict=True)
    return [GroundTruth(design, *column) for column in columns]


@dataclass(frozen=True)
class PredictedError:
    """The error to expect of a study of a given size.

    Attributes
    ----------
    error, low, high : float
        Median over simulated studies, and the interval of ``level`` of them.
    floor : float
        The error of the true map: the noise (of the median study), or 0 against the truth.
    n_answers, against, level
        As in `predict_error`.
    feature_share : dict of str to FeatureShare, or None
        Of the feature sets in the variance of the coordinates, with an interval: learned from a pilot, or assumed.
    without_features : PredictedError, or None
        The same for maps that are learned from the answers alone.
    """

    error: float
    low: float
    high: float
    floor: float
    n_answers: int
    against: Against
    level: float
    feature_share: dict[str, FeatureShare] | None = None
    without_features: PredictedError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        return {**asdict(self), "feature_share": plain_shares(self.feature_share)}


class Replication:
    """One simulated study of growing size: the answers of a smaller size are the first of a larger one."""

    def __init__(
        self,
        design: Design,
        rng: np.random.Generator,
        questions: Comparisons | None = None,
        pilot: NoiseEstimate | None = None,
        features: StudyFeatures | None = None,
    ) -> None:
        self.rng = rng
        self.pilot: SimulatedAnswers | None = None  # learned from before the others
        self.features: tuple[Features, ...] = ()
        if features is not None:
            about = pilot.comparisons if pilot is not None and pilot.is_continued_by(design) else questions
            objects = features.choose(design.n_objects, rng) if about is None else about.objects
            self.features = features.of(objects)
        if pilot is None:
            coordinates = None
            if features is not None:
                coordinates = features.draw_coordinates(self.features, design.n_objects, design.n_components, rng)
            self.truth = draw_ground_truth(design, rng, questions, coordinates)
        else:
            is_other = features is not None and not pilot.is_continued_by(design)
            self.truth = pilot.draw_ground_truth(design, rng, objects if is_other else None)
            if pilot.is_continued_by(design):
                self.pilot = self.truth.compare_with(pilot.comparisons, rng)
        self.has_fixed_questions = questions is not None  # those that are not learned from are left to test on
        self.answers = self.truth.ask(_N_TESTED, rng) if questions is None else self.truth.ask_again(questions, rng)
        self._errors: dict[tuple[int, bool], tuple[float, float]] = {}

    @classmethod
    def draw(
        cls,
        n: int,
        random_state: RandomState,
        design: Design,
        questions: Comparisons | None = None,
        pilot: NoiseEstimate | None = None,
        features: StudyFeatures | None = None,
    ) -> Iterator[Self]:
        """Yield n studies; the first ones are the same for a larger number."""
        for seed in stream(random_state, "answers").integers(2**62, size=n).tolist():
            yield cls(design, np.random.default_rng(seed), questions, pilot, features)

    @property
    def noise(self) -> float:
        """The share of wrong comparisons among the answers that are simulated."""
        return float(np.average(~self.answers.is_correct, weights=self.answers.weights))

    def errors(self, n_answers: int, estimator: OrdinalEmbedding, *, with_features: bool = True) -> tuple[float, float]:
        """Return the errors of a map fitted to ``n_answers`` on others: against answers, and against the truth."""
        key = n_answers, with_features
        if key not in self._errors:
            train, test = self._split(n_answers)
            comparisons = test.comparisons
            if self.features:
                estimator = clone(estimator).set_params(features=self.features if with_features else None)
            margins, weights = learned_margins(estimator, train.comparisons, comparisons), comparisons.sample_weight
            against_truth = error_from_margins(np.where(test.is_correct, margins, -margins), weights)
            self._errors[key] = error_from_margins(margins, weights), against_truth
        return self._errors[key]

    def _split(self, n_answers: int) -> tuple[SimulatedAnswers, SimulatedAnswers]:
        """Return the answers to learn from, those of the pilot first, and others to test on."""
        n_further = n_answers if self.pilot is None else max(n_answers - self.pilot.n_answers, 0)
        start, test = _N_TESTED, self.answers.part(0, _N_TESTED)
        if self.has_fixed_questions:
            start, test = 0, self.answers.part(n_further)
        missing = start + n_further - self.answers.n_answers
        if missing > 0:  # blocks of one size, so that the first answers do not depend on how many follow
            blocks = [self.truth.ask(_N_TESTED, self.rng) for _ in range(-(-missing // _N_TESTED))]
            self.answers = SimulatedAnswers.concatenate([self.answers, *blocks])
        parts = [self.answers.part(start, start + n_further)] if n_further else []
        if self.pilot is not None:
            parts.insert(0, self.pilot.part(0, n_answers - n_further))
        return SimulatedAnswers.concatenate(parts), test


def predict_error(
    design: Design,
    n_answers: int,
    *,
    against: Against = "answers",
    questions: Comparisons | None = None,
    pilot: NoiseEstimate | None = None,
    features: Any = None,
    feature_share: float | None = None,
    estimator: OrdinalEmbedding | None = None,
    n_replications: int = 40,
    level: float = 0.9,
    random_state: RandomState = None,
) -> PredictedError:
    """Predict the error that a study of a given size will have on new questions.

    Parameters
    ----------
    design : Design
        What the study is like.
    n_answers : int
        How many answers are learned from, those of the pilot included.
    questions : Comparisons, optional
        The questions to ask, in random order, in place of uniformly drawn ones; their answers are not used. The error
        is that on the remaining questions. Trials stay whole, and each counts as one answer.
    pilot : NoiseEstimate, optional
        A pilot study, from `estimate_noise`. Each simulated study has a map, noise and annotators drawn from its
        posterior, in place of the noise and the decay of the design, and maps are learned from its answers and further
        simulated ones. If the design has another number of objects, it is a new study of other objects.
    features, feature_share : optional
        What is known of the objects, and how much it explains, as in `plan`.
    against, estimator, n_replications, level, random_state
        As in `plan`. With fewer than ``2 / (1 - level) - 1`` replications the interval is all of them, and holds less.

    Returns
    -------
    PredictedError

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> settings = {"estimator": quick, "n_replications": 4, "random_state": 0}
    >>> few, many = (predict_error(Design(20, 2), m, **settings) for m in (50, 500))
    >>> 0.1 < many.error < few.error < 0.5
    True
    """
    known = check_features(features, feature_share, design, pilot, questions)
    estimator = check_simulation(design, against, level, n_replications, pilot, estimator, known)
    design.check_answers(n_answers)
    if questions is not None:
        _check_questions(questions, design, n_answers, pilot)
    ways = [True] if known is None else [True, False]
    errors, noises = [], []
    with progress_bar("simulating", n_replications) as bar:
        for study in Replication.draw(n_replications, random_state, design, questions, pilot, known):
            errors.append([study.errors(n_answers, estimator, with_features=way) for way in ways])
            noises.append(study.noise)
            bar.update()
    floor = error_floor(design, against, None if pilot is None else noises)
    found = [
        PredictedError(float(error), float(low), float(high), floor, n_answers, against, level)
        for low, error, high in quantiles(np.array(errors)[:, :, int(against == "truth")], level).T
    ]
    if known is None:
        return found[0]
    return replace(found[0], feature_share=known.shares, without_features=found[1])


def quantiles(errors: FloatArray, level: float) -> FloatArray:
    """Return the low end, the median and the high end of values over replications, the first axis."""
    # Weibull: a further value lies between the k-th and the l-th of r with probability (l - k) / (r + 1).
    return np.quantile(errors, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0, method="weibull")


def error_floor(design: Design, against: Against, noises: Sequence[float] | None) -> float:
    """Return the error of the true map: the noise of the design, or the median noise of studies after a pilot."""
    if against == "truth":
        return 0.0
    return design.noise if noises is None else float(np.median(noises))


def check_simulation(
    design: Design,
    against: Against,
    level: float,
    n_replications: int,
    pilot: NoiseEstimate | None,
    estimator: OrdinalEmbedding | None,
    features: StudyFeatures | None = None,
) -> OrdinalEmbedding:
    """Check the settings of a simulation, and return the estimator to fit with, over all objects of the study."""
    if not isinstance(design, Design):
        raise ValueError(f"design must be a Design, such as Design(n_objects=20, n_components=2), got {design!r}")
    if against not in get_args(Against):
        raise ValueError(f"against={against!r} is neither 'answers' nor 'truth'")
    check_level(level)
    check_integer("n_replications", n_replications, 1, _MAX_REPLICATIONS)
    if pilot is not None and not isinstance(pilot, NoiseEstimate):
        raise ValueError(f"pilot must come from estimate_noise, got {type(pilot).__name__}")
    if estimator is None and features is not None:
        # As in cross-validation: twice the chains of a fit bring the error down by less than two studies differ.
        return PosteriorEmbedding(design.n_components, solver="fast", n_objects=design.n_objects, random_state=0)
    if estimator is None:
        return DMOE(design.n_components, n_objects=design.n_objects)
    if not isinstance(estimator, OrdinalEmbedding):
        raise ValueError(f"estimator must be one of nearer.embedding, such as DMOE(2), got {estimator!r}")
    if features is not None and "features" not in estimator.get_params():
        raise ValueError(f"{type(estimator).__name__} takes no features; take PosteriorEmbedding or DMOE")
    return clone(estimator).set_params(n_objects=design.n_objects)


def check_features(
    given: Any,
    share: float | None,
    design: Design,
    pilot: NoiseEstimate | None,
    questions: Comparisons | None = None,
) -> StudyFeatures | None:
    """Return the features of a study, those of its pilot if it has one, and check that they describe its objects."""
    if given is None and share is not None:
        raise ValueError(f"feature_share={share} is the share of features; give these, too")
    if isinstance(pilot, NoiseEstimate):
        if given is not None:
            raise ValueError("the features of a study with a pilot are those of estimate_noise(..., features=...)")
        known = pilot.features
    else:
        known = None if given is None else StudyFeatures.assumed(given, share)
    is_continued = isinstance(pilot, NoiseEstimate) and pilot.is_continued_by(design)
    if known is not None and not is_continued and questions is None:
        known.check_size(design.n_objects)
    return known


def learned_margins(estimator: OrdinalEmbedding, train: Comparisons, test: Comparisons) -> FloatArray:
    """Return the margins of test comparisons on a map that is fitted to others."""
    with warnings.catch_warnings():
        # A search that fails at one setting tries others, and a user can change nothing about a simulation.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(train).decision_function(test)


def _check_questions(questions: Comparisons, design: Design, n_answers: int, pilot: NoiseEstimate | None) -> None:
    """Check that there are enough questions."""
    if questions.n_objects != design.n_objects:
        raise ValueError(f"the questions are about {questions.n_objects} objects, but n_objects={design.n_objects}")
    n_given = int(trial_indices(questions).max()) + 1
    if pilot is not None and pilot.is_continued_by(design):
        n_given += pilot.n_answers
    if n_given < n_answers + _MIN_TESTED:
        raise ValueError(
            f"n_answers={n_answers}, and {_MIN_TESTED} more to test on, but there are only {n_given} questions; give "
            "more, or leave questions out to draw them uniformly"
        )
