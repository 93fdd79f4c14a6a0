"""Every kind of question becomes the comparisons that it implies; rows that cannot be used are named."""

import itertools
import json

import numpy as np
import pytest
from helpers import tables
from helpers.tables import labeled_rows, triplets_said

from nearer.cli.main import main
from nearer.data.comparisons import Comparisons
from nearer.evaluation import comparison_error
from nearer.io import BadAnswers, read_answers
from nearer.io.messages import statement

POINTS = {"a": 0.0, "b": 1.0, "c": 3.0, "d": 7.0, "e": 15.0}


def distance(x, y):
    return abs(POINTS[x] - POINTS[y])


def agrees_with_points(answers):
    """Whether no comparison is wrong for points on a line."""
    embedding = np.array([[POINTS[label]] for label in answers.comparisons.objects.tolist()])
    return comparison_error(answers.comparisons, embedding) == 0


def test_named_triplets_have_neither_trials_nor_weights():
    answers = read_answers({"anchor": ["a", "d"], "near": ["b", "c"], "far": ["c", "a"]})
    assert labeled_rows(answers) == [("a", "b", "a", "c"), ("d", "c", "d", "a")]
    assert answers.comparisons.trials is None
    assert answers.comparisons.weights is None
    assert answers.places is None
    assert answers.lines.tolist() == [1, 2]


@pytest.mark.parametrize(
    "written",
    [
        ("left", "right"),
        ("Left ", "RIGHT"),
        ("1", "2"),
        ("1.0", "2.0"),
        ("first", "second"),
        ("ArrowLeft", "ArrowRight"),
        ("option_a", "option_b"),
        None,  # the object itself
    ],
)
def test_the_answer_to_a_triplet_may_be_written_in_many_ways(written):
    rows = [(x, y, z) for x, y, z in itertools.permutations(POINTS, 3) if distance(x, y) != distance(x, z)]
    answer = [((y, z) if written is None else written)[int(distance(x, y) > distance(x, z))] for x, y, z in rows]
    table = tables.table(rows, "Reference option_a option_b") | {"Response": answer}
    answers = read_answers(table)
    assert answers.kind == "triplet"
    assert agrees_with_points(answers)
    assert answers.places.tolist() == [int(distance(x, y) > distance(x, z)) for x, y, z in rows]


def test_keys_are_asked_for():
    table = {"anchor": ["x", "y"], "left": ["p", "q"], "right": ["q", "r"], "answer": ["f", "j"]}
    with pytest.raises(ValueError, match=r"if f means the first option, then f chooses 'p' from 'p', 'q'; if j means"):
        read_answers(table)
    assert read_answers(table, first_is="f").places.tolist() == [0, 1]
    assert read_answers(table, first_is="j").places.tolist() == [1, 0]


@pytest.mark.parametrize(("only", "first_is", "place"), [("1", 1, 0), ("1", 0, 1), ("0", 0, 0), ("0", 1, 1)])
def test_one_answer_all_through_a_column_is_asked_for(only, first_is, place):
    table = {"anchor": ["a", "b"], "left": ["b", "c"], "right": ["c", "d"], "answer": [only] * 2}
    with pytest.raises(ValueError, match=r"--first-is 0 .* or --first-is 1"):
        read_answers(table)
    assert read_answers(table, first_is=first_is).places.tolist() == [place] * 2


THREE = {"anchor": ["a"] * 3, "left": ["b"] * 3, "right": ["c"] * 3}
COUNTED = {"o1": ["a", "b"], "o2": ["b", "c"], "o3": ["c", "a"], "odd": [1, 2]}


@pytest.mark.parametrize(
    ("table", "first_is", "message"),
    [
        (THREE | {"answer": ["x", "y", "z"]}, "x", "which of 'y', 'z' means the second option is ambiguous"),
        (THREE | {"answer": ["1", "2", "1"]}, 7, "which of '1', '2' means the second option is ambiguous"),
        ({"o1": ["a"], "o2": ["b"], "o3": ["c"], "odd": ["x"]}, "x", "a number where there are more than two options"),
        (COUNTED, None, r"from 0 or from 1.*--first-is 1 .*, or write the name of the odd item$"),
    ],
)
def test_first_is_must_fit_the_answers(table, first_is, message):
    with pytest.raises(ValueError, match=message):
        read_answers(table, first_is=first_is)


