"""Groups compared from end to end: what is found, what is left out, what is refused, what is written."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.validity.groups import TwoGroups
from nearer import Comparisons
from nearer.cli.main import main
from nearer.comparing import compare_groups, group_prediction
from nearer.comparing.group_prediction import stratified_folds
from nearer.comparing.groups import assign_groups
from nearer.io import read_answers


@pytest.fixture(scope="module", autouse=True)
def few_folds():
    """Maps shrunk in one of two ways, by three folds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_prediction, "DEPARTURES", (0.2, 0.8))
        patch.setattr(group_prediction, "_MAX_FOLDS", 3)
        yield


STUDY = TwoGroups(9, sizes=(8, 8), n_answers=(80, 80), moved_by=0.8)


@pytest.fixture(scope="module")
def drawn():
    return STUDY.draw(np.random.default_rng(5))


@pytest.fixture(scope="module")
def found(drawn):
    with pytest.MonkeyPatch.context() as patch:
        from helpers.few import one_start

        one_start(patch)
        comparisons, groups, _, _ = drawn
        return compare_groups(comparisons, np.array(["a", "b"])[groups], n_components=2, random_state=0)


def test_a_difference_is_found_where_it_is(found, drawn):
    maps, others = drawn[2:]
    assert found.p_value < 0.01
    assert found.n_people == (8, 8)
    sure = np.flatnonzero(found.pairs[0].is_displaced())
    assert set(sure) & set(others)
    apart = found.pairs[0].displacements
    assert np.argmax(apart.lengths) in others
    assert apart.lows.shape == apart.highs.shape == (9,)
    assert (apart.lows <= apart.lengths + 1e-9).all()
    assert (apart.highs >= apart.lengths - 1e-9).all()
    # The maps of the groups are nearer to their own truth than to the other's.
    from nearer.evaluation import procrustes_error

    for own, other in ((0, 1), (1, 0)):
        assert procrustes_error(found.maps[own], maps[own]) < procrustes_error(found.maps[own], maps[other])


def test_the_own_map_predicts_better(found):
    errors = found.prediction.errors
    assert errors.shape == (2, 3)
    for own, other in ((0, 1), (1, 0)):
        assert errors[own, own] < errors[own, other]
        assert found.prediction.lows[own, own] < errors[own, own] < found.prediction.highs[own, own]
    assert found.prediction.unit == "people"


def test_the_summary_states_the_findings(found):
    text = str(found)
    assert "verdict: the groups have maps of their own; a map of its own lowers no group's held-out error by" in text
    assert "maps of 2 dimensions; tests in 3\n" in text
    assert "test of a difference: p = 0.0002 (4,999 sign flips of people's scores; people compared)" in text
    assert "'a' (8 people, 640 comparisons)" in text
    assert "from 'a' to 'b', displacements as shares of the spread with 95% intervals (p <= 0.05" in text
    # What a difference is worth comes first.
    assert text.index("answers of 'a': lower by 0.") < text.index("p = ") < text.index("displacements")
    assert "for sure" not in text


def test_a_small_effect_comes_with_the_verdict(found):
    small = replace(found.prediction, gains=np.array([0.004, -0.002]), gain_lows=np.array([0.001, -0.008]))
    text = str(replace(found, prediction=small))
    assert "maps of their own; a map of its own lowers no group's held-out error by more than 0.004\n" in text
    assert "answers of 'b': higher by 0.002 (" in text
    gainless = replace(found.prediction, gains=np.array([-0.004, np.nan]))
    assert "lowers no group's held-out error at all" in str(replace(found, prediction=gainless))


@pytest.fixture(scope="module")
def alike():
    """Groups that do not matter, of many answers."""
    comparisons, groups, _, _ = TwoGroups(8, sizes=(20, 20), n_answers=(200, 200)).draw(np.random.default_rng(2))
    return compare_groups(comparisons, groups, n_components=2, bound=0.4, n_permutations=199, random_state=0)


def test_groups_that_are_alike_are_said_to_be(alike):
    assert alike.p_value > 0.05
    assert alike.verdict == "equivalent"
    assert not alike.pairs[0].is_displaced().any()
    assert alike.pairs[0].is_equivalent().all()
    text = str(alike)
    assert "verdict: no difference, and none as large as 0.4 of the spread" in text
    assert "equivalence: all 8 displacements are less than 0.4 of the spread (p = " in text
    assert alike.prediction.log_loss_gains[:, 1].max() <= 0
    assert json.loads(json.dumps(alike.to_dict()))["verdict"] == "equivalent"


