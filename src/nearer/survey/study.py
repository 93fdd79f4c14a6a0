"""A study: its folder, its settings, its objects, and the questions that can be asked about them.

An object is part of a study from the moment somebody is asked about it; until then its file may come and go. Answers
can be read whatever has become of the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from sqlalchemy import URL, Connection, select

from nearer._common.formatting import quote_all
from nearer.data.features import Features
from nearer.design.active.pool import Form, Pool, form_of
from nearer.design.mix import CATCH, PRACTICE, QuestionMix
from nearer.io.features import read_features
from nearer.survey.assignment import QuestionLists, lost_conditions, read_lists
from nearer.survey.settings import SETTINGS_FILE, Settings, read_settings
from nearer.survey.stimuli import Stimuli, gather_stimuli, read_stimuli
from nearer.survey.store import UNSEEN, Database, lock_step, questions, read_fact, write_fact

DATABASE_FILE = "answers.sqlite"
SEPARATOR = ";"  # of the objects that an answer names, in tables
CANT_TELL = "can't tell"  # in place of an answer, in tables
UNCOUNTED_PURPOSES = (PRACTICE, CATCH, UNSEEN)
_KIND = "kind"
_LABEL_SEPARATOR = "\t"  # in the database; no label has one


@dataclass(frozen=True, eq=False)
class Study:
    """A study as its folder describes it; the position of an object is that among the sorted ``labels``."""

    folder: Path
    settings: Settings
    stimuli: Stimuli

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The objects that may be asked about."""
        return tuple(sorted(self.stimuli))

    @cached_property
    def features_by_label(self) -> tuple[Features, ...]:
        """The sets of features of the objects; ValueError if a file cannot be used."""
        found = tuple(
            known_features(name, path, self.labels) for name, path in feature_paths(self.folder, self.settings)
        )
        if twice := repeated_names(found):
            raise ValueError(f"{SETTINGS_FILE}: features {twice}")
        return found

    @cached_property
    def features(self) -> tuple[Features, ...]:
        """The sets of features by the positions of the objects."""
        return tuple(
            Features(each.values, np.searchsorted(self.labels, each.objects), each.name)
            for each in self.features_by_label
            if each.objects is not None
        )

    @cached_property
    def form(self) -> Form:
        """The form of the questions."""
        return form_of(self.settings.kind)

    @cached_property
    def pool(self) -> Pool:
        """The questions that may be asked."""
        return Pool(self.form, len(self.labels))

    @property
    def has_anchor(self) -> bool:
        """Whether a question has an anchor that options are compared with."""
        return self.form.has_anchor

    @cached_property
    def mix(self) -> QuestionMix:
        """The mix of questions of each participant."""
        settings = self.settings
        # Of three objects of which two are the same, none is the most central: such studies have no catch trials.
        n_catch = 0 if settings.kind == "most-central" else settings.catch
        return QuestionMix(settings.test_share, settings.repeat_share, n_catch, settings.practice)

    @cached_property
    def lists(self) -> dict[str, QuestionLists]:
        """The lists of questions by condition, "" where there are none; ValueError if a file cannot be used."""
        names = [each.name for each in self.settings.conditions] or [""]
        files = {name: self.settings.in_condition(name).question_list for name in names}
        form = self.form
        return {
            name: read_lists(self.folder / file, form.name, form.width, self.labels)
            for name, file in files.items()
            if file
        }

    @property
    def draws_questions(self) -> bool:
        """Whether anybody is asked questions of no list."""
        settings = self.settings
        names = [each.name for each in settings.conditions] or [""]
        has_list = all(settings.in_condition(name).question_list for name in names)
        return settings.after_list == "continue" or not has_list

    @property
    def n_chosen(self) -> int:
        """Number of options that an answer names."""
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
    """Return whether a folder is that of a study."""
    return (path / SETTINGS_FILE).is_file()


