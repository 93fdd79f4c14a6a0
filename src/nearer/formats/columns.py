"""Which column holds what, found by the names people give to columns.

A *role* is what a column means; a *layout* is a set of roles that makes a kind of question complete. Where columns make
several layouts, one that explains all the columns of another goes before it. Several items and an answer without a word
on whether it is the odd or the central one make two kinds of question, and are never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearer._names import QUADRUPLET, plain
from nearer.formats.advice import of_kind, with_column
from nearer.formats.answers import KINDS, Kind
from nearer.formats.names import STEMS, SYNONYMS, by_plain, families, numbered

_TWO = [
    ("left", "right"),
    ("leftobject", "rightobject"),
    ("leftitem", "rightitem"),
    ("leftimage", "rightimage"),
    ("objectleft", "objectright"),
    ("itemleft", "itemright"),
    ("stimulusleft", "stimulusright"),
    ("imageleft", "imageright"),
    *((stem + "1", stem + "2") for stem in [*STEMS, "comparison", "test"]),
    *((stem + "a", stem + "b") for stem in [*STEMS, "comparison", "test"]),
    ("first", "second"),
    ("a", "b"),
    ("b", "c"),
    ("j", "k"),
]
_PAIRS = [
    ("left1", "left2", "right1", "right2"),
    ("lefta", "leftb", "righta", "rightb"),
    ("pair11", "pair12", "pair21", "pair22"),
    ("pair1a", "pair1b", "pair2a", "pair2b"),
    ("a1", "a2", "b1", "b2"),
    ("first1", "first2", "second1", "second2"),
    *((stem + "1", stem + "2", stem + "3", stem + "4") for stem in STEMS),
    ("a", "b", "c", "d"),
]
TWO = ("left", "right")
NEAR_FAR, PAIRS = ("near_1", "near_2", "far_1", "far_2"), ("left_1", "left_2", "right_1", "right_2")
_FAMILIES: dict[tuple[str, ...], list[Any]] = {TWO: _TWO, NEAR_FAR: list(QUADRUPLET), PAIRS: _PAIRS}
LISTS = ("items", "shown", "chosen", "ranking")
_EXTRAS = ("annotator", "trial", "seconds", "confidence", "weight")

Roles = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """A kind of question, and the roles that it takes."""

    kind: Kind
    roles: tuple[str, ...]


LAYOUTS = (
    Layout("triplet", ("anchor", *TWO, "answer")),
    Layout("triplet", ("anchor", "near", "far")),
    Layout("quadruplet", (*PAIRS, "answer")),
    Layout("quadruplet", NEAR_FAR),
    Layout("odd-one-out", ("items", "odd")),
    Layout("most-central", ("items", "central")),
    Layout("grid", ("anchor", "shown", "chosen")),
    Layout("ranking", ("anchor", "ranking")),
)
ROLES = tuple(dict.fromkeys([*(role for layout in LAYOUTS for role in layout.roles), *_EXTRAS, "place"]))
ANSWERS = ("answer", "chosen", "odd", "central")
_OF_ITEMS = LAYOUTS[4], LAYOUTS[5]


@dataclass(frozen=True)
class Found:
    """A layout, and the columns of its roles and of those that go with any kind."""

    layout: Layout
    roles: Roles

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        return list(dict.fromkeys(name for names in self.roles.values() for name in names))

    def columns_of(self, roles: Iterable[str]) -> set[str]:
        """Return the columns of those of some roles that there are."""
        return {name for role in roles for name in self.roles.get(role, ())}


class Unclear(ValueError):
    """Columns that make no kind of question, or several ``kinds``; ``prompts`` tells what was taken for a prompt."""

    def __init__(self, sentence: str, kinds: Sequence[str] = (), prompts: str = "") -> None:
        super().__init__(sentence)
        self.kinds = tuple(dict.fromkeys(kinds))
        self.prompts = prompts


def find_columns(
    names: Sequence[str],
    kind: str | None,
    columns: Mapping[str, Any] | None,
    source: str,
    suggested: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> Found:
    """Return the layout that the columns make, or say what was found and how to say which is which.

    Parameters
    ----------
    names : sequence of str
    kind : str, optional
    columns : mapping, optional
        Columns of roles, as the caller says.
    source : str
    suggested : mapping, optional
        Columns of roles where a layout has such a role and the caller does not say.
    without : sequence of str
        Columns that hold no objects.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"the kind {kind!r} must be one of {', '.join(KINDS)}")
    given = _given(names, columns, source)
    none = {role for role, found in given.items() if not found}
    given = {role: found for role, found in given.items() if found}
    finder = _Finder([name for name in names if name not in without], given, none, suggested or {})
    found = [each for layout in LAYOUTS if kind in (None, layout.kind) and (each := finder.match(layout, kind))]
    used = [each.columns_of(each.layout.roles) for each in found]
    # A layout that explains more columns goes first; of two that explain the same, the one that is listed first.
    found = [
        each
        for at, each in enumerate(found)
        if not any(used[at] < other for other in used) and used[at] not in used[:at]
    ]
    if kind is None:
        found += finder.in_doubt(found)
    kinds = [each.layout.kind for each in found]
    if len(set(kinds)) != 1:
        raise Unclear(_sentence(names, kind, kinds, source), kinds)
    return found[0]


