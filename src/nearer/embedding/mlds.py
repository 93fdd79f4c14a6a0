"""MLDS: maximum-likelihood difference scaling, a scale of objects whose order is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.progress import progress_bar, warn_caller
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import default_resampling_unit, group_indices, resolve_grouping, small_sample_factor
from nearer.data.labels import format_label, read_objects
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import completed
from nearer.model.answers import LINKS, LinkName, answer_probability
from nearer.optimize.problems.margins import clear_ties
from nearer.optimize.solvers.driver import Callback, Solution, solve
from nearer.optimize.solvers.newton import Newton, OrderedQuestions, ScalingProblem

_RIDGE = 0.01  # where it must be: it reaches as far as steps of ten times the noise
_LAPSE_TOL, _MAX_LAPSE = 1e-4, 0.99  # of the ends of an interval
# The size of the scale in units of the noise: how its interval is searched for, relative to the estimate.
_WIDER, _MAX_SIZE_FACTOR, _SIZE_TOL = 1.5, 200.0, 1e-3
_START_LAPSES = (0.02, 0.1, 0.25)  # at which a free lapse rate is sought first
_NEWTON, _ROUGH_NEWTON, _RESAMPLE_NEWTON = Newton(), Newton(tol=1e-3), Newton(tol=1e-6)
_NUMBERED_LABEL = re.compile(r"(.*?)(\d+(?:\.\d+)?)(\D*)")
_MAX_DESIGN_ENTRIES = 1.25e8  # of the design matrix: 1 GB


class ScaleIntervals(NamedTuple):
    """Intervals of a scale: ends for each object, (n,), those of the noise and of the lapse rate.

    ``by`` names what they are about: further answers of the same people ("trials") or of further people ("annotators").
    """

    lower: FloatArray
    upper: FloatArray
    sigma: tuple[float, float]
    lapse: tuple[float, float]
    by: Literal["trials", "annotators"]


class GoodnessOfFit(NamedTuple):
    """Two tests of the model: whether intervals add up to one scale, and whether people lapse.

    Attributes
    ----------
    additivity : float
        Score statistic of a length of its own for each interval, against lengths that are differences on one scale.
    additivity_p : float
        Share of sets of answers simulated from the scale with a statistic as large.
    lapse_ratio : float
        Twice the gain of the log-likelihood by a free lapse rate over none.
    lapse_p : float
        How often it is as large without lapses: it is 0 half of the time, as rates are not negative, and otherwise
        chi-square with one degree of freedom (Self and Liang 1987).
    n_simulations : int
    """

    additivity: float
    additivity_p: float
    lapse_ratio: float
    lapse_p: float
    n_simulations: int


@dataclass(eq=False, repr=False, kw_only=True)
class MLDS(OrdinalEmbedding):
    r"""Maximum-likelihood difference scaling (Maloney and Yang 2003): a scale of objects in a known order.

    Objects are points of one physical continuum, and psi says how large the differences between them seem. The far pair
    of a comparison is called so with probability

    .. math:: \lambda / 2 + (1 - \lambda) F((|\psi_l - \psi_k| - |\psi_i - \psi_j|) / \sigma)

    where the order says which object of a pair is the upper one, and lambda is the lapse rate. With lambda = 0 that is
    the generalized linear model of Knoblauch and Maloney (2008). psi is not forced to rise with the order.

    Parameters
    ----------
    n_components : int, default 1
        A scale has one dimension; nothing else is taken.
    order : sequence of labels, optional
        All objects, from the first on the continuum to the last; more may be listed. Left out: labels that are numbers,
        or differ in a number alone, by its size; others as they are sorted, with a warning.
    link : {"probit", "logit"}, default "probit"
        Whether F is normal or logistic.
    lapse : float in [0, 1), optional
        The lapse rate lambda; estimated by maximum likelihood if left out.
    n_objects, random_state
        As for every estimator; random_state is for `intervals` and `goodness_of_fit`; the fit draws nothing.

    Attributes
    ----------
    scale_ : ndarray, shape (n_objects_,)
        psi, in the order of `objects_`: 0 for the first object, 1 for the last. An object that no comparison mentions
        lies between its neighbors in the order.
    sigma_, lapse_ : float
        The noise of a difference of intervals, in units of the scale, and the lapse rate.
    standard_errors_ : ndarray, shape (n_objects_,)
        Of the scale, for further answers of the same people; 0 for the two ends, NaN for objects in no comparison.
    order_ : ndarray of int, shape (n_objects_,)
        Rows of the objects, from the first on the continuum to the last.
    deviance_, aic_ : float
        Minus twice the log-likelihood of the answers, and that with 2 for each parameter.
    explained_deviance_ : float
        The share by which the deviance is below that of guesses.
    embedding_ : ndarray, shape (n_objects_, 1)
        The scale with its mean at 0.
    objects_, n_objects_, n_iter_, converged_, history_, solver_, restarts_, trace_, comparisons_
        As for every estimator.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> triads = np.sort([rng.choice(8, 3, replace=False) for _ in range(400)], axis=1)[:, [1, 0, 2]]
    >>> psi = (np.arange(8) / 7) ** 2
    >>> difference = psi[triads[:, 2]] + psi[triads[:, 1]] - 2 * psi[triads[:, 0]]
    >>> model = MLDS().fit(triads, difference + rng.normal(scale=0.2, size=400) > 0)
    >>> bool(np.corrcoef(model.scale_, psi)[0, 1] > 0.99)
    True
    """

    n_components: int = field(default=1, kw_only=False)
    order: Sequence[Any] | NDArray[Any] | None = None
    link: LinkName = "probit"
    lapse: float | None = None

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2): those of the model."""
        eta = self.decision_function(X) / self.sigma_
        return answer_probability(np.column_stack([-eta, eta]), self.lapse_, LINKS[self.link])

    def intervals(
        self,
        level: float = 0.95,
        n_resamples: int = 1000,
        by: Literal["trials", "annotators"] | None = None,
        random_state: RandomState = None,
    ) -> ScaleIntervals:
        """Return bootstrap intervals of the scale, of its noise and of the lapse rate.

        They are quantiles of other fits, corrected for their median (Efron 1987). Those of the noise and of the lapse
        rate, by trials, have the values that a likelihood ratio test does not reject.

        Parameters
        ----------
        level : float, default 0.95
        n_resamples : int, default 1000
        by : {"trials", "annotators"}, optional
            "trials": fits to answers simulated from the scale, about further answers of the same people. "annotators":
            fits in which people have random weights (Rubin 1981), about the people whom these were drawn from. Left
            out: annotators where answers are known to be of enough.
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_level(level)
        check_integer("n_resamples", n_resamples, 10)
        comparisons = self._require_in_memory(self.comparisons_)
        unit = default_resampling_unit(comparisons) if by is None else resolve_grouping(comparisons, by)
        _, seen, problem, theta = self._solved()
        known = self.order_[seen]
        if not np.allclose(_scale_of(theta[: problem.n_steps], self.order_, seen)[0][known], self.scale_[known]):
            raise ValueError(
                "an object was placed beyond an end of the scale, whose unit is still that of the fit; fit all "
                "comparisons together to get intervals"
            )
        by_people = unit == "annotators"
        drawn = []
        for refit, at in self._refits(n_resamples, random_state, by_people=by_people):
            scale, sigma = _scale_of(at[: refit.n_steps], self.order_, seen)
            drawn.append([*scale, sigma, refit.lapse_of(at)])
        estimate = np.array([*self.scale_, self.sigma_, self.lapse_])
        expansion = small_sample_factor(group_indices(comparisons, "annotators"), level) if by_people else 1.0
        lower, upper = corrected_quantiles(np.array(drawn), estimate, level, expansion)
        sigmas, lapses = (tuple(ends) for ends in np.column_stack([lower, upper])[-2:].tolist())
        if not by_people:
            lapses = _lapse_interval(problem, theta, level) if self.lapse is None else (self.lapse, self.lapse)
            if problem.n_steps > 1 and np.isfinite(self.sigma_):
                sigmas = _noise_interval(problem, theta, level)
        return ScaleIntervals(lower[:-2], upper[:-2], sigmas, lapses, "annotators" if by_people else "trials")

    def goodness_of_fit(self, n_simulations: int = 1000, random_state: RandomState = None) -> GoodnessOfFit:
        """Test whether intervals add up to one scale, and whether people lapse.

        Small p-values are evidence against the scale, or for lapses. Answers are taken as those of one observer.

        Parameters
        ----------
        n_simulations : int, default 1000
            Sets of answers simulated from the scale, which the first test compares with.
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_integer("n_simulations", n_simulations, 10)
        questions, _, problem, theta = self._solved()
        lengths = questions.intervals()
        additivity, ratio = nonadditivity(problem, theta, lengths), _lapse_ratio(problem)
        simulated = self._refits(n_simulations, random_state)
        as_large = sum(nonadditivity(of, at, lengths) >= additivity * (1 - 1e-9) for of, at in simulated)
        lapse_p = float(chi2.sf(ratio, 1)) / 2 if ratio else 1.0
        among = n_simulations + 1  # the answers themselves are one of the sets
        return GoodnessOfFit(additivity, (as_large + 1) / among, ratio, lapse_p, n_simulations)

    def _check_state(self) -> None:
        super()._check_state()
        n = self.n_objects_
        if self.scale_.shape != (n,) or not np.array_equal(np.sort(self.order_), np.arange(n)):
            raise ValueError(f"its scale or its order is not about {n} objects")

    def _rotate(self, axes: FloatArray) -> None:
        if axes[0, 0] < 0:
            raise ValueError("the scale of MLDS runs along its order; fit again with the order the other way round")

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.n_components != 1:
            raise ValueError(
                f"n_components must be 1, got {self.n_components}: MLDS finds a scale of objects in a known order; "
                "for a map of more dimensions take another method, such as SOE"
            )
        if self.link not in LINKS:
            raise ValueError(f"link must be 'probit' or 'logit', got {self.link!r}")
        if self.lapse is not None and not check_number("lapse", self.lapse, least=0) < 1:
            raise ValueError(f"lapse must be a rate from 0 to below 1, or None to estimate it; got {self.lapse!r}")

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        objects = comparisons.objects
        order = order_of(objects, self.order)
        if self.order is None and numbers_of(objects.tolist()) is None:
            listed = ", ".join(format_label(label) for label in objects[:3]) + (", ..." if len(objects) > 3 else "")
            warn_caller(f"MLDS: objects are taken in the order {listed}; say which is right by order=[...].")
        questions, seen = _questions_of(comparisons, order)
        if len(questions.pairs) * len(seen) > _MAX_DESIGN_ENTRIES:
            raise ValueError(
                f"so many questions and objects need a matrix of {8 * len(questions.pairs) * len(seen) / 1e9:.0f} GB; "
                "MLDS is for some tens of objects: take fewer, or fit SOE(n_components=1)"
            )
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link], self.lapse)
        n_open = problem.n_open
        with self._warning_of_early_interrupt():
            problem, solution = _maximum_likelihood(replace(problem, ridge=_RIDGE if n_open else 0.0), callback)
        scale, sigma = _scale_of(solution.value[: problem.n_steps], order, seen)
        self._store_map((scale - scale[order[seen]].mean())[:, None], comparisons)
        self._store_run(solution, Newton())
        self.scale_, self.sigma_, self.order_ = scale, sigma, order
        self.lapse_ = problem.lapse_of(solution.value)
        self.standard_errors_ = np.full(comparisons.n_objects, np.nan)
        self.standard_errors_[order[seen]] = _standard_errors(problem, solution.value)
        likelihood = -replace(problem, ridge=0.0).value(solution.value)
        n_parameters = problem.n_steps + (self.lapse is None)
        self.deviance_, self.aic_ = -2 * likelihood, 2 * n_parameters - 2 * likelihood
        self.explained_deviance_ = 1 + likelihood / (problem.totals.sum() * np.log(2))
        self.trace_, self._ridge = 0.0, problem.ridge
        self._report(solution, n_open, seen)

    def _solved(self) -> tuple[OrderedQuestions, NDArray[np.intp], ScalingProblem, FloatArray]:
        """Return the questions, the positions of their objects in the order, and their problem with its solution."""
        questions, seen = _questions_of(self._require_in_memory(self.comparisons_), self.order_)
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link], self.lapse, self._ridge)
        steps = np.diff(self.scale_[self.order_[seen]]) / self.sigma_
        return questions, seen, problem, steps if self.lapse is not None else np.append(steps, self.lapse_)

    def _refits(
        self, number: int, random_state: RandomState, *, by_people: bool = False
    ) -> Iterator[tuple[ScalingProblem, FloatArray]]:
        """Yield solved problems: with answers drawn from the fitted model, or with random weights of people."""
        rng = stream(self.random_state if random_state is None else random_state, "start")
        _, _, problem, theta = self._solved()
        comparisons = self._require_in_memory(self.comparisons_)
        people = group_indices(comparisons, "annotators") if by_people else None
        for _ in progress_bar("scales", number, range(number)):
            if people is None:
                drawn = replace(problem, farther=problem.simulated(theta, rng))
            else:
                weights = comparisons.sample_weight * rng.exponential(size=people.max() + 1)[people]
                questions, _ = _questions_of(replace(comparisons, weights=weights), self.order_)
                drawn = replace(problem, farther=questions.farther, totals=questions.totals)
            refit, solution = _maximum_likelihood(drawn, start=theta, solver=_RESAMPLE_NEWTON)
            yield refit, completed(solution).value

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        position = np.argsort(self.order_)
        ends = np.sort(position[quadruplets.reshape(-1, 2, 2)], axis=2)
        along = self.scale_[self.order_]
        near, far = (along[ends[..., 1]] - along[ends[..., 0]]).T
        return clear_ties(near, far)

    def _add_objects(self, added: Comparisons) -> None:
        """Put new objects on the scale where the added comparisons are likeliest, the old ones where they are."""
        if self.order is None and numbers_of(added.objects.tolist()) is None:
            raise ValueError(
                "the order of names does not say where new objects come; call set_params(order=[...]) first"
            )
        order, n = order_of(added.objects, self.order), self.n_objects_
        old = order[order < n]
        if not np.array_equal(old, self.order_) or not np.isfinite(self.sigma_):
            raise ValueError("the scale cannot take the new objects in; fit all comparisons together")
        position = np.argsort(order)
        scale = np.concatenate([self.scale_, np.interp(position[n:], position[old], self.scale_[old])])
        questions = OrderedQuestions.of(added, position)
        design = questions.design(len(order))
        offset = design @ scale[order] / self.sigma_
        link = LINKS[self.link]
        of_new = design[:, position[n:]]
        problem = ScalingProblem(of_new, questions.farther, questions.totals, link, offset, lapse=self.lapse_)
        problem = replace(problem, ridge=_RIDGE if problem.n_open else 0.0)
        scale[n:] += self.sigma_ * completed(_maximum_likelihood(problem)[1]).value
        shift = float(self.scale_[0] - self.embedding_[0, 0])
        self.embedding_ = np.concatenate([self.embedding_, scale[n:, None] - shift])
        self.scale_, self.order_ = scale, order
        self.standard_errors_ = np.pad(self.standard_errors_, (0, len(order) - n), constant_values=np.nan)

    def _report(self, solution: Solution[FloatArray], n_open: int, seen: NDArray[np.intp]) -> None:
        first, last = self.order_[seen[0]], self.order_[seen[-1]]
        if solution.interrupted:
            self._warn(f"{solution.outcome.value}; the best scale so far is on the estimator", interrupted=True)
        elif not solution.outcome.ok:
            self._warn(f"{solution.outcome.value}. Check the answers, and the order of the objects")
        elif not np.isfinite(self.sigma_):
            self._warn("the answers cancel each other out, so that there is no scale; check the data")
        elif n_open:
            self._warn(
                f"the questions leave open {n_open} of the {pluralize(len(seen) - 1, 'step')} of the scale, or sums of "
                "them; a small ridge makes these even, and standard errors leave it out. Ask other "
                "questions, too"
            )
        elif self.scale_[last] != 1:
            self._warn(
                f"{format_label(self.objects_[last])}, the last in the order, does not lie above "
                f"{format_label(self.objects_[first])}, the first; the scale has its largest size for a unit. "
                "Check the order, and what the answers mean"
            )
        elif self._ridge:
            self._warn(
                "some scale agrees with the answers so well that a larger one is always likelier; a small ridge holds "
                "it, on which sigma_ and the standard errors depend. Ask closer questions, or more of them"
            )


