"""`nearer compare`: options that several comparisons share reach each of them, and others are refused."""

import json

import numpy as np
import pytest

from nearer import comparing
from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    rows = sample_triplets(make_gaussian(8, 2, random_state=0), 120, random_state=0).oriented[:, [0, 1, 3]]
    path = tmp_path_factory.mktemp("compare") / "answers.csv"
    lines = [f"p{k % 4},g{k % 2},{','.join(f'o{i}' for i in row)}" for k, row in enumerate(rows)]
    path.write_text("\n".join(["person,group,anchor,near,far", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("way", "function", "given"),
    [
        (["--people", "--folds", "3"], "compare_people", {"n_splits": 3, "level": 0.9}),
        (["--methods", "STE,SOE", "--folds", "3"], "compare_methods", {"n_splits": 3, "level": 0.9}),
        (
            ["--by", "group", "--permutations", "99", "--bound", "0.4"],
            "compare_groups",
            {"n_permutations": 99, "bound": 0.4, "level": 0.9},
        ),
    ],
)
def test_shared_options_reach_each_way(way, function, given, answers, monkeypatch, capsys):
    seen = {}

    def caught(*positional, **named):
        seen.update(named, positional=positional[1:])
        raise ValueError("enough")

    monkeypatch.setattr(comparing, function, caught)
    assert main(["compare", str(answers), *way, "--dimensions", "3", "--level", "0.9"]) == 2
    assert "enough" in capsys.readouterr().err
    assert given.items() <= seen.items()
    if function == "compare_people":
        assert seen["positional"] == (3,)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--by", "group", "--folds", "3"], "--folds does nothing for --by"),
        (["--people", "--bound", "0.3"], "--bound does nothing for --people"),
        (["--people", "--permutations", "99"], "--permutations does nothing for --people"),
        (["--methods", "STE,SOE", "--measure", "pearson"], "--measure does nothing for --methods"),
        (["--with", "x.csv", "--keep", "group=g1"], "--keep does nothing for --with"),
    ],
)
def test_an_option_that_does_nothing_is_refused(arguments, sentence, answers, capsys):
    assert main(["compare", str(answers), *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_the_level_and_the_permutations_of_a_model(answers, tmp_path, capsys, one_start):
    folder, model = tmp_path / "map", tmp_path / "model.csv"
    assert main(["fit", str(answers), "--method", "STE", "--dimensions", "2", "--quick", "-o", str(folder)]) == 0
    names = [f"o{k}" for k in range(8)]
    apart = np.abs(np.subtract.outer(range(8), range(8)))
    rows = [",".join([label, *map(str, row)]) for label, row in zip(names, apart, strict=True)]
    model.write_text("\n".join([",".join(["", *names]), *rows]) + "\n")
    capsys.readouterr()
    told = ["--level", "0.5", "--permutations", "19", "--people-maps", "0", "--json"]
    assert main(["compare", str(folder), "--with", str(model), *told]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["level"] == 0.5
    assert round(20 * found["models"][0]["p_value"], 9).is_integer()


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("map", "holds a map; choose another folder for the comparison with --out"),
        ("data", "is the folder of the answers"),
        ("file", "choose another folder with --out"),
    ],
)
def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_fitted(
    place, sentence, answers, tmp_path, monkeypatch, capsys
):
    for folder in ("map", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "map" / "results.json").write_text("{}")
    (tmp_path / "data" / "answers.csv").write_bytes(answers.read_bytes())
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(comparing, "compare_people", lambda *_, **__: pytest.fail("was fitted"))
    assert main(["compare", str(tmp_path / "data"), "--people", "-o", str(tmp_path / place)]) == 2
    assert sentence in capsys.readouterr().err
