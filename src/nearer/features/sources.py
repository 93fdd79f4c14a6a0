"""Which files hold the objects, and what the objects are called."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypeVar

from nearer._common.files import printable
from nearer._common.formatting import intcomma, pluralize, quote, quote_all
from nearer._common.progress import progress_bar, warn_caller

Paths: TypeAlias = "str | PathLike[str] | Iterable[str | PathLike[str]]"
Read = TypeVar("Read")
_README_NAMES = ("readme", "readme.txt", "readme.md")


def files_in(source: Paths, endings: Sequence[str] = ()) -> list[Path]:
    """Return the files that are named, and those in folders that are, if they have one of the endings, sorted."""
    named = [Path(source)] if isinstance(source, str | PathLike) else [Path(each) for each in source]
    found: list[Path] = []
    for path in named:
        if not path.is_dir():
            if not path.exists():
                raise FileNotFoundError(2, os.strerror(2), str(path))
            found.append(path)
            continue
        inside = (each for each in path.rglob("*") if each.is_file())
        shown = sorted(each for each in inside if not _is_hidden(each.relative_to(path)))
        found += [each for each in shown if not endings or each.suffix.lower() in endings]
    if not found:
        kinds = f" that end in {' '.join(endings)}" if endings else ""
        raise ValueError(f"there are no files{kinds} in {quote_all([str(path) for path in named])}")
    return list(dict.fromkeys(found))


def labels_of(paths: Sequence[Path]) -> list[str]:
    """Return the names of files without their endings or, if two share one, with folders and endings."""
    stems = [_label(path.stem) for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    folder = os.path.commonpath([path.parent for path in paths])
    return [_label(path.relative_to(folder).as_posix()) for path in paths]


def read_each(
    files: Sequence[Path], what: str, read: Callable[[Path], Read], skip_bad: bool
) -> tuple[list[str], list[Read]]:
    """Return the labels of the files that can be read, and what is in them; name those that cannot be, all at once."""
    labels: list[str] = []
    good: list[Read] = []
    bad: list[str] = []
    for label, path in zip(labels_of(files), progress_bar(f"read {what}s", iterable=files), strict=True):
        try:
            good.append(read(path))
            labels.append(label)
        except ValueError as error:
            bad.append(f"{quote(path.name)} ({error})")
    if bad:
        listed = f"{'; '.join(bad[:10])}{'; ...' if len(bad) > 10 else ''}"
        told = f"{intcomma(len(bad))} of {pluralize(len(files), what)} cannot be read: {listed}"
        if not skip_bad:
            raise ValueError(f"{told}. Repair or remove them, or leave them out with skip_bad (--skip-bad)")
        if not good:
            raise ValueError(told)
        warn_caller(f"{told}; they have no features")
    return labels, good


def _label(name: str) -> str:
    """Return a name as a label: one system writes an accent as a letter of its own, another does not."""
    return unicodedata.normalize("NFC", printable(name)).strip()


def _is_hidden(path: Path) -> bool:
    """Whether a file in a folder is no object: systems hide files of their own there, and people explain folders."""
    return path.name.lower() in _README_NAMES or any(part.startswith((".", "__MACOSX")) for part in path.parts)
