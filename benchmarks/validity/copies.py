"""Copied answers: false alarms among independent people, and power, also for copies with a few changes."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.validity.rates import Outcome, Rate, Responses, own_questions, respond, same_questions
from nearer._common.arrays import FloatArray
from nearer.checking.context import Context
from nearer.checking.copies import check_copies

TITLE = "Copied answers"
ABOUT = """
`check` and `fit` report people whose answers agree beyond what independent answers to the same questions allow, with a
size of 5% per study. Here people answer triplets about 15 points of a plane, all the same ones or each a sample of a
list, and err at a rate of their own. In a world of two views, half of the people judge by other points, so that people
of one view agree far more than usual. Copies are of one person's answers; of those with changes, 2% of answers are
reversed. Power counts studies in which the copies are reported and no others are.
"""
_N_OBJECTS = 15


def _study(rng: np.random.Generator, errors: FloatArray, n_each: int, n_list: int | None, views: int) -> Responses:
    """Return answers of people to the same questions, or to a sample of a list; views see different points."""
    n_people = len(errors)
    questions = same_questions(rng, n_people, n_list or n_each, _N_OBJECTS)
    if n_list is not None:
        questions = np.stack([rng.permutation(each)[:n_each] for each in questions])
    parts = np.array_split(np.arange(n_people), views)
    found = [respond(rng, errors[part], questions[part], n_objects=_N_OBJECTS) for part in parts]
    rows = np.concatenate([each.rows for each in found])
    return Responses(rows, np.repeat(np.arange(n_people), n_each), _N_OBJECTS)


def _errors(rng: np.random.Generator, n_people: int, low: float, high: float) -> FloatArray:
    return np.asarray(rng.uniform(low, high, n_people))


def _reported(responses: Responses) -> set[str]:
    found = check_copies(Context(responses.answers(), 2))
    return {who for each in found if each.code == "copies" for who in each.concerned}


def false_alarm(
    rng: np.random.Generator, *, n_people: int, n_each: int, low: float, high: float,
    n_list: int | None = None, views: int = 1,
) -> Outcome:  # fmt: skip
    """Whether any pair of independent people is reported."""
    return Outcome(int(bool(_reported(_study(rng, _errors(rng, n_people, low, high), n_each, n_list, views)))))


def found(
    rng: np.random.Generator, *, n_people: int, n_copies: int, n_each: int, error: float, changed: float
) -> Outcome:
    """Whether copies are reported, and nobody else."""
    responses = _study(rng, np.full(n_people + n_copies, error), n_each, None, 1)
    rows = responses.rows.reshape(n_people + n_copies, n_each, 3)
    rows[n_people:] = rows[n_people]
    reversed_rows = rng.random(rows.shape[:2]) < changed
    reversed_rows[: n_people + 1] = False
    rows[reversed_rows] = rows[reversed_rows][:, [0, 2, 1]]
    copies = {f"person {number}" for number in range(n_people, n_people + n_copies)}
    return Outcome(int(_reported(responses) == copies))


def no_common_questions(rng: np.random.Generator, *, n_people: int, n_each: int) -> Outcome:
    """Whether any pair is reported where everybody has questions of their own."""
    questions = own_questions(rng, n_people, n_each, _N_OBJECTS)
    return Outcome(int(bool(_reported(respond(rng, np.full(n_people, 0.1), questions, n_objects=_N_OBJECTS)))))


_ALARM, _FOUND = "independent people are reported", "copies are reported, and nobody else"
RATES = [
    *(
        Rate(_ALARM, world, "size", partial(false_alarm, **settings), 400, 0.0, 0.05)  # type: ignore[arg-type]
        for world, settings in {
            "20 people, the same 300 questions, errors 20%":
                {"n_people": 20, "n_each": 300, "low": 0.2, "high": 0.2},
            "20 people, the same 300 questions, errors 1%":
                {"n_people": 20, "n_each": 300, "low": 0.01, "high": 0.01},
            "20 people, the same 300 questions, errors 1 to 45%":
                {"n_people": 20, "n_each": 300, "low": 0.01, "high": 0.45},
            "60 people, the same 40 questions, errors 2 to 30%":
                {"n_people": 60, "n_each": 40, "low": 0.02, "high": 0.3},
            "40 people, 60 each of 200 questions, errors 2 to 30%":
                {"n_people": 40, "n_each": 60, "low": 0.02, "high": 0.3, "n_list": 200},
            "20 people of two views, the same 300 questions, errors 5 to 20%":
                {"n_people": 20, "n_each": 300, "low": 0.05, "high": 0.2, "views": 2},
            "5 people, the same 100 questions, errors 2 to 10%":
                {"n_people": 5, "n_each": 100, "low": 0.02, "high": 0.1},
        }.items()
    ),
    Rate(_ALARM, "20 people, 300 questions of their own, errors 10%", "size",
         partial(no_common_questions, n_people=20, n_each=300), 200, 0.0, 0.05),
    *(
        Rate(_FOUND, f"{n} others, {k} copies{' with 2% changed' if changed else ''}; {m} questions, "
             f"errors {error:.0%}",
             "power", partial(found, n_people=n, n_copies=k, n_each=m, error=error, changed=changed), 200)
        for n, k, m, error, changed in (
            (10, 5, 300, 0.2, 0.0), (2, 5, 300, 0.2, 0.0), (0, 5, 300, 0.2, 0.0), (10, 5, 300, 0.1, 0.0),
            (10, 5, 300, 0.05, 0.0), (10, 5, 200, 0.05, 0.0), (20, 2, 300, 0.2, 0.02),
            (20, 2, 300, 0.05, 0.0), (20, 2, 100, 0.2, 0.0), (20, 2, 40, 0.2, 0.0), (20, 2, 40, 0.35, 0.0),
        )
    ),
]  # fmt: skip
