import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import KFold

from benchmarks.paper import Experiment
from benchmarks.paper.methods import METHODS, Unit, candidates, fingerprint, run_unit, tune
from benchmarks.paper.protocol import draw_trial
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, STE
from nearer.evaluation import comparison_error
from nearer.optimize import Projected
from nearer.optimize.problems.margins import soft_error


def load(seed):
    return sample_triplets(make_gaussian(12, 2, random_state=seed))


TINY = Experiment("tiny", "twelve points", 2, (60,), load)


@pytest.fixture
def train():
    return draw_trial(TINY, 0, 0, 100).train


def test_weak_ridges_are_tried_only_from_five_comparisons_an_object():
    few, many = (candidates("DMOE", m, 100) for m in (499, 500))
    assert min(settings["penalty"].ridge for settings in many) < min(settings["penalty"].ridge for settings in few)
    assert not any("nu" in settings for settings in few)


def test_the_settings_with_the_least_soft_error_over_the_folds_are_chosen(train):
    def mean_score(settings):
        scores = []
        for fit, hold in KFold(5, shuffle=True, random_state=7).split(train.rows):
            model = STE(2, **settings).fit(train[fit])
            scores.append(soft_error(model.decision_function(train[hold])))
        return np.mean(scores)

    grid = candidates("STE", len(train), train.n_objects)
    assert grid[tune("STE", train, 2, folds_seed=7).choice] == min(grid, key=mean_score)


def test_early_stops_are_counted_not_shown(monkeypatch, train):
    monkeypatch.setitem(METHODS, "STE", partial(STE, solver=Projected(2, max_iter=1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = tune("STE", train, 2, folds_seed=0)
    assert tuned.n_warnings == len(candidates("STE", 100, 12)) * 5 + 1


def test_a_record_holds_the_errors_of_the_chosen_settings_on_all_other_rows():
    record = run_unit(TINY, 3, Unit(60, 1, "DMOE"))
    drawn = draw_trial(TINY, 3, 1, 60)
    model = DMOE(2, **candidates("DMOE", 60, 12)[record["choice"]]).fit(drawn.train)
    assert record["error"] == comparison_error(drawn.test, gram=model.gram_)
    assert record["error_embedding"] == comparison_error(drawn.test, model.embedding_)
    assert record["settings"] == str(model)
    strict = comparison_error(drawn.test, gram=model.gram_, ties="satisfied")
    assert record["error_strict"] == strict
    assert (record["seed"], record["size"], record["trial"], record["method"]) == (3, 60, 1, "DMOE")


def test_the_fingerprint_follows_the_grid():
    prints = {fingerprint(TINY, method, size, 12) for method in METHODS for size in (59, 60)}
    # Only the grid of DMOE depends on the size: five comparisons an object are 60 here.
    assert len(prints) == len(METHODS) + 1
