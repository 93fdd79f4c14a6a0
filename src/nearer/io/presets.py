"""What the exports of other programs mean, and tables with a row for each person.

- *Salmon* has a row for each answer; ``head``, ``winner`` and ``loser`` (``left`` and ``right``, as shown) are indices,
  and with ``_filename`` or ``_html`` hold what was shown. Exports of 2020 have no name of the loser, which other rows
  may tell. Times are in seconds, -1 where there is none.
- *jsPsych* has a row for each trial of any sort; ``rt`` is in milliseconds, and ``response`` counts buttons from 0, or
  is a key. ``trial_index`` numbers rows and groups nothing.
- *cblearn*: ``y`` is 1 where a row is right as written and -1 (or 0) where it is the other way round.
- *Gorilla*, *PsychoPy* and *lab.js* log every screen. Every component of PsychoPy writes columns of its own, and trials
  are rows of a loop.
- *Qualtrics* writes three lines of headers: names, what was asked, and an ``ImportId`` for every column.
- `nearer ask` writes what questions were asked for: chosen ones are harder than others.

In a table with a row for each person, the name of a column lists what its question showed (``cat_dog_owl``), or every
question has columns with its number (``q1_left``, ``q1_right``, ``q1_choice``): both become a row for each answer.
Several columns can make up an object: ``anchor=hue_1*lightness_1`` names the object "red/dark".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from nearer.data.labels import normalize_name
from nearer.io.answers import Answers
from nearer.io.choice_coding import Coding, normalize_code
from nearer.io.columns import ANSWERS, SYNONYMS, LayoutMatch, by_plain, find_columns, split_names
from nearer.io.messages import listing, note
from nearer.io.table import Column, LoadedRows, Table, encode, join_rows

_IMPORT_ID = '{"ImportId"'


def drop_header_rows(loaded: LoadedRows) -> LoadedRows:
    """Return the rows without the second and the third line of headers that Qualtrics writes."""
    headers = np.zeros(len(loaded), bool)
    for column in loaded.columns.values():
        if any(str(value).startswith(_IMPORT_ID) for value in column.values):
            marked = column[:2].map_values(lambda value: str(value).startswith(_IMPORT_ID), False, bool)
            headers[: int(marked.nonzero()[0].max(initial=-1)) + 1] = True
    return loaded.without(headers, "header")


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
    sheet: str | None = None
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

    def find_columns(self, names: Sequence[str], source: str, without: Sequence[str] = ()) -> LayoutMatch:
        """Return the layout that columns make, or say what was found and how to say which is which."""
        return find_columns(names, self.kind, self.columns, source, self.suggested, without)


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


def hints_of(preset: str | None, names: Sequence[str], options: ReadOptions, source: str) -> TableHints:
    """Return how to read a table; the settings of the caller override those of the preset."""
    given, first_is = dict(options.columns or {}), options.first_is
    hints = TableHints(given, kind=options.kind, coding=Coding(first=None if first_is is None else str(first_is)))
    if preset == "salmon":
        columns, kind = _salmon(names, given, source) | given, options.kind or "triplet"
        return replace(hints, columns=columns, kind=kind, trusted=True)
    if preset == "jspsych":
        trial = next((name for name in ("trial", "trial_id") if name in names), None)
        coding = Coding(from_zero=True) if first_is is None else hints.coding  # unless keys were pressed, see below
        given, milliseconds = {"trial": trial, **given}, ("rt",)
        return TableHints(given, _jspsych(names), options.kind, coding, milliseconds, pass_over=True)
    if preset == "cblearn":
        return hints if first_is is not None else replace(hints, coding=Coding(as_written=True))
    if preset == "gorilla":
        response = {"answer": "Response", "chosen": "Response"}  # a column ANSWER holds what would be right
        times = ("Reaction Time",)
        return replace(hints, suggested=response, milliseconds=times, pass_over=True, answered_only=True)
    return replace(hints, pass_over=preset in ("psychopy", "labjs"))


def _salmon(names: Sequence[str], given: dict[str, Any], source: str) -> dict[str, Any]:
    # Names and indices must not mix: a column that the caller names says which of them all are.
    named = [end for role, name in _SALMON.items() for end in (*_ENDINGS, "") if given.get(role) == name + end]
    endings = [end for end in named or (*_ENDINGS, "") if {f"{name}{end}" for name in _SALMON.values()} <= set(names)]
    if not endings:
        missing = [name for name in _SALMON.values() if name not in names]
        raise ValueError(f"{source} is not an export of Salmon: it has no column {' and no column '.join(missing)}")
    found = {role: name + endings[0] for role, name in (_SALMON | {"left": "left", "right": "right"}).items()}
    found |= {"annotator": "puid", "seconds": "seconds" if "seconds" in names else "response_time"}
    return {"answer": None} | {role: name for role, name in found.items() if name in names}


def _jspsych(names: Sequence[str]) -> dict[str, str]:
    spelled = by_plain(names)
    found = {"seconds": "seconds" if "seconds" in names else "rt"} if "rt" in names else {}
    if response := next((name for name in _RESPONSES if name in names), None):
        found |= {"answer": response, "chosen": response}
    shows_options = "choices" in names or {"left", "right"} <= spelled.keys()
    if shows_options and not spelled.keys() & set(SYNONYMS["anchor"]) and "stimulus" in names:
        found["anchor"] = "stimulus"
    return found | ({"shown": "choices"} if "choices" in names else {})


TRIAL_TYPE = "trial_type"  # of jsPsych: buttons or keys


def with_button_coding(hints: TableHints, loaded: LoadedRows, answer: str) -> TableHints:
    """Return a reading of jsPsych in which numbers count from 0 only if they are those of buttons.

    The program numbers buttons; a key 1 is what stands on the key. Of trials of other types, a 0 tells.
    """
    if TRIAL_TYPE not in loaded.columns:
        return hints
    types = [normalize_name(str(each)) for each in loaded.columns[TRIAL_TYPE].present]
    buttons = "button" in normalize_name(answer) or all("button" in each for each in types)
    zero = "0" in map(normalize_code, loaded.columns[answer].present) and not any("key" in each for each in types)
    return hints if buttons or zero else replace(hints, coding=replace(hints.coding, from_zero=False))


_LOGGED_COLUMNS = ("trialtype", "trialindex", "timeelapsed", "internalnodeid", "viewhistory")


def may_hold_objects(name: str, preset: str | None) -> bool:
    """Whether a column that is not used may hold objects: it is none of those that a program writes for itself."""
    if preset == "salmon":
        return name.partition("_")[0] not in _SHOWN
    return preset != "jspsych" or normalize_name(name) not in _LOGGED_COLUMNS


def with_salmon_names(table: Table) -> Table:
    """Return the table with a column of names for each of head, winner and loser, where these are known."""
    names = set(table.names)
    for ending in _ENDINGS:
        missing = [role + ending for role in _ROLES if role + ending not in names]
        if not missing:
            return table
        if len(missing) < len(_ROLES) and names >= set(_ROLES):
            return _with_names_of_indices(table, ending, missing)
    return table


def _with_names_of_indices(table: Table, ending: str, missing: list[str]) -> Table:
    """Return a table with the names of indices, unless one has no name, or two, or shares its name with another."""
    pairs = [role for role in _SHOWN if {role, role + ending} <= set(table.names)]
    columns = table.load(list(dict.fromkeys([*_ROLES, *pairs, *(role + ending for role in pairs)]))).columns
    names: dict[Any, set[Any]] = {value: set() for role in _ROLES for value in columns[role].values}
    for index, name in ((columns[role], columns[role + ending]) for role in pairs):
        both = np.stack([index.codes, name.codes], axis=1)
        for one, other in np.unique(both[index.filled & name.filled], axis=0).tolist():
            names.setdefault(index.values[one], set()).add(name.values[other])
    called = {index: next(iter(each)) for index, each in names.items() if len(each) == 1}
    if len(set(called.values())) < len(names):
        return table.with_findings(note("indices", table.source, columns=missing))

    def names_of(parts: list[Column]) -> Column:
        return parts[0].replace_values(called.get)

    return with_derived(table, {name: ((name.removesuffix(ending),), names_of) for name in missing})


Derivation: TypeAlias = tuple[tuple[str, ...], Callable[[list[Column]], Column]]


def with_derived(table: Table, derived: Mapping[str, Derivation]) -> Table:
    """Return a table with further columns, each made of some of its own."""

    def loading(load: Callable[[Sequence[str]], LoadedRows]) -> Callable[[Sequence[str]], LoadedRows]:
        def with_them(names: Sequence[str]) -> LoadedRows:
            loaded = load(list(dict.fromkeys(part for name in names for part in derived.get(name, ((name,),))[0])))
            columns = {}
            for name in names:
                parts, make = derived.get(name, ((name,), lambda parts: parts[0]))
                columns[name] = make([loaded.columns[part] for part in parts])
            return replace(loaded, columns=columns)

        return with_them

    peek = None if table.peek is None else loading(table.peek)
    return replace(table, names=(*table.names, *derived), load=loading(table.load), peek=peek)


_COMPONENTS = (".keys", ".clicked_name", ".response")
_LOOP = ".thisN"
_ANSWER_ROLES = {"odd-one-out": ("odd",), "most-central": ("central",)}


def with_psychopy_component(hints: TableHints, table: Table) -> TableHints:
    """Return a reading of a PsychoPy file in which the answers, and their times, are those of trials."""
    given = [hints.columns[role] for role in ANSWERS if hints.columns.get(role)]
    components = [name for name in table.names if name.endswith(_COMPONENTS)]
    answers = [name for name in components if name in given] if given else components
    if given and len(answers) == 1 and len(components) > 1:  # rows that another answers, such as practice
        hints = replace(hints, answered_only=True)
    if not given and len(answers) > 1:
        loops = [name for name in table.names if name.endswith(_LOOP)]
        columns = table.load([*answers, *loops]).columns
        in_loop = np.any([columns[name].filled for name in loops], axis=0)
        answers = [name for name in answers if (in_loop & columns[name].filled).any()]
    if len(answers) != 1:
        return hints
    roles = ("answer", "chosen", *_ANSWER_ROLES.get(hints.kind or "", ()))
    time = f"{answers[0].rpartition('.')[0]}.rt"
    suggested = dict.fromkeys(roles, answers[0]) | ({"seconds": time} if time in table.names else {})
    return replace(hints, suggested=hints.suggested | suggested)


PURPOSE = "purpose"
CHOSEN, OTHER, _RANDOM, _CATCH = "information", "other", "test", "catch"
_PURPOSES = frozenset(["start", CHOSEN, _RANDOM, "repeat", _CATCH, OTHER, "again", ""])


def with_purposes(answers: Answers, table: Table, tell: bool) -> Answers:
    """Return answers that know which questions were chosen for what their answers tell.

    To ``tell`` is to add a finding: over them an error would mislead.
    """
    if table.names.count(PURPOSE) != 1:
        return answers
    loaded = table.load([PURPOSE])
    purposes = loaded.columns[PURPOSE][loaded.sources.find(answers.lines, answers.files)].texts().astype(np.str_)
    chosen = purposes == CHOSEN
    if not chosen.any() or not set(purposes.tolist()) <= _PURPOSES:
        return answers
    answers = replace(answers, comparisons=replace(answers.comparisons, chosen=chosen[answers.answer_of]))
    n_chosen, n_random, n_catch = (int((purposes == each).sum()) for each in (CHOSEN, _RANDOM, _CATCH))
    n_questions = len(purposes) - n_catch
    found = note("chosen-questions", table.source, n_chosen=n_chosen, n_random=n_random, n_questions=n_questions)
    return answers.reported(found) if tell else answers


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
        filled = [[loaded.columns[name].filled for name in names] for names in wide.questions]
        rows, questions = np.nonzero(np.any(filled, axis=1).T)  # that somebody was asked
        columns = {name: loaded.columns[name][rows] for name in others}
        for place, title in enumerate(titles):
            if place < n_objects:
                columns[title] = encode([of[place] for of in wide.objects])[questions]
            else:
                cells = join_rows(loaded.columns[names[place - n_objects]] for names in wide.questions)
                columns[title] = cells[questions * len(loaded) + rows]
        return LoadedRows(columns, loaded.sources[rows], loaded.bad_rows, loaded.n_bad)

    return replace(table.with_findings(read), names=(*titles, *rest), load=load, peek=None, ragged=None)


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
        if len(shown) < MIN_QUESTIONS or len(widths) != 1:
            continue
        objects = {label for parts in shown.values() for label in parts}
        for name, parts in split.items():  # further questions about these objects, whatever was answered to them
            lead, rest = parts[: -max(widths)], parts[-max(widths) :]
            is_lead = not lead or (len(lead) == 1 and _PREFIX.fullmatch(lead[0]))
            if name not in shown and len(rest) in widths and is_lead and set(rest) <= objects:
                shown[name] = rest
        named = [name for name in split if name in shown]  # in the order of the columns
        return _WideLayout(("response",), [(name,) for name in named], [shown[name] for name in named])
    return None


def _name_parts(name: str, separator: str) -> tuple[str, ...]:
    found = re.fullmatch(separator, name) if separator == _ANCHOR_OR else None
    parts = tuple(part.strip() for part in (found.groups() if found else name.split(separator)))
    whole = all(parts) and len(set(parts)) == len(parts)
    return parts if whole and MIN_QUESTIONS <= len(parts) <= MAX_QUESTION_OBJECTS + 1 else ()


def _objects_of(parts: tuple[str, ...], column: Column, separator: str) -> tuple[str, ...]:
    """Return the objects of a question if its answers are among them; a number before them, as of Q1, is left out."""
    values = column[column.filled].texts().tolist()
    if not values or sum(value in parts for value in values) < MIN_NAMED_SHARE * len(values):
        return ()
    is_numbered = separator != _ANCHOR_OR and _PREFIX.fullmatch(parts[0]) and parts[0] not in values
    objects = parts[1:] if is_numbered else parts
    return objects if MIN_QUESTIONS <= len(objects) <= MAX_QUESTION_OBJECTS else ()


_TIMES, _JOINER = "*", "/"


def with_combined_columns(table: Table, columns: Mapping[str, Any] | None) -> Table:
    """Return a table that also has the combinations which are named as columns of roles."""
    listed = [str(name) for column in (columns or {}).values() for name in split_names(column)]
    derived: dict[str, Derivation] = {}
    for name in dict.fromkeys(part for names in listed for part in split_names(names)):
        if _TIMES not in name or name in table.names:
            continue
        parts = tuple(part.strip() for part in name.split(_TIMES))
        for part in parts:
            if part not in table.names:
                raise ValueError(f"{table.source} has no column {part!r}, of {name!r}; it has {listing(table.names)}")
        derived[name] = parts, partial(_combine, name)
    return with_derived(table, derived) if derived else table


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
    combined[whole] = np.array([order[value] for value in values], np.int32)[of_rows.reshape(-1)]
    return Column(combined, list(order))
