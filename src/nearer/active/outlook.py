"""When to stop: what the next answers would bring, and whether they are worth the asking.

The posterior says how far its map errs, by its own draws (`nearer.active.expected_error`). The next questions are
chosen as they would be, some draws in turn are taken for the truth, and the Fisher information of the answers says how
much of the variance is left after them (`nearer.active.precision`). That takes a second or so, and no fit.

Chance decides how much a map gains from a few answers as much as their number does: what happens lies around what is
to be expected, and can be little where much was to be expected. Figures here are expectations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.stats import chi2
from tqdm import tqdm

from nearer.active.expected_error import Beliefs, errors_now, shrinkage
from nearer.active.forms import form_of
from nearer.active.future import Choose, Future
from nearer.active.pools import Pool
from nearer.active.precision import Told, log_odds, sharpened
from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_integer, check_number
from nearer.common.randomness import RandomState, stream
from nearer.common.telling import progress_bar
from nearer.common.words import counted, figure, percent
from nearer.data.comparisons import Comparisons
from nearer.data.units import trials_of, with_positive_weight
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.evaluation.reproducibility import ellipse_size
from nearer.geometry import align
from nearer.posterior.answers import Answers, answers_of
from nearer.posterior.model import Draws

_LEVEL = 0.95
_TESTED = 3000  # comparisons that errors are taken over
_DRAWS = 200  # that say what is known
_TRUTHS = 8  # draws that are taken for the truth in turn; fewer where a map has many coordinates
_MUCH_WORK = 3e9
_WORTH = 0.005


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
    floor : float
        That of the true map: the noise of people.
    truth_now, truth_then : float
        Share of such questions about which the map errs, whatever people answer; expected.
    ellipse_now, ellipse_then : float or None
        Typical half axis of the 95% ellipses, as a share of the typical distance between two objects.
    worth : float
        The gain in error below which answers are not worth the asking.
    chosen : bool
        Whether the next questions are chosen by what they tell, or drawn at random.

    Examples
    --------
    >>> outlook = Outlook(600, 300, 0.123, 0.112, 0.11, 0.14, 0.1, 0.05, 0.03, 0.2, 0.17)
    >>> print(outlook)
    300 more answers would move the error on new answers from 0.123 to 0.112, where noise leaves 0.100 to any map, and \
the size of the ellipses from 20% of a typical distance to 17%. Go on: the gain of 0.011 is worth the asking (0.005 or \
more).
    """

    n_answers_now: int
    n_answers_more: int
    error_now: float
    error_then: float
    error_low: float
    error_high: float
    floor: float
    truth_now: float
    truth_then: float
    ellipse_now: float | None
    ellipse_then: float | None
    worth: float = _WORTH
    chosen: bool = True

    @property
    def gain(self) -> float:
        """By how much the error on new answers would fall."""
        return self.error_now - self.error_then

    @property
    def recommendation(self) -> Literal["stop", "go on"]:
        """Whether to ask on."""
        return "go on" if self.gain >= self.worth else "stop"

    @property
    def reason(self) -> str:
        """Why."""
        left = self.error_now - self.floor
        if self.recommendation == "go on":
            return f"the gain of {figure(self.gain)} is worth the asking ({figure(self.worth)} or more)"
        if left < self.worth:
            return (
                f"the error is within {figure(left)} of the noise of people, and no answers can bring it below that; "
                "answers would make the ellipses smaller, and little else"
            )
        return (
            f"the gain of {figure(self.gain)} is below {figure(self.worth)}; {figure(left)} could be gained in all, and "
            "that takes many times as many answers"
        )

    def __str__(self) -> str:
        answers = counted(self.n_answers_more, "more answer")
        error = (
            f"{answers} would move the error on new answers from {figure(self.error_now)} to {figure(self.error_then)}, "
            f"where noise leaves {figure(self.floor)} to any map"
        )
        if self.ellipse_now is not None and self.ellipse_then is not None:
            error += (
                f", and the size of the ellipses from {percent(self.ellipse_now)} of a typical distance to "
                f"{percent(self.ellipse_then)}"
            )
        return f"{error}. {self.recommendation.capitalize()}: {self.reason}."

    def as_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        said = {"gain": self.gain, "recommendation": self.recommendation, "reason": self.reason}
        return {**asdict(self), **said}


