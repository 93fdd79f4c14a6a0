"""Two maps: the same one turned, one with an object elsewhere, and folders that the program wrote."""

import csv
import json

import numpy as np
import pytest
from helpers.report_sample import results_of

from nearer.cli.main import main
from nearer.comparing import compare_maps
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.embedding.storage import save_model

POINTS = make_gaussian(10, 2, random_state=0)


@pytest.fixture(scope="module")
def models():
    moved = POINTS.copy()
    moved[4] = -1.5 * moved[4]
    return [
        STE(2).fit(sample_triplets(points, 300, random_state=k)) for k, points in enumerate((POINTS, POINTS, moved))
    ]


def test_a_map_has_the_shape_of_itself(models):
    found = compare_maps(models[0], models[0])
    assert found.procrustes == pytest.approx(0, abs=1e-12)
    assert found.pearson == pytest.approx(1)
    np.testing.assert_allclose(found.first, found.second, atol=1e-9)
    assert found.first_on_second.n_comparisons == 300


def test_two_maps_of_one_truth_are_alike_and_one_of_another_is_not(models):
    same, other = compare_maps(models[0], models[1]), compare_maps(models[0], models[2])
    assert same.procrustes < other.procrustes
    assert np.argmax(other.lengths) == 4
    assert other.first_on_second.error > same.first_on_second.error
    assert other.first_on_second.low < other.first_on_second.error < other.first_on_second.high
    # Which is laid onto which does not change the shape that is left.
    assert compare_maps(models[2], models[0]).procrustes == pytest.approx(other.procrustes)
    assert "displacements are not tested" in str(other)


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    """Folders as `nearer fit` leaves them, with small ellipses."""
    made = []
    for k, model in enumerate((models[0], models[2])):
        labels = [str(label) for label in model.objects_.tolist()]
        results = results_of(model.embedding_, labels, {}) | {
            "covariances": np.tile(0.02 * np.eye(2), (10, 1, 1)).tolist()
        }
        folder = tmp_path_factory.mktemp("maps") / ("before", "after")[k]
        folder.mkdir()
        save_model(model, folder)
        (folder / "results.json").write_text(json.dumps(results))
        made.append(folder)
    return made


def test_the_ellipses_show_the_displaced_object(folders):
    found = compare_maps(*folders)
    assert found.names == ("before", "after")
    assert found.is_displaced()[4]
    assert found.object_p_values[4] == found.object_p_values.min()
    # By hand: the sum of both covariances, the second scaled along.
    points = np.array(json.loads((folders[1] / "results.json").read_text())["embedding"])
    scale = np.linalg.norm(found.second) / np.linalg.norm(points - points.mean(axis=0))
    apart = np.square(found.second - found.first).sum(axis=1) / (0.02 * (1 + scale**2))
    np.testing.assert_allclose(found.squared_distances, apart, rtol=1e-6)


def test_the_command_writes_a_table_and_a_figure(folders, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["compare", *map(str, folders), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "10 objects on both maps" in printed
    assert "the answers of 'after' on the map 'before': error" in printed
    assert {path.name for path in out.iterdir()} == {"comparison.json", "displacements.csv", "maps.png", "maps.pdf"}
    with (out / "displacements.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [row["object"] for row in rows if row["significant"] == "yes"] == json.loads(
        (out / "comparison.json").read_text()
    )["displaced"]
    assert main(["compare", *map(str, folders), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_shared"] == 10


def test_maps_of_other_objects_are_refused(models):
    from nearer import Comparisons

    other = STE(1).fit(Comparisons.from_triplets([("a", "b", "c"), ("c", "b", "a")]))
    with pytest.raises(ValueError, match="only 0 objects on both maps"):
        compare_maps(models[0], other)


def test_objects_that_nobody_compared_are_on_no_map(models):
    weightless = sample_triplets(POINTS, 300, random_state=5)
    weights = np.where((weightless.rows == 3).any(axis=1), 0.0, 1.0)
    found = compare_maps(models[0], STE(2).fit(weightless, sample_weight=weights))
    assert found.objects.tolist() == [str(k) for k in range(10) if k != 3]
    assert found.only_first == ("3",)


def test_points_are_no_map(models):
    with pytest.raises(ValueError, match=r"a map is a fitted estimator, or the folder .* got ndarray"):
        compare_maps(models[0], POINTS)
