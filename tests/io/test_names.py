"""Numbers without column names, and the names of the objects that they stand for."""

import numpy as np
import pytest

from nearer.io import read_answers

ROWS = np.array([[1, 0, 2], [3, 1, 0], [2, 3, 1], [0, 2, 3], [1, 3, 0], [2, 1, 3]])
NAMES = ["aardvark", "abacus", "accordion", "acorn"]


@pytest.fixture
def triples(tmp_path):
    """A file as THINGS and VICE have them."""
    path = tmp_path / "train_90.txt"
    np.savetxt(path, ROWS, fmt="%d")
    return path


def judgments(answers):
    """Return near and far pairs by the names of their objects."""
    comparisons = answers.comparisons
    return [tuple(map(str, row)) for row in comparisons.objects[comparisons.oriented].tolist()]


def test_the_last_of_a_row_is_the_odd_one(triples):
    found = judgments(read_answers(triples, "odd-one-out"))
    assert {frozenset(each[2:]) for each in found[:2]} == {frozenset("02"), frozenset("12")}
    assert {frozenset(each[:2]) for each in found[:2]} == {frozenset("01")}
    assert len(found) == 2 * len(ROWS)


def test_the_place_of_the_odd_one_is_not_known(triples):
    assert read_answers(triples, "odd-one-out").places is None


def test_an_array_says_the_same(triples, tmp_path):
    np.save(tmp_path / "train.npy", ROWS)
    assert judgments(read_answers(tmp_path / "train.npy", "odd-one-out")) == judgments(
        read_answers(triples, "odd-one-out")
    )


def test_triplets_are_anchor_near_and_far(triples):
    assert judgments(read_answers(triples, "triplet"))[0] == ("1", "0", "1", "2")


def test_without_a_kind_both_readings_are_shown(triples):
    with pytest.raises(ValueError, match=r"(?s)anchor=1,near=2,far=3.*items=1\+2\+3,odd=3"):
        read_answers(triples)


@pytest.mark.parametrize("separator", [" ", "   ", "\t"])
def test_any_white_space_separates(triples, separator):
    before = judgments(read_answers(triples, "odd-one-out"))
    triples.write_text("".join(f" {separator.join(map(str, row))} \n" for row in ROWS.tolist()))
    assert judgments(read_answers(triples, "odd-one-out")) == before


@pytest.mark.parametrize(
    "text",
    ["\n".join(NAMES), "uniqueID\n" + "\n".join(NAMES), "Word\tuniqueID\n" + "\n".join(f"x\t{each}" for each in NAMES)],
)
def test_names_of_a_file_stand_for_numbers(triples, tmp_path, text):
    (tmp_path / "names.txt").write_text(text)
    named = read_answers(triples, "odd-one-out", names=tmp_path / "names.txt")
    assert set(named.comparisons.objects.tolist()) == set(NAMES)
    numbered = judgments(read_answers(triples, "odd-one-out"))
    assert judgments(named) == [tuple(NAMES[int(label)] for label in row) for row in numbered]


def test_numbers_from_one_have_the_same_names(triples):
    np.savetxt(triples, ROWS + 1, fmt="%d")
    assert set(read_answers(triples, "odd-one-out", names=NAMES).comparisons.objects.tolist()) == set(NAMES)


def test_too_few_names_are_refused(triples):
    with pytest.raises(ValueError, match="objects 0 to 3, but there are 3 names"):
        read_answers(triples, "odd-one-out", names=NAMES[:3])


def test_a_name_given_twice_is_refused(triples):
    with pytest.raises(ValueError, match="'accordion' twice"):
        read_answers(triples, "odd-one-out", names=[*NAMES[2:], *NAMES[2:]])


def test_labels_that_are_no_numbers_have_no_names():
    with pytest.raises(ValueError, match="calls an object 'cat'"):
        read_answers({"anchor": ["cat"], "near": ["1"], "far": ["2"]}, names=NAMES)
