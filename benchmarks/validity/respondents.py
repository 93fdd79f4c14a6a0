"""Studies with people whose error rates are known, for the rates about people: triplets about points of a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.io import Answers

AT_RANDOM = 0.5


@dataclass(frozen=True)
class Responses:
    """Triplets as people answered them: anchor, near and far object of each, (m, 3), and who it was, (m,)."""

    rows: NDArray[np.intp]
    person: NDArray[np.intp]
    n_objects: int

    def answers(self) -> Answers:
        """Return them as they would be read from a file."""
        people = np.array([f"person {number}" for number in self.person])
        trials = np.arange(len(self.rows))
        comparisons = Comparisons.from_triplets(self.rows, trials=trials, annotators=people, n_objects=self.n_objects)
        return Answers(comparisons, trials, "triplet", "study.csv", trials + 2, annotators=people)


def respond(
    rng: np.random.Generator, errors: FloatArray, questions: NDArray[np.intp], *, n_objects: int, n_components: int = 2
) -> Responses:
    """Let people answer: each gives the wrong one of two answers at their own rate; 1/2 is a random responder's.

    Parameters
    ----------
    errors : ndarray, shape (people,)
    questions : ndarray of int, shape (people, k, 3)
        Of each person.
    """
    points = rng.normal(size=(n_objects, n_components))
    rows = questions.reshape(-1, 3).copy()
    person = np.repeat(np.arange(len(errors)), questions.shape[1])
    anchor, first, second = points[rows].transpose(1, 0, 2)
    right = ((anchor - first) ** 2).sum(axis=1) < ((anchor - second) ** 2).sum(axis=1)
    first_near = right ^ (rng.random(len(rows)) < errors[person])
    rows[~first_near] = rows[~first_near][:, [0, 2, 1]]
    return Responses(rows, person, n_objects)


def own_questions(rng: np.random.Generator, n_people: int, n_each: int, n_objects: int) -> NDArray[np.intp]:
    """Return triplets drawn for each person, (people, k, 3)."""
    keys = rng.random((n_people, n_each, n_objects))
    return np.argpartition(keys, 3, axis=2)[:, :, :3]


def same_questions(rng: np.random.Generator, n_people: int, n_each: int, n_objects: int) -> NDArray[np.intp]:
    """Return the same triplets for all people, (people, k, 3)."""
    return np.broadcast_to(own_questions(rng, 1, n_each, n_objects), (n_people, n_each, 3))
