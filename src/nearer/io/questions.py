"""From a table whose columns are known to comparisons: what every kind of question says.

Whole columns of positions in the list of objects become the comparisons of all rows at once. With a, b, c for objects:

- odd-one-out: c is the odd one of k items: of all others, a is nearer to b than to c, for every ordered pair (a, b);
- most-central: c is the central one of k items: of all others, a is nearer to c than to b, for every ordered pair;
- grid: the anchor is nearer to everything chosen than to everything shown and not chosen;
- ranking: the anchor is nearer to what stands earlier than to what stands later, for all pairs;
- ranked-grid: both, with everything shown and not chosen behind what was chosen.

The first two make (k - 1)(k - 2) comparisons. "Can't tell" can be split: the comparisons of every possible answer, all
with the same weight. Each distinct list, or pair of what was shown and what was chosen, is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, permutations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.rows import has_equal_pairs, has_self_comparison
from nearer.io.answers import Kind
from nearer.io.choice_coding import (
    UNDECIDED,
    AmbiguousCoding,
    Coding,
    is_undecided,
    normalize_code,
    place_of_word,
    read_places,
)
from nearer.io.columns import PAIRS, SIDES, LayoutMatch
from nearer.io.labels import (
    MAX_LABEL_CHARACTERS,
    Objects,
    join_columns,
    label_array,
    possible_lists,
    read_items,
    read_lists,
)
from nearer.io.messages import as_column, note, one_of, without_column
from nearer.io.table import Codes, Column, Numbers, RowErrors

Rows = NDArray[np.int32]


# Comparisons and the row of the table that each follows from, in order; the place that each row of the table says, -1
# for none; and the rows of the table in which somebody could not tell.
Compared: TypeAlias = tuple[Rows, NDArray[np.intp], NDArray[np.signedinteger[Any]] | None, NDArray[np.intp]]


def side_comparisons(
    pairs: tuple[list[Codes], list[Codes]], places: NDArray[np.int8], errors: RowErrors, split: bool
) -> Compared:
    """Return comparisons of near pairs with far pairs where one of two was chosen.

    ``pairs`` holds the objects of each side: anchor and option, or two objects; an anchor is written once.
    """
    left, right = pairs
    undecided = (places == UNDECIDED) & ~errors.bad
    kept = np.flatnonzero(~errors.bad & ((places >= 0) | (undecided & split)))
    row_of = np.repeat(kept, np.where(undecided[kept], 2, 1))
    swapped = places[row_of] == 1
    swapped[1:] |= row_of[1:] == row_of[:-1]
    near = [np.where(swapped, b[row_of], a[row_of]) for a, b in zip(left, right, strict=True)]
    far = [np.where(swapped, a[row_of], b[row_of]) for a, b in zip(left, right, strict=True)]
    rows = np.stack([*near, *(far[1:] if left[0] is right[0] else far)], axis=1)
    return rows, row_of, np.maximum(places, -1), np.flatnonzero(undecided)


def item_comparisons(items: Codes, places: NDArray[np.int8], errors: RowErrors, split: bool, central: bool) -> Compared:
    """Return comparisons where the odd or the central one of several was named.

    ``items`` has a column for each place, (n, k), and -1 where a row has fewer. Rows that show and answer at the same
    places have the same pattern, which is worked out once.
    """
    undecided = (places == UNDECIDED) & ~errors.bad
    kept = np.flatnonzero(~errors.bad & ((places >= 0) | (undecided & split)))
    shown, named = items[kept], np.where(undecided[kept], -1, places[kept])
    n_places = items.shape[1]
    keys = ((shown >= 0) @ (1 << np.arange(n_places))) * (n_places + 1) + named + 1
    distinct, pattern_of = np.unique(keys, return_inverse=True)
    patterns = [_pattern(key // (n_places + 1), key % (n_places + 1) - 1, central) for key in distinct.tolist()]
    copies = np.array([len(pattern) for pattern in patterns] or [0])[pattern_of]
    starts = np.cumsum(copies) - copies
    rows = np.empty((int(copies.sum()), 3), np.int32)
    for at, pattern in enumerate(patterns):
        alike = np.flatnonzero(pattern_of == at)
        rows[starts[alike, None] + np.arange(len(pattern))] = shown[alike[:, None, None], pattern]
    return rows, np.repeat(kept, copies), np.maximum(places, -1), np.flatnonzero(undecided)


def _pattern(present: int, named: int, central: bool) -> NDArray[np.intp]:
    """Return the places, (m, 3), of anchor, near and far; ``present`` has a bit for every place that shows an item."""
    shown = [place for place in range(present.bit_length()) if present >> place & 1]
    rows = []
    for one in shown if named < 0 else [named]:
        others = [place for place in shown if place != one]
        rows += [(a, one, b) if central else (a, b, one) for a, b in permutations(others, 2)]
    return np.array(rows, np.intp).reshape(-1, 3)


def list_comparisons(
    anchor: Codes, lists: NDArray[np.intp], pairs: list[NDArray[np.int32]], errors: RowErrors
) -> tuple[Rows, NDArray[np.intp]]:
    """Return comparisons of an anchor with lists, and the row of each.

    ``lists`` has a number for every row, and ``pairs`` for every such number the objects (k, 2), nearer and farther.
    """
    kept = np.flatnonzero(~errors.bad)
    sizes = np.array([len(each) for each in pairs] or [0])
    starts = np.cumsum(sizes) - sizes
    flat = np.concatenate(pairs) if pairs else np.empty((0, 2), np.int32)
    copies = sizes[lists[kept]]
    row_of = np.repeat(kept, copies)
    number = np.arange(len(row_of)) - np.repeat(np.cumsum(copies) - copies, copies)
    taken = flat[starts[lists[row_of]] + number]
    return np.column_stack([anchor[row_of], taken]).astype(np.int32), row_of


def list_pairs(shown: Iterable[int], chosen: Sequence[int], ranked: bool) -> NDArray[np.int32]:
    """Return every pair of something chosen and something not chosen, or if ``ranked`` chosen later.

    Without a choice, return all pairs both ways.
    """
    if not chosen:
        return np.array(list(permutations(shown, 2)), np.int32).reshape(-1, 2)
    ordered = np.array(list(dict.fromkeys([*chosen, *shown])), np.int32)
    near, far = np.triu_indices(len(ordered), 1)
    compared = (near < len(chosen)) & ((far >= len(chosen)) | ranked)
    return np.stack([ordered[near[compared]], ordered[far[compared]]], axis=1)


def find_degenerate(columns: list[Codes], labels: list[object], errors: RowErrors) -> None:
    """Add rows that compare an object with itself: two columns hold the same object.

    ``columns`` are anchor, near and far, or two pairs; any three objects that must differ will do.
    """
    rows = np.stack(columns, axis=1)
    whole = (rows >= 0).all(axis=1)
    if len(columns) == 4:
        errors.add(whole & has_self_comparison(rows), "itself")
        errors.add(whole & has_equal_pairs(rows), "same-pair")
        return

    def twice(row: int) -> Numbers:
        a, b, c = rows[row].tolist()
        return {"concerned": (labels[a if a in (b, c) else b],)}

    errors.add(whole & (has_self_comparison(rows) | has_equal_pairs(rows)), "twice", twice)


@dataclass(frozen=True)
class Question:
    """What a table asks and how it is to be read."""

    found: LayoutMatch
    columns: dict[str, Column]  # by their names in the table
    errors: RowErrors
    source: str
    split: bool  # whether "can't tell" becomes comparisons both ways
    coding: Coding  # what is known of answers that are numbers or truth values
    names: list[Any] | None  # labels that integers stand for
    named_roles: frozenset[str] = frozenset()  # roles whose columns the caller names, which are always believed

    def column(self, role: str) -> Column:
        """Return the column of a role."""
        return self.columns[self.found.roles[role][0]]

    def name(self, role: str) -> str:
        """Return the name of the column of a role."""
        return self.found.roles[role][0]


@dataclass(frozen=True)
class TableComparisons:
    """Comparisons with positions in ``objects``, and which objects were seen in good rows.

    ``signs`` are answers +1 and -1 of comparisons that are kept as written.
    """

    kind: Kind
    objects: Objects
    rows: Rows
    row_of: NDArray[np.intp]
    places: NDArray[np.signedinteger[Any]] | None
    undecided: NDArray[np.intp]  # rows of the table
    seen: NDArray[np.bool_]
    signs: NDArray[np.int8] | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def near_first(self) -> NDArray[Any]:
        """Return rows with near before far."""
        rows = self.rows
        if self.signs is None:
            return rows
        order = [0, 2, 1] if rows.shape[1] == 3 else [2, 3, 0, 1]
        return np.where((self.signs < 0)[:, None], rows[:, order], rows)

    def rows_and_labels(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows and labels without objects that only bad rows name."""
        rows, kept = self.rows, self.seen | self.objects.named
        labels = label_array([label for label, is_kept in zip(self.objects.labels, kept, strict=True) if is_kept])
        return rows if kept.all() else (np.cumsum(kept) - 1).astype(np.int32)[rows], labels


