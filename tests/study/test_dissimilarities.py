"""A study of dissimilarities: its folder, its page, and what does not go with it."""

import json

import numpy as np
import pytest
from helpers.tool_files import FILES, PEOPLE, rated

from nearer.cli.main import main
from nearer.embedding.storage import load_model
from nearer.io import read_dissimilarities
from nearer.report.page import assemble
from nearer.study import RunSettings, read_results, run_dissimilarity_study

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OPTIONS = ["--resamples", "10", "--seed", "3", "--dimensions", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a study by the command line, with its file of ratings."""
    place = tmp_path_factory.mktemp("ratings")
    (place / "ratings.csv").write_bytes(rated(("item1", "item2", "rating", "person")))
    status = main(["fit", str(place / "ratings.csv"), "-o", str(place / "map"), *OPTIONS])
    assert status == 0
    return place


def test_the_folder_has_what_a_study_has(folder):
    results, model = read_results(folder / "map"), load_model(folder / "map")
    found = results.dissimilarities
    assert (found.kind, found.high_is, found.known_by) == ("ratings", "different", "assumed")
    assert found.stress == pytest.approx(model.stress_)
    assert len(found.values) == found.n_pairs == found.n_possible == 15
    np.testing.assert_allclose(results.embedding, model.embedding_)
    assert results.settings.method == "NonmetricMDS"
    assert [person.name for person in results.annotators] == list(PEOPLE)
    assert results.error.unit == "annotators"
    assert results.regions is None, "four people are too few to be resampled"
    assert results.missing == ("places", "distances"), "and to be halved"
    for name in ("embedding.csv", "distances.csv", "log.txt"):
        assert (folder / "map" / name).is_file()
    assert "kruskal" in results.citations[-1].text.lower() or "kruskal" in results.citations[0].text.lower()


def test_the_page_says_what_it_is_about(folder):
    page = assemble(read_results(folder / "map"), {})
    for words in (
        "60 ratings",
        "of kind ratings",
        "--high-is similar",
        "Shepard diagram",
        "stress-1",
        "Nili et al. 2014",
    ):
        assert words in page, words
    assert "Would more answers help?" not in page


def test_the_same_settings_give_the_same_results(folder, tmp_path):
    data = read_dissimilarities(folder / "ratings.csv")
    study = run_dissimilarity_study(data, RunSettings(seed=3, n_resamples=10, n_components=1), tmp_path / "again")
    one, other = study.results.to_dict(), read_results(folder / "map").to_dict()
    for key in ("embedding", "covariances", "error", "dissimilarities", "findings"):
        assert one[key] == other[key], key


def test_the_shepard_figure(folder, tmp_path):
    pytest.importorskip("matplotlib")
    assert main(["figure", str(folder / "map"), "--kind", "shepard", "-o", str(tmp_path / "s.svg")]) == 0
    assert "dissimilarity" in (tmp_path / "s.svg").read_text()


@pytest.mark.parametrize(
    "name", ["book.xlsx", "r.csv", "melt.csv", "same.csv", "confusions.csv", "cards.csv", "rdms.npy", "D.mat"]
)
def test_files_that_hold_no_comparisons_give_a_page(name, tmp_path):
    file = next(file for file in FILES if file.name == name)
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine", reason="reads workbooks: pip install python-calamine")
    (tmp_path / name).write_bytes(file.content())
    assert main(["fit", str(tmp_path / name), *file.options, "-o", str(tmp_path / "map"), "--resamples", "10"]) == 0
    assert main(["report", str(tmp_path / "map")]) == 0
    page = (tmp_path / "map" / "report.html").read_text(encoding="utf-8")
    assert f"of kind {file.kind}" in page
    assert "NonmetricMDS" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "STE"], "made by NonmetricMDS"),
        (["--weigh-annotators"], "takes no weights of people"),
        (["--catch", "catch"], "are for answers to questions"),
    ],
)
def test_what_does_not_go_with_dissimilarities(options, message, folder, tmp_path, capsys):
    file = str(folder / "ratings.csv")
    assert main(["fit", file, "--kind", "ratings", "-o", str(tmp_path / "m"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_a_map_of_ratings_takes_no_further_answers(folder, tmp_path, capsys):
    assert main(["add", str(folder / "map"), str(folder / "ratings.csv"), "-o", str(tmp_path / "m")]) == 2
    assert "fit all files at once" in capsys.readouterr().err


def test_groups_without_a_pair_between_them_stop_the_fit(tmp_path, capsys):
    rows = ["item1,item2,rating", "a,b,1", "a,c,2", "b,c,3", "d,e,1", "d,f,2", "e,f,3"]
    (tmp_path / "r.csv").write_text("\n".join(rows))
    assert main(["fit", str(tmp_path / "r.csv"), "-o", str(tmp_path / "m"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["errors"][0]["code"] == "unjudged-groups"
    assert not (tmp_path / "m").exists()
    assert (
        main(["fit", str(tmp_path / "r.csv"), "-o", str(tmp_path / "m"), "--anyway", "--quick", "--dimensions", "1"])
        == 0
    )
