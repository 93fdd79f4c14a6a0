"""Whole numbers that were written as 13.0 because a cell of their column was empty."""

import pytest

from nearer.io import read_answers


def said(answers):
    comparisons = answers.comparisons
    return [tuple(row) for row in comparisons.objects[comparisons.oriented].tolist()]


def read(tmp_path, text, **options):
    (tmp_path / "answers.csv").write_text(text)
    return read_answers(tmp_path / "answers.csv", **options)


@pytest.mark.parametrize(
    ("floats", "integers"),
    [
        ("anchor,near,far\n11,12,13.0\n13,11,12.0\n", "anchor,near,far\n11,12,13\n13,11,12\n"),
        (
            "anchor,left,right,answer\n11,12,13,13.0\n13,11,12,11.0\n",
            "anchor,left,right,answer\n11,12,13,13\n13,11,12,11\n",
        ),
        (
            "item1,item2,item3,item4,odd\n12,11,14,,14\n11,14,12,13.0,13\n",
            "item1,item2,item3,item4,odd\n12,11,14,,14\n11,14,12,13,13\n",
        ),
        (
            'anchor,shown,chosen\n11.0,"12;13;14",12\n12.0,"[11, 13.0, 14]",13\n',
            'anchor,shown,chosen\n11,"12;13;14",12\n12,"[11, 13, 14]",13\n',
        ),
    ],
)
def test_a_whole_number_with_a_decimal_point_is_the_number(tmp_path, floats, integers):
    answers = read(tmp_path, floats)
    assert said(answers) == said(read(tmp_path, integers))
    assert not any(".0" in label for label in answers.comparisons.objects.tolist())


def test_other_labels_stay_as_written(tmp_path):
    assert "1.0" in read(tmp_path, "anchor,near,far\nv1,1.0,2\n1.0,v1,2\n").comparisons.objects.tolist()
    assert "012" in read(tmp_path, "anchor,near,far\n012,1.0,2\n1,012,2\n").comparisons.objects.tolist()
    assert "1.5" in read(tmp_path, "anchor,near,far\n1.5,1.0,2\n1,1.5,2\n").comparisons.objects.tolist()
