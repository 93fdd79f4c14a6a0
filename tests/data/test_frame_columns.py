"""Frames are read by the names of their columns, in every order and by whatever takes comparisons."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from nearer import Comparisons
from nearer.data.labels import TRIPLET_NAMES, object_columns
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import SOE, STE
from nearer.evaluation import comparison_error, held_out_error
from nearer.io import read_answers

POINTS = make_gaussian(10, 2, random_state=0)
ROWS = sample_triplets(POINTS, 300, random_state=1).rows
NAMED = {"near": ROWS[:, 1], "far": ROWS[:, 2], "anchor": ROWS[:, 0]}
SPELLINGS = [
    ("anchor", "near", "far"), ("i", "j", "k"), ("head", "winner", "loser"), ("Reference", "More similar", "Loser"),
]  # fmt: skip


def make_pandas(table):
    return pytest.importorskip("pandas").DataFrame(table)


def make_polars(table):
    return pytest.importorskip("polars").DataFrame(table)


def make_pyarrow(table):
    return pytest.importorskip("pyarrow").table(table)


MAKES = pytest.mark.parametrize("make", [make_pandas, make_polars, make_pyarrow, dict])


@MAKES
@pytest.mark.parametrize("names", SPELLINGS, ids=" ".join)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_triplets_are_read_by_name(make, names, order):
    frame = make({names[at]: ROWS[:, at] for at in order})
    assert Comparisons.from_triplets(frame).rows.tolist() == ROWS.tolist()
    labels = np.array([f"object {k}" for k in range(10)])
    frame = make({names[at]: labels[ROWS[:, at]] for at in order})
    read = Comparisons.from_triplets(frame)
    assert read.objects[read.rows].tolist() == labels[ROWS].tolist()


@MAKES
@pytest.mark.parametrize("names", [("near_1", "near_2", "far_1", "far_2"), ("i", "j", "l", "k")], ids=" ".join)
def test_quadruplets_are_read_by_name(make, names):
    rows = ROWS[:, [0, 1, 0, 2]]
    frame = make({names[at]: rows[:, at] for at in (3, 0, 2, 1)})
    assert Comparisons.from_quadruplets(frame).rows.tolist() == rows.tolist()


def test_columns_that_nobody_named_are_read_by_position():
    for make in (make_pandas, make_polars):
        assert Comparisons.from_triplets(make(ROWS)).rows.tolist() == ROWS.tolist()


@MAKES
def test_everything_that_takes_comparisons_reads_names(make):
    frame = make(NAMED)
    model, same = STE(random_state=0).fit(frame), STE(random_state=0).fit(ROWS)
    assert np.array_equal(model.embedding_, same.embedding_)
    assert model.score(frame) == same.score(ROWS) > 0.9
    for method in ("predict", "decision_function", "predict_proba"):
        assert np.array_equal(getattr(model, method)(frame), getattr(same, method)(ROWS))
    assert comparison_error(frame, model.embedding_) == comparison_error(ROWS, model.embedding_) < 0.1
    new = {"far": ROWS[:60, 2], "near": ROWS[:60, 1], "anchor": np.full(60, 10)}
    rows = np.column_stack([new["anchor"], new["near"], new["far"]])
    assert np.array_equal(model.place(make(new)), same.place(rows))
    held_out = [held_out_error(STE(random_state=0), each, random_state=0).error for each in (frame, ROWS)]
    assert held_out[0] == held_out[1]


def test_partial_fit_reads_names():
    model, same = (STE(solver="svrg", random_state=0).partial_fit(each) for each in (make_pandas(NAMED), ROWS))
    assert np.array_equal(model.embedding_, same.embedding_)


@pytest.mark.parametrize("make", [make_pandas, make_polars])
def test_frames_pass_through_scikit_learn(make):
    """Its folds cut frames; the names stay."""
    frame = make(NAMED)
    scores = cross_val_score(STE(n_objects=10, random_state=0), frame, cv=3)
    assert scores.tolist() == cross_val_score(STE(n_objects=10, random_state=0), ROWS, cv=3).tolist()
    assert scores.mean() > 0.8
    search = GridSearchCV(SOE(n_objects=10, random_state=0), {"n_components": [1, 2]}, cv=2).fit(frame)
    assert search.best_params_ == {"n_components": 2}
    assert search.best_score_ > 0.8


@MAKES
@pytest.mark.parametrize("names", [("x", "y", "z"), ("a", "b", "c"), ("near", "far", "person"), ("2", "0", "1")])
def test_names_that_say_nothing_are_refused(make, names):
    frame = make({name: ROWS[:, at] for at, name in enumerate(names)})
    model = STE().fit(ROWS)
    for use in (STE().fit, model.predict, model.score, Comparisons.from_triplets):
        with pytest.raises(ValueError, match=r"called '.*rename them anchor, near and far .*df\.to_numpy\(\)"):
            use(frame)


@MAKES
def test_further_columns_are_refused_and_the_way_out_works(make):
    frame = make(NAMED | {"participant": ["p"] * 300})
    with pytest.raises(ValueError, match=r"there is 'participant'.*df\[\['anchor', 'near', 'far'\]\].*read_answers"):
        STE().fit(frame)
    from nearer.io import read_answers

    assert read_answers(frame).comparisons.rows.tolist() == ROWS.tolist()
    frame = make(NAMED | {"answer": np.ones(300)})
    with pytest.raises(ValueError, match=r"'answer'.*as y"):
        STE().fit(frame)


def test_a_column_twice_is_refused():
    pandas = pytest.importorskip("pandas")
    for names in (["anchor", "near", "far", "far"], ["anchor", "far", "far"]):
        with pytest.raises(ValueError, match="'far'"):
            STE().fit(pandas.DataFrame(np.column_stack([ROWS, ROWS[:, 2]])[:, : len(names)], columns=names))


def test_columns_of_a_dict_have_one_length():
    with pytest.raises(ValueError, match="different lengths"):
        STE().fit({"anchor": [0, 1], "near": [1], "far": [2, 2]})


def test_no_name_has_two_meanings():
    names = [name for each in TRIPLET_NAMES.values() for name in each]
    assert len(set(names)) == len(names)
    assert object_columns(["k", "l", "i", "j"]) == [2, 3, 1, 0]


def test_frames_whose_columns_nobody_named_and_names_of_several_levels():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="no known kind of question"):
        read_answers(pandas.DataFrame([[0, 1, 2], [1, 0, 2]]))
    levels = pandas.DataFrame({("q", "anchor"): ["a"], ("q", "near"): ["b"], ("q", "far"): ["c"]})
    with pytest.raises(ValueError, match="names of several levels"):
        read_answers(levels)


def test_an_object_that_is_a_number_here_and_text_there_is_refused():
    frame = pytest.importorskip("pandas").DataFrame({"anchor": [6, 7], "near": [7, 8], "far": ["8", "6"]})
    with pytest.raises(ValueError, match=r"row 0: the object 6 is a number, and elsewhere text .*df.astype\(str\)"):
        Comparisons.from_triplets(frame)
    assert Comparisons.from_triplets(frame.astype(str)).n_objects == 3
    assert read_answers(frame).comparisons.n_objects == 3
