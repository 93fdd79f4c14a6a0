"""What surrounds every command: standard streams, Ctrl-C and Python's warnings.

Streams that somebody has closed, or that cannot show every letter, end nothing. Ctrl-C ends the program with one
sentence and status 130, whatever it is doing: a command that has something to keep catches KeyboardInterrupt, and
`nearer.cli.main` what is left. Where Python would show a traceback instead, it is watched here: in library code that
cannot raise (there the interrupt is sent again a moment later), in other threads, during a second Ctrl-C, and at the
end of the process, which then ends at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, TextIO

BROKEN_PIPE = 141  # the status that shells give a program that ends by SIGPIPE: 128 + 13


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
    """Send nowhere what is still to be written and cannot be: whoever was reading is gone, or the disk is full."""
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


INTERRUPTED = 130
RESEND_SECONDS = 0.05


class Interrupts:
    """What is known about Ctrl-C in this process: whether it was ``seen``, and the status once a command is over."""

    def __init__(self) -> None:
        self.seen = False
        self.status: int | None = None

    def watch(self) -> None:
        """Take care of Ctrl-C from now on, to the end of the process.

        Where interrupts are ignored, as in the background of a shell, they stay so.
        """
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        signal.signal(signal.SIGINT, self._pressed)
        # Registered first, it runs after everything that libraries do at the end.
        atexit.register(self._end)
        sys.excepthook, self._show = self._uncaught, sys.excepthook
        sys.unraisablehook, self._show_unraisable = self._unraisable, sys.unraisablehook
        threading.excepthook, self._show_of_thread = self._of_thread, threading.excepthook

    def stop(self) -> int:
        """Print that the program was stopped, and return its exit status."""
        if self.seen:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # or another one could cut the sentence off
        complain("nearer: stopped\n")
        return self.over(INTERRUPTED)

    def over(self, status: int) -> int:
        """Note that the command is over, and return its status: all that is left is to end the process."""
        self.status = status
        if self.seen:
            signal.signal(signal.SIGINT, self._pressed)
        return status

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        if self.status is not None:
            self._leave(self.status)
        raise KeyboardInterrupt

    def _end(self) -> None:
        # Python itself would end by the signal, if any library has ever let the interrupt through.
        if self.seen:
            self._leave(INTERRUPTED if self.status is None else self.status)

    def _leave(self, status: int) -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, RuntimeError):  # closed, full, or being written to just now
                stream.flush()
        os._exit(status)

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            self._show(kind, error, trace)
            return
        if self.status is None:
            os.write(2, b"nearer: stopped\n")
        self._leave(INTERRUPTED)

    def _unraisable(self, what: Any) -> None:
        if not self.seen:
            self._show_unraisable(what)
        elif self.status is None and isinstance(what.exc_value, KeyboardInterrupt):
            # To the process, and so to the main thread: sent to its own, it would not wake that one up.
            threading.Timer(RESEND_SECONDS, os.kill, [os.getpid(), signal.SIGINT]).start()

    def _of_thread(self, what: threading.ExceptHookArgs) -> None:
        if not self.seen:
            self._show_of_thread(what)


_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@contextmanager
def show_warnings(silent: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Show warnings as sentences on stderr, without those for developers of libraries and while ``silent()``."""
    shown: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        sentence = " ".join(str(message).split())
        if issubclass(category, RuntimeWarning):  # of NumPy, in a few words that name no subject
            sentence = f"while computing: {sentence}; look at what was found with care"
        if not (sentence in shown or issubclass(category, _FOR_DEVELOPERS) or silent()):
            sys.stderr.write(f"nearer: {sentence}\n")
        shown.add(sentence)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
