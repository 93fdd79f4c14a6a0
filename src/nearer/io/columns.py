"""Which column holds what, found by the names that people give to columns.

A *role* is what a column means; a *layout* is a set of roles that makes a kind of question complete. Names are compared
without case, spaces and punctuation; failing that, the last part of a name with dots counts ("key_resp.rt"). Items of
one question stand in columns of one *family*: item1, item2, ..., first, second, ..., left, middle and right. Several
items and an answer, without a word on whether it is the odd or the central one, make two kinds, and are never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from string import ascii_lowercase
from typing import Any

from nearer.data.labels import QUADRUPLET_NAMES, TRIPLET_NAMES, normalize_name
from nearer.io.answers import KINDS, Kind
from nearer.io.messages import clipped, listing, one_of, with_column, with_columns

_QUALTRICS_COLUMNS = {"StartDate", "RecordedDate", "ResponseId"}
_QUALTRICS_ADVICE = (
    ', and does not say what each of them showed; one row must be one answer: "From Qualtrics" in the recipes of the '
    "manual brings it into that form"
)
_NO_HEADER = "If the file has no line of column names, put one at its top, for example anchor,near,far"


_NUMBERED = re.compile(r"(.*?)(\d{1,4})(.*)")
MIN_NUMBERED = 5  # columns that differ in a number alone are questions


class AmbiguousColumns(ValueError):
    """Columns that make no kind of question, or several ``kinds``.

    ``prompts`` tells what was taken for a prompt, and ``start`` is the sentence without what to do.
    """

    def __init__(self, sentence: str, kinds: Sequence[str] = (), prompts: str = "", start: str = "") -> None:
        super().__init__(sentence)
        self.kinds = tuple(kinds)
        self.prompts = prompts
        self.start = start or sentence


def find_columns(
    names: Sequence[str],
    kind: str | None,
    columns: Mapping[str, Any] | None,
    source: str,
    suggested: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> LayoutMatch:
    """Return the layout that the columns make, or say what was found and how to say which is which."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"the kind {kind!r} must be one of {', '.join(KINDS)}")
    given = _given_roles(names, columns or {}, source)
    unwanted = {role for role, found in given.items() if not found}
    given = {role: found for role, found in given.items() if found}
    finder = _Finder([name for name in names if name not in without], given, unwanted, suggested or {})
    found = [each for layout in LAYOUTS if kind in (None, layout.kind) and (each := finder.match(layout, kind))]
    used = [each.columns_of(each.layout.roles) for each in found]
    # A layout that explains more columns goes first; of two that explain the same, the one that is listed first.
    found = [
        each
        for at, each in enumerate(found)
        if not any(used[at] < other for other in used) and used[at] not in used[:at]
    ]
    if kind is None:
        found += finder.ambiguous_matches(found)
    kinds = dict.fromkeys(each.layout.kind for each in found)
    if len(kinds) == 1:
        return found[0]
    start = f"{source} has the columns {listing(names)}"
    if kinds:
        ways = one_of("kind", kinds)
        raise AmbiguousColumns(f"{start}, which can be read in several ways; use {ways}", tuple(kinds))
    start += f", which make no {'known kind of question' if kind is None else f'question of kind {kind!r}'}"
    raise AmbiguousColumns(f"{start}. {_advice(names, kind, finder)}", start=start)


