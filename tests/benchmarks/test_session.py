import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import session
from benchmarks.programs import MeasurementFailed, Program
from benchmarks.records import Interrupted
from benchmarks.session import Measured, Session, Task
from benchmarks.triplets import Size

PROGRAM = Program("nearer", "python", "1")
TASKS = [Task(loss, Size(10, 50), 2, 0, repeat) for loss in ("STE", "GNMDS") for repeat in range(2)]


@pytest.fixture
def calls(monkeypatch):
    """Fits that were really run; each puts all objects at the origin."""
    made = []

    def fake(program, loss, settings, data, warm_up, timeout=0.0):
        made.append((program, loss, settings["random_state"], np.load(data)["train"].shape, timeout))
        figures = {"seconds": float(len(made)), "n_iter": 3, "peak_memory": 10**8, "warnings": []}
        return Measured(figures, np.zeros((10, settings["n_components"])))

    monkeypatch.setattr(session, "run_fit", fake)
    return made


def run(path, tasks=TASKS, program=PROGRAM, timeout=0.0):
    with Session(path, len(tasks), "test") as opened:
        return [opened.run(task, program, timeout) for task in tasks]


def test_each_task_is_measured_once_even_after_a_cut(tmp_path, calls):
    path = tmp_path / "new" / "measurements.jsonl"
    whole = run(path)
    assert [loss for _, loss, *_ in calls] == ["STE", "STE", "GNMDS", "GNMDS"]
    assert len({start for _, _, start, *_ in calls}) == 2
    assert {shape for *_, shape, _ in calls} == {(50, 3)}
    assert {record["error"] for record in whole} == {0.5}  # ties count half
    text = path.read_text()
    path.write_text(text[: text.rindex('"seconds"')])  # stopped in the middle of the last line
    resumed = run(path)
    assert len(calls) == 5
    assert resumed[:3] == whole[:3]
    assert resumed[3]["seconds"] == 5.0
    assert len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize("change", ["program", "seed", "size"])
def test_another_version_seed_or_size_is_measured_anew(tmp_path, calls, change):
    path, task = tmp_path / "m.jsonl", TASKS[0]
    run(path, [task])
    other = {
        "program": (task, Program("nearer", "python", "2")),
        "seed": (Task("STE", Size(10, 50), 2, 1, 0), PROGRAM),
        "size": (Task("STE", Size(10, 60), 2, 0, 0), PROGRAM),
    }[change]
    run(path, [other[0]], other[1])
    assert len(calls) == 2


def test_a_fit_that_ran_out_of_time_is_tried_again_only_with_more_time(tmp_path, monkeypatch):
    path = tmp_path / "m.jsonl"
    monkeypatch.setattr(session, "run_fit", lambda *arguments: Measured({"timeout": arguments[-1]}, None))
    (record,) = run(path, TASKS[:1], timeout=5.0)
    assert record["timeout"] == 5.0
    monkeypatch.setattr(session, "run_fit", lambda *arguments: pytest.fail("measured again"))
    assert run(path, TASKS[:1], timeout=5.0) == [record]
    assert run(path, TASKS[:1], timeout=2.0) == [record]
    monkeypatch.setattr(session, "run_fit", lambda *arguments: Measured({"timeout": arguments[-1]}, None))
    assert run(path, TASKS[:1], timeout=9.0)[0]["timeout"] == 9.0


def test_a_failure_is_reported_but_not_kept(tmp_path, monkeypatch):
    def fail(*_):
        raise MeasurementFailed("no memory")

    monkeypatch.setattr(session, "run_fit", fail)
    (record,) = run(tmp_path / "m.jsonl", TASKS[:1])
    assert record["failure"] == "no memory"
    assert (tmp_path / "m.jsonl").read_text() == ""


def test_an_interrupt_says_what_is_kept(tmp_path, monkeypatch, calls):
    measured = session.run_fit

    def stop_at_third(*arguments):
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measured(*arguments)

    monkeypatch.setattr(session, "run_fit", stop_at_third)
    with pytest.raises(Interrupted, match=r"2 of 4 measurements kept in .*m.jsonl; run the same command again"):
        run(tmp_path / "m.jsonl")


def test_peak_memory_is_that_of_the_process_not_of_its_parent():
    code = "from benchmarks.worker import peak_memory; print(peak_memory())"
    held = np.ones(40_000_000)  # 320 MB
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) < held.nbytes / 2
