"""The columns in which questions are written, so that their answers are read back without a word about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def columns_shown(shown: Sequence[Any], kind: str) -> dict[str, str]:
    """Return the objects of a question by the columns that are read back.

    Parameters
    ----------
    shown : sequence of labels
        As they stand, from left to right; first the one that others are compared with, where there is one.
    kind : str
        "triplet", "odd-one-out", "most-central", or a grid such as "2 of 8".

    Examples
    --------
    >>> columns_shown(("cat", "dog", "cow"), "triplet")
    {'anchor': 'cat', 'left': 'dog', 'right': 'cow'}
    >>> columns_shown(("cat", "dog", "cow"), "odd-one-out")
    {'object_1': 'cat', 'object_2': 'dog', 'object_3': 'cow'}
    """
    labels = [str(label) for label in shown]
    if kind == "triplet":
        return dict(zip(("anchor", "left", "right"), labels, strict=True))
    if kind in ("odd-one-out", "most-central"):
        return {f"object_{at}": label for at, label in enumerate(labels, 1)}
    return {"anchor": labels[0]} | {f"shown_{at}": label for at, label in enumerate(labels[1:], 1)}
