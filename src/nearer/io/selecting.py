"""Rows that are not read: those that filters of the caller leave out, and those that are no trials.

A rule is a column, a sign and one or several values: ``condition == A``, ``rt > 0.2``. Rows that a rule leaves out are
never looked at, whatever is wrong with them. Programs that run experiments log every screen: instructions show nothing,
or a single button; a question of consent shows "Yes" and "No", which no comparison mentions. With an edge between
objects of the same row, the rows of such questions are a connected component of their own.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding, Source
from nearer._common.formatting import quote_all
from nearer.data.labels import normalize_name
from nearer.io.answers import Answers, LeftOut
from nearer.io.columns import ANSWERS, SYNONYMS, LayoutMatch, by_plain
from nearer.io.labels import Objects, read_lists
from nearer.io.messages import note, sentence
from nearer.io.presets import TableHints
from nearer.io.table import Column, LoadedRows, RowSources, Table, encode, plain_numbers

_ORDERINGS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt
}  # fmt: skip


_RULE = re.compile(r"""\s*(?P<name>"[^"]*"|'[^']*'|[^<>=!"']+?)\s*(?P<sign><=|>=|==|!=|=|<|>)\s*(?P<value>.*?)\s*""")
_AND = re.compile(r"\s+and\s+|\s*&&\s*")


@dataclass(frozen=True)
class Rule:
    """What rows that are kept have in a column."""

    column: str
    sign: str
    values: tuple[str, ...]

    def holds(self, column: Column) -> NDArray[np.bool_]:
        """Return for each cell whether it is as it should be; an empty one is not, unless nothing is excluded by it."""
        if self.sign in _ORDERINGS:
            numbers = plain_numbers(column)
            return np.isfinite(numbers) & _ORDERINGS[self.sign](numbers, float(self.values[0]))
        named = column.map_values(lambda cell: any(_same(cell, value) for value in self.values), False, np.bool_)
        return named if self.sign == "==" else ~named


def _number(cell: Any) -> float | None:
    with suppress(TypeError, ValueError):
        return None if math.isnan(float(cell)) else float(cell)
    return None


