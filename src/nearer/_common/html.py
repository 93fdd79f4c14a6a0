"""What notebooks show of a value: a heading, lines of text and tables, in the colors of the notebook, light or dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from nearer._common.formatting import format_number, intcomma

MAX_ROWS = 10
_CELL = "padding:.15em .8em .15em 0;text-align:left;vertical-align:top"
# Of the text's own color, which notebooks choose: there is nothing to know about their background.
_LINE = "border-bottom:1px solid color-mix(in srgb,currentColor 25%,transparent)"


def html_block(
    title: str, lines: Sequence[str] = (), tables: Mapping[str, Sequence[Sequence[Any]]] | None = None
) -> str:
    """Return an HTML element; all that is passed in is text.

    Tables have their header first; of long ones the first rows are shown, and how many there are.

    Examples
    --------
    >>> "&lt;b&gt;" in html_block("Answers", ["<b>"])
    True
    """
    parts = [f"<strong>{escape(title)}</strong>"]
    if lines:
        parts.append(f'<div style="white-space:pre-wrap">{escape(_writable(chr(10).join(lines)))}</div>')
    for name, rows in (tables or {}).items():
        parts.append(_table(name, rows))
    return f'<div class="nearer-summary" style="line-height:1.5;max-width:60em;overflow-x:auto">{"".join(parts)}</div>'


def _table(name: str, rows: Sequence[Sequence[Any]]) -> str:
    header, *body = rows
    more = f", the first {MAX_ROWS} of {intcomma(len(body))} rows" if len(body) > MAX_ROWS else ""
    caption = f'<caption style="text-align:left;opacity:.75">{escape(name + more)}</caption>'
    lines = [_row(header, "th", f"{_CELL};{_LINE}"), *(_row(row, "td", _CELL) for row in body[:MAX_ROWS])]
    return f'<table style="border-collapse:collapse;margin:.5em 0">{caption}{"".join(lines)}</table>'


def _row(cells: Sequence[Any], tag: str, style: str) -> str:
    inner = "".join(f'<{tag} style="{style}">{escape(_text(cell))}</{tag}>' for cell in cells)
    return f"<tr>{inner}</tr>"


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    plain = cell.item() if hasattr(cell, "item") else cell
    return format_number(plain) if isinstance(plain, float) else _writable(str(plain))


def _writable(text: str) -> str:
    """Return text that can be written as UTF-8; half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
