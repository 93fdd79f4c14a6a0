"""A small language of checks: each takes a value and its place in the results, and says what is wrong or nothing."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

Check: TypeAlias = Callable[[Any, str], None]

HINT = "; write the results again with: nearer fit"
# Far beyond any map, and its square is still a number.
LARGEST = 1e100
_DEEPEST = 20


def refuse(place: str, wanted: str, value: Any) -> NoReturn:
    """Say what a place should hold, and what it holds.

    Examples
    --------
    >>> refuse("level", "a number", "x")
    Traceback (most recent call last):
    ValueError: level must be a number; got 'x'; write the results again with: nearer fit
    """
    raise ValueError(f"{place} must be {wanted}; got {reprlib.repr(value)}{HINT}")


def string(value: Any, place: str) -> None:
    """Want a string."""
    if not isinstance(value, str):
        refuse(place, "a string", value)


def boolean(value: Any, place: str) -> None:
    """Want true or false."""
    if not isinstance(value, bool):
        refuse(place, "true or false", value)


def number(low: float = -LARGEST, high: float = LARGEST) -> Check:
    """Want a finite number within bounds.

    Examples
    --------
    >>> number(0, 1)(5, "error.map")
    Traceback (most recent call last):
    ValueError: error.map must be a number from 0 to 1; got 5; write the results again with: nearer fit
    """
    words = "a finite number"
    if low > -LARGEST:
        words = f"a finite number of {low:g} or more" if high == LARGEST else f"a number from {low:g} to {high:g}"

    def check(value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            refuse(place, words, value)

    return check


def whole(low: int = 0, high: float = LARGEST) -> Check:
    """Want a whole number within bounds."""
    words = f"a whole number of {low} or more" if high == LARGEST else f"a whole number from {low} to {high}"

    def check(value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            refuse(place, words, value)

    return check


def one_of(*names: str) -> Check:
    """Want one of a few strings."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, str) or value not in names:
            refuse(place, f"one of {', '.join(names)}", value)

    return check


def maybe(wanted: Check) -> Check:
    """Want nothing, which is null, or else what is wanted."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            wanted(value, place)

    return check


def list_of(wanted: Check, least: int = 0) -> Check:
    """Want a list of so many or more, each being what is wanted.

    Examples
    --------
    >>> list_of(string)(["a", None], "notes")
    Traceback (most recent call last):
    ValueError: notes[1] must be a string; got None; write the results again with: nearer fit
    """

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list | tuple):
            refuse(place, "a list", value)
        if len(value) < least:
            refuse(place, f"a list of {least} or more", value)
        for index, item in enumerate(value):
            wanted(item, f"{place}[{index}]")

    return check


def mapping_of(wanted: Check) -> Check:
    """Want an object with any names, each value being what is wanted."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            refuse(place, "an object", value)
        for name, item in value.items():
            wanted(item, f"{place}[{reprlib.repr(name)}]")

    return check


def both(one: Check, other: Check) -> Check:
    """Want what passes two checks."""

    def check(value: Any, place: str) -> None:
        one(value, place)
        other(value, place)

    return check


def record(needs: Mapping[str, Check], allows: Mapping[str, Check] | None = None) -> Check:
    """Want an object that has the fields it needs; those that it allows may be null or left out.

    Examples
    --------
    >>> record({"text": string}, {"doi": string})({"doi": None}, "citations[0]")
    Traceback (most recent call last):
    ValueError: citations[0] lacks text; write the results again with: nearer fit
    """
    checks = {**needs, **{name: maybe(check) for name, check in (allows or {}).items()}}

    def check(value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            refuse(place, "an object", value)
        missing = [name for name in needs if name not in value]
        if missing:
            raise ValueError(f"{place} lacks {', '.join(missing)}{HINT}")
        for name, item_check in checks.items():
            if name in value:
                item_check(value[name], f"{place}.{name}")

    return check


def scalar(value: Any, place: str) -> None:
    """Want a string, a finite number, true, false or null."""
    if value is not None and not isinstance(value, str | bool):
        number()(value, place)


def plain(value: Any, place: str, depth: int = 0) -> None:
    """Want any JSON that is not nested beyond all reason."""
    if depth > _DEEPEST:
        raise ValueError(f"{place[:40]}... must be nested at most {_DEEPEST} deep{HINT}")
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            plain(item, f"{place}[{index}]", depth + 1)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            plain(item, f"{place}[{reprlib.repr(name)}]", depth + 1)
    else:
        scalar(value, place)
