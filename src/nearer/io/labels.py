"""Objects by their labels: the list of all, lists of them in cells, and names for what is written in several ways.

Paths of pictures, sounds or films are called by what differs between them, if all objects are such paths. Where an
anchor is ``<img src='cat.png'>`` and an option is ``cat.png``, they are one object; where all objects are HTML they
stay as they are written, unless jsPsych wrote them. In text files whose objects are all numbers, 13.0 is 13, as
programs write integers in a column with an empty cell.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, takewhile
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.io.answers import Answers, with_objects
from nearer.io.columns import ANSWERS, LayoutMatch
from nearer.io.table import Codes, Column, LoadedRows, RowErrors

MAX_LABEL_CHARACTERS = 2000
_NO_INDEX, _TOO_LONG = -2, -3
_INTEGER = re.compile(r"0|[1-9][0-9]{0,16}")


class Objects:
    """All labels of a table, sorted; integers if every one of them is an integer, else text."""

    def __init__(self, columns: list[Column], listed: Iterable[str] = (), names: list[Any] | None = None) -> None:
        self.named = names is not None
        values = {value for column in columns for value in column.values}
        more = set(listed)
        if names is not None:
            self.labels = list(names)
        elif values and all(isinstance(value, int) for value in values) and all(map(_INTEGER.fullmatch, more)):
            self.labels = sorted(values | {int(text) for text in more})
        else:
            self.labels = sorted({text for each in values | more if len(text := str(each)) <= MAX_LABEL_CHARACTERS})
        self.position = {str(label): position for position, label in enumerate(self.labels)}

    def _position(self, value: Any) -> int:
        if self.named:
            return value if isinstance(value, int) and 0 <= value < len(self.labels) else _NO_INDEX
        return self.position.get(str(value), _TOO_LONG)

    def codes(self, column: Column, what: str, errors: RowErrors, must: bool = True) -> Codes:
        """Return positions of the objects in a column, -1 where there is none, an error if there ``must`` be one."""
        codes = column.map_values(self._position, -1, np.int32)
        if must:
            errors.add(codes == -1, "missing", what=what)
        n_objects = len(self.labels)
        errors.add(
            codes == _NO_INDEX, "unknown-index", lambda row: {"value": column.value(row), "n_objects": n_objects}
        )
        errors.add(codes == _TOO_LONG, "long-label", what=what, most=MAX_LABEL_CHARACTERS)
        return codes

    def in_list(self, items: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of the items of a list, -1 for those that are no objects."""
        if not self.named:
            return tuple(self.position.get(item, -1) for item in items)
        n = len(self.labels)
        return tuple(int(i) if i.isascii() and i.isdigit() and len(i) < 10 and int(i) < n else -1 for i in items)


