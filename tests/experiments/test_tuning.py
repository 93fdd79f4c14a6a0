import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import KFold

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, GNMDS, STE, TSTE
from nearer.experiments import Experiment
from nearer.experiments.methods import METHODS, candidates, resolve
from nearer.experiments.protocol import draw_trial
from nearer.experiments.tuning import Unit, fingerprint, run_unit, tune
from nearer.metrics import comparison_error, soft_error
from nearer.solvers import Projected


def load(seed):
    return sample_triplets(make_gaussian(12, 2, random_state=seed))


TINY = Experiment("tiny", "twelve points", 2, (60,), load)


@pytest.fixture
def train():
    return draw_trial(TINY, 0, 0, 100).train


@pytest.mark.parametrize("base", [GNMDS(power=1), GNMDS(power=2), TSTE(alpha=1.0), TSTE(alpha=9.0), DMOE()])
def test_a_trace_fraction_of_one_is_where_the_map_vanishes(base, train):
    shape = {name: value for name, value in base.get_params().items() if name in ("power", "alpha")}
    for fraction, vanishes in ((1.01, True), (0.9, False)):
        parameters = resolve(base, {"trace": fraction, **shape}, train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = type(base)(**parameters).fit(train)
        assert model.gram_.any() != vanishes


def test_ridge_and_specificity_are_divided_by_the_number_of_comparisons(train):
    parameters = resolve(DMOE(), {"trace": 0.0, "ridge": 3.0, "specificity": 20.0, "nu": 1.0}, train)
    assert parameters == {"trace": 0.0, "ridge": 0.03, "specificity": 0.2, "nu": 1.0}


def test_weak_ridges_are_tried_only_from_five_comparisons_an_object():
    few, many = (candidates("DMOE", m, 100, 10) for m in (499, 500))
    assert min(settings["ridge"] for settings in many) < min(settings["ridge"] for settings in few)
    assert {settings["nu"] for settings in few} == {1.0}


def test_the_settings_with_the_least_soft_error_over_the_folds_are_chosen(train):
    def mean_score(settings):
        scores = []
        for fit, hold in KFold(5, shuffle=True, random_state=7).split(train.rows):
            model = STE(2, **resolve(STE(2), settings, train)).fit(train[fit])
            scores.append(soft_error(model.decision_function(train[hold])))
        return np.mean(scores)

    grid = candidates("STE", len(train), train.n_objects, 2)
    assert tune("STE", train, 2, folds_seed=7).settings == min(grid, key=mean_score)


def test_early_stops_are_counted_not_shown(monkeypatch, train):
    monkeypatch.setitem(METHODS, "STE", partial(STE, solver=Projected(2, max_iter=1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = tune("STE", train, 2, folds_seed=0)
    assert tuned.n_warnings == len(candidates("STE", 100, 12, 2)) * 5 + 1


def test_a_record_holds_the_errors_of_the_chosen_settings_on_all_other_rows():
    record = run_unit(TINY, 3, Unit(60, 1, "DMOE"))
    drawn = draw_trial(TINY, 3, 1, 60)
    model = DMOE(2, **record["parameters"]).fit(drawn.train)
    assert record["error"] == pytest.approx(comparison_error(drawn.test, gram=model.gram_), abs=5e-3)
    assert record["error_embedding"] == pytest.approx(comparison_error(drawn.test, model.embedding_), abs=5e-3)
    assert record["error_strict"] <= record["error"]
    assert (record["seed"], record["size"], record["trial"], record["method"]) == (3, 60, 1, "DMOE")


def test_the_fingerprint_follows_the_grid():
    prints = {fingerprint(TINY, method, size, 12) for method in METHODS for size in (59, 60)}
    # Only the grid of DMOE depends on the size: five comparisons an object are 60 here.
    assert len(prints) == len(METHODS) + 1