@dataclass(frozen=True)
class _Finder:
    """Finds the columns of layouts among names, with what is given, done without, and suggested."""

    names: Sequence[str]
    given: Roles
    unwanted: set[str]
    suggested: Mapping[str, str]

    def match(self, layout: Layout, kind: str | None) -> LayoutMatch | None:
        """Return the columns of every role of a layout, or None if one is missing.

        With a ``kind``, an answer without a name of its own is the odd or the central one.
        """
        roles = self.matched_roles(layout, kind)
        if not set(layout.roles) <= roles.keys():
            return None
        answer, left = (normalize_name(roles.get(role, ("",))[0]) for role in ("answer", "left"))
        if (answer, left) == ("y", "j") and "answer" not in self.given:
            return None  # i, j, k and y are near and far, and whether a row is right as it stands
        return LayoutMatch(layout, roles | self.extras(layout, roles))

    def matched_roles(self, layout: Layout, kind: str | None) -> Roles:
        """Return the columns of those roles of a layout that there are; none if it cannot be what the caller says."""
        allowed = {*layout.roles, *EXTRAS, "place", *((*SIDES, "answer") if layout.says_near else ())}
        if not set(self.given) <= allowed or self.unwanted & set(layout.roles):
            return {}
        roles = {role: self.given[role] for role in layout.roles if role in self.given}
        spelled = self.spelled
        for family, spellings in FAMILIES.items():
            if family[0] in layout.roles and not any(role in roles for role in family):
                spelling = next((each for each in spellings if all(name in spelled for name in each)), ())
                roles |= {role: (spelled[name],) for role, name in zip(family, spelling, strict=False)}
        for role in layout.roles:
            if role not in roles and (found := self._find(role, roles, kind is not None)):
                roles[role] = found
        return roles

    def ambiguous_matches(self, found: list[LayoutMatch]) -> list[LayoutMatch]:
        """Return readings of several items and an answer that the columns allow as well as those found."""
        if any(each.layout in OF_ITEMS for each in found):
            return []  # the name of a column says which of the two it is
        loose = [each for layout in OF_ITEMS if (each := self.match(layout, layout.kind))]
        return [each for each in loose if not any(_accounts_for(other, each) for other in found)]

    @cached_property
    def spelled(self) -> dict[str, str]:
        """The names that are not given, by how they are compared."""
        taken = {name for found in self.given.values() for name in found}
        return by_plain([name for name in self.names if name not in taken])

    def _find(self, role: str, roles: Roles, kind_is_given: bool) -> tuple[str, ...] | None:
        spelled = self.spelled
        taken = {name for found in roles.values() for name in found}
        suggested = self.suggested.get(role)
        if suggested is not None and suggested in self.names and suggested not in taken:
            return (suggested,)
        if role == "items" and (columns := next(families(spelled, taken), None)):
            return columns
        spellings = list(SYNONYMS.get(role, (normalize_name(role),)))
        if role in ("odd", "central") and kind_is_given:
            spellings += SYNONYMS["answer"]
        if role == "ranking" and "shown" in roles:
            if in_order := [*takewhile(spelled.__contains__, (f"{ordinal}choice" for ordinal in ORDINALS))]:
                return tuple(spelled[spelling] for spelling in in_order)
            spellings += SYNONYMS["chosen"] if kind_is_given else ()
        for spelling in spellings:
            if spelling in spelled and spelled[spelling] not in taken:
                return (spelled[spelling],)
        for spelling in spellings if role in ("shown", "chosen", "ranking") else ():
            stems = {spelling, spelling.removesuffix("s"), "rank" if spelling == "ranking" else spelling}
            columns = numbered(stems, spelled, taken)
            if len(columns) > 1 or (columns and role == "chosen"):
                return columns
        return next(families(spelled, taken), None) if role == "shown" else None

    def extras(self, layout: Layout, roles: Roles) -> Roles:
        """Return the columns that go with any kind of question."""
        spelled = self.spelled
        taken = {name for found in roles.values() for name in found}
        also: Roles = {"place": self.given["place"]} if "place" in self.given else {}
        for role in EXTRAS:
            found = self.given.get(role) or (None if role in self.unwanted else self._find(role, roles, False))
            also |= {role: found} if found else {}
        # Next to near and far, other columns may hold which side was chosen, and whether rows are correct as written.
        loose = {"left": ("left",), "right": ("right",), "answer": SYNONYMS["answer"]} if layout.says_near else {}
        for role, spellings in loose.items():
            names = [spelled[each] for each in spellings if each in spelled and spelled[each] not in taken]
            found = self.given.get(role) or tuple(names[:1])
            if found and role not in self.unwanted and not set(found) & taken:
                also[role] = found
        return also


def _accounts_for(one: LayoutMatch, other: LayoutMatch) -> bool:
    """Whether a layout leaves no reason to read the columns as several items and an answer."""
    mine, its = one.columns_of([*one.layout.roles, *SIDES, "answer"]), other.columns_of(other.layout.roles)
    if its == mine and normalize_name(one.roles.get("left", ("",))[0]) == "j":
        return False  # i, j and k may be any three items
    if its < mine:
        return True
    return its == mine and "left_1" not in one.layout.roles  # four items and an answer may be two pairs


