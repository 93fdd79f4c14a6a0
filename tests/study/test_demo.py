import json

import pytest

from nearer.cli.main import main
from nearer.study.demo import N_JUDGMENTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "made"


@pytest.fixture
def answer(folder, capsys):
    assert main(["demo", "--json", "--out", str(folder)]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_map_lies_between_guessing_and_the_truth(answer, folder):
    assert answer["n_train"] + answer["n_held_out"] == N_JUDGMENTS
    assert 0.08 < answer["error_truth"] < 0.14  # about one answer in nine is wrong
    assert answer["error_truth"] < answer["error_gram"] < 0.2
    assert answer["error_truth"] < answer["error_map"] < 0.2
    assert (folder / "colors.png").read_bytes().startswith(b"\x89PNG")


def test_people_read_the_same_figures(answer, folder, capsys):
    assert main(["demo", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    assert all(f"{answer[name]:.3f}" in out for name in ("error_gram", "error_map", "error_truth"))
    assert str(folder / "colors.png") in out