@dataclass(frozen=True)
class _Finder:
    """Finds the columns of layouts among names, with what is given, done without, and suggested."""

    names: Sequence[str]
    given: Roles
    none: set[str]
    suggested: Mapping[str, str]

    def match(self, layout: Layout, kind: str | None) -> Found | None:
        """Return the columns of every role of a layout, or None if one is missing.

        With a ``kind``, an answer without a name of its own is the odd or the central one.
        """
        allowed = {*layout.roles, *_EXTRAS, "place"}
        if "near" in layout.roles or "near_1" in layout.roles:
            allowed |= {*TWO, "answer"}
        if not set(self.given) <= allowed or self.none & set(layout.roles):
            return None
        roles = {role: self.given[role] for role in layout.roles if role in self.given}
        spelled = self._spelled()
        for family, spellings in _FAMILIES.items():
            if family[0] not in layout.roles or any(role in roles for role in family):
                continue
            spelling = next((each for each in spellings if all(name in spelled for name in each)), None)
            if spelling is not None:
                roles |= {role: (spelled[name],) for role, name in zip(family, spelling, strict=True)}
        for role in layout.roles:
            if role not in roles:
                found = self._find(role, roles, kind is not None)
                if found is None:
                    return None
                roles[role] = found
        answer, left = (plain(roles.get(role, ("",))[0]) for role in ("answer", "left"))
        if (answer, left) == ("y", "j") and "answer" not in self.given:
            return None  # i, j, k and y are near and far, and whether a row is right as it stands
        return Found(layout, roles | self.extras(layout, roles))

    def in_doubt(self, found: list[Found]) -> list[Found]:
        """Return readings of several items and an answer that the columns allow as well as those found."""
        if any(each.layout in _OF_ITEMS for each in found):
            return []  # the name of a column says which of the two it is
        loose = [each for layout in _OF_ITEMS if (each := self.match(layout, layout.kind))]
        return [each for each in loose if not any(_explains(other, each) for other in found)]

    def _spelled(self) -> dict[str, str]:
        taken = {name for found in self.given.values() for name in found}
        return by_plain([name for name in self.names if name not in taken])

    def _find(self, role: str, roles: Roles, kind_is_given: bool) -> tuple[str, ...] | None:
        spelled = self._spelled()
        taken = {name for found in roles.values() for name in found}
        suggested = self.suggested.get(role)
        if suggested is not None and suggested in self.names and suggested not in taken:
            return (suggested,)
        if role == "items" and (columns := next(families(spelled, taken), None)):
            return columns
        spellings = list(SYNONYMS.get(role, (plain(role),)))
        if role in ("odd", "central") and kind_is_given:
            spellings += SYNONYMS["answer"]
        for spelling in spellings:
            if spelling in spelled and spelled[spelling] not in taken:
                return (spelled[spelling],)
        if role in ("shown", "chosen", "ranking"):
            for spelling in spellings:
                stems = {spelling, spelling.removesuffix("s"), "rank" if spelling == "ranking" else spelling}
                columns = tuple(numbered(stems, spelled, taken).values())
                if len(columns) > 1 or (columns and role == "chosen"):
                    return columns
        return next(families(spelled, taken), None) if role == "shown" else None

    def extras(self, layout: Layout, roles: Roles) -> Roles:
        """Return the columns that go with any kind of question."""
        spelled = self._spelled()
        taken = {name for found in roles.values() for name in found}
        also: Roles = {"place": self.given["place"]} if "place" in self.given else {}
        for role in _EXTRAS:
            found = self.given.get(role) or (None if role in self.none else self._find(role, roles, False))
            if found:
                also[role] = found
        if "near" in layout.roles or "near_1" in layout.roles:
            # Which side was chosen, and whether rows read as written, are said beside near and far.
            for role, spellings in (("left", ("left",)), ("right", ("right",)), ("answer", SYNONYMS["answer"])):
                spelling = next((each for each in spellings if each in spelled and spelled[each] not in taken), None)
                found = self.given.get(role) or ((spelled[spelling],) if spelling else None)
                if found and role not in self.none and not set(found) & taken:
                    also[role] = found
        return also


