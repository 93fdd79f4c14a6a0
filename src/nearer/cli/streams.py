"""Standard streams that somebody has closed, or that cannot show every letter."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

CLOSED = 141  # the status that shells give a program that ends by SIGPIPE: 128 + 13


def open_streams() -> None:
    """Make sure that stdin, stdout and stderr are open, and that a letter they cannot show ends nothing.

    Where a stream is closed, as by `>&-`, the first file that is opened would take its number, and what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which gets the lowest number that is free: this one
    if sys.stdout is None:
        sys.stdout = _writer(1)
    if sys.stderr is None:
        sys.stderr = _writer(2)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and getattr(sys.stdout, "errors", None) == "strict":
        reconfigure(errors="backslashreplace")


def _writer(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def silence() -> None:
    """Send what is still to be written nowhere: whoever was reading is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
            continue
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())


def complain(text: str) -> None:
    """Write to stderr, if anybody can read it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
