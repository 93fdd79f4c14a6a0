"""Labels, answers and weights of rows, and names of columns: read, numbered, translated and joined.

What is bad is refused with its first row, the number of such rows in all, and a remedy. Names of columns are compared
without case, spaces and punctuation. A data frame is read by the names of its columns, whatever their order; columns
that nobody named (0, 1, 2 in pandas, column_0, ... in polars) are those of an array, read by position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
_MAX_TABLE = 4  # times as many entries as codes has the table by which they are numbered


def raise_for_rows(bad: Mask, what: Callable[[int], str], remedy: str) -> None:
    """Raise ValueError if any row of ``bad``, (m,) or (m, width), is set; ``what`` describes the first."""
    if not bad.any():
        return
    where = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))
    more = ""
    if len(where) > 1:
        listed = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        more = f" ({len(where)} such rows in all: {listed})"
    raise ValueError(f"row {where[0]}: {what(int(where[0]))}{more}; {remedy}")


def _check_length(values: NDArray[Any], name: str, m: int | None) -> None:
    """Refuse anything but one value a row."""
    if values.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {values.shape}; pass one value a row")
    if m is not None and len(values) != m:
        raise ValueError(f"{name} has {len(values)} values for {m} rows; pass one value a row")


def format_label(label: Any) -> str:
    """Write a label as people would: 'cat', not np.str_('cat')."""
    return repr(label.item()) if isinstance(label, np.generic) and label.dtype.kind not in "mM" else repr(label)


def read_objects(objects: Any) -> Labels:
    """Return distinct labels as a 1-D array of their own memory."""
    labels = read_labels(objects, "objects").copy()
    if len(labels) == 0:
        raise ValueError("objects is empty; pass at least one label, or leave it out")
    seen: dict[Any, int] = {}
    for position, label in enumerate([] if are_indices(labels) else _python_values(labels)):
        if _code_of(seen, label, position) != position:
            raise ValueError(
                f"objects holds {format_label(label)} twice, at {seen[label]} and {position}; labels must be distinct"
            )
    return labels


def read_labels(values: Any, name: str, m: int | None = None) -> Labels:
    """Return labels as a 1-D array without missing ones, of length m if given."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} must be a sequence of labels, not {values!r}")
    labels = values if isinstance(values, np.ndarray) else _label_array(list(values))
    _check_length(labels, name, m)
    remedy = f"give every entry of {name} one"
    raise_for_rows(is_missing(labels), lambda row: f"{name} has no label ({format_label(labels[row])})", remedy)
    return labels


def _label_array(labels: list[Any]) -> Labels:
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=np.str_)
    if all(isinstance(label, Integral) and not is_bool(label) for label in labels):
        return np.array(labels)
    return np.fromiter(labels, dtype=object, count=len(labels))


