"""Random responders are detected, attentive people are not flagged, and the power is reported."""

import re

import numpy as np
import pytest
from helpers.planted_coins import is_coin, named, people_who_vary, real_answers, with_coins
from helpers.studies import simulate

from nearer._common.findings import Finding
from nearer.checking import check, message_of
from nearer.checking.context import Context
from nearer.checking.random_responders import Responders, check_random_responders


def counts(rng, errors, answers):
    """Return how many answers of people with these true errors are wrong, and how many there are."""
    answers = np.broadcast_to(answers, len(errors))
    return rng.binomial(answers, errors).astype(float), answers.astype(float)


@pytest.mark.parametrize("n_coins", [1, 8, 20])
def test_random_responders_are_detected_by_their_counts(n_coins):
    rng = np.random.default_rng(n_coins)
    missed = wrongly = 0
    for _ in range(12):
        errors = np.append(rng.uniform(0.1, 0.3, 39), np.full(n_coins, 0.5))
        found = Responders.from_counts(*counts(rng, errors, 300))
        missed += (~found.at_chance[39:]).sum()
        wrongly += (found.at_chance | found.reverse)[:39].sum()
    assert found.n_for_power < 600
    assert wrongly <= 1
    assert missed <= 0.12 * 12 * n_coins


def test_random_responders_leave_the_estimates_for_attentive_people_where_they_are():
    rng = np.random.default_rng(0)
    wrong, answers = counts(rng, rng.beta(8, 32, 39), 200)
    alone = Responders.from_counts(wrong, answers)
    tossed, tosses = counts(rng, np.full(20, 0.5), 300)
    among = Responders.from_counts(np.append(wrong, tossed), np.append(answers, tosses))
    assert among.at_chance[39:].sum() >= 18
    assert not alone.at_chance.any()
    assert not among.at_chance[:39].any()
    assert among.n_for_power == pytest.approx(alone.n_for_power, rel=0.6)


@pytest.mark.parametrize(("n_people", "n_answers"), [(5, 100), (40, 20), (400, 50)])
def test_attentive_people_alone_are_not_flagged(n_people, n_answers):
    rng = np.random.default_rng(n_people)
    n_studies = 0
    for _ in range(12):
        errors = np.minimum(rng.beta(5.8, 23.2, n_people), 0.4)  # mean 0.2, standard deviation 0.073
        found = Responders.from_counts(*counts(rng, errors, n_answers))
        n_studies += (found.at_chance | found.reverse).any()
    assert n_studies <= 3  # of 12 with a size of 5% each


def test_a_noisy_person_is_not_at_chance_once_there_are_enough_answers():
    usual = np.linspace(0.15, 0.3, 30)
    answers = np.append(np.full(30, 200.0), [1000.0, 1000.0])
    found = Responders.from_counts(np.append(usual, [0.42, 0.49]) * answers, answers)
    assert found.at_chance.nonzero()[0].tolist() == [31]


def test_with_few_answers_nobody_is_flagged_and_more_are_asked_for():
    usual = np.linspace(0.15, 0.3, 30)
    answers = np.append(np.full(30, 200.0), 12.0)
    assert not Responders.from_counts(np.append(usual, 0.5) * answers, answers).at_chance.any()
    few = Responders.from_counts(usual * 12, np.full(30, 12.0))
    assert few.power < 0.5
    assert few.n_for_power > 40


def test_the_reversed_are_worse_than_chance():
    answers = np.full(31, 300.0)
    wrong = np.append(np.linspace(0.15, 0.3, 30), 0.57) * answers
    found = Responders.from_counts(wrong, answers)
    assert found.at_chance.nonzero()[0].tolist() == [30]
    wrong[30] = 0.65 * 300
    assert Responders.from_counts(wrong, answers).reverse.nonzero()[0].tolist() == [30]


@pytest.mark.parametrize("error", [0.375, 0.45])
def test_honest_people_who_err_often_are_not_flagged(error):
    """A study of five people in which everybody errs alike, far from chance by their own answers."""
    rng = np.random.default_rng(0)
    flagged = 0
    for _ in range(20):
        found = Responders.from_counts(*counts(rng, np.full(5, error), 955))
        flagged += (found.at_chance | found.reverse).any()
    assert flagged <= 2


