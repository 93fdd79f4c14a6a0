"""The objects of a study: a file each, a row of objects.csv each, or both.

The name of a file without its ending is the label of the object, in Unicode's form NFC: one system writes an accent as
a letter of its own, another does not. Nothing outside the folder ``stimuli`` is ever shown to people: a link that leads
elsewhere is left out, so that no file of the study itself, such as its answers, can be read through one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from nearer._common.formatting import intcomma, quote
from nearer.survey.settings import Problem

Kind: TypeAlias = Literal["text", "image", "audio", "video"]

STIMULI_FOLDER, OBJECTS_FILE = "stimuli", "objects.csv"
MAX_LABEL_CHARACTERS, MAX_TEXT_CHARACTERS = 200, 2000
#: By the ending of a file: what it holds, and its media type.
ENDINGS: dict[str, tuple[Kind, str]] = {
    ".txt": ("text", "text/plain"),
    ".png": ("image", "image/png"),
    ".jpg": ("image", "image/jpeg"),
    ".jpeg": ("image", "image/jpeg"),
    ".webp": ("image", "image/webp"),
    ".gif": ("image", "image/gif"),
    ".svg": ("image", "image/svg+xml"),
    ".avif": ("image", "image/avif"),
    ".mp3": ("audio", "audio/mpeg"),
    ".wav": ("audio", "audio/wav"),
    ".ogg": ("audio", "audio/ogg"),
    ".m4a": ("audio", "audio/mp4"),
    ".mp4": ("video", "video/mp4"),
    ".webm": ("video", "video/webm"),
}
_README_NAMES = ("readme", "readme.txt", "readme.md")
_MAX_TABLE_BYTES = 2**24
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Stimulus:
    """What people are shown of one object."""

    label: str  # its name in answers and maps, which people do not see
    caption: str  # what is below a picture, sound or film; of a text, the text itself
    kind: Kind
    file: Path | None  # with links resolved; None for a text of objects.csv
    media_type: str
    attributes: dict[str, str] = field(default_factory=dict, compare=False)  # its further columns of objects.csv

    @property
    def slug(self) -> str:
        """The object's name in addresses, which people may see: the same in all servers, at all times."""
        return slug_of(self.label)


Stimuli: TypeAlias = dict[str, Stimulus]  # by label


def read_stimuli(folder: Path) -> Stimuli:
    """Return the objects of the study in a folder; raise ValueError with a line for each error."""
    stimuli, problems = gather_stimuli(folder)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ValueError("\n".join(f"{folder / problem.file}: {problem.message}" for problem in errors))
    return stimuli


def gather_stimuli(folder: Path) -> tuple[Stimuli, list[Problem]]:
    """Return the objects of the study in a folder, and all problems; objects with an error may be missing."""
    problems: list[Problem] = []
    found: Stimuli = {}
    for path in _files(folder):
        if isinstance(path, Problem):
            problems.append(path)
            continue
        where = f"{STIMULI_FOLDER}/{path.name}"
        try:
            stimulus = _stimulus(path)
        except ValueError as error:
            problems.append(Problem("error", where, str(error)))
            continue
        if stimulus.label in found:
            other = found[stimulus.label].file
            message = f"its label is that of {other.name if other else ''}; rename or remove one of them"
            problems.append(Problem("error", where, message))
        else:
            found[stimulus.label] = stimulus
    try:
        rows = list(_rows(folder))
    except ValueError as error:
        return found, [*problems, Problem("error", OBJECTS_FILE, str(error))]
    for row in rows:
        if isinstance(row, Problem):
            problems.append(row)
            continue
        label, caption, attributes = row
        known = found.get(label) or Stimulus(label, caption or label, "text", None, "text/plain")
        if known.kind == "text" and caption and label in found:
            message = f"the caption of {quote(label)} is not shown; it is a text, which has none"
            problems.append(Problem("warning", OBJECTS_FILE, message))
        shown = known.caption if known.kind == "text" else caption
        found[label] = replace(known, caption=shown, attributes=attributes)
    return found, problems


def label_of(text: str) -> str:
    """Return a label in the form in which labels are compared; raise ValueError if it cannot be one."""
    label = unicodedata.normalize("NFC", text).strip()
    if not label:
        raise ValueError("a label is empty; give the object a name")
    if len(label) > MAX_LABEL_CHARACTERS:
        raise ValueError(f"the label {quote(label)} has {len(label)} characters; use at most {MAX_LABEL_CHARACTERS}")
    if _CONTROL.search(label) or "\n" in label or "\r" in label or "\t" in label:
        raise ValueError(f"the label {quote(label)} has a character that cannot be shown; rename the object")
    return label


