"""Fonts that have the letters of all labels: those asked for, and where they lack some, others of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import category

from nearer._common.formatting import pluralize, quote_all
from nearer._common.progress import warn_caller

# What papers are set in, best first; DejaVu Sans comes with matplotlib.
_OF_PAPERS = ("Arial", "Liberation Sans", "DejaVu Sans")
# With letters of many scripts, best first; others are looked through by name.
_WIDE = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "SimHei",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Symbola",
)
# Have a box for everything, or signs of formulas where letters are.
_NO_LETTERS = ("Last Resort", "LastResort", "Adobe Blank", "STIX", "cm", "Noto Color", "Apple Color")


def fonts_for(labels: Iterable[str], font: str | None = None) -> list[str]:
    """Return the font asked for, and others of this machine for letters that it lacks.

    Warns of labels with letters that it lacks: which font has them, or that none does.

    Parameters
    ----------
    labels : iterable of str
    font : str, optional
        That of matplotlib's settings if left out.

    Returns
    -------
    list of str
        Names of fonts; for each letter the first that has it is taken.

    Examples
    --------
    >>> fonts_for(["cat", "déjà vu"], "DejaVu Sans")
    ['DejaVu Sans']
    """
    first = _first(font)
    lacking = {label: missing for label in labels if (missing := _letters(label) - _glyphs(first))}
    if not lacking:
        return [first]
    others, left = _fonts_with(set().union(*lacking.values()))
    helped = [label for label, missing in lacking.items() if not missing & left]
    if helped:
        warn_caller(
            f"Glyphs of {pluralize(len(helped), 'label')} are not in the font {first}: {quote_all(helped, 5)}; "
            "they are set "
            f"in {listed_plainly(others)}. --font, or font=, chooses a font that has all"
        )
    bare = [label for label, missing in lacking.items() if missing & left]
    if bare:
        signs = ", ".join(f"{sign!r} (U+{ord(sign):04X})" for sign in sorted(left)[:5])
        warn_caller(
            f"Glyphs of {pluralize(len(bare), 'label')} are in no font of this machine: {quote_all(bare, 5)}, "
            "which lack "
            f"{signs}; boxes stand in their place. Install a font that has them, such as Noto Sans CJK for Chinese, "
            "Japanese and Korean, or Noto Emoji"
        )
    return [first, *others]


def font_of_papers() -> str:
    """Return what papers are set in, as far as it is here: Arial, one of the same widths, or that of matplotlib.

    Examples
    --------
    >>> font_of_papers() in ("Arial", "Liberation Sans", "DejaVu Sans")
    True
    """
    return next(name for name in _OF_PAPERS if name in _here())


def listed_plainly(names: Sequence[str]) -> str:
    """Return names as they are, separated by commas and a last "and".

    Examples
    --------
    >>> listed_plainly(["Arial"]), listed_plainly(["Arial", "Symbola"])
    ('Arial', 'Arial and Symbola')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first(font: str | None) -> str:
    """Return the font asked for, or the one that matplotlib would take."""
    here = _here()
    if font is None:
        from matplotlib import rcParams

        settings: dict[Any, Any] = dict(rcParams)
        wanted = [name for family in settings["font.family"] for name in settings.get(f"font.{family}", [family])]
        return next((name for name in wanted if name in here), "DejaVu Sans")
    same = {name.casefold(): name for name in sorted(here)}
    if font.casefold() not in same:
        import difflib

        alike = difflib.get_close_matches(font, sorted(here), n=3, cutoff=0.4) or sorted(here)[:3]
        raise ValueError(f"there is no font {font!r} on this machine; choose another, such as {listed_plainly(alike)}")
    return same[font.casefold()]


def _here() -> set[str]:
    from matplotlib.font_manager import fontManager

    return set(fontManager.get_font_names())


def _letters(label: str) -> set[str]:
    """Return the signs of a label that are seen: no spaces, no marks of direction, no variants of the sign before."""
    unseen = ("Cc", "Cf", "Zs", "Zl", "Zp")
    return {sign for sign in label if category(sign) not in unseen and not "\ufe00" <= sign <= "\ufe0f"}


@lru_cache(maxsize=512)
def _glyphs(font: str) -> frozenset[str]:
    """Return the signs that a font has; none where it cannot be read, as fonts of coloured pictures."""
    from matplotlib.font_manager import fontManager, get_font

    faces = [face for face in fontManager.ttflist if face.name == font]
    try:
        upright = min(faces, key=lambda face: (face.style != "normal", str(face.weight) not in ("400", "normal")))
        return frozenset(map(chr, get_font(upright.fname).get_charmap()))
    except (ValueError, RuntimeError, OSError):
        return frozenset()


def _fonts_with(signs: set[str]) -> tuple[list[str], set[str]]:
    """Return fonts of this machine that have signs, as few as need be, and the signs that none has."""
    here = _here()
    order = [name for name in _WIDE if name in here]
    order += sorted(name for name in here - {*order} if not name.startswith(_NO_LETTERS))
    left, fonts = set(signs), []
    while left:
        best = max(order, key=lambda name: len(left & _glyphs(name)))  # of equals the first
        if not left & _glyphs(best):
            break
        fonts.append(best)
        left -= _glyphs(best)
    return fonts, left
