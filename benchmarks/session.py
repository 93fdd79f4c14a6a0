"""A run of many measurements: each kept as soon as it is done, none made twice.

A measurement is a fit of one program in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks import worker
from benchmarks.programs import MeasurementFailed, Program, machine, reason
from benchmarks.records import AMOUNT, SHARE, Interrupted, Record, RecordFile
from benchmarks.schema_checks import Check, list_of, number, refuse, string, whole
from benchmarks.triplets import Data, Size, make_data, save_data, start_seeds
from nearer.evaluation.metrics import comparison_error

#: Raised whenever the same task would be measured in another way: old records then no longer count.
PROTOCOL_VERSION = 1
WARM_UP = Size(30, 500)
_FIGURES: dict[str, Check] = {
    "seconds": number(1e-9), "n_iter": whole(), "peak_memory": AMOUNT, "warnings": list_of(string), "error": SHARE,
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What one measurement is identified by.

    Examples
    --------
    >>> Task("STE", Size(1000, 100_000), dimension=5, seed=0, repeat=1).settings("cblearn", 7)
    {'n_components': 5, 'random_state': 7}
    """

    loss: str
    size: Size
    dimension: int
    seed: int
    repeat: int

    def settings(self, program: str, start_seed: int) -> dict[str, Any]:
        """Return the arguments of the estimator: defaults, but for one start of cblearn's SOE in place of ten."""
        settings: dict[str, Any] = {"n_components": self.dimension, "random_state": start_seed}
        if (program, self.loss) == ("cblearn", "SOE"):
            settings["n_init"] = 1
        return settings

    def fingerprint(self, program: Program) -> str:
        """Return a short hash of all that decides a record: task, program, machine, way of measuring."""
        what = [PROTOCOL_VERSION, asdict(self), program.name, program.version, machine()]
        return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


class Measured(NamedTuple):
    """What the process of a fit left: figures, and the map unless time ran out."""

    figures: dict[str, Any]
    embedding: NDArray[np.float64] | None


def run_fit(
    program: Program, loss: str, settings: dict[str, Any], data: Path, warm_up: Path, timeout: float = 0.0
) -> Measured:
    """Fit in a new process.

    Parameters
    ----------
    program : Program
    loss : str
        Name of the estimator.
    settings : dict
        Arguments of its constructor.
    data, warm_up : Path
        Files with training triplets; the map is left next to the first.
    timeout : float
        Seconds after which the fit is ended, 0 for no limit. The figures are then ``{"timeout": timeout}``.

    Raises
    ------
    MeasurementFailed
    """
    embedding = data.with_suffix(".embedding.npy")
    request = {
        "program": program.name, "loss": loss, "settings": settings, "data": str(data), "warm_up": str(warm_up),
        "embedding": str(embedding), "timeout": timeout,
    }  # fmt: skip
    command = [program.python, str(worker.__file__), json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if timeout > 0 and done.returncode == -signal.SIGALRM:
        return Measured({"timeout": timeout}, None)
    if done.returncode != 0:
        raise MeasurementFailed(f"{program.name} {loss} failed: {reason(done)}")
    return Measured(json.loads(done.stdout.splitlines()[-1]), np.load(embedding))


def _equal_to(wanted: Any) -> Check:
    """Want what the fingerprint was made from."""

    def check(value: Any, place: str) -> None:
        if value != wanted:
            refuse(place, repr(wanted), value)

    return check


@dataclass(eq=False)
class Session:
    """Measures tasks, or finds them measured before, while its temporary folder of data is open.

    Parameters
    ----------
    path : Path
        The file of records, one line of JSON each.
    total : int
        How many measurements are planned, for the bar.
    title : str
        For the bar.

    Attributes
    ----------
    n_kept : int
        Measurements on file so far.
    """

    path: Path
    total: int
    title: str
    n_kept: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        RecordFile(self.path).prepare()
        self._found: dict[str, Record] = {record["fingerprint"]: record for record in RecordFile(self.path).read()}
        self._folder = TemporaryDirectory(prefix="nearer-bench-")
        self._data: tuple[tuple[Size, int, int], Path, Data] | None = None
        # disable=None: a bar on a terminal, silence in a log file.
        self._bar = tqdm(total=self.total, desc=self.title, unit="fit", disable=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
        self._folder.cleanup()
        if kind is KeyboardInterrupt:
            raise Interrupted(
                f"stopped with {self.n_kept} of {self.total} measurements kept in {self.path}; "
                "run the same command again to go on"
            ) from None

    def skip(self, count: int) -> None:
        """Take planned measurements off the bar."""
        self.total -= count
        self._bar.total = self.total
        self._bar.refresh()

    def run(self, task: Task, program: Program, timeout: float = 0.0) -> Record:
        """Return the record of a task, from the file if it is there.

        A fit that ran out of time has ``timeout`` in place of ``seconds`` and counts as measured, unless a longer time
        is allowed now. One that failed has ``failure``, and is not kept.
        """
        fingerprint = task.fingerprint(program)
        identity = {
            "program": program.name, "version": program.version, "size": str(task.size), "trial": task.repeat,
            "method": task.loss, "dimension": task.dimension, "seed": task.seed, "fingerprint": fingerprint,
        }  # fmt: skip
        record = self._known(identity)
        if record is None or record.get("timeout", np.inf) < (timeout or np.inf):
            self._bar.set_postfix_str(f"{program.name} {task.loss} {task.size}, repeat {task.repeat + 1}")
            record = {**identity, **self._measure(task, program, timeout)}
        if "failure" not in record:
            if record is not self._found.get(fingerprint):
                RecordFile(self.path).append(record)
                self._found[fingerprint] = record
            self.n_kept += 1
        self._bar.update()
        return record

    def _known(self, identity: Record) -> Record | None:
        """Return the record on file, if it is there and whole."""
        found = self._found.get(identity["fingerprint"])
        if found is None:
            return None
        same: dict[str, Check] = {name: _equal_to(value) for name, value in identity.items()}
        return RecordFile(self.path).usable(found, same | ({"timeout": AMOUNT} if "timeout" in found else _FIGURES))

    def _measure(self, task: Task, program: Program, timeout: float) -> dict[str, Any]:
        path, data = self._files(task)
        settings = task.settings(program.name, start_seeds(task.seed, task.repeat + 1)[-1])
        try:
            figures, embedding = run_fit(program, task.loss, settings, path, self._warm_up(task), timeout)
        except MeasurementFailed as failure:
            return {"failure": str(failure)}
        if embedding is None:
            return figures
        # Objects after the last one that a triplet mentions are unknown to a program that gets triplets alone.
        full = np.zeros((task.size.objects, task.dimension))
        full[: len(embedding)] = embedding
        return {**figures, "error": comparison_error(data.test, full)}

    def _files(self, task: Task) -> tuple[Path, Data]:
        key = (task.size, task.dimension, task.seed)
        if self._data is None or self._data[0] != key:
            path = Path(self._folder.name) / "data.npz"
            data = make_data(*key)
            save_data(data, path)
            self._data = key, path, data
        return self._data[1:]

    def _warm_up(self, task: Task) -> Path:
        path = Path(self._folder.name) / f"warm-up-{task.dimension}.npz"
        if not path.exists():
            save_data(make_data(WARM_UP, task.dimension, task.seed), path)
        return path
