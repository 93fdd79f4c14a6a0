"""What is told while something runs: bars on terminals, and warnings at the line that called into the package."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import warnings
from typing import Any

from tqdm import tqdm

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def progress_bar(what: str, total: int) -> tqdm[Any]:
    """Return a bar for terminals, shown after a second; workers of a pool stay silent, their parent has its own."""
    worker = multiprocessing.current_process().name != "MainProcess"
    if worker:
        # A lock between processes would be left behind, with a warning, by a worker that Ctrl-C ends.
        tqdm.set_lock(threading.RLock())
    return tqdm(total=total, desc=what, delay=1, leave=False, disable=True if worker else None)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside the package.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("mind the gap")
    >>> str(caught[0].message)
    'mind the gap'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
