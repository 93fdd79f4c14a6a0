"""Integers of Parquet and npz files meet the same labels as text."""

import numpy as np
import pytest

from nearer.data.comparisons import Comparisons
from nearer.io import read_answers
from nearer.io.labels import match_labels

ROWS = [(1, 2, 10), (2, 10, 1), (10, 3, 2)]


def said(comparisons):
    return comparisons.objects[comparisons.rows].tolist()


@pytest.mark.parametrize(("form", "other"), [("npz", "csv"), ("csv", "npz")])
def test_files_of_the_same_objects_meet(tmp_path, form, other):
    (tmp_path / "ints.csv").write_text("anchor,near,far\n" + "\n".join(",".join(map(str, row)) for row in ROWS))
    np.savez(tmp_path / "ints.npz", triplets=np.array(ROWS))
    fitted = read_answers(tmp_path / f"ints.{form}").comparisons
    scored = read_answers(tmp_path / f"ints.{other}").comparisons
    with pytest.raises(ValueError, match="is not among the 4 objects"):
        scored.reindex(fitted.objects)
    over = match_labels(scored, fitted.objects).reindex(fitted.objects)
    assert over.objects.tolist() == fitted.objects.tolist()
    assert said(over) == said(fitted)


def test_new_objects_may_come_with_the_old_ones():
    texts = Comparisons.from_triplets([tuple(map(str, row)) for row in ROWS])
    assert said(match_labels(Comparisons.from_triplets(ROWS, objects=[1, 2, 3, 10]), ["1", "2"])) == said(texts)
    assert said(match_labels(texts, [1, 2, 3, 10, 11])) == [list(row) for row in ROWS]


@pytest.mark.parametrize(
    ("labels", "objects"),
    [
        (("1", "2", "10"), ["1", "2", "10"]),  # already alike
        (("01", "2", "10"), [1, 2, 10]),  # "01" is no spelling of 1
        (("1", "2", "cat"), [1, 2]),
        (("1", "2", "10"), [1, 2, 3]),  # neither side holds the other
        ((1, 2, 10), ["1", "2", "3"]),
    ],
)
def test_labels_that_do_not_meet_stay(labels, objects):
    comparisons = Comparisons.from_triplets([labels], objects=sorted(labels))
    assert match_labels(comparisons, objects) is comparisons


def test_what_comes_with_comparisons_stays():
    comparisons = Comparisons.from_triplets([("1", "2", "10")], [-1], weights=[2.0], annotators=["p"])
    integers = match_labels(comparisons, [10, 1, 2])
    assert (integers.answers.tolist(), integers.weights.tolist(), integers.annotators.tolist()) == ([-1], [2], ["p"])
