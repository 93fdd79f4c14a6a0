"""Which files are meant: by a folder, a pattern such as ``data/*.csv``, or several of them.

Of a folder, or of a pattern, those files are read whose names end like a table. What labs keep beside them is passed
over and told: a README, files of the system (.DS_Store) or of an open spreadsheet (~$p01.csv), and empty files, as of
somebody who closed the window at once. A file that is named outright is always read.
"""

from __future__ import annotations

import glob
import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import Any

from nearer._common.files import printable, refuse_special
from nearer._common.formatting import counted, listed

_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".parquet", ".npz", ".npy")
_BESIDE = ("readme", "license", "licence", "codebook", "changelog", "notes")
_SAY_NOTHING = ("data", "raw", "csv", "answers", "files", "results")
_LISTED = 5
_RESULTS = "results.json"  # of a map


@dataclass(frozen=True)
class FileList:
    """Files of answers.

    Attributes
    ----------
    paths : tuple of Path
    source : str
        What to call them: the name of the one file, or "40 files in data".
    title : str
        A heading for what is made of them.
    notes : tuple of str
        What was passed over.
    """

    paths: tuple[Path, ...]
    source: str
    title: str
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each file; with folders where the files are of several."""
        if len({path.parent for path in self.paths}) == 1:
            return tuple(printable(path.name) for path in self.paths)
        above = Path(commonpath([path.absolute().parent for path in self.paths]))
        return tuple(printable(path.absolute().relative_to(above).as_posix()) for path in self.paths)

    @property
    def people(self) -> tuple[str, ...]:
        """Who answered, by the name of each file; by that of its folder where all files have one name."""
        stems = tuple(_stem(path) for path in self.paths)
        if len(set(stems)) == 1 and len({path.parent for path in self.paths}) == len(self.paths):
            return tuple(printable(path.absolute().parent.name) for path in self.paths)
        return stems

    def digest(self) -> str:
        """Return the SHA-256 of the one file, or of the sorted names and digests of several, a line each."""
        digests = [_digest(path) for path in self.paths]
        if len(digests) == 1:
            return digests[0]
        lines = sorted(f"{name} {digest}\n" for name, digest in zip(self.names, digests, strict=True))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def is_files(source: Any) -> bool:
    """Whether a source is a path, or a sequence of paths."""
    if isinstance(source, str | PathLike):
        return True
    return isinstance(source, list | tuple) and all(isinstance(each, str | PathLike) for each in source)


def file_list(source: Any) -> FileList:
    """Return the files that a path, a folder, a pattern or a sequence of these means.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("p2.csv", "p1.csv", "README.md"):
    ...         _ = (Path(folder) / name).write_text("anchor,near,far")
    ...     found = file_list(Path(folder))
    >>> found.names, found.people
    (('p1.csv', 'p2.csv'), ('p1', 'p2'))
    """
    said = [Path(source)] if isinstance(source, str | PathLike) else [Path(each) for each in source]
    if not said:
        raise ValueError("there is no file to read; name one, or a folder of files")
    paths: dict[Path, Path] = {}
    passed: list[Path] = []
    for each in said:
        found = _below(each)
        if found is None:
            paths.setdefault(each.absolute(), each)
            continue
        answers = [path for path in found if _is_table(path)]
        passed += [path for path in found if not _is_table(path)]
        if not answers:
            raise ValueError(_nothing(each, found))
        paths |= {path.absolute(): path for path in answers if path.absolute() not in paths}
    return _named(tuple(paths.values()), said, passed)


def _named(paths: tuple[Path, ...], said: list[Path], passed: list[Path]) -> FileList:
    parents = {path.absolute().parent for path in paths}
    folder = next(iter(parents)).name if len(parents) == 1 else ""
    if len(paths) == 1:
        source, title = printable(paths[0].name or str(paths[0])), printable(paths[0].stem)
    else:
        source = f"{len(paths)} files in {printable(folder)}" if folder else f"{len(paths)} files"
        title = _titled(next(iter(parents))) if folder else _stem(said[0])
    was = "was" if len(passed) == 1 else "were"
    what = f"{counted(len(passed), 'file')} that {'is' if len(passed) == 1 else 'are'} no table, or empty, {was} passed"
    note = f"{source}: {what} over: {_told(passed)}"
    return FileList(paths, source, title, (note,) if passed else ())


def _titled(folder: Path) -> str:
    """Return what the answers of a folder are called: "data" says nothing, the folder around it more.

    Examples
    --------
    >>> _titled(Path("/labs/instruments/data")), _titled(Path("/labs/instruments"))
    ('instruments', 'instruments')
    """
    return printable((folder.parent.name if folder.name.lower() in _SAY_NOTHING else "") or folder.name)


def _told(passed: list[Path]) -> str:
    """Return the names of a few files; of many, the names of those that could be answers and how many others there are.

    Examples
    --------
    >>> _told([Path(name) for name in ("a.log", "a.psydat", "b.csv", "b.log", "b.psydat", "c.log")])
    "'b.csv'; 3 .log, 2 .psydat"
    """
    if len(passed) <= _LISTED:
        return listed([printable(path.name) for path in passed], _LISTED)
    tables = [printable(path.name) for path in passed if path.suffix.lower() in _ENDINGS]
    others = Counter(path.suffix.lower() or path.name for path in passed if path.suffix.lower() not in _ENDINGS)
    counts = ", ".join(f"{count} {ending}" for ending, count in others.most_common(_LISTED))
    if len(others) > _LISTED:
        counts += ", ..."
    return "; ".join(filter(None, [listed(tables, _LISTED), counts]))


def _below(path: Path) -> list[Path] | None:
    """Return the files of a folder or of a pattern, in order; None for anything else, which is a file."""
    if path.is_dir():
        if (path / _RESULTS).is_file():
            raise ValueError(f"{path} holds a map, not answers; name the file, or the folder, of the answers")
        return sorted(each for each in path.iterdir() if not each.is_dir())
    if not path.exists() and glob.has_magic(str(path)):
        return sorted(each for each in map(Path, glob.glob(str(path), recursive=True)) if not each.is_dir())
    return None


def _is_table(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    if name.startswith((".", "~$")) or not name.endswith(_ENDINGS) or name.partition(".")[0] in _BESIDE:
        return False
    if not path.is_file():  # a pipe, a device, or a link to a file that is gone
        return False
    with path.open("rb") as file:
        return bool(file.read(2**16).strip(b" \t\r\n\xef\xbb\xbf"))


def _nothing(path: Path, found: Iterable[Path]) -> str:
    """Return why there is nothing to read."""
    if not path.is_dir():
        return f"no file of answers is named like {path}; check the pattern and the folder"
    names = [each.name for each in found]
    folders = sorted(each.name for each in path.iterdir() if each.is_dir())
    said = f"{path} is a folder without a file of answers ({', '.join(_ENDINGS[:3])}, ...)"
    if names:
        return f"{said}; it has {listed(names, 5)}"
    return f"{said}; its folders are {listed(folders, 5)}: name one of them" if folders else f"{said}; it is empty"


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", *_ENDINGS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return printable(name or path.name)


def _digest(path: Path) -> str:
    refuse_special(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
