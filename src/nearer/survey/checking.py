"""What is wrong with a study, before anyone is invited.

All checks run, and everything is told at once. Files are looked at as far as that goes without decoding them: the first
bytes say what a file holds, headers of pictures give their width and height, and a file that ends before its own
structure does is cut off. SVG is parsed as XML; a document type is refused, as entities in it can grow without bound.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from struct import unpack
from typing import BinaryIO, Literal
from xml.parsers import expat

from nearer._common.formatting import intcomma, pluralize, quote, quote_all
from nearer.survey.settings import DEFAULTS, SETTINGS_FILE, Settings, gather_settings
from nearer.survey.settings_checks import place_of
from nearer.survey.stimuli import ENDINGS, OBJECTS_FILE, STIMULI_FOLDER, Stimuli, Stimulus, gather_stimuli

_MEGABYTE = 1_000_000
_LARGE_IMAGE, _LARGEST_IMAGE, _LARGE_RECORDING = 1.5 * _MEGABYTE, 10 * _MEGABYTE, 20 * _MEGABYTE
_LONGEST_SIDE = 2500
_LONGEST_CAPTION = 80
_MOST_DIFFERENT = 2  # times that the widest picture is wider than the narrowest, at one height
_SVG = "http://www.w3.org/2000/svg "
#: What a file holds, where the bytes that tell it stand, and these bytes.
_SIGNS = (
    ("png", 0, b"\x89PNG\r\n\x1a\n"), ("jpg", 0, b"\xff\xd8\xff"), ("gif", 0, b"GIF87a"), ("gif", 0, b"GIF89a"),
    ("webp", 8, b"WEBP"), ("wav", 8, b"WAVE"), ("ogg", 0, b"OggS"), ("webm", 0, b"\x1aE\xdf\xa3"), ("mp3", 0, b"ID3"),
    ("avif", 4, b"ftypavi"), ("heic", 4, b"ftyphe"), ("heic", 4, b"ftypmif1"), ("m4a", 4, b"ftypM4A"),
    ("mp4", 4, b"ftyp"), ("pdf", 0, b"%PDF"), ("bmp", 0, b"BM"), ("tiff", 0, b"II*\0"), ("tiff", 0, b"MM\0*"),
)  # fmt: skip
_SAME = {"jpeg": "jpg", "m4a": "mp4"}  # endings of one format


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a study, or that deserves a second look.

    Attributes
    ----------
    level : {"wrong", "careful"}
        What is wrong must be put right before anyone takes part.
    where : str
        The file, as seen from the study's folder.
    what : str
        What it is, and what to do.

    Examples
    --------
    >>> print(Problem("careful", "study.toml", "title is empty; write the name of the study"))
    careful  study.toml: title is empty; write the name of the study
    """

    level: Literal["wrong", "careful"]
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.level:<8} {self.where}: {self.what}"


def check_study(folder: Path) -> list[Problem]:
    """Return all that is wrong with the study in a folder, worst first.

    Examples
    --------
    >>> check_study(Path("no such folder"))[0].what
    'there is no such folder; `nearer survey new FOLDER` makes one'
    """
    if not folder.is_dir():
        return [Problem("wrong", str(folder), "there is no such folder; `nearer survey new FOLDER` makes one")]
    settings, wrong_settings = gather_settings(folder / SETTINGS_FILE)
    stimuli, wrong_stimuli = gather_stimuli(folder)
    problems = [Problem("wrong", SETTINGS_FILE, said) for said in wrong_settings]
    problems += [Problem("wrong", where, what) for where, what in wrong_stimuli]
    problems += _of_settings(settings)
    problems += _of_rights(folder, settings)
    problems += _of_counts(settings, len(stimuli))
    problems += _of_notes(stimuli)
    problems += _of_captions(stimuli)
    problems += _of_files(stimuli)
    problems += _of_duplicates(stimuli)
    problems += _of_database(folder, settings, stimuli)
    return sorted(problems, key=lambda problem: problem.level != "wrong")


def _of_rights(folder: Path, settings: Settings) -> Iterator[Problem]:
    """Yield what others on this computer may read and should not."""
    has_password = bool(re.search(r"://[^/@]*:[^/@]+@", settings.database))
    if has_password and os.name == "posix" and (folder / SETTINGS_FILE).stat().st_mode & 0o077:
        what = "it has the password of the database, and other users of this computer can read it"
        yield Problem("careful", SETTINGS_FILE, f"{what}; chmod 600 {SETTINGS_FILE}")


