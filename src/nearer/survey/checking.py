"""Problems of a study, found before anyone is invited.

All checks run, and everything is reported at once. Files are examined without decoding them. SVG is parsed as XML; a
document type is refused, as entities in it can grow without bound.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from struct import unpack
from typing import BinaryIO
from xml.parsers import expat

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.survey.settings import (
    DEFAULTS,
    FACTS,
    SETTINGS_FILE,
    Problem,
    Settings,
    gather_settings,
    setting_problem,
)
from nearer.survey.stimuli import ENDINGS, OBJECTS_FILE, STIMULI_FOLDER, Stimuli, Stimulus, gather_stimuli

_MEGABYTE = 1_000_000
_LARGE_IMAGE_BYTES, _MAX_IMAGE_BYTES, _LARGE_RECORDING_BYTES = 1.5 * _MEGABYTE, 10 * _MEGABYTE, 20 * _MEGABYTE
_MAX_SIDE_PIXELS = 2500
_MAX_CAPTION_CHARACTERS = 80
_MAX_ASPECT_RATIO = 2  # of the widest picture to the narrowest, at one height
_SVG_NAMESPACE = "http://www.w3.org/2000/svg "
#: Format, offset of its magic bytes in the file, and these bytes.
_MAGIC = (
    ("png", 0, b"\x89PNG\r\n\x1a\n"), ("jpg", 0, b"\xff\xd8\xff"), ("gif", 0, b"GIF87a"), ("gif", 0, b"GIF89a"),
    ("webp", 8, b"WEBP"), ("wav", 8, b"WAVE"), ("ogg", 0, b"OggS"), ("webm", 0, b"\x1aE\xdf\xa3"), ("mp3", 0, b"ID3"),
    ("avif", 4, b"ftypavi"), ("heic", 4, b"ftyphe"), ("heic", 4, b"ftypmif1"), ("m4a", 4, b"ftypM4A"),
    ("mp4", 4, b"ftyp"), ("pdf", 0, b"%PDF"), ("bmp", 0, b"BM"), ("tiff", 0, b"II*\0"), ("tiff", 0, b"MM\0*"),
)  # fmt: skip
_ALIASES = {"jpeg": "jpg", "m4a": "mp4"}  # endings of one format


def check_study(folder: Path) -> list[Problem]:
    """Return all problems of the study in a folder, errors first."""
    if not folder.is_dir():
        return [Problem("error", str(folder), "there is no such folder; `nearer survey new FOLDER` makes one")]
    settings, problems = gather_settings(folder / SETTINGS_FILE)
    stimuli, stimulus_problems = gather_stimuli(folder)
    problems += stimulus_problems
    problems += _check_settings(settings)
    problems += _check_permissions(folder, settings)
    problems += _check_counts(settings, len(stimuli))
    problems += _check_features(folder, settings, stimuli)
    problems += _check_lists(folder, settings, stimuli)
    problems += _check_captions(stimuli)
    problems += _check_files(stimuli)
    problems += _check_duplicates(stimuli)
    problems += _check_database(folder, settings, stimuli)
    return sorted(problems, key=lambda problem: problem.severity != "error")


def _check_permissions(folder: Path, settings: Settings) -> Iterator[Problem]:
    """Yield a warning if other users of this computer can read the password of the database."""
    has_password = bool(re.search(r"://[^/@]*:[^/@]+@", settings.database))
    if has_password and os.name == "posix" and (folder / SETTINGS_FILE).stat().st_mode & 0o077:
        what = "it has the password of the database, and other users of this computer can read it"
        yield Problem("warning", SETTINGS_FILE, f"{what}; chmod 600 {SETTINGS_FILE}")


def _check_settings(settings: Settings) -> Iterator[Problem]:
    """Yield what is likely to be an oversight, though each value is possible."""
    if not settings.consent:
        what = "is empty; ethics boards usually ask for it, so write what people agree to"
        yield setting_problem("warning", "consent", what)
    if not settings.notice and not settings.responsible:
        what = f"[data_protection] lacks {', '.join(FACTS)}: people read no notice on data protection"
        yield Problem("warning", SETTINGS_FILE, what, FACTS)
    if settings.kind != "triplet" and settings.question == DEFAULTS["question"]:
        what = f"is that of triplets, and kind is {settings.kind!r}; write a question that fits"
        yield setting_problem("warning", "question", what)
    for key in ("question", "welcome", "thanks"):
        if settings.language != "en" and getattr(settings, key) == DEFAULTS[key]:
            yield setting_problem("warning", key, f"is in English, and language is {settings.language!r}; translate it")
    if settings.method == "active" and settings.test_share == 0:
        yield setting_problem("warning", "test_share", "is 0, so nothing measures how good the map is; write 0.1")
    too_many = f"is more than per_person, {settings.per_person}; write a smaller number"
    if settings.practice > settings.per_person:
        yield setting_problem("warning", "practice", too_many)
    if settings.catch == 1:
        what = "is 1, and attentive people miss one now and then; write 0, or at least 2"
        yield setting_problem("warning", "catch", what)
    if settings.catch > settings.per_person:
        yield setting_problem("error", "catch", too_many)


def _check_counts(settings: Settings, n_objects: int) -> Iterator[Problem]:
    """Yield what does not fit the number of objects."""
    from nearer.design.active.pool import Pool, form_of

    form = form_of(settings.kind)
    if n_objects < form.width:
        shown = f"a question of kind {settings.kind!r} shows {form.width}"
        yield Problem("error", STIMULI_FOLDER, f"there are {pluralize(n_objects, 'object')}, and {shown}; add some")
        return
    n_questions = Pool(form, n_objects).size
    if settings.per_person > n_questions:
        about = f"there are {pluralize(n_questions, 'question')} about {n_objects} objects"
        what = f"is {settings.per_person}, and {about}; write {n_questions} or less, or people get some of them twice"
        yield setting_problem("warning", "per_person", what)
    if settings.dimensions >= n_objects:
        what = f"is {settings.dimensions}, which is no less than the number of objects; write 2"
        yield setting_problem("warning", "dimensions", what)


def _check_features(folder: Path, settings: Settings, stimuli: Stimuli) -> Iterator[Problem]:
    """Yield what is wrong with the files of features."""
    from nearer.survey.study import feature_paths, known_features, repeated_names

    labels, sets = sorted(stimuli), []
    for name, path in feature_paths(folder, settings):
        try:
            found = known_features(name, path, labels)
        except ValueError as error:
            what = str(error).removeprefix(f"{path.name}: ")
            yield Problem("error", path.name if path.is_file() else SETTINGS_FILE, what)
            continue
        sets.append(found)
        missing = sorted(set(labels) - set([] if found.objects is None else found.objects.tolist()))
        if missing:
            what = f"it has no row for {pluralize(len(missing), 'object')}: {quote_all(missing)}; add them if you can"
            yield Problem("warning", path.name, what)
    if wrong := repeated_names(sets):
        yield setting_problem("error", "features", wrong)


def _check_lists(folder: Path, settings: Settings, stimuli: Stimuli) -> Iterator[Problem]:
    """Yield what is wrong with the files of questions."""
    from nearer.design.active.pool import form_of
    from nearer.survey.assignment import read_lists

    names = [each.name for each in settings.conditions] or [""]
    files = {settings.in_condition(name).question_list for name in names} - {""}
    form = form_of(settings.kind)
    for file in sorted(files):
        try:
            read_lists(folder / file, form.name, form.width, sorted(stimuli))
        except (OSError, ValueError) as error:
            yield Problem("error", file, str(error).removeprefix(f"{file}: "))
    if files and settings.catch and settings.after_list == "end":
        what = "does nothing where a list is all that is asked; write catch questions into the list"
        yield setting_problem("warning", "catch", what)


def _check_database(folder: Path, settings: Settings, stimuli: Stimuli) -> Iterator[Problem]:
    """Yield what does not fit what people have been asked so far; nothing is written."""
    from nearer.survey.assignment import lost_conditions
    from nearer.survey.store import Database, DatabaseDamaged
    from nearer.survey.study import DATABASE_FILE, asked_objects, database_url, kind_conflict, missing_objects

    try:
        database = Database.to_read(database_url(folder, settings))
        with closing(database), database.reading() as connection:
            conflict = kind_conflict(connection, settings.kind)
            lost = lost_conditions(connection, [each.name for each in settings.conditions])
            missing = missing_objects(connection, stimuli)
            asked = asked_objects(connection)
    except (ValueError, DatabaseDamaged) as error:
        yield Problem("error", SETTINGS_FILE if settings.database else DATABASE_FILE, str(error))
        return
    yield from (Problem("error", SETTINGS_FILE, each) for each in (conflict, lost) if each)
    if missing:
        yield Problem("error", STIMULI_FOLDER, missing)
    unasked = sorted(set(stimuli) - asked)
    if asked and unasked and not missing:
        what = f"people will be asked about {quote_all(unasked)}, as nobody has been yet; remove any that do not belong"
        yield Problem("warning", STIMULI_FOLDER, what)


def _check_captions(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield objects of the table whose file is missing or whose caption is long, and texts that occur twice."""
    without_file = []
    files = {path.name.casefold(): path for each in stimuli.values() if (path := each.file)}
    stems = {path.stem.casefold(): path for path in files.values()}
    by_text = defaultdict(list)
    for label, stimulus in stimuli.items():
        if stimulus.kind == "text":
            by_text[stimulus.caption].append(label)
        elif len(stimulus.caption) > _MAX_CAPTION_CHARACTERS:
            what = f"the caption of {quote(label)} has {len(stimulus.caption)} characters; phones have room for about"
            yield Problem("warning", OBJECTS_FILE, f"{what} {_MAX_CAPTION_CHARACTERS}, so shorten it")
        if stimulus.file is not None:
            continue
        found = files.get(label.casefold()) or stems.get(label.casefold())
        if found:
            what = f"{quote(label)} has no file; write {quote(found.stem)}, the name of {found.name} without its ending"
            yield Problem("error", OBJECTS_FILE, what)
        elif Path(label).suffix.lower() in ENDINGS:
            yield Problem("error", OBJECTS_FILE, f"there is no file {quote(label)} in {STIMULI_FOLDER}; put it there")
        else:
            without_file.append(label)
    if without_file and files:
        what = f"{quote_all(without_file)}: shown as text, as there is no such file; add one if you meant a picture"
        yield Problem("warning", OBJECTS_FILE, what)
    for labels in by_text.values():
        if len(labels) > 1:
            yield Problem("warning", OBJECTS_FILE, f"{quote_all(labels)} have the same text; keep one of them")


