"""A map brought up to date: the map of all answers, lying where the old one lay."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from helpers.few import few_draws, one_start

from nearer import Comparisons
from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, MVTE, BestOf, PosteriorEmbedding
from nearer.embedding.storage import load_model
from nearer.evaluation import procrustes_error
from nearer.io import read_answers
from nearer.io.answers import LeftOut
from nearer.study.results import LeftOutRecord
from nearer.study.update import StoredStudy, displacements, joined, rotated_onto

QUICK = ["--quick", "--method", "CKL", "--dimensions", "2"]
POINTS = make_gaussian(12, 2, random_state=5)
NAMES = np.array([f"o{number:02}" for number in range(12)])


def write(path, rows, objects=NAMES, people=("ann", "bob")):
    lines = ["person,anchor,near,far,trial"]
    lines += [
        f"{people[at % 2]},{','.join(objects[row])},{at // 2}" for at, row in enumerate(np.asarray(rows).tolist())
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module", autouse=True)
def cheap():
    with pytest.MonkeyPatch.context() as patch:
        one_start(patch)
        yield


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A map of 200 answers, which know nothing of the last object, and 150 more."""
    folder = tmp_path_factory.mktemp("study")
    rows = sample_triplets(POINTS, 600, flipped=0.05, random_state=1).oriented[:, [0, 1, 3]]
    known = rows[(rows < 11).all(axis=1)]
    write(folder / "first.csv", known[:200])
    write(
        folder / "more.csv",
        np.concatenate([known[200:250], rows[(rows == 11).any(axis=1)][:100]]),
        people=("ann", "eve"),
    )
    assert main(["fit", str(folder / "first.csv"), "-o", str(folder / "map"), *QUICK]) == 0
    return folder


def run(command, capsys):
    capsys.readouterr()
    status = main(list(map(str, command)))
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def larger(study):
    assert main(["add", str(study / "map"), str(study / "more.csv"), "-o", str(study / "larger"), "--json"]) == 0
    return study / "larger"


def test_it_is_the_map_of_all_answers(study, larger, capsys):
    model, before = load_model(larger), load_model(study / "map")
    assert run(["fit", study / "first.csv", study / "more.csv", "-o", study / "whole", *QUICK], capsys)[0] == 0
    whole = load_model(study / "whole")
    assert whole.objects_.tolist() == model.objects_.tolist() == NAMES.tolist()
    assert procrustes_error(model.embedding_, whole.embedding_, scaling=False) < 1e-4
    assert len(model.comparisons_) == 350
    assert len(set(zip(model.comparisons_.annotators, model.comparisons_.trials, strict=True))) == 350
    assert len(before.comparisons_) == 200


def test_it_lies_where_the_old_one_lay(study, larger):
    model, before = load_model(larger), load_model(study / "map")
    new, old = (points - points.mean(axis=0) for points in (model.embedding_[:11], before.embedding_))
    best = np.linalg.norm(new - old)
    for angle in np.linspace(0.1, 6.2, 30):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert best < np.linalg.norm(new @ turn - old)
        assert best < np.linalg.norm(new @ turn * [1, -1] - old)


def test_results_say_that_answers_came_in_two_lots(study, larger, capsys):
    results = json.loads((larger / "results.json").read_text())
    source = results["source"]
    assert [lot["file"] for lot in source["lots"]] == ["first.csv", "more.csv"]
    assert [lot["n_answers"] for lot in source["lots"]] == [200, 150]
    assert (source["n_answers"], source["file"], source["n_files"]) == (350, "first.csv, then more.csv", 2)
    assert "lot: more.csv (sha256" in (larger / "log.txt").read_text()
    assert run(["report", larger], capsys)[0] == 0
    page = (larger / "report.html").read_text()
    assert "The answers came in 2 lots of 200 and 150 answers" in page
    assert page.index("nearer fit") < page.index("nearer add")


def test_rules_of_the_first_map_that_are_not_said_again_are_reported(study, larger):
    new = read_answers(study / "more.csv")
    main = LeftOut(3, "block", "==", ("main",))
    rules = [main, LeftOut(3, "person", "!=", ("TEST",))]
    rules = tuple(LeftOutRecord.from_dict(rule.to_dict()) for rule in rules)
    earlier = StoredStudy.read(study / "map")
    source = replace(earlier.results.source, left_out=rules)
    earlier = replace(earlier, results=replace(earlier.results, source=source))
    (note,) = joined(earlier, new)[1]
    assert "was made without rows where block is not 'main'; nothing of the kind was left out of more.csv" in note
    again = new.reported(left_out=(main._replace(n_rows=0),))
    assert joined(earlier, again)[1] == ()


