r"""How well a posterior predicts people whom it has not seen, without refitting it (PSIS-LOO).

The expected log predictive density (elpd) of person p is log p(y_p | y_-p): the person's own slope and lapse rate are
integrated out, as they are unknown of somebody new. With draws of the posterior of all answers,

.. math:: p(y_p \mid y_{-p}) \approx \frac{\sum_s w_s L_{ps}}{\sum_s w_s}, \qquad w_s \propto 1 / L_{ps},

where the largest weights are replaced by quantiles of a generalized Pareto distribution fitted to them (Vehtari,
Simpson, Gelman, Yao and Gabry 2024). Its shape k says whether this is reliable: above 0.7 it is not, and the map is
best fitted again without the person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices, with_positive_weight
from nearer.data.labels import Labels, factorize
from nearer.evaluation.annotator_quadrature import integrate_annotator, log_ratios, rows_of_annotators
from nearer.model.answers import answer_probability
from nearer.sampling.annotators import Population
from nearer.sampling.model import DistinctComparisons, distinct_comparisons

if TYPE_CHECKING:
    from nearer.embedding import PosteriorEmbedding

#: Above this shape of the tail, weights have no finite variance that could be relied on.
MAX_PARETO_K = 0.7
_MAX_DRAWS = 600
_MIN_TAIL = 5  # draws
_PRIOR_K, _PRIOR_DRAWS = 0.5, 10  # k is shrunk as by ten more draws of a tail of shape 1/2
_ROWS_PER_BLOCK = 5000


class ElpdDifference(NamedTuple):
    """By how much one model predicts people better than another: difference of elpd, and its standard error."""

    difference: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Result):
    """How well a posterior predicts each person, or trial, that it has not seen.

    Attributes
    ----------
    names : ndarray, shape (u,)
        The people; numbers of trials where people are not known.
    elpds : ndarray, shape (u,)
        Log predictive density of the answers of each by the answers of all others.
    pareto_ks : ndarray, shape (u,)
        Shape of the tail of its weights: above 0.7 the value is unreliable. NaN where the map was fitted again.
    by : {"annotators", "trials"}

    Examples
    --------
    >>> print(LeaveOneOut(np.array(["ann", "bob", "eve"]), np.array([-10.0, -12.0, -14.0]), np.array([0.1, 0.8, 0.3])))
    elpd -36.0 +- 3.5 over 3 annotators, each left out; 1 with Pareto k above 0.7
    """

    names: Labels
    elpds: FloatArray
    pareto_ks: FloatArray
    by: Literal["annotators", "trials"] = "annotators"

    @property
    def elpd(self) -> float:
        """The sum over people."""
        return float(self.elpds.sum())

    @property
    def standard_error(self) -> float:
        """The standard error of the sum, for other people of the same kind."""
        return _error_of_sum(self.elpds)

    @property
    def n_unreliable(self) -> int:
        """How many have a Pareto k above 0.7."""
        return int(np.count_nonzero(self.pareto_ks > MAX_PARETO_K))

    def minus(self, other: LeaveOneOut) -> ElpdDifference:
        """Return by how much this model predicts better than another one of the same answers."""
        if self.by != other.by or self.names.tolist() != other.names.tolist():
            raise ValueError("the two results leave out different people; compare fits to the same answers")
        away = self.elpds - other.elpds
        return ElpdDifference(float(away.sum()), _error_of_sum(away))

    def summary(self) -> str:
        """Return elpd and reliability as text."""
        of = pluralize(len(self.names), self.by[:-1])
        unreliable = f"; {self.n_unreliable} with Pareto k above {MAX_PARETO_K}" if self.n_unreliable else ""
        return f"elpd {self.elpd:.1f} +- {self.standard_error:.1f} over {of}, each left out{unreliable}"


def leave_one_out(model: PosteriorEmbedding, *, refit: bool = False, random_state: RandomState = None) -> LeaveOneOut:
    """Return how well a posterior predicts each person by the answers of all others.

    Fits with ``max_components=1, 2, ...`` are compared this way by `LeaveOneOut.minus`: how many dimensions do new
    people need? Where it is not known who answered, each trial is left out by itself, with the slope and lapse rate of
    all.

    Parameters
    ----------
    model : fitted PosteriorEmbedding
        Its comparisons must be in memory.
    refit : bool
        Fit the map again without each person whose Pareto k is above 0.7. This is exact but for the error of drawing.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from dataclasses import replace
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import PosteriorEmbedding
    >>> answers = sample_triplets(make_gaussian(10, 2, random_state=0), 300, flipped=0.1, random_state=0)
    >>> answers = replace(answers, annotators=np.arange(300) % 10)
    >>> fits = [PosteriorEmbedding(max_components=p, random_state=0).fit(answers) for p in (1, 2)]
    >>> line, plane = [leave_one_out(fit, random_state=0) for fit in fits]
    >>> plane.minus(line).difference > 10
    True
    """
    comparisons = model.comparisons_
    if not isinstance(comparisons, Comparisons):
        raise ValueError("its comparisons are not in memory; fit the posterior to a part of them")
    rng = stream(random_state, "start")
    judged = with_positive_weight(comparisons)
    by: Literal["annotators", "trials"] = "annotators" if model.reliability_ is not None else "trials"
    units: NDArray[Any] = trial_indices(judged) if by == "trials" else np.asarray(judged.annotators)
    names, unit = factorize(units)
    if len(names) < 2:
        raise ValueError("all answers are of one trial; there is nothing to leave out")
    logs = _log_likelihoods(_population(model, rng), distinct_comparisons(replace(judged, annotators=unit)), by)
    smoothed = [pareto_smooth(-column) for column in logs.T]
    elpds = np.array([logsumexp(weights + column) for (weights, _), column in zip(smoothed, logs.T, strict=True)])
    ks = np.array([k for _, k in smoothed])
    if refit:
        again = np.flatnonzero(ks > MAX_PARETO_K)
        for number in progress_bar("leave one out", len(again), again, unit="fit"):
            others = clone(model).fit(judged[unit != number])
            left_out = replace(distinct_comparisons(judged[unit == number], by_annotator=False), n_annotators=1)
            column = _log_likelihoods(_population(others, rng), left_out, by)[:, 0]
            elpds[number], ks[number] = logsumexp(column) - np.log(len(column)), np.nan
    return LeaveOneOut(names, elpds, ks, by)


def _population(model: PosteriorEmbedding, rng: np.random.Generator) -> Population:
    return model.population(min(len(model.draws_), _MAX_DRAWS), random_state=rng)


def _log_likelihoods(population: Population, distinct: DistinctComparisons, by: str) -> FloatArray:
    """Return the log-likelihood of each person, or trial, in each draw, (draws, units)."""
    if by == "annotators":
        people = rows_of_annotators(population, distinct)
        return np.column_stack([integrate_annotator(*each, population).log_likelihood for each in people])
    logs = np.zeros((distinct.n_annotators, len(population.points)))
    slopes, lapses = population.slopes[:, None], population.lapses[:, None]
    for start in range(0, len(distinct), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        ratios = log_ratios(population, distinct.quadruplets[rows])
        terms = np.log(answer_probability(slopes * ratios, lapses)) * distinct.total_weights[rows]
        np.add.at(logs, distinct.annotators[rows], terms.T)
    return logs.T


def pareto_smooth(log_weights: FloatArray) -> tuple[FloatArray, float]:
    """Return smoothed log-weights whose exponentials sum to 1, (s,), and the shape k of their tail.

    Examples
    --------
    >>> weights, k = pareto_smooth(np.random.default_rng(0).standard_exponential(1000) * 0.3)
    >>> bool(abs(np.exp(weights).sum() - 1) < 1e-9), bool(0.1 < k < 0.5)
    (True, True)
    """
    raw = log_weights - log_weights.max()
    n_tail = int(np.ceil(min(0.2 * len(raw), 3 * np.sqrt(len(raw)))))
    order = np.argsort(raw, kind="stable")
    tail = order[len(raw) - n_tail :]
    k = np.inf
    if n_tail >= _MIN_TAIL and n_tail < len(raw):
        # Below the least positive number an exponential would be 0.
        cutoff = max(float(raw[order[-n_tail - 1]]), float(np.log(np.finfo(np.float64).tiny)))
        excess = np.exp(raw[tail]) - np.exp(cutoff)
        if excess[0] >= 0 and excess[-1] > 0:
            k, scale = fit_pareto(excess)
            shares = (np.arange(n_tail) + 0.5) / n_tail
            quantiles = scale * np.expm1(-k * np.log1p(-shares)) / k if k != 0 else -scale * np.log1p(-shares)
            raw[tail] = np.minimum(np.log(quantiles + np.exp(cutoff)), 0.0)
        else:
            k = 0.0 if excess[-1] == 0 else k  # all weights alike
    return raw - logsumexp(raw), k


def fit_pareto(excess: FloatArray) -> tuple[float, float]:
    """Return shape k and scale of a generalized Pareto distribution of sorted values >= 0 (Zhang and Stephens 2009).

    The mean of the profile likelihood over a grid, with k shrunk towards 1/2.

    Examples
    --------
    >>> from scipy.stats import genpareto
    >>> k, scale = fit_pareto(np.sort(genpareto(0.4, scale=2).rvs(5000, random_state=0)))
    >>> bool(abs(k - 0.4) < 0.05), bool(abs(scale - 2) < 0.1)
    (True, True)
    """
    n = len(excess)
    n_grid = 30 + int(np.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    thetas = 1 / excess[-1] + (1 - np.sqrt(n_grid / (np.arange(1, n_grid + 1) - 0.5))) / (3 * quartile)
    shapes = np.log1p(-thetas[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-thetas / shapes) - shapes - 1)
    weights = np.exp(profile - logsumexp(profile))
    theta = float(weights @ thetas)
    shape = float(np.log1p(-theta * excess).mean())
    shrunk = (n * shape + _PRIOR_DRAWS * _PRIOR_K) / (n + _PRIOR_DRAWS)
    return shrunk, -shape / theta


def _error_of_sum(values: FloatArray) -> float:
    """Return the standard error of a sum of independent values."""
    return float(np.sqrt(len(values) * np.var(values, ddof=1)))