def test_the_first_of_many_is_a_number():
    assert read_answers(COUNTED, first_is=1).places.tolist() == [0, 1]
    assert read_answers(COUNTED, first_is=0).places.tolist() == [1, 2]


def test_numbers_are_objects_or_places_by_what_most_of_them_are():
    table = {"anchor": ["7", "5"], "left": ["3", "4"], "right": ["12", "6"], "answer": ["12", "4"]}
    assert labeled_rows(read_answers(table)) == [("7", "12", "7", "3"), ("5", "4", "5", "6")]
    table = {"anchor": ["7", "5", "7"], "left": ["3", "4", "1"], "right": ["12", "7", "2"], "answer": ["1", "2", "2"]}
    assert read_answers(table).places.tolist() == [0, 1, 1]
    both = {"anchor": ["7", "5"], "left": ["2", "1"], "right": ["1", "2"], "answer": ["1", "2"]}
    with pytest.raises(ValueError, match="objects or as places"):
        read_answers(both)
    ones = {"anchor": ["a", "a"], "left": ["b", "c"], "right": ["c", "d"], "answer": ["1", "1"]}
    with pytest.raises(ValueError, match="from 0 or from 1"):
        read_answers(ones)


def test_a_number_out_of_range_is_one_bad_row():
    answers = read_answers(THREE | {"answer": ["1", "2", "3"]}, skip_bad=True)
    assert answers.places.tolist() == [0, 1]
    assert answers.report.bad_rows[0].row == 3
    with pytest.raises(ValueError, match="from 0 or from 1"):
        read_answers(THREE | {"answer": ["0", "1", "2"]})


def test_answers_beside_near_and_far():
    table = {"anchor": ["a", "d"], "near": ["b", "a"], "far": ["c", "c"]}
    answers = read_answers(table | {"answer": [1, -1]})
    assert answers.comparisons.answers.tolist() == [1, -1]
    assert labeled_rows(answers) == [("a", "b", "a", "c"), ("d", "c", "d", "a")]
    with pytest.raises(ValueError, match="0 and 1 in addition to near and far"):
        read_answers(table | {"answer": [1, 0]})
    with pytest.warns(UserWarning, match="was not used"):  # a side that was pressed
        assert labeled_rows(read_answers(table | {"answer": ["right"] * 2})) == [
            ("a", "b", "a", "c"),
            ("d", "a", "d", "c"),
        ]


@pytest.mark.parametrize("names", [["i", "j", "l", "k"], ["near_1", "near_2", "far_1", "far_2"], list("abcd")])
def test_named_quadruplets(names):
    answers = read_answers(dict(zip(names, (["a"], ["b"], ["c"], ["e"]), strict=True)))
    assert answers.kind == "quadruplet"
    assert labeled_rows(answers) == [("a", "b", "c", "e")]


@pytest.mark.parametrize("written", [("left", "right"), (1, 2), (0, 1), (1, -1)])
def test_pairs_with_an_answer(written):
    told = written[0] == "left" or written == (1, 2)
    rows = [r for r in itertools.permutations(POINTS, 4) if distance(*r[:2]) != distance(*r[2:])]
    answer = [written[int(distance(*row[:2]) > distance(*row[2:]))] for row in rows]
    table = tables.table(rows, "left_1 left_2 right_1 right_2") | {"choice": answer}
    if not told:
        with pytest.raises(ValueError, match="chooses the first pair from the first pair, the second pair"):
            read_answers(table)
    answers = read_answers(table, first_is=None if told else written[0])
    assert answers.kind == "quadruplet"
    assert agrees_with_points(answers)


@pytest.mark.parametrize("kind", ["odd-one-out", "most-central"])
@pytest.mark.parametrize("written", ["label", "place", "counted", "word"])
def test_three_objects(kind, written):
    rows = list(itertools.permutations(POINTS, 3))
    named = []
    for row in rows:
        # The odd one is outside the shortest side; the central one is opposite the longest.
        sides = [distance(row[1], row[2]), distance(row[0], row[2]), distance(row[0], row[1])]
        place = int(np.argmin(sides) if kind == "odd-one-out" else np.argmax(sides))
        words = {"label": row[place], "place": place, "counted": place + 1, "word": ["left", "middle", "right"][place]}
        named.append(words[written])
    table = tables.table(rows, "item1 item2 item3") | {"odd" if kind == "odd-one-out" else "central": named}
    answers = read_answers(table)
    assert answers.kind == kind
    assert agrees_with_points(answers)
    comparisons = answers.comparisons
    assert len(comparisons) == 2 * len(rows)
    assert np.bincount(answers.answer_of).tolist() == [2] * len(rows)
    assert comparisons.trials.tolist() == answers.answer_of.tolist()
    assert np.all(comparisons.weights == 0.5)
    assert len(answers.places) == len(rows)


