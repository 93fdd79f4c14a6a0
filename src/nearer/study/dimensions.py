"""Nonnegative dimensions in the folder of a study: tables of weights, and the names that people give to dimensions.

Names are kept in `NAMES_FILE`, which people may edit, and which every reader of results reads. A map that replaces
another one keeps its names, as far as the same dimensions are found again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote
from nearer._common.results import MAX_NUMBER
from nearer._common.tables import coordinate_rows, unescape_formula
from nearer.embedding.dimensions import MIN_REPRODUCIBILITY
from nearer.geometry import match_dimensions
from nearer.io.delimited import as_utf8, delimited_table, read_bytes
from nearer.io.messages import sentence

if TYPE_CHECKING:
    from nearer.study.results import StudyResults

WEIGHTS_FILE, INTERVALS_FILE, NAMES_FILE = "dimensions.csv", "dimension-weights.csv", "dimension-names.csv"
TABLES = (WEIGHTS_FILE, INTERVALS_FILE, NAMES_FILE)
MAX_NAME_LENGTH = 200
MIN_SAME_CORRELATION = 0.8  # over objects, of two dimensions that are taken for the same
_MIN_SHARED = 3  # objects on both maps


def dimension_tables(results: StudyResults) -> dict[str, list[list[Any]]]:
    """Return the weights, an object a row; with intervals, a weight a row; and the dimensions with their names."""
    record = results.weights
    assert record is not None
    titles, p = record.titles, results.n_components
    found = {WEIGHTS_FILE: coordinate_rows(results.objects, results.embedding.tolist(), titles)}
    if record.intervals is not None:
        n = len(record.intervals)
        columns = (
            np.repeat(np.array(results.objects[:n], dtype=object), p).tolist(),
            titles * n,
            results.embedding[:n].ravel().tolist(),
            # Nothing limits the weight of an object that nobody was asked about.
            *np.where(record.intervals < MAX_NUMBER, record.intervals, np.nan).reshape(-1, 2).T.tolist(),
        )
        rows = [list(row) for row in zip(*columns, strict=True)]
        found[INTERVALS_FILE] = [["object", "dimension", "weight", "low", "high"], *rows]
    reproducibility = record.reproducibility or (None,) * p
    rows = [[k + 1, record.names[k], reproducibility[k]] for k in range(p)]
    found[NAMES_FILE] = [["dimension", "name", "reproducibility"], *rows]
    return found


def read_names(path: Path, n_dimensions: int) -> tuple[str, ...]:
    """Return the name of each dimension, "" where it has none, from a table with the columns dimension and name."""
    table = delimited_table(as_utf8(read_bytes(path), path.name)[0], path.name)
    columns = {name.strip().lower(): name for name in table.names}
    if not {"dimension", "name"} <= set(columns):
        raise ValueError(f"{path} needs the columns dimension and name; it has {', '.join(table.names)}")
    loaded = table.load([columns["dimension"], columns["name"]])
    if loaded.n_bad:
        raise ValueError(f"{path}: {sentence(loaded.bad_rows[0])}")
    numbers, names = (column.map_values(str, "", object).tolist() for column in loaded.columns.values())
    found: dict[int, str] = {}
    for text, name in zip(numbers, names, strict=True):
        number = text.strip().removeprefix("dimension").strip()
        if not (number.isascii() and number.isdigit() and 1 <= int(number) <= n_dimensions):
            raise ValueError(f"{path}: there is no dimension {quote(text)}; they are numbered from 1 to {n_dimensions}")
        if int(number) in found:
            raise ValueError(f"{path}: dimension {number} has several rows; give it one")
        found[int(number)] = " ".join(str(unescape_formula(name)).split())
    return checked_names(found, n_dimensions, f"{path}: ")


def checked_names(names: Mapping[int, str], n_dimensions: int, where: str = "") -> tuple[str, ...]:
    """Return names of dimensions, which are numbered from 1, or raise an error where a table could not hold them."""
    taken = {"object": "the column of labels"}
    for number in range(1, n_dimensions + 1):
        name = names.get(number, "")
        if len(name) > MAX_NAME_LENGTH:
            raise ValueError(f"{where}the name of dimension {number} has {len(name)} letters; {MAX_NAME_LENGTH} fit")
        title = name or f"dimension {number}"
        if title in taken:
            raise ValueError(f"{where}dimension {number} is called {quote(title)}, as is {taken[title]}; rename it")
        taken[title] = f"dimension {number}"
    return tuple(names.get(number, "") for number in range(1, n_dimensions + 1))


def carried_names(results: StudyResults, earlier: StudyResults) -> tuple[tuple[str, ...], list[str]]:
    """Return names for the dimensions that an earlier map has, too, and the names of those that are gone."""
    assert results.weights is not None
    assert earlier.weights is not None
    place, before = {label: row for row, label in enumerate(earlier.objects)}, earlier.weights.names
    shared = [(row, place[label]) for row, label in enumerate(results.objects) if label in place]
    names: dict[int, str] = {}
    if len(shared) >= _MIN_SHARED:
        mine, theirs = np.array(shared).T
        match = match_dimensions(results.embedding[mine], earlier.embedding[theirs])
        for number, (other, correlation) in enumerate(zip(*match, strict=True), start=1):
            if correlation >= MIN_SAME_CORRELATION and before[other]:
                names[number] = before[other]
    lost = [name for name in before if name and name not in names.values()]
    return tuple(names.get(number, "") for number in range(1, results.n_components + 1)), lost


def describe_reproducibility(value: float) -> str:
    """Return in a word how well a dimension is found again.

    >>> describe_reproducibility(0.75)
    'high'
    """
    grades = ((0.9, "very high"), (0.7, "high"), (0.5, "moderate"), (MIN_REPRODUCIBILITY, "low"))
    return next((word for least, word in grades if value >= least), "not reproducible")


def describe_dimensions(reproducibility: Sequence[float] | FloatArray | None, n_dimensions: int) -> str:
    """Return how many dimensions are reproducible, in words."""
    words = pluralize(n_dimensions, "dimension")
    if reproducibility is None:
        return f"{words} of unknown reproducibility"
    kept = [float(value) for value in reproducibility if value >= MIN_REPRODUCIBILITY]
    if not kept:
        return f"none of {words} is reproducible"
    of = words if len(kept) == n_dimensions else f"{len(kept)} of {words}"
    spread = f"{min(kept):.2f} to {max(kept):.2f}" if len(kept) > 1 else f"{kept[0]:.2f}"
    return (
        f"{of} {'is' if len(kept) == 1 else 'are'} reproducible (correlations {spread} between halves of the answers)"
    )
