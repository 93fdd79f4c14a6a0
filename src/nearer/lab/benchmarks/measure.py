"""One measurement: a fit of one program in a process of its own, and what identifies it."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.lab.benchmarks import worker
from nearer.lab.benchmarks.triplets import Size
from nearer.lab.common.programs import MeasurementFailed, Program, machine, reason

#: Raised whenever the same task would be measured in another way: old records then no longer count.
PROTOCOL_VERSION = 1


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
        return Measured({"timeout": timeout}, None)
    if done.returncode != 0:
        raise MeasurementFailed(f"{program.name} {loss} failed: {reason(done)}")
    return Measured(json.loads(done.stdout.splitlines()[-1]), np.load(embedding))
