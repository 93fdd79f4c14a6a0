"""What reading decides by chance: two naming schemes in one table, and columns of trials that number none."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.formatting import pluralize
from nearer.io import Answers, read_answers

IntArray: TypeAlias = NDArray[np.int64]

TITLE = "Reading"
ABOUT = """
`read_answers` refuses tables in which one column names the objects otherwise than the others do, and takes a column of
trials apart whose numbers stand for several questions each. Answers are coin tosses: they do not matter here. *Two
schemes*: the anchors of random triplets are written as numbers, or as words of their own (written alike), and the
options as words. *Landmarks*: few objects are the anchors, or the options, of all triplets and nothing else. *One
anchor a person*: each of eight people has one anchor, and options out of all other objects. *Restarts*: the numbers of
trials begin again with every person or block, and no column says which; the rate is the share of trials whose rows are
found to be one trial, and no others.
"""
_RUNS = 500


def quietly(table: dict[str, Any]) -> Answers:
    """Return the answers of a table, without notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return read_answers(table)


def triplets(n_objects: int, n_rows: int, rng: np.random.Generator) -> IntArray:
    """Return random triplets, (n_rows, 3), of three different objects each."""
    rows: IntArray = np.argsort(rng.random((n_rows, n_objects)), axis=1)[:, :3]
    return rows


def refused(rows: IntArray, anchors: str = "word") -> Outcome:
    """Return whether triplets are refused that write anchors in some way."""
    words = [[f"word {each}" for each in column] for column in rows.T.tolist()]
    own = {
        "word": words[0],
        "number": list(map(str, rows[:, 0].tolist())),
        "alike": [f"anchor {each}" for each in rows[:, 0].tolist()],
    }
    try:
        quietly({"anchor": own[anchors], "near": words[1], "far": words[2]})
    except ValueError as error:
        return Outcome(int("--separate-labels" in str(error)))
    return Outcome(0)


def random_design(rng: np.random.Generator, *, n_objects: int, n_rows: int, anchors: str = "word") -> Outcome:
    """Return whether random triplets are refused."""
    return refused(triplets(n_objects, n_rows, rng), anchors)


def landmarks(rng: np.random.Generator, *, n_anchors: int = 20, n_options: int = 20) -> Outcome:
    """Return whether triplets are refused whose anchors are never options."""
    options = n_anchors + np.argsort(rng.random((200, n_options)), axis=1)[:, :2]
    return refused(np.column_stack([rng.integers(n_anchors, size=200), options]))


def one_anchor_a_person(rng: np.random.Generator) -> Outcome:
    """Return whether triplets are refused in which each of eight people has one anchor of 20."""
    people = [triplets(20, 30, rng) for _ in range(8)]
    for rows in people:
        rows[:, 0] = rng.integers(20)
    rows = np.concatenate(people)
    return refused(rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 0] != rows[:, 2])])


class Trials(NamedTuple):
    """A study: so many trials in each of several parts, with so many rows a trial."""

    n_objects: int
    n_parts: int
    n_trials: int
    n_rows: int

    def read(self, rng: np.random.Generator, restarts: bool) -> tuple[IntArray, IntArray]:
        """Return the trial of each row as it is, and as it was read."""
        sets = triplets(self.n_objects, self.n_parts * self.n_trials, rng)
        rows = np.stack([sets, sets[:, [1, 0, 2]]], axis=1)[:, : self.n_rows].reshape(-1, 3)  # the last is the odd one
        true = np.repeat(np.arange(len(sets)), self.n_rows)
        numbers = true % self.n_trials if restarts else true
        table = dict(zip(("anchor", "near", "far"), rows.T.tolist(), strict=True))
        return true, quietly(table | {"trial": numbers.tolist()}).trial_of


def found_whole(rng: np.random.Generator, *, trials: Trials, restarts: bool) -> Outcome:
    """Return how many trials are read with all their rows and no others."""
    true, read = trials.read(rng, restarts)
    pairs = np.unique(np.column_stack([true, read]), axis=0)
    one_to_one = (np.bincount(pairs[:, 0])[pairs[:, 0]] == 1) & (np.bincount(pairs[:, 1])[pairs[:, 1]] == 1)
    return Outcome(int(one_to_one.sum()), int(true.max()) + 1)


_SCHEMES, _TRIALS = "two naming schemes are refused", "trials are found"
_NEVER = 0.01

RATES = [
    *(
        Rate(
            _SCHEMES,
            f"one scheme; {n_rows} random triplets of {n_objects} objects",
            "size",
            partial(random_design, n_objects=n_objects, n_rows=n_rows),
            _RUNS,
            high=_NEVER,
        )
        for n_objects, n_rows in ((6, 10), (10, 40), (36, 60), (36, 500), (400, 500))
    ),
    *(
        Rate(
            _SCHEMES,
            f"one scheme; landmarks, {pluralize(n_anchors, 'anchor')} and {n_options} options",
            "size",
            partial(landmarks, n_anchors=n_anchors, n_options=n_options),
            _RUNS,
            high=_NEVER,
        )
        for n_anchors, n_options in ((1, 20), (2, 20), (3, 20), (20, 2))
    ),
    Rate(_SCHEMES, "one scheme; one anchor a person", "size", one_anchor_a_person, _RUNS, high=_NEVER),
    *(
        Rate(
            _SCHEMES,
            f"two schemes, {words}; {n_rows} random triplets of {n_objects} objects",
            "power",
            partial(random_design, n_objects=n_objects, n_rows=n_rows, anchors=anchors),
            _RUNS,
            low=0.99,
        )
        for anchors, words in (("number", "numbers and words"), ("alike", "written alike"))
        for n_objects, n_rows in ((10, 40), (36, 60), (100, 100), (400, 200))
    ),
    *(
        Rate(
            _TRIALS,
            f"{'restarts' if restarts else 'a number for each'}; {trials.n_parts} x {trials.n_trials} trials of "
            f"{trials.n_rows} row{'s' * (trials.n_rows > 1)}, {trials.n_objects} objects",
            "power",
            partial(found_whole, trials=trials, restarts=restarts),
            200,
            low=0.99,
        )
        for trials in (
            Trials(6, 2, 50, 1),
            Trials(12, 5, 40, 1),
            Trials(36, 10, 60, 1),
            Trials(6, 2, 50, 2),
            Trials(12, 5, 40, 2),
            Trials(36, 10, 60, 2),
        )
        for restarts in (True, False)
    ),
]
