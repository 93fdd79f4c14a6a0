"""MLDS: maximum-likelihood difference scaling, a scale of objects whose order is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.progress import warn_caller
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import default_resampling_unit, group_indices, resolve_grouping, small_sample_factor
from nearer.data.labels import format_label
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.scale import (
    RIDGE,
    check_design_size,
    corrected_quantiles,
    lapse_interval,
    lapse_ratio,
    maximum_likelihood,
    nonadditivity,
    numbers_of,
    order_of,
    questions_of,
    refits,
    scale_of,
    standard_errors,
)
from nearer.model.answers import LINKS, LinkName, answer_probability
from nearer.optimize.problems.margins import clear_ties
from nearer.optimize.solvers.driver import Callback, Solution
from nearer.optimize.solvers.newton import Newton, OrderedQuestions, ScalingProblem


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

    where the order says which object of a pair is the upper one, and lambda is the share of answers that were given
    without regard to the question. For a given lapse rate that is a generalized linear model, with lambda = 0 the one
    of Knoblauch and Maloney (2008), whose likelihood has one maximum. Newton's method finds it; psi is not forced to
    rise with the order.

    Parameters
    ----------
    n_components : int, default 1
        A scale has one dimension; nothing else is taken.
    order : sequence of labels, optional
        All objects, from the first on the continuum to the last; more may be listed. If left out, that of the labels:
        those that are numbers, or differ in a number alone, by its size. Others are taken as they are sorted, with a
        warning.
    link : {"probit", "logit"}, default "probit"
        Whether F is normal or logistic.
    lapse : float in [0, 1), optional
        The lapse rate lambda; estimated by maximum likelihood if left out. Where it is fixed at 0, lapses are taken for
        noise.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For `intervals` and `goodness_of_fit` where they are given none. The fit draws nothing.

    Attributes
    ----------
    scale_ : ndarray, shape (n_objects_,)
        psi, in the order of `objects_`: 0 for the first object, 1 for the last. An object that no comparison mentions
        lies between its neighbors in the order.
    sigma_ : float
        Standard deviation of the noise of a difference of intervals, in units of the scale; for the logit link the
        scale parameter of the logistic distribution.
    lapse_ : float
        The lapse rate.
    standard_errors_ : ndarray, shape (n_objects_,)
        Of the scale, by Fisher's information, for further answers of the same people; 0 for the two ends, which are
        fixed, NaN for objects in no comparison.
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

    def decision_function(self, X: Any) -> FloatArray:
        """Return far interval - near interval of comparisons as written, in units of the scale, shape (m,).

        Where the scale falls against the order an interval is negative, as it is in the likelihood.
        """
        return super().decision_function(X)

    def intervals(
        self,
        level: float = 0.95,
        n_resamples: int = 1000,
        by: Literal["trials", "annotators"] | None = None,
        random_state: RandomState = None,
    ) -> ScaleIntervals:
        """Return bootstrap intervals of the scale, of its noise and of the lapse rate.

        They are quantiles of other fits, corrected for the median of these, which lies off the fit itself where the
        answers are few: the noise is estimated too small (Efron 1987). That of the lapse rate, by trials, has the rates
        that a likelihood ratio test does not reject.

        Parameters
        ----------
        level : float, default 0.95
        n_resamples : int, default 1000
        by : {"trials", "annotators"}, optional
            "trials": fits to answers simulated from the scale; the intervals are about further answers of the same
            people. "annotators": fits in which people have random weights (Rubin 1981), which are about the scale of
            the people whom these were drawn from. If left out, annotators where answers are known to be of enough.
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_level(level)
        check_integer("n_resamples", n_resamples, 10)
        comparisons = self._comparisons_in_memory()
        unit = default_resampling_unit(comparisons) if by is None else resolve_grouping(comparisons, by)
        problem, theta = self._solved_problem()
        _, seen = self._questions()
        known = self.order_[seen]
        if not np.allclose(scale_of(theta[: problem.n_steps], self.order_, seen).scale[known], self.scale_[known]):
            raise ValueError(
                "an object was placed beyond an end of the scale, whose unit is still that of the fit; fit all "
                "comparisons together to get intervals"
            )
        by_people = unit == "annotators"
        refits = (self._reweighted if by_people else self._simulations)(n_resamples, random_state)
        drawn = []
        for refit, at in refits:
            scale, sigma = scale_of(at[: refit.n_steps], self.order_, seen)
            drawn.append([*scale, sigma, refit.lapse_of(at)])
        estimate = np.array([*self.scale_, self.sigma_, self.lapse_])
        expansion = small_sample_factor(group_indices(comparisons, "annotators"), level) if by_people else 1.0
        lower, upper = corrected_quantiles(np.array(drawn), estimate, level, expansion)
        sigmas, lapses = (tuple(ends) for ends in np.column_stack([lower, upper])[-2:].tolist())
        if not by_people:
            lapses = lapse_interval(problem, theta, level) if self.lapse is None else (self.lapse, self.lapse)
        return ScaleIntervals(lower[:-2], upper[:-2], sigmas, lapses, "annotators" if by_people else "trials")

    def goodness_of_fit(self, n_simulations: int = 1000, random_state: RandomState = None) -> GoodnessOfFit:
        """Test whether intervals add up to one scale, and whether people lapse.

        Small p-values are evidence against the scale, or for lapses. Whether people agree is not tested: answers are
        taken as those of one observer.

        Parameters
        ----------
        n_simulations : int, default 1000
            Sets of answers simulated from the scale, which the first test compares with.
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_integer("n_simulations", n_simulations, 10)
        lengths = self._questions()[0].intervals()
        problem, theta = self._solved_problem()
        additivity, ratio = nonadditivity(problem, theta, lengths), lapse_ratio(problem)
        simulated = self._simulations(n_simulations, random_state)
        as_large = sum(nonadditivity(of, at, lengths) >= additivity * (1 - 1e-9) for of, at in simulated)
        lapse_p = float(chi2.sf(ratio, 1)) / 2 if ratio else 1.0
        among = n_simulations + 1  # the answers themselves are one of the sets
        return GoodnessOfFit(additivity, (as_large + 1) / among, ratio, lapse_p, n_simulations)

    def _check_state(self) -> None:
        """Reject inconsistent fitted values."""
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
        order = order_of(comparisons.objects, self.order)
        self._warn_of_sorted_labels(comparisons.objects)
        questions, seen = questions_of(comparisons, order)
        check_design_size(len(questions.pairs) * len(seen))
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link], self.lapse)
        n_open = problem.n_open
        with self._warning_of_early_interrupt():
            problem, solution = maximum_likelihood(replace(problem, ridge=RIDGE if n_open else 0.0), callback)
        found = scale_of(solution.value[: problem.n_steps], order, seen)
        self._store_map((found.scale - found.scale[order[seen]].mean())[:, None], comparisons)
        self._store_run(solution, Newton())
        self.scale_, self.sigma_, self.order_ = found.scale, found.sigma, order
        self.lapse_ = problem.lapse_of(solution.value)
        self.standard_errors_ = np.full(comparisons.n_objects, np.nan)
        self.standard_errors_[order[seen]] = standard_errors(problem, solution.value)
        likelihood = -replace(problem, ridge=0.0).value(solution.value)
        n_parameters = problem.n_steps + (self.lapse is None)
        self.deviance_, self.aic_ = -2 * likelihood, 2 * n_parameters - 2 * likelihood
        self.explained_deviance_ = 1 + likelihood / (problem.totals.sum() * np.log(2))
        self.trace_, self._ridge = 0.0, problem.ridge
        self._report_solution(solution, n_open, seen)

    def _comparisons_in_memory(self) -> Comparisons:
        assert isinstance(self.comparisons_, Comparisons)
        return self.comparisons_

    def _questions(self) -> tuple[OrderedQuestions, NDArray[np.intp]]:
        return questions_of(self._comparisons_in_memory(), self.order_)

    def _solved_problem(self) -> tuple[ScalingProblem, FloatArray]:
        """Return the problem of all comparisons, and its solution."""
        questions, seen = self._questions()
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link], self.lapse, self._ridge)
        steps = np.diff(self.scale_[self.order_[seen]]) / self.sigma_
        return problem, steps if self.lapse is not None else np.append(steps, self.lapse_)

    def _simulations(self, number: int, random_state: RandomState) -> Iterator[tuple[ScalingProblem, FloatArray]]:
        """Yield problems with answers drawn from the fitted model, and their solutions."""
        rng = self._stream(random_state)
        problem, theta = self._solved_problem()
        drawn = (replace(problem, farther=problem.simulated(theta, rng)) for _ in range(number))
        return refits(drawn, number, theta)

    def _reweighted(self, number: int, random_state: RandomState) -> Iterator[tuple[ScalingProblem, FloatArray]]:
        """Yield problems in which people have random weights, and their solutions."""
        rng = self._stream(random_state)
        problem, theta = self._solved_problem()
        comparisons = self._comparisons_in_memory()
        people = group_indices(comparisons, "annotators")

        def drawn() -> Iterator[ScalingProblem]:
            for _ in range(number):
                weights = comparisons.sample_weight * rng.exponential(size=people.max() + 1)[people]
                questions, _ = questions_of(replace(comparisons, weights=weights), self.order_)
                yield replace(problem, farther=questions.farther, totals=questions.totals)

        return refits(drawn(), number, theta)

    def _stream(self, random_state: RandomState) -> np.random.Generator:
        return stream(self.random_state if random_state is None else random_state, "start")

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
        problem = replace(problem, ridge=RIDGE if problem.n_open else 0.0)
        _, solution = maximum_likelihood(problem)
        if solution.interrupted:
            raise KeyboardInterrupt
        scale[n:] += self.sigma_ * solution.value
        shift = float(self.scale_[0] - self.embedding_[0, 0])
        self.embedding_ = np.concatenate([self.embedding_, scale[n:, None] - shift])
        self.scale_, self.order_ = scale, order
        self.standard_errors_ = np.pad(self.standard_errors_, (0, len(order) - n), constant_values=np.nan)
        self.objects_, self.n_objects_ = added.objects, added.n_objects

    def _warn_of_sorted_labels(self, objects: NDArray[Any]) -> None:
        if self.order is None and numbers_of(objects.tolist()) is None:
            listed = ", ".join(format_label(label) for label in objects[:3]) + (", ..." if len(objects) > 3 else "")
            warn_caller(
                f"MLDS: objects are taken in the order {listed}; say which is right by order=[...].", UserWarning
            )

    def _report_solution(self, solution: Solution[FloatArray], n_open: int, seen: NDArray[np.intp]) -> None:
        first, last = self.order_[seen[0]], self.order_[seen[-1]]
        if solution.interrupted:
            self._warn_of_outcome(
                f"{solution.outcome.value}; the best scale so far is on the estimator", interrupted=True
            )
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