def _same(cell: Any, value: str) -> bool:
    if str(cell) == value:
        return True
    number = _number(cell.replace(",", ".") if isinstance(cell, str) and cell.count(",") == 1 else cell)
    return number is not None and number == _number(value)


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Return the rules that a text such as ``rt > 0.2 and block != practice`` says."""
    rules = []
    for part in _AND.split(text.strip()):
        found = _RULE.fullmatch(part)
        if found is None or not found["value"]:
            raise ValueError(
                f"{part[:60]!r} is not a rule; write a column, one of = != < <= > >=, and a value, such as 'rt > 0.2', "
                "and join several with 'and'"
            )
        sign = "==" if found["sign"] == "=" else found["sign"]
        value = found["value"].strip("\"'")
        if sign in _ORDERINGS and _number(value) is None:
            point = ", which has a point before decimals" if _number(value.replace(",", ".")) is not None else ""
            raise ValueError(f"{part[:60]!r}: {value[:40]!r} is not a number{point}; such as 'rt {sign} 0.2'")
        rules.append(Rule(found["name"].strip("\"'"), sign, (value,)))
    return tuple(rules)


def rules_from(
    keep: Mapping[str, Any] | None, exclude: Mapping[str, Any] | None, where: str | Iterable[str] | None
) -> tuple[Rule, ...]:
    """Return the rules of all three ways to say them."""
    rules = []
    for sign, wanted in (("==", keep or {}), ("!=", exclude or {})):
        for column, values in wanted.items():
            several = values if isinstance(values, list | tuple | set | frozenset | np.ndarray) else [values]
            rules.append(Rule(column, sign, tuple(dict.fromkeys(map(str, several)))))
            if not rules[-1].values:
                raise ValueError(f"there is no value of {column!r} to select by")
    for text in [where] if isinstance(where, str) else where or ():
        rules += parse_rules(text)
    return tuple(rules)


def select_rows(
    table: Table, rules: Sequence[Rule], columns: Mapping[str, Any] | None
) -> tuple[Table, tuple[LeftOut, ...], tuple[Finding, ...]]:
    """Return a table of the rows that all rules keep, what each left out, and values that no row has."""
    named = [resolve_column(rule.column, table, columns) for rule in rules]
    loaded = table.load(list(dict.fromkeys(named)))
    parts = [loaded]  # and rows that have too few or too many cells
    if table.ragged is not None and loaded.n_bad:
        parts.append(table.ragged(list(loaded.columns)))
    kept = [np.ones(len(part), bool) for part in parts]
    out, absent = [], list[Finding]()
    for rule, name in zip(rules, named, strict=True):
        absent += _absent_values(rule, [value for part in parts for value in part.columns[name].values], table.source)
        n_out = 0
        for rows, part in zip(kept, parts, strict=True):
            dropped = rows & ~rule.holds(part.columns[name])
            n_out += int(dropped.sum())
            rows[dropped] = False
        out.append(LeftOut(n_out, name, rule.sign, rule.values))
    if not kept[0].any():
        reasons = "; ".join(map(str, out))
        raise ValueError(". ".join([f"{table.source}: no row is left: {reasons}", *map(sentence, absent)]))
    left_out = {parts[-1].sources.at(row) for row in np.flatnonzero(~kept[-1]).tolist()} if len(parts) > 1 else set()
    return with_rows(table, kept[0], left_out), tuple(out), tuple(absent)


def with_rows(table: Table, kept: NDArray[np.bool_], left_out: Collection[Source] = ()) -> Table:
    """Return a table of some rows; ``left_out`` are others that have too few or too many cells."""
    rows = np.flatnonzero(kept)

    def load(wanted: Sequence[str]) -> LoadedRows:
        whole = table.load(wanted)
        cut = {name: column.take(rows) for name, column in whole.columns.items()}
        bad_rows = [row for row in whole.bad_rows if row.source not in left_out]
        sources, n_bad = whole.sources[rows], whole.n_bad - len(left_out)
        return replace(whole, columns=cut, sources=sources, bad_rows=bad_rows, n_bad=n_bad)

    return replace(table, load=load, peek=None, ragged=None)


def answers_where(answers: Answers, text: str) -> Answers:
    """Return the answers that follow rules about who gave them, seconds, confidence and place."""
    known = {
        "annotator": answers.annotators,
        "seconds": answers.seconds,
        "confidence": answers.confidences,
        "place": answers.places,
    }
    columns = {name: encode(array) for name, array in known.items() if array is not None}
    loaded = LoadedRows(columns, RowSources(answers.source, np.arange(len(answers))))
    kept, out, _ = select_rows(Table(answers.source, tuple(columns), lambda _: loaded), parse_rules(text), None)
    return answers[kept.load([]).sources.lines].reported(left_out=(*answers.report.left_out, *out))


def keeps_any_row(rules: Sequence[Rule], table: Table, columns: Mapping[str, Any] | None, person: str) -> bool:
    """Return whether rules keep a row of one of several files; ``person`` is who answered if no column says so.

    A rule about a column that the file does not have keeps its rows.
    """
    kept: NDArray[np.bool_] = np.ones(len(table.load([table.names[0]])), bool)
    for rule in rules:
        try:
            name = resolve_column(rule.column, table, columns)
        except ValueError:
            kept &= keeps_person([rule], person)
        else:
            kept &= rule.holds(table.load([name]).columns[name])
    return bool(kept.any())


def keeps_person(rules: Sequence[Rule], person: str) -> bool:
    """Return whether rules keep the file of a person, by those about who answered."""
    who = Column(np.zeros(1, np.int32), [person])
    names = {"annotator", *SYNONYMS["annotator"]}
    return all(rule.holds(who)[0] for rule in rules if normalize_name(rule.column) in names)


def resolve_column(wanted: str, table: Table, columns: Mapping[str, Any] | None) -> str:
    """Return the column that is meant: by its name, or by the role that a name like it has."""
    if table.names.count(wanted) == 1:
        return wanted
    spelled, plain = by_plain(table.names), normalize_name(wanted)
    if plain in spelled:
        return spelled[plain]
    for role, spellings in SYNONYMS.items():
        if plain not in (normalize_name(role), *spellings):
            continue
        given = (columns or {}).get(role)
        if isinstance(given, str) and given in table.names:
            return given
        if found := next((spelled[spelling] for spelling in spellings if spelling in spelled), None):
            return found
    alike = get_close_matches(wanted, table.names, n=1)
    perhaps = f"; perhaps {alike[0]!r} is meant" if alike else ""
    raise ValueError(
        f"{table.source}: there is no column {wanted[:60]!r}{perhaps}; there are {quote_all(table.names, 12)}"
    )


def _absent_values(rule: Rule, cells: list[Any], source: str) -> list[Finding]:
    """Return findings about values that no row has: perhaps they are spelled otherwise."""
    if rule.sign in _ORDERINGS:
        distinct = Column(np.arange(len(cells), dtype=np.int32), cells)
        unread = int(np.isinf(plain_numbers(distinct)).sum())
        return [note("not-numbers", source, column=rule.column, n_values=unread)] if unread else []
    values = list(dict.fromkeys(map(str, cells)))
    missing = [value for value in rule.values if not any(_same(cell, value) for cell in cells)]
    return [note("absent-value", source, column=rule.column, value=value, values=values) for value in missing[:5]]


SAMPLED_ROWS = 100_000  # these nearly always tell that all objects hang together


def drop_non_trials(loaded: LoadedRows, found: LayoutMatch, hints: TableHints, own: bool) -> LoadedRows:
    """Return the rows that are answers; if ``own``, `write_answers` wrote the table, and all its rows are."""
    roles = list(found.roles)
    if hints.pass_over:  # instructions have a stimulus and a response, too, but nothing to choose from
        roles = [role for role in found.layout.roles if role not in ("anchor", *ANSWERS)]
    loaded = loaded.without(~_any_filled(loaded, found, roles), "no-objects" if hints.pass_over else "empty")
    listed = next((role for role in ("shown", "items") if role in found.layout.roles), None)
    if hints.pass_over and listed is not None:
        least, why = (2, "fewer-than-two") if listed == "shown" else (3, "fewer-than-three")
        list_of, lists = read_lists([loaded.columns[name] for name in found.roles[listed]])
        loaded = loaded.without(np.array([len(each) < least for each in lists])[list_of], why)
    if hints.answered_only:
        loaded = loaded.without(~_any_filled(loaded, found, ANSWERS), "no-response")
    if own:
        return loaded
    stray, objects = disconnected_rows(loaded, found)
    if hints.pass_over:
        return loaded.without(stray, "stray", objects)
    if not stray.any():
        return loaded
    strange = note("rows", loaded.sources.whole, objects, n_rows=int(stray.sum()), why="stray", passed=False)
    return replace(loaded, findings=(*loaded.findings, strange))


def _any_filled(loaded: LoadedRows, found: LayoutMatch, roles: Iterable[str]) -> NDArray[np.bool_]:
    """Return for each row whether a column of some roles holds anything."""
    filled = [loaded.columns[name].filled for name in found.columns_of(roles)]
    return np.any([np.zeros(len(loaded), bool), *filled], axis=0)


def disconnected_rows(loaded: LoadedRows, found: LayoutMatch) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows are about objects that no other row mentions, and what these objects are.

    Rows of a part of the objects are stray if all show the same options while those of another part do not. If the
    options of no part vary, all parts but the largest are stray.
    """
    stray = np.zeros(len(loaded), bool)
    for first_rows in (slice(SAMPLED_ROWS), slice(None)):
        nodes, inside, labels = _nodes(loaded, found, first_rows)
        rows = np.flatnonzero((nodes >= 0).all(axis=1))
        part_of = _component_of(nodes[rows], inside, len(labels))
        if len(labels) == 0 or part_of[: len(labels)].max() == 0:
            return stray, []
    part_of_object, part = part_of[: len(labels)], part_of[nodes[rows, 0]]
    options = np.sort(nodes[rows, 1:] if "anchor" in found.layout.roles else nodes[rows], axis=1)
    n_parts = int(part_of.max()) + 1
    main = rows_differ(options, part, n_parts)
    if not main.any():
        sizes = np.bincount(part_of_object, minlength=n_parts)
        largest = sizes == sizes.max()
        main = largest & rows_differ(nodes[rows], part, n_parts) & (largest.sum() == 1)
    stray_parts = ~main & (np.bincount(part, minlength=n_parts) > 0) & main.any()
    stray[rows] = stray_parts[part]
    return stray, [labels[at] for at in np.flatnonzero(stray_parts[part_of_object])]


