"""Objects that are written as paths of pictures, sounds or films, called by what differs between the paths.

``assets/stimuli/cat.png`` and ``assets/stimuli/dog.png`` are ``cat`` and ``dog``. The folders that all paths share go,
and the endings, unless two objects differ in nothing else. All objects must be such paths: ``red/dark`` may be an
object that two columns make up, and the name of a file without a folder may be what other files call it.

Objects that one column shows as a picture in HTML and another names by its address.

Experiments in a browser often show the anchor as ``<img src='cat.png'>`` and list the options as ``cat.png``. They are
the same objects, and are called by the address, if at least one address is the name of an object elsewhere in the
table. Where all objects are HTML they stay as they are written, unless jsPsych wrote them: its buttons are HTML, of
which all but the address is how they look.

Whole numbers that a program wrote with a decimal point.

A column of integers with an empty cell becomes one of floats in many programs, which then write 13 as 13.0. In text
files whose objects are all numbers, such a label is the integer, wherever an object or an answer stands. Where labels
are anything else they stay as they are written.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

from nearer.data.comparisons import Comparisons
from nearer.io.answers import Answers
from nearer.io.columns import ANSWERS, LISTS, TWO, Found
from nearer.io.kinds import split_column
from nearer.io.table import Column, Loaded, merged

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


def _parts(label: str) -> Parts:
    return tuple(_SLASH.split(_ENDING.sub("", label)))


def matched(comparisons: Comparisons, objects: Any, paths: Mapping[str, str] | None = None) -> Comparisons:
    """Return comparisons with labels as text or as integers, whichever ``objects`` are.

    Where labels are short names of ``paths``, those of objects that are not among ``objects`` become the names that end
    in the same parts of a path: what all paths of one file share is not what those of another do.

    Text files hold the label 1 as "1", Parquet and npz files as an integer. Labels change only if all on one side are
    on the other side, too, once both are text; else the comparisons come back as they are.

    Examples
    --------
    >>> judgments = Comparisons.from_triplets([("1", "2", "10")])
    >>> matched(judgments, np.array([1, 2, 3, 10])).objects
    array([ 1, 10,  2])
    """
    mine = comparisons.objects.tolist()
    theirs = objects.tolist() if isinstance(objects, np.ndarray) else list(objects)
    if paths and not set(mine) <= set(theirs):
        same = same_objects([paths.get(label, label) for label in mine], map(str, theirs))
        return replace(comparisons, objects=np.array([same.get(paths.get(label, label), label) for label in mine]))
    types = [{type(label) for label in labels} for labels in (mine, theirs)]
    if types not in ([{str}, {int}], [{int}, {str}]):
        return comparisons
    spelled, wanted = {str(label) for label in mine}, {str(label) for label in theirs}
    if not (spelled <= wanted or wanted <= spelled):
        return comparisons
    if types[0] == {int}:
        return replace(comparisons, objects=np.array([str(label) for label in mine]))
    integers = {str(label): label for label in theirs}
    if not spelled <= integers.keys():
        return comparisons  # "cat" beside "1": no integers
    return replace(comparisons, objects=np.array([integers[label] for label in mine]))


_SOURCE = re.compile(r"<(?:img|audio|video|source|embed)\b[^>]*?\bsrc\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def address(text: str) -> str | None:
    """Return the address of the one picture, sound or film that HTML without words shows.

    Examples
    --------
    >>> address('<div><img class="big" src="stimuli/cat.png"></div>')
    'stimuli/cat.png'
    >>> address("<p>Welcome</p>"), address("cat.png")
    (None, None)
    """
    if not text.startswith("<"):
        return None
    found = set(_SOURCE.findall(text))
    return found.pop() if len(found) == 1 and not _TAG.sub("", text).strip() else None


def with_addresses(loaded: Loaded, found: Found) -> Loaded:
    """Return a table in which a picture is the object that its address names in another column."""
    roles = [role for role in (*found.layout.roles, *TWO) if role in found.roles and role not in ANSWERS]
    listed = {name for role in roles if role in LISTS and len(found.roles[role]) == 1 for name in found.roles[role]}
    single = found.columns_of(roles) - listed
    addresses = {
        name: {str(value): where for value in loaded.columns[name].values if (where := address(str(value)))}
        for name in single
    }
    if not any(addresses.values()):
        return loaded
    named = {str(value) for name in single for value in loaded.columns[name].values}
    named |= {item for name in listed for items in split_column(loaded.columns[name]) for item in items}
    if not any(where in named for shown in addresses.values() for where in shown.values()):
        return loaded
    renamed = {
        name: merged(loaded.columns[name].codes, [shown.get(str(each), each) for each in loaded.columns[name].values])
        for name, shown in addresses.items()
        if shown
    }
    return replace(loaded, columns=loaded.columns | renamed)


def called_by_address(answers: Answers) -> Answers:
    """Return answers in which pictures are called by their addresses, if all objects are pictures, each another."""
    labels = [address(str(label)) for label in answers.comparisons.objects]
    if None in labels or len(set(labels)) < len(labels):
        return answers
    return replace(answers, comparisons=replace(answers.comparisons, objects=np.array(labels)))


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WHOLE = re.compile(r"(?<![\w.])([+-]?\d+)\.0+(?![\w.])")


def with_whole_numbers(loaded: Loaded, found: Found) -> Loaded:
    """Return a table in which 13.0 is the object 13, if all objects are numbers."""
    objects = found.columns_of([role for role in (*found.layout.roles, *TWO) if role not in ANSWERS])
    answers = found.columns_of([role for role in found.layout.roles if role in ANSWERS])
    lists = {name for role in LISTS for name in found.roles.get(role, ()) if len(found.roles[role]) == 1}
    columns = {name: loaded.columns[name] for name in objects | answers}
    if not any(_WHOLE.search(str(value)) for column in columns.values() for value in column.values):
        return loaded
    labels = {label for name in objects for label in _labels(columns[name], name in lists)}
    if not all(_NUMBER.fullmatch(label) for label in labels):
        return loaded
    whole = {
        name: merged(column.codes, [_WHOLE.sub(r"\1", str(value)) for value in column.values])
        for name, column in columns.items()
    }
    return replace(loaded, columns=loaded.columns | whole)


def _labels(column: Column, listed: bool) -> set[str]:
    """Return the labels in a column of objects, or of lists of them."""
    if listed:
        return {item for items in split_column(column) for item in items}
    return {str(value) for value in column.values}
