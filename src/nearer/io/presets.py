"""What the exports of other programs mean, and tables with a row for each person.

- *Salmon*: one row an answer; ``head``, ``winner`` and ``loser`` (also ``left`` and ``right``, as shown) are indices,
  and the same names with ``_filename`` or ``_html`` hold what was shown; ``puid`` is the person; ``response_time`` is
  in seconds, -1 where there is none. Exports of 2020 have ``head_filename`` and ``winner_filename``, and no name of the
  loser. If the pairs of an index and a name in the rows name all losers, and no two names clash, the missing column is
  filled in. Else objects keep their indices, all of them.
- *jsPsych*: one row a trial of any sort; ``rt`` is in milliseconds and ``response`` counts buttons from 0, or is a key.
  The objects are in columns that the experimenter chose (anchor, left and right; item1, item2, ...; a list such as
  ``items``; or ``stimulus`` and the list ``choices``). Rows without objects are instructions and the like.
  ``trial_index`` numbers rows and groups nothing.
- *cblearn*: ``X`` of indices, (m, 3) or (m, 4), and ``y`` of 1 (or true) where a row is right as written and -1 (or 0,
  or false) where it is the other way round; in tables, the first option and the second. Which of several items is the
  odd or the central one counts from 0.
- *Gorilla*, *PsychoPy* and *lab.js* are found by their columns. Each logs every screen, with the experimenter's columns
  empty where they mean nothing. Gorilla has a row for every zone of a screen; those without a response are no answers.
  Every component in PsychoPy writes columns of its own, and trials are rows of a loop: if one component alone was
  answered within loops, it holds the answers and their times; if several were, the caller says which.
- *Qualtrics* writes three lines of headers: names, what was asked, and an ``ImportId`` for every column.
- `nearer ask` writes what questions were asked for: chosen ones are harder than others.

In a table with a row for each person, either the name of a column lists what its question showed (``cat_dog_owl``),
and its cells name one of these; or every question has columns of its own with its number (``q1_left``, ``q1_right``,
``q1_choice``). Both become a row for each answer. Where names only number the questions (``Q1``, ``Q2``), what they
showed is not in the table.

Several columns can make up an object: ``anchor=hue_1*lightness_1`` names the object "red/dark".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.labels import normalize_name
from nearer.io.answers import Answers
from nearer.io.choice_coding import Coding, normalize_code
from nearer.io.columns import SYNONYMS, by_plain, split_names
from nearer.io.messages import listing, note
from nearer.io.table import Column, LoadedRows, Table, deduplicate

_IMPORT_ID = '{"ImportId"'


def drop_rows(loaded: LoadedRows, rows: NDArray[np.bool_], why: str, objects: Sequence[str] = ()) -> LoadedRows:
    """Return the other rows, with a finding that says why."""
    if not rows.any():
        return loaded
    return loaded.only(~rows, note("rows", loaded.sources.whole, objects, n_rows=int(rows.sum()), why=why))


def drop_header_rows(loaded: LoadedRows) -> LoadedRows:
    """Return the rows without the second and the third line of headers that Qualtrics writes."""
    headers = np.zeros(len(loaded), bool)
    for column in loaded.columns.values():
        if any(str(value).startswith(_IMPORT_ID) for value in column.values):
            marked = column.map_values(lambda value: str(value).startswith(_IMPORT_ID), False, bool)
            headers[: int(marked[:2].nonzero()[0].max(initial=-1)) + 1] = True
    return drop_rows(loaded, headers, "header")


PRESETS = ("salmon", "jspsych", "cblearn")
_RESPONSES = ("response", "button_pressed", "key_press")
_GORILLA = {"Participant Private ID", "Trial Number", "Response"}
_LAB_JS = {"sender", "sender_type", "sender_id"}
_SALMON = {"anchor": "head", "near": "winner", "far": "loser"}
_ENDINGS = ("_filename", "_html", "_object")
_ROLES = tuple(_SALMON.values())
_SHOWN = (*_ROLES, "left", "right")


@dataclass(frozen=True)
class ReadOptions:
    """What the caller of `nearer.io.read_answers` says."""

    kind: str | None
    columns: Mapping[str, Any] | None
    preset: str | None
    skip_bad: bool
    split: bool
    weight_by_confidence: bool
    first_is: Any
    separate_labels: bool
    repeats_allowed: bool = False  # whether an object may be in a row twice, as in catch questions


@dataclass(frozen=True)
class TableHints:
    """What a caller and a preset say about a table."""

    columns: dict[str, Any] = field(default_factory=dict)  # roles and their columns
    suggested: dict[str, str] = field(default_factory=dict)
    kind: str | None = None
    coding: Coding = field(default_factory=Coding)  # what answers that are numbers or truth values mean
    milliseconds: tuple[str, ...] = ()  # columns of response times that are in milliseconds
    pass_over: bool = False  # whether rows without any object are no answers
    answered_only: bool = False  # whether rows without an answer are no answers either
    trusted: bool = False  # whether the columns are known to hold objects


def detect_program(names: Sequence[str]) -> str | None:
    """Return the program that the columns are unmistakably those of."""
    present = set(names)
    if present >= set(_SALMON.values()) and ("puid" in present or any("head" + end in present for end in _ENDINGS)):
        return "salmon"
    if {"trial_type", "trial_index", "time_elapsed"} <= present:
        return "jspsych"
    if present >= _GORILLA and any(name in present for name in ("Zone Type", "Response Type", "Display")):
        return "gorilla"
    if any(name.endswith(".thisN") for name in names):
        return "psychopy"
    return "labjs" if present >= _LAB_JS else None


def hints_of(
    preset: str | None,
    names: Sequence[str],
    kind: str | None,
    columns: Mapping[str, Any] | None,
    first_is: Any,
    source: str,
) -> TableHints:
    """Return how to read a table; the settings of the caller override those of the preset."""
    given = dict(columns or {})
    given_coding = Coding(first=None if first_is is None else str(first_is))
    if preset == "salmon":
        return TableHints(
            {**_salmon(names, given, source), **given}, kind=kind or "triplet", coding=given_coding, trusted=True
        )
    if preset == "jspsych":
        trial = next((name for name in ("trial", "trial_id") if name in names), None)
        coding = (
            Coding(from_zero=True) if first_is is None else given_coding
        )  # unless keys were pressed: see `counted_from`
        return TableHints({"trial": trial, **given}, _jspsych(names), kind, coding, ("rt",), pass_over=True)
    if preset == "cblearn":
        return TableHints(given, kind=kind, coding=Coding(as_written=True) if first_is is None else given_coding)
    if preset == "gorilla":
        response = {"answer": "Response", "chosen": "Response"}  # a column ANSWER holds what would be right
        return TableHints(given, response, kind, given_coding, ("Reaction Time",), pass_over=True, answered_only=True)
    return TableHints(given, kind=kind, coding=given_coding, pass_over=preset in ("psychopy", "labjs"))


def _salmon(names: Sequence[str], given: dict[str, Any], source: str) -> dict[str, Any]:
    # Names and indices must not mix: a column that the caller names says which of them all are.
    named = [end for role, name in _SALMON.items() for end in (*_ENDINGS, "") if given.get(role) == name + end]
    endings = [end for end in named or (*_ENDINGS, "") if {f"{name}{end}" for name in _SALMON.values()} <= set(names)]
    if not endings:
        missing = [name for name in _SALMON.values() if name not in names]
        raise ValueError(f"{source} is not an export of Salmon: it has no column {' and no column '.join(missing)}")
    sides = {side: side for side in ("left", "right")}
    found: dict[str, Any] = {"answer": None} | {
        role: f"{name}{endings[0]}" for role, name in {**_SALMON, **sides}.items() if f"{name}{endings[0]}" in names
    }
    more = {"annotator": "puid", "seconds": "seconds" if "seconds" in names else "response_time"}
    return found | {role: name for role, name in more.items() if name in names}


def _jspsych(names: Sequence[str]) -> dict[str, str]:
    normalize_code = by_plain(names)
    found = {"seconds": "seconds" if "seconds" in names else "rt"} if "rt" in names else {}
    response = next((name for name in _RESPONSES if name in names), None)
    if response:
        found |= {"answer": response, "chosen": response}
    shows_options = "choices" in names or {"left", "right"} <= set(normalize_code)
    if shows_options and not set(normalize_code) & set(SYNONYMS["anchor"]) and "stimulus" in names:
        found["anchor"] = "stimulus"
    return found | ({"shown": "choices"} if "choices" in names else {})


def with_button_coding(
    hints: TableHints, answer: str, trial_types: Iterable[Any], answers: Iterable[Any]
) -> TableHints:
    """Return a reading of jsPsych in which numbers count from 0 only if they are those of buttons.

    The program numbers buttons; a key 1 is what stands on the key. Of trials of other types, a 0 tells.
    """
    types = [normalize_name(str(each)) for each in trial_types]
    buttons = "button" in normalize_name(answer) or all("button" in each for each in types)
    zero = "0" in map(normalize_code, answers) and not any("key" in each for each in types)
    return hints if buttons or zero else replace(hints, coding=replace(hints.coding, from_zero=False))


def may_hold_objects(name: str, preset: str | None) -> bool:
    """Whether a column that is not used may hold objects: it is none of those that a program writes for itself."""
    if preset == "salmon":
        stem = name.partition("_")[0]
        return stem not in ("head", "left", "right", "winner", "loser")
    return normalize_name(name) not in _LOGGED_COLUMNS.get(preset or "", ())


_LOGGED_COLUMNS = {"jspsych": ("trialtype", "trialindex", "timeelapsed", "internalnodeid", "viewhistory")}


def with_salmon_names(table: Table) -> Table:
    """Return the table with a column of names for each of head, winner and loser, where these are known."""
    names = set(table.names)
    for ending in _ENDINGS:
        there = [role for role in _ROLES if role + ending in names]
        if len(there) == len(_ROLES):
            return table
        if there and names >= set(_ROLES):
            called = _index_names(table, ending)
            if called is not None:
                return _with_filled_names(table, ending, [role for role in _ROLES if role not in there], called)
            missing = [role + ending for role in _ROLES if role not in there]
            return table.with_findings(note("indices", table.source, columns=missing))
    return table


def _index_names(table: Table, ending: str) -> dict[Any, Any] | None:
    """Return the name of every index, or None if one has no name, or two, or shares its name with another."""
    pairs = [role for role in _SHOWN if {role, role + ending} <= set(table.names)]
    loaded = table.load(list(dict.fromkeys([*_ROLES, *pairs, *(role + ending for role in pairs)])))
    called: dict[Any, Any] = {}
    for role in pairs:
        index, name = loaded.columns[role], loaded.columns[role + ending]
        both = np.stack([index.codes, name.codes], axis=1)
        for one, other in np.unique(both[(both >= 0).all(axis=1)], axis=0).tolist():
            if called.setdefault(index.values[one], name.values[other]) != name.values[other]:
                return None
    needed = {value for role in _ROLES for value in loaded.columns[role].values}
    return called if needed <= called.keys() and len(set(called.values())) == len(called) else None


def _with_filled_names(table: Table, ending: str, missing: list[str], called: dict[Any, Any]) -> Table:
    new = {role + ending: role for role in missing}

    def load(wanted: Sequence[str]) -> LoadedRows:
        loaded = table.load(list(dict.fromkeys(new.get(name, name) for name in wanted)))
        columns: dict[str, Column] = {}
        for name in wanted:
            column = loaded.columns[new.get(name, name)]
            columns[name] = deduplicate(column.codes, [called[v] for v in column.values]) if name in new else column
        return replace(loaded, columns=columns)

    return replace(table, names=(*table.names, *new), load=load)


_ANSWERS = (".keys", ".clicked_name", ".response")
_LOOP = ".thisN"
_ANSWER_ROLES = {"odd-one-out": "odd", "most-central": "central"}


def with_psychopy_component(hints: TableHints, table: Table) -> TableHints:
    """Return a reading of a PsychoPy file in which the answers, and their times, are those of trials."""
    given = [hints.columns[role] for role in ("answer", "chosen", "odd", "central") if hints.columns.get(role)]
    answers = [name for name in table.names if name.endswith(_ANSWERS)]
    if given:
        others = [name for name in answers if name not in given]
        answers = [name for name in answers if name in given]
        if len(answers) == 1 and others:  # rows that another component answers, such as practice
            hints = replace(hints, answered_only=True)
    elif len(answers) > 1:
        loops = [name for name in table.names if name.endswith(_LOOP)]
        loaded = table.load([*answers, *loops])
        in_loop = np.any([loaded.columns[name].codes >= 0 for name in loops], axis=0)
        answers = [name for name in answers if (in_loop & (loaded.columns[name].codes >= 0)).any()]
    if len(answers) != 1:
        return hints
    answer = answers[0]
    roles = ("answer", "chosen", *([_ANSWER_ROLES[hints.kind]] if hints.kind in _ANSWER_ROLES else []))
    time = f"{answer.rpartition('.')[0]}.rt"
    suggested = dict.fromkeys(roles, answer) | ({"seconds": time} if time in table.names else {})
    return replace(hints, suggested=hints.suggested | suggested)


PURPOSE = "purpose"
CHOSEN, OTHER, _RANDOM, _CATCH = "information", "other", "test", "catch"
_PURPOSES = frozenset(["start", CHOSEN, _RANDOM, "repeat", _CATCH, OTHER, "again"])


def purposes_of(table: Table, answers: Answers) -> NDArray[np.str_] | None:
    """Return what each answer was asked for; None if there is no such column, or it says something else."""
    if table.names.count(PURPOSE) != 1:
        return None
    loaded = table.load([PURPOSE])
    purposes = (
        loaded.columns[PURPOSE]
        .map_values(str, "", object)[loaded.sources.find(answers.lines, answers.files)]
        .astype(np.str_)
    )
    return purposes if {*purposes.tolist(), ""} <= {*_PURPOSES, ""} else None


def chosen_rows(purposes: NDArray[np.str_] | None) -> NDArray[np.bool_] | None:
    """Return which questions were chosen for what their answers tell; None if none was."""
    chosen = None if purposes is None else purposes == CHOSEN
    return chosen if chosen is not None and chosen.any() else None


def purpose_finding(purposes: NDArray[np.str_], source: str) -> Finding:
    """Return a finding about answers to chosen questions, over which an error would mislead."""
    n_chosen, n_random, n_catch = (int((purposes == each).sum()) for each in (CHOSEN, _RANDOM, _CATCH))
    return note("chosen-questions", source, n_chosen=n_chosen, n_random=n_random, n_questions=len(purposes) - n_catch)


MIN_QUESTIONS = 3  # questions, and fields or objects of one
MAX_QUESTION_OBJECTS = 8  # in a question
_ANCHOR_OR = r"(.+?)\s*:\s+(.+?)\s+or\s+(.+?)\s*\??"  # as in "x02: x07 or x11"
_SEPARATORS = ("|", ";", ",", "/", " vs. ", " vs ", "__", "_", " - ", "-", " ")
_NUMBER_FIRST = re.compile(r"(\D*\d{1,4})[\W_]+(\D.*)")
_NUMBER_LAST = re.compile(r"(.*\D)()(\d{1,4})")
_PREFIX = re.compile(r"[A-Za-z]{0,8}\d{1,4}")
MIN_NAMED_SHARE = 0.9  # share of cells that name one of the objects of their column


@dataclass(frozen=True)
class _WideLayout:
    """Which columns of a table are questions: for each, the columns of its fields, and the objects its name lists."""

    fields: tuple[str, ...]
    questions: list[tuple[str, ...]]
    objects: list[tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """All columns of questions."""
        return [name for of in self.questions for name in of]


def wide_to_long(table: Table) -> Table | None:
    """Return a table with a row for each answer, or None if there is none in it."""
    wide = _numbered_questions(table.names) or (_questions_named_by_objects(table) if table.names else None)
    if wide is None:
        return None
    rest = [name for name in table.names if name not in set(wide.names)]
    n_objects = len(wide.objects[0])
    titles = (*(f"object_{at}" for at in range(1, n_objects + 1)), *wide.fields)
    if set(titles) & set(rest):
        return None
    read = note("wide", table.source, n_questions=len(wide.questions), first=wide.questions[0], titles=titles)

    def load(wanted: Sequence[str]) -> LoadedRows:
        others = [name for name in wanted if name not in titles]
        loaded = drop_header_rows(table.load([*wide.names, *others]))
        return _melt(loaded, wide, titles, others)

    return table.with_findings(read, names=(*titles, *rest), load=load, peek=None, ragged=None)


def _melt(loaded: LoadedRows, wide: _WideLayout, titles: tuple[str, ...], others: list[str]) -> LoadedRows:
    """Return a row for each question that somebody was asked."""
    asked = np.array(
        [np.any([loaded.columns[name].codes >= 0 for name in names], axis=0) for names in wide.questions], dtype=bool
    )
    rows, questions = np.nonzero(asked.T)
    columns = {name: Column(loaded.columns[name].codes[rows], loaded.columns[name].values) for name in others}
    n_objects = len(wide.objects[0])
    for place, title in enumerate(titles[:n_objects]):
        index: dict[Any, int] = {}
        codes = np.array([index.setdefault(of[place], len(index)) for of in wide.objects], np.int32)
        columns[title] = Column(codes[questions], list(index))
    for place, title in enumerate(titles[n_objects:]):
        index = {}
        cells = np.empty(asked.shape, np.int32)
        for at, names in enumerate(wide.questions):
            column = loaded.columns[names[place]]
            new = [index.setdefault(value, len(index)) for value in column.values]
            cells[at] = np.append(np.array(new, np.int32), np.int32(-1))[column.codes]
        columns[title] = Column(cells[questions, rows], list(index))
    return LoadedRows(columns, loaded.sources[rows], loaded.bad_rows, loaded.n_bad)


def _numbered_questions(names: Sequence[str]) -> _WideLayout | None:
    """Return questions whose columns are fields with their number."""
    for pattern, order in ((_NUMBER_FIRST, (1, 2)), (_NUMBER_LAST, (3, 1))):
        of: dict[str, dict[str, str]] = {}
        for name in names:
            if match := pattern.fullmatch(name):
                of.setdefault(match[order[0]], {})[match[order[1]].strip("_.- ")] = name
        fields = next((tuple(each) for each in of.values() if len(each) >= MIN_QUESTIONS), ())
        whole = [each for each in of.values() if set(each) == set(fields)]
        if (
            fields
            and len(whole) >= MIN_QUESTIONS
            and sum(map(len, whole)) >= MIN_NAMED_SHARE * sum(map(len, of.values()))
        ):
            return _WideLayout(fields, [tuple(each[field] for field in fields) for each in whole], [()] * len(whole))
    return None


def _questions_named_by_objects(table: Table) -> _WideLayout | None:
    """Return questions whose columns are named by the objects that they show."""
    loaded = None
    for separator in (_ANCHOR_OR, *_SEPARATORS):
        split = {name: parts for name in table.names if (parts := _name_parts(name, separator))}
        if len(split) < MIN_QUESTIONS:
            continue
        loaded = loaded or drop_header_rows(table.load(table.names))
        shown = {name: parts for name in split if (parts := _objects_of(split[name], loaded.columns[name], separator))}
        widths = {len(parts) for parts in shown.values()}
        if len(shown) >= MIN_QUESTIONS and len(widths) == 1:
            shown |= _other_questions(split, shown, max(widths))
            named = [name for name in split if name in shown]  # in the order of the columns
            return _WideLayout(("response",), [(name,) for name in named], [shown[name] for name in named])
    return None


def _other_questions(
    split: Mapping[str, tuple[str, ...]], shown: Mapping[str, tuple[str, ...]], width: int
) -> dict[str, tuple[str, ...]]:
    """Return further questions about objects of those that were found, whatever was answered to them."""
    objects = {label for parts in shown.values() for label in parts}
    rest = {name: parts for name, parts in split.items() if name not in shown}
    cut = {name: parts[len(parts) - width :] for name, parts in rest.items() if len(parts) - width in (0, 1)}
    return {
        name: parts
        for name, parts in cut.items()
        if set(parts) <= objects and (parts == rest[name] or _PREFIX.fullmatch(rest[name][0]))
    }


def _name_parts(name: str, separator: str) -> tuple[str, ...]:
    found = re.fullmatch(separator, name) if separator == _ANCHOR_OR else None
    parts = tuple(part.strip() for part in (found.groups() if found else name.split(separator)))
    whole = all(parts) and len(set(parts)) == len(parts)
    return parts if whole and MIN_QUESTIONS <= len(parts) <= MAX_QUESTION_OBJECTS + 1 else ()


def _objects_of(parts: tuple[str, ...], column: Column, separator: str) -> tuple[str, ...]:
    """Return the objects of a question if its answers are among them; a number before them, as of Q1, is left out."""
    values = [str(column.values[code]) for code in column.codes[column.codes >= 0].tolist()]
    if not values or sum(value in parts for value in values) < MIN_NAMED_SHARE * len(values):
        return ()
    is_numbered = separator != _ANCHOR_OR and _PREFIX.fullmatch(parts[0]) and parts[0] not in values
    objects = parts[1:] if is_numbered else parts
    return objects if MIN_QUESTIONS <= len(objects) <= MAX_QUESTION_OBJECTS else ()


_TIMES, _JOINER = "*", "/"


def with_combined_columns(table: Table, columns: Mapping[str, Any] | None) -> Table:
    """Return a table that also has the combinations which are named as columns of roles."""
    wanted = {name: _columns_of(name, table) for name in _combinations_in(columns or {}) if name not in table.names}
    parts_of = {name: parts for name, parts in wanted.items() if len(parts) > 1}
    if not parts_of:
        return table

    def loading(load: Callable[[Sequence[str]], LoadedRows]) -> Callable[[Sequence[str]], LoadedRows]:
        def with_them(names: Sequence[str]) -> LoadedRows:
            plain = [part for name in names for part in parts_of.get(name, (name,))]
            loaded = load(list(dict.fromkeys(plain)))
            own = loaded.columns
            made = {
                name: _combine(name, [own[part] for part in parts_of[name]]) if name in parts_of else own[name]
                for name in names
            }
            return replace(loaded, columns=made)

        return with_them

    peek = None if table.peek is None else loading(table.peek)
    return replace(table, names=(*table.names, *parts_of), load=loading(table.load), peek=peek)


def _combinations_in(columns: Mapping[str, Any]) -> list[str]:
    """Return all that is named as a column and may be a combination."""
    split = [part for column in columns.values() for name in split_names(column) for part in split_names(str(name))]
    return [name for name in dict.fromkeys(split) if _TIMES in name]


def _columns_of(name: str, table: Table) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in name.split(_TIMES))
    for part in parts:
        if part not in table.names:
            raise ValueError(f"{table.source} has no column {part!r}, of {name!r}; it has {listing(table.names)}")
    return parts


def _combine(name: str, parts: Sequence[Column]) -> Column:
    """Return one column of several; a cell is empty where one of theirs is."""
    codes = np.stack([part.codes for part in parts], axis=1)
    whole = (codes >= 0).all(axis=1)
    distinct, of_rows = np.unique(codes[whole], axis=0, return_inverse=True)
    values = [
        _JOINER.join(str(part.values[code]) for part, code in zip(parts, row, strict=True)) for row in distinct.tolist()
    ]
    order = {value: at for at, value in enumerate(sorted(values))}
    if len(order) < len(values):
        double = next(value for value in values if values.count(value) > 1)
        raise ValueError(f"two combinations of {name!r} are called {double!r}; take {_JOINER!r} out of their values")
    combined = np.full(len(codes), -1, np.int32)
    combined[whole] = np.array([order[value] for value in values], np.int32)[of_rows.reshape(-1)] if values else -1
    return Column(combined, list(order))
