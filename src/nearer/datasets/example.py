"""A small study, made by simulation: 24 people name the odd one of three musical instruments.

Somebody who is shown a, b and c leaves two together and calls the third odd. Two are left together with a probability
in proportion to

    (alpha + d2)^-beta,        d2 = their squared distance on the map of the person's group,

after which one answer in fifty is a slip, drawn from all three. Response times are log-normal and longer for questions
whose three answers are about equally likely. One person is careless: a third for each of the three, at once.

Everybody answers 80 questions: 5 of 10 catch questions, 20 of 100 questions that four or five people share, which
show how far people differ, and 55 that nobody else is asked. The rows are the same on every machine: all that is drawn
are uniform numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from nearer.common.randomness import stream
from nearer.datasets.instruments import CATCH, GROUPS, INSTRUMENTS, LATER, Instrument, places
from nearer.formats import Answers, read_answers

COLUMNS = ("participant", "group", "trial", "item1", "item2", "item3", "odd", "rt", "catch")
CARELESS = "p17"
UNDECIDED = "can't tell"

_SEED = 24
_N_PEOPLE, _N_LATER = 24, 4
_N_CATCH, _N_SHARED, _N_OWN, _SHARED = 5, 20, 55, 100
_N_NEW, _N_PLACED = 50, 15  # questions to each later person: about the old instruments, and about the new one
_ALPHA, _BETA, _SLIP = 0.1, 2.0, 0.02
_SECONDS, _SPREAD, _FAST = 1.6, 0.3, 0.4  # medians of an easy answer and of a careless one, and their spread

Row = tuple[str | int, ...]
Question = tuple[tuple[int, ...], int]  # the instruments, and 1 if it is a catch question
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ExampleStudy:
    """A simulated study, with all that was planted in it.

    Attributes
    ----------
    answers : Answers
        What 24 people answered, without those who could not tell.
    objects : ndarray of str, shape (24,)
        Instruments, in the order of ``answers.comparisons.objects``.
    attributes : dict of ndarray, shape (24,)
        "family" and "size_cm".
    positions : dict of ndarray, shape (24, 2)
        The true map of each group, "listener" and "musician"; it differs in flute, organ and saxophone.
    groups : ndarray of str, shape (a,)
        Group of the person who gave each answer.
    catch : ndarray of bool, shape (a,)
        Which answers are to catch questions.
    careless : str
        The person who did not look.

    Examples
    --------
    >>> study = load_example()
    >>> moved = (study.positions["listener"] != study.positions["musician"]).any(axis=1)
    >>> study.objects[moved].tolist()
    ['flute', 'organ', 'saxophone']
    """

    answers: Answers
    objects: NDArray[np.str_]
    attributes: Mapping[str, NDArray[np.str_] | NDArray[np.int64]]
    positions: Mapping[str, NDArray[np.float64]]
    groups: NDArray[np.str_]
    catch: NDArray[np.bool_]
    careless: str


def load_example() -> ExampleStudy:
    """Return a small simulated study: 24 people name the odd one of three musical instruments.

    There is a careless person in it, catch questions, and two groups who see three of the instruments differently.
    `nearer example DIR` writes the same as files.

    Returns
    -------
    ExampleStudy

    Examples
    --------
    >>> study = load_example()
    >>> study.answers.kind, study.answers.comparisons
    ('odd-one-out', Comparisons(3818 triplets over 24 objects; weights, annotators, trials))
    >>> study.objects[:3].tolist(), study.attributes["family"][:3].tolist()
    (['banjo', 'bassoon', 'cello'], ['strings', 'woodwind', 'strings'])
    """
    table = dict(zip(COLUMNS, map(list, zip(*study_rows(), strict=True)), strict=True))
    answers = replace(read_answers(table), source="example")
    given = answers.lines - 1  # rows of the table
    return ExampleStudy(
        answers=answers,
        objects=np.array(list(INSTRUMENTS)),
        attributes={
            "family": np.array([each.family for each in INSTRUMENTS.values()]),
            "size_cm": np.array([each.size_cm for each in INSTRUMENTS.values()]),
        },
        positions={group: places(group, INSTRUMENTS) for group in GROUPS},
        groups=np.array(table["group"])[given],
        catch=np.array(table["catch"])[given] == 1,
        careless=CARELESS,
    )


def study_rows(seed: int = _SEED) -> list[Row]:
    """Return the answers of the study, with the columns COLUMNS."""
    rng = stream(seed, "triplets")
    catch = [tuple(sorted(map(list(INSTRUMENTS).index, question))) for question in CATCH]
    others = [question for question in combinations(range(len(INSTRUMENTS)), 3) if question not in catch]
    drawn = _shuffled(others, rng)
    shared, own = drawn[:_SHARED], iter(drawn[_SHARED:])
    rows: list[Row] = []
    for number, person in enumerate(_people(1, _N_PEOPLE, stream(seed, "answers"))):
        first = number * _N_SHARED % _SHARED
        asked = [(question, 1) for question in _shuffled(catch, rng)[:_N_CATCH]]
        asked += [(question, 0) for question in shared[first : first + _N_SHARED]]
        asked += [(question, 0) for question in islice(own, _N_OWN)]
        rows += person.answer(_shuffled(asked, rng), INSTRUMENTS, rng)
    return rows


def later_rows(seed: int = _SEED) -> tuple[list[Row], list[Row]]:
    """Return answers of four more people: about the same instruments, and about one that was not in the study."""
    rng = stream(np.random.SeedSequence([seed, 1]), "answers")
    known, everything = len(INSTRUMENTS), INSTRUMENTS | LATER
    pairs = list(combinations(range(known), 2))
    new: list[Row] = []
    placed: list[Row] = []
    for person in _people(_N_PEOPLE + 1, _N_LATER, rng):
        triples = _shuffled(list(combinations(range(known), 3)), rng)[:_N_NEW]
        new += person.answer([(triple, 0) for triple in triples], everything, rng)
        about = _shuffled(pairs, rng)[:_N_PLACED]
        placed += person.answer([((*pair, known), 0) for pair in about], everything, rng)
    return new, placed


@dataclass(frozen=True)
class _Person:
    """Somebody who answers: how sharply they tell distances apart, and how slow they are."""

    name: str
    group: str
    sharpness: float
    slowness: float

    def answer(
        self, questions: Sequence[Question], instruments: dict[str, Instrument], rng: np.random.Generator
    ) -> Iterator[Row]:
        """Return a row for each question."""
        names, points = list(instruments), places(self.group, instruments)
        for trial, (question, catch) in enumerate(questions, start=1):
            shown = _shuffled(question, rng)
            chances = self._chances(points[shown])
            luck, tired, unsure = rng.random(3)
            odd = names[shown[min(int(np.searchsorted(np.cumsum(chances), luck)), 2)]]
            if self.name != CARELESS and chances.max() < 0.5 and unsure < 0.1:
                odd = UNDECIDED
            hard = float(entr(chances).sum() / np.log(3))
            seconds = _FAST if self.name == CARELESS else _SECONDS * self.slowness * np.exp(0.6 * hard)
            rt = round(1000 * seconds * float(np.exp(_SPREAD * ndtri(tired))))
            yield self.name, self.group, trial, *(names[each] for each in shown), odd, rt, catch

    def _chances(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely each of three is to be called odd."""
        if self.name == CARELESS:
            return np.full(3, 1 / 3)
        others = points[[1, 2, 0]] - points[[2, 0, 1]]
        together = (_ALPHA + (others**2).sum(axis=1)) ** -self.sharpness
        chances: NDArray[np.float64] = _SLIP / 3 + (1 - _SLIP) * together / together.sum()
        return chances


def _people(first: int, number: int, rng: np.random.Generator) -> Iterator[_Person]:
    for person in range(first, first + number):
        sharpness, slowness = ndtri(rng.random(2))
        group = GROUPS[(person + 1) % 2]
        yield _Person(f"p{person:02}", group, _BETA * np.exp(0.15 * sharpness), np.exp(0.2 * slowness))


def _shuffled(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    # Not Generator.permutation: its numbers may change from one version of NumPy to the next.
    return [values[place] for place in np.argsort(rng.random(len(values)), kind="stable").tolist()]
