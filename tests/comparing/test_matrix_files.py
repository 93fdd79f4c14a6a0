"""Matrices in files: the layouts that are recognized, and the errors of others."""

import numpy as np
import pytest

from nearer.comparing import read_matrix

TRUTH = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [2.0, 4.0, 0.0]])
OBJECTS = ["a", "b", "c"]


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        (tmp_path / "m.csv").write_bytes(text.encode())
        return read_matrix(tmp_path / "m.csv", **options)

    return reader


@pytest.mark.parametrize(
    "text",
    [
        "object,a,b,c\na,0,1,2\nb,1,0,4\nc,2,4,0\n",
        ",c,a,b\r\nb,4,1,0\r\nc,0,2,4\r\na,2,0,1\r\n",  # any order
        '"a" "b" "c"\n"a" 0 1 2\n"b" 1 0 4\n"c" 2 4 0\n',  # write.table of R
        "\ufeffx;a;b;c\na;0;1,0;2\nb;1;0;4\nc;2;4;0\n",  # spreadsheets of half of Europe
        "x\ta\tb\tc\na\t\t1\t2\nb\t\t\t4\nc\t\t\t\n",  # above the diagonal alone
        "x,a,b,c\na,0,,NA\nb,1,0,NaN\nc,2,4,0\n",  # below it
        "x,a,b,c\na,0,0,0\nb,1,0,0\nc,2,4,0\n",  # zeros above
        "a,b,c\n0,1,2\n1,0,4\n2,4,0\n",  # rows in the order of the columns
        "a,b,1\nc,a,2\nb,c,4\n",
        "first,second,distance\na,b,1\na,c,2\nc,b,4\n",
        "a,b,1\na,b,3\nb,a,0\na,c,2\nb,c,4\n",  # several times: 2 one way, 0 the other
        "x,a,b,c\na,0,0.5,2\nb,1.5,0,4\nc,2,4,0\n",  # asymmetric
    ],
)
def test_forms(text, read):
    found = read(text)
    assert found.name == "m"
    np.testing.assert_array_equal(found.reindex(OBJECTS).matrix, TRUTH)


def test_notes_state_what_was_done(read):
    assert "1 pair had different distances" in read("x,a,b,c\na,0,0.5,2\nb,1.5,0,4\nc,2,4,0\n").notes[0]
    assert "above the diagonal are 0" in read("x,a,b,c\na,0,0,0\nb,1,0,0\nc,2,4,0\n").notes[0]
    assert "1 pair had several distances" in read("a,b,1\na,b,3\na,c,2\nb,c,4\n").notes[0]
    assert "order of the columns" in read("a,b,c\n0,1,2\n1,0,4\n2,4,0\n").notes[0]
    known = read("x,a,b,c\na,0,,2\nb,,0,4\nc,2,4,0\n").reindex(["b", "a", "z"])
    assert known.notes == (
        "1 object is not in it, and left out: 'z'",
        "1 object is not on the map, and left out: 'c'",
        "1 of 1 distances are not known, and left out",
    )


def test_features_only_if_asked_for(read):
    table = "object,x,y\na,0,0\nb,3,4\nc,0,1\n"
    with pytest.raises(ValueError, match="--features takes their Euclidean distances"):
        read(table)
    found = read(table, features=True)
    np.testing.assert_allclose(found.reindex(OBJECTS).matrix[0], [0, 5, 1])
    square = "object,a,b,c\na,0,1,2\nb,1,0,4\nc,2,4,0\n"
    np.testing.assert_array_equal(read(square, features=True).matrix, TRUTH)  # a matrix stays one


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0,1,2\n1,0,4\n2,4,0\n", "no names of objects"),
        ("x,a,b,c\na,1,0.2,0.1\nb,0.2,1,0.3\nc,0.1,0.3,1\n", "holds similarities"),
        ("x,a,b,d\na,0,1,2\nb,1,0,4\nc,2,4,0\n", "rows and columns name different objects: 'c', 'd'"),
        ("x,a,b,c\na,0,one,2\nb,1,0,4\nc,2,4,0\n", "row 1 of the matrix holds 'one'"),
        ("x,a,b,c\na,0,1,2\nb,1,0\nc,2,4,0\n", "row 2 of the matrix has 2 cells"),
        ("x,a,b,c\na,0,1\nb,1,0\nc,2,4\n", "row 1 of the matrix has 2 cells where 3 are needed"),
        ("x,a,b,c,c\na,0,1,2,2\nb,1,0,4,4\nc,2,4,0,0\nc,2,4,0,0\n", "names 'c' twice"),
        ("a\nb\n", "has no matrix"),
    ],
)
def test_what_stands_for_nothing_is_refused(text, sentence, read):
    with pytest.raises(ValueError, match=sentence):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        ",1,2,3\n1,0,1,2\n2,1,0,4\n3,2,4,0\n",  # as pandas and R write it
        "1 2 3\n1 0 1 2\n2 1 0 4\n3 2 4 0\n",
        "object,1,2,3,\n1,0,1,2,\n2,1,0,4,\n3,2,4,0,\n",
    ],
)
def test_names_may_be_numbers(text, read):
    found = read(text)
    assert found.objects == ["1", "2", "3"]
    np.testing.assert_array_equal(found.matrix, TRUTH)


def test_distances_that_look_like_names_are_distances(read):
    found = read("0,1,2\n0,1,2\n1,0,1\n2,1,0\n")
    assert found.objects == ["0", "1", "2"]
    np.testing.assert_array_equal(found.matrix, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])


def test_no_object_in_common(read):
    with pytest.raises(ValueError, match="none of the objects of the map, such as 'oak'; its own are 'a', 'b', 'c'"):
        read("a,b,1\na,c,2\nb,c,4\n").reindex(["oak", "elm"])
