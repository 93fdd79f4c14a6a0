import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import stdtrit
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

from nearer import Comparisons
from nearer.data.groups import balance_folds
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, TSTE
from nearer.evaluation import (
    WholeKFold,
    accuracy_scorer,
    choose_dimension,
    comparison_error,
    dimension,
    held_out_error,
    learning_curve,
    margins,
    neg_log_loss_scorer,
)
from nearer.evaluation.distances import SplitHalf
from nearer.evaluation.intervals import clustered_variance, error_interval, overlap_factor, wilson_interval

POINTS = make_gaussian(12, 2, random_state=0)
ALL = sample_triplets(POINTS)


class Knows(BaseEstimator):
    """Has its map from the start, so that what is around a fit can be tested without one."""

    seen: list = []  # noqa: RUF012 - shared by the copies that are fitted

    def __init__(self, points=None, n_components=2):
        self.points = points
        self.n_components = n_components

    def fit(self, X, y=None):
        Knows.seen.append(X)
        self.embedding_ = np.asarray(self.points)[:, : self.n_components]
        return self

    def decision_function(self, X):
        i, j, l, k = X.quadruplets.T  # noqa: E741
        points = np.asarray(self.points)
        return ((points[l] - points[k]) ** 2).sum(1) - ((points[i] - points[j]) ** 2).sum(1)


@pytest.fixture(autouse=True)
def _forget():
    Knows.seen.clear()


def study(seed, n_people=8, n_trials=15, per_trial=3, wrong=0.2, together=True):
    """Answers of people who err by whole trials, or row by row."""
    rng = np.random.default_rng(seed)
    total = n_people * n_trials
    trials = np.repeat(np.arange(total), per_trial)
    flips = rng.random(total) < wrong
    flipped = flips[trials] if together else rng.random(len(trials)) < wrong
    return Comparisons.from_triplets(
        ALL.rows[rng.integers(len(ALL), size=len(trials))],
        np.where(flipped, -1, 1),
        annotators=(trials // n_trials).astype(str),
        trials=trials,
        n_objects=12,
    )


@pytest.mark.parametrize("by", ["trials", "annotators", "questions"])
def test_folds_share_no_unit_and_hold_every_row_once(by):
    comparisons = study(0)
    if by == "questions":
        labels = [frozenset([(a, *sorted(pair))]) for a, *pair in comparisons.rows.tolist()]
    else:
        labels = getattr(comparisons, by).tolist()
    folds = list(WholeKFold(4, by=by, random_state=1).split(comparisons))
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(len(comparisons)))
    for train, test in folds:
        assert not {labels[row] for row in train} & {labels[row] for row in test}
        assert sorted([*train, *test]) == list(range(len(comparisons)))


def test_a_question_written_the_other_way_round_stays_whole_without_trials():
    rows = np.concatenate([ALL.rows[:40], ALL.rows[:40][:, [0, 2, 1]]])
    for _, test in WholeKFold(5, random_state=0).split(rows):
        assert sorted(test % 40) == sorted(np.repeat(np.unique(test % 40), 2))


def test_folds_have_about_equally_many_rows():
    sizes = np.random.default_rng(0).integers(1, 30, size=60)
    comparisons = Comparisons.from_triplets(ALL.rows[: sizes.sum()][:500], trials=np.repeat(np.arange(60), sizes)[:500])
    counts = [len(test) for _, test in WholeKFold(5, random_state=0).split(comparisons)]
    assert max(counts) - min(counts) <= 2


def test_dealing_out_is_the_largest_first_to_the_emptiest():
    rng = np.random.default_rng(0)
    for n_folds in (2, 3, 7):
        sizes = rng.integers(0, 9, size=50)
        loads = np.zeros(n_folds, dtype=int)
        for size in np.sort(sizes)[::-1]:
            loads[loads.argmin()] += size
        folds = balance_folds(sizes, n_folds, rng)
        assert sorted(np.bincount(folds, sizes, minlength=n_folds)) == sorted(loads)


def test_folds_repeat_with_their_seed_and_differ_without():
    def tests(seed):
        return [test.tolist() for _, test in WholeKFold(3, random_state=seed).split(study(0))]

    assert tests(0) == tests(0)
    assert tests(0) != tests(1)


def test_fewer_units_than_folds_give_a_fold_each():
    comparisons = study(0, n_people=3)
    splitter = WholeKFold(10, by="annotators")
    assert splitter.get_n_splits(comparisons) == len(list(splitter.split(comparisons))) == 3
    assert splitter.get_n_splits() == 10