def read_question(question: Question) -> TableComparisons:
    """Return the comparisons that a table says."""
    layout, errors = question.found.layout, question.errors
    if layout.kind in ("grid", "ranking", "ranked-grid"):
        return _read_list_question(question)
    if layout.kind in ("odd-one-out", "most-central"):
        return _read_items_question(question)
    objects_of = [role for role in layout.roles if role != "answer"]
    sides = [role for role in SIDES if role in question.found.roles and role not in objects_of]
    objects = Objects([question.column(role) for role in [*objects_of, *sides]], names=question.names)
    codes = {role: objects.codes(question.column(role), role.replace("_", " "), errors) for role in objects_of}
    find_degenerate(list(codes.values()), objects.labels, errors)
    if layout.says_near:
        return _read_near_and_far(question, objects, codes, sides)
    coding, titles = question.coding.of_column(question.name("answer")), list[str]()
    if layout.kind == "triplet":
        options = [codes["left"], codes["right"]]
        names = [question.name(role) for role in SIDES]
        pairs = ([codes["anchor"], options[0]], [codes["anchor"], options[1]])
    else:
        options = [np.full(len(errors.bad), -1, np.int32)] * 2  # an object cannot name a pair
        names, titles = list(SIDES), ["the first pair", "the second pair"]
        pairs = ([codes[role] for role in PAIRS[:2]], [codes[role] for role in PAIRS[2:]])
    answer = question.column("answer")
    places = read_places(answer, objects.labels, options, names, errors, question.source, coding, titles)
    compared = side_comparisons(pairs, places, errors, question.split)
    seen = _seen_objects(objects, (each[~errors.bad] for each in codes.values()))
    return TableComparisons(layout.kind, objects, *compared, seen)


