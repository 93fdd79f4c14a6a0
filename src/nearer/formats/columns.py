"""Which column holds what, found by the names people give to columns.

Names are compared without case, spaces and punctuation: "Participant.ID" is "participantid". A *role* is what a
column means; a *layout* is a set of roles that makes a kind of question complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearer.formats.advice import of_kind, with_column
from nearer.formats.answers import KINDS, Kind

_ANSWER = (
    "answer response choice chosen winner selected selection decision judgment judgement picked pick chosenobject "
    "chosenitem selecteditem choiceindex responseindex buttonpressed y"
)
_SYNONYMS: dict[str, str] = {
    "anchor": "anchor reference ref head center centre pivot probe query standard target cue sample anchorobject "
    "anchorid anchoritem anchorimage referenceobject referenceitem targetobject targetitem i",
    "near": "near nearer closer closest similar moresimilar mostsimilar winner positive chosen selected nearobject j",
    "far": "far farther further farthest lesssimilar leastsimilar dissimilar loser negative rejected unchosen "
    "notchosen notselected farobject k",
    "answer": _ANSWER,
    "odd": "odd oddone oddoneout oddoneoutobject ooo oddity outlier different mostdifferent odditem oddobject",
    "central": "central mostcentral centre center middle centralobject centralitem",
    "shown": "shown options choices candidates alternatives displayed grid stimuli items images presented",
    "chosen": "chosen selected picked answers responses choice selection answer response nearest buttonpressed",
    "ranking": "ranking ranked rankedlist nearestfirst sorted",
    "annotator": "annotator annotatorid worker workerid participant participantid person personid subject subjectid "
    "user userid rater raterid judge judgeid respondent respondentid observer observerid puid prolificpid prolificid "
    "participantprolificid subjectnr subjnr subj sub ppt pid psid sid mturkid runid sessionid session studentid vp vpn "
    "proband annotators workers",
    "trial": "trial trialid trialindex trialnumber trialno trialnr trialnum trialn trials",
    "seconds": "seconds responsetime responsetimes responsetimesec responsetimeseconds rt rts rtms rtsec rtseconds "
    "reactiontime reactiontimems responsetimems responsetimemsec duration durationms latency latencyms timetaken "
    "milliseconds ms msec",
    "confidence": "confidence confidences certainty sure sureness confidencerating conf",
    "weight": "weight weights sampleweight",
    "place": "place",
}
SYNONYMS = {role: tuple(names.split()) for role, names in _SYNONYMS.items()}

_STEM = "object item stimulus stim image img picture pic word option choice alternative candidate name id o s x"
_STEMS = tuple(_STEM.split())
_TWO = [
    ("left", "right"),
    ("leftobject", "rightobject"),
    ("leftitem", "rightitem"),
    ("leftimage", "rightimage"),
    ("objectleft", "objectright"),
    ("itemleft", "itemright"),
    ("stimulusleft", "stimulusright"),
    ("imageleft", "imageright"),
    *((stem + "1", stem + "2") for stem in [*_STEMS, "comparison", "test"]),
    *((stem + "a", stem + "b") for stem in [*_STEMS, "comparison", "test"]),
    ("first", "second"),
    ("a", "b"),
    ("b", "c"),
]
_THREE = [
    *((stem + "1", stem + "2", stem + "3") for stem in _STEMS),
    *((stem + "0", stem + "1", stem + "2") for stem in _STEMS),
    *((stem + "a", stem + "b", stem + "c") for stem in _STEMS),
    ("left", "middle", "right"),
    ("left", "center", "right"),
    ("first", "second", "third"),
    ("a", "b", "c"),
    ("i", "j", "k"),
]
_NEAR_FAR = [
    ("i", "j", "l", "k"),
    ("near1", "near2", "far1", "far2"),
    ("neara", "nearb", "fara", "farb"),
    ("nearer1", "nearer2", "farther1", "farther2"),
    ("a", "b", "c", "d"),
]
_PAIRS = [
    ("left1", "left2", "right1", "right2"),
    ("lefta", "leftb", "righta", "rightb"),
    ("pair11", "pair12", "pair21", "pair22"),
    ("pair1a", "pair1b", "pair2a", "pair2b"),
    ("a1", "a2", "b1", "b2"),
    ("first1", "first2", "second1", "second2"),
    *((stem + "1", stem + "2", stem + "3", stem + "4") for stem in _STEMS),
    ("a", "b", "c", "d"),
]
TWO, THREE = ("left", "right"), ("object_1", "object_2", "object_3")
NEAR_FAR, PAIRS = ("near_1", "near_2", "far_1", "far_2"), ("left_1", "left_2", "right_1", "right_2")
_FAMILIES: dict[tuple[str, ...], list[Any]] = {TWO: _TWO, THREE: _THREE, NEAR_FAR: _NEAR_FAR, PAIRS: _PAIRS}
_LISTS = ("shown", "chosen", "ranking")
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
    Layout("odd-one-out", (*THREE, "odd")),
    Layout("most-central", (*THREE, "central")),
    Layout("grid", ("anchor", "shown", "chosen")),
    Layout("ranking", ("anchor", "ranking")),
)
ROLES = tuple(dict.fromkeys([*(role for layout in LAYOUTS for role in layout.roles), *_EXTRAS, "place"]))


@dataclass(frozen=True)
class Found:
    """A layout, and the columns of its roles and of those that go with any kind."""

    layout: Layout
    roles: Roles

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        return list(dict.fromkeys(name for names in self.roles.values() for name in names))


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


def find_columns(names: Sequence[str], kind: str | None, columns: Mapping[str, Any] | None, source: str) -> Found:
    """Return the layout that the columns make, or say what was found and how to say which is which."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"the kind {kind!r} must be one of {', '.join(KINDS)}")
    given = _given(names, columns, source)
    none = {role for role, found in given.items() if not found}
    given = {role: found for role, found in given.items() if found}
    matches = [
        (layout, roles)
        for layout in LAYOUTS
        if kind in (None, layout.kind) and (roles := _match(layout, names, given, none, kind is not None)) is not None
    ]
    used = [set().union(*roles.values()) for _, roles in matches]
    # A layout that explains more columns goes first; of two that explain the same, the one that is listed first.
    matches = [
        match
        for at, match in enumerate(matches)
        if not any(used[at] < other for other in used) and used[at] not in used[:at]
    ]
    if not matches or len({layout.kind for layout, _ in matches}) > 1:
        raise ValueError(_unclear(names, kind, [layout.kind for layout, _ in matches], source))
    layout, roles = matches[0]
    return Found(layout, roles | _also(names, given, none, roles))


