r"""The model: how a map comes about, and how people answer when they look at it.

Answers. With a squared distance :math:`d^2` between the objects of a pair,

.. math:: P(\text{near}) = \frac{\pi}{2} + (1 - \pi)\, \mathrm{sigmoid}\Big(\beta
          \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}}\Big)

with lapse rate :math:`\pi`. beta = 1 is crowd kernel learning, alpha = 2 beta - 1 is t-STE with alpha degrees of
freedom, and alpha going to infinity with beta / alpha fixed is STE.

Maps. An object has coordinates :math:`y_{id} = t_d z_{id}` with z standard normal and spreads t_d, squares of which sum
to 1. The map is

.. math:: x_i = y_i \, |y_i|^{\rho - 1} \exp(\omega v_i + \gamma e_i)

A radius exponent of rho = 1 leaves the Gaussian cloud as it is; rho = 0 puts all objects on a sphere, where none is
near to everything because it is in the middle. The scales v are standard normal, omega is learned. The exposure e is
the logarithm of how often the plan of a study asks about an object, relative to the others (`exposures_of`): in some
studies the objects shown most often are mostly the far ones. Most data say gamma = 0, and its prior expects that.
Questions that were chosen by earlier answers are no part of a plan. They are about objects whose places are still open,
and an object that was called the far one is less fixed by that than one that was called near: exposures that count them
give answers away, and gamma comes out near 1 whatever the truth.

Numbers. Seven are learned beside the map, on scales on which they can take any value: log of the unevenness sigma of
the spreads (t_d is proportional to exp(sigma u_d), u standard normal), log omega, log of the steepness b, log of the
kernel width k, logit of the lapse rate, logit of rho, and gamma. The kernel is alpha = 2 k (2 is the mean squared
distance under the prior) and beta = b (1 + k), so that b is how fast the odds change with the logarithm of a typical
distance, whatever k.
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
from nearer.data.groups import trials_of, with_positive_weight
from nearer.model.answers import AnswerModel
from nearer.sampling.answers import Answers, answers_of, totals_and_times

NUMBERS = (
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


class Prior(NamedTuple):
    """Centres and scales of the numbers: normal, and Cauchy for the effect of exposure.

    They were set by what is plausible for people and maps: two thirds of the mass is on spreads that differ by less
    than a factor of 1.4, scales that differ by less than a factor of 1.2, and lapses of 0.4 to 8 percent.
    """

    centres: tuple[float, ...] = (-1.2, -2.3, 2.0, 0.0, -4.0, 1.0, 0.0, -1.2, 0.0)
    scales: tuple[float, ...] = (0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 0.06, 0.5, 0.7)


@dataclass(frozen=True, eq=False)
class Model:
    """The density of maps given comparisons.

    Parameters
    ----------
    exposure : ndarray, shape (n,)
        Relative to their mean.
    least_exposure : float
        Of an object that was never asked about.
    n_components : int
    prior : Prior
    answers : Answers
        Over the objects that are compared.
    """

    exposure: FloatArray
    least_exposure: float
    n_components: int
    prior: Prior
    answers: Answers = field(default_factory=Answers.none)

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return len(self.exposure)

    @property
    def size(self) -> int:
        """The number of unknowns."""
        n, p = self.n_objects, self.n_components
        return n * p + p + n + 2 * self.answers.n_people + len(NUMBERS)

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What the compiled loops take after the unknowns."""
        answers, pairs = self.answers, self.answers.pairs
        centres, scales = np.array(self.prior.centres), np.array(self.prior.scales)
        both = np.concatenate([pairs, pairs[:, ::-1]])
        order = np.lexsort(both.T[::-1])
        bounds = np.searchsorted(both[order, 0], np.arange(self.n_objects + 1)).astype(np.int32)
        beside = bounds, both[order, 1].copy(), (order % len(pairs)).astype(np.int32)
        said = answers.rows, answers.weights, answers.people
        return pairs, beside, *said, self.exposure, answers.n_people, self.n_components, centres, scales

    def density(self, unknowns: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density up to a constant, and its gradient."""
        from nearer.optimize.kernels import posterior

        gradient = np.empty(self.size)
        return float(posterior.density(unknowns, gradient, *self.arguments)), gradient

    def start(self, rng: np.random.Generator) -> FloatArray:
        """Return unknowns to begin with: a small random cloud, the numbers at their centres."""
        unknowns = np.zeros(self.size)
        cloud = self.n_objects * self.n_components
        unknowns[:cloud] = 0.5 * rng.standard_normal(cloud)
        unknowns[-len(NUMBERS) :] = self.prior.centres
        return unknowns


class Draws(NamedTuple):
    """Maps drawn from the posterior, and how people answer in each.

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
    def answers(self) -> AnswerModel:
        """How people answer in each draw: distances of shape (k, m) give probabilities of that shape."""
        return AnswerModel(self.slopes[:, None], self.offsets[:, None], self.lapses[:, None])

    def only(self, number: int) -> Draws:
        """Return one of them."""
        return Draws(*(values[number : number + 1] for values in self))


def draws_of(model: Model, unknowns: FloatArray) -> Draws:
    """Return the maps of unknowns, (k, size)."""
    from nearer.optimize.kernels import posterior

    n, p, n_people = model.n_objects, model.n_components, model.answers.n_people
    points = np.empty((len(unknowns), n, p))
    for draw, q in zip(points, unknowns, strict=True):
        posterior.place_objects(q, model.exposure, n_people, np.empty(p), np.empty(n), np.empty(n), draw)
    numbers = unknowns[:, -len(NUMBERS) :].T
    kernel = np.exp(numbers[3])
    return Draws(points, np.exp(numbers[2]) * (1 + kernel), 2 * kernel, expit(numbers[4]))


def times_asked(comparisons: Comparisons) -> FloatArray:
    """Return in how many trials, by their weight, each object comes up by the plan of the study, (n,).

    Trials are counted and not rows: in a grid of pictures the chosen ones are in more rows than the others, and their
    number would give the answer away. So would the numbers of questions that were chosen by earlier answers.

    Examples
    --------
    >>> grid = Comparisons.from_triplets([[0, 1, 2], [0, 1, 3]], trials=["first", "first"])
    >>> times_asked(grid)
    array([1., 1., 1., 1.])
    """
    comparisons = with_positive_weight(comparisons)
    if comparisons.was_chosen.all():
        return np.zeros(comparisons.n_objects)
    comparisons = comparisons[~comparisons.was_chosen]
    trials, n = trials_of(comparisons), comparisons.n_objects
    _, weights = totals_and_times(comparisons.sample_weight, trials)
    trial, asked = np.divmod(np.unique(trials[:, None] * n + comparisons.rows), n)
    order = np.lexsort([weights[trial], asked])  # or another order of the rows would be another rounding
    return np.bincount(asked[order], weights[trial][order], minlength=n).astype(np.float64)


def exposures_of(times: FloatArray) -> tuple[FloatArray, float]:
    """Return the logarithm of how often a study asks about each object, and about one that never came up.

    What counts is the design and not its luck. If questions are drawn at random, the numbers of times vary like those
    of a Poisson distribution, and nothing follows from who came up more often. So rates have a gamma distribution, with
    the variance that the numbers have beyond that, and each object its mean given its number.

    Examples
    --------
    >>> exposures_of(np.array([4.0, 5.0, 3.0, 4.0]))[0].tolist() == [0, 0, 0, 0]
    True
    >>> exposures_of(np.array([1.0, 1.0, 100.0, 100.0]))[0].round(1)
    array([-3.4, -3.4,  0.7,  0.7])
    """
    mean = float(times.mean())
    if mean == 0:
        return np.zeros(len(times)), 0.0
    beyond = max(float(times.var(ddof=1)) - mean, 0.0) if len(times) > 1 else 0.0
    share = beyond / (beyond + mean)
    exposures = np.log1p(share * (times / mean - 1))
    # One that never came up counts as asked at least half as often as the rarest: answers cannot speak of what is
    # far beyond that.
    return exposures, max(float(np.log1p(-share)), float(exposures.min()) - np.log(2))


def model_of(
    comparisons: Comparisons, n_components: int, prior: Prior | None = None, *, people: bool = True
) -> tuple[Model, NDArray[np.integer]]:
    """Return the model over the objects that are compared, and which those are."""
    answers = answers_of(comparisons, people=people)
    seen, positions = np.unique(answers.pairs, return_inverse=True)
    answers = replace(answers, pairs=positions.reshape(answers.pairs.shape).astype(np.int32))
    exposures, least = exposures_of(times_asked(comparisons)[seen])
    usual = float(exposures.mean())
    return Model(exposures - usual, least - usual, n_components, prior or Prior(), answers), seen
