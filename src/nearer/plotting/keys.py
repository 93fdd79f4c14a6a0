"""Attributes as colors and shapes, their keys, and the axes between keys and title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nearer._common.figures import FAINT, INK
from nearer._common.formatting import format_number, quote_all
from nearer._common.progress import warn_caller
from nearer.plotting.papers import MM, Paper

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

#: The name of an attribute and its value for each object.
Attribute: TypeAlias = tuple[str, Sequence[Any]]
# Of Okabe and Ito (2008): told apart by the color-blind, and all but two of them in print without colors.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
COLORMAP = "viridis"  # from dark to bright all along, so that it can be read without colors
UNKNOWN_COLOR, OTHER_LABEL, UNKNOWN_LABEL = "#c8c8c8", "other", "not known"
# Lets a white dot be seen on white paper, and two dots of one color be told apart.
OUTLINE_COLOR = (0.0, 0.0, 0.0, 0.25)
_KEY_GAP_POINTS = 4.0  # points between keys
_MARGIN_POINTS = 3.0  # points that stay empty on each side
_MIN_AXES_POINTS = 40.0  # points that axes need to show anything
#: A figure for the screen, in letters that go with its eight inches.
SCREEN = Paper(width=8 / MM, font_size=8.0)


@dataclass(frozen=True)
class Encoding:
    """The colors or shapes of objects by an attribute, and the entries of its key."""

    name: str
    marks: list[Any]  # a color or a shape for each object
    words: dict[str, Any] = field(default_factory=dict)
    scale: ScalarMappable | None = None


def encode(
    n_objects: int, color_by: Attribute | None, shape_by: Attribute | None, palette: Mapping[str, str] | None
) -> tuple[Encoding | None, Encoding | None]:
    """Return the colors and the shapes of objects by their attributes."""
    for attribute in (color_by, shape_by):
        if attribute is not None and len(attribute[1]) != n_objects:
            name, values = attribute
            raise ValueError(f"{name} has {len(values)} values for {n_objects} objects; give one for each")
    color = None if color_by is None else as_colors(str(color_by[0]), color_by[1], palette)
    return color, None if shape_by is None else as_shapes(str(shape_by[0]), shape_by[1])


def as_colors(name: str, values: Sequence[Any], palette: Mapping[str, str] | None = None) -> Encoding:
    """Return a color for each value: along a scale for numbers, one for each word."""
    if not palette and all(value is None or isinstance(value, int | float | np.number) for value in values):
        return _colormapped(name, values)
    texts = [_as_word(value) for value in values]
    counts = Counter(text for text in texts if text is not None)
    chosen = dict(palette or {})
    _check_palette(name, chosen, sorted(counts))
    room = len(COLORS) - sum(color in COLORS for color in chosen.values())
    # The most frequent first, as on the page of a report, so that a word has one color in both.
    kept, rest = [word for word in sorted(counts, key=lambda word: (-counts[word], word)) if word not in chosen], []
    if len(kept) > room:
        kept, rest = kept[: room - 1], kept[room - 1 :]
        warn_caller(
            f"{name} has {len(counts)} values, more than colors that can be told apart; the rarest share one: "
            f"{quote_all(rest, 5)}. --colors, or palette=, gives each its own"
        )
    free = (color for color in COLORS if color not in chosen.values())
    colors = chosen | dict(zip(kept, free, strict=False)) | dict.fromkeys(rest, FAINT)
    words = {word: colors[word] for word in sorted(counts) if word not in rest} | ({OTHER_LABEL: FAINT} if rest else {})
    if None in texts:
        words[UNKNOWN_LABEL] = UNKNOWN_COLOR
    return Encoding(name, [UNKNOWN_COLOR if text is None else colors[text] for text in texts], words)


def as_shapes(name: str, values: Sequence[Any]) -> Encoding:
    """Return a shape for each word."""
    texts = [UNKNOWN_LABEL if value is None else str(_as_word(value)) for value in values]
    known = sorted(set(texts), key=lambda text: (text == UNKNOWN_LABEL, text))
    if len(known) > len(SHAPES):
        raise ValueError(
            f"{name} has {len(known)} values, and there are {len(SHAPES)} shapes; put values together, or color by it"
        )
    words = dict(zip(known, SHAPES, strict=False))
    return Encoding(name, [words[text] for text in texts], words)


def key_texts(*coded: Encoding | None) -> list[str]:
    """Return all that keys write, for the choice of fonts."""
    return [text for each in coded if each is not None for text in (each.name, *each.words)]


def _as_word(value: Any) -> str | None:
    if value is None:
        return None
    return format_number(float(value)) if isinstance(value, int | float | np.number) else str(value)


def _check_palette(name: str, palette: Mapping[str, str], known: Sequence[str]) -> None:
    from matplotlib.colors import is_color_like

    for word, color in palette.items():
        if word not in known:
            raise ValueError(f"{word!r} is no value of {name}; it has {quote_all(known, 10)}")
        if not is_color_like(color):
            raise ValueError(f"{color!r}, for {word!r}, is no color; give one as #0072b2, or by its name in English")


def _colormapped(name: str, values: Sequence[Any]) -> Encoding:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    numbers = np.array([np.nan if value is None else float(value) for value in values])
    if not np.isfinite(numbers).any():
        raise ValueError(f"{name} has no values to color by; choose another attribute")
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    scale = ScalarMappable(Normalize(low, high if high > low else low + 1), COLORMAP)
    marks = [UNKNOWN_COLOR if np.isnan(value) else tuple(scale.to_rgba(value)) for value in numbers]
    return Encoding(name, marks, {}, scale)


def draw_keys(ax: Axes, color: Encoding | None, shape: Encoding | None, mark: float) -> None:
    """Draw the keys to the right of axes that are on the figure of somebody else."""
    from matplotlib.legend import Legend

    top = 1.0
    for name, handles in _legend_entries(color, shape, mark):
        legend = Legend(
            ax, handles, [str(handle.get_label()) for handle in handles], title=name, loc="upper left",
            bbox_to_anchor=(1.01, top), alignment="left", frameon=False,
        )  # fmt: skip
        ax.add_artist(legend)
        top -= float(legend.get_window_extent().height) / float(ax.get_window_extent().height) + 0.03
    if color is not None and color.scale is not None:
        bar = ax.figure.colorbar(color.scale, ax=ax, shrink=0.4, anchor=(0.0, 0.0))
        bar.set_label(color.name, color=INK)


def _legend_entries(color: Encoding | None, shape: Encoding | None, mark: float) -> list[tuple[str, list[Artist]]]:
    """Return the keys to draw: one of colors and one of shapes, or one of both where they say the same."""
    from matplotlib.lines import Line2D

    keys = [] if shape is None else [(shape.name, [(word, INK, form) for word, form in shape.words.items()])]
    if color is not None and color.words:
        forms: dict[str, Any] = {}
        if shape is not None and shape.name == color.name:
            keys, forms = [], shape.words
        keys.append((color.name, [(word, tone, forms.get(word, "o")) for word, tone in color.words.items()]))
    look: dict[str, Any] = {"linestyle": "", "markersize": mark, "markeredgecolor": OUTLINE_COLOR}
    return [
        (name, [Line2D([], [], marker=form, color=tone, label=word, **look) for word, tone, form in entries])
        for name, entries in keys
    ]


def _draw_keys_below(figure: Figure, color: Encoding | None, shape: Encoding | None, size: float, mark: float) -> float:
    """Draw the keys at the foot of a figure and return how high they are, in points."""
    height = 0.0
    for name, handles in _legend_entries(color, shape, mark):
        height = _draw_legend(figure, name, handles, height)
    if color is None or color.scale is None:
        return height
    sheet = figure.get_size_inches() * 72
    foot, left = height + _KEY_GAP_POINTS + 1.5 * size, 2 * _KEY_GAP_POINTS / sheet[0]
    draw_colorbar(figure.add_axes((left, foot / sheet[1], 0.45, 0.6 * size / sheet[1])), color.scale)
    figure.text(left, (foot + 1.0 * size) / sheet[1], color.name, color=INK, va="bottom", parse_math=False)
    return foot + 2.4 * size + _KEY_GAP_POINTS


def _draw_legend(figure: Figure, name: str, handles: list[Artist], above: float) -> float:
    """Write a key in as many columns as fit, ``above`` points over the foot, and return where it ends."""
    width, height = figure.get_size_inches() * 72
    corner = (_KEY_GAP_POINTS / width, (above + _KEY_GAP_POINTS) / height)
    for columns in range(len(handles), 0, -1):
        legend = figure.legend(
            handles=handles, title=name, loc="lower left", bbox_to_anchor=corner,
            ncols=columns, alignment="left", frameon=False, borderpad=0, borderaxespad=0, handletextpad=0.2,
            handlelength=1.2, columnspacing=1.0, labelspacing=0.3, labelcolor=INK,
        )  # fmt: skip
        for text in (*legend.get_texts(), legend.get_title()):
            text.set(parse_math=False, color=INK)
        box = legend.get_window_extent()
        if columns == 1 or box.width * 72 / figure.dpi <= width - 2 * _KEY_GAP_POINTS:
            break
        legend.remove()
    return above + float(box.height) * 72 / figure.dpi + 2 * _KEY_GAP_POINTS


def draw_colorbar(place: Axes, scale: Any) -> Axes:
    """Draw a scale of colors from left to right."""
    bar = place.figure.colorbar(scale, cax=place, orientation="horizontal")
    bar.outline.set(visible=False)
    bar.ax.locator_params(nbins=4)
    bar.ax.tick_params(color=FAINT, labelcolor=INK)
    return bar.ax


def framed_axes(
    paper: Paper,
    shape: float,
    color: Encoding | None = None,
    form: Encoding | None = None,
    mark: float = 5.0,
    room: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
) -> Axes:
    """Return axes ``shape`` times as high as wide on a figure of their own, with keys below and the title above.

    ``mark`` is the width of a dot, ``room`` what texts of the axes need left, below, right and above, all in points.
    """
    size, width = paper.font_size, paper.width * MM * 72
    foot = _draw_keys_below(paper.figure(shape), color, form, size, mark)  # measured on a sheet that is thrown away
    top = 1.6 * (size + 1) if paper.title else 0.0
    height = width * shape + foot + top if paper.height is None else paper.height * MM * 72
    figure = paper.figure(height / width)
    _draw_keys_below(figure, color, form, size, mark)
    left, below, right, above = np.array(room) + _MARGIN_POINTS
    inner = (width - left - right, height - foot - top - below - above)
    if min(inner) < _MIN_AXES_POINTS:
        raise ValueError(
            f"on {paper.width:g} x {height / MM / 72:.0f} mm there is no room for what is drawn beside keys and texts; "
            "make it larger, or its letters smaller"
        )
    if paper.title:
        at = (_MARGIN_POINTS / width, 1 - _MARGIN_POINTS / height)
        figure.text(*at, paper.title, fontsize=size + 1, color=INK, va="top", parse_math=False)
    return figure.add_axes((left / width, (foot + below) / height, inner[0] / width, inner[1] / height))
