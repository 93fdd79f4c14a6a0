"""The researcher's side."""

import csv
import io
import itertools
import json
import threading
import time

import numpy as np
import pytest

from nearer.io import read_answers
from nearer.survey.exporting import columns_as_csv, study_table
from nearer.survey.researcher import live_state, pictures_of
from nearer.survey.stimuli import slug_of
from nearer.survey.store import ANALYSIS, ENGINE_STATE, answers, write_fact


@pytest.fixture
def researcher(serve):
    served = serve(questions={"per_person": 12, "practice": 1, "catch": 1})
    client = served.client()
    entered = client.get("/researcher", params={"key": served.secret})
    assert served.secret not in str(entered.url)
    served.researcher = client
    served.change = lambda path, body: client.post(path, json=body, headers={"x-nearer": "1"})
    return served


def live(served):
    """Return the state as a page sees it that was opened just now."""
    with served.writer.database.engine.connect() as connection:
        return live_state(connection, served.study, "http://testserver/")


def test_who_is_done_is_not_here_now_and_a_map_without_the_latest_answers_is_not_up_to_date(serve):
    served = serve()
    served.person().finish()
    person = served.person()
    person.answer(person.state()["next"][1])

    found = live(served)
    assert (found["n_people"], found["n_done"], found["n_now"]) == (2, 1, 1)
    assert found["n_now"] == sum(row["here"] for row in found["people"])
    for n_analyzed, name in ((found["n_answers"], "ready"), (found["n_answers"] - 1, "behind")):
        facts = {
            ANALYSIS: {"n_answers": n_analyzed},
            ENGINE_STATE: {"state": "ready", "message": "", "n_learned": n_analyzed},
        }
        for fact, value in facts.items():
            served.writer.run(
                lambda connection, fact=fact, value=value: write_fact(connection, fact, json.dumps(value))
            )
        engine = live(served)["engine"]
        assert (engine["state"], engine["n_since"]) == (name, found["n_answers"] - n_analyzed)


def test_the_page_tells_what_happens(researcher):
    researcher.person().finish(lambda question: [0])
    second = researcher.person()
    for question in second.state()["next"]:
        second.answer(question, seconds=3.5)
    researcher.person()  # who has answered nothing yet
    state = researcher.researcher.get("/researcher/api/state").json()
    assert (state["n_answers"], state["n_people"], state["n_objects"], state["status"]) == (14, 2, 8, "open")
    assert (state["n_done"], state["n_now"]) == (1, 1)  # who is done is no longer here
    assert state["median_seconds"] == 2.5  # of 1.5 and 3.5
    assert state["per_minute"] == pytest.approx((14 + 2 + 1) / 10)
    assert state["over_time"][-1][1:] == [14, 2]
    assert [(person["done"], person["here"], person["n_answers"]) for person in state["people"]] == [
        (False, True, 2), (True, False, 12),
    ]  # fmt: skip
    assert (state["engine"]["state"], state["findings"], state["cost"]) == ("off", [], None)


@pytest.mark.parametrize("times", [[], [2.0], [None, None], [3.0, 1.0], [1.0, None, 9.0, 2.0], [4.0, 1.0, 2.0, 3.0]])
def test_the_median_is_that_of_the_times_there_are(serve, times):
    served = serve(questions={"per_person": 6, "practice": 0})
    person = served.person()
    for seconds in times:
        person.answer(person.state()["next"][0], seconds=seconds)
    found = [each["median_seconds"] for each in live(served)["people"]]
    known = [each for each in times if each is not None]
    assert found == ([] if not times else [float(np.median(known)) if known else None])


def test_time_goes_forward_whatever_the_clock_does(serve):
    served = serve(questions={"per_person": 8, "practice": 0})
    now = time.time()
    for _ in range(3):
        served.person().finish()
    moments = [now + each for each in (0, 50, 20, 10, -3600, -3500, 7200, 7100, 5, 3)]
    with served.writer.database.engine.begin() as connection:
        for number, moment in enumerate(moments):
            connection.execute(answers.update().where(answers.c.question == number + 1).values(received=moment))
    curve = live(served)["over_time"]
    assert curve == sorted(curve)
    assert all(early[1:] <= late[1:] for early, late in itertools.pairwise(curve))
    assert curve[-1][1:] == [24, 3]
    assert curve[-1][0] >= round(now + 7200, 1)


