"""The objects of a study, as its folder has them: a file each, a row of objects.csv each, or both.

The name of a file without its ending is the label of the object. Labels are kept in Unicode's form NFC: one system
writes an accent as a letter of its own, another does not, and answers name objects by their labels.

Nothing outside the folder ``stimuli`` is ever shown to people: a link is followed to its end, and left out if that lies
elsewhere, so that no file of the study itself, such as its answers, can be read through one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from nearer._common.formatting import intcomma, quote

Kind: TypeAlias = Literal["text", "image", "audio", "video"]
Wrong: TypeAlias = tuple[str, str]
"""Where something is wrong, and a sentence that says what and what to do."""

STIMULI_FOLDER, OBJECTS_FILE = "stimuli", "objects.csv"
LONGEST_LABEL, LONGEST_TEXT = 200, 2000
#: Endings of files -> what they hold, and how a browser is told.
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
_READ_BY_RESEARCHERS = ("readme", "readme.txt", "readme.md")
_MOST_BYTES = 2**24
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Stimulus:
    """What people are shown of one object.

    Attributes
    ----------
    label : str
        The name of the object in answers and maps; people do not see it.
    caption : str
        What stands below a picture, sound or film, or "" for nothing; of a text, the text itself.
    kind : {"text", "image", "audio", "video"}
    file : Path or None
        Where it is, with no link on the way; None for a text of objects.csv.
    media_type : str

    Examples
    --------
    >>> Stimulus("cat", "a cat", "text", None, "text/plain").caption
    'a cat'
    """

    label: str
    caption: str
    kind: Kind
    file: Path | None
    media_type: str

    @property
    def slug(self) -> str:
        """What the object is called in addresses, which people may see: the same in all servers, at all times."""
        return slug_of(self.label)


@dataclass(frozen=True, eq=False)
class Stimuli:
    """The objects of a study.

    Attributes
    ----------
    by_label : dict of str to Stimulus
    attributes : dict of str to dict of str to str
        For each object the further columns of objects.csv; empty for one without a row.
    notes : tuple of str
        What was left out, and why.
    objects : tuple of str
        The labels, sorted.

    Examples
    --------
    >>> cat = Stimulus("cat", "cat", "text", None, "text/plain")
    >>> stimuli = Stimuli({"cat": cat})
    >>> stimuli.objects, len(stimuli), stimuli["cat"].kind
    (('cat',), 1, 'text')
    """

    by_label: dict[str, Stimulus]
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    objects: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objects", tuple(sorted(self.by_label)))

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, label: str) -> Stimulus:
        return self.by_label[label]


def read_stimuli(folder: Path) -> Stimuli:
    r"""Return the objects of the study in a folder.

    Raises
    ------
    ValueError
        With a sentence on each line that names the file and what to do.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "objects.csv").write_text("object,caption,legs\nemu,an emu,2\n", encoding="utf-8")
    ...     stimuli = read_stimuli(Path(folder))
    >>> stimuli["emu"].caption, stimuli.attributes["emu"]
    ('an emu', {'legs': '2'})
    """
    stimuli, wrong = gather_stimuli(folder)
    if wrong:
        raise ValueError("\n".join(f"{folder / where}: {what}" for where, what in wrong))
    return stimuli


def gather_stimuli(folder: Path) -> tuple[Stimuli, list[Wrong]]:
    """Return the objects of the study in a folder, and what is wrong; objects with something wrong may be missing."""
    notes: list[str] = []
    wrong: list[Wrong] = []
    found: dict[str, Stimulus] = {}
    for path in _files(folder, notes, wrong):
        where = f"{STIMULI_FOLDER}/{path.name}"
        try:
            stimulus = _stimulus(path)
        except ValueError as error:
            wrong.append((where, str(error)))
            continue
        if stimulus.label in found:
            other = found[stimulus.label].file
            wrong.append((where, f"its label is that of {other.name if other else ''}; rename or remove one of them"))
        else:
            found[stimulus.label] = stimulus
    attributes: dict[str, dict[str, str]] = {label: {} for label in found}
    try:
        rows = list(_rows(folder, wrong))
    except ValueError as error:
        return Stimuli(found, attributes, tuple(notes)), [*wrong, (OBJECTS_FILE, str(error))]
    for label, caption, further in rows:
        attributes[label] = further
        known = found.get(label)
        if known is None:
            found[label] = Stimulus(label, caption or label, "text", None, "text/plain")
        elif known.kind != "text":
            found[label] = Stimulus(label, caption, known.kind, known.file, known.media_type)
        elif caption:
            notes.append(f"{OBJECTS_FILE}: the caption of {quote(label)} is not shown; it is a text, which has none")
    return Stimuli(found, attributes, tuple(notes)), wrong


def label_of(text: str) -> str:
    r"""Return a label in the form in which labels are compared, or say why it is none.

    Examples
    --------
    >>> label_of(" cafe\u0301 ")
    'café'
    """
    label = unicodedata.normalize("NFC", text).strip()
    if not label:
        raise ValueError("a label is empty; give the object a name")
    if len(label) > LONGEST_LABEL:
        raise ValueError(f"the label {quote(label)} has {len(label)} characters; use at most {LONGEST_LABEL}")
    if _CONTROL.search(label) or "\n" in label or "\r" in label or "\t" in label:
        raise ValueError(f"the label {quote(label)} has a character that cannot be shown; rename the object")
    return label


def slug_of(label: str) -> str:
    """Return what an object is called in addresses.

    Examples
    --------
    >>> slug_of("cat")
    '77af778b51abd4a3'
    """
    return hashlib.sha256(label.encode()).hexdigest()[:16]


def _files(folder: Path, notes: list[str], wrong: list[Wrong]) -> Iterator[Path]:
    """Yield the files that may be shown, in order of their names; say what is left out."""
    within = folder / STIMULI_FOLDER
    if not within.is_dir():
        if not (folder / OBJECTS_FILE).exists():
            wrong.append((STIMULI_FOLDER, f"there is neither this folder nor {OBJECTS_FILE}; make one of them"))
        return
    root = within.resolve()
    if not root.is_relative_to(folder.resolve()):
        wrong.append((STIMULI_FOLDER, "it is a link that leads out of the study's folder; copy the files into it"))
        return
    for path in sorted(within.iterdir()):
        if path.name.lower() in _READ_BY_RESEARCHERS:
            continue
        reason = _left_out(path, root)
        if reason:
            notes.append(f"{STIMULI_FOLDER}/{path.name.encode(errors='replace').decode()}: {reason}")
        else:
            yield path


def _left_out(path: Path, root: Path) -> str:
    """Say why a file is not shown; "" if it is."""
    if path.name.startswith("."):
        return "left out, as it is hidden"
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # a link to itself is a RuntimeError before Python 3.13
        return "left out, as it is a link to nothing"
    if not target.is_relative_to(root):
        return "left out, as it is a link out of the folder; copy the file itself"
    if target.is_dir():
        return "left out, as it is a folder; put files directly into stimuli"
    if not target.is_file():
        return "left out, as it is no file"
    if path.suffix.lower() not in ENDINGS:
        return f"left out, as its ending is none of {', '.join(each[1:] for each in ENDINGS)}"
    return ""


def _stimulus(path: Path) -> Stimulus:
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise ValueError("its name is no text in UTF-8; rename it") from None
    kind, media_type = ENDINGS[path.suffix.lower()]
    caption = _text(path) if kind == "text" else ""
    return Stimulus(label_of(path.stem), caption, kind, path.resolve(), media_type)


def _text(path: Path) -> str:
    """Return what a text file says, the spaces around it aside."""
    # A letter has at most 4 bytes, and a mark of the encoding 3: more cannot be short enough.
    text = _decoded(path, 4 * LONGEST_TEXT + 1000).replace("\r\n", "\n").strip()
    if not text:
        raise ValueError("it is empty; write the text that people are to read, or remove it")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"it has {intcomma(len(text))} characters; a text has at most {LONGEST_TEXT}")
    if _CONTROL.search(text):
        raise ValueError("it has characters that cannot be shown; is it no text?")
    return text


def _decoded(path: Path, most: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}; see who may read it") from None
    if len(data) > most:
        raise ValueError(f"it has more than {intcomma(most)} bytes; make it shorter")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is no text in UTF-8; save it as UTF-8 (in Excel: CSV UTF-8)") from None


def _rows(folder: Path, wrong: list[Wrong]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield label, caption and attributes of each row of objects.csv, if there is one; say which are wrong."""
    path = folder / OBJECTS_FILE
    if not path.is_symlink() and not path.exists():
        return
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ValueError("it is no file of this folder; copy it here")
    text = _decoded(path, _MOST_BYTES)
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
                label, caption, further = _row(cells, header)
                if label in at_line:
                    raise ValueError(f"{quote(label)} stands in line {at_line[label]} already; keep one of the two")
            except ValueError as error:
                wrong.append((OBJECTS_FILE, f"line {lines.line_num}: {error}"))
                continue
            at_line[label] = lines.line_num
            yield label, caption, further
    except csv.Error as error:
        raise ValueError(f"line {lines.line_num}: {error}; see whether each quote has its partner") from None
    if not header:
        raise ValueError("it is empty; write a column object with a label in each row, or remove it")


def _header(cells: list[str]) -> list[str]:
    """Return the names of columns; those that mean something to us in small letters."""
    names = [cell.lower() if cell.lower() in ("object", "caption") else cell for cell in cells]
    while names and not names[-1]:
        names.pop()
    if "object" not in names:
        raise ValueError("no column is called object; give the column of labels this name")
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice or "" in names:
        called = f"two columns are called {quote(twice[0])}" if twice and twice[0] else "a column has no name"
        raise ValueError(f"{called}; give each a name of its own")
    return names


def _row(cells: list[str], header: list[str]) -> tuple[str, str, dict[str, str]]:
    if any(cells[len(header) :]):
        raise ValueError(f"there are {len(cells)} cells and {len(header)} columns; put quotes around text with commas")
    row = {each: cells[at] if at < len(cells) else "" for at, each in enumerate(header)}
    for column, cell in row.items():
        if len(cell) > LONGEST_TEXT or _CONTROL.search(cell):
            raise ValueError(
                f"the cell of {quote(column)} is longer than {LONGEST_TEXT} characters, or has some that cannot be "
                "shown"
            )
    label = label_of(row.pop("object"))
    return label, row.pop("caption", "").replace("\r\n", "\n"), row
