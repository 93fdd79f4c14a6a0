"""The settings of a study: the file study.toml, read and checked.

A key in a table of the file and a field of `Settings` have the same name, but for ``most`` below ``[people]``, which is
``most_people``. All problems are found at once: `gather_settings` goes on with the default of a setting that is wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from nearer._common.formatting import format_number, intcomma, quote

SETTINGS_FILE = "study.toml"
MIN_CONTRAST = 3.0  # of buttons against the page (WCAG 2.1, criterion 1.4.11)
CONDITIONS = "conditions"  # a table of tables, one for each condition
TABLES: dict[str, tuple[str, ...]] = {
    "": ("title", "question", "kind", "language", "features"),
    "texts": ("welcome", "consent", "instructions", "thanks"),
    "questions": (
        "per_person",
        "practice",
        "catch",
        "break_every",
        "dimensions",
        "cant_tell",
        "question_list",
        "list_order",
        "after_list",
    ),
    "sampling": ("method", "test_share", "repeat_share"),
    "people": ("most_people", "pay", "completion_url", "completion_code"),
    "data_protection": (
        "responsible",
        "contact",
        "purpose",
        "storage_place",
        "storage_period",
        "authority",
        "notice",
    ),
    "look": ("accent", "background"),
    "server": ("database",),
}
KEYS = {each: each.removesuffix("_people") for table in TABLES.values() for each in table}
TABLE_OF = {each: table for table, inside in TABLES.items() for each in inside}
_MAX_FILE_BYTES = 2**20
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
_UNQUOTED_TEXT = re.compile(r"\s*[\w-]+\s*=\s*[A-Za-z#/]")
RANGES: dict[str, tuple[float, float]] = {
    "per_person": (1, 10_000), "practice": (0, 100), "catch": (0, 1000), "break_every": (0, 10_000),
    "dimensions": (1, 20), "test_share": (0, 1), "repeat_share": (0, 0.5), "most_people": (0, 10_000_000),
    "pay": (0, 1_000_000),
}  # fmt: skip
_FRACTIONS = ("test_share", "repeat_share", "pay")
MAX_CHARACTERS = {"title": 200, "question": 500, "welcome": 20_000, "consent": 20_000, "thanks": 20_000}
MAX_CHARACTERS |= {"instructions": 20_000, "notice": 20_000}
_ONE_LINE = ("title", "question")
_KINDS = ("triplet", "odd-one-out", "most-central")
_CHOICES = {"method": ("active", "random"), "list_order": ("random", "given"), "after_list": ("end", "continue")}
#: What a notice on data protection says of the study, and the languages of the templates that say it.
NOTICE_LANGUAGES = ("en", "de")
FACTS = ("responsible", "contact", "purpose", "storage_place", "storage_period", "authority")
_CONDITION_NAME = re.compile(r"[\w .-]{1,40}", re.ASCII)
_MAX_SHARE = 100
_BRACES = re.compile(r"\{\w*\}")
_GRID = re.compile(r"\d+\s*of\s*\d+")
_COLOR = (re.compile(r"#[0-9a-fA-F]{6}"), "a color such as #1f5fbf")
#: What a text must look like, and how a message says so.
PATTERNS: dict[str, tuple[re.Pattern[str], str]] = {
    "completion_code": (re.compile(r"[\w-]{1,20}", re.ASCII), "'each', or a code of up to 20 letters, digits, - and _"),
    "accent": _COLOR,
    "background": _COLOR,
    "database": (
        re.compile(r"(?:(?:sqlite|postgresql)(?:\+\w+)?://\S+)?"),
        "such as postgresql://user:password@host/name, or empty for a file in this folder",
    ),
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a study, or that deserves a second look: where, and what to do.

    An error must be put right before anyone takes part. ``settings`` are those that it is about.
    """

    severity: Literal["error", "warning"]
    file: str
    message: str
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity}: {self.file}: {self.message}"


def setting_problem(severity: Literal["error", "warning"], key: str, message: str) -> Problem:
    """Return a problem with the value of a setting; the message goes on from the setting's name."""
    return Problem(severity, SETTINGS_FILE, f"{setting_name(key)} {message}", (key,))


@dataclass(frozen=True)
class Condition:
    """A condition of a study: its share of the participants, and what is different in it; "" as in the study."""

    name: str
    share: int = 1  # in proportion to those of the other conditions
    question: str = ""
    instructions: str = ""
    question_list: str = ""


