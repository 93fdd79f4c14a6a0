"""One thread that writes for all: what many people ask for at about the same time is one transaction.

A commit waits for the disk, some milliseconds. Whoever comes meanwhile is in the next transaction, so that a thousand
people cost hardly more commits than ten. Nobody is told that something is kept before it is: results are handed out
after the commit. Each piece of work has a savepoint, and one that fails takes nothing of the others with it.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError

from nearer.survey.store.database import Database, lock, reason

Result = TypeVar("Result")
Work = Callable[[Connection], Result]
_TOGETHER = 200  # pieces of work in a transaction at most
_END_SECONDS = 20.0  # longer than a locked SQLite file is waited for
_WAITING = 5000  # beyond so many, more would only wait in vain


class Busy(Exception):
    """The database cannot take anything now; whoever asked may try again."""


async def in_time(work: Awaitable[Result], seconds: float) -> Result:
    """Wait for a database, but not for ever: one that is frozen keeps its connections open and says nothing."""
    try:
        return await asyncio.wait_for(work, seconds)
    except TimeoutError:
        raise Busy(f"the database has not answered for {seconds:.0f} s") from None


class _Piece(NamedTuple):
    """A piece of work, who waits for it, and what it locks."""

    work: Work[Any]
    future: Future[Any]
    whom: str
    places: bool


class Writer:
    """Runs work in transactions, in a thread of its own.

    Parameters
    ----------
    database : Database

    Examples
    --------
    >>> from nearer.survey.store.database import read_fact, write_fact
    >>> writer = Writer(Database("sqlite://"))
    >>> writer.run(lambda connection: write_fact(connection, "status", "open"))
    >>> writer.run(lambda connection: read_fact(connection, "status"))
    'open'
    >>> writer.close()
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._queue: queue.Queue[_Piece | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._write, name="nearer-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[Result], whom: str = "", *, places: bool = False) -> Future[Result]:
        """Let work be done; the result comes after its commit.

        Parameters
        ----------
        work : callable
            Takes a connection.
        whom : str, optional
            The person it is about, by name or by the hash of the session's token: whom no other server receives until
            the commit. What changes anything about a person must say so.
        places : bool
            Whether it counts the people who take part, which no other server does then until the commit.
        """
        future: Future[Result] = Future()
        try:
            self._queue.put_nowait(_Piece(work, future, whom, places))
        except queue.Full:
            raise Busy("too many answers wait for the database") from None
        return future

    def run(self, work: Work[Result]) -> Result:
        """Do work, and wait for it."""
        return self.submit(work).result()

    def close(self) -> None:
        """Do what waits, and end; a database that does not answer is not waited for."""
        self._queue.put(None)
        self._thread.join(_END_SECONDS)
        self.database.close()

    def _write(self) -> None:
        going_on = True
        while going_on:
            first = self._queue.get()
            if first is None:
                return
            together = [first]
            while len(together) < _TOGETHER:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    going_on = False
                    break
                together.append(more)
            self._commit(together)

    def _commit(self, together: list[_Piece]) -> None:
        """Do several pieces of work in one transaction, and hand out what came of them."""
        together = [each for each in together if each.future.set_running_or_notify_cancel()]  # others have given up
        done: list[tuple[Future[Any], Any]] = []
        try:
            with self.database.engine.begin() as connection:
                whom = {each.whom for each in together if each.whom}
                lock(connection, whom, places=any(each.places for each in together))
                for work, future, *_ in together:
                    # As text: SQLAlchemy's own savepoints take as long as the work.
                    connection.exec_driver_sql("SAVEPOINT piece")
                    try:
                        done.append((future, work(connection)))
                    except (InterfaceError, OperationalError):  # of the database, and so of all
                        raise
                    except Exception as error:  # its own doing: told to whoever asked, once the others are safe
                        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT piece")
                        done.append((future, error))
                    connection.exec_driver_sql("RELEASE SAVEPOINT piece")
            self.database.check_in_place()
        except Exception as error:
            for each in together:
                each.future.set_exception(Busy(f"the database took nothing: {_first_reason(error)}"))
            return
        for future, result in done:
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


def _first_reason(error: BaseException) -> str:
    """Return what went wrong first: a transaction that has failed cannot be rolled back in part either."""
    first, at = error, error.__context__
    while at is not None:
        first, at = at if isinstance(at, SQLAlchemyError) else first, at.__context__
    return reason(first) if isinstance(first, SQLAlchemyError) else str(first)
