"""Databases that freeze, vanish or are damaged, files that others may read, and what ends in a log."""

import asyncio
import json
import logging
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from importlib import resources

import pytest
from sqlalchemy.engine import make_url

from benchmarks.survey.serving import free_port
from nearer.cli.main import main
from nearer.survey import engine, researcher, store, web
from nearer.survey.checking import check_study
from nearer.survey.scaffold import new_study
from nearer.survey.server import Serving, build
from nearer.survey.store import Database, DatabaseDamaged
from nearer.survey.study import DATABASE_FILE
from nearer.survey.supervisor import _is_failure, log_to_stderr

JSON = {"x-nearer": "1"}


class Gate:
    """A way to a database that can be shut, with its connections open or cut."""

    def __init__(self, url):
        self.to, self.is_open = (url.host, url.port), threading.Event()
        self.is_open.set()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = url.set(port=self.listening.getsockname()[1]).render_as_string(hide_password=False)
        self.sockets = [self.listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                here = self.listening.accept()[0]
                there = socket.create_connection(self.to)
                self.sockets += [here, there]
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source, target):
        with suppress(OSError):
            while piece := source.recv(65_536):
                self.is_open.wait()
                target.sendall(piece)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for each in self.sockets[1:]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.is_open.set()
        for each in self.sockets:
            each.close()


@pytest.fixture
def gate(postgresql):
    gate = Gate(make_url(postgresql))
    yield gate
    gate.close()


@pytest.fixture
def behind(gate, serve, make_study, monkeypatch):
    """A study whose database is behind the gate, and whose patience is short."""
    monkeypatch.setattr(web, "WRITE_SECONDS", 1.0)
    monkeypatch.setattr(store, "CLOSE_SECONDS", 1.0)
    monkeypatch.setattr(researcher.read, "__defaults__", (1.0,))
    return serve(make_study(server={"database": gate.url}))


def sent(question, **changes):
    return {"answers": [{"question": question["id"], "chosen": [0], "seconds": 1.0, "id": "a"} | changes]}


def test_a_frozen_database_is_reported_in_time_and_the_answer_comes_later(behind, gate):
    person = behind.person()
    question = person.state()["next"][0]
    gate.is_open.clear()
    for _ in range(2):
        began = time.monotonic()
        found = person.post("/api/answers", sent(question))
        assert found.status_code == 503  # the page keeps the answer, and sends it again
        assert "sent again" in found.json()["error"]
        assert time.monotonic() - began < 5
    person.client.cookies.set(behind.researcher_cookie, behind.secret)
    assert person.client.get("/researcher/api/state").status_code == 503
    gate.is_open.set()
    deadline = time.monotonic() + 30
    while person.post("/api/answers", sent(question)).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert [row.sent_as for row in behind.rows()] == ["a"]


def test_a_server_ends_while_its_database_is_frozen(behind, gate):
    person = behind.person()
    gate.is_open.clear()
    assert person.post("/api/answers", sent({"id": 1})).status_code == 503
    began = time.monotonic()
    behind.writer.close()
    assert time.monotonic() - began < 5
    gate.is_open.set()  # the fixture closes it once more


def test_a_database_that_vanishes_is_found_again(behind, gate):
    person = behind.person()
    question = person.state()["next"][0]
    gate.cut()
    deadline = time.monotonic() + 30
    while (status := person.post("/api/answers", sent(question)).status_code) != 200:
        assert status == 503
        assert time.monotonic() < deadline
    assert len(behind.rows()) == 1


def test_postgresql_is_not_waited_for_without_end(postgresql):
    database = Database(postgresql)
    with database.engine.connect() as connection:
        parameters = connection.connection.dbapi_connection.info.get_parameters()
        assert parameters["connect_timeout"] == "5"
        assert parameters["keepalives_idle"] == "5"
        connection.rollback()
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar_one() == "1min"
    database.close()


