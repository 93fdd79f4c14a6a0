"""From a table whose columns are known to comparisons: which function of each kind gets which columns.

Grids (choose k of n, in order or not) and rankings: answers that are lists.

Lists repeat, and so do pairs of what was shown and what was chosen. Each distinct pair is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.io import kinds
from nearer.io.answers import Kind
from nearer.io.choice_coding import Coding, UnclearCoding, is_undecided, place_of_word, read_places, spelled
from nearer.io.columns import NEAR_FAR, PAIRS, TWO, Found
from nearer.io.kinds import LONGEST_LABEL, Expansion, Objects, join_columns, positions, read_items, read_lists, readings
from nearer.io.messages import as_column, note, one_of, without
from nearer.io.table import Codes, Column, Numbers, RowErrors


@dataclass(frozen=True)
class Question:
    """What a table asks and how it is to be read.

    Attributes
    ----------
    found : Found
    columns : dict of Column
        By their names in the table.
    errors : RowErrors
    source : str
    split : bool
        Whether "can't tell" becomes comparisons both ways.
    coding : Coding
        What is known of answers that are numbers or truth values.
    names : list, optional
        Labels that integers stand for.
    said : frozenset of str
        Roles whose columns the caller names, which are always believed.
    """

    found: Found
    columns: dict[str, Column]
    errors: RowErrors
    source: str
    split: bool
    coding: Coding
    names: list[Any] | None
    said: frozenset[str] = frozenset()

    def column(self, role: str) -> Column:
        """Return the column of a role."""
        return self.columns[self.found.roles[role][0]]

    def name(self, role: str) -> str:
        """Return the name of the column of a role."""
        return self.found.roles[role][0]


@dataclass(frozen=True)
class Asked:
    """Comparisons with positions in ``objects``, and which objects were seen in good rows.

    ``signs`` are answers +1 and -1 of comparisons that are kept as written.
    """

    kind: Kind
    objects: Objects
    expansion: Expansion
    seen: NDArray[np.bool_]
    signs: NDArray[np.int8] | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def near_first(self) -> NDArray[Any]:
        """Return rows with near before far."""
        rows = self.expansion.rows
        if self.signs is None:
            return rows
        order = [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]
        return np.where((self.signs < 0)[:, None], rows[:, order], rows)

    def compressed(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows and labels without objects that only bad rows name."""
        rows = self.expansion.rows
        if self.objects.named or self.seen.all():
            return rows, self.objects.array()
        new = (np.cumsum(self.seen) - 1).astype(np.int32)
        return new[rows], self.objects.array(self.seen)


def read_question(question: Question) -> Asked:
    """Return the comparisons that a table says."""
    kind = question.found.layout.kind
    if kind in ("grid", "ranking", "ranked-grid"):
        return _lists(question)
    if kind in ("odd-one-out", "most-central"):
        return _items(question)
    roles = question.found.layout.roles
    objects_of = [role for role in roles if role != "answer"]
    sides = [role for role in TWO if role in question.found.roles and role not in objects_of]
    objects = Objects([question.column(role) for role in [*objects_of, *sides]], names=question.names)
    errors = question.errors
    codes = {role: objects.codes(question.column(role), role.replace("_", " "), errors) for role in objects_of}
    kinds.mark_degenerate(list(codes.values()), objects.labels, errors)
    if "near" in roles or "near_1" in roles:
        return _named(question, objects, codes, sides)

    answer = question.column("answer")
    coding = question.coding.of_column(question.name("answer"))
    if kind == "triplet":
        left, right = codes["left"], codes["right"]
        sides = [question.name(role) for role in TWO]
        chosen = read_places(answer, objects.labels, [left, right], sides, errors, question.source, coding)
        pairs = ([codes["anchor"], left], [codes["anchor"], right])
    else:
        nobody = np.full(len(errors.bad), -1, np.int32)  # an object cannot name a pair
        titles = ("the first pair", "the second pair")
        chosen = read_places(
            answer, objects.labels, [nobody, nobody], list(TWO), errors, question.source, coding, titles
        )
        left_1, left_2, right_1, right_2 = (codes[role] for role in PAIRS)
        pairs = ([left_1, left_2], [right_1, right_2])
    expansion = kinds.two_options(pairs, chosen, errors, question.split)
    return Asked(kind, objects, expansion, _seen(objects, list(codes.values()), errors))