def _given(names: Sequence[str], columns: Mapping[str, Any] | None, source: str) -> Roles:
    given: Roles = {}
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise ValueError(f"columns: {role!r} is no role of a column; roles are {', '.join(ROLES)}")
        listed = _listed(role, column, names)
        if len(listed) > 1 and role not in _LISTS:
            raise ValueError(f"columns: {role!r} is one column, and {len(listed)} are named")
        for name in listed:
            if name not in names:
                raise ValueError(f"{source} has no column {name!r}; it has {_listing(names)}")
        given[role] = listed
    return given


def _listed(role: str, column: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that a role was given: one, several (also as "a+b+c", for a list), or none."""
    if not isinstance(column, str):
        return tuple(column or ())
    parts = tuple(part.strip() for part in column.split("+"))
    if role in _LISTS and column not in names and set(parts) <= set(names):
        return parts
    return (column,) if column.strip() else ()


def _match(layout: Layout, names: Sequence[str], given: Roles, none: set[str], kind_is_given: bool) -> Roles | None:
    """Return the columns of every role of a layout, or None if one is missing."""
    allowed = {*layout.roles, *_EXTRAS, "place"}
    if "near" in layout.roles or "near_1" in layout.roles:
        allowed |= {*TWO, "answer"}
    if not set(given) <= allowed or none & set(layout.roles):
        return None
    roles = {role: given[role] for role in layout.roles if role in given}
    by_plain = _by_plain(names, given)
    for family, spellings in _FAMILIES.items():
        if family[0] not in layout.roles or any(role in roles for role in family):
            continue
        spelling = next((each for each in spellings if all(name in by_plain for name in each)), None)
        if spelling is not None:
            roles |= {role: (by_plain[name],) for role, name in zip(family, spelling, strict=True)}
    for role in layout.roles:
        if role not in roles:
            taken = {name for found in roles.values() for name in found}
            found = _find(role, by_plain, taken, kind_is_given)
            if found is None:
                return None
            roles[role] = found
    return roles


def _by_plain(names: Sequence[str], given: Roles) -> dict[str, str]:
    taken = {name for found in given.values() for name in found}
    found: dict[str, str] = {}
    for name in names:
        if name not in taken:
            found.setdefault(plain(name), name)
    return found


def _find(role: str, by_plain: dict[str, str], taken: set[str], kind_is_given: bool) -> tuple[str, ...] | None:
    spellings = list(SYNONYMS.get(role, ())) + ([plain(role)] if role not in SYNONYMS else [])
    if role in ("odd", "central") and kind_is_given:
        spellings += SYNONYMS["answer"]
    for spelling in spellings:
        if spelling in by_plain and by_plain[spelling] not in taken:
            return (by_plain[spelling],)
    if role in _LISTS:
        for spelling in spellings:
            numbered = list(_numbered(spelling, by_plain, taken))
            if len(numbered) > 1 or (numbered and role == "chosen"):
                return tuple(numbered)
    return None


def _numbered(stem: str, by_plain: dict[str, str], taken: set[str]) -> Iterator[str]:
    """Return the columns stem_1, stem_2, ... (or from 0) in the order of their numbers."""
    stems = {stem, stem.removesuffix("s"), "rank" if stem == "ranking" else stem}
    numbers = {}
    for spelled, name in by_plain.items():
        match = re.fullmatch(r"(.*?)(\d{1,4})", spelled)
        if match and match[1] in stems and name not in taken:
            numbers[int(match[2])] = name
    for number in sorted(numbers):
        yield numbers[number]


def _also(names: Sequence[str], given: Roles, none: set[str], roles: Roles) -> Roles:
    """Return the columns that go with any kind of question."""
    by_plain = _by_plain(names, given)
    taken = {name for found in roles.values() for name in found}
    also: Roles = {"place": given["place"]} if "place" in given else {}
    for role in _EXTRAS:
        found = given.get(role) or (None if role in none else _find(role, by_plain, taken, False))
        if found:
            also[role] = found
    if "near" in roles or "near_1" in roles:
        # Which side was chosen, and whether rows read as written, are said beside near and far.
        for role in ("left", "right"):
            found = given.get(role) or ((by_plain[role],) if role in by_plain and role not in none else None)
            if found and not set(found) & taken:
                also[role] = found
        for spelling in ("answer", "y"):
            found = given.get("answer") or ((by_plain[spelling],) if spelling in by_plain else None)
            if found and "answer" not in none and not set(found) & taken:
                also.setdefault("answer", found)
    return also


def _listing(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:30])
    return listed + (f" and {len(names) - 30} more" if len(names) > 30 else "")


def _unclear(names: Sequence[str], kind: str | None, kinds: Sequence[str], source: str) -> str:
    found = f"{source} has the columns {_listing(names)}"
    spellings = {plain(name) for name in names}
    three = any(all(name in spellings for name in each) for each in _THREE)
    if kinds:
        return f"{found}, which can be read in several ways; say {of_kind(dict.fromkeys(kinds))}"
    if kind is None and three and spellings & set(SYNONYMS["answer"]):
        return f"{found}: three objects and an answer; say {of_kind(['odd-one-out', 'most-central'])}"
    wanted = dict.fromkeys(" + ".join(each.roles) for each in LAYOUTS if kind in (None, each.kind))
    what = "those of no kind of question" if kind is None else f"not those of the kind {kind!r}"
    return (
        f"{found}, {what}. Needed are {', or '.join(wanted)}; say which they are with {with_column('anchor')}. "
        "If the file has no line of column names, put one at its top, for example anchor,near,far"
    )
