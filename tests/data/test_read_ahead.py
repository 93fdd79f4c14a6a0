import gc
import threading
import time

import pytest

from nearer.data.streamed import read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "nearer-read-ahead"]


def counting(made, stop=100):
    try:
        for number in range(stop):
            made.append(number)
            yield number
    finally:
        made.append("closed")


def reaches(made, count):
    """Whether so many are made, in time, and then no more."""
    deadline = time.monotonic() + 60
    while len(made) < count and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    return len(made) == count


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_gives_everything_in_order_and_ends(depth):
    assert list(read_ahead((number for number in range(50)), depth)) == list(range(50))
    assert list(read_ahead((number for number in ()), depth)) == []
    assert readers() == []


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_is_ahead_by_so_many_and_no_more(depth):
    made = []
    ahead = read_ahead(counting(made), depth)
    assert next(ahead) == 0
    assert reaches(made, depth + 1)  # the one that the caller has, and those ahead
    assert next(ahead) == 1
    assert reaches(made, depth + 2)
    ahead.close()


def test_what_is_read_is_made_in_another_thread():
    names = list(read_ahead(threading.current_thread().name for _ in range(3)))
    assert set(names) == {"nearer-read-ahead"}


def test_errors_come_at_their_place():
    def broken():
        yield 1
        yield 2
        raise OSError("the disk is gone")

    ahead = read_ahead(broken())
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert readers() == []


@pytest.mark.parametrize("how", ["close", "forget", "raise", "before it began"])
def test_the_thread_ends_when_the_caller_stops_early(how):
    made = []
    ahead = read_ahead(counting(made))
    if how == "before it began":
        ahead.close()
        assert made == []
    else:
        next(ahead)
        if how == "close":
            ahead.close()
        elif how == "forget":
            del ahead
            gc.collect()
        else:
            with pytest.raises(KeyboardInterrupt):
                ahead.throw(KeyboardInterrupt())
        assert made[-1] == "closed"
        assert len(made) <= 5
    assert readers() == []
