"""`nearer survey`, from an empty folder to a map."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.study import RunSettings, read_results
from nearer.survey.stimuli import slug_of

pytestmark = pytest.mark.usefixtures("few_repeats")
NAMES = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen")


@pytest.fixture
def study(tmp_path, capsys):
    folder = tmp_path / "animals"
    assert main(["survey", "new", str(folder)]) == 0
    assert "nearer survey run" in capsys.readouterr().out
    (folder / "objects.csv").write_text("object\n" + "\n".join(NAMES) + "\n")
    text = (folder / "study.toml").read_text()
    text = text.replace("per_person = 60", "per_person = 40").replace('method = "active"', 'method = "random"')
    (folder / "study.toml").write_text(text)
    return folder


@pytest.fixture
def running(study):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nearer.cli", "survey", "run", str(study), "--port", str(port), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = ""
    while "}" not in lines:
        lines += process.stdout.readline()
        assert process.poll() is None, process.stderr.read()
    links = json.loads(lines)
    for _ in range(1200):
        with socket.socket() as there:
            if there.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield process, links
    if process.poll() is None:
        process.kill()
    process.wait()


class Browser:
    def __init__(self, link):
        self.link = link
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.opener.open(link, timeout=60).read()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"x-nearer": "1", "content-type": "application/json"}
        request = urllib.request.Request(self.link + path, data, headers)
        return json.load(self.opener.open(request, timeout=60))


def away_from_head(question):
    """Return how far options are from the head for somebody who goes by the order of the alphabet."""
    places = {slug_of(name): place for place, name in enumerate(sorted(NAMES))}
    head, *options = (places[each["object"]] for each in (question["head"], *question["options"]))
    return [abs(head - option) for option in options]


def take_part(link):
    """Answer everything, by the order of the alphabet."""
    browser = Browser(link)
    state = browser.ask("api/consent", {})
    at = 0
    while state["phase"] == "asking":
        question = state["next"][0]
        away = away_from_head(question)
        sent = {"question": question["id"], "chosen": [int(np.argmin(away))], "seconds": 1.0, "id": f"{at}"}
        state = browser.ask("api/answers", {"answers": [sent]})
        at += 1
        time.sleep(0.1)  # no faster than the limit
    return state


def test_from_an_empty_folder_to_a_map(study, running, tmp_path, capsys):
    process, links = running
    assert main(["survey", "check", str(study)]) == 0
    capsys.readouterr()
    done = take_part(links["participants"])
    assert done["phase"] == "done"
    browser = Browser(links["researcher"])
    browser.link = links["participants"]
    live = browser.ask("researcher/api/state")
    assert live["n_answers"] == 40
    code = done["completion_code"]
    assert main(["survey", "code", str(study), code.lower(), "--json"]) == 0
    (known,) = json.loads(capsys.readouterr().out)
    assert (known["person"], known["n_answers"]) == (live["people"][0]["id"], 40)
    assert main(["survey", "code", str(study), code, "NOSUCHCODE"]) == 1
    assert "NOSUCHCODE: there is no such code" in capsys.readouterr().out
    with pytest.raises(urllib.error.HTTPError):
        Browser(links["participants"] + "nowhere?PROLIFIC_PID=somebody")
    assert main(["fit", str(study), "--dimensions", "2", "--quick", "-o", str(tmp_path / "map")]) == 0
    assert (tmp_path / "map" / "embedding.csv").is_file()
    os.kill(process.pid, signal.SIGINT)
    process.wait(30)
    log = process.stderr.read()
    assert "nearer: refused: GET elsewhere: 404" in log
    assert not any(personal in log for personal in ("127.0.0.1", "somebody", links["researcher"][-32:]))
    assert main(["survey", "forget", str(study), live["people"][0]["id"]]) == 0
    assert "40 answers" not in capsys.readouterr().err
    assert main(["fit", str(study), "-o", str(tmp_path / "again")]) == 2
    assert "nobody has answered yet" in capsys.readouterr().err


SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="{}"/></svg>'


@pytest.fixture
def answered(study, monkeypatch):
    """A study of pictures that four people have taken part in, the last without looking."""
    from starlette.testclient import TestClient

    from nearer.survey.server import Serving, build

    for at, name in enumerate(NAMES):
        (study / "stimuli" / f"{name}.svg").write_text(SQUARE.format(f"#{at}{at}8888"))
    rows = [f"{name},{2 * at},{'large' if at > 3 else 'small'}" for at, name in enumerate(NAMES)]
    (study / "objects.csv").write_text("\n".join(["object,size,class", *rows]) + "\n")
    text = (study / "study.toml").read_text().replace("catch = 0", "catch = 4").replace('title = ""', 'title = "Zoo"')
    (study / "study.toml").write_text(text)
    app, writer, _ = build(study, Serving(), seed=0)

    def answer(add_seconds, choose):
        client = TestClient(app)
        client.get("/")
        state = client.post("/api/consent", json={}, headers={"x-nearer": "1"}).json()
        while state["phase"] == "asking":
            question = state["next"][0]
            away = away_from_head(question)
            sent = {"question": question["id"], "chosen": [choose(away)], "seconds": add_seconds, "id": "x"}
            state = client.post("/api/answers", json={"answers": [sent]}, headers={"x-nearer": "1"}).json()

    for _ in range(3):
        answer(1.5, lambda away: int(np.argmin(away)))
    answer(0.1, lambda away: int(np.argmax(away)))
    writer.close()
    return study


def test_a_study_is_checked_like_a_file(answered, capsys):
    assert main(["check", str(answered), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == "animals"
    assert {"fails-catch", "too-fast"} <= {each["code"] for each in found["findings"]}
    assert sum(found["catches"]["n_asked"]) == 16
    culprit = next(each for each in found["findings"] if each["code"] == "too-fast")["examples"][0].split("'")[1]
    assert main(["check", str(answered), "--exclude", f"person={culprit}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not {"fails-catch", "too-fast"} & {each["code"] for each in found["findings"]}
    assert sum(found["catches"]["n_asked"]) == 12


def test_a_map_has_the_dimensions_of_the_study_unless_the_command_says_otherwise(
    answered, tmp_path, capsys, monkeypatch
):
    made, estimator = set(), RunSettings.estimator
    monkeypatch.setattr(RunSettings, "estimator", lambda self, n: made.add(n) or estimator(self, n))
    text = (answered / "study.toml").read_text()
    (answered / "study.toml").write_text(text.replace("dimensions = 2", "dimensions = 1"))
    assert "dimensions = 1" in (answered / "study.toml").read_text()
    for options, dimensions in (([], 1), (["--dimensions", "3"], 3)):
        assert main(["check", str(answered), *options, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["counts"]["n_components"] == dimensions
        fast = ["--method", "CKL", "--quick", "--json"]
        assert main(["fit", str(answered), "-o", str(tmp_path / f"map{dimensions}"), *options, *fast]) == 0
        assert json.loads(capsys.readouterr().out)["dimensions"] == dimensions
        made.clear()
        assert main(["compare", str(answered), "--methods", "CKL,STE", *options, "--json"]) == 0
        assert made - {2} == {dimensions}  # settings are checked with 2
        assert {each["name"] for each in json.loads(capsys.readouterr().out)["methods"]} == {"CKL", "STE"}


def test_a_study_and_its_map_state_the_same_figures(answered, tmp_path, capsys):
    assert main(["check", str(answered), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert main(["fit", str(answered), "-o", str(tmp_path / "map"), "--set", "budget=1", "--json"]) == 0
    results = json.loads((tmp_path / "map" / "results.json").read_text())
    found = [each for each in results["findings"] if each["code"] != "not-converged"]  # of chains, which check has not
    assert found == checked["findings"]
    assert len(results["embedding"][0]) == checked["counts"]["n_components"] == 2


def test_a_report_of_a_study_needs_nothing_else(answered, capsys):
    (answered / "objects.csv").rename(answered / "aside.csv")  # pictures alone will do
    (answered / "stimuli" / "notes.txt").write_text("")
    assert main(["report", str(answered)]) == 0
    (answered / "stimuli" / "notes.txt").unlink()
    (answered / "aside.csv").rename(answered / "objects.csv")
    printed = capsys.readouterr()
    assert printed.out == f"written: {answered / 'map' / 'report.html'}\n"
    assert f"nearer fit {answered} -o {answered / 'map'}" in printed.err
    assert f"the page goes without {answered / 'stimuli' / 'notes.txt'}: it is empty" in printed.err
    page = (answered / "map" / "report.html").read_text()
    assert "<h1>Zoo</h1>" in page
    assert page.count("data:image/svg+xml;base64,") >= 8
    results = json.loads((answered / "map" / "results.json").read_text())
    assert results["source"]["file"] == "animals"
    assert sum(results["source"]["catches"]["n_asked"]) == 16

    other = answered.parent / "elsewhere.html"
    assert main(["report", str(answered), "-o", str(other), "--title", "Beasts"]) == 0
    printed = capsys.readouterr()
    assert "is the map of these answers" in printed.err
    assert "<h1>Beasts</h1>" in other.read_text()
    assert '"size"' in other.read_text()
    assert json.loads((answered / "map" / "results.json").read_text())["date"] == results["date"]


def test_the_features_of_a_study_are_those_of_its_commands(answered, tmp_path, capsys):
    text = (answered / "study.toml").read_text()
    (answered / "study.toml").write_text(text.replace("features = []", 'features = ["vectors.csv"]'))
    rows = [f"{name},{at},{at**2}" for at, name in enumerate(NAMES)]
    (answered / "vectors.csv").write_text("\n".join(["object,a,b", *rows]) + "\n")
    assert main(["survey", "check", str(answered)]) == 0
    capsys.readouterr()
    assert main(["check", str(answered), "--json"]) == 0
    codes = {each["code"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert codes & {"features-used", "features-unclear", "features-useless"}
    quick = ["--quick", "--set", "budget=1"]
    assert main(["fit", str(answered), "-o", str(answered / "map"), *quick]) == 0
    results = read_results(answered / "map")
    assert [each.name for each in results.features] == ["vectors"]
    capsys.readouterr()
    assert main(["report", str(answered)]) == 0
    assert "is the map of these answers" in capsys.readouterr().err
    plain = ["fit", str(answered), "-o", str(tmp_path / "map"), "--method", "CKL", "--quick"]
    assert main([*plain, "--without-features"]) == 0
    assert read_results(tmp_path / "map").features is None
    assert main(plain) == 2
    assert main(["ask", str(answered), "-n", "5", "-o", str(tmp_path / "questions.csv")]) == 0
    (answered / "vectors.csv").write_text("\n".join(["object,a,b", *reversed(rows)]) + "\n")
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:  # features have changed, so that the map is made anew
        patch.setattr("nearer.cli.fit._fit", lambda options: 1)
        assert main(["report", str(answered)]) == 1
    assert "first the map" in capsys.readouterr().err


def test_a_study_is_not_added_to_a_map(answered, tmp_path, capsys):
    assert main(["add", str(tmp_path), str(answered), "-o", str(tmp_path / "out")]) == 2
    assert "a study keeps all its answers" in capsys.readouterr().err


def test_a_server_that_is_killed_has_lost_nothing(study, running):
    process, links = running
    browser = Browser(links["participants"])
    question = browser.ask("api/consent", {})["next"][0]
    sent = {"question": question["id"], "chosen": [0], "seconds": 1.0, "id": "a"}
    assert browser.ask("api/answers", {"answers": [sent]})["saved"] == [question["id"]]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    from sqlalchemy import select

    from nearer.survey.store import answers
    from nearer.survey.study import open_study

    _, database = open_study(study)
    with database.engine.connect() as connection:
        assert connection.execute(select(answers.c.question)).scalars().all() == [question["id"]]
    database.close()


def test_a_study_with_something_wrong_is_reported(tmp_path, capsys):
    folder = tmp_path / "empty"
    main(["survey", "new", str(folder)])
    capsys.readouterr()
    assert main(["survey", "check", str(folder)]) == 1
    assert "error:" in capsys.readouterr().out
    assert main(["survey", "run", str(folder)]) == 2
    assert main(["survey", "run", str(tmp_path / "nowhere")]) == 2
    assert "nearer survey new" in capsys.readouterr().err
    assert main(["survey", "new", str(folder)]) == 2


def test_a_new_secret_takes_the_place_of_the_old(study, capsys):
    from nearer.survey.researcher import is_secret
    from nearer.survey.server import researcher_secret
    from nearer.survey.study import open_study

    first = researcher_secret(study)
    assert researcher_secret(study) is None
    assert main(["survey", "secret", str(study), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["secret"]
    _, database = open_study(study)
    with database.engine.connect() as connection:
        assert is_secret(connection, second)
        assert not is_secret(connection, first)
    database.close()


def test_a_port_that_is_taken_is_reported_before_the_secret_is_spent(study, capsys):
    from nearer.survey.server import researcher_secret

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["survey", "run", str(study), "--port", str(taken.getsockname()[1])]) == 2
    assert "--port" in capsys.readouterr().err
    assert researcher_secret(study) is not None


@pytest.mark.parametrize("wanted", [False, True])
def test_the_page_is_opened_if_that_is_wanted(study, monkeypatch, capsys, wanted):
    from nearer.survey import server
    from nearer.survey.study import open_study

    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(server, "serve", lambda folder, serving, listening, begun: begun(open_study(folder)[0]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert main(["survey", "run", str(study), "--port", str(port), *(["--open"] if wanted else [])]) == 0
    assert opened == ([f"http://127.0.0.1:{port}/"] if wanted else [])
    assert "researcher?key=" in capsys.readouterr().out
