from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy.datasets import draw_real, load
from benchmarks.accuracy.entries import LOSSES, PEERS, fit_peers, fold_of_rows, peer_candidates
from benchmarks.programs import MeasurementFailed


@pytest.fixture
def trial(judgments):
    return draw_real(load(judgments), 2, 0, 0, 60)


def outcome(outcomes, method):
    return next(entry for entry in outcomes if entry["method"] == method)


def test_every_loss_is_there_at_its_defaults_and_tuned():
    assert len(PEERS) == len(set(PEERS)) == 2 * len(LOSSES)


@pytest.mark.parametrize("method", PEERS)
@pytest.mark.parametrize("p", [1, 2, 5, 20])
def test_candidates_differ_have_few_dimensions_and_start_with_the_defaults(method, p):
    found = peer_candidates(method, p)
    assert found[0] == {"n_components": p}
    assert all(1 <= settings["n_components"] <= p for settings in found)
    assert len({str(settings) for settings in found}) == len(found) <= 4


def test_folds_keep_answers_whole(trial):
    folds = fold_of_rows(trial)
    assert set(folds) == {0, 1, 2}
    for answer in set(trial.train.trials):
        assert len(set(folds[trial.train.trials == answer])) == 1


def test_all_peers_of_a_trial_come_back_from_one_process(trial, peer):
    methods = ["cblearn-SOE", "cblearn-GNMDS", "cblearn-CKL-cv", "cblearn-STE", "cblearn-TSTE"]
    outcomes, maps = fit_peers(peer, methods, trial, timeout=3)
    assert [entry["method"] for entry in outcomes] == methods
    assert set(maps) == {"cblearn-SOE", "cblearn-GNMDS", "cblearn-CKL-cv"}
    np.testing.assert_array_equal(maps["cblearn-GNMDS"][:, 0], np.arange(6))
    # Only the third candidate has the objects in the order of the judgments.
    assert outcome(outcomes, "cblearn-CKL-cv")["settings"] == {"n_components": 2, "mu": 10}
    assert outcome(outcomes, "cblearn-TSTE")["timeout"] == 3
    assert outcome(outcomes, "cblearn-STE")["failure"] == "ValueError: no such map"


def test_a_process_that_fails_says_why(trial, peer, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    with pytest.raises(MeasurementFailed, match="cblearn failed: ModuleNotFoundError"):
        fit_peers(peer, ["cblearn-SOE"], trial)


def test_starts_do_not_repeat_between_trials(trial):
    other = replace(trial, seed=np.random.SeedSequence(0, spawn_key=(1,)))
    assert trial.start_seed != other.start_seed
    assert trial.start_seed != trial.folds_seed
