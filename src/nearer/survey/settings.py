"""The settings of a study: the file study.toml, read and checked, and the commented one that a new study begins with.

A setting is named twice: by a key in a table of the file, such as ``per_person`` below ``[questions]``, and by a field
of `Settings`. Both have the same name, but for ``most`` below ``[people]``, which is ``most_people``.

All that is wrong is found at once. `gather_settings` goes on with the default of a setting that is wrong, so that a
check of the study can look at everything else; `read_settings` refuses the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from string import Template
from typing import Any, Literal
from urllib.parse import urlsplit

from nearer.common.words import digits, name, number
from nearer.survey.words import LANGUAGES

SETTINGS_FILE = "study.toml"
#: The least contrast of buttons against the page (WCAG 2.1, criterion 1.4.11).
LEAST_CONTRAST = 3.0

_TABLES: dict[str, tuple[str, ...]] = {
    "": ("title", "question", "kind", "language"),
    "texts": ("welcome", "consent", "thanks"),
    "questions": ("per_person", "practice", "catch", "break_every", "dimensions"),
    "sampling": ("method", "test_share", "repeat_share"),
    "people": ("most_people", "completion_url", "completion_code"),
    "look": ("accent", "background"),
    "server": ("database",),
}
_KEYS = {each: each.removesuffix("_people") for table in _TABLES.values() for each in table}
_TABLE_OF = {each: table for table, inside in _TABLES.items() for each in inside}
_RANGES: dict[str, tuple[float, float]] = {
    "per_person": (1, 10_000), "practice": (0, 100), "catch": (0, 1000), "break_every": (0, 10_000),
    "dimensions": (1, 20), "test_share": (0, 1), "repeat_share": (0, 0.5), "most_people": (0, 10_000_000),
}  # fmt: skip
_LONGEST = {"title": 200, "question": 500, "welcome": 20_000, "consent": 20_000, "thanks": 20_000}
_ONE_LINE = ("title", "question")
_MOST_BYTES = 2**20
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DATABASE = re.compile(r"(sqlite|postgresql)(\+\w+)?://\S+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
_BARE = re.compile(r"\s*[\w-]+\s*=\s*[A-Za-z#/]")  # a value that is text without quotes


@dataclass(frozen=True)
class Settings:
    """What a study asks, whom, and how it looks.

    Parameters
    ----------
    title : str
        Name of the study.
    question : str
        The question in words.
    kind : {"triplet", "odd-one-out", "most-central"}, or "k of m"
        How people are asked, as `nearer.active.forms.form_of` has it.
    language : str
        Of buttons and messages.
    welcome, consent, thanks : str
        Texts; a blank line begins a paragraph. Without ``consent`` nobody is asked for it.
    per_person, practice, catch : int
        How many questions each person gets, how many for practice come before, and how many with an obvious answer
        are put between.
    break_every : int
        After how many questions a break is offered; 0 for none.
    dimensions : int
        Of the map that chooses the next question.
    method : {"active", "random"}
        How the next question is chosen.
    test_share, repeat_share : float
        Share of questions drawn at random, which measure the error; share of those that somebody else gets again.
    most_people : int
        How many may take part; 0 for no limit.
    completion_url : str
        Where people go at the end; "{code}" in it is replaced.
    completion_code : str
        "each" for a code of each person's own, or one for all.
    accent, background : str
        Colours of buttons and of the page, as #rrggbb.
    database : str
        An SQLAlchemy URL; "" for a file in the study's folder. It may hold a password and is not shown.

    Examples
    --------
    >>> Settings(kind="2of8", per_person=20).kind
    '2 of 8'
    >>> Settings(per_person=0)
    Traceback (most recent call last):
    ValueError: [questions] per_person must be a whole number from 1 to 10 000, got 0
    """

    title: str = ""
    question: str = "Which of the two is more like the one at the top?"
    kind: str = "triplet"
    language: str = "en"
    welcome: str = (
        "Thank you for your interest in this study.\n\n"
        "You will see some questions, one after the other. There are no right or wrong answers: go by your first "
        "impression."
    )
    consent: str = ""
    thanks: str = "Thank you for taking part."
    per_person: int = 60
    practice: int = 2
    catch: int = 0
    break_every: int = 30
    dimensions: int = 2
    method: Literal["active", "random"] = "active"
    test_share: float = 0.1
    repeat_share: float = 0.05
    most_people: int = 0
    completion_url: str = ""
    completion_code: str = "each"
    accent: str = "#1f5fbf"
    background: str = "#ffffff"
    database: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        from nearer.active.forms import form_of

        wrong = [said for _, said in _wrong_values(vars(self))]
        if wrong:
            raise ValueError("\n".join(wrong))
        object.__setattr__(self, "kind", form_of(self.kind).name)
        object.__setattr__(self, "test_share", float(self.test_share))
        object.__setattr__(self, "repeat_share", float(self.repeat_share))


DEFAULTS: Mapping[str, Any] = {each.name: each.default for each in fields(Settings)}


def read_settings(path: Path) -> Settings:
    """Return the settings that a file gives.

    Parameters
    ----------
    path : Path
        The file study.toml, or the folder that it is in.

    Raises
    ------
    ValueError
        With a sentence on each line that names the file, the setting, and what to write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.toml"
    ...     _ = path.write_text('title = "Birds"', encoding="utf-8")
    ...     read_settings(path).title
    'Birds'
    """
    settings, wrong = gather_settings(path)
    if wrong:
        raise ValueError("\n".join(f"{path}: {said}" for said in wrong))
    return settings


def gather_settings(path: Path) -> tuple[Settings, list[str]]:
    """Return the settings that a file gives, and what is wrong with it; a setting that is wrong has its default."""
    try:
        tables = _tables(path / SETTINGS_FILE if path.is_dir() else path)
    except ValueError as error:
        return Settings(), [str(error)]
    wrong: list[str] = []
    given: dict[str, Any] = {
        key: value.strip() if isinstance(value, str) else value for key, value in _placed(tables, wrong)
    }
    found = list(_wrong_values({**DEFAULTS, **given}))
    bad = {each for names, _ in found for each in names}
    kept = {key: value for key, value in given.items() if key not in bad}
    return Settings(**kept), [*wrong, *(said for _, said in found)]


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.1 defines it.

    Examples
    --------
    >>> contrast("#000000", "#ffffff"), round(contrast("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return round((light + 0.05) / (dark + 0.05), 9)


def place_of(setting: str) -> str:
    """Return how the file names a setting.

    Examples
    --------
    >>> place_of("most_people"), place_of("title")
    ('[people] most', 'title')
    """
    table = _TABLE_OF[setting]
    return f"[{table}] {_KEYS[setting]}" if table else _KEYS[setting]


def commented(**values: object) -> str:
    """Return a commented study.toml with these settings, and defaults for all others.

    Examples
    --------
    >>> 'title = "Birds"' in commented(title="Birds")
    True
    """
    written = {key: _written(value) for key, value in {**DEFAULTS, **values}.items()}
    return _COMMENTED.substitute(written, languages=", ".join(map(_written, LANGUAGES)))


def _luminance(colour: str) -> float:
    coded = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in coded)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _tables(path: Path) -> dict[str, Any]:
    """Return what the file holds, or say in which line it is no TOML."""
    if not path.is_file():
        raise ValueError("there is no such file; `nearer survey new FOLDER` makes one")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}; see who may read it") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it has {digits(len(data))} bytes, and settings never have so many; is it another file?")
    try:
        # Editors on Windows put a mark before the text, which TOML does not know.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is no text in UTF-8; save the file with the encoding UTF-8") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        at = _LINE.search(said)
        line = int(at[1]) if at else max(len(text.splitlines()), 1)
        shown = (text.splitlines() or [""])[line - 1 : line] or [""]
        raise ValueError(f"line {line}: {_LINE.sub('', said)}.{_hint(shown[0])}") from None
    except RecursionError:
        raise ValueError("its values are nested too deeply; each setting is a text or a number") from None


def _hint(line: str) -> str:
    if re.search("[\u201c\u201d\u201e\u2018\u2019]", line):
        return ' Write straight quotes, "so", not curly ones'
    return ' Text stands in double quotes, "so"' if _BARE.match(line) else ""


def _placed(tables: Mapping[str, Any], wrong: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield settings with their values; what is no setting is added to what is wrong."""
    for key, value in tables.items():
        if key in _TABLES and key:
            if isinstance(value, dict):
                yield from _placed_in(key, value, wrong)
            else:
                wrong.append(f"{key} is a table: write [{key}] on a line of its own, and its settings below")
        elif isinstance(value, dict):
            alike = get_close_matches(key, list(_TABLES), n=1)
            meant = f"; did you mean [{alike[0]}]?" if alike else f"; there are {', '.join(filter(None, _TABLES))}"
            wrong.append(f"there is no table {name(key)}{meant}")
        else:
            yield from _placed_in("", {key: value}, wrong)


