"""The objects that a table names: one list of labels, and positions in it for every cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.io.faults import Faults
from nearer.io.table import Codes, Column

LONGEST_LABEL = 2000
_OUTSIDE, _TOO_LONG = -2, -3


class Objects:
    """All labels of a table, sorted; integers if every one of them is an integer, else text.

    Parameters
    ----------
    columns : list of Column
    listed : iterable of str
        Labels that stand in lists.
    names : list, optional
        Labels that the integers in the columns are positions of.
    """

    def __init__(self, columns: list[Column], listed: Iterable[str] = (), names: list[Any] | None = None) -> None:
        self.named = names is not None
        values = {value for column in columns for value in column.values}
        more = set(listed)
        if names is not None:
            self.labels = list(names)
        elif all(isinstance(value, int) for value in values) and all(_is_integer(text) for text in more) and values:
            self.labels = sorted(values | {int(text) for text in more})
        else:
            self.labels = sorted(text for value in values | more if len(text := str(value)) <= LONGEST_LABEL)
            self.labels = list(dict.fromkeys(self.labels))
        self.position = {str(label): position for position, label in enumerate(self.labels)}

    def _place(self, value: Any) -> int:
        if self.named:
            return value if isinstance(value, int) and 0 <= value < len(self.labels) else _OUTSIDE
        return self.position.get(str(value), _TOO_LONG)

    def codes(self, column: Column, what: str, faults: Faults, must: bool = True) -> Codes:
        """Return positions of the objects in a column, -1 where there is none.

        Rows without an object are added to the faults if they ``must`` have one.
        """
        codes = np.asarray(column.mapped(self._place, -1, np.int32))
        if must:
            faults.add(codes == -1, f"there is no {what}")
        if self.named:
            faults.add(codes == _OUTSIDE, lambda row: f"{column.text(row)} is none of 0..{len(self.labels) - 1}")
        too_long = f"the {what} is longer than {LONGEST_LABEL} characters; a quote may have been left open"
        faults.add(codes == _TOO_LONG, too_long)
        return codes

    def array(self, kept: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """Return the labels, or those that are kept, as an array."""
        chosen = self.labels if kept is None else [label for label, keep in zip(self.labels, kept, strict=True) if keep]
        return label_array(chosen)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and len(text) < 18


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array of integers or of text."""
    if labels and all(isinstance(label, int) for label in labels):
        try:
            return np.array(labels, np.int64)
        except OverflowError:
            pass
    return np.array([str(label) for label in labels], np.str_)


def spread(values: list[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Return ``values[codes]`` as labels; long columns of long text share their strings."""
    labels = label_array(values)
    if labels.dtype.kind == "U" and labels.dtype.itemsize * len(codes) > 2**28:
        labels = labels.astype(object)
    return np.asarray(labels[codes])
