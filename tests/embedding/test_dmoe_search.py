"""The search for settings, by itself and inside a fit."""

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nearer import Comparisons, Penalty
from nearer.data import ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.embedding import dmoe_search as tuning
from nearer.embedding.dmoe_search import FixedSettings, can_tune, candidate_paths, cross_validate, fit_path
from nearer.embedding.storage import load_model, save_model
from nearer.optimize import ADMM
from nearer.optimize.problems.margins import error_from_margins

POINTS = make_gaussian(30, 2, random_state=0)
TEST = sample_triplets(POINTS)
CLEAN = sample_triplets(POINTS, 500, random_state=0)
FLIPPED = np.random.default_rng(1).random(900) < 0.15
NOISY = Comparisons.from_triplets(
    sample_triplets(POINTS, 900, random_state=2).rows, y=np.where(FLIPPED, -1, 1), n_objects=30
)
PATHS = candidate_paths(FixedSettings(Penalty.open()), 2, "auto")


def found(comparisons):
    return cross_validate(comparisons, PATHS, np.random.default_rng(0))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_path_is_as_good_as_fits_from_nothing(path):
    errors = [error_from_margins(each.margins(TEST)) for each in fit_path(path.candidates, CLEAN, closed=False)]
    for candidate, error in zip(path.candidates, errors, strict=True):
        assert error == pytest.approx(1 - DMOE(**candidate.params()).fit(CLEAN).score(TEST), abs=0.04)


def test_shares_go_to_the_best_and_those_that_cannot_be_distinguished():
    result = found(NOISY)
    assert result.shares.sum() == pytest.approx(1)
    assert np.count_nonzero(result.shares) <= tuning.MAX_SHARES
    assert result.shares[result.best_index] == result.shares.max()
    judged = (~np.isnan(result.errors)).sum(axis=1)
    assert (judged[result.shares > 0] == judged.max()).all()
    assert (judged >= 1).all()
    assert (judged < judged.max()).any()  # some dropped out on the way
    assert not np.isnan(result.means).any()


def test_the_mean_is_over_comparisons_not_over_folds():
    result = found(CLEAN)
    everywhere = ~np.isnan(result.errors).any(axis=1)
    np.testing.assert_allclose(result.means[everywhere], result.errors[everywhere].mean(axis=1), atol=2e-3)


def test_a_seed_is_a_seed():
    first, second, other = (DMOE(random_state=seed).fit(NOISY) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.gram_, second.gram_)
    assert np.abs(first.cv_results_["mean_test_score"] - other.cv_results_["mean_test_score"]).max() > 1e-4


def test_copies_of_a_question_do_not_vouch_for_each_other():
    """Each answer three times: were copies in other folds, the weakest penalty would win with an error of 0."""
    thrice = Comparisons.from_triplets(np.tile(CLEAN.rows[:60], (3, 1)), n_objects=30)
    once = Comparisons.from_triplets(CLEAN.rows[:60], n_objects=30)
    assert found(thrice).means.min() > 0.8 * found(once).means.min()


@pytest.mark.parametrize("data", [CLEAN, NOISY], ids=["clean", "noisy"])
def test_better_than_fixed_settings(data):
    assert DMOE().fit(data).score(TEST) > DMOE(penalty=Penalty()).fit(data).score(TEST) + 0.02


def test_results_are_those_of_scikit_learn():
    model = DMOE().fit(NOISY)
    results = model.cv_results_
    n = len(results["params"])
    assert {len(column) for column in results.values()} == {n}
    assert results["share"][model.best_index_] == results["share"].max()
    assert results["params"][model.best_index_] == {
        "penalty": model.penalty_, "nu": model.nu_, "power": model.power_, "rank": model.rank_
    }  # fmt: skip
    assert sorted(results["rank_test_score"]) == list(range(1, n + 1))
    splits = np.stack([results[f"split{fold}_test_score"] for fold in range(4)])
    leader = int(np.argmin(results["rank_test_score"]))
    assert results["mean_test_score"][leader] == pytest.approx(splits[:, leader].mean(), abs=2e-3)
    assert results["std_test_score"][leader] == pytest.approx(splits[:, leader].std())


def test_the_average_is_a_gram_matrix():
    model = DMOE().fit(CLEAN[:70])
    assert np.count_nonzero(model.cv_results_["share"]) > 1
    assert np.linalg.eigvalsh(model.gram_).min() > -1e-10
    assert np.linalg.eigvalsh(model.gram_ - np.diag(model.specificities_)).min() > -1e-10
    assert model.specificities_.min() >= 0


