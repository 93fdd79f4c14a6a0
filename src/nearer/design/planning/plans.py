"""How many answers a study needs to bring the error of its map down to a target.

A few simulated studies double their size until the target is reached; all of them are then evaluated at sizes around
it. Errors are made monotone in the size (isotonic regression), so that each study crosses the target once, at a size
that is interpolated in log m. Some studies may be too noisy to reach it: sizes grow until all but the share outside the
interval have, but not beyond eight times the first guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

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
from nearer._common.parameters import check_number
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState
from nearer.design.planning.features import StudyFeatures, plain_shares
from nearer.design.planning.prediction import (
    NoiseEstimate,
    Replication,
    check_features,
    check_simulation,
    error_floor,
    quantiles,
)
from nearer.design.planning.simulation import MAX_COMPARISONS, Against, Design
from nearer.design.planning.theorem import theorem_bound, theorem_excess
from nearer.embedding.base import OrdinalEmbedding
from nearer.plotting import FAINT, INK, PALETTE, despine, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEFAULT_EXCESS = 0.05  # of the target over the noise; against the truth three times as much
_MIN_EXCESS = 0.005  # of a target over the floor, close to which the number of answers diverges
_CHANCE_ERROR = 0.5
_MAX_FINITE = 1e15  # answers, in place of infinity, between which and a number no quantile can be taken
_N_FIRST = 3  # replications that locate the crossing before all are evaluated there
_LOG2_STEPS = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0)  # powers of two around the first guess
_MIN_ANSWERS = 10
_MAX_FACTOR = 8  # of the first guess


class TargetNotReached(ValueError):
    """A target is not reached by as many answers as may be simulated."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How many answers a study needs, and what they cost.

    Attributes
    ----------
    n_answers, low, high : int
        Median over simulated studies, and the interval of ``level`` of them. ``high`` is None if too many of them miss
        the target at all sizes tried: their answers are too noisy.
    n_pilot : int, or None
        Answers of a pilot about these objects, which are included.
    after_pilot : bool
        Whether noise and annotators are drawn from the posterior of a pilot.
    n_comparisons : int
        That follow from ``n_answers``.
    floor : float
        The error of the true map, a lower bound.
    sizes, errors, lows, highs : ndarray
        Numbers of answers that were tried, with the median error and the interval of ``level`` of the studies.
    price, cost, cost_low, cost_high : float, or None
        Of one answer, and of all.
    theorem_answers : float
        Comparisons that theorem 1 of the paper requires, at its most generous.
    target_error, against, level, n_replications, estimator, answers_per_annotator, design
        As in `plan`.
    features : StudyFeatures, or None
        What is known of the objects, and how much it explains.
    without_features : Plan, or None
        The same for maps that are learned from the answers alone, unless the target is then out of reach.
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
    features: StudyFeatures | None = None
    without_features: Plan | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it in plain types, for JSON."""
        records = "design", "features", "without_features"
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in records}
        arrays = {name: value.tolist() for name, value in plain.items() if isinstance(value, np.ndarray)}
        found = {
            "feature_share": None if self.features is None else plain_shares(self.features.shares),
            "without_features": None if self.without_features is None else self.without_features.to_dict(),
        }
        return {**plain, **arrays, **found, "study": asdict(self.design)}

    def __str__(self) -> str:
        rows = zip(self.sizes.tolist(), self.errors, self.lows, self.highs, strict=True)
        curve = [
            f"{intcomma(size):>9}  {decimals(error)}  ({format_interval(low, high)})" for size, error, low, high in rows
        ]
        head = f"  answers  error  ({format_level(self.level)} of studies)"
        lines = [*self._summary(), "", head, *curve, *describe_floor(self.floor)]
        allowed = theorem_excess(self.design.n_objects, self.design.n_components, self.n_comparisons)
        if allowed < 1:  # a map of one point has a risk of 1
            lines.append(
                f"Theorem 1 of the paper: with so many comparisons the risk is at most {decimals(allowed)} above the "
                "least possible, in the worst case."
            )
        return "\n".join(lines)

    def _summary(self) -> list[str]:
        design, low, level = self.design, intcomma(self.low), format_level(self.level)
        if self.high is None:
            largest = intcomma(int(self.sizes[-1]))
            need = f"simulated studies need {low} or more, and some are too noisy to get there: more than {largest}"
        else:
            need = f"{level} of simulated studies need {low} to {intcomma(self.high)}"
        answers = pluralize(self.n_answers, "answer")
        answers = f"About {answers}" if self.n_answers > self.sizes[0] else f"{answers} or fewer"
        lines = [
            f"{answers} bring the error {describe_against(self.against)} down to "
            f"{decimals(self.target_error)}; {need}.",
        ]
        if self.features is not None:
            lines += [describe_without(self.without_features), f"{self.features}"]
        if self.n_pilot is not None:
            lines.append(
                f"The {pluralize(self.n_pilot, 'answer')} of the pilot are included; further questions are drawn at "
                "random."
            )
        if self.n_comparisons > self.n_answers:
            each, everything = design.comparisons_per_answer, pluralize(self.n_comparisons, "comparison")
            lines.append(f"Each answer gives {each} comparisons: {everything} in all.")
        if self.answers_per_annotator is not None:
            people = pluralize(design.n_annotators or 0, "person", "people")
            lines.append(f"With {people}, each gives {pluralize(self.answers_per_annotator, 'answer')}.")
        if self.cost is not None and self.cost_low is not None:
            highest = "or more" if self.cost_high is None else f"to {format_money(self.cost_high)}"
            lines.append(f"They cost {format_money(self.cost)} ({format_money(self.cost_low)} {highest}).")
        drawn = "with map, noise and annotators drawn from the posterior of the pilot"
        described = f"{design.of_objects}, {drawn}" if self.after_pilot else str(design)
        studies = pluralize(self.n_replications, "study", "studies")
        return [*lines, f"Simulated: {studies} {described}; maps by {self.estimator}."]


def describe_without(plan: Plan | None) -> str:
    """Return how many answers are needed without features in a sentence."""
    if plan is None:
        return "Without features the target is out of reach."
    highest = "or more" if plan.high is None else f"to {intcomma(plan.high)}"
    return f"Without features it takes about {intcomma(plan.n_answers)} ({intcomma(plan.low)} {highest})."


def plan(
    design: Design,
    target_error: float | None = None,
    *,
    against: Against = "answers",
    pilot: NoiseEstimate | None = None,
    features: Any = None,
    feature_share: float | None = None,
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
        What the error is measured against: new answers, where the floor is the noise, as for held-out answers of real
        studies; or the order of the true distances, where it is 0.
    pilot : NoiseEstimate, optional
        A pilot of the study, from `estimate_noise`; as in `predict_error`. If it was estimated with features, these are
        those of the study.
    features : as for `PosteriorEmbedding`, optional
        What is known of the objects, at least as many as the design has: of more, each simulated study has some. True
        maps are such as features explain, and maps are learned with them; the plan also says what it takes without.
    feature_share : float in [0, 1), optional
        Share of the variance of the coordinates that features explain. Left out, each study draws one between 0.5 and
        0.85, about as real ones had.
    price : float, optional
        Of one answer.
    most_answers : int, optional
        Upper limit; 400 for each object if left out.
    estimator : estimator of `nearer.embedding`, optional
        Fits the maps; ``DMOE(n_components)`` if left out, which tunes itself, or with features
        ``PosteriorEmbedding(n_components, solver="fast")``.
    n_replications : int
        Simulated studies.
    level : float in (0, 1)
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Plan
        ``str()`` of it is a summary. A target out of reach is a ValueError.

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> found = plan(Design(15, 2, n_annotators=5), 0.2, estimator=quick, n_replications=2, random_state=0)
    >>> found.low <= found.n_answers <= found.high < found.theorem_answers
    True
    >>> print(str(found).split(" answers")[0])  # doctest: +ELLIPSIS
    About ...
    """
    known = check_features(features, feature_share, design, pilot)
    estimator = check_simulation(design, against, level, n_replications, pilot, estimator, known)
    if price is not None:
        check_number("price", price, least=0)
    studies = list(Replication.draw(n_replications, random_state, design, pilot=pilot, features=known))
    floor = error_floor(design, against, None if pilot is None else [study.noise for study in studies])
    target_error = _checked_target(target_error, floor, against)
    most = min(400 * design.n_objects, MAX_COMPARISONS // design.comparisons_per_answer)
    if most_answers is not None:
        design.check_answers(most_answers, "most_answers")
        most = most_answers

    def found(*, with_features: bool) -> Plan:
        sizes, curves = _search(studies, estimator, against, target_error, most, level, with_features=with_features)
        answers = np.array([crossing(sizes, each, target_error) for each in curves])
        ends = quantiles(np.minimum(answers, _MAX_FINITE), level)
        # Where half of an even number of studies reach the target, the median lies between a number and none.
        middle = ends[1] if ends[1] <= MAX_COMPARISONS else np.quantile(answers, 0.5, method="lower")
        low, n_answers = math.ceil(ends[0]), math.ceil(middle)
        high = None if ends[2] > MAX_COMPARISONS else math.ceil(ends[2])
        lows, errors, highs = quantiles(curves, level)
        costs = (None if price is None or count is None else price * count for count in (low, n_answers, high))
        cost_low, cost, cost_high = costs
        return Plan(
            n_answers=n_answers,
            low=low,
            high=high,
            n_pilot=pilot.n_answers if pilot is not None and pilot.is_continued_by(design) else None,
            after_pilot=pilot is not None,
            n_comparisons=n_answers * design.comparisons_per_answer,
            target_error=target_error,
            against=against,
            floor=floor,
            sizes=sizes,
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

    planned = found(with_features=known is not None)
    if known is None:
        return planned
    try:
        alone = found(with_features=False)
    except TargetNotReached:
        alone = None
    return replace(planned, features=known, without_features=alone)


def describe_against(against: Against) -> str:
    """Return what errors are measured on, in words."""
    return "on new answers" if against == "answers" else "against the true order"


def describe_floor(floor: float) -> list[str]:
    """Return the least error to be expected in a sentence, if there is one."""
    wrong = f"{percent(floor)} of the new answers are wrong themselves"
    return [f"The least error to be expected is {decimals(floor)}: {wrong}."] if floor else []


def _checked_target(target_error: float | None, floor: float, against: Against) -> float:
    """Return a target between the floor and chance; left out, one in reach, a little above the noise."""
    if target_error is None:
        above = round(min(floor + _DEFAULT_EXCESS, (floor + _CHANCE_ERROR) / 2), 3)
        target_error = 3 * _DEFAULT_EXCESS if against == "truth" else above
    if not target_error < _CHANCE_ERROR:
        raise ValueError(f"target_error={target_error}: an uninformative map has an error of 0.5; aim below it")
    if target_error >= floor + _MIN_EXCESS:
        return target_error
    why, relax = "errors stay above 0", ""
    if floor:
        why = f"of the new answers {percent(floor)} are wrong, and the true map itself errs there"
        relax = ", or ask for the error without their noise (--against truth, against='truth')"
    least = math.ceil((floor + _MIN_EXCESS) * 1000 - 1e-9) / 1000
    raise ValueError(
        f"an error of {decimals(target_error)} is out of reach: {why}; aim at {decimals(least)} or more (--target, "
        f"target_error){relax}"
    )


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the error of simulated studies against their size, and where it reaches the target.

    Examples
    --------
    >>> from nearer.embedding import TSTE
    >>> from nearer.design import Design, plan
    >>> quick = TSTE(n_components=2, trace=0.02)
    >>> ax = plot_plan(plan(Design(15, 2), 0.2, estimator=quick, n_replications=2, random_state=0))
    >>> ax.get_xlabel()
    'answers'
    """
    if ax is None:
        ax = new_figure(6.4, 4.2).add_subplot()
    line, band = PALETTE["DMOE"], PALETTE["GNMDS"]
    ax.fill_between(plan.sizes, plan.lows, plan.highs, color=line, alpha=0.15, linewidth=0)
    if (alone := plan.without_features) is not None:
        ax.plot(
            alone.sizes, alone.errors, color=FAINT, marker="o", markersize=4, linewidth=1.2, label="without features"
        )
    ax.plot(plan.sizes, plan.errors, color=line, marker="o", markersize=4, linewidth=1.6, label="with features")
    ax.axvspan(plan.low, plan.sizes[-1] if plan.high is None else plan.high, color=band, alpha=0.12, linewidth=0)
    ax.axvline(plan.n_answers, color=band, linewidth=1.2)
    ax.axhline(plan.target_error, color=band, linewidth=1.2, linestyle="--")
    sizes = plan.sizes
    if alone is not None:
        sizes = np.unique(np.concatenate([sizes, alone.sizes]))
        sizes = sizes[np.unique(np.round(np.log2(sizes) * 1.5), return_index=True)[1]]  # labels do not overlap
        ax.legend(frameon=False, loc="lower left", fontsize=9)
    ax.set_xscale("log")
    ax.set_xlim(sizes[0], sizes[-1])
    ax.set_ylim(0, None)
    ax.set_xticks(sizes, [intcomma(size) for size in sizes.tolist()], rotation=35, ha="right")
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
    return despine(ax)


def _search(
    studies: Sequence[Replication],
    estimator: OrdinalEmbedding,
    against: Against,
    target: float,
    most_answers: int,
    level: float,
    *,
    with_features: bool = True,
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return sizes around that where simulated studies reach a target, (s,), and their monotone errors, (r, s)."""

    def errors_at(studies: Sequence[Replication], sizes: Sequence[int]) -> FloatArray:
        errors = np.empty((len(studies), len(sizes)))
        for at in np.ndindex(errors.shape):
            errors[at] = studies[at[0]].errors(sizes[at[1]], estimator, with_features=with_features)[against == "truth"]
            bar.update()
        return errors

    def check_size(wanted: int, tried: int, error: float) -> None:
        if wanted > most_answers:
            raise TargetNotReached(
                f"target_error={decimals(target)} is not reached by {intcomma(tried)} answers: simulated studies still "
                f"err by {decimals(error)}. {intcomma(wanted)} would be more than most_answers={most_answers}; aim "
                "higher, or raise it"
            )

    few, first = studies[:_N_FIRST], [max(_MIN_ANSWERS, studies[0].truth.design.n_objects)]
    with progress_bar("simulating", len(studies) * (len(_LOG2_STEPS) + 2)) as bar:
        medians = [float(np.median(errors_at(few, first)))]
        while medians[0] <= target and first[0] > _MIN_ANSWERS:
            first.insert(0, max(_MIN_ANSWERS, first[0] // 2))
            medians.insert(0, float(np.median(errors_at(few, first[:1]))))
        while medians[-1] > target:
            check_size(2 * first[-1], first[-1], medians[-1])
            first.append(2 * first[-1])
            medians.append(float(np.median(errors_at(few, first[-1:]))))
        guess = crossing(np.array(first), monotone(np.array(first), np.array(medians)), target)
        sizes = np.unique(np.maximum(np.round(guess * 2.0 ** np.array(_LOG2_STEPS)), _MIN_ANSWERS).astype(np.int64))
        bar.total = bar.n + len(sizes) * len(studies)
        errors = errors_at(studies, sizes.tolist())
        while (errors[:, -1] > target).mean() > (1 - level) / 2:
            larger = round(sizes[-1] * 2**0.5)
            if larger > min(_MAX_FACTOR * guess, most_answers):
                break
            bar.total += len(studies)
            sizes, errors = np.append(sizes, larger), np.column_stack([errors, errors_at(studies, [larger])])
    smooth = np.array([monotone(sizes, each) for each in errors])
    if np.median(smooth[:, -1]) > target:
        check_size(most_answers + 1, int(sizes[-1]), float(np.median(smooth[:, -1])))
    return sizes, smooth


def monotone(sizes: NDArray[np.int64], errors: FloatArray) -> FloatArray:
    """Return the nearest errors that never rise with the size (isotonic regression)."""
    return IsotonicRegression(increasing=False).fit_transform(np.log(sizes), errors)


def crossing(sizes: NDArray[np.int64], errors: FloatArray, target: float) -> float:
    """Return the size at which monotone errors first reach a target, interpolated in the logarithm of the size.

    Errors that are always below the target reach it at the smallest size, and those above it never.
    """
    if errors[-1] > target:
        return float("inf")
    after = int(np.argmax(errors <= target))
    if after == 0:
        return float(sizes[0])
    share = (errors[after - 1] - target) / (errors[after - 1] - errors[after])
    return float(sizes[after - 1] * (sizes[after] / sizes[after - 1]) ** share)
