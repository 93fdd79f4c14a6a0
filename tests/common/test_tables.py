"""Tables as CSV: numbers to the last digit, and cells that do nothing in a spreadsheet."""

import csv
import io

import numpy as np
import pytest

from nearer._common.tables import coordinate_rows, csv_text, escape_formula, rows_from_records, unescape_formula

FORMULAS = ["=1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "''=1"]


@pytest.mark.parametrize("label", [*FORMULAS, "cat", "'tis", "", "a,b", 'a"b', "a\nb"])
def test_labels_come_back_as_they_were(label):
    rows = list(csv.reader(io.StringIO(csv_text([[label, "end"]]), newline="")))
    assert unescape_formula(rows[0][0]) == label
    assert rows[0][0][:1] not in set("=+-@\t\r")


@pytest.mark.parametrize("label", FORMULAS)
def test_formulas_get_one_apostrophe(label):
    assert escape_formula(label) == f"'{label}"


def test_numbers_are_whole_and_what_is_none_is_empty():
    row = [np.float64(1 / 3), np.int64(-2), 1e-300, float("nan"), np.inf, None, -0.5, True]
    assert csv_text([row]) == "0.3333333333333333,-2,1e-300,,,,-0.5,True\r\n"


def test_records_have_all_columns():
    assert rows_from_records([{"a": 1}, {"b": 2, "a": 3}]) == [["a", "b"], [1, None], [3, 2]]
    assert coordinate_rows([3, "b"], [[0.5], [1.5]], ["x1"]) == [["object", "x1"], ["3", 0.5], ["b", 1.5]]
