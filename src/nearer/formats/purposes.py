"""What questions were asked for, as `nearer ask` writes it into a column: chosen ones are harder than others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearer.common.words import counted, digits
from nearer.formats.table import Table

PURPOSE = "purpose"
_CHOSEN, _RANDOM = "information", "test"
_KNOWN = frozenset(["start", _CHOSEN, _RANDOM, "repeat", "catch", "other", "again"])


def told_purposes(table: Table, lines: NDArray[np.int64]) -> tuple[str, ...]:
    """Return a note if answers are to chosen questions, over which an error would mislead.

    Parameters
    ----------
    table : Table
    lines : ndarray of int
        Of the answers that count.
    """
    if table.names.count(PURPOSE) != 1:
        return ()
    loaded = table.load([PURPOSE])
    purposes = loaded.columns[PURPOSE].mapped(str, "", object)[np.searchsorted(loaded.lines, lines)].tolist()
    if not {each for each in purposes if each} <= _KNOWN or _CHOSEN not in purposes:
        return ()
    n_random, n = purposes.count(_RANDOM), len(purposes)
    honest = f"that of the {counted(n_random, 'random one')}, which `nearer ask` tells, is honest"
    return (
        f"{table.source}: {digits(purposes.count(_CHOSEN))} of {counted(n, 'question')} were chosen for what their "
        "answers tell (column 'purpose'), and are harder than others: an error over all answers is too large; "
        + (honest if n_random else "with random ones among them, an honest one could be told"),
    )
