"""The files of a comparison: all figures as JSON, a table, and a figure as PNG and PDF."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.common.json_files import plain_values
from nearer.formats.text import inert
from nearer.study.folder import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = "comparison.json"


def write_results(
    folder: Path, figures: Mapping[str, Any], name: str, rows: Sequence[Mapping[str, Any]], draw: Callable[[], Axes]
) -> list[str]:
    """Write a comparison into a folder and return the names of the files; no figure, and a warning, without matplotlib.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    figures : mapping
        For programs.
    name : str
        Of the table and the figure.
    rows : sequence of mappings from column to value
    draw : callable
        Draws the figure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / FIGURES, json.dumps(plain_values(figures), indent=1, allow_nan=False) + "\n")
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\r\n")
    table.writeheader()
    for row in rows:
        table.writerow({column: _cell(value) for column, value in row.items()})
    write_text(folder / f"{name}.csv", text.getvalue())
    return [FIGURES, f"{name}.csv", *_save(folder, name, draw)]


def _save(folder: Path, name: str, draw: Callable[[], Axes]) -> list[str]:
    from nearer.plotting import save_figure

    try:
        ax = draw()
    except ImportError as error:  # matplotlib is an extra
        warnings.warn(f"no figure was drawn: {error}", UserWarning, stacklevel=3)
        return []
    files = [f"{name}.png", f"{name}.pdf"]
    for file in files:
        save_figure(ax, folder / file)
    return files


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return inert(value)
    return f"{value:.6g}" if isinstance(value, float) else value
