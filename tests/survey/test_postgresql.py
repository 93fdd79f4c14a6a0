"""Several servers share a study in PostgreSQL: a real one, started here."""

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select

from nearer.survey.engine import Engine
from nearer.survey.researcher import live_state, look_up_codes
from nearer.survey.session import forget_participant
from nearer.survey.store import answers, questions


def test_two_servers_share_a_study(postgresql, serve, make_study):
    folder = make_study(server={"database": postgresql}, questions={"per_person": 12, "practice": 1})
    first, second = serve(folder), serve(folder)
    person = first.person()
    elsewhere = second.client()
    elsewhere.cookies = person.client.cookies
    for at in range(13):  # by turns, as a proxy would send them
        browser = (person.client, elsewhere)[at % 2]
        question = browser.get("/api/state").json()["next"][0]
        sent = {"question": question["id"], "chosen": [0], "seconds": 1.0, "id": str(at)}
        for each in (person.client, elsewhere):  # and each answer to both
            reply = each.post("/api/answers", json={"answers": [sent]}, headers={"x-nearer": "1"})
            assert reply.status_code == 200
    assert person.state()["phase"] == "done"
    assert len(first.rows()) == 13


def test_many_people_at_two_servers(postgresql, serve, make_study):
    folder = make_study(server={"database": postgresql}, questions={"per_person": 5, "practice": 0})
    servers = serve(folder), serve(folder)
    before = len(servers[0].rows())
    with ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(lambda at: servers[at % 2].person().finish()["phase"], range(16)))
    assert ends == ["done"] * 16
    assert len(servers[0].rows()) == before + 80
    with servers[0].writer.database.engine.connect() as connection:
        places = connection.execute(select(questions.c.person, questions.c.place)).all()
        assert len(set(places)) == len(places)


def test_forgetting(postgresql, serve, make_study):
    served = serve(make_study(server={"database": postgresql}))
    served.person(PROLIFIC_PID="gone").finish()
    before = len(served.rows())
    assert served.writer.run(lambda connection: forget_participant(connection, "gone"))["answers"] == 7
    with served.writer.database.engine.connect() as connection:
        assert len(connection.execute(select(answers)).all()) == before - 7


def test_the_researcher_sees_what_happens(postgresql, serve, make_study):
    served = serve(make_study(server={"database": postgresql}))
    with served.writer.database.engine.connect() as connection:
        before = live_state(connection, served.study, "")
    person = served.person()
    person.finish()
    with served.writer.database.engine.connect() as connection:
        state = live_state(connection, served.study, "")
        assert state["n_answers"] == before["n_answers"] + 6
        assert state["people"][0]["median_seconds"] == 1.5
        assert state["over_time"] == sorted(state["over_time"])
        assert state["over_time"][-1][1] == state["n_answers"]
        found = look_up_codes(connection, served.study.settings, [person.state()["completion_code"].lower()])
        assert found[0].valid
    engine = Engine(served.study, served.writer.database)
    assert engine.update()
    assert engine.n_learned == state["n_answers"]
    assert not engine.update()