@dataclass(frozen=True)
class Settings:
    """What a study asks, whom, and how it looks; templates/study.toml says what each setting means."""

    title: str = ""
    question: str = "Which of the two is more like the one at the top?"
    kind: str = "triplet"
    language: str = "en"
    features: tuple[str, ...] = ()
    welcome: str = (
        "Thank you for your interest in this study.\n\n"
        "You will see some questions, one after the other. There are no right or wrong answers: go by your first "
        "impression."
    )
    consent: str = ""
    instructions: str = ""
    thanks: str = "Thank you for taking part."
    per_person: int = 60
    practice: int = 2
    catch: int = 0
    break_every: int = 30
    dimensions: int = 2
    cant_tell: bool = False
    question_list: str = ""
    list_order: Literal["random", "given"] = "random"
    after_list: Literal["end", "continue"] = "end"
    method: Literal["active", "random"] = "active"
    test_share: float = 0.1
    repeat_share: float = 0.05
    most_people: int = 0
    pay: float = 0.0
    completion_url: str = ""
    completion_code: str = "each"
    responsible: str = ""
    contact: str = ""
    purpose: str = ""
    storage_place: str = ""
    storage_period: str = ""
    authority: str = ""
    notice: str = ""
    accent: str = "#1f5fbf"
    background: str = "#ffffff"
    database: str = field(default="", repr=False)  # it may hold a password
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        from nearer.design.active.pool import form_of

        problems = list(_check_values(vars(self)))
        if problems:
            raise ValueError("\n".join(problem.message for problem in problems))
        object.__setattr__(self, "kind", form_of(self.kind).name)
        given: Any = self.features
        files = [given] if isinstance(given, str) else given
        object.__setattr__(self, "features", tuple(each.strip() for each in files if each.strip()))
        for share in _FRACTIONS:
            object.__setattr__(self, share, float(getattr(self, share)))

    def in_condition(self, name: str) -> Condition:
        """Return what is asked in a condition; "" for people who are in none."""
        own = next((each for each in self.conditions if each.name == name), Condition(name))
        given = {key: getattr(own, key) or getattr(self, key) for key in ("question", "instructions", "question_list")}
        return replace(own, **given)


DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Settings)}


def read_settings(path: Path) -> Settings:
    """Return the settings in study.toml, given the file or its folder; raise ValueError with a line for each error."""
    settings, problems = gather_settings(path)
    if problems:
        raise ValueError("\n".join(f"{path}: {problem.message}" for problem in problems))
    return settings


def gather_settings(path: Path) -> tuple[Settings, list[Problem]]:
    """Return the settings that a file gives, and the problems with it; a setting that is wrong has its default."""
    try:
        tables = _read_toml(path / SETTINGS_FILE if path.is_dir() else path)
    except ValueError as error:
        return Settings(), [Problem("error", SETTINGS_FILE, str(error))]
    given: dict[str, Any] = {}
    problems: list[Problem] = []
    for found in _settings_in(tables):
        if isinstance(found, Problem):
            problems.append(found)
        else:
            key, value = found
            given[key] = value.strip() if isinstance(value, str) else value
    wrong = list(_check_values({**DEFAULTS, **given}))
    rejected = {key for problem in wrong for key in problem.settings}
    return Settings(**{key: value for key, value in given.items() if key not in rejected}), problems + wrong


def setting_name(setting: str) -> str:
    """Return the name of a setting in the file, such as "[people] most" for most_people."""
    if setting == CONDITIONS:
        return f"[{CONDITIONS}]"
    table = TABLE_OF[setting]
    return f"[{table}] {KEYS[setting]}" if table else KEYS[setting]


@cache
def translations() -> dict[str, dict[str, str]]:
    """Return the texts that the pages for participants show around those of the study, by language."""
    return tomllib.loads((resources.files("nearer.survey") / "translations.toml").read_text(encoding="utf-8"))


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colors, from 1 to 21, as WCAG 2.1 defines it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return round((light + 0.05) / (dark + 0.05), 9)


