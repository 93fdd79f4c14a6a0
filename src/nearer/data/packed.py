"""Comparisons in the one layout that compiled loops take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST_COPIED = 4_000_000  # rows; 48 MB of triplets


class Rows(NamedTuple):
    """Comparisons as the loops take them.

    Attributes
    ----------
    objects : ndarray of int32 or int64, shape (m, 3) or (m, 4)
    answers : ndarray of int8, shape (m,), or (0,) if all are +1
    weights : ndarray of float64, shape (m,), or (0,) if all are 1
    """

    objects: NDArray[Any]
    answers: NDArray[np.int8]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, objects: NDArray[Any], answers: NDArray[Any] | None = None, weights: NDArray[Any] | None = None
    ) -> Rows:
        """Return rows in the one layout that the loops are compiled for, without a copy where it is theirs already.

        Compiling for 64 bit indices as well takes longer than copying: only where there are millions are they kept.
        """
        narrow = objects.dtype.itemsize > 4 and len(objects) <= _MOST_COPIED
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

    def __len__(self) -> int:
        return len(self.objects)
