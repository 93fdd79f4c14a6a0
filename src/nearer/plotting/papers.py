"""Figures for papers: sizes in millimeters, fonts that have the letters of all labels, and reproducible files.

Text in PDF and SVG stays text, so that a journal can edit it, and no file holds a date.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from nearer._common.figures import new_figure
from nearer._common.files import atomic_path
from nearer._common.formatting import pluralize, quote_all
from nearer._common.progress import warn_caller

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MM = 1 / 25.4  # in inches
COLUMN = 85.0  # mm, the width of one column in most journals
#: Endings of files, and what in each of them would change from day to day.
FILE_METADATA: dict[str, Any] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {"Software": None}}
_FILE_SETTINGS: dict[Any, Any] = {
    "pdf.fonttype": 42,  # TrueType: type 3 cannot be edited
    "svg.fonttype": "none",  # text, not its outlines
    "svg.hashsalt": "nearer",  # names of parts are drawn at random without
}
# What papers are set in, best first; DejaVu Sans comes with matplotlib.
_PAPER_FONTS = ("Arial", "Liberation Sans", "DejaVu Sans")
# With letters of many scripts, best first; others are looked through by name.
_WIDE_FONTS = (
    "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "PingFang SC", "Hiragino Sans",
    "Microsoft YaHei", "SimHei", "Malgun Gothic", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Arial Unicode MS",
    "Noto Emoji", "Segoe UI Emoji", "Symbola",
)  # fmt: skip
# Have a box for everything, or signs of formulas where letters are.
_FONTS_WITHOUT_LETTERS = ("Last Resort", "LastResort", "Adobe Blank", "STIX", "cm", "Noto Color", "Apple Color")


def check_endings(paths: Sequence[str | PathLike[str]]) -> None:
    """Refuse files whose ending says no format."""
    for path in paths:
        if Path(path).suffix.lower() not in FILE_METADATA:
            raise ValueError(f"{path}: figures are written as .pdf, .svg or .png; give the file one of these endings")


@dataclass(frozen=True)
class Paper:
    """How large a figure is on paper, and its letters.

    Parameters
    ----------
    width : float
        In millimeters.
    height : float, optional
        In millimeters; left out, as high as what is drawn needs.
    font_size : float
        In points, of all letters but those of the title, which is one point larger.
    font : str, optional
        That of matplotlib's settings if left out.
    title : str, optional
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
    def text(self, labels: Iterable[str] = ()) -> Iterator[None]:
        """Have all text that is made inside set in this size and in fonts with the letters of these labels."""
        from matplotlib import rc_context

        fonts, size = fonts_for([*labels, self.title or ""], self.font), self.font_size
        sizes = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
        lines = {"axes.linewidth": 0.5, "xtick.major.width": 0.5, "ytick.major.width": 0.5}
        ticks = {"xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.major.pad": 2.0, "ytick.major.pad": 2.0}
        titles = {"legend.title_fontsize": size, "axes.titlesize": size + 1}
        look: dict[Any, Any] = {"font.family": fonts, **dict.fromkeys(sizes, size), **lines, **ticks, **titles}
        with rc_context(look), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph", UserWarning)  # reported when the fonts were chosen
            yield