def _luminance(color: str) -> float:
    coded = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in coded)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise ValueError with the line in which it is not TOML."""
    if not path.is_file():
        raise ValueError("there is no such file; `nearer survey new FOLDER` makes one")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}; check its permissions") from None
    if len(data) > _MAX_FILE_BYTES:
        raise ValueError(f"it has {intcomma(len(data))} bytes, far more than any settings; is it another file?")
    try:
        # Editors on Windows put a mark before the text, which TOML does not know.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text; save the file with the encoding UTF-8") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what = str(error)  # has the line in no other form before Python 3.14
        at = _TOML_LINE.search(what)
        line = int(at[1]) if at else max(len(text.splitlines()), 1)
        shown = (text.splitlines() or [""])[line - 1 : line] or [""]
        raise ValueError(f"line {line}: {_TOML_LINE.sub('', what)}.{_quoting_hint(shown[0])}") from None
    except RecursionError:
        raise ValueError("its values are nested too deeply; each setting is a text or a number") from None


def _quoting_hint(line: str) -> str:
    if re.search("[\u201c\u201d\u201e\u2018\u2019]", line):
        return ' Write straight quotes, "so", not curly ones'
    return ' Text must be in double quotes, "so"' if _UNQUOTED_TEXT.match(line) else ""


def _settings_in(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any] | Problem]:
    """Yield settings with their values, and a problem for everything that is not a setting."""
    for key, value in tables.items():
        if key == CONDITIONS:
            yield from _conditions_in(value)
        elif key in TABLES and key:
            if isinstance(value, dict):
                yield from _settings_of_table(key, value)
            else:
                advice = f"write [{key}] on a line of its own, and its settings below"
                yield Problem("error", SETTINGS_FILE, f"{key} is a table: {advice}")
        elif isinstance(value, dict):
            known = {each: f"[{each}]" for each in (*TABLES, CONDITIONS) if each}
            hint = _did_you_mean(key, known) or f"; there are {', '.join(known)}"
            yield Problem("error", SETTINGS_FILE, f"there is no table {quote(key)}{hint}")
        else:
            yield from _settings_of_table("", {key: value})


def _conditions_in(tables: Any) -> Iterator[tuple[str, Any] | Problem]:
    """Yield the conditions as one setting, or a problem for everything that is wrong with them."""
    found: list[Condition] = []
    keys = [each.name for each in fields(Condition)][1:]
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        yield Problem("error", SETTINGS_FILE, "write [conditions.NAME] on a line of its own for each condition")
        return
    for name, values in tables.items():
        unknown = [key for key in values if key not in keys]
        for key in unknown:
            hint = _did_you_mean(key, {each: each for each in keys}) or f"; there are {', '.join(keys)}"
            yield Problem("error", SETTINGS_FILE, f"there is no setting {quote(key)} in [conditions.{name}]{hint}")
        if not unknown:
            given: dict[str, Any] = {key: v.strip() if isinstance(v, str) else v for key, v in values.items()}
            found.append(Condition(name, **given))
    if len(found) == len(tables):
        yield CONDITIONS, tuple(found)


def _settings_of_table(table: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any] | Problem]:
    own = {KEYS[each]: each for each in TABLES[table]}
    by_key = {key: each for each, key in KEYS.items()}
    where = f"in [{table}]" if table else "above the tables"
    for key, value in values.items():
        if key in own:
            yield own[key], value
        elif key in by_key:
            home = TABLE_OF[by_key[key]]
            target = f"below [{home}]" if home else "above the first table"
            yield Problem("error", SETTINGS_FILE, f"{key} is {where}; move it {target}")
        else:
            similar = get_close_matches(key, own, n=1) or get_close_matches(key, by_key, n=1)
            hint = f"; did you mean {setting_name(by_key[similar[0]])}?" if similar else f"; there are {', '.join(own)}"
            yield Problem("error", SETTINGS_FILE, f"there is no setting {quote(key)} {where}{hint}")


def _did_you_mean(given: str, known: Mapping[str, str]) -> str:
    """Return a hint at the most similar of some names, which are shown as their values; "" if none is similar."""
    similar = get_close_matches(given.lower()[:60], known, n=1)
    return f"; did you mean {known[similar[0]]}?" if similar else ""


def _check_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems with the values of all settings."""
    wrong: set[str] = set()
    for key, value in values.items():
        message = _type_error(key, value) or _text_error(key, value) or _CHECKS.get(key, _pattern_error)(key, value)
        if message:
            wrong.add(key)
            yield setting_problem("error", key, message)
    shares = ("test_share", "repeat_share")
    if not wrong & set(shares) and sum(values[each] for each in shares) > 1:
        message = "[sampling] test_share and repeat_share add up to more than 1; make them smaller"
        yield Problem("error", SETTINGS_FILE, message, shares)
    if not wrong & {*FACTS, "notice", "language"} and (message := _notice_gap(values)):
        yield Problem("error", SETTINGS_FILE, f"[data_protection] {message}", (*FACTS, "notice"))
    accent, background = values["accent"], values["background"]
    if not wrong & {"accent", "background"} and (found := contrast(accent, background)) < MIN_CONTRAST:
        message = (
            f"[look] accent {accent} can hardly be seen on background {background}: their contrast is {found:.1f} and "
            f"must be at least {MIN_CONTRAST:g}; make one darker or the other lighter"
        )
        yield Problem("error", SETTINGS_FILE, message, ("accent", "background"))


def _notice_gap(values: Mapping[str, Any]) -> str:
    """Return what the notice on data protection lacks; "" if nothing, or if there is no notice."""
    notice, language = values["notice"], values["language"]
    missing = [key for key in FACTS if not values[key] and (not notice or f"{{{key}}}" in notice)]
    if missing and (notice or len(missing) < len(FACTS)):
        return f"lacks {', '.join(missing)}, which the notice to participants needs; add them"
    if missing or notice or language in NOTICE_LANGUAGES:
        return ""
    return f"has a template in {' and '.join(NOTICE_LANGUAGES)}, and language is {language!r}; write a notice yourself"


