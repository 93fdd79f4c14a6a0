"""What weights and maps of people are worth: ``python -m benchmarks people`` writes the table of docs/people.md.

Of at most 60 people in each set, four fifths of the trials of each are learned from, and the others predicted.
Odd-one-out answers about the letters of a typeface, most-central ones about cars, triplets about eggs, grids of dishes;
and simulated people who are alike (60 answers each) or have maps of their own that depart from the common one by as
much as its size (300 answers each). Log-loss is in nats. Each fit is a line of benchmarks/people.jsonl, from which a
run goes on.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.datasets import find_file
from benchmarks.records import Interrupted, Record, RecordFile, side_by_side
from benchmarks.validity.people import world as simulated
from nearer import Comparisons
from nearer._common.progress import progress_bar
from nearer.data.groups import trial_indices
from nearer.embedding import PosteriorEmbedding
from nearer.sampling.people import PEOPLE

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "people.md"
MAX_PEOPLE, TEST_SHARE = 60, 0.2


class Source(NamedTuple):
    """A file of answers, the typeface asked about, and the dimensions of maps that are not chosen by the answers."""

    file: str
    typeface: int | None
    dimension: int


REAL = {
    "letters, typeface 0": Source("characters_latin", 0, 3),
    "letters, typeface 5": Source("characters_latin", 5, 2),
    "letters, typeface 9": Source("characters_latin", 9, 2),
    "cars": Source("cars", None, 3),
    "eggs30": Source("eggs30", None, 2),
    "food": Source("food", None, 3),
}
SIMULATED: dict[str, dict[str, Any]] = {
    "people alike": {"people": 20, "each": 75},
    "maps of their own": {"people": 20, "each": 375, "maps": 1.0},
}
WORLDS = (*REAL, *SIMULATED)


def answers(name: str, seed: int) -> Comparisons:
    """Return the answers of at most 60 people."""
    rng = np.random.default_rng([seed, 5])
    if name in SIMULATED:
        return simulated(rng, **SIMULATED[name]).answers
    path = find_file(REAL[name].file)
    if path is None:
        raise ValueError(f"{REAL[name].file}.npz is not there")
    with np.load(path) as file:
        found = dict(file)
    kept = np.ones(len(found["triplets"]), dtype=bool)
    if REAL[name].typeface is not None:
        kept &= found["typeface"] == REAL[name].typeface
    people = np.unique(found["worker"][kept])
    kept &= np.isin(found["worker"], rng.permutation(people)[:MAX_PEOPLE])
    trials = found["trial"][kept] if "trial" in found else None
    return Comparisons.from_triplets(
        found["triplets"][kept],
        annotators=found["worker"][kept],
        trials=trials,
        n_objects=int(found["triplets"].max()) + 1,
    )


def is_test(judged: Comparisons, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are held out: a fifth of the trials of each person, whole."""
    assert judged.annotators is not None
    trials = trial_indices(judged)
    _, first = np.unique(trials, return_index=True)
    whose, held = judged.annotators[first], np.zeros(len(first), dtype=bool)
    for person in np.unique(whose):
        own = rng.permutation(np.flatnonzero(whose == person))
        held[own[: round(TEST_SHARE * len(own))]] = True
    return np.asarray(held[trials])


def _measure(name: str, kind: str, dimension: int, seed: int) -> Record:
    """Return the record of one fit; a dimension of 0 is left to the answers."""
    judged = answers(name, seed)
    held = is_test(judged, np.random.default_rng([seed, 6]))
    most = dimension or None
    model = PosteriorEmbedding(most, max_components=most, people=kind, n_jobs=1, random_state=seed)
    began, cpu = perf_counter(), process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(judged[~held])
    seconds, cpu = perf_counter() - began, process_time() - cpu
    test = judged[held]
    right = test.oriented
    asked = Comparisons.from_quadruplets(right, annotators=test.annotators, n_objects=test.n_objects)
    chances = model.predict_proba(asked)[:, 1]
    return {
        "size": None, "trial": seed, "method": kind, "seed": seed, "fingerprint": f"{name} {kind} {dimension} {seed}",
        "world": name, "dimension": dimension, "log_loss": float(-np.log(chances).mean()),
        "error": float(np.where(chances == 0.5, 0.5, chances < 0.5).mean()), "seconds": seconds, "cpu": cpu,
    }  # fmt: skip


@dataclass(frozen=True)
class PeopleRun:
    """Fits to make.

    Parameters
    ----------
    path, page : Path
        The file of records, and the page whose table is written.
    n_runs, n_jobs : int
    """

    path: Path = RECORDS
    page: Path = PAGE
    n_runs: int = 3
    n_jobs: int = -1

    def execute(self) -> list[Record]:
        """Fit what is missing, and return all records; on Ctrl-C, `Interrupted`, and what was finished is on file."""
        file = RecordFile(self.path)
        file.prepare()
        done = {found["fingerprint"] for found in file.read()}
        names = [name for name in WORLDS if name in SIMULATED or find_file(REAL[name].file)]
        calls = [
            (name, kind, dimension, seed)
            for seed in range(self.n_runs)
            for name in names
            for dimension in (0, REAL[name].dimension if name in REAL else 2)
            for kind in PEOPLE
            if f"{name} {kind} {dimension} {seed}" not in done
        ]
        try:
            with progress_bar("people", len(calls), unit="fit") as bar:
                for record in side_by_side(_measure, calls, self.n_jobs):
                    file.append(record)
                    bar.update()
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; what is done is in {self.path}; run the same command again to go on") from None
        return file.read()

    def write(self, records: list[Record]) -> str:
        """Write the table into the page, and return it."""
        rows = table(records)
        text = self.page.read_text(encoding="utf-8")
        self.page.write_text(
            re.sub(r"\| error / log-loss \|.*?\n(?=\n|$)", rows + "\n", text, count=1, flags=re.DOTALL),
            encoding="utf-8",
        )
        return rows + "\n"


def table(records: Sequence[Record]) -> str:
    """Return mean errors and log-losses of all worlds, as a table."""
    lines = [
        "| error / log-loss | dimensions | differ in noise | in weights, too | in maps, too | runs |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in WORLDS:
        for dimension in sorted({each["dimension"] for each in records if each["world"] == name}):
            own = [each for each in records if (each["world"], each["dimension"]) == (name, dimension)]
            cells = []
            for kind in PEOPLE:
                found = [each for each in own if each["method"] == kind]
                means = [np.mean([each[what] for each in found]) for what in ("error", "log_loss")] if found else []
                cells.append(" / ".join(f"{mean:.3f}".removeprefix("0") for mean in means))
            runs = len({each["seed"] for each in own})
            lines.append(f"| {name} | {dimension or 'chosen'} | {' | '.join(cells)} | {runs} |")
    return "\n".join(lines)
