"""What is kept, whatever happens."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, select

from nearer.survey.store import MIGRATIONS, Busy, Database, Writer, facts, people, read_fact, write_fact


@pytest.fixture
def writer(tmp_path):
    found = Writer(Database(f"sqlite:///{tmp_path / 'answers.sqlite'}"))
    yield found
    found.close()


def names_in(path):
    with sqlite3.connect(path) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM facts")}


def test_many_at_once_share_few_commits(writer, tmp_path):
    commits = []
    event.listen(writer.database.engine, "commit", commits.append)
    held = threading.Event()
    first = writer.submit(lambda _: held.wait(10))  # so that the others wait for it together
    with ThreadPoolExecutor(50) as pool:
        done = list(pool.map(lambda at: writer.submit(lambda c: write_fact(c, f"n{at}", "x")), range(500)))
        held.set()
        for each in (first, *done):
            each.result(20)
    assert len(names_in(tmp_path / "answers.sqlite")) == 501
    assert len(commits) <= 5


def test_whoever_no_longer_waits_stops_nobody(writer, tmp_path):
    held = threading.Event()
    first = writer.submit(lambda _: held.wait(10))
    gone = writer.submit(lambda connection: write_fact(connection, "gone", "x"))
    assert gone.cancel()
    held.set()
    first.result(10)
    writer.run(lambda connection: write_fact(connection, "after", "x"))
    assert names_in(tmp_path / "answers.sqlite") == {"version", "after"}


def test_many_readers_do_not_keep_the_writer_waiting(writer):
    readers = [writer.database.engine.connect().execution_options(reading=True) for _ in range(40)]
    try:
        for each in readers:
            read_fact(each, "version")
        began = time.monotonic()
        writer.run(lambda connection: write_fact(connection, "status", "open"))
        assert time.monotonic() - began < 10
    finally:
        for each in readers:
            each.close()


def test_what_fails_takes_nothing_else_with_it(writer, tmp_path):
    def bad(connection):
        write_fact(connection, "bad", "x")
        raise ValueError("no")

    held = threading.Event()
    first = writer.submit(lambda _: held.wait(10))  # so that the next three are one transaction
    works = [lambda c: write_fact(c, "one", "x"), bad, lambda c: write_fact(c, "two", "x")]
    futures = [writer.submit(work) for work in works]
    held.set()
    first.result(10)
    with pytest.raises(ValueError, match="no"):
        futures[1].result(10)
    futures[2].result(10)
    assert names_in(tmp_path / "answers.sqlite") == {"version", "one", "two"}


def test_a_locked_database_is_waited_for(writer, tmp_path):
    other = sqlite3.connect(tmp_path / "answers.sqlite", check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    future = writer.submit(lambda connection: write_fact(connection, "late", "x"))
    time.sleep(1.0)
    assert not future.done()
    other.rollback()
    future.result(20)
    assert "late" in names_in(tmp_path / "answers.sqlite")


def test_whoever_cannot_write_says_so_and_goes_on_later(writer, tmp_path):
    """As with a full disk: a commit that fails is told to all who waited for it."""

    def full(connection):
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        for at in range(200):
            write_fact(connection, f"n{at}", "x" * 5000)

    with pytest.raises(Busy, match="full"):
        writer.run(full)
    writer.run(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1000000"))
    writer.run(lambda connection: write_fact(connection, "after", "x"))
    assert names_in(tmp_path / "answers.sqlite") == {"version", "after"}


def test_what_was_reported_survives_the_end_of_the_process(tmp_path):
    path = tmp_path / "answers.sqlite"
    code = (
        "import sys\nfrom nearer.survey.store import Database, Writer\n"
        "from nearer.survey.store import write_fact\n"
        f"writer = Writer(Database('sqlite:///{path}'))\n"
        "for at in range(100000):\n"
        "    writer.run(lambda connection: write_fact(connection, f'n{at}', 'x'))\n"
        "    print(at, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    told = [process.stdout.readline().strip() for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.read().split()
    process.wait()
    assert {f"n{at}" for at in told} <= names_in(path)


def test_tables_of_a_later_version_are_refused(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'answers.sqlite'}")
    with database.engine.begin() as connection:
        write_fact(connection, "version", str(len(MIGRATIONS) + 1))
    with pytest.raises(ValueError, match="later version of nearer"):
        Database(f"sqlite:///{tmp_path / 'answers.sqlite'}")


def test_tables_of_the_version_before_are_brought_up_to_date(tmp_path):
    url = f"sqlite:///{tmp_path / 'answers.sqlite'}"
    Database(url).close()
    with sqlite3.connect(tmp_path / "answers.sqlite") as connection:
        for table, column in (("people", "condition"), ("people", "question_list"), ("questions", "correct")):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("UPDATE facts SET value = '1' WHERE name = 'version'")
        connection.execute(
            "INSERT INTO people (name, session, external, code, began, left_out) VALUES ('ann', 'x', '', 'y', 0, 0)"
        )
    with pytest.raises(ValueError, match="earlier version of nearer"):
        Database.to_read(url)
    database = Database(url)
    with database.reading() as connection:
        assert connection.execute(select(people.c.name, people.c.condition, people.c.question_list)).all() == [
            ("ann", "", "")
        ]
    database.close()
    Database.to_read(url).close()


def test_opening_again_changes_nothing(tmp_path):
    for _ in range(2):
        database = Database(f"sqlite:///{tmp_path / 'answers.sqlite'}")
        with database.engine.connect() as connection:
            assert connection.execute(select(facts)).all() == [("version", str(len(MIGRATIONS)))]
            assert read_fact(connection, "nothing") is None
        database.close()


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/name", "sqlite:////no/such/folder/x.sqlite"])
def test_other_databases_are_refused_with_a_sentence(url):
    with pytest.raises(ValueError, match="database"):
        Database(url)
