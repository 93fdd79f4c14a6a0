"""The programs that are compared: this package and others, each under its own Python, and the machine they run on."""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nearer

_NO_PART_OF_A_FIT = {"checking", "cli", "lab", "planning", "plotting", "report", "study"}


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
    digest = hashlib.sha256()
    for path in sources_of_fits():
        digest.update(path.read_bytes())
    return Program("nearer", sys.executable, digest.hexdigest()[:12])


def sources_of_fits() -> list[Path]:
    """Return the files of this package that can change a fit."""
    root = Path(nearer.__file__).parent
    return [path for path in sorted(root.rglob("*.py")) if path.relative_to(root).parts[0] not in _NO_PART_OF_A_FIT]


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


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Say how a process failed: by which signal, or its last words."""
    if done.returncode < 0:
        # SIGKILL is how Linux answers too much memory.
        name = signal.Signals(-done.returncode).name
        return f"ended by {name}" + (", most likely for lack of memory" if name == "SIGKILL" else "")
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
