"""What questions were asked for, as `nearer ask` writes it into a column: chosen ones are harder than others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import counted, digits
from nearer.io.table import Table

PURPOSE = "purpose"
CHOSEN, OTHER, _RANDOM = "information", "other", "test"
_KNOWN = frozenset(["start", CHOSEN, _RANDOM, "repeat", "catch", OTHER, "again"])


def purposes_of(table: Table, lines: NDArray[np.int64]) -> NDArray[np.str_] | None:
    """Return what each answer was asked for; None if there is no such column, or it says something else.

    Parameters
    ----------
    table : Table
    lines : ndarray of int
        Of the answers that count.
    """
    if table.names.count(PURPOSE) != 1:
        return None
    loaded = table.load([PURPOSE])
    purposes = loaded.columns[PURPOSE].mapped(str, "", object)[np.searchsorted(loaded.lines, lines)].astype(np.str_)
    return purposes if {*purposes.tolist(), ""} <= {*_KNOWN, ""} else None


def chosen_ones(purposes: NDArray[np.str_] | None) -> NDArray[np.bool_] | None:
    """Return which questions were chosen for what their answers tell; None if none was."""
    chosen = None if purposes is None else purposes == CHOSEN
    return chosen if chosen is not None and chosen.any() else None


def told_purposes(purposes: NDArray[np.str_], source: str) -> str:
    """Return a note about answers to chosen questions, over which an error would mislead."""
    n_chosen, n_random = (int((purposes == each).sum()) for each in (CHOSEN, _RANDOM))
    honest = f"that of the {counted(n_random, 'random one')}, which `nearer ask` tells, is honest"
    return (
        f"{source}: {digits(n_chosen)} of {counted(len(purposes), 'question')} were chosen for what their answers tell "
        "(column 'purpose'), and are harder than others: an error over all answers is too large; "
        + (honest if n_random else "with random ones among them, an honest one could be told")
    )
