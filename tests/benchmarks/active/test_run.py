"""The benchmark of rules: its records, that it goes on where it was stopped, its table and its figure."""

import json
from math import inf

import numpy as np
import pytest
from helpers.few import few_draws

from benchmarks.__main__ import main
from benchmarks.active import run, worlds
from benchmarks.active.run import ActiveRun
from benchmarks.active.summary import answers_needed, curve_rows, needed_rows, needed_text
from benchmarks.active.worlds import World, _Cloud
from nearer.sampling import Microcanonical


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    few_draws(monkeypatch)
    monkeypatch.setattr(run, "JUDGE", Microcanonical.for_cross_validation())
    cloud = _Cloud(1, (("noise", None), ("flipped", 0.05)), n_objects=8)
    monkeypatch.setitem(worlds.WORLDS, "tiny", World("tiny", "8 points", 8, 1, 80, cloud, (0.3, 0.0001)))
    monkeypatch.setattr(World, "checkpoints", lambda world, **featured: (16, 40, world.most))


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    first = ActiveRun(tmp_path, ["tiny"], ["random", "landmarks"], n_runs=1, batch=20).execute()
    assert [(each["method"], each["trial"]) for each in first] == [("random", 0), ("landmarks", 0)]
    made = []
    real = run.run_unit
    monkeypatch.setattr(run, "run_unit", lambda unit, *rest: made.append(unit) or real(unit, *rest))
    again = ActiveRun(tmp_path, ["tiny"], ["random", "landmarks"], n_runs=2, batch=20)
    assert len(again.execute()) == 4
    assert [(unit.rule, unit.run) for unit in made] == [("random", 1), ("landmarks", 1)]
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert [point["answers"] for point in lines[0]["curve"]] == [16, 40, 80]
    assert lines[0]["curve"][-1]["error"] < 0.2
    again.forget(["random"])
    assert {each["method"] for each in again.on_file()} == {"landmarks"}
    assert ActiveRun(tmp_path, ["tiny"], ["landmarks"], n_runs=1, batch=19).on_file() == []


def test_records_do_not_depend_on_who_runs_beside(tmp_path):
    alone = ActiveRun(tmp_path / "a", ["tiny"], ["information"], n_runs=1, batch=20).execute()[0]
    beside = ActiveRun(tmp_path / "b", ["tiny"], ["random", "information"], n_runs=1, batch=20).execute()[1]
    assert alone["curve"] == beside["curve"]


def test_rules_with_features_are_run_in_worlds_that_have_some(tmp_path, monkeypatch):
    cloud = _Cloud(1, (("noise", None), ("flipped", 0.05)), n_objects=8)
    seed = worlds.WORLDS["tiny"].seed(0, 0).spawn(1)[0]
    places = cloud(seed).points
    known = World("known", "8 points", 8, 1, 80, cloud, (0.3, 0.0001), features=lambda: places @ np.ones((1, 5)))
    monkeypatch.setitem(worlds.WORLDS, "known", known)
    rules = ["random+features", "ours+features"]
    work = ActiveRun(tmp_path, ["tiny", "known"], rules, n_runs=1, batch=20)
    assert [(unit.world, unit.rule) for unit in work.units()] == [("known", rule) for rule in rules]
    assert [each["method"] for each in work.execute()] == rules


def test_answers_needed_are_read_off_the_falling_curve():
    sizes = [100, 200, 400, 800]
    line = [10 / size for size in sizes]
    assert answers_needed(sizes, line, 0.03) == pytest.approx(10 / 0.03)
    assert answers_needed(sizes, line, 0.5) == 100
    assert answers_needed(sizes, line, 0.001) == inf
    # Luck at 200, gone at 400: both count as their mean, in logs.
    lucky = [0.4, 0.1, 0.225, 0.05]
    assert 100 < answers_needed(sizes, lucky, 0.15) <= 200
    assert answers_needed(sizes, lucky, 0.1) > 400


def test_the_table_compares_within_runs():
    def record(rule, trial, factor):
        curve = [
            {"answers": m, "error": factor / m, "error_map": 0.1, "error_own": 0.4 if rule == "salmon" else None}
            for m in (16, 40, 80)
        ]
        return {"world": "tiny", "method": rule, "trial": trial, "curve": curve}

    records = [record("random", run, 12.0 + run) for run in range(3)]
    records += [record("ours", run, 6.0 + run / 2) for run in range(3)]
    records += [record("salmon", 0, 60.0)]
    rows = {(row["rule"], row["target"]): row for row in needed_rows(records)}
    assert rows["random", 0.3]["median"] == pytest.approx(13 / 0.3)
    assert rows["ours", 0.3]["ratio"] == pytest.approx(0.5)
    assert rows["salmon", 0.3]["reached"] == 0
    assert rows["salmon", 0.3]["ratio"] == inf
    assert rows["ours", 0.0001]["median"] == inf
    assert np.isnan(rows["ours", 0.0001]["ratio"])
    assert rows["salmon, its own map", 0.3]["median"] == inf
    text = needed_text(list(rows.values()))
    assert "22 (21-22), 0.50" in text
    assert "> 80" in text
    assert {row["runs"] for row in curve_rows(records) if row["rule"] == "ours"} == {3}


def test_the_command_leaves_table_and_figure(tmp_path, capsys):
    out = ["--out", str(tmp_path), "--worlds", "tiny", "--runs", "1", "--jobs", "1"]
    assert main(["active", *out, "--rules", "random,ours", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {row["rule"] for row in figures["table"]} == {"random", "ours"}
    for name in ("table.txt", "table.csv", "curves.csv", "active.png"):
        assert (tmp_path / name).stat().st_size > 50
    assert main(["active", *out, "--rules", "random", "--report"]) == 0
    assert "ours" not in capsys.readouterr().out


def test_wrong_names_and_nothing_on_file_are_reported(tmp_path, capsys):
    with pytest.raises(ValueError, match="'nowhere' is not known; choose among eggs"):
        ActiveRun(tmp_path, ["nowhere"])
    assert main(["active", "--rules", "wisdom", "--out", str(tmp_path)]) == 2
    assert "'wisdom' is not known; choose among random" in capsys.readouterr().err
    assert main(["active", "--report", "--worlds", "tiny", "--out", str(tmp_path)]) == 2
    assert "there are no runs" in capsys.readouterr().err


def test_without_salmon_the_others_are_run(tmp_path, capsys, monkeypatch):
    from benchmarks import programs

    def fail(*_):
        raise ValueError("Salmon 1.0.3 could not be installed (no index)")

    monkeypatch.setattr(programs, "_installed", fail)
    out = ["--out", str(tmp_path), "--worlds", "tiny", "--runs", "1", "--jobs", "1"]
    assert main(["active", *out, "--rules", "random,salmon"]) == 0
    printed = capsys.readouterr()
    assert "could not be installed (no index); the other rules are run without it" in printed.err
    assert "random" in printed.out
