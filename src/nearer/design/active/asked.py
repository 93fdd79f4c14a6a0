"""Questions as they are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize


class Asked(Sequence[NDArray[Any]]):
    """Questions that were asked for: an array of labels, (k, width), and what each is for.

    Attributes
    ----------
    rows : ndarray of labels, shape (k, width)
        The head and those to compare with it, or the objects of a set; in the order in which they are shown.
    purposes : list of str
        What each is for: "start", "information", "test" or "repeat".

    Examples
    --------
    >>> some = Asked(np.array([["cat", "dog", "cow"]]), ["test"])
    >>> len(some), some[0].tolist(), some[:, 0].tolist(), some.purposes
    (1, ['cat', 'dog', 'cow'], ['cat'], ['test'])
    """

    def __init__(self, rows: NDArray[Any], purposes: list[str]) -> None:
        self.rows, self.purposes = rows, purposes

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Asked({pluralize(len(self), 'question')})"
