import csv
import io

import pytest

from benchmarks.paper import MUSIC, SYNTHETIC, table_rows, table_text
from benchmarks.records import csv_text


def record(error, *, size=1000, method="DMOE", seconds=1.0):
    return {
        "size": size, "method": method, "error": error, "error_strict": error - 0.1, "error_embedding": error + 0.1,
        "n_warnings": 2, "seconds": seconds,
    }  # fmt: skip


def test_a_row_summarizes_the_trials_of_one_method_at_one_size():
    records = [record(0.2), record(0.5), record(0.3), record(0.9, method="STE"), record(0.9, size=200)]
    rows = {(row["size"], row["method"]): row for row in table_rows(SYNTHETIC, records)}
    row = rows[1000, "DMOE"]
    assert (row["trials"], row["min"], row["median"], row["max"], row["n_warnings"]) == (3, 0.2, 0.3, 0.5, 6)
    assert row["std"] == pytest.approx((0.14 / 3) ** 0.5 / 2**0.5, rel=1e-9)
    assert (row["strict_median"], row["embedding_median"]) == pytest.approx((0.2, 0.4))
    assert (row["paper_min"], row["paper_median"], row["paper_max"], row["paper_std"]) == (0.281, 0.298, 0.305, 0.008)
    assert row["limit"] == 0.279
    assert len(rows) == 3


def test_rows_are_ordered_by_size_then_method():
    records = [record(0.1, size=size, method=method) for size in (1000, 200) for method in ("STE", "DMOE")]
    order = [(row["size"], row["method"]) for row in table_rows(MUSIC, records)]
    assert order == [(200, "DMOE"), (200, "STE"), (1000, "DMOE"), (1000, "STE")]


def test_figures_that_do_not_exist_are_dashes():
    rows = table_rows(MUSIC, [record(0.3, size=500)])
    (line,) = (line for line in table_text(MUSIC, rows).splitlines() if line.startswith("DMOE"))
    assert line.split() == ["DMOE", "0.300", "0.300", "0.300", "-", "0.200", "0.400", "-", "-", "-", "-"]


def test_the_music_table_says_what_was_left_out():
    assert "17 of the 9107 rows" in table_text(MUSIC, table_rows(MUSIC, [record(0.3)]))


def test_the_csv_holds_the_same_figures():
    rows = table_rows(SYNTHETIC, [record(0.25), record(0.5, size=500)])
    read = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert [float(line["median"]) for line in read] == [row["median"] for row in rows]
    assert read[0]["paper_median"] == ""
