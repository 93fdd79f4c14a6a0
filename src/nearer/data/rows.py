"""Rows of comparisons: read and checked at the border, and packed in the one layout that compiled loops take.

The checks are whole-array operations with a few one-byte masks alive at a time, so that tens of millions of rows pass
in about a second. Compiled loops trust indices, so streamed rows pass the same checks a block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import is_dask
from nearer._common.progress import warn_caller
from nearer.data.labels import (
    Indices,
    Labels,
    Mask,
    are_indices,
    factorize,
    format_label,
    is_bool,
    is_missing,
    object_columns,
    raise_for_rows,
    read_objects,
    translate,
)

MAX_OBJECTS = 2**31  # beyond this an "index" is an identifier, and arange(n) would not fit in memory
BLOCK_ROWS = 2**20  # that a file is read by, and that sums over rows in memory are put together from
N_SAMPLE_RUNS = 16  # runs that a sample of more rows than a block is taken from
MAX_COPIED_ROWS = 4_000_000  # rows; 48 MB of triplets


def read_rows(rows: Any, widths: tuple[int, ...], n_objects: int | None, objects: Any) -> tuple[Indices, Labels]:
    """Return indices of shape (m, width) and the labels, (n,), that they point into."""
    table = _read_table(rows, widths)
    known = None if objects is None else read_objects(objects)
    n = None if n_objects is None else read_n_objects(n_objects)
    if known is not None and n is not None and len(known) != n:
        raise ValueError(f"n_objects={n}, but objects holds {len(known)} labels; leave n_objects out")
    if table.dtype.kind in "iuf" and (known is None or are_indices(known)):
        indices, n = _read_indices(table, n if known is None else len(known))
        return indices, np.arange(n)
    labels, codes = factorize(table)
    bad = (is_missing(labels) | np.array([is_bool(label) for label in labels]))[codes]
    remedy = "drop such rows, or name the object"
    raise_for_rows(bad, lambda row: f"{_format_first(table, bad, row)} is no label", remedy)
    _raise_for_mixed_types(table, labels, codes)
    if known is not None:
        return translate(codes, labels, known), known
    _warn_of_stray_column(codes, labels)
    if n is not None and n != len(labels):
        raise ValueError(f"n_objects={n}, but the rows hold {len(labels)} labels; name all objects with objects=[...]")
    return codes, labels


def _raise_for_mixed_types(table: NDArray[Any], labels: Labels, codes: Indices) -> None:
    """Raise ValueError for objects that are numbers in some rows and the same numbers as text in others."""
    if labels.dtype.kind == "O":
        texts = {label for label in labels if isinstance(label, str)}
        in_text = [isinstance(label, Real) and str(label).removesuffix(".0") in texts for label in labels]
        twice = np.array(in_text)[codes]
        raise_for_rows(
            twice,
            lambda row: f"the object {_format_first(table, twice, row)} is a number, and elsewhere text",
            "write all objects as text, or all as numbers: df.astype(str)",
        )


def _warn_of_stray_column(codes: Indices, labels: Labels) -> None:
    """Warn when one column of quadruplets has labels all of its own: most often an answer or a person."""
    if codes.shape[1] != 4 or len(codes) < 2:
        return
    for column in range(4):
        if not np.isin(codes[:, column], np.delete(codes, column, axis=1)).any():
            warn_caller(
                f"column {column + 1} of 4 holds labels, such as {format_label(labels[codes[0, column]])}, that no "
                "other column has; if it is the answer or the annotator, pass it as y or annotators and keep three "
                "columns"
            )


def _read_table(rows: Any, widths: tuple[int, ...]) -> NDArray[Any]:
    """Return rows as an (m, width) array of integers, finite floats, or labels."""
    if hasattr(rows, "toarray") and hasattr(rows, "nnz"):
        raise TypeError("sparse input is not supported: comparisons are rows of objects; pass rows.toarray()")
    if is_dask(rows):
        raise TypeError(
            "a dask collection is fitted where it is, and only fit takes it; load the rows that you need, for example "
            "frame.head(1000) or array[:1000].compute()"
        )
    if np.ma.is_masked(rows):
        raise_for_rows(np.ma.getmaskarray(rows), lambda _: "has a masked entry", "drop such rows")
    names = column_names(rows)
    if names is not None:
        table = _table_of_columns(rows, object_columns(names), names)
    elif hasattr(rows, "to_numpy") or hasattr(rows, "__array__"):
        table = np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    else:
        table = _table_of_sequence(rows)
    _check_shape(table, widths)
    if table.dtype.kind == "O" and all(isinstance(v, Real) and not is_bool(v) for v in table.flat):
        table = np.asarray(table.tolist())
        table = table.astype(float) if table.dtype.kind == "O" else table  # integers beyond 64 bits
    if table.dtype.kind == "b":
        raise ValueError("rows are bool; pass indices 0..n-1 or labels")
    if table.dtype.kind == "f":
        raise_for_rows(np.isnan(table), lambda _: "an entry is NaN", "drop such rows")
        raise_for_rows(np.isinf(table), lambda _: "an entry is inf", "drop such rows")
    return table


def column_names(rows: Any) -> list[Any] | None:
    """Return the names of the columns of a frame or a dict of columns, or None for anything else."""
    if isinstance(rows, Mapping):
        return list(rows)
    kind = type(rows)  # not the frame itself: a column may be called column_names
    if hasattr(kind, "column_names"):
        return list(rows.column_names)  # pyarrow, in which columns are arrays
    return list(rows.columns) if hasattr(kind, "columns") and hasattr(kind, "to_numpy") else None


def _table_of_columns(frame: Any, order: list[int], names: list[Any]) -> NDArray[Any]:
    """Turn a frame, or a dict of columns, into a table of its columns in that order."""
    if not isinstance(frame, Mapping):
        return np.asarray(frame.to_numpy() if hasattr(frame, "to_numpy") else frame)[:, order]
    columns = [list(frame[names[at]]) for at in order]
    if len({len(column) for column in columns}) > 1:
        lengths = {names[at]: len(column) for at, column in zip(order, columns, strict=True)}
        raise ValueError(f"the columns have different lengths: {lengths}; give each as many objects")
    return _table_of_sequence(zip(*columns, strict=True))


def _table_of_sequence(rows: Any) -> NDArray[Any]:
    """Turn nested sequences into a table, keeping labels whole even where they are tuples themselves."""
    if isinstance(rows, str | bytes) or not hasattr(rows, "__iter__"):
        raise ValueError(f"rows must be a 2-D array or a list of rows, not {type(rows).__name__}")
    listed = list(rows)
    try:
        table = np.asarray(listed)
    except (ValueError, OverflowError):  # ragged, or labels of different lengths
        table = np.empty(0, dtype=object)
    # Only numbers may come from asarray: it turns ("cat", 1) into strings and tuple labels into another axis.
    numeric = table.dtype.kind in "biufc"
    if not listed or (numeric and (table.ndim <= 2 or not isinstance(listed[0][0], tuple))):
        return table
    no_row = np.array([not isinstance(row, Sequence | np.ndarray) or isinstance(row, str | bytes) for row in listed])
    if no_row.all():
        return np.fromiter(listed, dtype=object, count=len(listed))
    remedy = "pass one sequence of 3 or 4 objects a row"
    raise_for_rows(no_row, lambda row: f"{listed[row]!r} is not a row of objects", remedy)
    lengths = np.array([len(row) for row in listed])
    width = int(lengths[0])
    remedy = "give every row the same number of objects"
    raise_for_rows(lengths != width, lambda row: f"has {lengths[row]} entries where row 0 has {width}", remedy)
    entries = (label for row in listed for label in row)
    return np.fromiter(entries, dtype=object, count=len(listed) * width).reshape(len(listed), width)


def _check_shape(table: NDArray[Any], widths: tuple[int, ...]) -> None:
    kinds = {3: "3 columns (triplets)", 4: "4 columns (quadruplets)"}
    wanted = " or ".join(kinds[width] for width in widths)
    if table.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: rows are {table.dtype}; pass indices or labels")
    if table.shape[0:1] == (0,):
        raise ValueError(
            f"empty set of comparisons: 0 sample(s) (shape={table.shape}) while a minimum of 1 is required; "
            "check the file or the filter that the rows come from"
        )
    if table.ndim != 2:
        raise ValueError(
            f"rows must be 2-D with {wanted}, got {table.ndim}-D of shape {table.shape}. Reshape your data: "
            f"one comparison a row, each a sequence of objects, as in [(anchor, near, far), ...]"
        )
    m, width = table.shape
    if width == 0:
        raise ValueError(
            f"0 feature(s) (shape=({m}, 0)) while a minimum of {widths[0]} is required: rows have {wanted}"
        )
    if width not in widths:
        other = {
            3: "; use Comparisons.from_triplets",
            4: "; use Comparisons.from_quadruplets, or, if one column is the answer, pass that as y",
        }.get(width, "; keep only the columns that name objects")
        raise ValueError(f"rows must have {wanted}, got {width} (shape={table.shape}){other}")


def _read_indices(table: NDArray[Any], n: int | None) -> tuple[Indices, int]:
    """Return integer indices and the number of objects; int32 and int64 tables are not copied."""
    remedy = "if these are names and not indices 0..n-1, use Comparisons.from_triplets(rows, objects=np.unique(rows))"
    if table.dtype.kind == "f":
        broken = table != np.trunc(table)
        raise_for_rows(broken, lambda row: f"{_format_first(table, broken, row)} is not an integer", remedy)
    if table.dtype.kind != "u" and table.min() < 0:
        below = table < 0
        raise_for_rows(below, lambda row: f"index {_format_first(table, below, row)} is negative", remedy)
    highest = int(table.max())
    limit = MAX_OBJECTS if n is None else n
    if highest >= limit:
        above = table >= limit
        size = "the largest index supported" if n is None else f"n_objects={n}"
        if n is not None:
            remedy = f"give n_objects={highest + 1} when fitting, drop such rows, or subtract 1 if numbered from 1"
        raise_for_rows(
            above, lambda row: f"index {_format_first(table, above, row)} is out of range for {size}", remedy
        )
    # Narrow and unsigned integers overflow in i * n + j and turn to floats next to int64: widen them.
    indices = table if table.dtype in (np.int32, np.int64) else table.astype(np.int64)
    if n is None and table.min() > 0:
        warn_caller(
            f"index 0 never occurs, the lowest is {int(table.min())}; if the objects are numbered from 1, subtract 1; "
            "if these are identifiers, use Comparisons.from_triplets(rows, objects=np.unique(rows))"
        )
    return indices, highest + 1 if n is None else n


def _format_first(table: NDArray[Any], bad: Mask, row: int) -> str:
    return format_label(table[row][bad[row]][0])


def read_n_objects(n_objects: Any) -> int:
    """Return n_objects as a positive int."""
    if not isinstance(n_objects, Integral) or is_bool(n_objects) or n_objects < 1:
        raise ValueError(f"n_objects={n_objects!r} is not a positive integer; pass the number of objects or None")
    return int(n_objects)


def has_self_comparison(rows: Indices) -> Mask:
    """Rows, (m,), in which an object is compared with itself."""
    bad = rows[:, 0] == rows[:, 1]
    bad |= (rows[:, 0] == rows[:, 2]) if rows.shape[1] == 3 else (rows[:, 2] == rows[:, 3])
    return np.asarray(bad)


def has_equal_pairs(rows: Indices) -> Mask:
    """Rows, (m,), whose near and far pair are the same pair."""
    if rows.shape[1] == 3:
        return np.asarray(rows[:, 1] == rows[:, 2])
    i, j, l, k = rows.T  # noqa: E741
    return np.asarray(((i == l) & (j == k)) | ((i == k) & (j == l)))


def canonical_pairs(quadruplets: NDArray[Any]) -> NDArray[Any]:
    """Return near and far pairs, each in rising order, but an object that both have first in both."""
    rows = np.column_stack([np.sort(quadruplets[:, :2], axis=1), np.sort(quadruplets[:, 2:], axis=1)])
    for near, far in ((0, 3), (1, 2), (1, 3)):
        shared = rows[:, near] == rows[:, far]
        if near == 1:
            rows[shared, :2] = rows[shared, 1::-1]
        if far == 3:
            rows[shared, 2:] = rows[shared, :1:-1]
    return rows


def raise_for_degenerate(rows: Indices, objects: Labels) -> None:
    """Raise ValueError for rows that no answer could make informative."""
    remedy = "drop such rows with Comparisons.without_degenerate(rows, y)"

    def compared_with_itself(row: int) -> str:
        entries = rows[row]
        culprit = entries[2] if rows.shape[1] == 4 and entries[0] != entries[1] else entries[0]
        return f"object {format_label(objects[culprit])} is compared with itself"

    def same_pair(row: int) -> str:
        near = objects[rows[row, :2]]
        return f"near and far are the same pair, {format_label(near[0])} and {format_label(near[1])}"

    raise_for_rows(has_self_comparison(rows), compared_with_itself, remedy)
    raise_for_rows(has_equal_pairs(rows), same_pair, remedy)


def sample_ranges(m: int, n_rows: int, block_rows: int = BLOCK_ROWS) -> list[range]:
    """Return ranges of at most ``n_rows`` of m rows: evenly spaced; of more than a block, in runs."""
    if m <= block_rows:
        return [range(0, m, -(-m // n_rows))]
    width = max(block_rows // N_SAMPLE_RUNS, 1)
    step = -(-N_SAMPLE_RUNS * width // n_rows)
    starts = np.linspace(0, m - width, N_SAMPLE_RUNS, dtype=np.int64).tolist()
    return [range(start, start + width, step) for start in starts]


class Rows(NamedTuple):
    """Comparisons as the loops take them."""

    objects: NDArray[Any]  # (m, 3)
    answers: NDArray[np.int8]  # (m,)
    weights: NDArray[np.float64]  # (m,)

    @classmethod
    def of(
        cls, objects: NDArray[Any], answers: NDArray[Any] | None = None, weights: NDArray[Any] | None = None
    ) -> Rows:
        """Return rows in the one layout that the loops are compiled for, without a copy where possible."""
        # Compiling for 64 bit indices as well takes longer than copying: only where there are millions are they kept.
        narrow = objects.dtype.itemsize > 4 and len(objects) <= MAX_COPIED_ROWS
        columns = (
            np.ascontiguousarray(objects, np.int32 if narrow else None),
            np.empty(0, np.int8) if answers is None else np.ascontiguousarray(answers, np.int8),
            np.empty(0, np.float64) if weights is None else np.ascontiguousarray(weights, np.float64),
        )
        # Read-only arrays are another type to numba, and a second type another second of compiling.
        views: list[Any] = [column.view() for column in columns]
        for view in views:
            view.flags.writeable = False
        return cls(*views)

    @classmethod
    def join(cls, blocks: Iterable[Iterable[NDArray[Any]]]) -> Rows:
        """Return the rows of blocks, one after another."""
        return cls.of(*(np.concatenate(columns) for columns in zip(*blocks, strict=True)))

    def __len__(self) -> int:
        return len(self.objects)

    def take(self, chosen: slice | NDArray[Any]) -> Rows:
        """Return some of the rows: a slice without a copy, or those at these positions."""
        if isinstance(chosen, slice):
            return Rows.of(*(part[chosen] if part.size else part for part in self))
        # take: a third of the time of part[chosen]
        return Rows.of(*(part.take(chosen, axis=0) if part.size else part for part in self))

    def thin(self, n_rows: int) -> Rows:
        """Return at most ``n_rows`` rows, evenly spaced."""
        return self.take(slice(None, None, -(-len(self) // n_rows)))


class Extent(NamedTuple):
    """What a check finds out about rows that pass: their shape, the range of indices, the sum of the weights."""

    n_rows: int = 0
    width: int = 0  # where there are no rows
    lowest: int = MAX_OBJECTS
    highest: int = -1
    weight: float = 0.0

    @classmethod
    def merge(cls, extents: Iterable[Extent]) -> Extent:
        """Return that of all rows together; weights are added up in order."""
        n_rows, widths, lowest, highest, weights = zip(cls(), *extents, strict=True)
        return cls(sum(n_rows), max(widths), min(lowest), max(highest), reduce(add, weights))

    def n_objects(self, given: int | None, name: str) -> int:
        """Return the number of objects, or raise ValueError for a table that cannot be fitted."""
        if not self.n_rows:
            raise ValueError(f"{name} holds no comparisons; check how it was made")
        if not 0 < self.weight < np.inf:
            raise ValueError(f"{name}: the weights have a sum of {self.weight:g}; it must be positive and finite")
        if given is None and self.lowest > 0:
            warn_caller(
                f"{name}: index 0 never occurs, the lowest is {self.lowest}; if the objects are numbered from 1, "
                "subtract 1; if these are identifiers, number the objects 0..n-1"
            )
        return self.highest + 1 if given is None else given


def check_block(
    objects: NDArray[Any],
    answers: NDArray[Any] | None = None,
    weights: NDArray[Any] | None = None,
    *,
    name: str,
    offset: int = 0,
    n_objects: int | None = None,
    remedy: str = "drop such rows",
) -> Extent:
    """Raise ValueError for rows that are no comparisons, with the number of the first of them."""

    def raise_for_rows(bad: NDArray[np.bool_], what: Callable[[int], str], remedy: str) -> None:
        if bad.any():
            row = int(np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))[0])
            raise ValueError(f"{name}: row {offset + row}: {what(row)}; {remedy}")

    if not len(objects):
        return Extent()
    lowest, highest = int(objects.min()), int(objects.max())
    numbering = "objects are numbered 0..n-1"
    if lowest < 0:
        raise_for_rows(objects < 0, lambda row: f"index {objects[row].min()} is negative", numbering)
    if highest >= (limit := MAX_OBJECTS if n_objects is None else n_objects):
        size, advice = "the largest index supported", numbering
        if n_objects is not None:
            size, advice = f"n_objects={limit}", "give a larger n_objects, or subtract 1 if numbered from 1"
        raise_for_rows(objects >= limit, lambda row: f"index {objects[row].max()} is out of range for {size}", advice)
    itself, same = has_self_comparison(objects), has_equal_pairs(objects)
    raise_for_rows(itself, lambda row: f"{objects[row].tolist()} compares an object with itself", remedy)
    raise_for_rows(same, lambda row: f"near and far are the same pair, {objects[row, :2].tolist()}", remedy)
    if answers is not None and answers.dtype.kind != "b":
        bad = (answers != 1) & (answers != -1)
        raise_for_rows(bad, lambda row: f"answer is {format_label(answers[row])}", "answers are +1 and -1, or bools")
    if weights is not None:
        bad = ~(np.isfinite(weights) & (weights >= 0))
        raise_for_rows(bad, lambda row: f"weight is {format_label(weights[row])}", "weights are finite and nonnegative")
    weight = float(len(objects) if weights is None else weights.sum(dtype=np.float64))
    return Extent(len(objects), objects.shape[1], lowest, highest, weight)
