"""What becomes of a study whose files change: nothing is written before it is checked, and answers stay readable."""

import hashlib

import pytest
from sqlalchemy.exc import SQLAlchemyError

from nearer.cli.main import main
from nearer.survey.checking import check_study
from nearer.survey.exporting import study_table
from nearer.survey.store import Database, write_fact
from nearer.survey.study import asked_objects, open_study, read_study

NAMES = [f"object {at:02d}" for at in range(30)]


def put(folder, name):
    (folder / "stimuli" / f"{name}.txt").write_text(f"This is {name}.")


@pytest.fixture
def folder(make_study):
    """Return the folder of a study whose objects are files."""
    made = make_study(objects=(), questions={"per_person": 3, "practice": 0})
    for name in NAMES:
        put(made, name)
    return made


@pytest.fixture
def asked(folder, serve):
    """Return the objects that one person was asked about, all of whose questions are answered."""
    served = serve(folder)
    served.person().finish()
    with served.writer.database.engine.connect() as connection:
        found = sorted(asked_objects(connection))
    served.writer.close()
    return found


def contents(folder):
    """Return the files of a study and what they hold."""
    return {path: hashlib.sha256(path.read_bytes()).digest() for path in sorted(folder.rglob("*")) if path.is_file()}


def rename(folder, old, new):
    (folder / "stimuli" / f"{old}.txt").rename(folder / "stimuli" / f"{new}.txt")


def test_a_renamed_file_is_refused_and_is_no_trouble_once_it_has_its_name_again(folder, asked):
    before = contents(folder)
    rename(folder, asked[0], "another")
    with pytest.raises(ValueError, match=f"asked about '{asked[0]}', of which there is no file any more; put it back$"):
        open_study(folder)
    rename(folder, "another", asked[0])
    assert contents(folder) == before
    study, database = open_study(folder)
    database.close()
    assert study.labels == tuple(NAMES)


def test_a_file_that_nobody_was_asked_about_comes_and_goes(folder, serve):
    put(folder, "stray")
    serve(folder)
    (folder / "stimuli" / "stray.txt").unlink()
    served = serve(folder)
    served.person().finish()
    with served.writer.database.engine.connect() as connection:
        never = sorted(set(NAMES) - asked_objects(connection))
    (folder / "stimuli" / f"{never[0]}.txt").unlink()
    assert serve(folder).person().finish()["phase"] == "done"


def test_a_file_that_nobody_could_see_may_be_removed(folder, serve):
    served = serve(folder)
    person = served.person()
    waiting = person.state()["next"]
    taken_back = {served.label(each["head"]) for each in waiting}
    for each in waiting:
        person.post("/api/unseen", {"question": each["id"], "objects": []})
    with served.writer.database.engine.connect() as connection:
        unseen = sorted(taken_back - asked_objects(connection))
    assert unseen
    for label in unseen:
        (folder / "stimuli" / f"{label}.txt").unlink()
    serve(folder)


def test_answers_are_read_whatever_has_become_of_the_files(folder, asked):
    before = study_table(folder).columns
    for name in NAMES:
        (folder / "stimuli" / f"{name}.txt").unlink()
    put(folder, "another")
    assert study_table(folder).columns == before
    assert {*before["anchor"], *before["left"], *before["right"]} == set(asked)


def test_what_only_reads_writes_nothing(folder, serve, capsys):
    untouched = contents(folder)
    with pytest.raises(ValueError, match="nobody has answered yet"):
        study_table(folder)
    assert main(["survey", "check", str(folder)]) == 0
    assert main(["survey", "code", str(folder), "ABC"]) == 1
    assert contents(folder) == untouched  # no database was made
    served = serve(folder)
    person = served.person()
    person.finish()
    code = person.state()["completion_code"]
    served.writer.close()
    for name in NAMES:
        rename(folder, name, f"other {name}")
    before = contents(folder)
    study_table(folder)
    main(["survey", "check", str(folder)])
    assert main(["survey", "code", str(folder), code]) == 0
    assert contents(folder) == before
    _, database = read_study(folder)
    with pytest.raises(SQLAlchemyError, match="readonly"), database.engine.begin() as connection:
        write_fact(connection, "status", "closed")
    database.close()


def test_a_refused_kind_changes_nothing(folder, asked):
    settings = folder / "study.toml"
    settings.write_text(settings.read_text().replace("triplet", "odd-one-out"))
    before = contents(folder)
    for work in (open_study, read_study):
        with pytest.raises(ValueError, match="make another study"):
            work(folder)
    assert contents(folder) == before


def problems(folder):
    """Return what is wrong with a study, but that it has neither a text of consent nor a notice."""
    found = [each for each in check_study(folder) if not {"consent", "responsible"} & {*each.settings}]
    return [(each.severity, each.file, each.message) for each in found]


def test_the_check_says_what_the_next_start_would(folder, serve):
    assert problems(folder) == []
    serve(folder)
    assert problems(folder) == []  # nobody has been asked
    served = serve(folder)
    served.person().finish()
    with served.writer.database.engine.connect() as connection:
        asked = sorted(asked_objects(connection))
    served.writer.close()
    never = [name for name in NAMES if name not in asked]
    ((level, where, what),) = problems(folder)
    assert (level, where) == ("warning", "stimuli")
    assert what.startswith(f"people will be asked about '{never[0]}', ")
    for name in never:
        (folder / "stimuli" / f"{name}.txt").unlink()
    assert problems(folder) == []
    rename(folder, asked[0], "another")
    missing = f"people have been asked about '{asked[0]}', of which there is no file any more; put it back"
    renamed = f"{missing}, or give 'another' that name again if it was renamed"
    assert problems(folder) == [("error", "stimuli", renamed)]
    with pytest.raises(ValueError, match="that name again"):
        open_study(folder)


def test_the_check_of_another_kind_and_of_a_database_that_is_none(folder, asked):
    settings = folder / "study.toml"
    settings.write_text(settings.read_text().replace("triplet", "most-central"))
    assert ("error", "study.toml") in [each[:2] for each in problems(folder)]
    (folder / "answers.sqlite").write_text("something else\n" * 1000)
    assert ("error", "answers.sqlite") in [each[:2] for each in problems(folder)]


def test_reading_from_postgresql_writes_nothing(postgresql, make_study, serve):
    folder = make_study(server={"database": postgresql})
    with pytest.raises(ValueError, match="nobody has answered yet"):
        study_table(folder)
    assert not problems(folder)
    assert Database(postgresql, reading=True).version == 0  # no tables were made
    serve(folder).person().finish()
    assert len(study_table(folder).columns["trial"]) == 6
    _, database = read_study(folder)
    with pytest.raises(SQLAlchemyError, match="read-only"), database.engine.begin() as connection:
        write_fact(connection, "status", "closed")
    database.close()


def test_labels_are_sorted_whatever_their_order_in_the_table(make_study):
    study, database = open_study(make_study(objects=("b", "C", "a.2")))
    database.close()
    assert study.labels == ("C", "a.2", "b")
