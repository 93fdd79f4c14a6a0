"""Rows that are no answers and are passed over, with a note.

Programs that run experiments log every screen: instructions show nothing, or a single button; a question of consent
shows the objects "Yes" and "No", which no comparison mentions. With an edge between objects of the same row, objects
fall into parts, and the rows of such questions are about a part of their own.

Qualtrics writes three lines of headers: names, what was asked, and an ``ImportId`` for every column.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.io.layouts import ANSWERS, Found
from nearer.io.lists import read_lists
from nearer.io.objects import Objects
from nearer.io.presets import Reading
from nearer.io.table import Column, Loaded, shortened

_FIRST_ROWS = 100_000  # these nearly always tell that all objects hang together
_NAMED = 6
_IMPORT_ID = '{"ImportId"'


def passed_over(loaded: Loaded, found: Found, reading: Reading, own: bool, source: str, notes: list[str]) -> Loaded:
    """Return the rows that are answers.

    ``own`` says that `write_answers` wrote the table, whose rows are then all answers.
    """
    roles = tuple(found.roles)
    if reading.pass_over:  # instructions have a stimulus and a response, too, but nothing to choose from
        roles = tuple(role for role in found.layout.roles if role not in ("anchor", *ANSWERS))
    empty = np.ones(len(loaded.lines), bool)
    for role in roles:
        for name in found.roles[role]:
            empty &= loaded.columns[name].codes < 0
    what = ("names no objects", "name no objects") if reading.pass_over else ("is empty", "are empty")
    loaded = _without(loaded, empty, what, source, notes)
    listed = next((role for role in ("shown", "items") if role in found.layout.roles), None)
    if reading.pass_over and listed is not None:
        least, word = (2, "two") if listed == "shown" else (3, "three")
        what = (f"shows fewer than {word} objects", f"show fewer than {word} objects")
        loaded = _without(loaded, _too_few(loaded, found.roles[listed], least), what, source, notes)
    if reading.answered_only:
        answered = np.zeros(len(loaded.lines), bool)
        for name in found.columns_of(ANSWERS):
            answered |= loaded.columns[name].codes >= 0
        loaded = _without(loaded, ~answered, ("has no response", "have no response"), source, notes)
    if own:
        return loaded
    stray, objects = stray_rows(loaded, found)
    about = f"about objects that no other row mentions ({objects})"
    if reading.pass_over:
        return _without(loaded, stray, (f"is {about}", f"are {about}"), source, notes)
    if stray.any():
        notes.append(f"{source}: {_counted(stray, (f'is {about}', f'are {about}'))}")
    return loaded


def _counted(rows: NDArray[np.bool_], what: tuple[str, str]) -> str:
    n_rows = int(rows.sum())
    return f"1 row {what[0]}" if n_rows == 1 else f"{n_rows} rows {what[1]}"


def _without(loaded: Loaded, rows: NDArray[np.bool_], what: tuple[str, str], source: str, notes: list[str]) -> Loaded:
    if not rows.any():
        return loaded
    notes.append(f"{source}: {_counted(rows, what)} and {'was' if rows.sum() == 1 else 'were'} passed over")
    kept = {name: Column(column.codes[~rows], column.values) for name, column in loaded.columns.items()}
    return replace(loaded, columns=kept, lines=loaded.lines[~rows])


def _too_few(loaded: Loaded, names: tuple[str, ...], least: int) -> NDArray[np.bool_]:
    list_of, lists = read_lists([loaded.columns[name] for name in names])
    return np.array([len(each) < least for each in lists])[list_of]


def without_headers(loaded: Loaded, source: str, notes: list[str]) -> Loaded:
    """Return the rows without the second and the third line of headers that Qualtrics writes."""
    headers = np.zeros(len(loaded.lines), bool)
    for column in loaded.columns.values():
        if any(str(value).startswith(_IMPORT_ID) for value in column.values):
            marked = column.mapped(lambda value: str(value).startswith(_IMPORT_ID), False, bool)
            headers[: int(marked[:2].nonzero()[0].max(initial=-1)) + 1] = True
    what = "is a further line of headers", "are further lines of headers"
    return _without(loaded, headers, what, source, notes)


def stray_rows(loaded: Loaded, found: Found) -> tuple[NDArray[np.bool_], str]:
    """Return which rows are about objects that no other row mentions, and what these objects are.

    Rows of a part of the objects are stray if all show the same options while those of another part do not. If the
    options of no part vary, all parts but the largest are stray.
    """
    stray = np.zeros(len(loaded.lines), bool)
    for first_rows in (slice(_FIRST_ROWS), slice(None)):
        nodes, inside, labels = _nodes(loaded, found, first_rows)
        rows = np.flatnonzero((nodes >= 0).all(axis=1))
        part_of = _parts(nodes[rows], inside, len(labels))
        if len(labels) == 0 or part_of[: len(labels)].max() == 0:
            return stray, ""
    part_of_object, part = part_of[: len(labels)], part_of[nodes[rows, 0]]
    options = np.sort(nodes[rows, 1:] if "anchor" in found.layout.roles else nodes[rows], axis=1)
    n_parts = int(part_of.max()) + 1
    main = _differ(options, part, n_parts)
    if not main.any():
        sizes = np.bincount(part_of_object, minlength=n_parts)
        largest = sizes == sizes.max()
        main = largest & _differ(nodes[rows], part, n_parts) & (largest.sum() == 1)
    stray_parts = ~main & (np.bincount(part, minlength=n_parts) > 0) & main.any()
    stray[rows] = stray_parts[part]
    named = [labels[at] for at in np.flatnonzero(stray_parts[part_of_object])]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return stray, ", ".join(map(shortened, named[:_NAMED])) + more


def _nodes(loaded: Loaded, found: Found, rows: slice) -> tuple[NDArray[Any], list[tuple[int, ...]], list[str]]:
    """Return what each row mentions, (n, k): objects, and lists, numbered after the objects.

    Also returns the objects in each list, and the labels of all objects.
    """
    shown = next((role for role in ("shown", "ranking", "items") if role in found.layout.roles), None)
    if shown == "items" and len(found.roles["items"]) > 1:
        shown = None  # a column for each: they are objects of their own
    single = [role for role in found.layout.roles if role not in (shown, *ANSWERS)]
    taken = {name: Column(column.codes[rows], column.values) for name, column in loaded.columns.items()}
    columns = [taken[name] for role in single for name in found.roles[role]]
    list_of, lists = np.zeros(0, np.intp), list[tuple[str, ...]]()
    if shown is not None:
        list_of, lists = read_lists([taken[name] for name in found.roles[shown]])
    objects = Objects(columns, (item for each in lists for item in each))
    position = objects.position
    nodes = [column.mapped(lambda value: position.get(str(value), -1), -1, np.int32) for column in columns]
    if "items" in single:  # a row with fewer items mentions one of them again
        one = np.max(nodes, axis=0)
        nodes = [np.where(each < 0, one, each) for each in nodes]
    distinct: dict[tuple[int, ...], int] = {}
    if shown is not None:
        insides = [tuple(sorted({position[item] for item in each if item in position})) for each in lists]
        number = np.array([distinct.setdefault(each, len(distinct)) if each else -1 for each in insides])
        nodes.append(np.where(number[list_of] < 0, -1, number[list_of] + len(position)).astype(np.int32))
    return np.stack(nodes, axis=1), list(distinct), list(position)


def _parts(nodes: NDArray[Any], inside: list[tuple[int, ...]], n_objects: int) -> NDArray[np.int32]:
    """Return the part, (n_objects + number of lists,), that each object and each list belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = n_objects + len(inside)
    first = [np.repeat(nodes[:, :1], nodes.shape[1] - 1, axis=1).ravel()]
    second = [nodes[:, 1:].ravel()]
    for each in np.unique(nodes[nodes >= n_objects]).tolist():
        members = np.array(inside[each - n_objects])
        first.append(np.full(len(members), each))
        second.append(members)
    ends = np.concatenate(first), np.concatenate(second)
    edges = coo_array((np.ones(len(ends[0]), bool), ends), shape=(size, size))
    return np.asarray(connected_components(edges.tocsr(), directed=False)[1], np.int32)


def _differ(rows: NDArray[Any], part: NDArray[np.int32], n_parts: int) -> NDArray[np.bool_]:
    """Return for every part whether its rows differ."""
    first = np.zeros(n_parts, np.intp)
    first[part[::-1]] = np.arange(len(part))[::-1]
    other = (rows != rows[first[part]]).any(axis=1)
    return np.bincount(part, other, minlength=n_parts) > 0
