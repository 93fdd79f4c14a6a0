"""Comparisons: what is accepted, what is refused and how it says so, and that rows stay aligned."""

import copy
import pickle
import re
import warnings
from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.utils import _safe_indexing

from nearer.data.comparisons import Comparisons, as_comparisons

triplet, quadruplet = Comparisons.from_triplets, Comparisons.from_quadruplets
NAN = float("nan")
ROWS = [[0, 1, 2], [1, 2, 3], [3, 0, 1], [2, 0, 3]]
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no defect


@st.composite
def comparison_sets(draw, labelled=False):
    """Sets of every shape: triplets or quadruplets, each of the row-wise arrays there or not."""
    n, m = draw(st.integers(4, 7)), draw(st.integers(2, 12))
    triplets = draw(st.booleans())
    row = st.permutations(range(n)).map(lambda order: order[: 3 if triplets else 4])
    rows = draw(st.lists(row, min_size=m, max_size=m))

    def maybe(values):
        return draw(st.none() | st.lists(values, min_size=m, max_size=m))

    names = [f"object {index}" for index in range(n)]
    make = triplet if triplets else quadruplet
    return make(
        [[names[index] for index in row] for row in rows] if labelled else rows,
        maybe(st.sampled_from([-1, 1])),
        weights=maybe(st.floats(0.5, 2)),
        annotators=maybe(st.sampled_from(["ann", "bob"])),
        trials=maybe(st.integers(0, 3)),
        **({"objects": names} if labelled else {"n_objects": n}),
    )


def records(comparisons):
    """One hashable record a row, in labels, so that sets over different objects can be compared."""
    columns = [[tuple(row) for row in comparisons.objects[comparisons.oriented].tolist()]]
    columns += [comparisons.sample_weight.tolist()]
    for labels in (comparisons.annotators, comparisons.trials):
        columns.append([None] * len(comparisons) if labels is None else labels.tolist())
    return list(zip(*columns, strict=True))


# What is accepted


def test_indices_count_objects_up_to_the_largest():
    comparisons = triplet([[0, 1, 5]])
    assert comparisons.n_objects == 6
    assert comparisons.objects.tolist() == [0, 1, 2, 3, 4, 5]
    assert triplet([[0, 1, 5]], n_objects=9).n_objects == 9


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_rows_are_shared_and_the_callers_array_stays_writeable(dtype):
    rows = np.array(ROWS, dtype=dtype)
    comparisons = triplet(rows)
    assert np.shares_memory(comparisons.rows, rows)
    assert rows.flags.writeable
    assert not comparisons.rows.flags.writeable


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float32, np.float64, object, ">i4"])
def test_other_number_types_become_signed_indices(dtype):
    comparisons = triplet(np.array(ROWS).astype(dtype))
    assert comparisons.rows.dtype in (np.int32, np.int64)
    assert comparisons.rows.tolist() == ROWS
    assert comparisons.n_objects == 4


@pytest.mark.parametrize(
    ("row", "objects"),
    [
        (("cat", "dog", "car"), ["car", "cat", "dog"]),
        ((("b", 1), ("a", 2), ("a", 1)), [("a", 1), ("a", 2), ("b", 1)]),
        (((1, 0), (0, 2), (0, 1)), [(0, 1), (0, 2), (1, 0)]),  # asarray would make a third axis of these
        (((0,), (0, 1), (0, 1, 2)), [(0,), (0, 1), (0, 1, 2)]),
        (("cat", 2, 1.5), ["cat", 2, 1.5]),  # cannot be sorted: in order of appearance; 2 stays an integer
        ((b"y", b"z", b"x"), [b"x", b"y", b"z"]),
        ((frozenset("ab"), "b", None.__class__), [frozenset("ab"), "b", None.__class__]),
    ],
)
def test_labels_of_all_kinds(row, objects):
    comparisons = triplet([row])
    assert comparisons.objects.tolist() == objects
    assert [comparisons.objects.tolist()[index] for index in comparisons.rows[0]] == list(row)