def outlook(
    model: PosteriorEmbedding,
    comparisons: Comparisons,
    n_answers: int | None = None,
    *,
    choose: Choose = "information",
    pool: Pool | None = None,
    worth: float = _WORTH,
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
        The gain in error below which to stop.
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
    comparisons = with_positive_weight(comparisons)
    n_now = int(trials_of(comparisons).max()) + 1
    n_more = max(n_now // 5, 1) if n_answers is None else check_integer("n_answers", n_answers, 1)
    with progress_bar("looking ahead", _TRUTHS) as bar:
        view = _view(model, answers_of(comparisons, people=False), pool, n_more, choose, random_state, bar)
    truth, excess = shrinkage(view.beliefs, view.variances)
    errors = errors_now(view.beliefs)
    of_draws = errors.floor + errors.excess
    low, high = np.quantile(of_draws, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    reach = float(np.sqrt(chi2.ppf(_LEVEL, model.embedding_.shape[1])))
    ellipse = ellipse_size(model.embedding_, model.covariances_, reach)
    floor, error = float(errors.floor.mean()), float(of_draws.mean())
    return Outlook(
        n_answers_now=n_now,
        n_answers_more=n_more,
        error_now=error,
        error_then=floor + excess * (error - floor),
        error_low=float(low),
        error_high=float(high),
        floor=floor,
        truth_now=float(errors.truth.mean()),
        truth_then=truth * float(errors.truth.mean()),
        ellipse_now=ellipse,
        ellipse_then=None if ellipse is None else ellipse * view.half_axis,
        worth=float(worth),
        chosen=choose == "information",
    )


class _View(NamedTuple):
    """What is known of some comparisons, which share of their variances will be left, and of a typical half axis."""

    beliefs: Beliefs
    variances: FloatArray
    half_axis: float


def _view(
    model: PosteriorEmbedding,
    answers: Answers,
    pool: Pool | None,
    n_answers: int,
    choose: Choose,
    random_state: RandomState,
    bar: tqdm[Any],
) -> _View:
    """Look ahead with some draws as the truth, each in its turn."""
    future = Future(
        _draws(model), pool or Pool(form_of("triplet"), model.n_objects_), stream(random_state, "questions")
    )
    tested, to_come = future.tested(_TESTED), future.to_come(n_answers, choose)
    k = len(future.draws)
    odds = np.array([log_odds(future.truth(number), tested)[0] for number in range(k)])
    told = Told(answers.quadruplets, answers.total_weights)
    n_axes = model.embedding_.shape[1]
    found = []
    for number in np.unique(np.linspace(0, k - 1, _n_truths(future.draws)).round().astype(int)):
        more = future.told(to_come, int(number))
        found.append(sharpened(future.truth(int(number)), told, more, tested, n_axes))
        bar.update()
    half_axis = float(np.median(np.mean([each.half_axes for each in found], axis=0)))
    return _View(Beliefs(odds, future.draws.lapses), np.mean([each.variances for each in found], axis=0), half_axis)


def _draws(model: PosteriorEmbedding) -> Draws:
    """Return some of the draws, turned onto the map."""
    some = np.unique(np.linspace(0, len(model.draws_) - 1, _DRAWS).round().astype(int))
    points, *numbers = (values[some] for values in model.draws_)
    onto = np.zeros((model.n_objects_, points.shape[2]))
    onto[:, : model.embedding_.shape[1]] = model.embedding_
    return Draws(align(points, onto, scaling=False), *numbers)


def _n_truths(draws: Draws) -> int:
    """Return how many draws to take for the truth in turn: fewer where each takes long."""
    return int(np.clip(_MUCH_WORK / float(draws.points[0].size) ** 3, 2, _TRUTHS))
