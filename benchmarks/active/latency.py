"""How long people wait for questions: `ask` and the update behind it, with many objects and answers on file."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from nearer.datasets import make_gaussian, sample_triplets
from nearer.design import Questions

_REPEATS = 20


def latency(n_objects: int = 200, n_answers: int = 10_000, n_components: int = 2, *, seed: int = 0) -> dict[str, Any]:
    """Time questions and updates.

    Parameters
    ----------
    n_objects, n_answers, n_components : int
        Answers to random questions, one in ten flipped.
    seed : int

    Returns
    -------
    dict
        ``first_update`` in seconds, from no map to one of all answers; ``update``, median of three, each after 30 more
        answers; ``ask``, ``slowest_ask``: median and longest of 20 calls of ``ask(10)`` in milliseconds, and
        ``ask_meanwhile`` of as many while an update runs.
    """
    source = np.random.SeedSequence(seed)
    points = make_gaussian(n_objects, n_components, random_state=source)
    answers = sample_triplets(points, n_answers + 120, flipped=0.1, random_state=source).rows
    questions = Questions(n_objects, n_components, random_state=seed)
    first = _updated(questions, answers[:n_answers])
    updates = [_updated(questions, answers[n_answers + 30 * k :][:30]) for k in range(3)]
    quiet = [_asked(questions) for _ in range(_REPEATS)]
    questions.tell(answers[-30:])
    busy = [_asked(questions) for _ in range(_REPEATS)]
    questions.update()
    return {
        "n_objects": n_objects, "n_answers": n_answers, "first_update": first, "update": float(np.median(updates)),
        "ask": float(np.median(quiet)), "slowest_ask": max(quiet), "ask_meanwhile": float(np.median(busy)),
    }  # fmt: skip


def _updated(questions: Questions, answers: Any) -> float:
    """Return the seconds until answers are known."""
    began = time.perf_counter()
    questions.tell(answers)
    questions.update()
    return time.perf_counter() - began


def _asked(questions: Questions) -> float:
    """Return the milliseconds that ten questions take."""
    began = time.perf_counter()
    questions.ask(10)
    return 1000 * (time.perf_counter() - began)
