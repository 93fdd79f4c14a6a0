"""Grids (choose k of n, in order or not) and rankings: answers that are lists.

Lists repeat, and so do pairs of what was shown and what was chosen. Each distinct pair is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.io import kinds
from nearer.io.answer_codes import Coding, UnclearCoding
from nearer.io.answers import Kind
from nearer.io.faults import Faults, one_of
from nearer.io.kinds import Expansion
from nearer.io.lists import join_columns, positions, read_lists, readings
from nearer.io.objects import LONGEST_LABEL, Objects
from nearer.io.places import is_undecided, place_of_word
from nearer.io.table import Column, shortened

_LONGEST_LIST = 1000  # a ranking of so many makes half a million comparisons

Columns = dict[str, list[Column]]
Result = tuple[Kind, Objects, Expansion, list[Any]]


@dataclass(frozen=True)
class _Choice:
    """What one distinct pair of lists means: why it is bad, or what is nearer than what."""

    reason: str = ""
    shown: tuple[int, ...] = ()
    chosen: tuple[int, ...] = ()
    undecided: bool = False


def read_grid(
    columns: Columns, faults: Faults, split: bool, coding: Coding, names: list[Any] | None, titles: list[str]
) -> Result:
    """Return the comparisons of a table with what was shown and what was chosen, or ranked: chosen in order.

    ``titles`` are the columns of what was shown, which choices may name.
    """
    ranked = "ranking" in columns
    picked_columns = columns["ranking" if ranked else "chosen"]
    anchor_column = columns["anchor"][0]
    shown_of, shown = read_lists(columns["shown"])
    objects = Objects([anchor_column], (item for each in shown for item in each), names)
    anchor = objects.codes(anchor_column, "anchor", faults)
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
        faults.add(gap, "an option before another is missing, and the choice is a number; name the object")
    choices = [_choice(each, picked, objects, counts_from, ranked) for each, picked in lists]
    _mark(choices, pair_of, anchor, objects, faults)
    undecided = np.array([choice.undecided for choice in choices])[pair_of] & ~faults.bad
    pairs = [
        np.empty((0, 2), np.int32)
        if choice.reason or (choice.undecided and not split)
        else (kinds.ranked_pairs if ranked else kinds.grid_pairs)(list(choice.shown), list(choice.chosen))
        for choice in choices
    ]
    one = [
        choice.shown.index(choice.chosen[0]) if len(choice.chosen) == 1 or (ranked and choice.chosen) else -1
        for choice in choices
    ]
    places = np.array(one, np.int16)[pair_of]
    expansion = kinds.near_lists(anchor, pair_of, pairs, faults, undecided, places)
    good = np.flatnonzero(~faults.bad)
    seen = [anchor[good], *(np.array(choices[pair].shown, int) for pair in np.unique(pair_of[good]))]
    only_two = all(len(choice.shown) == 2 for choice in choices if not choice.reason)
    kind: Kind = "ranked-grid" if ranked else "triplet" if only_two and coding.from_zero else "grid"
    return kind, objects, expansion, seen


def _fits(picked: Any, shown: tuple[str, ...]) -> bool:
    items = picked if isinstance(picked, tuple) else next(iter(_fitting(picked, shown)), None)
    return bool(items) and set(items or ()) <= set(shown)


def _by_word(shown: tuple[str, ...], picked: Any, titles: list[str]) -> Any:
    """Return the option whose column, or side, the choice names; the choice itself if it names none."""
    place = place_of_word(picked, titles, len(titles)) if isinstance(picked, str) and len(shown) == len(titles) else -1
    return shown[place] if place >= 0 else picked


def _mark(choices: list[_Choice], pair_of: NDArray[np.intp], anchor: Any, objects: Objects, faults: Faults) -> None:
    bad = np.array([bool(choice.reason) for choice in choices])[pair_of]
    faults.add(bad, lambda row: choices[pair_of[row]].reason)
    anchors = np.unique(np.stack([pair_of, anchor.astype(np.intp)], axis=1), axis=0)
    within = {(pair, code) for pair, code in anchors.tolist() if code in choices[pair].shown}
    if within:
        inside = np.fromiter(
            ((pair, code) in within for pair, code in zip(pair_of.tolist(), anchor.tolist(), strict=True)),
            bool,
            len(pair_of),
        )
        faults.add(
            inside, lambda row: f"the anchor {shortened(objects.labels[anchor[row]])} is among the objects shown"
        )


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
        return _Choice("fewer than two objects were shown")
    if len(shown) > _LONGEST_LIST:
        return _Choice(f"the list holds {len(shown)} objects, more than {_LONGEST_LIST}")
    if any(len(item) > LONGEST_LABEL for item in shown):
        return _Choice(f"a name in the list is longer than {LONGEST_LABEL} characters")
    codes = positions(shown, objects)
    if -1 in codes:
        return _Choice(f"{shortened(shown[codes.index(-1)])} in the list is none of the objects")
    if len(set(codes)) < len(codes):
        return _Choice("an object was shown twice")
    if not picked:
        return _Choice("nothing was chosen")
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
        return _Choice(f"the choice {shortened(picked)} is not among the objects shown")
    chosen = tuple(codes[shown.index(item)] for item in dict.fromkeys(items))
    if ranked and len(chosen) < len(items):
        return _Choice("an object was chosen twice")
    if len(chosen) == len(shown) and not ranked:
        return _Choice("everything shown was chosen, which compares nothing")
    return _Choice(shown=codes, chosen=chosen)


def read_ranking(columns: Columns, faults: Faults, names: list[Any] | None) -> Result:
    """Return the comparisons of a table with rankings, nearest first."""
    anchor_column = columns["anchor"][0]
    ranking_of, rankings = read_lists(columns["ranking"])
    objects = Objects([anchor_column], (item for each in rankings for item in each), names)
    anchor = objects.codes(anchor_column, "anchor", faults)
    ranking_of = ranking_of % len(rankings)
    choices = [_choice(each, "?", objects, None) for each in rankings]  # nothing is chosen from a ranking
    _mark(choices, ranking_of, anchor, objects, faults)
    pairs = [
        np.empty((0, 2), np.int32) if choice.reason else kinds.ranking_pairs(list(choice.shown)) for choice in choices
    ]
    nobody = np.zeros(len(faults.bad), bool)
    expansion = kinds.near_lists(anchor, ranking_of, pairs, faults, nobody, None)
    good = np.flatnonzero(~faults.bad)
    seen = [anchor[good], *(np.array(choices[each].shown, int) for each in np.unique(ranking_of[good]))]
    return "ranking", objects, expansion, seen