def test_rows_without_weight_are_never_alone_in_a_fold():
    weights = np.zeros(40)
    weights[[3, 17, 30]] = 1
    comparisons = Comparisons.from_triplets(ALL.rows[:40], weights=weights)
    folds = list(WholeKFold(5, random_state=0).split(comparisons))
    assert len(folds) == 3
    assert all(weights[test].sum() == 1 for _, test in folds)
    assert np.isfinite(cross_val_score(STE(2), comparisons, cv=WholeKFold(5), error_score="raise")).all()


@pytest.mark.parametrize(
    ("splitter", "comparisons", "message"),
    [
        (WholeKFold(1), study(0), "n_splits must be an integer >= 2"),
        (WholeKFold(by="people"), study(0), "by='people' is not known"),
        (WholeKFold(by="annotators"), ALL, "do not say who answered"),
        (WholeKFold(by="annotators"), study(0, n_people=1), "one unit"),
    ],
)
def test_folds_that_cannot_be_say_why(splitter, comparisons, message):
    with pytest.raises(ValueError, match=message):
        splitter.split(comparisons)


def test_groups_take_the_place_of_trials():
    groups = np.arange(40) % 4
    folds = list(WholeKFold(4).split(ALL.rows[:40], groups=groups))
    assert all(len(set(groups[test])) == 1 for _, test in folds)


def test_labels_of_mixed_types_make_units():
    comparisons = Comparisons.from_triplets(ALL.rows[:4], annotators=[1, "a", (2, 3), 1])
    assert WholeKFold(by="annotators").get_n_splits(comparisons) == 3


def test_works_in_scikit_learn():
    comparisons = study(0)
    search = GridSearchCV(STE(random_state=0), {"n_components": [1, 2]}, cv=WholeKFold(3, random_state=0))
    search.fit(comparisons)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.n_splits_ == 3
    people = GridSearchCV(STE(random_state=0), {"n_components": [2]}, cv=WholeKFold(50, by="annotators"))
    assert people.fit(comparisons).n_splits_ == 8


def test_an_object_that_training_misses_is_scored():
    lonely = Comparisons.from_triplets(np.concatenate([ALL.rows[:50] % 5 + [0, 5, 10], [[16, 0, 1], [15, 16, 2]]]))
    scores = cross_val_score(STE(2, random_state=0), lonely, cv=WholeKFold(26, random_state=0))
    assert np.isfinite(scores).all()
    assert np.isfinite(held_out_error(STE(2, random_state=0), lonely, n_splits=13, random_state=0).high)


def test_held_out_error_is_that_of_the_maps_fitted_without_each_fold():
    comparisons = study(0, together=False)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(comparisons))
    comparisons = Comparisons.from_triplets(
        comparisons.rows, comparisons.answers, weights=weights, trials=comparisons.trials
    )
    found = held_out_error(STE(2, random_state=0), comparisons, random_state=3)
    wrong = np.empty(len(comparisons))
    for train, test in WholeKFold(5, random_state=3).split(comparisons):
        gamma = margins(comparisons[test], STE(2, random_state=0).fit(comparisons[train]).embedding_)
        wrong[test] = gamma < 0
    assert found.error == pytest.approx(np.average(wrong, weights=weights))
    assert found.map_error == pytest.approx(found.error)
    assert (found.n_splits, found.by) == (5, "trials")


def test_predictions_and_map_are_judged_apart_and_ties_count_half():
    flat = held_out_error(Knows(np.zeros((12, 2))), ALL, random_state=0)
    assert flat.error == flat.map_error == 0.5
    both = held_out_error(Knows(POINTS, n_components=1), ALL, random_state=0)
    assert both.error == 0
    assert both.low == 0 < both.high < 0.05
    assert both.map_error == pytest.approx(comparison_error(ALL, POINTS[:, :1]))
    assert both.map_low < both.map_error < both.map_high


def test_fits_at_a_time_change_nothing():
    comparisons = study(0)
    alone = held_out_error(STE(2, random_state=0), comparisons, random_state=0)
    with parallel_config(backend="threading"):
        assert held_out_error(STE(2, random_state=0), comparisons, n_jobs=2, random_state=0) == alone


def test_intervals_hold_the_error_as_often_as_they_say_when_trials_err_as_one():
    """With rows taken as independent, trials of six rows that err together are covered 60% of the time."""
    held, naive, repeats = 0, 0, 250
    for seed in range(repeats):
        comparisons = study(seed, n_people=1, n_trials=80, per_trial=6)
        wrong = (comparisons.answers < 0).astype(float)
        found = error_interval(wrong, np.ones(len(wrong)), comparisons.trials, 0.95)
        held += found.low <= 0.2 <= found.high
        low, high = wilson_interval(found.error, len(comparisons), 1.96)
        naive += low <= 0.2 <= high
    assert 0.92 <= held / repeats < 1
    assert naive / repeats < 0.75