def test_the_average_is_one_of_margins_also_of_objects_never_seen():
    some = CLEAN[:25]
    model = DMOE(solver="admm").fit(some)
    assert len(np.unique(some.rows)) < 30
    shares, params = model.cv_results_["share"], model.cv_results_["params"]
    total, scale = 0, None
    for place in np.argsort(-shares)[: np.count_nonzero(shares)]:
        each = DMOE(solver=ADMM(tol=1e-8), **params[place] | {"rank": "full"}).fit(some)
        size = np.abs(each.decision_function(some)).mean()
        scale = scale or size
        total = total + shares[place] * scale / size * each.decision_function(TEST)
    assert np.abs(model.decision_function(TEST) - total).mean() < 0.05 * np.abs(total).mean()


@pytest.mark.parametrize(
    ("settings", "holds"),
    [
        ({"penalty": Penalty(0.3, None, None, None)}, lambda model: model.penalty_.trace == 0.3),
        ({"penalty": Penalty(None, 2.0, 1.0)}, lambda model: model.penalty_.ridge == 2),
        ({"penalty": Penalty(None, None, 0.6, None)}, lambda model: model.penalty_.diagonal == 0.6),
        ({"nu": 0.3}, lambda model: model.nu_ == 0.3),
        ({"power": 1}, lambda model: model.power_ == 1),
        ({"power": 4}, lambda model: model.power_ == 4),
        ({"rank": 3}, lambda model: np.linalg.matrix_rank(model.gram_, tol=1e-8) == 3 == model.rank_),
        ({"rank": "full"}, lambda model: model.rank_ == "full"),
        ({"solver": "factored"}, lambda model: not hasattr(model, "gram_")),
        ({"solver": "closed"}, lambda model: model.penalty_.trace == 0),
        ({"solver": "admm"}, lambda model: model.dual_gap_ >= 0),
    ],
    ids=["trace", "ridge", "diagonal", "nu", "power 1", "power 4", "rank 3", "full", "factored", "closed", "admm"],
)
def test_whoever_passes_a_value_gets_it_and_the_rest_is_chosen(settings, holds):
    model = DMOE(**settings).fit(NOISY)
    assert holds(model)
    assert model.score(TEST) > 0.75
    for name, value in settings.items():
        if name in ("nu", "power", "rank"):
            assert all(params[name] == value for params in model.cv_results_["params"])


def test_settings_passed_as_chosen_give_the_chosen_fit():
    model = DMOE(rank=2).fit(NOISY)
    again = DMOE(penalty=model.penalty_, nu=model.nu_, power=model.power_, rank=model.rank_).fit(NOISY)
    np.testing.assert_array_equal(model.gram_, again.gram_)
    np.testing.assert_array_equal(model.embedding_, again.embedding_)


def test_a_full_penalty_is_not_searched_and_an_earlier_search_is_forgotten():
    model = DMOE().fit(NOISY)
    assert hasattr(model, "cv_results_")
    model.set_params(penalty=Penalty()).fit(NOISY)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "best_index_")
    assert (model.penalty_, model.power_, model.rank_) == (Penalty(), 2, "full")


def test_too_few_too_many_or_a_file_are_not_searched(monkeypatch, tmp_path):
    assert not hasattr(DMOE().fit(CLEAN[:9]), "cv_results_")
    few_trials = Comparisons.from_triplets(CLEAN.rows, trials=np.arange(500) % 9)
    assert not can_tune(few_trials)
    assert can_tune(CLEAN[:10])
    np.save(tmp_path / "rows.npy", CLEAN.rows)
    file = ComparisonsFile(tmp_path / "rows.npy", n_objects=30)
    assert not hasattr(DMOE(solver="factored").fit(file), "cv_results_")
    monkeypatch.setattr(tuning, "MAX_COMPARISONS", 400)
    model = DMOE().fit(CLEAN)
    assert not hasattr(model, "cv_results_")
    assert model.penalty_ == Penalty()


def test_beyond_the_convex_sizes_maps_are_searched():
    points = make_gaussian(501, 2, random_state=0)
    data, test = sample_triplets(points, 6000, random_state=0), sample_triplets(points, 5000, random_state=1)
    model = DMOE().fit(data)
    assert not hasattr(model, "gram_")
    assert {params["rank"] for params in model.cv_results_["params"]} == {2}
    assert model.score(test) > DMOE(penalty=Penalty(0.01, ridge=0.0)).fit(data).score(test)


@pytest.mark.parametrize("after", [1, 7], ids=["first fold", "second fold"])
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, after):
    calls = []

    def interrupted(candidates, train, closed, features=None):
        calls.append(1)
        if len(calls) == after:
            raise KeyboardInterrupt
        yield from fit_path(candidates, train, closed, features)

    monkeypatch.setattr(tuning, "fit_path", interrupted)
    model = DMOE()
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(NOISY)
    assert hasattr(model, "cv_results_") == (after > 5)
    assert model.score(TEST) > 0.6