def _nodes(
    loaded: LoadedRows, found: LayoutMatch, rows: slice
) -> tuple[NDArray[Any], list[tuple[int, ...]], list[str]]:
    """Return what each row mentions, (n, k): objects, and lists, numbered after the objects.

    Also returns the objects in each list, and the labels of all objects.
    """
    shown = next((role for role in ("shown", "ranking", "items") if role in found.layout.roles), None)
    if shown == "items" and len(found.roles["items"]) > 1:
        shown = None  # a column for each: they are objects of their own
    single = [role for role in found.layout.roles if role not in (shown, *ANSWERS)]
    columns = [loaded.columns[name][rows] for role in single for name in found.roles[role]]
    list_of, lists = np.zeros(0, np.intp), list[tuple[str, ...]]()
    if shown is not None:
        list_of, lists = read_lists([loaded.columns[name][rows] for name in found.roles[shown]])
    position = Objects(columns, chain(*lists)).position
    nodes = [column.map_values(lambda value: position.get(str(value), -1), -1, np.int32) for column in columns]
    if "items" in single:  # a row with fewer items mentions one of them again
        one = np.max(nodes, axis=0)
        nodes = [np.where(each < 0, one, each) for each in nodes]
    distinct: dict[tuple[int, ...], int] = {}
    if shown is not None:
        insides = [tuple(sorted({position[item] for item in each if item in position})) for each in lists]
        number = np.array([distinct.setdefault(each, len(distinct)) if each else -1 for each in insides])
        nodes.append(np.where(number[list_of] < 0, -1, number[list_of] + len(position)).astype(np.int32))
    return np.stack(nodes, axis=1), list(distinct), list(position)


