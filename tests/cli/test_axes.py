"""`nearer axes`: from a folder of a map and a CSV to a table, arrows and a turned copy that other commands read."""

import csv
import json

import numpy as np
import pytest
from helpers.studies import simulate
from scipy.spatial.distance import pdist

from nearer.cli.main import main
from nearer.embedding.storage import load_model
from nearer.io import write_answers
from nearer.study import read_results

pytestmark = pytest.mark.usefixtures("few_repeats")


@pytest.fixture(scope="module")
def study(tmp_path_factory, few_repeats):
    folder = tmp_path_factory.mktemp("axes")
    answers = simulate(n_objects=12, n_people=4, per_person=100).answers()
    write_answers(answers, folder / "answers.csv")
    assert main(["fit", str(folder / "answers.csv"), "-o", str(folder / "map"), "--method", "STE", "--dimensions", "3",
                 "--resamples", "10"]) == 0  # fmt: skip
    model = load_model(folder / "map")
    rng = np.random.default_rng(0)
    size = model.embedding_ @ [1.0, 2.0, 0.0] + 0.01 * rng.normal(size=12)
    with (folder / "attributes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["object", "size", "kind", "file"])
        for k, label in enumerate(model.objects_.tolist()):
            writer.writerow([label, "" if k == 3 else size[k], "ab"[k % 2], f"{label}.png"])
    return folder


def run(capsys, *arguments):
    status = main(["axes", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_the_table_and_the_figure(study, tmp_path, capsys):
    status, out, _ = run(capsys, study / "map", "--attributes", study / "attributes.csv", "-o", tmp_path / "out")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["attribute", "kind", "objects"]
    assert lines[1].startswith("size")
    assert "objects without a value are left out: 'size'" in out
    assert "file is not fitted" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "properties.csv",
        "properties.json",
        "properties.png",
        "properties.pdf",
    }
    with (tmp_path / "out" / "properties.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["n_objects"], rows[1]["kind"]) == ("11", "words")
    np.testing.assert_allclose([float(rows[0][f"x{k}"]) for k in (1, 2, 3)], np.array([1, 2, 0]) / 5**0.5, atol=0.05)
    # The same for programs, with the same seed.
    _, out, _ = run(capsys, study / "map", "--attributes", study / "attributes.csv", "--json")
    assert json.loads(out)["fits"][0]["p_value"] == float(rows[0]["p_value"])


def test_a_map_turned_to_a_column_is_a_whole_copy(study, tmp_path, capsys):
    out = tmp_path / "turned"
    attributes = ["--attributes", study / "attributes.csv"]
    status, said, _ = run(capsys, study / "map", *attributes, "--rotate-to", "size", "-o", out, "--json")
    assert status == 0
    figures, before, after = json.loads(said), read_results(study / "map").to_dict(), read_results(out).to_dict()
    np.testing.assert_allclose(figures["fits"][0]["direction"], [1, 0, 0], atol=1e-6)
    axes = np.array(figures["axes"])
    np.testing.assert_allclose(np.array(before["embedding"]) @ axes, after["embedding"], atol=1e-12)
    np.testing.assert_allclose(axes.T @ np.array(before["covariances"]) @ axes, after["covariances"], atol=1e-12)
    np.testing.assert_allclose(pdist(before["embedding"]), pdist(after["embedding"]), atol=1e-12)
    np.testing.assert_allclose(after["scree"], np.var(after["embedding"], axis=0))
    assert "rotated to 'size'" in after["notes"][-1]
    np.testing.assert_allclose(load_model(out).embedding_, after["embedding"], atol=1e-12)
    with (out / "embedding.csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert float(first["x1"]) == pytest.approx(after["embedding"][0][0])
    assert float(first["sd1"]) == pytest.approx(np.sqrt(after["covariances"][0][0][0]))
    assert {path.name for path in (study / "map").iterdir()} <= {path.name for path in out.iterdir()}
    assert "rotated: the map was rotated to 'size'" in (out / "log.txt").read_text(encoding="utf-8")
    assert main(["report", str(out)]) == 0
    assert main(["score", str(out), str(study / "answers.csv")]) == 0


def test_varimax_and_another_map(study, tmp_path, capsys):
    assert run(capsys, study / "map", "--varimax", "-o", tmp_path / "varimax")[0] == 0
    simple = np.array(read_results(tmp_path / "varimax").embedding)
    status, said, _ = run(capsys, study / "map", "--align-to", tmp_path / "varimax", "-o", tmp_path / "aligned")
    assert status == 0
    assert "by 12 objects in both" in said
    np.testing.assert_allclose(read_results(tmp_path / "aligned").embedding, simple, atol=1e-6)
    # Its CSV does as well, of fewer objects.
    lines = (tmp_path / "varimax" / "embedding.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "some.csv").write_text("\n".join(lines[:9]), encoding="utf-8")
    status, said, _ = run(capsys, study / "map", "--align-to", tmp_path / "some.csv", "-o", tmp_path / "partly")
    assert "by 8 objects in both" in said
    np.testing.assert_allclose(read_results(tmp_path / "partly").embedding, simple, atol=1e-6)


def test_objects_that_are_not_exchangeable(study, tmp_path, capsys):
    labels = load_model(study / "map").objects_.tolist()
    rows = [f"{label},{k % 5},{'' if k == 2 else 1990 + k},{k % 4},{'xyz'[k % 3]}" for k, label in enumerate(labels)]
    table = tmp_path / "objects.csv"
    table.write_text("\n".join(["object,size,year,block,thing", *rows]), encoding="utf-8")
    lines = [
        ",".join(["", *labels]),
        *(",".join([a, *(str(abs(i - j)) for j in range(12))]) for i, a in enumerate(labels)),
    ]
    (tmp_path / "tree.csv").write_text("\n".join(lines), encoding="utf-8")

    def fits(*arguments):
        status, out, err = run(capsys, study / "map", "--attributes", table, "--json", *arguments)
        assert status == 0
        return json.loads(out), err

    found, err = fits("--along", "year")
    assert (found["null"], found["n_objects"], [fit["name"] for fit in found["fits"]]) == (
        "along", 11, ["size", "block", "thing"],
    )  # fmt: skip
    assert f"1 object without a value of 'year' left out: '{labels[2]}'" in err
    by_tree, _ = fits("--along", tmp_path / "tree.csv")
    assert (by_tree["null"], by_tree["n_objects"]) == ("along", 12)
    assert fits("--within", "block")[0]["null"] == "within"
    averaged, _ = fits("--copies", "block")
    assert (averaged["null"], averaged["n_objects"]) == ("copies", 4)
    assert averaged["not_fitted"]["thing"] == "copies of one thing have different words"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a file of attributes with --attributes FILE"),
        (["--rotate-to", "size", "-o", "x"], "name a file of attributes"),
        (["--varimax"], "name its folder with --out"),
        (["--attributes", "ATTRIBUTES", "--rotate-to", "weight", "-o", "x"], "has no column 'weight'; it has 'size'"),
        (["--attributes", "ATTRIBUTES", "--rotate-to", "kind", "-o", "x"], "'kind' has words"),
        (["--varimax", "-o", "x", "--within", "kind"], "name their file with --attributes FILE"),
        (["--attributes", "ATTRIBUTES", "--along", "year"], "--along names 'year', which is no column of"),
        (["--attributes", "ATTRIBUTES", "--along", "kind"], "along must be numbers"),
        (["--varimax", "-o", "MAP"], "choose another folder with --out"),
        (["--align-to", "ATTRIBUTES", "-o", "x"], "'kind', 'file' has words"),
    ],
)
def test_wrong_use_ends_with_a_sentence(arguments, sentence, study, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    named = {"ATTRIBUTES": study / "attributes.csv", "MAP": study / "map"}
    status, out, err = run(capsys, study / "map", *[named.get(each, each) for each in arguments])
    assert (status, out) == (2, "")
    assert sentence in err
    assert not (tmp_path / "x").exists()
