"""Data become text on the page here, and never anything else.

Labels come from files of strangers. Templates escape what they are given, and drawings pass their words through `text`.
What the page's script reads passes through `json_block`, and the script hands it to ``textContent`` alone.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from jinja2 import Environment

# Inside <script>, HTML ends at "</script" and changes its rules at "<!--"; both begin with "<".
_HTML_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def text(value: Any) -> Markup:
    """Return a value as text for HTML, inside an element or a quoted attribute."""
    return escape(writable(value))


def writable(value: Any) -> str:
    """Return a value as a string that can be written as UTF-8; markup stays as it is.

    Half a surrogate pair, which comes from files in another encoding, becomes a question mark.
    """
    return value if isinstance(value, Markup) else str(value).encode("utf-8", "replace").decode("utf-8")


def json_block(value: Any) -> Markup:
    """Return JSON that is inert inside a ``<script type="application/json">`` element."""
    plain = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return Markup(plain.translate(_HTML_ESCAPES))  # nothing is left in it that HTML would read


def render(template: str, **content: Any) -> str:
    """Return a template of the package, filled in."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("nearer.report", "templates"),
        autoescape=True,
        finalize=writable,
        undefined=StrictUndefined,  # a name that a template misspells is an error, not a gap
        trim_blocks=True,
        lstrip_blocks=True,
    )
