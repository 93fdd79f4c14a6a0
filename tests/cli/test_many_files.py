"""Commands on a folder of files, one for each participant."""

import json

import numpy as np
import pytest
from helpers.few import one_start

from nearer.cli.main import main

QUICK = ["--quick", "--method", "CKL", "--dimensions", "2"]


@pytest.fixture(scope="module", autouse=True)
def cheap():
    with pytest.MonkeyPatch.context() as patch:
        one_start(patch)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Four people, a file each, with answers by places on a line."""
    folder = tmp_path_factory.mktemp("study") / "data"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for person in range(4):
        lines = ["anchor,left,right,answer,catch"]
        for trial in range(40):
            a, b, c = rng.permutation(7)[:3]
            answer, other = ("left", "right") if abs(a - b) <= abs(a - c) else ("right", "left")
            # Nobody but p3 gets a catch question wrong.
            right = "" if trial % 8 else (other if person == 3 else answer)
            lines.append(f"o{a},o{b},o{c},{answer},{right}")
        (folder / f"p{person}.csv").write_text("\n".join(lines))
    (folder / "README.md").write_text("a study")
    return folder


def run(command, capsys):
    status = main(list(map(str, command)))
    return status, *capsys.readouterr()


def test_a_folder_is_fitted_and_reported(data, tmp_path, capsys):
    status, out, err = run(["fit", data, "-o", tmp_path / "map", *QUICK, "--json"], capsys)
    assert status == 0
    assert json.loads(out)["n_answers"] == 160
    assert "each file is a person by name" in err
    assert "README.md" in err
    results = json.loads((tmp_path / "map" / "results.json").read_text())
    assert results["title"] == data.parent.name  # "data" would say nothing
    assert results["source"]["file"] == "4 files in data"
    assert results["source"]["n_files"] == 4
    assert len(results["source"]["sha256"]) == 64
    assert "4 files in data (sha256" in (tmp_path / "map" / "log.txt").read_text()
    assert results["summary"]["n_annotators"] == 4
    assert run(["report", tmp_path / "map"], capsys)[0] == 0
    page = (tmp_path / "map" / "report.html").read_text()
    assert "4 files in data" in page
    assert "The same files, versions" in page
    files = sorted(data.glob("*.csv"))
    assert run(["fit", *files, "-o", tmp_path / "again", *QUICK], capsys)[0] == 0
    assert (tmp_path / "again" / "embedding.csv").read_bytes() == (tmp_path / "map" / "embedding.csv").read_bytes()
    status, out, _ = run(["score", tmp_path / "map", *files[:2], "--json"], capsys)
    assert status == 0
    assert json.loads(out)["n_answers"] == 80


def test_check_takes_a_pattern_and_leaves_out_a_person(data, capsys):
    status, out, _ = run(["check", data / "p*.csv", "--exclude", "person=p2", "--json"], capsys)
    found = json.loads(out)
    assert status == 0
    assert found["file"] == "4 files in data"
    assert [(each["n_rows"], each["where"]) for each in found["left_out"]] == [(40, "person is 'p2'")]
    assert any("each file is a person" in finding["title"] for finding in found["findings"])


def test_results_do_not_go_among_the_answers(data, capsys):
    status, _, err = run(["fit", data, "-o", data, *QUICK], capsys)
    assert status == 2
    assert "is the folder of the answers" in err


def test_catch_questions_are_reported_and_stay_out_of_the_map(data, tmp_path, capsys):
    status, out, _ = run(["check", data, "--catch", "catch", "--json"], capsys)
    found = json.loads(out)
    assert status == 0
    assert found["catches"]["n_asked"] == [5, 5, 5, 5]
    assert found["catches"]["n_right"] == [5, 5, 5, 0]
    assert [(each["n_rows"], each["where"]) for each in found["left_out"]] == [(20, "catch marks a catch question")]
    (failed,) = [finding for finding in found["findings"] if finding["code"] == "fails-catch"]
    assert failed["examples"] == ["'p3': 0 of 5 right"]
    assert "--exclude person=p3." in failed["text"]
    status, _, err = run(["fit", data, "--catch", "catch", "-o", tmp_path, *QUICK], capsys)
    assert status == 0
    assert "nearer: catch questions (column catch): 15 of 20 answers right\n" in err
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["source"]["n_answers"] == 140
    assert results["source"]["catches"]["by"] == "expected"
    assert run(["report", tmp_path], capsys)[0] == 0
    page = (tmp_path / "report.html").read_text()
    assert "15 of 20 answers to catch questions were right (75%); catch questions were not part of the map." in page
    assert "20 rows where catch marks a catch question" in page
