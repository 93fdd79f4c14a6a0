"""Names of the columns of plain comparisons, and the columns of a frame in the order of a row.

Names are compared without case, spaces and punctuation. A frame is read by the names of its columns, whatever their
order. Columns that nobody named (0, 1, 2 in pandas, column_0, ... in polars) are those of an array, read by position.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Of each role of a triplet, the likeliest first.
TRIPLET: dict[str, tuple[str, ...]] = {
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
QUADRUPLET = (
    ("i", "j", "l", "k"),
    ("near1", "near2", "far1", "far2"),
    ("neara", "nearb", "fara", "farb"),
    ("nearer1", "nearer2", "farther1", "farther2"),
    ("a", "b", "c", "d"),
)
_MOST_LISTED = 12


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation.

    Examples
    --------
    >>> plain("More similar")
    'moresimilar'
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def row_order(names: Sequence[Any]) -> list[int]:
    """Return which columns make (anchor, near, far), or near pair and far pair.

    Raises
    ------
    ValueError
        If the names do not say so, or there are others.

    Examples
    --------
    >>> row_order(["Near", "far", "reference"])
    [2, 0, 1]
    >>> row_order(["far_2", "far_1", "near_1", "near_2"])
    [2, 3, 1, 0]
    >>> row_order([0, 1, 2])
    [0, 1, 2]
    """
    in_order = list(range(len(names)))
    if any(list(names) == [form(k) for k in in_order] for form in (int, str, "column_{}".format)):
        return in_order
    spelled = [plain(str(name)) for name in names]
    found = _quadruplet(spelled) or _triplet(spelled)
    if found is None:
        raise ValueError(
            f"the columns are called {_listed(names)}, which does not say what each of them is; rename them anchor, "
            "near and far (or near_1, near_2, far_1 and far_2), or pass an array, whose columns are read in that "
            "order: df.to_numpy()"
        )
    others = [name for at, name in enumerate(names) if at not in found]
    if others:
        used = [str(names[at]) for at in found]
        raise ValueError(
            f"beside {_listed(used)} there {'is' if len(others) == 1 else 'are'} {_listed(others)}; pass the columns "
            f"of objects alone, df[{used}], with answers as y and weights as sample_weight, or "
            "nearer.io.read_answers(df).comparisons, which reads who answered and the like, too"
        )
    return found


def _quadruplet(spelled: list[str]) -> list[int] | None:
    for spelling in QUADRUPLET:
        if all(name in spelled for name in spelling):
            return [spelled.index(name) for name in spelling]
    return None


def _triplet(spelled: list[str]) -> list[int] | None:
    found = [next((spelled.index(name) for name in each if name in spelled), -1) for each in TRIPLET.values()]
    return found if min(found) >= 0 else None


def _listed(names: Sequence[Any]) -> str:
    listed = ", ".join(repr(name if len(str(name)) <= 40 else f"{str(name)[:37]}...") for name in names[:_MOST_LISTED])
    return listed + (f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else "")
