"""Running an experiment: which units are left, side by side, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.paper.methods import METHODS, Unit, candidates, fingerprint, run_unit
from benchmarks.paper.protocol import MIN_SIZE, Experiment
from benchmarks.records import AMOUNT, SHARE, Interrupted, Record, RecordFile, side_by_side
from benchmarks.schema_checks import Check, string, whole

_FIGURES: dict[str, Check] = {
    **dict.fromkeys(("error", "error_strict", "error_embedding"), SHARE),
    "settings": string, "n_warnings": whole(), "seconds": AMOUNT,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run:
    """One run of an experiment, checked before it starts.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Gets ``trials.jsonl``; made if it is not there.
    sizes : sequence of int, optional
        Numbers of training comparisons; those of the experiment if left out.
    n_trials : int
    seed : int
    methods : sequence of str
    n_jobs : int
        Units side by side, -1 for one on each core.

    Raises
    ------
    ValueError, OSError
        When something about it cannot work, in one sentence.
    """

    experiment: Experiment
    folder: Path
    sizes: Sequence[int] = ()
    n_trials: int = 20
    seed: int = 0
    methods: Sequence[str] = tuple(METHODS)
    n_jobs: int = -1
    _n_objects: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown or not self.methods:
            raise ValueError(f"method {', '.join(unknown)} is not known; choose from {', '.join(METHODS)}")
        if self.n_trials < 1 or self.seed < 0 or self.n_jobs == 0:
            raise ValueError(
                "a run needs trials >= 1, seed >= 0 and jobs >= 1 (or -1 for all cores); "
                f"got trials={self.n_trials}, seed={self.seed}, jobs={self.n_jobs}"
            )
        comparisons = self.experiment.load(np.random.SeedSequence(self.seed))
        sizes = sorted(set(self.sizes or self.experiment.sizes))
        wrong = [size for size in sizes if not MIN_SIZE <= size < len(comparisons)]
        if wrong:
            raise ValueError(
                f"size {wrong[0]} is out of range: {self.experiment.name} has {len(comparisons)} comparisons, "
                f"and {MIN_SIZE} to {len(comparisons) - 1} of them can be trained on"
            )
        RecordFile(self.path).prepare()
        object.__setattr__(self, "sizes", tuple(sizes))
        object.__setattr__(self, "_n_objects", comparisons.n_objects)

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / "trials.jsonl"

    def units(self) -> list[Unit]:
        """Return all units, large sizes first: the longest must not be left to run alone at the end."""
        return list(map(Unit._make, product(sorted(self.sizes, reverse=True), range(self.n_trials), self.methods)))

    def finished(self) -> dict[Unit, Record]:
        """Return the records on file that this run would make again: same seed, same protocol, same grid."""
        wanted = {unit: self._fingerprint(unit) for unit in self.units()}
        found = {}
        for record in RecordFile(self.path).read():
            unit = Unit(record["size"], record["trial"], record["method"])
            if record["seed"] == self.seed and record["fingerprint"] == wanted.get(unit):
                n_choices = len(candidates(unit.method, unit.size, self._n_objects))
                found[unit] = RecordFile(self.path).usable(record, _FIGURES | {"choice": whole(0, n_choices - 1)})
        return found

    def _fingerprint(self, unit: Unit) -> str:
        return fingerprint(self.experiment, unit.method, unit.size, self._n_objects)

    def execute(self) -> list[Record]:
        """Do what is left to do and return all records, in the order of `units`.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        done = self.finished()
        left = [unit for unit in self.units() if unit not in done]
        work = side_by_side(run_unit, [(self.experiment, self.seed, unit) for unit in left], self.n_jobs)
        # disable=None: a bar on a terminal, silence in a log file.
        bar = tqdm(total=len(self.units()), initial=len(done), desc=self.experiment.name, unit="fit", disable=None)
        try:
            with bar:
                for record in work:
                    RecordFile(self.path).append(record)
                    done[Unit(record["size"], record["trial"], record["method"])] = record
                    bar.update()
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped with {len(done)} of {len(self.units())} tuned fits kept in {self.path}; "
                "run the same command again to go on"
            ) from None
        return [done[unit] for unit in self.units()]