def _scale_of(steps: FloatArray, order: NDArray[np.intp], seen: NDArray[np.intp]) -> tuple[FloatArray, float]:
    """Return the scale, and the noise in its units, given the steps in units of the noise between the objects seen."""
    places = np.concatenate([[0.0], np.cumsum(steps)])
    unit = abs(float(places[_unit_object(places)]))
    if unit == 0:
        return np.zeros(len(order)), np.inf
    scale = np.empty(len(order))
    scale[order] = np.interp(np.arange(len(order)), seen, places / unit)
    return scale, 1 / unit


def _unit_object(places: FloatArray) -> int:
    """Return which object lies at 1: the last, or the farthest out where that is not above the first."""
    farthest = int(np.argmax(np.abs(places)))
    return len(places) - 1 if places[-1] > 1e-9 * abs(places[farthest]) else farthest


def _standard_errors(problem: ScalingProblem, theta: FloatArray) -> FloatArray:
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


def _questions_of(comparisons: Comparisons, order: NDArray[np.intp]) -> tuple[OrderedQuestions, NDArray[np.intp]]:
    """Return the questions among the objects that occur, and the positions of these in the order."""
    questions = OrderedQuestions.of(comparisons, np.argsort(order))
    seen, inside = np.unique(questions.pairs, return_inverse=True)
    return questions._replace(pairs=inside.reshape(questions.pairs.shape)), seen


