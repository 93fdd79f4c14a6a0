"""Coordinates at the border: finite float64 arrays of shape (n, p), or a clear error."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
PointArray: TypeAlias = NDArray[Any]  # float64 or float32


def checked_points(points: ArrayLike | None, name: str) -> NDArray[np.float64]:
    """Return the coordinates as a finite float64 array of shape (n, p), or raise ValueError."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (n, p), one row for each object; got shape {array.shape}")
    refuse_nonfinite(array, name)
    return array


def refuse_nonfinite(array: NDArray[np.float64], name: str) -> None:
    """Raise ValueError if a row holds NaN or infinity."""
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{name} has NaN or infinite values in {int(bad.sum())} rows, "
            f"the first is row {int(bad.argmax())}; "
            "remove those objects, or fit again with stronger regularization"
        )


def is_dask(X: Any) -> bool:
    """Whether something is a collection of dask, such as an array or a dataframe; dask is not loaded to find out."""
    # Arrays of others, such as those of xarray, may have the method without anything lazy in them.
    return hasattr(type(X), "__dask_graph__") and type(X).__module__.split(".")[0] in ("dask", "dask_expr")