def test_no_evidence_of_a_difference_is_no_evidence_of_sameness(alike):
    few = replace(alike, pairs=tuple(replace(pair, displacements=replace(
        pair.displacements, equivalence_p_values=np.linspace(0.01, 0.3, 8))) for pair in alike.pairs))  # fmt: skip
    assert few.verdict == "none found"
    assert "no difference found, which does not rule out one of 0.4 of the spread" in str(few)
    assert "equivalence: 1 of 8 displacements shown to be less than 0.4" in str(few)


def test_the_verdict_takes_what_predicts_people(found):
    assert found.verdict == "different"
    gains = found.prediction.log_loss_gains

    def with_lows(stretched, own, beyond):
        lows = gains.copy()
        lows[:, 1] = stretched, own, beyond
        return replace(found, prediction=replace(found.prediction, log_loss_gains=lows)).verdict

    assert with_lows(0.1, 0.1, -0.1) == "weights"
    assert with_lows(-0.1, 0.1, -0.1) == "different"
    assert with_lows(-0.1, -0.1, -0.1) == "unclear"
    assert with_lows(0.1, 0.1, 0.1) == "different"
    assert replace(found, test=None).verdict == "untested"


def test_weights_of_dimensions_are_told_from_maps_of_their_own():
    """The second group sees the map stretched along a slanted axis."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10, 2))
    axis = np.array([0.6, 0.8])
    seen = (points, points @ (np.eye(2) - 0.75 * np.outer(axis, axis)) * 1.6)
    rows, people = [], []
    for person in range(24):
        for _ in range(100):
            i, j, k = rng.choice(10, 3, replace=False)
            near, far = (np.square(seen[person % 2][i] - seen[person % 2][a]).sum() for a in (j, k))
            rows.append([i, j, k] if rng.random() < 1 / (1 + np.exp(-2 * (far - near))) else [i, k, j])
            people.append(person)
    people = np.array(people)
    judgments = Comparisons.from_triplets(np.array(rows), annotators=people)
    found = compare_groups(judgments, people % 2, n_components=2, n_permutations=199, random_state=0)
    assert found.p_value < 0.05
    assert found.verdict == "weights"
    assert "verdict: the groups have one map but for weights of its dimensions" in str(found)
    assert found.prediction.log_losses[1] < found.prediction.log_losses[0]


def test_a_map_that_is_too_flat_is_tested_in_enough_dimensions():
    comparisons, groups, _, _ = TwoGroups(9, 3, sizes=(10, 10), questions="anchors").draw(np.random.default_rng(0))
    found = compare_groups(comparisons, groups, n_components=1, n_permutations=19, random_state=0)
    assert found.common.shape[1] == 1
    assert found.n_tested >= 3
    assert f"maps of 1 dimension; tests in {found.n_tested}" in str(found)
    assert "the groups were asked about different pairs of objects (" in str(found)
    assert f"rests on {found.n_tested} dimensions being enough" in str(found)
    assert found.overlap < 0.7


def test_groups_that_were_asked_the_same_overlap(alike):
    assert alike.overlap > 0.85
    assert "different pairs" not in str(alike)


def test_names_of_groups_and_order_of_people_change_nothing_but_names(found, drawn, one_start):
    comparisons = drawn[0]
    again = compare_groups(
        comparisons, {person: "first" if person >= 8 else "second" for person in range(16)},
        n_components=2, random_state=0,
    )  # fmt: skip
    assert again.groups == ("first", "second")
    assert again.test.statistic == pytest.approx(found.test.statistic, rel=1e-3)
    vectors, turned = found.pairs[0].displacements.vectors, again.pairs[0].displacements.vectors
    np.testing.assert_allclose(vectors, -turned, atol=1e-2)


def test_people_without_a_group_are_left_out_with_a_note(drawn, one_start):
    comparisons, groups, _, _ = drawn
    named = np.array(["a", "b"])[groups].astype(object)
    named[np.asarray(comparisons.annotators) == 3] = None
    kept = compare_groups(comparisons, named, n_components=2, n_permutations=19, random_state=0)
    assert kept.n_people == (7, 8)
    assert kept.notes == (
        "80 comparisons without a group were left out, among them all comparisons of 3",
    )  # fmt: skip


def test_slips_in_the_column_of_groups_are_noted():
    people = np.repeat(["ann", "bob", "cid"], 20)
    labels = np.repeat(["old", "old", "young"], 20).astype(object)
    triplets = Comparisons.from_triplets(np.tile([0, 1, 2], (60, 1)), annotators=people)
    assert assign_groups(triplets, labels).notes == ()
    labels[20] = "young"
    (note,) = assign_groups(triplets, labels).notes
    assert note.startswith(
        "1 person has nearly all comparisons in one group and a few in another, such as 'bob': 19 of"
    )
    labels[20:30] = "young"  # half of each: a condition, and no slip
    assert assign_groups(triplets, labels).notes == ()
    labels[:20] = "Young "
    assert assign_groups(triplets, labels).notes == ("are 'Young' and 'young' one group? Spell them alike",)


def test_without_people_there_are_maps_and_no_test(drawn, one_start):
    comparisons, groups, _, _ = drawn
    nameless = Comparisons.from_triplets(comparisons.rows, n_objects=9)
    nothing = compare_groups(nameless, groups, n_components=1, random_state=0)
    assert nothing.p_value is None
    assert nothing.pairs[0].object_p_values is None
    assert "no test of groups or objects: the comparisons do not say who answered" in str(nothing)
    assert np.isnan(nothing.pairs[0].displacements.lows).all()
    assert not nothing.pairs[0].is_displaced().any()


def test_three_groups_are_tested_at_once_and_in_pairs(drawn, one_start):
    comparisons, groups, _, _ = drawn
    people = np.asarray(comparisons.annotators)
    three = np.where(people % 2 == 0, groups, 2)  # the third is half of each
    several = compare_groups(comparisons, three, n_components=2, n_permutations=199, random_state=0)
    assert [(pair.first, pair.second) for pair in several.pairs] == [("0", "1"), ("0", "2"), ("1", "2")]
    assert several.pairs[0].p_holm >= several.pairs[0].p_value
    assert several.maps.shape == (3, 9, 2)
    assert several.prediction.errors.shape == (3, 4)


def test_the_smallest_p_of_few_people_is_stated(one_start):
    comparisons, groups, _, _ = TwoGroups(6, sizes=(2, 3), n_answers=(60, 60)).draw(np.random.default_rng(0))
    few = compare_groups(comparisons, groups, n_components=1, random_state=0)
    assert few.test.smallest_p == 1 / 16
    assert few.p_value >= 0.05
    assert "with so few people no p-value can be below 0.062" in str(few)
    assert "few answers for a map of 3 dimensions (16.7 for each coordinate)" in str(few)
    assert "few answers" not in str(replace(few, n_comparisons=(240, 180)))


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (np.zeros(1280), "one group"),
        (np.arange(1280), "at most 20 values"),
        ([1, 2], "2 groups for 1,280 comparisons"),
        ("group", "no column 'group'"),
        ([""] * 1280, "no answer has a group"),
    ],
)
def test_what_is_no_group_is_refused(drawn, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_groups(drawn[0], groups)


def test_groups_of_one_person_each_are_refused(drawn):
    pair = np.isin(np.asarray(drawn[0].annotators), [0, 1])
    people = drawn[0][pair]
    with pytest.raises(ValueError, match="single person"):
        compare_groups(people, people.annotators, n_components=1)


def test_an_object_that_a_group_never_saw_did_not_move(drawn, one_start):
    comparisons, groups, _, _ = drawn
    kept = (groups == 0) | (np.asarray(comparisons.rows) != 4).all(axis=1)
    known = compare_groups(comparisons[kept], groups[kept], n_components=2, n_permutations=19, random_state=0)
    assert np.isnan(known.pairs[0].displacements.lengths).tolist() == [k == 4 for k in range(9)]
    assert not known.pairs[0].is_displaced()[4]
    assert "nobody in '1' was asked about 4" in known.notes


def test_folds_keep_people_whole_and_have_some_of_each_group():
    units, groups = np.repeat(np.arange(10), 3), np.repeat([0] * 7 + [1] * 3, 3)
    folds = stratified_folds(units, groups, np.random.default_rng(0))
    assert all(len(set(folds[units == unit])) == 1 for unit in range(10))
    assert all(set(folds[groups == group]) == {0, 1, 2} for group in (0, 1))


def test_maps_are_never_judged_by_the_answers_they_were_fitted_to():
    units, groups = np.repeat(np.arange(4), 3), np.repeat([0, 0, 0, 1], 3)
    folds = stratified_folds(units, groups, np.random.default_rng(0))
    assert set(folds) == set(folds[groups == 0]) == {0, 1}


def test_a_group_of_one_person_has_no_gain_of_its_own(drawn, one_start):
    comparisons, groups, _, _ = drawn
    kept = (groups == 0) | (np.asarray(comparisons.annotators) == comparisons.annotators[groups == 1][0])
    found = compare_groups(comparisons[kept], groups[kept], n_components=2, n_permutations=19, random_state=0)
    assert found.n_people == (8, 1)
    assert np.isnan(found.prediction.gains).tolist() == [False, True]
    assert found.prediction.n_folds == 2
    assert found.prediction.errors[1, 1] == found.prediction.errors[1, -1]
    assert "too few people to judge a map of its own" in str(found)
    assert np.isnan(found.pairs[0].displacements.highs).all()
    assert not found.pairs[0].is_equivalent().any()
    assert "'1' is one person, who does not tell how much people differ" in str(found)
    displaced = replace(found.pairs[0], object_p_values=np.full(9, 0.01))
    assert "(no interval)" in str(replace(found, pairs=(displaced,)))


def test_people_with_one_answer_each_are_compared(drawn, one_start):
    comparisons, groups, _, _ = drawn
    crowd = replace_annotators(comparisons, np.arange(len(comparisons)))
    found = compare_groups(crowd, groups, n_components=2, n_permutations=99, random_state=0)
    assert found.n_people == (640, 640)
    assert found.p_value == pytest.approx(0.01, abs=0.011)
    alike = np.random.default_rng(0).permutation(groups)
    assert compare_groups(crowd, alike, n_components=2, n_permutations=99, random_state=0).p_value > 0.02


def replace_annotators(comparisons, people):
    """The comparisons as other people's."""
    return Comparisons.from_triplets(comparisons.oriented[:, [0, 1, 3]], annotators=people)