def test_labels_that_cannot_be_sorted_stay_those_of_their_rows():
    comparisons = quadruplet([(3, 1, 2, "x")])  # three of them can, which once moved them
    assert comparisons.objects[comparisons.rows].tolist() == [[3, 1, 2, "x"]]


def test_arrays_of_labels_match_lists_of_labels():
    listed = [("cat", "dog", "car"), ("dog", "cat", "bus")]
    expected = triplet(listed)
    for rows in (np.array(listed), np.array(listed, dtype=object), tuple(listed), iter(listed)):
        comparisons = triplet(rows)
        assert comparisons.objects.tolist() == expected.objects.tolist() == ["bus", "car", "cat", "dog"]
        assert comparisons.rows.tolist() == expected.rows.tolist()


def test_dates_are_labels():
    days = np.array([["2020-01-03", "2020-01-01", "2020-01-02"]], dtype="datetime64[ns]")
    comparisons = triplet(days)
    assert (comparisons.objects[comparisons.rows] == days).all()
    assert comparisons.reindex(days[0]).rows.tolist() == [[0, 1, 2]]


def test_given_objects_make_labels_of_integers():
    comparisons = triplet([[10, 30, 20]], objects=[30, 20, 10, 5])
    assert comparisons.rows.tolist() == [[2, 0, 1]]
    assert comparisons.n_objects == 4
    assert triplet([[10.0, 30.0, 20.0]], objects=[30, 20, 10]).rows.tolist() == [[2, 0, 1]]


def test_given_objects_are_copied():
    objects = np.array([3, 4, 5])
    comparisons = triplet([[3, 4, 5]], objects=objects)
    objects[0] = 4
    assert comparisons.objects.tolist() == [3, 4, 5]


def test_frames_are_read_through_to_numpy():
    class Frame:
        def to_numpy(self):
            return np.array(ROWS)

    assert triplet(Frame()).rows.tolist() == ROWS


@pytest.mark.parametrize("y", [[1, -1, -1, 1], [1.0, -1.0, -1.0, 1.0], [True, False, False, True]])
def test_answers_of_all_kinds(y):
    for given_y in (y, np.array(y), np.array(y, dtype=object)):
        answers = triplet(ROWS, given_y).answers
        assert answers.dtype == np.int8
        assert answers.tolist() == [1, -1, -1, 1]


def test_repeats_and_contradictions_are_data():
    assert len(triplet([[0, 1, 2], [0, 1, 2], [0, 2, 1]])) == 3


# What is refused