def test_the_reported_number_of_answers_detects_nine_of_ten_random_responders():
    """Where everybody is 7 standard errors from chance in 955 answers, fewer than those are enough."""
    rng = np.random.default_rng(1)
    found = Responders.from_counts(*counts(rng, np.full(5, 0.387), 955))
    assert 100 < found.n_for_power < 955
    detected = 0
    for _ in range(40):
        errors = np.append(np.full(5, 0.387), 0.5)
        detected += Responders.from_counts(*counts(rng, errors, found.n_for_power)).at_chance[5]
    assert detected >= 30
    assert found.power > 0.9


@pytest.mark.parametrize("n_coins", [8, 20])
def test_planted_coins_are_named_and_nobody_else(n_coins):
    answers = with_coins(people_who_vary(seed=n_coins), n_coins, 300, seed=n_coins)
    chance, reverse, figures = named(answers)
    assert chance <= {f"coin {number}" for number in range(n_coins)}
    assert len(chance) >= 0.85 * n_coins
    assert not reverse
    assert figures["n_judged"] == 39 + n_coins
    assert figures["answers_for_power"] < 600


def test_coins_who_gave_most_of_the_answers_do_not_spoil_the_map_they_are_judged_by():
    answers = with_coins(people_who_vary(seed=3, per_person=60), 20, 300, seed=3)
    chance, reverse, _ = named(answers)
    assert chance <= {f"coin {number}" for number in range(20)}
    assert len(chance) >= 17
    assert not reverse


def test_the_finding_says_how_many_answers_it_takes():
    answers = with_coins(people_who_vary(seed=1, n_people=12, per_person=200), 2, 300, seed=1)
    (finding,) = check_random_responders(Context(answers, 2, 0))
    assert (finding.severity, finding.code, finding.concerned) == ("warning", "at-chance", ("coin 0", "coin 1"))
    title, text, _ = message_of(finding)
    assert title == "2 people answer at chance"
    assert re.search(r"About \d+ answers of each person suffice to detect 90% of random responders", text)


@pytest.mark.parametrize("n_for_power", [None, 2300, 15000])
def test_no_number_of_answers_is_promised_beyond_those_simulated(n_for_power):
    numbers = {"power": 0.04, "n_for_power": n_for_power, "typical_error": 0.5, "typical_n_answers": 60}
    text = message_of(Finding("low-power", "note", numbers=numbers)).text
    assert "more than 2,000 answers of each person may be needed to detect 90% of random responders" in text
    assert "suffice" not in text


def test_hard_questions_leave_nobody_to_be_reported():
    answers = with_coins(simulate(4, n_people=12, per_person=150, slope=0.1).answers(), 2, 150, seed=4)
    context = Context(answers, 2, 0)
    findings = [(finding.code, finding.severity) for finding in check_random_responders(context)]
    assert (findings, context.counts["n_at_chance"]) == ([("low-power", "note")], 0)


@pytest.mark.slow
def test_real_people_are_named_as_before_when_coins_join_them():
    answers = real_answers("eggs300")
    if answers is None:
        pytest.skip("no real data: neither $NEARER_DATA nor ../shared/data holds eggs300.npz")
    before = named(answers)
    after = named(with_coins(answers, 8, 300, seed=0))
    assert sum(map(is_coin, after[0])) >= 7
    assert {person for person in after[0] | after[1] if not is_coin(person)} <= before[0] | before[1]


def test_the_order_of_the_file_and_the_names_change_nothing():
    columns = simulate(5, n_people=12, per_person=100)
    order = np.random.default_rng(0).permutation(len(columns.shown))
    who = columns.annotators == "p03"
    columns = columns.with_rows(who, places=np.random.default_rng(2).integers(2, size=who.sum()))
    for study in (columns, columns[order]):
        found = check(study.answers(), random_state=0)
        assert [set(finding.concerned) for finding in found if finding.code == "at-chance"] == [{"p03"}]
