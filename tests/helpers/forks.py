"""Programs in processes of their own that do not import everything anew: forks of one that has loaded it all.

`Forks.run` takes the arguments of `python`, `-m MODULE ...` or `-c CODE ...`, and otherwise what `subprocess.run` does.
A fork has its own streams, folder, environment and limits, and ends through Python's own shutdown. What depends on how
a module is first loaded needs a new Python instead.
"""

import contextlib
import gc
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

N_STREAMS = 3
LONGEST_REQUEST = 2**20  # bytes


class Forks:
    """The process that forks, started by the first program that is run."""

    def __init__(self):
        self.process = None

    def start(self):
        """Start the process; it answers when it has loaded what programs load."""
        self.socket, theirs = socket.socketpair()
        command = [sys.executable, __file__, str(theirs.fileno())]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self.replies = self.socket.makefile()

    def begin(self, *arguments, cwd, env=None, streams, limit=None):
        """Start a program; numbers of ``streams`` that are None are closed. Its end is what `status` waits for."""
        if self.process is None:
            self.start()
        request = {
            "arguments": [os.fsencode(argument).hex() for argument in map(str, arguments)],
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "open": [stream is not None for stream in streams],
            "limit": limit,
        }
        given = [stream for stream in streams if stream is not None]
        socket.send_fds(self.socket, [json.dumps(request).encode() + b"\n"], given)

    def status(self):
        """Return the status of the program that was begun last, when it has ended."""
        return int(self.replies.readline())

    def run(self, *arguments, cwd=".", env=None, stdout=None, stderr=None, limit=None, closed=()):
        """Run a program to its end, with what it prints as text where no number of a stream is given.

        ``limit``: the size in bytes that no file may exceed; ``closed``: numbers of streams that are closed.
        """
        pipes = [os.pipe() for _ in range(2)]
        nothing = os.open(os.devnull, os.O_RDONLY)
        numbers = [nothing, pipes[0][1] if stdout is None else stdout, pipes[1][1] if stderr is None else stderr]
        streams = [None if place in closed else number for place, number in enumerate(numbers)]
        self.begin(*arguments, cwd=cwd, env=env, streams=streams, limit=limit)
        for number in (nothing, *(writing for _, writing in pipes)):
            os.close(number)
        with ThreadPoolExecutor(2) as readers:
            printed = list(readers.map(read_all, [reading for reading, _ in pipes]))
        return subprocess.CompletedProcess(arguments, self.status(), *printed)

    def close(self):
        """End the process."""
        if self.process is not None:
            self.replies.close()
            self.socket.close()
            self.process.wait(20)


def read_all(number):
    """Return what comes through a pipe, as text."""
    with open(number, "rb") as pipe:
        return pipe.read().decode("utf-8", "surrogateescape")


# What follows runs in the process that forks.


def load():
    """Load what programs load, found out in a fork: no thread may be started here."""
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Exception):  # forks load what this did not
            rehearse(Path(folder))
        # Compiled modules also leave some that have no file and cannot be imported.
        names = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None]
        os.write(writing, json.dumps(names).encode() + b"\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        names = json.loads(pipe.readline())
    os.waitpid(number, 0)
    for name in names:
        if not name.startswith("__"):
            __import__(name)
    gc.freeze()  # the forks share what is loaded


def rehearse(folder):
    """Run the commands that load most, on as little as they take."""
    from nearer.cli.main import main

    rows = ["anchor,near,far", *(f"{k % 4},{(k + 1) % 4},{(k + 2) % 4}" for k in range(12))]
    answers, fitted = folder / "answers.csv", str(folder / "map")
    answers.write_text("\n".join(rows))
    main(["fit", str(answers), "-o", fitted, "--quick", "--dimensions", "2", "--method", "STE"])
    main(["check", str(answers)])
    main(["report", fitted])


def receive(requests):
    """Return the next request and its streams; nothing when no more come."""
    read, streams = b"", []
    while not read.endswith(b"\n"):
        part, numbers, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, N_STREAMS)
        if not part:
            return None, []
        read, streams = read + part, streams + list(numbers)
    return json.loads(read), streams


def serve(requests):
    """Fork for each request and send how the program ended; return the request in each fork."""
    while True:
        request, streams = receive(requests)
        if request is None:
            os._exit(0)
        number = os.fork()
        if number == 0:
            requests.close()
            return request, streams
        for stream in streams:
            os.close(stream)
        status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        requests.sendall(f"{status}\n".encode())


def take_on(request, streams):
    """Have the streams, folder, environment and limit that are asked for."""
    given = iter(streams)
    for number, is_open in enumerate(request["open"]):
        if is_open:
            os.dup2(next(given), number)
        else:
            os.close(number)
    for stream in streams:
        os.close(stream)
    kinds = [("stdin", "r", "strict"), ("stdout", "w", "strict"), ("stderr", "w", "backslashreplace")]
    for number, (name, mode, errors) in enumerate(kinds):
        stream = None
        if request["open"][number]:
            lines = name == "stderr" or os.isatty(number)
            buffering = 1 if lines else -1
            stream = open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    if request["limit"] is not None:
        sys.dont_write_bytecode = True  # Python 3.11 keeps what was cut off, and fails to load it ever after
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["limit"], request["limit"]))


def execute(arguments):
    """Do what Python does with these arguments."""
    kind, program, *rest = arguments
    sys.argv = ["-c", *rest] if kind == "-c" else [program, *rest]
    if kind == "-c":
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        load()
        request, streams = serve(requests)
    take_on(request, streams)
    execute([os.fsdecode(bytes.fromhex(argument)) for argument in request["arguments"]])