REFUSED_ROWS = [
    (triplet, [[0, 1, 2, 3]], ["3 columns (triplets)", "got 4", "from_quadruplets"]),
    (quadruplet, [[0, 1, 2]], ["4 columns (quadruplets)", "got 3", "from_triplets"]),
    (as_comparisons, [[0, 1]], ["3 columns (triplets) or 4 columns", "got 2", "(1, 2)"]),
    (as_comparisons, [0, 1, 2], ["1-D", "(3,)", "Reshape your data"]),
    (as_comparisons, ["cat", "dog", "car"], ["1-D", "Reshape your data"]),
    (as_comparisons, np.zeros((2, 3, 3), int), ["3-D", "(2, 3, 3)"]),
    (as_comparisons, [[[0, 1, 2]]], ["3-D", "(1, 1, 3)"]),
    (as_comparisons, "cat", ["list of rows", "str"]),
    (as_comparisons, 7, ["list of rows", "int"]),
    (as_comparisons, [[0, 1, 2], [0, 1, 2, 3], [0, 1]], ["row 1: has 4 entries", "2 such rows", "same number"]),
    (as_comparisons, [("a", "b", "c"), 5], ["row 1: 5 is not a row"]),
    (as_comparisons, np.empty((0, 3), int), ["0 sample(s) (shape=(0, 3)) while a minimum of 1 is required"]),
    (as_comparisons, [], ["0 sample(s) (shape=(0,)) while a minimum of 1 is required"]),
    (as_comparisons, np.empty((12, 0)), ["0 feature(s) (shape=(12, 0)) while a minimum of 3 is required:"]),
    (as_comparisons, np.ones((3, 1)) + 1j, ["Complex data not supported"]),
    (triplet, [[0, 1, 2], [0, 1.5, 2]], ["row 1: 1.5 is not an integer", "objects="]),
    (triplet, [[0, 1, 2], [0, NAN, 2]], ["row 1: an entry is NaN", "drop"]),
    (triplet, np.array([[0, 1, np.inf]]), ["row 0: an entry is inf"]),
    (triplet, np.ma.masked_equal([[0, 1, 2], [0, 1, 9]], 9), ["row 1: has a masked entry"]),
    (triplet, [[0, 1, 2], [0, 1, -3]], ["row 1: index -3 is negative", "objects="]),
    (triplet, [[0, 1, 2**40]], ["row 0: index 1099511627776", "objects="]),
    (triplet, [[0, 1, 2**70]], ["row 0: index", "objects="]),
    (triplet, np.array([[True, False, True]]), ["bool"]),
    (triplet, [("cat", "dog", None)], ["row 0: None is no label"]),
    (triplet, [("cat", "dog", "car"), ("cat", NAN, "dog")], ["row 1: nan is no label"]),
    (triplet, [("cat", True, "dog")], ["row 0: True is no label"]),
    (triplet, [("cat", "dog", "car"), ("cat", "cat", "dog")], ["row 1: object 'cat' is compared with itself"]),
    (triplet, [[0, 1, 2], [4, 1, 4]], ["row 1: object 4 is compared with itself", "without_degenerate(rows, y)"]),
    (quadruplet, [[5, 5, 1, 2]], ["row 0: object 5 is compared with itself"]),
    (quadruplet, [[1, 2, 6, 6]], ["row 0: object 6 is compared with itself"]),
    (triplet, [[0, 1, 2], [0, 3, 3]], ["row 1: near and far are the same pair, 0 and 3", "without_degenerate"]),
    (quadruplet, [[0, 1, 0, 1]], ["row 0: near and far are the same pair, 0 and 1"]),
    (quadruplet, [("a", "b", "b", "a")], ["row 0: near and far are the same pair, 'a' and 'b'"]),
    (triplet, [[0, 0, 1]] * 9 + [[0, 1, 2]], ["row 0:", "(9 such rows in all: 0, 1, 2, 3, 4, ...)"]),
]


@pytest.mark.parametrize(("make", "rows", "said"), REFUSED_ROWS)
def test_bad_rows_are_refused(make, rows, said):
    with pytest.raises(ValueError, match=re.escape(said[0])) as refusal:
        make(rows)
    for words in said[1:]:
        assert words in str(refusal.value)


REFUSED_ARGUMENTS = [
    ({"y": [1, -1, 0, 1]}, ["row 2: y is 0", "+1 and -1"]),
    ({"y": [1, 0, 0, 1]}, ["row 1: y is 0", "2 such rows", "or bools"]),
    ({"y": [1, 1, 2.5, 1]}, ["row 2: y is 2.5"]),
    ({"y": [1, 1, NAN, 1]}, ["row 2: y is NaN"]),
    ({"y": [1, None, 1, 1]}, ["row 1: y is None"]),
    ({"y": ["yes", "no", "no", "no"]}, ["y holds", "'yes'", "bools"]),
    ({"y": [1, 1, 1]}, ["y has 3 values for 4 rows"]),
    ({"y": [[1], [1], [1], [1]]}, ["y must be 1-D", "(4, 1)"]),
    ({"y": [[1], [1, 1], 1, 1]}, ["y is not a 1-D array"]),
    ({"weights": [1, 1]}, ["weights has 2 values for 4 rows"]),
    ({"weights": [1, -2, 1, 1]}, ["row 1: weight -2.0 is negative", "nonnegative"]),
    ({"weights": [1, NAN, 1, 1]}, ["row 1: weights is NaN"]),
    ({"weights": [1, 1, 1, float("inf")]}, ["row 3: weight is inf"]),
    ({"weights": [0, 0, 0, 0]}, ["all weights are zero"]),
    ({"weights": "heavy"}, ["weights holds", "'heavy'"]),
    ({"annotators": ["ann"]}, ["annotators has 1 values for 4 rows"]),
    ({"annotators": ["ann", None, "bob", "bob"]}, ["row 1: annotators has no label (None)"]),
    ({"annotators": "anna"}, ["annotators must be a sequence of labels"]),
    ({"trials": [0, 1, 2, 3, 4]}, ["trials has 5 values for 4 rows"]),
    ({"trials": [0, 1, NAN, 3]}, ["row 2: trials has no label"]),
    ({"trials": np.zeros((4, 2))}, ["trials must be 1-D", "(4, 2)"]),
    ({"n_objects": 3}, ["row 1: index 3 is out of range for n_objects=3", "3 such rows", "n_objects=4"]),
    ({"n_objects": 0}, ["n_objects=0 is not a positive integer"]),
    ({"n_objects": 2.5}, ["n_objects=2.5 is not a positive integer"]),
    ({"n_objects": True}, ["n_objects=True is not a positive integer"]),
    ({"objects": [0, 1, 2, 3, 1]}, ["objects holds 1 twice, at 1 and 4"]),
    ({"objects": []}, ["objects is empty"]),
    ({"objects": [0, 1, 2, None]}, ["objects has no label (None)"]),
    ({"objects": [0, 1, 2, "cat"]}, ["row 1: object 3 is not among the 4 objects", "3 such rows"]),
    ({"objects": [0, 1, 2, 3], "n_objects": 5}, ["n_objects=5", "4 labels"]),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED_ARGUMENTS)
