import json

from benchmarks.__main__ import main
from benchmarks.reading import drawn_blocks


def test_both_files_are_read_in_full(capsys):
    assert main(["reading", "--rows", "3000", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["files"]
    assert [result["kind"] for result in results] == ["csv", "parquet"]
    for result in results:
        assert result["rows"] == 3000
        assert 0 < result["processor_seconds"] < 60
        assert 30 < result["peak_memory_mb"] < 1000


def test_no_row_compares_an_object_with_itself():
    for anchor, near, far, _ in drawn_blocks(5000, seed=0):
        assert not ((anchor == near) | (anchor == far) | (near == far)).any()
