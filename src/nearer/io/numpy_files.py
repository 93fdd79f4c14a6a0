"""NumPy files: tables of indices with what belongs to them, or columns.

Nothing is ever unpickled, and no array is made before its size is known to be in the file.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.io.answers import BadRow
from nearer.io.table import MOST_BAD_ROWS_KEPT, Column, Loaded
from nearer.io.text import GrowsTooLarge, members

_MATRICES = ("triplets", "X", "quadruplets", "comparisons", "queries", "data", "arr_0")
_NAMES = ("objects", "names", "object_names", "items")
_MOST_OBJECTS = 2**31  # indices are 32 bits wide in compiled loops
_ANSWERS = ("y", "responses", "response", "answers", "answer")


def read_arrays(data: bytes, source: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, or the one of an npy file as "X".

    Arrays of Python objects are left out: they are pickles.
    """
    try:
        if data[:6] == b"\x93NUMPY":
            return {"X": _array(data)}
        arrays = {name: _array(array) for name, array in members(data, ".npy", source)}
    except GrowsTooLarge:
        raise
    except Exception as error:  # zipfile, zlib and NumPy each have errors of their own for damaged files
        reason = (str(error) or type(error).__name__)[:120]  # zipfile quotes what it found in place of a name
        raise ValueError(
            f"{source} is not a whole NumPy file of numbers and text: {reason}; write it with np.savez"
        ) from error
    if not arrays:
        raise ValueError(f"{source} holds no arrays; write it with np.savez(path, triplets=rows)")
    return arrays


def _array(data: bytes) -> NDArray[Any]:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("it holds a pickle, which is never opened; save arrays of numbers and of text")
    wanted = int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize if shape else dtype.itemsize
    if wanted > len(data):
        raise ValueError(f"an array of shape {shape} does not fit into {len(data)} bytes")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def is_npz(data: bytes) -> bool:
    """Whether the bytes begin as an npy file, or as an archive whose first file is one."""
    return data[:6] == b"\x93NUMPY" or (data[:4] == b"PK\x03\x04" and b".npy" in data[:256])


def _matrix_in(arrays: dict[str, NDArray[Any]]) -> str | None:
    return next((name for name in _MATRICES if name in arrays and arrays[name].ndim == 2), None)


def is_matrix(arrays: dict[str, NDArray[Any]]) -> bool:
    """Whether the file holds a table of indices, and not columns."""
    return _matrix_in(arrays) is not None


def columns_of(arrays: dict[str, NDArray[Any]], kind: str | None, source: str) -> tuple[dict[str, Any], Any]:
    """Return columns by name, and the labels that indices stand for, if there are any.

    A table of indices becomes the columns that its width and the kind of question call for.
    """
    matrix_name = _matrix_in(arrays)
    if matrix_name is None:
        columns = {name: array for name, array in arrays.items() if array.ndim == 1}
        longest = max((len(array) for array in columns.values()), default=0)
        return {name: array for name, array in columns.items() if len(array) == longest}, None
    matrix = arrays[matrix_name]
    if matrix.dtype.kind not in "iuU":
        matrix = _whole(matrix, f"{source}: {matrix_name!r}")
    of_items = kind in ("odd-one-out", "most-central") and matrix.shape[1] > 2
    if not (matrix.shape[1] in (3, 4) or of_items) or len(matrix) == 0:
        raise ValueError(
            f"{source}: {matrix_name!r} has shape {matrix.shape}; it must be (m, 3), triplets, or (m, 4), quadruplets"
        )
    columns = dict(zip(_roles(kind, matrix.shape[1]), matrix.T, strict=True))
    for name, array in arrays.items():
        if array.ndim == 1 and len(array) == len(matrix) and name not in (*_NAMES, matrix_name):
            columns["answer" if name in _ANSWERS else name] = array
    names = next((arrays[name] for name in _NAMES if name in arrays and arrays[name].ndim == 1), None)
    return columns, names if matrix.dtype.kind in "iu" else None


def without_impossible(loaded: Loaded, objects: Iterable[str], source: str) -> Loaded:
    """Return the rows whose objects can be indices, the others among the bad rows.

    Programs write -1, or the largest integer there is, where there is no object.
    """
    where = {name: loaded.columns[name].mapped(_is_no_index, False, bool) for name in objects}
    bad = np.any([np.zeros(len(loaded.lines), bool), *where.values()], axis=0)
    if not bad.any():
        return loaded
    rows = []
    for row in np.flatnonzero(bad)[:MOST_BAD_ROWS_KEPT].tolist():
        name = next(name for name, mask in where.items() if mask[row])
        reason = f"the {name} {loaded.columns[name].text(row)} is no index of an object, 0 to {_MOST_OBJECTS - 1:,}"
        rows.append(BadRow(source, int(loaded.lines[row]), reason))
    columns = {name: Column(column.codes[~bad], column.values) for name, column in loaded.columns.items()}
    return Loaded(columns, loaded.lines[~bad], [*loaded.bad_rows, *rows], loaded.n_bad + int(bad.sum()))


def _is_no_index(value: Any) -> bool:
    return isinstance(value, int) and not 0 <= value < _MOST_OBJECTS


def _whole(matrix: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return floating-point indices as integers; beyond its digits a narrow type has rounded them."""
    if matrix.dtype.kind == "f":
        exact = min(2.0**31, 2.0 ** (np.finfo(matrix.dtype).nmant + 1))
        wide = matrix.astype(np.float64)
        if (wide == np.trunc(wide)).all() and (np.abs(wide) < exact).all():
            return wide.astype(np.int64)
        if (wide == np.trunc(wide)).all() and np.isfinite(wide).all() and exact < 2**31:
            raise ValueError(f"{what} holds {matrix.dtype}, which rounds indices from {exact:.0f} on; save integers")
    raise ValueError(f"{what} holds {matrix.dtype}; it must hold indices 0..n-1 or labels")


def _roles(kind: str | None, width: int) -> tuple[str, ...]:
    if kind in ("odd-one-out", "most-central"):
        return tuple(f"object_{place}" for place in range(1, width + 1))
    return ("anchor", "near", "far") if width == 3 else ("near_1", "near_2", "far_1", "far_2")
