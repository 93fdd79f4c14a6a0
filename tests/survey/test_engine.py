"""The engine proposes what tells most, and nobody waits for it."""

import json
import os
import signal
import time

import numpy as np
import pytest
from sqlalchemy import func, select

from nearer.survey.engine import ENGINE, Engine, Supervisor
from nearer.survey.store.database import read_fact
from nearer.survey.store.tables import proposals, questions

PLACES = {name: at for at, name in enumerate(("cat", "dog", "cow", "car", "bus", "van", "tram", "bike"))}


def nearest(served):
    """Return how somebody answers to whom the objects lie on a line."""
    places = np.array([PLACES[label] for label in served.study.labels])

    def choose(question):
        away = [abs(places[each["number"]] - places[question["head"]["number"]]) for each in question["options"]]
        return [int(np.argmin(away))]

    return choose


@pytest.fixture
def served(serve):
    return serve(questions={"per_person": 20, "practice": 1}, sampling={"method": "active", "test_share": 0.2})


@pytest.fixture
def engine(served, monkeypatch):
    from nearer.active import belief
    from nearer.posterior import Microcanonical

    begin = Microcanonical(n_chains=2, n_warmup=100, n_steps=400, thin=10, n_starts=2, n_climb=15)
    monkeypatch.setattr(belief, "_BEGIN", begin)
    return Engine(served.study, served.writer.database)


def n_proposed(served):
    with served.writer.database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(proposals)).scalar_one()


def purposes(served):
    with served.writer.database.engine.connect() as connection:
        return connection.execute(select(questions.c.purpose).order_by(questions.c.id)).scalars().all()


def test_without_answers_there_is_nothing_to_propose(served, engine):
    assert not engine.look()
    assert n_proposed(served) == 0


def test_what_is_proposed_is_asked(served, engine):
    served.person().finish(nearest(served))
    assert "information" not in purposes(served)
    assert engine.look()
    assert n_proposed(served) > 20
    assert not engine.look()  # nothing new
    served.person().finish(nearest(served))
    second = purposes(served)[21:]
    assert second.count("information") > 10
    assert "test" in second


def test_answers_are_told_once_and_left_out_people_not_at_all(served, engine):
    for _ in range(2):
        served.person().finish(nearest(served))
    engine.look()
    assert engine.n_told == len(engine.questions.comparisons_) == 40
    served.writer.run(lambda c: _leave_out_first(c))
    served.person().finish(nearest(served))
    engine.look()
    assert engine.n_told == len(engine.questions.comparisons_) == 40


def _leave_out_first(connection):
    from nearer.survey.store.tables import people

    first = connection.execute(select(people.c.id).order_by(people.c.id)).scalar()
    connection.execute(people.update().where(people.c.id == first).values(left_out=True))


def test_the_researcher_sees_map_error_and_outlook(served, engine):
    for _ in range(2):
        served.person().finish(nearest(served))
    engine.look()
    assert engine.fit_if_due()
    assert not engine.fit_if_due()
    with served.writer.database.engine.connect() as connection:
        known = json.loads(read_fact(connection, ENGINE))
    assert known["state"] == "ready"
    assert len(known["map"]["points"]) == len(known["map"]["ellipses"]) == 8
    assert 0 <= known["error"]["low"] <= known["error"]["value"] <= known["error"]["high"] <= 1
    assert "more answers" in known["outlook"]


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
