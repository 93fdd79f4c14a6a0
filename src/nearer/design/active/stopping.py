"""When to stop: what the next answers would bring, and whether they are worth asking for.

The posterior estimates how far its map errs, by its own draws (`nearer.design.active.errors`). The next questions are
chosen as they would be, and around some of the draws truths are drawn with what their answers would reveal of them
(`nearer.design.active.lookahead`). That takes a second or so, and no fit. How much a map gains depends on chance as
much as on the number of answers: figures are expectations, and an interval holds the gain in 8 of 10 cases.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, intcomma, percent, pluralize
from nearer._common.parameters import check_integer, check_number
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices, with_positive_weight
from nearer.design.active.errors import HeldOutError, error_reduction, map_errors
from nearer.design.active.lookahead import Choose, Lookahead, WeightedComparisons, draw_preposterior, log_odds
from nearer.design.active.pool import Pool, form_of
from nearer.design.active.posterior import evenly_spaced
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.evaluation.distances import ellipse_size
from nearer.geometry import align
from nearer.model.answers import answer_probability
from nearer.sampling.model import Draws, distinct_comparisons

_ERROR_LEVEL, _GAIN_LEVEL = 0.95, 0.8
_N_TESTED = 3000  # comparisons that errors are averaged over
_MAX_DRAWS = 200
_MAX_TRUTHS = 8  # draws around which truths are drawn; fewer where a map has many coordinates
_N_PREPOSTERIOR = 400  # draws in all
_MAX_WORK = 3e9
_MANY_COORDINATES, _MAX_COORDINATES = 4000, 10_000  # beyond the former only the axes of the map are considered
_MIN_GAIN, _FIFTH_MORE = 0.005, 1.2


@dataclass(frozen=True)
class Outlook:
    """What the next answers would bring.

    Attributes
    ----------
    error_now, error_then : float
        Expected share of new answers to random questions that the map does not predict.
    error_low, error_high, gain_low, gain_high : float
        95% credible interval of the error now, and by how much it will fall in 8 of 10 cases; below 0 where it may
        rise.
    floor : float
        Error of the true map: the noise of people.
    truth_now, truth_then : float
        Expected share of such questions whose true answer the map does not predict.
    ellipse_now, ellipse_then : float or None
        Typical half axis of the 95% ellipses, as a share of the typical distance between two objects.
    min_gain : float
        The gain in error by a fifth more answers, below which to stop.
    chosen : bool
        Whether the next questions are chosen for information, or drawn at random.
    held_out : HeldOutError or None
        The error on random questions so far.

    Examples
    --------
    >>> outlook = Outlook(600, 300, 0.123, 0.112, 0.11, 0.14, 0.004, 0.019, 0.1, 0.05, 0.03, 0.2, 0.17)
    >>> print(outlook)
    300 more answers would move the error on new answers from 0.123 to 0.112 (by 0.004 to 0.019 in 8 of 10 cases; \
noise leaves 0.100 to any map), and the size of the ellipses from 20% of a typical distance to 17%. Go on: a fifth \
more answers gain 0.006, which is worth asking for (0.005 or more).
    """

    n_answers_now: int
    n_answers_more: int
    error_now: float
    error_then: float
    error_low: float
    error_high: float
    gain_low: float
    gain_high: float
    floor: float
    truth_now: float
    truth_then: float
    ellipse_now: float | None
    ellipse_then: float | None
    min_gain: float = _MIN_GAIN
    chosen: bool = True
    held_out: HeldOutError | None = None

    @property
    def gain(self) -> float:
        """By how much the error on new answers would fall."""
        return self.error_now - self.error_then

    @property
    def gain_of_a_fifth(self) -> float:
        """By how much it would fall with a fifth more answers: the excess over the floor is a power of their number."""
        now, then = self.error_now - self.floor, self.error_then - self.floor
        if then <= 0:
            return now
        power = np.log(then / now) / np.log1p(self.n_answers_more / self.n_answers_now)
        return now * float(1 - _FIFTH_MORE**power)

    @property
    def recommendation(self) -> Literal["stop", "go on"]:
        """Whether to continue: whether a fifth more answers would gain enough."""
        return "go on" if self.gain_of_a_fifth >= self.min_gain else "stop"

    @property
    def reason(self) -> str:
        """The reason for the recommendation."""
        excess, least = self.error_now - self.floor, decimals(self.min_gain)
        if self.recommendation == "stop" and excess < self.min_gain:
            return (
                f"the error is within {decimals(excess)} of the noise of people, and no answers can bring it below "
                "that; they would make the ellipses smaller, and little else"
            )
        gain = f"a fifth more answers gain {decimals(self.gain_of_a_fifth)}"
        if self.recommendation == "go on":
            return f"{gain}, which is worth asking for ({least} or more)"
        return f"{gain}, less than {least}; {decimals(excess)} could be gained at most, by any number of answers"

    @property
    def warning(self) -> str | None:
        """What speaks against these figures: a held-out error that the posterior does not expect."""
        if self.held_out is None or self.held_out.low <= self.error_now <= self.held_out.high:
            return None
        side = "more" if self.held_out > self.error_now else "less"
        return (
            f"On random questions the map erred {side} than the posterior expects, {self.held_out}: its model does not "
            "fit well, and the figures may be off"
        )

    def __str__(self) -> str:
        cases = f"by {format_interval(self.gain_low, self.gain_high)} in 8 of 10 cases"
        if self.gain_low <= 0:
            cases = f"by {decimals(self.gain_high)} at most in 9 of 10 cases"
        ellipses = ""
        if self.ellipse_now is not None and self.ellipse_then is not None:
            now, then = percent(self.ellipse_now), percent(self.ellipse_then)
            ellipses = f", and the size of the ellipses from {now} of a typical distance to {then}"
        return (
            f"{pluralize(self.n_answers_more, 'more answer')} would move the error on new answers from "
            f"{decimals(self.error_now)} to {decimals(self.error_then)} ({cases}; noise leaves {decimals(self.floor)} "
            f"to any map){ellipses}. {self.recommendation.capitalize()}: {self.reason}."
            f"{'' if self.warning is None else f' {self.warning}.'}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        held_out = None
        if self.held_out is not None:
            held_out = {"error": float(self.held_out), "low": self.held_out.low, "high": self.held_out.high}
        names = "gain", "gain_of_a_fifth", "recommendation", "reason", "warning"
        return {**asdict(self), "held_out": held_out, **{name: getattr(self, name) for name in names}}


def outlook(
    model: PosteriorEmbedding,
    comparisons: Comparisons,
    n_answers: int | None = None,
    *,
    choose: Choose = "information",
    pool: Pool | None = None,
    min_gain: float = _MIN_GAIN,
    held_out: HeldOutError | None = None,
    random_state: RandomState = None,
) -> Outlook:
    """Return what the next answers would bring: the error and the ellipses to expect, and whether to go on.

    Parameters
    ----------
    model : PosteriorEmbedding
        Fitted to ``comparisons``, all answers so far.
    comparisons : Comparisons
    n_answers : int, optional
        How many more there would be; a fifth of those there are if left out.
    choose : {"information", "random"}
        How the next questions come about: as `Questions` asks them, or drawn at random.
    pool : Pool, optional
        The questions that may be asked; all triplets if left out.
    min_gain : float
        The gain in error, by a fifth more answers, below which to stop.
    held_out : HeldOutError, optional
        From `Questions.held_out_error`: the outlook warns if the posterior does not expect it.
    random_state : int, Generator, SeedSequence or None

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(10, 2, random_state=0)
    >>> answers = sample_triplets(points, 150, flipped=0.1, random_state=0)
    >>> model = PosteriorEmbedding(2, random_state=0).fit(answers)
    >>> more = outlook(model, answers, 100, random_state=0)
    >>> more.floor < more.error_then < more.error_now, more.ellipse_then < more.ellipse_now, more.recommendation
    (True, True, 'go on')
    """
    if choose not in get_args(Choose):
        raise ValueError(f"choose must be 'information' or 'random', got {choose!r}")
    check_number("min_gain", min_gain, least=0)
    if not isinstance(model, PosteriorEmbedding):
        raise ValueError(f"an outlook needs draws from a posterior: fit a PosteriorEmbedding, not {model!r}")
    check_is_fitted(model)
    if comparisons.n_objects != model.n_objects_:
        raise ValueError(
            f"the model is about {pluralize(model.n_objects_, 'object')}, and the answers about "
            f"{comparisons.n_objects}; pass the comparisons that it was fitted to"
        )
    comparisons = with_positive_weight(comparisons)
    n_now = int(trial_indices(comparisons).max()) + 1
    n_more = max(n_now // 5, 1) if n_answers is None else check_integer("n_answers", n_answers, 1)
    pool = pool or Pool(form_of("triplet"), model.n_objects_)
    ahead = Lookahead(_aligned_draws(model), pool, stream(random_state, "questions"))
    tested, future = ahead.test_comparisons(_N_TESTED), ahead.next_questions(n_more, choose)
    deviations, learned, squares_now, squares_then = _preposterior(model, comparisons, ahead, future, tested)
    lapses = ahead.draws.lapses
    odds = np.array([log_odds(ahead.truth(number), tested) for number in range(len(lapses))])
    truths, floors, excesses = map_errors(answer_probability(odds, lapses[:, None]).mean(axis=0) > 0.5, odds, lapses)
    truth, floor, excess = (float(each.mean()) for each in (truths, floors, excesses))
    truth_falls, excess_falls = error_reduction(odds, float(lapses.mean()), deviations, learned)
    low, high = np.quantile(floors + excesses, [(1 - _ERROR_LEVEL) / 2, (1 + _ERROR_LEVEL) / 2])
    gain_low, gain_high = excess * np.quantile(excess_falls, [(1 - _GAIN_LEVEL) / 2, (1 + _GAIN_LEVEL) / 2])
    radius = float(np.sqrt(chi2.ppf(_ERROR_LEVEL, model.embedding_.shape[1])))
    ellipse = ellipse_size(model.embedding_, model.covariances_, radius)
    shrinkage = float(np.median(np.sqrt(squares_then / squares_now)))
    return Outlook(
        n_answers_now=n_now,
        n_answers_more=n_more,
        error_now=floor + excess,
        error_then=floor + excess * (1 - float(excess_falls.mean())),
        error_low=float(low),
        error_high=float(high),
        gain_low=float(gain_low),
        gain_high=float(gain_high),
        floor=floor,
        truth_now=truth,
        truth_then=truth * (1 - float(truth_falls.mean())),
        ellipse_now=ellipse,
        ellipse_then=None if ellipse is None else ellipse * shrinkage,
        min_gain=float(min_gain),
        chosen=choose == "information",
        held_out=held_out,
    )


def _preposterior(
    model: PosteriorEmbedding,
    comparisons: Comparisons,
    ahead: Lookahead,
    future: tuple[NDArray[np.intp], FloatArray],
    tested: NDArray[np.intp],
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return truths around some of the draws, and what future answers would reveal; see `draw_preposterior`."""
    distinct, n_axes = distinct_comparisons(comparisons, by_annotator=False), model.embedding_.shape[1]
    known = WeightedComparisons(distinct.quadruplets, distinct.total_weights)
    n_considered = max(n_axes, min(ahead.draws.points.shape[2], _MANY_COORDINATES // model.n_objects_))
    n_coordinates = model.n_objects_ * n_considered
    if n_coordinates > _MAX_COORDINATES:
        raise ValueError(
            f"an outlook takes {intcomma(_MAX_COORDINATES)} coordinates at most, and the map has "
            f"{intcomma(n_coordinates)}; fit a map of fewer objects, drawn at random, or of fewer dimensions"
        )
    n_truths = int(np.clip(_MAX_WORK / float(n_coordinates) ** 3, 2, _MAX_TRUTHS))  # fewer where each takes long
    drawn, covariance = [], model._prior_covariance()
    with progress_bar("looking ahead", n_truths) as bar:
        for number in np.linspace(0, len(ahead.draws) - 1, n_truths).round().astype(int).tolist():
            answers, truth = ahead.simulate(*future, number), ahead.truth(number)
            truth, k = truth._replace(points=truth.points[:, :n_considered]), _N_PREPOSTERIOR // n_truths
            drawn.append(draw_preposterior(truth, known, answers, tested, k, ahead.rng, n_axes, covariance))
            bar.update()
    deviations, learned, now, then = zip(*drawn, strict=True)
    return np.concatenate(deviations), np.concatenate(learned), np.mean(now, axis=0), np.mean(then, axis=0)


def _aligned_draws(model: PosteriorEmbedding) -> Draws:
    """Return some of the draws, aligned with the map."""
    points, *parameters = (values[evenly_spaced(len(model.draws_), _MAX_DRAWS)] for values in model.draws_)
    target = np.zeros((model.n_objects_, points.shape[2]))
    target[:, : model.embedding_.shape[1]] = model.embedding_
    return Draws(align(points, target, scaling=False), *parameters)