def test_odd_and_central_are_what_their_definitions_say():
    table = {"o1": ["a"], "o2": ["b"], "o3": ["c"]}
    assert labeled_rows(read_answers(table | {"odd": ["c"]})) == [("a", "b", "a", "c"), ("b", "a", "b", "c")]
    assert labeled_rows(read_answers(table | {"central": ["c"]})) == [("a", "c", "a", "b"), ("b", "c", "b", "a")]


def test_three_objects_and_an_answer_need_a_kind():
    table = {"a": ["x"], "b": ["y"], "c": ["z"], "answer": ["z"]}
    with pytest.raises(ValueError, match=r"--kind odd-one-out .*\n or: --kind most-central"):
        read_answers(table)
    assert read_answers(table, "odd-one-out").kind == "odd-one-out"
    assert labeled_rows(read_answers(table, "most-central"))[0] == ("x", "z", "x", "y")


GRIDS = {
    "semicolons": {"anchor": ["a"], "shown": ["b; red car; d"], "chosen": ["red car"]},
    "bars": {"anchor": ["a"], "shown": ["b|red car|d"], "chosen": ["red car"]},
    "json": {"anchor": ["a"], "shown": ['["b", "red car", "d"]'], "chosen": ['["red car"]']},
    "lists": {"anchor": ["a"], "shown": [["b", "red car", "d"]], "chosen": [["red car"]]},
    "printed": {"anchor": ["a"], "shown": ["['b', 'red car', 'd']"], "chosen": ["['red car']"]},
    "numbered": {"anchor": ["a"], "shown_1": ["b"], "shown_2": ["red car"], "shown_3": ["d"], "chosen_1": ["red car"]},
    "places": {"anchor": ["a", "a"], "shown": ["b;red car;d"] * 2, "chosen": ["2", "3"]},
}


@pytest.mark.parametrize("how", GRIDS)
def test_grids_in_all_ways_of_writing_a_list(how):
    answers = read_answers(GRIDS[how])
    assert answers.kind == "grid"
    assert labeled_rows(answers)[:2] == [("a", "red car", "a", "b"), ("a", "red car", "a", "d")]
    assert answers.places[0] == 1
    assert answers.comparisons.weights[:2].tolist() == [0.5, 0.5]


def test_a_grid_compares_all_chosen_with_all_others():
    answers = read_answers({"anchor": ["a"], "shown": ["b c d e"], "chosen": ["d b"]})
    assert set(labeled_rows(answers)) == {("a", near, "a", far) for near in "bd" for far in "ce"}
    assert np.allclose(answers.comparisons.weights, 1 / 4)
    assert answers.places is None


@pytest.mark.parametrize(
    "table",
    [
        {"anchor": ["a"], "ranking": ["b>c>d".replace(">", ";")]},
        {"anchor": ["a"], "ranking": ["b c d"]},
        {"anchor": ["a"], "rank_1": ["b"], "rank_2": ["c"], "rank_3": ["d"]},
        {"anchor": ["a"], "rank_1": ["b"], "rank_2": ["c"], "rank_3": ["d"], "rank_4": [None]},
    ],
)
def test_a_ranking_compares_all_pairs(table):
    answers = read_answers(table)
    assert labeled_rows(answers) == [("a", "b", "a", "c"), ("a", "b", "a", "d"), ("a", "c", "a", "d")]
    assert answers.comparisons.weights.sum() == pytest.approx(1)
    assert len(set(answers.comparisons.trials.tolist())) == 1


