"""A real `nearer survey run` in a process of its own: started, killed, started again, and weighed."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_STARTS = 60.0  # seconds that a server may take until it answers


class Server:
    """A server of a study.

    Parameters
    ----------
    folder : Path
        Of the study.
    log : Path
        What it says is added to this file.
    proxied : bool
        Whether it runs behind a proxy, so that people may all come from this machine.
    n_files : int
        Files that it may have open, connections among them; 0 for what the system allows.

    Attributes
    ----------
    port : int
    environment : dict
        Variables that it is started with, besides those of this process.
    starts : list of float
        Seconds that each start took until it answered.
    """

    def __init__(self, folder: Path, log: Path, *, proxied: bool = True, n_files: int = 0) -> None:
        self.folder, self.log, self.proxied, self.n_files = folder, log, proxied, n_files
        self.port = free_port()
        self.environment: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.starts: list[float] = []

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        began = time.perf_counter()
        program = [sys.executable, "-m", "nearer.cli", "survey", "run", str(self.folder), "--port", str(self.port)]
        program += ["--address", f"http://127.0.0.1:{self.port}"] if self.proxied else []
        if self.n_files:
            program = ["sh", "-c", f'ulimit -n {self.n_files}; exec "$@"', "sh", *program]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(program, stdout=log, stderr=log, env=os.environ | self.environment)
        while not self._answers():
            if self.process.poll() is not None or time.perf_counter() - began > _STARTS:
                raise RuntimeError(f"the server did not start; {self.log} says why")
            time.sleep(0.02)
        self.starts.append(time.perf_counter() - began)

    def kill(self) -> None:
        """End the server in the middle of whatever it does, as ``kill -9`` does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End the server as Ctrl-C does, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill_engine(self) -> bool:
        """End the engine alone, and say whether there was one."""
        found = self._engine()
        for each in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        return bool(found)

    def memory(self) -> tuple[float, float]:
        """Return the megabytes that the server and its engine take now; what they share is split between them."""
        assert self.process is not None
        return _megabytes(self.process.pid), sum(map(_megabytes, self._engine()))

    def peak_memory(self) -> float:
        """Return the most megabytes that the server has had resident."""
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

    def cpu(self) -> tuple[float, float]:
        """Return the seconds of processor time that the server and its engine have used."""
        assert self.process is not None
        return _cpu_seconds(self.process.pid), sum(map(_cpu_seconds, self._engine()))

    def _engine(self) -> list[int]:
        assert self.process is not None
        return _children(self.process.pid)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_STARTS)
        try:
            connection.request("GET", "/look.css")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@contextlib.contextmanager
def running(folder: Path, log: Path, *, proxied: bool = True, n_files: int = 0) -> Iterator[Server]:
    """Serve a study while this lasts."""
    server = Server(folder, log, proxied=proxied, n_files=n_files)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started, by whichever of its threads."""
    try:
        listed = [path.read_text().split() for path in Path(f"/proc/{parent}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for children in listed for child in children]


def _megabytes(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    except (OSError, StopIteration):
        return 0.0


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
