"""Fits of cblearn to one training set, in a process of its own.

Runs under the Python of the peer and needs NumPy and cblearn alone:

    python peer_worker.py request.json

The request names a file of training rows and their folds, and a list of tasks; the maps go to a file, and one line of
JSON for each task is printed. A task with several candidates chooses among them by held-out error over the folds.
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


def work(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Do the tasks of a request and return what became of each.

    Parameters
    ----------
    request : dict
        ``data``: a file with ``rows`` (m, 3) and ``folds`` (m,); ``maps``: the file to write, with one map for each
        ``method`` that ended; ``n_objects``; ``seed`` of random starts; ``timeout`` of a single fit in seconds;
        ``trying``: for each loss, settings that make the fits to folds cheaper; ``tasks``: dicts of ``method``,
        ``loss`` and ``candidates``.
    """
    import numpy as np

    with np.load(request["data"]) as stored:
        rows, folds = stored["rows"], stored["folds"]
    fits: dict[str, dict[str, Any]] = {}  # the same settings on all rows are fitted once
    outcomes, maps = [], {}
    for task in request["tasks"]:
        loss, candidates = task["loss"], task["candidates"]
        start = time.perf_counter()
        choice = choose(request, task, rows, folds) if len(candidates) > 1 else 0
        seconds = time.perf_counter() - start
        key = json.dumps([loss, candidates[choice]], sort_keys=True)
        if key not in fits:
            fits[key] = fit(request, loss, candidates[choice], rows)
        done = dict(fits[key])
        embedding = done.pop("embedding", None)
        if embedding is not None:
            maps[task["method"]] = embedding
        done["seconds"] = round(done["seconds"] + seconds, 3)
        outcomes.append({"method": task["method"], "choice": choice, "settings": candidates[choice], **done})
    np.savez(request["maps"], **maps)
    return outcomes


def choose(request: dict[str, Any], task: dict[str, Any], rows: Any, folds: Any) -> int:
    """Return the place of the candidate with the least error on held-out rows; one that never ends is the worst."""
    totals = []
    for candidate in task["candidates"]:
        settings = {**candidate, **request["trying"].get(task["loss"], {})}
        total = 0.0
        for fold in range(int(folds.max()) + 1):
            held_out = folds == fold
            embedding = fit(request, task["loss"], settings, rows[~held_out]).get("embedding")
            total += held_out.sum() if embedding is None else errors(embedding, rows[held_out])
        totals.append(total)
    return totals.index(min(totals))


def fit(request: dict[str, Any], loss: str, settings: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Fit once: the map, or ``timeout``, or ``failure``, with the seconds it took and the number of warnings."""
    estimator = getattr(importlib.import_module("cblearn.embedding"), loss)
    outcome: dict[str, Any] = {}
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # for its authors, not about this fit
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, request["timeout"])
        try:
            model = estimator(random_state=request["seed"], **settings).fit(rows, n_objects=request["n_objects"])
            outcome["embedding"] = model.embedding_
        except TimeoutError:
            outcome["timeout"] = request["timeout"]
        except (ValueError, ArithmeticError, MemoryError) as error:
            outcome["failure"] = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return {**outcome, "seconds": time.perf_counter() - start, "n_warnings": len(caught)}


def errors(embedding: Any, rows: Any) -> float:
    """Count the triplets (anchor, near, far) that a map contradicts, ties half.

    Examples
    --------
    >>> import numpy as np
    >>> errors(np.array([[0.0], [1.0], [3.0], [-1.0]]), np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3]]))
    1.5
    """
    anchor, near, far = (embedding[column] for column in rows.T)
    margin = ((anchor - far) ** 2).sum(axis=1) - ((anchor - near) ** 2).sum(axis=1)
    return float((margin < 0).sum() + (margin == 0).sum() / 2)


def _stop(*_: Any) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.path = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.writelines(json.dumps(outcome) + "\n" for outcome in work(json.load(file)))
