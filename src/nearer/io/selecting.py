"""Rows of a table that are left out before it is read: of other conditions, of test runs, too fast to be true.

A rule is a column, a sign and one or several values: ``condition == A``, ``person != TEST``, ``rt > 0.2``. Rows are
kept where all rules hold; the others are never looked at, whatever is wrong with them. Values are compared as they are
written in the table, as numbers where both are numbers. What each rule leaves out is counted and reported.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import counted, listed
from nearer.data.labels import plain
from nearer.io.answers import Answers, LeftOut
from nearer.io.column_names import SYNONYMS, by_plain
from nearer.io.numbers import plain_numbers
from nearer.io.table import Column, Loaded, Table, encode

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt
}  # fmt: skip
_RULE = re.compile(r"""\s*(?P<name>"[^"]*"|'[^']*'|[^<>=!"']+?)\s*(?P<sign><=|>=|==|!=|=|<|>)\s*(?P<value>.*?)\s*""")
_AND = re.compile(r"\s+and\s+|\s*&&\s*")
_SAID = {
    "==": "is not", "!=": "is",
    "<=": "is not at most", ">=": "is not at least", "<": "is not below", ">": "is not above",
}  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """What rows that are kept have in a column.

    Parameters
    ----------
    column : str
        A name, or a role such as person.
    sign : {"==", "!=", "<", "<=", ">", ">="}
    values : tuple of str
        One, or several of which one (for "!=": none) is there.

    Examples
    --------
    >>> rule, = rules_of("rt >= 0.2")
    >>> rule.holds(Column(np.array([0, 1, -1], np.int32), ["0.1", "0.20"])).tolist()
    [False, True, False]
    """

    column: str
    sign: str
    values: tuple[str, ...]

    def holds(self, column: Column) -> NDArray[np.bool_]:
        """Return for each cell whether it is as it should be; an empty one is not, unless nothing is excluded by it."""
        if self.sign in _ORDER:
            numbers = plain_numbers(column)
            held: NDArray[np.bool_] = np.isfinite(numbers) & _ORDER[self.sign](numbers, float(self.values[0]))
            return held
        missing = self.sign == "!="
        result: NDArray[np.bool_] = column.mapped(self._holds, missing, np.bool_)
        return result

    def _holds(self, cell: Any) -> bool:
        return any(_same(cell, value) for value in self.values) == (self.sign == "==")

    @property
    def left_out(self) -> str:
        """Where rows are left out, in words."""
        said = " or ".join(repr(value) if self.sign not in _ORDER else value for value in self.values[:5])
        more = f" or {len(self.values) - 5} others" if len(self.values) > 5 else ""
        return f"{self.column} {_SAID[self.sign]} {said}{more}"


def _number(cell: Any) -> float | None:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return None
    return None if number != number else number


def _same(cell: Any, value: str) -> bool:
    if str(cell) == value:
        return True
    number = _number(cell.replace(",", ".") if isinstance(cell, str) and cell.count(",") == 1 else cell)
    return number is not None and number == _number(value)


def rules_of(text: str) -> tuple[Rule, ...]:
    """Return the rules that a text such as ``rt > 0.2 and block != practice`` says.

    Examples
    --------
    >>> rules_of("rt > 0.2 and 'my block' != practice")  # doctest: +NORMALIZE_WHITESPACE
    (Rule(column='rt', sign='>', values=('0.2',)),
     Rule(column='my block', sign='!=', values=('practice',)))
    """
    rules = []
    for part in _AND.split(text.strip()):
        found = _RULE.fullmatch(part)
        if found is None or not found["value"]:
            raise ValueError(
                f"{part[:60]!r} is no rule; write a column, one of = != < <= > >=, and a value, such as 'rt > 0.2', "
                "and join several with 'and'"
            )
        sign = "==" if found["sign"] == "=" else found["sign"]
        value = found["value"].strip("\"'")
        if sign in _ORDER and _number(value) is None:
            point = ", which has a point before decimals" if _number(value.replace(",", ".")) is not None else ""
            raise ValueError(f"{part[:60]!r}: {value[:40]!r} is no number{point}; such as 'rt {sign} 0.2'")
        rules.append(Rule(found["name"].strip("\"'"), sign, (value,)))
    return tuple(rules)


def rules_from(
    keep: Mapping[str, Any] | None, exclude: Mapping[str, Any] | None, where: str | Iterable[str] | None
) -> tuple[Rule, ...]:
    """Return the rules of all three ways to say them.

    Examples
    --------
    >>> rules_from({"condition": "A"}, {"person": ["TEST", 7]}, None)  # doctest: +NORMALIZE_WHITESPACE
    (Rule(column='condition', sign='==', values=('A',)),
     Rule(column='person', sign='!=', values=('TEST', '7')))
    """
    rules = [
        Rule(column, sign, _texts(column, values))
        for sign, said in (("==", keep), ("!=", exclude))
        for column, values in (said or {}).items()
    ]
    for text in [where] if isinstance(where, str) else where or ():
        rules += rules_of(text)
    return tuple(rules)


def _texts(column: str, values: Any) -> tuple[str, ...]:
    several = values if isinstance(values, list | tuple | set | frozenset | np.ndarray) else [values]
    texts = tuple(dict.fromkeys(str(value) for value in several))
    if not texts:
        raise ValueError(f"there is no value of {column!r} to select by")
    return texts


