"""The report's charts: error against chance and ceiling, margins, learning curve, scree, choice of dimension.

They are inline SVG whose colors are classes of the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearer._common.formatting import decimals, format_interval, format_number, percent, pluralize
from nearer.evaluation.curves import CHANCE
from nearer.plotting.fits import BEST_POSSIBLE, GUESSING, X_TITLE, Y_TITLE, CurveScale
from nearer.report.escaping import text
from nearer.study.figures import SHEPARD_X, SHEPARD_Y
from nearer.study.results import (
    CurveStep,
    DimensionRecord,
    DissimilarityRecord,
    ErrorRecord,
    FeatureRecord,
    MarginRecord,
)

WIDTH = 440.0
_LETTER_WIDTH = 8.0  # on average, where a narrow screen has large letters


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, at most so many."""
    span = max(high - low, 1e-12)
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * factor for factor in (1, 2, 5, 10, 20) if span / (unit * factor) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def nonempty(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, the upper one moved up if there is nothing between them."""
    nothing = high - low <= max(1e-9 * max(abs(low), abs(high)), 1e-100)
    return low, low + max(abs(low), 1.0) if nothing else high


@dataclass(frozen=True)
class Axes:
    """A frame that turns values into places of an SVG drawing; ends of an axis that are the same are moved apart."""

    x: tuple[float, float]
    y: tuple[float, float]
    height: float = 250.0
    left: float = 60.0
    top: float = 14.0
    bottom: float = 46.0
    right: float = 14.0

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, nonempty(*getattr(self, name)))

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
        x_name: Callable[[float], str] = format_number,
    ) -> list[str]:
        """Return the lines and labels of both axes; ``x_name`` writes the labels of the horizontal one."""
        floor = self.height - self.bottom
        parts = [line(self.left, floor, WIDTH - self.right, floor, "axis")]
        for value in ticks(*self.x) if x_ticks is None else x_ticks:
            parts += [
                line(self.at_x(value), floor, self.at_x(value), floor + 5, "axis"),
                label(self.at_x(value), floor + 19, x_name(value), "tick middle"),
            ]
        parts.append(label((self.left + WIDTH - self.right) / 2, self.height - 6, x_title, "title middle"))
        for value in ticks(*self.y, most=5) if y_ticks is None else y_ticks:
            parts += [
                line(self.left, self.at_y(value), WIDTH - self.right, self.at_y(value), "grid"),
                label(self.left - 8, self.at_y(value) + 4, format_number(value), "tick end"),
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


def label(x: float, y: float, content: str, kind: str) -> str:
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


def error_chart(error: ErrorRecord) -> Markup:
    """Draw the held-out errors and the ceiling with their intervals, a row each, and chance."""
    chance = error.chance
    rows = [
        (name, getattr(error, value), getattr(error, low), getattr(error, high), kind)
        for name, value, low, high, kind in (
            ("the map", "map", "map_low", "map_high", "accent"),
            ("what the method predicts", "held_out", "low", "high", "second"),
            (BEST_POSSIBLE, "ceiling", "ceiling_low", "ceiling_high", "plain"),
        )
        if getattr(error, value) is not None and (value != "held_out" or error.map is None or error.has_other_predictor)
    ]
    largest = max([chance, *(high if high is not None else value for _, value, _, high, _ in rows)])
    axes = Axes(x=(0.0, 1.06 * largest), y=(0.0, 1.0), height=82 + 40 * len(rows), left=18, top=30)
    floor = axes.height - axes.bottom
    parts = axes.frame("share of unseen comparisons that are wrong", y_ticks=())
    if best := error.informative_ceiling:
        parts.append(box(axes.at_x(0), axes.top - 6, axes.at_x(best.error), floor, "beyond"))
    parts += [
        line(axes.at_x(chance), 20, axes.at_x(chance), floor, "reference"),
        label(axes.at_x(chance), 14, GUESSING, "tick end"),
    ]
    for number, (name, value, low, high, kind) in enumerate(rows):
        y = axes.top + 28 + 40 * number
        if low is not None and high is not None:
            x1, x2 = axes.at_x(low), axes.at_x(high)
            parts.append(line(x1, y, x2, y, f"{kind} stroke"))
            parts += [line(x, y - 5, x, y + 5, f"{kind} stroke") for x in (x1, x2)]
        parts.append(dot(axes.at_x(value), y, kind, 5.5))
        words = f"{name}  {decimals(value)}"
        half = _LETTER_WIDTH * len(words) / 2  # moved aside where the drawing would cut the words off
        place = round(min(max(axes.at_x(value), half), WIDTH - half), 2)
        parts.append(label(place, y - 12, words, "name middle"))
    described = "; ".join(
        f"{name} {decimals(value)} ({format_interval(low, high) or 'no interval'})"
        for name, value, low, high, _ in rows
    )
    unknown = "" if error.ceiling is not None else f"; {BEST_POSSIBLE} not known"
    return axes.drawing(parts, f"Held-out error: {described}; {GUESSING} {decimals(chance)}{unknown}")


def shares_chart(sets: Sequence[FeatureRecord]) -> Markup:
    """Draw the shares of feature sets with their intervals, a row each."""
    axes = Axes(x=(0.0, 1.0), y=(0.0, 1.0), height=76 + 40 * len(sets), left=18, top=24)
    parts = axes.frame("share of the prior variance of the coordinates", y_ticks=())
    described = []
    for number, each in enumerate(sets):
        share, low, high = each.share or 0.0, each.share_low or 0.0, each.share_high or 0.0
        y = axes.top + 22 + 40 * number
        x1, x2 = axes.at_x(low), axes.at_x(high)
        parts.append(line(x1, y, x2, y, "accent stroke"))
        parts += [line(x, y - 5, x, y + 5, "accent stroke") for x in (x1, x2)]
        parts.append(dot(axes.at_x(share), y, "accent", 5.5))
        words = f"{each.name}  {decimals(share)}"
        half = _LETTER_WIDTH * len(words) / 2
        parts.append(label(round(min(max(axes.at_x(share), half), WIDTH - half), 2), y - 12, words, "name middle"))
        described.append(f"{each.name} {decimals(share)} ({format_interval(low, high)})")
    return axes.drawing(parts, f"Shares of features: {'; '.join(described)}")


def margins_chart(margins: MarginRecord) -> Markup:
    """Draw the histogram of margins; those below zero, which the map gets wrong, in the accent color."""
    edges, counts = margins.edges, margins.counts
    most = max([*counts, 1])
    axes = Axes(x=(edges[0], edges[-1]), y=(0.0, 1.06 * most), left=66)
    parts = axes.frame("margin", "comparisons")
    for left, right, many in zip(edges[:-1], edges[1:], counts, strict=True):
        kind = "accent bar" if right <= 1e-9 else "second bar"
        parts.append(box(axes.at_x(left), axes.at_y(many), axes.at_x(right), axes.at_y(0), kind))
    if edges[0] <= 0 <= edges[-1]:
        parts.append(line(axes.at_x(0), axes.top, axes.at_x(0), axes.at_y(0), "reference"))
    return axes.drawing(
        parts,
        f"Histogram of the margins of {pluralize(int(sum(counts)), 'comparison')} from {edges[0]:.3g} to "
        f"{edges[-1]:.3g}",
    )


def learning_chart(curve: Sequence[CurveStep], error: ErrorRecord | None) -> Markup:
    """Draw the held-out error against the number of comparisons learned from."""
    sizes, errors = [max(step.n_comparisons, 1) for step in curve], [step.error for step in curve]
    lows = [step.low if step.low is not None else step.error for step in curve]
    highs = [step.high if step.high is not None else step.error for step in curve]
    scale = CurveScale.of(sizes, highs)
    # Its x axis is of logarithms.
    axes = Axes(x=(math.log10(scale.x[0]), math.log10(scale.x[1])), y=scale.y)
    at_x = [axes.at_x(math.log10(size)) for size in sizes]
    parts = axes.frame(
        X_TITLE, Y_TITLE, x_ticks=[math.log10(size) for size in scale.ticks], y_ticks=scale.heights,
        x_name=lambda place: format_number(round(10**place)),
    )  # fmt: skip
    band = [(x, axes.at_y(high)) for x, high in zip(at_x, highs, strict=True)]
    band += [(x, axes.at_y(low)) for x, low in reversed(list(zip(at_x, lows, strict=True)))]
    parts.append(path(band, "accent band", closed=True))
    best = None if error is None else error.informative_ceiling
    references = {
        GUESSING: CHANCE if error is None else error.chance,
        BEST_POSSIBLE: None if best is None else best.error,
    }
    for name, height in references.items():
        if height is not None:
            y = axes.at_y(height)
            parts += [
                line(axes.left, y, axes.at_x(axes.x[1]), y, "reference"),
                label(axes.left + 6, y - 6, name, "tick"),
            ]
    places = [(x, axes.at_y(value)) for x, value in zip(at_x, errors, strict=True)]
    parts += [path(places, "accent stroke"), *(dot(x, y, "accent", 3.5) for x, y in places)]
    return axes.drawing(
        parts,
        "Learning curve: "
        + "; ".join(
            f"{pluralize(round(size), 'comparison')}, error {decimals(value)}"
            for size, value in zip(sizes, errors, strict=True)
        ),
    )


def shepard_chart(found: DissimilarityRecord) -> Markup:
    """Draw the distances on the map against the dissimilarities, and the line of disparities."""
    axes = Axes(x=(min(found.values), max(found.values)), y=(0.0, 1.05 * max((*found.distances, *found.disparities))))
    parts = axes.frame(SHEPARD_X, SHEPARD_Y)
    pairs = zip(found.values, found.distances, strict=True)
    parts += [dot(axes.at_x(value), axes.at_y(distance), "second", 2.2) for value, distance in pairs]
    ends = zip(found.values, found.disparities, strict=True)
    parts.append(path([(axes.at_x(value), axes.at_y(height)) for value, height in ends], "accent stroke"))
    return axes.drawing(parts, f"Shepard diagram of {pluralize(len(found.values), 'pair')}; stress {found.stress:.3f}")


def scree_chart(scree: Sequence[float]) -> Markup:
    """Draw the share of the map's variance along each axis."""
    total = sum(scree) or 1.0
    shares = [value / total for value in scree]
    axes = Axes(x=(0.4, len(shares) + 0.6), y=(0.0, 105 * max(shares) or 100.0))
    parts = axes.frame("axis of the map", "share of variance, %", x_ticks=_every_nth(range(1, len(shares) + 1)))
    for place, share in enumerate(shares, start=1):
        top = axes.at_y(100 * share)
        parts.append(box(axes.at_x(place - 0.32), top, axes.at_x(place + 0.32), axes.at_y(0), "second bar"))
    return axes.drawing(
        parts,
        "Share of variance: "
        + "; ".join(f"axis {place} {percent(share)}" for place, share in enumerate(shares, start=1)),
    )


def dimension_chart(choice: DimensionRecord) -> Markup:
    """Draw the error of each number of dimensions, with one standard error, and a ring around the chosen one."""
    candidates, errors = choice.candidates, choice.errors
    deviations = [value or 0.0 for value in choice.standard_errors or (0.0,) * len(errors)]
    lows = [max(value - deviation, 0.0) for value, deviation in zip(errors, deviations, strict=True)]
    highs = [value + deviation for value, deviation in zip(errors, deviations, strict=True)]
    room = 0.12 * (max(highs) - min(lows)) + 1e-6
    axes = Axes(x=(min(candidates) - 0.5, max(candidates) + 0.5), y=(max(min(lows) - room, 0.0), max(highs) + room))
    parts = axes.frame("dimensions", "held-out error of the map", x_ticks=_every_nth(candidates))
    places = [(axes.at_x(size), axes.at_y(value)) for size, value in zip(candidates, errors, strict=True)]
    parts.append(path(places, "second thin"))
    for (x, y), low, high in zip(places, lows, highs, strict=True):
        if high > low:
            y1, y2 = axes.at_y(low), axes.at_y(high)
            parts.append(line(x, y1, x, y2, "second stroke"))
            parts += [line(x - 4, end, x + 4, end, "second stroke") for end in (y1, y2)]
        parts.append(dot(x, y, "second"))
    if choice.chosen in candidates:
        x, y = places[list(candidates).index(choice.chosen)]
        parts.append(dot(x, y, "ring", 10))
    return axes.drawing(
        parts,
        "Held-out error: "
        + "; ".join(
            f"{pluralize(size, 'dimension')} {decimals(value)}" for size, value in zip(candidates, errors, strict=True)
        )
        + f"; chosen: {choice.chosen or 'none'}",
    )


def _every_nth(values: Sequence[int]) -> list[int]:
    """Return at most a dozen of whole numbers, evenly spaced, so that their labels do not touch."""
    return list(values)[:: -(-len(values) // 12)]
