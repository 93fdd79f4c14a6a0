"""One measurement: a fit of one program in a process of its own, and what identifies it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.lab.benchmarks import worker
from nearer.lab.benchmarks.data import Size

#: Raised whenever the same task would be measured in another way: old records then no longer count.
PROTOCOL_VERSION = 1
# Changing these changes no fit.
_NO_PART_OF_A_FIT = {"benchmarks", "commands", "experiments", "report", "plotting", "cli.py", "demo.py"}


class MeasurementFailed(Exception):
    """A fit ended without a result; the message says how."""


class Program(NamedTuple):
    """One of the programs compared: what to import, which Python has it, and which version that is."""

    name: str
    python: str
    version: str


def nearer_program() -> Program:
    """Return this package, under the Python that runs now.

    The version is a hash of the source: a time measured before an edit is not the time after it.

    Examples
    --------
    >>> nearer_program().name
    'nearer'
    """
    root = Path(worker.__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NO_PART_OF_A_FIT:
            digest.update(path.read_bytes())
    return Program("nearer", sys.executable, digest.hexdigest()[:12])


def machine() -> str:
    """Say what kind of machine the times belong to.

    Examples
    --------
    >>> machine().endswith(("core", "cores"))
    True
    """
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # other systems tell the architecture alone
    cores = os.cpu_count() or 1
    return f"{model}, {cores} {'core' if cores == 1 else 'cores'}"


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


class Outcome(NamedTuple):
    """What the process of a fit left: figures, and the map unless time ran out."""

    figures: dict[str, Any]
    embedding: NDArray[np.float64] | None


def run_fit(
    program: Program, loss: str, settings: dict[str, Any], data: Path, warm_up: Path, timeout: float = 0.0
) -> Outcome:
    """Fit in a new process.

    Parameters
    ----------
    program : Program
    loss : str
        Name of the estimator.
    settings : dict
        Arguments of its constructor.
    data, warm_up : Path
        Files with training triplets; the map is left beside the first.
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
        return Outcome({"timeout": timeout}, None)
    if done.returncode != 0:
        raise MeasurementFailed(f"{program.name} {loss} failed: {reason(done)}")
    return Outcome(json.loads(done.stdout.splitlines()[-1]), np.load(embedding))


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Say how a process failed: by which signal, or its last words."""
    if done.returncode < 0:
        # SIGKILL is how Linux answers too much memory.
        name = signal.Signals(-done.returncode).name
        return f"ended by {name}" + (", most likely for lack of memory" if name == "SIGKILL" else "")
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
