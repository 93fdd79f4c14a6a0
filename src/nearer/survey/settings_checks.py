"""Where each setting stands in the file, and what is wrong with its value: a sentence that says what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from nearer._common.formatting import format_number, intcomma, quote
from nearer.survey.words import LANGUAGES

#: The least contrast of buttons against the page (WCAG 2.1, criterion 1.4.11).
LEAST_CONTRAST = 3.0

TABLES: dict[str, tuple[str, ...]] = {
    "": ("title", "question", "kind", "language"),
    "texts": ("welcome", "consent", "thanks"),
    "questions": ("per_person", "practice", "catch", "break_every", "dimensions"),
    "sampling": ("method", "test_share", "repeat_share"),
    "people": ("most_people", "pay", "completion_url", "completion_code"),
    "look": ("accent", "background"),
    "server": ("database",),
}
KEYS = {each: each.removesuffix("_people") for table in TABLES.values() for each in table}
TABLE_OF = {each: table for table, inside in TABLES.items() for each in inside}
_RANGES: dict[str, tuple[float, float]] = {
    "per_person": (1, 10_000), "practice": (0, 100), "catch": (0, 1000), "break_every": (0, 10_000),
    "dimensions": (1, 20), "test_share": (0, 1), "repeat_share": (0, 0.5), "most_people": (0, 10_000_000),
    "pay": (0, 1_000_000),
}  # fmt: skip
_FRACTIONS = ("test_share", "repeat_share", "pay")
_LONGEST = {"title": 200, "question": 500, "welcome": 20_000, "consent": 20_000, "thanks": 20_000}
_ONE_LINE = ("title", "question")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_CODE = re.compile(r"[A-Za-z0-9_-]{1,20}")
_DATABASE = re.compile(r"(sqlite|postgresql)(\+\w+)?://\S+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def place_of(setting: str) -> str:
    """Return how the file names a setting.

    Examples
    --------
    >>> place_of("most_people"), place_of("title")
    ('[people] most', 'title')
    """
    table = TABLE_OF[setting]
    return f"[{table}] {KEYS[setting]}" if table else KEYS[setting]


def wrong_values(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with values: which settings, and a sentence."""
    bad: set[str] = set()
    for key, value in values.items():
        said = _wrong_type(key, value) or _wrong_text(key, value) or (_CHECKS[key](value) if key in _CHECKS else "")
        if said:
            bad.add(key)
            yield (key,), f"{place_of(key)} {said}"
    shares = ("test_share", "repeat_share")
    if not bad & set(shares) and sum(values[each] for each in shares) > 1:
        yield shares, "[sampling] test_share and repeat_share are more than 1 together; make them smaller"
    colours = ("accent", "background")
    if not bad & set(colours) and (found := contrast(values["accent"], values["background"])) < LEAST_CONTRAST:
        yield (
            colours,
            f"[look] accent {values['accent']} can hardly be seen on background {values['background']}: their contrast "
            f"is {found:.1f} and must be at least {LEAST_CONTRAST:g}; make one darker or the other lighter",
        )


def _wrong_type(key: str, value: Any) -> str:
    if key not in _RANGES:
        return "" if isinstance(value, str) else f"must be text in double quotes, got {quote(value)}"
    least, most = _RANGES[key]
    wanted: Any = int | float if key in _FRACTIONS else int
    fits = isinstance(value, wanted) and not isinstance(value, bool) and least <= value <= most
    whole = "a number" if key in _FRACTIONS else "a whole number"
    return "" if fits else f"must be {whole} from {format_number(least)} to {format_number(most)}, got {quote(value)}"


def _wrong_text(key: str, value: Any) -> str:
    if not isinstance(value, str) or key == "database":
        return ""
    if found := _CONTROL.search(value):
        return f"has a character that nobody can see, {found[0]!a}; remove it"
    if key in _ONE_LINE and "\n" in value:
        return "must be a single line"
    most = _LONGEST.get(key, 2000)
    return f"has {intcomma(len(value))} characters; write at most {intcomma(most)}" if len(value) > most else ""


def _wrong_kind(kind: str) -> str:
    from nearer.design.active.pool import form_of

    try:
        form_of(kind)
    except ValueError as error:
        if "answers" in str(error):
            return f"is too much to choose from: {error}; write fewer, such as '2 of 8'"
        known = "'triplet', 'odd-one-out', 'most-central', or such as '2 of 8'"
        return f"must be {known}, got {quote(kind)}{_meant(kind, ('triplet', 'odd-one-out', 'most-central'))}"
    return ""


def _wrong_language(language: str) -> str:
    return "" if language in LANGUAGES else f"must be one of {', '.join(sorted(LANGUAGES))}, got {quote(language)}"


def _wrong_method(method: str) -> str:
    known = ("active", "random")
    return "" if method in known else f"must be 'active' or 'random', got {quote(method)}{_meant(method, known)}"


def _meant(said: str, known: tuple[str, ...]) -> str:
    alike = get_close_matches(said.lower()[:60], known, n=1)
    return f"; did you mean {alike[0]!r}?" if alike else ""


def _wrong_url(url: str) -> str:
    if not url:
        return ""
    wanted = "must be an address that begins with https:// or http://, or empty"
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return f"{wanted}, got {quote(url)}"
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\\\"<>]", url):
        return f"{wanted}, got {quote(url)}"
    if "{" in host or "}" in host:
        return "must not have {code} in the name of the server; put it behind a /"
    left = url.replace("{code}", "")
    return "may have {code}, in small letters, and no other braces" if "{" in left or "}" in left else ""


def _wrong_code(code: str) -> str:
    if _CODE.fullmatch(code):
        return ""
    return f"must be 'each', or a code of up to 20 letters, digits, - and _, got {quote(code)}"


def _wrong_colour(colour: str) -> str:
    return "" if _COLOUR.fullmatch(colour) else f"must be a colour such as #1f5fbf, got {quote(colour)}"


def _wrong_database(database: str) -> str:
    # What arrived is not quoted: it may hold a password, and messages end in logs.
    if not database or _DATABASE.fullmatch(database):
        return ""
    return "must be such as postgresql://user:password@host/name, or empty for a file in this folder"


_CHECKS: dict[str, Callable[[str], str]] = {
    "question": lambda question: "" if question else "must not be empty; write what people are asked",
    "kind": _wrong_kind, "language": _wrong_language, "method": _wrong_method, "completion_url": _wrong_url,
    "completion_code": _wrong_code, "accent": _wrong_colour, "background": _wrong_colour, "database": _wrong_database,
}  # fmt: skip


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.1 defines it.

    Examples
    --------
    >>> contrast("#000000", "#ffffff"), round(contrast("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return round((light + 0.05) / (dark + 0.05), 9)


def _luminance(colour: str) -> float:
    coded = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in coded)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
