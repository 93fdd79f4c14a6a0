"""Workbooks: a sheet reads as the same table saved as CSV would."""

import datetime
import io

import numpy as np
import pytest

from nearer.io import read_answers, read_features
from nearer.io.delimited import as_text

openpyxl = pytest.importorskip("openpyxl", reason="writes the workbooks that are read here")
pytest.importorskip("python_calamine", reason="reads workbooks: pip install python-calamine")
HEADER = ["anchor", "near", "far", "person", "rt"]
ROWS = [["cat", "dog", "car", 1, 0.5], ["car", "bus", "cat", 2, 1.25], ["dog", "cat", "bus", 2, 3]]


def book(merged=(), hidden=(), **sheets):
    """Return a workbook with these rows in its sheets; ranges are merged in the first."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
    for cells in merged:
        made.worksheets[0].merge_cells(cells)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


@pytest.fixture
def path(tmp_path):
    def write(data):
        (tmp_path / "book.xlsx").write_bytes(data)
        return tmp_path / "book.xlsx"

    return write


def test_a_sheet_reads_as_its_csv(path, tmp_path):
    (tmp_path / "book.csv").write_text("\n".join(",".join(map(str, row)) for row in [HEADER, *ROWS]))
    expected, found = read_answers(tmp_path / "book.csv"), read_answers(path(book(Data=[HEADER, *ROWS])))
    np.testing.assert_array_equal(found.comparisons.rows, expected.comparisons.rows)
    assert found.comparisons.objects.tolist() == expected.comparisons.objects.tolist()
    assert found.annotators.tolist() == ["1", "2", "2"], "whole numbers are no 1.0"
    np.testing.assert_array_equal(found.seconds, [0.5, 1.25, 3.0])


def test_values_as_text():
    values = [3, 3.0, 2.5, True, None, datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4), "a\nb\tc ", -7]
    text = as_text(book(Data=[[f"c{at}" for at in range(len(values))], values]), "book.xlsx")
    as_texts = ["3", "3", "2.5", "true", "", "2024-01-02", "2024-01-02T03:04:00", "a b c", "-7"]
    assert text.splitlines()[1].split("\t") == as_texts


def test_rows_keep_their_numbers_and_empty_columns_go(path):
    rows = [["Pilot of May"], [], [None, *HEADER], [], *([None, *row] for row in ROWS)]
    with pytest.warns(UserWarning, match="1 row above the header was ignored"):
        answers = read_answers(path(book(Data=rows)))
    assert answers.lines.tolist() == [5, 6, 7]
    assert len(answers) == 3


def test_a_header_of_two_rows_and_merged_cells(path):
    rows = [
        ["person", "objects", None, None], [None, "anchor", "near", "far"],
        ["p1", "a", "b", "c"], [None, "b", "c", "a"], ["p2", "c", "a", "b"],
    ]  # fmt: skip
    made = path(book(["A1:A2", "B1:D1", "A3:A4"], Data=rows))
    columns = {"anchor": "objects anchor", "near": "objects near", "far": "objects far"}
    answers = read_answers(made, columns=columns)
    assert answers.annotators.tolist() == ["p1", "p1", "p2"]
    assert answers.lines.tolist() == [3, 4, 5]


def test_which_sheet(path):
    data = book(Data=[HEADER, *ROWS], **{"Second wave": [HEADER, *ROWS[:2]]}, Empty=[], Notes=[["x"]], hidden=["Notes"])
    with pytest.raises(ValueError, match=r"'Data' \(4 rows\), 'Second wave' \(3 rows\).*--sheet Data \(sheet='Data'\)"):
        read_answers(path(data))
    assert len(read_answers(path(data), sheet="Second wave")) == 2
    with pytest.raises(ValueError, match=r"no sheet 'Daten'; it has 'Data', 'Second wave', 'Empty', 'Notes'"):
        read_answers(path(data), sheet="Daten")
    with pytest.raises(ValueError, match="the sheet is empty"):
        read_answers(path(data), sheet="Empty")
    assert len(read_answers(path(book(Data=[HEADER, *ROWS], Empty=[])))) == 3


def test_a_sheet_of_a_file_without_sheets(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\na,b,c\n")
    with pytest.raises(ValueError, match="no workbook and has no sheet 'Data'"):
        read_answers(tmp_path / "a.csv", sheet="Data")


def test_damaged_workbooks(path):
    data = book(Data=[HEADER, *ROWS])
    for size in (300, len(data) // 2, len(data) - 30):
        with pytest.raises(ValueError, match=r"not a whole workbook|a zip archive, not text"):
            read_answers(path(data[:size]))


def test_folders_and_other_readers_take_workbooks(path, tmp_path):
    path(book(Data=[HEADER, *ROWS]))
    assert len(read_answers(tmp_path)) == 3
    (tmp_path / "f").mkdir()
    made = tmp_path / "f" / "size.xlsx"
    made.write_bytes(book(Data=[["object", "size"], ["cat", 1], ["dog", 2.5]]))
    features = read_features(made)
    assert features.values.ravel().tolist() == [1.0, 2.5]
    assert features.objects.tolist() == ["cat", "dog"]
