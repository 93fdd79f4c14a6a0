"""Kinds of question as columns hold them: what a column can mean, and which meanings make a question complete.

A *role* is what a column means; a *layout* is a set of roles that makes a kind of question complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nearer.data.labels import QUADRUPLET, plain
from nearer.io.answers import Kind
from nearer.io.column_names import STEMS

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
FAMILIES: dict[tuple[str, ...], list[Any]] = {TWO: _TWO, NEAR_FAR: list(QUADRUPLET), PAIRS: _PAIRS}
_LONG, _MANY = 40, 5  # characters of a name, and names of a role, in a message
LISTS = ("items", "shown", "chosen", "ranking")
EXTRAS = ("annotator", "trial", "seconds", "confidence", "weight")

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
    Layout("ranked-grid", ("anchor", "shown", "ranking")),
)
ROLES = tuple(dict.fromkeys([*(role for layout in LAYOUTS for role in layout.roles), *EXTRAS, "place"]))
ANSWERS = ("answer", "chosen", "odd", "central")
OF_ITEMS = LAYOUTS[4], LAYOUTS[5]


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


def listing(names: Sequence[str]) -> str:
    """Return names for a message."""
    listed = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:30])
    return listed + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def described(roles: Roles) -> str:
    """Return which columns have which roles, for a message.

    Examples
    --------
    >>> described({"anchor": ("Anchor",), "shown": ("a", "b", "c"), "annotator": ("VP",)})
    'anchor, shown = a + b + c, annotator = VP'
    """
    said = []
    for role, names in roles.items():
        short = [name if len(name) <= _LONG else name[: _LONG - 3] + "..." for name in names]
        listed = " + ".join(short if len(short) <= _MANY else [*short[:2], "...", short[-1]])
        said.append(role if [plain(name) for name in names] == [plain(role)] else f"{role} = {listed}")
    return ", ".join(said)
