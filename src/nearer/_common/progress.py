"""Progress bars, and warnings at the line that called into the package."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterable
from typing import Any
from weakref import WeakSet

from tqdm import tqdm

_PACKAGE_PATH = os.path.dirname(os.path.dirname(__file__)) + os.sep

_DELAY_SECONDS = 1.0
_REFRESH_SECONDS = 1.0
_running: WeakSet[tqdm[Any]] = WeakSet()
_refreshing = threading.Lock()


def progress_bar(
    what: str,
    total: int | None = None,
    iterable: Iterable[Any] | None = None,
    *,
    unit: str = "it",
    unit_scale: bool = False,
    silent: bool = False,
    bar_format: str | None = None,
) -> tqdm[Any]:
    """Return a progress bar for terminals, shown after a second and redrawn each second, however long a step takes.

    Workers of a pool stay silent, since their parent has a bar of its own, as does work in the background.
    """
    worker = multiprocessing.current_process().name != "MainProcess"
    if worker:
        # A lock between processes would be left behind, with a warning, by a worker that Ctrl-C ends.
        tqdm.set_lock(threading.RLock())
    bar: tqdm[Any] = tqdm(
        iterable,
        what,
        total,
        leave=False,
        unit=unit,
        unit_scale=unit_scale,
        bar_format=bar_format,
        delay=_DELAY_SECONDS,
        disable=True if worker or silent else None,
    )
    if not bar.disable:
        _keep_fresh(bar)
    return bar


def elapsed_time(what: str) -> tqdm[Any]:
    """Return a bar for a ``with`` block that has no steps to count: it shows how long the block has taken."""
    return progress_bar(what, bar_format="{desc}: {elapsed}")


def _keep_fresh(bar: tqdm[Any]) -> None:
    """Have a thread redraw a bar until it is closed: by itself it is drawn only when a step is done."""
    with _refreshing:
        idle = not _running
        _running.add(bar)
        if idle:
            threading.Thread(target=_refresh, name="nearer-progress", daemon=True).start()


def _refresh() -> None:
    """Redraw the bars that have not been drawn for a second, as long as there are any."""
    while True:
        time.sleep(_REFRESH_SECONDS)
        with _refreshing:
            for bar in [bar for bar in _running if bar.disable]:  # tqdm disables a bar that is closed
                _running.discard(bar)
            if not _running:
                return
            shown = list(_running)
        now = time.time()
        for bar in shown:
            if now - bar.start_t >= _DELAY_SECONDS and now - bar.last_print_t >= _REFRESH_SECONDS and not bar.disable:
                bar.refresh()


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_PATH):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
