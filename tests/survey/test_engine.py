"""The engine proposes what tells most, and nobody waits for it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from nearer.survey import engine as engines
from nearer.survey.engine import Engine
from nearer.survey.store import ANALYSIS, ENGINE_STATE, people, proposals, questions, read_fact
from nearer.survey.supervisor import Supervisor

PLACES = {name: at for at, name in enumerate(("cat", "dog", "cow", "car", "bus", "van", "tram", "bike"))}


def nearest(served):
    """Return how somebody answers to whom the objects lie on a line."""

    def choose(question):
        head, *options = (PLACES[served.label(each)] for each in (question["head"], *question["options"]))
        return [int(np.argmin([abs(head - each) for each in options]))]

    return choose


@pytest.fixture
def served(serve):
    return serve(questions={"per_person": 20, "practice": 1}, sampling={"method": "active", "test_share": 0.2})


@pytest.fixture
def quick(monkeypatch):
    """Let maps be rough ones."""
    from nearer.design.active import posterior
    from nearer.sampling import Microcanonical

    begin = Microcanonical(n_chains=2, n_warmup=100, n_steps=400, thin=10, n_starts=2, n_climb=15)
    monkeypatch.setattr(posterior, "INITIAL_SETTINGS", begin)


@pytest.fixture
def engine(served, quick):
    return Engine(served.study, served.writer.database)


def fact(served, name):
    with served.writer.database.engine.connect() as connection:
        return json.loads(read_fact(connection, name))


def n_proposed(served):
    with served.writer.database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(proposals)).scalar_one()


def purposes(served):
    with served.writer.database.engine.connect() as connection:
        return connection.execute(select(questions.c.purpose).order_by(questions.c.id)).scalars().all()


def test_without_answers_there_is_nothing_to_propose(served, engine):
    assert not engine.update()
    assert n_proposed(served) == 0


@pytest.fixture
def described(make_study, serve, quick):
    """A study of objects with features, served."""
    folder = make_study(
        questions={"per_person": 20, "practice": 0},
        sampling={"method": "active", "test_share": 0.2, "repeat_share": 0.0},
        features="vectors.csv",
    )
    rows = [f"{name},{at},{at**2},{-at}" for name, at in PLACES.items()]
    (folder / "vectors.csv").write_text("\n".join(["object,a,b,c", *rows]), encoding="utf-8")
    return serve(folder)


def test_with_features_the_first_questions_are_chosen(described):
    engine = Engine(described.study, described.writer.database)
    assert engine.update()
    assert n_proposed(described) > 100
    assert not engine.update()  # enough for now
    described.person().finish(nearest(described))
    asked = purposes(described)
    assert asked.count("information") >= 14
    assert "start" not in asked
    assert engine.update()
    assert engine.questions.model_.feature_share_ is not None


def test_the_features_of_a_study_are_by_position(described):
    (features,) = described.study.features
    labels = [described.study.labels[at] for at in features.objects.tolist()]
    assert features.values[:, 0].tolist() == [PLACES[label] for label in labels]
    assert features.name == "vectors"


def test_features_that_cannot_be_read_are_found_before_anybody_is_asked(make_study, serve):
    folder = make_study(features=["nowhere.csv"])
    with pytest.raises(ValueError, match="no file nowhere"):
        serve(folder)


def test_what_is_proposed_is_asked(served, engine):
    served.person().finish(nearest(served))
    assert "information" not in purposes(served)
    assert engine.update()
    assert n_proposed(served) > 20
    assert not engine.update()  # nothing new
    served.person().finish(nearest(served))
    second = purposes(served)[21:]
    assert second.count("information") > 10
    assert "test" in second


def test_answers_are_reported_once_and_left_out_people_not_at_all(served, engine):
    for _ in range(2):
        served.person().finish(nearest(served))
    engine.update()
    assert engine.n_learned == len(engine.questions.comparisons_) == 40
    served.writer.run(lambda c: _leave_out_first(c))
    served.person().finish(nearest(served))
    engine.update()
    assert engine.n_learned == len(engine.questions.comparisons_) == 40


def _leave_out_first(connection):
    from nearer.survey.store import people

    first = connection.execute(select(people.c.id).order_by(people.c.id)).scalar()
    connection.execute(people.update().where(people.c.id == first).values(left_out=True))


def test_answers_are_reported_in_whatever_order_they_come(served, engine):
    person = served.person()
    first, second, third = person.state()["next"]
    for question in (third, second):
        person.answer(question)
    assert engine.update()
    assert engine.n_learned == 2
    person.answer(first)  # for practice
    assert not engine.update() or engine.n_learned == 2
    person.finish(nearest(served))
    engine.update()
    assert engine.n_learned == 20


def test_who_is_forgotten_is_forgotten_by_the_engine(served, engine):
    from nearer.survey.session import forget_participant

    for _ in range(2):
        served.person().finish(nearest(served))
    engine.update()
    with served.writer.database.engine.connect() as connection:
        name = connection.execute(select(people.c.name)).scalars().first()
    served.writer.run(lambda connection: forget_participant(connection, name))
    assert engine.update()
    assert engine.n_learned == len(engine.questions.comparisons_) == 20


def test_answers_about_an_object_that_came_later_wait_for_the_next_start(served, engine, caplog):
    """As while servers are started again one after the other, since files were added."""
    served.person().finish(nearest(served))
    with served.writer.database.engine.begin() as connection:
        first = connection.execute(select(questions.c.id).where(questions.c.purpose == "start")).scalars().first()
        connection.execute(questions.update().where(questions.c.id == first).values(shown="cat\tdog\temu"))
    assert engine.update()
    assert engine.n_learned == len(engine.questions.comparisons_) == 19
    assert "1 answer about objects that came into the folder later" in caplog.text


def test_a_clock_that_is_set_back_holds_no_question_for_ever(served, engine, monkeypatch):
    served.person().state()
    with served.writer.database.engine.connect() as connection:
        assert len(engine._open_questions(connection)) == 2  # and one for practice
        yesterday = time.time() - 86_400
        monkeypatch.setattr(engines.time, "time", lambda: yesterday)
        assert engine._open_questions(connection) == []


def test_the_researcher_sees_map_error_and_outlook(served, engine):
    assert fact(served, ENGINE_STATE)["state"] == "waiting"
    for _ in range(2):
        served.person().finish(nearest(served))
    engine.update()
    assert engine.fit_if_due()
    assert not engine.fit_if_due()
    assert fact(served, ENGINE_STATE) == {"state": "ready", "message": "", "n_learned": 40}
    known = fact(served, ANALYSIS)
    assert known["n_answers"] == 40
    assert len(known["map"]["points"]) == len(known["map"]["ellipses"]) == 8
    assert 0 <= known["error"]["low"] <= known["error"]["value"] <= known["error"]["high"] <= 1
    assert known["outlook"]["n_answers_more"] == 8
    assert known["outlook"]["recommendation"] in ("stop", "go on")
    assert known["ceiling"] is None  # too few came again
    assert isinstance(known["findings"], list)


def test_the_last_answers_get_a_map_too(served, engine, monkeypatch):
    served.person().finish(nearest(served))
    person = served.person()
    engine.update()
    engine.fit_if_due()
    question = person.state()["next"][1]
    person.answer(question, nearest(served)(question))
    engine.update()
    later = time.monotonic() + engines._MIN_FIT_SECONDS + 1
    monkeypatch.setattr(engines.time, "monotonic", lambda: later)
    assert not engine.fit_if_due()  # one more is no tenth
    monkeypatch.setattr(engines.time, "monotonic", lambda: later + engines._MAX_FIT_DELAY_SECONDS)
    assert engine.fit_if_due()
    assert fact(served, ANALYSIS)["n_answers"] == 21


def test_a_map_that_fails_costs_no_question(served, engine, monkeypatch):
    def fail(*_):
        raise ArithmeticError("too odd")

    monkeypatch.setattr(engines, "analyze_map", fail)
    served.person().finish(nearest(served))
    assert engine.update()
    assert engine.fit_if_due()
    assert fact(served, ENGINE_STATE) == {
        "state": "failed",
        "message": "no map could be made: too odd",
        "n_learned": 20,
    }
    assert n_proposed(served) > 20


@pytest.mark.parametrize("dimensions", [1, 3])  # two are those of other tests
def test_random_questions_make_a_map_too_and_none_is_proposed(serve, quick, dimensions):
    served = serve(
        questions={"per_person": 40, "practice": 0, "dimensions": dimensions},
        sampling={"method": "random", "test_share": 0.3, "repeat_share": 0.5},
    )
    engine = Engine(served.study, served.writer.database)
    for _ in range(4):
        served.person().finish(nearest(served))
    assert engine.update()
    assert not engine.update()
    assert engine.fit_if_due()
    assert n_proposed(served) == 0
    known = fact(served, ANALYSIS)
    assert {len(point) for point in known["map"]["points"]} == {2}
    assert known["map"]["n_dimensions"] == dimensions
    assert known["error"]["n"] > 20
    assert known["ceiling"]["low"] <= known["ceiling"]["value"] <= known["ceiling"]["high"]
    assert known["ceiling"]["n"] >= 20


def test_the_doctor_names_who_looks_careless_and_keeps_it_in_mind(serve, quick):
    served = serve(questions={"per_person": 30, "practice": 0, "catch": 4}, sampling={"method": "random"})
    engine = Engine(served.study, served.writer.database)
    usual = nearest(served)
    for _ in range(3):
        served.person().finish(usual)
    served.person().finish(lambda question: [0])  # a catch question whose right answer is on the left comes out right
    hasty = served.person()
    hasty.finish(lambda question: [1 - usual(question)[0]])
    engine.update()
    engine.fit_if_due()
    flags = fact(served, ANALYSIS)["people"]
    names = [row[0] for row in served.people()]
    assert "always one position" in flags[names[3]]
    assert flags[names[4]][:1] == ["fails catch questions"]
    assert not set(names[:3]) & set(flags)
    assert any(each["code"] == "fails-catch" for each in fact(served, ANALYSIS)["findings"])
    served.writer.run(lambda c: c.execute(people.update().where(people.c.name == names[4]).values(left_out=True)))
    engine.update()
    engine.next_fit = 0.0
    engine.fit_if_due()
    assert fact(served, ANALYSIS)["people"][names[4]][:1] == ["fails catch questions"]
    assert names[4] not in str(fact(served, ANALYSIS)["findings"])


def test_an_engine_that_is_killed_begins_again_and_people_go_on(served):
    supervisor = Supervisor(served.folder, served.writer.database)
    supervisor.start()
    try:
        deadline = time.monotonic() + 60
        while supervisor.process is None and time.monotonic() < deadline:
            time.sleep(0.05)
        first = supervisor.process.pid
        person = served.person()
        os.kill(first, signal.SIGKILL)
        assert person.finish(nearest(served))["phase"] == "done"
        while supervisor.process.pid == first and time.monotonic() < deadline:
            time.sleep(0.05)
        assert supervisor.process.pid != first
    finally:
        supervisor.stop()


def test_an_engine_does_not_hear_ctrl_c_of_its_server(served):
    supervisor = Supervisor(served.folder, served.writer.database)
    supervisor.start()
    try:
        deadline = time.monotonic() + 60
        while supervisor.process is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert os.getpgid(supervisor.process.pid) != os.getpgid(0)  # a terminal sends it to a group of processes
    finally:
        supervisor.stop()


HOLDS_THE_INTERPRETER = (
    "import ctypes, sys; from nearer.survey.supervisor import end_with; end_with(int(sys.argv[2]));"
    "print('begun', flush=True); ctypes.PyDLL(None).sleep(100)"
)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc")
@pytest.mark.parametrize("engine", [["-m", "nearer.survey.supervisor"], ["-c", HOLDS_THE_INTERPRETER]])
def test_an_engine_ends_with_its_server(served, engine):
    """A server that is killed again and again must not leave engines behind, each with its memory."""
    code = (
        "import os, subprocess, sys, time\n"
        "command = [sys.executable, *sys.argv[2:], sys.argv[1], str(os.getpid())]\n"
        "engine = subprocess.Popen(command, stdout=subprocess.PIPE)\n"
        "engine.stdout.readline() if sys.argv[2] == '-c' else None\n"
        "print(engine.pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    command = [sys.executable, "-c", code, str(served.folder), *engine]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process = Path("/proc", server.stdout.readline().strip(), "stat")
    assert process.is_file()
    server.kill()
    server.wait()

    def runs():
        try:
            return process.read_text().rpartition(")")[2].split()[0] != "Z"  # ended, and waits to be noticed
        except OSError:
            return False

    deadline = time.monotonic() + 60
    while runs() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs()
