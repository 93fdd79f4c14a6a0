"""What a map says of itself after objects were placed on it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding.storage import load_model
from nearer.io import read_answers
from nearer.report.page import assemble
from nearer.study import Provenance, RunSettings, StoredStudy, StudyResults, run_study
from nearer.study.update import place_objects, write_placed

N = 14
POINTS = make_gaussian(N + 3, 2, random_state=0)
NAMES = [f"thing {k:02d}" for k in range(N + 3)]
PROVENANCE = Provenance("things", "a.csv", "0", command="nearer fit a.csv")


def write(path, rows):
    lines = ["anchor,near,far", *(",".join(NAMES[k] for k in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return read_answers(path)


@pytest.fixture(scope="module")
def rows():
    everything = sample_triplets(POINTS, random_state=1).rows
    return everything[np.random.default_rng(0).permutation(len(everything))]


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory, few_repeats):
    made = tmp_path_factory.mktemp("map")
    answers = write(made / "a.csv", rows[(rows < N).all(axis=1)][:700])
    settings = RunSettings(method="STE", n_components=2, n_resamples=10, parameters={"trace": 0.03})
    run_study(answers, settings, made, PROVENANCE)
    return made


def add(folder, out, answers, command):
    stored = StoredStudy.read(folder)
    new = place_objects(stored.model, answers, stored.results.covariances, random_state=0)
    write_placed(stored, new, out, command)
    return new, stored.results.to_dict(), json.loads((out / "results.json").read_text())


def mentioning(rows, new, most):
    """Comparisons of one new object with old ones."""
    return rows[((rows == new).sum(axis=1) == 1) & ((rows < N) | (rows == new)).all(axis=1)][:most]


def test_old_objects_keep_their_places_and_ellipses_and_new_ones_get_theirs(folder, rows, tmp_path):
    new, before, after = add(folder, tmp_path, write(tmp_path / "n.csv", mentioning(rows, N, 90)), "nearer place 1")
    assert after["embedding"][:N] == before["embedding"]
    assert after["covariances"][:N] == before["covariances"]
    typical = np.mean(before["covariances"], axis=0)
    assert np.linalg.eigvalsh(np.array(after["covariances"][N]) - typical).min() > 0
    spread = np.trace(np.cov(np.array(before["embedding"]).T))
    assert np.trace(after["covariances"][N]) < spread / 4
    assert (new.n_answers, new.n_unsure) == (90, 0)
    header, *table = (tmp_path / "embedding.csv").read_text().splitlines()
    assert header == "object,x1,x2,sd1,sd2"
    assert len(table) == N + 1
    assert (tmp_path / "map.png").exists()


def test_counts_title_commands_and_verdict_say_what_the_map_now_is(folder, rows, tmp_path):
    _, before, _ = add(folder, tmp_path, write(tmp_path / "n.csv", mentioning(rows, N, 90)), "nearer place 1")
    both = np.concatenate([mentioning(rows, N + k, 40) for k in (1, 2)])
    _, _, after = add(tmp_path, tmp_path / "again", write(tmp_path / "m.csv", both), "nearer place 2")
    assert after["summary"]["n_objects"] == len(after["objects"]) == N + 3
    assert after["placed"]["objects"] == NAMES[N:]
    assert after["placed"]["n_answers"] == 170
    assert after["placed"]["commands"] == ["nearer place 1", "nearer place 2"]
    assert after["title"] == "things, with 3 objects placed on it"
    assert after["error"] == before["error"]
    page = assemble(StudyResults.from_dict(after), {})
    assert "14 objects · 700 answers (triplet) · 3 objects placed by 170 answers" in page
    assert "3 objects were placed on a map of 14, and what follows is about that map, without them." in page
    assert "700 answers about 14 objects" in page


def test_an_object_with_hardly_any_answers_may_be_anywhere(folder, rows, tmp_path):
    new, before, after = add(folder, tmp_path, write(tmp_path / "n.csv", mentioning(rows, N, 4)), None)
    assert new.n_unsure == 1
    np.testing.assert_allclose(after["covariances"][N], np.cov(np.array(before["embedding"]).T))
    assert "1 of them has too few answers" in assemble(StudyResults.from_dict(after), {})


def test_a_map_without_ellipses_gets_none(folder, rows, tmp_path):
    stored = StoredStudy.read(folder)
    stored = replace(stored, results=replace(stored.results, covariances=None, scales=None, ellipse_size=None))
    new = place_objects(stored.model, write(tmp_path / "n.csv", mentioning(rows, N, 30)), None)
    write_placed(stored, new, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["covariances"] is None
    assert (tmp_path / "embedding.csv").read_text().splitlines()[0] == "object,x1,x2"


def test_pictures_and_a_page_of_the_smaller_map_do_not_stay(folder, rows, tmp_path):
    for name in ("report.html", "learning-curve.png", "map.png"):
        (tmp_path / name).write_text("old")
    add(folder, tmp_path, write(tmp_path / "n.csv", mentioning(rows, N, 30)), None)
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "learning-curve.png").exists()
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_objects_with_few_answers_are_reported_also_where_the_map_has_no_ellipses(folder, rows, tmp_path):
    answers = write(tmp_path / "n.csv", np.concatenate([mentioning(rows, N, 2), mentioning(rows, N + 1, 60)]))
    new = place_objects(load_model(folder), answers, None)
    assert (new.covariances, new.n_unsure) == (None, 1)
