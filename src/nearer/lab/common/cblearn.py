"""The peer, cblearn, in an environment of its own: it needs an older NumPy than this package does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from nearer.lab.common.programs import Program

VERSION = "0.4.0"
_ALONE = "or measure nearer alone with --no-peer"


def cache_folder() -> Path:
    """Return where the environment is kept: in ``$NEARER_CACHE`` if that is set, else in the user's cache."""
    named = os.environ.get("NEARER_CACHE")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "nearer"
    return (Path(named) if named else shared).expanduser() / f"peer-cblearn-{VERSION}"


def peer_program(python: str | None = None) -> Program:
    """Return cblearn under a given Python, or under one of its own, installed the first time.

    Raises
    ------
    ValueError
        When that Python has no cblearn, or none could be installed; the message says what to do.
    """
    if python is None:
        python = _installed(cache_folder())
    question = "from importlib.metadata import version; print(version('cblearn'))"
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ValueError(f"{python} cannot be run ({error.strerror}); name a Python with cblearn, {_ALONE}") from None
    if answer.returncode != 0:
        raise ValueError(f"{python} has no cblearn; install it there with: pip install cblearn=={VERSION}, {_ALONE}")
    return Program("cblearn", python, answer.stdout.strip())


def _installed(folder: Path) -> str:
    python = folder / "bin" / "python"
    ready = folder / ".ready"  # written last: an installation that was stopped does not count
    if not ready.exists():
        sys.stderr.write(f"Installing cblearn {VERSION} into {folder}, once.\n")
        shutil.rmtree(folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)])
        _call([str(python), "-m", "pip", "install", "--quiet", f"cblearn=={VERSION}"])
        ready.touch()
    return str(python)


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise ValueError(
            f"cblearn {VERSION} could not be installed ({errors[-1].strip() if errors else 'no reason given'}). It "
            "needs a package index and a Python that its NumPy 1.26 exists for (3.12 or older); name one that has it "
            f"with --peer-python, {_ALONE}"
        )
