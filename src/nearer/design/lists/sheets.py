"""Files of questions for programs that collect answers.

- *csv*: a row for each trial. Columns have the names of `nearer.io.read_answers`: with a column for the answer added,
  the file can be read. `read_sheet` reads the questions themselves back, for programs that ask them.
- *jspsych*: a JSON array of trials of the plugin html-button-response. What was asked is in the ``data`` of each, so
  that what jsPsych saves can be read as it is.
- *qualtrics*: text that Qualtrics imports, a block for each list. Qualtrics saves which choice of which question was
  made, and not what was shown; a second file, the key, has a row for each question with its name in Qualtrics.
- *jsonl*: a JSON object on each line, for programs that answer, such as language models: what csv has, with the text of
  the question and its options. With a key for the answer added to each line, the file can be read.

Right answers of catch trials are written as the program writes answers: by the object, the number of the button from 0,
the number of the choice from 1.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from nearer._common.files import write_text
from nearer.design.lists.inputs import read_allowed
from nearer.design.mix import CATCH, INFORMATION, OTHER, REPEAT, START, TEST
from nearer.io.formats import open_table
from nearer.io.writing import question_columns

FORMATS = {"csv": ".csv", "jspsych": ".json", "qualtrics": ".txt", "jsonl": ".jsonl"}
_QUESTION_TEXTS = {
    "triplet": "Which is more like {}?",
    "odd-one-out": "Which is the odd one out?",
    "most-central": "Which is the most central?",
}


@dataclass(frozen=True)
class Trial:
    """One question in the list of a participant."""

    participant: str | None
    number: int
    shown: tuple[Any, ...]  # from left to right; first the anchor, if there is one
    purpose: str  # "start", "information", "test", "repeat" or "catch"
    right: tuple[Any, ...] = ()  # the right answer of a catch trial


def format_of(path: Path, requested: str | None) -> str:
    """Return the format requested, or that of the ending of a file."""
    if requested is not None:
        return requested
    for found, ending in FORMATS.items():
        if path.suffix.lower() == ending:
            return found
    endings = ", ".join(f"{ending} for {each}" for each, ending in FORMATS.items())
    raise ValueError(f"{path.name}: the ending is of no known format ({endings}); give --format")


def write_sheets(trials: Sequence[Trial], kind: str, path: Path, file_format: str) -> list[Path]:
    """Write trials of a kind to a file in a format, and for Qualtrics its key next to it; return the paths written."""
    if file_format in ("jspsych", "qualtrics") and re.match(r"(?!1 of)\d+ of", kind):
        raise ValueError(
            f"with {kind!r} several objects are chosen at once, which {file_format} has no plain button for; write .csv"
        )
    if file_format == "csv":
        texts = {path: _table(trials, kind)}
    elif file_format == "jsonl":
        texts = {path: _lines(trials, kind)}
    elif file_format == "jspsych":
        texts = {path: _jspsych_text(trials, kind)}
    else:
        blocks = _blocks(trials)
        key = path.with_name(f"{path.stem}.key.csv")
        texts = {path: _qualtrics_text(trials, kind, blocks), key: _table(trials, kind, blocks)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for each, text in texts.items():
        write_text(each, text)
    return list(texts)


def read_sheet(path: Path, kind: str, width: int) -> list[Trial]:
    """Return the trials in a table of the form that `write_sheets` writes as CSV; the objects alone will do."""
    shown = read_allowed(path, kind, width)
    table = open_table(path)
    loaded = table.load([name for name in ("participant", "purpose", "catch") if name in table.names])

    def cells(name: str) -> list[str]:
        return loaded.columns[name].texts().tolist() if name in loaded.columns else [""] * len(shown)

    trials = []
    columns = zip(shown, cells("participant"), cells("purpose"), cells("catch"), strict=True)
    for number, (objects, participant, purpose, right) in enumerate(columns, 1):
        named = tuple(label.strip() for label in right.split(";") if label.strip())
        known = purpose if purpose in (START, INFORMATION, TEST, REPEAT, CATCH) else OTHER
        trials.append(Trial(participant or None, number, objects, CATCH if named else known, named))
        options = _options(trials[-1], kind)
        if (purpose == CATCH and not named) or not {*named} <= {*options}:
            raise ValueError(
                f"{path.name}: question {number} is a catch question, whose right answer must stand in the column "
                f"catch: {' or '.join(options)}"
            )
    return trials


def _options(trial: Trial, kind: str) -> list[str]:
    """Return the options from left to right."""
    first = 0 if kind in ("odd-one-out", "most-central") else 1
    return [str(label) for label in trial.shown[first:]]


def _question(trial: Trial, kind: str) -> str:
    """Return the text of the question, as HTML."""
    return _question_text(kind, f"<b>{_escaped(str(trial.shown[0]))}</b>")


def _question_text(kind: str, anchor: str) -> str:
    return _QUESTION_TEXTS.get(kind, "Which is most like {}?").format(anchor)


def _escaped(label: str) -> str:
    """Return a label escaped for HTML and Qualtrics."""
    return html.escape(" ".join(label.split())).replace("[[", "&#91;&#91;")


def _right_option(trial: Trial, kind: str, first: int) -> int | None:
    """Return the number of the right answer among the options, counted from ``first``."""
    return _options(trial, kind).index(str(trial.right[0])) + first if trial.right else None


def _table(trials: Sequence[Trial], kind: str, blocks: dict[str | None, str] | None = None) -> str:
    """Return a table of trials, or with blocks the key to Qualtrics; columns that no trial fills are left out."""
    rows = []
    for each in trials:
        row = _row(each, kind)
        if blocks is not None:
            row |= {"catch": _right_option(each, kind, 1), "question": f"{blocks[each.participant]}_{each.number}"}
        rows.append(row)
    names = [column for column in rows[0] if any(row[column] not in (None, "") for row in rows)]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(trial: Trial, kind: str) -> dict[str, Any]:
    """Return a trial under the names of columns that are read back."""
    row: dict[str, Any] = {"participant": trial.participant, "trial": trial.number}
    right = ";".join(str(label) for label in trial.right)
    return row | question_columns(trial.shown, kind) | {"purpose": trial.purpose, "catch": right}


def _lines(trials: Sequence[Trial], kind: str) -> str:
    """Return a JSON object for each trial, on a line of its own."""
    lines = []
    for each in trials:
        row = {name: value for name, value in _row(each, kind).items() if value not in (None, "")}
        shown = {"question": _question_text(kind, str(each.shown[0])), "options": _options(each, kind)}
        lines.append(json.dumps(row | shown, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _jspsych_text(trials: Sequence[Trial], kind: str) -> str:
    timeline = []
    for each in trials:
        data: dict[str, Any] = {"participant": each.participant} if each.participant is not None else {}
        data |= {"trial": each.number} | question_columns(each.shown, kind) | {"purpose": each.purpose}
        if each.purpose == CATCH:
            data["catch"] = _right_option(each, kind, 0)
        timeline.append(
            {
                "type": "html-button-response",
                "stimulus": f"<p>{_question(each, kind)}</p>",
                "choices": [_escaped(label) for label in _options(each, kind)],
                "data": data,
            }
        )
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in timeline) + "\n]\n"


def _qualtrics_text(trials: Sequence[Trial], kind: str, blocks: dict[str | None, str]) -> str:
    parts = ["[[AdvancedFormat]]"]
    for participant, theirs in groupby(trials, key=lambda trial: trial.participant):
        block = blocks[participant]
        parts.append(f"[[Block:{block}]]")
        for each in theirs:
            choices = "\n".join(_escaped(label) for label in _options(each, kind))
            head = f"[[Question:MC:SingleAnswer:Horizontal]]\n[[ID:{block}_{each.number}]]\n{_question(each, kind)}"
            parts.append(f"{head}\n\n[[Choices]]\n{choices}\n\n[[PageBreak]]")
    return "\n\n".join(parts) + "\n"


def _blocks(trials: Sequence[Trial]) -> dict[str | None, str]:
    """Return the name of each participant's block in Qualtrics, in letters that the names of questions may have."""
    blocks: dict[str | None, str] = {}
    for person in dict.fromkeys(each.participant for each in trials):
        plain = re.sub(r"[^A-Za-z0-9]+", "_", person or "q").strip("_") or "q"
        taken = set(blocks.values())
        numbered = (f"{plain}_{number}" for number in range(2, len(taken) + 3))
        blocks[person] = plain if plain not in taken else next(each for each in numbered if each not in taken)
    return blocks
