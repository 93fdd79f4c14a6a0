"""The figures of an experiment: errors over trials, and the two panels of the paper's first figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nearer.lab.common.records import Record
from nearer.lab.paper.methods import METHODS, candidates
from nearer.lab.paper.protocol import Experiment, draw_trial
from nearer.lab.paper.table import published
from nearer.plotting import new_figure, plot_errors, plot_loss, plot_margins

#: The paper does not say which size its margin distribution was learned at; this one is in every table.
MARGINS_SIZE = 1000


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
