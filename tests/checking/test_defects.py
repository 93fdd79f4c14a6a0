"""Each defect, planted into a clean study, is found, at its level and with the culprits named."""

import json
from dataclasses import replace
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from helpers.studies import Columns, simulate
from scipy.special import comb

from nearer import Comparisons
from nearer._common.findings import Finding, Source
from nearer.checking import check, doctor, message_of
from nearer.checking.random_responders import check_random_responders
from nearer.checking.sample_size import check_curve, check_distances, effective_repeats
from nearer.io import Answers, ReadingReport, read_answers

CLEAN = simulate(seed=1)
MAKE_FITS = (check_random_responders, check_curve, check_distances)
NEED_FITS = {"at-chance", "reversed", "no-signal"}


def examine(answers, code, n_components=2):
    """Return all findings, but for those that need fits, which take most of the time, unless the code is of one."""
    if code in NEED_FITS:
        return check(answers, n_components=n_components, random_state=0)
    quick = tuple(each for each in doctor.CHECKS if each not in MAKE_FITS)
    with mock.patch.object(doctor, "CHECKS", quick):
        return check(answers, n_components=n_components, random_state=0)


def found(answers, code, n_components=2):
    """Return the one finding with a code."""
    findings = examine(answers, code, n_components)
    chosen = [finding for finding in findings if finding.code == code]
    assert len(chosen) == 1, f"{code} is not among {[finding.code for finding in findings]}"
    return chosen[0]


def only_alarm(answers, code, n_components=2):
    """Return the finding with a code after seeing that no other warning or error is raised."""
    findings = examine(answers, code, n_components)
    assert [finding.code for finding in findings if finding.severity in ("error", "warning")] == [code]
    return findings[0]


def as_answers(rows, **changes):
    comparisons = Comparisons.from_triplets(rows) if np.shape(rows)[1] == 3 else Comparisons.from_quadruplets(rows)
    numbers = np.arange(len(comparisons))
    return Answers(comparisons, numbers, "triplet", "answers.csv", numbers + 2, **changes)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))])
def test_clean_studies_raise_no_alarm(seed):
    study = simulate(
        seed, n_objects=20 + 15 * seed, n_people=5 + 5 * seed, per_person=180, slope=[0.7, 1.0, 4.0][seed % 3]
    )
    findings = check(study.answers(), random_state=seed)
    assert findings.worst in ("note", "good"), str(findings)


def test_object_never_compared():
    study = replace(CLEAN, objects=np.append(CLEAN.objects, ["forgotten", "left out"]))
    finding = only_alarm(study.answers(), "never-compared")
    assert finding.severity == "error"
    assert message_of(finding).title.startswith("2 objects")
    assert "'forgotten', 'left out'" in message_of(finding).examples[0]


def test_objects_numbered_from_one():
    rows = CLEAN.shown + 1
    comparisons = Comparisons.from_triplets(rows, n_objects=len(CLEAN.objects) + 1)
    finding = found(CLEAN.answers(comparisons=comparisons), "numbered-from-one")
    assert finding.severity == "warning"


def test_object_hardly_compared():
    everywhere = np.flatnonzero((CLEAN.shown == 7).any(axis=1))
    study = CLEAN[np.delete(np.arange(len(CLEAN.shown)), everywhere[3:])]
    finding = only_alarm(study.answers(), "undersampled-objects")
    assert finding.severity == "warning"
    assert message_of(finding).examples == ("'thing 7': 3",)
    more = found(CLEAN[np.delete(np.arange(len(CLEAN.shown)), everywhere[6:])].answers(), "undersampled-objects")
    assert more.severity == "note"
    assert message_of(more).text != message_of(finding).text


def test_unevenly_compared():
    rng = np.random.default_rng(0)
    often = (CLEAN.shown < 10).sum(axis=1) == 3
    kept = often | (rng.random(len(often)) < 0.08)
    rare = np.tile(np.flatnonzero(often), 12)
    study = CLEAN[np.concatenate([np.flatnonzero(kept & ~often), rare])]
    assert found(study.answers(seconds=None), "uneven-sampling").severity == "note"


