"""What is written of a comparison of people: tables, figures and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nearer.comparing.people import PeopleComparison
from nearer.comparing.results_files import FIGURES, json_text, save_figures, table, write_texts
from nearer.study.folder import map_csv

WEIGHTS, MAP, PICTURE = "weights.csv", "embedding.csv", "people"


def people_figures(found: PeopleComparison) -> dict[str, Any]:
    """Return the figures of a comparison of people, for programs."""
    model = found.model
    return {
        "differ": found.differ,
        "n_people": len(model.people_),
        "n_comparisons": len(model.comparisons_),
        "error": found.error._asdict(),
        "log_loss_bits": found.log_loss._asdict(),
        "level": found.level,
        "n_splits": found.n_splits,
        "spread": model.spread_,
        "steepness_spread": model.steepness_spread_,
        "evidence_gain": model.evidence_gain_,
        "axes_identified": model.axes_identified_,
        "axes_error_degrees": model.axes_error_,
        "n_kinds": model.n_kinds_,
        "kind_weights": model.kind_weights_,
        "people": [
            {"person": str(name), "weights": weights, "steepness": steepness, "lapse": lapse, "kind": kind}
            for name, weights, steepness, lapse, kind in zip(
                model.people_.tolist(), model.weights_, model.steepness_, model.lapse_, model.kinds_, strict=True
            )
        ],
    }


def weights_csv(found: PeopleComparison) -> str:
    """Return the weights as CSV: person, axis, weight and the ends of its interval."""
    model = found.model
    rows: list[list[Any]] = [["person", "axis", "weight", "low", "high"]]
    ends = model.intervals(found.level)
    for name, weights, intervals in zip(model.people_.tolist(), model.weights_, ends, strict=True):
        for axis, (weight, (low, high)) in enumerate(zip(weights.tolist(), intervals.tolist(), strict=True), start=1):
            rows.append([str(name), axis, weight, low, high])
    return table(rows)


def write_people(found: PeopleComparison, folder: Path) -> list[str]:
    """Write tables, figures and a picture into a folder, and return their names; no picture without matplotlib."""
    from nearer.plotting import plot_weights

    files = {WEIGHTS: weights_csv(found), MAP: map_csv(found.model), FIGURES: json_text(people_figures(found))}
    pictures = {PICTURE: lambda: plot_weights(found.model, level=found.level)}
    return [*write_texts(folder, files), *save_figures(folder, pictures)]
