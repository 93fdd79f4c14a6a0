"""The record of what is found out about data."""

import json
import pickle

import pytest

from nearer._common.findings import SEVERITIES, Finding, Source


def test_a_finding_is_compared_by_its_facts():
    finding = Finding("bad-answer", "error", Source("a.csv", 3), {"n": 2}, ("cat",))
    assert finding == Finding("bad-answer", "error", Source("a.csv", 3), {"n": 2}, ("cat",))
    assert finding != Finding("bad-answer", "error", Source("a.csv", 4), {"n": 2}, ("cat",))
    assert len({finding, finding}) == 1
    assert pickle.loads(pickle.dumps(finding)) == finding


def test_a_finding_is_plain_values():
    finding = Finding("too-fast", "warning", numbers={"share": 0.5}, concerned=("Ada",))
    assert json.loads(json.dumps(finding.to_dict())) == {
        "code": "too-fast",
        "severity": "warning",
        "source": None,
        "numbers": {"share": 0.5},
        "concerned": ["Ada"],
    }


@pytest.mark.parametrize(("row", "written"), [(None, "a.csv"), (7, "a.csv:7")])
def test_a_source_is_written_as_file_and_row(row, written):
    assert str(Source("a.csv", row)) == written


def test_severities_are_worst_first():
    assert SEVERITIES == ("error", "warning", "note", "good")
