"""The answers of a study as a dataset in the layout of Psych-DS: a table, and what its columns mean as JSON-LD.

Psych-DS (https://psych-ds.github.io) asks for the metadata in ``dataset_description.json``, in the words of schema.org,
and for tables in ``data`` whose names end in ``_data.csv``; each column must be described in ``variableMeasured``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from nearer._common.files import write_text
from nearer._common.formatting import intcomma, pluralize
from nearer.survey.exporting import Columns, columns_as_csv, study_table
from nearer.survey.settings import Settings
from nearer.survey.study import CANT_TELL, settings_of

_DESCRIPTION = "dataset_description.json"
_MEANINGS = {
    "participant": "Random name of the participant",
    "condition": "Condition to which the participant was assigned at random",
    "trial": "Number of the question, different in each row, in the order in which questions were given",
    "anchor": "Object that the others were compared with",
    "left": "Object shown as the first option, on the left",
    "right": "Object shown as the second option, on the right",
    "answer": "Object that was chosen",
    "odd": "Object that was chosen as least like the others",
    "central": "Object that was chosen as most like the others",
    "chosen": "Objects that were chosen, with semicolons between them",
    "seconds": "Time from when the objects were visible until the answer, empty if unknown",
    "purpose": (
        "What the question was asked for: start (all objects equally often), information (chosen for what the answer "
        "tells), test (drawn at random), repeat (a random question asked again), other"
    ),
    "received": "When the answer arrived at the server, in seconds since 1970-01-01 00:00 UTC",
}
_ANSWERS = ("answer", "odd", "central", "chosen")
_UNITS = {"seconds": "second", "received": "second"}


def write_psych_ds(folder: Path, out: Path) -> list[Path]:
    """Write the answers of the study in a folder as a dataset, and return the files; one of before is replaced."""
    if out.exists() and not (out.is_dir() and ((out / _DESCRIPTION).is_file() or not any(out.iterdir()))):
        raise ValueError(f"{out} is there and is no dataset of Psych-DS; give the name of a new folder")
    settings, table = settings_of(folder), study_table(folder)
    name = re.sub(r"[^A-Za-z0-9]", "", folder.resolve().name) or "nearer"
    texts = {
        out / "data" / f"study-{name}_data.csv": columns_as_csv(table.columns),
        out / _DESCRIPTION: json.dumps(
            _description(settings, table.columns, table.title), indent=2, ensure_ascii=False
        ),
        out / "README.md": _readme(table.columns, table.title),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return list(texts)


def _description(settings: Settings, columns: Columns, title: str) -> dict[str, Any]:
    """Return the metadata of a table, in JSON-LD."""
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": title,
        "description": f"{_summary(columns)}. Participants were asked: {settings.question}",
        "measurementTechnique": f"{settings.kind} judgments of similarity",
        "inLanguage": settings.language,
        "variableMeasured": [_variable(name, settings, CANT_TELL in column) for name, column in columns.items()],
    }


def _variable(name: str, settings: Settings, undecided: bool) -> dict[str, str]:
    """Return what a column means; ``undecided``: whether some cells of it are "can't tell"."""
    number = re.fullmatch(r"(?:object|shown)_(\d+)", name)
    meaning = f"Object shown at position {number[1]}" if number else _MEANINGS[name]
    if name == "condition":
        asked = (f"{each.name} ({settings.in_condition(each.name).question})" for each in settings.conditions)
        meaning += f": {'; '.join(asked)}"
    if name in _ANSWERS and undecided:
        meaning += f'; "{CANT_TELL}" if the participant could not tell, which is no answer'
    unit = {"unitText": _UNITS[name]} if name in _UNITS else {}
    return {"@type": "PropertyValue", "name": name, "description": meaning, **unit}


def _summary(columns: Columns) -> str:
    answer = next(columns[name] for name in _ANSWERS if name in columns)
    n_undecided = answer.count(CANT_TELL)
    people = pluralize(len(set(columns["participant"])), "participant")
    undecided = f', and {intcomma(n_undecided)} "{CANT_TELL}",' if n_undecided else ""
    return f"{pluralize(len(answer) - n_undecided, 'answer')}{undecided} of {people} about the similarity of objects"


def _readme(columns: Columns, title: str) -> str:
    return (
        f"# {title}\n\n{_summary(columns)}.\n\n"
        "The table in `data` has a row for each answer, which the column `trial` identifies. "
        f"`{_DESCRIPTION}` says what the columns mean.\n"
        "Practice questions, catch questions and participants who were excluded are not in it. "
        "`nearer fit` reads the table.\n"
    )
