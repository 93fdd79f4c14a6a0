"""Files of features: tables with a row for each object, and arrays with a list of names beside them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.files import atomic_path, write_text
from nearer._common.formatting import quote, quote_all
from nearer._common.tables import coordinate_rows, csv_text, unescape_formula
from nearer.data.features import LABEL_COLUMNS, Features
from nearer.data.labels import normalize_name
from nearer.io.delimited import as_text, read_bytes
from nearer.io.formats import open_table, read_arrays
from nearer.io.table import Column

_NAME_ARRAYS = ("names", "objects", "labels", "filenames", "file_names")
_NAME_FILES = ("file_names.txt", "filenames.txt", "names.txt", "objects.txt")  # beside an npy file
_ARRAY_ENDINGS = (".npy", ".npz")
_TEXT_ENDINGS = (".csv", ".tsv")
_WRITTEN_ENDINGS = (*_TEXT_ENDINGS, ".npz", ".parquet")


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


def write_features(features: Features, path: str | PathLike[str]) -> Path:
    """Write features with labels to a file that `read_features` reads back exactly.

    Parameters
    ----------
    features : Features
    path : str or path
        The ending of the name says what to write: .csv, .tsv, .npz or .parquet.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_features(Features([[0.1, 2.0], [0.4, 1.0]], ["cat", "dog"]), Path(folder) / "known.csv")
    ...     print(path.read_text().split())
    ...     print(read_features(path))
    ['object,1,2', 'cat,0.1,2.0', 'dog,0.4,1.0']
    Features('known': 2 objects, 2 columns)
    """
    path = check_written_ending(path)
    if features.objects is None:
        raise ValueError(f"{features.name} has no labels, without which its rows cannot be read back; give objects")
    labels = [str(each) for each in features.objects.tolist()]
    columns = [str(number) for number in range(1, features.values.shape[1] + 1)]
    ending = path.suffix.lower()
    if ending in _TEXT_ENDINGS:
        delimiter = "," if ending == ".csv" else "\t"
        write_text(path, csv_text(coordinate_rows(labels, features.values.tolist(), columns), delimiter=delimiter))
        return path
    with atomic_path(path) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, features=features.values, names=np.array(labels))
        else:
            _write_parquet({"object": labels, **dict(zip(columns, features.values.T, strict=True))}, part)
    return path


def check_written_ending(path: str | PathLike[str]) -> Path:
    """Return a path to which features can be written, or say by what ending they can be."""
    if Path(path).suffix.lower() not in _WRITTEN_ENDINGS:
        raise ValueError(f"{Path(path).name}: the name must end in {' or '.join(_WRITTEN_ENDINGS)}")
    return Path(path)


def _write_parquet(columns: dict[str, Any], path: Path) -> None:
    try:
        import pyarrow as pa
        from pyarrow.parquet import write_table
    except ModuleNotFoundError as error:
        raise ValueError("writing Parquet needs pyarrow; pip install pyarrow, or write .csv or .npz") from error
    write_table(pa.table(columns), path)


def _of_table(path: Path, name: str) -> Features:
    table = open_table(path)
    plain = [normalize_name(each) for each in table.names]
    label = next((plain.index(each) for each in LABEL_COLUMNS if each in plain), 0)
    columns = [each for at, each in enumerate(table.names) if at != label]
    if not columns:
        raise ValueError("there is one column; give a column of labels, and columns of numbers")
    loaded = table.load(table.names)
    labels = loaded.columns[table.names[label]].texts()
    if len(labels) == 0 or (labels == "").any():
        raise ValueError(f"column {quote(table.names[label])} holds the labels, and is empty in some rows")
    values = np.column_stack([_numbers(loaded.columns[each], each) for each in columns])
    read = unescape_formula if path.suffix.lower() in _TEXT_ENDINGS else str
    return Features(values, [read(each) for each in labels.tolist()], name)


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
