"""Coins among people are named, people are not, and where that cannot be known it is said."""

import re

import numpy as np
import pytest
from helpers.planted_coins import is_coin, named, people_who_vary, real_answers, with_coins
from helpers.studies import simulate

from nearer.checking import check
from nearer.checking.case import Case
from nearer.checking.chance import Usual, Verdicts
from nearer.checking.coins import check_chance


def counts(rng, errors, answers):
    """Return how many answers of people with these true errors are wrong, and how many there are."""
    answers = np.broadcast_to(answers, len(errors))
    return rng.binomial(answers, errors).astype(float), answers.astype(float)


@pytest.mark.parametrize("n_coins", [1, 8, 20])
def test_coins_among_people_who_differ_are_told_by_their_counts(n_coins):
    rng = np.random.default_rng(n_coins)
    missed = wrongly = 0
    for _ in range(12):
        errors = np.append(rng.uniform(0.1, 0.3, 39), np.full(n_coins, 0.5))
        found = Verdicts.of(*counts(rng, errors, 300))
        missed += (~found.chance[39:]).sum()
        wrongly += (found.chance | found.reverse)[:39].sum()
        assert found.enough < 300
    assert (missed, wrongly) == (0, 0)


def test_many_coins_leave_what_is_usual_where_it_is():
    rng = np.random.default_rng(0)
    wrong, answers = counts(rng, rng.beta(8, 32, 39), 200)  # mean 0.2, three of four below 0.24
    tossed, tosses = counts(rng, np.full(20, 0.5), 300)
    alone = Usual.of(wrong, answers)
    among = Usual.of(np.append(wrong, tossed), np.append(answers, tosses))
    assert alone.error == pytest.approx(0.2, abs=0.02)
    assert alone.reached == pytest.approx(0.24, abs=0.025)
    assert (among.error, among.reached) == pytest.approx((alone.error, alone.reached), abs=0.01)
    assert np.exp(among.log_shares) == pytest.approx([39 / 59, 20 / 59, 0], abs=0.03)


@pytest.mark.parametrize(("n_people", "n_answers"), [(5, 100), (40, 20), (400, 50)])
def test_people_without_a_coin_among_them_are_not_named(n_people, n_answers):
    rng = np.random.default_rng(n_people)
    n_named = 0
    for _ in range(12):
        errors = np.minimum(rng.beta(5.8, 23.2, n_people), 0.4)  # mean 0.2, standard deviation 0.073
        found = Verdicts.of(*counts(rng, errors, n_answers))
        n_named += (found.chance | found.reverse).sum()
    assert n_named == 0


def test_a_noisy_person_is_no_coin_once_there_are_answers_enough():
    usual = np.linspace(0.15, 0.3, 30)
    answers = np.append(np.full(30, 200.0), [1000.0, 1000.0])
    found = Verdicts.of(np.append(usual, [0.42, 0.49]) * answers, answers)
    assert found.chance.nonzero()[0].tolist() == [31]


def test_with_few_answers_nobody_knows():
    usual = np.linspace(0.15, 0.3, 30)
    answers = np.append(np.full(30, 200.0), 12.0)
    found = Verdicts.of(np.append(usual, 0.5) * answers, answers)
    assert not found.chance.any()
    assert found.enough > 100


def test_a_coin_with_bad_luck_is_not_called_reversed():
    answers = np.full(31, 300.0)
    wrong = np.append(np.linspace(0.15, 0.3, 30), 0.57) * answers  # of 100 coins, one is so far off
    found = Verdicts.of(wrong, answers)
    assert found.chance.nonzero()[0].tolist() == [30]
    wrong[30] = 0.65 * 300
    assert Verdicts.of(wrong, answers).reverse.nonzero()[0].tolist() == [30]


def test_who_errs_as_a_coin_does_where_everybody_nearly_does_is_not_named():
    rng = np.random.default_rng(0)
    found = Verdicts.of(*counts(rng, np.append(rng.uniform(0.43, 0.47, 30), [0.5, 0.5]), 300))
    assert not found.chance.any()
    assert found.enough is None or found.enough > 3000


@pytest.mark.parametrize("n_coins", [8, 20])
def test_planted_coins_are_named_and_nobody_else(n_coins):
    answers = with_coins(people_who_vary(seed=n_coins), n_coins, 300, seed=n_coins)
    chance, reverse, figures = named(answers)
    assert chance == {f"coin {number}" for number in range(n_coins)}
    assert not reverse
    assert figures["n_judged"] == 39 + n_coins
    assert figures["answers_to_tell"] < 300


def test_coins_who_gave_most_of_the_answers_do_not_spoil_the_map_they_are_judged_by():
    answers = with_coins(people_who_vary(seed=3, per_person=60), 20, 300, seed=3)
    chance, reverse, _ = named(answers)
    assert chance == {f"coin {number}" for number in range(20)}
    assert not reverse


def test_the_finding_says_how_many_answers_it_takes():
    answers = with_coins(people_who_vary(seed=1, n_people=12, per_person=200), 2, 300, seed=1)
    (finding,) = check_chance(Case(answers, 2, np.random.default_rng(0))).findings
    assert (finding.level, finding.code, finding.title) == ("warning", "at-chance", "2 people answer at chance")
    assert finding.people == {"coin 0": "answers at chance", "coin 1": "answers at chance"}
    assert re.search(r"From about \d+ answers on nine of ten coins .* and they gave as many\.$", finding.text)


def test_hard_questions_leave_nobody_to_be_told():
    answers = with_coins(simulate(4, n_people=12, per_person=150, slope=0.1).answers(), 2, 150, seed=4)
    outcome = check_chance(Case(answers, 2, np.random.default_rng(0)))
    assert outcome.counts["n_at_chance"] == 0
    assert {finding.code for finding in outcome.findings} <= {"maybe-at-chance"}
    assert all(finding.level == "note" for finding in outcome.findings)


def test_real_people_are_named_as_before_when_coins_join_them():
    answers = real_answers("eggs300")
    if answers is None:
        pytest.skip("no real data: neither $NEARER_DATA nor ../shared/data holds eggs300.npz")
    before = named(answers)
    after = named(with_coins(answers, 8, 300, seed=0))
    assert {person for person in after[0] if is_coin(person)} == {f"coin {number}" for number in range(8)}
    assert {person for person in after[0] | after[1] if not is_coin(person)} <= before[0] | before[1]


def test_the_order_of_the_file_and_the_names_change_nothing():
    columns = simulate(5, n_people=12, per_person=100)
    order = np.random.default_rng(0).permutation(len(columns.shown))
    who = columns.annotators == "p03"
    columns = columns.with_rows(who, places=np.random.default_rng(2).integers(2, size=who.sum()))
    for study in (columns, columns[order]):
        found = check(study.answers(), random_state=0)
        assert [set(finding.people) for finding in found if finding.code == "at-chance"] == [{"p03"}]
