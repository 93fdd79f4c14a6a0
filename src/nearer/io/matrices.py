"""Square matrices in files of all formats, one or one for each person: text, workbooks, NumPy, MATLAB, Meadows.

Of a MATLAB file and of JSON, the results of the multi-arrangement task of Meadows are known: the upper triangle of a
matrix, row by row, and the names of the stimuli.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote_all
from nearer.io.delimited import as_utf8, read_bytes, refuse_growth, without_preamble
from nearer.io.formats import read_arrays
from nearer.io.matrix_files import cells_of, holds_similarities, is_number, numbers_of, refuse_doubled, square_matrix

_NAMES = ("objects", "names", "object_names", "items", "labels", "stimuli", "conds", "conditions")
_PEOPLE = ("people", "participants", "subjects", "annotators", "raters")
_TRIANGLE = re.compile("utv|ltv|rdm|dissim|distance")  # names of the upper or the lower triangle of a matrix
_MAT_5, _MAT_7 = b"MATLAB 5.0", b"MATLAB 7.3"
_RESPONSES_TO_SELF = 0.5  # share of the largest number that must be on the diagonal for counts of responses


class UnclearMatrix(ValueError):
    """A matrix that may hold counts of responses, or similarities."""


@dataclass(frozen=True, eq=False)
class MatrixPart:
    """A square matrix as a file has it, and whose it is."""

    objects: list[str]
    matrix: FloatArray
    person: str | None = None
    kind: Literal["matrix", "arrangement"] = "matrix"
    notes: tuple[str, ...] = ()

    @property
    def holds_similarities(self) -> bool:
        """Whether the diagonal says so."""
        return holds_similarities(self.matrix)

    @property
    def has_zero_diagonal(self) -> bool:
        """Whether all objects are at distance 0 from themselves."""
        diagonal = np.diagonal(self.matrix)
        return bool((diagonal == 0).all())

    @property
    def looks_like_counts(self) -> bool:
        """Whether the matrix may hold how often stimuli, by rows, were answered by each response."""
        matrix, diagonal = self.matrix, np.diagonal(self.matrix)
        if np.isnan(matrix).any() or (matrix < 0).any() or (matrix != np.trunc(matrix)).any() or np.ptp(diagonal) == 0:
            return False
        return bool((diagonal >= matrix.max(axis=1)).mean() > _RESPONSES_TO_SELF)

    def entries(self, with_diagonal: bool) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
        """Return the labels of rows and columns, and the numbers, of cells that hold one; one half if alike."""
        known = ~np.isnan(self.matrix)
        if not with_diagonal:
            np.fill_diagonal(known, False)
            for side in (np.tri(len(known), k=-1, dtype=bool), np.tri(len(known), k=-1, dtype=bool).T):
                other = self.matrix[side.T & known]
                if not self.matrix[side & known].any() and other.any():
                    known &= ~side
            if (known == known.T).all() and np.allclose(self.matrix[known], self.matrix.T[known], rtol=1e-9):
                known &= np.tri(len(known), k=-1, dtype=bool).T  # the same both ways is one judgment
        a, b = np.nonzero(known)
        labels = np.array(self.objects, object)
        return labels[a], labels[b], self.matrix[a, b]


def matrices_in(source: Path | NDArray[Any], name: str, sheet: str | None = None) -> list[MatrixPart]:
    """Return the square matrices that an array or a file holds; none if it holds something else."""
    if isinstance(source, np.ndarray):
        return _of_arrays({"X": source}, name)
    data = read_bytes(source)
    if data[:6] == b"\x93NUMPY" or (data[:4] == b"PK\x03\x04" and b".npy" in data[:256]):
        return _of_arrays(read_arrays(data, name), name)
    if data[:10] == _MAT_7 or (data[:4] == b"\x89HDF" and source.suffix.lower() == ".mat"):
        raise ValueError(
            f"{name} is a file of MATLAB 7.3 (HDF5); save it again in MATLAB with save('{name}', '-v7'), or as CSV "
            "with writematrix"
        )
    if data[:10] == _MAT_5:
        return _of_matlab(data, name)
    if data[:4] == b"PAR1":
        return []
    data, _ = as_utf8(data, name, sheet)
    if data.lstrip()[:1] in (b"{", b"["):
        return _of_meadows(data, name)
    rows = cells_of(without_preamble(data, name)[0].decode("utf-8"))
    if len(rows) < 3 or max(map(len, rows)) < 3:
        return []
    return _stacked(rows, source) or _single(rows, source)


def _single(rows: list[list[str]], path: Path) -> list[MatrixPart]:
    found = square_matrix(rows, path, unnamed=True)
    if found is None:
        return []
    objects, matrix, notes = found
    refuse_doubled(objects, path)
    return [MatrixPart(objects, matrix, notes=tuple(notes))]


def _stacked(rows: list[list[str]], path: Path) -> list[MatrixPart]:
    """Return matrices one below the other, with a column of people, or of ROWTYPE_ as SPSS has it, before the names."""
    header, below = rows[0], rows[1:]
    objects = header[2:]
    if len(objects) < 3 or any(len(row) != len(header) for row in below):
        return []
    if {row[1] for row in below} != set(objects) or len(below) % len(objects) or all(map(is_number, objects)):
        return []
    people = dict.fromkeys(row[0] for row in below)
    found = []
    for person in people:
        mine = [row for row in below if row[0] == person]
        if sorted(row[1] for row in mine) != sorted(objects):
            return []
        matrix = numbers_of([row[2:] for row in mine], path, f"matrix of {person}", len(objects))
        order = [objects.index(row[1]) for row in mine]
        whole = np.empty_like(matrix)
        whole[order] = matrix
        found.append(MatrixPart(objects, whole, None if len(people) == 1 else person))
    refuse_doubled(objects, path)
    return found


def _of_arrays(arrays: Mapping[str, NDArray[Any]], name: str) -> list[MatrixPart]:
    """Return an array of shape (n, n) or (k, n, n), with names of objects and people where there are some."""
    numeric = {key: array for key, array in arrays.items() if array.dtype.kind in "iufb"}
    if not any(array.ndim > 1 and array.shape[-1] == array.shape[-2] > 2 for array in numeric.values()):
        triangles = [key for key in numeric if _TRIANGLE.search(key.lower())]
        numeric = {key: matrix for key in triangles if (matrix := _whole(numeric[key])) is not None}
    squares = [key for key, array in numeric.items() if array.ndim in (2, 3) and array.shape[-1] == array.shape[-2] > 2]
    if not squares or "nearer_kind" in arrays:
        return []
    if len(squares) > 1:
        raise ValueError(f"{name} holds several square matrices, {quote_all(squares)}; keep one of them in the file")
    stack = np.asarray(numeric[squares[0]], dtype=np.float64)
    stack = stack if stack.ndim == 3 else stack[None]
    objects, people = (
        _labels(arrays, names, size) for names, size in ((_NAMES, stack.shape[1]), (_PEOPLE, len(stack)))
    )
    notes = () if objects else ("objects have no names and are numbered from 1",)
    objects = objects or [str(at) for at in range(1, stack.shape[1] + 1)]
    whose: Sequence[str | None] = people or (
        [None] if len(stack) == 1 else [str(at) for at in range(1, len(stack) + 1)]
    )
    return [MatrixPart(objects, matrix, person, notes=notes) for matrix, person in zip(stack, whose, strict=True)]


def _whole(triangles: NDArray[Any]) -> FloatArray | None:
    """Return matrices, (k, n, n), of upper triangles as `scipy.spatial.distance.pdist` returns them, (N,) or (k, N)."""
    rows = np.atleast_2d(triangles).astype(np.float64)
    n = int(np.ceil(np.sqrt(2 * rows.shape[1])))
    if rows.ndim != 2 or n < 3 or n * (n - 1) // 2 != rows.shape[1]:
        return None
    return np.array([_square(row, n) for row in rows])


def _square(triangle: FloatArray, n: int) -> FloatArray:
    """Return the symmetric matrix of an upper triangle, row by row."""
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = triangle
    return matrix + matrix.T


def _labels(arrays: Mapping[str, NDArray[Any]], names: Sequence[str], size: int) -> list[str]:
    found = (arrays[name] for name in names if name in arrays)
    return next((list(map(str, each.tolist())) for each in found if each.shape == (size,)), [])


def _of_matlab(data: bytes, name: str) -> list[MatrixPart]:
    """Return what the multi-arrangement task of Meadows left for each person, or else a square matrix."""
    from scipy.io import loadmat, whosmat

    try:
        sizes = [(int(np.prod(shape)), kind) for _, shape, kind in whosmat(cast(Any, io.BytesIO(data)))]
        refuse_growth(sum(8 * size for size, _ in sizes), len(data), name)
        found = {key: value for key, value in loadmat(cast(Any, io.BytesIO(data))).items() if not key.startswith("__")}
    except ValueError:
        raise
    except Exception as error:  # SciPy has many for damaged files
        raise ValueError(f"{name} is not a whole MATLAB file: {error}; save it again with '-v7'") from error
    triangles = [key for key in found if key.startswith("rdmutv")]
    if not triangles:
        arrays = {key: np.asarray(value) for key, value in found.items() if isinstance(value, np.ndarray)}
        texts = {key: np.array(_texts(value)) for key, value in arrays.items() if value.dtype.kind in "UO"}
        return _of_arrays({key: value for key, value in arrays.items() if value.dtype.kind in "iufb"} | texts, name)
    parts = []
    for key in triangles:
        person = key.removeprefix("rdmutv").strip("_").replace("_", "-")
        stimuli = _texts(found.get("stimuli" + key.removeprefix("rdmutv"), found.get("stimuli", np.empty(0))))
        alone = len(triangles) == 1
        rows = np.atleast_2d(np.squeeze(np.asarray(found[key], dtype=np.float64)))
        parts += [_arrangement(row, stimuli, (person or _person_in(name)) if alone else person, name) for row in rows]
    return parts


def _texts(value: NDArray[Any]) -> list[str]:
    """Return the texts in an array of characters, or in a cell array."""
    return [str(np.squeeze(each)).strip() for each in np.ravel(value)]


def _of_meadows(data: bytes, name: str) -> list[MatrixPart]:
    """Return the arrangements in a tree of Meadows: of one participant, or of several by their names."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return []
    trees = tree if isinstance(tree, list) else [tree] if isinstance(tree, dict) and "tasks" in tree else tree
    named = trees.items() if isinstance(trees, dict) else [("", each) for each in trees]
    parts = []
    for person, each in named:
        if not isinstance(each, dict) or not isinstance(each.get("tasks"), list):
            return []
        who = person or str(
            each.get("participation", {}).get("name", "") if isinstance(each.get("participation"), dict) else ""
        )
        for task in each["tasks"]:
            if isinstance(task, dict) and isinstance(task.get("rdm"), list) and isinstance(task.get("stimuli"), list):
                stimuli = [str(item.get("name", "") if isinstance(item, dict) else item) for item in task["stimuli"]]
                parts.append(_arrangement(np.array(task["rdm"], dtype=float), stimuli, who or _person_in(name), name))
    return parts


def _arrangement(triangle: FloatArray, stimuli: Sequence[str], person: str | None, name: str) -> MatrixPart:
    n = len(stimuli)
    if len(triangle) != n * (n - 1) // 2:
        raise ValueError(
            f"{name}: {len(triangle)} distances do not belong to {n} stimuli, which have {n * (n - 1) // 2}"
        )
    # The scale of an arrangement is that of the screen.
    size = np.sqrt(np.nanmean(triangle**2))
    objects = [PurePosixPath(text).stem or text for text in stimuli]
    return MatrixPart(objects, _square(triangle / size if size > 0 else triangle, n), person, "arrangement")


def _person_in(name: str) -> str | None:
    """Return the participant in the name of a file, such as clever-fox in Meadows_exp_v1_clever-fox_1D.mat."""
    found = re.search(r"_([a-z]+-[a-z]+)_(?:\d+|tree|1D|2D)", name)
    return found[1] if found else None
