"""Axes of small charts, drawn as inline SVG whose colours are classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearer.common.words import number
from nearer.report.escaping import text

WIDTH = 440.0


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, at most so many.

    Examples
    --------
    >>> ticks(0, 0.5)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    span = max(high - low, 1e-12)
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def apart(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, the upper one moved up if there is nothing between them.

    Examples
    --------
    >>> apart(0.0, 0.0), apart(0.0, 0.5)
    ((0.0, 1.0), (0.0, 0.5))
    """
    nothing = high - low <= max(1e-9 * max(abs(low), abs(high)), 1e-100)
    return low, low + max(abs(low), 1.0) if nothing else high


@dataclass(frozen=True)
class Axes:
    """A frame that turns values into places of an SVG drawing.

    Attributes
    ----------
    x, y : (float, float)
        Values at the left and right, and at the bottom and top. Where both are the same, the second is moved away.
    height : float
        Of the whole drawing; the width is the same for all charts.
    left, top, bottom : float
        Margins that labels need.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = 250.0
    left: float = 60.0
    top: float = 14.0
    bottom: float = 46.0
    right: float = 14.0

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, apart(*getattr(self, name)))

    def at_x(self, value: float) -> float:
        """Return the place of a value on the horizontal axis."""
        share = (value - self.x[0]) / (self.x[1] - self.x[0])
        return round(self.left + share * (WIDTH - self.left - self.right), 2)

    def at_y(self, value: float) -> float:
        """Return the place of a value on the vertical axis."""
        share = (value - self.y[0]) / (self.y[1] - self.y[0])
        return round(self.height - self.bottom - share * (self.height - self.bottom - self.top), 2)

    def frame(
        self,
        x_title: str,
        y_title: str = "",
        *,
        x_ticks: Iterable[float] | None = None,
        y_ticks: Iterable[float] | None = None,
        x_name: Callable[[float], str] = number,
    ) -> list[str]:
        """Return the lines and labels of both axes; ``x_name`` writes the labels of the horizontal one."""
        floor = self.height - self.bottom
        parts = [line(self.left, floor, WIDTH - self.right, floor, "axis")]
        for value in ticks(*self.x) if x_ticks is None else x_ticks:
            parts += [
                line(self.at_x(value), floor, self.at_x(value), floor + 5, "axis"),
                words(self.at_x(value), floor + 19, x_name(value), "tick middle"),
            ]
        parts.append(words((self.left + WIDTH - self.right) / 2, self.height - 6, x_title, "title middle"))
        for value in ticks(*self.y, most=5) if y_ticks is None else y_ticks:
            parts += [
                line(self.left, self.at_y(value), WIDTH - self.right, self.at_y(value), "grid"),
                words(self.left - 8, self.at_y(value) + 4, number(value), "tick end"),
            ]
        if y_title:
            middle = (self.top + floor) / 2
            parts.append(
                f'<text class="title middle" transform="translate(13 {middle:g}) rotate(-90)">{text(y_title)}</text>'
            )
        return parts

    def drawing(self, parts: Sequence[str], description: str) -> Markup:
        """Return the whole SVG element, with words for those who cannot see it."""
        size = f"0 0 {WIDTH:g} {self.height:g}"
        head = f'<svg class="chart" viewBox="{size}" role="img" aria-label="{text(description)}">'
        return Markup(f"{head}{''.join(parts)}</svg>")  # words were escaped as they were put in


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line."""
    return f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def words(x: float, y: float, content: str, kind: str) -> str:
    """Return a piece of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{text(content)}</text>'


def dot(x: float, y: float, kind: str, radius: float = 4.5) -> str:
    """Return a filled circle."""
    return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>'


def box(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a rectangle between two corners, the second being the lower right one."""
    return f'<rect class="{kind}" x="{x1:g}" y="{y1:g}" width="{max(x2 - x1, 0):g}" height="{max(y2 - y1, 0):g}"/>'


def path(places: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    """Return a line through places, or the area that it encloses."""
    steps = "L".join(f"{x:g} {y:g}" for x, y in places)
    return f'<path class="{kind}" d="M{steps}{"Z" if closed else ""}"/>'
