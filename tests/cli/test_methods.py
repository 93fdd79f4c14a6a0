"""Every method on the command line: a whole run on a small file, with settings, a page, a score and a new object."""

import json

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets
from nearer.report.verdict import method_name
from nearer.study import read_results
from nearer.study.methods import METHOD_CLASSES, citations
from nearer.study.results import MethodRecord

pytestmark = pytest.mark.usefixtures("few_repeats")
LABELS = np.array(["oak", "elm", "ash", "yew", "fir", "box", "bay", "fig", "larch"])
OPTIONS = ["--dimensions", "2", "--resamples", "10"]
SETTINGS = {
    "MVTE": "n_views=1,alpha=3,trace=0.01",
    "NonmetricMDS": "ties=secondary,gap=0.2,n_init=2",
    "LOE": "trace=0.01,solver=factored",
    "LORE": "penalty=1,power=0.5",
    "FORTE": "trace=0.01,solver=projected",
    "SPE": "rank=2,connectivity=knn,tol=0.01,margin=0.02",
}
SLOWEST = {"LORE", "NonmetricMDS", "SPE"}


def write_rows(path, rows):
    lines = [",".join(LABELS[row]) for row in rows]
    path.write_text("\n".join(["anchor,near,far", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Answers about eight objects, others about the same, and answers about a ninth."""
    folder = tmp_path_factory.mktemp("files")
    rows = sample_triplets(make_gaussian(9, 2, random_state=0), random_state=0).rows
    rows = np.random.default_rng(0).permutation(rows)
    known = rows[(rows < 8).all(axis=1)]
    named = {"answers": known[:110], "others": known[110:], "new": rows[(rows == 8).any(axis=1)][:40]}
    return {name: write_rows(folder / f"{name}.csv", part) for name, part in named.items()}


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOWEST)) for name in SETTINGS]
)
def test_a_run_has_all_of_its_parts(method, files, tmp_path, capsys):
    folder, larger = tmp_path / "map", tmp_path / "larger"
    options = ["--method", method, "--set", SETTINGS[method], *OPTIONS]
    status, out, err = run(capsys, "fit", files["answers"], "-o", folder, *options)
    assert status == 0, err
    assert f"by {method}\n" in out
    results = read_results(folder).to_dict()
    assert results["error"]["held_out"] < 0.3
    assert results["covariances"] is not None
    assert results["reproducibility"] is not None
    assert results["learning_curve"] is not None
    assert results["settings"]["method"] == method
    assert len(results["citations"]) == 2
    assert run(capsys, "report", folder)[0] == 0
    assert (folder / "report.html").stat().st_size > 10_000
    status, out, _ = run(capsys, "score", folder, files["others"], "--json")
    assert status == 0
    assert json.loads(out)["error"] < 0.3
    assert run(capsys, "place", folder, files["new"], "-o", larger)[0] == 0
    assert read_results(larger).placed.objects == ("larch",)


def test_a_scale_of_objects_in_order_has_one_dimension(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = np.sort([rng.choice(8, 3, replace=False) for _ in range(300)], axis=1)[:, [1, 0, 2]]
    psi = (np.arange(8) / 7) ** 2
    swap = psi[rows[:, 2]] + psi[rows[:, 1]] - 2 * psi[rows[:, 0]] + rng.normal(scale=0.2, size=300) < 0
    rows[swap] = rows[swap][:, [0, 2, 1]]
    lines = [",".join(str(5 * level + 5) for level in row) for row in rows]  # 5, 10, .. 40: as text 10 comes before 5
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["anchor,near,far", *lines]) + "\n", encoding="utf-8")
    options = ["--method", "MLDS", "--set", "link=probit", "--resamples", "10"]
    status, out, err = run(capsys, "fit", path, "-o", tmp_path / "map", *options)
    assert status == 0, err
    assert "by MLDS\n" in out
    results = read_results(tmp_path / "map").to_dict()
    places = np.array(results["embedding"])
    assert places.shape == (8, 1)
    order = np.argsort([int(label) for label in results["objects"]])
    assert np.corrcoef(places[order, 0], psi)[0, 1] > 0.98
    assert results["error"]["held_out"] < 0.3
    assert run(capsys, "report", tmp_path / "map")[0] == 0
    assert run(capsys, "score", tmp_path / "map", path)[0] == 0
    named = write_rows(tmp_path / "named.csv", rows)
    options = ["--method", "MLDS", "--quick", "--set"]
    status, _, err = run(capsys, "fit", named, "-o", tmp_path / "named", *options, f"order={'<'.join(LABELS[:8])}")
    assert status == 0, err
    again = read_results(tmp_path / "named").to_dict()
    position = [again["objects"].index(label) for label in LABELS[:8]]
    np.testing.assert_allclose(np.array(again["embedding"])[position], places[order])
    status, _, err = run(capsys, "fit", named, "-o", tmp_path / "none", *options, "order=oak<elm")
    assert status == 2
    assert "order lacks 6 objects" in err


def test_several_views_have_no_ellipses_and_say_why(files, tmp_path, capsys):
    options = ["--method", "MVTE", "--set", "n_views=2,alpha=3,n_init=1", *OPTIONS]
    status, out, err = run(capsys, "fit", files["answers"], "-o", tmp_path / "map", *options)
    assert status == 0, err
    results = read_results(tmp_path / "map").to_dict()
    assert results["error"] is not None
    assert results["covariances"] is None
    for part in ("ellipses", "reproducibility of distances"):
        assert f"note: no {part}: the map is the first of 2 views (" in out
    assert run(capsys, "report", tmp_path / "map")[0] == 0


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("MVTE", "n_views=0", "n_views must be"),
        ("NonmetricMDS", "ties=some", "ties must be 'primary' or 'secondary'"),
        ("MLDS", "link=probit", "n_components must be 1"),
        ("LOE", "rank=2", "LOE has no setting 'rank'"),
        ("SPE", "connectivity=b-matching", "comparisons do not define a b-matching"),
    ],
)
def test_settings_that_cannot_be_had_are_refused(method, settings, words, files, tmp_path, capsys):
    status, _, err = run(
        capsys, "fit", files["answers"], "-o", tmp_path / "map", "--method", method, "--set", settings, *OPTIONS
    )
    assert status == 2
    assert words in err


@pytest.mark.parametrize("kind", [kind for method, kind in METHOD_CLASSES.items() if method != "auto"])
def test_every_method_has_a_name_for_papers(kind):
    assert method_name(MethodRecord(kind)) != kind
    if kind != "BestOf":  # which stands for one of the others
        assert len(citations(kind, "1")) == {"PosteriorEmbedding": 3, "SPoSE": 4}.get(kind, 2)