def save_paper(ax: Axes, *paths: str | PathLike[str], dpi: float = 300.0) -> list[Path]:
    """Write the figure that axes are on into files as papers need them.

    Parameters
    ----------
    ax : Axes
    *paths : paths
        Ending in pdf, svg or png, which is the format. Folders are made.
    dpi : float
        Dots of a PNG, and of pictures in the others, on an inch.

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
    with rc_context(_FILE_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # told when the fonts were chosen
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(file) as part:
                figure.savefig(part, dpi=dpi, metadata=FILE_METADATA[file.suffix.lower()])
    return files


def fonts_for(labels: Iterable[str], font: str | None = None) -> list[str]:
    """Return the font asked for, and, with a warning, others of this machine for letters that it lacks."""
    first = _chosen_font(font)
    lacking = {label: missing for label in labels if (missing := _visible_characters(label) - _characters_of(first))}
    if not lacking:
        return [first]
    others, left = _fonts_covering(set().union(*lacking.values()))
    helped = [label for label, missing in lacking.items() if not missing & left]
    if helped:
        warn_caller(
            f"Glyphs of {pluralize(len(helped), 'label')} are not in the font {first}: {quote_all(helped, 5)}; "
            f"they are set in {_join_names(others)}. --font, or font=, chooses a font that has all"
        )
    bare = [label for label, missing in lacking.items() if missing & left]
    if bare:
        signs = ", ".join(f"{sign!r} (U+{ord(sign):04X})" for sign in sorted(left)[:5])
        warn_caller(
            f"Glyphs of {pluralize(len(bare), 'label')} are in no font of this machine: {quote_all(bare, 5)}, "
            f"which lack {signs}; boxes stand in their place. Install a font that has them, such as Noto Sans CJK for "
            "Chinese, Japanese and Korean, or Noto Emoji"
        )
    return [first, *others]


def paper_font() -> str:
    """Return what papers are set in, as far as it is here: Arial, one of the same widths, or that of matplotlib."""
    return next(name for name in _PAPER_FONTS if name in _installed_fonts())


def _join_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _chosen_font(font: str | None) -> str:
    """Return the font asked for, or the one that matplotlib would take."""
    here = _installed_fonts()
    if font is None:
        from matplotlib import rcParams

        settings: dict[Any, Any] = rcParams.copy()  # read one by one they name the backend, which loads pyplot
        wanted = [name for family in settings["font.family"] for name in settings.get(f"font.{family}", [family])]
        return next((name for name in wanted if name in here), "DejaVu Sans")
    same = {name.casefold(): name for name in sorted(here)}
    if font.casefold() not in same:
        import difflib

        alike = difflib.get_close_matches(font, sorted(here), n=3, cutoff=0.4) or sorted(here)[:3]
        raise ValueError(f"there is no font {font!r} on this machine; choose another, such as {_join_names(alike)}")
    return same[font.casefold()]


def _installed_fonts() -> set[str]:
    from matplotlib.font_manager import fontManager

    return set(fontManager.get_font_names())


def _visible_characters(label: str) -> set[str]:
    """Return the signs of a label that are seen: no spaces, no marks of direction, no variants of the sign before."""
    unseen = ("Cc", "Cf", "Zs", "Zl", "Zp")
    return {sign for sign in label if category(sign) not in unseen and not "\ufe00" <= sign <= "\ufe0f"}


@lru_cache(maxsize=512)
def _characters_of(font: str) -> frozenset[str]:
    """Return the signs that a font has; none where it cannot be read, as fonts of colored pictures."""
    from matplotlib.font_manager import fontManager, get_font

    faces = [face for face in fontManager.ttflist if face.name == font]
    try:
        upright = min(faces, key=lambda face: (face.style != "normal", str(face.weight) not in ("400", "normal")))
        return frozenset(map(chr, get_font(upright.fname).get_charmap()))
    except (ValueError, RuntimeError, OSError):
        return frozenset()


def _fonts_covering(signs: set[str]) -> tuple[list[str], set[str]]:
    """Return fonts of this machine that have signs, as few as need be, and the signs that none has."""
    here = _installed_fonts()
    order = [name for name in _WIDE_FONTS if name in here]
    order += sorted(name for name in here - {*order} if not name.startswith(_FONTS_WITHOUT_LETTERS))
    left, fonts = set(signs), []
    while left:
        best = max(order, key=lambda name: len(left & _characters_of(name)))  # of equals the first
        if not left & _characters_of(best):
            break
        fonts.append(best)
        left -= _characters_of(best)
    return fonts, left
