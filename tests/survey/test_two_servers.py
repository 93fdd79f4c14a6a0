"""Two servers of one study, asked at the same moment."""

import functools
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import func, select

from nearer.survey import store
from nearer.survey.exporting import answer_columns
from nearer.survey.server import Serving, build, researcher_secret
from nearer.survey.session import forget_participant, set_left_out
from nearer.survey.store import UNSEEN, Busy, answers, lock_participants, people, questions, read_fact

WAIT_SECONDS = 60


def at_once(*works):
    """Begin several pieces of work at the same moment, and return what each returned."""
    barrier = threading.Barrier(len(works))

    def begin(work):
        barrier.wait(WAIT_SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [each.result(WAIT_SECONDS) for each in [pool.submit(begin, work) for work in works]]


def wait_until(holds):
    """Wait until something holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(params=["sqlite", "postgresql"])
def two_servers(request, serve, make_study):
    """Return a function that serves one study twice."""

    def begin(**settings):
        if request.param == "postgresql":
            settings["server"] = {"database": request.getfixturevalue("postgresql")}
        folder = make_study(**settings)
        return serve(folder), serve(folder)

    return begin


def answer_and_take_back(here, there):
    """Let two servers receive an answer and a take-back of one question until none is left; return both numbers."""
    person = here.person()
    other = person.at(there)
    answered, taken_back = set(), set()
    for _ in range(100):
        state = person.state()
        if state["phase"] == "done":
            return answered, taken_back
        number = state["next"][0]["id"]
        works = (
            functools.partial(person.answer, number),
            functools.partial(other.post, "/api/unseen", {"question": number, "objects": []}),
        )
        statuses = tuple(each.status_code for each in at_once(*works))
        assert statuses in ((200, 403), (403, 200))
        (answered if statuses[0] == 200 else taken_back).add(number)
    raise AssertionError("it never ends")


def test_of_an_answer_and_a_take_back_at_once_one_succeeds_and_is_kept(two_servers):
    first, second = two_servers(questions={"per_person": 10, "practice": 0})
    with ThreadPoolExecutor(4) as pool:
        orders = [(first, second), (second, first)] * 2
        found = list(pool.map(lambda order: answer_and_take_back(*order), orders))
    answered = set().union(*(each[0] for each in found))
    taken_back = set().union(*(each[1] for each in found))
    with first.writer.database.engine.connect() as connection:
        kept = set(connection.execute(select(answers.c.question)).scalars())
        unseen = set(connection.execute(select(questions.c.id).where(questions.c.purpose == UNSEEN)).scalars())
        columns = answer_columns(connection, first.study)
    assert len(kept) == 4 * 10
    assert kept == answered == set(columns["trial"])
    assert unseen == taken_back


def test_no_more_people_agree_than_there_are_places(two_servers):
    servers = two_servers(people={"most": 10})
    waiting = [servers[at % 2].person(consent=False) for at in range(20)]
    at_once(*(functools.partial(person.post, "/api/consent", {}) for person in waiting))
    phases = [person.state()["phase"] for person in waiting]
    assert (phases.count("asking"), phases.count("closed")) == (10, 10)
    with servers[0].writer.database.engine.connect() as connection:
        assert connection.execute(select(func.count()).where(people.c.consented.is_not(None))).scalar() == 10


def test_people_who_agree_at_once_at_two_servers_fill_whole_blocks_of_conditions(two_servers):
    conditions = {"conditions.a": {"share": 1}, "conditions.b": {"share": 1}, "conditions.c": {"share": 2}}
    servers = two_servers(**conditions)
    waiting = [servers[at % 2].person(consent=False) for at in range(20)]
    replies = at_once(*(functools.partial(person.post, "/api/consent", {}) for person in waiting))
    assert {reply.status_code for reply in replies} == {200}
    with servers[0].writer.database.engine.connect() as connection:
        found = connection.execute(select(people.c.condition, func.count()).group_by(people.c.condition)).all()
    assert dict(found) == {"a": 5, "b": 5, "c": 10}


def test_of_an_answer_and_a_cant_tell_at_once_one_is_kept(two_servers):
    """Two tabs of one person: whichever comes first stays."""
    here, there = two_servers(questions={"per_person": 10, "practice": 0, "cant_tell": True})
    person = here.person()
    other = person.at(there)
    first = {}
    for _ in range(10):
        number = person.state()["next"][0]["id"]
        replies = at_once(*(functools.partial(each.answer, number, how) for each, how in ((person, (0,)), (other, ()))))
        assert [reply.status_code for reply in replies] == [200, 200]
        assert all(reply.json()["saved"] == [number] for reply in replies)
        first[number] = next(row.chosen for row in here.rows() if row.question == number)
    assert person.state()["phase"] == "done"
    assert {row.question: row.chosen for row in there.rows()} == first
    assert set(first.values()) <= {"", "0"}


def take_part_twice(person, servers, rng):
    """Answer and take back the same questions at two servers; return what both confirmed, by question."""
    pair = [person.at(served) for served in servers]
    confirmed = {}
    for each in pair:
        each.post("/api/consent", {})
    for _ in range(100):
        reply = pair[rng.integers(2)].client.get("/api/state")
        if reply.status_code == 401 or reply.json()["phase"] != "asking":  # forgotten, done, or came too late
            return confirmed
        number = reply.json()["next"][0]["id"]
        here, there = (pair[at] for at in rng.permutation(2))
        works = {
            "answer": functools.partial(here.answer, number),
            "take back": functools.partial(there.post, "/api/unseen", {"question": number, "objects": []}),
            "again": functools.partial(there.answer, number, (1,)),
        }
        names = list(rng.permutation(list(works)[: 2 + rng.integers(2)]))
        statuses = [each.status_code for each in at_once(*(works[name] for name in names))]
        assert set(statuses) <= {200, 401, 403}
        confirmed[number] = {name for name, status in zip(names, statuses, strict=True) if status == 200}
    raise AssertionError("it never ends")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_was_confirmed_is_lost(two_servers, seed):
    """While people are left out, and one is forgotten."""
    servers = two_servers(people={"most": 8}, questions={"per_person": 8, "practice": 1})
    waiting = [servers[at % 2].person(consent=False) for at in range(10)]
    names = [row.name for row in servers[0].people()]
    *rngs, rng = np.random.default_rng(seed).spawn(11)
    with ThreadPoolExecutor(10) as pool:
        running = [pool.submit(take_part_twice, waiting[at], servers, rngs[at]) for at in range(10)]
        for at in rng.permutation(10):
            name, writer = names[at], servers[at % 2].writer
            writer.submit(functools.partial(set_left_out, name=name, left_out=True), name).result(WAIT_SECONDS)
        with servers[0].writer.database.engine.begin() as connection:
            forget_participant(connection, names[0])
        confirmed = [each.result(WAIT_SECONDS) for each in running]
    by_question = {number: names for each in confirmed[1:] for number, names in each.items()}
    with servers[0].writer.database.engine.connect() as connection:
        kept = set(connection.execute(select(answers.c.question)).scalars())
        unseen = set(connection.execute(select(questions.c.id).where(questions.c.purpose == UNSEEN)).scalars())
        n_people = connection.execute(select(func.count()).where(people.c.consented.is_not(None))).scalar()
    assert kept == {number for number, names in by_question.items() if names & {"answer", "again"}}
    assert unseen == {number for number, names in by_question.items() if names == {"take back"}}
    assert not kept & unseen
    assert set(by_question) == kept | unseen
    assert n_people in (7, 8)  # somebody may have come in the place of whoever is forgotten


def test_the_first_start_of_two_servers_makes_one_secret_and_one_key(postgresql, make_study):
    folder = make_study(server={"database": postgresql})
    secrets = at_once(*[lambda: researcher_secret(folder)] * 4)
    assert sum(secret is not None for secret in secrets) == 1
    writers = [writer for _, writer, _ in at_once(*[lambda: build(folder, Serving())] * 2)]
    try:
        keys = {writer.run(lambda connection: read_fact(connection, "key")) for writer in writers}
    finally:
        for writer in writers:
            writer.close()
    assert len(keys) == 1


def test_people_are_waited_for_in_one_order(postgresql, serve, make_study):
    """Whoever is locked in between by another server would otherwise wait for us, and we for them."""
    served = serve(make_study(server={"database": postgresql}))
    for _ in range(2):
        served.person()
    (first, _), (second, _) = served.people()
    engine, writer = served.writer.database.engine, served.writer
    begun, held = threading.Event(), threading.Event()
    writer.submit(lambda _: begun.set() or held.wait(WAIT_SECONDS))
    begun.wait(WAIT_SECONDS)
    together = [writer.submit(lambda connection, name=name: name, name) for name in (second, first)]
    with engine.connect() as other, other.begin():
        lock_participants(other, {first}, places=False)
        held.set()
        with engine.connect() as looking:
            wait_until(lambda: looking.exec_driver_sql("SELECT 1 FROM pg_locks WHERE NOT granted").first())
            free = select(people.c.id).where(people.c.name == second).with_for_update(nowait=True)
            assert looking.execute(free).first()
        assert not any(each.done() for each in together)
    assert [each.result(WAIT_SECONDS) for each in together] == [second, first]


def test_a_server_that_has_stopped_stops_nobody_for_long(postgresql, serve, make_study, monkeypatch):
    monkeypatch.setattr(store, "LOCK_SECONDS", 1)
    monkeypatch.setattr(store, "IDLE_SECONDS", 3)
    folder = make_study(server={"database": postgresql})
    frozen, going = serve(folder), serve(folder)
    person, other = going.person(), going.person()
    question = person.state()["next"][0]
    awake = threading.Event()
    stopped = frozen.writer.submit(lambda _: awake.wait(WAIT_SECONDS), going.people()[0].name)
    with going.writer.database.engine.connect() as looking:
        wait_until(lambda: looking.exec_driver_sql("SELECT 1 FROM pg_locks WHERE mode = 'RowShareLock'").first())
    assert person.answer(question).status_code == 503
    assert other.finish()["phase"] == "done"
    wait_until(lambda: person.answer(question).status_code == 200)
    awake.set()
    with pytest.raises(Busy):
        stopped.result(WAIT_SECONDS)
    assert person.finish()["phase"] == "done"


@pytest.mark.parametrize("has_its_file", [True, False])
def test_an_object_that_a_later_start_added_is_shown_by_the_server_before(postgresql, serve, make_study, has_its_file):
    folder = make_study(server={"database": postgresql}, objects=("ant", "bee", "cat"))
    copy = shutil.copytree(folder, folder.with_name("copy"))
    before = serve(copy)
    with (folder / "objects.csv").open("a") as file:
        file.writelines(f"new {at},new {at}\n" for at in range(30))
    after = serve(folder)
    if has_its_file:
        shutil.copy(folder / "objects.csv", copy)
    person = after.person()
    captions = [each["caption"] for question in person.state()["next"] for each in question["options"]]
    assert any(caption.startswith("new") for caption in captions)
    reply = person.at(before).client.get("/api/state")
    assert reply.status_code == (200 if has_its_file else 503)
    if has_its_file:
        assert reply.json() == person.state()
    assert person.finish()["phase"] == "done"
