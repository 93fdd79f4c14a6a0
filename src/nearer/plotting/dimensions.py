"""Nonnegative dimensions on paper: a card for each, with its top objects, and the profiles of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT, INK, SECOND
from nearer.plotting.maps import read_pixels
from nearer.plotting.papers import Paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_TOP_BARS, N_TOP_PICTURES = 8, 6
_CARD_MM, _GAP_POINTS = 42.0, 9.0  # the least width of a card; between cards
_ROW_HEIGHT, _HEAD_HEIGHT, _NOTE_HEIGHT = 1.4, 1.8, 1.2  # heights of a letter
_LABEL_SHARE = 0.5  # of the width of a card with bars
_PICTURES_PER_ROW = 3


@dataclass(frozen=True)
class _Card:
    """What is drawn on a card: rows in order, and pictures of some of them, by their number."""

    title: str
    note: str
    names: Sequence[str]
    values: FloatArray
    intervals: FloatArray | None
    pictures: Mapping[int, Any] = field(default_factory=dict)


def plot_dimensions(
    weights: ArrayLike,
    labels: Sequence[str],
    titles: Sequence[str] | None = None,
    *,
    notes: Sequence[str] | None = None,
    intervals: ArrayLike | None = None,
    images: Mapping[int, Any] | None = None,
    n_top: int | None = None,
    paper: Paper | None = None,
) -> Axes:
    """Draw dimensions as cards: the objects of the largest weights, as bars, or as pictures where there are some.

    All bars are on one scale, so that dimensions can be compared.

    Parameters
    ----------
    weights : array-like, shape (n, p)
        Nonnegative, as `nearer.embedding.SPoSE` finds them.
    labels : sequence of str, length n
    titles, notes : sequence of str, length p, optional
        What dimensions are called, "dimension 1" and so on if left out, and a line below.
    intervals : array-like, shape (m, p, 2), optional
        Of the weights of the first m objects.
    images : mapping of int to path or array, optional
        Pictures by the number of the object.
    n_top : int, optional
        Objects on a card; 8, or 6 where there are pictures.
    paper : Paper, optional
        Size in millimeters and font.

    Returns
    -------
    Axes
        Of the first card; all are on its figure.

    Examples
    --------
    >>> ax = plot_dimensions([[2.0, 0.0], [1.0, 0.5], [0.0, 3.0]], ["cat", "dog", "car"], ["animal", "vehicle"])
    >>> len(ax.figure.axes), [text.get_text() for text in ax.texts[:3]]
    (2, ['animal', 'cat', 'dog'])
    """
    table, ends = _checked(weights, labels, intervals)
    pictures, p = dict(images or {}), table.shape[1]
    n_top = n_top or (N_TOP_PICTURES if pictures else N_TOP_BARS)
    titles = titles or [f"dimension {k + 1}" for k in range(p)]
    cards = []
    for k in range(p):
        top = _largest(table[:, k], n_top)
        shown = {row: pictures[index] for row, index in enumerate(top) if index in pictures}
        names = [str(labels[index]) for index in top]
        around = None if ends is None else ends[top, k]
        cards.append(_Card(titles[k], notes[k] if notes else "", names, table[top, k], around, shown))
    return _draw_cards(cards, _largest_end(table, ends), paper or Paper(), n_top, bool(pictures))


def plot_profiles(
    weights: ArrayLike,
    labels: Sequence[str],
    objects: Sequence[str],
    titles: Sequence[str] | None = None,
    *,
    intervals: ArrayLike | None = None,
    n_top: int = 10,
    paper: Paper | None = None,
) -> Axes:
    """Draw what objects consist of: the dimensions of the largest weights of each, as bars.

    Parameters
    ----------
    weights, labels, titles, intervals, paper
        As of `plot_dimensions`.
    objects : sequence of str
        The objects that get a card.
    n_top : int, default 10
        Dimensions on a card.

    Returns
    -------
    Axes
        Of the first card; all are on its figure.

    Examples
    --------
    >>> ax = plot_profiles([[2.0, 0.5], [0.0, 3.0]], ["cat", "car"], ["cat"], ["animal", "metallic"])
    >>> [text.get_text() for text in ax.texts]
    ['cat', 'animal', 'metallic']
    """
    table, ends = _checked(weights, labels, intervals)
    titles = titles or [f"dimension {k + 1}" for k in range(table.shape[1])]
    place = {str(label): row for row, label in enumerate(labels)}
    unknown = [name for name in objects if name not in place]
    if unknown or not objects:
        raise ValueError(f"profiles are of objects of the map; {', '.join(map(repr, unknown)) or 'none'} is not one")
    cards, most = [], 0
    for name in objects:
        row = place[name]
        top = _largest(table[row], n_top)
        around = None if ends is None else ends[row, top]
        cards.append(_Card(name, "", [titles[k] for k in top], table[row, top], around))
        most = max(most, len(top))
    return _draw_cards(cards, _largest_end(table, ends), paper or Paper(), max(most, 1), False)


def _checked(
    weights: ArrayLike, labels: Sequence[str], intervals: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return weights, and intervals of all objects, NaN where there are none."""
    table = np.asarray(weights, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1 or not (table >= 0).all() or len(labels) != len(table):
        raise ValueError(
            f"dimensions are drawn of weights of shape (n, p), 0 or more, and n labels; got the shape {table.shape} "
            f"and {len(labels)} labels"
        )
    if intervals is None:
        return table, None
    known = np.asarray(intervals, dtype=np.float64)
    ends = np.full((*table.shape, 2), np.nan)
    ends[: len(known)] = known
    return table, ends


def _largest(values: FloatArray, number: int) -> list[int]:
    """Return the positions of the largest values above 0, largest first."""
    order = np.argsort(-values, kind="stable")[:number]
    return [int(index) for index in order if values[index] > 0]


def _largest_end(table: FloatArray, ends: FloatArray | None) -> float:
    """Return the end of the scale of all bars."""
    reached = (
        [float(table.max())] if ends is None else [float(table.max()), float(np.nanmax(ends[table > 0], initial=0))]
    )
    return max(reached) or 1.0


def _draw_cards(cards: Sequence[_Card], scale: float, sheet: Paper, n_rows: int, pictured: bool) -> Axes:
    """Draw cards in rows on one figure."""
    width, size = sheet.width * 72 / 25.4, sheet.font_size
    n_columns = min(max(int(sheet.width // _CARD_MM), 1), len(cards))
    across = (width - _GAP_POINTS * (n_columns - 1)) / n_columns
    n_lines = -(-n_rows // _PICTURES_PER_ROW)
    tall = n_lines * (across / _PICTURES_PER_ROW + 1.3 * size) if pictured else n_rows * _ROW_HEIGHT * size
    head = (_HEAD_HEIGHT + (_NOTE_HEIGHT if any(card.note for card in cards) else 0.0)) * size
    high, above = tall + head, 2.2 * size if sheet.title else 0.0
    n_deep = -(-len(cards) // n_columns)
    total = above + n_deep * high + (n_deep - 1) * _GAP_POINTS
    with sheet.text([text for card in cards for text in (card.title, *card.names)]):
        figure = sheet.figure(total / width)
        if sheet.title:
            figure.text(
                0.0, 1 - 0.3 * size / total, sheet.title, va="top", fontsize=size + 1, color=INK, parse_math=False
            )
        for number, card in enumerate(cards):
            row, column = divmod(number, n_columns)
            left, top = column * (across + _GAP_POINTS), above + row * (high + _GAP_POINTS)
            place = (left / width, 1 - (top + high) / total, across / width, high / total)
            ax = figure.add_axes(place)
            ax.set(xlim=(0, across), ylim=(high, 0))
            ax.set_axis_off()
            _write(figure, ax, 0, 0.9 * size, card.title, across, weight="bold")
            if card.note:
                _write(figure, ax, 0, 2.1 * size, card.note, across, color="#5c5a57")
            draw = _draw_tiles if pictured else _draw_bars
            draw(figure, ax, card, across, head, size, scale)
    first: Axes = figure.axes[0]
    return first


def _write(figure: Figure, ax: Axes, x: float, y: float, text: str, room: float, **look: Any) -> None:
    """Write text that is cut off where it has no more room, in points."""
    written = ax.text(x, y, " ".join(text.split()), va="center", parse_math=False, **{"color": INK, **look})
    while len(written.get_text()) > 2:
        wide = float(written.get_window_extent().width) * 72 / figure.dpi
        if wide <= room:
            return
        kept = max(min(int(len(written.get_text()) * room / wide), len(written.get_text()) - 1) - 1, 1)
        written.set_text(written.get_text()[:kept].rstrip("… ") + "…")


def _draw_bars(figure: Figure, ax: Axes, card: _Card, across: float, top: float, size: float, scale: float) -> None:
    """Draw a row for each name: its label, its bar, and its interval."""
    start = _LABEL_SHARE * across
    unit = (across - start - 2) / scale
    for row, (name, value) in enumerate(zip(card.names, card.values.tolist(), strict=True)):
        y = top + (row + 0.5) * _ROW_HEIGHT * size
        _write(figure, ax, 0, y, name, start - 4)
        ax.barh(y, value * unit, 0.75 * size, left=start, color=SECOND, alpha=0.55, linewidth=0)
        if card.intervals is not None and np.isfinite(card.intervals[row]).all():
            ax.plot(start + card.intervals[row] * unit, [y, y], color=INK, linewidth=0.6, solid_capstyle="butt")
    ax.plot([start, start], [top, top + len(card.names) * _ROW_HEIGHT * size], color=FAINT, linewidth=0.5)


def _draw_tiles(figure: Figure, ax: Axes, card: _Card, across: float, top: float, size: float, scale: float) -> None:
    """Draw a picture for each name, with its label below; a label alone where there is none."""
    cell = across / _PICTURES_PER_ROW
    side = cell - 3
    for row, name in enumerate(card.names):
        down, right = divmod(row, _PICTURES_PER_ROW)
        x, y = right * cell, top + down * (cell + 1.3 * size)
        pixels = read_pixels(card.pictures[row], side) if row in card.pictures else None
        if pixels is not None:
            height, width = np.array(pixels.shape[:2]) * side / max(pixels.shape[:2])
            left, upper = x + (side - width) / 2, y + (side - height) / 2
            ax.imshow(
                pixels, extent=(left, left + width, upper + height, upper), aspect="auto", interpolation="lanczos"
            )
        _write(figure, ax, x, y + side + 0.8 * size, name, side)
    ax.set(xlim=(0, across), ylim=(ax.get_ylim()[0], 0))
