"""When to stop: what the next answers would bring, and whether they are worth the asking.

The posterior says how far its map errs, by its own draws (`design.active.expected_error`). The next questions are
chosen as they would be, and around some of the draws it is imagined where the truth lies and what of that their answers
would tell (`nearer.design.active.precision`). That takes a second or so, and no fit.

How much a map gains from a few more answers is a matter of chance as much as of their number. Figures are what is to be
expected, and an interval says between which values the gain will be in 8 of 10 cases.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from nearer._common.formatting import decimals, format_interval, intcomma, percent, pluralize
from nearer._common.parameters import check_integer, check_number
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices, with_positive_weight
from nearer.design.active.expected_error import Errors, Fall, errors_of, fall
from nearer.design.active.forms import form_of
from nearer.design.active.future import Choose, Future
from nearer.design.active.honest import HonestError
from nearer.design.active.pools import Pool
from nearer.design.active.precision import WeightedComparisons, imagine
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.evaluation.reproducibility import ellipse_size
from nearer.geometry import align
from nearer.model.answers import answer_probability
from nearer.sampling.model import DistinctComparisons, Draws, distinct_comparisons

_LEVEL, _USUALLY = 0.95, 0.8
_TESTED = 3000  # comparisons that errors are taken over
_DRAWS = 200  # that say what is known
_TRUTHS = 8  # draws around which the truth is imagined; fewer where a map has many coordinates
_IMAGINED = 400  # times in all
_MUCH_WORK = 3e9
_MANY_COORDINATES, _MOST_COORDINATES = 4000, 10_000  # beyond these: only the axes of the map; nothing at all
_WORTH, _FIFTH_MORE = 0.005, 1.2


@dataclass(frozen=True)
class Outlook:
    """What the next answers would bring.

    Attributes
    ----------
    n_answers_now, n_answers_more : int
    error_now, error_then : float
        Share of new answers, to questions drawn at random, that the map does not predict; expected.
    error_low, error_high : float
        Where that of now lies with a probability of 95%, by the posterior.
    gain_low, gain_high : float
        By how much the error will fall, in 8 of 10 cases; below 0 where it may rise.
    floor : float
        That of the true map: the noise of people.
    truth_now, truth_then : float
        Share of such questions about which the map errs, whatever people answer; expected.
    ellipse_now, ellipse_then : float or None
        Typical half axis of the 95% ellipses, as a share of the typical distance between two objects.
    worth : float
        The gain in error below which a fifth more answers are not worth the asking.
    chosen : bool
        Whether the next questions are chosen by what they tell, or drawn at random.
    honest : HonestError or None
        The error that random questions had.

    Examples
    --------
    >>> outlook = Outlook(600, 300, 0.123, 0.112, 0.11, 0.14, 0.004, 0.019, 0.1, 0.05, 0.03, 0.2, 0.17)
    >>> print(outlook)
    300 more answers would move the error on new answers from 0.123 to 0.112 (by 0.004 to 0.019 in 8 of 10 cases; \
noise leaves 0.100 to any map), and the size of the ellipses from 20% of a typical distance to 17%. Go on: a fifth \
more answers gain 0.006, which is worth the asking (0.005 or more).
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
    worth: float = _WORTH
    chosen: bool = True
    honest: HonestError | None = None

    @property
    def gain(self) -> float:
        """By how much the error on new answers would fall."""
        return self.error_now - self.error_then

    @property
    def gain_of_a_fifth(self) -> float:
        """By how much it would fall with a fifth more answers: what is above the floor goes with a power of them."""
        now, then = self.error_now - self.floor, self.error_then - self.floor
        if then <= 0:
            return now
        power = np.log(then / now) / np.log1p(self.n_answers_more / self.n_answers_now)
        return now * float(1 - _FIFTH_MORE**power)

    @property
    def recommendation(self) -> Literal["stop", "go on"]:
        """Whether to ask on: whether a fifth more answers would gain what they are worth."""
        return "go on" if self.gain_of_a_fifth >= self.worth else "stop"

    @property
    def reason(self) -> str:
        """Why."""
        left, gain = self.error_now - self.floor, self.gain_of_a_fifth
        if self.recommendation == "go on":
            return (
                f"a fifth more answers gain {decimals(gain)}, which is worth the asking ({decimals(self.worth)} "
                "or more)"
            )
        if left < self.worth:
            return (
                f"the error is within {decimals(left)} of the noise of people, and no answers can bring it below that; "
                "they would make the ellipses smaller, and little else"
            )
        return (
            f"a fifth more answers gain {decimals(gain)}, less than {decimals(self.worth)}; {decimals(left)} could "
            "be gained "
            "at most, by answers without end"
        )

    @property
    def warning(self) -> str | None:
        """What speaks against these figures: an honest error that the posterior does not expect."""
        if self.honest is None or self.honest.low <= self.error_now <= self.honest.high:
            return None
        side = "more" if self.honest > self.error_now else "less"
        return (
            f"On random questions the map erred {side} than the posterior expects, {self.honest}: its model does not "
            "fit well, and the figures may be off"
        )

    @property
    def _spread(self) -> str:
        if self.gain_low <= 0:
            return f"by {decimals(self.gain_high)} at most in 9 of 10 cases"
        return f"by {format_interval(self.gain_low, self.gain_high)} in 8 of 10 cases"

    def __str__(self) -> str:
        answers = pluralize(self.n_answers_more, "more answer")
        error = (
            f"{answers} would move the error on new answers from {decimals(self.error_now)} to "
            f"{decimals(self.error_then)} "
            f"({self._spread}; noise leaves {decimals(self.floor)} to any map)"
        )
        if self.ellipse_now is not None and self.ellipse_then is not None:
            error += (
                f", and the size of the ellipses from {percent(self.ellipse_now)} of a typical distance to "
                f"{percent(self.ellipse_then)}"
            )
        said = f"{error}. {self.recommendation.capitalize()}: {self.reason}."
        return said if self.warning is None else f"{said} {self.warning}."

    def as_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        honest = None
        if self.honest is not None:
            honest = {"error": float(self.honest), "low": self.honest.low, "high": self.honest.high}
        names = "gain", "gain_of_a_fifth", "recommendation", "reason", "warning"
        said = {name: getattr(self, name) for name in names}
        return {**asdict(self), "honest": honest, **said}


