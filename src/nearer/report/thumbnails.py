"""Pictures of the objects, from a folder of files named after their labels, as data URIs."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from nearer.study.pictures import find_pictures

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
}
LARGEST_TOTAL = 20 * 10**6


def read_thumbnails(folder: str | PathLike[str], objects: Sequence[object]) -> dict[int, str]:
    """Return the pictures of the objects that have one, found as `find_pictures` does.

    Parameters
    ----------
    folder : path
    objects : sequence of labels

    Returns
    -------
    dict from int to str
        Data URIs by the number of the object.
    """
    found = find_pictures(folder, objects)
    total = sum(file.stat().st_size for file in set(found.values()))
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"the {len(found)} pictures in {Path(folder)} take {total / 1e6:.1f} MB, and a report holds at most "
            f"{LARGEST_TOTAL / 1e6:.0f} MB; make them smaller (200 pixels wide is plenty)"
        )
    return {number: _data_uri(file) for number, file in found.items()}


def _data_uri(file: Path) -> str:
    return f"data:{TYPES[file.suffix.lower()]};base64,{base64.b64encode(file.read_bytes()).decode('ascii')}"
