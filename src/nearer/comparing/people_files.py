"""What is written of a comparison of people: tables, figures and a figure."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from nearer.common.json_files import plain_values
from nearer.comparing.people import PeopleComparison
from nearer.formats.text import inert
from nearer.study.folder import map_csv, write_text

WEIGHTS, MAP, FIGURES, PICTURE = "weights.csv", "embedding.csv", "individual.json", "people.png"


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
    model, text = found.model, io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(["person", "axis", "weight", "low", "high"])
    ends = model.intervals(found.level)
    for name, weights, intervals in zip(model.people_.tolist(), model.weights_, ends, strict=True):
        for axis, (weight, (low, high)) in enumerate(zip(weights.tolist(), intervals.tolist(), strict=True), start=1):
            writer.writerow([inert(str(name)), axis, repr(weight), repr(low), repr(high)])
    return text.getvalue()


def write_people(found: PeopleComparison, folder: Path) -> list[str]:
    """Write tables, figures and a picture into a folder, and return their names; no picture without matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / WEIGHTS, weights_csv(found))
    write_text(folder / MAP, map_csv(found.model))
    figures = json.dumps(plain_values(people_figures(found)), indent=1, allow_nan=False)
    write_text(folder / FIGURES, figures + "\n")
    try:
        from nearer.plotting import plot_weights, save_figure

        save_figure(plot_weights(found.model, level=found.level), folder / PICTURE)
    except ImportError:
        return [WEIGHTS, MAP, FIGURES]
    return [WEIGHTS, MAP, FIGURES, PICTURE]
