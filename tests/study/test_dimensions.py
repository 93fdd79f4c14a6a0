"""Nonnegative dimensions in the folder of a study: tables, names that are read back, choices that are judged."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.report_sample import weights_results

from nearer.datasets import make_dimensions, sample_odd_one_out
from nearer.embedding import SPoSE
from nearer.evaluation.held_out import choice_losses, evaluate, held_out_error, is_odd_one_of_three
from nearer.io import read_answers
from nearer.study import RunSettings, StoredStudy, StudyResults, read_results, run_study, update_study
from nearer.study.dimensions import carried_names, read_names
from nearer.study.folder import write_dimensions
from nearer.study.update import place_objects, write_placed


def table_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def odd_file(path, trials):
    """Write trials of three labels, the odd one last."""
    lines = [",".join([*row, row[-1]]) for row in trials]
    path.write_text("\n".join(["item1,item2,item3,odd", *lines]) + "\n", encoding="utf-8")
    return read_answers(path)


def drawn_trials(n_objects, n_trials, seed=0):
    weights = make_dimensions(n_objects, 3, scale=2, random_state=seed)
    rows = sample_odd_one_out(weights, n_trials, random_state=seed).rows
    # Of a trial with the odd one c, two rows: (a, b, c) and (b, a, c).
    return [[f"thing {place}" for place in row] for row in np.asarray(rows)[::2].tolist()]


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dimensions")
    answers = odd_file(folder / "answers.csv", drawn_trials(24, 2400))
    return run_study(answers, RunSettings(method="SPoSE"), folder / "map"), folder / "map"


def test_the_folder_has_weights_intervals_and_room_for_names(studied):
    study, folder = studied
    model, objects = study.model, [str(label) for label in study.model.objects_]
    p = model.embedding_.shape[1]
    head, *rows = table_of(folder / "dimensions.csv")
    assert head == ["object", *[f"dimension {k + 1}" for k in range(p)]]
    assert [row[0] for row in rows] == objects
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), model.embedding_)
    long = table_of(folder / "dimension-weights.csv")
    assert long[0] == ["object", "dimension", "weight", "low", "high"]
    assert [row[:2] for row in long[1:]] == [[label, f"dimension {k + 1}"] for label in objects for k in range(p)]
    ends = np.array([row[3:] for row in long[1:]], dtype=float).reshape(-1, p, 2)
    np.testing.assert_allclose(ends, model.weight_intervals_, rtol=1e-4)
    names = table_of(folder / "dimension-names.csv")
    assert [row[:2] for row in names[1:]] == [[str(k + 1), ""] for k in range(p)]
    np.testing.assert_array_equal([float(row[2]) for row in names[1:]], model.reproducibility_)
    assert set(study.files) == {path.name for path in folder.iterdir()}


def test_nothing_assumes_distances_or_rotations(studied):
    study, folder = studied
    stored = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    nothing = ("covariances", "regions", "reproducibility", "margins", "scree", "learning_curve")
    assert [stored[key] for key in nothing] == [None] * len(nothing)
    assert not {"map.png", "margins.png", "distances.csv"} & {path.name for path in folder.iterdir()}
    assert study.error.map_error == study.error.error
    assert "reproducible" in study.summary()


def test_the_choice_is_the_likeliest_one():
    weights = make_dimensions(15, 3, scale=2, random_state=1)
    train, test = (sample_odd_one_out(weights, 1500, random_state=seed) for seed in (0, 1))
    assert is_odd_one_of_three(test)
    model = SPoSE(penalty=3.0, n_splits=0, n_starts=1, random_state=0).fit(train)
    rows = np.asarray(test.rows)[::2]
    assert (np.asarray(test.rows)[1::2] == rows[:, [1, 0, 2]]).all()
    odd = model.predict_choice_proba(rows).argmax(axis=1) == 2
    lost = choice_losses(evaluate(model, test).predictions, np.repeat(np.arange(len(rows)), 2))
    np.testing.assert_array_equal(lost, np.repeat(~odd, 2).astype(float))


def test_other_answers_have_no_choice_among_three():
    weights = make_dimensions(10, 2, scale=2, random_state=0)
    judged = sample_odd_one_out(weights, 200, random_state=0)
    assert not is_odd_one_of_three(replace(judged, trials=None))
    model = SPoSE(penalty=1.0, n_splits=0, n_starts=1, random_state=0)
    assert held_out_error(model, judged, n_splits=2, random_state=0).choice is not None
    assert held_out_error(model, replace(judged, trials=None), n_splits=2, random_state=0).choice is None


def test_names_are_read_back_by_all_that_reads_results(studied, tmp_path):
    results = read_results(studied[1])
    assert results.weights.titles[0] == "dimension 1"
    path = tmp_path / "mine.csv"
    path.write_text("dimension;name;whatever\n2; things  that move ;x\ndimension 1;'=metal;y\n", encoding="utf-8")
    names = read_names(path, results.n_components)
    assert names == ("=metal", "things that move", *[""] * (results.n_components - 2))
    folder = tmp_path / "map"
    folder.mkdir()
    (folder / "results.json").write_bytes((studied[1] / "results.json").read_bytes())
    write_dimensions(results.with_names(names), folder)
    assert read_results(folder).weights.titles[:2] == ["=metal", "things that move"]
    assert table_of(folder / "dimensions.csv")[0][1:3] == ["'=metal", "things that move"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dimension,label\n1,a\n", "needs the columns dimension and name"),
        ("dimension,name\n5,a\n", "there is no dimension '5'; they are numbered from 1 to 4"),
        ("dimension,name\nfirst,a\n", "there is no dimension 'first'"),
        ("dimension,name\n1,a\n1,b\n", "dimension 1 has several rows"),
        ("dimension,name\n1,a\n2,a\n", "dimension 2 is called 'a', as is dimension 1; rename it"),
        ("dimension,name\n1,dimension 2\n", "dimension 2 is called 'dimension 2', as is dimension 1"),
        ("dimension,name\n3,object\n", "as is the column of labels"),
        (f"dimension,name\n1,{'x' * 201}\n", "has 201 letters; 200 fit"),
    ],
)
def test_names_that_cannot_be_kept_are_refused(tmp_path, text, message):
    (tmp_path / "names.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_names(tmp_path / "names.csv", 4)


def test_names_go_with_their_dimensions():
    before = StudyResults.from_dict(weights_results(20, 4))
    before = before.with_names(("one", "", "three", "four"))
    rng = np.random.default_rng(0)
    order = rng.permutation(20)[:15]
    points = before.embedding[order][:, [2, 0, 1, 3]] * 2
    points[:, 3] = rng.random(15)
    after = StudyResults.from_dict(weights_results(15, 4, [before.objects[row] for row in order]))
    after = replace(after, embedding=points)
    assert carried_names(after, before) == (("three", "one", "", ""), ["four"])


def test_further_answers_keep_names_and_new_objects_have_no_intervals(studied, tmp_path):
    folder = studied[1]
    results = read_results(folder)
    write_dimensions(results.with_names(tuple(f"name {k}" for k in range(results.n_components))), folder)
    earlier = StoredStudy.read(folder)
    rng = np.random.default_rng(5)
    trials = [list(rng.choice(drawn_trials(24, 60, 3)[k], 3, replace=False)) for k in range(60)]
    update_study(earlier, odd_file(tmp_path / "more.csv", trials), tmp_path / "new")
    kept = read_results(tmp_path / "new").weights.names
    assert {name for name in kept if name} <= set(earlier.results.weights.names)
    assert sum(map(bool, kept)) >= 2
    rows = [["thing 1", "thing 2", "a stranger"], ["a stranger", "thing 3", "thing 4"]] * 10
    placed = place_objects(earlier.model, odd_file(tmp_path / "place.csv", rows), None, random_state=0)
    write_placed(earlier, placed, tmp_path / "placed")
    larger = read_results(tmp_path / "placed")
    assert len(larger.objects) == len(larger.weights.intervals) + 1
    assert larger.weights.names == earlier.results.weights.names
    assert len(table_of(tmp_path / "placed" / "dimensions.csv")) == 26
    assert (tmp_path / "placed" / "dimension-cards.png").is_file()


def test_a_folder_without_names_has_numbers(tmp_path):
    results = StudyResults.from_dict(weights_results())
    (tmp_path / "results.json").write_text(json.dumps(results.to_dict()), encoding="utf-8")
    assert read_results(tmp_path).weights.titles == [f"dimension {k}" for k in (1, 2, 3, 4)]
    assert read_results(tmp_path).weights.counts == [True, True, True, False]