def selected(
    table: Table, rules: Sequence[Rule], columns: Mapping[str, Any] | None
) -> tuple[Table, tuple[LeftOut, ...], list[str]]:
    """Return a table of the rows that all rules keep, what each left out, and what a reader should know.

    Parameters
    ----------
    table : Table
    rules : sequence of Rule
    columns : mapping, optional
        What the caller says about columns: a rule about "annotator" is about the one that is named there.
    """
    named = [column_of(rule.column, table, columns) for rule in rules]
    loaded = table.load(list(dict.fromkeys(named)))
    ragged = None if table.ragged is None or not loaded.n_bad else table.ragged(list(loaded.columns))
    kept = np.ones(len(loaded.lines), dtype=bool)
    kept_ragged = np.ones(0 if ragged is None else len(ragged.lines), dtype=bool)
    out, notes = [], []
    for rule, name in zip(rules, named, strict=True):
        values = [*loaded.columns[name].values, *(() if ragged is None else ragged.columns[name].values)]
        notes += _absent(rule, values, table.source)
        holds = rule.holds(loaded.columns[name])
        n_out = int((kept & ~holds).sum())
        kept &= holds
        if ragged is not None:
            holds = rule.holds(ragged.columns[name])
            n_out += int((kept_ragged & ~holds).sum())
            kept_ragged &= holds
        out.append(LeftOut(n_out, replace(rule, column=name).left_out))
    if not kept.any():
        said = "; ".join(map(str, out))
        raise ValueError(". ".join([f"{table.source}: no row is left: {said}", *notes]))
    left_out = set() if ragged is None else set(ragged.lines[~kept_ragged].tolist())
    return with_rows(table, kept, left_out), tuple(out), notes


def with_rows(table: Table, kept: NDArray[np.bool_], left_out: Collection[int] = ()) -> Table:
    """Return a table of some rows; ``left_out`` are lines of others that have too few or too many cells."""
    rows = np.flatnonzero(kept)

    def load(wanted: Sequence[str]) -> Loaded:
        whole = table.load(wanted)
        cut = {name: column.taken(rows) for name, column in whole.columns.items()}
        bad_rows = [row for row in whole.bad_rows if row.line not in left_out]
        return replace(
            whole, columns=cut, lines=whole.lines[rows], bad_rows=bad_rows, n_bad=whole.n_bad - len(left_out)
        )

    return replace(table, load=load, peek=None, ragged=None)


def answers_where(answers: Answers, text: str) -> Answers:
    """Return the answers that follow rules about who gave them, seconds, confidence and place."""
    arrays = {
        "annotator": answers.annotators,
        "seconds": answers.seconds,
        "confidence": answers.confidences,
        "place": answers.places,
    }
    known = {name: encode(array) for name, array in arrays.items() if array is not None}

    def load(wanted: Sequence[str]) -> Loaded:
        return Loaded({name: known[name] for name in wanted}, np.arange(len(answers)))

    table = Table(answers.source, tuple(known), load)
    kept, out, _ = selected(table, rules_of(text), None)
    chosen = answers[kept.load([]).lines]
    return replace(chosen, left_out=(*answers.left_out, *out))


def rows_kept(rules: Sequence[Rule], table: Table, columns: Mapping[str, Any] | None, person: str) -> bool:
    """Return whether rules keep a row of one of several files; ``person`` is who answered if no column says so.

    A rule about a column that the file does not have keeps its rows.
    """
    kept: NDArray[np.bool_] = np.ones(len(table.load([table.names[0]]).lines), bool)
    for rule in rules:
        try:
            name = column_of(rule.column, table, columns)
        except ValueError:
            kept &= keeps_person([rule], person)
        else:
            kept &= rule.holds(table.load([name]).columns[name])
    return bool(kept.any())


def keeps_person(rules: Sequence[Rule], person: str) -> bool:
    """Return whether rules keep the file of a person, by those about who answered."""
    who = Column(np.zeros(1, np.int32), [person])
    names = {"annotator", *SYNONYMS["annotator"]}
    return all(rule.holds(who)[0] for rule in rules if plain(rule.column) in names)


def column_of(said: str, table: Table, columns: Mapping[str, Any] | None) -> str:
    """Return the column that is meant: by its name, or by the role that a name like it has."""
    if table.names.count(said) == 1:
        return said
    spelled = by_plain(table.names)
    if plain(said) in spelled:
        return spelled[plain(said)]
    for role, spellings in SYNONYMS.items():
        if plain(said) not in (plain(role), *spellings):
            continue
        given = (columns or {}).get(role)
        if isinstance(given, str) and given in table.names:
            return given
        for spelling in spellings:
            if spelling in spelled:
                return spelled[spelling]
    alike = get_close_matches(said, table.names, n=1)
    perhaps = f"; perhaps {alike[0]!r} is meant" if alike else ""
    raise ValueError(f"{table.source}: there is no column {said[:60]!r}{perhaps}; there are {listed(table.names, 12)}")


def _absent(rule: Rule, cells: list[Any], source: str) -> list[str]:
    """Return a note about values that no row has: perhaps they are spelled otherwise."""
    if rule.sign in _ORDER:
        distinct = Column(np.arange(len(cells), dtype=np.int32), cells)
        unread = int(np.isinf(plain_numbers(distinct)).sum())
        what = counted(unread, "value that is no number", "values that are no numbers")
        return [f"{source}: column {rule.column!r} holds {what}; rows with them are left out"] if unread else []
    values = list(dict.fromkeys(map(str, cells)))
    missing = [said for said in rule.values if not any(_same(value, said) for value in cells)]
    notes = []
    for said in missing[:5]:
        alike = get_close_matches(said, values, n=1)
        perhaps = f"; perhaps {alike[0]!r} is meant" if alike else f"; there are {listed(values, 5)}"
        notes.append(f"{source}: no row has {said!r} in column {rule.column!r}{perhaps}")
    return notes
