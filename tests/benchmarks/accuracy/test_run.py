import os
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from benchmarks.accuracy import DATA_SETS, AccuracyRun, Entry, Predictions, entries
from benchmarks.accuracy import run as run_module
from benchmarks.accuracy.datasets import draw_real, load
from benchmarks.accuracy.entries import ENTRIES, plain
from benchmarks.accuracy.run import Job, fingerprint, judge, one_thread_each, run_job
from benchmarks.accuracy.summary import expected_calibration_error
from benchmarks.paper import methods as paper_methods
from benchmarks.records import Interrupted
from nearer import embedding
from nearer.embedding import STE, TSTE
from nearer.evaluation import comparison_error
from nearer.optimize import Factored
from nearer.optimize.problems.margins import soft_error

OWN = ("Guess", "Knows")


@pytest.fixture
def calls(monkeypatch):
    """Two methods that take no time, and the trials that they were asked about."""
    asked = []

    def guess(trial):
        asked.append(("Guess", len(trial.train)))
        return Predictions(np.zeros(len(trial.test)))

    def knows(trial):
        asked.append(("Knows", len(trial.train)))
        return Predictions(np.ones(len(trial.test)), probability=np.full(len(trial.test), 1 - trial.truth.flipped))

    monkeypatch.setitem(ENTRIES, "Guess", Entry(guess))
    monkeypatch.setitem(ENTRIES, "Knows", Entry(knows, needs_truth=True))
    return asked


@pytest.fixture
def make_run(tmp_path, tiny, calls):
    def make(**changes):
        return AccuracyRun(**{"folder": tmp_path / "run", "data": [tiny], "methods": OWN, "n_trials": 2, **changes})

    return make


def test_right_answers_are_what_counts_and_given_ones_what_calibrates(tiny):
    trial = tiny.draw(0, 0, 40)
    wrong = (trial.answers < 0).mean()
    found = judge(Predictions(np.ones(len(trial.test)), probability=np.full(len(trial.test), 0.9)), trial)
    assert found["error"] == 0
    assert found["error_given"] == pytest.approx(wrong)
    assert found["ece"] == pytest.approx(abs(0.9 - (1 - wrong)))
    assert found["ece"] == expected_calibration_error(found["reliability"])
    assert found["error_map"] is None


def test_large_sizes_come_first_and_nothing_is_done_twice(make_run, calls):
    first = make_run().execute()
    assert [size for _, size in calls] == [40] * 4 + [20] * 4
    del calls[:]
    assert make_run().execute() == first
    make_run(n_trials=3).execute()
    assert len(calls) == 4


def test_another_seed_or_version_is_run_again(make_run, calls, monkeypatch):
    make_run().execute()
    make_run(seed=1).execute()
    assert len(calls) == 16
    monkeypatch.setitem(ENTRIES, "Guess", Entry(ENTRIES["Guess"].predict, version=2))
    del calls[:]
    make_run().execute()
    assert {name for name, _ in calls} == {"Guess"}


def test_again_forgets_one_method_once(make_run, calls):
    make_run().execute()
    make_run().forget(["Guess"])
    assert {record["method"] for record in make_run().on_file()} == {"Knows"}
    del calls[:]
    make_run().execute()
    assert calls == [("Guess", 40)] * 2 + [("Guess", 20)] * 2
    assert len(make_run().on_file()) == 8


def test_an_interrupt_keeps_what_is_done(make_run, monkeypatch):
    real = run_module.attempt

    def stops_at_third(job, seed, peer):
        if len(make_run().on_file()) == 2:
            raise KeyboardInterrupt
        return real(job, seed, peer)

    monkeypatch.setattr(run_module, "attempt", stops_at_third)
    with pytest.raises(Interrupted, match=r"2 of 8 tuned fits kept in .*run the same command again"):
        make_run().execute()
    assert len(make_run().on_file()) == 2


def test_a_method_that_needs_the_truth_is_spared_human_judgments(make_run, judgments):
    assert {unit.method for unit in make_run(data=[DATA_SETS["cars"]]).units()} == {"Guess"}


