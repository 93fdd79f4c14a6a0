"""Rows that cannot be used, collected with their reasons, then skipped or refused; and what to do about a file.

Advice is given as it is typed on the command line and as it is written in Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearer.io.answers import BadAnswers, BadRow
from nearer.io.table import MOST_BAD_ROWS_KEPT, Loaded

_SKIP = "--skip-bad (skip_bad=True) skips them"
_CATCH = (
    "If those that show an object twice are catch questions, name the column that marks them: "
    "--catch NAME (catch='NAME')"
)
_FLAGS = ("skip_bad", "separate_labels")  # settings that are said or not


@dataclass(frozen=True)
class Proposal:
    """Options that read a table, as they are typed and as they are written in Python, and what its first row then says.

    Examples
    --------
    >>> print(Proposal({"first_is": "1"}, {"items": "a+b+c", "odd": "pick"}))
    --columns items=a+b+c,odd=pick --first-is 1 (columns={'items': 'a+b+c', 'odd': 'pick'}, first_is='1')
    """

    settings: Mapping[str, str]
    columns: Mapping[str, str] = field(default_factory=dict)
    words: str = ""

    def __str__(self) -> str:
        typed, python = [], []
        for name, value in self.settings.items():
            option = f"--{name.replace('_', '-')}"
            typed.append(option if name in _FLAGS else f"{option} {shlex.quote(value)}")
            python.append(f"{name}=True" if name in _FLAGS else f"{name}={value!r}")
        if self.columns:
            typed.insert(0, f"--columns {shlex.quote(','.join(map('='.join, self.columns.items())))}")
            python.insert(0, f"columns={dict(self.columns)}")
        return f"{' '.join(typed)} ({', '.join(python)}){f': {self.words}' if self.words else ''}"


def tries(proposals: Sequence[Proposal]) -> str:
    """Return proposals as the last lines of a message."""
    ways = "\n or: ".join(map(str, proposals))
    return f"\nTry: {ways}" if proposals else ""


class Faults:
    """Rows found bad, each with its first reason."""

    def __init__(self, n_rows: int) -> None:
        self.bad = np.zeros(n_rows, bool)
        self.any_twice = False  # whether a row shows an object twice, as catch questions do
        self._found: list[tuple[NDArray[np.intp], Callable[[int], str]]] = []

    def add(self, mask: NDArray[np.bool_], reason: Callable[[int], str] | str) -> None:
        """Mark rows as bad; those that already are keep their reason."""
        new = np.flatnonzero(mask & ~self.bad)
        if len(new):
            self.bad[new] = True
            self._found.append((new, reason if callable(reason) else lambda _: reason))

    def add_twice(self, mask: NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        """Mark rows that show an object twice."""
        self.any_twice |= bool((mask & ~self.bad).any())
        self.add(mask, reason)

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
        raise BadAnswers(bad_rows, n_bad, f"{_SKIP}\n{_CATCH}" if faults.any_twice else _SKIP)
    if not any_left:
        if n_bad:
            raise BadAnswers(bad_rows, n_bad, f"no answer of {source} is left without them")
        raise ValueError(f"{source} holds no answer that compares anything")
    return tuple(bad_rows), n_bad


def without(role: str) -> str:
    """Return how to do without a column.

    Examples
    --------
    >>> without("trial")
    "--columns trial= (columns={'trial': None})"
    """
    return f"--columns {role}= (columns={{{role!r}: None}})"


def with_column(role: str) -> str:
    """Return how to say which column has a role.

    Examples
    --------
    >>> with_column("anchor")
    "--columns anchor=NAME,... (columns={'anchor': 'NAME', ...})"
    """
    return f"--columns {role}=NAME,... (columns={{{role!r}: 'NAME', ...}})"


def with_columns(roles: Iterable[str]) -> str:
    """Return how to say which columns have some roles.

    Examples
    --------
    >>> with_columns(["near", "far"])
    "--columns near=NAME,far=NAME (columns={'near': 'NAME', 'far': 'NAME'})"
    """
    named = dict.fromkeys(roles, "NAME")
    return f"--columns {','.join(f'{role}={name}' for role, name in named.items())} (columns={named})"


def as_column(role: str, name: str) -> str:
    """Return how to say that a column has a role.

    Examples
    --------
    >>> as_column("anchor", "stimulus")
    "--columns anchor=stimulus (columns={'anchor': 'stimulus'})"
    """
    return f"--columns {role}={name} (columns={{{role!r}: {name!r}}})"


def one_of(setting: str, values: Iterable[str]) -> str:
    """Return how to say which of some values a setting has.

    Examples
    --------
    >>> one_of("first_is", ["0", "1"])
    "--first-is 0 (first_is='0') or --first-is 1 (first_is='1')"
    """
    return " or ".join(f"--{setting.replace('_', '-')} {value} ({setting}={value!r})" for value in values)
