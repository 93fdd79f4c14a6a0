"""A study: its folder, its settings, its objects, and the questions that can be asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from nearer.active.forms import Form, form_of
from nearer.active.pools import Pool
from nearer.survey.settings import SETTINGS_FILE, Settings, read_settings
from nearer.survey.stimuli import Stimuli, read_stimuli
from nearer.survey.store.database import Database, one_at_a_time, read_fact, write_fact
from nearer.survey.store.tables import objects, questions

DATABASE = "answers.sqlite"
_KIND = "kind"
SEPARATOR = ";"  # of the objects that an answer names, in tables


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
        The objects by their numbers, which stay the same however the folder grows.
    pool : Pool
    """

    folder: Path
    settings: Settings
    stimuli: Stimuli
    form: Form
    labels: tuple[str, ...]
    pool: Pool

    @property
    def is_headed(self) -> bool:
        """Whether a question has a head that options are compared with."""
        return self.form.headed

    @property
    def n_catch(self) -> int:
        """How many catch questions a person gets; of three of which two are the same none is the most central."""
        return 0 if self.settings.kind == "most-central" else self.settings.catch

    @property
    def n_chosen(self) -> int:
        """How many options an answer names."""
        return len(self.form.chosen[0])


def is_study(path: Path) -> bool:
    """Say whether a folder is that of a study."""
    return (path / SETTINGS_FILE).is_file()


def database_of(folder: Path, settings: Settings) -> Database:
    """Return the database of a study, made if it is not there."""
    return Database(settings.database) if settings.database else Database.of_file(folder / DATABASE)


def open_study(folder: Path) -> tuple[Study, Database]:
    """Return a study and its database; objects that are new to it get their numbers."""
    if not is_study(folder):
        raise ValueError(f"{folder} is no study: there is no {SETTINGS_FILE} in it; make one with `nearer survey new`")
    settings = read_settings(folder / SETTINGS_FILE)
    stimuli = read_stimuli(folder)
    form = form_of(settings.kind)
    if len(stimuli) < form.width:
        raise ValueError(
            f"{folder}: a question of kind {settings.kind!r} shows {form.width} objects, and there are {len(stimuli)}; "
            "put a file for each object into the folder stimuli, or list them in objects.csv"
        )
    separated = next((label for label in stimuli.objects if SEPARATOR in label), None)
    if len(form.chosen[0]) > 1 and separated is not None:
        raise ValueError(
            f"{folder}: {separated!r} has a {SEPARATOR!r} in it, which stands between the objects of an answer to "
            f"{settings.kind!r}; call it otherwise"
        )
    database = database_of(folder, settings)
    try:
        with database.engine.begin() as connection:
            labels = number_objects(connection, stimuli.objects)
            _keep_kind(connection, settings.kind)
        missing = sorted(set(labels) - set(stimuli.objects))
        if missing:
            raise ValueError(
                f"people have been asked about {missing[0]!r}, of which there is no file any more; put it back"
            )
    except ValueError as error:
        database.close()
        raise ValueError(f"{folder}: {error}") from None
    return Study(folder, settings, stimuli, form, labels, Pool(form, len(labels))), database


def _keep_kind(connection: Connection, kind: str) -> None:
    """Refuse to ask otherwise than people were asked before: their answers would be read as what they are not."""
    before = read_fact(connection, _KIND)
    if before not in (None, kind) and connection.execute(select(questions.c.id).limit(1)).first() is not None:
        raise ValueError(f"people have been asked by kind {before!r}, and not {kind!r}; make another study for it")
    if before != kind:
        write_fact(connection, _KIND, kind)


def number_objects(connection: Connection, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return all objects by their numbers; new ones come last."""
    one_at_a_time(connection)
    known = [row.label for row in connection.execute(select(objects).order_by(objects.c.number))]
    new = [label for label in labels if label not in set(known)]
    if new:
        first = connection.execute(select(func.count()).select_from(objects)).scalar_one()
        rows = [{"number": first + at, "label": label} for at, label in enumerate(new)]
        connection.execute(objects.insert(), rows)
    return (*known, *new)