def _explains(one: Found, other: Found) -> bool:
    """Whether a layout leaves no reason to read the columns as several items and an answer."""
    mine, its = one.columns_of([*one.layout.roles, *TWO, "answer"]), other.columns_of(other.layout.roles)
    if its == mine and plain(one.roles.get("left", ("",))[0]) == "j":
        return False  # i, j and k may be any three items
    if its < mine:
        return True
    return its == mine and "left_1" not in one.layout.roles  # four items and an answer may be two pairs


def _given(names: Sequence[str], columns: Mapping[str, Any] | None, source: str) -> Roles:
    given: Roles = {}
    for role, column in _with_items(columns or {}).items():
        if role not in ROLES:
            raise ValueError(f"columns: {role!r} is no role of a column; roles are {', '.join(ROLES)}")
        listed = _listed(role, column, names)
        if len(listed) > 1 and role not in LISTS:
            raise ValueError(f"columns: {role!r} is one column, and {len(listed)} are named")
        for name in listed:
            if name not in names:
                raise ValueError(f"{source} has no column {name!r}; it has {listing(names)}")
        given[role] = listed
    return given


def _with_items(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return roles in which object_1, object_2, ... are the items, in the order of their numbers."""
    numbers = {int(role.removeprefix("object_")): role for role in columns if re.fullmatch(r"object_\d{1,4}", role)}
    roles = {role: column for role, column in columns.items() if role not in numbers.values()}
    if "objects" in roles:
        roles["items"] = roles.pop("objects")
    objects = [columns[role] for _, role in sorted(numbers.items()) if columns[role]]
    if not objects:
        return roles
    if "items" in roles or len(objects) < 3:
        raise ValueError(
            "columns: items are three columns at least, object_1, object_2, object_3, ..., or one column of lists, "
            "items; not both"
        )
    return roles | {"items": objects}


def _listed(role: str, column: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a role was given: one, several (also as "a+b+c", for a list), or none."""
    if not isinstance(column, str):
        return tuple(column or ())
    parts = tuple(part.strip() for part in column.split("+"))
    if role in LISTS and column not in names and set(parts) <= set(names):
        return parts
    return (column,) if column.strip() else ()


def listing(names: Sequence[str]) -> str:
    """Return names for a message."""
    listed = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:30])
    return listed + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _sentence(names: Sequence[str], kind: str | None, kinds: Sequence[str], source: str) -> str:
    found = f"{source} has the columns {listing(names)}"
    if kinds:
        return f"{found}, which can be read in several ways; say {of_kind(dict.fromkeys(kinds))}"
    wanted = dict.fromkeys(" + ".join(each.roles) for each in LAYOUTS if kind in (None, each.kind))
    what = "those of no kind of question" if kind is None else f"not those of the kind {kind!r}"
    example = "object_1" if kind in ("odd-one-out", "most-central") else "anchor"
    return (
        f"{found}, {what}. Needed are {', or '.join(wanted)}; say which they are with {with_column(example)}. "
        "If the file has no line of column names, put one at its top, for example anchor,near,far"
    )
