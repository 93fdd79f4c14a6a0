"""Features are read by label, and what is wrong with them is said."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from nearer.data.features import Features, as_feature_sets

ROWS = {"cat": [0.1, 2.0], "dog": [0.4, 1.0], "cow": [0.9, 0.0]}
LABELS, VALUES = list(ROWS), np.array(list(ROWS.values()))


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        Features(VALUES, LABELS),
        pd.DataFrame(VALUES, index=LABELS),
        pd.DataFrame({"object": LABELS, "size": VALUES[:, 0], "hue": VALUES[:, 1]}),
        pl.DataFrame({"object": LABELS, "size": VALUES[:, 0], "hue": VALUES[:, 1]}),
    ],
    ids=["dict", "features", "index", "column", "polars"],
)
def test_rows_are_found_by_label(given):
    (features,) = as_feature_sets(given)
    np.testing.assert_array_equal(features.of(["cow", "hen", "cat"]), [[0.9, 0.0], [np.nan, np.nan], [0.1, 2.0]])


def test_an_array_is_in_the_order_of_the_objects():
    (features,) = as_feature_sets(VALUES)
    np.testing.assert_array_equal(features.of(["a", "b", "c"]), VALUES)
    with pytest.raises(ValueError, match="3 rows without labels for 4 objects"):
        features.of(["a", "b", "c", "d"])


def test_labels_that_are_numbers_are_found_as_text_too():
    (features,) = as_feature_sets({"0": [1.0], "1": [2.0], "7": [3.0]})
    assert features.labels_for(np.array([0, 1, 2])).tolist() == [0, 1, "7"]


def test_the_index_of_a_frame_that_was_filtered_or_sorted_holds_labels():
    frame = pd.DataFrame(VALUES, index=[0, 1, 2]).iloc[::-1]
    (features,) = as_feature_sets(frame)
    np.testing.assert_array_equal(features.of([0, 1]), VALUES[:2])
    (positional,) = as_feature_sets(pd.DataFrame(VALUES))
    assert positional.objects is None
    (series,) = as_feature_sets(pd.Series(VALUES[::-1, 0], index=LABELS[::-1]))
    np.testing.assert_array_equal(series.of(LABELS), VALUES[:, :1])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_is_called_so_holds_labels_even_if_they_are_numbers(make):
    (features,) = as_feature_sets(make({"size": VALUES[::-1, 0], "Object": [2, 1, 0]}))
    np.testing.assert_array_equal(features.of([0, 1, 2]), VALUES[:, :1])
    (by_index,) = as_feature_sets(pd.DataFrame({"id": [5.0, 6.0, 7.0]}, index=LABELS))
    assert by_index.of(["dog"]).tolist() == [[6.0]], "an index of names comes first"


def test_a_sparse_matrix_is_an_array():
    np.testing.assert_array_equal(Features(csr_matrix(VALUES)).values, VALUES)


@pytest.mark.parametrize("given", [[ROWS, VALUES], (Features(VALUES, LABELS), Features(VALUES))])
def test_several_sets_have_names_of_their_own(given):
    sets = as_feature_sets(given)
    assert [each.name for each in sets] == ["features 1", "features 2"]


def test_sets_may_be_named():
    sets = as_feature_sets({"pixels": ROWS, "words": pd.DataFrame(VALUES, index=LABELS)})
    assert [each.name for each in sets] == ["pixels", "words"]
    assert as_feature_sets(None) == ()


def test_few_columns_are_standardized_and_many_are_not():
    assert Features(VALUES).scaling()[1].tolist() == VALUES.std(axis=0).tolist()
    assert (Features(np.random.default_rng(0).normal(size=(5, 30))).scaling()[1] == 1).all()
    assert (Features(VALUES, standardize=False).scaling()[1] == 1).all()
    assert Features([[1.0, 3.0], [1.0, 4.0]]).scaling()[1].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cat": [1.0], "dog": [1.0, 2.0]}, "the row of dog has the shape"),
        ({"cat": [1.0], "dog": [np.nan]}, "the row of dog holds a value that is not a finite number"),
        ({}, "is empty"),
        ("vectors.csv", r"read it with nearer.io.read_features\('vectors.csv'\)"),
        (pd.DataFrame({"object": LABELS, "kind": ["a", "b", "c"], "size": [1, 2, 3]}), "'kind' hold no numbers"),
        (pd.DataFrame({"object": LABELS}), "no column of numbers"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
        (np.zeros((2, 3, 4)), "must have the shape"),
        (VALUES * 1j, "must be real numbers"),
        (VALUES * 1e200, "as large as 2e[+]200"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        as_feature_sets(given)


def test_features_of_other_objects_are_refused():
    with pytest.raises(ValueError, match="none of the objects: they are called 'a', 'b', and its rows 'cat'"):
        Features(VALUES, LABELS).labels_for(np.array(["a", "b"]))


def test_rows_that_come_later_are_added_and_replace_those_of_the_same_objects():
    first = Features([[1.0, 2.0], [3.0, 4.0]], ["cat", "dog"], "vectors")
    found = first.updated(Features([[5.0, 6.0], [7.0, 8.0]], ["dog.png", "cow.png"]))
    assert found.name == "vectors"
    assert found.of(["cat", "dog"]).tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert len(found.values) == 3
    with pytest.raises(ValueError, match="as many columns"):
        first.updated(Features([[1.0]], ["cow"]))


def test_rows_of_some_objects_under_their_labels():
    among = Features([[1.0], [2.0], [3.0]], ["images/cat.png", "images/dog.png", "images/cow.png"]).among(
        np.array(["dog", "cow", "hen"])
    )
    assert among.objects.tolist() == ["dog", "cow"]
    assert among.values.ravel().tolist() == [2.0, 3.0]