def _items(question: Question) -> Asked:
    """Read rows that name the odd or the central one of several items."""
    kind, errors = question.found.layout.kind, question.errors
    names = list(question.found.roles["items"])
    objects, items = read_items([question.columns[name] for name in names], errors, question.names)
    role = "odd" if kind == "odd-one-out" else "central"
    places = read_places(
        question.column(role),
        objects.labels,
        list(items.T),
        names if len(names) > 1 else [],
        errors,
        question.source,
        question.coding,
        wanted=role,
    )
    expansion = kinds.one_of_items(items, places, errors, question.split, central=role == "central")
    return Asked(kind, objects, expansion, _seen(objects, list(items.T), errors))


def _named(question: Question, objects: Objects, codes: dict[str, Codes], sides: list[str]) -> Asked:
    """Read rows that say themselves what is near and what is far."""
    errors, found = question.errors, question.found
    signs = _signs(question, objects) if "answer" in found.roles else None
    unused = [] if signs is not None or "answer" not in found.roles else [question.name("answer")]
    if signs is not None:
        errors.add(signs == 0, "no-sign", lambda row: {"value": question.column("answer").value(row)})
    kept = np.flatnonzero(~errors.bad)
    order = ("anchor", "near", "far") if "near" in codes else NEAR_FAR
    rows = np.empty((len(kept), len(order)), np.int32)
    for position, role in enumerate(order):
        rows[:, position] = codes[role][kept]
    places = None
    if len(sides) == 2 and "near" in codes:
        ignored = RowErrors(len(errors.bad))  # a side that is not known makes no row bad
        left, right = (objects.codes(question.column(role), role, ignored) for role in TWO)
        places = np.full(len(left), -1, np.int8)
        places[(left == codes["near"]) & (right == codes["far"])] = 0
        places[(right == codes["near"]) & (left == codes["far"])] = 1
    expansion = Expansion(rows, kept, places, np.zeros(len(errors.bad), bool))
    seen = _seen(objects, list(codes.values()), errors)
    findings = tuple(note("answer-not-used", question.source, column=name) for name in unused)
    return Asked(found.layout.kind, objects, expansion, seen, None if signs is None else signs[kept], findings)


def _signs(question: Question, objects: Objects) -> NDArray[np.int8] | None:
    """Return +1 and -1 for every row, 0 where there is neither; None for a column that says something else.

    Near is the first option, and the answer says whether a row is right as it stands.
    """
    column = question.column("answer")
    present = {spelled(column.values[code]) for code in np.unique(column.codes[column.codes >= 0]).tolist()}
    meaning: dict[str, int] | None = {"1": 0, "true": 0, "-1": 1, "false": 1}
    coding, roles = question.coding, question.found.roles
    if coding.first is not None or (coding.as_written and "0" in present):
        meaning = coding.places(present, 2)
    elif present and (present <= set(meaning or ()) or "-1" in present):
        pass
    elif (present <= {"0", "1"} and "0" in present) or (len(present) == 2 and _are_codes(present, objects, question)):
        first = ["1", "0"] if "0" in present else sorted(present)
        raise UnclearCoding(
            f"{question.source}: column {question.name('answer')!r} holds {' and '.join(sorted(present))} beside near "
            f"and far; say {one_of('first_is', first)} for the one that means that a row is right as it stands, or do "
            f"without the column: {without('answer')}"
        )
    elif present and ("answer" in question.said or _names_far(question)):
        shown = [as_column(role, question.name(of)) for role, of in zip(TWO, ("near", "far"), strict=True)]
        turned = f"; if they are only what was shown, say {shown[0]} and {shown[1]}" if "near" in roles else ""
        raise ValueError(
            f"{question.source}: column {question.name('answer')!r} holds {', '.join(map(repr, sorted(present)[:4]))} "
            f"beside near and far, which say themselves what was answered{turned}; or do without the column: "
            f"{without('answer')}"
        )
    else:
        return None
    signs = {value: 1 - 2 * place for value, place in (meaning or {}).items()}
    return np.asarray(column.mapped(lambda value: signs.get(spelled(value), 0), 0, np.int8))


