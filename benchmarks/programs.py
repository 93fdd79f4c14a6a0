"""The programs that are compared: this package and others, each under its own Python, and the machine they run on.

The peers, cblearn and Salmon, have environments of their own: they need an older NumPy than this package does.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nearer

_NO_PART_OF_A_FIT = {"checking", "cli", "planning", "plotting", "report", "study"}
CBLEARN, SALMON = "0.4.0", "1.0.3"  # the versions that are compared
# What the sampler of Salmon imports; the rest of its pins is for its server.
_SALMON_NEEDS = ("numpy<2", "scipy", "pandas", "scikit-learn", "skorch", "torch", "rejson", "pydantic<2", "PyYAML")
_ALONE = "or measure nearer alone with --no-peer"
_WITHOUT = "or leave salmon out of --rules"


class MeasurementFailed(Exception):
    """A fit ended without a result; the message says how."""


class Program(NamedTuple):
    """One of the programs compared: what to import, which Python has it, and which version that is."""

    name: str
    python: str
    version: str


def environment() -> dict[str, str]:
    """Return the environment of a process that runs a module of this folder, wherever it is started."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


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


def cache_folder(peer: str = f"cblearn-{CBLEARN}") -> Path:
    """Return where an environment is kept: in ``$NEARER_CACHE`` if that is set, else in the user's cache."""
    named = os.environ.get("NEARER_CACHE")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "nearer"
    return (Path(named) if named else shared).expanduser() / f"peer-{peer}"


def peer_program(python: str | None = None) -> Program:
    """Return cblearn under a given Python, or under one of its own, installed the first time.

    Raises
    ------
    ValueError
        When that Python has no cblearn, or none could be installed; the message says what to do.
    """
    if python is None:
        hint = (
            "It needs a package index and a Python that its NumPy 1.26 exists for (3.12 or older); name one that has "
            f"it with --peer-python, {_ALONE}"
        )
        python = _installed(cache_folder(), f"cblearn {CBLEARN}", [[f"cblearn=={CBLEARN}"]], hint)
    found = _version(python, "cblearn", _ALONE)
    if found is None:
        raise ValueError(f"{python} has no cblearn; install it there with: pip install cblearn=={CBLEARN}, {_ALONE}")
    return Program("cblearn", python, found)


def salmon_program(python: str | None = None) -> Program:
    """Return Salmon under a given Python, or under one of its own, installed the first time.

    Raises
    ------
    ValueError
        When that Python has no Salmon, or none could be installed; the message says what to do.
    """
    if python is None:
        hint = (
            "It needs a package index and a Python that NumPy 1.26 exists for (3.12 or older); name one that has it "
            f"with --salmon-python, {_WITHOUT}"
        )
        steps = [list(_SALMON_NEEDS), ["--no-deps", f"salmon-triplets=={SALMON}"]]
        python = _installed(cache_folder(f"salmon-{SALMON}"), f"Salmon {SALMON}", steps, hint)
    found = _version(python, "salmon-triplets", _WITHOUT)
    if found is None:
        raise ValueError(
            f"{python} has no Salmon; install there {', '.join(_SALMON_NEEDS)}, "
            f"and then with --no-deps salmon-triplets=={SALMON}, {_WITHOUT}"
        )
    return Program("salmon", python, found)


def _version(python: str, package: str, otherwise: str) -> str | None:
    """Return the version of a package that a Python has, None if it has none."""
    question = f"from importlib.metadata import version; print(version('{package}'))"
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ValueError(
            f"{python} cannot be run ({error.strerror}); name a Python with {package}, {otherwise}"
        ) from None
    return answer.stdout.strip() if answer.returncode == 0 else None


def _installed(folder: Path, what: str, steps: list[list[str]], hint: str) -> str:
    """Return the Python of an environment; each step of its installation is the end of a call of pip."""
    python = folder / "bin" / "python"
    ready = folder / ".ready"  # written last: an installation that was stopped does not count
    if not ready.exists():
        sys.stderr.write(f"Installing {what} into {folder}, once.\n")
        shutil.rmtree(folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)], what, hint)
        for step in steps:
            _call([str(python), "-m", "pip", "install", "--quiet", *step], what, hint)
        ready.touch()
    return str(python)


def _call(command: list[str], what: str, hint: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise ValueError(
            f"{what} could not be installed ({errors[-1].strip() if errors else 'no reason given'}). {hint}"
        )
