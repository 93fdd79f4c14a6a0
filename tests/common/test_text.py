"""Numbers and labels as text, strict JSON, and files that are written whole or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest

from nearer._common.arrays import checked_points, is_dask
from nearer._common.files import atomic_path, printable, refuse_special_file
from nearer._common.formatting import (
    decimals,
    format_interval,
    format_level,
    format_money,
    format_number,
    intcomma,
    percent,
    pluralize,
    quote,
    quote_all,
    round_to_two_digits,
    two_digits,
)
from nearer._common.json_files import parse_json, plain_values


@pytest.mark.parametrize(
    ("write", "written"),
    [
        (
            pluralize,
            {(1, "answer"): "1 answer", (12000, "answer"): "12,000 answers", (2, "man", "men"): "2 men"},
        ),
        (intcomma, {(999,): "999", (12000,): "12,000"}),
        (round_to_two_digits, {(12345,): 12000}),
        (two_digits, {(0.123,): "0.12", (123.4,): "123"}),
        (format_number, {(0.1,): "0.1", (1.0,): "1", (1234.5,): "1,234.5", (20000.0,): "20,000"}),
        (decimals, {(0.12345,): "0.123", (None,): "-"}),
        (format_interval, {(0.11, 0.13): "0.110 to 0.130", (None, 0.13): ""}),
        (format_money, {(12.5,): "12.50", (12345.678,): "12,345.68"}),
        (percent, {(0.5,): "50%", (0.031,): "3.1%", (0.06,): "6%", (0.0004,): "0.04%", (0.9999,): "99.99%"}),
        (percent, {(1.0,): "100%", (1 - 1e-7,): "over 99.99%", (1e-7,): "under 0.01%"}),
        (format_level, {(0.95,): "95%", (0.975,): "97.5%"}),
        (quote, {("cat ",): "'cat '", (3,): "3", ("x" * 100,): "'" + "x" * 37 + "...'"}),
        (quote_all, {(("a", "b"),): "'a', 'b'", (tuple(range(9)), 3): "0, 1, 2, ... (9 in all)"}),
        (printable, {("answers.csv",): "answers.csv", (os.fsdecode(b"b\xe4d.csv"),): "b\\xe4d.csv"}),
        (is_dask, {((0, 1, 2),): False}),
    ],
)
def test_what_is_written(write, written):
    assert {arguments: write(*arguments) for arguments in written} == written


def test_points_of_integers_are_those_of_floats():
    assert checked_points([[0], [1]], "points").dtype == np.float64


def test_json_is_strict_and_arrays_are_lists():
    assert parse_json(b'{"error": 0.25}') == {"error": 0.25}
    with pytest.raises(ValueError, match="NaN is no finite number"):
        parse_json(b'{"error": NaN}')
    assert plain_values({"a": np.array([1.0, np.nan]), "b": (np.int64(3),)}) == {"a": [1.0, None], "b": [3]}


def test_a_device_is_no_file():
    with pytest.raises(OSError, match="/dev/zero is a device, not a file; save what it gives in a file"):
        refuse_special_file(Path("/dev/zero"))


def write_half(path):
    with atomic_path(path) as part:
        part.write_text("half")
        raise ZeroDivisionError


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    with atomic_path(tmp_path / "map.csv") as part:
        part.write_text("object,x1")
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "map.csv")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("map.csv", "object,x1")]
