"""Progress bars on terminals."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

from tqdm import tqdm


def progress_bar(what: str, total: int) -> tqdm[Any]:
    """Return a bar for terminals, shown after a second; workers of a pool stay silent, their parent has its own."""
    worker = multiprocessing.current_process().name != "MainProcess"
    if worker:
        # A lock between processes would be left behind, with a warning, by a worker that Ctrl-C ends.
        tqdm.set_lock(threading.RLock())
    return tqdm(total=total, desc=what, delay=1, leave=False, disable=True if worker else None)