def _read_items_question(question: Question) -> TableComparisons:
    kind, errors = question.found.layout.kind, question.errors
    columns = question.found.roles["items"]
    objects, items = read_items([question.columns[name] for name in columns], errors, question.names)
    role = "odd" if kind == "odd-one-out" else "central"
    names = list(columns) if len(columns) > 1 else []
    answer, options, coding = question.column(role), list(items.T), question.coding
    answer_column = question.name(role)
    is_column = answer_column in columns  # one column of items is the answer
    if is_column:
        places = np.full(len(items), columns.index(answer_column), np.int8)
    else:
        places = read_places(answer, objects.labels, options, names, errors, question.source, coding, wanted=role)
    compared = item_comparisons(items, places, errors, question.split, central=role == "central")
    found = TableComparisons(kind, objects, *compared, _seen_objects(objects, items[~errors.bad].T))
    # Where the answer always stands in the same column, nothing is known of what was shown where.
    return replace(found, places=None) if is_column else found


def _read_near_and_far(
    question: Question, objects: Objects, codes: dict[str, Codes], sides: list[str]
) -> TableComparisons:
    """Read rows that say themselves what is near and what is far."""
    errors, found = question.errors, question.found
    signs, findings = None, tuple[Finding, ...]()
    if "answer" in found.roles:
        signs = _signs(question, objects)
        if signs is None:
            findings = (note("answer-not-used", question.source, column=question.name("answer")),)
        else:
            errors.add(signs == 0, "no-sign", lambda row: {"value": question.column("answer").value(row)})
    kept = np.flatnonzero(~errors.bad)
    rows = np.stack([each[kept] for each in codes.values()], axis=1)
    places = None
    if len(sides) == 2 and "near" in codes:
        ignored = RowErrors(len(errors.bad))  # a side that is not known makes no row bad
        left, right = (objects.codes(question.column(role), role, ignored) for role in SIDES)
        places = np.full(len(left), -1, np.int8)
        places[(left == codes["near"]) & (right == codes["far"])] = 0
        places[(right == codes["near"]) & (left == codes["far"])] = 1
    seen = _seen_objects(objects, rows.T)
    signs = None if signs is None else signs[kept]
    return TableComparisons(found.layout.kind, objects, rows, kept, places, kept[:0], seen, signs, findings)


