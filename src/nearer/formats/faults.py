"""Rows that cannot be used: collected with their reasons, then skipped or refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nearer.formats.answers import BadAnswers, BadRow
from nearer.formats.table import MOST_BAD_ROWS_KEPT, Loaded

_SKIP = "--skip-bad (skip_bad=True) skips them"


class Faults:
    """Rows found bad, each with its first reason."""

    def __init__(self, n_rows: int) -> None:
        self.bad = np.zeros(n_rows, bool)
        self._found: list[tuple[NDArray[np.intp], Callable[[int], str]]] = []

    def add(self, mask: NDArray[np.bool_], reason: Callable[[int], str] | str) -> None:
        """Mark rows as bad; those that already are keep their reason."""
        new = np.flatnonzero(mask & ~self.bad)
        if len(new):
            self.bad[new] = True
            self._found.append((new, reason if callable(reason) else lambda _: reason))

    def rows(self, source: str, lines: NDArray[np.int64]) -> list[BadRow]:
        """Return the first thousand, in the order of the file."""
        listed: list[tuple[int, Callable[[int], str]]] = []
        for rows, reason in self._found:
            listed += [(int(row), reason) for row in rows[:MOST_BAD_ROWS_KEPT]]
        listed.sort(key=lambda found: found[0])
        return [BadRow(source, int(lines[row]), reason(row)) for row, reason in listed[:MOST_BAD_ROWS_KEPT]]


def gather_bad(
    loaded: Loaded, faults: Faults, source: str, skip_bad: bool, any_left: bool
) -> tuple[tuple[BadRow, ...], int]:
    """Return the rows to be skipped, or refuse them."""
    bad_rows = sorted([*loaded.bad_rows, *faults.rows(source, loaded.lines)], key=lambda row: row.line)[
        :MOST_BAD_ROWS_KEPT
    ]
    n_bad = loaded.n_bad + int(faults.bad.sum())
    if n_bad and not skip_bad:
        raise BadAnswers(bad_rows, n_bad, _SKIP)
    if not any_left:
        if n_bad:
            raise BadAnswers(bad_rows, n_bad, f"no answer of {source} is left without them")
        raise ValueError(f"{source} holds no answer that compares anything")
    return tuple(bad_rows), n_bad
