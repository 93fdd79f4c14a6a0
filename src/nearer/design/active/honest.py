r"""The error on random questions, each predicted as if it had never been asked.

Chosen questions are hard ones: an error over them is far larger than that on a question at random. So a share of the
questions is drawn at random, and these alone count. They are learned from like all others. To predict one as if it had
not been, the draws are weighed by :math:`1 / L_k`, with :math:`L_k` the likelihood in draw k of all answers to that
very question, whoever gave them (importance sampling; Gelfand, Dey and Chang 1992).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.design.active.forms import Key
from nearer.design.active.record import Record
from nearer.design.mix import AGAIN, TEST
from nearer.evaluation.intervals import wilson
from nearer.sampling.model import TRIAL_EXPONENT, Draws


class HonestError(float):
    """An error, as a number, with what is known about it.

    Attributes
    ----------
    low, high : float
        The ends of its interval of 95%.
    n_answers : int
        Random questions that it comes from.

    Examples
    --------
    >>> error = HonestError.of(np.array([0.0, 1.0, 0.0, 0.0]))
    >>> print(error)
    0.25 (0.05 to 0.70; 4 random questions)
    """

    low: float
    high: float
    n_answers: int

    @classmethod
    def of(cls, wrong: FloatArray) -> Self:
        """Return the error of answers of which each is wrong by so much, between 0 and 1."""
        error = cls(wrong.mean())
        error.low, error.high = wilson(float(error), len(wrong), float(ndtri(0.975)))
        error.n_answers = len(wrong)
        return error

    def __str__(self) -> str:
        return f"{float(self):.2f} ({self.low:.2f} to {self.high:.2f}; {pluralize(self.n_answers, 'random question')})"


def honest_error(draws: Draws, record: Record) -> HonestError:
    """Return the error of the posterior on the random share of the questions.

    Parameters
    ----------
    draws : Draws
        Of the posterior of all answers.
    record : Record
    """
    tests = [number for number, purpose in enumerate(record.purposes) if purpose == TEST]
    if not tests:
        raise ValueError("there are no answers to random questions yet; ask more, or raise test_share")
    alike = _alike(record)  # once, or it would take the square of their number
    wrong = [chances_left_out(draws, record, number, alike) for number in tests]
    return HonestError.of(np.array([float(np.mean((each < 0.5) + 0.5 * (each == 0.5))) for each in wrong]))


def chances_left_out(
    draws: Draws, record: Record, number: int, alike: dict[Key, list[int]] | None = None
) -> FloatArray:
    """Return the chance of each comparison of an answer, (r,), as if its question had never been asked.

    ``alike`` has the numbers of all answers that count to each question, where they are known.
    """
    key = record.keys[number]
    together = [number] if key is None else (_alike(record) if alike is None else alike)[key]
    logs = np.sum([_held(draws, record.said[at])[1] for at in together], axis=0)
    weights = np.exp(logs.min() - logs)
    chances: FloatArray = weights @ _held(draws, record.said[number])[0] / weights.sum()
    return chances


def _alike(record: Record) -> dict[Key, list[int]]:
    alike: dict[Key, list[int]] = {}
    for number, (key, purpose) in enumerate(zip(record.keys, record.purposes, strict=True)):
        if key is not None and purpose != AGAIN:
            alike.setdefault(key, []).append(number)
    return alike


def _held(draws: Draws, said: np.ndarray[Any, Any]) -> tuple[FloatArray, FloatArray]:
    """Return the chance that each comparison of an answer holds in each draw, (k, r), and the log of all, (k,)."""
    i, j, l, k = said.T  # noqa: E741
    points = draws.points
    near, far = (np.square(points[:, a] - points[:, b]).sum(axis=2) for a, b in ((i, j), (l, k)))
    held = draws.answer_model.probability(near, far)
    return held, len(said) ** -TRIAL_EXPONENT * np.log(held).sum(axis=1)