def two_groups(shared):
    """Return a study of two groups of objects that have the first ``shared`` objects in common."""
    first, second = simulate(seed=2, n_objects=15), simulate(seed=3, n_objects=15)
    moved = np.where(second.shown < shared, second.shown, second.shown + 15 - shared)
    columns = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("places", "annotators", "seconds")
    }
    objects = np.array([f"thing {number}" for number in range(30 - shared)])
    return Columns(shown=np.concatenate([first.shown, moved]), objects=objects, **columns)


def test_groups_that_no_question_joins():
    finding = found(two_groups(shared=0).answers(), "disconnected")
    assert finding.severity == "error"
    assert len(message_of(finding).examples) == 2
    assert message_of(finding).examples[1].startswith("15 objects: 'thing 15', 'thing 16'")


def test_quadruplets_compare_sizes_of_groups_but_do_not_place_them():
    # 0-3 and 4-7 are compared with each other in every row, yet each can be moved without changing any distance.
    rng = np.random.default_rng(0)
    rows = [[*rng.choice(4, 2, replace=False), *(4 + rng.choice(4, 2, replace=False))] for _ in range(100)]
    assert found(as_answers(rows), "disconnected").severity == "error"


def test_groups_that_turn_about_one_object():
    finding = found(two_groups(shared=1).answers(), "articulation-points")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0].startswith("14 objects about 'thing 0': ")


def test_two_shared_objects_are_no_hinge():
    codes = {finding.code for finding in examine(two_groups(shared=2).answers(), "connected")}
    assert "connected" in codes
    assert "articulation-points" not in codes


def test_object_measured_against_two_others_only():
    others = np.delete(np.arange(len(CLEAN.shown)), np.flatnonzero((CLEAN.shown == 7).any(axis=1)))
    rng = np.random.default_rng(0)
    # Anchors 0 and 1 judge object 7 against all others: its distances from 0 and 1 leave two places.
    added = np.array([[anchor, 7, other] for anchor in (0, 1) for other in range(8, 30)])
    study = CLEAN[np.append(others, rng.choice(others, len(added)))]
    study = study.with_rows(slice(len(others), None), shown=added, seconds=rng.lognormal(1, 0.5, len(added)))
    finding = only_alarm(study.answers(), "few-partners")
    assert "'thing 7'" in message_of(finding).examples[0]


@pytest.mark.parametrize(("anchors", "level"), [([4], "error"), ([4, 9], "warning")])
def test_few_anchors(anchors, level):
    rng = np.random.default_rng(0)
    others = np.setdiff1d(np.arange(20), anchors)
    rows = [[rng.choice(anchors), *rng.choice(others, 2, replace=False)] for _ in range(600)]
    finding = found(as_answers(rows), "few-anchors")
    assert finding.severity == level
    assert message_of(finding).examples == (", ".join(map(str, anchors)),)


def test_undecided_and_bad_rows():
    bad = tuple(Finding("missing", "error", Source("study.csv", line), {"what": "answer"}) for line in range(2, 102))
    answers = CLEAN.answers(report=ReadingReport(n_undecided=1000, n_bad=100, bad_rows=bad))
    assert message_of(found(answers, "undecided")).title == '36% of the answers are "can\'t tell"'
    finding = found(answers, "bad-rows")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0] == "study.csv:2: there is no answer"


def test_what_the_reader_said_is_repeated():
    report = ReadingReport((Finding("comments", "note", Source("study.csv"), {"n_lines": 2}),))
    finding = found(CLEAN.answers(report=report), "reading")
    assert (finding.severity, message_of(finding).title) == ("note", "2 lines of comments were ignored")


def test_few_bad_rows_are_a_note():
    bad = (Finding("missing", "error", Source("study.csv", 9), {"what": "answer"}),)
    answers = CLEAN.answers(report=ReadingReport(n_bad=1, bad_rows=bad))
    assert found(answers, "bad-rows").severity == "note"


def test_spellings_of_one_label():
    labels = [f"thing {number}" for number in range(28)] + ["Caf\u00e9", "cafe\u0301 "]
    finding = only_alarm(replace(CLEAN, objects=np.array(labels)).answers(), "similar-labels")
    assert finding.severity == "warning"
    assert message_of(finding).examples == ("'Caf\u00e9' and 'cafe\u0301 '",)


