"""Matrices of distances in files: recognized by their names, made symmetric, and put in the order of a map's objects.

A file holds a square matrix, with the same names in its first row and first column in any order (corner or first column
may be missing); or a list of pairs, two names and the distance; or, if asked for, features, whose Euclidean distances
are taken. A folder that `nearer fit` wrote stands for its distances. Empty cells, NA and NaN are not known.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote, quote_all
from nearer._common.tables import unescape_formula
from nearer.io.labels import same_objects

_MISSING_CELLS = {"", "na", "nan", "n/a", "null", "none", "-", "."}
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """Distances between objects that have names.

    Attributes
    ----------
    name : str
        That of its file.
    matrix : ndarray, shape (n, n)
        Symmetric, NaN where a distance is not known.
    objects : list of str
    notes : tuple of str
        What was done to it.
    """

    name: str
    matrix: FloatArray
    objects: list[str]
    notes: tuple[str, ...] = ()

    def reindex(self, objects: Sequence[str]) -> NamedMatrix:
        """Return the distances between these objects, in this order; NaN where one is missing, with notes."""
        same = same_objects(set(self.objects) - set(objects), objects)  # paths, and what a map calls them
        own = [same.get(label, label) if same.get(label) not in self.objects else label for label in self.objects]
        at = {label: number for number, label in enumerate(own)}
        here = [number for number, label in enumerate(objects) if label in at]
        if not here:
            raise ValueError(
                f"{self.name} has none of the objects of the map, such as {quote(objects[0])}; its own are "
                f"{quote_all(self.objects)}"
            )
        there = [at[objects[number]] for number in here]
        matrix = np.full((len(objects), len(objects)), np.nan)
        matrix[np.ix_(here, here)] = self.matrix[np.ix_(there, there)]
        np.fill_diagonal(matrix, 0.0)
        on_map = set(objects)
        excluded = {
            "not in it, and left out": [label for label in objects if label not in at],
            "not on the map, and left out": [label for label in own if label not in on_map],
        }
        notes = [
            f"{pluralize(len(missing), 'object is', 'objects are')} {what}: {quote_all(missing)}"
            for what, missing in excluded.items()
            if missing
        ]
        known = self.matrix[np.ix_(there, there)][np.triu_indices(len(there), 1)]
        if np.isnan(known).any():
            notes.append(f"{int(np.isnan(known).sum())} of {len(known)} distances are not known, and left out")
        return NamedMatrix(self.name, matrix, list(objects), (*self.notes, *notes))


_Found = tuple[list[str], FloatArray, list[str]]


def parse_matrix(text: str, path: Path, *, features: bool = False) -> NamedMatrix:
    """Return the distances in the text of a file; ``features``: a table of features may be converted to distances."""
    rows = cells_of(text)
    if len(rows) < 2 or max(map(len, rows)) < 2:
        raise ValueError(f"{path} has no matrix: give a row and a column for each object, with names in the first ones")
    objects, matrix, notes = (
        square_matrix(rows, path) or _list_of_pairs(rows, path) or _of_features(rows, path, features)
    )
    refuse_doubled(objects, path)
    if holds_similarities(matrix):
        raise ValueError(
            f"{path} holds similarities: no object is as much like another as like itself; turn them into distances "
            "first, such as 1 - similarity"
        )
    matrix, more = symmetrized(matrix)
    return NamedMatrix(path.stem, matrix, objects, (*notes, *more))


def refuse_doubled(objects: Sequence[str], path: Path) -> None:
    """Reject objects that have more than one row."""
    duplicates = sorted({label for label in objects if objects.count(label) > 1})
    if duplicates:
        raise ValueError(f"{path} names {quote_all(duplicates)} twice; give each object one row")


def cells_of(text: str) -> list[list[str]]:
    """Return the cells of a table, whatever separates them; blank lines are left out."""
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    if first.count(delimiter) == 0:
        delimiter = " "  # as R writes tables
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows = [[cell.strip() for cell in row] for row in table]
    if delimiter == ";":
        rows = [[cell.replace(",", ".") if is_number(cell.replace(",", ".")) else cell for cell in row] for row in rows]
    rows = [row for row in rows if any(row)]
    while rows and all(len(row) > 1 and not row[-1] for row in rows):  # lines that end in a separator
        rows = [row[:-1] for row in rows]
    return rows


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, or says that there is none."""
    try:
        return math.isfinite(float(cell)) or cell.lower() in _MISSING_CELLS
    except ValueError:
        return cell.lower() in _MISSING_CELLS


def numbers_of(rows: list[list[str]], path: Path, what: str, width: int) -> FloatArray:
    """Return the numbers of a table of so many columns, NaN where a cell is not known."""
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(
                f"{path}: row {number} of the {what} has {pluralize(len(row), 'cell')} where {width} are needed; leave "
                "cells empty that are not known"
            )
        bad = next((cell for cell in row if not is_number(cell)), None)
        if bad is not None:
            raise ValueError(f"{path}: row {number} of the {what} holds {quote(bad)}, where a number is needed")
    return np.array([[np.nan if cell.lower() in _MISSING_CELLS else float(cell) for cell in row] for row in rows])