def _given_roles(names: Sequence[str], columns: Mapping[str, Any], source: str) -> Roles:
    """Return the columns that the caller gives roles; object_1, object_2, ... are items, in that order."""
    numbers = {int(role.removeprefix("object_")): role for role in columns if re.fullmatch(r"object_\d{1,4}", role)}
    roles = {role: column for role, column in columns.items() if role not in numbers.values()}
    if "objects" in roles:
        roles["items"] = roles.pop("objects")
    objects = [columns[role] for _, role in sorted(numbers.items()) if columns[role]]
    if objects and ("items" in roles or len(objects) < 3):
        raise ValueError(
            "columns: items are three columns at least, object_1, object_2, object_3, ..., or one column of lists, "
            "items; not both"
        )
    given: Roles = {}
    for role, column in (roles | ({"items": objects} if objects else {})).items():
        if role not in ROLES:
            known = ", ".join(each for each in ROLES if each != "place")  # that is of our own files
            raise ValueError(
                f"columns: {role!r} is no role of a column; roles are {known}; and object_1, object_2, object_3, ... "
                "for items in columns of their own"
            )
        listed = tuple(column or ())
        if isinstance(column, str):
            listed = tuple(split_names(column))
            if role not in LISTS or column in names or not set(listed) <= set(names):
                listed = (column,) if column.strip() else ()
        if len(listed) > 1 and role not in LISTS:
            raise ValueError(f"columns: {role!r} is one column, and {len(listed)} are named")
        for name in listed:
            if name not in names:
                raise ValueError(f"{source} has no column {name!r}; it has {listing(names)}")
        given[role] = listed
    return given


def split_names(columns: Any) -> list[str]:
    """Return the columns that a caller gave a role: one, several, or several in a text such as "a+b+c"."""
    return [name.strip() for name in columns.split("+")] if isinstance(columns, str) else list(columns or ())


def _advice(names: Sequence[str], kind: str | None, finder: _Finder) -> str:
    understood, missing = _best_partial_match(kind, finder)
    if understood:
        lacking = ", or ".join(" + ".join(roles) for roles in missing)
        found = f"Found: {format_roles(understood)}; missing: {lacking}"
        advice = " or ".join(map(with_columns, missing[:2]))
        return f"{found}. If it is there, name it with {advice}{'' if len(missing[0]) == 1 else f'. {_NO_HEADER}'}"
    questions, of_qualtrics = unknown_questions(names), set(names) >= _QUALTRICS_COLUMNS
    if questions or of_qualtrics:
        program = "This is an export of Qualtrics" if of_qualtrics else "This looks like a table"
        such = f", such as {listing(questions[:2])}" if questions else ""
        return f"{program} with a column for each question{such}{_QUALTRICS_ADVICE}"
    wanted = dict.fromkeys(" + ".join(each.roles) for each in LAYOUTS if kind in (None, each.kind))
    example = {"odd-one-out": "object_1", "most-central": "object_1", "quadruplet": "left_1"}.get(kind or "", "anchor")
    return f"Expected {', or '.join(wanted)}; name them with {with_column(example)}. {_NO_HEADER}"


def _best_partial_match(kind: str | None, finder: _Finder) -> tuple[Roles, list[tuple[str, ...]]]:
    """Return the roles found of the layouts that explain most columns, and what each of these layouts lacks.

    An answer alone tells nothing. Of layouts that explain the same columns, two or more, those that lack least count.
    """
    found = [(layout, finder.matched_roles(layout, kind)) for layout in LAYOUTS if kind in (None, layout.kind)]
    found = [(layout, roles) for layout, roles in found if roles.keys() - (set() if finder.given else set(ANSWERS))]
    if not found:
        return {}, []
    used = [{name for names in roles.values() for name in names} for _, roles in found]
    most = max(used, key=len)
    best = [each for each, names in zip(found, used, strict=True) if names == most]
    best.sort(key=lambda each: each[0] not in OF_ITEMS)  # numbered columns are items sooner than two pairs
    lacks = [tuple(role for role in layout.roles if role not in roles) for layout, roles in best]
    least = min(map(len, lacks))
    layout, roles = best[0]
    in_order = {role: roles[role] for role in layout.roles if role in roles}
    return in_order, list(dict.fromkeys(each for each in lacks if len(most) == 1 or len(each) == least))


def unknown_questions(names: Sequence[str]) -> list[str]:
    """Return the columns that look like questions of which nothing is known but the number."""
    families: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            families.setdefault((match[1], match[3]), []).append(name)
    most = max(families.values(), key=len, default=[])
    return most if len(most) >= MIN_NUMBERED else []


