"""A thread that keeps something learned up to date while answers come in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Told = TypeVar("Told")
Learned = TypeVar("Learned")
_LOG = logging.getLogger("nearer.design.active")


class Learner(Generic[Told, Learned]):
    """Learns from the latest that it was told, in the background.

    Parameters
    ----------
    learn : callable
        Takes what was told and what was learned before (None at first), and returns what is learned now.

    Attributes
    ----------
    learned : object or None
        The latest result. It stays when learning fails.
    failure : Exception or None
        Why the latest attempt failed.

    Examples
    --------
    >>> learner = Learner(lambda told, before: sum(told))
    >>> learner.tell([1, 2])
    >>> learner.tell([1, 2, 3])
    >>> learner.wait(), learner.learned
    (True, 6)
    """

    def __init__(self, learn: Callable[[Told, Learned | None], Learned]) -> None:
        self.learn = learn
        self.learned: Learned | None = None
        self.failure: Exception | None = None
        self._latest: list[Told] = []  # one at most: what was told since the thread last looked
        self._changed = threading.Condition()
        self._running = False

    def tell(self, told: Told) -> None:
        """Take something new, and return at once."""
        with self._changed:
            self._latest = [told]
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name="nearer-active", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until everything that was told is known, or time is up; say whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._latest:
                    self._running = False
                    self._changed.notify_all()
                    return
                told = self._latest.pop()
            try:
                self.learned, self.failure = self.learn(told, self.learned), None
            except Exception as error:  # whatever it is, questions go on
                if not threading.main_thread().is_alive():  # the program ends, and nobody asks any more
                    return
                self.failure = error
                _LOG.warning("the map could not be updated (%s); questions go on with what was known before", error)
