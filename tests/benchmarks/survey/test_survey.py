"""A study under load and in trouble, small."""

import asyncio
import json
import socket
import sys
import threading
from dataclasses import replace

import pytest

pytest.importorskip("starlette", reason="the survey needs starlette: pip install starlette")

from benchmarks.__main__ import main
from benchmarks.survey.crowd import Answer, Browser, Crowd, Log
from benchmarks.survey.faults import ATTACKS, run_attack
from benchmarks.survey.load import as_seen, compare, waits
from benchmarks.survey.run import SurveyRun, survey_text
from benchmarks.survey.serving import running
from nearer.survey.scaffold import demo_study
from nearer.survey.stimuli import slug_of
from nearer.survey.store import answers, people, questions
from nearer.survey.study import join_labels, open_study


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    work = SurveyRun(tmp_path_factory.mktemp("bench"), 16, pause=0.25, seconds=2.0, n_kills=2, n_engine_kills=1)
    return work, work.execute(("load", "faults"))


def test_people_answer_and_nothing_is_lost(found):
    _, figures = found
    load = figures["load"]
    assert load["n_failed"] == 0
    assert load["n_confirmed"] > 50
    assert load["n_kept"] >= load["n_confirmed"]
    assert load["n_lost"] == load["n_changed"] == load["n_doubled"] == load["n_refused"] == 0
    assert load["server_megabytes"] > 20
    assert load["server_cpu"] > 0


def test_people_go_on_through_troubles(found):
    _, figures = found
    faults = {row["fault"]: row for row in figures["faults"]["faults"]}
    assert [faults[name]["times"] for name in ("server killed", "engine killed", "database locked for 5 s")] == [
        2,
        1,
        1,
    ]
    for row in faults.values():
        assert row["skipped"] or row["longest_seconds"] < 60
    assert figures["faults"]["n_lost"] == figures["faults"]["n_changed"] == figures["faults"]["n_doubled"] == 0
    assert figures["faults"]["n_refused"] == 0


def test_figures_are_written_and_reported(found):
    work, figures = found
    assert json.loads((work.folder / "load.json").read_text()) == figures["load"]
    text = survey_text(figures)
    assert "answers and" in text
    assert "server killed, 2 times" in text
    assert f"of {figures['load']['n_confirmed']} confirmed answers 0 lost" in text


@pytest.fixture
def kept(tmp_path):
    """A study with three answers, and what people know of them."""
    folder = demo_study(tmp_path / "study")
    study, database = open_study(folder)
    with database.engine.begin() as connection:
        connection.execute(people.insert().values(id=1, name="a", session="s", external="", code="c", began=0.0))
        for at in (1, 2, 3):
            shown = join_labels(study.labels[:3])
            row = {"id": at, "person": 1, "place": at, "shown": shown, "purpose": "test", "asked": 0}
            connection.execute(questions.insert().values(row))
            said = {"question": at, "person": 1, "sent_as": f"id{min(at, 2)}", "chosen": "1", "received": 0.0}
            connection.execute(answers.insert().values(said))
    database.close()
    return folder, Log(confirmed={1: (1, "id1", (1,)), 2: (1, "id2", (1,))})


def test_what_is_lost_changed_or_doubled_is_found(kept):
    folder, log = kept
    assert compare(folder, log).n_doubled == 1  # the third answer has the id of the second
    log.confirmed |= {7: (1, "id7", (0,)), 1: (1, "id1", (0,))}
    outcome = compare(folder, log)
    assert (outcome.n_confirmed, outcome.n_kept, outcome.n_lost, outcome.n_changed) == (3, 3, 1, 1)
    log.asked_again.append(2)
    assert compare(folder, log).n_lost == 2


def test_answers_that_went_to_somebody_else_are_found(kept):
    folder, log = kept
    assert compare(folder, log).n_of_others == 0
    _, database = open_study(folder)
    with database.engine.begin() as connection:
        connection.execute(people.insert().values(id=2, name="b", session="t", external="", code="d", began=0.0))
        connection.execute(answers.update().where(answers.c.question == 2).values(person=2))
    database.close()
    assert compare(folder, log).n_of_others == 1


def test_a_server_that_loses_what_it_confirmed_is_found_out():
    """It asks the same question again, and the second answer is in its database."""
    question = {"id": 1, "head": None, "options": [], "n_chosen": 1}
    states = iter([[1], [1], [2]])

    class Forgetful:
        number = 0

        async def post(self, path, body):
            sent = body["answers"][0]["question"]
            told = {"phase": "asking", "saved": [sent], "next": [question | {"id": next(states)[0]}]}
            return Answer(200, json.dumps(told).encode())

    async def answer_twice(crowd):
        state = await crowd._answer(Forgetful(), question)
        await crowd._answer(Forgetful(), state["next"][0])

    crowd = Crowd(1, 1, 0.0, lambda question: [0], 0)
    asyncio.run(answer_twice(crowd))
    assert crowd.log.asked_again == [1]


def test_waits_count_what_was_sent_in_the_window():
    log = Log(waits=[(1.0, "answer", 0.01, 200), (2.0, "answer", 0.5, 503), (9.0, "page", 1.0, 200)])
    figures = waits(log, 0.0, 4.0)
    assert figures["answers_per_second"] == 0.25
    assert (figures["n_failed"], figures["share_within"], figures["longest"]) == (1, 0.5, 0.5)
    assert set(figures["kinds"]) == {"answer"}


def test_simulated_people_see_colours():
    choose = as_seen(0)
    head, *options = [{"object": slug_of(name)} for name in ("black", "white", "yellow")]
    chosen = [choose({"head": head, "options": [head, *options]})[0] for _ in range(200)]
    assert 150 < chosen.count(0) < 200  # sometimes they do not look


def test_a_server_that_says_nothing_is_no_answer():
    """A connection that is closed in the middle of an answer, and one that is refused."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]

        def cut_off():
            connection, _ = listening.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
            connection.close()

        thread = threading.Thread(target=cut_off)
        thread.start()
        assert asyncio.run(Browser(port).get("/")).status == 0
        thread.join()
    assert asyncio.run(Browser(port).get("/")).status == 0


def test_parts_that_are_none_are_reported(tmp_path, capsys):
    assert main(["survey", "--parts", "nonsense", "--out", str(tmp_path)]) == 2
    assert "there are load, rate, faults" in capsys.readouterr().err


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is read from /proc, and all of 127.0.0.0/8 used"
)
@pytest.mark.parametrize("name", ["200 MB of headers", "1,100 half-sent requests"])
def test_an_attacker_neither_fills_the_memory_nor_keeps_others_out(tmp_path, name):
    attack = next(each for each in ATTACKS if each.name == name)
    small = replace(attack, n_connections=min(attack.n_connections, 200), n_bytes=attack.n_bytes // 5, seconds=4.0)
    folder = demo_study(tmp_path / "study")
    with running(folder, tmp_path / "log", proxied=False, n_files=260) as server:
        found = run_attack(server, small)
    assert found["n_requests"] > 3
    assert found["n_failed"] == 0
    assert found["mb_peak"] < found["mb_before"] + 60
    assert found["longest"] < 5


def test_attacks_are_reported():
    row = {"attack": "x", "mb_before": 70.0, "mb_peak": 71.0, "mb_sent": 200.0, "n_new": 0, "n_requests": 33,
           "n_failed": 1, "median": 0.001, "longest": 0.5}  # fmt: skip
    text = survey_text({"attacks": {"machine": "a machine", "attacks": [row]}})
    assert "70 ->   71" in text
    assert "1 of  33" in text