RANKED = {
    "a ranking of some": {"anchor": ["a"], "shown": ["b;c;d;e"], "ranking": ["d;b"]},
    "json": {"anchor": ["a"], "shown": ['["b", "c", "d", "e"]'], "ranking": ['["d", "b"]']},
    "lists": {"anchor": ["a"], "shown": [["b", "c", "d", "e"]], "ranking": [["d", "b"]]},
    "choices": {"anchor": ["a"], "shown": ["b;c;d;e"], "first_choice": ["d"], "second_choice": ["b"]},
    "fewer choices": {"anchor": ["a"], "shown": ["b;c;d;e"], **dict(zip(
        ("first_choice", "second_choice", "third_choice"), (["d"], ["b"], [None]), strict=True))},
    "numbers": {"anchor": ["a", "a"], "shown": ["b;c;d;e"] * 2, "ranking": ["3;1", "4;1"]},
}  # fmt: skip


@pytest.mark.parametrize("how", RANKED)
def test_a_ranked_choice_compares_with_later_choices_and_all_that_was_not_chosen(how):
    answers = read_answers(RANKED[how])
    assert answers.kind == "ranked-grid"
    mine = answers.answer_of == 0
    expected = {("a", "d", "a", far) for far in "bce"} | {("a", "b", "a", far) for far in "ce"}
    assert {row for row, is_mine in zip(labeled_rows(answers), mine, strict=True) if is_mine} == expected
    assert np.allclose(answers.comparisons.weights[mine], 1 / 5)
    assert answers.places[0] == 2  # of the first choice


def test_the_order_of_a_choice_counts_where_the_kind_says_so():
    table = {"anchor": ["a"], "shown": ["b c d e"], "chosen": ["d b"]}
    assert len(read_answers(table).comparisons) == 4
    for ranked in (read_answers(table, "ranked-grid"), read_answers(table, columns={"ranking": "chosen"})):
        assert (ranked.kind, len(ranked.comparisons)) == ("ranked-grid", 5)
    everything = read_answers({"anchor": ["a"], "shown": ["b c d"], "ranking": ["d b c"]})
    ranking = read_answers({"anchor": ["a"], "ranking": ["d b c"]})
    assert labeled_rows(everything) == labeled_rows(ranking)


@pytest.mark.parametrize(
    ("table", "n_comparisons"),
    [
        ({"anchor": ["a", "a"], "left": ["b", "b"], "right": ["c", "c"], "answer": ["left", "can't tell"]}, 2),
        ({"o1": ["a", "a"], "o2": ["b", "b"], "o3": ["c", "c"], "odd": ["c", "Don\u2019t know"]}, 6),
        ({"anchor": ["a", "a"], "shown": ["b;c;d", "b;c;d"], "chosen": ["b", "?"]}, 6),
    ],
)
def test_undecided_answers_are_counted_or_split_evenly(table, n_comparisons):
    dropped = read_answers(table)
    assert dropped.report.n_undecided == 1
    assert len(dropped) == 1
    split = read_answers(table, undecided="split")
    assert split.report.n_undecided == 1
    assert len(split) == 2
    mine = split.answer_of == 1
    assert mine.sum() == n_comparisons
    assert split.comparisons.weights[mine].sum() == pytest.approx(1)
    signed = labeled_rows(split)[-n_comparisons:]
    assert {(row[2], row[3], row[0], row[1]) for row in signed} == set(signed)  # for every one its opposite
    assert split.comparisons.weights[~mine].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"anchor": ["a", ""], "near": ["b", "b"], "far": ["c", "c"]}, "there is no anchor"),
        ({"anchor": ["a", "a"], "near": ["b", "b"], "far": ["c", "b"]}, "'b' appears twice"),
        ({"anchor": ["a", "b"], "near": ["b", "b"], "far": ["c", "c"]}, "'b' appears twice"),
        ({"anchor": ["a"] * 2, "left": ["b"] * 2, "right": ["c"] * 2, "answer": ["c", ""]}, "there is no answer"),
        (
            {"anchor": ["a"] * 2, "left": ["b"] * 2, "right": ["c"] * 2, "answer": ["c", "x"]},
            "'x' is none of the objects",
        ),
        ({"i": ["a"] * 2, "j": ["b"] * 2, "l": ["c", "a"], "k": ["d", "b"]}, "the same pair"),
        ({"i": ["a"] * 2, "j": ["b", "a"], "l": ["c"] * 2, "k": ["d"] * 2}, "compared with itself"),
        ({"anchor": ["a"] * 2, "shown": ["b;c", "b;c"], "chosen": ["b", ""]}, "nothing was chosen"),
        ({"anchor": ["a"] * 2, "shown": ["b;c", "b;c"], "chosen": ["b", "b;c"]}, "everything shown was chosen"),
        ({"anchor": ["a"] * 2, "shown": ["b;c", "a;c"], "chosen": ["b", "c"]}, "anchor 'a' is among"),
        ({"anchor": ["a"] * 2, "shown": ["b;c", "b;b"], "chosen": ["b", "b"]}, "shown twice"),
        ({"anchor": ["a"] * 2, "shown": ["b;c;d"] * 2, "ranking": ["b;c", "c;c"]}, "an object was chosen twice"),
        ({"anchor": ["a"] * 2, "shown": ["b;c;d"] * 2, "ranking": ["b;c", "c;x"]}, "is not among the objects shown"),
        ({"anchor": ["a"] * 2, "shown": ["b;c", "b;c"], "chosen": ["b", "d"]}, "'d' is not among"),
        ({"anchor": ["a"] * 2, "ranking": ["b;c", "b"]}, "fewer than two"),
        ({"anchor": ["a"] * 2, "near": ["b"] * 2, "far": ["c"] * 2, "weight": [1, "big"]}, "'big' is not a number"),
        ({"anchor": ["a"] * 2, "near": ["b"] * 2, "far": ["c"] * 2, "worker": ["w", ""]}, "there is no annotator"),
    ],
)
def test_bad_rows_are_named_with_their_reason(table, reason):
    with pytest.raises(BadAnswers, match="skip-bad") as caught:
        read_answers(table)
    assert caught.value.n_bad == 1
    assert caught.value.bad_rows[0].row == 2
    assert reason in statement(caught.value.bad_rows[0])
    kept = read_answers(table, skip_bad=True)
    assert len(kept) == 1
    assert kept.report.n_bad == 1
    assert reason in kept.report.skipped[0]


