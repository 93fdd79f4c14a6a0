"""Random responders: false flags of attentive people, power, and the number of answers that is reported."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.validity.rates import AT_RANDOM, Outcome, Rate, own_questions, respond
from nearer._common.arrays import FloatArray
from nearer.checking.context import Context
from nearer.checking.random_responders import Responders, check_random_responders

TITLE = "Random responders"
ABOUT = """
`check` and `fit` flag people whose answers are no better than chance, by a test with a size of 5% per study: the
probability that anybody who is attentive is flagged. They report from how many answers per person on 9 of 10 random
responders would be detected. Here people answer triplets about 15 points of a plane and give the wrong answer at a rate
of their own, the same for all or from a distribution; random responders, where there are any, are one in ten, at least
one. "Maps" are whole checks, in which answers are judged by maps fitted to the other people; "counts" begin with the
numbers of answers that go against the true map, and are drawn over the whole range: 5 to 100 people who err in 5
to 45% of 10 to 2,000 answers each. For the reported number, a study of 100 answers each (which is too few for some)
reports it, and a second one, with as many answers, is examined.
"""
_N_OBJECTS = 15


def _errors(rng: np.random.Generator, n_people: int, mean: float, spread: float) -> FloatArray:
    """Draw error rates below chance."""
    if spread == 0:
        return np.full(n_people, mean)
    size = 2 * mean * (1 - 2 * mean) / (2 * spread) ** 2 - 1
    return np.asarray(rng.beta(2 * mean * size, (1 - 2 * mean) * size, n_people) / 2)


def _drawn(rng: np.random.Generator) -> tuple[FloatArray, int]:
    """Draw people's errors and their number of answers over the whole range."""
    n_people, n_answers = int(rng.integers(5, 101)), round(10 ** rng.uniform(1, np.log10(2000)))
    mean = rng.uniform(0.05, 0.45)
    spread = rng.choice([0.0, 0.15 * (0.5 - mean)])
    return _errors(rng, n_people, mean, float(spread)), n_answers


def _n_random(n_people: int) -> int:
    return max(n_people // 10, 1)


def _check(rng: np.random.Generator, errors: FloatArray, n_answers: int) -> tuple[list[bool], dict[str, Any]]:
    """Return who is flagged by a whole check, and its figures."""
    questions = own_questions(rng, len(errors), n_answers, _N_OBJECTS)
    answers = respond(rng, errors, questions, n_objects=_N_OBJECTS).answers()
    context = Context(answers, 2, int(rng.integers(2**31)))
    found = list(check_random_responders(context))
    flagged = {who for finding in found if finding.code in ("at-chance", "reversed") for who in finding.concerned}
    return [f"person {number}" in flagged for number in range(len(errors))], context.counts


def false_flags(
    rng: np.random.Generator, *, n_people: int, n_answers: int, mean: float, spread: float, per_study: bool
) -> Outcome:
    """Whether any attentive person of a study is flagged, or how many of them are."""
    flagged, _ = _check(rng, _errors(rng, n_people, mean, spread), n_answers)
    return Outcome(int(any(flagged))) if per_study else Outcome(sum(flagged), n_people)


def detected(rng: np.random.Generator, *, n_people: int, n_answers: int, mean: float, spread: float) -> Outcome:
    """How many of the random responders are flagged."""
    errors = _errors(rng, n_people, mean, spread)
    errors[: _n_random(n_people)] = AT_RANDOM
    flagged, _ = _check(rng, errors, n_answers)
    return Outcome(sum(flagged[: _n_random(n_people)]), _n_random(n_people))


def as_reported(rng: np.random.Generator, *, n_people: int, mean: float, spread: float, pilot: int = 100) -> Outcome:
    """How many random responders are flagged among people with as many answers as an earlier study reports."""
    _, counts = _check(rng, _errors(rng, n_people, mean, spread), pilot)
    n_answers = counts["answers_for_power"]
    if n_answers is None:
        return Outcome(0, 0)  # nothing is promised
    return detected(rng, n_people=n_people, n_answers=int(n_answers), mean=mean, spread=spread)


def counts_false_flags(rng: np.random.Generator, *, per_study: bool) -> Outcome:
    """Return false flags from counts of answers, over the whole range."""
    errors, n_answers = _drawn(rng)
    found = Responders.from_counts(
        rng.binomial(n_answers, errors).astype(float), np.full(len(errors), float(n_answers))
    )
    flagged = found.at_chance | found.reverse
    return Outcome(int(flagged.any())) if per_study else Outcome(int(flagged.sum()), len(flagged))


def counts_as_reported(rng: np.random.Generator) -> Outcome:
    """How many random responders are flagged with the number of answers that counts report."""
    errors, n_answers = _drawn(rng)
    n_random, full = _n_random(len(errors)), np.full(len(errors), 1.0)
    errors[:n_random] = AT_RANDOM
    wanted = Responders.from_counts(rng.binomial(n_answers, errors).astype(float), full * n_answers).n_for_power
    if wanted is None:
        return Outcome(0, 0)  # nothing is promised
    found = Responders.from_counts(rng.binomial(wanted, errors).astype(float), full * wanted)
    return Outcome(int(found.at_chance[:n_random].sum()), n_random)


def _world(n_people: int, n_answers: int | None, mean: float, spread: float) -> str:
    given = "" if n_answers is None else f" with {n_answers:,} answers each"
    return f"maps; {n_people} people{given}, errors {mean:.1%}{f' (SD {spread:.0%})' if spread else ', all alike'}"


_WORLDS = [
    (5, 160, 0.375, 0.0), (5, 955, 0.375, 0.0), (20, 20, 0.05, 0.0), (20, 160, 0.2, 0.05), (20, 160, 0.375, 0.0),
    (20, 160, 0.45, 0.0), (60, 40, 0.2, 0.05),
]  # fmt: skip
_FALSE, _POWER = "an attentive person is flagged", "a random responder is flagged"
_REPORTED = "a random responder is flagged, with the reported number of answers"
RATES = [
    *(
        Rate(f"{_FALSE}, per study", _world(n, k, mean, spread), "size",
             partial(false_flags, n_people=n, n_answers=k, mean=mean, spread=spread, per_study=True), 100, 0.0, 0.05)
        for n, k, mean, spread in _WORLDS
    ),
    *(
        Rate(_POWER, _world(n, k, mean, spread), "power",
             partial(detected, n_people=n, n_answers=k, mean=mean, spread=spread), 30)
        for n, k, mean, spread in _WORLDS
    ),
    *(
        Rate(_REPORTED, _world(n, None, mean, spread), "power",
             partial(as_reported, n_people=n, mean=mean, spread=spread), 30, 0.85, 1.0)
        for n, mean, spread in ((5, 0.375, 0.0), (20, 0.05, 0.0), (20, 0.2, 0.05), (20, 0.375, 0.0), (40, 0.3, 0.05))
    ),
    Rate(f"{_FALSE}, per study", "counts, over the whole range", "size",
         partial(counts_false_flags, per_study=True), 200, 0.0, 0.05),
    Rate(f"{_FALSE}, per person", "counts, over the whole range", "size",
         partial(counts_false_flags, per_study=False), 200, 0.0, 0.005),
    Rate(_REPORTED, "counts, over the whole range", "power", counts_as_reported, 100, 0.85, 1.0),
]  # fmt: skip