def test_groups_with_no_objects_in_common_are_refused(drawn):
    comparisons, groups, _, _ = drawn
    low = (comparisons.rows < 5).all(axis=1) & (groups == 0)
    high = (comparisons.rows >= 4).all(axis=1) & (groups == 1)
    with pytest.raises(ValueError, match="1 in common"):
        compare_groups(comparisons[low | high], groups[low | high])


def test_where_nothing_is_compared_nothing_is_equivalent(found):
    moves = found.pairs[0].displacements
    nothing = replace(moves, **{name: np.full(9, np.nan) for name in ("lengths", "equivalence_p_values")})
    pair = replace(found.pairs[0], displacements=nothing)
    assert not pair.all_equivalent
    assert replace(found, test=replace(found.test, p_value=0.5), pairs=(pair,)).verdict == "none found"


def test_numbers_that_are_none_are_no_group(drawn):
    values = list(np.where(np.arange(len(drawn[0])) % 2, 1.0, np.nan).astype(np.float32))
    with pytest.raises(ValueError, match=r"all answers are of one group, '1.0'"):
        compare_groups(drawn[0], values)


@pytest.fixture(scope="module")
def file(drawn, tmp_path_factory):
    path = tmp_path_factory.mktemp("groups") / "answers.csv"
    comparisons, groups, _, _ = drawn
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["person", "condition", "anchor", "near", "far"])
        for row, person, group in zip(comparisons.rows, comparisons.annotators, groups, strict=True):
            writer.writerow([f"p{person}", ["old", "new/er"][group], *(f"object {k}" for k in row)])
    return path