def label_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels as an array of integers or of text."""
    if labels and all(isinstance(label, int) for label in labels):
        with suppress(OverflowError):
            return np.array(labels, np.int64)
    return np.array(list(map(str, labels)), np.str_)


def take_labels(column: Column) -> NDArray[Any]:
    """Return a column without empty cells as labels; long columns of long text share their strings."""
    labels = label_array(column.values)
    if labels.dtype.kind == "U" and labels.dtype.itemsize * len(column.codes) > 2**28:
        labels = labels.astype(object)
    return labels[column.codes]


_SEPARATORS = (";", "|", ",")
_MIN_ITEMS, _MAX_ITEMS = 3, 50  # items of a question


def split_column(column: Column) -> list[tuple[str, ...]]:
    """Return the list in every distinct cell of a column, all separated alike."""
    texts = [str(value) for value in column.values]
    unquoted = [text for text in texts if not text.startswith("[")]
    separator = next((each for each in _SEPARATORS if any(each in text for text in unquoted)), None)
    return [_json_list(text) or _split_text(text, separator) for text in texts]


def possible_lists(text: str) -> Iterator[tuple[str, ...]]:
    """Return the ways to read a cell as a list, the likeliest first; a label may hold spaces."""
    listed = _json_list(text)
    if listed is not None:
        yield listed
    yield (text,)
    for separator in (*_SEPARATORS, None):
        yield _split_text(text, separator)


def _split_text(text: str, separator: str | None) -> tuple[str, ...]:
    parts = text.split() if separator is None else [part.strip() for part in text.split(separator)]
    return tuple(part for part in parts if part)


def _json_list(text: str) -> tuple[str, ...] | None:
    if not text.startswith("["):
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        inner = text.strip("[]")  # Python and R print lists with single quotes, or with none
        return tuple(part.strip(" '\"") for part in inner.split(",") if part.strip(" '\""))
    if not isinstance(listed, list):
        return None
    items = (item if isinstance(item, str) else json.dumps(item) for item in listed if item is not None)
    return tuple(item.strip() for item in items if item.strip())


def join_columns(columns: list[Column]) -> tuple[NDArray[np.int64], list[tuple[Any, ...]]]:
    """Return numbered columns as one: a code for every row, and the distinct lists; empty cells are left out."""
    table = np.stack([column.codes for column in columns], axis=1)
    distinct, codes = np.unique(table, axis=0, return_inverse=True)
    lists = [
        tuple(str(column.values[code]) for column, code in zip(columns, row, strict=True) if code >= 0)
        for row in distinct.tolist()
    ]
    return codes.reshape(-1), lists


def read_lists(columns: list[Column]) -> tuple[NDArray[np.intp], list[tuple[str, ...]]]:
    """Return the number of the list in every row, -1 for an empty cell, and the lists; an empty list comes last."""
    codes, lists = join_columns(columns) if len(columns) > 1 else (columns[0].codes, split_column(columns[0]))
    return codes.astype(np.intp), [*lists, ()]


def read_items(columns: list[Column], errors: RowErrors, names: list[Any] | None) -> tuple[Objects, Codes]:
    """Return all objects, and which of them each place shows, (n, k), -1 where a row shows fewer.

    Rows that show fewer than three items, or one twice, are added to the errors.
    """
    if len(columns) > _MAX_ITEMS:
        raise ValueError(f"{len(columns)} columns of items; a question may show {_MAX_ITEMS}")
    if len(columns) > 1:
        objects = Objects(columns, names=names)
        items = np.stack([objects.codes(column, "object", errors, must=False) for column in columns], axis=1)
    else:
        list_of, lists = read_lists(columns)
        objects = Objects([], (item for each in lists for item in each), names)
        sizes = np.array([len(each) for each in lists])
        errors.add(sizes[list_of] > _MAX_ITEMS, "many-objects", most=_MAX_ITEMS)
        inside = [objects.in_list(each[:_MAX_ITEMS]) for each in lists]
        table = np.full((len(lists), min(int(sizes.max()), _MAX_ITEMS)), -1, np.int32)
        for row, codes in zip(table, inside, strict=True):
            row[: len(codes)] = codes
        unknown = np.array([-1 in codes for codes in inside])
        errors.add(unknown[list_of], "unknown-item", most=MAX_LABEL_CHARACTERS)
        items = np.asarray(table[list_of])
    errors.add((items >= 0).sum(axis=1) < _MIN_ITEMS, "few-objects")
    ordered = np.sort(items, axis=1)
    same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    errors.add(same.any(axis=1), "twice", lambda row: {"concerned": (objects.labels[ordered[row, 1:][same[row]][0]],)})
    return objects, items


_FILE_ENDINGS = (
    "png jpg jpeg gif webp svg bmp tif tiff avif heic wav mp3 ogg oga opus m4a aac flac aif aiff mp4 m4v webm mov avi "
    "mkv obj glb gltf stl ply html htm txt"
)


_ENDING = re.compile(rf"\.({'|'.join(_FILE_ENDINGS.split())})$", re.IGNORECASE)
_SLASH = re.compile(r"[/\\]+")
Parts: TypeAlias = tuple[str, ...]


def short_names(labels: Sequence[object]) -> dict[str, str]:
    """Return what paths are to be called; nothing if one of the labels is no path."""
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
    """
    labels, known = list(labels), list(known)
    found: dict[str, str] = {}
    for ending in (None, _ENDING):
        ends, whole = defaultdict[Parts, list[str]](list), defaultdict[Parts, list[str]](list)
        for each in known:
            parts = _parts(each, ending)
            whole[parts].append(each)
            for start in range(len(parts)):
                ends[parts[start:]].append(each)
        for label in (each for each in labels if each not in found):
            parts = _parts(label, ending)
            alike = ends.get(parts) or [each for at in range(len(parts)) for each in whole.get(parts[at:], ())]
            if len(alike) == 1:
                found[label] = alike[0]
    if len(set(found.values())) < len(found):
        return {}
    return {label: found[label] for label in labels if label in found}


