"""What the page's script reads: the map, its neighbours and the annotators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.report.wording import n_fitted

N_NEIGHBOURS = 5
# The script tells what is not known by null alone.
_OF_PEOPLE = ("name", "n_answers", "error", "low", "high", "median_seconds", "flags")


def nearest_neighbours(embedding: FloatArray, k: int = N_NEIGHBOURS) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the k nearest objects of each object, nearest first, and their distances.

    Examples
    --------
    >>> index, distance = nearest_neighbours(np.array([[0.0], [1.0], [3.0]]), k=1)
    >>> index.ravel().tolist(), distance.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    from scipy.spatial import cKDTree

    n = len(embedding)
    k = min(k, n - 1)
    if k == 0:
        return np.zeros((n, 0), dtype=np.int64), np.zeros((n, 0))
    found = cKDTree(embedding).query(embedding, k=k + 1)
    distance, index = np.asarray(found[0]), np.asarray(found[1])
    # An object is its own nearest, but among many at one place the tree may leave it out; then the farthest goes.
    own = index == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return index[~own].reshape(n, k).astype(np.int64), distance[~own].reshape(n, k)


def payload(results: Mapping[str, Any], thumbnails: Mapping[int, str]) -> dict[str, Any]:
    """Return what the page's script reads: the map, its neighbours and the annotators, in few digits."""
    embedding = np.array(results["embedding"], dtype=np.float64)
    index, distance = nearest_neighbours(embedding)
    covariances = results["covariances"]
    if covariances is not None:
        # A covariance is symmetric: its upper triangle, row by row, is all of it.
        upper = np.triu_indices(embedding.shape[1])
        covariances = _rounded(np.array(covariances, dtype=np.float64)[:, upper[0], upper[1]], 4)
    return {
        "objects": results["objects"],
        "attributes": results["attributes"] or {},
        "embedding": _rounded(embedding, 6),
        "covariances": covariances,
        "level": results["level"] or 0.95,
        "scales": results["scales"],
        "neighbours": index.tolist(),
        "distances": _rounded(distance, 4),
        "annotators": results["annotators"]
        and [{field: person.get(field) for field in _OF_PEOPLE} for person in results["annotators"]],
        "chance": (results["error"] or {}).get("chance"),
        "fitted": n_fitted(results),
        "thumbnails": {str(place): uri for place, uri in thumbnails.items()},
    }


def _rounded(array: FloatArray, digits: int) -> list[Any]:
    """Return nested lists of so many significant digits: a page of thousands of objects is half as long for it."""
    short = np.array([float(f"{value:.{digits}g}") for value in array.ravel()])
    nested: list[Any] = short.reshape(array.shape).tolist()
    return nested
