"""What the exports of other programs mean.

- *Salmon*: one row an answer; ``head``, ``winner`` and ``loser`` (also ``left`` and ``right``, as shown) are indices,
  and the same names with ``_filename`` or ``_html`` hold what was shown; ``puid`` is the person; ``response_time`` is
  in seconds, -1 where there is none. Exports of 2020 have ``head_filename`` and ``winner_filename``, and no name of the
  loser. Every pair of an index and a name in a row tells what an index is called; if that names all losers, and no two
  names clash, the missing column is filled in. Else objects keep their indices, all of them.
- *jsPsych*: one row a trial of any sort; ``rt`` is in milliseconds and ``response`` counts buttons from 0, or is a key.
  The objects are in columns that the experimenter chose (anchor, left and right; item1, item2, ...; a list such as
  ``items``; or ``stimulus`` and the list ``choices``). Rows without objects are instructions and the like.
  ``trial_index`` numbers rows and groups nothing.
- *cblearn*: ``X`` of indices, (m, 3) or (m, 4), and ``y`` of 1 (or true) where a row is right as written and -1 (or 0,
  or false) where it is the other way round; in tables, the first option and the second. Which of several items is the
  odd or the central one counts from 0.
- *Gorilla*, *PsychoPy* and *lab.js* are found by their columns. Each logs every screen, with the experimenter's columns
  empty where they mean nothing. Gorilla has a row for every zone of a screen; those without a response are no answers.

Which part of an experiment in PsychoPy holds the answers.

Every component of an experiment writes columns of its own: ``key_resp.keys`` and ``key_resp.rt``, ``start.keys`` and
``start.rt``. Trials are rows of a loop, with its count in a column such as ``trials.thisN``; keys that start the
experiment or leave a page are pressed outside of loops. If one component alone was answered within loops, it holds the
answers and their times. If several were, as with practice trials, the caller says which, and rows without an answer of
that one are those of the others.

What questions were asked for, as `nearer ask` writes it into a column: chosen ones are harder than others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.labels import normalize_name
from nearer.io.answers import Answers
from nearer.io.choice_coding import Coding, spelled
from nearer.io.columns import SYNONYMS, by_plain
from nearer.io.messages import note
from nearer.io.table import Column, Loaded, Table, merged

PRESETS = ("salmon", "jspsych", "cblearn")
_RESPONSES = ("response", "button_pressed", "key_press")
_GORILLA = {"Participant Private ID", "Trial Number", "Response"}
_LAB_JS = {"sender", "sender_type", "sender_id"}
_SALMON = {"anchor": "head", "near": "winner", "far": "loser"}
_ENDINGS = ("_filename", "_html", "_object")
_ROLES = tuple(_SALMON.values())
_SHOWN = (*_ROLES, "left", "right")


@dataclass(frozen=True)
class Reading:
    """What a caller and a preset say about a table.

    Attributes
    ----------
    columns : dict
        Roles and their columns.
    suggested : dict
        Roles and their columns where the kind of question has such a role.
    kind : str, optional
    coding : Coding
        What answers that are numbers or truth values mean.
    milliseconds : tuple of str
        Columns of response times that are in milliseconds.
    pass_over : bool
        Whether rows without any object are no answers.
    answered_only : bool
        Whether rows without an answer are no answers either.
    trusted : bool
        Whether the columns are known to hold objects.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    suggested: dict[str, str] = field(default_factory=dict)
    kind: str | None = None
    coding: Coding = field(default_factory=Coding)
    milliseconds: tuple[str, ...] = ()
    pass_over: bool = False
    answered_only: bool = False
    trusted: bool = False


def detected(names: Sequence[str]) -> str | None:
    """Return the program that the columns are unmistakably those of.

    Examples
    --------
    >>> detected(["head", "left", "right", "winner", "loser", "puid", "response_time"])
    'salmon'
    >>> detected(["rt", "response", "trial_type", "trial_index", "time_elapsed", "anchor", "left", "right"])
    'jspsych'
    """
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


