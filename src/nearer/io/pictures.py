"""Objects that one column shows as a picture in HTML and another names by its address.

Experiments in a browser often show the anchor as ``<img src='cat.png'>`` and list the options as ``cat.png``. They are
the same objects, and are called by the address, if at least one address is the name of an object elsewhere in the
table. Where all objects are HTML they stay as they are written, unless jsPsych wrote them: its buttons are HTML, of
which all but the address is how they look.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from nearer.io.answers import Answers
from nearer.io.layouts import ANSWERS, LISTS, TWO, Found
from nearer.io.lists import split_column
from nearer.io.table import Loaded, merged

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
