"""The program `nearer`.

Everything heavy is imported by the command that needs it, so that help and error messages come at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from nearer.commands import bench, check, demo, example, fit, place, plan, report, reproduce, score
from nearer.commands.parsing import INTERRUPTED, fail, sentence
from nearer.commands.warned import warnings_told

_COMMANDS = (check, fit, report, score, place, plan, example, demo, reproduce, bench)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line if left out.

    Examples
    --------
    >>> main(["reproduce", "synthetic", "--sizes", "many"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = argparse.ArgumentParser(
        prog="nearer", description="Maps of objects from judgments such as 'a is nearer to b than to c'."
    )
    parser.add_argument("--version", action="version", version=f"nearer {version('nearer')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(arguments)
    options.arguments = arguments
    try:
        with warnings_told():
            status: int = options.command(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return fail("stopped", INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError, MemoryError) as error:
        return fail(sentence(error, getattr(options, "out", None)))
    except Exception as error:
        if os.environ.get("NEARER_TRACEBACK"):
            raise
        return fail(
            f"this should not have happened ({type(error).__name__}: {error}); please report it, with what "
            "NEARER_TRACEBACK=1 in the environment shows"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
