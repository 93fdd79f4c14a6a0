"""The results that a report is made from, checked once, and what the page's script needs of them."""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.common.words import counted
from nearer.report.checks import HINT, LARGEST
from nearer.report.schema import LATER, SCHEMA
from nearer.report.wording import n_fitted, placed

FORMAT = 1
N_NEIGHBOURS = 5
KEYS = ("format", "embedding", "covariances", *SCHEMA)
# The script tells what is not known by null alone.
_OF_PEOPLE = ("name", "n_answers", "error", "low", "high", "median_seconds", "flags")


def checked(results: Any) -> Mapping[str, Any]:
    """Return the results as they came, or say what is wrong with them.

    Examples
    --------
    >>> checked({"format": 2})
    Traceback (most recent call last):
    ValueError: the results have the format 2, and this version of nearer reads format 1; write the results again with: nearer fit
    """  # noqa: E501
    if not isinstance(results, Mapping):
        raise ValueError(f"the results must be a JSON object; got {type(results).__name__}{HINT}")
    if results.get("format") != FORMAT:
        raise ValueError(
            f"the results have the format {reprlib.repr(results.get('format'))}, and this version of nearer reads "
            f"format {FORMAT}{HINT}"
        )
    missing = [key for key in KEYS if key not in results]
    if missing:
        raise ValueError(f"the results lack {', '.join(missing)}{HINT}")
    for key, check in (SCHEMA | LATER).items():
        check(results.get(key), key)
    _check_map(results)
    _check_charts(results)
    return results


def _check_map(results: Mapping[str, Any]) -> None:
    """Check that there is a place, and a value of each column, for each object."""
    n = len(results["objects"])
    p = _matrix(results["embedding"], "embedding", (n, None)).shape[1]
    if results["covariances"] is not None:
        variances = np.diagonal(_matrix(results["covariances"], "covariances", (n, p, p)), axis1=1, axis2=2)
        if variances.min() < 0:
            row = int(np.argwhere(variances < 0)[0, 0])
            raise ValueError(f"covariances: row {row} holds a variance below zero{HINT}")
        if len(results["scales"] or []) < min(p, 3):
            raise ValueError(f"scales must hold a number for each of 1, 2 and 3 dimensions shown{HINT}")
    for name, column in (results["attributes"] or {}).items():
        if len(column) != n:
            raise ValueError(
                f"attributes: the column {name!r} has {counted(len(column), 'value')} for {counted(n, 'object')}; "
                "give one for each"
            )
    if results["scree"] is not None:
        _check_length("scree", results["scree"], p)
    later = (placed(results) or {}).get("objects") or []
    if later and (len(later) >= n or list(results["objects"][-len(later) :]) != list(later)):
        raise ValueError(f"placed.objects must be the last of the objects{HINT}")


def _check_charts(results: Mapping[str, Any]) -> None:
    """Check that lists which are drawn together are equally long."""
    margins, choice = results["margins"], results["dimension"]
    if margins is not None:
        _check_length("margins.edges", margins["edges"], len(margins["counts"]) + 1)
        if any(right < left for left, right in itertools.pairwise(margins["edges"])):
            raise ValueError(f"margins.edges must ascend{HINT}")
    if choice is not None:
        for name in ("errors", "standard_errors"):
            if choice.get(name) is not None:
                _check_length(f"dimension.{name}", choice[name], len(choice["candidates"]))


def _check_length(place: str, values: Sequence[Any], wanted: int) -> None:
    if len(values) != wanted:
        raise ValueError(f"{place} must hold {counted(wanted, 'number')}; got {len(values)}{HINT}")


def _matrix(values: Any, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Return numbers of a given shape, None meaning at least one."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be rows of numbers of one length{HINT}") from None
    fits = array.ndim == len(shape) and all(
        have == want if want is not None else have >= 1 for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("p" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); got {array.shape}, and objects go by rows{HINT}")
    finite = np.abs(array) <= LARGEST
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise ValueError(f"{name}: row {row} holds a value that is not a finite number{HINT}")
    return array


def nearest_neighbours(
    embedding: NDArray[np.float64], k: int = N_NEIGHBOURS
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
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


def _rounded(array: NDArray[np.float64], digits: int) -> list[Any]:
    """Return nested lists of so many significant digits: a page of thousands of objects is half as long for it."""
    short = np.array([float(f"{value:.{digits}g}") for value in array.ravel()])
    nested: list[Any] = short.reshape(array.shape).tolist()
    return nested
