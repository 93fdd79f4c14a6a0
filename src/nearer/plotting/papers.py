"""Figures for papers: sizes in millimetres, fonts of a given size, and files that are the same each time.

Text in PDF and SVG stays text, so that a journal can edit it, and no file holds a date.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._common.figures import new_figure
from nearer._common.files import whole_file
from nearer.plotting.glyphs import fonts_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MM = 1 / 25.4  # in inches
COLUMN = 85.0  # mm, the width of one column in most journals
#: Endings of files, and what in each of them would change from day to day.
DATES: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
    ".png": {"Software": None},
}
_FILES: dict[Any, Any] = {
    "pdf.fonttype": 42,  # TrueType: type 3 cannot be edited
    "svg.fonttype": "none",  # text, not its outlines
    "svg.hashsalt": "nearer",  # names of parts are drawn at random without
}


def check_endings(paths: Sequence[str | PathLike[str]]) -> None:
    """Refuse files whose ending says no format.

    Examples
    --------
    >>> check_endings(["map.pdf", "map.jpeg"])
    Traceback (most recent call last):
    ValueError: map.jpeg: figures are written as .pdf, .svg or .png; give the file one of these endings
    """
    for path in paths:
        if Path(path).suffix.lower() not in DATES:
            raise ValueError(f"{path}: figures are written as .pdf, .svg or .png; give the file one of these endings")


@dataclass(frozen=True)
class Paper:
    """How large a figure is on paper, and its letters.

    Parameters
    ----------
    width : float
        In millimetres.
    height : float, optional
        In millimetres; left out, as high as what is drawn needs.
    font_size : float
        In points, of all letters but those of the title, which is one point larger.
    font : str, optional
        That of matplotlib's settings if left out.
    title : str, optional

    Examples
    --------
    >>> (Paper(85, 60).figure().get_size_inches() * 25.4).round(6)
    array([85., 60.])
    """

    width: float = COLUMN
    height: float | None = None
    font_size: float = 7.0
    font: str | None = None
    title: str | None = None

    def figure(self, shape: float = 1.0) -> Figure:
        """Return an empty figure, ``shape`` times as high as wide if its height is open."""
        height = self.width * shape if self.height is None else self.height
        return new_figure(self.width * MM, height * MM, constrained=False)

    @contextmanager
    def text(self, labels: Iterable[str] = ()) -> Iterator[list[str]]:
        """Have all text that is made inside set in fonts with the letters of these labels, which are given back."""
        fonts = fonts_for([*labels, self.title or ""], self.font)
        with text_of(self.font_size, fonts):
            yield fonts


@contextmanager
def text_of(size: float, fonts: Sequence[str]) -> Iterator[None]:
    """Have all text that is made inside as large as this and in these fonts, and lines to go with it."""
    from matplotlib import rc_context

    sizes = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    lines = {"axes.linewidth": 0.5, "xtick.major.width": 0.5, "ytick.major.width": 0.5}
    ticks = {"xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.major.pad": 2.0, "ytick.major.pad": 2.0}
    titles = {"legend.title_fontsize": size, "axes.titlesize": size + 1}
    look: dict[Any, Any] = {"font.family": list(fonts), **dict.fromkeys(sizes, size), **lines, **ticks, **titles}
    with rc_context(look), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # told when the fonts were chosen
        yield


def save_paper(ax: Axes, *paths: str | PathLike[str], dpi: float = 300.0) -> list[Path]:
    """Write the figure that axes are on into files as papers need them, the format by the ending.

    Parameters
    ----------
    ax : Axes
    *paths : paths
        Ending in pdf, svg or png. Folders are made.
    dpi : float
        Dots of a PNG, and of pictures in the others, on an inch.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import tempfile
    >>> from nearer.plotting import plot_map
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = save_paper(plot_map([[0, 0], [1, 1]], ["a", "b"]), f"{folder}/map.pdf", f"{folder}/map.svg")
    >>> [file.name for file in files]
    ['map.pdf', 'map.svg']
    """
    from matplotlib import rc_context

    check_endings(paths)
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes without a figure draw nothing"
    files = [Path(path) for path in paths]
    with rc_context(_FILES), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # told when the fonts were chosen
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(file) as part:
                figure.savefig(part, dpi=dpi, metadata=DATES[file.suffix.lower()])
    return files
