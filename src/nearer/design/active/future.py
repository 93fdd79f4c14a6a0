"""Questions that would come next, and what people would answer if a draw were the truth."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.design.active.information import Batch
from nearer.design.active.pools import Pool
from nearer.design.active.precision import DrawnModel, WeightedComparisons, log_odds
from nearer.model.answers import AnswerModel
from nearer.sampling.model import TRIAL_EXPONENT, Draws

Choose: TypeAlias = Literal["information", "random"]

_CANDIDATES, _PICKED = 4000, 400  # questions to choose from, and chosen one by one; beyond that each stands for several
RANDOM_SHARE = 0.15  # of the questions that `Questions` asks: tests and repeats


class ToCome(NamedTuple):
    """Questions, (q, width), and how many answers each stands for, (q,)."""

    questions: NDArray[np.intp]
    times: FloatArray


class Future:
    """What may be asked, seen with what is known.

    Parameters
    ----------
    draws : Draws
    pool : Pool
    rng : Generator

    Examples
    --------
    >>> from nearer.design.active.forms import form_of
    >>> rng = np.random.default_rng(0)
    >>> draws = Draws(rng.normal(size=(20, 6, 2)), np.full(20, 5.0), np.full(20, 0.1), np.full(20, 0.02))
    >>> future = Future(draws, Pool(form_of("odd-one-out"), 6), rng)
    >>> future.tested(10).shape, future.to_come(15, "information").times.sum()
    ((10, 4), np.float64(15.0))
    """

    def __init__(self, draws: Draws, pool: Pool, rng: np.random.Generator) -> None:
        self.draws, self.pool, self.rng = draws, pool, rng

    def truth(self, number: int) -> DrawnModel:
        """Return one of the draws."""
        points, slopes, offsets, lapses = self.draws
        return DrawnModel(
            points[number], AnswerModel(float(slopes[number]), float(offsets[number]), float(lapses[number]))
        )

    def to_come(self, n_answers: int, choose: Choose) -> ToCome:
        """Return the questions of the next answers.

        They are drawn at random, or chosen jointly by what they tell but for the share of tests and repeats.
        """
        n_chosen = 0 if choose == "random" else round(n_answers * (1 - RANDOM_SHARE))
        drawn = self.pool.draw(max(n_answers - n_chosen, 1), self.rng)
        if n_chosen == 0:
            return ToCome(drawn, np.full(len(drawn), n_answers / len(drawn)))
        candidates = self.pool.all_or_some(_CANDIDATES, self.rng)
        chances = self.pool.form.chances(self.draws, candidates)
        batch = Batch(chances, n_coordinates=self.draws.points[0].size)
        picked = [batch.pick() for _ in range(min(n_chosen, _PICKED, len(candidates)))]
        chosen = candidates[[number for number in picked if number is not None]]
        times = np.repeat([n_chosen / len(chosen), (n_answers - n_chosen) / len(drawn)], [len(chosen), len(drawn)])
        return ToCome(np.concatenate([chosen, drawn]), times)

    def told(self, to_come: ToCome, number: int) -> WeightedComparisons:
        """Return what people would say if a draw were the truth, with the weights that the posterior gives it."""
        said = self._said(to_come.questions, self.pool.form.chances(self.draws.one(number), to_come.questions)[0])
        per = said.shape[1]
        return WeightedComparisons(said.reshape(-1, 4), np.repeat(to_come.times * per**-TRIAL_EXPONENT, per))

    def odds(self, rows: NDArray[np.integer]) -> FloatArray:
        """Return the log-odds of comparisons, (m, 4), by each draw, (k, m)."""
        return np.array([log_odds(self.truth(number), rows) for number in range(len(self.draws))])

    def tested(self, k: int) -> NDArray[np.intp]:
        """Return k comparisons that answers to random questions would make, (k, 4), one of each answer."""
        questions = self.pool.draw(k, self.rng)
        each = np.arange(k)
        chances = np.empty((k, self.pool.form.n_answers))
        some = self.rng.integers(len(self.draws), size=k)
        for number in np.unique(some):
            rows = np.flatnonzero(some == number)
            chances[rows] = self.pool.form.chances(self.draws.one(int(number)), questions[rows])[0]
        said = self._said(questions, chances)
        compared: NDArray[np.intp] = said[each, self.rng.integers(said.shape[1], size=k)]
        return compared

    def _said(self, questions: NDArray[np.intp], chances: FloatArray) -> NDArray[np.intp]:
        """Return the comparisons of an answer to each question, drawn by the chances of answers, (q, r, 4)."""
        luck = self.rng.random(len(questions))[:, None]
        answers = np.minimum((np.cumsum(chances, axis=1) < luck).sum(axis=1), chances.shape[1] - 1)
        places = self.pool.form.said[answers]  # (q, r, 4)
        said: NDArray[np.intp] = questions[np.arange(len(questions))[:, None, None], places]
        return said