def _signs(question: Question, objects: Objects) -> NDArray[np.int8] | None:
    """Return +1 and -1 for every row, 0 where there is neither; None for a column that says something else.

    Near is the first option, and the answer says whether a row is right as it stands.
    """
    column = question.column("answer")
    present = set(map(normalize_code, column.present))
    meaning: dict[str, int] | None = {"1": 0, "true": 0, "-1": 1, "false": 1}
    coding, roles = question.coding, question.found.roles
    are_codes = len(present) == 2 and present.isdisjoint(map(normalize_code, objects.labels))
    if "left" in roles and all(place_of_word(value, [], 2) >= 0 for value in present):
        are_codes = False  # the sides of what a row shows
    if coding.first is not None or (coding.as_written and "0" in present):
        meaning = coding.places(present, 2)
    elif present and (present <= set(meaning or ()) or "-1" in present):
        pass
    elif are_codes or (present <= {"0", "1"} and "0" in present):
        first = ["1", "0"] if "0" in present else sorted(present)
        raise AmbiguousCoding(
            f"{question.source}: column {question.name('answer')!r} holds {' and '.join(sorted(present))} in addition "
            f"to near and far; use {one_of('first_is', first)} for the value that means that a row is correct as "
            f"written, or do without the column: {without_column('answer')}"
        )
    elif present and ("answer" in question.named_roles or _answer_contradicts(question)):
        shown = [as_column(role, question.name(of)) for role, of in zip(SIDES, ("near", "far"), strict=True)]
        swapped = f"; if they are only what was shown, use {shown[0]} and {shown[1]}" if "near" in roles else ""
        raise ValueError(
            f"{question.source}: column {question.name('answer')!r} holds {', '.join(map(repr, sorted(present)[:4]))} "
            f"in addition to near and far, which already give the answer{swapped}; or do without the column: "
            f"{without_column('answer')}"
        )
    else:
        return None
    signs = {value: 1 - 2 * place for value, place in (meaning or {}).items()}
    return column.map_values(lambda value: signs.get(normalize_code(value), 0), 0, np.int8)


def _answer_contradicts(question: Question) -> bool:
    """Whether an answer names objects of its row, and what is far among them."""
    if "near" not in question.found.roles:
        return False
    rows = question.column("answer").filled
    answer, near, far = (question.column(role)[rows].texts() for role in ("answer", "near", "far"))
    return bool(((answer == near) | (answer == far)).all() and (answer == far).any())


