"""Names of objects next to answers that hold their numbers, as in the files of THINGS and VICE."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import Any

from nearer._common.formatting import intcomma, quote
from nearer.data.labels import normalize_name
from nearer.io.answers import Answers, with_objects
from nearer.io.delimited import as_text, read_bytes

_NAME_COLUMNS = ("uniqueid", "name", "object", "label", "item", "word", "concept", "stimulus", "image")


def read_names(source: Any) -> list[str]:
    """Return names in the order of their numbers, from a file or a sequence.

    Examples
    --------
    >>> read_names(["aardvark", "abacus"])
    ['aardvark', 'abacus']
    """
    if not isinstance(source, str | PathLike):
        return [str(name) for name in source]
    path = Path(source)
    lines = [line for line in as_text(read_bytes(path), path.name).splitlines() if line.strip()]
    delimiter = next((each for each in ("\t", ",", ";") if each in lines[0]), None)
    if delimiter is None:
        names = [line.strip() for line in lines]
        return names[1:] if normalize_name(names[0]) in _NAME_COLUMNS else names
    header, *rows = csv.reader(lines, delimiter=delimiter)
    plain = [normalize_name(title) for title in header]
    column = next((plain.index(name) for name in _NAME_COLUMNS if name in plain), None)
    if column is None:
        raise ValueError(
            f"{path.name} has the columns {', '.join(map(quote, header))}, none of which is called uniqueID, name, "
            "object, label or item; name the column of names so, or give a file with a name a line"
        )
    return [row[column].strip() for row in rows]


def with_names(answers: Answers, source: Any) -> Answers:
    """Return answers about numbers as answers about the objects with these names.

    Numbers count from 0, or from 1 if the largest is the number of names.
    """
    names = read_names(source)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the names hold {quote(twice)} twice; names must be distinct, as those in unique_id.txt are")
    try:
        numbers = [int(label) for label in answers.comparisons.objects.tolist()]
    except ValueError:
        label = next(each for each in answers.comparisons.objects.tolist() if not str(each).isdigit())
        raise ValueError(
            f"{answers.source} calls an object {quote(str(label))}, which is no number of a name; leave names out"
        ) from None
    first = 1 if max(numbers) == len(names) and min(numbers) > 0 else 0
    if min(numbers) < first or max(numbers) - first >= len(names):
        raise ValueError(
            f"{answers.source} has objects {min(numbers)} to {intcomma(max(numbers))}, but there are "
            f"{intcomma(len(names))} names, which count from 0; give the names of these objects"
        )
    return with_objects(answers, [names[number - first] for number in numbers])