def test_bad_arguments_are_refused(arguments, said):
    with pytest.raises(ValueError, match=re.escape(said[0])) as refusal:
        triplet(ROWS, **arguments)
    for words in said[1:]:
        assert words in str(refusal.value)


def test_a_number_of_objects_needs_names_where_objects_have_names():
    assert triplet([("a", "b", "c")], n_objects=3).n_objects == 3
    with pytest.raises(ValueError, match=r"n_objects=5.*3 labels.*objects="):
        triplet([("a", "b", "c")], n_objects=5)


def test_unhashable_labels_and_sparse_matrices_are_type_errors():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        triplet([("a", "b", {"c": 1})])
    with pytest.raises(TypeError, match="sparse"):
        as_comparisons(sparse.csr_array(np.array(ROWS)))


# Leaving out degenerate rows


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([[0, 1, 2], [1, 1, 2], [3, 1, 3], [7, 2, 2], [2, 1, 0]], [0, 4]),
        ([[0, 1, 2, 3], [1, 1, 2, 3], [0, 1, 7, 7], [4, 5, 5, 4], [4, 5, 4, 5], [0, 1, 0, 2]], [0, 5]),
    ],
)
def test_degenerate_rows_are_dropped_with_a_warning(rows, kept):
    m = len(rows)
    with pytest.warns(UserWarning, match=f"dropped {m - 2} of {m} rows") as caught:
        comparisons = Comparisons.without_degenerate(
            rows, [True] * (m - 1) + [False], weights=range(m), annotators=range(m), trials=range(m)
        )
    assert caught[0].filename == __file__
    assert comparisons.rows.tolist() == [rows[index] for index in kept]
    assert comparisons.answers.tolist() == [1, -1]
    for column in (comparisons.weights, comparisons.annotators, comparisons.trials):
        assert column.tolist() == kept
    assert comparisons.n_objects == 8  # object 7 is in dropped rows only


@pytest.mark.filterwarnings("error")
def test_nothing_to_drop_says_nothing():
    comparisons = Comparisons.without_degenerate(ROWS)
    assert comparisons.rows.tolist() == ROWS
    assert Comparisons.without_degenerate(comparisons) is comparisons


def test_dropping_is_refused_where_nothing_would_count():
    with pytest.raises(ValueError, match="all 2 rows"):
        Comparisons.without_degenerate([[0, 0, 1], [2, 1, 1]])
    with pytest.warns(UserWarning, match="dropped 1 of 2"), pytest.raises(ValueError, match="all weights are zero"):
        Comparisons.without_degenerate([[0, 0, 1], [0, 1, 2]], weights=[1, 0])
    with pytest.raises(ValueError, match="pass it alone"):
        Comparisons.without_degenerate(triplet(ROWS), [1, 1, 1, 1])


# Immutable, like a value