def _seen_objects(objects: Objects, columns: Iterable[NDArray[Any]]) -> NDArray[np.bool_]:
    seen = np.zeros(len(objects.labels) + 1, bool)
    for codes in columns:
        seen[codes] = True  # a code of -1 points to the last
    return seen[:-1]


def _read_list_question(question: Question) -> TableComparisons:
    """Read lists of what was shown, and what was chosen of it or, in order, ranked; a ranking may be all there is."""
    layout, errors = question.found.layout, question.errors
    columns = {role: [question.columns[name] for name in question.found.roles[role]] for role in layout.roles}
    is_grid, ranked = "shown" in columns, "ranking" in columns
    shown_of, shown = read_lists(columns["shown" if is_grid else "ranking"])
    objects = Objects(columns["anchor"], chain(*shown), question.names)
    anchor = objects.codes(question.column("anchor"), "anchor", errors)
    pair_of = shown_of % len(shown)  # -1 becomes the empty list
    lists: list[tuple[tuple[str, ...], Any]] = [(each, each) for each in shown]
    counts_from = None
    if is_grid:
        picked_columns = columns["ranking" if ranked else "chosen"]
        picked: list[Any] = list(map(str, picked_columns[0].values))
        picked_of = picked_columns[0].codes.astype(np.int64)
        if len(picked_columns) > 1:
            picked_of, picked = join_columns(picked_columns)
        picked = [*picked, ()]
        keys, pair_of = np.unique(pair_of * len(picked) + picked_of % len(picked), return_inverse=True)
        lists = [(shown[key // len(picked)], picked[key % len(picked)]) for key in keys.tolist()]
        titles = list(question.found.roles["shown"])
        if len(titles) > 1 and not any(_possible_choice(choice, each) for each, choice in lists):
            lists = [(each, _by_title(each, choice, titles)) for each, choice in lists]
        counts_from = _counts_from(lists, question.coding)
        if len(titles) > 1 and counts_from is not None:
            cells = np.stack([column.filled for column in columns["shown"]], axis=1)
            after_gap = cells[:, 1:] & ~np.logical_and.accumulate(cells, axis=1)[:, :-1]
            errors.add(np.any(after_gap, axis=1), "option-gap")
    choices = [_read_choice(each, choice, objects, counts_from, ranked) for each, choice in lists]
    for code in dict.fromkeys(choice.error for choice in choices if choice.error):
        bad = np.array([choice.error == code for choice in choices])[pair_of]
        errors.add(bad, code, lambda row: choices[pair_of[row]].numbers)
    with_anchor, of_rows = np.unique(np.stack([pair_of, anchor], axis=1), axis=0, return_inverse=True)
    inside = np.array([code in choices[pair].shown for pair, code in with_anchor.tolist()], bool)[of_rows.reshape(-1)]
    errors.add(inside, "anchor-shown", lambda row: {"concerned": (objects.labels[anchor[row]],)})
    places = None
    if is_grid:
        first = [choice.shown.index(choice.chosen[0]) if choice.chosen else -1 for choice in choices]
        alone = [ranked or len(choice.chosen) == 1 for choice in choices]
        places = np.where(alone, first, -1).astype(np.int16)[pair_of]
    pairs = [choice.pairs(ranked, question.split) for choice in choices]
    undecided = np.array([choice.undecided for choice in choices])[pair_of] & ~errors.bad
    rows, row_of = list_comparisons(anchor, pair_of, pairs, errors)
    shown_in_good = (np.array(choices[pair].shown, int) for pair in np.unique(pair_of[~errors.bad]))
    seen = _seen_objects(objects, [anchor[~errors.bad], *shown_in_good])
    only_two = all(len(choice.shown) == 2 for choice in choices if not choice.error)
    kind: Kind = "triplet" if layout.kind == "grid" and only_two and question.coding.from_zero else layout.kind
    return TableComparisons(kind, objects, rows, row_of, places, np.flatnonzero(undecided), seen)


MAX_LIST = 1000  # a ranking of so many makes half a million comparisons


@dataclass(frozen=True)
class _ListChoice:
    """What one distinct pair of lists means: why it is bad, or what is nearer than what."""

    error: str = ""  # its code
    numbers: Numbers = field(default_factory=dict)
    shown: tuple[int, ...] = ()
    chosen: tuple[int, ...] = ()
    undecided: bool = False

    def pairs(self, ranked: bool, split: bool) -> NDArray[np.int32]:
        says_nothing = self.error or (self.undecided and not split)
        return np.empty((0, 2), np.int32) if says_nothing else list_pairs(self.shown, self.chosen, ranked)


def _by_title(shown: tuple[str, ...], picked: Any, titles: list[str]) -> Any:
    """Return the option whose column, or side, the choice names; the choice itself if it names none."""
    place = place_of_word(picked, titles, len(titles)) if isinstance(picked, str) and len(shown) == len(titles) else -1
    return shown[place] if place >= 0 else picked


def _counts_from(lists: list[Any], coding: Coding) -> int | None:
    """Return what choices that are numbers count from, or None if choices are objects."""
    named = numbered = 0
    numbers: set[int] = set()
    full = False
    for shown, picked in lists:
        named += bool(_possible_choice(picked, shown))
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
        raise AmbiguousCoding(
            f"the choices are numbers up to the number of options, which do not count from 0 as those of buttons do; "
            f"say {one_of('first_is', ['1', '0'])} for the number of the first option"
        )
    if coding.from_zero:
        return 0
    return 1 if full and 0 not in numbers else (0 if 0 in numbers and not full else None)


def _possible_choice(picked: Any, shown: tuple[str, ...]) -> tuple[str, ...]:
    """Return the objects shown that a choice names, or nothing."""
    ways = [picked] if isinstance(picked, tuple) else possible_lists(picked)
    return next((items for items in ways if items and set(items) <= set(shown)), ())


def _integers(picked: Any) -> list[int] | None:
    for items in [picked] if isinstance(picked, tuple) else possible_lists(picked):
        if items and all(item.isascii() and item.isdigit() and len(item) < 5 for item in items):
            return list(map(int, items))
    return None


def _read_choice(
    shown: tuple[str, ...], picked: Any, objects: Objects, counts_from: int | None, ranked: bool = False
) -> _ListChoice:
    if len(shown) < 2:
        return _ListChoice("few-shown")
    if len(shown) > MAX_LIST:
        return _ListChoice("long-list", {"n_objects": len(shown), "most": MAX_LIST})
    if any(len(item) > MAX_LABEL_CHARACTERS for item in shown):
        return _ListChoice("long-name", {"most": MAX_LABEL_CHARACTERS})
    codes = objects.in_list(shown)
    if -1 in codes:
        return _ListChoice("unlisted", {"concerned": (shown[codes.index(-1)],)})
    if len(set(codes)) < len(codes):
        return _ListChoice("shown-twice")
    if not picked:
        return _ListChoice("nothing-chosen")
    items = () if counts_from is not None else _possible_choice(picked, shown)
    if counts_from is not None and (integers := _integers(picked)) is not None:
        places = [number - counts_from for number in integers]
        items = tuple(shown[place] for place in places) if all(0 <= place < len(shown) for place in places) else ()
    if not items:
        if not isinstance(picked, tuple) and is_undecided(picked):
            return _ListChoice(shown=codes, undecided=True)
        return _ListChoice("not-shown", {"value": picked})
    chosen = tuple(codes[shown.index(item)] for item in dict.fromkeys(items))
    if ranked and len(chosen) < len(items):
        return _ListChoice("chosen-twice")
    if len(chosen) == len(shown) and not ranked:
        return _ListChoice("all-chosen")
    return _ListChoice(shown=codes, chosen=chosen)
