"""`nearer fit` on answers that `nearer check` has found an error in."""

import json
import re
from pathlib import Path

import pytest

import nearer.checking
from nearer.checking import check, check_errors
from nearer.cli.main import main
from nearer.io import read_answers

pytestmark = pytest.mark.usefixtures("few_repeats")
QUICK = ("--quick", "--method", "STE", "--dimensions", "2")
HEADER = "anchor,near,far\n"


def triplets(names):
    """Return lines of all triplets of objects on a line."""
    where = {name: place for place, name in enumerate(names)}
    return "".join(
        f"{a},{b},{c}\n" for a in names for b in names for c in names
        if len({a, b, c}) == 3 and abs(where[a] - where[b]) < abs(where[a] - where[c])
    )  # fmt: skip


WHOLE = HEADER + triplets("abcdef")
APART = HEADER + triplets("abcdef") + triplets("uvwxyz")
ONE_ANCHOR = HEADER + "".join(f"a,{b},{c}\n" for b in "bcdef" for c in "bcdef" if b < c)


@pytest.fixture(params=["apart", "one anchor"])
def broken(request, tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text(APART if request.param == "apart" else ONE_ANCHOR)
    return file


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def errors_in(out):
    return [line for line in out.splitlines() if line.startswith("ERROR")]


def test_fit_repeats_the_errors_of_check_and_writes_nothing(broken, tmp_path, capsys):
    status, checked, _ = run(capsys, "check", broken)
    assert status == 1
    status, out, _ = run(capsys, "fit", broken, "-o", tmp_path / "map", *QUICK)
    assert status == 1
    assert errors_in(out) == errors_in(checked) != []
    assert out.endswith("use nearer fit --anyway to make a map all the same.\n")
    assert not (tmp_path / "map").exists()


def test_errors_for_programs(broken, tmp_path, capsys):
    status, out, _ = run(capsys, "fit", broken, "-o", tmp_path / "map", "--json", *QUICK)
    said = json.loads(out)
    assert (status, said["folder"], said["findings"]) == (1, None, "error")
    assert [error["severity"] for error in said["errors"]] == ["error"]


def test_results_of_an_earlier_run_stay_when_fit_stops(tmp_path, capsys):
    file, folder = tmp_path / "answers.csv", tmp_path / "map"
    file.write_text(WHOLE)
    assert run(capsys, "fit", file, "-o", folder, *QUICK)[0] == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    file.write_text(APART)
    assert run(capsys, "fit", file, "-o", folder, *QUICK)[0] == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_anyway_makes_a_map_and_says_so_everywhere(broken, tmp_path, capsys):
    status, out, _ = run(capsys, "fit", broken, "-o", tmp_path / "map", "--anyway", *QUICK)
    assert status == 0
    words = "asked for with --anyway, in spite of an error"
    assert words in out
    results = json.loads((tmp_path / "map" / "results.json").read_text())
    assert sum(words in note for note in results["notes"]) == 1
    assert words in (tmp_path / "map" / "log.txt").read_text()
    assert run(capsys, "report", tmp_path / "map")[0] == 0
    assert words in (tmp_path / "map" / "report.html").read_text()


@pytest.mark.parametrize("extra", [(), ("--anyway",)])
def test_answers_without_errors_are_fitted_as_ever(extra, tmp_path, capsys):
    file = tmp_path / "answers.csv"
    file.write_text(WHOLE)
    status, out, _ = run(capsys, "fit", file, "-o", tmp_path / "map", *QUICK, *extra)
    assert status == 0
    assert "anyway" not in out
    assert not any("anyway" in note for note in json.loads((tmp_path / "map" / "results.json").read_text())["notes"])


@pytest.mark.parametrize("text", [WHOLE, APART, ONE_ANCHOR])
def test_the_quick_look_finds_the_errors_of_the_whole_one(text, tmp_path):
    (tmp_path / "answers.csv").write_text(text)
    answers = read_answers(tmp_path / "answers.csv")
    every = [finding for finding in check(answers, random_state=0) if finding.severity == "error"]
    assert list(check_errors(answers)) == every


def test_no_other_check_can_find_an_error():
    """The checks that fit runs are those of connectivity.py: an error found elsewhere would pass it."""
    folder = Path(nearer.checking.__file__).parent
    is_error = re.compile(r"^ .*\(Finding\(\"[a-z-]+\", \"error\"|Severity = \"error\"", re.MULTILINE)
    assert [path.name for path in folder.glob("*.py") if is_error.search(path.read_text())] == ["connectivity.py"]
