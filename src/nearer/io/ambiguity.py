"""Tables that can be read in several ways, and proposals for those that cannot be read at all.

Where several kinds of question fit, what each reading makes of the first answer is shown, and the reader of the message
chooses. Of two columns that can both be the answer, an empty one never goes first, and none is guessed where they
differ. For a table whose columns are not recognized, objects are found by what cells hold: columns of objects share
most of their values, and an answer is among the objects of its own row, or is the place of one. A proposal is made only
if reading the table so worked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.labels import normalize_name
from nearer.io.answers import Answers
from nearer.io.choice_coding import AmbiguousCoding, integer, place_of_word
from nearer.io.columns import ANSWERS, EXTRAS, NEAR_FAR, SYNONYMS, AmbiguousColumns, LayoutMatch, by_plain
from nearer.io.messages import Proposal, as_column, format_proposals, listing, place, shortened
from nearer.io.questions import Question, TableComparisons, read_question
from nearer.io.table import LoadedRows, RowErrors, RowSources, Table

MAX_BAD_SHARE = 0.05  # share of rows that may be bad in a column of answers, or in a reading that is proposed
MAX_CHANCE_UNCHOSEN = 1e-4  # probability that chance keeps a column of items from being chosen, for it to be an anchor


def answer_of(found: LayoutMatch) -> str | None:
    """Return the role of the answer in a layout, or None if near and far say it."""
    return next((role for role in ANSWERS if role in found.layout.roles), None)


def rivals(names: Sequence[str], found: LayoutMatch, known: set[str]) -> list[str]:
    """Return other columns that are named like an answer; none if the role of the answer is ``known``."""
    role = answer_of(found)
    if role is None or role in known or len(found.roles[role]) > 1:
        return []
    spelled = by_plain(names)
    columns = dict.fromkeys(spelled[each] for each in (*SYNONYMS[role], *SYNONYMS["answer"]) if each in spelled)
    return [name for name in columns if name not in found.names and list(names).count(name) == 1]


def empty_answer(loaded: LoadedRows, found: LayoutMatch, others: Sequence[str]) -> str | None:
    """Return the column of the answer if it is empty and another is not."""
    role = answer_of(found)
    filled = [name for name in others if loaded.columns[name].filled.any()]
    if role is None or not filled or loaded.columns[found.roles[role][0]].filled.any():
        return None
    return found.roles[role][0]


def refuse_rivals(question: Question, asked: TableComparisons, others: Sequence[str], sources: RowSources) -> None:
    """Refuse a table in which another column can be read as the answer, and says something else."""
    role = answer_of(question.found)
    places = asked.places
    if role is None or places is None:
        return
    for name in others:
        found = replace(question.found, roles=question.found.roles | {role: (name,)})
        errors = RowErrors(len(sources))
        try:
            other = read_question(replace(question, found=found, errors=errors)).places
        except ValueError:  # it is no answer, or nobody knows what it means
            continue
        if other is None or (errors.bad & ~question.errors.bad).sum() > MAX_BAD_SHARE * len(sources):
            continue
        differ = np.flatnonzero((places >= 0) & (other >= 0) & (places != other) & ~errors.bad & ~question.errors.bad)
        if len(differ):
            mine, first = question.name(role), place(sources.at(int(differ[0])), sources.whole)
            raise ValueError(
                f"{question.source}: columns {mine!r} and {name!r} can each be the answer, and differ in "
                f"{len(differ)} of {len(sources)} rows, first in {first}; use {as_column(role, mine)} or "
                f"{as_column(role, name)}"
            )


def refuse_anchor_among_items(
    question: Question, asked: TableComparisons, kinds: Sequence[str], rows: NDArray[np.bool_]
) -> None:
    """Refuse a question about three items of which one is never chosen and the others are: it is the anchor."""
    role, items = answer_of(question.found), question.found.roles.get("items", ())
    places = asked.places
    if role not in ("odd", "central") or len(items) != 3 or places is None:
        return
    counts = np.bincount(places[rows & (places >= 0)], minlength=3)
    if np.count_nonzero(counts) != 2 or (2 / 3) ** counts.sum() > MAX_CHANCE_UNCHOSEN:
        return
    never = items[int(counts.argmin())]
    left, right = (name for name in items if name != never)
    answer = question.name(role)
    of_anchor = Proposal({}, {"anchor": never, "left": left, "right": right, "answer": answer})
    ways = [of_anchor, *(Proposal({"kind": kind}) for kind in kinds)]
    raise ValueError(
        f"{question.source}: none of {counts.sum()} answers in column {answer!r} is the object in column {never!r}, "
        f"which may be the anchor that {left!r} and {right!r} are compared with.{format_proposals(ways)}"
    )


def refuse_choice_among_pairs(question: Question) -> None:
    """Refuse two pairs of which the last object always is one of the other three: it is what was chosen of them."""
    if not set(NEAR_FAR) <= question.found.roles.keys():
        return
    names = [question.name(role) for role in NEAR_FAR]
    *items, last = (question.columns[name].texts() for name in names)
    counts = np.array([np.count_nonzero((each == last) & (last != "")) for each in items])
    # One column alone may be the object that pairs share.
    if not (counts.all() and counts.sum() == np.count_nonzero(last != "")):
        return
    ways = [Proposal({}, {"items": "+".join(names[:3]), role: names[3]}) for role in ("odd", "central")]
    ways.append(Proposal({"kind": "quadruplet"}))
    raise ValueError(
        f"{question.source}: in every row column {names[3]!r} holds one of the objects in columns "
        f"{', '.join(map(repr, names[:3]))}, so it may be what was chosen of the three.{format_proposals(ways)}"
    )


def answer_columns_hint(names: Sequence[str]) -> str:
    """Return a sentence on columns whose names end in the same word for an answer, or nothing."""
    ends = defaultdict[str, list[str]](list)
    for name in names:
        if "." in name.strip("."):
            ends[normalize_name(name.rpartition(".")[2])].append(name)
    alike = next((ends[end] for end in SYNONYMS["answer"] if len(ends[end]) > 1), [])
    listed = " and ".join(map(repr, alike[:4]))
    return f". Columns {listed} can each be the answer; choose one with --columns answer=NAME" if alike else ""


def resolve(
    unclear: AmbiguousColumns, names: tuple[str, ...], source: str, read: Callable[[str, str | None, bool], Answers]
) -> Answers:
    """Return the answers if all readings that are possible say the same, or raise an error that shows them."""
    found: dict[str, Answers] = {}
    counted: dict[str, ValueError] = {}
    ways: list[Proposal] = []
    errors: list[ValueError] = []
    for kind in unclear.kinds:
        try:
            found[kind] = read(kind, None, True)
            ways.append(Proposal({"kind": kind}))
        except AmbiguousCoding as error:  # it may well be of this kind
            counted[kind] = error
            for first in ("0", "1"):
                with suppress(ValueError):
                    found[kind] = read(kind, first, True)
                    ways.append(Proposal({"kind": kind, "first_is": first}))
        except ValueError as error:
            errors.append(error)
    kinds = [kind for kind in unclear.kinds if kind in found or kind in counted]
    if not kinds:
        raise errors[0]
    labels = [answers.comparisons.objects[answers.comparisons.oriented] for answers in found.values()]
    implied = [sorted(map(tuple, each.astype(str).tolist())) for each in labels]
    if not counted and all(each == implied[0] for each in implied):
        return read(kinds[0], None, False)
    if len(kinds) == 1:
        raise counted[kinds[0]]
    readings = [
        f"read as {kind}{', where 1 means the first,' if kind in counted else ','} {describe_first_answer(answers)}"
        for kind, answers in found.items()
    ]
    raise AmbiguousColumns(
        f"{unclear.prompts}{source} has the columns {listing(names)}, which can be read in several ways. Its first "
        f"answer: {'; '.join(readings)}.{format_proposals(ways)}",
        kinds,
    )


def describe_first_answer(answers: Answers) -> str:
    """Return what the first answer says."""
    comparisons = answers.comparisons
    rows = comparisons.oriented[answers.answer_of == 0]

    def names(codes: object) -> str:
        return ", ".join(shortened(label) for label in comparisons.objects[np.unique(np.asarray(codes))].tolist())

    anchor, near, other, far = rows[0]
    if answers.kind in ("odd-one-out", "most-central"):
        odd = answers.kind == "odd-one-out"
        return f"{names(far if odd else near)} is the {'odd one' if odd else 'most central'} of {names(rows)}"
    if answers.kind == "quadruplet":
        return f"{names([anchor, near])} are more similar than {names([other, far])}"
    if answers.kind in ("ranking", "ranked-grid"):
        return f"{names(anchor)} is nearest to {names(near)} of {names(rows[:, [1, 3]])}"
    return f"{names(anchor)} is nearer to {names(rows[:, 1])} than to {names(rows[:, 3])}"


MAX_PROPOSALS = 4  # proposals in a message
MAX_PROPOSAL_CHARACTERS = 1000  # characters of a proposal
MAX_OBJECT_COLUMNS = 12  # columns of objects that a message names
MAX_COLUMNS = 100  # a table with more is no table with a row for each answer
SAMPLED_ROWS = 2000  # that show what a column holds
MIN_SHARED_VALUES = 0.5  # share of the values of a column that are values of another one that holds the same objects
MIN_ROW_SHARE = 0.95  # share of rows that shows what a column is
_SEPARATORS = re.compile(r"[,=+*]")  # which part names from each other on the command line
_ANSWER_WORDS = re.compile(
    r"answer|resp|choice|chose|select|pick|click|key|button|odd|cent[er]|sel|decision|judg|winner"
)
_PEOPLE_WORDS = re.compile(
    r"particip|subject|subj|worker|user|person|rater|judge|observer|respondent|student|proband|annot|prolific"
)
_CENTRAL_WORDS, _ODD_WORDS = re.compile(r"cent(er|re|ral)|middle"), re.compile(r"odd|different|outlier")

_ROLE_OF_KIND = {
    "odd-one-out": "odd", "most-central": "central", "triplet": "anchor", "grid": "shown", "quadruplet": "near_1"
}  # fmt: skip
Cells = dict[str, NDArray[Any]]
Columns = dict[str, str]


Read = Callable[[Columns, Mapping[str, str]], Answers]


def proposals(table: Table, kind: str | None, given: Mapping[str, Any], read: Read) -> list[Proposal]:
    """Return ways to read a table that work, the likeliest first."""
    if not 1 < len(table.names) <= MAX_COLUMNS or len(set(table.names)) < len(table.names):
        return []
    typed = {role: name if isinstance(name, str) else "+".join(map(str, name or ())) for role, name in given.items()}
    found: list[Proposal] = []
    for columns in _candidate_columns(table, kind):
        whole = {**columns, **_annotator_column(table, columns)}
        whole = {role: name for role, name in whole.items() if role not in given}
        if not any(_SEPARATORS.search(part) for name in whole.values() for part in name.split("+")):
            found += _working_proposals(whole, read, typed)
    return found[:MAX_PROPOSALS]


def _working_proposals(columns: Columns, read: Read, given: Columns) -> list[Proposal]:
    """Return the proposals that columns make with those of the caller: two where numbers may mean either of two."""
    found = []
    for first, skip in product(({}, {"first_is": "1"}, {"first_is": "0"}), ({}, {"skip_bad": "yes"})):
        settings = {**first, **skip}
        try:
            answers = read(columns, settings)
        except ValueError:
            continue
        if answers.report.n_bad > MAX_BAD_SHARE * (len(answers) + answers.report.n_bad):
            continue
        proposal = Proposal(settings, {**given, **columns}, describe_first_answer(answers))
        if len(str(proposal)) <= MAX_PROPOSAL_CHARACTERS:
            found.append(proposal)
        if not first:
            return found
    return [each for each in found if "skip_bad" not in each.settings] or found


def _candidate_columns(table: Table, kind: str | None) -> Iterator[Columns]:
    """Yield what columns may mean, the likeliest first."""
    loaded = (table.peek or table.load)(table.names).columns
    extras = {spelling for role in EXTRAS for spelling in SYNONYMS[role]}
    cells = {
        name: column[:SAMPLED_ROWS].texts() for name, column in loaded.items() if normalize_name(name) not in extras
    }
    role = _ROLE_OF_KIND.get(kind or "", "ranking")
    yield from (columns for columns in _all_candidates(cells) if kind is None or role in columns)


def _all_candidates(cells: Cells) -> Iterator[Columns]:
    for group in _object_columns(cells):
        answers = [name for name in group if _names_objects(cells, name, [each for each in group if each != name])]
        objects = [name for name in group if name not in answers]
        held = {cell for name in group for cell in cells[name].tolist()}
        if held >= set(group) and not all(name.isdecimal() for name in group):
            continue  # a file without a line of names: its first answer would be lost
        others = [name for name in cells if name not in group]
        answers += [
            name for name in others if _names_objects(cells, name, objects) or _has_places(cells, name, objects)
        ]
        for answer in sorted(answers, key=lambda name: not _is_answer_name(name)):
            yield from _with_answer(cells, objects, answer)
        if not answers and not any(_is_answer_name(name) or _may_be_keys(cells, name, objects) for name in others):
            yield from _without_answer(objects)


def _object_columns(cells: Cells) -> list[list[str]]:
    """Return columns that hold the same objects, the largest group first; numbers are objects only in one family."""
    held = {name: set(values.tolist()) - {""} for name, values in cells.items()}
    held = {name: values for name, values in held.items() if len(values) > 2}
    of_numbers = {name: all(integer(value) is not None for value in values) for name, values in held.items()}
    pattern = {name: re.sub(r"\d+|(?<![a-z])[a-z](?![a-z])", "#", name.casefold()) for name in held}
    groups: list[list[str]] = []
    for name, values in held.items():
        group = [
            other
            for other, its in held.items()
            if len(values & its) / min(len(values), len(its)) >= MIN_SHARED_VALUES
            and (not (of_numbers[name] and of_numbers[other]) or pattern[name] == pattern[other])
        ]
        if len(group) > 2 and group not in groups:
            groups.append(group)
    return sorted(groups, key=len, reverse=True)


def _answer_places(cells: Cells, name: str, objects: list[str]) -> NDArray[np.intp]:
    """Return for every row which of the objects an answer is, -1 for none."""
    found = np.full(len(cells[name]), -1)
    for at, column in reversed(list(enumerate(objects))):
        found[(cells[name] == cells[column]) & (cells[name] != "")] = at
    return found


def _names_objects(cells: Cells, name: str, others: list[str]) -> bool:
    """Whether a column holds one of the objects of other columns in nearly every row that has an answer."""
    there = cells[name] != ""
    return bool(there.any()) and float((_answer_places(cells, name, others)[there] >= 0).mean()) >= MIN_ROW_SHARE


def _has_places(cells: Cells, name: str, objects: list[str]) -> bool:
    """Whether a column that is named like an answer holds places, by number or by word."""
    values = set(cells[name].tolist()) - {""}
    if not values or not _is_answer_name(name):
        return False
    numbers = [integer(value) for value in values]
    counted = all(number is not None and 0 <= number <= len(objects) for number in numbers)
    n_options = len(objects) - (len(values) < len(objects))
    return counted or all(place_of_word(value, objects, n_options) >= 0 for value in values)


def _is_answer_name(name: str) -> bool:
    return bool(_ANSWER_WORDS.search(normalize_name(name)))


def _may_be_keys(cells: Cells, name: str, objects: list[str]) -> bool:
    """Whether a column of any name may hold an answer: as few values as there are objects, such as keys, or fewer."""
    values = set(cells[name].tolist()) - {""}
    return 1 < len(values) <= len(objects) and not _PEOPLE_WORDS.search(normalize_name(name))


def _with_answer(cells: Cells, objects: list[str], answer: str) -> Iterator[Columns]:
    """Yield the kinds of question that objects and an answer may make."""
    if not 3 <= len(objects) <= MAX_OBJECT_COLUMNS:
        return
    chosen = set(_answer_places(cells, answer, objects).tolist()) - {-1}
    never = [name for place, name in enumerate(objects) if place not in chosen]
    named = next((name for name in objects if normalize_name(name) in SYNONYMS["anchor"]), None)
    anchor = never[0] if len(never) == 1 else None
    if not chosen:  # places: as many as there are objects, or one less next to an anchor
        n_places = len(set(cells[answer].tolist()) - {""})
        if n_places not in (len(objects), len(objects) - 1):
            return
        anchor = (named or objects[0]) if n_places < len(objects) else named
    if anchor is not None:
        rest = [name for name in objects if name != anchor]
        if len(rest) == 2:
            yield {"anchor": anchor, "left": rest[0], "right": rest[1], "answer": answer}
        else:
            yield {"anchor": anchor, "shown": "+".join(rest), "chosen": answer}
        return
    says_central, says_odd = (bool(words.search(normalize_name(answer))) for words in (_CENTRAL_WORDS, _ODD_WORDS))
    for role in ("odd", "central"):
        if not (says_central or says_odd) or (role == "central") == says_central:
            yield {"items": "+".join(objects), role: answer}


def _without_answer(objects: list[str]) -> Iterator[Columns]:
    if len(objects) == 3:
        yield dict(zip(("anchor", "near", "far"), objects, strict=True))
        yield {"items": "+".join(objects), "odd": objects[-1]}
    if len(objects) == 4:
        yield dict(zip(NEAR_FAR, objects, strict=True))


def _annotator_column(table: Table, taken: Columns) -> Columns:
    """Return the column of who answered, where its name tells, though it is none that is read as such."""
    used = {part for name in taken.values() for part in name.split("+")}
    if any(name in SYNONYMS["annotator"] for name in by_plain(table.names)):
        return {}
    found = [name for name in table.names if name not in used and _PEOPLE_WORDS.search(normalize_name(name))]
    return {"annotator": found[0]} if len(found) == 1 else {}