@pytest.mark.parametrize(("n_judged", "wanted"), [(18, 16), pytest.param(40, 37, marks=pytest.mark.slow)])
def test_held_out_intervals_hold_the_expected_error_of_maps_that_vary_with_their_answers(n_judged, wanted):
    """With the variance between answers alone, those of so few noisy answers hold it in 80 to 85%."""
    method, asked = TSTE(2, trace=0.02, n_objects=12), []
    for seed in range(30 + n_judged):
        asked.append(sample_triplets(POINTS, 160, flipped=0.2, random_state=1000 + seed))
    tested = sample_triplets(POINTS)
    wrong = [comparison_error(tested, method.fit(each[:128]).embedding_) for each in asked[:30]]
    expected = 0.2 + 0.6 * np.mean(wrong)
    found = [held_out_error(method, each, random_state=0) for each in asked[30:]]
    assert sum(each.low <= expected <= each.high for each in found) >= wanted
    alone, (low, high) = found[0], wilson_interval(found[0].error, 160 / overlap_factor(5), stdtrit(159, 0.975))
    assert (alone.low, alone.high) == pytest.approx((low, high), abs=0.004)


def test_wilson_intervals_are_not_empty_at_the_ends():
    assert wilson_interval(0.0, 20, 1.96) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson_interval(1.0, 20, 1.96) == pytest.approx((0.8389, 1.0), abs=1e-4)


def test_clustered_variance_of_independent_rows_is_that_of_a_mean():
    wrong = np.random.default_rng(0).normal(size=50)
    assert clustered_variance(wrong, np.ones(50), np.arange(50)) == pytest.approx(wrong.var(ddof=1) / 50)


def test_a_copied_row_adds_no_certainty_and_weights_only_count_in_proportion():
    wrong, clusters = np.array([1.0, 0, 0, 1, 0, 0]), np.arange(6)
    once = error_interval(wrong, np.ones(6), clusters, 0.9)
    assert error_interval(np.repeat(wrong, 3), np.full(18, 7.0), np.repeat(clusters, 3), 0.9) == pytest.approx(once)


def test_what_varies_between_repeats_widens_the_interval():
    wrong = np.concatenate([np.tile([0.0, 0, 0, 1], 25), np.tile([1.0, 1, 0, 1], 25)])
    units, repeats = np.tile(np.arange(100), 2), np.repeat([0, 1], 100)
    pooled, apart = (error_interval(wrong, np.ones(200), units, 0.9, each) for each in (None, repeats))
    assert apart.error == pooled.error
    assert apart.high - apart.low > 2 * (pooled.high - pooled.low)


def test_learning_curve_nests_its_training_parts_and_judges_by_the_same_answers():
    comparisons = study(0)
    curve = learning_curve(Knows(POINTS), comparisons, [10, 60, 200], n_repeats=2, random_state=0)
    assert curve.sizes.tolist() == [12, 60, 201]  # whole trials of 3
    parts = [set(part.trials.tolist()) for part in Knows.seen]
    assert [len(part) for part in Knows.seen] == [12, 60, 201] * 2
    assert parts[0] < parts[1] < parts[2]
    assert parts[3] < parts[4] < parts[5]
    assert parts[2] != parts[5]
    # One map for all sizes, so that one test part gives one error.
    assert len(set(curve.errors)) == 1


def test_learning_curve_chooses_its_sizes_and_falls():
    comparisons = sample_triplets(POINTS, 600, random_state=0)
    curve = learning_curve(STE(2, random_state=0), comparisons, n_repeats=3, random_state=0)
    assert (curve.sizes[0], curve.sizes[-1], len(curve.sizes)) == (12, 480, 6)
    assert curve.errors[0] > curve.errors[2] > curve.errors[-1]
    assert (curve.lows <= curve.errors).all()
    assert (curve.errors <= curve.highs).all()
    assert str(curve).count("\n") == 6


