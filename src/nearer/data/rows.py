"""Checks at the border: rows become indices, and answers, weights and labels are read, or refused.

Every refusal names the first offending row, how many there are in all, and a remedy. The checks are
whole-array operations with a few one-byte masks alive at a time, so that tens of millions of rows pass in
about a second.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.frame_columns import names_of, row_order

Indices: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]

_LARGEST_N = 2**31  # beyond this an "index" is an identifier, and arange(n) would not fit in memory


def refuse(bad: Mask, what: Callable[[int], str], remedy: str) -> None:
    """Raise ValueError if any row of ``bad``, (m,) or (m, width), is set; ``what`` describes the first."""
    if not bad.any():
        return
    where = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))
    more = ""
    if len(where) > 1:
        listed = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        more = f" ({len(where)} such rows in all: {listed})"
    raise ValueError(f"row {where[0]}: {what(int(where[0]))}{more}; {remedy}")


def seal(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the caller's own array keeps its flags."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def show(label: Any) -> str:
    """Write a label as people would: 'cat', not np.str_('cat')."""
    return repr(label.item()) if isinstance(label, np.generic) and label.dtype.kind not in "mM" else repr(label)


def read_rows(rows: Any, widths: tuple[int, ...], n_objects: int | None, objects: Any) -> tuple[Indices, Labels]:
    """Return indices of shape (m, width) and the labels, (n,), that they point into."""
    table = _read_table(rows, widths)
    numeric = table.dtype.kind in "iuf"
    known = None if objects is None else read_objects(objects)
    n = None if n_objects is None else read_n_objects(n_objects)
    if known is not None and n is not None and len(known) != n:
        raise ValueError(f"n_objects={n}, but objects holds {len(known)} labels; leave n_objects out")
    if numeric and (known is None or are_indices(known)):
        n = n if known is None else len(known)
        indices, n = _read_indices(table, n)
        return indices, np.arange(n)
    labels, codes = factorize(table)
    unfit = _missing(labels) | np.array([_is_bool(label) for label in labels])
    if unfit.any():
        bad = unfit[codes]
        refuse(bad, lambda row: f"{_first(table, bad, row)} is no label", "drop such rows, or name the object")
    _refuse_two_types(labels, codes)
    if known is not None:
        return translate(codes, labels, known), known
    _warn_of_stray_column(codes, labels)
    if n is not None and n != len(labels):
        raise ValueError(f"n_objects={n}, but the rows hold {len(labels)} labels; name all objects with objects=[...]")
    return codes, labels


def _refuse_two_types(labels: Labels, codes: Indices) -> None:
    """Refuse objects that are numbers in some places and the same numbers as text in others."""
    if labels.dtype.kind != "O":
        return
    texts = {label for label in labels if isinstance(label, str)}
    twice = np.array([isinstance(label, Real) and str(label).removesuffix(".0") in texts for label in labels])
    if twice.any():
        refuse(
            twice[codes],
            lambda row: f"the object {show(labels[codes[row][twice[codes[row]]][0]])} is a number, and elsewhere text",
            "write all objects as text, or all as numbers: df.astype(str)",
        )


def _warn_of_stray_column(codes: Indices, labels: Labels) -> None:
    """Warn when one column of quadruplets has labels all of its own: most often an answer or a person."""
    if codes.shape[1] != 4 or len(codes) < 2:
        return
    for column in range(4):
        others = np.delete(codes, column, axis=1)
        if not np.isin(codes[:, column], others).any():
            warnings.warn(
                f"column {column + 1} of 4 holds labels, such as {show(labels[codes[0, column]])}, that no other "
                "column has; if it is the answer or the annotator, pass it as y or annotators and keep three columns",
                UserWarning,
                stacklevel=5,
            )


def _read_table(rows: Any, widths: tuple[int, ...]) -> NDArray[Any]:
    """Return rows as an (m, width) array of integers, finite floats, or labels."""
    if hasattr(rows, "toarray") and hasattr(rows, "nnz"):
        raise TypeError("sparse input is not supported: comparisons are rows of objects; pass rows.toarray()")
    if np.ma.is_masked(rows):
        refuse(np.ma.getmaskarray(rows), lambda _: "has a masked entry", "drop such rows")
    names = names_of(rows)
    if names is not None:
        table = _table_of_columns(rows, row_order(names), names)
    elif hasattr(rows, "to_numpy"):
        table = np.asarray(rows.to_numpy())
    elif isinstance(rows, np.ndarray) or hasattr(rows, "__array__"):
        table = np.asarray(rows)
    else:
        table = _table_of_sequence(rows)
    _check_shape(table, widths)
    if table.dtype.kind == "O" and all(isinstance(v, Real) and not _is_bool(v) for v in table.flat):
        table = np.asarray(table.tolist())
        table = table.astype(float) if table.dtype.kind == "O" else table  # integers beyond 64 bits
    if table.dtype.kind == "b":
        raise ValueError("rows are bool; pass indices 0..n-1 or labels")
    if table.dtype.kind == "f":
        refuse(np.isnan(table), lambda _: "an entry is NaN", "drop such rows")
        refuse(np.isinf(table), lambda _: "an entry is inf", "drop such rows")
    return table


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
    is_row = [isinstance(row, Sequence | np.ndarray) and not isinstance(row, str | bytes) for row in listed]
    if not any(is_row):
        return np.fromiter(listed, dtype=object, count=len(listed))
    refuse(
        ~np.array(is_row),
        lambda row: f"{listed[row]!r} is not a row of objects",
        "pass one sequence of 3 or 4 objects a row",
    )
    lengths = np.array([len(row) for row in listed])
    width = int(lengths[0])
    refuse(
        lengths != width,
        lambda row: f"has {lengths[row]} entries where row 0 has {width}",
        "give every row the same number of objects",
    )
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
        refuse(broken, lambda row: f"{_first(table, broken, row)} is not an integer", remedy)
    if table.dtype.kind != "u" and table.min() < 0:
        below = table < 0
        refuse(below, lambda row: f"index {_first(table, below, row)} is negative", remedy)
    highest = int(table.max())
    limit = _LARGEST_N if n is None else n
    if highest >= limit:
        above = table >= limit
        size = "the largest index supported" if n is None else f"n_objects={n}"
        refuse(
            above,
            lambda row: f"index {_first(table, above, row)} is out of range for {size}",
            remedy
            if n is None
            else f"give n_objects={highest + 1} when fitting, drop such rows, or subtract 1 if numbered from 1",
        )
    # Narrow and unsigned integers overflow in i * n + j and turn to floats next to int64: widen them.
    indices = table if table.dtype in (np.int32, np.int64) else table.astype(np.int64)
    if n is None and table.min() > 0:
        warnings.warn(
            f"index 0 never occurs, the lowest is {int(table.min())}; if the objects are numbered from 1, subtract 1; "
            "if these are identifiers, use Comparisons.from_triplets(rows, objects=np.unique(rows))",
            UserWarning,
            stacklevel=5,
        )
    return indices, highest + 1 if n is None else n


def _first(table: NDArray[Any], bad: Mask, row: int) -> str:
    return show(table[row][bad[row]][0])


def read_n_objects(n_objects: Any) -> int:
    """Return n_objects as a positive int."""
    if not isinstance(n_objects, Integral) or _is_bool(n_objects) or n_objects < 1:
        raise ValueError(f"n_objects={n_objects!r} is not a positive integer; pass the number of objects or None")
    return int(n_objects)


def read_objects(objects: Any) -> Labels:
    """Return distinct labels as a 1-D array of their own memory."""
    labels = read_labels(objects, "objects").copy()
    if len(labels) == 0:
        raise ValueError("objects is empty; pass at least one label, or leave it out")
    seen: dict[Any, int] = {}
    for position, label in enumerate([] if are_indices(labels) else _plain(labels)):
        if _hashed(seen, label, position) != position:
            raise ValueError(
                f"objects holds {show(label)} twice, at {seen[label]} and {position}; labels must be distinct"
            )
    return labels


def read_labels(values: Any, name: str, m: int | None = None) -> Labels:
    """Return labels as a 1-D array without missing ones, of length m if given."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} must be a sequence of labels, not {values!r}")
    labels = values if isinstance(values, np.ndarray) else _label_array(list(values))
    check_length(labels, name, m)
    missing = _missing(labels)
    refuse(missing, lambda row: f"{name} has no label ({show(labels[row])})", f"give every entry of {name} one")
    return labels


