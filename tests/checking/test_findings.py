import json

import numpy as np
import pytest
from helpers.studies import simulate

from nearer.checking import Finding, Findings, check, message_of
from nearer.io import ReadingReport


def test_findings_are_sorted_and_keep_the_order_of_checks():
    severities = ["good", "note", "error", "note", "warning"]
    findings = Findings("f", tuple(Finding(str(number), each) for number, each in enumerate(severities)))
    assert [finding.code for finding in findings] == ["2", "4", "1", "3", "0"]
    assert findings.worst == "error"
    assert findings[0] in findings
    assert len(findings[1:]) == 4


def test_nothing_found():
    assert Findings("f").worst == "good"
    assert str(Findings("f")) == "f: nothing found"


def test_everything_is_ready_for_json_and_holds_no_nan():
    findings = check(simulate(seed=0).answers(), random_state=0)
    assert json.loads(json.dumps(findings.to_dicts(), allow_nan=False)) == findings.to_dicts()
    assert json.loads(json.dumps(dict(findings.counts), allow_nan=False))["n_objects"] == 30


def test_figures_cannot_be_changed():
    with pytest.raises(TypeError):
        Findings("f", counts={"n": 1}).counts["n"] = 2


def test_labels_cannot_act_on_a_terminal_and_lines_are_short():
    labels = [f"\x1b[31mthing\x07 {number} " + "long " * 40 for number in range(30)]
    report = str(check(simulate(seed=0, labels=labels).answers(), random_state=0))
    assert "\x1b" not in report
    assert "\x07" not in report
    assert max(map(len, report.splitlines())) <= 100


def test_each_text_is_two_sentences_at_most():
    findings = check(simulate(seed=0)[:300].answers(report=ReadingReport(n_bad=3, n_undecided=700)), random_state=0)
    for finding in findings:
        title, text, _ = message_of(finding)
        assert title
        assert text.endswith(".")
        assert text.count(". ") <= 1


def test_one_seed_gives_one_report():
    answers = simulate(seed=0).answers()
    first, second = (check(answers, random_state=3) for _ in range(2))
    assert str(first) == str(second)
    assert first.counts == second.counts


def test_a_single_answer_is_no_crash():
    for n_answers in (1, 2, 11):
        findings = check(simulate(seed=0)[np.arange(n_answers)].answers(), random_state=0)
        assert findings.counts["n_answers"] == n_answers
    bare = simulate(seed=0)[np.arange(3)].answers(annotators=None, seconds=None, places=None)
    assert check(bare).worst == "error"  # most objects were never asked about


def test_dimension_below_one_is_refused():
    with pytest.raises(ValueError, match="n_components=0"):
        check(simulate(seed=0).answers(), n_components=0)