def test_the_command_writes_tables_maps_and_figures(file, tmp_path, capsys, one_start):
    out = tmp_path / "out"
    out.mkdir()
    for former in ("comparison.json", "map-olde.csv", "groups-a-b.png"):  # of an earlier run, with a slip in a name
        (out / former).write_text("")
    options = ["--by", "condition", "--dimensions", "2", "--permutations", "199"]
    assert main(["compare", str(file), *options, "-o", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((out / "comparison.json").read_text())
    assert printed["test"] == written["test"]
    assert written["test"]["p_value"] == pytest.approx(1 / 200)
    assert written["groups"] == ["condition: new/er", "condition: old"]
    maps = {"map-all.csv", "map-condition-new-er.csv", "map-condition-old.csv"}
    names = {"comparison.json", "displacements.csv", "groups.png", "groups.pdf"} | maps
    assert {path.name for path in out.iterdir()} == names == set(printed["files"])
    with (out / "displacements.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 9
    assert {row["object"] for row in rows if row["significant"] == "yes"} == set(written["displaced"][0])
    assert all(float(row["low"]) <= float(row["high"]) for row in rows)
    assert {row["object"] for row in rows if float(row["equivalence_p_value"]) <= 0.05} == set(written["equivalent"][0])


def test_python_takes_the_column_of_a_file(file, one_start):
    answers = read_answers(file, also=["condition"])
    assert compare_groups(answers, "condition", n_components=1, n_permutations=19).groups == (
        "condition: new/er", "condition: old",
    )  # fmt: skip
    with pytest.raises(ValueError, match="read it with"):
        compare_groups(answers, "group")