def outlook(
    model: PosteriorEmbedding,
    comparisons: Comparisons,
    n_answers: int | None = None,
    *,
    choose: Choose = "information",
    pool: Pool | None = None,
    worth: float = _WORTH,
    honest: HonestError | None = None,
    random_state: RandomState = None,
) -> Outlook:
    """Return what the next answers would bring: the error and the ellipses to expect, and whether to go on.

    Parameters
    ----------
    model : PosteriorEmbedding
        Fitted to ``comparisons``.
    comparisons : Comparisons
        All answers so far.
    n_answers : int, optional
        How many more there would be; a fifth of those there are if left out.
    choose : {"information", "random"}
        How the next questions come about: as `Questions` asks them, or drawn at random.
    pool : Pool, optional
        The questions that may be asked; all triplets if left out.
    worth : float
        The gain in error, by a fifth more answers, below which to stop.
    honest : HonestError, optional
        The error on random questions, as `Questions.held_out_error` has it: if it is not the one that the posterior
        expects, the outlook says so.
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
    check_number("worth", worth, least=0)
    if not isinstance(model, PosteriorEmbedding):
        raise ValueError(f"an outlook needs draws from a posterior: fit a PosteriorEmbedding, not {model!r}")
    check_is_fitted(model)
    if comparisons.n_objects != model.n_objects_:
        raise ValueError(
            f"the model is about {pluralize(model.n_objects_, 'object')}, and the answers about "
            f"{comparisons.n_objects}; "
            "pass the comparisons that it was fitted to"
        )
    comparisons = with_positive_weight(comparisons)
    n_now = int(trial_indices(comparisons).max()) + 1
    n_more = max(n_now // 5, 1) if n_answers is None else check_integer("n_answers", n_answers, 1)
    with progress_bar("looking ahead", _TRUTHS) as bar:
        view = _view(
            model, distinct_comparisons(comparisons, by_annotator=False), pool, n_more, choose, random_state, bar
        )
    errors, falls = view.errors, view.falls
    truth, floor, excess = (float(each.mean()) for each in errors)
    low, high = np.quantile(errors.floor + errors.excess, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    gain_low, gain_high = excess * np.quantile(falls.excesses, [(1 - _USUALLY) / 2, (1 + _USUALLY) / 2])
    reach = float(np.sqrt(chi2.ppf(_LEVEL, model.embedding_.shape[1])))
    ellipse = ellipse_size(model.embedding_, model.covariances_, reach)
    return Outlook(
        n_answers_now=n_now,
        n_answers_more=n_more,
        error_now=floor + excess,
        error_then=floor + excess * (1 - falls.excess),
        error_low=float(low),
        error_high=float(high),
        gain_low=float(gain_low),
        gain_high=float(gain_high),
        floor=floor,
        truth_now=truth,
        truth_then=truth * (1 - falls.truth),
        ellipse_now=ellipse,
        ellipse_then=None if ellipse is None else ellipse * view.half_axis,
        worth=float(worth),
        chosen=choose == "information",
        honest=honest,
    )


class _View(NamedTuple):
    """Errors with each draw as the truth, how they will fall, and what share of a typical half axis will be left."""

    errors: Errors
    falls: Fall
    half_axis: float


def _view(
    model: PosteriorEmbedding,
    answers: DistinctComparisons,
    pool: Pool | None,
    n_answers: int,
    choose: Choose,
    random_state: RandomState,
    bar: tqdm[Any],
) -> _View:
    """Look ahead around some of the draws."""
    future = Future(
        _draws(model), pool or Pool(form_of("triplet"), model.n_objects_), stream(random_state, "questions")
    )
    tested, to_come = future.tested(_TESTED), future.to_come(n_answers, choose)
    told, n_axes = WeightedComparisons(answers.quadruplets, answers.total_weights), model.embedding_.shape[1]
    n_looked_at = max(n_axes, min(future.draws.points.shape[2], _MANY_COORDINATES // model.n_objects_))
    n_truths = _n_truths(model.n_objects_ * n_looked_at)
    numbers = np.linspace(0, len(future.draws) - 1, n_truths).round().astype(int).tolist()
    imagined = []
    for number in numbers:
        answered, around = future.told(to_come, number), future.truth(number)
        around = around._replace(points=around.points[:, :n_looked_at])
        imagined.append(imagine(around, told, answered, tested, _IMAGINED // len(numbers), future.rng, n_axes))
        bar.update()
    away, learned, now, then = zip(*imagined, strict=True)
    lapses = future.draws.lapses
    odds = future.odds(tested)
    errors = errors_of(answer_probability(odds, lapses[:, None]).mean(axis=0) > 0.5, odds, lapses)
    falls = fall(odds, float(lapses.mean()), np.concatenate(away), np.concatenate(learned))
    return _View(errors, falls, float(np.median(np.sqrt(np.mean(then, axis=0) / np.mean(now, axis=0)))))


def _draws(model: PosteriorEmbedding) -> Draws:
    """Return some of the draws, turned onto the map."""
    some = np.unique(np.linspace(0, len(model.draws_) - 1, _DRAWS).round().astype(int))
    points, *numbers = (values[some] for values in model.draws_)
    onto = np.zeros((model.n_objects_, points.shape[2]))
    onto[:, : model.embedding_.shape[1]] = model.embedding_
    return Draws(align(points, onto, scaling=False), *numbers)


def _n_truths(n_coordinates: int) -> int:
    """Return around how many draws to look: fewer where each takes long."""
    if n_coordinates > _MOST_COORDINATES:
        raise ValueError(
            f"an outlook takes in {intcomma(_MOST_COORDINATES)} coordinates at most, and the map has "
            f"{intcomma(n_coordinates)}; fit a map of fewer objects, drawn at random, or of fewer dimensions"
        )
    return int(np.clip(_MUCH_WORK / float(n_coordinates) ** 3, 2, _TRUTHS))