def _of_settings(settings: Settings) -> Iterator[Problem]:
    def careful(key: str, what: str) -> Problem:
        return Problem("careful", SETTINGS_FILE, f"{place_of(key)} {what}")

    if not settings.consent:
        yield careful("consent", "is empty; ethics boards usually ask for it, so write what people agree to")
    if settings.kind != "triplet" and settings.question == DEFAULTS["question"]:
        yield careful("question", f"is that of triplets, and kind is {settings.kind!r}; put it into words that fit")
    for key in ("question", "welcome", "thanks"):
        if settings.language != "en" and getattr(settings, key) == DEFAULTS[key]:
            yield careful(key, f"is in English, and language is {settings.language!r}; translate it")
    if settings.method == "active" and settings.test_share == 0:
        yield careful("test_share", "is 0, so nothing measures how good the map is; write 0.1")
    if settings.practice > settings.per_person:
        yield careful("practice", f"is more than per_person, {settings.per_person}; write a smaller number")
    if settings.catch == 1:
        yield careful("catch", "is 1, and people who look miss one now and then; write 0, or at least 2")
    if settings.catch > settings.per_person:
        what = f"{place_of('catch')} is more than per_person, {settings.per_person}; write a smaller number"
        yield Problem("wrong", SETTINGS_FILE, what)


def _of_counts(settings: Settings, n_objects: int) -> Iterator[Problem]:
    """Yield what does not fit the number of objects."""
    from nearer.design.active.pool import Pool, form_of

    form = form_of(settings.kind)
    if n_objects < form.width:
        shown = f"a question of kind {settings.kind!r} shows {form.width}"
        yield Problem("wrong", STIMULI_FOLDER, f"there are {pluralize(n_objects, 'object')}, and {shown}; add some")
        return
    n_questions = Pool(form, n_objects).size
    if settings.per_person > n_questions:
        about = f"there are {pluralize(n_questions, 'question')} about {n_objects} objects"
        what = f"{place_of('per_person')} is {settings.per_person}, and {about}; write {n_questions} or less"
        yield Problem("careful", SETTINGS_FILE, f"{what}, or people get some of them twice")
    if settings.dimensions >= n_objects:
        what = f"{place_of('dimensions')} is {settings.dimensions}, which is no less than there are objects; write 2"
        yield Problem("careful", SETTINGS_FILE, what)


def _of_database(folder: Path, settings: Settings, stimuli: Stimuli) -> Iterator[Problem]:
    """Yield what does not fit what people have been asked so far; nothing is written."""
    from nearer.survey.store.database import Damaged, Database
    from nearer.survey.study import DATABASE, asked_about, database_url, missing_objects, other_kind

    try:
        database = Database.to_read(database_url(folder, settings))
        with closing(database), database.engine.connect().execution_options(reading=True) as connection:
            kind = other_kind(connection, settings.kind)
            missing = missing_objects(connection, stimuli.objects)
            asked = asked_about(connection)
    except (ValueError, Damaged) as error:
        yield Problem("wrong", SETTINGS_FILE if settings.database else DATABASE, str(error))
        return
    if kind:
        yield Problem("wrong", SETTINGS_FILE, kind)
    if missing:
        yield Problem("wrong", STIMULI_FOLDER, missing)
    unasked = sorted(set(stimuli.objects) - asked)
    if asked and unasked and not missing:
        what = (
            f"people will be asked about {quote_all(unasked)}, as nobody has been yet; remove what does not "
            "belong there"
        )
        yield Problem("careful", STIMULI_FOLDER, what)


