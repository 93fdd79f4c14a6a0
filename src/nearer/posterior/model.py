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
the logarithm of how often an object was asked about, relative to the others: in some studies the objects shown most
often are mostly the far ones. Most data say gamma = 0, and its prior expects that.

Numbers. Seven are learned beside the map, on scales on which they can take any value: log of the unevenness sigma of
the spreads (t_d is proportional to exp(sigma u_d), u standard normal), log omega, log of the steepness b, log of the
kernel width k, logit of the lapse rate, logit of rho, and gamma. The kernel is alpha = 2 k (2 is the mean squared
distance under the prior) and beta = b (1 + k), so that b is how fast the odds change with the logarithm of a typical
distance, whatever k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.rows import shared_first
from nearer.data.units import trials_of, with_positive_weight

# How fast the weight of a comparison falls with the number of those from the same trial. On odd-one-out and
# most-central data 0.5 predicts best, on grids 0.3; without it all are predicted worse, and with too much confidence.
_DEPENDENCE = 0.4
NUMBERS = ("unevenness", "scale_spread", "steepness", "kernel", "lapse", "radius", "exposure")


class Prior(NamedTuple):
    """Centres and scales of the numbers: normal, and Cauchy for the effect of exposure.

    They were set by what is plausible for people and maps: two thirds of the mass is on spreads that differ by less
    than a factor of 1.4, scales that differ by less than a factor of 1.2, and lapses of 0.4 to 8 percent.
    """

    centres: tuple[float, ...] = (-1.2, -2.3, 2.0, 0.0, -4.0, 1.0, 0.0)
    scales: tuple[float, ...] = (0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 0.06)


@dataclass(frozen=True, eq=False)
class Model:
    """The density of maps given comparisons.

    Parameters
    ----------
    objects : ndarray of int32, shape (m, 3) or (m, 4)
        Different comparisons, each read as answered, over the objects that are compared.
    weights : ndarray, shape (m,), or (0,) if all are 1
    exposure : ndarray, shape (n,)
    usual_exposure : float
        The mean that exposures are relative to.
    least_exposure : float
        Of an object that was never asked about.
    n_components : int
    prior : Prior
    """

    objects: NDArray[np.int32]
    weights: FloatArray
    exposure: FloatArray
    usual_exposure: float
    least_exposure: float
    n_components: int
    prior: Prior

    @property
    def n_objects(self) -> int:
        """The number of objects n."""
        return len(self.exposure)

    @property
    def size(self) -> int:
        """The number of unknowns."""
        n, p = self.n_objects, self.n_components
        return n * p + p + n + len(NUMBERS)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the compiled loops take after the unknowns."""
        centres, scales = np.array(self.prior.centres), np.array(self.prior.scales)
        return self.objects, self.weights, self.exposure, self.n_objects, self.n_components, centres, scales

    def density(self, unknowns: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density up to a constant, and its gradient."""
        from nearer.kernels import posterior

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


def draws_of(model: Model, unknowns: FloatArray) -> Draws:
    """Return the maps of unknowns, (k, size)."""
    from nearer.kernels import posterior

    n, p = model.n_objects, model.n_components
    points = np.empty((len(unknowns), n, p))
    for draw, q in zip(points, unknowns, strict=True):
        posterior.place_objects(q, model.exposure, np.empty(p), np.empty(n), np.empty(n), draw)
    numbers = unknowns[:, -len(NUMBERS) :].T
    kernel = np.exp(numbers[3])
    return Draws(points, np.exp(numbers[2]) * (1 + kernel), 2 * kernel, expit(numbers[4]))


def different(comparisons: Comparisons) -> tuple[NDArray[np.int32], FloatArray]:
    """Return the different comparisons, each as answered, in an order of their own, and their total weights.

    A repeated row and a row of weight 2, or another order of the rows, are the same model to the last bit. Triplets
    have three columns, the anchor first; if there is a comparison of four objects, all have four.

    The k comparisons that one trial expands to are not k independent answers: an odd-one-out gives two from one choice
    among three, a grid of twelve pictures thirty from one click or two. Each weighs k^-0.4, unless weights have seen to
    that: what counts as k is their sum, and 1 where it is less.

    Examples
    --------
    >>> repeated = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [0, 1, 2]], y=[1, -1, 1])
    >>> different(repeated)
    (array([[0, 1, 2]], dtype=int32), array([3.]))
    """
    comparisons = with_positive_weight(comparisons)
    rows = comparisons.oriented.astype(np.int32)
    trials = trials_of(comparisons)
    totals, times = _totals_and_times(comparisons.sample_weight, trials)
    weights = comparisons.sample_weight * ((totals / times) ** -_DEPENDENCE)[trials]
    rows = np.column_stack([np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)])
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    order = np.lexsort([weights, which.ravel()])  # or another order of the rows would be another rounding
    summed: FloatArray = np.bincount(which.ravel()[order], weights[order]).astype(np.float64)
    rows = shared_first(rows)
    if (rows[:, 0] == rows[:, 2]).all():
        rows = np.ascontiguousarray(rows[:, [0, 1, 3]])
    return rows, summed


def _totals_and_times(weights: FloatArray, trials: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
    """Return the total weight of each trial, and how many times it counts.

    Rows of weight 1 are one trial however many they are, as are rows whose weights add up to 1; rows of weight 2 are
    two.
    """
    order = np.lexsort([weights, trials])  # or another order of the rows would be another rounding
    totals: FloatArray = np.bincount(trials[order], weights[order]).astype(np.float64)
    times: FloatArray = np.maximum(np.minimum(totals, 1.0), totals / np.bincount(trials))
    return totals, times


def times_asked(comparisons: Comparisons) -> FloatArray:
    """Return in how many trials, by their weight, each object comes up, (n,).

    Trials are counted and not rows: in a grid of pictures the chosen ones are in more rows than the others, and their
    number would give the answer away.

    Examples
    --------
    >>> grid = Comparisons.from_triplets([[0, 1, 2], [0, 1, 3]], trials=["first", "first"])
    >>> times_asked(grid)
    array([1., 1., 1., 1.])
    """
    comparisons = with_positive_weight(comparisons)
    trials, n = trials_of(comparisons), comparisons.n_objects
    _, weights = _totals_and_times(comparisons.sample_weight, trials)
    trial, asked = np.divmod(np.unique(trials[:, None] * n + comparisons.rows), n)
    order = np.lexsort([weights[trial], asked])  # or another order of the rows would be another rounding
    return np.bincount(asked[order], weights[trial][order], minlength=n).astype(np.float64)


def model_of(
    comparisons: Comparisons, n_components: int, prior: Prior | None = None
) -> tuple[Model, NDArray[np.integer]]:
    """Return the model over the objects that are compared, and which those are."""
    rows, weights = different(comparisons)
    seen, positions = np.unique(rows, return_inverse=True)
    rows = positions.reshape(rows.shape).astype(np.int32)
    asked = np.log1p(times_asked(comparisons)[seen])
    if (weights == 1).all():
        weights = np.empty(0)
    usual = float(asked.mean())
    # An object that was never asked about counts as one asked half as often as the rarest: an exposure of log 1 beside
    # others of log 1000 would be far beyond what the comparisons can speak of.
    least = float(asked.min()) - np.log(2)
    return Model(rows, weights, asked - usual, usual, least - usual, n_components, prior or Prior()), seen