@pytest.mark.parametrize("text", ["a\0b", "\0"])
def test_a_character_that_no_database_takes_is_refused_for_good(postgresql, serve, make_study, text):
    served = serve(make_study(server={"database": postgresql}))
    person = served.person()
    question = person.state()["next"][0]
    assert person.post("/api/answers", sent(question, id=text)).status_code == 400  # with 503 it would come for ever
    person.client.cookies.set(served.researcher_cookie, served.secret)
    for path, body in (("people", {"id": text, "left_out": True}), ("codes", {"codes": [text]})):
        assert person.post(f"/researcher/api/{path}", body).status_code == 400
    assert person.answer(question).status_code == 200


@pytest.fixture
def damaged(serve):
    """A study with answers, in whose database all pages but the first are overwritten."""
    served = serve()
    served.person().finish()
    served.writer.database.scrub()
    file = served.folder / DATABASE_FILE
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    return served


def test_a_damaged_file_is_reported_before_anybody_is_invited(damaged):
    damaged.writer.close()
    with pytest.raises(DatabaseDamaged, match=r"answers\.sqlite is damaged .* put a backup in its place"):
        build(damaged.folder, Serving())


@pytest.mark.parametrize("command", ["run", "code"])
def test_commands_say_that_a_file_is_damaged(damaged, command, capsys):
    damaged.writer.close()
    more = ["ABC"] if command == "code" else ["--port", str(free_port())]
    assert main(["survey", command, str(damaged.folder), *more]) == 2
    error = capsys.readouterr().err
    assert "is damaged" in error
    assert "should not have happened" not in error


def test_a_damaged_file_is_one_of_the_problems_of_a_study(damaged):
    damaged.writer.close()
    found = [problem for problem in check_study(damaged.folder) if problem.severity == "error"]
    assert [problem.file for problem in found] == [DATABASE_FILE]
    assert "is damaged" in found[0].message


def test_people_keep_their_answers_while_a_file_is_damaged(damaged, caplog):
    damaged.writer.database.engine.dispose()  # pages that connections remember
    found = damaged.client().get("/")
    assert found.status_code == 503
    assert any("is damaged" in record.getMessage() for record in caplog.records)


def test_an_engine_that_cannot_go_on_says_why(damaged, forks):
    damaged.writer.close()
    code = (
        "import os, runpy, sys\n"
        "sys.argv.append(str(os.getppid()))\n"
        "runpy.run_module('nearer.survey.supervisor', run_name='__main__', alter_sys=True)"
    )
    ended = forks.run("-c", code, damaged.folder)
    assert ended.returncode == 1
    assert "is damaged" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_engine_without_its_database_says_why(make_study, monkeypatch):
    monkeypatch.setattr(engine, "_NICE_INCREMENT", 0)
    folder = make_study(server={"database": f"postgresql+psycopg://nearer@127.0.0.1:{free_port()}/nothing"})
    with pytest.raises(SystemExit, match=r"^nearer: .* cannot be opened"):
        engine.run_engine(folder)


posix = pytest.mark.skipif(os.name != "posix", reason="there are no such rights here")


@posix
@pytest.mark.parametrize("replaced", [False, True])
def test_no_answer_is_confirmed_while_the_file_is_not_in_its_place(serve, caplog, replaced):
    served = serve()
    person, file = served.person(), served.folder / DATABASE_FILE
    question = person.state()["next"][0]
    file.rename(served.folder / "moved")  # SQLite would go on with it, and with one that was deleted
    if replaced:
        shutil.copy(served.folder / "moved", file)
    assert person.answer(question).status_code == 503
    assert any("put the file back" in record.getMessage() for record in caplog.records)
    (served.folder / "moved").rename(file)
    assert person.answer(question).status_code == 200
    assert len(served.rows()) == 1