def _of_notes(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield what was left out; not what systems hide in folders without being asked."""
    for note in stimuli.notes:
        where, _, what = note.partition(": ")
        if not where.startswith(f"{STIMULI_FOLDER}/."):
            yield Problem("careful", where, what)


def _of_captions(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield objects of the table whose file is missing or whose caption is long, and texts that are there twice."""
    bare = []
    files = {path.name.casefold(): path for each in stimuli.by_label.values() if (path := each.file)}
    stems = {path.stem.casefold(): path for path in files.values()}
    said = defaultdict(list)
    for label, stimulus in stimuli.by_label.items():
        if stimulus.kind == "text":
            said[stimulus.caption].append(label)
        elif len(stimulus.caption) > _LONGEST_CAPTION:
            what = f"the caption of {quote(label)} has {len(stimulus.caption)} characters; phones have room for about"
            yield Problem("careful", OBJECTS_FILE, f"{what} {_LONGEST_CAPTION}, so shorten it")
        if stimulus.file is not None:
            continue
        found = files.get(label.casefold()) or stems.get(label.casefold())
        if found:
            what = f"{quote(label)} has no file; write {quote(found.stem)}, the name of {found.name} without its ending"
            yield Problem("wrong", OBJECTS_FILE, what)
        elif Path(label).suffix.lower() in ENDINGS:
            yield Problem("wrong", OBJECTS_FILE, f"there is no file {quote(label)} in {STIMULI_FOLDER}; put it there")
        else:
            bare.append(label)
    if bare and files:
        what = f"{quote_all(bare)}: shown as text, as there is no file of that name; put one there if you meant one"
        yield Problem("careful", OBJECTS_FILE, what)
    for labels in said.values():
        if len(labels) > 1:
            yield Problem("careful", OBJECTS_FILE, f"{quote_all(labels)} have the same text; keep one of them")


def _of_files(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield files that a browser cannot show, or a phone not well, and pictures of very different shapes."""
    shapes: dict[str, float] = {}
    for stimulus in stimuli.by_label.values():
        if stimulus.file is None or stimulus.kind == "text":
            continue
        where = f"{STIMULI_FOLDER}/{stimulus.file.name}"
        try:
            yield from _of_file(stimulus, stimulus.file, where, shapes)
        except OSError as error:
            yield Problem("wrong", where, f"it cannot be read: {error.strerror}; see who may read it")
    if shapes:
        wide, narrow = max(shapes, key=shapes.__getitem__), min(shapes, key=shapes.__getitem__)
        if shapes[wide] > _MOST_DIFFERENT * shapes[narrow]:
            what = f"its shape is very different from that of {narrow.rpartition('/')[2]}, and people judge by shape"
            yield Problem("careful", wide, f"{what}; cut pictures to one shape")


def _of_file(stimulus: Stimulus, path: Path, where: str, shapes: dict[str, float]) -> Iterator[Problem]:
    size = path.stat().st_size
    large = f"it has {size / _MEGABYTE:.1f} MB"
    if size == 0:
        yield Problem("wrong", where, "it is empty; copy it again")
        return
    if stimulus.kind == "image" and size > _LARGEST_IMAGE:
        yield Problem("wrong", where, f"{large}, too much for any phone; make it smaller than 1.5 MB")
        return
    if stimulus.kind == "image" and size > _LARGE_IMAGE:
        yield Problem("careful", where, f"{large}, and phones load it slowly; make it smaller than 1.5 MB")
    if stimulus.kind != "image" and size > _LARGE_RECORDING:
        yield Problem("careful", where, f"{large}, and phones load it slowly; make it smaller than 20 MB")
    if path.suffix.lower() == ".svg":
        yield from _of_svg(path.read_bytes(), where, shapes)
        return
    with path.open("rb") as file:
        held, named = content_of(file.read(64)), path.suffix.lower()[1:]
        if _SAME.get(held, held) != _SAME.get(named, named):
            yield _misnamed(stimulus, path, where, held)
        if stimulus.kind != "image" or held not in _SIZES:
            return
        try:
            width, height = _SIZES[held](file)
        except ValueError as error:
            yield Problem("wrong", where, f"{error}; save or copy it again")
            return
    shapes[where] = width / height
    if max(width, height) > _LONGEST_SIDE:
        what = f"it has {intcomma(width)} x {intcomma(height)} pixels, more than phones show; make it at most"
        yield Problem("careful", where, f"{what} {intcomma(_LONGEST_SIDE)} wide and high")


def _misnamed(stimulus: Stimulus, path: Path, where: str, held: str) -> Problem:
    if f".{held}" in ENDINGS and ENDINGS[f".{held}"][0] == stimulus.kind:
        # Browsers look at the bytes of pictures and sounds as well, and most of them cope.
        return Problem("careful", where, f"it holds {held}; rename it to {path.stem}.{held}")
    what = f"it holds {held or 'something else'} and not {path.suffix.lower()[1:]}"
    return Problem("wrong", where, f"{what}, so browsers cannot show it; save it in the format that its name says")


def _of_duplicates(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield files that hold the same, byte for byte."""
    by_size = defaultdict(list)
    for stimulus in stimuli.by_label.values():
        if stimulus.file is not None and stimulus.kind != "text":
            by_size[stimulus.file.stat().st_size].append(stimulus.file)
    same = defaultdict(list)
    for paths in by_size.values():
        for path in paths if len(paths) > 1 else ():
            try:
                with path.open("rb") as file:
                    same[hashlib.file_digest(file, "sha256").digest()].append(path.name)
            except OSError:
                continue  # told of where files are looked at
    for first, *others in same.values():
        if others:
            hold = "holds" if len(others) == 1 else "hold"
            what = f"{quote_all(others)} {hold} the same; nobody can tell them apart, so keep one"
            yield Problem("careful", f"{STIMULI_FOLDER}/{first}", what)


def content_of(head: bytes) -> str:
    r"""Return what a file holds by its first 64 bytes, as the ending that it should have; "" if that is not known.

    Examples
    --------
    >>> content_of(b"GIF89a"), content_of(b"\xff\xfb\x90\x00"), content_of(b"hello")
    ('gif', 'mp3', '')
    """
    for held, at, sign in _SIGNS:
        if head.startswith(sign, at) and (at != 8 or head.startswith(b"RIFF")):
            return "avif" if held == "heic" and b"avif" in head[8:] else held
    return "mp3" if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 else ""


def _bytes(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise ValueError("it is cut off")
    return found


def _checked(width: int, height: int) -> tuple[int, int]:
    if not width or not height:
        raise ValueError("it has no pixels")
    return width, height


def _png_size(file: BinaryIO) -> tuple[int, int]:
    file.seek(8)
    _, kind, width, height = unpack(">I4sII", _bytes(file, 16))
    if kind != b"IHDR":
        raise ValueError("it is damaged")
    file.seek(8)
    while kind != b"IEND":
        length, kind = unpack(">I4s", _bytes(file, 8))
        file.seek(length + 4, 1)
    return _checked(width, height)


def _jpg_size(file: BinaryIO) -> tuple[int, int]:
    file.seek(2)
    size = (0, 0)
    while True:
        mark, kind = _bytes(file, 2)
        if mark != 0xFF:
            raise ValueError("it is damaged")
        if kind == 0xFF:  # any number of these may stand before a mark
            file.seek(-1, 1)
            continue
        if kind == 0xDA:  # the picture itself, in which no end of the file can stand by chance
            if b"\xff\xd9" not in file.read():
                raise ValueError("it is cut off")
            return _checked(*size)
        (length,) = unpack(">H", _bytes(file, 2))
        part = _bytes(file, max(length - 2, 0))
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC) and len(part) >= 5:
            height, width = unpack(">HH", part[1:5])
            size = (width, height)


def _gif_size(file: BinaryIO) -> tuple[int, int]:
    file.seek(6)
    return _checked(*unpack("<HH", _bytes(file, 4)))


def _webp_size(file: BinaryIO) -> tuple[int, int]:
    whole = file.seek(0, 2)
    file.seek(4)
    (length,) = unpack("<I", _bytes(file, 4))
    if length + 8 > whole:
        raise ValueError("it is cut off")
    file.seek(12)
    kind, rest = _bytes(file, 4), _bytes(file, 18)[4:]
    if kind == b"VP8X":
        return int.from_bytes(rest[4:7], "little") + 1, int.from_bytes(rest[7:10], "little") + 1
    if kind == b"VP8L" and rest[0] == 0x2F:
        bits = int.from_bytes(rest[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and rest[3:6] == b"\x9d\x01\x2a":
        width, height = unpack("<HH", rest[6:10])
        return _checked(width & 0x3FFF, height & 0x3FFF)
    raise ValueError("it is damaged")


_SIZES = {"png": _png_size, "jpg": _jpg_size, "gif": _gif_size, "webp": _webp_size}


def _of_svg(data: bytes, where: str, shapes: dict[str, float]) -> Iterator[Problem]:
    """Yield what is wrong with a drawing."""
    found: set[str] = set()
    root: dict[str, str] = {}
    seen: list[str] = []

    def begin(element: str, attributes: dict[str, str]) -> None:
        if not seen:
            seen.append(element)
            root.update(attributes)
        local = element.rpartition(" ")[2].lower()
        links = [value.strip().lower() for key, value in attributes.items() if key.rpartition(" ")[2] == "href"]
        handlers = any(key.lower().startswith("on") for key in attributes)
        if local == "script" or handlers or any(link.startswith("javascript:") for link in links):
            found.add("it has scripts, which will not run; see whether it shows what it should without them")
        if local in ("image", "use", "feimage") and not all(link.startswith(("#", "data:")) for link in links):
            found.add("it takes parts from other files, which will not be shown; save it with everything in it")

    def refuse(*_: object) -> None:
        raise ValueError("it has a DOCTYPE, which is refused; remove the part <!DOCTYPE ...> with a text editor")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        yield Problem("wrong", where, f"it is no well-formed XML ({error}); save it again as SVG")
        return
    except ValueError as error:
        yield Problem("wrong", where, str(error))
        return
    if seen[0] != f"{_SVG}svg":
        yield Problem("wrong", where, 'it does not begin with <svg xmlns="http://www.w3.org/2000/svg">; save it again')
        return
    yield from (Problem("careful", where, what) for what in sorted(found))
    box = re.fullmatch(r"\s*[-+.\de]+[\s,]+[-+.\de]+[\s,]+([.\de]+)[\s,]+([.\de]+)\s*", root.get("viewBox", ""))
    sides = box.groups() if box else [root.get(side, "").removesuffix("px") for side in ("width", "height")]
    try:
        width, height = map(float, sides)
    except ValueError:
        return  # without a size of its own it fills its place
    if width > 0 and height > 0:
        shapes[where] = width / height