def slug_of(label: str) -> str:
    """Return an object's name in addresses."""
    return hashlib.sha256(label.encode()).hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path | Problem]:
    """Yield the files that may be shown, in order of their names, and a problem for what is wrong or excluded."""
    within = folder / STIMULI_FOLDER
    if not within.is_dir():
        if not (folder / OBJECTS_FILE).exists():
            message = f"there is neither this folder nor {OBJECTS_FILE}; make one of them"
            yield Problem("error", STIMULI_FOLDER, message)
        return
    root = within.resolve()
    if not root.is_relative_to(folder.resolve()):
        message = "it is a link that leads out of the study's folder; copy the files into it"
        yield Problem("error", STIMULI_FOLDER, message)
        return
    for path in sorted(within.iterdir()):
        # Systems hide files in folders without being asked.
        if path.name.lower() in _README_NAMES or path.name.startswith("."):
            continue
        reason = _exclusion(path, root)
        if reason:
            where = f"{STIMULI_FOLDER}/{path.name.encode(errors='replace').decode()}"
            yield Problem("warning", where, f"excluded, as {reason}")
        else:
            yield path


def _exclusion(path: Path, root: Path) -> str:
    """Return why a file is not shown; "" if it is."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # a link to itself is a RuntimeError before Python 3.13
        return "it is a link to nothing"
    if not target.is_relative_to(root):
        return "it is a link out of the folder; copy the file itself"
    if target.is_dir():
        return "it is a folder; put files directly into stimuli"
    if not target.is_file():
        return "it is not a regular file"
    if path.suffix.lower() not in ENDINGS:
        return f"its ending is none of {', '.join(each[1:] for each in ENDINGS)}"
    return ""


def _stimulus(path: Path) -> Stimulus:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise ValueError("its name is not UTF-8 text; rename it") from None
    kind, media_type = ENDINGS[path.suffix.lower()]
    caption = _text(path) if kind == "text" else ""
    return Stimulus(label_of(path.stem), caption, kind, path.resolve(), media_type)


def _text(path: Path) -> str:
    """Return the content of a text file, without surrounding white space."""
    # A letter has at most 4 bytes, and a mark of the encoding 3: more cannot be short enough.
    text = _read_utf8(path, 4 * MAX_TEXT_CHARACTERS + 1000).replace("\r\n", "\n").strip()
    if not text:
        raise ValueError("it is empty; write the text that people are to read, or remove it")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise ValueError(f"it has {intcomma(len(text))} characters; a text has at most {intcomma(MAX_TEXT_CHARACTERS)}")
    if _CONTROL.search(text):
        raise ValueError("it has characters that cannot be shown; is it a text?")
    return text


def _read_utf8(path: Path, max_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}; check its permissions") from None
    if len(data) > max_bytes:
        raise ValueError(f"it has more than {intcomma(max_bytes)} bytes; make it shorter")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text; save it as UTF-8 (in Excel: CSV UTF-8)") from None


def _rows(folder: Path) -> Iterator[tuple[str, str, dict[str, str]] | Problem]:
    """Yield label, caption and attributes of each row of objects.csv, if there is one, and a problem for wrong rows."""
    path = folder / OBJECTS_FILE
    if not path.is_symlink() and not path.exists():
        return
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError("it is not a regular file in this folder; copy it here")
    text = _read_utf8(path, _MAX_TABLE_BYTES)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets of half of Europe write semicolons
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    at_line: dict[str, int] = {}
    try:
        for cells in ([cell.strip() for cell in line] for line in lines):
            if not any(cells):
                continue
            if not header:
                header = _header(cells)
                continue
            try:
                label, caption, attributes = _row(cells, header)
                if label in at_line:
                    raise ValueError(f"{quote(label)} is in line {at_line[label]} already; keep one of the two")
            except ValueError as error:
                yield Problem("error", OBJECTS_FILE, f"line {lines.line_num}: {error}")
                continue
            at_line[label] = lines.line_num
            yield label, caption, attributes
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num}: {error}; check that every quote is closed") from None
    if not header:
        raise ValueError("it is empty; write a column object with a label in each row, or remove it")


def _header(cells: list[str]) -> list[str]:
    """Return the names of columns; those with a meaning here in lower case."""
    names = [cell.lower() if cell.lower() in ("object", "caption") else cell for cell in cells]
    while names and not names[-1]:
        names.pop()
    if "object" not in names:
        raise ValueError('there is no column "object"; give the column of labels this name')
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice or "" in names:
        what = f"two columns are called {quote(twice[0])}" if twice and twice[0] else "a column has no name"
        raise ValueError(f"{what}; give each a name of its own")
    return names


def _row(cells: list[str], header: list[str]) -> tuple[str, str, dict[str, str]]:
    if any(cells[len(header) :]):
        raise ValueError(f"there are {len(cells)} cells and {len(header)} columns; put quotes around text with commas")
    row = {each: cells[at] if at < len(cells) else "" for at, each in enumerate(header)}
    for column, cell in row.items():
        if len(cell) > MAX_TEXT_CHARACTERS or _CONTROL.search(cell):
            what = f"has over {intcomma(MAX_TEXT_CHARACTERS)} characters, or some that cannot be shown"
            raise ValueError(f"the cell of {quote(column)} {what}")
    return label_of(row.pop("object")), row.pop("caption", "").replace("\r\n", "\n"), row
