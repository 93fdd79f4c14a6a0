"""Results as they are read: their format is known, every key holds what it should, and lists fit together.

Results are files, and files get damaged and edited. All that a report is made of is looked at once, here, and trusted
from then on.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.common.words import counted
from nearer.study.older_results import from_format_1, with_what_follows
from nearer.study.schema import FORMAT, KEYS, SCHEMA
from nearer.study.schema_checks import HINT, LARGEST


def checked(results: Any) -> Mapping[str, Any]:
    """Return the results in the present format, or say what is wrong with them.

    Examples
    --------
    >>> checked({"format": 3})
    Traceback (most recent call last):
    ValueError: the results have the format 3, and this version of nearer reads formats 1 and 2; write the results again with: nearer fit
    """  # noqa: E501
    if not isinstance(results, Mapping):
        raise ValueError(f"the results must be a JSON object; got {type(results).__name__}{HINT}")
    older = results.get("format") == 1
    known = from_format_1(results) if older else results
    if known.get("format") != FORMAT:
        raise ValueError(
            f"the results have the format {reprlib.repr(results.get('format'))}, and this version of nearer reads "
            f"formats 1 and {FORMAT}{HINT}"
        )
    missing = [key for key in KEYS if key not in known]
    if missing:
        raise ValueError(f"the results lack {', '.join(missing)}{HINT}")
    for key, check in SCHEMA.items():
        check(known[key], key)
    _check_map(known)
    _check_charts(known)
    return with_what_follows(known) if older else known


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
    later = (results["placed"] or {}).get("objects") or []
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


def _matrix(values: Any, name: str, shape: tuple[int | None, ...]) -> FloatArray:
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
