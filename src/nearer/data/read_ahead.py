"""Reading ahead: a thread reads the next blocks while the caller works on the present one.

Reading and decompressing release the interpreter's lock, as the compiled loops do: a pass takes the time of the slower
of the two, and not of both.
"""

from __future__ import annotations

from collections.abc import Generator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Generator[Item, None, None]:
    """Return the same items in the same order, up to ``depth`` of them made in advance by a thread.

    What the items raise is raised here, at its place in the order. The thread ends with this iterator, whether that is
    used up, closed early, or ended by an exception such as KeyboardInterrupt.

    Parameters
    ----------
    items : generator
        Used in the thread alone: it must not share anything that changes with the caller, such as a random generator.
    depth : int
        The most items that are made or waiting, besides the one that the caller has.

    Examples
    --------
    >>> list(read_ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    ready: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()  # None: that was all
    room, stopped = Semaphore(depth), Event()

    def fill() -> None:
        last: BaseException | None = None
        try:
            while room.acquire() and not stopped.is_set():
                ready.put((next(items),))
        except StopIteration:
            pass
        except BaseException as error:  # for the caller to deal with
            last = error
        finally:
            items.close()
            ready.put(last)

    thread = Thread(target=fill, name="nearer-read-ahead", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            room.release()
            yield item[0]
            del item  # or the block that the caller is done with would live until the next has come
    finally:
        stopped.set()
        room.release()  # in case it waits for that
        thread.join()
