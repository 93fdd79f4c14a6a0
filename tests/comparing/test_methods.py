"""Methods compared: the same held-out answers, paired differences, and their intervals."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from nearer.comparing import compare_methods
from nearer.comparing.methods import paired_difference
from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, SOE, STE
from nearer.evaluation import held_out_error
from nearer.io import read_answers

ANSWERS = sample_triplets(make_gaussian(12, 2, random_state=0), 400, random_state=0)


@pytest.fixture(scope="module")
def found():
    methods = {"plane": STE(2, random_state=0), "line": STE(1, random_state=0), "twin": STE(2, random_state=0)}
    return compare_methods(ANSWERS, methods, random_state=0)


def test_errors_are_those_of_the_same_folds(found):
    alone = held_out_error(STE(2, random_state=0), ANSWERS, random_state=0)
    first = found.methods[0]
    assert (first.error, first.low, first.high) == (alone.error, alone.low, alone.high)
    assert first.map_error == alone.map_error
    assert first.difference is None


def test_a_worse_method_is_found_and_a_twin_is_not(found):
    _, line, twin = found.methods
    assert line.difference == pytest.approx(line.error - found.methods[0].error)
    assert line.difference_low > 0
    assert line.p_holm < 0.01
    assert (twin.difference, twin.difference_low, twin.difference_high, twin.p_value) == (0, 0, 0, 1)


def test_log_loss_is_that_of_the_probabilities_of_the_answers():
    class Knows(STE):
        """Gives every answer as written a chance of 0.8."""

        def predict_proba(self, X):
            return np.tile([0.2, 0.8], (len(X), 1))

    answers = Comparisons.from_triplets(ANSWERS.rows, y=np.where(np.arange(400) % 4 == 0, -1, 1))
    found = compare_methods(answers, {"a": Knows(1), "b": Knows(1)}, n_splits=2, random_state=0)
    assert found.methods[0].log_loss == pytest.approx(-0.75 * np.log(0.8) - 0.25 * np.log(0.2))


def test_without_folds_or_groups_it_is_the_paired_t_test():
    gaps = np.random.default_rng(0).normal(0.1, 1, size=50)
    mean, low, high, p = paired_difference(gaps, np.ones(50), np.arange(50), np.zeros(50, dtype=int))
    twin = ttest_1samp(gaps, 0)
    ends = twin.confidence_interval()
    assert (mean, low, high, p) == pytest.approx((gaps.mean(), ends.low, ends.high, twin.pvalue))


@pytest.mark.parametrize(("of_folds", "of_people"), [(0.0, 0.0), (0.0, 1.0), (0.6, 0.0), (0.4, 0.6)])
def test_intervals_hold_no_difference_where_there_is_none(of_folds, of_people):
    # Answers of 20 people in 5 folds, with what is common to answers of a person or of a fold.
    rng, held = np.random.default_rng(0), []
    folds, people = np.repeat(np.arange(5), 40), np.tile(np.arange(20), 10)
    for _ in range(400):
        gaps = rng.normal(size=200) + of_folds * rng.normal(size=5)[folds] + of_people * rng.normal(size=20)[people]
        _, low, high, _ = paired_difference(gaps, np.ones(200), people, folds)
        held.append(low <= 0 <= high)
    assert 0.91 < np.mean(held) < 0.995


def test_people_who_differ_widen_the_interval():
    rng = np.random.default_rng(1)
    people, folds = np.tile(np.arange(10), 20), np.repeat(np.arange(5), 40)
    gaps = rng.normal(size=10)[people] + 0.1 * rng.normal(size=200)
    low, high = (paired_difference(gaps, np.ones(200), units, folds)[1:3] for units in (np.arange(200), people))
    assert high[1] - high[0] > 2 * (low[1] - low[0])


def test_people_are_taken_as_independent_where_there_are_enough():
    def unit(n_people, **options):
        rows = Comparisons.from_triplets(ANSWERS.rows, annotators=np.arange(400) % n_people)
        methods = {"a": SOE(1, random_state=0), "b": SOE(1, random_state=0)}
        found = compare_methods(rows, methods, n_splits=2, random_state=0, **options)
        return found.by, found.unit

    assert unit(10) == ("questions", "annotators")
    assert unit(3) == ("questions", "questions")
    assert unit(3, by="annotators") == ("annotators", "annotators")


def test_all_methods_get_the_dimension_of_the_training_part():
    seen = []

    class Noted(CKL):
        """Remembers its dimension."""

        def fit(self, X, *rest, **more):
            seen.append(self.n_components)
            return super().fit(X, *rest, **more)

    dimensions = iter([1, 3])
    methods = {"a": Noted(2, random_state=0), "b": Noted(5, random_state=0)}
    compare_methods(ANSWERS, methods, n_splits=2, dimension=lambda train: next(dimensions), random_state=0)
    assert seen == [1, 1, 3, 3]


def test_an_interrupt_keeps_whole_folds():
    class Stops(STE):
        """Is interrupted in its fourth fit."""

        n_fits = 0

        def fit(self, X, *rest, **more):
            Stops.n_fits += 1
            if Stops.n_fits == 4:
                raise KeyboardInterrupt
            return super().fit(X, *rest, **more)

    found = compare_methods(ANSWERS, {"a": STE(1, random_state=0), "b": Stops(1, random_state=0)}, random_state=0)
    assert (found.n_folds, found.n_wanted, found.interrupted) == (3, 5, True)
    assert 220 < found.n_comparisons < 260
    assert "3 folds of 5, as the run was stopped," in str(found)
    Stops.n_fits = 2
    with pytest.raises(KeyboardInterrupt):
        compare_methods(ANSWERS, {"a": STE(1, random_state=0), "b": Stops(1, random_state=0)}, random_state=0)


def test_what_fails_is_named():
    with pytest.raises(ValueError, match=r"bad: .*leave it out"):
        compare_methods(ANSWERS, {"good": STE(1), "bad": STE(1, trace=-1)}, random_state=0)
    with pytest.raises(ValueError, match="two methods"):
        compare_methods(ANSWERS, {"good": STE(1)})


def test_answers_of_a_file_are_taken_as_they_were_read(tmp_path):
    rows = ANSWERS.oriented[:60, [0, 1, 3]]
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\n" + "".join(f"o{i},o{j},o{k}\n" for i, j, k in rows))
    answers, methods = read_answers(path), {"plane": SOE(2, random_state=0), "line": SOE(1, random_state=0)}
    both = answers, answers.comparisons
    found, again = (compare_methods(each, methods, n_splits=2, random_state=0) for each in both)
    assert found.methods[1].error == again.methods[1].error
