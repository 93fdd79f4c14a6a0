"""The example study: what is planted in it is there, and it is the same everywhere."""

import csv
import hashlib
import io
from collections import Counter

import numpy as np
import pytest

from nearer.checking import check
from nearer.datasets import load_example
from nearer.datasets.example import (
    CARELESS,
    CATCH,
    COLUMNS,
    GROUPS,
    UNDECIDED,
    example_files,
    later_rows,
    study_rows,
    write_example,
)
from nearer.embedding import SOE
from nearer.evaluation import procrustes_error
from nearer.io import read_answers
from nearer.study.figures import read_attributes

RIGHT = {frozenset(question): question[2] for question in CATCH}


@pytest.fixture(scope="module")
def study():
    return load_example()


@pytest.fixture(scope="module")
def rows():
    return [dict(zip(COLUMNS, row, strict=True)) for row in study_rows()]


def shown(row):
    return frozenset((row["item1"], row["item2"], row["item3"]))


def test_the_files_are_the_same_on_every_machine():
    digest = hashlib.sha256(example_files()["answers.csv"].encode()).hexdigest()
    assert digest == "d53ee9835734da491f4f2c965bb07e0f1c42069a69b5fdf2872e971246bdbf07"
    assert study_rows() == study_rows()
    assert study_rows() != study_rows(seed=1)


def test_everybody_has_the_same_kinds_of_questions(rows):
    people = Counter(row["participant"] for row in rows)
    assert sorted(people) == [f"p{number:02}" for number in range(1, 25)]
    assert set(people.values()) == {80}
    assert Counter(row["group"] for row in rows) == dict.fromkeys(GROUPS, 960)
    assert set(Counter(row["participant"] for row in rows if row["catch"]).values()) == {5}
    assert all(len(shown(row)) == 3 and row["odd"] in {*shown(row), UNDECIDED} for row in rows)
    assert all((shown(row) in RIGHT) == bool(row["catch"]) for row in rows)


def test_a_hundred_questions_are_shared_and_the_others_asked_once(rows):
    asked = Counter(shown(row) for row in rows if not row["catch"])
    times = Counter(asked.values())
    assert times == {1: 24 * 55, 4: 20, 5: 80}
    assert len({(row["participant"], shown(row)) for row in rows}) == len(rows)  # nobody is asked twice


def test_careful_people_pass_the_catch_questions(rows):
    right = Counter(row["participant"] for row in rows if row["catch"] and row["odd"] == RIGHT[shown(row)])
    assert right.pop(CARELESS) <= 2
    assert min(right.values()) >= 4
    assert len(right) == 23


def test_hard_questions_take_longer(rows):
    careful = [row for row in rows if row["participant"] != CARELESS]
    easy = np.median([row["rt"] for row in careful if row["catch"]])
    usual = np.median([row["rt"] for row in careful if not row["catch"]])
    unsure = np.median([row["rt"] for row in careful if row["odd"] == UNDECIDED])
    assert 1000 < easy < usual < unsure < 10_000
    assert np.median([row["rt"] for row in rows if row["participant"] == CARELESS]) < 500


def test_it_is_what_the_file_says(study, tmp_path):
    write_example(tmp_path)
    answers = read_answers(tmp_path / "answers.csv")
    assert answers.report.notes == study.answers.report.notes == ()
    assert answers.kind == "odd-one-out"
    assert answers.comparisons.objects.tolist() == study.objects.tolist()
    np.testing.assert_array_equal(answers.comparisons.rows, study.answers.comparisons.rows)
    np.testing.assert_array_equal(answers.annotators, study.answers.annotators)
    np.testing.assert_allclose(answers.seconds, study.answers.seconds)
    assert len(answers) + answers.report.n_undecided == 1920
    assert answers.report.n_undecided > 5
    attributes = read_attributes(tmp_path / "attributes.csv", study.objects.tolist())
    assert attributes == {name: values.tolist() for name, values in study.attributes.items()}


def test_groups_and_catch_questions_belong_to_the_answers(study):
    table = list(csv.DictReader(io.StringIO(example_files()["answers.csv"])))
    given = [row for row in table if row["odd"] != UNDECIDED]
    assert study.groups.tolist() == [row["group"] for row in given]
    assert study.catch.tolist() == [row["catch"] == "1" for row in given]
    assert study.answers.annotators.tolist() == [row["participant"] for row in given]


def test_the_groups_differ_where_it_says_and_answers_show_it(study):
    listener, musician = (study.positions[group] for group in GROUPS)
    differs = (listener != musician).any(axis=1)
    assert study.objects[differs].tolist() == ["flute", "organ", "saxophone"]
    for group, other in (GROUPS, GROUPS[::-1]):
        mine = study.answers.comparisons[(study.groups == group)[study.answers.answer_of]]
        model = SOE(2, trace=0.01, random_state=0).fit(mine)
        own, others = (procrustes_error(model.embedding_, study.positions[each]) for each in (group, other))
        assert own < 0.05 < 2 * own < others


@pytest.mark.parametrize("seed", [None, 0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_the_doctor_finds_the_careless_person_and_nobody_else(seed):
    if seed is None:
        answers = load_example().answers
    else:
        table = zip(COLUMNS, map(list, zip(*study_rows(seed), strict=True)), strict=True)
        answers = read_answers({name: values for name, values in table if name != "rt"})
    findings = check(answers, random_state=0)
    found = {finding.code: finding for finding in findings}
    flagged = findings.flags().keys()
    assert flagged == {CARELESS}
    assert CARELESS in found["at-chance"].concerned
    assert ("too-fast" in found) == (seed is None)


def test_what_came_later_fits_the_map_and_brings_one_new_object(study):
    new, placed = (
        read_answers(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))) for rows in later_rows()
    )
    assert not set(new.annotators) & set(study.answers.annotators)
    assert set(new.comparisons.objects) <= set(study.objects)
    assert set(placed.comparisons.objects) - set(study.objects) == {"accordion"}
    model = SOE(2, trace=0.01, random_state=0).fit(study.answers.comparisons)
    assert 1 - model.score(new.comparisons) < 0.25
    model.place(placed.comparisons)
    assert 1 - model.score(placed.comparisons) < 0.25


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "new-object.csv").write_text("mine")
    with pytest.raises(ValueError, match=r"new-object.csv is there already"):
        write_example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new-object.csv"]
    assert (tmp_path / "new-object.csv").read_text() == "mine"