_ANSWER = (
    "answer response choice chosen winner selected selection decision judgment judgement picked pick chosenobject "
    "chosenitem selecteditem choiceindex responseindex buttonpressed keys clickedname y"
)
_CHOSE = "chosen picked selected chose chooses is"
LEFT_CHOSEN, RIGHT_CHOSEN = (
    tuple(name for word in _CHOSE.split() for name in (side + word, word + side)) for side in ("left", "right")
)
_SYNONYMS: dict[str, str] = {
    "answer": " ".join([_ANSWER, *LEFT_CHOSEN, *RIGHT_CHOSEN]),
    "odd": "odd oddone oddoneout oddoneoutobject chosenodd ooo oddity outlier different mostdifferent odditem "
    "oddobject",
    "central": "central mostcentral centre center middle centralobject centralitem centerobject chosencenter "
    "chosencentre chosencentral",
    "items": "items objects stimuli images pictures words options choices candidates alternatives shown displayed "
    "presented triad triplet itemlist stimuluslist",
    "shown": "shown options choices candidates alternatives displayed grid stimuli items images presented",
    "chosen": "chosen selected picked answers responses choice selection answer response nearest buttonpressed keys "
    "clickedname",
    "ranking": "ranking ranked rankedlist nearestfirst sorted",
    "annotator": "annotator annotatorid worker workerid participant participantid participantprivateid "
    "participantpublicid participantnumber participantcode participation participationid "
    "person personid subject subjectid user userid rater raterid judge judgeid respondent "
    "respondentid responseid observer observerid puid prolificpid prolificid participantprolificid subjectnr subjnr "
    "subj sub ppt pid psid sid mturkid runid sessionid session studentid vp vpn proband annotators workers",
    "trial": "trial trialid trialindex trialnumber trialno trialnr trialnum trialn trials",
    "seconds": "seconds responsetime responsetimes responsetimesec responsetimeseconds rt rts rtms rtsec rtseconds "
    "reactiontime reactiontimems responsetimems responsetimemsec duration durationms latency latencyms timetaken "
    "milliseconds ms msec",
    "confidence": "confidence confidences certainty sure sureness confidencerating conf",
    "weight": "weight weights sampleweight",
    "place": "place",
}
SYNONYMS = TRIPLET_NAMES | {role: tuple(names.split()) for role, names in _SYNONYMS.items()}

_STEM = (
    "object item stimulus stim image img picture pic word option choice alternative candidate photo card tile sound "
    "video name id o s x"
)
STEMS = tuple(_STEM.split())
_LEADS = ("", "triplet", "triad", "trial", "test", "shown", "displayed", "presented", "target")
_TAILS = ("", "name", "label", "object", "image", "img", "file", "filename", "path", "src", "url", "id")
_STEM_ORDER = {
    lead + stem: (n_lead, n_stem)
    for n_lead, lead in reversed(list(enumerate(_LEADS)))
    for n_stem, stem in enumerate(STEMS)
    if not lead or len(stem) > 2
}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_POSITION_NAMES = (("left", "middle", "right"), ("left", "center", "right"), ("left", "centre", "right"))
MIN_FAMILY = 3


def by_plain(names: Sequence[str]) -> dict[str, str]:
    """Return names by how they are compared; the last part of a name with dots counts where it is unmistakable."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(normalize_name(name), name)
    ends = [(normalize_name(name.rpartition(".")[2]), name) for name in names if "." in name.strip(".")]
    for end, name in ends:
        if end not in found and [each for each, _ in ends].count(end) == 1:
            found[end] = name
    return found


def numbered(stems: set[str], spelled: Mapping[str, str], taken: set[str]) -> tuple[str, ...]:
    """Return the columns stem_1, stem_2, ... in the order of their numbers."""
    matches = ((re.fullmatch(r"(.*?)(\d{1,4})", spelling), name) for spelling, name in spelled.items())
    numbers = {int(match[2]): name for match, name in matches if match and match[1] in stems and name not in taken}
    return tuple(name for _, name in sorted(numbers.items()))


def families(spelled: Mapping[str, str], taken: set[str]) -> Iterator[tuple[str, ...]]:
    """Return the columns of every family of items, the likeliest first."""
    free = {spelling: name for spelling, name in spelled.items() if name not in taken}
    yield from _numbered_families(free)
    for stem in STEMS:
        yield from _series([stem + letter for letter in ascii_lowercase], free)
    for row in _POSITION_NAMES:
        if all(name in free for name in row):
            yield tuple(free[name] for name in row)
    yield from _series(ORDINALS, free)
    yield from _series(ascii_lowercase, free)
    if all(name in free for name in "ijk"):
        yield free["i"], free["j"], free["k"]


def _numbered_families(free: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the columns stem_1, stem_2, ..., then those of stems with a word before them or behind the number."""
    found: dict[tuple[int, int, int], dict[int, str]] = {}
    for spelling, name in free.items():
        match = re.fullmatch(r"(.*?)(\d{1,4})([^\W\d]*)", spelling)
        if match and match[1] in _STEM_ORDER and match[3] in _TAILS:
            lead, stem = _STEM_ORDER[match[1]]
            found.setdefault((_TAILS.index(match[3]), lead, stem), {})[int(match[2])] = name
    for _, numbers in sorted(found.items()):
        if len(numbers) >= MIN_FAMILY and min(numbers) <= 1:
            yield tuple(name for _, name in sorted(numbers.items()))


