import json

import pytest

from benchmarks.__main__ import main
from benchmarks.paper import protocol, runner

QUICK = ["--sizes", "20", "--trials", "2", "--methods", "dmoe"]


def run(arguments, capsys):
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def test_reproduce_prints_json_and_leaves_all_files(tmp_path, capsys):
    status, out, _ = run(["reproduce", "synthetic", *QUICK, "--jobs", "2", "--json", "--out", str(tmp_path)], capsys)
    answer = json.loads(out)
    assert status == 0
    assert [row["method"] for row in answer["table"]] == ["DMOE"]
    assert all(row["trials"] == 2 and 0.3 < row["median"] < 0.55 for row in answer["table"])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"trials.jsonl", "table.txt", "table.csv", "errors.png", "figure1.png"}
    assert set(answer["figures"]) < names
    # The same in one process, for people: nothing depends on how the work was divided.
    status, out, _ = run(["reproduce", "synthetic", *QUICK, "--jobs", "1", "--out", str(tmp_path / "one")], capsys)
    assert status == 0
    assert (tmp_path / "table.txt").read_text() == (tmp_path / "one" / "table.txt").read_text()
    assert (tmp_path / "table.txt").read_text() in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sizes", "200,485100"], "size 485100 is out of range"),
        (["--sizes", "3"], "size 3 is out of range"),
        (["--sizes", "200;500"], "a whole number"),
        (["--methods", "DMOE,SOE"], "method SOE is not known"),
        (["--trials", "0"], "--trials: a whole number, 1 or more"),
        (["--jobs", "0"], "--jobs: a whole number, 1 or more"),
    ],
)
def test_bad_arguments_end_with_a_sentence(arguments, sentence, tmp_path, capsys):
    status, out, err = run(["reproduce", "synthetic", *arguments, "--out", str(tmp_path / "new")], capsys)
    assert (status, out) == (2, "")
    assert sentence in err
    assert not (tmp_path / "new").exists()


def test_missing_music_ends_with_the_sentence_that_says_where_to_put_it(monkeypatch, tmp_path, capsys):
    def missing():
        raise FileNotFoundError("put music_triplets.mat here")

    monkeypatch.setattr(protocol, "fetch_music", missing)
    status, _, err = run(["reproduce", "music", "--out", str(tmp_path)], capsys)
    assert (status, err) == (2, "nearer: put music_triplets.mat here\n")


def test_an_interrupt_has_its_own_status(monkeypatch, tmp_path, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_unit", stop)
    status, _, err = run(["reproduce", "synthetic", *QUICK, "--jobs", "1", "--out", str(tmp_path)], capsys)
    assert status == 130
    assert "0 of 2 tuned fits kept" in err


@pytest.mark.parametrize("spoil", ["trials.jsonl", "table.txt"])
def test_spoiled_results_end_with_a_sentence(spoil, tmp_path, capsys):
    if spoil == "trials.jsonl":
        (tmp_path / spoil).write_text("garbage\n")
    else:
        (tmp_path / spoil).mkdir()
    status, _, err = run(["reproduce", "synthetic", *QUICK, "--jobs", "1", "--out", str(tmp_path)], capsys)
    assert status == 2
    assert err.startswith("nearer: ")
    assert spoil in err
