"""What reading says, as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