def square_matrix(rows: list[list[str]], path: Path, *, unnamed: bool = False) -> _Found | None:
    """Return names, numbers and notes of a table that is a square matrix, else None; ``unnamed``: names may lack."""
    header, below = rows[0], rows[1:]
    if all(map(is_number, header)) and len(rows) == len(header) > 2 and header[0]:  # an empty corner has names around
        if unnamed:
            labels = [str(number) for number in range(1, len(rows) + 1)]
            return (
                labels,
                numbers_of(rows, path, "matrix", len(rows)),
                ["objects have no names and are numbered from 1"],
            )
        raise ValueError(
            f"{path} has no names of objects; put them into the first row and the first column, as distances.csv has "
            "them"
        )
    labels = [row[0] for row in below]
    for names in (header[1:], header):
        # Without a corner, the first column may be distances that look like names: numbers.
        named = names is not header or any(len(row) == len(names) + 1 for row in below)
        if named and len(names) == len(labels) and set(names) == set(labels):
            matrix = numbers_of([row[1:] for row in below], path, "matrix", len(names))
            order = [names.index(label) for label in labels]
            return [unescape_formula(label) for label in labels], matrix[:, order], []
    if len(header) == len(below) and all(all(map(is_number, row)) and len(row) == len(header) for row in below):
        notes = ["rows have no names and were taken to be in the order of the columns"]
        return [unescape_formula(label) for label in header], numbers_of(below, path, "matrix", len(header)), notes
    common = set(header[1:]) & set(labels)
    if len(common) > 1 and 2 * len(common) > len(labels):
        odd = sorted(set(header[1:]) ^ set(labels))
        raise ValueError(f"{path}: rows and columns name different objects: {quote_all(odd)}; name the same in both")
    return None


def _list_of_pairs(rows: list[list[str]], path: Path) -> _Found | None:
    if any(len(row) != 3 for row in rows):
        return None
    pairs = rows if is_number(rows[0][2]) else rows[1:]
    first, second = {row[0] for row in pairs}, {row[1] for row in pairs}
    if not first & second or not all(is_number(row[2]) for row in pairs):
        return None
    values = numbers_of([[row[2]] for row in pairs], path, "list of pairs", 1).ravel()
    objects = list(dict.fromkeys(label for row in pairs for label in row[:2]))
    at = {label: number for number, label in enumerate(objects)}
    sums, counts = np.zeros((len(objects), len(objects))), np.zeros((len(objects), len(objects)))
    for (one, other, _), value in zip(pairs, values, strict=True):
        if one != other and not np.isnan(value):
            sums[at[one], at[other]] += value
            counts[at[one], at[other]] += 1
    several = int((counts > 1).sum())
    notes = [f"{pluralize(several, 'pair')} had several distances, which were averaged"] if several else []
    matrix = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return [unescape_formula(label) for label in objects], matrix, notes


def _of_features(rows: list[list[str]], path: Path, allowed: bool) -> _Found:
    if not allowed:
        raise ValueError(
            f"{path} is neither a square matrix, with the same names in its first row and first column, nor a list of "
            "pairs (two names and a distance on each row); if its columns are features of the objects, --features "
            "takes their Euclidean distances"
        )
    from scipy.spatial.distance import cdist

    labels = [row[0] for row in rows[1:]]
    table = numbers_of([row[1:] for row in rows[1:]], path, "table of features", len(rows[0]) - 1)
    unknown: NDArray[np.bool_] = np.any(np.isnan(table), axis=1)
    notes = [f"Euclidean distances of {pluralize(table.shape[1], 'feature')}"]
    if unknown.any():
        missing = [label for label, bad in zip(labels, unknown, strict=True) if bad]
        notes.append(f"{pluralize(len(missing), 'object lacks', 'objects lack')} a feature: {quote_all(missing)}")
    return [unescape_formula(label) for label in labels], cdist(table, table), notes


def holds_similarities(matrix: FloatArray) -> bool:
    """Whether the diagonal says that a matrix holds similarities: every object is most like itself."""
    around, diagonal = matrix[~np.eye(len(matrix), dtype=bool)], np.diagonal(matrix)
    known = len(matrix) > 2 and not np.isnan(around).all() and bool((diagonal > 0).all())
    return known and bool(diagonal.min() >= np.nanmax(around))


def symmetrized(matrix: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return distances that are the same both ways, and what was done to make them so."""
    n, notes = len(matrix), []
    above, below = np.triu_indices(n, 1), np.tril_indices(n, -1)
    matrix = matrix.copy()
    np.fill_diagonal(matrix, 0.0)
    for part, side in ((above, "above"), (below, "below")):
        other = matrix[part[::-1]]
        if (matrix[part] == 0).all() and np.nanmax(np.abs(other), initial=0.0) > 0:
            matrix[part] = np.nan
            notes.append(f"all distances {side} the diagonal are 0, and those on the other side were taken")
    flipped = matrix.T
    both = ~np.isnan(matrix) & ~np.isnan(flipped)
    differ = both & ~np.isclose(matrix, flipped, rtol=1e-6, atol=0)
    if differ.any():
        notes.append(
            f"{pluralize(int(differ.sum()) // 2, 'pair')} had different distances one way and the other; averaged"
        )
    filled = np.where(np.isnan(matrix), flipped, matrix)
    return np.where(both, (matrix + flipped) / 2, filled), notes