@pytest.mark.parametrize(("one", "other"), [("13", "13.0"), ("12", "012"), ("cat", "cat.jpg")])
def test_labels_of_one_number_or_one_file(one, other):
    labels = [f"thing {chr(97 + number)}.png" for number in range(28)] + [one, other]
    finding = only_alarm(replace(CLEAN, objects=np.array(labels)).answers(), "similar-labels")
    assert message_of(finding).examples == (f"{one!r} and {other!r}",)


def test_columns_that_share_no_objects():
    rows = CLEAN.answers().comparisons
    triplets = rows.objects[rows.oriented[:, [0, 1, 3]]].astype(object)
    assert not any(finding.code == "one-sided" for finding in examine(CLEAN.answers(), "one-sided"))
    triplets[:, 2] += " (B)"
    table = dict(zip(("anchor", "near", "far"), triplets.T.tolist(), strict=True))
    finding = found(read_answers(table, separate_labels=True), "one-sided")
    assert finding.severity == "warning"
    assert message_of(finding).examples[1].startswith("only ever far")
    assert "(B)" in message_of(finding).examples[1]


def test_misspelt_label():
    labels = np.array([*[f"animal {chr(97 + number)}" for number in range(29)], "elephant", "elefant"])
    once = np.flatnonzero((CLEAN.shown == 29).any(axis=1))[0]
    shown = np.where(CLEAN.shown[once] == 29, 30, CLEAN.shown[once])
    study = replace(CLEAN.with_rows(once, shown=shown), objects=labels)
    finding = found(study.answers(), "misspelled-labels")
    assert finding.severity == "warning"
    assert message_of(finding).examples == ("'elefant' (1 answer), perhaps 'elephant'",)


def test_label_that_means_nothing():
    labels = np.array([*CLEAN.objects[:29], "NaN"])
    assert message_of(only_alarm(replace(CLEAN, objects=labels).answers(), "missing-labels")).examples == ("'NaN'",)


def test_gaps_in_numbers():
    labels = np.delete(np.arange(1, 33), [6, 16]).astype(str)
    finding = found(replace(CLEAN, objects=labels).answers(), "numbering-gaps")
    assert finding.severity == "note"
    assert message_of(finding).examples == ("7, 17",)


def test_double_submission():
    rows = np.insert(np.arange(len(CLEAN.shown)), [11, 501, 502, 1001], [10, 500, 501, 1000])
    finding = only_alarm(CLEAN[rows].answers(), "duplicate-answers")
    assert finding.severity == "warning"
    assert message_of(finding).title == "4 answers were recorded twice"
    assert set(message_of(finding).examples) == {f"lines {line} and {line + 1}" for line in (12, 503, 505, 1005)}


def test_double_submission_of_a_trial():
    rows = np.insert(np.arange(len(CLEAN.shown)), 11, 10)
    answers = CLEAN[rows].answers(seconds=None)
    comparisons = replace(answers.comparisons, trials=rows)
    finding = only_alarm(replace(answers, comparisons=comparisons), "duplicate-answers")
    assert message_of(finding).examples == ("lines 12 and 13",)


def test_whole_seconds_that_coincide_are_no_double_submission():
    study = simulate(seed=4, repeated=0.6)
    study = replace(study, seconds=study.seconds.round())
    codes = [finding.code for finding in examine(study.answers(), "duplicate-answers")]
    assert "duplicate-answers" not in codes


def test_block_pasted_twice():
    rows = np.concatenate([np.arange(1000), np.arange(200, 240), np.arange(1000, len(CLEAN.shown))])
    finding = only_alarm(CLEAN[rows].answers(seconds=None), "repeated-block")
    assert finding.severity == "warning"
    assert message_of(finding).title == "40 answers come again in the same order"
    assert message_of(finding).examples == ("lines 202-241 again as 1002-1041",)


def test_contradictions_are_counted_and_shown():
    rows = [["cat", "dog", "car"], ["cat", "car", "dog"], ["dog", "cat", "car"], ["dog", "cat", "car"]]
    finding = found(as_answers(rows), "contradictions")
    assert finding.severity == "note"
    assert message_of(finding).title == "1 question was answered both ways, of 2 asked more than once"
    assert message_of(finding).examples == ("'cat' nearer to 'dog' than to 'car': 1 answer, the reverse: 1",)


