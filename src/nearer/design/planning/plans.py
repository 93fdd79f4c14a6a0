"""How many answers a study needs to bring the error of its map down to a target."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import (
    decimals,
    format_interval,
    format_level,
    format_money,
    intcomma,
    percent,
    pluralize,
)
from nearer._common.randomness import RandomState
from nearer.design.planning.design import MOST_COMPARISONS, Against, Design
from nearer.design.planning.errors import (
    Replication,
    check_run,
    default_estimator,
    floor_of_studies,
    generators,
    quantiles,
)
from nearer.design.planning.noise import NoiseEstimate
from nearer.design.planning.search import SizeSearch
from nearer.design.planning.theorem import theorem_bound, theorem_excess
from nearer.embedding.base import OrdinalEmbedding
from nearer.plotting import FAINT, INK, PALETTE, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AFTER_PILOT = "with map, noise and people drawn from what the first answers leave possible"
_EXCESS = 0.05  # of the target over the noise, if none is given; against the truth three times as much
_CLOSE = 0.005  # to the floor: the last bit of the way takes answers without end
_CHANCE = 0.5
_ENDLESS = 1e15  # answers, in place of infinity, between which and a number no quantile can be taken


@dataclass(frozen=True, eq=False)
class Plan:
    """How many answers a study needs, and what they cost.

    Attributes
    ----------
    n_answers, low, high : int
        Median over simulated studies, and how many answers ``level`` of them need. ``high`` is None where more of them
        than an interval leaves out do not get there with any size that was tried: their answers are too noisy.
    n_pilot : int, or None
        First answers about these objects that are there, and count.
    after_pilot : bool
        Whether noise and people are drawn from the posterior of first answers.
    n_comparisons : int
        That follow from so many answers.
    target_error : float
    against : {"answers", "truth"}
        What errors are measured against: new answers of people, or the order of the true distances.
    floor : float
        The error of the true map, which no study gets below.
    sizes : ndarray of int
        Numbers of answers that were tried.
    errors, lows, highs : ndarray
        Error at each size: median, and where ``level`` of the simulated studies lie.
    level : float
    n_replications : int
        Simulated studies.
    estimator : str
    price, cost, cost_low, cost_high : float, or None
        Of an answer, and of all of them.
    answers_per_annotator : int, or None
    theorem_answers : float
        Comparisons that theorem 1 of the paper asks for, at its most generous.
    design : Design

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> answer = plan(Design(15, 2), target_error=0.2, price=0.05, estimator=quick, n_replications=2, random_state=0)
    >>> answer.low <= answer.n_answers <= answer.high < answer.theorem_answers
    True
    """

    n_answers: int
    low: int
    high: int | None
    n_pilot: int | None
    after_pilot: bool
    n_comparisons: int
    target_error: float
    against: Against
    floor: float
    sizes: NDArray[np.int64]
    errors: FloatArray
    lows: FloatArray
    highs: FloatArray
    level: float
    n_replications: int
    estimator: str
    price: float | None
    cost: float | None
    cost_low: float | None
    cost_high: float | None
    answers_per_annotator: int | None
    theorem_answers: float
    design: Design

    def as_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "design"}
        arrays = {name: value.tolist() for name, value in plain.items() if isinstance(value, np.ndarray)}
        return {**plain, **arrays, "study": asdict(self.design)}

    def __str__(self) -> str:
        return "\n".join([*self._summary(), "", *self._curve(), *self._theorem()])

    def _summary(self) -> list[str]:
        design = self.design
        need = f"{format_level(self.level)} of simulated studies need {intcomma(self.low)} to "
        if self.high is None:
            need = (
                f"simulated studies need {intcomma(self.low)} or more, and some are too noisy to get there: more than "
            )
        need += intcomma(int(self.sizes[-1]) if self.high is None else self.high)
        lines = [
            f"About {pluralize(self.n_answers, 'answer')} bring the error {measured_on(self.against)} down to "
            f"{decimals(self.target_error)}; {need}.",
        ]
        if self.n_pilot is not None:
            lines.append(
                f"The {pluralize(self.n_pilot, 'answer')} that are there count among them; further questions are drawn "
                "at random."
            )
        if self.n_comparisons > self.n_answers:
            each, everything = design.comparisons_per_answer, pluralize(self.n_comparisons, "comparison")
            lines.append(f"Each answer tells {each} comparisons: {everything} in all.")
        if self.answers_per_annotator is not None:
            people = pluralize(design.n_annotators or 0, "person", "people")
            lines.append(f"With {people}, each gives {pluralize(self.answers_per_annotator, 'answer')}.")
        if self.cost is not None and self.cost_low is not None:
            highest = "or more" if self.cost_high is None else f"to {format_money(self.cost_high)}"
            lines.append(f"They cost {format_money(self.cost)} ({format_money(self.cost_low)} {highest}).")
        studies = pluralize(self.n_replications, "study", "studies")
        simulated = f"{studies} {design.of_objects}, {_AFTER_PILOT}" if self.after_pilot else f"{studies} {design}"
        return [*lines, f"Simulated: {simulated}; maps by {self.estimator}."]

    def _curve(self) -> list[str]:
        rows = zip(self.sizes.tolist(), self.errors, self.lows, self.highs, strict=True)
        lines = [
            f"{intcomma(size):>9}  {decimals(error)}  ({format_interval(low, high)})" for size, error, low, high in rows
        ]
        return [f"  answers  error  ({format_level(self.level)} of studies)", *lines, *floor_of(self.floor)]

    def _theorem(self) -> list[str]:
        """Say what theorem 1 of the paper promises where it promises anything: a map of one point has a risk of 1."""
        allowed = theorem_excess(self.design.n_objects, self.design.n_components, self.n_comparisons)
        if allowed >= 1:
            return []
        return [
            f"Theorem 1 of the paper: with so many comparisons the risk is at most {decimals(allowed)} above the least "
            "possible, in the worst case."
        ]


def plan(
    design: Design,
    target_error: float | None = None,
    *,
    against: Against = "answers",
    pilot: NoiseEstimate | None = None,
    price: float | None = None,
    most_answers: int | None = None,
    estimator: OrdinalEmbedding | None = None,
    n_replications: int = 20,
    level: float = 0.9,
    random_state: RandomState = None,
) -> Plan:
    """Simulate studies to find how many answers bring the error down to a target.

    Parameters
    ----------
    design : Design
        What the study is like: objects, dimensions, noise, how people are asked.
    target_error : float, optional
        Error on new questions to aim at; above the floor, see ``against``, and below one half. Left out, it is 0.05
        above the noise, or 0.15 against the truth.
    against : {"answers", "truth"}
        What the error is measured against: new answers of people, where the floor is the noise, as for held-out answers
        of real studies; or the order of the true distances, where it is 0.
    pilot : NoiseEstimate, optional
        First answers of the study, from `estimate_noise`; as in `predict_error`.
    price : float, optional
        Of one answer.
    most_answers : int, optional
        Where to give up; 400 for each object if left out.
    estimator : estimator of `nearer.embedding`, optional
        Fits the maps; ``DMOE(n_components)`` if left out, which tunes itself.
    n_replications : int
        Simulated studies.
    level : float in (0, 1)
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Plan
        ``str()`` of it is a text for people.

    Raises
    ------
    ValueError
        If the target is out of reach.

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> answer = plan(Design(15, 2, n_annotators=5), 0.2, estimator=quick, n_replications=2, random_state=0)
    >>> print(str(answer).split(" answers")[0])  # doctest: +ELLIPSIS
    About ...
    """
    check_run(design, against, level, n_replications, pilot)
    check_price(price)
    studies = [Replication.start(design, rng, pilot=pilot) for rng in generators(random_state, n_replications)]
    floor = floor_of_studies(design, against, None if pilot is None else [study.noise for study in studies])
    target_error = _default_target(floor, against) if target_error is None else target_error
    _check_target(target_error, floor)
    most = min(400 * design.n_objects, MOST_COMPARISONS // design.comparisons_per_answer)
    if most_answers is not None:
        design.check_answers(most_answers, "most_answers")
        most = most_answers
    estimator = default_estimator(design, estimator)
    found = SizeSearch(studies, estimator, against, target_error, most, level).run()
    low, n_answers, high = _counts(found.answers, level)
    lows, errors, highs = quantiles(found.errors, level)
    costs = (None if price is None or count is None else price * count for count in (low, n_answers, high))
    cost_low, cost, cost_high = costs
    return Plan(
        n_answers=n_answers,
        low=low,
        high=high,
        n_pilot=pilot.n_answers if pilot is not None and pilot.continued_by(design) else None,
        after_pilot=pilot is not None,
        n_comparisons=n_answers * design.comparisons_per_answer,
        target_error=target_error,
        against=against,
        floor=floor,
        sizes=found.sizes,
        errors=errors,
        lows=lows,
        highs=highs,
        level=level,
        n_replications=n_replications,
        estimator=type(estimator).__name__,
        price=price,
        cost=cost,
        cost_low=cost_low,
        cost_high=cost_high,
        answers_per_annotator=None if design.n_annotators is None else math.ceil(n_answers / design.n_annotators),
        theorem_answers=theorem_bound(design.n_objects, design.n_components, target_error - floor),
        design=design,
    )


def measured_on(against: Against) -> str:
    """Say what errors are measured on."""
    return "on new answers" if against == "answers" else "against the true order"


def floor_of(floor: float) -> list[str]:
    """Say which error no map gets below, if there is one."""
    wrong = f"{percent(floor)} of the new answers are wrong themselves"
    return [f"The least error to be expected is {decimals(floor)}: {wrong}."] if floor else []


def check_price(price: float | None) -> None:
    """Refuse a price that is none."""
    if price is not None and not (math.isfinite(price) and price >= 0):
        raise ValueError(f"price={price} must be 0 or more")


def _least(floor: float) -> float:
    """Return the least error to aim at, in three decimals that are not below it."""
    return math.ceil((floor + _CLOSE) * 1000 - 1e-9) / 1000


def _default_target(floor: float, against: Against) -> float:
    """Return an error to aim at that is in reach: a little above the noise, rounded, and below chance."""
    if against == "truth":
        return 3 * _EXCESS
    return round(min(floor + _EXCESS, (floor + _CHANCE) / 2), 3)


def _counts(answers: FloatArray, level: float) -> tuple[int, int, int | None]:
    """Return the low end, the median and the high end of numbers of answers, of which some may be infinite."""
    low, middle, high = quantiles(np.minimum(answers, _ENDLESS), level)
    return math.ceil(low), math.ceil(middle), None if high > MOST_COMPARISONS else math.ceil(high)


def _check_target(target_error: float, floor: float) -> None:
    if not target_error < _CHANCE:
        raise ValueError(f"target_error={target_error}: a map that says nothing has an error of 0.5; aim below it")
    if target_error >= floor + _CLOSE:
        return
    why = (
        f"of the new answers {percent(floor)} are wrong, and the true map itself errs there"
        if floor
        else "errors stay above 0"
    )
    raise ValueError(
        f"an error of {decimals(target_error)} is out of reach: {why}; aim at {decimals(_least(floor))} or more "
        "(--target, "
        "target_error)"
        + (", or ask for the error without their noise (--against truth, against='truth')" if floor else "")
    )


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the error of simulated studies against their size, and where it meets the target.

    Parameters
    ----------
    plan : Plan
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> from nearer.design.planning import Design, plan
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> ax = plot_plan(plan(Design(15, 2), 0.2, estimator=quick, n_replications=2, random_state=0))
    >>> ax.get_xlabel()
    'answers'
    """
    if ax is None:
        ax = new_figure(6.4, 4.2).add_subplot()
    line, band = PALETTE["DMOE"], PALETTE["GNMDS"]
    ax.fill_between(plan.sizes, plan.lows, plan.highs, color=line, alpha=0.15, linewidth=0)
    ax.plot(plan.sizes, plan.errors, color=line, marker="o", markersize=4, linewidth=1.6)
    ax.axvspan(plan.low, plan.sizes[-1] if plan.high is None else plan.high, color=band, alpha=0.12, linewidth=0)
    ax.axvline(plan.n_answers, color=band, linewidth=1.2)
    ax.axhline(plan.target_error, color=band, linewidth=1.2, linestyle="--")
    ax.set_xscale("log")
    ax.set_xlim(plan.sizes[0], plan.sizes[-1])
    ax.set_ylim(0, None)
    ax.set_xticks(plan.sizes, [intcomma(size) for size in plan.sizes.tolist()], rotation=35, ha="right")
    ax.minorticks_off()
    left: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "fontsize": 9}
    ax.annotate(f"target {decimals(plan.target_error)}", (0, plan.target_error), (6, -12), color=INK, **left)
    if plan.floor:
        ax.axhline(plan.floor, color=FAINT, linewidth=1.0, linestyle=":")
        ax.annotate(f"floor {decimals(plan.floor)}: wrong answers", (0, plan.floor), (6, -12), color=INK, **left)
    ax.set_xlabel("answers", color=INK)
    ax.set_ylabel("error on new answers" if plan.against == "answers" else "error against the true order", color=INK)
    highest = "or more" if plan.high is None else f"to {intcomma(plan.high)}"
    title = f"{intcomma(plan.n_answers)} answers ({intcomma(plan.low)} {highest})"
    ax.set_title(title, color=INK, fontsize=11, loc="left")
    return plain(ax)
