"""What to do about a file, as it is typed on the command line and as it is written in Python."""

from __future__ import annotations

from collections.abc import Iterable


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