def coin_tosses():
    """Return a study whose answers are coin tosses."""
    study = simulate(seed=5, n_people=12, per_person=400, n_objects=20)
    places = np.random.default_rng(0).integers(2, size=len(study.places))
    return replace(study, places=places)


def test_coin_tosses_contradict_each_other_and_predict_nothing():
    answers = coin_tosses().answers()
    assert found(answers, "contradictions").severity == "warning"
    assert found(answers, "intransitive").severity == "warning"
    assert found(answers, "no-signal").severity == "warning"


def test_person_who_contradicts_themselves():
    study = simulate(seed=6, repeated=0.0)
    again = np.flatnonzero(study.annotators == "p03")[:40]
    rows = np.concatenate([np.arange(len(study.shown)), again])
    twice = study[rows].with_rows(slice(-40, None), places=1 - study.places[again], seconds=study.seconds[again] + 0.1)
    finding = found(twice.answers(), "self-contradictions")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0].startswith("'p03': 40 of 4")


def test_few_questions_that_many_people_contradict_are_counted_as_questions():
    """Ninety cases may be of the same ten questions: their number is stated beside that of the cases."""
    people = [{"n_contradicted": 4, "n_repeated": 10}]
    numbers = {"n_self_repeated": 89, "n_self_contradicted": 36, "self_disagreement": 0.4, "n_questions": 10}
    finding = Finding("self-contradictions", "note", numbers=numbers | {"people": people}, concerned=("p03",))
    title, text, _ = message_of(finding)
    assert title == "In 36 of 89 cases a person who was asked a question again answered it both ways"
    assert text == "They are about 10 different questions; from fewer than 30 no rate of disagreement is estimated."


def test_circle_in_words():
    rows = [["a", "b", "c"], ["a", "c", "d"], ["a", "d", "b"], ["b", "c", "d"]]
    finding = found(as_answers(rows), "intransitive")
    assert message_of(finding).title == "3 questions of 4 take part in intransitive cycles"
    words = set(message_of(finding).examples[0].split("; "))
    assert words == {f"'a' nearer to '{near}' than to '{far}'" for _, near, far in rows[:3]}


def test_contradiction_alone_is_no_circle():
    rows = [["a", "b", "c"], ["a", "c", "b"], ["b", "c", "d"]]
    finding = found(as_answers(rows), "transitive")
    assert finding.severity == "note"
    assert (
        message_of(finding).text
        == "But 1 question was answered both ways, so that no order of distances agrees with all answers."
    )


def test_no_circle_is_a_good_sign_only_where_there_could_be_many():
    rows = [["a", *pair] for pair in combinations("bcdefgh", 2)]
    assert found(as_answers(rows), "transitive").severity == "good"
    few = found(as_answers(rows[:3]), "transitive")
    assert few.severity == "note"
    assert "says little" in message_of(few).text


@pytest.mark.parametrize(("n_repeated", "level"), [(1, "note"), (29, "note"), (30, "good")])
def test_questions_that_were_repeated_agree_only_if_there_are_enough_of_them(n_repeated, level):
    rows = [["a", *pair] for pair in combinations("bcdefghijk", 2)]
    assert found(as_answers(rows + rows[:n_repeated]), "contradictions").severity == level


def test_person_at_chance():
    who = CLEAN.annotators == "p05"
    places = np.random.default_rng(0).integers(2, size=who.sum())
    finding = only_alarm(CLEAN.with_rows(who, places=places).answers(), "at-chance")
    assert finding.severity == "warning"
    assert message_of(finding).title == "1 person answers at chance"
    assert finding.concerned == ("p05",)
    assert message_of(finding).examples[0].startswith("'p05': ")
    nobody = message_of(found(CLEAN.answers(), "at-chance"))
    assert nobody.title == "Nobody is found to answer at chance"
    assert "detect 90% of random responders" in nobody.text


def test_person_who_takes_near_for_far():
    study = simulate(seed=1, slope=3.0)
    who = study.annotators == "p05"
    finding = only_alarm(study.with_rows(who, places=1 - study.places[who]).answers(), "reversed")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0].startswith("'p05': ")