def _parts(label: str, ending: re.Pattern[str] | None) -> Parts:
    return tuple(_SLASH.split(ending.sub("", label) if ending else label))


def match_labels(comparisons: Comparisons, objects: Any, paths: Mapping[str, str] | None = None) -> Comparisons:
    """Return comparisons with labels as text or as integers, whichever ``objects`` are.

    Where labels are short names of ``paths``, those of objects that are not among ``objects`` become the names that end
    in the same parts of a path: what all paths of one file share is not what those of another do.

    Text files hold the label 1 as "1", Parquet and npz files as an integer. Labels change only if all on one side are
    on the other side, too, once both are text; else the comparisons come back as they are.
    """
    mine = comparisons.objects.tolist()
    theirs = objects.tolist() if isinstance(objects, np.ndarray) else list(objects)
    if paths and not set(mine) <= set(theirs):
        same = same_objects([paths.get(label, label) for label in mine], map(str, theirs))
        return replace(comparisons, objects=np.array([same.get(paths.get(label, label), label) for label in mine]))
    types = [{type(label) for label in labels} for labels in (mine, theirs)]
    spelled, wanted = set(map(str, mine)), {str(label): label for label in theirs}
    if types == [{int}, {str}] and (spelled <= wanted.keys() or wanted.keys() <= spelled):
        return replace(comparisons, objects=np.array([str(label) for label in mine]))
    if types == [{str}, {int}] and spelled <= wanted.keys():  # "cat" next to "1": no integers
        return replace(comparisons, objects=np.array([wanted[label] for label in mine]))
    return comparisons


_MEDIA_SOURCE = re.compile(r"<(?:img|audio|video|source|embed)\b[^>]*?\bsrc\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


def media_address(text: str) -> str | None:
    """Return the address of the one picture, sound or film that HTML without words shows."""
    if not text.startswith("<"):
        return None
    found = set(_MEDIA_SOURCE.findall(text))
    return found.pop() if len(found) == 1 and not _TAG.sub("", text).strip() else None


def with_addresses(loaded: LoadedRows, found: LayoutMatch) -> LoadedRows:
    """Return a table in which a picture is the object that its address names in another column."""
    columns = {name: loaded.columns[name] for name in found.objects - found.lists}
    texts = {str(value) for column in columns.values() for value in column.values}
    addresses = {text: where for text in texts if (where := media_address(text))}
    if not addresses or _labels(loaded, found).isdisjoint(addresses.values()):
        return loaded
    return loaded.with_columns(
        {
            name: column.replace_values(lambda value: addresses.get(str(value), value))
            for name, column in columns.items()
        }
    )


def label_by_address(answers: Answers) -> Answers:
    """Return answers in which pictures are called by their addresses, if all objects are pictures, each another."""
    labels = [media_address(str(label)) for label in answers.comparisons.objects]
    return answers if None in labels or len(set(labels)) < len(labels) else with_objects(answers, labels)


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_WHOLE_NUMBER = re.compile(r"(?<![\w.])([+-]?\d+)\.0+(?![\w.])")


def with_whole_numbers(loaded: LoadedRows, found: LayoutMatch) -> LoadedRows:
    """Return a table in which 13.0 is the object 13, if all objects are numbers."""
    answers = found.columns_of([role for role in found.layout.roles if role in ANSWERS])
    columns = {name: loaded.columns[name] for name in found.objects | answers}
    if not any(_WHOLE_NUMBER.search(str(value)) for column in columns.values() for value in column.values):
        return loaded
    if not all(map(_NUMBER.fullmatch, _labels(loaded, found))):
        return loaded
    return loaded.with_columns(
        {
            name: column.replace_values(lambda value: _WHOLE_NUMBER.sub(r"\1", str(value)))
            for name, column in columns.items()
        }
    )


def _labels(loaded: LoadedRows, found: LayoutMatch) -> set[str]:
    listed = (items for name in found.objects & found.lists for items in split_column(loaded.columns[name]))
    single = (map(str, loaded.columns[name].values) for name in found.objects - found.lists)
    return set(chain(*listed, *single))
