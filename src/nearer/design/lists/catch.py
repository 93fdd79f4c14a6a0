"""Catch trials: questions that everybody who looks gets right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from nearer._common.formatting import decimals, pluralize
from nearer.design.active import Questions
from nearer.design.active.forms import Key
from nearer.design.lists.answered import Answered
from nearer.design.lists.lists import Catch
from nearer.sampling.model import Draws

SURE = 0.99  # chance of an answer that is obvious to whoever looks
_CANDIDATES = 5000
_DRAWS = 100


def given_catches(questions: Questions, rows: Sequence[Answered]) -> list[Catch]:
    """Return catch trials that somebody has written down, with their right answers."""
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    for row in rows:
        if len(row.shown) != questions.form.width or not row.named:
            raise ValueError(
                f"catch questions must be of the kind that is asked, {questions.form.name!r}, with their right answers"
            )
    return [
        Catch(tuple(place[label] for label in row.shown), tuple(place[label] for label in row.named)) for row in rows
    ]


def obvious_catches(
    questions: Questions, n: int, barred: Sequence[Collection[Key]], rng: np.random.Generator
) -> list[list[Catch]]:
    """Return n catch trials for each list, made from what the answers so far leave no doubt about.

    The chance of the likeliest answer is above 0.99 over the posterior, for somebody who does not lapse. ``barred`` has
    for each list the questions that its person must not get.
    """
    draws = questions.model_.draws_
    some = np.unique(np.linspace(0, len(draws) - 1, _DRAWS).round().astype(int))
    awake = Draws(draws.points[some], draws.slopes[some], draws.offsets[some], np.zeros(len(some)))
    drawn = questions.pool.draw(_CANDIDATES, rng)
    pool = np.array(list(dict(zip(questions.form.keys(drawn), drawn, strict=True)).values()))
    keys = questions.form.keys(pool)
    chances = questions.form.chances(awake, pool).mean(axis=0)
    best = chances.argmax(axis=1)
    sure = np.flatnonzero(chances.max(axis=1) > SURE)
    times = np.zeros(len(questions.objects_))
    lists = []
    for had in barred:
        left = [at for at in rng.permutation(sure).tolist() if keys[at] not in had]
        if len(left) < n:
            raise ValueError(
                f"only {len(left)} of {pluralize(len(pool), 'question')} have an answer that is sure (above "
                f"{SURE}; the "
                f"surest has {decimals(float(chances.max()))}), and {pluralize(n, 'catch trial')} cannot be made; "
                "ask for "
                "fewer, or give them in a file, with their right answers"
            )
        chosen: list[Any] = []
        for _ in range(n):
            rarest = min(left, key=lambda at: times[pool[at]].sum())  # not the same odd object each time
            left.remove(rarest)
            times[pool[rarest]] += 1
            answer = questions.form.chosen[best[rarest]]
            chosen.append(Catch(tuple(pool[rarest].tolist()), tuple(pool[rarest][list(answer)].tolist())))
        lists.append(chosen)
    return lists