def test_person_too_fast():
    who = CLEAN.annotators == "p02"
    seconds = np.random.default_rng(0).uniform(0.1, 0.4, who.sum())
    finding = only_alarm(CLEAN.with_rows(who, seconds=seconds).answers(), "too-fast")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0].startswith("'p02': half of 150 answers in 0.2")
    assert finding.concerned == ("p02",)


def test_everybody_too_fast():
    assert only_alarm(CLEAN.answers(seconds=CLEAN.seconds / 10), "fast-answers").severity == "warning"


def test_person_who_always_chooses_left():
    who = CLEAN.annotators == "p09"
    findings = check(CLEAN.with_rows(who, places=0).answers(), random_state=0)
    alarms = {finding.code: finding for finding in findings if finding.severity in ("error", "warning")}
    assert set(alarms) <= {"position-bias", "at-chance"}
    assert (
        message_of(alarms["position-bias"])
        .examples[0]
        .startswith("'p09': the left one in 150 of 150 answers (others: ")
    )


def test_person_who_lapses_into_one_place():
    where = np.flatnonzero(CLEAN.annotators == "p04")[40:80]
    finding = only_alarm(CLEAN.with_rows(where, places=1).answers(), "position-runs")
    assert finding.severity == "warning"
    assert message_of(finding).examples[0].startswith("'p04': the right one 4")
    assert finding.concerned == ("p04",)


@pytest.mark.parametrize("sorted_by", ["label", "a list of their own"])
def test_options_in_a_fixed_order_say_nothing_of_people(sorted_by):
    # Everybody has a favorite object and sees much of it: with options in order, they seem to favor a place.
    ranks = np.arange(30) if sorted_by == "label" else np.random.default_rng(3).permutation(30)
    turn = ranks[CLEAN.shown[:, 1]] > ranks[CLEAN.shown[:, 2]]
    shown = np.where(turn[:, None], CLEAN.shown[:, [0, 2, 1]], CLEAN.shown)
    study = replace(CLEAN, shown=shown, places=np.where(turn, 1 - CLEAN.places, CLEAN.places))
    finding = found(study.answers(), "fixed-order")
    assert finding.severity == "note"
    one_sided = study.places == 0
    one_sided[study.annotators != "p09"] = True  # of one person only the answers at the first place are left
    assert examine(study[one_sided].answers(), "position-bias").worst == "note"


def test_file_sorted_by_answer_is_no_lapse():
    study = CLEAN[np.argsort(CLEAN.places, kind="stable")]
    assert examine(study.answers(), "position-runs").worst in ("note", "good")


def test_chosen_object_always_in_the_first_column():
    chosen = CLEAN.places == 1
    shown = np.where(chosen[:, None], CLEAN.shown[:, [0, 2, 1]], CLEAN.shown)
    study = replace(CLEAN, shown=shown, places=np.zeros_like(CLEAN.places))
    assert (
        message_of(only_alarm(study.answers(), "constant-position")).title == "100% of the answers choose the left one"
    )


def test_columns_that_say_nothing():
    confidences = np.full(len(CLEAN.shown), 3.0)
    seconds = np.where(np.arange(len(CLEAN.shown)) % 4, np.nan, CLEAN.seconds)
    answers = CLEAN.answers(confidences=confidences, seconds=seconds)
    assert message_of(found(answers, "constant-column")).title == "The confidences are all 3"
    assert message_of(found(answers, "mostly-missing")).title == "75% of the response times are missing"


def test_times_that_cannot_be():
    assert only_alarm(CLEAN.answers(seconds=CLEAN.seconds * 1000), "time-unit").severity == "warning"
    seconds = CLEAN.seconds.copy()
    seconds[4] = -1
    assert message_of(only_alarm(CLEAN.answers(seconds=seconds), "negative-times")).examples == ("line 6",)


def test_too_few_answers_and_how_many_more():
    finding = found(simulate(seed=1, repeated=0.0)[:90].answers(), "too-few")
    assert finding.severity == "warning"
    assert "0.44 n p log n" in message_of(finding).title  # 90 / (30 * 2 * ln 30)
    assert "about 730 more answers" in message_of(finding).text  # (4 - 0.441) * 204.07


