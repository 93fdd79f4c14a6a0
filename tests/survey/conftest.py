"""A small study, its server in this process, and people who take part."""

import copy
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url
from starlette.testclient import TestClient

from nearer.survey.server import Serving, build, researcher_secret
from nearer.survey.stimuli import slug_of
from nearer.survey.store import read_fact

NAMES = ("cat", "dog", "cow", "car", "bus", "van", "tram", "bike")


def write_study(folder, *, objects=NAMES, files=None, **tables):
    """Write the folder of a study; keyword arguments are tables of its settings, or top-level values.

    Objects that are texts are named; of others, files have the contents by their names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stimuli").mkdir(exist_ok=True)
    for name, content in (files or {}).items():
        (folder / "stimuli" / name).write_bytes(content)
    if objects:
        (folder / "objects.csv").write_text("object,caption\n" + "".join(f"{each},a {each}\n" for each in objects))
    top = {"title": "Things", "question": "Which is more like it?", "kind": "triplet"}
    top |= {key: value for key, value in tables.items() if not isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in top.items()]
    for name, values in tables.items():
        if isinstance(values, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    (folder / "study.toml").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def make_study(tmp_path):
    """Return a function that writes studies."""
    numbers = itertools.count()

    def make(**settings):
        settings.setdefault("questions", {"per_person": 6, "practice": 1})
        settings.setdefault("sampling", {"method": "random"})
        return write_study(tmp_path / f"study{next(numbers)}", **settings)

    return make


class Served:
    """A study whose server runs here."""

    def __init__(self, folder, **options):
        self.folder = folder
        self.secret = researcher_secret(folder)
        self.app, self.writer, self.study = build(folder, Serving(**options), seed=0)
        key = self.writer.run(lambda connection: read_fact(connection, "key"))
        self.session, self.researcher_cookie = f"nearer_session_{key}", f"nearer_researcher_{key}"

    def label(self, item):
        """Return the label of an object as a page gets it."""
        return {slug_of(label): label for label in self.study.labels}[item["object"]]

    def client(self):
        """Return a browser of its own."""
        return TestClient(self.app, base_url="http://testserver", raise_server_exceptions=False)

    def person(self, consent=True, **parameters):
        """Return somebody who has opened the page."""
        return Person(self.client(), consent, parameters)

    def people(self):
        """Return names of all people, and their codes, in the order of their coming."""
        from sqlalchemy import select

        from nearer.survey.store import people

        with self.writer.database.engine.connect() as connection:
            return connection.execute(select(people.c.name, people.c.code).order_by(people.c.id)).all()

    def rows(self):
        """Return all answers that are kept."""
        from sqlalchemy import select

        from nearer.survey.store import answers

        with self.writer.database.engine.connect() as connection:
            return connection.execute(select(answers)).all()


class Person:
    """Somebody with a browser."""

    def __init__(self, client, consent=True, parameters=None):
        self.client = client
        self.page = client.get("/", params=parameters or {})
        if consent:
            self.post("/api/consent", {})

    def at(self, served):
        """Return this person in the same browser, as another server meets them."""
        other = copy.copy(self)
        other.client = served.client()
        other.client.cookies = self.client.cookies
        return other

    def post(self, path, body, **headers):
        """Send JSON as the page does."""
        return self.client.post(path, json=body, headers={"x-nearer": "1", **headers})

    def state(self):
        """Return what the page would show."""
        return self.client.get("/api/state").json()

    def answer(self, question, chosen=(0,), **changes):
        """Answer a question, given as the page gets it or by its number."""
        number = question["id"] if isinstance(question, dict) else question
        sent = {"question": number, "chosen": list(chosen), "seconds": 1.5, "id": str(uuid.uuid4())} | changes
        return self.post("/api/answers", {"answers": [sent]})

    def finish(self, choose=lambda question: range(question["n_chosen"])):
        """Answer everything, and return the last state."""
        state = self.state()
        for _ in range(1000):
            if state["phase"] != "asking":
                return state
            question = state["next"][0]
            state = self.answer(question, choose(question)).json()
        raise AssertionError("it never ends")


@pytest.fixture
def serve(make_study):
    """Return a function that serves studies, and end them."""
    served = []

    def begin(folder=None, *, serving=None, **settings):
        served.append(Served(folder or make_study(**settings), **(serving or {})))
        return served[-1]

    yield begin
    for each in served:
        each.writer.close()


@pytest.fixture
def at_port(serve):
    """Return a function that serves a study at a port of this machine, where it can be stopped and started."""
    uvicorn = pytest.importorskip("uvicorn")
    running = []

    def begin(**settings):
        served = serve(**settings)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            served.port = free.getsockname()[1]
        served.link = f"http://127.0.0.1:{served.port}/"

        def start():
            server = uvicorn.Server(
                uvicorn.Config(served.app, host="127.0.0.1", port=served.port, log_level="error", lifespan="off")
            )
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            while not server.started:
                time.sleep(0.01)
            running.append((server, thread))

            def stop():
                server.should_exit = server.force_exit = True
                thread.join(20)

            served.stop = stop

        served.start = start
        start()
        return served

    yield begin
    for server, _ in running:
        server.should_exit = server.force_exit = True


def _program(name):
    found = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)]
    return next((str(each) for each in found if each), None)


@pytest.fixture
def impatient(browser):
    """The browser; what its pages wait for longer than half a second comes after a tenth of that time."""
    hurry = """
    const wait = window.setTimeout;
    window.setTimeout = (work, delay = 0, ...rest) => wait(work, delay > 500 ? delay / 10 : delay, ...rest);
    """
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": hurry})
    yield browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


@pytest.fixture(scope="session")
def postgresql_server():
    """Return the URL of a PostgreSQL server, started here."""
    initdb, server = _program("initdb"), _program("postgres")
    if initdb is None or server is None:
        pytest.skip("no PostgreSQL here: install Debian's package postgresql")
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg: pip install 'psycopg[binary]'")
    owner = {"user": "postgres"} if os.geteuid() == 0 else {}  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="nearer-pg-"))
    if owner:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")
    made = [initdb, "-D", data, "-U", "nearer", "-A", "trust", "--no-sync"]
    subprocess.run(made, check=True, capture_output=True, cwd=folder, **owner)
    command = [server, "-D", data, "-p", str(port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    process = subprocess.Popen([*command, "-k", str(folder)], cwd=folder, stderr=subprocess.DEVNULL, **owner)
    try:
        for _ in range(600):
            with socket.socket() as there:
                if there.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        time.sleep(0.5)
        yield f"postgresql+psycopg://nearer@127.0.0.1:{port}/postgres"
    finally:
        process.send_signal(signal.SIGQUIT)  # at once, whoever is still connected
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql(postgresql_server):
    """Return the URL of an empty database: a schema, which is made and removed faster than a database is."""
    name = f"study_{uuid.uuid4().hex[:12]}"
    engine = create_engine(postgresql_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    url = make_url(postgresql_server).update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)
