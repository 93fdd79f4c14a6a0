r"""Errors of a map: on random questions as if they were new, and expected by its own posterior.

*Held out.* Chosen questions are hard ones: an error over them is far larger than that on a random question. So a share
of the questions is drawn at random, and these alone count. The map is learned from them as well. To predict one as if
it were new, the draws are weighted by :math:`1 / L_k`, with :math:`L_k` the likelihood in draw k of all answers to that
very question, whoever gave them (importance sampling; Gelfand, Dey and Chang 1992).

*Expected now.* Each draw k from the posterior is the truth in turn. It gives a comparison t log-odds :math:`g_{kt}` and
a probability :math:`p_{kt}`, and the map predicts the likelier answer by the mean probability. The share of draws that
predict the other one is the probability that the map errs about the truth. On a new answer the map errs more often,

.. math:: \min(\bar p_t, 1 - \bar p_t) = \underbrace{E_k \min(p_{kt}, 1 - p_{kt})}_\text{floor}
          + \underbrace{E_k \, |2 p_{kt} - 1| \, [k \text{ predicts the other}]}_\text{excess}

where the floor is the noise of people, which no question reduces, and the excess can still be learned.

*Expected after more answers.* With the mean m of the log-odds over draws, the truth is drawn at m + d, and the map
after the answers predicts m + a (see `nearer.design.active.lookahead`); d is scaled to the variance of draws. Errors
then are taken relative to those now, when the map predicts m, and multiply the errors of the draws now. This is
preposterior analysis (Raiffa and Schlaifer, 1961) in a normal approximation: no posterior of later answers is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.design.active.pool import QuestionKey
from nearer.design.active.record import Record
from nearer.design.mix import AGAIN, TEST
from nearer.evaluation.intervals import wilson_interval
from nearer.model.answers import answer_probability
from nearer.sampling.model import TRIAL_EXPONENT, Draws


class HeldOutError(float):
    """An error on random questions, a number with a 95% interval from ``low`` to ``high``; of ``n_answers`` of these.

    Examples
    --------
    >>> error = HeldOutError.of(np.array([0.0, 1.0, 0.0, 0.0]))
    >>> print(error)
    0.25 (0.05 to 0.70; 4 random questions)
    """

    low: float
    high: float
    n_answers: int

    @classmethod
    def of(cls, wrong: FloatArray) -> Self:
        """Return the error of answers, each wrong by a share between 0 and 1."""
        error = cls(wrong.mean())
        error.low, error.high = wilson_interval(float(error), len(wrong), float(ndtri(0.975)))
        error.n_answers = len(wrong)
        return error

    def __str__(self) -> str:
        return f"{float(self):.2f} ({self.low:.2f} to {self.high:.2f}; {pluralize(self.n_answers, 'random question')})"


def held_out_error(draws: Draws, record: Record) -> HeldOutError:
    """Return the error of the posterior of all answers on the random share of the questions."""
    tests = [number for number, purpose in enumerate(record.purposes) if purpose == TEST]
    if not tests:
        raise ValueError("there are no answers to random questions yet; ask more, or raise test_share")
    held = held_out_probabilities(draws, record, tests)
    return HeldOutError.of(np.array([np.mean((each < 0.5) + 0.5 * (each == 0.5)) for each in held]))


def held_out_probabilities(draws: Draws, record: Record, numbers: Iterable[int]) -> list[FloatArray]:
    """Return the probability of each comparison of some answers, (r,), as if their questions had never been asked."""
    answers_by_key: dict[QuestionKey, list[int]] = {}
    for number, (key, purpose) in enumerate(zip(record.keys, record.purposes, strict=True)):
        if key is not None and purpose != AGAIN:
            answers_by_key.setdefault(key, []).append(number)
    found = []
    for number in numbers:
        key = record.keys[number]
        same = [number] if key is None else answers_by_key[key]
        logs = np.sum([_likelihood(draws, record.answers[at])[1] for at in same], axis=0)
        weights = np.exp(logs.min() - logs)
        found.append(weights @ _likelihood(draws, record.answers[number])[0] / weights.sum())
    return found


def _likelihood(draws: Draws, rows: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Return the probability of each comparison of an answer in each draw, (k, r), and the log of the whole, (k,)."""
    points = draws.points
    near, far = (np.square(points[:, a] - points[:, b]).sum(axis=2) for a, b in (rows[:, :2].T, rows[:, 2:].T))
    held = draws.answer_model.probability(near, far)
    return held, len(rows) ** -TRIAL_EXPONENT * np.log(held).sum(axis=1)


def map_errors(
    predicted: NDArray[np.bool_], odds: FloatArray, lapses: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the errors of predictions, (t,) or (k, t), where truths have log-odds, (k, t), and lapse rates, (k,).

    For each truth, (k,), they are the shares of comparisons about which the map errs and of new answers that are wrong
    themselves (the floor), and by how much the error on new answers is above that (the excess).
    """
    probabilities = answer_probability(odds, lapses[:, None])
    wrong = (odds > 0) != predicted
    floor = np.minimum(probabilities, 1 - probabilities).mean(axis=1)
    return wrong.mean(axis=1), floor, (wrong * np.abs(2 * probabilities - 1)).mean(axis=1)


def error_reduction(
    odds: FloatArray, lapse: float, deviations: FloatArray, learned: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how much errors about the truth and their excess will fall, as shares of the mean now, for truths, (k,).

    Given are log-odds by draws, (j, t), and the deviations of truths and what is learned of them, (k, t).
    """
    mean, lapses = odds.mean(axis=0), np.full(len(deviations), lapse)
    scale = odds.std(axis=0) / np.maximum(np.sqrt((deviations**2).mean(axis=0)), np.finfo(np.float64).tiny)
    truths = mean + scale * deviations
    truth, _, excess = map_errors(mean > 0, truths, lapses)
    truth_then, _, excess_then = map_errors(mean + scale * learned > 0, truths, lapses)

    def fall(before: FloatArray, after: FloatArray) -> FloatArray:
        average = float(before.mean())
        return (before - after) / average if average > 0 else np.zeros(len(before))

    return fall(truth, truth_then), fall(excess, excess_then)