def test_few_answers_are_not_called_coin_tosses():
    codes = {finding.code: finding.severity for finding in check(CLEAN[:70].answers(), random_state=0)}
    assert codes["weak-signal"] == "note"
    assert "no-signal" not in codes


def test_enough_answers():
    assert found(CLEAN.answers(), "enough").severity == "good"


def repeated(rows, times):
    return as_answers(np.repeat(rows, times, axis=0))


def test_one_question_over_and_over_is_not_enough():
    finding = found(repeated([[0, 1, 2]], 50), "too-few")
    assert finding.severity == "warning"
    assert (
        "50 answers to 1 question for 3 objects in 2 dimensions: 0.3 n p log n" in message_of(finding).title
    )  # 1.96 / 6.59
    assert "enough" not in {each.code for each in examine(repeated([[0, 1, 2], [1, 0, 2]], 50), "enough")}


def test_every_question_about_few_objects_is_enough():
    rows = [[a, b, c] for a in range(4) for b in range(4) for c in range(b) if a not in (b, c)]
    assert found(repeated(rows, 3), "enough").severity == "good"
    assert message_of(found(repeated(rows, 1), "rather-few")).text.endswith(
        "ask every question about them three times."
    )


def test_few_questions_are_not_enough_however_often_they_are_asked():
    rows = CLEAN.shown[np.unique(CLEAN.shown, axis=0, return_index=True)[1][:300]]  # 1.5 n p log n
    assert found(repeated(rows, 40), "rather-few").severity == "note"


def test_repeats_are_worth_the_bits_they_tell():
    def bits(times, wrong=0.1):
        number = np.arange(times + 1)  # of wrong answers
        likelihood = wrong**number * (1 - wrong) ** (times - number)
        posterior = likelihood / (likelihood + likelihood[::-1])
        return 1 + (comb(times, number) * likelihood) @ np.log2(posterior)

    for times in (1, 2, 3, 5, 9, 50):
        assert effective_repeats(times) == pytest.approx(bits(times) / bits(1), rel=0.1)


ITEMS = ("item_1", "item_2", "item_3")


