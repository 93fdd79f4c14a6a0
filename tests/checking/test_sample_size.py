"""Whether distances can be trusted, as the doctor sees it, and that no two findings contradict each other."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.studies import simulate

from nearer import Comparisons
from nearer._common.findings import Finding
from nearer.checking import Findings, check, message_of, sample_size
from nearer.checking.context import Context, subsample
from nearer.checking.sample_size import (
    CURVE_CODES,
    check_distances,
    curve_finding,
    distances_finding,
    reconcile,
    replace_curve,
    replace_distances,
)
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL
from nearer.evaluation import SplitHalf, comparison_error
from nearer.evaluation.curves import Trend
from nearer.io.answers import Answers

CODES = {"distances": "good", "distances-roughly": "note", "distances-differ": "warning", "distances-unknown": "note"}


def judged(answers, seed=0):
    context = Context(answers, 2, seed)
    return list(check_distances(context)), context.counts


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "distances"),
        ({"n_people": 12, "per_person": 40}, "distances-roughly"),
        ({"n_people": 3, "per_person": 60}, "distances-differ"),
        ({"n_people": 2, "per_person": 20}, "distances-unknown"),
    ],
)
def test_distances_need_answers(changes, code):
    (finding,), _ = judged(simulate(seed=1, **changes).answers())
    assert (finding.code, finding.severity) == (code, CODES[code])


@pytest.mark.parametrize("seed", range(6))
def test_clean_studies_of_many_sizes_raise_no_alarm(seed):
    n_objects = [10, 20, 30, 50, 70, 90][seed]
    study = simulate(seed, n_objects=n_objects, n_people=10, per_person=12 * n_objects, slope=[0.7, 1.0, 4.0][seed % 3])
    assert judged(study.answers(), seed)[0][0].severity in ("good", "note")


def test_coins_have_no_distances():
    coins = simulate(seed=2, slope=0.0)
    assert judged(coins.answers())[0][0].code == "distances-differ"


def test_the_figure_of_a_part_is_stepped_up_to_all_answers(monkeypatch):
    answers = simulate(seed=3).answers()
    monkeypatch.setattr(sample_size, "subsample", lambda context: subsample(context, 900))
    found = judged(answers)[1]["split_half"]
    whole = 2 * len(answers) / 900 * found["half"] / (1 + (2 * len(answers) / 900 - 1) * found["half"])
    assert found["reliability"] == pytest.approx(whole, rel=1e-3)


def test_what_the_map_itself_shows_takes_the_place_of_the_quick_map():
    findings = check(simulate(seed=1, n_people=5, per_person=60).answers(), random_state=0)
    own = SplitHalf(0.9, 0.95, 0.94, 0.96, 5, 30, "trials")
    replaced = replace_distances(findings, own, 2)
    assert [each for each in replaced if each.code in CODES] == [distances_finding(own, 2)]
    assert len(replaced) == len(findings)


@pytest.mark.parametrize(
    ("seed", "n_objects", "per_person", "repeated"),
    [(2, 40, 60, 0.1), (1, 30, 60, 0.1)]
    + [pytest.param(*study, marks=pytest.mark.slow) for study in ((0, 50, 110, 0.1), (1, 60, 150, 0.1))],
)
def test_the_rule_of_thumb_asks_for_more_answers_unless_they_would_not_help(seed, n_objects, per_person, repeated):
    study = simulate(seed, n_objects=n_objects, per_person=per_person, repeated=repeated)
    findings = check(study.answers(), random_state=seed)
    codes = {finding.code for finding in findings}
    assert codes & CURVE_CODES <= {"still-learning", "weak-signal"}
    assert "rather-few" in codes
    reliable = reconcile(replace_distances(findings, SplitHalf(0.95, 0.97, 0.94, 0.96, 5, 30, "trials"), 2))
    settled = replace_curve(reliable, Trend("settled", "More answers would hardly help."))
    for found, asks in ((reliable, True), (settled, False)):
        assert any("make 4 n p log n" in message_of(finding).text for finding in found) == asks


def test_one_need_is_stated_that_of_the_distances_before_that_of_the_rule_of_thumb():
    findings = check(simulate(2, n_objects=40, per_person=60).answers(), random_state=2)
    texts = {finding.code: message_of(finding).text for finding in findings}
    assert "reliable distances take about" in texts["distances-roughly"] + texts.get("distances-differ", "")
    assert texts["rather-few"].endswith("get 7 to 9 of ten comparisons right if one answer in ten is wrong.")


def test_a_settled_error_is_no_good_sign_while_distances_take_more_answers():
    settled = curve_finding(Trend("settled", "More would hardly help."))
    split = SplitHalf(0.5, 0.7, 0.6, 0.8, 5, 30, "trials")
    both = reconcile(reconcile(Findings("study.csv", (settled, distances_finding(split, 2)))))
    (finding,) = (each for each in both if each.code == "learned")
    assert (finding.severity, message_of(finding).text) == ("note", "More would hardly help. Distances take more.")
    alone = reconcile(replace_distances(both, replace(split, reliability=0.95, low=0.9), 2))
    assert settled in alone


@pytest.mark.parametrize(("per_person", "code"), [(120, "enough"), (12, "rather-few"), (7, "too-few")])
def test_the_rule_of_thumb_promises_nothing_where_people_guess(per_person, code):
    findings = check(simulate(seed=5, n_objects=15, per_person=per_person, slope=0.0).answers(), random_state=0)
    codes = {finding.code: finding for finding in findings}
    assert {code, "distances-differ"} <= codes.keys()
    assert codes[code].severity != "good"
    assert "nine of ten" not in message_of(codes[code]).text
    assert "more answers" not in message_of(codes[code]).text  # how many more stands with the distances
    assert not {"distances", "learned"} & codes.keys()


@pytest.mark.parametrize(("wrong", "lowest", "highest"), [(0.1, 0.86, 0.92), (0.3, 0.6, 0.78)])
def test_the_rule_of_thumb_promises_what_maps_reach(wrong, lowest, highest):
    """Nine of ten comparisons are right where one answer in ten is wrong, and the message says so."""
    size, right = int(4 * 20 * 2 * np.log(20)), []
    for seed in range(6):
        points = make_gaussian(20, 2, random_state=seed)
        asked = sample_triplets(points, size, flipped=wrong, random_state=seed)
        places = CKL(2, random_state=0).fit(asked).embedding_
        right.append(1 - comparison_error(sample_triplets(points), places))
    assert lowest < np.mean(right) < highest
    numbers = {"n_answers": size, "n_objects": 20, "n_components": 2, "n_questions": None, "rule_constant": 4.0}
    numbers |= {"rule_missing": 0, "rule_all_questions": False}
    numbers |= {"settled": False, "doubt": None, "distances_need_more": False}
    assert "if one answer in ten is wrong" in message_of(Finding("enough", "good", numbers=numbers)).text


def test_distances_that_differ_from_split_to_split_are_no_good_sign():
    assert distances_finding(SplitHalf(0.9, 0.95, 0.3, 0.99, 5, 30, "trials"), 2).severity == "note"


def test_a_handful_of_answers_is_not_praised():
    """Thirty odd-one-out answers of three people: nothing that rests on wide intervals is called good, or a bound."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(8, 2))
    rows, trials = [], []
    for trial in range(30):
        shown = rng.choice(8, 4, replace=False)
        away = np.linalg.norm(points[shown][:, None] - points[shown], axis=2).sum(axis=1)
        odd = shown[np.argmax(away + rng.normal(scale=2.0, size=4))]
        rest = shown[shown != odd]
        rows += [[a, b, odd] for a in rest for b in rest if a != b]
        trials += [trial] * 6
    people = np.array(list("ABC"))[np.array(trials) % 3]
    comparisons = Comparisons.from_triplets(rows, n_objects=8, annotators=people, trials=trials)
    lines = np.arange(2, 32)
    answers = Answers(comparisons, np.array(trials), "odd-one-out", "few.csv", lines, annotators=people[::6])
    findings = check(answers, random_state=0)
    codes = {finding.code: finding for finding in findings}
    assert "vague-ceiling" in codes
    assert "ceiling" not in codes
    assert {finding.code for finding in findings if finding.severity == "good"} <= {"connected", "enough"}
    assert not any(" at best (95" in message_of(finding).title and finding.code == "ceiling" for finding in findings)