def test_a_state_is_kept_for_a_moment_and_changes_show_at_once(researcher):
    ask = lambda: researcher.researcher.get("/researcher/api/state").json()  # noqa: E731
    assert ask()["n_answers"] == 0
    researcher.person().finish()
    assert ask()["n_answers"] == 0
    changed = researcher.change("/researcher/api/status", {"status": "paused"}).json()
    assert (changed["n_answers"], changed["status"]) == (12, "paused")
    assert ask()["status"] == "paused"


def test_looking_never_waits_for_whoever_writes(researcher):
    """The page, its state and the downloads are read beside the thread that writes."""
    researcher.person().finish()
    held, release = threading.Event(), threading.Event()
    waiting = researcher.writer.submit(lambda _: held.set() or release.wait(20))
    held.wait(10)
    try:
        for path in ("", "/api/state", "/answers.csv", "/answers.parquet"):
            assert researcher.researcher.get(f"/researcher{path}").status_code == 200
        assert not waiting.done()
    finally:
        release.set()


def test_what_the_engine_knows_is_shown_with_what_it_costs(serve):
    served = serve(people={"pay": 3.0})
    for _ in range(2):
        served.person().finish()
    name = served.people()[0].name
    known = {
        "n_answers": 12, "map": {"objects": ["cat"], "points": [[0, 0]], "ellipses": [[0, 0, 1, 1, 0]]},
        "error": {"value": 0.2, "low": 0.1, "high": 0.3, "n": 9}, "ceiling": None,
        "outlook": {"n_answers_more": 20, "recommendation": "go on"}, "people": {name: ["too fast"]},
        "findings": [{"severity": "warning", "code": "too-fast", "title": "1 person", "text": "", "examples": []}],
    }  # fmt: skip
    served.writer.run(lambda connection: write_fact(connection, ANALYSIS, json.dumps(known)))
    served.writer.run(
        lambda connection: write_fact(connection, ENGINE_STATE, json.dumps({"state": "ready", "n_learned": 12}))
    )
    state = live(served)
    assert state["map"] == known["map"] | {"pictures": None}  # of texts there are none
    shown = ("error", "ceiling", "outlook", "findings")
    assert {key: state[key] for key in shown} == {key: known[key] for key in shown}
    assert next((each["id"], each["flags"]) for each in state["people"]) == (name, ["too fast"])  # to be looked at
    assert state["cost"] == {"so_far": "6.00", "more": "10.00", "each": "3.00"}
    counts = {"n_learned": 12, "n_analyzed": 12, "n_since": 0}
    assert state["engine"] == {"state": "ready", "message": "", "proposes": False, **counts}


