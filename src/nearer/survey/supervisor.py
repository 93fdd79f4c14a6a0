"""Keeping an engine running next to the server, in a process of its own.

The server loads nothing of the engine, which would take it seconds and several times its memory. That process begins
with this module too, so that it ends with the server from its first moment on.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from nearer.survey.store import ENGINE_STATE, Database, driver_message, read_fact, write_fact

_PR_SET_PDEATHSIG = 1  # of Linux's prctl
POLL_SECONDS = 0.5  # between two checks of whether the server is there
_MIN_RESTART_SECONDS, _MAX_RESTART_SECONDS = 1.0, 30.0
#: One thread, and memory that is given back: the server on the same small machine comes first.
_ENGINE_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
}  # fmt: skip
_LOG = logging.getLogger("nearer.survey")


class Supervisor:
    """Keeps the engine of the study in a folder running next to the server."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.database = folder, database
        self.process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nearer-engine", daemon=True)

    def start(self) -> None:
        """Start the engine, and start it again whenever it ends."""
        self._thread.start()

    def stop(self) -> None:
        """End the engine."""
        self._ended.set()
        if self.process is not None:
            self.process.terminate()
        self._thread.join(5)

    def _watch(self) -> None:
        wait = _MIN_RESTART_SECONDS
        while not self._ended.is_set():
            self._write_state("starting")
            command = [sys.executable, "-m", "nearer.survey.supervisor", str(self.folder), str(os.getpid())]
            try:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, env=os.environ | _ENGINE_ENVIRONMENT,
                    start_new_session=True,  # Ctrl-C is for the server, which then ends the engine
                )  # fmt: skip
                status = self.process.wait()
            except OSError as error:  # such as no memory for another process
                status = error.errno or 1
            if self._ended.is_set():
                return
            wait = _MIN_RESTART_SECONDS if self._was_ready() else min(2 * wait, _MAX_RESTART_SECONDS)
            _LOG.warning("the engine ended with status %d; it starts again in %.0f s", status, wait)
            self._write_state("failed", f"it ended with status {status}, and starts again")
            self._ended.wait(wait)

    def _was_ready(self) -> bool:
        """Return whether the engine that has ended had learned from answers: then it may well do so again."""
        try:
            with self.database.reading() as connection:
                last: dict[str, Any] = json.loads(read_fact(connection, ENGINE_STATE) or "{}")
            return last.get("state") == "ready"
        except Exception:  # a database that cannot be read is no reason to hurry
            return False

    def _write_state(self, state: str, message: str = "") -> None:
        try:
            write_state(self.database, state, message)
        except Exception as error:  # the page is worth less than the engine
            what = driver_message(error) if isinstance(error, SQLAlchemyError) else error
            _LOG.warning("the state of the engine could not be written: %s", what)


def write_state(database: Database, state: str, message: str = "", n_learned: int = 0) -> None:
    """Write the state of the engine for the researcher's page."""
    with database.engine.begin() as connection:
        write_fact(connection, ENGINE_STATE, json.dumps({"state": state, "message": message, "n_learned": n_learned}))


def log_to_stderr() -> None:
    """Log what goes wrong, with the time, to whoever runs the study."""
    logging.basicConfig(format="%(asctime)s nearer: %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_failure)


def _is_failure(record: logging.LogRecord) -> bool:
    """Return whether a record is of anything but work that was ended, which libraries log with a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, KeyboardInterrupt | SystemExit | asyncio.CancelledError)


def end_with(parent: int) -> None:
    """End this process when its parent ends, whatever it is doing: a server that restarts must not gather engines.

    Linux does it for us. Elsewhere a thread looks, which compiled code may keep waiting until it has finished.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(0)

    threading.Thread(target=look, name="nearer-parent", daemon=True).start()


if __name__ == "__main__":
    log_to_stderr()
    end_with(int(sys.argv[2]))
    from nearer.survey.engine import run_engine

    run_engine(Path(sys.argv[1]))
