"""Whether distances can be trusted, as the doctor sees it, and that no two findings contradict each other."""

import pytest
from studies import simulate

from nearer.checking import check
from nearer.checking.distances import check_distances, distances_finding, with_distances
from nearer.checking.enough import CURVE_CODES
from nearer.checking.study import Study
from nearer.reproducibility import SplitHalf
from nearer.streams import stream

CODES = {"distances": "good", "distances-roughly": "note", "distances-differ": "warning", "distances-unknown": "note"}


def judged(answers, seed=0):
    return check_distances(Study(answers, 2, stream(seed, "folds")))


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
    finding = judged(simulate(seed=1, **changes).answers()).findings[0]
    assert (finding.code, finding.level) == (code, CODES[code])


@pytest.mark.parametrize("seed", range(6))
def test_clean_studies_of_many_sizes_raise_no_alarm(seed):
    n_objects = [10, 20, 30, 50, 70, 90][seed]
    study = simulate(seed, n_objects=n_objects, n_people=10, per_person=12 * n_objects, slope=[0.7, 1.0, 4.0][seed % 3])
    assert judged(study.answers(), seed).findings[0].level in ("good", "note")


def test_coins_have_no_distances():
    coins = simulate(seed=2, slope=0.0)
    assert judged(coins.answers()).findings[0].code == "distances-differ"


def test_the_figure_of_a_part_is_stepped_up_to_all_answers(monkeypatch):
    from nearer.checking import distances

    answers = simulate(seed=3).answers()
    part = distances.quick_part
    monkeypatch.setattr(distances, "quick_part", lambda study: part(study, 900))
    found = judged(answers).counts["split_half"]
    whole = 2 * len(answers) / 900 * found["half"] / (1 + (2 * len(answers) / 900 - 1) * found["half"])
    assert found["reliability"] == pytest.approx(whole, rel=1e-3)


def test_what_the_map_itself_shows_takes_the_place_of_the_quick_map():
    findings = check(simulate(seed=1, n_people=5, per_person=60).answers(), random_state=0)
    own = SplitHalf(0.9, 0.95, 0.94, 0.96, 5, 30, "trials")
    replaced = with_distances(findings, own)
    assert [each for each in replaced if each.code in CODES] == [distances_finding(own)]
    assert len(replaced) == len(findings)


@pytest.mark.parametrize(
    ("seed", "n_objects", "per_person", "code"),
    [(0, 50, 110, "learned"), (1, 60, 150, "learned"), (2, 40, 60, "still-learning"), (1, 30, 60, "still-learning")],
)
def test_the_rule_of_thumb_asks_for_more_answers_unless_the_error_has_settled(seed, n_objects, per_person, code):
    study = simulate(seed, n_objects=n_objects, per_person=per_person)
    findings = check(study.answers(), random_state=seed)
    codes = {finding.code: finding for finding in findings}
    assert CURVE_CODES & codes.keys() == {code}
    assert "rather-few" in codes
    assert any("more make 4 n p log n" in finding.text for finding in findings) == (code != "learned")