def test_pictures_are_on_the_map_if_all_objects_have_one(serve, make_study, monkeypatch):
    folder = make_study(objects=("cat", "dog", "cow"))
    for name in ("cat", "dog"):
        (folder / "stimuli" / f"{name}.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert pictures_of(serve(folder).study, ["cat", "cow", "dog"]) is None
    (folder / "stimuli" / "cow.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    served = serve(folder)
    assert pictures_of(served.study, ["dog", "cat"]) == [f"/stimuli/{slug_of(label)}" for label in ("dog", "cat")]
    assert pictures_of(served.study, ["dog", "ant"]) is None
    monkeypatch.setattr("nearer.survey.researcher._MAX_PICTURE_BYTES", 50)
    assert pictures_of(served.study, ["dog", "cat"]) is None


def test_a_code_tells_whose_it_is(researcher):
    researcher.person().finish()
    researcher.person()
    (name, code), (other, unfinished) = researcher.people()
    said = [f" {code[:4].lower()} {code[4:]} ", unfinished, "ABCDEFGHJK", "", "' OR 1=1 --"]
    found = researcher.change("/researcher/api/codes", {"codes": said}).json()["codes"]
    assert [each["valid"] for each in found] == [True, False, False, False, False]
    assert [each["person"] for each in found] == [name, other, None, None, None]
    assert "12 answers" in found[0]["text"]
    assert "not done yet: 0 answers" in found[1]["text"]
    assert found[2]["text"] == "there is no such code"
    for wrong in (None, "text", [3], ["x"] * 201):
        assert researcher.change("/researcher/api/codes", {"codes": wrong}).status_code == 400


def test_a_code_of_all_is_reported_to_be_one(serve):
    served = serve(people={"completion_code": "C1-a"})
    client = served.client()
    client.get("/researcher", params={"key": served.secret})

    def ask():
        sent = client.post("/researcher/api/codes", json={"codes": ["c1-A"]}, headers={"x-nearer": "1"})
        return sent.json()["codes"][0]

    assert not ask()["valid"]
    served.person().finish()
    assert ask()["valid"]
    assert "does not show who" in ask()["text"]


def test_codes_cannot_be_guessed(serve):
    served = serve()
    for _ in range(20):
        served.person(consent=False)
    codes = [code for _, code in served.people()]
    assert len(set(codes)) == 20
    assert {len(code) for code in codes} == {10}
    assert len({letter for code in codes for letter in code}) > 20


def test_pausing_and_closing(researcher):
    person = researcher.person()
    question = person.state()["next"][0]
    assert researcher.change("/researcher/api/status", {"status": "paused"}).json()["status"] == "paused"
    assert person.state()["phase"] == "paused"
    assert person.answer(question).status_code == 200  # what was on its way is kept
    assert researcher.change("/researcher/api/status", {"status": "closed"}).json()["status"] == "closed"
    assert person.answer(question).status_code == 409
    assert researcher.change("/researcher/api/status", {"status": "open"}).status_code == 200
    assert person.finish()["phase"] == "done"
    assert researcher.change("/researcher/api/status", {"status": "gone"}).status_code == 400


def test_somebody_is_left_out_and_taken_back(researcher):
    for _ in range(2):
        researcher.person().finish()
    first = researcher.researcher.get("/researcher/api/state").json()["people"][0]["id"]
    assert len(study_table(researcher.folder).columns["anchor"]) == 24
    researcher.change("/researcher/api/people", {"id": first, "left_out": True})
    assert len(study_table(researcher.folder).columns["anchor"]) == 12
    assert first not in study_table(researcher.folder).columns["participant"]
    researcher.change("/researcher/api/people", {"id": first, "left_out": False})
    assert len(study_table(researcher.folder).columns["anchor"]) == 24
    assert researcher.change("/researcher/api/people", {"id": "nobody", "left_out": True}).status_code == 400


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "most-central", "2 of 5"])
def test_what_is_downloaded_is_read_back(serve, kind, tmp_path):
    served = serve(kind=kind)
    served.person().finish()
    client = served.client()
    client.get("/researcher", params={"key": served.secret})
    for name in ("answers.csv", "answers.parquet"):
        (tmp_path / name).write_bytes(client.get(f"/researcher/{name}").content)
        found = read_answers(tmp_path / name)
        assert (len(found), found.kind) == (6, "grid" if kind == "2 of 5" else kind)
        assert len(set(found.annotators.tolist())) == 1
        assert found.seconds.tolist() == [1.5] * 6
    assert len(read_answers(study_table(served.folder).columns)) == 6


def test_downloads_hold_no_formula(serve):
    served = serve(objects=("=cmd()", "+b", "c", "d"))
    served.person().finish()
    cells = [cell for row in csv.reader(io.StringIO(columns_as_csv(_columns(served)))) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert any(cell.startswith("'=") for cell in cells)


def _columns(served):
    from nearer.survey.exporting import answer_columns

    with served.writer.database.engine.connect() as connection:
        return answer_columns(connection, served.study)
