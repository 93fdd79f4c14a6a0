r"""The error of a map by its own posterior: now, and once answers to come are known.

*Now.* Each draw k from the posterior is the truth in its turn. Of a comparison t it says the sign of the log-odds
:math:`g_{kt}` and the chance :math:`p_{kt}` that it holds, and the map says what the mean chance says. The share of
draws that say something else is the chance that the map errs about the truth. On a new answer the map errs more often,

.. math:: \min(\bar p_t, 1 - \bar p_t) = \underbrace{E_k \min(p_{kt}, 1 - p_{kt})}_\text{floor}
          + \underbrace{E_k \, |2 p_{kt} - 1| \, [k \text{ says something else}]}_\text{excess}

where the floor is the noise of people, which stays whatever they are asked, and the excess what is still to be learned.

*Then.* With the mean m of the log-odds over draws, the truth is imagined at m + d, and the map after the answers
says m + a (`design.active.precision`); d is made as large as draws vary. Errors then are taken relative to those now,
when the map says m, and multiply what the draws say of now. This is preposterior analysis (Raiffa and Schlaifer, 1961)
in a normal approximation: no posterior of answers to come has to be drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.model.answers import answer_probability


class Errors(NamedTuple):
    """Errors of a map, each of k truths in its turn, (k,) each.

    Attributes
    ----------
    truth : ndarray
        Share of comparisons about which the map errs.
    floor : ndarray
        Share of new answers that are wrong themselves.
    excess : ndarray
        By how much the error on new answers is above that.
    """

    truth: FloatArray
    floor: FloatArray
    excess: FloatArray


def errors_of(said: NDArray[np.bool_], odds: FloatArray, lapses: FloatArray) -> Errors:
    """Return the errors of what is said to hold.

    Parameters
    ----------
    said : ndarray of bool, shape (t,) or (k, t)
    odds : ndarray, shape (k, t)
        Log-odds that comparisons hold, by each truth, lapses aside.
    lapses : ndarray, shape (k,)

    Examples
    --------
    >>> odds = np.array([[2.0, 1.0], [2.0, -1.0]])
    >>> errors = errors_of(np.array([True, True]), odds, np.zeros(2))
    >>> errors.truth.tolist(), errors.excess.round(3).tolist()
    ([0.0, 0.5], [0.0, 0.231])
    """
    chances = answer_probability(odds, lapses[:, None])
    wrong = (odds > 0) != said
    floor = np.minimum(chances, 1 - chances).mean(axis=1)
    return Errors(wrong.mean(axis=1), floor, (wrong * np.abs(2 * chances - 1)).mean(axis=1))


class Fall(NamedTuple):
    """How errors fall, as shares of the error now: the expected one, and that of each truth, (k,)."""

    truth: float
    excess: float
    truths: FloatArray
    excesses: FloatArray


def fall(odds: FloatArray, lapse: float, away: FloatArray, learned: FloatArray) -> Fall:
    """Return how far errors will fall.

    Parameters
    ----------
    odds : ndarray, shape (j, t)
        Log-odds of comparisons by draws.
    lapse : float
    away, learned : ndarray, shape (k, t)
        How far truths may lie from what is known, and what of it will be learned.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> odds, away = rng.normal(size=50) + rng.normal(size=(200, 50)), rng.normal(size=(500, 50))
    >>> fall(odds, 0.0, away, np.zeros((500, 50))).truth, fall(odds, 0.0, away, away).truth
    (0.0, 1.0)
    """
    mean, lapses = odds.mean(axis=0), np.full(len(away), lapse)
    scale = odds.std(axis=0) / np.maximum(np.sqrt((away**2).mean(axis=0)), np.finfo(np.float64).tiny)
    truths = mean + scale * away
    now, then = (errors_of(said > 0, truths, lapses) for said in (mean, mean + scale * learned))
    falls = []
    for before, after in ((now.truth, then.truth), (now.excess, then.excess)):
        usual = float(before.mean())
        falls.append((before - after) / usual if usual > 0 else np.zeros(len(away)))
    return Fall(float(falls[0].mean()), float(falls[1].mean()), *falls)
