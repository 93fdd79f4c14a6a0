"""The program `nearer`.

Everything heavy is imported by the command that needs it, so that help and error messages come at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

from nearer.cli.process import BROKEN_PIPE, Interrupts, open_streams, silence

# In the order of a study.
_COMMANDS = {
    "survey": "nearer.cli.survey",
    "ask": "nearer.cli.design",
    "check": "nearer.cli.fit",
    "features": "nearer.cli.features",
    "fit": "nearer.cli.fit",
    "report": "nearer.cli.publish",
    "figure": "nearer.cli.publish",
    "score": "nearer.cli.maps",
    "add": "nearer.cli.fit",
    "place": "nearer.cli.maps",
    "compare": "nearer.cli.compare",
    "axes": "nearer.cli.maps",
    "plan": "nearer.cli.design",
    "example": "nearer.cli.example",
    "demo": "nearer.cli.example",
}


class Program(NamedTuple):
    """A program of several commands; each command is a module with a function ``add(commands)``."""

    name: str
    description: str
    commands: Mapping[str, str]


NEARER = Program("nearer", "Maps of objects from judgments such as 'a is nearer to b than to c'.", _COMMANDS)


def main(arguments: Sequence[str] | None = None, program: Program = NEARER) -> int:
    """Run the program with the arguments of the command line, or others, and return its exit status.

    Ctrl-C is taken care of to the end of the process unless arguments are given.
    """
    interrupts = Interrupts()
    open_streams()
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell asks how a line may go on
            import argcomplete

            argcomplete.autocomplete(_parser(program))
        if arguments is None:
            interrupts.watch()
        return interrupts.over(_run(program, sys.argv[1:] if arguments is None else list(arguments), interrupts))
    except KeyboardInterrupt:
        return interrupts.stop()
    except SystemExit as end:  # of argparse: help was shown, or a sentence that says what is wrong
        interrupts.over(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise


def _run(program: Program, arguments: list[str], interrupts: Interrupts) -> int:
    """Run the program and say, in a sentence, what goes wrong."""
    from nearer._common.files import printable
    from nearer.cli.arguments import FAILED, report_error, sentence
    from nearer.cli.process import show_warnings

    parser = _parser(program, arguments[0] if arguments else "")
    if not arguments:
        parser.print_help(sys.stderr)
        return FAILED
    if sorted(arguments) == ["--verbose", "--version"]:
        from nearer.cli.environment import describe_environment

        sys.stdout.write(describe_environment())
        return 0
    options = parser.parse_args(arguments)
    options.arguments = list(map(printable, arguments))
    wrong = _check_environment()
    if wrong:
        return report_error(wrong)
    try:
        with show_warnings(lambda: interrupts.seen):
            status: int = options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        silence()
        return BROKEN_PIPE
    except (ValueError, OSError, MemoryError) as error:
        status = report_error(sentence(error, getattr(options, "out", None)))
        silence()  # what a full disk has refused would be written again as Python ends, whose status is 120 then
        return status
    except Exception as error:
        if interrupts.seen:  # compiled code makes an ImportError or a SystemError of an interrupt
            raise KeyboardInterrupt from error
        if isinstance(error, ImportError):
            return report_error(sentence(error))
        if os.environ.get("NEARER_TRACEBACK"):
            raise
        return report_error(
            f"this should not have happened ({type(error).__name__}: {error}); please report it, with what "
            "NEARER_TRACEBACK=1 in the environment shows"
        )
    return status


def _check_environment() -> str:
    """Return what is wrong with the settings of numba in the environment, or nothing."""
    if os.environ.pop("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0"):
        sys.stderr.write("nearer: NUMBA_DISABLE_JIT was ignored: the loops run only when they are compiled\n")
    threads = os.environ.get("NUMBA_NUM_THREADS", "1")
    if threads.isdecimal() and int(threads) > 0:
        return ""
    return (
        f"the environment variable NUMBA_NUM_THREADS is {threads!r}; it must be a number of threads, 1 or more, or not "
        "be set"
    )


def _parser(program: Program = NEARER, command: str = "") -> argparse.ArgumentParser:
    """Return the parser of a command, or of all of them if there is none of that name."""
    from nearer import __version__
    from nearer.cli.arguments import Parser

    parser = Parser(prog=program.name, description=program.description)
    parser.add_argument(
        "--version", action="version", version=f"nearer {__version__}",
        help="print the version and exit; with --verbose, also what a report of a defect needs",
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    modules = [program.commands[command]] if command in program.commands else dict.fromkeys(program.commands.values())
    for module in modules:
        import_module(module).add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