def check_length(values: NDArray[Any], name: str, m: int | None) -> None:
    """Refuse anything but one value a row."""
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {values.shape}; pass one value a row")
    if m is not None and len(values) != m:
        raise ValueError(f"{name} has {len(values)} values for {m} rows; pass one value a row")


def _label_array(labels: list[Any]) -> Labels:
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=np.str_)
    if all(isinstance(label, Integral) and not _is_bool(label) for label in labels):
        return np.array(labels)
    return np.fromiter(labels, dtype=object, count=len(labels))


def _missing(labels: Labels) -> Mask:
    if labels.dtype.kind in "fc":
        return np.isnan(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind in "OU":
        return np.fromiter((_is_missing(label) for label in labels.flat), bool, labels.size)
    return np.zeros(labels.shape, dtype=bool)


def _is_missing(label: Any) -> bool:
    if label is None or (isinstance(label, str) and not label.strip()):  # an empty cell of a spreadsheet
        return True
    try:
        return bool(label != label)  # NaN and NaT
    except (TypeError, ValueError):  # pandas.NA will not say; an array is no label, which hashing finds out
        return type(label).__name__ == "NAType"


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _plain(labels: Labels) -> list[Any]:
    """Python values, which hash alike whichever array held them; nanosecond dates would turn to integers."""
    plain: list[Any] = list(labels.flat) if labels.dtype.kind in "mM" else labels.ravel().tolist()
    return plain


def _hashed(codes: dict[Any, int], label: Any, code: int) -> int:
    try:
        return codes.setdefault(label, code)
    except TypeError:
        raise TypeError(
            f"label {label!r} cannot be hashed; a label argument must be a string, number or tuple"
        ) from None


def factorize(table: NDArray[Any]) -> tuple[Labels, NDArray[np.intp]]:
    """Return the distinct labels, sorted if they can be, and the table of their positions."""
    if table.dtype.kind in "biufUSmM":
        labels, codes = np.unique(table, return_inverse=True)
        return labels, codes.reshape(table.shape)
    found: dict[Any, int] = {}
    first_seen = np.fromiter((_hashed(found, v, len(found)) for v in _plain(table)), np.intp, table.size)
    first_seen = first_seen.reshape(table.shape)
    names = list(found)
    try:
        names.sort()
    except TypeError:
        return _label_array(names), first_seen
    rank = {name: position for position, name in enumerate(names)}
    return _label_array(names), np.array([rank[name] for name in found], dtype=np.intp)[first_seen]


def translate(indices: Indices, labels: Labels, objects: Labels) -> Indices:
    """Turn indices into ``labels`` into indices into ``objects``, which need only hold what rows mention."""
    if are_indices(labels) and are_indices(objects) and len(objects) >= len(labels):
        return indices
    position = {label: index for index, label in enumerate(_plain(objects))}
    new = np.array([position.get(label, -1) for label in _plain(labels)], dtype=np.intp)
    translated = new[indices]
    unknown = translated < 0
    refuse(
        unknown,
        lambda row: f"object {show(labels[indices[row][unknown[row]][0]])} is not among the {len(objects)} objects",
        "add it to the objects (on a fitted map: with place or partial_fit), or drop such rows",
    )
    return translated


def union(parts: Sequence[Labels]) -> Labels:
    """Return the labels found in any part, sorted if they can be, else in order of first appearance."""
    distinct = list(dict.fromkeys(label for part in parts for label in _plain(part)))
    return factorize(np.fromiter(distinct, dtype=object, count=len(distinct)))[0]


def are_indices(objects: Labels) -> bool:
    """Whether the labels are 0..n-1 in order."""
    return objects.dtype.kind in "iu" and bool(np.array_equal(objects, np.arange(len(objects))))


def same_labels(first: Labels, second: Labels) -> bool:
    """Whether two label arrays name the same objects in the same order."""
    if first is second or first.shape != second.shape:
        return first is second
    if first.dtype == second.dtype and first.dtype.kind != "O":
        return bool(np.array_equal(first, second))
    return _plain(first) == _plain(second)


def itself(rows: Indices) -> Mask:
    """Rows, (m,), in which an object is compared with itself."""
    bad = rows[:, 0] == rows[:, 1]
    bad |= (rows[:, 0] == rows[:, 2]) if rows.shape[1] == 3 else (rows[:, 2] == rows[:, 3])
    return np.asarray(bad)


def identical(rows: Indices) -> Mask:
    """Rows, (m,), whose near and far pair are the same pair."""
    if rows.shape[1] == 3:
        return np.asarray(rows[:, 1] == rows[:, 2])
    i, j, l, k = rows.T  # noqa: E741
    return np.asarray(((i == l) & (j == k)) | ((i == k) & (j == l)))


def shared_first(quadruplets: NDArray[Any]) -> NDArray[Any]:
    """Return near and far pairs, each in rising order, but an object that both have first in both.

    Examples
    --------
    >>> shared_first(np.array([[1, 0, 2, 1], [3, 2, 1, 0]])).tolist()
    [[1, 0, 1, 2], [2, 3, 0, 1]]
    """
    rows = np.column_stack([np.sort(quadruplets[:, :2], axis=1), np.sort(quadruplets[:, 2:], axis=1)])
    for near, far in ((0, 3), (1, 2), (1, 3)):
        shared = rows[:, near] == rows[:, far]
        if near == 1:
            rows[shared, :2] = rows[shared, 1::-1]
        if far == 3:
            rows[shared, 2:] = rows[shared, :1:-1]
    return rows


def refuse_degenerate(rows: Indices, objects: Labels) -> None:
    """Refuse rows that no answer could make informative."""
    remedy = "drop such rows with Comparisons.without_degenerate(rows, y)"

    def compared_with_itself(row: int) -> str:
        entries = rows[row]
        culprit = entries[2] if rows.shape[1] == 4 and entries[0] != entries[1] else entries[0]
        return f"object {show(objects[culprit])} is compared with itself"

    def same_pair(row: int) -> str:
        near = objects[rows[row, :2]]
        return f"near and far are the same pair, {show(near[0])} and {show(near[1])}"

    refuse(itself(rows), compared_with_itself, remedy)
    refuse(identical(rows), same_pair, remedy)