def _placed_in(table: str, values: Mapping[str, Any], wrong: list[str]) -> Iterator[tuple[str, Any]]:
    here = {_KEYS[each]: each for each in _TABLES[table]}
    everywhere = {_KEYS[each]: each for each in _KEYS}
    where = f"in [{table}]" if table else "above the tables"
    for key, value in values.items():
        if key in here:
            yield here[key], value
        elif key in everywhere:
            home = _TABLE_OF[everywhere[key]]
            to = f"below [{home}]" if home else "above the first table"
            wrong.append(f"{key} stands {where}; move it {to}")
        else:
            alike = get_close_matches(key, here, n=1) or get_close_matches(key, everywhere, n=1)
            meant = f"; did you mean {place_of(everywhere[alike[0]])}?" if alike else f"; there are {', '.join(here)}"
            wrong.append(f"there is no setting {name(key)} {where}{meant}")


def _wrong_values(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
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
    wanted = type(DEFAULTS[key])
    if wanted is str:
        return "" if isinstance(value, str) else f"must be text in double quotes, got {name(value)}"
    least, most = _RANGES[key]
    fits = isinstance(value, int | wanted) and not isinstance(value, bool) and least <= value <= most
    whole = "a whole number" if wanted is int else "a number"
    return "" if fits else f"must be {whole} from {number(least)} to {number(most)}, got {name(value)}"


def _wrong_text(key: str, value: Any) -> str:
    if not isinstance(value, str) or key == "database":
        return ""
    if found := _CONTROL.search(value):
        return f"has a character that nobody can see, {found[0]!a}; remove it"
    if key in _ONE_LINE and "\n" in value:
        return "must be a single line"
    most = _LONGEST.get(key, 2000)
    return f"has {digits(len(value))} characters; write at most {digits(most)}" if len(value) > most else ""


def _wrong_kind(kind: str) -> str:
    from nearer.active.forms import form_of

    try:
        form_of(kind)
    except ValueError as error:
        if "answers" in str(error):
            return f"is too much to choose from: {error}; write fewer, such as '2 of 8'"
        known = "'triplet', 'odd-one-out', 'most-central', or such as '2 of 8'"
        return f"must be {known}, got {name(kind)}{_meant(kind, ('triplet', 'odd-one-out', 'most-central'))}"
    return ""


def _wrong_language(language: str) -> str:
    return "" if language in LANGUAGES else f"must be one of {', '.join(sorted(LANGUAGES))}, got {name(language)}"


def _wrong_method(method: str) -> str:
    known = ("active", "random")
    return "" if method in known else f"must be 'active' or 'random', got {name(method)}{_meant(method, known)}"


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
        return f"{wanted}, got {name(url)}"
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\\\"<>]", url):
        return f"{wanted}, got {name(url)}"
    if "{" in host or "}" in host:
        return "must not have {code} in the name of the server; put it behind a /"
    left = url.replace("{code}", "")
    return "may have {code}, in small letters, and no other braces" if "{" in left or "}" in left else ""