def open_study(folder: Path) -> tuple[Study, Database]:
    """Return a study that is to be served and its database, made if it is not there.

    Raises ValueError, and writes nothing, if people cannot be asked, or were asked what cannot be shown any more.
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
            f"{folder}: {separated!r} has a {SEPARATOR!r} in it, which separates the objects of an answer to "
            f"{settings.kind!r}; rename it"
        )
    if settings.cant_tell and CANT_TELL in study.labels:
        raise ValueError(f"{folder}: an object is called {CANT_TELL!r}, as people who cannot tell; rename it")
    _ = study.features, study.lists  # what is wrong with them is found before anybody is asked
    database = Database(database_url(folder, settings))
    try:
        with database.engine.begin() as connection:
            lock_step(connection)
            conditions = [each.name for each in settings.conditions]
            for error in (
                kind_conflict(connection, settings.kind),
                missing_objects(connection, study.labels),
                lost_conditions(connection, conditions),
            ):
                if error:
                    raise ValueError(f"{folder}: {error}")
            write_fact(connection, _KIND, settings.kind)
    except ValueError:
        database.close()
        raise
    return study, database


def read_study(folder: Path) -> tuple[Study, Database]:
    """Return a study whose answers are read, and its database, to which nothing is written.

    Raises ValueError if its settings are wrong, or not those by which people were asked.
    """
    settings = settings_of(folder)
    stimuli, _ = gather_stimuli(folder)
    database = Database.to_read(database_url(folder, settings))
    with database.reading() as connection:
        error = kind_conflict(connection, settings.kind)
    if error:
        database.close()
        raise ValueError(f"{folder}: {error}")
    return Study(folder, settings, stimuli), database


def settings_of(folder: Path) -> Settings:
    """Return the settings of the study in a folder."""
    if not is_study(folder):
        raise ValueError(f"{folder} is not a study: there is no {SETTINGS_FILE} in it; make one: `nearer survey new`")
    return read_settings(folder / SETTINGS_FILE)


def feature_paths(folder: Path, settings: Settings) -> list[tuple[str | None, Path]]:
    """Return the name, if there is one, and the path of each file of features of a study."""
    found: list[tuple[str | None, Path]] = []
    for text in settings.features:
        name, sign, file = text.partition("=")
        is_named = bool(sign) and not (folder / text).exists()
        found.append((name.strip(), folder / file.strip()) if is_named else (None, folder / text))
    return found


def known_features(name: str | None, path: Path, labels: Sequence[str]) -> Features:
    """Return the features in a file, as far as they are about the objects; ValueError says what is wrong with it."""
    if not path.is_file():
        raise ValueError(
            f"there is no file {path.name} in this folder; put it there, or take it out of {SETTINGS_FILE}"
        )
    try:
        found = read_features(path, name)
        if found.objects is None:
            raise ValueError("its rows have no names; add a column of labels, or a list of names")
        found = found.among(np.array(labels))
        if len(found.values) < 3 or not np.ptp(found.values, axis=0).any():
            raise ValueError("it describes fewer than three different objects; add rows, or take the file out")
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}; check its permissions") from error
    except ValueError as error:
        raise ValueError(f"{path.name}: {str(error).removeprefix(f'{path.name}: ')}") from error
    return found


def repeated_names(features: Sequence[Features]) -> str:
    """Return what is wrong with the names of sets, "" if nothing is."""
    names = [each.name for each in features]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    return f'has several sets called {quote_all(twice)}; name them, such as "pixels=features.csv"' if twice else ""


def database_url(folder: Path, settings: Settings) -> str | URL:
    """Return the address of a study's database."""
    return settings.database or URL.create("sqlite", database=str(folder / DATABASE_FILE))


def kind_conflict(connection: Connection, kind: str) -> str:
    """Return an error if people were given another task, whose answers would be misread as this one's; "" if not."""
    before = read_fact(connection, _KIND)
    if before in (None, kind) or connection.execute(select(questions.c.id).limit(1)).first() is None:
        return ""
    return f"people have been asked by kind {before!r}, and not {kind!r}; make another study for it"


def missing_objects(connection: Connection, labels: Collection[str]) -> str:
    """Return an error that names the objects people have been asked about that are gone; "" if all are there."""
    asked = asked_objects(connection)
    missing, others = sorted(asked - set(labels)), sorted(set(labels) - asked)
    if not missing:
        return ""
    what = f"people have been asked about {quote_all(missing)}, of which there is no file any more; put it back"
    renamed = f", or give {quote_all(others)} that name again if it was renamed" if len(missing) == len(others) else ""
    return what + renamed


def asked_objects(connection: Connection) -> set[str]:
    """Return the labels of all objects that people have been asked about, and have seen."""
    shown = connection.execute(select(questions.c.shown).where(questions.c.purpose != UNSEEN).distinct()).scalars()
    return {label for text in shown for label in split_labels(text)}


def split_labels(text: str) -> tuple[str, ...]:
    """Return the labels that `join_labels` wrote."""
    return tuple(text.split(_LABEL_SEPARATOR))


def join_labels(labels: Iterable[str]) -> str:
    """Return labels as the database has them."""
    return _LABEL_SEPARATOR.join(labels)


def split_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers that `join_numbers` wrote."""
    return tuple(int(each) for each in text.split(",")) if text else ()


def join_numbers(numbers: Iterable[int]) -> str:
    """Return numbers as the database has them."""
    return ",".join(map(str, numbers))