def _are_codes(present: set[str], objects: Objects, question: Question) -> bool:
    """Whether two values are codes: no objects, and not the sides of what a row shows as left and right."""
    sides = all(place_of_word(value, [], 2) >= 0 for value in present) and "left" in question.found.roles
    return not sides and not present & {spelled(label) for label in objects.labels}


def _names_far(question: Question) -> bool:
    """Whether an answer names objects of its row, and what is far among them."""
    if "near" not in question.found.roles:
        return False
    answer, near, far = (
        question.column(role).mapped(str, "", object)[question.column("answer").codes >= 0]
        for role in ("answer", "near", "far")
    )
    return bool(((answer == near) | (answer == far)).all() and (answer == far).any())


def _seen(objects: Objects, columns: list[Codes], errors: RowErrors) -> NDArray[np.bool_]:
    seen = np.zeros(len(objects.labels), bool)
    good = ~errors.bad
    some_bad = bool(errors.bad.any())
    for codes in columns:
        used = codes[good] if some_bad else codes
        seen |= np.bincount(used[used >= 0], minlength=len(seen)).astype(bool)
    return seen


def _lists(question: Question) -> Asked:
    roles, errors = question.found.roles, question.errors
    columns = {role: [question.columns[name] for name in roles[role]] for role in question.found.layout.roles}
    if "shown" in roles:
        kind, objects, expansion, shown = read_grid(
            columns, errors, question.split, question.coding, question.names, list(roles["shown"])
        )
    else:
        kind, objects, expansion, shown = read_ranking(columns, errors, question.names)
    seen = np.zeros(len(objects.labels), bool)
    for codes in shown:
        seen[codes] = True
    return Asked(kind, objects, expansion, seen)


_LONGEST_LIST = 1000  # a ranking of so many makes half a million comparisons

Columns = dict[str, list[Column]]
Result = tuple[Kind, Objects, Expansion, list[Any]]


@dataclass(frozen=True)
class _Choice:
    """What one distinct pair of lists means: why it is bad, or what is nearer than what."""

    error: str = ""  # its code
    numbers: Numbers = field(default_factory=dict)
    shown: tuple[int, ...] = ()
    chosen: tuple[int, ...] = ()
    undecided: bool = False