@pytest.mark.parametrize(("sizes", "message"), [([0], "integers >= 1"), ([1.5], "integers"), ([800], "are left")])
def test_sizes_that_cannot_be_say_why(sizes, message):
    with pytest.raises(ValueError, match=message):
        learning_curve(Knows(POINTS), ALL, sizes)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_planted_dimension_is_found(dimension):
    points = make_gaussian(20, dimension, variance=1, random_state=dimension)
    comparisons = sample_triplets(points, 2000, flipped=0.1, random_state=dimension)
    found = choose_dimension(STE(random_state=0), comparisons, (1, 2, 3, 4), n_splits=4, random_state=0)
    assert found.chosen == dimension


def test_guesses_have_no_dimension():
    rows = np.argpartition(np.random.default_rng(1).random((400, 12)), 3, axis=1)[:, :3]
    found = choose_dimension(STE(random_state=0), Comparisons.from_triplets(rows), (1, 2, 3), random_state=0)
    assert (found.chosen, found.shown) == (None, 2)
    assert "no dimension can be determined" in str(found)


def test_the_smallest_dimension_within_one_standard_error_is_chosen():
    nearly = np.column_stack([POINTS, 1e-4 * POINTS[:, 0], 5 * make_gaussian(12, 1, random_state=5)])
    found = choose_dimension(Knows(nearly), sample_triplets(nearly[:, :3], random_state=0), (4, 3, 2, 1))
    assert found.candidates.tolist() == [1, 2, 3, 4]
    assert found.errors[0] > found.errors[1] < found.errors[3]
    assert found.chosen == 2


def test_standard_errors_are_those_of_the_errors():
    """Of a share e of m answers that is sqrt(e (1 - e) / m), more or less: folds vary, too."""
    comparisons = sample_triplets(POINTS, flipped=0.4, random_state=0)
    found = choose_dimension(Knows(POINTS), comparisons, (1, 2), random_state=0)
    expected = np.sqrt(found.errors * (1 - found.errors) / len(comparisons))
    assert (found.standard_errors > 0.9 * expected).all()
    assert (found.standard_errors < 2.5 * expected).all()


def test_candidates_beyond_the_objects_are_left_out():
    few = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 1, 3], [3, 1, 2]])
    assert choose_dimension(Knows(np.eye(4)), few, n_splits=2).candidates.tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="at most 3 dimensions"):
        choose_dimension(Knows(np.eye(4)), few, [7])


def test_a_dimension_whose_distances_cannot_be_reproduced_is_not_chosen(monkeypatch):
    """By its error alone it would be."""
    points = make_gaussian(15, 3, random_state=0)
    answers = sample_triplets(points, 1200, random_state=0)
    chosen = choose_dimension(STE(random_state=0), answers, (1, 2, 3), random_state=0)
    assert chosen.chosen == 3
    assert chosen.reliabilities.shape == (3,)
    assert "reliability" in str(chosen)
    reliable = {1: 0.97, 2: 0.95, 3: 0.7}

    def split_half(model, *_, **__):
        return SplitHalf(0.5, reliable[model.n_components], 0.0, 1.0, 2, 15, "trials")

    monkeypatch.setattr(dimension, "split_half", split_half)
    assert choose_dimension(STE(random_state=0), answers, (1, 2, 3), random_state=0).chosen == 2
    reliable |= {1: 0.6, 2: 0.68}  # where none is good, those near the best count
    assert choose_dimension(STE(random_state=0), answers, (1, 2, 3), random_state=0).chosen == 3


def test_few_answers_are_not_halved_to_choose_a_dimension():
    answers = sample_triplets(make_gaussian(15, 2, random_state=0), 50, random_state=0)
    assert choose_dimension(STE(random_state=0), answers, (1, 2), random_state=0).reliabilities is None


@pytest.mark.parametrize("with_answers", [False, True])
def test_scorers_are_those_of_scikit_learn_with_and_without_answers(with_answers):
    triplets = sample_triplets(make_gaussian(10, 2, random_state=0), 300, flipped=0.1, random_state=1)
    rows, y = triplets.rows, np.random.default_rng(2).choice([-1, 1], 300)
    rows = np.where((y > 0)[:, None], rows, rows[:, [0, 2, 1]])
    scorers = {"accuracy": accuracy_scorer, "loss": neg_log_loss_scorer}
    answers = (rows, y) if with_answers else (triplets.rows, None)
    found = cross_validate(STE(2, random_state=0), *answers, scoring=scorers, cv=KFold(3))
    named = cross_validate(STE(2, random_state=0), rows, y, scoring=["accuracy", "neg_log_loss"], cv=KFold(3))
    np.testing.assert_allclose(found["test_accuracy"], named["test_accuracy"])
    np.testing.assert_allclose(found["test_loss"], named["test_neg_log_loss"], rtol=1e-6)
