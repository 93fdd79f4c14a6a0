r"""The model: prior of maps and annotators, likelihood of their answers, and what a vector of unknowns stands for.

It is written out in docs/mathematics.md. An answer has the probability of `nearer.model.AnswerModel`: beta = 1 is crowd
kernel learning, alpha = 2 beta - 1 is t-STE with alpha degrees of freedom, and alpha going to infinity with
beta / alpha fixed is STE. Each of the k rows that one trial expands to weighs k^-0.4.

An object has coordinates :math:`y_{id} = t_d z_{id}` with z standard normal and spreads t_d, squares of which sum to 1,
scales v, standard normal, and an exposure e, the logarithm of how often the design of a study asks about it, relative
to the others. The map is

.. math:: x_i = y_i \, |y_i|^{\rho - 1} \exp(\omega v_i + \gamma e_i)

Nine hyperparameters are learned with it, on scales on which they can take any value: log of the unevenness sigma of the
spreads (t_d is proportional to exp(sigma u_d), u standard normal), log omega, log of the steepness b, log of the kernel
width k, logit of the lapse rate, logit of the radius exponent rho, gamma, and the logarithms of how much annotators
differ in steepness and lapse rate. The kernel is alpha = 2 k and beta = b (1 + k).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import (
    near_far_codes,
    number_by_appearance,
    trial_indices,
    trial_weights,
    with_positive_weight,
)
from nearer.data.labels import factorize
from nearer.model.answers import AnswerModel
from nearer.sampling.features import FeatureBasis, no_features
from nearer.sampling.people import PEOPLE, PeopleComparisons, PeopleLayout

#: How fast the weight of a comparison falls with the number of those from the same trial. On odd-one-out and
# most-central data 0.5 predicts best, on grids 0.3; without it all are predicted worse, and with too much confidence.
TRIAL_EXPONENT = 0.4
HYPERPARAMETERS = (
    "unevenness",
    "scale_spread",
    "steepness",
    "kernel",
    "lapse",
    "radius",
    "exposure",
    "steepness_spread",
    "lapse_spread",
)
_N_HYPER = len(HYPERPARAMETERS)


@dataclass(frozen=True, eq=False)
class DistinctComparisons:
    """The distinct comparisons of each annotator, with their total weights."""

    pairs: NDArray[np.int32]  # (k, 2): the distinct pairs of objects that are compared
    rows: NDArray[np.int32]  # (m, 2): which of them is near, and which is far, in the order of annotators
    weights: FloatArray  # (m,), or (0,) if all are 1
    annotators: NDArray[np.int32]  # (m,): number of the annotator of each row; 0 where they are not distinguished
    n_annotators: int  # 0 where they are not distinguished

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def work(self) -> float:
        """Cost of a gradient of the posterior, in units of one row: about 10 ns."""
        # Pairs and objects count for what is done in all of fifteen dimensions.
        return len(self.rows) + 1.5 * len(self.pairs) + 30.0 * len(np.unique(self.pairs))

    @classmethod
    def empty(cls) -> DistinctComparisons:
        nothing = np.empty((0, 2), np.int32)
        return cls(nothing, nothing, np.empty(0), np.empty(0, np.int32), 0)

    @property
    def quadruplets(self) -> NDArray[np.int32]:
        """The comparisons, (m, 4)."""
        return self.pairs[self.rows].reshape(-1, 4)

    @property
    def total_weights(self) -> FloatArray:
        """The weight of each comparison, (m,)."""
        return self.weights if self.weights.size else np.ones(len(self.rows))


def distinct_comparisons(comparisons: Comparisons, *, by_annotator: bool = True) -> DistinctComparisons:
    """Return the distinct comparisons in canonical order with their total weights.

    A repeated row and a row of weight 2, or another order of the rows, give the same to the last bit. Annotators are
    distinguished if there are two or more, and ``by_annotator``.
    """
    comparisons = with_positive_weight(comparisons)
    n = comparisons.n_objects
    codes, which = np.unique(np.concatenate(near_far_codes(comparisons.oriented, n)), return_inverse=True)
    pairs = np.column_stack(np.divmod(codes, n)).astype(np.int32)
    near, far = which.reshape(2, -1).astype(np.int32)
    annotators, n_annotators = np.zeros(len(near), np.int32), 0
    if by_annotator and comparisons.annotators is not None:
        labels, numbers = factorize(comparisons.annotators)
        if len(labels) > 1:
            annotators, n_annotators = numbers.astype(np.int32), len(labels)
    weights = row_weights(comparisons)
    order = np.lexsort((weights, far, near, annotators))  # or another order of the rows would be another rounding
    near, far, weights, annotators = near[order], far[order], weights[order], annotators[order]
    which = number_by_appearance(near, far, annotators)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    summed = np.bincount(which, weights).astype(np.float64)
    rows = np.column_stack([near[first], far[first]])
    weights = np.empty(0) if (summed == 1).all() else summed
    return DistinctComparisons(pairs, rows, weights, annotators[first], n_annotators)


def row_weights(comparisons: Comparisons) -> FloatArray:
    """Return what each row of positive weight counts in the likelihood: those of one trial less than as many trials."""
    trials = trial_indices(comparisons)
    totals, times = trial_weights(comparisons.sample_weight, trials)
    n_rows = np.bincount(trials)
    return np.asarray(comparisons.sample_weight * (times * n_rows / totals * n_rows**-TRIAL_EXPONENT)[trials])


def exposure_counts(comparisons: Comparisons) -> FloatArray:
    """Return in how many trials, by their weight, the design of the study shows each object, (n,)."""
    # Trials are counted and not rows: in a grid of pictures the chosen ones are in more rows than the others, and their
    # number would leak the answer. So would the numbers of questions that were chosen by earlier answers.
    comparisons = with_positive_weight(comparisons)
    if comparisons.was_chosen.all():
        return np.zeros(comparisons.n_objects)
    comparisons = comparisons[~comparisons.was_chosen]
    trials, n = trial_indices(comparisons), comparisons.n_objects
    _, weights = trial_weights(comparisons.sample_weight, trials)
    trial, shown = np.divmod(np.unique(trials[:, None] * n + comparisons.rows), n)
    order = np.lexsort([weights[trial], shown])  # or another order of the rows would be another rounding
    return np.bincount(shown[order], weights[trial][order], minlength=n).astype(np.float64)


def log_exposures(counts: FloatArray) -> tuple[FloatArray, float]:
    """Return the log-rate at which a study asks about each object, and that of one that never came up.

    What matters is the design, not chance: under random questions the counts vary like a Poisson distribution. So rates
    have a gamma distribution, with the variance beyond that, and each object has its posterior mean.
    """
    mean = float(counts.mean())
    if mean == 0:
        return np.zeros(len(counts)), 0.0
    excess = max(float(counts.var(ddof=1)) - mean, 0.0) if len(counts) > 1 else 0.0
    share = excess / (excess + mean)
    exposures = np.log1p(share * (counts / mean - 1))
    # One that never came up counts as at least half as often asked about as the rarest: answers carry no information
    # about what is far beyond that.
    return exposures, max(float(np.log1p(-share)), float(exposures.min()) - np.log(2))


class Prior(NamedTuple):
    """Centers and scales of the hyperparameters: normal, and Cauchy for the effect of exposure.

    They are plausible for people and maps: two thirds of the mass is on spreads that differ by less than a factor of
    1.4, scales that differ by less than a factor of 1.2, and lapse rates of 0.4 to 8 percent.
    """

    centers: tuple[float, ...] = (-1.2, -2.3, 2.0, 0.0, -4.0, 1.0, 0.0, -1.2, 0.0)
    scales: tuple[float, ...] = (0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 0.06, 0.5, 0.7)


@dataclass(frozen=True, eq=False)
class Model:
    """The posterior density of maps given comparisons."""

    exposure: FloatArray  # (n,): relative to their mean
    least_exposure: float  # of an object that was never asked about
    n_components: int
    prior: Prior
    comparisons: DistinctComparisons = field(default_factory=DistinctComparisons.empty)
    features: FeatureBasis | None = None
    people: PeopleComparisons | None = None  # where they differ in more than noise

    @property
    def n_objects(self) -> int:
        return len(self.exposure)

    @property
    def first_effect(self) -> int:
        """The number of coordinates, axes and scales, which come before the effects of annotators."""
        n, p = self.n_objects, self.n_components
        return n * p + p + n

    @property
    def core_size(self) -> int:
        """The number of unknowns without those of features and of people's weights and maps."""
        return self.first_effect + 2 * self.comparisons.n_annotators + _N_HYPER

    @property
    def first_of_people(self) -> int:
        """The number of unknowns before those of people's weights and maps."""
        if self.features is None:
            return self.core_size
        return self.core_size + self.features.directions.shape[1] * self.n_components + 2 * self.features.n_sets

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return self.first_of_people + (self.people.layout.size(self.n_components) if self.people else 0)

    def hyperparameters(self, unknowns: FloatArray) -> FloatArray:
        """Return the view of `HYPERPARAMETERS` in unknowns, (..., size)."""
        return unknowns[..., self.core_size - _N_HYPER : self.core_size]

    def feature_numbers(self, unknowns: FloatArray) -> FloatArray:
        """Return the view of logits of shares and log-powers in unknowns, (..., size)."""
        last = self.first_of_people
        return unknowns[..., last - 2 * (self.features.n_sets if self.features else 0) : last]

    def people_numbers(self, unknowns: FloatArray) -> FloatArray:
        """Return the view of the logarithms of the spreads of people in unknowns, (..., size)."""
        return unknowns[..., self.size - 2 * (self.people is not None) :]

    def log_share_odds(self, unknowns: FloatArray) -> FloatArray:
        """Return the logits of the shares of feature sets in unknowns, (..., sets)."""
        return self.feature_numbers(unknowns)[..., : self.features.n_sets if self.features else 0]

    def mixed(self, unknowns: FloatArray) -> FloatArray:
        """Return the unknowns of the same map where nothing is known of the objects, (core_size,)."""
        if self.features is None:
            return unknowns[: self.core_size]
        from nearer.optimize.kernels import posterior

        n, p = self.n_objects, self.n_components
        mixed = unknowns[: self.core_size].copy()
        n_sets, n_directions = self.features.n_sets, len(self.features.log_values)
        shares, weights, own = np.empty(n_sets), np.empty(n_directions), np.empty(n)
        coordinates = mixed[: n * p].reshape(n, p)
        posterior.mix_features(unknowns, self.core_size, *self.features[:4], shares, weights, own, coordinates)
        return mixed

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of the compiled loops after the unknowns."""
        comparisons, pairs, rows = self.comparisons, self.comparisons.pairs, self.comparisons.rows
        n_points, layout = self.n_objects, PeopleLayout.empty()
        if self.people is not None:
            pairs, rows, layout = self.people.pairs, self.people.rows, self.people.layout
            n_points = len(layout.objects)
        centers, scales = np.array(self.prior.centers), np.array(self.prior.scales)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        order = np.lexsort(both.T[::-1])
        bounds = np.searchsorted(both[order, 0], np.arange(n_points + 1)).astype(np.int32)
        adjacency = bounds, both[order, 1].copy(), (order % len(pairs)).astype(np.int32)
        answers = rows, comparisons.weights, comparisons.annotators
        data = (
            pairs, adjacency, *answers, self.exposure, comparisons.n_annotators, self.n_components, centers, scales,
            tuple(layout),
        )  # fmt: skip
        return tuple(self.features or no_features(self.n_objects)), data

    def density(self, unknowns: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density up to a constant, and its gradient."""
        from nearer.optimize.kernels import posterior

        gradient = np.empty(self.size)
        return float(posterior.density(unknowns, gradient, *self.arguments)), gradient

    def draw_prior(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Return unknowns drawn from the prior, (k, size), without an effect of exposure, which nothing is known of."""
        unknowns = rng.standard_normal((k, self.size))
        hyper = self.hyperparameters(unknowns)
        hyper *= self.prior.scales
        hyper += self.prior.centers
        hyper[:, HYPERPARAMETERS.index("exposure")] = 0.0
        if self.features is not None:
            numbers = self.feature_numbers(unknowns)
            numbers *= self.features.scales
            numbers += self.features.centers
        if self.people is not None:
            numbers = self.people_numbers(unknowns)
            numbers *= self.people.layout.scales
            numbers += self.people.layout.centers
        return unknowns

    def prior_covariance(self, unknowns: FloatArray) -> FloatArray | None:
        """Return the covariance of objects along an axis by their features, (n, n), a mean over unknowns, (k, size).

        None without features: objects are then independent.
        """
        if self.features is None:
            return None
        from nearer.optimize.kernels import posterior

        directions, log_values, owners, described = self.features[:4]
        shares, weights = np.empty(self.features.n_sets), np.empty(len(log_values))
        own, squares = np.zeros(self.n_objects), np.zeros(len(log_values))
        for q in unknowns:
            posterior.direction_weights(q, self.first_of_people - 2 * len(shares), log_values, owners, shares, weights)
            own += 1 - described @ shares
            squares += weights**2
        covariance: FloatArray = (directions * (squares / len(unknowns))) @ directions.T
        covariance[np.diag_indices(self.n_objects)] += own / len(unknowns)
        return covariance

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Return initial unknowns: a small random cloud, the hyperparameters at their centers."""
        unknowns = np.zeros(self.size)
        cloud = self.n_objects * self.n_components
        unknowns[:cloud] = 0.5 * rng.standard_normal(cloud)
        self.hyperparameters(unknowns)[:] = self.prior.centers
        if self.features is not None:
            last = self.first_of_people - 2 * self.features.n_sets
            unknowns[self.core_size : last] = 0.5 * rng.standard_normal(last - self.core_size)
            self.feature_numbers(unknowns)[:] = self.features.centers
        if self.people is not None:
            first, last = self.first_of_people, self.size - 2
            unknowns[first:last] = 0.5 * rng.standard_normal(last - first)
            self.people_numbers(unknowns)[:] = self.people.layout.centers
        return unknowns


def model_of(
    comparisons: Comparisons,
    n_components: int,
    prior: Prior | None = None,
    *,
    by_annotator: bool = True,
    features: FeatureBasis | None = None,
    people: str = "noise",
) -> tuple[Model, NDArray[np.integer]]:
    """Return the model over the objects that are compared, and the positions of these.

    ``people`` says in what annotators may differ; see `nearer.sampling.people`.
    """
    distinct = distinct_comparisons(comparisons, by_annotator=by_annotator)
    seen, positions = np.unique(distinct.pairs, return_inverse=True)
    distinct = replace(distinct, pairs=positions.reshape(distinct.pairs.shape).astype(np.int32))
    exposures, least = log_exposures(exposure_counts(comparisons)[seen])
    mean = float(exposures.mean())
    about = None if features is None else features.subset(seen)
    own = None
    if people != PEOPLE[0] and distinct.n_annotators:
        own = PeopleComparisons.of(
            distinct.pairs, distinct.rows, distinct.annotators, distinct.n_annotators, maps=people == "maps"
        )
    return Model(exposures - mean, least - mean, n_components, prior or Prior(), distinct, about, own), seen


class Draws(NamedTuple):
    """Maps drawn from the posterior, each with its answer model.

    Attributes
    ----------
    points : ndarray, shape (k, n, p)
    slopes, offsets, lapses : ndarray, shape (k,)
        beta, alpha and the lapse rate.
    """

    points: FloatArray
    slopes: FloatArray
    offsets: FloatArray
    lapses: FloatArray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def answer_model(self) -> AnswerModel:
        """The answer model of each draw: distances of shape (k, m) give probabilities of that shape."""
        return AnswerModel(self.slopes[:, None], self.offsets[:, None], self.lapses[:, None])

    def one(self, number: int) -> Draws:
        """Return a single draw."""
        return Draws(*(values[number : number + 1] for values in self))


def draws_of(model: Model, unknowns: FloatArray) -> Draws:
    """Return the maps of unknowns, (k, size)."""
    from nearer.optimize.kernels import posterior

    n, p, n_annotators = model.n_objects, model.n_components, model.comparisons.n_annotators
    points = np.empty((len(unknowns), n, p))
    for draw, q in zip(points, unknowns, strict=True):
        posterior.place_objects(
            model.mixed(q), model.exposure, n_annotators, np.empty(p), np.empty(n), np.empty(n), draw
        )
    hyper = model.hyperparameters(unknowns).T
    kernel = np.exp(hyper[3])
    return Draws(points, np.exp(hyper[2]) * (1 + kernel), 2 * kernel, expit(hyper[4]))