def _wrong_code(code: str) -> str:
    if _CODE.fullmatch(code):
        return ""
    return f"must be 'each', or a code of up to 64 letters, digits, - and _, got {name(code)}"


def _wrong_colour(colour: str) -> str:
    return "" if _COLOUR.fullmatch(colour) else f"must be a colour such as #1f5fbf, got {name(colour)}"


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


def _written(value: object) -> str:
    """Return a value as TOML has it; text of several lines between three quotes."""
    if not isinstance(value, str):
        return str(value)
    if "\n" not in value:
        return json.dumps(value, ensure_ascii=False)
    escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{escaped}\n"""'


_COMMENTED = Template("""\
# The settings of this study. Lines that begin with # explain, and are not read.
# Text stands in "double quotes", longer text between three of them. Look whether all is well with:
#     nearer survey check FOLDER

# The name of the study. People see it at the top of the page.
title = $title

# The question, as people read it above the objects.
question = $question

# How people are asked:
#   "triplet"        one object and two others: which of the two is more like it?
#   "odd-one-out"    three objects: which one is least like the other two?
#   "most-central"   three objects: which one is most like the other two?
#   "2 of 8"         one object and eight others: which two are most like it? Other numbers work as well.
# Put the question above into words that fit.
kind = $kind

# The language of buttons and messages: $languages. Your own texts stay as you write them.
language = $language

[texts]
# What people read first. A blank line begins a new paragraph.
welcome = $welcome

# What people agree to before they begin. Nobody is asked if this is empty; ethics boards usually want it.
consent = $consent

# What people read at the end.
thanks = $thanks

[questions]
# How many questions each person answers. Most people answer one in 2 to 5 seconds.
per_person = $per_person

# Questions for practice at the beginning. Their answers are marked, and are not used for the map.
practice = $practice

# Catch questions for each person, beside the others: their answer is obvious to whoever looks. Use 2 or more, or none.
catch = $catch

# A break is offered after so many questions; 0 for none.
break_every = $break_every

# How many dimensions the map has from which the next question is chosen. 2 is good for most studies.
dimensions = $dimensions

[sampling]
# How the next question is chosen: "active" asks what tells most about the map, "random" draws by lot.
method = $method

# The share of questions that are drawn by lot all the same. They measure how good the map is; keep some.
test_share = $test_share

# The share of questions that somebody else has had before. They show how far people agree.
repeat_share = $repeat_share

[people]
# How many people may take part; 0 for no limit.
most = $most_people

# Where people are sent at the end, such as the completion link of Prolific; empty for nowhere. If {code} stands in
# it, the person's code is put there.
completion_url = $completion_url

# The code that people get at the end: "each" makes one for each person; anything else is the code of all.
completion_code = $completion_code

[look]
# The colour of buttons, and that of the page: # and six digits, as colour pickers show them.
accent = $accent
background = $background

[server]
# Where answers are kept. Empty: in the file answers.sqlite in this folder, which is right for most studies.
# Several servers share a study through PostgreSQL: "postgresql://user:password@host/name"
database = $database
""")
#: The commented study.toml that a new study begins with.
TEMPLATE = commented()
