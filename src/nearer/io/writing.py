"""Writing answers: files of our own, which `read_answers` reads back exactly, and those of other programs.

Every file has a row a comparison: anchor, near and far, or near_1, near_2, far_1 and far_2; what comes with it;
``nearer_answer``, the number of the answer; and ``nearer_kind``. A row whose ``nearer_kind`` is "object" names an
object that no comparison mentions. In text files, cells that a spreadsheet would take for formulas are made inert.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from nearer._common.files import atomic_path
from nearer._common.tables import cell_text
from nearer.data.comparisons import Comparisons
from nearer.io.answers import KINDS, Answers, Kind, ReadingReport
from nearer.io.choice_coding import Coding
from nearer.io.columns import LAYOUTS, NEAR_FAR, LayoutMatch, Roles
from nearer.io.delimited import unescape_columns
from nearer.io.labels import take_labels
from nearer.io.multi_file import namespace_by_file
from nearer.io.presets import CHOSEN, OTHER, PURPOSE, ReadOptions
from nearer.io.questions import Question, read_question
from nearer.io.table import Column, LoadedRows, RowErrors, Table, check_proportions, read_numbers
from nearer.io.trials import as_places, make_answers

_SUFFIXES = {
    None: (".csv", ".tsv", ".parquet", ".pq", ".npz"),
    "salmon": (".csv",),
    "jspsych": (".csv", ".json"),
    "cblearn": (".npz",),
}
_BLOCK_ROWS = 50_000

Columns = dict[str, NDArray[Any]]


def write_answers(
    answers: Answers | Comparisons,
    path: str | PathLike[str],
    preset: Literal["salmon", "jspsych", "cblearn"] | None = None,
) -> Path:
    """Write answers to a file that `read_answers` reads back.

    Parameters
    ----------
    answers : Answers or Comparisons
    path : str or path
        The ending of the name says what to write: .csv, .tsv (both also with .gz), .parquet or .npz.
    preset : {"salmon", "jspsych", "cblearn"}, optional
        Write what that program writes: Salmon .csv, jsPsych .csv or .json, cblearn .npz. Salmon and jsPsych take
        triplets only; answers of other kinds become rows that share a trial, and read back as triplets.

    Returns
    -------
    Path

    Notes
    -----
    Comparisons, weights, annotators, trials, which questions were chosen, response times, confidences and places come
    back exactly. Text files hold labels as text, sorted when they come back; npz keeps their order, too. Counts of rows
    that were skipped are not written. Weights that differ by more than a factor of 1e30 are refused when they are read
    back.

    Examples
    --------
    >>> import tempfile
    >>> from nearer.io import read_answers
    >>> judgments = Comparisons.from_triplets([("cat", "dog", "=cmd()")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_answers(judgments, Path(folder) / "answers.csv")
    ...     print(path.read_text().splitlines()[1])
    ...     print(read_answers(path).comparisons.objects.tolist())
    cat,dog,'=cmd(),1,triplet
    ['=cmd()', 'cat', 'dog']
    """
    path = Path(path)
    if preset not in _SUFFIXES:
        raise ValueError(f"preset={preset!r}: it must be salmon, jspsych or cblearn, or left out")
    name = path.name.lower().removesuffix(".gz")
    suffix = Path(name).suffix
    if suffix not in _SUFFIXES[preset] or (name != path.name.lower() and suffix not in (".csv", ".tsv")):
        raise ValueError(f"{path.name}: the name must end in {' or '.join(_SUFFIXES[preset])}")
    if isinstance(answers, Comparisons):
        number, kind = np.arange(len(answers)), "triplet" if answers.is_triplets else "quadruplet"
        answers = Answers(answers, number, cast(Kind, kind), "comparisons", number + 1, annotators=answers.annotators)
    with atomic_path(path) as part:
        if suffix == ".npz":
            _write_npz(answers, part, "X" if preset == "cblearn" else None)
        elif suffix == ".json":
            _write_json(_jspsych(answers), part)
        elif suffix in (".csv", ".tsv"):
            columns = _salmon(answers) if preset == "salmon" else _jspsych(answers) if preset else _native(answers)
            _write_text(columns, part, "," if suffix == ".csv" else "\t")
        else:
            _write_parquet(_native(answers), part)
    return path


def _extras(answers: Answers) -> Columns:
    """Return what comes with comparisons, under the names that are read back."""
    comparisons, answer_of = answers.comparisons, answers.answer_of
    per_comparison = {
        "weight": comparisons.weights,
        "annotator": comparisons.annotators,
        "trial": comparisons.trials,
        PURPOSE: None if comparisons.chosen is None else np.where(comparisons.chosen, CHOSEN, OTHER),
    }
    per_answer = {"seconds": answers.seconds, "confidence": answers.confidences, "place": answers.places}
    columns = {name: values for name, values in per_comparison.items() if values is not None}
    return columns | {name: values[answer_of] for name, values in per_answer.items() if values is not None}


def _native(answers: Answers) -> Columns:
    """Return all columns, with a row at the end for every object that no comparison mentions."""
    comparisons = answers.comparisons
    names = TRIPLET if comparisons.is_triplets else NEAR_FAR
    columns = {name: comparisons.objects[comparisons.rows[:, at]] for at, name in enumerate(names)}
    if comparisons.answers is not None:
        columns["answer"] = comparisons.answers
    columns |= _extras(answers)
    columns["nearer_answer"] = answers.answer_of + 1
    columns["nearer_kind"] = np.full(len(comparisons), answers.kind)
    seen = np.zeros(comparisons.n_objects, bool)
    seen[comparisons.rows.ravel()] = True
    if seen.all():
        return columns
    unseen = comparisons.objects[~seen]
    more = {names[0]: unseen, "nearer_kind": np.full(len(unseen), "object")}
    nothing = np.full(len(unseen), None)
    return {
        name: np.concatenate([values, more[name]] if name in more else [values.astype(object), nothing])
        for name, values in columns.items()
    }


def _oriented(answers: Answers, program: str) -> tuple[NDArray[Any], ...]:
    comparisons = answers.comparisons
    if not comparisons.is_triplets:
        raise ValueError(f"{program} knows triplets only, and these are quadruplets; write .csv, .parquet or .npz")
    oriented = comparisons.oriented
    return oriented[:, 0], oriented[:, 1], oriented[:, 3]


def _places(answers: Answers) -> NDArray[np.int64]:
    places = answers.places
    return np.full(len(answers.answer_of), -1) if places is None else places[answers.answer_of]


def _salmon(answers: Answers) -> Columns:
    head, winner, loser = _oriented(answers, "Salmon")
    shown = {"head": head, "winner": winner, "loser": loser}
    if answers.places is not None:
        places, unknown = _places(answers), np.full(len(head), -1)
        shown["left"] = np.choose(places + 1, [unknown, winner, loser], mode="clip")
        shown["right"] = np.choose(places + 1, [unknown, loser, winner], mode="clip")
    objects = answers.comparisons.objects
    columns: Columns = {name: _blank(at, at < 0) for name, at in shown.items()}
    for ending in ("_html", "_filename"):
        columns |= {name + ending: _blank(objects[at], at < 0) for name, at in shown.items()}
    extras = _extras(answers)
    extras.pop("place", None)
    columns["puid"] = extras.pop("annotator", np.full(len(head), None))
    seconds = extras.pop("seconds", np.full(len(head), np.nan))
    columns["response_time"] = np.where(np.isnan(seconds), -1.0, seconds)
    return columns | extras | {"nearer_kind": np.full(len(head), answers.kind)}


def _blank(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    cells = values.astype(object)
    cells[missing] = None
    return cells


def _jspsych(answers: Answers) -> Columns:
    anchor, near, far = _oriented(answers, "jsPsych")
    places = _places(answers)
    reversed_ = places == 1
    objects = answers.comparisons.objects
    extras = _extras(answers)
    seconds = extras.get("seconds", np.full(len(anchor), np.nan))
    columns: Columns = {
        "trial_type": np.full(len(anchor), "html-button-response"),
        "trial_index": np.arange(len(anchor)),
        "time_elapsed": np.nancumsum(np.nan_to_num(seconds)) * 1000,
        "rt": seconds * 1000,
        "anchor": objects[anchor],
        "left": objects[np.where(reversed_, far, near)],
        "right": objects[np.where(reversed_, near, far)],
        "response": reversed_.astype(int),
    }
    if "annotator" in extras:
        columns["subject"] = extras.pop("annotator")
    if answers.places is None or (answers.places < 0).any():
        columns["place"] = places  # or reading back would take the sides written for those shown
    return columns | extras | {"nearer_kind": np.full(len(anchor), answers.kind)}


def _write_json(columns: Columns, path: Path) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*map(_plain, columns.values()), strict=True)]
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=0), encoding="utf-8")


def _plain(values: NDArray[Any]) -> list[Any]:
    listed = values.tolist()
    return [None if value != value else value for value in listed] if values.dtype.kind in "fO" else listed


def _texts(values: NDArray[Any]) -> list[str]:
    """Return cells: numbers to the last digit, labels escaped."""
    if values.dtype.kind in "iuf":
        return ["" if value is None else repr(value) for value in _plain(values)]
    return [cell_text(value) for value in _plain(values)]


def _write_text(columns: Columns, path: Path, delimiter: str) -> None:
    n_rows = len(next(iter(columns.values())))
    packed = path.name.lower().endswith(".gz")
    with (
        open(path, "wb") as file,
        io.TextIOWrapper(
            gzip.GzipFile("", "wb", fileobj=file) if packed else file, encoding="utf-8", newline=""
        ) as text,
    ):
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")  # a lone \n would leave \r in labels bare
        writer.writerow(columns)
        for start in range(0, n_rows, _BLOCK_ROWS):
            block = [_texts(values[start : start + _BLOCK_ROWS]) for values in columns.values()]
            if any("\0" in cell for cells in block for cell in cells):
                raise ValueError("a label holds a NUL character, which no text file may; rename it")
            try:
                writer.writerows(zip(*block, strict=True))
            except UnicodeEncodeError as error:
                raise ValueError(f"a label holds {error.object[error.start]!r}, which is no text") from error


def _write_npz(answers: Answers, path: Path, matrix: str | None) -> None:
    comparisons = answers.comparisons
    arrays: dict[str, Any] = {matrix or ("triplets" if comparisons.is_triplets else "quadruplets"): comparisons.rows}
    if comparisons.answers is not None:
        arrays["y"] = comparisons.answers
    arrays |= _extras(answers)
    arrays |= {"objects": comparisons.objects, "nearer_answer": answers.answer_of + 1, "nearer_kind": answers.kind}
    for name, values in arrays.items():
        if np.asarray(values).dtype.kind == "O":  # which would be pickled
            arrays[name] = values.astype(np.str_)
    np.savez_compressed(path, **arrays)


def _write_parquet(columns: Columns, path: Path) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise ValueError("writing Parquet needs pyarrow: pip install pyarrow, or write .npz") from error
    arrays = {}
    for name, values in columns.items():
        listed = _plain(values)
        text = any(isinstance(value, str) for value in listed)
        arrays[name] = pa.array([None if v is None else str(v) for v in listed] if text else listed)
    parquet.write_table(pa.table(arrays), path)


TRIPLET = ("anchor", "near", "far")
LABELS = ("annotator", "trial")
NUMBERS = ("weight", "seconds", "confidence", "place")
MAX_WEIGHT_RATIO = 1e30  # weights here are products: of what a row counted, its share of a trial, and a confidence
_TRIPLET_LAYOUT, _QUADRUPLET_LAYOUT = LAYOUTS[1], LAYOUTS[3]


def is_native(table: Table) -> bool:
    """Whether `write_answers` wrote the table."""
    names = set(table.names)
    return "nearer_answer" in names and (set(TRIPLET) <= names or set(NEAR_FAR) <= names)


def read_native(table: Table, options: ReadOptions) -> Answers:
    """Return the answers as they were written."""
    skip_bad = options.skip_bad
    if options.weight_by_confidence:
        raise ValueError(f"{table.source} already holds its final weights; weight by confidence before writing it")
    layout = _TRIPLET_LAYOUT if set(TRIPLET) <= set(table.names) else _QUADRUPLET_LAYOUT
    roles: Roles = {role: (role,) for role in layout.roles}
    roles |= {role: (role,) for role in ("answer", *LABELS, *NUMBERS) if role in table.names}
    marks = [name for name in ("nearer_answer", "nearer_kind") if name in table.names]
    loaded = table.load([*roles, *marks])
    if table.delimited:
        loaded = unescape_columns(loaded)
    kind = _own_kind(table, loaded)
    numbered = {name: loaded.columns[name] for name in ("nearer_answer", "trial") if name in loaded.columns}
    loaded = loaded.with_columns({name: namespace_by_file(each, loaded.sources) for name, each in numbered.items()})
    loaded, unmentioned = _drop_object_rows(loaded, layout.roles)
    errors = RowErrors(len(loaded))
    if len(loaded) == 0:
        errors.collect(loaded, skip_bad, any_left=False)
    numbers: dict[str, NDArray[np.float64]] = {}
    findings = list(table.findings)
    for role in (each for each in NUMBERS if each in roles):
        values, noticed = read_numbers(loaded.columns[role], role, errors, table.source, role == "weight")
        findings += noticed
        if values is not None:
            numbers[role] = values
    if "weight" in numbers:
        weights = numbers["weight"], loaded.columns["weight"]
        numbers["weight"], noticed = check_proportions(*weights, "weight", errors, table.source, MAX_WEIGHT_RATIO)
        findings += noticed
    labels = [role for role in LABELS if role in roles]
    for role in ("nearer_answer", *labels):
        errors.add(~loaded.columns[role].filled, "missing", what=role)
    match = LayoutMatch(layout, roles)
    question = Question(match, loaded.columns, errors, table.source, False, Coding(), table.objects)
    asked = read_question(question)
    bad_rows, n_bad = errors.collect(loaded, skip_bad, len(asked.rows) > 0)
    kept, seen = asked.row_of, asked.seen.copy()
    for label in unmentioned:
        seen[asked.objects.position[str(label)]] = True
    _, first, answer = np.unique(loaded.columns["nearer_answer"].codes[kept], return_index=True, return_inverse=True)
    answer_of = np.argsort(np.argsort(first))[answer].astype(np.intp)  # answers in the order in which they appear
    spread = {role: take_labels(_as_numbers(loaded.columns[role], role)[kept]) for role in labels}
    answers = make_answers(
        replace(asked, kind=kind, seen=seen),
        answer_of,
        np.sort(first),
        loaded.sources,
        numbers,
        annotators=spread.get("annotator"),
        trials=spread.get("trial"),
        weights=numbers["weight"][kept] if "weight" in numbers else None,
    )
    if options.kind not in (None, kind):
        raise ValueError(f"{table.source} declares its answers to be of kind {kind!r}, not {options.kind!r}")
    places = as_places(numbers["place"][kept[np.sort(first)]]) if "place" in numbers else None
    report = ReadingReport((*findings, *asked.findings), bad_rows, n_bad)
    return replace(answers, places=places, report=report)


def _own_kind(table: Table, loaded: LoadedRows) -> Kind:
    column = loaded.columns.get("nearer_kind")
    found = [table.kind] if table.kind is not None else column.values if column else []
    kinds = [str(value) for value in found if value in KINDS]
    if len(kinds) != 1:
        raise ValueError(f"{table.source}: 'nearer_kind' must be one of {', '.join(KINDS)}, and the same in all rows")
    return cast(Kind, kinds[0])


def _drop_object_rows(loaded: LoadedRows, roles: tuple[str, ...]) -> tuple[LoadedRows, list[Any]]:
    """Return the rows that are comparisons, and the labels that the others name."""
    column = loaded.columns.get("nearer_kind")
    if column is None or "object" not in column.values:
        return loaded, []
    named = column.codes == column.values.index("object")
    labels = loaded.columns[roles[0]][named].present
    return loaded.only(~named), labels  # whose values stay, so that these labels are in the list of all objects


def _as_numbers(column: Column, role: str) -> Column:
    """Return trials that were numbered as numbers, also from text."""
    is_number = re.compile(r"0|[1-9][0-9]{0,16}").fullmatch
    return column.replace_values(int) if role == "trial" and all(is_number(str(v)) for v in column.values) else column


def question_columns(shown: Sequence[Any], kind: str) -> dict[str, str]:
    """Return the objects of a question by the columns that are read back."""
    labels = [str(label) for label in shown]
    if kind == "triplet":
        return dict(zip(("anchor", "left", "right"), labels, strict=True))
    if kind in ("odd-one-out", "most-central"):
        return {f"object_{at}": label for at, label in enumerate(labels, 1)}
    return {"anchor": labels[0]} | {f"shown_{at}": label for at, label in enumerate(labels[1:], 1)}
