"""Estimation of a scale along an order: the order, the likeliest steps, and their intervals and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.labels import format_label, read_objects
from nearer.optimize.solvers.driver import Callback, Solution, solve
from nearer.optimize.solvers.newton import Newton, OrderedQuestions, ScalingProblem

RIDGE = 0.01  # where it must be: it reaches as far as steps of ten times the noise
_LAPSE_TOL, _MAX_LAPSE = 1e-4, 0.99  # of the ends of an interval
_START_LAPSES = (0.02, 0.1, 0.25)  # at which a free lapse rate is sought first
_NEWTON, _ROUGH_NEWTON, _RESAMPLE_NEWTON = Newton(), Newton(tol=1e-3), Newton(tol=1e-6)
_NUMBERED_LABEL = re.compile(r"(.*?)(\d+(?:\.\d+)?)(\D*)")
_MAX_DESIGN_ENTRIES = 1.25e8  # of the design matrix: 1 GB


class Scale(NamedTuple):
    """A scale in the order of the objects, (n,), and the noise in its units."""

    scale: FloatArray
    sigma: float


def scale_of(steps: FloatArray, order: NDArray[np.intp], seen: NDArray[np.intp]) -> Scale:
    """Return the scale with the given steps, in units of the noise, from each object seen to the next."""
    places = np.concatenate([[0.0], np.cumsum(steps)])
    unit = abs(float(places[_unit_object(places)]))
    if unit == 0:
        return Scale(np.zeros(len(order)), np.inf)
    scale = np.empty(len(order))
    scale[order] = np.interp(np.arange(len(order)), seen, places / unit)
    return Scale(scale, 1 / unit)


def _unit_object(places: FloatArray) -> int:
    """Return which object lies at 1: the last, or the farthest out where that is not above the first."""
    farthest = int(np.argmax(np.abs(places)))
    return len(places) - 1 if places[-1] > 1e-9 * abs(places[farthest]) else farthest


def standard_errors(problem: ScalingProblem, theta: FloatArray) -> FloatArray:
    """Return those of the places in units of the scale, by the delta method."""
    places = np.concatenate([[0.0], np.cumsum(theta[: problem.n_steps])])
    unit = places[_unit_object(places)]
    if unit == 0:
        return np.full(len(places), np.nan)
    by_steps = np.tri(len(places), problem.n_steps, -1)  # a place is the sum of the steps before it
    by_steps = (by_steps - np.outer(places / unit, by_steps[_unit_object(places)])) / unit
    covariance = np.linalg.pinv(problem.information(theta), hermitian=True)[: problem.n_steps, : problem.n_steps]
    return np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", by_steps, covariance, by_steps), 0.0)))


def order_of(objects: NDArray[Any], order: Sequence[Any] | NDArray[Any] | None) -> NDArray[np.intp]:
    """Return the rows of objects, from the first in an order to the last, (n,)."""
    labels = objects.tolist()
    if order is None:
        numbers = numbers_of(labels)
        return np.arange(len(labels)) if numbers is None else np.argsort(numbers, kind="stable")
    position = {label: place for place, label in enumerate(read_objects(order).tolist())}
    lacking = [label for label in labels if label not in position]
    if lacking:
        raise ValueError(
            f"order lacks {pluralize(len(lacking), 'object')}, the first is {format_label(lacking[0])}; list all "
            "objects from the first on the continuum to the last"
        )
    return np.argsort([position[label] for label in labels], kind="stable")


def numbers_of(labels: list[Any]) -> FloatArray | None:
    """Return the numbers that labels are, or in which alone they differ, (n,); None for other labels."""
    try:
        numbers = np.array([float(label) for label in labels])
    except (TypeError, ValueError):
        parts = [_NUMBERED_LABEL.fullmatch(label) if isinstance(label, str) else None for label in labels]
        around = {(part[1], part[3]) if part else None for part in parts}
        if len(around) > 1 or None in around:
            return None
        numbers = np.array([float(part[2]) for part in parts if part])
    return numbers if np.isfinite(numbers).all() else None


def questions_of(comparisons: Comparisons, order: NDArray[np.intp]) -> tuple[OrderedQuestions, NDArray[np.intp]]:
    """Return the questions among the objects that occur, and the positions of these in the order."""
    questions = OrderedQuestions.of(comparisons, np.argsort(order))
    seen, inside = np.unique(questions.pairs, return_inverse=True)
    return questions._replace(pairs=inside.reshape(questions.pairs.shape)), seen


def maximum_likelihood(
    problem: ScalingProblem,
    callback: Callback | None = None,
    start: FloatArray | None = None,
    solver: Newton = _NEWTON,
) -> tuple[ScalingProblem, Solution[FloatArray]]:
    """Return the maximum of the likelihood; where there is none, that with a ridge, which the problem then has."""
    # With a free lapse rate there may be several maxima: the search begins at the best of a few rates. At the bound,
    # the lapse rate of the problem returned is fixed at 0.
    if problem.lapse is not None:
        return _maximum(problem, solver, callback, start)
    start = None if start is None else start[: problem.n_steps]
    without, at_none = _maximum(replace(problem, lapse=0.0), solver, callback, start)
    if at_none.interrupted:
        return without, at_none
    begin, least, steps = _START_LAPSES[0], np.inf, at_none.value
    for lapse in _START_LAPSES:
        fixed = solve(replace(without, lapse=lapse), _ROUGH_NEWTON, steps)
        if fixed.objective < least:
            begin, least, steps = lapse, fixed.objective, fixed.value
    if least >= at_none.objective and without.lapse_slope(at_none.value) >= 0:
        return without, at_none
    free, at_free = _maximum(replace(without, lapse=None), solver, callback, np.append(steps, begin))
    better = replace(free, ridge=without.ridge).value(at_free.value) < at_none.objective
    return (free, at_free) if better or at_free.interrupted else (without, at_none)


def _maximum(
    problem: ScalingProblem, solver: Newton, callback: Callback | None, start: FloatArray | None
) -> tuple[ScalingProblem, Solution[FloatArray]]:
    solution = solve(problem, solver, start, callback=callback)
    if problem.ridge == 0 and not solution.interrupted and problem.separated(solution.value):
        problem = replace(problem, ridge=RIDGE)
        solution = solve(problem, solver, None if problem.lapse is not None else start, callback=callback)
    return problem, solution


def refits(
    problems: Iterator[ScalingProblem], number: int, start: FloatArray
) -> Iterator[tuple[ScalingProblem, FloatArray]]:
    """Yield so many problems as `maximum_likelihood` returns them, and their solutions."""
    for problem in progress_bar("scales", number, problems):
        found, solution = maximum_likelihood(problem, start=start, solver=_RESAMPLE_NEWTON)
        if solution.interrupted:
            raise KeyboardInterrupt
        yield found, solution.value


def corrected_quantiles(
    drawn: FloatArray, estimate: FloatArray, level: float, expansion: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of bias-corrected bootstrap intervals, (k,) each, of draws (b, k) around an estimate (k,)."""
    below = (drawn < estimate).mean(axis=0) + (drawn == estimate).mean(axis=0) / 2
    shift = 2 * ndtri(below.clip(0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    ends = ndtr(shift + expansion * ndtri([[(1 - level) / 2], [(1 + level) / 2]]))
    # Answers that cancel each other make the noise infinite: there is nothing between that and a number.
    low, high = np.rint(ends * (len(drawn) - 1)).astype(int)
    ordered, column = np.sort(drawn, axis=0), np.arange(drawn.shape[1])
    return ordered[low, column], ordered[high, column]


def lapse_ratio(problem: ScalingProblem, start: FloatArray | None = None) -> float:
    """Return twice the gain of the log-likelihood by a free lapse rate over none."""
    without, at_none = maximum_likelihood(replace(problem, lapse=0.0), start=start)
    free, at_free = maximum_likelihood(replace(problem, lapse=None), start=at_none.value)
    values = replace(without, ridge=0.0).value(at_none.value), replace(free, ridge=0.0).value(at_free.value)
    return max(2 * (values[0] - values[1]), 0.0)


def lapse_interval(problem: ScalingProblem, theta: FloatArray, level: float) -> tuple[float, float]:
    """Return the lapse rates that a likelihood ratio test does not reject, with theta the maximum of the likelihood."""
    # Resamples of a rate at its bound, or near it, say little of how far above it the true one may be.
    steps, found = theta[: problem.n_steps], problem.lapse_of(theta)
    accepted = replace(problem, ridge=0.0).value(theta) + chi2.ppf(level, 1) / 2

    def excess(lapse: float) -> float:
        fixed, solution = maximum_likelihood(replace(problem, lapse=lapse), start=steps, solver=_RESAMPLE_NEWTON)
        return replace(fixed, ridge=0.0).value(solution.value) - accepted

    low = brentq(excess, 0.0, found, xtol=_LAPSE_TOL) if found > 0 and excess(0.0) > 0 else 0.0
    high = brentq(excess, found, _MAX_LAPSE, xtol=_LAPSE_TOL) if excess(_MAX_LAPSE) > 0 else 1.0
    return float(low), float(high)


def nonadditivity(problem: ScalingProblem, theta: FloatArray, lengths: FloatArray) -> float:
    """Return the score statistic of a length of its own for each interval, against lengths that add up."""
    # With Pearson residuals e, and derivatives of the probabilities by the parameters (J) and the lengths (D), each
    # over the standard deviations of answers, it is |P e|^2, P the projection onto what D spans beyond J. In
    # ``lengths``, (q, l), 1 is the upper interval of a question and -1 the lower one.
    if problem.lapse_of(theta) == 0:  # at the bound, where it is no free parameter
        problem, theta = replace(problem, lapse=0.0), theta[: problem.n_steps]
    jacobian = problem.standardized_jacobian(theta)
    by_lengths = problem.standardized_slopes(theta)[:, None] * lengths
    residuals = problem.pearson_residuals(theta)
    return _explained_length(residuals, np.column_stack([jacobian, by_lengths])) - _explained_length(
        residuals, jacobian
    )


def _explained_length(residuals: FloatArray, columns: FloatArray) -> float:
    """Return the squared length of the projection of residuals onto the space of columns."""
    along = columns.T @ residuals
    return float(along @ np.linalg.pinv(columns.T @ columns, rcond=1e-9, hermitian=True) @ along)


def check_design_size(numbers: int) -> None:
    """Refuse a design matrix that memory does not hold."""
    if numbers > _MAX_DESIGN_ENTRIES:
        raise ValueError(
            f"so many questions and objects need a matrix of {8 * numbers / 1e9:.0f} GB; MLDS is for some tens of "
            "objects: take fewer, or fit SOE(n_components=1)"
        )
