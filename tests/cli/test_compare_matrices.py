"""`nearer compare` of a map with models, and of methods: what is said, written and refused."""

import csv
import json

import numpy as np
import pytest
from helpers.few import one_start
from scipy.spatial.distance import pdist, squareform

from nearer.cli import compare as compare_command
from nearer.cli.main import main
from nearer.comparing import matrices, matrix_tests
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL

LABELS = [f"thing {k}" for k in range(10)]
POINTS = make_gaussian(10, 2, random_state=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Answers, a map of them, and three models."""
    folder = tmp_path_factory.mktemp("lab")
    rows = sample_triplets(POINTS, 300, random_state=0).rows
    lines = [",".join([f"p{k % 9}", *(LABELS[one] for one in row)]) for k, row in enumerate(rows)]
    (folder / "answers.csv").write_text("\n".join(["person,anchor,near,far", *lines]) + "\n")
    file, out = str(folder / "answers.csv"), str(folder / "map")
    with pytest.MonkeyPatch.context() as patch:
        one_start(patch)
        assert main(["fit", file, "-o", out, "--method", "CKL", "--dimensions", "2", "--quick"]) == 0
    apart = squareform(pdist(POINTS))
    square = [["", *LABELS], *([label, *map(str, row)] for label, row in zip(LABELS, apart, strict=True))]
    (folder / "truth.csv").write_text("\n".join(map(",".join, square)))
    table = [f"{label},{x},{y}" for label, (x, y) in zip(LABELS[1:], POINTS[:0:-1], strict=True)]
    (folder / "features.csv").write_text("\n".join(["object,x,y", *table]))
    return folder


@pytest.fixture(autouse=True)
def few(monkeypatch):
    one_start(monkeypatch)
    for measure in compare_command._N_PERMUTATIONS:
        monkeypatch.setitem(compare_command._N_PERMUTATIONS, measure, 99)
    monkeypatch.setitem(matrices.compare_matrices.__kwdefaults__, "n_resamples", 50)


def said(arguments, capsys):
    capsys.readouterr()
    status = main([str(one) for one in arguments])
    read = capsys.readouterr()
    return status, read.out, read.err


def test_a_map_and_two_models(folder, tmp_path, capsys):
    models = ["--with", folder / "truth.csv", "--with", folder / "features.csv", "--features"]
    status, out, err = said(["compare", folder / "map", *models, "--people-maps", 10, "-o", tmp_path], capsys)
    assert status == 0
    assert "truth less features" in out
    assert "features: 1 object is not in it, and left out: 'thing 0'" in err
    assert {path.name for path in tmp_path.iterdir()} == {"comparison.json", "rsa.csv", "rsa.png", "rsa.pdf"}
    found = json.loads((tmp_path / "comparison.json").read_text())
    with open(tmp_path / "rsa.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == ["truth", "features"]
    assert float(rows[0]["spearman"]) == pytest.approx(found["models"][0]["estimate"], abs=1e-5)
    assert found["n_objects"] == 9
    assert found["models"][0]["estimate"] > 0.9 > 0.75 > found["models"][1]["estimate"]
    assert found["models"][0]["people_low"] < found["models"][0]["estimate"]
    assert 0.9 < found["ceiling"]["low"] <= found["ceiling"]["high"]
    assert found["differences"][0]["difference"] > 0.1


def test_the_map_itself_and_json(folder, capsys):
    arguments = [
        "compare",
        folder / "map",
        "--with",
        folder / "map",
        "--measure",
        "tau-a",
        "--people-maps",
        0,
        "--json",
    ]
    status, out, _ = said(arguments, capsys)
    found = json.loads(out)
    assert status == 0
    assert found["models"][0]["name"] == "map"
    assert found["models"][0]["measures"]["tau-a"] > 0.75  # of distances in all dimensions with those on the map
    assert found["models"][0]["people_low"] is None


def test_an_interrupt_goes_on_without_people(folder, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(matrix_tests, "bootstrap", stop)
    status, out, _ = said(["compare", folder / "map", "--with", folder / "truth.csv"], capsys)
    assert status == 0
    assert "no interval over people: the run was stopped" in out
    assert "noise ceiling:" in out


def test_wrong_use_is_reported(folder, capsys):
    status, _, err = said(["compare", folder / "map", "--with", folder / "features.csv"], capsys)
    assert status == 2
    assert "--features takes" in err
    status, _, err = said(["compare", folder / "map", folder / "map", "--with", folder / "truth.csv"], capsys)
    assert status == 2
    assert "Name the map first" in err


def test_methods_in_any_letters(folder, tmp_path, capsys):
    file = folder / "answers.csv"
    arguments = ["compare", file, "--methods", "ckl,Ste", "--dimensions", 2, "--folds", 3, "-o", tmp_path]
    status, out, _ = said(arguments, capsys)
    assert status == 0
    assert "differences are to CKL, the first" in out
    assert {path.name for path in tmp_path.iterdir()} == {
        "comparison.json", "methods.csv", "methods.png", "methods.pdf",
    }  # fmt: skip
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert (found["unit"], found["n_folds"], found["n_comparisons"]) == ("annotators", 3, 300)
    with open(tmp_path / "methods.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["name"] for row in rows] == ["CKL", "STE"]
    assert rows[0]["difference"] == ""
    assert float(rows[1]["difference"]) == pytest.approx(found["methods"][1]["difference"], abs=1e-5)


def test_the_dimension_is_chosen_on_training_parts(folder, capsys, monkeypatch):
    sizes, fitted, fit = [], [], CKL.fit
    monkeypatch.setattr(compare_command, "_dimension", lambda train, seed: sizes.append(len(train)) or 3)
    monkeypatch.setattr(CKL, "fit", lambda self, *rest: fitted.append(self.n_components) or fit(self, *rest))
    status, _, _ = said(["compare", folder / "answers.csv", "--methods", "CKL,STE", "--folds", 3], capsys)
    assert status == 0
    assert (sum(sizes), fitted) == (600, [3, 3, 3])


def test_a_method_that_is_not_known(folder, capsys):
    status, _, err = said(["compare", folder / "answers.csv", "--methods", "CKL,TST"], capsys)
    assert status == 2
    assert "method 'TST' is not known; perhaps TSTE is meant" in err


def test_distances_of_the_folder_are_those_of_the_map(folder):
    rows = list(csv.reader((folder / "map" / "distances.csv").read_text().splitlines()))
    with open(folder / "map" / "embedding.csv", newline="") as file:
        points = [[float(row["x1"]), float(row["x2"])] for row in csv.DictReader(file)]
    np.testing.assert_allclose([list(map(float, row[1:])) for row in rows[1:]], squareform(pdist(points)), rtol=1e-4)