def read_grid(
    columns: Columns, errors: RowErrors, split: bool, coding: Coding, names: list[Any] | None, titles: list[str]
) -> Result:
    """Return the comparisons of a table with what was shown and what was chosen, or ranked: chosen in order.

    ``titles`` are the columns of what was shown, which choices may name.
    """
    ranked = "ranking" in columns
    picked_columns = columns["ranking" if ranked else "chosen"]
    anchor_column = columns["anchor"][0]
    shown_of, shown = read_lists(columns["shown"])
    objects = Objects([anchor_column], (item for each in shown for item in each), names)
    anchor = objects.codes(anchor_column, "anchor", errors)
    if len(picked_columns) > 1:
        chosen_of, chosen_lists = join_columns(picked_columns)
        chosen: list[Any] = [*chosen_lists, ()]
    else:
        chosen_of, chosen = picked_columns[0].codes.astype(np.int64), [*map(str, picked_columns[0].values), ()]
    shown_of, chosen_of = shown_of % len(shown), chosen_of % len(chosen)  # -1 becomes the empty list
    keys, pair_of = np.unique(shown_of * len(chosen) + chosen_of, return_inverse=True)
    lists = [(shown[key // len(chosen)], chosen[key % len(chosen)]) for key in keys.tolist()]
    if len(titles) > 1 and not any(_fits(picked, each) for each, picked in lists):
        lists = [(each, _by_word(each, picked, titles)) for each, picked in lists]
    counts_from = _counts_from(lists, coding)
    if len(titles) > 1 and counts_from is not None:
        cells = np.stack([column.codes >= 0 for column in columns["shown"]], axis=1)
        gap = np.asarray((cells[:, 1:] & ~np.logical_and.accumulate(cells, axis=1)[:, :-1]).any(axis=1))
        errors.add(gap, "option-gap")
    choices = [_choice(each, picked, objects, counts_from, ranked) for each, picked in lists]
    _mark(choices, pair_of, anchor, objects, errors)
    undecided = np.array([choice.undecided for choice in choices])[pair_of] & ~errors.bad
    pairs = [
        np.empty((0, 2), np.int32)
        if choice.error or (choice.undecided and not split)
        else (kinds.ranked_pairs if ranked else kinds.grid_pairs)(list(choice.shown), list(choice.chosen))
        for choice in choices
    ]
    one = [
        choice.shown.index(choice.chosen[0]) if len(choice.chosen) == 1 or (ranked and choice.chosen) else -1
        for choice in choices
    ]
    places = np.array(one, np.int16)[pair_of]
    expansion = kinds.near_lists(anchor, pair_of, pairs, errors, undecided, places)
    good = np.flatnonzero(~errors.bad)
    seen = [anchor[good], *(np.array(choices[pair].shown, int) for pair in np.unique(pair_of[good]))]
    only_two = all(len(choice.shown) == 2 for choice in choices if not choice.error)
    kind: Kind = "ranked-grid" if ranked else "triplet" if only_two and coding.from_zero else "grid"
    return kind, objects, expansion, seen


def _fits(picked: Any, shown: tuple[str, ...]) -> bool:
    items = picked if isinstance(picked, tuple) else next(iter(_fitting(picked, shown)), None)
    return bool(items) and set(items or ()) <= set(shown)


def _by_word(shown: tuple[str, ...], picked: Any, titles: list[str]) -> Any:
    """Return the option whose column, or side, the choice names; the choice itself if it names none."""
    place = place_of_word(picked, titles, len(titles)) if isinstance(picked, str) and len(shown) == len(titles) else -1
    return shown[place] if place >= 0 else picked


def _mark(choices: list[_Choice], pair_of: NDArray[np.intp], anchor: Any, objects: Objects, errors: RowErrors) -> None:
    for code in dict.fromkeys(choice.error for choice in choices if choice.error):
        bad = np.array([choice.error == code for choice in choices])[pair_of]
        errors.add(bad, code, lambda row: choices[pair_of[row]].numbers)
    anchors = np.unique(np.stack([pair_of, anchor.astype(np.intp)], axis=1), axis=0)
    within = {(pair, code) for pair, code in anchors.tolist() if code in choices[pair].shown}
    if within:
        inside = np.fromiter(
            ((pair, code) in within for pair, code in zip(pair_of.tolist(), anchor.tolist(), strict=True)),
            bool,
            len(pair_of),
        )
        errors.add(inside, "anchor-shown", lambda row: {"concerned": (objects.labels[anchor[row]],)})


def _counts_from(lists: list[Any], coding: Coding) -> int | None:
    """Return what choices that are numbers count from, or None if choices are objects."""
    named = numbered = 0
    numbers: set[int] = set()
    full = False
    for shown, picked in lists:
        named += _fits(picked, shown)
        integers = _integers(picked)
        if integers is not None and max(integers) <= len(shown):
            numbered += 1
            numbers |= set(integers)
            full |= max(integers) == len(shown)
    if named >= numbered or not numbers:
        return None
    if coding.first is not None:
        return coding.counts_from()
    if coding.from_zero and full:
        raise UnclearCoding(
            f"the choices are numbers up to the number of options, which do not count from 0 as those of buttons do; "
            f"say {one_of('first_is', ['1', '0'])} for the number of the first option"
        )
    if coding.from_zero:
        return 0
    return 1 if full and 0 not in numbers else (0 if 0 in numbers and not full else None)


def _fitting(picked: str, shown: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [items for items in readings(picked) if items and set(items) <= set(shown)][:1]


def _integers(picked: Any) -> list[int] | None:
    options = [picked] if isinstance(picked, tuple) else list(readings(picked))
    for items in options:
        if items and all(item.isascii() and item.isdigit() and len(item) < 5 for item in items):
            return [int(item) for item in items]
    return None


def _choice(
    shown: tuple[str, ...], picked: Any, objects: Objects, counts_from: int | None, ranked: bool = False
) -> _Choice:
    if len(shown) < 2:
        return _Choice("few-shown")
    if len(shown) > _LONGEST_LIST:
        return _Choice("long-list", {"n_objects": len(shown), "most": _LONGEST_LIST})
    if any(len(item) > LONGEST_LABEL for item in shown):
        return _Choice("long-name", {"most": LONGEST_LABEL})
    codes = positions(shown, objects)
    if -1 in codes:
        return _Choice("unlisted", {"concerned": (shown[codes.index(-1)],)})
    if len(set(codes)) < len(codes):
        return _Choice("shown-twice")
    if not picked:
        return _Choice("nothing-chosen")
    if counts_from is not None:
        integers = _integers(picked)
        if integers is not None and all(0 <= number - counts_from < len(shown) for number in integers):
            items: tuple[str, ...] = tuple(shown[number - counts_from] for number in integers)
        else:
            items = ()
    elif isinstance(picked, tuple):
        items = picked if set(picked) <= set(shown) else ()
    else:
        items = next(iter(_fitting(picked, shown)), ())
    if not items:
        if not isinstance(picked, tuple) and is_undecided(picked):
            return _Choice(shown=codes, undecided=True)
        return _Choice("not-shown", {"value": picked})
    chosen = tuple(codes[shown.index(item)] for item in dict.fromkeys(items))
    if ranked and len(chosen) < len(items):
        return _Choice("chosen-twice")
    if len(chosen) == len(shown) and not ranked:
        return _Choice("all-chosen")
    return _Choice(shown=codes, chosen=chosen)


def read_ranking(columns: Columns, errors: RowErrors, names: list[Any] | None) -> Result:
    """Return the comparisons of a table with rankings, nearest first."""
    anchor_column = columns["anchor"][0]
    ranking_of, rankings = read_lists(columns["ranking"])
    objects = Objects([anchor_column], (item for each in rankings for item in each), names)
    anchor = objects.codes(anchor_column, "anchor", errors)
    ranking_of = ranking_of % len(rankings)
    choices = [_choice(each, "?", objects, None) for each in rankings]  # nothing is chosen from a ranking
    _mark(choices, ranking_of, anchor, objects, errors)
    pairs = [
        np.empty((0, 2), np.int32) if choice.error else kinds.ranking_pairs(list(choice.shown)) for choice in choices
    ]
    nobody = np.zeros(len(errors.bad), bool)
    expansion = kinds.near_lists(anchor, ranking_of, pairs, errors, nobody, None)
    good = np.flatnonzero(~errors.bad)
    seen = [anchor[good], *(np.array(choices[each].shown, int) for each in np.unique(ranking_of[good]))]
    return "ranking", objects, expansion, seen