def test_odd_labels_of_objects():
    table = {"anchor": ["a"], "left": ["same"], "right": ["c"], "answer": ["same"]}
    assert read_answers(table).places.tolist() == [0]
    table = {"anchor": ["b", "z"], "near": ["c", "z"], "far": ["d", "y"]}  # those of bad rows are none
    assert read_answers(table, skip_bad=True).comparisons.objects.tolist() == ["b", "c", "d"]


def test_the_result_is_what_comparisons_would_check():
    rows = [(x, y, z) for x, y, z in itertools.permutations(POINTS, 3)]
    read = read_answers(tables.table(rows, "anchor near far")).comparisons
    checked = Comparisons.from_triplets(rows)
    assert read.objects.tolist() == checked.objects.tolist()
    assert read.rows.tolist() == checked.rows.tolist()


@pytest.mark.parametrize("role", ["odd", "central"])
def test_truth_values_name_none_of_three_items(role):
    table = {"item1": ["a", "b"], "item2": ["b", "c"], "item3": ["c", "a"], role: ["True", "False"]}
    with pytest.raises(ValueError, match="are false and true, whose meaning") as caught:
        read_answers(table)
    assert str(caught.value).endswith(f"is ambiguous. Write the name or the position of the {role} item")
    with pytest.raises(ValueError, match="if the answers are no numbers, write the name or the position"):
        read_answers(table, first_is="true")


def test_answers_about_pairs_are_not_said_to_be_objects():
    table = {"left_1": ["a", "a"], "left_2": ["b", "c"], "right_1": ["c", "b"], "right_2": ["d", "d"], "answer": [0, 1]}
    with pytest.raises(ValueError, match=r"--first-is 0 .*, or write left and right$"):
        read_answers(table)


ROWS = [list("uvwxyz"), list("vuxwzy"), list("wxyzuv"), list("zyxwvu")]


def item_columns(rows, stem="item", start=1):
    return {f"{stem}{at}": list(cells) for at, cells in enumerate(zip(*rows, strict=True), start)}


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("role", ["odd", "central"])
def test_any_number_of_items(k, role):
    rows = [row[:k] for row in ROWS]
    answers = read_answers(item_columns(rows) | {role: [row[-1] for row in rows]})
    comparisons = answers.comparisons
    assert len(comparisons) == len(rows) * (k - 1) * (k - 2)
    assert comparisons.objects.tolist() == sorted({each for row in rows for each in row})
    np.testing.assert_allclose(np.bincount(answers.answer_of, comparisons.weights), 1)
    assert comparisons.trials.tolist() == answers.answer_of.tolist()
    for row, named in zip(triplets_said(answers), answers.answer_of.tolist(), strict=True):
        assert row[2 if role == "odd" else 1] == rows[named][-1]
        assert len(set(row)) == 3


