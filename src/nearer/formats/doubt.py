"""Tables that can be read in several ways: what each reading makes of the first answer, in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from nearer.formats.advice import of_kind
from nearer.formats.answers import Answers
from nearer.formats.coding import UnclearCoding
from nearer.formats.columns import Unclear
from nearer.formats.layouts import listing
from nearer.formats.table import shortened


def settled(
    unclear: Unclear, names: tuple[str, ...], source: str, read: Callable[[str, str | None, bool], Answers]
) -> Answers:
    """Return the answers if all readings that are possible say the same, or raise an error that shows them.

    Parameters
    ----------
    unclear : Unclear
        With the kinds that the columns allow.
    names : tuple of str
        Columns of the table.
    source : str
    read : callable
        Takes a kind, what means the first option, and whether to skip bad rows; returns the answers read so.
    """
    found: dict[str, Answers] = {}
    counted: dict[str, ValueError] = {}
    errors: list[ValueError] = []
    for kind in unclear.kinds:
        try:
            found[kind] = read(kind, None, True)
        except UnclearCoding as error:  # it may well be of this kind
            counted[kind] = error
            with suppress(ValueError):
                found[kind] = read(kind, "1", True)
        except ValueError as error:
            errors.append(error)
    kinds = [kind for kind in unclear.kinds if kind in found or kind in counted]
    if not kinds:
        raise errors[0]
    said = [_said(answers) for answers in found.values()]
    if not counted and all(each == said[0] for each in said):
        return read(kinds[0], None, False)
    if len(kinds) == 1:
        raise counted[kinds[0]]
    readings = [
        f"read as {kind}{', where 1 means the first,' if kind in counted else ','} {in_words(answers)}"
        for kind, answers in found.items()
    ]
    raise Unclear(
        f"{unclear.prompts}{source} has the columns {listing(names)}, which can be read in several ways. Its first "
        f"answer: {'; '.join(readings)}. Say {of_kind(kinds)}",
        kinds,
    )


def _said(answers: Answers) -> list[tuple[object, ...]]:
    comparisons = answers.comparisons
    return sorted(map(tuple, comparisons.objects[comparisons.oriented].astype(str).tolist()))


def in_words(answers: Answers) -> str:
    """Return what the first answer says.

    Examples
    --------
    >>> from nearer.formats import read_answers
    >>> print(in_words(read_answers({"item1": ["cat"], "item2": ["car"], "item3": ["dog"], "odd": ["car"]})))
    'car' is the odd one of 'car', 'cat', 'dog'
    """
    comparisons = answers.comparisons
    rows = comparisons.oriented[answers.answer_of == 0]

    def names(codes: object) -> str:
        return ", ".join(shortened(label) for label in comparisons.objects[np.unique(np.asarray(codes))].tolist())

    anchor, near, other, far = rows[0]
    if answers.kind in ("odd-one-out", "most-central"):
        odd = answers.kind == "odd-one-out"
        return f"{names(far if odd else near)} is the {'odd one' if odd else 'most central'} of {names(rows)}"
    if answers.kind == "quadruplet":
        return f"{names([anchor, near])} are more alike than {names([other, far])}"
    if answers.kind == "ranking":
        return f"{names(anchor)} is nearest to {names(near)} of {names(rows[:, [1, 3]])}"
    return f"{names(anchor)} is nearer to {names(rows[:, 1])} than to {names(rows[:, 3])}"
