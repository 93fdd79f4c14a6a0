r"""The error of a map by its own posterior: now, and once answers to come have made it more precise.

*Now.* Each draw k from the posterior is the truth in its turn. Of a comparison t it says the sign of the log-odds
:math:`g_{kt}` and the chance :math:`p_{kt}`, and the map says what the mean chance says. The share of draws that
say something else is the chance that the map errs about the truth. On a new answer the map errs more often,

.. math:: \min(\bar p_t, 1 - \bar p_t) = \underbrace{E_k \min(p_{kt}, 1 - p_{kt})}_\text{floor}
          + \underbrace{E_k \, |2 p_{kt} - 1| \, [k \text{ says something else}]}_\text{excess}

where the floor is the noise of people, which stays whatever they are asked, and the excess what is still to be learned.

*Then.* The log-odds are taken to be normal, of mean m and variance v. Answers that leave a variance of r v will have
moved the mean to :math:`m' \sim N(m, (1 - r) v)`, with the truth around it, :math:`g \sim N(m', r v)`. That gives the
chance to err, and the excess, as integrals over m'. Both are taken relative to what they are for r = 1, and multiply
what the draws say of now. This is preposterior analysis (Raiffa and Schlaifer, 1961) in its normal approximation: no
posterior of answers to come has to be drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

from nearer.common.arrays import FloatArray

_NODES = np.linspace(-4, 4, 41)  # evenly: the chance to err has a kink, where m' changes its sign
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_QUANTILES = (np.arange(8) + 0.5) / 8  # of the normal distribution beyond a point


class Beliefs(NamedTuple):
    """What draws say about comparisons.

    Attributes
    ----------
    odds : ndarray, shape (k, t)
        Log-odds that each comparison holds, in each draw, lapses aside.
    lapses : ndarray, shape (k,)
    """

    odds: FloatArray
    lapses: FloatArray

    @property
    def chances(self) -> FloatArray:
        """The chance of each answer in each draw, (k, t)."""
        chances: FloatArray = self.lapses[:, None] / 2 + (1 - self.lapses[:, None]) * expit(self.odds)
        return chances


class Errors(NamedTuple):
    """Errors of a map with each draw as the truth, (k,) each.

    Attributes
    ----------
    truth : ndarray
        Share of comparisons about which the map errs.
    floor : ndarray
        Share of answers that are wrong themselves.
    excess : ndarray
        By how much the error on new answers is above that.
    """

    truth: FloatArray
    floor: FloatArray
    excess: FloatArray


def errors_now(beliefs: Beliefs) -> Errors:
    """Return the errors of the map that predicts by the mean chance.

    Examples
    --------
    >>> beliefs = Beliefs(np.array([[2.0, 1.0], [2.0, 1.0], [2.0, -1.0]]), np.zeros(3))
    >>> errors_now(beliefs).truth.tolist()
    [0.0, 0.0, 0.5]
    """
    chances = beliefs.chances
    said = chances.mean(axis=0) > 0.5
    wrong = (beliefs.odds > 0) != said
    surely = np.abs(2 * chances - 1)
    return Errors(wrong.mean(axis=1), np.minimum(chances, 1 - chances).mean(axis=1), (wrong * surely).mean(axis=1))


class Shrinkage(NamedTuple):
    """What the error about the truth, and the excess on new answers, will be as a share of what they are."""

    truth: float
    excess: float


def shrinkage(beliefs: Beliefs, ratios: FloatArray) -> Shrinkage:
    """Return how far errors will fall once the variances of the log-odds are ``ratios``, (t,), of what they are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> beliefs = Beliefs(rng.normal(size=50) + rng.normal(size=(200, 50)), np.zeros(200))
    >>> shrinkage(beliefs, np.ones(50))
    Shrinkage(truth=1.0, excess=1.0)
    >>> half = shrinkage(beliefs, np.full(50, 0.5))
    >>> 0.5 < half.truth < 0.9 and half.excess < half.truth
    True
    """
    means, deviations = beliefs.odds.mean(axis=0), beliefs.odds.std(axis=0)
    known = deviations > 0
    means, deviations, left = means[known], deviations[known], np.clip(ratios[known], 1e-9, 1.0)
    now, then = (_normal_errors(means, deviations, share) for share in (np.ones_like(left), left))
    truth, excess = (float(after / before) if before > 0 else 1.0 for before, after in zip(now, then, strict=True))
    return Shrinkage(truth, excess)


def _normal_errors(means: FloatArray, deviations: FloatArray, left: FloatArray) -> tuple[float, float]:
    """Return the mean chance to err, and the mean excess, once a share of the variance is left."""
    moved = means[:, None] + (deviations * np.sqrt(1 - left))[:, None] * _NODES  # (t, nodes)
    spread = (deviations * np.sqrt(left))[:, None]
    away = np.abs(moved) / spread
    wrong = ndtr(-away)
    # How far the truth lies on the other side: quantiles of the normal distribution beyond `away`.
    beyond = -ndtri(wrong[..., None] * (1 - _QUANTILES)) - away[..., None]
    surely = np.tanh(np.maximum(np.nan_to_num(beyond, posinf=0.0), 0.0) * spread[..., None] / 2).mean(axis=-1)
    return float((wrong @ _WEIGHTS).mean()), float(((wrong * surely) @ _WEIGHTS).mean())