def undecided_columns(kind, n_answers=600, share=0.3):
    """Return the columns of a file of clean answers by six people, some of which are "can't tell"."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))
    columns = {"annotator": [f"p{number % 6}" for number in range(n_answers)]}
    shown = np.array([rng.choice(12, 3, replace=False) for _ in range(n_answers)])
    sides = [((points[shown[:, a]] - points[shown[:, b]]) ** 2).sum(axis=1) for a, b in ((1, 2), (0, 2), (0, 1))]
    names = [f"o{number}" for number in range(12)]
    columns |= {
        name: [names[each] for each in shown[:, column]]
        for column, name in enumerate(("anchor", "left", "right") if kind == "triplet" else ITEMS)
    }
    chosen = np.where(sides[2] < sides[1], 1, 2) if kind == "triplet" else np.argmin(sides, axis=0)
    told = [names[shown[number, place]] for number, place in enumerate(chosen)]
    columns["answer" if kind == "triplet" else "odd"] = [
        "can't tell" if rng.random() < share else each for each in told
    ]
    return columns


@pytest.mark.parametrize("kind", ["triplet", "odd-one-out"])
def test_cannot_tell_contradicts_nobody(kind):
    columns = undecided_columns(kind)
    dropped, split = (read_answers(columns, undecided=how) for how in ("drop", "split"))
    before, after = (check(each, random_state=0) for each in (dropped, split))
    n_undecided = dropped.report.n_undecided
    assert 150 < n_undecided < 210
    for name in (
        "n_repeated",
        "n_contradicted",
        "disagreement",
        "n_self_contradicted",
        "n_in_cycles",
        "effective_comparisons",
    ):
        assert after.counts[name] == before.counts[name], name
    assert after.counts["n_contradicted"] == 0
    assert [each.code for each in after if each.severity in ("error", "warning")] == ["undecided"]
    assert (
        message_of(after[0]).title
        == message_of(before[0]).title
        == f'{n_undecided / 6:.0f}% of the answers are "can\'t tell"'
    )
    texts = [next(message_of(each).text for each in findings if each.code == "counts") for findings in (before, after)]
    assert texts[0].endswith(f'questions; {n_undecided} more were "can\'t tell".')
    assert texts[1].endswith(f'questions; {n_undecided} answers are "can\'t tell".')
    assert after.counts["ceiling"] == pytest.approx(n_undecided / 600 / 2, abs=0.01)


def test_who_cannot_tell_is_not_at_chance():
    columns = undecided_columns("triplet", n_answers=1800, share=0.0)
    hesitant = [number for number in range(1800) if number % 6 == 3 and number % 120 != 3]
    for number in hesitant:
        columns["answer"][number] = "can't tell"
    counts = check(read_answers(columns, undecided="split"), random_state=0).counts
    assert (counts["n_judged"], counts["n_at_chance"]) == (6, 0)


def test_only_cannot_tell_is_no_crash():
    columns = undecided_columns("triplet", n_answers=60, share=1.0)
    findings = check(read_answers(columns, undecided="split"), random_state=0)
    assert (findings.counts["n_contradicted"], findings.counts["effective_comparisons"]) == (0, 0)


@pytest.mark.parametrize("extreme", [1e300, 1e-320])
@pytest.mark.parametrize("who", ["some", "all of a person", "one"])
def test_extreme_weights_leave_all_figures_finite(extreme, who):
    answers = CLEAN[:600].answers()
    number = np.arange(600)
    chosen = {"some": number % 9 == 0, "all of a person": answers.annotators == "p03", "one": number == 7}[who]
    weights = np.where(chosen, extreme, 1.0)
    findings = check(replace(answers, comparisons=replace(answers.comparisons, weights=weights)), random_state=0)
    json.dumps(dict(findings.counts), allow_nan=False)
    assert "nan" not in str(findings)


def test_ceiling_is_near_the_noise_of_repeated_questions():
    study = simulate(seed=8, repeated=0.5, slope=1.0, per_person=200)
    findings = check(study.answers(), random_state=0)
    counts = findings.counts
    assert counts["ceiling_low"] < counts["ceiling"] < counts["held_out"] < 0.5
    assert any(finding.code == "ceiling" for finding in findings)


def odd_one_out(seed=9, n_objects=20, n_answers=1500):
    """Return answers that expand to two comparisons each: the odd one is farther from both than they are apart."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_objects, 2))
    shown = np.array([rng.choice(n_objects, 3, replace=False) for _ in range(n_answers)])
    sides = np.stack(
        [((points[shown[:, a]] - points[shown[:, b]]) ** 2).sum(axis=1) for a, b in ((1, 2), (0, 2), (0, 1))]
    )
    odd = (-sides + rng.gumbel(size=sides.shape) * 0.5).argmax(axis=0)  # the side opposite to it is the shortest
    numbers = np.arange(n_answers)
    first, second = shown[numbers, (odd + 1) % 3], shown[numbers, (odd + 2) % 3]
    rows = np.stack([[first, second, shown[numbers, odd]], [second, first, shown[numbers, odd]]]).transpose(2, 0, 1)
    annotators = np.array([f"p{person}" for person in rng.integers(10, size=n_answers)])
    answer_of = np.repeat(numbers, 2)
    comparisons = Comparisons.from_triplets(
        rows.reshape(-1, 3), trials=answer_of, annotators=annotators[answer_of], weights=np.full(2 * n_answers, 0.5)
    )
    return Answers(
        comparisons,
        answer_of,
        "odd-one-out",
        "odd.csv",
        numbers + 2,
        annotators=annotators,
        places=odd.astype(np.int64),
    )


def test_answers_that_expand_to_several_comparisons():
    answers = odd_one_out()
    findings = check(answers, random_state=0)
    assert findings.worst in ("note", "good"), str(findings)
    assert message_of(findings[0]).title == "1,500 answers by 10 people about 20 objects, 3,000 comparisons"
    questions = np.sort(answers.comparisons.rows[:, 1:], axis=1) @ [20, 1] + 400 * answers.comparisons.rows[:, 0]
    times = np.unique(questions, return_counts=True)[1]
    assert findings.counts["effective_comparisons"] == pytest.approx(2**0.6 * (2 * times / (times + 1)).sum() / 2)