def test_peers_of_a_trial_are_one_job_and_judged_as_maps(make_run, peer, tiny):
    methods = ("Guess", "cblearn-GNMDS", "cblearn-STE", "cblearn-CKL-cv")
    run = make_run(methods=methods, peer=peer, n_trials=1, sizes=(20,))
    assert [job.methods for job in run.jobs(run.units())] == [("Guess",), methods[1:]]
    found = {record["method"]: record for record in run.execute()}
    line = np.column_stack([np.arange(12.0), np.zeros(12)])
    assert found["cblearn-GNMDS"]["error"] == comparison_error(tiny.draw(0, 0, 20).test, line)
    assert found["cblearn-GNMDS"]["ece"] is None
    assert (found["cblearn-STE"]["error"], found["cblearn-STE"]["failure"]) == (None, "ValueError: no such map")
    assert sorted(path.name for path in run.folder.iterdir()) == ["own.jsonl", "peers.jsonl"]


def test_peers_without_their_python_are_refused_before_anything_runs(make_run, calls):
    with pytest.raises(ValueError, match="no Python with cblearn"):
        make_run(methods=("Guess", "cblearn-STE")).execute()
    assert not calls


def test_a_process_that_ends_badly_does_not_end_the_run(make_run, peer, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    run = make_run(methods=("cblearn-SOE", "Guess"), peer=peer, n_trials=1, sizes=(20,))
    assert [record["method"] for record in run.execute()] == ["Guess"]
    assert "tiny, 20 comparisons, trial 0: cblearn failed" in run.failures[0]


def test_threads_are_limited_and_given_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    with one_thread_each():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["NUMBA_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NUMBA_NUM_THREADS" not in os.environ


def test_a_tuned_method_has_the_least_soft_error_over_folds_of_whole_answers(judgments, monkeypatch):
    grid = [{"trace": 0.001}, {"trace": 0.3}, {"trace": 0.9}]
    monkeypatch.setattr(entries, "wide_grid", lambda *_: grid)
    trial = draw_real(load(judgments), 2, 0, 0, 40)
    groups = GroupKFold(5, shuffle=True, random_state=trial.folds_seed)

    def mean_score(settings):
        return np.mean(
            [
                soft_error(STE(2, **settings).fit(trial.train[fit]).decision_function(trial.train[hold]))
                for fit, hold in groups.split(trial.train.rows, groups=trial.train.trials)
            ]
        )

    best = STE(2, **min(grid, key=mean_score)).fit(trial.train)
    found = ENTRIES["STE"].predict(trial)
    np.testing.assert_allclose(found.decision, best.decision_function(trial.test))
    np.testing.assert_allclose(found.probability, best.predict_proba(trial.test)[:, 1])


def test_few_answers_make_few_folds(judgments):
    trial = draw_real(load(judgments), 2, 0, 0, 6)
    assert paper_methods._folds(trial.train, 0).get_n_splits() == 3


def test_an_estimator_as_it_is_gets_the_dimension_and_is_judged_by_what_predict_uses(tiny):
    trial = tiny.draw(0, 0, 40)
    model = TSTE(2).fit(trial.train)
    found = plain("TSTE")(trial)
    np.testing.assert_array_equal(found.decision, model.decision_function(trial.test))
    assert judge(found, trial)["error_map"] == comparison_error(trial.test, model.embedding_)


def test_early_stops_are_counted_not_shown(tiny, monkeypatch):
    monkeypatch.setattr(embedding, "STE", partial(STE, solver=Factored(max_iter=1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plain("STE")(tiny.draw(0, 0, 40)).n_warnings == 1


def test_a_record_says_what_it_was_made_from(tiny):
    (record,) = run_job(Job("tiny", 40, 0, ("STE",)), 0, None)
    assert 0 < record["error"] < 0.5
    assert record["fingerprint"] == fingerprint(tiny, 40, "STE")
    assert (record["n_train"], record["n_test"]) == (40, 560)
    assert sum(record["reliability"][0]) == 560
