"""One schema: what a study writes is what a report reads."""

import json

import pytest
from helpers.report_sample import color_results, empty_results

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, TSTE, BestOf
from nearer.io import read_answers
from nearer.study import RunSettings, fit_study
from nearer.study.folder import results_of
from nearer.study.results import FORMAT, KEYS, MethodRecord, StudyResults
from nearer.study.study import Provenance

ABOUT = Provenance("t", "a.csv", "0", command="c")


def test_the_sample_has_every_key():
    assert set(color_results()) == set(KEYS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "format 1, and this version of nearer reads format 2"),
        ({"objects": []}, r"objects must be a list of 1 or more; got \[\]"),
        ({"embedding": [[0.0, 1.0]]}, r"shape \(3, p\); got \(1, 2\)"),
        ({"embedding": [[0.0], [1.0, 2.0], [3.0]]}, "rows of numbers of one length"),
        ({"embedding": [[0.0], [float("nan")], [1.0]]}, "row 1 holds a value that is not a finite number"),
        ({"embedding": [[], [], []]}, "shape"),
        ({"covariances": [[[1.0]]] * 3}, r"covariances must have the shape \(3, 2, 2\)"),
        ({"attributes": {"size": [1, 2]}}, "'size' has 2 values for 3 objects"),
    ],
)
def test_what_is_wrong_is_said(changes, message):
    with pytest.raises(ValueError, match=message):
        StudyResults.from_dict(empty_results(**changes))


def test_missing_keys_are_named():
    results = empty_results()
    del results["scree"], results["seed"]
    with pytest.raises(ValueError, match="lack scree, seed; write the results again"):
        StudyResults.from_dict(results)


def test_results_that_are_a_list_are_refused():
    with pytest.raises(ValueError, match="must be a JSON object; got list"):
        StudyResults.from_dict([])


@pytest.fixture(scope="module")
def answers():
    rows = sample_triplets(make_gaussian(12, 2, random_state=0), 300, flipped=0.1, random_state=1).rows
    return read_answers({"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2]})


def test_a_study_writes_every_key_and_nothing_else(answers):
    study = fit_study(answers, RunSettings("STE", 2, quick=True, parameters={"trace": 0.03}))
    results = json.loads(json.dumps(results_of(study, ABOUT, 1.0).to_dict()))
    assert set(results) == set(KEYS)
    assert results["format"] == FORMAT
    assert StudyResults.from_dict(results).to_dict() == results


def test_what_is_missing_is_reported_by_name(answers):
    study = fit_study(answers, RunSettings("STE", 2, by="trials", n_resamples=0, quick=True))
    assert (study.missing, study.interrupted) == ((), False)
    few = read_answers({"anchor": [0, 1, 2], "near": [1, 2, 0], "far": [2, 0, 1]})
    study = fit_study(few, RunSettings("STE", 1, quick=True))
    assert "distances" in study.missing
    assert results_of(study, ABOUT).missing == study.missing
    assert any(note.startswith("no reproducibility of distances: ") for note in study.notes)


@pytest.mark.usefixtures("few_repeats")
def test_ellipses_tell_what_was_resampled(answers):
    study = fit_study(answers, RunSettings("STE", 2, n_resamples=10, quick=False, parameters={"trace": 0.03}))
    assert results_of(study, ABOUT).regions.to_dict() == {"kind": "confidence", "n_resamples": 10, "unit": "questions"}


def test_a_chosen_method_is_a_record():
    assert MethodRecord.of(TSTE(3, alpha=3.0, trace=0.001, random_state=5)).to_dict() == {
        "name": "TSTE", "parameters": {"alpha": 3.0, "trace": 0.001},
    }  # fmt: skip
    assert MethodRecord.of(CKL(random_state=1)).to_dict() == {"name": "CKL", "parameters": {}}
    assert MethodRecord.of(BestOf()).to_dict() == {"name": "BestOf", "parameters": {}}


def test_methods_are_records():
    with pytest.raises(ValueError, match=r"settings\.chosen\.method must be an object; got 'CKL\(\)'"):
        StudyResults.from_dict(color_results(settings={"method": "BestOf", "chosen": {"method": "CKL()"}}))