def test_nothing_can_be_changed():
    comparisons = triplet(ROWS, [1, 1, 1, -1], weights=[1, 2, 3, 4], annotators=list("abcd"), trials=range(4))
    for name in ("rows", "answers", "weights", "annotators", "trials", "objects"):
        with pytest.raises(FrozenInstanceError):
            setattr(comparisons, name, None)
        with pytest.raises(ValueError, match="read-only"):
            getattr(comparisons, name)[0] = 0
    with pytest.raises(TypeError):
        comparisons[0] = 1


@pytest.mark.parametrize("duplicate", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
@unhurried
@given(comparisons=comparison_sets(labelled=True))
def test_pickles_and_copies(duplicate, comparisons):
    again = duplicate(comparisons)
    assert records(again) == records(comparisons)
    assert repr(again) == repr(comparisons)
    assert again.objects.tolist() == comparisons.objects.tolist()
    with pytest.raises(ValueError, match="read-only"):
        again.rows[0] = 0


def test_repr_is_short():
    assert repr(triplet(ROWS)) == "Comparisons(4 triplets over 4 objects)"
    assert repr(quadruplet([[0, 1, 2, 3]], [1], trials=[0])) == (
        "Comparisons(1 quadruplet over 4 objects; answers, trials)"
    )


def test_is_neither_iterable_nor_an_array():
    with pytest.raises(TypeError):
        iter(triplet(ROWS))
    with pytest.raises(TypeError, match=r"\.rows"):
        np.asarray(triplet(ROWS))
    with pytest.raises(TypeError, match=r"\.rows"):
        triplet(triplet(ROWS))


# Selecting and joining


@unhurried
@given(comparisons=comparison_sets(), data=st.data())
def test_selecting_keeps_rows_aligned(comparisons, data):
    m = len(comparisons)
    positions = data.draw(st.lists(st.integers(-m, m - 1), min_size=1))
    expected = [records(comparisons)[position] for position in positions]
    assert records(comparisons[positions]) == records(comparisons[np.array(positions)]) == expected
    assert records(comparisons[positions[0]]) == expected[:1]
    mask = np.isin(np.arange(m), np.array(positions) % m)
    assert records(comparisons[mask]) == [records(comparisons)[index] for index in np.flatnonzero(mask)]
    assert records(comparisons[::-1]) == records(comparisons)[::-1]
    assert comparisons[positions].n_objects == comparisons.n_objects


@pytest.mark.parametrize("index", [[], slice(0, 0), np.zeros(4, dtype=bool)])
def test_selecting_nothing_is_refused(index):
    with pytest.raises(ValueError, match="selects no rows"):
        triplet(ROWS)[index]


@pytest.mark.parametrize("index", [4, [0, 9], [True, False], [0.5], "rows", [[0, 1]], (0, 1)])
def test_bad_indices(index):
    with pytest.raises(IndexError):
        triplet(ROWS)[index]


@unhurried
@given(comparisons=comparison_sets(), test_size=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_a_split_put_together_is_a_permutation(comparisons, test_size, seed):
    if comparisons.trials is not None and len(set(comparisons.trials.tolist())) == 1:
        with pytest.raises(ValueError, match="one trial"):
            comparisons.split(test_size, random_state=seed)
        return
    train, test = comparisons.split(test_size, random_state=seed)
    assert Counter(records(train + test)) == Counter(records(comparisons))
    assert train.objects.tolist() == test.objects.tolist() == comparisons.objects.tolist()
    if comparisons.trials is not None:
        assert not set(train.trials.tolist()) & set(test.trials.tolist())
    else:
        assert abs(len(test) - test_size * len(comparisons)) <= 1


def test_split_sizes_and_seeds():
    many = triplet(ROWS * 25, weights=range(1, 101))
    assert [len(part) for part in many.split(0.07, random_state=0)] == [93, 7]
    assert [len(part) for part in many.split(30, random_state=0)] == [70, 30]
    first, again, other = (many.split(random_state=seed)[1].weights.tolist() for seed in (0, 0, 1))
    assert first == again != other
    for bad in (0, 100, 0.0, 1.0, True, "half", -3):
        with pytest.raises(ValueError, match="test_size="):
            many.split(bad)
    with pytest.raises(ValueError, match="one row"):
        many[0].split()


def test_split_draws_whole_trials_up_to_the_size_asked():
    comparisons = triplet(ROWS * 30, trials=np.repeat(np.arange(40), 3))
    for seed in range(5):
        train, test = comparisons.split(10, random_state=seed)
        assert (len(train), len(test)) == (108, 12)
    lopsided = triplet(ROWS, trials=["big", "big", "big", "small"])
    sizes = {len(lopsided.split(2, random_state=seed)[1]) for seed in range(20)}
    assert sizes == {1, 3}


def test_concatenate_same_objects_fills_in():
    joined = triplet(ROWS) + triplet(ROWS, [-1] * 4, weights=[2] * 4)
    assert joined.rows.tolist() == ROWS * 2
    assert joined.answers.tolist() == [1] * 4 + [-1] * 4
    assert joined.weights.tolist() == [1] * 4 + [2] * 4
    assert (triplet(ROWS) + triplet(ROWS)).answers is None


def test_concatenate_index_sets_takes_the_larger_number_of_objects():
    joined = Comparisons.concatenate([triplet(ROWS, n_objects=5), triplet(ROWS, n_objects=9), triplet(ROWS)])
    assert joined.n_objects == 9
    assert joined.rows.tolist() == ROWS * 3


@unhurried
@given(first=comparison_sets(labelled=True), second=comparison_sets(labelled=True))
def test_concatenate_over_different_labels(first, second):
    agree = all((getattr(first, name) is None) == (getattr(second, name) is None) for name in ("annotators", "trials"))
    if not agree:
        with pytest.raises(ValueError, match=r"1 of 2 parts have .*all parts or to none"):
            first + second
        return
    joined = first + second
    assert records(joined) == records(first) + records(second)
    assert joined.is_triplets == (first.is_triplets and second.is_triplets)
    assert joined.objects.tolist() == sorted({*first.objects.tolist(), *second.objects.tolist()})


def test_concatenate_keeps_labels_of_different_types_apart():
    joined = triplet(ROWS[:1], annotators=[1]) + triplet(ROWS[:1], annotators=["1"])
    assert joined.annotators.tolist() == [1, "1"]
    assert (triplet(ROWS) + triplet([("a", "b", "c")])).objects.tolist() == [0, 1, 2, 3, "a", "b", "c"]


@pytest.mark.parametrize("parts", [[], [ROWS], [triplet(ROWS), ROWS]])
def test_concatenate_takes_comparisons_only(parts):
    with pytest.raises(ValueError, match="takes one or more Comparisons"):
        Comparisons.concatenate(parts)
    with pytest.raises(TypeError):
        triplet(ROWS) + ROWS


# The mathematics of rows


@unhurried
@given(comparisons=comparison_sets())
def test_oriented_rows_need_no_answers(comparisons):
    oriented = comparisons.oriented
    assert quadruplet(oriented, n_objects=comparisons.n_objects).oriented.tolist() == oriented.tolist()
    reverse = quadruplet(oriented, -np.ones(len(comparisons)), n_objects=comparisons.n_objects)
    assert reverse.oriented.tolist() == oriented[:, [2, 3, 0, 1]].tolist()
    signs = np.ones(len(comparisons)) if comparisons.answers is None else comparisons.answers
    as_written = (oriented == comparisons.quadruplets).all(axis=1)
    assert as_written.tolist() == (signs == 1).tolist()


@unhurried
@given(comparisons=comparison_sets(labelled=True), data=st.data())
def test_relabelling_changes_positions_only(comparisons, data):
    objects = data.draw(st.permutations([*comparisons.objects.tolist(), "extra"]))
    moved = comparisons.reindex(objects)
    assert moved.objects.tolist() == objects
    assert records(moved) == records(comparisons)
    back = moved.reindex(comparisons.objects)
    assert back.rows.tolist() == comparisons.rows.tolist()


def test_over_refuses_labels_it_cannot_find_unless_unused():
    comparisons = triplet([("a", "b", "c"), ("b", "d", "c")])
    with pytest.raises(ValueError, match="row 1: object 'd' is not among the 3 objects"):
        comparisons.reindex(["a", "b", "c"])
    assert comparisons[:1].reindex(["c", "b", "a"]).rows.tolist() == [[2, 1, 0]]
    with pytest.raises(ValueError, match="row 1: object 3 is not among the 3 objects"):
        triplet(ROWS).reindex([0, 1, 2])


def test_over_the_same_labels_is_free():
    comparisons = triplet([("a", "b", "c")])
    assert comparisons.reindex(comparisons.objects) is comparisons
    assert comparisons.reindex(["a", "b", "c"]) is comparisons
    indexed = triplet(np.array(ROWS))
    assert np.shares_memory(indexed.reindex(np.arange(50)).rows, indexed.rows)
    assert indexed.reindex(np.arange(50)).n_objects == 50


# Summary


def questions_by_hand(comparisons):
    """Nearer pairs of each question, by dictionaries of sets."""
    nearer = {}
    for i, j, l, k in comparisons.oriented.tolist():  # noqa: E741
        near, far = frozenset((i, j)), frozenset((l, k))
        nearer.setdefault(frozenset((near, far)), set()).add(near)
    return nearer


@unhurried
@given(comparisons=comparison_sets())
def test_summary_agrees_with_counting_by_hand(comparisons):
    summary = comparisons.summary()
    seen = Counter(index for row in comparisons.rows.tolist() for index in set(row))
    counts = [seen[index] for index in range(comparisons.n_objects)]
    assert (summary.fewest, summary.most) == (min(counts), max(counts))
    assert summary.median == np.median(counts)
    assert summary.n_unseen == counts.count(0)
    questions = questions_by_hand(comparisons)
    assert summary.n_repeated == len(comparisons) - len(questions)
    assert summary.n_contradicted == sum(len(answers) == 2 for answers in questions.values())
    for count, labels in ((summary.n_annotators, comparisons.annotators), (summary.n_trials, comparisons.trials)):
        assert count == (None if labels is None else len(set(labels.tolist())))


def test_summary_of_quadruplets_that_share_objects():
    comparisons = quadruplet([[0, 1, 0, 2], [2, 0, 1, 0], [1, 2, 2, 0], [1, 0, 2, 0]], n_objects=4)
    summary = comparisons.summary()
    assert (summary.most, summary.n_unseen) == (4, 1)
    assert (summary.n_repeated, summary.n_contradicted) == (2, 1)


def test_summary_of_many_objects_does_not_overflow():
    far = 2**17
    rows = np.array([[far, 0, 1], [far, 1, 0], [far, 0, 2]], dtype=np.int32)
    assert (triplet(rows).summary().n_repeated, triplet(rows).summary().n_contradicted) == (1, 1)


def test_summary_reads_well():
    text = str(triplet(ROWS, annotators=["ann"] * 4, trials=[0, 0, 1, 2]).summary())
    assert text.splitlines() == [
        "4 triplets over 4 objects",
        "comparisons per object: fewest 3, median 3, most 3",
        "repeated questions: 0 rows; answered both ways: 0 questions",
        "1 annotator",
        "3 trials",
    ]
    assert str(triplet(ROWS, n_objects=5).summary()).startswith("4 triplets over 5 objects, 1 of them never seen\n")


# The border of estimators


def test_as_comparisons_tells_by_width():
    assert as_comparisons(ROWS).is_triplets
    assert not as_comparisons([[0, 1, 2, 3]], y=[-1], sample_weight=[2.0]).is_triplets


def test_as_comparisons_adds_to_a_set_but_never_overrides():
    bare, full = triplet(ROWS), triplet(ROWS, [1, 1, 1, -1], weights=[1, 2, 3, 4])
    assert as_comparisons(bare) is bare
    added = as_comparisons(bare, [1, 1, 1, -1], [1, 2, 3, 4])
    assert records(added) == records(full)
    with pytest.raises(ValueError, match="answers and y"):
        as_comparisons(full, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="weights and sample_weight"):
        as_comparisons(full, sample_weight=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="y has 1 values for 4 rows"):
        as_comparisons(bare, [1])


def test_as_comparisons_grows_index_sets_only():
    assert as_comparisons(triplet(ROWS), n_objects=7).n_objects == 7
    with pytest.raises(ValueError, match="n_objects=3, but the Comparisons has 4"):
        as_comparisons(triplet(ROWS), n_objects=3)
    with pytest.raises(ValueError, match=r"n_objects=7.*names 3 objects"):
        as_comparisons(triplet([("a", "b", "c")]), n_objects=7)


def test_as_comparisons_over_objects():
    objects = np.array(["d", "c", "b", "a"])
    for rows in ([("a", "b", "c")], triplet([("a", "b", "c")])):
        assert as_comparisons(rows, objects=objects).rows.tolist() == [[3, 2, 1]]


def test_a_subset_without_weight_is_refused_at_the_border():
    comparisons = triplet(ROWS, weights=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="all weights are zero"):
        as_comparisons(comparisons[:2])


class RowCounter(ClassifierMixin, BaseEstimator):
    """Scores 1 if it is handed Comparisons whose weights are still those of their rows."""

    def __init__(self, n_objects=None):
        self.n_objects = n_objects

    def fit(self, X, y=None):
        self.n_fitted_ = len(as_comparisons(X, n_objects=self.n_objects))
        return self

    def score(self, X, y=None):
        assert self.n_fitted_ + len(X) == 12
        return float((X.weights == X.rows[:, 2]).all())


def test_scikit_learn_splits_comparisons():
    rows = np.array([[0, 1, far] for far in range(2, 14)])
    comparisons = triplet(rows, weights=rows[:, 2])
    assert comparisons.shape == (12, 3)
    for train, test in KFold(3).split(comparisons):
        assert _safe_indexing(comparisons, test).rows.tolist() == rows[test].tolist()
        assert _safe_indexing(comparisons, train).weights.tolist() == rows[train, 2].tolist()
    assert cross_val_score(RowCounter(), comparisons, cv=KFold(4, shuffle=True, random_state=0)).tolist() == [1.0] * 4
    search = GridSearchCV(RowCounter(), {"n_objects": [14, 20]}, cv=3, refit=False).fit(comparisons)
    assert search.cv_results_["mean_test_score"].tolist() == [1.0, 1.0]
    train, test = train_test_split(comparisons, test_size=3, random_state=0)
    assert Counter(records(train + test)) == Counter(records(comparisons))


@pytest.mark.parametrize("blank", ["", "  "])
def test_an_empty_cell_is_no_object_and_no_trial(blank):
    with pytest.raises(ValueError, match=r"row 1: .* is no label"):
        Comparisons.from_triplets([("a", "b", "c"), ("a", blank, "c")])
    with pytest.raises(ValueError, match="trials"):
        Comparisons.from_triplets([("a", "b", "c"), ("b", "a", "c")], trials=["t1", blank])


def test_numbers_from_one_are_pointed_out():
    with pytest.warns(UserWarning, match="index 0 never occurs, the lowest is 1; .* subtract 1"):
        Comparisons.from_triplets([[1, 2, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Comparisons.from_triplets([[1, 2, 3]], n_objects=4)


def test_an_answer_left_among_the_objects_is_pointed_out():
    rows = [("a", "b", "c", "yes"), ("b", "c", "a", "no")]
    with pytest.warns(UserWarning, match="column 4 of 4 holds labels, such as 'yes'"):
        Comparisons.from_quadruplets(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Comparisons.from_quadruplets([("a", "b", "c", "d"), ("b", "d", "a", "c")])


def test_chosen_questions_stay_marked():
    first = Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], chosen=[True, False])
    both = first + Comparisons.from_triplets([[2, 0, 1]])
    assert both.chosen.tolist() == [True, False, False]
    assert both[1:].chosen.tolist() == [False, False]
    assert pickle.loads(pickle.dumps(first)).chosen.tolist() == [True, False]
    assert Comparisons.from_triplets([[2, 0, 1]]).was_chosen.tolist() == [False]
    with pytest.raises(ValueError, match="row 1: chosen is 2; pass bools"):
        Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], chosen=[1, 2])