def test_what_has_changed_is_reported(study, tmp_path, capsys):
    status, out, _ = run(["add", study / "map", study / "more.csv", "-o", tmp_path], capsys)
    assert status == 0
    assert "1 new object: 'o11'" in out
    assert "the map before predicted them with an error of 0." in out
    assert "held-out error" in out
    assert "moved most" in out


def test_the_same_answers_again_are_refused_or_reported(study, tmp_path, capsys):
    status, _, err = run(["add", study / "map", study / "first.csv", "-o", tmp_path], capsys)
    assert status == 2
    assert "its answers would count double" in err
    lines = (study / "first.csv").read_text().splitlines()
    (tmp_path / "part.csv").write_text("\n".join(lines[:101]))
    status, out, err = run(["add", study / "map", tmp_path / "part.csv", "-o", tmp_path / "out", "--json"], capsys)
    assert status == 0
    changes = json.loads(out)["changes"]
    assert changes["n_added"] == 100
    assert len(changes["moved"]) == 11
    assert 0 <= changes["error_of_old_map_on_new_answers"] < 0.2
    assert "100% of the answers of the same people in part.csv are in" in err


def test_the_map_itself_is_replaced_only_when_all_is_done(study, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "map"
    shutil.copytree(study / "map", folder)
    (folder / "mine.txt").write_text("keep")
    before = (folder / "embedding.csv").read_bytes()

    def broken(*_):
        raise ValueError("no more room")

    with monkeypatch.context() as patch:
        patch.setattr("nearer.study.folder.draw_study", broken)
        status, _, err = run(["add", folder, study / "more.csv", "-o", folder], capsys)
    assert status == 2
    assert "no more room" in err
    assert (folder / "embedding.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["map"]
    assert run(["add", folder, study / "more.csv", "-o", folder], capsys)[0] == 0
    assert load_model(folder).n_objects_ == 12
    assert (folder / "mine.txt").read_text() == "keep"
    assert [path.name for path in tmp_path.iterdir()] == ["map"]


def test_who_answered_must_be_known_of_all_or_of_nobody(study, tmp_path, capsys):
    (tmp_path / "nobody.csv").write_text("anchor,near,far\no00,o01,o02\n")
    status, _, err = run(["add", study / "map", tmp_path / "nobody.csv", "-o", tmp_path / "out"], capsys)
    assert status == 2
    assert "knows who answered, and nobody.csv does not say" in err


@pytest.mark.parametrize(
    "method",
    [
        CKL(2, random_state=0),
        MVTE(2, n_views=2, n_init=1, random_state=0),
        BestOf(2, methods=[CKL()], random_state=0),
        PosteriorEmbedding(2, random_state=0),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_turned_model_predicts_the_same(method, monkeypatch):
    few_draws(monkeypatch)
    judgments = sample_triplets(POINTS, 200, random_state=2)
    model = method.fit(judgments)
    before, expected = model.embedding_.copy(), model.predict_proba(judgments)
    spread = None if model._map_draws(1, 0) is None else model._map_draws(1, 0).covariances.copy()
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    model = model.rotated(turn)
    np.testing.assert_allclose(model.embedding_, before @ turn)
    np.testing.assert_allclose(model._chosen.embedding_, before @ turn)
    np.testing.assert_allclose(model.predict_proba(judgments), expected)
    model._check_state()
    if spread is not None:  # the long axis of an ellipse turns with the map
        along = np.linalg.eigh(spread[0])[1][:, -1] @ turn
        now = model._map_draws(1, 0).covariances[0]
        np.testing.assert_allclose(along @ now @ along, np.linalg.eigvalsh(spread[0])[-1])
        np.testing.assert_allclose(model.embedding_std_[0], np.sqrt(np.diag(now)))


def test_how_far_objects_moved():
    judgments = sample_triplets(POINTS, 300, random_state=2)
    named = replace(Comparisons.from_triplets(judgments.oriented[:, [0, 1, 3]], n_objects=12), objects=NAMES)
    old, new = CKL(2, random_state=0).fit(named), CKL(2, random_state=0).fit(named)
    new.embedding_ = 3 * old.embedding_[:, ::-1] + 1
    assert max(displacements(new, old).values()) < 1e-6  # turned, mirrored, scaled and moved as a whole is not moved
    new.embedding_[4] += 3 * old.embedding_.std()
    assert next(iter(displacements(rotated_onto(new, old), old))) == "o04"
