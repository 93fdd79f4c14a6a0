"""One fit, timed: the program that a benchmark starts anew for each measurement.

Runs under the Python of either program and needs NumPy and that program alone:

    python worker.py '{"program": "cblearn", "loss": "STE", ...}'

prints one line of JSON. Rows go to `fit` as an array of integers in both programs, so that both check their input
within the time that is measured. One fit of tiny data comes first: it loads what a second fit finds loaded, such as
compiled code.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import warnings
from typing import Any

# A script's own folder comes first on the path; no file next to this one may stand in for a package.
_HERE = os.path.dirname(os.path.abspath(__file__))


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Fit and return the seconds of it, iterations, peak memory in bytes and warnings.

    Parameters
    ----------
    request : dict
        ``program`` and ``loss`` name the estimator; ``settings`` are the arguments of its constructor; ``data`` is a
        file with the array ``train``; ``warm_up`` one with tiny data; the map is written to ``embedding``. A fit
        that takes longer than ``timeout`` seconds, if that is above 0, ends the process with SIGALRM.
    """
    import numpy as np

    estimator = getattr(importlib.import_module(f"{request['program']}.embedding"), request["loss"])
    with np.load(request["warm_up"]) as stored:
        rows = stored["train"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator(**request["settings"]).fit(rows)
    with np.load(request["data"]) as stored:
        rows = stored["train"]
    model = estimator(**request["settings"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # for its authors, not about this fit
        if request["timeout"] > 0:
            # The default action ends the process at once, in the middle of compiled code too.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, request["timeout"])
        start = time.perf_counter()
        model.fit(rows)
        seconds = time.perf_counter() - start
        if request["timeout"] > 0:
            signal.setitimer(signal.ITIMER_REAL, 0)
    peak = peak_memory()
    np.save(request["embedding"], model.embedding_)
    return {
        "seconds": seconds,
        "n_iter": int(getattr(model, "n_iter_", 0)),
        "peak_memory": peak,
        "warnings": [str(warning.message) for warning in caught],
    }


def peak_memory() -> int:
    """Return the most memory that this process has held at once, in bytes.

    Examples
    --------
    >>> block = bytearray(50_000_000)
    >>> peak_memory() > len(block)
    True
    """
    try:
        # The peak since the program started. On Linux ru_maxrss also counts what the parent process held before that.
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    sys.path = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
