"""Features on the command line: `fit`, `add`, `place` and `check` with them, and what is said where they are wrong."""

import csv
import json
import shutil

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.data.features import Features
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding.storage import load_model
from nearer.study import read_results

N, N_ASKED, N_DESCRIBED = 16, 12, 14
POINTS = make_gaussian(N, 2, random_state=0)
VECTORS = POINTS @ np.random.default_rng(0).normal(size=(2, 24))
NAMES = [f"thing {k:02}" for k in range(N)]

pytestmark = pytest.mark.usefixtures("few_repeats")


def write_rows(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return str(path)


def write_features(path, rows, names=NAMES, values=VECTORS):
    columns = [f"v{k}" for k in range(values.shape[1])]
    return write_rows(path, ["object", *columns], [[names[row], *values[row]] for row in rows])


def write_triplets(path, n_objects, n_answers, seed):
    rows = sample_triplets(POINTS[:n_objects], n_answers, flipped=0.05, random_state=seed).rows
    return write_rows(path, ["anchor", "near", "far"], [[NAMES[each] for each in row] for row in rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of answers about 12 objects, features of two more, and of others."""
    path = tmp_path_factory.mktemp("features")
    write_triplets(path / "answers.csv", N_ASKED, 60, 2)
    write_triplets(path / "more.csv", N_DESCRIBED, 30, 3)
    write_features(path / "vectors.csv", range(N_DESCRIBED))
    write_features(path / "new.csv", range(N_DESCRIBED, N))
    write_features(path / "other.csv", range(N), [f"x{k}" for k in range(N)])
    return path


@pytest.fixture(scope="module")
def study(folder, few_repeats):
    """A study that was fitted with features, in a folder that moved afterwards."""
    out = folder / "first"
    arguments = ["fit", folder / "answers.csv", "--features", folder / "vectors.csv", "--quick", "-o", out]
    assert main([*map(str, arguments), "--dimensions", "2"]) == 0
    return shutil.move(out, folder / "map")


def run(capsys, *arguments):
    status = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_objects_without_answers_get_onto_the_map(study):
    assert list(read_results(study).objects) == NAMES[:N_DESCRIBED]
    model = load_model(study)
    assert model.predict_proba([(NAMES[0], NAMES[12], NAMES[13])])[0, 1] != 0.5


def test_results_record_files_and_shares(study, folder):
    (record,) = read_results(study).features
    assert record.name == "vectors"
    assert record.file == str(folder / "vectors.csv")
    assert len(record.sha256) == 64
    assert (record.n_objects, record.n_columns) == (N_DESCRIBED, 24)
    assert 0 < record.share_low < record.share < record.share_high < 1
    assert "features: vectors" in (study / "log.txt").read_text(encoding="utf-8")
    settings = read_results(study).settings
    assert settings.run["features"] == ["vectors"]
    assert "features" not in settings.parameters


def test_the_held_out_error_is_that_of_fits_with_features(study, folder, tmp_path):
    assert main(["fit", str(folder / "answers.csv"), "--quick", "--dimensions", "2", "-o", str(tmp_path)]) == 0
    assert read_results(study).error.held_out < read_results(tmp_path).error.held_out - 0.05


def test_reliability_of_halves_that_share_features_is_not_told(study, tmp_path):
    results = read_results(study)
    assert results.reproducibility is None
    assert "distances" in results.missing
    assert any("share their features" in note for note in results.notes)
    assert not results.findings_of("too-few", "distances-roughly", "distances-differ", "undersampled-objects")
    page = tmp_path / "report.html"
    assert main(["report", str(study), "-o", str(page)]) == 0
    assert "share their features" in page.read_text(encoding="utf-8")


def test_several_sets_have_names(folder, tmp_path, capsys):
    words = write_features(tmp_path / "words.csv", range(N_DESCRIBED), values=VECTORS[:, :2])
    arguments = ["--features", folder / "vectors.csv", "--features", f"size={words}", "--quick", "-o", tmp_path / "map"]
    status, out, _ = run(capsys, "fit", folder / "answers.csv", *arguments, "--json")
    assert status == 0
    assert [each["name"] for each in json.loads(out)["features"]] == ["vectors", "size"]
    status, _, err = run(
        capsys, "fit", folder / "answers.csv", "--features", words, "--features", words, "-o", tmp_path
    )
    assert status == 2
    assert "name them: --features" in err


def test_further_answers_keep_the_features(study, folder, tmp_path, capsys):
    (folder / "vectors.csv").rename(folder / "elsewhere.csv")
    try:
        status, _, _ = run(capsys, "add", study, folder / "more.csv", "-o", tmp_path / "map")
    finally:
        (folder / "elsewhere.csv").rename(folder / "vectors.csv")
    assert status == 0
    first, now = read_results(study), read_results(tmp_path / "map")
    assert now.features[0].sha256 == first.features[0].sha256
    assert list(now.objects) == NAMES[:N_DESCRIBED]


def test_rows_of_new_objects_come_with_further_answers(study, folder, tmp_path, capsys):
    arguments = ["add", study, folder / "more.csv", "--features", folder / "new.csv", "-o", tmp_path / "map"]
    status, _, _ = run(capsys, *arguments)
    assert status == 0
    now = read_results(tmp_path / "map")
    assert sorted(now.objects) == NAMES
    assert [(each.name, each.n_objects) for each in now.features] == [("vectors", N)]


def test_features_place_new_objects(study, folder, tmp_path, capsys):
    status, out, _ = run(capsys, "place", study, "--features", folder / "new.csv", "-o", tmp_path / "map", "--json")
    assert status == 0
    placed = json.loads(out)
    assert list(placed["objects"]) == NAMES[N_DESCRIBED:]
    assert placed["n_answers"] == 0
    larger = read_results(tmp_path / "map")
    assert larger.placed.objects == tuple(NAMES[N_DESCRIBED:])
    rows = sample_triplets(POINTS, random_state=0).rows
    about = rows[(rows >= N_DESCRIBED).any(axis=1)]
    assert load_model(tmp_path / "map").score(np.array(NAMES)[about]) > 0.65


def test_features_and_answers_place_new_objects(study, folder, tmp_path, capsys):
    write_triplets(tmp_path / "answers.csv", N, 40, 7)
    arguments = ["place", study, tmp_path / "answers.csv", "--features", folder / "new.csv", "-o", tmp_path / "map"]
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "placed by features and" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "answers.csv", "--features", "vectors.csv", "--method", "SOE", "-o", "out"], "takes no features"),
        (["fit", "answers.csv", "--features", "nowhere.csv", "-o", "out"], "nowhere.csv"),
        (["fit", "vectors.csv", "--features", "out/model.npz", "-o", "out"], "would be written over"),
        (["fit", "answers.csv", "--features", "vectors=", "-o", "out"], "FILE or NAME=FILE is needed"),
        (["place", "map", "-o", "out"], "--features FILE"),
        (["place", "map", "--features", "vectors.csv", "-o", "out"], "are on the map already"),
        (
            ["place", "map", "--features", "a=new.csv", "--features", "b=new.csv", "-o", "out"],
            "has no features called 'a', 'b'",
        ),
    ],
)
def test_what_cannot_be_done_is_said(study, folder, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    try:
        status, _, err = run(capsys, *arguments)
    except SystemExit as stop:
        status, err = stop.code, capsys.readouterr().err
    assert status == 2
    assert message in err


def test_features_of_other_objects_stop_the_fit(folder, tmp_path, capsys):
    arguments = ["fit", folder / "answers.csv", "--features", folder / "other.csv", "-o", tmp_path / "map"]
    status, out, _ = run(capsys, *arguments)
    assert status == 1
    assert "describe none of the objects" in out
    assert not (tmp_path / "map").exists()


def test_check_compares_labels_with_answers(folder, tmp_path, capsys):
    write_features(tmp_path / "half.csv", [0, 1, 2, 3, 14, 15])
    status, out, _ = run(capsys, "check", folder / "answers.csv", "--features", tmp_path / "half.csv", "--json")
    findings = {each["code"]: each for each in json.loads(out)["findings"]}
    assert status == 0
    assert findings["features-missing"]["severity"] == "warning"
    assert findings["features-missing"]["concerned"] == NAMES[4:N_ASKED]
    assert findings["features-unasked"]["concerned"] == NAMES[14:]


def test_check_tells_shuffled_features_from_right_ones(tmp_path, capsys):
    write_triplets(tmp_path / "answers.csv", N, 400, 4)
    order = np.random.default_rng(3).permutation(N)
    write_features(tmp_path / "right.csv", range(N))
    write_features(tmp_path / "shuffled.csv", range(N), values=VECTORS[order])

    def codes(name):
        _, out, _ = run(capsys, "check", tmp_path / "answers.csv", "--features", tmp_path / name, "--json")
        return {each["code"]: each["severity"] for each in json.loads(out)["findings"]}

    assert codes("right.csv")["features-used"] == "good"
    assert codes("shuffled.csv")["features-useless"] == "warning"


def test_objects_that_only_features_connect_are_no_error():
    from nearer import Comparisons
    from nearer.checking import check_errors
    from nearer.io.answers import Answers

    def codes(features=()):
        rows = [("a", "b", "c"), ("b", "a", "c"), ("x", "y", "z"), ("z", "y", "x")]
        comparisons = Comparisons.from_triplets(rows, objects=[*"abcxyz", "alone"])
        answers = Answers(comparisons, np.arange(4), "triplet", "answers.csv", np.arange(2, 6))
        return {finding.code for finding in check_errors(answers, features=features)}

    assert codes() == {"disconnected", "never-compared"}
    assert codes([Features(np.eye(7), [*"abcxyz", "alone"])]) == set()
    assert codes([Features(np.eye(3), [*"abc"])]) == {"disconnected", "never-compared"}


def test_questions_are_chosen_by_features_before_there_are_answers(folder, tmp_path, capsys):
    arguments = ["--features", folder / "vectors.csv", "-n", "20", "-o", tmp_path / "questions.csv", "--json"]
    status, out, _ = run(capsys, "ask", *arguments)
    asked = json.loads(out)
    assert status == 0
    assert asked["n_objects"] == N_DESCRIBED
    assert asked["purposes"]["information"] >= 15
    assert asked["purposes"]["start"] == 0


def test_questions_go_on_with_answers_and_objects_that_only_features_name(folder, tmp_path, capsys):
    arguments = ["--features", folder / "vectors.csv", "-n", "20", "-o", tmp_path / "questions.csv", "--json"]
    status, out, _ = run(capsys, "ask", folder / "answers.csv", *arguments)
    asked = json.loads(out)
    assert status == 0
    assert asked["new_objects"] == NAMES[N_ASKED:N_DESCRIBED]
    assert asked["purposes"]["start"] == 0


def test_questions_with_a_list_of_objects_are_about_these(folder, tmp_path, capsys):
    (tmp_path / "names.txt").write_text("\n".join(NAMES[:6]), encoding="utf-8")
    arguments = ["--objects", tmp_path / "names.txt", "--features", folder / "vectors.csv", "-n", "10"]
    status, out, _ = run(capsys, "ask", *arguments, "-o", tmp_path / "questions.csv", "--json")
    assert status == 0
    assert json.loads(out)["n_objects"] == 6


def test_a_plan_is_of_the_objects_with_features(folder, capsys):
    arguments = ["plan", "--features", folder / "vectors.csv", "--at", "30", "--studies", "3"]
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "Without features it will be about" in out
    assert "Features explain a share of the variance of places (assumed): vectors 50% to 85%." in out
    few, many = (
        json.loads(run(capsys, *arguments, "--objects", 12, "--feature-share", share, "--json")[1])
        for share in (0, 0.95)
    )
    assert many["error"] < few["error"] - 0.05
    assert many["feature_share"]["vectors"]["mean"] == 0.95


def test_a_plan_after_first_answers_learns_what_features_explain(folder, capsys):
    pilot = write_triplets(folder / "pilot.csv", N_ASKED, 90, 7)
    arguments = ["plan", "--like", pilot, "--at", "100", "--studies", "3", "--json"]
    status, out, _ = run(capsys, *arguments, "--features", folder / "vectors.csv")
    assert status == 0
    found = json.loads(out)
    assert found["feature_share"]["vectors"]["mean"] > 0.5
    assert found["error"] < found["without_features"]["error"]


def test_plans_with_features_say_what_is_wrong(folder, capsys):
    features = ["--features", str(folder / "vectors.csv")]
    for arguments, sentence in (
        ([*features, "--objects", 20, "--at", 30], "features describe 14 objects, and the study has 20"),
        (["--objects", 12, "--at", 30, "--feature-share", 0.5], "is the share of features; give these, too"),
        ([*features, "--like", folder / "answers.csv", "--feature-share", 0.5], "leave out --feature-share"),
    ):
        status, _, err = run(capsys, "plan", *arguments)
        assert status == 2
        assert sentence in err
