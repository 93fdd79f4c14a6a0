"""A rate, its outcomes on disk, and its standard error.

A run of a simulation gives one outcome: hits of trials, such as (1, 1) where a test rejects, or (17, 20) where 17 of 20
intervals hold the truth. Trials of one run share data and are not independent, so that the standard error is that of a
ratio over runs,

    r = sum h / sum t,    se(r)^2 = R / (R - 1) * sum (h_i - r t_i)^2 / (sum t)^2.

That is 0 where all runs agree. Where each run is all or nothing, as one trial is, the standard error is therefore that
of the share of Agresti and Coull (1998), of z^2 = 3.84 more runs half of which are hits, and intervals are around it.

`people` and the like simulate studies of people whose error rates are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

import joblib
import numpy as np
from numpy.typing import NDArray

from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.io import Answers

RECORDS = Path(__file__).with_name("records")
Z_95 = 1.96


class Outcome(NamedTuple):
    """Hits of trials in one run; of a bias, the error of an estimate."""

    hits: float
    trials: int = 1


@dataclass(frozen=True)
class Rate:
    """How often something happens in one world.

    Parameters
    ----------
    inference : str
        What is claimed, such as "one model explains the map better than another".
    world : str
        What is true, such as "both explain it equally well; 3-D truth, 2-D map". Inference and world together name a
        rate; a change of either begins its records again.
    kind : {"size", "power", "coverage", "bias"}
        False positives, true positives, intervals that hold the truth, or the mean error of an estimate.
    simulate : callable
        Takes a generator and returns the outcome of one run. A function of a module, so that other processes find it;
        settings go in with `functools.partial`.
    n_runs : int
    low, high : float
        Where the rate should lie: 0.03 to 0.07 for a test at 5%, say.
    studies : str, optional
        The name of the random streams; rates that share it are of the same studies.
    """

    inference: str
    world: str
    kind: Literal["size", "power", "coverage", "bias"]
    simulate: Callable[[np.random.Generator], Outcome]
    n_runs: int = 200
    low: float = 0.0
    high: float = 1.0
    studies: str = field(default="", kw_only=True)

    @property
    def name(self) -> str:
        """What the rate is called in its records."""
        return f"{self.inference} | {self.world} | {self.kind}"

    def run(self, number: int) -> Outcome:
        """Return the outcome of run ``number``, from a random stream of its own."""
        seed = np.random.SeedSequence([crc32((self.studies or self.name).encode()), number])
        return self.simulate(np.random.default_rng(seed))


class Estimate(NamedTuple):
    """A rate with its standard error, and the center of its interval where that is not the rate itself."""

    rate: float
    standard_error: float
    n_runs: int
    center: float | None = None

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Estimate:
        """Estimate a rate from its outcomes.

        Examples
        --------
        >>> found = Estimate.of([Outcome(1), Outcome(0), Outcome(0), Outcome(1)])
        >>> found.rate, round(found.standard_error, 2), found.n_runs
        (0.5, 0.18, 4)
        >>> never = Estimate.of([Outcome(0)] * 500)
        >>> never.rate, round(never.standard_error, 4)
        (0.0, 0.0027)
        """
        table = np.array(list(outcomes), dtype=np.float64)
        hits, trials = table.T
        rate, n_runs = float(hits.sum() / trials.sum()), len(table)
        if ((hits == 0) | (hits == trials)).all():
            n = n_runs + Z_95**2
            center = (rate * n_runs + Z_95**2 / 2) / n
            return cls(rate, math.sqrt(center * (1 - center) / n), n_runs, center)
        spread = np.square(hits - rate * trials).sum() * n_runs / max(n_runs - 1, 1)
        return cls(rate, math.sqrt(spread) / float(trials.sum()), n_runs)

    def within(self, low: float, high: float) -> bool:
        """Whether the rate may lie between two bounds: its 95% interval reaches into them."""
        center, margin = self.rate if self.center is None else self.center, Z_95 * self.standard_error
        return low <= center + margin and center - margin <= high


class Records:
    """The outcomes of the rates of one module, a JSON file."""

    def __init__(self, module: str, folder: Path = RECORDS) -> None:
        self.path = folder / f"{module}.json"
        self.outcomes: dict[str, list[Outcome]] = {}
        if self.path.exists():
            read = json.loads(self.path.read_text(encoding="utf-8"))
            self.outcomes = {name: [Outcome(*pair) for pair in pairs] for name, pairs in read.items()}

    def write(self) -> None:
        """Replace the file by what is known now."""
        self.path.parent.mkdir(exist_ok=True)
        lines = (f"{json.dumps(name)}: {json.dumps(outcomes)}" for name, outcomes in sorted(self.outcomes.items()))
        passing = self.path.with_suffix(".part")
        passing.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        passing.replace(self.path)


def complete(rates: Iterable[Rate], records: Records, *, n_jobs: int, block: int = 10) -> None:
    """Run what the records lack, in blocks after each of which they are written."""
    for rate in rates:
        found = records.outcomes.setdefault(rate.name, [])
        while len(found) < rate.n_runs:
            numbers = range(len(found), min(len(found) + block, rate.n_runs))
            found += joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(rate.run)(number) for number in numbers)
            records.write()


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
