"""Files of features: tables with a row for each object, and arrays with a list of names beside them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote, quote_all
from nearer.data.features import Features
from nearer.data.labels import normalize_name
from nearer.io.delimited import as_text, read_bytes
from nearer.io.formats import open_table, read_arrays
from nearer.io.table import Column

_LABEL_COLUMNS = ("object", "objects", "label", "name", "item", "stimulus", "image", "file", "filename", "word", "id")
_NAME_ARRAYS = ("names", "objects", "labels", "filenames", "file_names")
_NAME_FILES = ("file_names.txt", "filenames.txt", "names.txt", "objects.txt")  # beside an npy file
_ARRAY_ENDINGS = (".npy", ".npz")


def read_features(source: str | PathLike[str], name: str | None = None) -> Features:
    """Read what is known of objects: a row of numbers for each.

    Parameters
    ----------
    source : str or path
        A table (CSV, TSV, JSON or Parquet) with a column of labels, named ``object`` or similar or else the first, and
        columns of numbers; an npz file with a matrix and an array ``names``; or an npy file with a list of names, one
        on each line, in a text file of the same name or in ``file_names.txt``, as thingsvision writes them.
    name : str, optional
        Of the feature set; that of the file if left out.

    Returns
    -------
    Features
    """
    path = Path(source)
    name = name or path.stem
    try:
        if path.suffix.lower() in _ARRAY_ENDINGS:
            return _of_arrays(path, name)
        return _of_table(path, name)
    except ValueError as error:
        raise error if path.name in str(error) else ValueError(f"{path.name}: {error}") from error


class FeatureFile(NamedTuple):
    """A feature set, and the file that it was read from."""

    features: Features
    file: str
    sha256: str


def read_feature_files(sources: Sequence[tuple[str | None, Path]]) -> tuple[FeatureFile, ...]:
    """Read feature sets, each from a file and with a name, or that of its file."""
    found = tuple(
        FeatureFile(read_features(path, name), str(path), sha256(path.read_bytes()).hexdigest())
        for name, path in sources
    )
    names = [each.features.name for each in found]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(
            f"{quote_all(twice)} is the name of several sets of features; name them: --features pixels=one/features.csv"
        )
    return found


def _of_table(path: Path, name: str) -> Features:
    table = open_table(path)
    plain = [normalize_name(each) for each in table.names]
    label = next((plain.index(each) for each in _LABEL_COLUMNS if each in plain), 0)
    columns = [each for at, each in enumerate(table.names) if at != label]
    if not columns:
        raise ValueError("there is one column; give a column of labels, and columns of numbers")
    loaded = table.load(table.names)
    labels = loaded.columns[table.names[label]].texts()
    if len(labels) == 0 or (labels == "").any():
        raise ValueError(f"column {quote(table.names[label])} holds the labels, and is empty in some rows")
    values = np.column_stack([_numbers(loaded.columns[each], each) for each in columns])
    return Features(values, labels.tolist(), name)


def _numbers(column: Column, name: str) -> FloatArray:
    """Return the cells of a column as numbers, NaN where one is empty."""

    def number(cell: Any) -> float:
        try:
            return float(cell)
        except ValueError:
            raise ValueError(
                f"column {quote(name)} holds {quote(str(cell))}, which is no number; leave it out, or give numbers"
            ) from None

    return column.map_values(number, np.nan, np.float64)


def _of_arrays(path: Path, name: str) -> Features:
    arrays = read_arrays(read_bytes(path), path.name)
    matrices = [each for each, array in arrays.items() if array.ndim == 2]
    if len(matrices) != 1:
        raise ValueError(
            f"it holds {len(matrices)} matrices ({quote_all(sorted(arrays)[:10])}); give a file with one, a row of "
            "numbers for each object"
        )
    values = arrays[matrices[0]]
    listed = next((arrays[each].tolist() for each in _NAME_ARRAYS if each in arrays), None)
    if listed is None:
        beside = [path.with_suffix(".txt"), *(path.with_name(each) for each in _NAME_FILES)]
        file = next((each for each in beside if each.is_file()), None)
        listed = None if file is None else as_text(read_bytes(file), file.name).split("\n")
    names = None if listed is None else [str(each).strip() for each in listed if str(each).strip()]
    return Features(values, names, name)