@posix
def test_a_file_that_is_opened_twice_stays_locked(tmp_path):
    first, again = (Database(f"sqlite:///{tmp_path / DATABASE_FILE}") for _ in range(2))
    look = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM facts').fetchall()"
    subprocess.run([sys.executable, "-c", look, str(tmp_path / DATABASE_FILE)], check=True)
    assert (tmp_path / f"{DATABASE_FILE}-wal").exists()  # the last to close deletes it
    again.close()
    first.close()


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
def test_answers_are_for_their_owner_alone(make_study, serve):
    before = os.umask(0)
    try:
        folder = make_study()
        with closing(sqlite3.connect(folder / DATABASE_FILE)) as made:
            made.execute("PRAGMA journal_mode=WAL")
        (folder / DATABASE_FILE).chmod(0o666)  # such as a backup that was copied back
        served = serve(folder)
        served.person().finish()
        files = sorted(path.name for path in folder.glob(f"{DATABASE_FILE}*"))
        assert files == [DATABASE_FILE, f"{DATABASE_FILE}-shm", f"{DATABASE_FILE}-wal"]
        assert [rights(folder / name) for name in files] == [0o600] * 3
        assert rights(serve(make_study()).folder / DATABASE_FILE) == 0o600  # one that is new
        assert rights(new_study(folder.parent / "new")) == 0o700
    finally:
        os.umask(before)


@posix
def test_a_file_that_its_owner_cannot_write_stays_so(make_study):
    folder = make_study()
    Database(f"sqlite:///{folder / DATABASE_FILE}").close()
    (folder / DATABASE_FILE).chmod(0o444)  # such as of a study that is over
    with suppress(ValueError):  # nobody keeps root from writing
        Database(f"sqlite:///{folder / DATABASE_FILE}").close()
    assert rights(folder / DATABASE_FILE) == 0o400


def test_where_a_file_cannot_be_made_is_reported(tmp_path):
    (tmp_path / DATABASE_FILE).mkdir()
    with pytest.raises(ValueError, match=f"cannot be opened: .*; see who may read and write in {tmp_path}"):
        Database(f"sqlite:///{tmp_path / DATABASE_FILE}")


@posix
def test_a_password_that_others_can_read_is_reported(make_study):
    folder = make_study(server={"database": "postgresql+psycopg://survey:secret@db.example.org/animals"})
    (folder / "study.toml").chmod(0o644)
    assert any("chmod 600" in problem.message for problem in check_study(folder))
    (folder / "study.toml").chmod(0o600)
    assert not any("chmod 600" in problem.message for problem in check_study(folder))


@posix
def test_a_key_that_everybody_can_read_is_refused(make_study, tmp_path, capsys):
    key = tmp_path / "key.pem"
    key.write_text("")
    key.chmod(0o644)
    assert main(["survey", "run", str(make_study()), "--certificate", str(key), "--key", str(key)]) == 2
    assert f"chmod 600 {key}" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_work_that_was_ended_leaves_no_traceback_in_the_log(error):
    record = logging.LogRecord("sqlalchemy.pool", logging.ERROR, "", 1, "ended", (), (type(error), error, None))
    assert not _is_failure(record)
    record.exc_info = (OSError, OSError(), None)
    assert _is_failure(record)
    log_to_stderr()
    assert all(_is_failure in handler.filters for handler in logging.getLogger().handlers)


SENDS = """
const {{ makeSender, openQueue }} = await import({module});
globalThis.addEventListener = globalThis.removeEventListener = () => {{}};
globalThis.document = {{ addEventListener() {{}}, removeEventListener() {{}} }};
const replies = [503, 503, 200];
globalThis.fetch = async () => {{
  const status = replies.shift();
  return {{ status, ok: status === 200, json: async () => ({{ saved: [7] }}) }};
}};
const queue = openQueue("x");
queue.add({{ id: "a", question: 7, chosen: [0], seconds: 1 }});
const seen = [];
const on = {{ lost: (status) => seen.push([status, queue.entries().length]), saved: () => seen.push("saved") }};
await makeSender(queue, on)();
console.log(JSON.stringify([seen, queue.entries().length]));
"""


def test_the_page_keeps_an_answer_that_a_busy_server_does_not_take(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js here: install Debian's package nodejs")
    module = tmp_path / "sending.mjs"
    source = resources.files("nearer.survey") / "static" / "sending.js"
    module.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    script = tmp_path / "script.mjs"
    script.write_text(SENDS.format(module=json.dumps(module.as_uri())), encoding="utf-8")
    done = subprocess.run([node, str(script)], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == [[[503, 1], [503, 1], "saved"], 0], done.stderr