@pytest.mark.parametrize("role", ["odd", "central"])
def test_comparisons_hold_where_the_answer_is_right(role):
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    points = np.vstack([corners, [0.0, 0.0] if role == "central" else [9.0, 9.0]])
    labels = list("uvwxy")
    answers = read_answers(item_columns([labels]) | {role: ["y"]})
    assert comparison_error(answers.comparisons, points) == 0


def test_rows_may_have_fewer_items():
    table = {"item1": ["u", "v", "u"], "item2": ["v", "w", "x"], "item3": ["w", "x", ""], "item4": ["x", "", ""]}
    answers = read_answers(table | {"odd": ["u", "v", "u"]}, skip_bad=True)
    assert np.bincount(answers.answer_of).tolist() == [6, 2]
    assert [*map(statement, answers.report.bad_rows)] == ["there are fewer than three objects"]
    holes = {"item1": ["u", "v"], "item2": ["", "w"], "item3": ["w", "x"], "item4": ["x", "u"]}
    named = read_answers(holes | {"odd": ["w", "u"]})
    assert np.bincount(named.answer_of).tolist() == [2, 6]
    counted = read_answers(holes | {"odd": ["3", "4"]}, skip_bad=True)
    assert "an item before it is missing; name the object" in statement(counted.report.bad_rows[0])
    nothing = read_answers(holes | {"odd": ["item2", "item4"]}, skip_bad=True)
    assert "'item2' is none of the objects shown" in statement(nothing.report.bad_rows[0])


def test_an_item_twice_is_bad():
    with pytest.raises(BadAnswers, match="table:1: 'u' appears twice"):
        read_answers({"o1": ["u"], "o2": ["v"], "o3": ["w"], "o4": ["u"], "odd": ["v"]})
    with pytest.raises(BadAnswers, match="table:1: 'u' appears twice"):
        read_answers({"items": ["u;v;u"], "odd": ["v"]})


def test_lists_of_items():
    table = {"items": [["u", "v", "w"], ["v", "w", "x", "u"]], "odd": ["w", "x"]}
    answers = read_answers(table)
    assert np.bincount(answers.answer_of).tolist() == [2, 6]
    assert answers.places.tolist() == [2, 2]
    long = {"items": [[f"o{at}" for at in range(51)], list("uvw")], "odd": ["o1", "u"]}
    assert "more than 50 objects" in statement(read_answers(long, skip_bad=True).report.bad_rows[0])
    assert triplets_said(read_answers({"items": [[7, 8, 10]], "odd": [10]}))[0] == ("7", "8", "10")


def test_cannot_tell_among_four_counts_all_four_answers():
    answers = read_answers(item_columns([row[:4] for row in ROWS]) | {"odd": ["?", "u", "x", "w"]}, undecided="split")
    assert np.bincount(answers.answer_of).tolist() == [24, 6, 6, 6]
    np.testing.assert_allclose(np.bincount(answers.answer_of, answers.comparisons.weights), 1)


def test_indices_of_many_items_in_an_array(tmp_path):
    path = tmp_path / "items.npz"
    np.savez(path, X=np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), y=np.array([4, 0]))
    answers = read_answers(path, "odd-one-out", preset="cblearn")
    assert len(answers.comparisons) == 24
    assert {row[2] for row in triplets_said(answers)} == {4}


def test_columns_of_items_can_be_given():
    table = dict(zip("wxyzr", (["u", "v"], ["v", "w"], ["w", "x"], ["x", "u"], ["x", "u"]), strict=True))
    roles = {f"object_{at}": name for at, name in enumerate("wxyz", 1)} | {"odd": "r"}
    for given in (roles, {"items": "w+x+y+z", "odd": "r"}, {"objects": list("wxyz"), "odd": "r"}):
        answers = read_answers(table, columns=given)
        assert (answers.kind, len(answers.comparisons), answers.report.notes) == ("odd-one-out", 12, ())
    with pytest.raises(ValueError, match="three columns at least"):
        read_answers(table, columns={"object_1": "w", "object_2": "x", "odd": "r"})
    with pytest.raises(ValueError, match="not both"):
        read_answers(table, columns=roles | {"items": "w"})


