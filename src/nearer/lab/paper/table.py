"""The table of an experiment: errors over trials, beside those the paper reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

import numpy as np

from nearer.lab.common.records import Record
from nearer.lab.paper.methods import METHODS
from nearer.lab.paper.protocol import Experiment
from nearer.lab.paper.published import published


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
