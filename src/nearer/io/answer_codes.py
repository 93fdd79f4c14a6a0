"""Answers that are numbers or truth values: which option each of them means.

A *coding* gives every such value a place. It is a property of the whole column. With two options:

- 1 and 2 count from 1;
- 0 and 1 either count from 0, or say with 1 that the first was chosen; +1 and -1 are "as written" and "the other way
  round", or left and right turned about on a line; true and false say whether something was chosen, and not what. None
  of these is guessed, unless a program is known to write them, or the column is named after the option (left_chosen);
- a single value all through the column (only 1, only 0) may be either.

With more options numbers count, from 0 if there is a 0, from 1 if there is the number of options, and are not guessed
if there is neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from nearer.data.labels import plain
from nearer.io.column_names import LEFT_CHOSEN, RIGHT_CHOSEN

_TRUTH = ("true", "false")
_AS_WRITTEN = {"1": 0, "true": 0, "-1": 1, "0": 1, "false": 1}


class UnclearCoding(ValueError):
    """Answers whose coding cannot be told."""


def integer(value: Any) -> int | None:
    """Return the whole number that a cell holds, or None."""
    text = str(value)
    return int(float(text)) if re.fullmatch(r"[+-]?\d{1,6}(\.0+)?", text) else None


def spelled(value: Any) -> str:
    """Return a value as codings know it: "+1" and "1.0" are "1", "TRUE" is "true".

    Examples
    --------
    >>> spelled("+1.0"), spelled("True"), spelled(" F ")
    ('1', 'true', 'f')
    """
    number = integer(value)
    return str(value).strip().casefold() if number is None else str(number)


def is_coded(value: Any) -> bool:
    """Whether a value is a number or a truth value."""
    return integer(value) is not None or spelled(value) in _TRUTH


@dataclass(frozen=True)
class Coding:
    """What is known of the answers of a table.

    Attributes
    ----------
    from_zero : bool
        Whether numbers count from 0.
    as_written : bool
        Whether 1 and true mean the first of two options, and -1, 0 and false the second.
    turned : bool
        Whether it is the second that 1 and true mean.
    first : str, optional
        The value that means the first option, as the caller says.
    """

    from_zero: bool = False
    as_written: bool = False
    turned: bool = False
    first: str | None = None

    @property
    def known(self) -> bool:
        """Whether numbers are codes, also where they could be objects."""
        return self.from_zero or self.as_written or self.first is not None

    def of_column(self, name: str) -> Coding:
        """Return what is known of a column with such a name."""
        if self.first is None and not self.from_zero and plain(name) in (*LEFT_CHOSEN, *RIGHT_CHOSEN):
            return replace(self, as_written=True, turned=plain(name) in RIGHT_CHOSEN)
        return self

    def counts_from(self) -> int:
        """Return the number that means the first of many options."""
        number = None if self.first is None else integer(self.first)
        if number is None:
            raise ValueError(
                f"first_is={self.first!r}: it must be a number where there are more than two options; if the answers "
                "are no numbers, write the name or the position of what was chosen"
            )
        return number

    def places(self, values: Iterable[Any], n_options: int) -> dict[str, int] | None:
        """Return the place of every value; None if that cannot be told.

        ``values`` are all distinct answers that name no option.
        """
        present = {spelled(value) for value in values}
        if self.first is not None:
            return self._said(present, n_options)
        if self.as_written and n_options == 2:
            return {value: 1 - place if self.turned else place for value, place in _AS_WRITTEN.items()}
        numbers = {number for value in present if (number := integer(value)) is not None}
        if self.from_zero and n_options in numbers:
            return None  # the last of them would be the number before
        if self.from_zero or self.as_written:
            return {str(place): place for place in range(n_options)}
        if present & set(_TRUTH) or (n_options == 2 and numbers & {0, -1}):
            return None
        zero, last = 0 in numbers, n_options in numbers  # other numbers are mistakes, and found row by row
        return None if zero == last else {str(place + (not zero)): place for place in range(n_options)}

    def _said(self, present: set[str], n_options: int) -> dict[str, int]:
        first = spelled(self.first)
        if n_options > 2:
            least = self.counts_from()
            return {str(place + least): place for place in range(n_options)}
        others = sorted(present - {first})
        number = integer(first)
        after = None if number is None else str(number + 1)
        if len(others) > 1 and after not in others:
            listed = ", ".join(map(repr, others[:6]))
            raise ValueError(f"first_is={self.first!r}: which of {listed} means the second option cannot be told")
        if first not in present and after not in others and len(others) != 1:
            raise ValueError(f"first_is={self.first!r}: no answer is {first!r}")
        second = after if after in others else (others[0] if others else None)
        return {first: 0} if second is None else {first: 0, second: 1}


def candidates(values: Iterable[Any], n_options: int) -> tuple[str, str]:
    """Return two values that may mean the first option.

    Examples
    --------
    >>> candidates([0, 1], 2), candidates(["True", "False"], 2), candidates([1, -1], 2), candidates([1, 2], 3)
    (('0', '1'), ('true', 'false'), ('1', '-1'), ('0', '1'))
    """
    present = {spelled(value) for value in values}
    if present & set(_TRUTH):
        return _TRUTH
    if len(present) == 2 and not any(integer(value) is not None for value in present):
        first, second = sorted(present)
        return first, second
    return ("1", "-1") if "-1" in present and n_options == 2 else ("0", "1")