def test_a_column_of_objects_that_is_not_used_is_reported():
    table = item_columns([row[:3] for row in ROWS])
    table |= {"odd": list("uvwx"), "correct": list("vwxy"), "block": ["1"] * 4}
    with pytest.warns(UserWarning, match=r"table: column 'correct' holds objects and was not used"):
        assert len(read_answers(table).report.notes) == 1
    listed = table | {"correct": [json.dumps(row[:3]) for row in ROWS]}
    with pytest.warns(UserWarning, match="'correct' holds objects"):
        read_answers(listed)
    numbers = {"anchor": [1, 2, 3], "near": [2, 3, 1], "far": [3, 1, 2], "age": [1, 2, 3], "trial": [1, 2, 3]}
    assert read_answers(numbers).report.notes == ()


def jspsych(rows, **more):
    n = len(rows)
    log = {"trial_type": ["html-button-response"] * n, "trial_index": range(n), "time_elapsed": range(n)}
    return log | {"rt": [900] * n} | item_columns(rows) | {"response": [at % 3 for at in range(n)]} | more


PROMPT = "<p>Click on the odd one.</p>"


@pytest.mark.parametrize("n_rows", [2, 4])
def test_a_prompt_is_no_anchor(n_rows):
    rows = [row[:3] for row in ROWS[:n_rows]]
    lists = [json.dumps(row) for row in rows]
    for table in (jspsych(rows, stimulus=[PROMPT] * n_rows), jspsych(rows, stimulus=[PROMPT] * n_rows, choices=lists)):
        with pytest.raises(
            ValueError, match=r"read as odd-one-out, 'u' is the odd one .*; read as most-central, 'u' is"
        ):
            read_answers(table)
        odd = read_answers({name: table[name] for name in table if name != "choices"}, "odd-one-out")
        assert odd.places.tolist() == [at % 3 for at in range(n_rows)]
    with pytest.raises(ValueError, match=r"'stimulus' holds the same text in every row .*--columns anchor=stimulus"):
        read_answers(jspsych(rows, stimulus=[PROMPT] * n_rows, choices=lists), "grid")


def test_plain_text_that_never_changes_is_no_anchor_unless_the_caller_says_so():
    table = {"target": ["Which?"] * 6, "left": list("uvwxyz"), "right": list("vwxyzu"), "answer": ["left"] * 6}
    with pytest.raises(ValueError, match=r"column 'target' holds the same text .*use --columns anchor=target"):
        read_answers(table)
    assert triplets_said(read_answers(table, columns={"anchor": "target"}))[0] == ("Which?", "u", "v")
    few = {name: column[:3] for name, column in table.items()}
    assert len(read_answers(few)) == 3


def test_prompts_that_change_are_no_anchors_either():
    rows = [row[:3] for row in ROWS]
    lists = [[f"<img src='{each}.png'>" for each in row] for row in rows]
    prompts = [f"<p>Trial {at} of 4: which is odd?</p>" for at in range(4)]
    with pytest.raises(ValueError, match="'stimulus' holds HTML, where other columns hold pictures or sounds"):
        read_answers(jspsych(rows, stimulus=prompts, choices=lists), "grid")
    plain = [f"Trial {at}" for at in range(6)]
    table = jspsych([*rows, *rows[:2]], stimulus=plain, choices=[*rows, *rows[:2]])
    table = {name: column for name, column in table.items() if not name.startswith("item")}
    with pytest.warns(UserWarning, match="none of its values is ever an option"):
        read_answers(table)