def _check_files(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield files that a browser cannot show, or a phone only slowly, and pictures of very different shapes."""
    shapes: dict[str, float] = {}
    for stimulus in stimuli.values():
        if stimulus.file is None or stimulus.kind == "text":
            continue
        where = f"{STIMULI_FOLDER}/{stimulus.file.name}"
        try:
            yield from _check_file(stimulus, stimulus.file, where, shapes)
        except OSError as error:
            yield Problem("error", where, f"it cannot be read: {error.strerror}; check its permissions")
    if shapes:
        wide, narrow = max(shapes, key=shapes.__getitem__), min(shapes, key=shapes.__getitem__)
        if shapes[wide] > _MAX_ASPECT_RATIO * shapes[narrow]:
            what = f"its shape is very different from that of {narrow.rpartition('/')[2]}, and people judge by shape"
            yield Problem("warning", wide, f"{what}; cut pictures to one shape")


def _check_file(stimulus: Stimulus, path: Path, where: str, shapes: dict[str, float]) -> Iterator[Problem]:
    size = path.stat().st_size
    large = f"it has {size / _MEGABYTE:.1f} MB"
    if size == 0:
        yield Problem("error", where, "it is empty; copy it again")
        return
    if stimulus.kind == "image" and size > _MAX_IMAGE_BYTES:
        yield Problem("error", where, f"{large}, too large for any phone; make it smaller than 1.5 MB")
        return
    if stimulus.kind == "image" and size > _LARGE_IMAGE_BYTES:
        yield Problem("warning", where, f"{large}, and phones load it slowly; make it smaller than 1.5 MB")
    if stimulus.kind != "image" and size > _LARGE_RECORDING_BYTES:
        yield Problem("warning", where, f"{large}, and phones load it slowly; make it smaller than 20 MB")
    if path.suffix.lower() == ".svg":
        yield from _check_svg(path.read_bytes(), where, shapes)
        return
    with path.open("rb") as file:
        held, named = content_of(file.read(64)), path.suffix.lower()[1:]
        if _ALIASES.get(held, held) != _ALIASES.get(named, named):
            yield _wrong_ending(stimulus, path, where, held)
        if stimulus.kind != "image" or held not in _SIZES:
            return
        try:
            width, height = _SIZES[held](file)
        except ValueError as error:
            yield Problem("error", where, f"{error}; save or copy it again")
            return
    shapes[where] = width / height
    if max(width, height) > _MAX_SIDE_PIXELS:
        what = f"it has {width} x {height} pixels, more than phones show; make it at most"
        yield Problem("warning", where, f"{what} {_MAX_SIDE_PIXELS} wide and high")


def _wrong_ending(stimulus: Stimulus, path: Path, where: str, held: str) -> Problem:
    if f".{held}" in ENDINGS and ENDINGS[f".{held}"][0] == stimulus.kind:
        # Most browsers look at the first bytes of pictures and sounds as well.
        return Problem("warning", where, f"it holds {held}; rename it to {path.stem}.{held}")
    what = f"it holds {held or 'something else'} and not {path.suffix.lower()[1:]}"
    return Problem("error", where, f"{what}, so browsers cannot show it; save it in the format that its name says")


def _check_duplicates(stimuli: Stimuli) -> Iterator[Problem]:
    """Yield files that hold the same, byte for byte."""
    by_size = defaultdict(list)
    for stimulus in stimuli.values():
        if stimulus.file is not None and stimulus.kind != "text":
            by_size[stimulus.file.stat().st_size].append(stimulus.file)
    same = defaultdict(list)
    for paths in by_size.values():
        for path in paths if len(paths) > 1 else ():
            try:
                with path.open("rb") as file:
                    same[hashlib.file_digest(file, "sha256").digest()].append(path.name)
            except OSError:
                continue  # reported by _check_files
    for first, *others in same.values():
        if others:
            hold = "holds" if len(others) == 1 else "hold"
            what = f"{quote_all(others)} {hold} the same; nobody can distinguish them, so keep one"
            yield Problem("warning", f"{STIMULI_FOLDER}/{first}", what)


def content_of(head: bytes) -> str:
    """Return the format of a file by its first 64 bytes, as the ending that it should have; "" if it is unknown."""
    for held, at, sign in _MAGIC:
        if head.startswith(sign, at) and (at != 8 or head.startswith(b"RIFF")):
            return "avif" if held == "heic" and b"avif" in head[8:] else held
    return "mp3" if len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 else ""


def _bytes(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise ValueError("it is truncated")
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
        if kind == 0xFF:  # any number of these may precede a marker
            file.seek(-1, 1)
            continue
        if kind == 0xDA:  # the picture itself, in which the marker of its end cannot occur
            if b"\xff\xd9" not in file.read():
                raise ValueError("it is truncated")
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
        raise ValueError("it is truncated")
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


def _check_svg(data: bytes, where: str, shapes: dict[str, float]) -> Iterator[Problem]:
    """Yield the problems of an SVG file."""
    found: set[str] = set()
    seen: list[tuple[str, dict[str, str]]] = []

    def begin(element: str, attributes: dict[str, str]) -> None:
        if not seen:
            seen.append((element, attributes))
        local = element.rpartition(" ")[2].lower()
        links = [value.strip().lower() for key, value in attributes.items() if key.rpartition(" ")[2] == "href"]
        handlers = any(key.lower().startswith("on") for key in attributes)
        if local == "script" or handlers or any(link.startswith("javascript:") for link in links):
            found.add("it has scripts, which will not run; check that it looks right without them")
        if local in ("image", "use", "feimage") and not all(link.startswith(("#", "data:")) for link in links):
            found.add("it refers to other files, which will not be shown; save it with everything embedded")

    def refuse(*_: object) -> None:
        raise ValueError("it has a DOCTYPE, which is refused; remove the part <!DOCTYPE ...> with a text editor")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        yield Problem("error", where, f"it is not well-formed XML ({error}); save it again as SVG")
        return
    except ValueError as error:
        yield Problem("error", where, str(error))
        return
    name, root = seen[0]
    if name != f"{_SVG_NAMESPACE}svg":
        yield Problem("error", where, 'it does not begin with <svg xmlns="http://www.w3.org/2000/svg">; save it again')
        return
    yield from (Problem("warning", where, what) for what in sorted(found))
    box = re.fullmatch(r"\s*[-+.\de]+[\s,]+[-+.\de]+[\s,]+([.\de]+)[\s,]+([.\de]+)\s*", root.get("viewBox", ""))
    sides = box.groups() if box else [root.get(side, "").removesuffix("px") for side in ("width", "height")]
    try:
        width, height = map(float, sides)
    except ValueError:
        return  # without a size of its own it fills the space it is given
    if width > 0 and height > 0:
        shapes[where] = width / height
