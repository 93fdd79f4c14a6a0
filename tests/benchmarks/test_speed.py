import csv
import json

import pytest
from helpers.fake_peer import make_peer

from benchmarks import speed as speed_module
from benchmarks.__main__ import main
from benchmarks.programs import Program
from benchmarks.session import Task
from benchmarks.speed import Speed, speed_rows, speed_text
from benchmarks.triplets import Size

PEER = Program("cblearn", "python", "0.4.0")


def record(program, seconds, loss="STE", **more):
    figures = {"seconds": seconds, "error": 0.1, "peak_memory": 2e8, "n_iter": 10, "warnings": []}
    return {"program": program, "size": "100x2000", "method": loss, **figures, **more}


def timed_out(timeout):
    return {"program": "cblearn", "size": "100x2000", "method": "STE", "timeout": timeout}


@pytest.fixture
def peer(tmp_path):
    return make_peer(tmp_path / "peer")


@pytest.fixture
def ran(monkeypatch):
    """Measurements in the order they were asked for, each answered by `seconds`."""
    asked = []

    class Fake:
        seconds = 1.0

        def __init__(self, path, total, title):
            self.total = total
            asked.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def skip(self, count):
            self.total -= count

        def run(self, task, program, timeout=0.0):
            asked.append((task.loss, task.size.objects, program.name, task.repeat))
            return record(program.name, Fake.seconds, task.loss, size=str(task.size))

    monkeypatch.setattr(speed_module, "Session", Fake)
    asked.append(Fake)
    return asked


def test_the_ratio_is_the_peers_median_divided_by_ours():
    seconds = {"nearer": [1.0, 2.0, 9.0], "cblearn": [50.0, 8.0, 10.0]}
    (row,) = speed_rows(record(program, value) for program, values in seconds.items() for value in values)
    assert (row["seconds"], row["peer_seconds"], row["ratio"]) == (2.0, 10.0, 5.0)
    assert not row["ratio_is_lower_bound"]
    assert (row["repeats"], row["peer_repeats"]) == (3, 3)


def test_a_peer_that_ran_out_of_time_gives_a_lower_bound(tmp_path):
    rows = speed_rows([record("nearer", 2.0), timed_out(60.0)])
    assert rows[0]["ratio"] == 30.0
    assert rows[0]["ratio_is_lower_bound"]
    assert rows[0]["peer_error"] is None
    text = speed_text(Speed(tmp_path, PEER, ["STE"]), rows)
    assert "> 30.0" in text
    assert "> 60.00" in text


def test_programs_take_turns_from_small_to_large(tmp_path, ran):
    sizes = [Size(200, 500), Size(100, 500)]
    Speed(tmp_path, PEER, ["STE", "TSTE"], sizes, repeats=2).execute()
    assert ran[2:6] == [("STE", 100, name, repeat) for repeat in range(2) for name in ("nearer", "cblearn")]
    assert [entry[:2] for entry in ran[2::4]] == [("STE", 100), ("TSTE", 100), ("STE", 200), ("TSTE", 200)]
    assert ran[1].total == len(ran) - 2 == 16


@pytest.mark.parametrize(("asked", "expected"), [(None, 1), (2, 2), (5, 5)])
def test_a_slow_peer_is_measured_once_unless_told_otherwise(tmp_path, ran, asked, expected):
    ran[0].seconds = 121.0
    run = Speed(tmp_path, PEER, ["STE"], [Size(100, 500)], repeats=3, peer_repeats=asked)
    rows = speed_rows(run.execute())
    assert (rows[0]["repeats"], rows[0]["peer_repeats"]) == (3, expected)
    assert ran[1].total == len(ran) - 2
    assert ("cblearn once" in speed_text(run, rows)) == (asked is None)


def test_one_start_for_soe_of_the_peer_alone():
    task = Task("SOE", Size(10, 50), 3, 0, 0)
    assert task.settings("cblearn", 8) == {"n_components": 3, "random_state": 8, "n_init": 1}
    assert task.settings("nearer", 8) == {"n_components": 3, "random_state": 8}


def bench(peer, folder, *arguments):
    return main(["speed", "--sizes", "20x300", "--peer-python", peer, "--out", str(folder), *arguments])


def test_both_programs_are_measured_and_all_files_written(peer, tmp_path, capsys):
    out = tmp_path / "out"
    assert bench(peer, out, "--losses", "gnmds", "--repeats", "2", "--dimension", "2", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["table"]
    assert (row["objects"], row["comparisons"], row["loss"], row["repeats"], row["peer_repeats"]) == (
        20,
        300,
        "GNMDS",
        2,
        2,
    )
    assert row["error"] < 0.25
    assert row["peer_error"] == 0.5
    assert row["peer_seconds"] >= 0.1
    assert row["peer_iterations"] == 7
    assert row["peak_memory_mb"] > 30
    assert row["peer_peak_memory_mb"] > 10
    (stored,) = csv.DictReader((out / "table.csv").open())
    assert float(stored["ratio"]) == row["ratio"] == row["peer_seconds"] / row["seconds"]
    # A second run finds everything on file, and prints the table for people.
    before = (out / "measurements.jsonl").read_text()
    assert bench(peer, out, "--losses", "GNMDS", "--repeats", "2", "--dimension", "2") == 0
    assert (out / "measurements.jsonl").read_text() == before
    assert capsys.readouterr().out.strip() == (out / "table.txt").read_text().strip()
    assert "n_init=1" in (out / "table.txt").read_text()


def test_a_peer_that_never_ends_and_one_that_fails(peer, tmp_path, capsys):
    options = ["--losses", "TSTE,STE", "--repeats", "1", "--dimension", "2", "--peer-timeout", "0.5", "--json"]
    assert bench(peer, tmp_path / "out", *options) == 0
    report = json.loads(capsys.readouterr().out)
    endless, failed = report["table"]
    assert endless["ratio_is_lower_bound"]
    assert endless["ratio"] == 0.5 / endless["seconds"]
    assert failed["ratio"] is None
    assert "cblearn STE failed: MemoryError: a matrix of 20 GB." in report["notes"]


def test_without_a_peer(tmp_path, ran, capsys):
    arguments = ["--losses", "GNMDS", "--sizes", "20x300", "--repeats", "1", "--no-peer", "--out", str(tmp_path)]
    assert main(["speed", *arguments]) == 0
    assert "cblearn was not measured" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--losses", "MDS"], "loss MDS is not known; choose from GNMDS"),
        (["--losses", "GNMDS", "--sizes", "10x360"], "size 10x360 is too large"),
        (["--sizes", "1000"], "sizes such as 1000x100000"),
        (["--sizes", "1000xmany"], "a whole number, 1 or more"),
        (["--repeats", "0"], "a whole number, 1 or more"),
        (["--peer-timeout", "never"], "a number of seconds above 0"),
    ],
)
def test_bad_arguments_end_with_a_sentence(arguments, sentence, tmp_path, capsys):
    try:
        status = main(["speed", "--no-peer", *arguments, "--out", str(tmp_path / "new")])
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_our_own_failure_ends_the_benchmark(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        speed_module, "nearer_program", lambda: Program("no_such_package", __import__("sys").executable, "1")
    )
    arguments = ["--losses", "GNMDS", "--sizes", "20x300", "--no-peer", "--out", str(tmp_path)]
    assert main(["speed", *arguments]) == 2
    assert "No module named 'no_such_package'" in capsys.readouterr().err
