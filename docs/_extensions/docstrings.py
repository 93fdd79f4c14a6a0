"""Docstrings are written for people who read the source; here they become what Sphinx reads.

Names such as ``embedding_`` and bars as in |x| are meant as they stand. An indented formula keeps its lines.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject

_QUOTED = re.compile(r"(``.*?``|:?\w*:?`[^`]*`)")
_COLON, _COMMA = "\ue000", "\ue001"  # stand in for what would be taken apart
_NAMES = re.compile(r"(:(?:ivar|vartype) )([^:]*, [^:]*)(:.*)")
_SPECIAL = re.compile(r"(\||(?<=\w)_(?!\w))")


def escaped(line: str) -> str:
    r"""Return a line in which bars and underscores at the end of names mean nothing special.

    Examples
    --------
    >>> escaped("shape (n_objects_, p), |x| and `embedding_`")
    'shape (n_objects\\_, p), \\|x\\| and `embedding_`'
    """
    parts = _QUOTED.split(line)
    parts[::2] = [_SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def readable(lines: list[str]) -> list[str]:
    """Return a docstring with formulas as literal blocks and everything else but code escaped."""
    result: list[str] = []
    keep_deeper_than: int | None = None  # the indentation of what began a block that stays as it is
    in_sections = False
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        in_sections |= bool(re.match("-{3,}$", line))
        if not line.strip():
            result.append(line)
            continue
        if keep_deeper_than is not None and depth <= keep_deeper_than:
            keep_deeper_than = None
        if keep_deeper_than is None:
            after_blank = number > 0 and not lines[number - 1].strip()
            if line.lstrip().startswith((".. ", ">>> ", "... ")):
                keep_deeper_than = depth
            elif depth >= 4 and after_blank and not in_sections:
                result += ["::", ""]
                keep_deeper_than = depth - 1
            else:
                line = escaped(line)
        result.append(line)
    return result


def _process(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)
    if what == "property":  # or napoleon would take what stands before a colon for a type
        lines[:] = [line.replace(":", _COLON) for line in lines]


def _restore(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Put colons back, and hold together attributes that share a description."""
    lines[:] = [line.replace(_COLON, ":") for line in lines]
    for number, line in enumerate(lines):
        if found := _NAMES.fullmatch(line):
            lines[number] = found[1] + found[2].replace(", ", _COMMA) + found[3]


def _skip(app: Sphinx, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what Python says of fields of named tuples, which docstrings tell, and what scikit-learn adds."""
    is_field = str(getattr(member, "__doc__", None)).startswith("Alias for field number")
    return True if is_field or re.fullmatch("set_.*_request", name) else None


def _finish(app: Sphinx, doctree: nodes.document) -> None:
    """Put commas back, and take links from words such as "shape" in types: some are names of methods elsewhere."""
    for text in list(doctree.findall(nodes.Text)):
        if _COMMA in text:
            text.parent.replace(text, nodes.Text(text.replace(_COMMA, ", ")))
    for link in list(doctree.findall(pending_xref)):
        if link.get("reftype") == "class" and link["reftarget"].islower() and "." not in link["reftarget"]:
            link.replace_self(link.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Read docstrings before napoleon turns their sections into fields."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-process-docstring", _restore, priority=900)
    app.connect("doctree-read", _finish)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # as the docstrings say
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
