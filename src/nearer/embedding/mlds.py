"""MLDS: maximum-likelihood difference scaling, a scale of objects whose order is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_integer, check_level
from nearer.common.randomness import RandomState, stream
from nearer.common.telling import progress_bar, warn_caller
from nearer.common.words import counted
from nearer.data.comparisons import Comparisons
from nearer.data.labels import show
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.scale import (
    RIDGE,
    corrected_quantiles,
    likeliest,
    misfit,
    numbers_of,
    order_of,
    questions_of,
    refuse_many,
    scale_of,
    standard_errors,
)
from nearer.losses.links import LINKS, LinkName
from nearer.problems.margins import clear_ties
from nearer.problems.scaling import OrderedQuestions, ScalingProblem
from nearer.solvers.driver import Callback, Solution
from nearer.solvers.newton import Newton


class ScaleIntervals(NamedTuple):
    """Intervals of a scale: ends for each object, (n,), and those of the noise."""

    lower: FloatArray
    upper: FloatArray
    sigma: tuple[float, float]


class GoodnessOfFit(NamedTuple):
    """How well a scale fits its answers, and how often answers of its own model are fitted no better.

    Attributes
    ----------
    deviance : float
        Of the answers, against a model with a chance of its own for each question.
    deviance_p : float
        Share of simulated sets of answers with a deviance as large.
    runs : int
        The number of runs of equal sign among the deviance residuals, in the order of the fitted chances.
    runs_p : float
        Share of simulated sets of answers with as few runs.
    n_simulations : int
    """

    deviance: float
    deviance_p: float
    runs: int
    runs_p: float
    n_simulations: int


class MLDS(OrdinalEmbedding):
    """Maximum-likelihood difference scaling (Maloney and Yang 2003): a scale of objects in a known order.

    Objects are points of one physical continuum, and psi says how large the differences between them seem. The far pair
    of a comparison is called so with probability F((|psi_l - psi_k| - |psi_i - psi_j|) / sigma), where the order
    says which object of a pair is the upper one. That makes it a generalized linear model (Knoblauch and Maloney 2008)
    with one maximum, found by Newton's method; psi is not forced to rise with the order.

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
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For `intervals` and `goodness_of_fit` where they are given none. The fit draws nothing.

    Attributes
    ----------
    scale_ : ndarray, shape (n_objects_,)
        psi, in the order of `objects_`: 0 for the first object, 1 for the last. An object that no comparison mentions
        lies between its neighbours in the order.
    sigma_ : float
        Standard deviation of the noise of a difference of intervals, in units of the scale; for the logit link the
        scale parameter of the logistic distribution.
    standard_errors_ : ndarray, shape (n_objects_,)
        Of the scale, by Fisher's information; 0 for the two ends, which are fixed, NaN for objects in no comparison.
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

    def __init__(
        self,
        n_components: int = 1,
        *,
        order: Sequence[Any] | NDArray[Any] | None = None,
        link: LinkName = "probit",
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.order = order
        self.link = link
        self.n_objects = n_objects
        self.random_state = random_state

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2): those of the model."""
        eta = self.decision_function(X) / self.sigma_
        return np.column_stack([LINKS[self.link].probability(-eta), LINKS[self.link].probability(eta)])

    def decision_function(self, X: Any) -> FloatArray:
        """Return far interval - near interval of comparisons as written, in units of the scale, shape (m,).

        Where the scale falls against the order an interval is negative, as it is in the likelihood.
        """
        return super().decision_function(X)

    def intervals(
        self, level: float = 0.95, n_resamples: int = 1000, random_state: RandomState = None
    ) -> ScaleIntervals:
        """Return bootstrap intervals of the scale: quantiles of fits to answers simulated from it.

        They are corrected for the median of these fits, which lies off the fit itself where the answers are few: the
        noise is estimated too small (Efron 1987).

        Parameters
        ----------
        level : float, default 0.95
        n_resamples : int, default 1000
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_level(level)
        check_integer("n_resamples", n_resamples, 10)
        _, seen = self._questions()
        known = self.order_[seen]
        if not np.allclose(scale_of(self._solved_problem()[1], self.order_, seen).scale[known], self.scale_[known]):
            raise ValueError(
                "an object was placed beyond an end of the scale, whose unit is still that of the fit; fit all "
                "comparisons together to get intervals"
            )
        fits = [scale_of(steps, self.order_, seen) for _, steps in self._simulations(n_resamples, random_state)]
        drawn = np.array([[*fit.scale, fit.sigma] for fit in fits])
        lower, upper = corrected_quantiles(drawn, np.array([*self.scale_, self.sigma_]), level)
        return ScaleIntervals(lower[:-1], upper[:-1], (float(lower[-1]), float(upper[-1])))

    def goodness_of_fit(self, n_simulations: int = 1000, random_state: RandomState = None) -> GoodnessOfFit:
        """Return how the deviance and the runs of its residuals compare with those of simulated answers (Wood 2006).

        Small p-values say that the answers are not those of any such scale. Large ones say little where questions were
        asked once: only repeated answers show the chance of a question apart from the scale.

        Parameters
        ----------
        n_simulations : int, default 1000
        random_state : int, Generator, SeedSequence or None
            That of the estimator if left out.
        """
        check_is_fitted(self)
        check_integer("n_simulations", n_simulations, 10)
        deviance, runs = misfit(*self._solved_problem())
        simulated = np.array([misfit(*fit) for fit in self._simulations(n_simulations, random_state)])
        as_large = np.sum(simulated[:, 0] >= deviance * (1 - 1e-9))
        as_few = np.sum(simulated[:, 1] <= runs)
        among = n_simulations + 1  # the answers themselves are one of the sets
        return GoodnessOfFit(deviance, float((as_large + 1) / among), runs, float((as_few + 1) / among), n_simulations)

    def check_consistency(self) -> None:
        """Refuse fitted values that do not belong together."""
        super().check_consistency()
        n = self.n_objects_
        if self.scale_.shape != (n,) or not np.array_equal(np.sort(self.order_), np.arange(n)):
            raise ValueError(f"its scale or its order is not about {n} objects")

    def _turn(self, axes: FloatArray) -> None:
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

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._in_memory(comparisons)
        order = order_of(comparisons.objects, self.order)
        self._tell_of_names(comparisons.objects)
        questions, seen = questions_of(comparisons, order)
        refuse_many(len(questions.pairs) * len(seen))
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link])
        n_open = problem.n_open
        with self._telling_of_interrupts():
            problem, solution = likeliest(replace(problem, ridge=RIDGE if n_open else 0.0), callback)
        found = scale_of(solution.value, order, seen)
        self._keep_map((found.scale - found.scale[order[seen]].mean())[:, None], comparisons)
        self._keep_run(solution, Newton())
        self.scale_, self.sigma_, self.order_ = found.scale, found.sigma, order
        self.standard_errors_ = np.full(comparisons.n_objects, np.nan)
        self.standard_errors_[order[seen]] = standard_errors(problem, solution.value)
        likelihood = -replace(problem, ridge=0.0).value(solution.value)
        self.deviance_, self.aic_ = -2 * likelihood, 2 * problem.n_parameters - 2 * likelihood
        self.explained_deviance_ = 1 + likelihood / (problem.totals.sum() * np.log(2))
        self.trace_, self._ridge = 0.0, problem.ridge
        self._say(solution, n_open, seen)

    def _questions(self) -> tuple[OrderedQuestions, NDArray[np.intp]]:
        assert isinstance(self.comparisons_, Comparisons)
        return questions_of(self.comparisons_, self.order_)

    def _solved_problem(self) -> tuple[ScalingProblem, FloatArray]:
        """Return the problem of all comparisons, and the steps of the scale."""
        questions, seen = self._questions()
        problem = ScalingProblem.over_steps(questions, len(seen), LINKS[self.link])
        return replace(problem, ridge=self._ridge), np.diff(self.scale_[self.order_[seen]]) / self.sigma_

    def _simulations(self, number: int, random_state: RandomState) -> Iterator[tuple[ScalingProblem, FloatArray]]:
        """Yield problems with answers drawn from the fitted model, and their solutions."""
        rng = stream(self.random_state if random_state is None else random_state, "start")
        problem, steps = self._solved_problem()
        for _ in progress_bar("simulations", number, range(number)):
            simulated = replace(problem, farther=problem.simulated(steps, rng))
            again, solution = likeliest(simulated, start=steps)
            if solution.interrupted:
                raise KeyboardInterrupt
            yield again, solution.value

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        position = np.argsort(self.order_)
        ends = np.sort(position[quadruplets.reshape(-1, 2, 2)], axis=2)
        along = self.scale_[self.order_]
        near, far = (along[ends[..., 1]] - along[ends[..., 0]]).T
        return clear_ties(near, far)

    def _extend(self, added: Comparisons) -> None:
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
        problem = ScalingProblem(design[:, position[n:]], questions.farther, questions.totals, link, offset)
        problem = replace(problem, ridge=RIDGE if problem.n_open else 0.0)
        _, solution = likeliest(problem)
        if solution.interrupted:
            raise KeyboardInterrupt
        scale[n:] += self.sigma_ * solution.value
        shift = float(self.scale_[0] - self.embedding_[0, 0])
        self.embedding_ = np.concatenate([self.embedding_, scale[n:, None] - shift])
        self.scale_, self.order_ = scale, order
        self.standard_errors_ = np.pad(self.standard_errors_, (0, len(order) - n), constant_values=np.nan)
        self.objects_, self.n_objects_ = added.objects, added.n_objects

    def _tell_of_names(self, objects: NDArray[Any]) -> None:
        if self.order is None and numbers_of(objects.tolist()) is None:
            listed = ", ".join(show(label) for label in objects[:3]) + (", ..." if len(objects) > 3 else "")
            warn_caller(
                f"MLDS: objects are taken in the order {listed}; say which is right by order=[...].", UserWarning
            )

    def _say(self, solution: Solution[FloatArray], n_open: int, seen: NDArray[np.intp]) -> None:
        first, last = self.order_[seen[0]], self.order_[seen[-1]]
        if solution.interrupted:
            self._tell(f"{solution.outcome.value}; the best scale so far is on the estimator", interrupted=True)
        elif not solution.outcome.ok:
            self._warn(f"{solution.outcome.value}. Check the answers, and the order of the objects")
        elif not np.isfinite(self.sigma_):
            self._warn("the answers cancel each other out, so that there is no scale; check the data")
        elif n_open:
            self._warn(
                f"the questions leave open {n_open} of the {counted(len(seen) - 1, 'step')} of the scale, or sums of "
                "them; a small ridge makes these even, and standard errors say nothing of them. Ask other "
                "questions, too"
            )
        elif self.scale_[last] != 1:
            self._warn(
                f"{show(self.objects_[last])}, the last in the order, does not lie above {show(self.objects_[first])}, "
                "the first; the scale has its largest size for a unit. Check the order, and what the answers mean"
            )
        elif self._ridge:
            self._warn(
                "some scale agrees with the answers so well that a larger one is always likelier; a small ridge holds "
                "it, on which sigma_ and the standard errors depend. Ask closer questions, or more of them"
            )
