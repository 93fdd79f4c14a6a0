"""A study: its folder, its settings, its objects, and the questions that can be asked about them.

Questions name objects by their labels. An object is part of a study from the moment somebody is asked about it; until
then its file may come and go. Nothing is written before all of a study has been checked, and nothing at all where a
study is only read, which needs none of its objects: answers can be read whatever has become of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sqlalchemy import URL, Connection, select

from nearer._common.formatting import quote_all
from nearer.design.active.pool import Form, Pool, form_of
from nearer.design.mix import QuestionMix
from nearer.survey.settings import SETTINGS_FILE, Settings, read_settings
from nearer.survey.stimuli import Stimuli, gather_stimuli, read_stimuli
from nearer.survey.store.database import Database, one_at_a_time, read_fact, write_fact
from nearer.survey.store.tables import UNSEEN, questions

DATABASE = "answers.sqlite"
_KIND = "kind"
SEPARATOR = ";"  # of the objects that an answer names, in tables
_BETWEEN = "\t"  # labels of a question; no label has one


@dataclass(frozen=True, eq=False)
class Study:
    """A study as its folder describes it.

    Attributes
    ----------
    folder : Path
    settings : Settings
    stimuli : Stimuli
    form : Form
        How people are asked.
    labels : tuple of str
        The objects, sorted; where a module speaks of the position of an object, it is that among these.
    pool : Pool
    """

    folder: Path
    settings: Settings
    stimuli: Stimuli

    @property
    def labels(self) -> tuple[str, ...]:
        """The objects that may be asked about."""
        return self.stimuli.objects

    @cached_property
    def form(self) -> Form:
        """How people are asked."""
        return form_of(self.settings.kind)

    @cached_property
    def pool(self) -> Pool:
        """The questions that may be asked."""
        return Pool(self.form, len(self.labels))

    @property
    def is_headed(self) -> bool:
        """Whether a question has a head that options are compared with."""
        return self.form.has_anchor

    @cached_property
    def mix(self) -> QuestionMix:
        """The mix of questions of each participant."""
        settings = self.settings
        # Of three objects of which two are the same, none is the most central: such studies have no catch trials.
        n_catch = 0 if settings.kind == "most-central" else settings.catch
        return QuestionMix(settings.test_share, settings.repeat_share, n_catch, settings.practice)

    @property
    def n_chosen(self) -> int:
        """How many options an answer names."""
        return len(self.form.named[0])

    def positions(self, shown: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of objects; () if one came into the folder after this process read it."""
        try:
            return tuple(self._position[label] for label in shown)
        except KeyError:
            return ()

    @cached_property
    def _position(self) -> dict[str, int]:
        return {label: position for position, label in enumerate(self.labels)}


def is_study(path: Path) -> bool:
    """Say whether a folder is that of a study."""
    return (path / SETTINGS_FILE).is_file()


def open_study(folder: Path) -> tuple[Study, Database]:
    """Return a study that is to be served and its database, made if it is not there.

    Raises
    ------
    ValueError
        If people cannot be asked, or were asked what cannot be shown to them any more. Nothing is written then.
    """
    settings = settings_of(folder)
    study = Study(folder, settings, read_stimuli(folder))
    n_shown = study.form.width
    if len(study.labels) < n_shown:
        raise ValueError(
            f"{folder}: a question of kind {settings.kind!r} shows {n_shown} objects, and there are "
            f"{len(study.labels)}; put a file for each object into the folder stimuli, or list them in objects.csv"
        )
    separated = next((label for label in study.labels if SEPARATOR in label), None)
    if study.n_chosen > 1 and separated is not None:
        raise ValueError(
            f"{folder}: {separated!r} has a {SEPARATOR!r} in it, which stands between the objects of an answer to "
            f"{settings.kind!r}; call it otherwise"
        )
    database = Database(database_url(folder, settings))
    try:
        with database.engine.begin() as connection:
            one_at_a_time(connection)
            for wrong in (other_kind(connection, settings.kind), missing_objects(connection, study.labels)):
                if wrong:
                    raise ValueError(f"{folder}: {wrong}")
            write_fact(connection, _KIND, settings.kind)
    except ValueError:
        database.close()
        raise
    return study, database


def read_study(folder: Path) -> tuple[Study, Database]:
    """Return a study whose answers are read, and its database, which nothing is written to.

    Raises
    ------
    ValueError
        If its settings are wrong, or not those by which people were asked.
    """
    settings = settings_of(folder)
    stimuli, _ = gather_stimuli(folder)
    database = Database.to_read(database_url(folder, settings))
    with database.engine.connect().execution_options(reading=True) as connection:
        wrong = other_kind(connection, settings.kind)
    if wrong:
        database.close()
        raise ValueError(f"{folder}: {wrong}")
    return Study(folder, settings, stimuli), database


def settings_of(folder: Path) -> Settings:
    """Return the settings of the study in a folder."""
    if not is_study(folder):
        raise ValueError(f"{folder} is no study: there is no {SETTINGS_FILE} in it; make one with `nearer survey new`")
    return read_settings(folder / SETTINGS_FILE)


def database_url(folder: Path, settings: Settings) -> str | URL:
    """Return where the database of a study is."""
    return settings.database or URL.create("sqlite", database=str(folder / DATABASE))


def other_kind(connection: Connection, kind: str) -> str:
    """Say that people were asked otherwise than now: their answers would be read as what they are not; "" if not."""
    before = read_fact(connection, _KIND)
    if before in (None, kind) or connection.execute(select(questions.c.id).limit(1)).first() is None:
        return ""
    return f"people have been asked by kind {before!r}, and not {kind!r}; make another study for it"


def missing_objects(connection: Connection, labels: Sequence[str]) -> str:
    """Say which objects people have been asked about that are there no more; "" if all are there."""
    asked = asked_about(connection)
    missing, others = sorted(asked - set(labels)), sorted(set(labels) - asked)
    if not missing:
        return ""
    what = f"people have been asked about {quote_all(missing)}, of which there is no file any more; put it back"
    renamed = f", or give {quote_all(others)} that name again if it was renamed" if len(missing) == len(others) else ""
    return what + renamed


def asked_about(connection: Connection) -> set[str]:
    """Return the labels of all objects that people have been asked about, and have seen."""
    shown = connection.execute(select(questions.c.shown).where(questions.c.purpose != UNSEEN).distinct()).scalars()
    return {label for text in shown for label in labels_in(text)}


def labels_in(text: str) -> tuple[str, ...]:
    """Return the labels that `text_of_labels` wrote."""
    return tuple(text.split(_BETWEEN))


def text_of_labels(labels: Iterable[str]) -> str:
    """Return labels as they are kept."""
    return _BETWEEN.join(labels)
