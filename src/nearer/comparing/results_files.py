"""The files of a comparison: all figures as JSON, tables, and figures as PNG and PDF."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.files import write_text
from nearer._common.json_files import plain_values
from nearer._common.tables import escape_formula

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
    files = {FIGURES: json_text(figures), f"{name}.csv": table_of(rows)}
    return [*write_texts(folder, files), *save_figures(folder, {name: draw})]


def json_text(figures: Mapping[str, Any]) -> str:
    """Return figures for programs."""
    return json.dumps(plain_values(figures), indent=1, allow_nan=False) + "\n"


def write_texts(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Write files into a folder, which is made if it is not there, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(folder / name, text)
    return list(files)


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Return rows as CSV, with a column for everything that one of them has.

    Examples
    --------
    >>> table_of([{"name": "a"}, {"name": "b", "p": 0.5}])
    'name,p\r\na,\r\nb,0.5\r\n'
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return table([columns, *([row.get(column) for column in columns] for row in rows)])


def table(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as CSV; what is no number is left empty, and text that a spreadsheet would run is made inert.

    Examples
    --------
    >>> table([["object", "p"], ["=1", float("nan")]])
    "object,p\r\n'=1,\r\n"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def save_figures(
    folder: Path, draw: Mapping[str, Callable[[], Axes]], endings: Sequence[str] = ("png", "pdf")
) -> list[str]:
    """Draw figures into a folder and return the names of the files; none, and a warning, without matplotlib.

    Parameters
    ----------
    folder : Path
    draw : mapping from str to callable
        What draws the figure of each name.
    endings : sequence of str
    """
    from nearer.plotting import save_figure

    files: list[str] = []
    for name, of in draw.items():
        try:
            ax = of()
        except ImportError as error:  # matplotlib is an extra
            warnings.warn(f"no figure was drawn: {error}", UserWarning, stacklevel=3)
            return files
        for ending in endings:
            save_figure(ax, folder / f"{name}.{ending}")
            files.append(f"{name}.{ending}")
    return files


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        return escape_formula(cell)
    return "" if cell is None or not np.isfinite(cell) else repr(cell.item() if isinstance(cell, np.generic) else cell)