def _series(spellings: Sequence[str], free: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    found = tuple(free[each] for each in takewhile(free.__contains__, spellings))
    if len(found) >= MIN_FAMILY:
        yield found


_TWO_NAMES = [
    *(("left" + what, "right" + what) for what in ("", "object", "item", "image")),
    *((what + "left", what + "right") for what in ("object", "item", "stimulus", "image")),
    *((stem + "1", stem + "2") for stem in [*STEMS, "comparison", "test"]),
    *((stem + "a", stem + "b") for stem in [*STEMS, "comparison", "test"]),
    *(("first", "second"), ("a", "b"), ("b", "c"), ("j", "k")),
]
_PAIR_NAMES = [
    ("left1", "left2", "right1", "right2"),
    ("lefta", "leftb", "righta", "rightb"),
    ("pair11", "pair12", "pair21", "pair22"),
    ("pair1a", "pair1b", "pair2a", "pair2b"),
    ("a1", "a2", "b1", "b2"),
    ("first1", "first2", "second1", "second2"),
    *((stem + "1", stem + "2", stem + "3", stem + "4") for stem in STEMS),
    ("a", "b", "c", "d"),
]
SIDES = ("left", "right")
NEAR_FAR, PAIRS = ("near_1", "near_2", "far_1", "far_2"), ("left_1", "left_2", "right_1", "right_2")
FAMILIES: dict[tuple[str, ...], list[Any]] = {SIDES: _TWO_NAMES, NEAR_FAR: list(QUADRUPLET_NAMES), PAIRS: _PAIR_NAMES}
MAX_LISTED_NAMES = 5  # of a role, in a message
LISTS = ("items", "shown", "chosen", "ranking")
EXTRAS = ("annotator", "trial", "seconds", "confidence", "weight")

Roles = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """A kind of question, and the roles that it takes."""

    kind: Kind
    roles: tuple[str, ...]

    @property
    def says_near(self) -> bool:
        """Whether columns say themselves what is near and what is far."""
        return "near" in self.roles or "near_1" in self.roles


LAYOUTS = (
    Layout("triplet", ("anchor", *SIDES, "answer")),
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
class LayoutMatch:
    """A layout, and the columns of its roles and of those that go with any kind."""

    layout: Layout
    roles: Roles

    @property
    def names(self) -> list[str]:
        """All columns to read."""
        return list(dict.fromkeys(name for names in self.roles.values() for name in names))

    @property
    def objects(self) -> set[str]:
        """All columns that hold objects, other than as an answer."""
        return self.columns_of([role for role in (*self.layout.roles, *SIDES) if role not in ANSWERS])

    @property
    def lists(self) -> set[str]:
        """The columns whose cells are lists of objects."""
        return {names[0] for role, names in self.roles.items() if role in LISTS and len(names) == 1}

    def columns_of(self, roles: Iterable[str]) -> set[str]:
        """Return the columns of those of some roles that there are."""
        return {name for role in roles for name in self.roles.get(role, ())}


def format_roles(roles: Roles) -> str:
    """Return which columns have which roles, for a message."""
    parts = []
    for role, names in roles.items():
        short = list(map(clipped, names))
        listed = " + ".join(short if len(short) <= MAX_LISTED_NAMES else [*short[:2], "...", short[-1]])
        parts.append(f"{role} = {listed}" if has_other_names({role: names}) else role)
    return ", ".join(parts)


def has_other_names(columns: Roles) -> bool:
    """Whether columns were read that are not called as what they hold."""
    return any([normalize_name(name) for name in names] != [normalize_name(role)] for role, names in columns.items())