def _component_of(nodes: NDArray[Any], inside: list[tuple[int, ...]], n_objects: int) -> NDArray[np.int32]:
    """Return the part, (n_objects + number of lists,), that each object and each list belongs to."""
    first = [np.repeat(nodes[:, :1], nodes.shape[1] - 1, axis=1).ravel()]
    second = [nodes[:, 1:].ravel()]
    for each in np.unique(nodes[nodes >= n_objects]).tolist():
        members = np.array(inside[each - n_objects])
        first.append(np.full(len(members), each))
        second.append(members)
    return connected_parts(np.concatenate(first), np.concatenate(second), n_objects + len(inside))


def connected_parts(first: NDArray[Any], second: NDArray[Any], n: int) -> NDArray[np.int32]:
    """Return the connected component of each of n nodes that edges join."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(first), bool), (first, second)), shape=(n, n))
    return connected_components(edges.tocsr(), directed=False)[1].astype(np.int32)


def rows_differ(rows: NDArray[Any], part: NDArray[Any], n_parts: int) -> NDArray[np.bool_]:
    """Return for every part, (n_parts,), whether its rows differ."""
    first = np.zeros(n_parts, np.intp)
    first[part[::-1]] = np.arange(len(part))[::-1]
    other = (rows != rows[first[part]]).any(axis=1)
    return np.bincount(part, other, minlength=n_parts) > 0
