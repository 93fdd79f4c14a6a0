"""Templates: the page's HTML is in files, and all that is put into it is escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from nearer.report.escaping import writable

if TYPE_CHECKING:
    from jinja2 import Environment


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
