"""The table of an experiment: errors over trials, beside those the paper reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from nearer.lab.common.records import Record
from nearer.lab.paper.methods import METHODS
from nearer.lab.paper.protocol import Experiment


class Published(NamedTuple):
    """Minimum, median, maximum and standard deviation of the error."""

    min: float
    median: float
    max: float
    std: float


def published(experiment: str, size: int, method: str) -> Published | None:
    """Return what the paper reports for this case, if it does.

    Examples
    --------
    >>> published("music", 1000, "DMOE").median
    0.291
    >>> published("music", 500, "DMOE") is None
    True
    """
    return _TABLES.get((experiment, size), {}).get(method)


_TABLES = {
    ("synthetic", 200): {
        "GNMDS": Published(0.419, 0.447, 0.476, 0.016),
        "STE": Published(0.397, 0.426, 0.461, 0.016),
        "TSTE": Published(0.440, 0.468, 0.498, 0.014),
        "DMOE": Published(0.372, 0.390, 0.410, 0.011),
    },
    ("synthetic", 1000): {
        "GNMDS": Published(0.318, 0.341, 0.359, 0.009),
        "STE": Published(0.375, 0.385, 0.401, 0.007),
        "TSTE": Published(0.426, 0.441, 0.466, 0.011),
        "DMOE": Published(0.281, 0.298, 0.305, 0.008),
    },
    ("synthetic", 10000): {
        "GNMDS": Published(0.143, 0.147, 0.154, 0.007),
        "STE": Published(0.219, 0.234, 0.251, 0.007),
        "TSTE": Published(0.238, 0.257, 0.271, 0.011),
        "DMOE": Published(0.142, 0.146, 0.151, 0.008),
    },
    ("music", 200): {
        "GNMDS": Published(0.391, 0.403, 0.416, 0.007),
        "STE": Published(0.444, 0.455, 0.475, 0.008),
        "TSTE": Published(0.416, 0.436, 0.458, 0.011),
        "DMOE": Published(0.372, 0.385, 0.400, 0.007),
    },
    ("music", 1000): {
        "GNMDS": Published(0.307, 0.317, 0.332, 0.007),
        "STE": Published(0.397, 0.415, 0.429, 0.007),
        "TSTE": Published(0.377, 0.389, 0.406, 0.007),
        "DMOE": Published(0.281, 0.291, 0.307, 0.007),
    },
    ("music", 5000): {
        "GNMDS": Published(0.225, 0.239, 0.257, 0.006),
        "STE": Published(0.252, 0.275, 0.294, 0.011),
        "TSTE": Published(0.243, 0.259, 0.297, 0.013),
        "DMOE": Published(0.216, 0.227, 0.244, 0.007),
    },
}


class Row(TypedDict):
    """Errors of one method at one size; None where there is no such figure."""

    size: int
    method: str
    trials: int
    min: float
    median: float
    max: float
    std: float | None
    strict_median: float
    embedding_median: float
    paper_min: float | None
    paper_median: float | None
    paper_max: float | None
    paper_std: float | None
    limit: float | None
    n_warnings: int
    seconds_median: float


def table_rows(experiment: Experiment, records: Iterable[Record]) -> list[Row]:
    """Summarize records by size and method.

    Parameters
    ----------
    experiment : Experiment
    records : iterable of dict
        As `nearer.lab.paper.tuning.run_unit` returns them.

    Returns
    -------
    list of Row
        By size, then in the order of `METHODS`. The deviation is that of a sample, None for a single trial.
    """
    groups: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["size"], record["method"]), []).append(record)
    order = list(METHODS)
    keys = sorted(groups, key=lambda key: (key[0], order.index(key[1])))
    return [_row(experiment, size, method, groups[size, method]) for size, method in keys]


def _row(experiment: Experiment, size: int, method: str, records: Sequence[Record]) -> Row:
    errors = np.array([record["error"] for record in records])
    paper = published(experiment.name, size, method)
    return Row(
        size=size,
        method=method,
        trials=len(errors),
        min=float(errors.min()),
        median=float(np.median(errors)),
        max=float(errors.max()),
        std=float(errors.std(ddof=1)) if len(errors) > 1 else None,
        strict_median=float(np.median([record["error_strict"] for record in records])),
        embedding_median=float(np.median([record["error_embedding"] for record in records])),
        paper_min=paper and paper.min,
        paper_median=paper and paper.median,
        paper_max=paper and paper.max,
        paper_std=paper and paper.std,
        limit=experiment.limits.get(size),
        n_warnings=sum(record["n_warnings"] for record in records),
        seconds_median=float(np.median([record["seconds"] for record in records])),
    )


_HEAD = """\
{size} comparisons{limit}
          ------------- here -------------   strict      map   ----------- paper ------------
method       min  median     max     std   median   median      min  median     max     std"""


def table_text(experiment: Experiment, rows: Sequence[Row]) -> str:
    """Return the table for people, one block for each size."""
    lines = [f"{experiment.name}: {experiment.title}", experiment.note]
    for size in sorted({row["size"] for row in rows}):
        block = [row for row in rows if row["size"] == size]
        limit = block[0]["limit"]
        told = f" (best possible error {limit:.3f})" if limit is not None else ""
        lines += ["", _HEAD.format(size=size, limit=told), *map(_line, block)]
    counts = sorted({row["trials"] for row in rows})
    over = " or ".join(map(str, counts)) + (" trial" if counts == [1] else " trials")
    lines += ["", f"Held-out error over {over}. {_LEGEND}"]
    return "\n".join(lines) + "\n"


_LEGEND = (
    "here: error of what predict uses, the Gram matrix of a convex fit or the map, ties counted half;\n"
    "strict: ties taken as satisfied, as in the paper; map: error of the p-dimensional embedding."
)


def _line(row: Row) -> str:
    here = _figures(row["min"], row["median"], row["max"], row["std"])
    paper = _figures(row["paper_min"], row["paper_median"], row["paper_max"], row["paper_std"])
    variants = "".join(f"{value:9.3f}" for value in (row["strict_median"], row["embedding_median"]))
    return f"{row['method']:<8}{here}{variants} {paper}"


def _figures(*values: float | None) -> str:
    return "".join(f"{'-':>8}" if value is None else f"{value:8.3f}" for value in values)