def test_the_search_costs_some_fits():
    """About ten on a quiet machine; a benchmark, and not this test, tells more."""
    data = sample_triplets(make_gaussian(100, 10, random_state=0), 1000, random_state=0)

    def seconds(model):
        model.fit(data)
        start = time.process_time()
        model.fit(data)
        return time.process_time() - start

    assert seconds(DMOE()) < 30 * seconds(DMOE(penalty=Penalty()))


def test_settings_that_are_set_later_end_what_was_chosen(tmp_path):
    fitted = DMOE(2, random_state=0).fit(CLEAN)
    chosen = fitted._with_chosen_settings()
    given = clone(chosen).set_params(penalty=Penalty(0.9, 0.5), nu=0.0, power=1).fit(CLEAN)
    assert (given.penalty_, given.nu_) == (Penalty(0.9, 0.5), 0.0)
    kept = clone(chosen).set_params(random_state=0, n_objects=None).fit(CLEAN)
    np.testing.assert_allclose(kept.gram_, fitted.gram_, atol=1e-6 * np.abs(fitted.gram_).max())
    again = load_model(save_model(kept, tmp_path))
    np.testing.assert_array_equal(again.gram_, kept.gram_)
    with pytest.raises(NotFittedError):
        DMOE()._with_chosen_settings()


OPEN = FixedSettings(Penalty.open())


def candidates(given=OPEN, n_components=2, solver="auto", **more):
    return [each for path in candidate_paths(given, n_components, solver, **more) for each in path.candidates]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        (FixedSettings(Penalty(0.07, None, None, None)), lambda each: each.penalty.trace == 0.07),
        (FixedSettings(Penalty(None, 7.0, None, None)), lambda each: each.penalty.ridge == 7),
        (
            FixedSettings(Penalty(None, None, 0.7, None)),
            lambda each: each.penalty.diagonal == 0.7 and each.rank == "full",
        ),
        (
            FixedSettings(Penalty(None, None, None, 7.0)),
            lambda each: each.penalty.specificity == 7 and each.rank == "full",
        ),
        (FixedSettings(Penalty.open(), nu=0.7), lambda each: each.nu == 0.7),
        (FixedSettings(Penalty.open(), power=2), lambda each: each.power == 2),
        (FixedSettings(Penalty.open(), power=1), lambda each: each.power == 1 and each.rank == "full"),
        (FixedSettings(Penalty.open(), power=3), lambda each: each.power == 3 and each.rank != "full"),
        (FixedSettings(Penalty.open(), rank="full"), lambda each: each.rank == "full"),
        (FixedSettings(Penalty.open(), rank=7), lambda each: each.rank == 7),
    ],
)
def test_what_is_given_is_in_every_candidate(given, holds):
    found = candidates(given)
    assert found
    assert all(holds(each) for each in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("solver", ["auto", "admm", "closed", "factored"])
def test_candidates_are_settled_and_suit_the_solver(solver):
    for each in candidates(solver=solver):
        assert not each.penalty.is_open
        assert {"auto": True, "factored": each.rank == 2}.get(solver, each.rank == "full")
        if solver == "closed":
            assert (each.penalty.trace, each.nu, each.power) == (0, 1, 2)


def test_both_penalties_are_spanned():
    """From just below where the map vanishes to almost nothing, and from no ridge to a strong one."""
    traces = [each.penalty.trace for each in candidates()]
    ridges = [each.penalty.ridge for each in candidates()]
    assert max(traces) > 0.5
    assert min(traces) < 0.005
    assert (min(ridges), max(ridges)) == (0, 10)


def test_the_dimension_of_the_map_is_among_the_ranks():
    assert {each.rank for each in candidates(n_components=5)} == {"full", 2, 5, 10}


def test_few_comparisons_are_for_full_matrices():
    assert {each.rank for each in candidates(per_object=1.0)} == {"full"}
    assert all(path.trust == 1 for path in candidate_paths(OPEN, 2, "auto", per_object=50))
    assert min(path.trust for path in candidate_paths(OPEN, 2, "auto", per_object=5)) == 0.5
    assert candidates(FixedSettings(Penalty.open(), rank=3), per_object=1.0)  # unless a rank was asked for
    assert candidates(solver="factored", per_object=1.0)


def test_nothing_is_left_of_what_contradicts_itself():
    assert candidates(FixedSettings(Penalty(None, None, 0.4, None), rank=3)) == []
    full = candidates(FixedSettings(Penalty(0.0, None, 1.0, np.inf), rank="full"))
    assert full
    assert all(each.penalty.ridge > 0 for each in full)  # without any penalty there is no solution


def test_folds_and_comparisons_per_object():
    assert [tuning.n_splits(number) for number in (1000, 10_000, 100_000)] == [(4, 4), (10, 5), (10, 1)]
    few = Comparisons.from_triplets([[0, 1, 2], [0, 2, 1]], n_objects=10)
    assert tuning.comparisons_per_object(few) == pytest.approx(2 / 3)  # of the three that are mentioned
