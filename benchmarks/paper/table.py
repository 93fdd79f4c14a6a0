"""Tables and figures of the experiments, next to those published in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from benchmarks.paper.methods import METHODS, candidates
from benchmarks.paper.protocol import Experiment, draw_trial
from benchmarks.records import Record
from nearer.plotting import new_figure, plot_errors, plot_loss, plot_margins

#: The paper does not say which size its margin distribution was learned at; this one is in every table.
MARGINS_SIZE = 1000


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


class ExperimentRow(TypedDict):
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


def table_rows(experiment: Experiment, records: Iterable[Record]) -> list[ExperimentRow]:
    """Summarize records by size and method.

    Parameters
    ----------
    experiment : Experiment
    records : iterable of dict
        As `benchmarks.paper.methods.run_unit` returns them.

    Returns
    -------
    list of ExperimentRow
        By size, then in the order of `METHODS`. The deviation is that of a sample, None for a single trial.
    """
    groups: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["size"], record["method"]), []).append(record)
    order = list(METHODS)
    keys = sorted(groups, key=lambda key: (key[0], order.index(key[1])))
    return [_row(experiment, size, method, groups[size, method]) for size, method in keys]


def _row(experiment: Experiment, size: int, method: str, records: Sequence[Record]) -> ExperimentRow:
    errors = np.array([record["error"] for record in records])
    paper = published(experiment.name, size, method)
    return ExperimentRow(
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


def table_text(experiment: Experiment, rows: Sequence[ExperimentRow]) -> str:
    """Return the table for people, one block for each size."""
    lines = [f"{experiment.name}: {experiment.title}", experiment.note]
    for size in sorted({row["size"] for row in rows}):
        block = [row for row in rows if row["size"] == size]
        limit = block[0]["limit"]
        limit_text = f" (best possible error {limit:.3f})" if limit is not None else ""
        lines += ["", _HEAD.format(size=size, limit=limit_text), *map(_line, block)]
    counts = sorted({row["trials"] for row in rows})
    over = " or ".join(map(str, counts)) + (" trial" if counts == [1] else " trials")
    lines += ["", f"Held-out error over {over}. {_LEGEND}"]
    return "\n".join(lines) + "\n"


_LEGEND = (
    "here: error of what predict uses, the Gram matrix of a convex fit or the map, ties counted half;\n"
    "strict: ties taken as satisfied, as in the paper; map: error of the p-dimensional embedding."
)


def _line(row: ExperimentRow) -> str:
    here = _figures(row["min"], row["median"], row["max"], row["std"])
    paper = _figures(row["paper_min"], row["paper_median"], row["paper_max"], row["paper_std"])
    variants = "".join(f"{value:9.3f}" for value in (row["strict_median"], row["embedding_median"]))
    return f"{row['method']:<8}{here}{variants} {paper}"


def _figures(*values: float | None) -> str:
    return "".join(f"{'-':>8}" if value is None else f"{value:8.3f}" for value in values)


def draw_figures(experiment: Experiment, seed: int, records: Sequence[Record], folder: Path) -> list[str]:
    """Write ``errors.png`` and, if DMOE took part, ``figure1.png``; return the names of the files written."""
    draw_errors(experiment, records, folder / "errors.png")
    chosen = [record for record in records if record["method"] == "DMOE"]
    if not chosen:
        return ["errors.png"]
    nearest = min(chosen, key=lambda record: (abs(record["size"] - MARGINS_SIZE), record["trial"]))
    draw_figure1(experiment, seed, nearest, folder / "figure1.png")
    return ["errors.png", "figure1.png"]


def draw_errors(experiment: Experiment, records: Sequence[Record], path: Path) -> None:
    """Draw box plots of the errors, one panel for each size, with what the paper reports."""
    sizes = sorted({record["size"] for record in records})
    figure = new_figure(3.1 * len(sizes) + 0.4, 3.6)
    panels = figure.subplots(1, len(sizes), squeeze=False)[0]
    handles = {}
    for panel, size in zip(panels, sizes, strict=True):
        errors: dict[str, list[float]] = {}
        for method in METHODS:
            found = [record["error"] for record in records if (record["size"], record["method"]) == (size, method)]
            if found:
                errors[method] = found
        known = {method: published(experiment.name, size, method) for method in errors}
        medians = {method: entry.median for method, entry in known.items() if entry}
        plot_errors(errors, medians, experiment.limits.get(size), ax=panel)
        panel.set_title(f"{size} comparisons", fontsize=10)
        handles.update({label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)})
    for panel in panels[1:]:
        panel.set_ylabel("")
    if handles:
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=2, frameon=False, fontsize=9
        )
    figure.savefig(path, dpi=200)


def draw_figure1(experiment: Experiment, seed: int, record: Record, path: Path) -> None:
    """Draw the margins that DMOE learned in the trial of a record, and the loss that shapes them."""
    drawn = draw_trial(experiment, seed, record["trial"], record["size"])
    settings = candidates("DMOE", len(drawn.train), drawn.train.n_objects)[record["choice"]]
    model = METHODS["DMOE"](n_components=experiment.n_components, **settings).fit(drawn.train)
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    plot_margins(model.decision_function(drawn.train), model.decision_function(drawn.test), ax=left)
    left.set_title(f"(a) margins after {record['size']} comparisons", fontsize=10)
    plot_loss(ax=right)
    right.set_title("(b) the two-sided hinge", fontsize=10)
    figure.savefig(path, dpi=200)
