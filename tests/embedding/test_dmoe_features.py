"""DMOE that knows features of the objects: fewer answers, objects without any, several sets, and storage."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from nearer import Comparisons, Penalty
from nearer.data import ComparisonsFile
from nearer.data.features import as_feature_sets
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, dmoe, dmoe_search
from nearer.embedding.dmoe_search import (
    Candidate,
    FixedSettings,
    Path,
    SearchResult,
    candidate_paths,
    likely_shares,
    search_with_shares,
)
from nearer.embedding.storage import load_model, save_model
from nearer.embedding.with_features import match_features
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap
from nearer.optimize.solvers import ADMM, SVRG
from nearer.sampling.features import feature_basis

N, N_NEW = 30, 6
POINTS = make_gaussian(N, 2, random_state=0)
NAMES = np.array([f"o{k:02d}" for k in range(N)])
_RNG = np.random.default_rng(1)
FEATURES = pd.DataFrame(POINTS @ _RNG.normal(size=(2, 40)) + 0.3 * _RNG.normal(size=(N, 40)), index=NAMES)
TEST = sample_triplets(POINTS, 3000, random_state=2).rows
ABOUT_NEW = TEST[(TEST >= N - N_NEW).any(axis=1)]
FIXED = {"penalty": Penalty(0.05, 1.0), "nu": 1.0, "rank": "full", "feature_share": 0.8}


def answers(count, objects=N, seed=3):
    rows = sample_triplets(POINTS[:objects], count, flipped=0.1, random_state=seed).rows
    return Comparisons.from_triplets(NAMES[rows], objects=NAMES[:objects])


def error(model, rows=TEST):
    return 1 - model.score(NAMES[rows])


def map_error(model, rows=TEST):
    place = {label: k for k, label in enumerate(model.objects_)}
    i, j, k = (np.array([place[name] for name in NAMES[column]]) for column in rows.T)
    points = model.embedding_
    return np.mean(np.sum((points[i] - points[j]) ** 2, axis=1) > np.sum((points[i] - points[k]) ** 2, axis=1))


@pytest.fixture(scope="module")
def fitted():
    return DMOE(2, features=FEATURES).fit(answers(60))


def test_few_answers_suffice(fitted):
    plain = DMOE(2).fit(answers(60))
    assert error(fitted) < error(plain) - 0.1
    assert map_error(fitted) < map_error(plain) - 0.1
    assert plain.feature_share_ is None
    assert fitted.feature_share_["features"].mean in (0.5, 0.8, 0.95)
    assert fitted.feature_share_["features"].mean in fitted.cv_results_["param_feature_share"]


def test_features_of_other_objects_do_little_harm():
    shuffled = FEATURES.set_axis(np.random.default_rng(6).permutation(NAMES))
    for count, loss in ((60, 0.03), (300, 0.02)):
        given = answers(count)
        with pytest.warns(ConvergenceWarning, match="cross-validation predicts best without these features"):
            model = DMOE(2, features=shuffled).fit(given)
        assert error(model) < error(DMOE(2).fit(given)) + loss
        assert model.feature_share_["features"].mean == 0


def test_features_must_be_clearly_ahead_of_none():
    """Many shares compete with none, and the best of many is flattered."""
    some = Path("rank 2", tuple(Candidate(Penalty(trace, 0.0), 0.0, 2, 2) for trace in (0.3, 0.2, 0.1)), 0.5)
    asked = []

    def judge(paths):
        asked.append(paths)
        behind = np.array([{0.0: 0.9, 0.8: 0.0}.get(each.shares[0], 9.0) for path in paths for each in path.candidates])
        trust = np.array([path.trust for path in paths for _ in path.candidates])
        shares = np.where(behind < 2, np.exp(-behind) * trust, 0.0)
        return SearchResult(paths, np.zeros((len(shares), 1)), np.zeros(len(shares)), shares, False)

    found = search_with_shares([some], [some], 1, judge, lambda *_: (0.0,))
    first, last = asked
    assert [[each.shares[0] for each in path.candidates] for path in first] == [[0.0], [0.5], [0.8], [0.95]]
    assert first[0].candidates[0].penalty.trace == 0.2
    assert [[each.shares[0] for each in path.candidates] for path in last] == [[0.0] * 3, [0.8]]
    assert found.best.shares == (0.0,)
    # Unless the map without features is where they expect it.
    search_with_shares([some], [some], 1, judge, lambda *_: (0.5,))
    assert [[each.shares[0] for each in path.candidates] for path in asked[-1]] == [[0.5] * 3, [0.8]]


def test_the_map_without_features_tells_the_share_that_is_likely():
    """Where answers are many features do not help to predict them, but they place other objects."""
    given, options = answers(600), [(0.0,), (0.5,)]
    plain = Candidate(Penalty(0.03, 0.0), 0.0, 2, 2, (0.0,))
    others = FEATURES.set_axis(np.random.default_rng(0).permutation(NAMES))
    for features, share in ((FEATURES, (0.5,)), (others, (0.0,))):
        comparisons, kernels = match_features(given, as_feature_sets(features))
        basis = feature_basis(kernels, comparisons.objects)
        assert likely_shares(plain, comparisons, basis, options, 2) == share


def test_with_few_answers_and_features_maps_of_small_rank_compete_under_strong_penalties():
    """Without features they would be hopeless; a weak penalty would overfit."""
    given = FixedSettings(Penalty.open())

    def ranks(per_object, **options):
        candidates = [
            each for path in candidate_paths(given, 2, "auto", per_object, **options) for each in path.candidates
        ]
        return {(each.rank, each.power, each.penalty.trace) for each in candidates if each.rank != "full"}

    assert ranks(1.0) == set()
    assert ranks(1.0, described=True) == {(rank, 2, trace) for rank in (2, 10) for trace in (0.6, 0.35, 0.2)}
    assert ranks(5.0, described=True) == ranks(5.0) > ranks(1.0, described=True)
    assert {path.trust for path in candidate_paths(given, 2, "auto", 5.0, described=True)} == {1.0}


def test_an_interrupt_in_the_last_round_keeps_the_one_before(monkeypatch):
    rounds = []

    def interrupted(*arguments, **options):
        rounds.append(dmoe_search.cross_validate(*arguments, **options))
        if len(rounds) == 1:
            return rounds[0]
        none = np.zeros(len(rounds[1].shares))
        return replace(rounds[1], errors=np.zeros((len(none), 0)), shares=none, interrupted=True, calibration=None)

    monkeypatch.setattr(dmoe, "cross_validate", interrupted)
    model = DMOE(2, features=FEATURES)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(answers(60))
    assert len(rounds) == 2
    assert model.feature_share_["features"].mean == rounds[0].best.shares[0]
    assert error(model) < 0.3


def test_of_several_sets_the_useful_one_is_taken():
    noise = pd.DataFrame(np.random.default_rng(5).normal(size=(N, 40)), index=NAMES)
    model = DMOE(2, features={"noise": noise, "network": FEATURES}).fit(answers(150))
    assert model.feature_share_["network"].mean > 2 * model.feature_share_["noise"].mean
    assert error(model) < 0.2
    both = DMOE(2, features=[noise, FEATURES], **FIXED | {"feature_share": (0.1, 0.7)}).fit(answers(60))
    assert [share.mean for share in both.feature_share_.values()] == [0.1, 0.7]


@pytest.mark.parametrize("settings", [{}, FIXED, FIXED | {"rank": 2, "penalty": Penalty(0.05, 0.0)}], ids=len)
def test_objects_without_answers_are_on_the_map_by_their_features(settings):
    model = DMOE(2, features=FEATURES, **settings).fit(answers(200, N - N_NEW))
    assert sorted(model.objects_) == sorted(NAMES)
    assert error(model, ABOUT_NEW) < 0.25
    assert map_error(model, ABOUT_NEW) < 0.25


def test_over_points_they_are_too():
    model = DMOE(2, features=FEATURES, solver="factored").fit(answers(200, N - N_NEW))
    assert not hasattr(model, "gram_")
    assert error(model, ABOUT_NEW) < 0.25


def test_objects_without_features_are_placed_by_answers():
    model = DMOE(2, features=FEATURES.iloc[:20]).fit(answers(400))
    assert model._features.described.sum() == 20
    assert error(model) < 0.2


def test_an_object_that_nothing_is_known_of_is_at_the_center():
    given = answers(100, N - N_NEW).reindex(NAMES)
    model = DMOE(2, features=FEATURES.iloc[: N - 3], **FIXED).fit(given)
    assert not model.embedding_[-3:].any()
    assert model.predict_proba([(NAMES[0], NAMES[-1], NAMES[-2])])[0, 0] == 0.5


def test_it_solves_the_problem_with_the_inverse_covariance_in_the_penalty():
    """No Gram matrix nearby is better, by the definition and without representers."""
    given = answers(80)
    model = DMOE(2, features=FEATURES, solver=ADMM(tol=1e-8, max_iter=20_000), **FIXED).fit(given)
    covariance = model._choice.covariance(model._features).matrix
    precision = np.linalg.inv(covariance)
    plain = Problem(MarginMap.from_quadruplets(given.quadruplets, N), model._loss(), np.ones(len(given)))

    def objective(gram):
        penalty = model.trace_ * np.trace(precision @ gram)
        return plain.objective(gram) + penalty + model.ridge_ / 2 * np.trace(precision @ gram @ precision @ gram)

    best, rng = objective(model.gram_), np.random.default_rng(6)
    assert best == pytest.approx(model.history_[-1].objective, rel=1e-6)
    values, vectors = np.linalg.eigh(model.gram_)
    half = vectors * np.sqrt(values.clip(0))
    for size in (0.3, 0.03, 0.003):
        for _ in range(5):
            step = size * np.linalg.cholesky(covariance) @ rng.normal(size=(N, N)) / N
            assert objective((half + step) @ (half + step).T) > best - 1e-7


def test_a_share_of_zero_is_the_fit_without_features():
    given, settings = answers(200), {**FIXED, "feature_share": None}
    zero = DMOE(2, features=FEATURES, **settings | {"feature_share": 0.0}).fit(given)
    np.testing.assert_array_equal(zero.gram_, DMOE(2, **settings).fit(given).gram_)


@pytest.mark.parametrize("solver", ["admm", "closed", "paper"])
def test_every_convex_solver_takes_features(solver):
    penalty = {"admm": Penalty(0.05, 1.0), "closed": Penalty(0.0, 3.0), "paper": Penalty(0.05, 0.0)}[solver]
    model = DMOE(2, solver=solver, penalty=penalty, features=FEATURES, feature_share=0.8).fit(answers(60))
    assert error(model) < 0.3


@pytest.fixture(scope="module", params=["searched", "fixed", "points"])
def of_some(request):
    """The last objects are known by nobody."""
    settings = {"searched": {}, "fixed": FIXED, "points": {"solver": "factored", "feature_share": 0.8}}[request.param]
    return DMOE(2, features=FEATURES.iloc[: N - N_NEW], **settings).fit(answers(300, N - N_NEW))


@pytest.mark.parametrize("with_answers", [False, True])
def test_new_objects_are_placed_by_features(of_some, with_answers, tmp_path):
    save_model(of_some, tmp_path)
    model, rows = load_model(tmp_path), sample_triplets(POINTS, 4000, random_state=6).rows
    rows = rows[(rows >= N - N_NEW).any(axis=1)][:150]
    before = model.embedding_.copy()
    placed = model.place(NAMES[rows] if with_answers else None, features=FEATURES.iloc[N - N_NEW :])
    assert placed.shape == (N_NEW, 2)
    np.testing.assert_array_equal(model.embedding_[: N - N_NEW], before)
    assert error(model, ABOUT_NEW) < (0.18 if with_answers else 0.25)
    assert map_error(model, ABOUT_NEW) < (0.18 if with_answers else 0.25)
    if hasattr(model, "gram_"):
        np.testing.assert_array_equal(model.gram_[:-N_NEW, :-N_NEW], of_some.gram_)


def test_features_alone_place_an_object_at_its_mean_given_the_others():
    model = DMOE(2, features=FEATURES.iloc[: N - N_NEW], **FIXED).fit(answers(100, N - N_NEW))
    model.place(features=FEATURES.iloc[N - N_NEW :])
    covariance, old = model._choice.covariance(model._features).matrix, N - N_NEW
    weights = covariance[old:, :old] @ np.linalg.inv(covariance[:old, :old])
    np.testing.assert_allclose(model.gram_[old:, :old], weights @ model.gram_[:old, :old], atol=1e-6)
    np.testing.assert_allclose(model.gram_[old:, old:], weights @ model.gram_[:old, :old] @ weights.T, atol=1e-6)


def test_new_objects_without_features_are_placed_by_answers(of_some, tmp_path):
    save_model(of_some, tmp_path)
    model = load_model(tmp_path)
    rows = sample_triplets(POINTS, 6000, random_state=7).rows
    model.place(NAMES[rows[(rows >= N - N_NEW).any(axis=1)][:300]])
    assert model._features.described.sum() == N - N_NEW
    assert error(model, ABOUT_NEW) < 0.15


def test_more_answers_go_on_with_the_same_features(fitted):
    model = clone(fitted).fit(answers(60))
    model.partial_fit(answers(300, seed=8))
    assert error(model) < error(fitted)
    assert len(model.comparisons_) == 360


def test_a_model_with_features_is_stored_and_cloned(fitted, tmp_path):
    save_model(fitted, tmp_path)
    loaded = load_model(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(NAMES[TEST[:50]]), fitted.predict_proba(NAMES[TEST[:50]]))
    assert str(loaded.feature_share_) == str(fitted.feature_share_)
    np.testing.assert_array_equal(clone(loaded).fit(answers(60)).gram_, fitted.gram_)
    again = loaded._with_chosen_settings().fit(answers(60))
    np.testing.assert_array_equal(again.gram_, fitted.gram_)


def test_a_grid_search_over_features():
    rows = Comparisons.from_triplets(sample_triplets(POINTS, 60, flipped=0.1, random_state=3).rows, n_objects=N)
    array = FEATURES.to_numpy()
    search = GridSearchCV(
        DMOE(2, n_objects=N, **FIXED), {"features": [None, array[::-1], array]}, cv=3, error_score="raise"
    )
    search.fit(np.asarray(rows.rows))
    assert search.best_index_ == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"feature_share": 1.0}, "feature_share must be a number below 1"),
        ({"feature_share": -0.1}, "feature_share must be a finite number"),
        ({"feature_share": "half"}, "feature_share must be a finite number"),
        ({"feature_share": (0.3, 0.3)}, "one for each of 1 feature set"),
        ({"solver": SVRG()}, "SVRG cannot take features into account"),
        ({"features": FEATURES.to_numpy()[:5]}, "5 rows without labels for 30 objects"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DMOE(**{"features": FEATURES, **settings}).fit(answers(30))


def test_comparisons_in_files_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", sample_triplets(POINTS, 100, random_state=0).rows)
    with pytest.raises(ValueError, match="needs all comparisons in memory"):
        DMOE(features=FEATURES.to_numpy()).fit(ComparisonsFile(tmp_path / "rows.npy"))


def test_a_map_without_features_cannot_place_by_them(fitted):
    plain = DMOE(2, **FIXED).fit(answers(60))
    with pytest.raises(ValueError, match="fitted without features"):
        plain.place(features=FEATURES)
    with pytest.raises(ValueError, match="all objects with these features are on the map already"):
        fitted.place(features=FEATURES.iloc[:3])