def _maximum_likelihood(
    problem: ScalingProblem, callback: Callback | None = None, start: FloatArray | None = None, solver: Newton = _NEWTON
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
        problem = replace(problem, ridge=_RIDGE)
        solution = solve(problem, solver, None if problem.lapse is not None else start, callback=callback)
    return problem, solution


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


def _lapse_ratio(problem: ScalingProblem) -> float:
    """Return twice the gain of the log-likelihood by a free lapse rate over none."""
    without, at_none = _maximum_likelihood(replace(problem, lapse=0.0))
    free, at_free = _maximum_likelihood(replace(problem, lapse=None), start=at_none.value)
    values = replace(without, ridge=0.0).value(at_none.value), replace(free, ridge=0.0).value(at_free.value)
    return max(2 * (values[0] - values[1]), 0.0)


def _lapse_interval(problem: ScalingProblem, theta: FloatArray, level: float) -> tuple[float, float]:
    """Return the lapse rates that a likelihood ratio test does not reject, with theta the maximum of the likelihood."""
    # Resamples of a rate at its bound, or near it, say little of how far above it the true one may be.
    steps, found = theta[: problem.n_steps], problem.lapse_of(theta)
    accepted = replace(problem, ridge=0.0).value(theta) + chi2.ppf(level, 1) / 2

    def excess(lapse: float) -> float:
        fixed, solution = _maximum_likelihood(replace(problem, lapse=lapse), start=steps, solver=_RESAMPLE_NEWTON)
        return replace(fixed, ridge=0.0).value(solution.value) - accepted

    low = brentq(excess, 0.0, found, xtol=_LAPSE_TOL) if found > 0 and excess(0.0) > 0 else 0.0
    high = brentq(excess, found, _MAX_LAPSE, xtol=_LAPSE_TOL) if excess(_MAX_LAPSE) > 0 else 1.0
    return float(low), float(high)


def _noise_interval(problem: ScalingProblem, theta: FloatArray, level: float) -> tuple[float, float]:
    """Return the noise that a likelihood ratio test does not reject, with theta the maximum of the likelihood.

    The size of the scale in units of the noise, a sum of steps, is held fixed: one of the steps is what the others
    leave of it.
    """
    steps = theta[: problem.n_steps]
    places = np.concatenate([[0.0], np.cumsum(steps)])
    last = _unit_object(places)
    size, summed = float(places[last]), np.arange(problem.n_steps) < last
    of_last, others = problem.design[:, last - 1], np.arange(problem.n_steps) != last - 1
    design = (problem.design - of_last[:, None] * summed)[:, others]
    accepted = replace(problem, ridge=0.0).value(theta) + chi2.ppf(level, 1) / 2

    def excess(factor: float) -> float:
        offset = problem.offset + of_last * size * factor
        fixed = replace(problem, design=design, offset=offset, ridge=0.0)
        start = steps[others] * np.where(summed[others], factor, 1.0)
        fixed, solution = _maximum_likelihood(fixed, start=start, solver=_RESAMPLE_NEWTON)
        return replace(fixed, ridge=0.0).value(solution.value) - accepted

    def end(wider: float) -> float | None:
        """Return from which factor of the size on all are rejected; None if none is."""
        inner = 1.0
        while 1 / _MAX_SIZE_FACTOR < inner < _MAX_SIZE_FACTOR:
            outer = inner * wider
            if excess(outer) > 0:
                return float(brentq(excess, min(inner, outer), max(inner, outer), xtol=_SIZE_TOL))
            inner = outer
        return None

    largest, smallest = end(_WIDER), end(1 / _WIDER)
    noise = 1 / abs(size)
    return 0.0 if largest is None else noise / largest, np.inf if smallest is None else noise / smallest


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