def _conditions_error(_: str, conditions: tuple[Condition, ...]) -> str:
    """Return what is wrong with the first condition of which something is; "" if nothing is."""
    for each in conditions:
        where = f"{quote(each.name)}: "
        if not _CONDITION_NAME.fullmatch(each.name):
            return f"{where}name a condition with up to 40 letters, digits, spaces, points, - and _"
        if not isinstance(each.share, int) or isinstance(each.share, bool) or not 1 <= each.share <= _MAX_SHARE:
            return f"{where}share must be a whole number from 1 to {_MAX_SHARE}, got {quote(each.share)}"
        for key in ("question", "instructions", "question_list"):
            value = getattr(each, key)
            if message := _type_error(key, value) or (value and _text_error(key, value)):
                return f"{where}{key} {message}"
    return "has one condition alone; write two or more, or none" if len(conditions) == 1 else ""


def _type_error(key: str, value: Any) -> str:
    if key == CONDITIONS:
        return ""  # checked as a whole
    if key == "cant_tell":
        return "" if isinstance(value, bool) else f"must be true or false, got {quote(value)}"
    if key == "features":
        is_list = isinstance(value, list | tuple) and all(isinstance(each, str) and each.strip() for each in value)
        form = 'must be the name of a file, or a list of such names, such as ["features.csv"]'
        return "" if is_list or isinstance(value, str) else f"{form}, got {quote(value)}"
    if key not in RANGES:
        return "" if isinstance(value, str) else f"must be text in double quotes, got {quote(value)}"
    least, most = RANGES[key]
    wanted: Any = int | float if key in _FRACTIONS else int
    fits = isinstance(value, wanted) and not isinstance(value, bool) and least <= value <= most
    noun = "a number" if key in _FRACTIONS else "a whole number"
    return "" if fits else f"must be {noun} from {format_number(least)} to {format_number(most)}, got {quote(value)}"


def _text_error(key: str, value: Any) -> str:
    if not isinstance(value, str) or key == "database":
        return ""
    if found := _CONTROL.search(value):
        return f"has an invisible character, {found[0]!a}; remove it"
    if key in _ONE_LINE and "\n" in value:
        return "must be a single line"
    if key == "question" and not value:
        return "must not be empty; write what people are asked"
    most = MAX_CHARACTERS.get(key, 2000)
    return f"has {intcomma(len(value))} characters; write at most {intcomma(most)}" if len(value) > most else ""


def _pattern_error(key: str, value: str) -> str:
    if key not in PATTERNS or not isinstance(value, str) or PATTERNS[key][0].fullmatch(value):
        return ""
    got = "" if key == "database" else f", got {quote(value)}"  # a password must not end in a log
    return f"must be {PATTERNS[key][1]}{got}"


def _kind_error(_: str, kind: str) -> str:
    from nearer.design.active.pool import form_of

    try:
        form_of(kind)
    except ValueError as error:
        n_chosen, n_shown = map(int, kind.split("of")) if _GRID.fullmatch(kind) else (0, 0)
        if 0 < n_chosen < n_shown <= 20:
            return f"is too much to choose from: {error}; write fewer, such as '2 of 8'"
        known = f"{', '.join(map(repr, _KINDS))}, or such as '2 of 8'"
        return f"must be {known}, got {quote(kind)}{_did_you_mean(kind, {each: repr(each) for each in _KINDS})}"
    return ""


def _language_error(_: str, language: str) -> str:
    known = translations()
    return "" if language in known else f"must be one of {', '.join(sorted(known))}, got {quote(language)}"


def _choice_error(key: str, value: str) -> str:
    choices = _CHOICES[key]
    hint = _did_you_mean(value, {each: repr(each) for each in choices})
    return "" if value in choices else f"must be {' or '.join(map(repr, choices))}, got {quote(value)}{hint}"


def _notice_error(_: str, notice: str) -> str:
    unknown = sorted({each[1:-1] for each in _BRACES.findall(notice)} - set(FACTS))
    return f"has {{{unknown[0]}}}; in braces there may be {', '.join(FACTS)}" if unknown else ""


def _url_error(_: str, url: str) -> str:
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
        return "must not have {code} in the name of the server; put it after a /"
    left = url.replace("{code}", "")
    return "may have {code}, in lower case, and no other braces" if "{" in left or "}" in left else ""


_CHECKS: dict[str, Callable[[str, Any], str]] = {
    "kind": _kind_error, "language": _language_error, "completion_url": _url_error, "notice": _notice_error,
    CONDITIONS: _conditions_error, **dict.fromkeys(_CHOICES, _choice_error),
}  # fmt: skip
