"""The settings of a study: the file study.toml, read and checked.

A setting is named twice: by a key in a table of the file, such as ``per_person`` below ``[questions]``, and by a field
of `Settings`. Both have the same name, but for ``most`` below ``[people]``, which is ``most_people``.

All that is wrong is found at once. `gather_settings` goes on with the default of a setting that is wrong, so that a
check of the study can look at everything else; `read_settings` refuses the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from nearer._common.formatting import intcomma, quote
from nearer.survey.settings_checks import KEYS, TABLE_OF, TABLES, place_of, wrong_values

SETTINGS_FILE = "study.toml"
_MOST_BYTES = 2**20
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
        How people are asked, as `nearer.design.active.pool.form_of` has it.
    language : str
        Of buttons and messages.
    welcome, consent, thanks : str
        Texts; a blank line begins a paragraph. Without ``consent`` nobody is asked for it.
    per_person, practice, catch : int
        How many questions each person gets, how many for practice come before, and how many with an obvious answer
        are put between.
    break_every : int
        After how many questions a break is offered, unless fewer than half as many are left; 0 for none.
    dimensions : int
        Of the map that chooses the next question.
    method : {"active", "random"}
        How the next question is chosen.
    test_share, repeat_share : float
        Share of questions drawn at random, which measure the error; share of those that somebody else gets again.
    most_people : int
        How many may take part; 0 for no limit.
    pay : float
        What one person gets for taking part, in any currency; 0 where it is not told.
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
    ValueError: [questions] per_person must be a whole number from 1 to 10,000, got 0
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
    pay: float = 0.0
    completion_url: str = ""
    completion_code: str = "each"
    accent: str = "#1f5fbf"
    background: str = "#ffffff"
    database: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        from nearer.design.active.pool import form_of

        wrong = [said for _, said in wrong_values(vars(self))]
        if wrong:
            raise ValueError("\n".join(wrong))
        object.__setattr__(self, "kind", form_of(self.kind).name)
        for share in ("test_share", "repeat_share", "pay"):
            object.__setattr__(self, share, float(getattr(self, share)))


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
    found = list(wrong_values({**DEFAULTS, **given}))
    bad = {each for names, _ in found for each in names}
    kept = {key: value for key, value in given.items() if key not in bad}
    return Settings(**kept), [*wrong, *(said for _, said in found)]


def _tables(path: Path) -> dict[str, Any]:
    """Return what the file holds, or say in which line it is no TOML."""
    if not path.is_file():
        raise ValueError("there is no such file; `nearer survey new FOLDER` makes one")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}; see who may read it") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it has {intcomma(len(data))} bytes, and settings never have so many; is it another file?")
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
        if key in TABLES and key:
            if isinstance(value, dict):
                yield from _placed_in(key, value, wrong)
            else:
                wrong.append(f"{key} is a table: write [{key}] on a line of its own, and its settings below")
        elif isinstance(value, dict):
            alike = get_close_matches(key, list(TABLES), n=1)
            meant = f"; did you mean [{alike[0]}]?" if alike else f"; there are {', '.join(filter(None, TABLES))}"
            wrong.append(f"there is no table {quote(key)}{meant}")
        else:
            yield from _placed_in("", {key: value}, wrong)


def _placed_in(table: str, values: Mapping[str, Any], wrong: list[str]) -> Iterator[tuple[str, Any]]:
    here = {KEYS[each]: each for each in TABLES[table]}
    everywhere = {KEYS[each]: each for each in KEYS}
    where = f"in [{table}]" if table else "above the tables"
    for key, value in values.items():
        if key in here:
            yield here[key], value
        elif key in everywhere:
            home = TABLE_OF[everywhere[key]]
            to = f"below [{home}]" if home else "above the first table"
            wrong.append(f"{key} stands {where}; move it {to}")
        else:
            alike = get_close_matches(key, here, n=1) or get_close_matches(key, everywhere, n=1)
            meant = f"; did you mean {place_of(everywhere[alike[0]])}?" if alike else f"; there are {', '.join(here)}"
            wrong.append(f"there is no setting {quote(key)} {where}{meant}")