def reading_of(
    preset: str | None,
    names: Sequence[str],
    kind: str | None,
    columns: Mapping[str, Any] | None,
    first_is: Any,
    source: str,
) -> Reading:
    """Return how to read a table; what the caller said goes before what the preset says."""
    given = dict(columns or {})
    said = Coding(first=None if first_is is None else str(first_is))
    if preset == "salmon":
        return Reading({**_salmon(names, given, source), **given}, kind=kind or "triplet", coding=said, trusted=True)
    if preset == "jspsych":
        trial = next((name for name in ("trial", "trial_id") if name in names), None)
        coding = Coding(from_zero=True) if first_is is None else said  # unless keys were pressed: see `counted_from`
        return Reading({"trial": trial, **given}, _jspsych(names), kind, coding, ("rt",), pass_over=True)
    if preset == "cblearn":
        return Reading(given, kind=kind, coding=Coding(as_written=True) if first_is is None else said)
    if preset == "gorilla":
        response = {"answer": "Response", "chosen": "Response"}  # a column ANSWER holds what would be right
        return Reading(given, response, kind, said, ("Reaction Time",), pass_over=True, answered_only=True)
    return Reading(given, kind=kind, coding=said, pass_over=preset in ("psychopy", "labjs"))


def _salmon(names: Sequence[str], given: dict[str, Any], source: str) -> dict[str, Any]:
    # Names and indices must not mix: a column that the caller names says which of them all are.
    said = [end for role, name in _SALMON.items() for end in (*_ENDINGS, "") if given.get(role) == name + end]
    endings = [end for end in said or (*_ENDINGS, "") if {f"{name}{end}" for name in _SALMON.values()} <= set(names)]
    if not endings:
        missing = [name for name in _SALMON.values() if name not in names]
        raise ValueError(f"{source} is no export of Salmon: it has no column {' and no column '.join(missing)}")
    sides = {side: side for side in ("left", "right")}
    found: dict[str, Any] = {"answer": None} | {
        role: f"{name}{endings[0]}" for role, name in {**_SALMON, **sides}.items() if f"{name}{endings[0]}" in names
    }
    more = {"annotator": "puid", "seconds": "seconds" if "seconds" in names else "response_time"}
    return found | {role: name for role, name in more.items() if name in names}


def _jspsych(names: Sequence[str]) -> dict[str, str]:
    spelled = by_plain(names)
    found = {"seconds": "seconds" if "seconds" in names else "rt"} if "rt" in names else {}
    response = next((name for name in _RESPONSES if name in names), None)
    if response:
        found |= {"answer": response, "chosen": response}
    beside = "choices" in names or {"left", "right"} <= set(spelled)
    if beside and not set(spelled) & set(SYNONYMS["anchor"]) and "stimulus" in names:
        found["anchor"] = "stimulus"
    return found | ({"shown": "choices"} if "choices" in names else {})


def counted_from(reading: Reading, answer: str, trial_types: Iterable[Any], answers: Iterable[Any]) -> Reading:
    """Return a reading of jsPsych in which numbers count from 0 only if they are those of buttons.

    The program numbers buttons; a key 1 is what stands on the key. Of trials of other types, a 0 tells.
    """
    types = [normalize_name(str(each)) for each in trial_types]
    buttons = "button" in normalize_name(answer) or all("button" in each for each in types)
    zero = "0" in map(spelled, answers) and not any("key" in each for each in types)
    return reading if buttons or zero else replace(reading, coding=replace(reading.coding, from_zero=False))


def experimenters(name: str, preset: str | None) -> bool:
    """Whether a column that is not used may hold objects: it is none of those that a program writes for itself."""
    if preset == "salmon":
        stem = name.partition("_")[0]
        return stem not in ("head", "left", "right", "winner", "loser")
    return normalize_name(name) not in _LOGGED.get(preset or "", ())


_LOGGED = {"jspsych": ("trialtype", "trialindex", "timeelapsed", "internalnodeid", "viewhistory")}


