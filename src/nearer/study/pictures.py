"""Pictures of the objects: files of a folder that are named after their labels."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path, PurePosixPath

from nearer._common.formatting import counted, listed

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".svg")


def find_pictures(folder: str | PathLike[str], objects: Sequence[object]) -> dict[int, Path]:
    """Return the files of the objects that have a picture.

    Parameters
    ----------
    folder : path
        The picture of an object is called like its label, with or without the ending: ``cat.png`` belongs to the
        object ``cat``, to ``cat.png`` and to ``stimuli/cat.png``.
    objects : sequence of labels

    Returns
    -------
    dict from int to Path
        Files by the number of the object. Pictures and objects without each other are warned of.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is not a folder; thumbnails come from a folder of pictures named after the objects")
    # Files are looked up by name in this listing, and no path is ever made from a label.
    files = sorted(file for file in place.iterdir() if file.suffix.lower() in ENDINGS and file.is_file())
    by_name = {_key(name): file for file in reversed(files) for name in (file.stem, file.name)}
    found = {
        number: by_name[name]
        for number, label in enumerate(objects)
        if (name := _name_of(label, by_name)) is not None
    }  # fmt: skip
    if not found:
        raise ValueError(
            f"no picture in {place} is named after an object: the first object is {objects[0]!r}, "
            + (f"the first picture {files[0].name!r}" if files else f"and no file ends in {', '.join(ENDINGS)}")
        )
    _warn_of_others(place.name, files, found, objects)
    return found


def _warn_of_others(folder: str, files: list[Path], found: dict[int, Path], objects: Sequence[object]) -> None:
    """Warn of pictures that belong to no object, and of objects without a picture."""
    taken = {_key(file.stem) for file in found.values()}  # cat.png is passed over beside cat.jpg
    strange = [file.name for file in files if _key(file.stem) not in taken]
    bare = [label for number, label in enumerate(objects) if number not in found]
    said = []
    if strange:
        said.append(f"{counted(len(strange), 'picture is', 'pictures are')} of no object: {listed(strange, 10)}")
    if bare:
        said.append(f"{counted(len(bare), 'object has', 'objects have')} no picture: {listed(bare, 10)}")
    if said:
        warnings.warn(f"{folder}: {'; '.join(said)}", UserWarning, stacklevel=3)


def _name_of(label: object, by_name: dict[str, Path]) -> str | None:
    """Return the first name that a picture of the label goes by."""
    names = (_key(str(label)), _key(PurePosixPath(str(label)).name))
    return next((name for name in names if name in by_name), None)


def _key(name: str) -> str:
    # Some file systems write é as one character and some as two.
    return unicodedata.normalize("NFC", name)
