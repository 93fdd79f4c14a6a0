"""The researcher's side."""

import csv
import io

import pytest

from nearer.formats import read_answers
from nearer.survey.exporting import csv_of, table_of


@pytest.fixture
def researcher(serve):
    served = serve(questions={"per_person": 12, "practice": 1, "catch": 1})
    client = served.client()
    entered = client.get("/researcher", params={"key": served.secret})
    assert served.secret not in str(entered.url)
    served.researcher = client
    served.change = lambda path, body: client.post(path, json=body, headers={"x-nearer": "1"})
    return served


def test_the_page_tells_what_happens(researcher):
    quick = researcher.person()
    quick.finish(lambda question: [0])
    researcher.person()  # who has answered nothing yet
    state = researcher.researcher.get("/researcher/api/state").json()
    assert (state["n_answers"], state["n_people"], state["n_objects"], state["status"]) == (13, 1, 8, "open")
    assert state["median_seconds"] == 1.5
    assert state["over_time"][-1][1:] == [13, 1]
    (person,) = state["people"]
    assert person["done"]
    assert "always the same side" in person["flags"]
    assert state["engine"]["state"] == "off"


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
    assert len(table_of(researcher.folder)["anchor"]) == 24
    researcher.change("/researcher/api/people", {"id": first, "left_out": True})
    assert len(table_of(researcher.folder)["anchor"]) == 12
    assert first not in table_of(researcher.folder)["participant"]
    researcher.change("/researcher/api/people", {"id": first, "left_out": False})
    assert len(table_of(researcher.folder)["anchor"]) == 24
    assert researcher.change("/researcher/api/people", {"id": "nobody", "left_out": True}).status_code == 400


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out", "most-central", "2 of 5"])
def test_what_is_downloaded_is_read_back(serve, kind, tmp_path):
    served = serve(kind=kind)
    served.person().finish()
    client = served.client()
    client.get("/researcher", params={"key": served.secret})
    for name in ("answers.csv", "answers.parquet"):
        (tmp_path / name).write_bytes(client.get(f"/researcher/{name}").content)
        answers = read_answers(tmp_path / name)
        assert (len(answers), answers.kind) == (6, "grid" if kind == "2 of 5" else kind)
        assert len(set(answers.annotators.tolist())) == 1
        assert answers.seconds.tolist() == [1.5] * 6
    assert len(read_answers(table_of(served.folder))) == 6


def test_downloads_hold_no_formula(serve):
    served = serve(objects=("=cmd()", "+b", "c", "d"))
    served.person().finish()
    cells = [cell for row in csv.reader(io.StringIO(csv_of(_rows(served)))) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert any(cell.startswith("'=") for cell in cells)


def _rows(served):
    from nearer.survey.exporting import rows_of

    with served.writer.database.engine.connect() as connection:
        return rows_of(connection, served.study)