def with_names(table: Table) -> Table:
    """Return the table with a column of names for each of head, winner and loser, where these can be told."""
    names = set(table.names)
    for ending in _ENDINGS:
        there = [role for role in _ROLES if role + ending in names]
        if len(there) == len(_ROLES):
            return table
        if there and names >= set(_ROLES):
            called = _called(table, ending)
            if called is not None:
                return _filled(table, ending, [role for role in _ROLES if role not in there], called)
            missing = [role + ending for role in _ROLES if role not in there]
            return table.with_findings(note("indices", table.source, columns=missing))
    return table


def _called(table: Table, ending: str) -> dict[Any, Any] | None:
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


def _filled(table: Table, ending: str, missing: list[str], called: dict[Any, Any]) -> Table:
    new = {role + ending: role for role in missing}

    def load(wanted: Sequence[str]) -> Loaded:
        loaded = table.load(list(dict.fromkeys(new.get(name, name) for name in wanted)))
        columns: dict[str, Column] = {}
        for name in wanted:
            column = loaded.columns[new.get(name, name)]
            columns[name] = merged(column.codes, [called[v] for v in column.values]) if name in new else column
        return replace(loaded, columns=columns)

    return replace(table, names=(*table.names, *new), load=load)


_ANSWERS = (".keys", ".clicked_name", ".response")
_LOOP = ".thisN"
_NAMED = {"odd-one-out": "odd", "most-central": "central"}


def with_component(reading: Reading, table: Table) -> Reading:
    """Return a reading of a PsychoPy file in which the answers, and their times, are those of trials."""
    given = [reading.columns[role] for role in ("answer", "chosen", "odd", "central") if reading.columns.get(role)]
    answers = [name for name in table.names if name.endswith(_ANSWERS)]
    if given:
        others = [name for name in answers if name not in given]
        answers = [name for name in answers if name in given]
        if len(answers) == 1 and others:  # rows that another component answers, such as practice
            reading = replace(reading, answered_only=True)
    elif len(answers) > 1:
        loops = [name for name in table.names if name.endswith(_LOOP)]
        loaded = table.load([*answers, *loops])
        in_loop = np.any([loaded.columns[name].codes >= 0 for name in loops], axis=0)
        answers = [name for name in answers if (in_loop & (loaded.columns[name].codes >= 0)).any()]
    if len(answers) != 1:
        return reading
    answer = answers[0]
    roles = ("answer", "chosen", *([_NAMED[reading.kind]] if reading.kind in _NAMED else []))
    time = f"{answer.rpartition('.')[0]}.rt"
    suggested = dict.fromkeys(roles, answer) | ({"seconds": time} if time in table.names else {})
    return replace(reading, suggested=reading.suggested | suggested)


PURPOSE = "purpose"
CHOSEN, OTHER, _RANDOM = "information", "other", "test"
_KNOWN = frozenset(["start", CHOSEN, _RANDOM, "repeat", "catch", OTHER, "again"])


def purposes_of(table: Table, answers: Answers) -> NDArray[np.str_] | None:
    """Return what each answer was asked for; None if there is no such column, or it says something else."""
    if table.names.count(PURPOSE) != 1:
        return None
    loaded = table.load([PURPOSE])
    purposes = (
        loaded.columns[PURPOSE]
        .mapped(str, "", object)[loaded.sources.find(answers.lines, answers.files)]
        .astype(np.str_)
    )
    return purposes if {*purposes.tolist(), ""} <= {*_KNOWN, ""} else None


def chosen_ones(purposes: NDArray[np.str_] | None) -> NDArray[np.bool_] | None:
    """Return which questions were chosen for what their answers tell; None if none was."""
    chosen = None if purposes is None else purposes == CHOSEN
    return chosen if chosen is not None and chosen.any() else None


def purposes_found(purposes: NDArray[np.str_], source: str) -> Finding:
    """Return a finding about answers to chosen questions, over which an error would mislead."""
    n_chosen, n_random = (int((purposes == each).sum()) for each in (CHOSEN, _RANDOM))
    return note("chosen-questions", source, n_chosen=n_chosen, n_random=n_random, n_questions=len(purposes))
