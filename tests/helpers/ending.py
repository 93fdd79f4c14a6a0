"""Runs commands many times, each in a process that ends as the program does, and prints how each ended.

Called with how many times and a JSON list of commands. Everything a command imports is loaded here, once; every process
is a fork, two at a time, which ends through Python's own shutdown: that is what is looked at.
"""

import gc
import json
import os
import sys


def forked(task):
    """Start a process that does ``task``, silently, and return its number."""
    number = os.fork()
    if number == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        task()  # ends the process
    return number


def load(program, arguments):
    """Load what a command loads, found out in a process of its own: here no thread may be started before the forks."""
    reading, writing = os.pipe()

    def rehearse():
        program(arguments)
        # Compiled modules also leave some that have no file and cannot be imported.
        names = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None]
        os.write(writing, json.dumps(names).encode() + b"\n")
        os._exit(0)

    rehearsal = forked(rehearse)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        names = json.loads(pipe.readline())
    os.waitpid(rehearsal, 0)
    for name in names:
        if not name.startswith("__"):
            __import__(name)
    gc.freeze()  # the processes share what is loaded


def statuses(times, program, arguments):
    """Yield how each of the processes ended."""
    for started in range(times):
        if started >= 2:
            yield os.waitstatus_to_exitcode(os.wait()[1])
        forked(lambda: sys.exit(program(arguments)))
    for _ in range(min(times, 2)):
        yield os.waitstatus_to_exitcode(os.wait()[1])


def main():
    from nearer.cli.main import main as program

    ended = []
    for arguments in json.loads(sys.argv[2]):
        load(program, arguments)
        ended.append(list(statuses(int(sys.argv[1]), program, arguments)))
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    main()
