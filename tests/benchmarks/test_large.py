import json

import pytest

from benchmarks import large
from benchmarks.__main__ import main

ARGUMENTS = ["large", "--objects", "30", "--comparisons", "1500", "--dimension", "2"]


def test_one_fit_in_a_process_of_its_own(capsys):
    assert main([*ARGUMENTS, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["loss"], result["objects"], result["comparisons"]) == ("GNMDS", 30, 1500)
    assert result["error"] < 0.15
    assert result["iterations"] >= 1
    assert 0 < result["fit_seconds"] < 60
    assert 30 < result["memory_before_fit_mb"] <= result["peak_memory_mb"] < 1000


def test_what_people_read(monkeypatch, capsys):
    monkeypatch.setattr(large, "run_large", lambda *task: large.measure_large(*task))
    assert main(ARGUMENTS) == 0
    out = capsys.readouterr().out
    assert "GNMDS, 30 objects, 1500 comparisons, 2-D" in out
    assert "peak memory before fit" in out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(["--objects", "2"], "a fit needs 3 objects"), (["--loss", "mds"], "loss MDS is not known")],
)
def test_bad_arguments_end_with_a_sentence(change, sentence, capsys):
    assert main([*ARGUMENTS, *change]) == 2
    assert sentence in capsys.readouterr().err
