"""Objects that are written as paths of pictures, sounds or films, called by what differs between the paths.

``assets/stimuli/cat.png`` and ``assets/stimuli/dog.png`` are ``cat`` and ``dog``. The folders that all paths share go,
and the endings, unless two objects differ in nothing else. All objects must be such paths: ``red/dark`` may be an
object that two columns make up, and the name of a file without a folder may be what other files call it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

_ENDINGS = (
    "png jpg jpeg gif webp svg bmp tif tiff avif heic wav mp3 ogg oga opus m4a aac flac aif aiff mp4 m4v webm mov avi "
    "mkv obj glb gltf stl ply html htm txt"
)
_ENDING = re.compile(rf"\.({'|'.join(_ENDINGS.split())})$", re.IGNORECASE)
_SLASH = re.compile(r"[/\\]+")

Parts: TypeAlias = tuple[str, ...]


def short_names(labels: Sequence[object]) -> dict[str, str]:
    """Return what paths are to be called; nothing if one of the labels is no path.

    Examples
    --------
    >>> short_names(["stimuli/a.png", "stimuli/b.png"]), short_names(["stimuli/a.png", "stimuli/a.jpg"])
    ({'stimuli/a.png': 'a', 'stimuli/b.png': 'b'}, {'stimuli/a.png': 'a.png', 'stimuli/a.jpg': 'a.jpg'})
    >>> short_names(["x/a.png", "y/a.png"]), short_names(["red/dark", "blue/dark"]), short_names(["a.png", "b.png"])
    ({'x/a.png': 'x/a', 'y/a.png': 'y/a'}, {}, {})
    """
    paths = [label for label in labels if isinstance(label, str)]
    if len(paths) < max(len(labels), 2) or not all(_SLASH.search(path) and _ENDING.search(path) for path in paths):
        return {}
    parts = [_SLASH.split(path) for path in paths]
    shared = takewhile(lambda folders: len(set(folders)) == 1, zip(*(each[:-1] for each in parts), strict=False))
    n_shared = len(list(shared))
    names = ["/".join(each[n_shared:]) for each in parts]
    bare = [_ENDING.sub("", name) for name in names]
    short = bare if len(set(bare)) == len(bare) and all(bare) else names
    return dict(zip(paths, short, strict=True)) if len(set(short)) == len(short) else {}


def same_objects(labels: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return which known object each label is, where both end in the same parts of a path.

    Endings of files count only where they tell objects apart; a label that may be two objects is none of them.

    Examples
    --------
    >>> same_objects(["stimuli/cat.png", "dog", "owl.png"], ["cat", "tools/dog", "cow"])
    {'stimuli/cat.png': 'cat', 'dog': 'tools/dog'}
    >>> same_objects(["stimuli/a.png", "stimuli/b"], ["a.png", "a.jpg", "b.png", "b.jpg"])
    {'stimuli/a.png': 'a.png'}
    """
    labels, known = list(labels), list(known)
    found: dict[str, str] = {}
    for parts_of in (_SLASH.split, _parts):
        ends, whole = defaultdict[Parts, list[str]](list), defaultdict[Parts, list[str]](list)
        for each in known:
            parts = tuple(parts_of(each))
            whole[parts].append(each)
            for start in range(len(parts)):
                ends[parts[start:]].append(each)
        for label in (each for each in labels if each not in found):
            parts = tuple(parts_of(label))
            alike = ends.get(parts) or [each for at in range(len(parts)) for each in whole.get(parts[at:], ())]
            if len(alike) == 1:
                found[label] = alike[0]
    if len(set(found.values())) < len(found):
        return {}
    return {label: found[label] for label in labels if label in found}


def told(names: Mapping[str, str]) -> str:
    """Return a sentence on what paths are called."""
    path, name = next(iter(names.items()))
    return f"labels are file paths, shortened to the parts that differ: {path!r} becomes {name!r}"


def _parts(label: str) -> Parts:
    return tuple(_SLASH.split(_ENDING.sub("", label)))