def is_missing(labels: Labels) -> Mask:
    """Return which labels are none: NaN, None or blank text."""
    if labels.dtype.kind in "fc":
        return np.isnan(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind in "OU":
        return np.fromiter(map(_is_missing_label, labels.flat), bool, labels.size)
    return np.zeros(labels.shape, dtype=bool)


def _is_missing_label(label: Any) -> bool:
    if label is None or (isinstance(label, str) and not label.strip()):  # an empty cell of a spreadsheet
        return True
    try:
        return bool(label != label)  # NaN and NaT
    except (TypeError, ValueError):  # pandas.NA will not say; an array is no label, which hashing finds out
        return type(label).__name__ == "NAType"


def is_bool(value: Any) -> bool:
    """Whether a value is a bool of Python or NumPy."""
    return isinstance(value, bool | np.bool_)


def _python_values(labels: Labels) -> list[Any]:
    """Python values, which hash alike whichever array held them; nanosecond dates would turn to integers."""
    return list(labels.flat) if labels.dtype.kind in "mM" else labels.ravel().tolist()


def _code_of(codes: dict[Any, int], label: Any, code: int) -> int:
    try:
        return codes.setdefault(label, code)
    except TypeError:
        message = f"label {label!r} cannot be hashed; a label argument must be a string, number or tuple"
        raise TypeError(message) from None


def number_codes(codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct codes, nonnegative integers, in order, and the positions of all: `numpy.unique` by a table.

    It takes a tenth of the time where the largest code is not much larger than the number of codes.
    """
    present = np.zeros(int(codes.max()) + 1, dtype=bool)
    present[codes] = True
    labels = np.flatnonzero(present)
    positions = np.zeros(len(present), dtype=np.intp)
    positions[labels] = np.arange(len(labels))
    return labels.astype(codes.dtype), positions[codes]


def factorize(table: NDArray[Any]) -> tuple[Labels, NDArray[np.intp]]:
    """Return the distinct labels, sorted if they can be, and the table of their positions."""
    if table.dtype.kind in "iu" and table.size and table.min() >= 0 and table.max() < _MAX_TABLE * table.size:
        return number_codes(table)
    if table.dtype.kind in "biufUSmM":
        labels, codes = np.unique(table, return_inverse=True)
        return labels, codes.reshape(table.shape)
    found: dict[Any, int] = {}
    codes = np.fromiter((_code_of(found, value, len(found)) for value in _python_values(table)), np.intp, table.size)
    names = list(found)
    with suppress(TypeError):  # what cannot be sorted stays in order of appearance
        names = sorted(found)
    rank = {name: position for position, name in enumerate(names)}
    ranks = np.array([rank[name] for name in found], dtype=np.intp)
    return _label_array(names), ranks[codes].reshape(table.shape)


def translate(indices: Indices, labels: Labels, objects: Labels) -> Indices:
    """Turn indices into ``labels`` into indices into ``objects``, which need only hold what rows mention."""
    if are_indices(labels) and are_indices(objects) and len(objects) >= len(labels):
        return indices
    position = {label: index for index, label in enumerate(_python_values(objects))}
    new = np.array([position.get(label, -1) for label in _python_values(labels)], dtype=np.intp)
    translated = new[indices]
    unknown = translated < 0

    def described(row: int) -> str:
        label = labels[indices[row][unknown[row]][0]]
        return f"object {format_label(label)} is not among the {len(objects)} objects"

    remedy = "add it to the objects (on a fitted map: with place or partial_fit), or drop such rows"
    raise_for_rows(unknown, described, remedy)
    return translated


def are_indices(objects: Labels) -> bool:
    """Whether the labels are 0..n-1 in order."""
    return objects.dtype.kind in "iu" and bool(np.array_equal(objects, np.arange(len(objects))))


def same_labels(first: Labels, second: Labels) -> bool:
    """Whether two label arrays name the same objects in the same order."""
    if first is second or first.shape != second.shape:
        return first is second
    if first.dtype == second.dtype and first.dtype.kind != "O":
        return bool(np.array_equal(first, second))
    return _python_values(first) == _python_values(second)


def merge_objects(parts: list[Labels]) -> Labels:
    """Return the labels found in any part, sorted if they can be; of plain indices, as many as the largest has."""
    if all(same_labels(parts[0], part) for part in parts[1:]):
        return parts[0]
    if all(map(are_indices, parts)):
        return max(parts, key=len)
    distinct = dict.fromkeys(label for part in parts for label in _python_values(part))
    return factorize(np.fromiter(distinct, dtype=object, count=len(distinct)))[0]


def join_labels(parts: list[Labels | None], name: str) -> Labels | None:
    """Return the labels of rows one after the other, in all parts or in none."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) < len(parts):
        raise ValueError(f"{len(present)} of {len(parts)} parts have {name}; give {name} to all parts or to none")
    if len({part.dtype.kind for part in present}) > 1:
        present = [part.astype(object) for part in present]  # or NumPy would turn the label 1 into "1"
    return np.concatenate(present)


def read_answers(y: Any, m: int) -> NDArray[np.int8]:
    """Return answers as +1 and -1."""
    answers = _read_numbers(y, "y", m, "pass +1 and -1, or bools")
    if answers.dtype.kind == "b":
        return np.where(answers, np.int8(1), np.int8(-1))
    bad = (answers != 1) & (answers != -1)
    if ((answers == 0) | (answers == 1)).all():
        advice = "for 0 and 1: np.where(np.asarray(y) == 1, 1, -1) if 1 means as written"
    else:
        advice = "drop the rows of other codes, such as 'cannot tell', first"
    raise_for_rows(bad, lambda row: f"y is {format_label(answers[row])}", f"pass +1 and -1, or bools; {advice}")
    return answers.astype(np.int8, copy=False)


def read_weights(weights: Any, m: int) -> NDArray[np.float64]:
    """Return finite nonnegative weights, not all zero."""
    values = _read_numbers(weights, "weights", m, "pass nonnegative numbers").astype(np.float64, copy=False)
    remedy = "weights must be finite and nonnegative"
    raise_for_rows(np.isinf(values), lambda row: f"weight is {format_label(values[row])}", remedy)
    raise_for_rows(values < 0, lambda row: f"weight {format_label(values[row])} is negative", remedy)
    refuse_all_zero(values)
    if not np.isfinite(values.sum()):
        raise ValueError("the sum of the weights is infinite; scale them down")
    return values


def read_flags(values: Any, name: str, m: int) -> Mask:
    """Return bools."""
    flags = _read_numbers(values, name, m, "pass bools")
    if flags.dtype.kind != "b":
        raise_for_rows((flags != 0) & (flags != 1), lambda row: f"{name} is {format_label(flags[row])}", "pass bools")
    return flags.astype(np.bool_)


def refuse_all_zero(weights: NDArray[np.float64]) -> None:
    """Refuse weights under which no row counts."""
    if not weights.any():
        raise ValueError("all weights are zero; give at least one row a positive weight")


def _read_numbers(values: Any, name: str, m: int, remedy: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if numbers.dtype.kind == "O":
            numbers = np.asarray(numbers.tolist())
    except (TypeError, ValueError):  # ragged
        raise ValueError(f"{name} is not a 1-D array of numbers; {remedy}") from None
    if numbers.dtype.kind == "O":
        no_number = np.array([not isinstance(value, Real) for value in numbers.ravel()])
        raise_for_rows(no_number, lambda row: f"{name} is {format_label(numbers.flat[row])}", remedy)
    if numbers.dtype.kind not in "biuf":
        first = format_label(numbers.flat[0]) if numbers.size else "nothing"
        raise ValueError(
            f"{name} holds text or other values that are no numbers (first: {first}), expected numbers for {m} rows; "
            f"{remedy}; numbers read as text: [float(v) for v in {name}]"
            + (f"; words: [v == {first} for v in y]" if name == "y" else "")
        )
    _check_length(numbers, name, m)
    if numbers.dtype.kind == "f":
        raise_for_rows(np.isnan(numbers), lambda _: f"{name} is NaN", f"{remedy}; drop rows without a value")
    return numbers


# Of each role of a triplet, the likeliest first.
TRIPLET_NAMES: dict[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "anchor": "anchor reference ref head center centre pivot probe query standard target cue sample anchorobject "
        "anchorid anchoritem anchorimage referenceobject referenceitem targetobject targetitem i",
        "near": "near nearer closer closest similar moresimilar mostsimilar winner positive chosen selected nearobject "
        "j",
        "far": "far farther further farthest lesssimilar leastsimilar dissimilar loser negative rejected unchosen "
        "notchosen notselected farobject k",
    }.items()
}
# Near pair and far pair.
QUADRUPLET_NAMES = (
    ("i", "j", "l", "k"),
    ("near1", "near2", "far1", "far2"),
    ("neara", "nearb", "fara", "farb"),
    ("nearer1", "nearer2", "farther1", "farther2"),
    ("a", "b", "c", "d"),
)
MAX_LISTED_NAMES = 12


def normalize_name(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


def object_columns(names: Sequence[Any]) -> list[int]:
    """Return which columns make (anchor, near, far), or near pair and far pair."""
    in_order = list(range(len(names)))
    if any(list(names) == [form(k) for k in in_order] for form in (int, str, "column_{}".format)):
        return in_order
    spelled = [normalize_name(str(name)) for name in names]
    triplet = [next((name for name in each if name in spelled), None) for each in TRIPLET_NAMES.values()]
    wanted = next((names for names in (*QUADRUPLET_NAMES, triplet) if all(name in spelled for name in names)), None)
    if wanted is None:
        raise ValueError(
            f"the columns are called {_format_names(names)}, which does not say what each of them is; rename them "
            "anchor, near and far (or near_1, near_2, far_1 and far_2), or pass an array, whose columns are read "
            "in that order: df.to_numpy()"
        )
    found = [spelled.index(str(name)) for name in wanted]
    others = [name for at, name in enumerate(names) if at not in found]
    if others:
        used = [str(names[at]) for at in found]
        raise ValueError(
            f"besides {_format_names(used)} there {'is' if len(others) == 1 else 'are'} {_format_names(others)}; "
            f"pass the columns of objects alone, df[{used}], with answers as y and weights as sample_weight, or "
            "nearer.io.read_answers(df).comparisons, which reads who answered and the like, too"
        )
    return found


def _format_names(names: Sequence[Any]) -> str:
    listed = [repr(name if len(str(name)) <= 40 else f"{str(name)[:37]}...") for name in names[:MAX_LISTED_NAMES]]
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return ", ".join(listed) + more
