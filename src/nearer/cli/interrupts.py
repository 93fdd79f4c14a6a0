"""Ctrl-C ends the program with one sentence and status 130, whatever the program is doing.

Python raises KeyboardInterrupt between any two steps of the main thread. A command that has something to keep catches
it, and `nearer.cli.main` what is left. Four more places are watched here, as Python shows a traceback there:

- library code that cannot raise, such as the end of an object's life: the interrupt would be shown and forgotten; it is
  sent again, a moment later;
- other threads, which may fail because the work was taken from under them;
- a second Ctrl-C while the first is being dealt with;
- the end of the process, where threads are waited for and libraries clean up: it then ends at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from nearer.cli.streams import complain

INTERRUPTED = 130
_AGAIN = 0.05  # seconds


class Interrupts:
    """What is known about Ctrl-C in this process.

    Attributes
    ----------
    seen : bool
        Whether it was pressed.
    status : int or None
        The exit status, once the command is over.
    """

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
        """Say that the program was stopped, and return its exit status."""
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
            threading.Timer(_AGAIN, os.kill, [os.getpid(), signal.SIGINT]).start()

    def _of_thread(self, what: threading.ExceptHookArgs) -> None:
        if not self.seen:
            self._show_of_thread(what)