def test_a_file_whose_beginning_is_one_cell(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text('anchor,near,far,remark\na,b,c,"' + "long\n" * 25_000 + '"\n' + "b,c,a,c\n" * 20_000)
    assert len(read_answers(path)) == 20_001


def test_stimuli_in_html_are_objects():
    pictures = [f"<img src='{each}.png'>" for each in "abcd"]
    table = {"anchor": pictures, "left": pictures[1:] + pictures[:1], "right": pictures[2:] + pictures[:2]}
    assert len(read_answers(table | {"answer": ["left"] * 4}).comparisons.objects) == 4


def test_a_choice_names_the_column_of_an_option():
    options = item_columns([list("uvw"), list("vwx")], "option")
    table = {"reference": ["x", "y"]} | options | {"choice": ["option2", "option3"]}
    assert read_answers(table).places.tolist() == [1, 2]
    assert read_answers(table | {"choice": ["left", "right"]}).places.tolist() == [0, 2]
    gap = table | {"option1": ["", "v"], "choice": [2, 3]}
    with pytest.raises(BadAnswers, match="table:1: an option before another is missing"):
        read_answers(gap)


def test_a_bad_row_does_not_hide_the_doubt():
    table = item_columns([row[:4] for row in ROWS]) | {"response": ["u", "v", "banana", "z"]}
    with pytest.raises(ValueError, match="read as odd-one-out, 'u' is the odd one of 'u', 'v', 'w', 'x'; read as most"):
        read_answers(table)
    sides = {"anchor": ["u", "v"], "left": ["v", "w"], "right": ["w", "u"], "response": ["left", "banana"]}
    table = sides | {"choices": [["left", "right"]] * 2}
    with pytest.raises(BadAnswers, match="table:2: the answer 'banana'"):
        read_answers(table)
    assert read_answers(table, skip_bad=True).places.tolist() == [0]


def test_two_programs_cannot_both_have_written_a_file():
    with pytest.raises(ValueError, match="has the columns of jspsych, not of salmon"):
        read_answers(jspsych([row[:3] for row in ROWS]), preset="salmon")


def test_what_is_said_of_a_person_goes_with_every_trial(tmp_path):
    path = tmp_path / "people.json"
    trials = [{"anchor": "u", "near": "v", "far": "w"}, {"anchor": "v", "near": "w", "far": "u"}]
    path.write_text(json.dumps([{"participant": who, "trials": trials} for who in ("p", "q")]))
    assert read_answers(path).annotators.tolist() == ["p", "p", "q", "q"]
    path.write_text(json.dumps({"participant": "p", "trials": trials}))
    assert read_answers(path).annotators.tolist() == ["p", "p"]


def test_commands_take_items_and_codings(tmp_path, capsys):
    path = tmp_path / "data.json"
    table = jspsych([row[:3] for row in ROWS], stimulus=[PROMPT] * 4)
    path.write_text(json.dumps([dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]))
    assert main(["check", str(path)]) == 2
    assert "read as most-central, 'u' is the most central of 'u', 'v', 'w'" in capsys.readouterr().err
    roles = "object_1=item1,object_2=item2,object_3=item3,odd=response"
    assert main(["check", str(path), "--kind", "odd-one-out", "--columns", roles, "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["kind"] == "odd-one-out"
    sides = tmp_path / "sides.csv"
    sides.write_text("anchor,left,right,answer\na,b,c,-1\nb,c,a,1\nc,a,b,1\n")
    assert main(["check", str(sides), "--json"]) == 2
    assert "--first-is -1" in capsys.readouterr().err
    assert main(["check", str(sides), "--first-is", "-1", "--json"]) in (0, 1)


def test_names_and_indices_of_salmon_do_not_mix():
    table = {"head": [0, 1], "winner": [1, 2], "loser": [2, 0], "puid": ["p", "q"]}
    names = {f"{role}_filename": [f"{at}.png" for at in table[role]] for role in ("head", "winner", "loser")}
    assert triplets_said(read_answers(table | names)) == [("0.png", "1.png", "2.png"), ("1.png", "2.png", "0.png")]
    indices = read_answers(table | names, columns={"anchor": "head"})
    assert triplets_said(indices) == [(0, 1, 2), (1, 2, 0)]
    clash = names | {"winner_filename": ["1.png", "0.png"]}  # two names for 1, one name for 0 and 2
    del clash["loser_filename"]
    with pytest.warns(UserWarning, match="no loser_filename, so that objects keep their indices"):
        assert triplets_said(read_answers(table | clash)) == [(0, 1, 2), (1, 2, 0)]


def test_times_of_gorilla_are_milliseconds():
    log = {"Participant Private ID": ["7", "7"], "Trial Number": [1, 2], "Zone Type": ["response_button_text"] * 2}
    asked = {"Response": ["v", "w"], "anchor": ["u", "v"], "left": ["v", "w"], "right": ["w", "u"]}
    answers = read_answers(log | {"Reaction Time": [80.5, 90]} | asked)
    assert answers.seconds.tolist() == [0.0805, 0.09]
    assert answers.places.tolist() == [0, 0]
