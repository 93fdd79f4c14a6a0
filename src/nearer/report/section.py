"""What a section of the page is made of: words and drawings, which its template puts into place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from markupsafe import Markup

Results: TypeAlias = Mapping[str, Any]
#: What a template of a section is given.
Content: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """A section of the page: its anchor, its heading, and a template with what it is filled with."""

    name: str
    title: str
    template: str
    content: Content


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption."""

    drawing: Markup
    caption: str


def sentences(*said: str) -> str:
    """Return sentences as a paragraph; empty ones are left out."""
    return " ".join(filter(None, said))
