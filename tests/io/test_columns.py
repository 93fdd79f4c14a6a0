"""Columns are found by their names or by what the caller says; what comes with answers is kept."""

import warnings

import numpy as np
import pytest

from nearer.io import read_answers, write_answers
from nearer.io.column_checks import columns_line
from nearer.io.columns import find_columns

TRIPLET = {"anchor": ["a", "b", "c", "a"], "near": ["b", "c", "a", "c"], "far": ["c", "a", "b", "b"]}


@pytest.mark.parametrize(
    "name", ["worker", "Participant.ID", "PROLIFIC_PID", "puid", "Subject", "user_id", "annotator", "Rater", "person"]
)
def test_people_have_many_names(name):
    answers = read_answers(TRIPLET | {name: ["p", "p", "q", "q"]})
    assert answers.annotators.tolist() == ["p", "p", "q", "q"]
    assert answers.comparisons.annotators.tolist() == ["p", "p", "q", "q"]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["Anchor", "Near", "Far"], "triplet"),
        (["head", "winner", "loser"], "triplet"),
        (["center", "left", "right", "answer"], "triplet"),
        (["reference", "option_1", "option_2", "choice"], "triplet"),
        (["target", "Image A", "Image B", "response"], "triplet"),
        (["i", "j", "l", "k"], "quadruplet"),
        (["i", "j", "k"], "triplet"),
        (["left_1", "left_2", "right_1", "right_2", "answer"], "quadruplet"),
        (["stim1", "stim2", "stim3", "odd_one_out"], "odd-one-out"),
        (["a", "b", "c", "most central"], "most-central"),
        (["anchor", "options", "selected"], "grid"),
        (["query", "ranking"], "ranking"),
        (["query", "shown", "ranking"], "ranked-grid"),
        (["anchor", "option1", "option2", "option3", "First choice", "Second choice"], "ranked-grid"),
        (["anchor", "rank_1", "rank_2", "rank_3"], "ranking"),
    ],
)
def test_kinds_are_found(names, kind):
    assert find_columns(names, None, None, "file").layout.kind == kind


def test_columns_can_be_given():
    table = {"Referenz": ["a"], "links": ["b"], "rechts": ["c"], "Antwort": ["c"], "wer": ["p"]}
    roles = {"anchor": "Referenz", "left": "links", "right": "rechts", "answer": "Antwort", "annotator": "wer"}
    answers = read_answers(table, columns=roles)
    assert answers.kind == "triplet"
    assert answers.places.tolist() == [1]
    assert answers.annotators.tolist() == ["p"]
    listed = read_answers({"q": ["a"], "x": ["b"], "y": ["c"]}, columns={"anchor": "q", "ranking": ["y", "x"]})
    assert listed.comparisons.objects[listed.comparisons.rows[0]].tolist() == ["a", "c", "b"]


@pytest.mark.parametrize("nothing", [None, "", " ", []])
def test_a_column_can_be_left_out(nothing):
    table = TRIPLET | {"worker": ["p", "", "q", "q"]}
    with pytest.raises(ValueError, match=r"use --columns annotator= \(columns=\{'annotator': None\}\) to do without"):
        read_answers(table)
    answers = read_answers(table, columns={"annotator": nothing})
    assert answers.annotators is None


def test_several_columns_can_be_given_in_one_text():
    table = {"q": ["a"], "x": ["b"], "y": ["c"], "pick": ["c"]}
    grid = read_answers(table, columns={"anchor": "q", "shown": "x+y", "chosen": "pick"})
    assert (grid.kind, grid.places.tolist()) == ("grid", [1])
    with pytest.warns(UserWarning, match="'pick' holds objects and was not used"):
        ranking = read_answers(table, columns={"anchor": "q", "ranking": "y + x"})
    assert ranking.comparisons.objects[ranking.comparisons.rows[0]].tolist() == ["a", "c", "b"]
    with pytest.warns(UserWarning, match="'x' holds objects and was not used"):
        own_name = read_answers(table | {"x+y": ["b;d"]}, columns={"anchor": "q", "ranking": "x+y"})
    assert own_name.comparisons.objects.tolist() == ["a", "b", "d"]
    for columns in ({"anchor": "q+x", "ranking": "y"}, {"anchor": "q", "ranking": "x+z"}):
        with pytest.raises(ValueError, match="has no column"):
            read_answers(table, columns=columns)


@pytest.mark.parametrize(
    ("name", "times", "seconds"),
    [
        ("rt", [900, 1100, 1300, 1500], [0.9, 1.1, 1.3, 1.5]),
        ("rt", [0.9, 1.1, 1.3, 1.5], [0.9, 1.1, 1.3, 1.5]),  # other programs write seconds
        ("rt_ms", [50, 60, 70, 80], [0.05, 0.06, 0.07, 0.08]),
        ("Response.Time..s.", [7955, 2233, 3627, 1775], [7.955, 2.233, 3.627, 1.775]),
        ("seconds", ["1,5", "2,5", "NA", ""], [1.5, 2.5, np.nan, np.nan]),
        ("duration", [3, -1, 4, 5], [3, np.nan, 4, 5]),
        ("rt", ["1,234", "950", "2,345", "800"], [1.234, 0.95, 2.345, 0.8]),  # thousands
        ("rt", ["1,234", "0,95", "2,345", "12,8"], [1.234, 0.95, 2.345, 12.8]),  # decimals
        ("rt", ["1,234.5", "2,345", "999.5", "1,000,000"], [1.2345, 2.345, 0.9995, 1000]),
        ("rt", ["1.234,5", "2.345", "999,5", "1.000.000"], [1.2345, 2.345, 0.9995, 1000]),
    ],
)
def test_response_times_are_seconds(name, times, seconds):
    answers = read_answers(TRIPLET | {name: times})
    np.testing.assert_allclose(answers.seconds, seconds)


@pytest.mark.parametrize(("name", "what"), [("rt", "response time"), ("confidence", "confidence")])
def test_what_is_no_number_is_none_and_counted(name, what):
    with pytest.warns(UserWarning, match=f"2 rows have a {what} that is not a number, such as 'timeout'"):
        answers = read_answers(TRIPLET | {name: ["0.5", "timeout", "0.7", "late, sorry."]})
    np.testing.assert_array_equal(answers.seconds if name == "rt" else answers.confidences, [0.5, np.nan, 0.7, np.nan])
    assert (len(answers), answers.report.n_bad, len(answers.report.notes)) == (4, 0, 1)


def test_confidence_is_kept_and_weighs_if_asked():
    table = TRIPLET | {"certainty": [1, 2, 3, 4]}
    assert read_answers(table).comparisons.weights is None
    assert read_answers(table).confidences.tolist() == [1, 2, 3, 4]
    weighed = read_answers(table, weight_by_confidence=True)
    assert weighed.comparisons.weights.tolist() == [0.25, 0.5, 0.75, 1]
    with pytest.raises(ValueError, match="no column of confidences"):
        read_answers(TRIPLET, weight_by_confidence=True)
    assert len(read_answers(TRIPLET | {"confidence": ["1", "1e300", "2", "3"]})) == 4
    for cell, message in (("very", "is not a number"), ("1e300", "is out of proportion")):
        with pytest.raises(ValueError, match=f"table:2: the confidence '{cell}' {message}"):
            read_answers(TRIPLET | {"confidence": ["1", cell, "2", "3"]}, weight_by_confidence=True)


def test_rows_of_a_trial_weigh_one_in_all():
    with pytest.warns(UserWarning, match=r"one answer: 4 rows are 3 trials.*--columns trial="):
        answers = read_answers(TRIPLET | {"trial": ["t1", "t1", "t2", "t3"]})
    assert answers.comparisons.trials.tolist() == ["t1", "t1", "t2", "t3"]
    assert answers.comparisons.weights.tolist() == [0.5, 0.5, 1, 1]
    assert len(answers) == 4


def test_trials_of_different_people_are_different_trials():
    answers = read_answers(TRIPLET | {"trial": [1, 1, 1, 2], "worker": ["p", "p", "q", "q"]})
    trials = answers.comparisons.trials
    assert trials[0] == trials[1]
    assert len(set(trials.tolist())) == 3
    assert answers.comparisons.weights.tolist() == [0.5, 0.5, 1, 1]


def test_trials_that_come_back_are_remarked_upon():
    with pytest.warns(UserWarning, match="not next to each other"):
        answers = read_answers(TRIPLET | {"trial": [1, 2, 1, 2]})
    assert answers.comparisons.weights.tolist() == [0.5] * 4
    assert len(answers.report.notes) == 1


def test_weights_in_the_file_stand():
    answers = read_answers(TRIPLET | {"weight": [1, 2, 0.5, 0], "trial": [1, 1, 2, 2]})
    assert answers.comparisons.weights.tolist() == [1, 2, 0.5, 0]
    assert answers.report.notes == ()
    assert read_answers(TRIPLET | {"trial": [1, 2, 3, 4]}).report.notes == ()


@pytest.mark.parametrize("odd", ["1e300", "1e-320", "1e10", "1e-10"])
def test_weights_out_of_all_proportion_are_bad(odd):
    table = TRIPLET | {"weight": ["1", "2", odd, "3"]}
    with pytest.raises(ValueError, match=f"table:3: the weight '{odd}' is out of proportion"):
        read_answers(table)
    assert read_answers(table, skip_bad=True).comparisons.weights.tolist() == [1, 2, 3]


@pytest.mark.parametrize("odd", ["1e300", "1e-320"])
def test_weights_of_our_own_files_are_checked_too(tmp_path, odd):
    path = tmp_path / "own.csv"
    rows = ["cat,dog,car,1.0,1,triplet", f"car,bus,cat,{odd},2,triplet", "bus,car,dog,1.0,3,triplet"]
    path.write_text("\n".join(["anchor,near,far,weight,nearer_answer,nearer_kind", *rows]))
    with pytest.raises(ValueError, match=f"own.csv:3: the weight '{odd}' is out of proportion"):
        read_answers(path)


@pytest.mark.parametrize("scale", [1e308, 1e300, 1e-300, 1e-320])
def test_weights_that_are_all_extreme_keep_their_proportions(tmp_path, scale):
    with pytest.warns(UserWarning, match="weights were divided by"):
        answers = read_answers(TRIPLET | {"weight": [repr(scale), repr(scale), "0", repr(scale / 4)]})
    np.testing.assert_allclose(answers.comparisons.weights, [1, 1, 0, 0.25], rtol=1e-3)
    again = read_answers(write_answers(answers, tmp_path / "again.csv"))
    assert again.comparisons.weights.tolist() == answers.comparisons.weights.tolist()


def test_labels_are_integers_only_if_all_are():
    assert read_answers({"anchor": [1], "near": [2], "far": [10]}).comparisons.objects.tolist() == [1, 2, 10]
    mixed = read_answers({"anchor": [1, 1], "near": ["2", "x"], "far": [10, 2]})
    assert mixed.comparisons.objects.tolist() == ["1", "10", "2", "x"]


@pytest.mark.parametrize(
    ("names", "kind", "columns", "message"),
    [
        ("foo bar", None, None, r"'foo', 'bar'.*anchor \+ near \+ far.*--columns anchor=.*columns=\{'anchor'"),
        (
            "anchor near far shown chosen",
            None,
            None,
            r"--kind triplet \(kind='triplet'\) or --kind grid \(kind='grid'\)",
        ),
        ("x", None, {"anchor": "Referenz"}, "no column 'Referenz'; it has 'x'"),
        ("x", None, {"ankor": "x"}, r"'ankor' is no role .*weight; and object_1, object_2, "),
        ("x", "pairs", None, "must be one of triplet"),
        ("reference foo", None, None, r"Found: anchor = reference; missing: left \+ right \+ answer, or near \+ far"),
        ("foo response", None, None, "Expected anchor"),  # an answer says nothing of the kind
        ("foo key", None, {"odd": "key"}, "Found: odd = key; missing: items"),
        ("foo bar", "quadruplet", None, "left_1=NAME"),
        ("anchor ranking x", None, {"left": "x"}, "which make no known kind"),  # roles that no layout takes count
        ("anchor left right answer", None, {"answer": None}, "which make no known kind"),
    ],
)
def test_what_is_unclear_is_listed(names, kind, columns, message):
    with pytest.raises(ValueError, match=message):
        find_columns(names.split(), kind, columns, "file")


def test_the_place_of_an_answer_can_be_given():
    assert read_answers(TRIPLET | {"side": [0, 1, 1, -1]}, columns={"place": "side"}).places.tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize(
    ("names", "found", "missing", "hint"),
    [
        ("subject,anchor,left,right,key", "anchor, left, right", "answer", "--columns answer=NAME"),
        ("Stim1,Stim2,Stim3,OddPosition", "items = Stim1 + Stim2 + Stim3", "odd, or central", "--columns odd=NAME"),
        ("S1,S2,S3,S4,Pos", "items = S1 + S2 + S3 + S4", "odd, or central, or answer", "--columns odd=NAME"),
        ("item1,item2,choice,rt", "left = item1, right = item2, answer = choice", "anchor", "--columns anchor=NAME"),
        ("near,far,rt", "near, far", "anchor", "--columns anchor=NAME"),
        ("anchor,options,clicked", "anchor, shown = options", "chosen, or ranking", "--columns chosen=NAME"),
        ("left1,left2,right1,right2,key", "left_1, left_2, right_1, right_2", "answer", "--columns answer=NAME"),
    ],
)
def test_columns_that_make_no_question_are_reported_with_what_is_missing(names, found, missing, hint):
    with pytest.raises(ValueError, match="which make no known kind of question") as caught:
        find_columns(names.split(","), None, None, "file")
    message = str(caught.value)
    assert f". Found: {found}; missing: {missing}. If it is there, name it with {hint} (columns=" in message
    assert "Expected" not in message
    assert "anchor=" not in message or missing == "anchor"


def test_answers_tell_which_columns_were_read_and_which_were_not():
    german = {
        "VPNr": [1, 1], "Durchgang": [1, 2], "Bild1": ["cat", "cow"], "Bild2": ["cow", "dog"], "Bild3": ["dog", "cat"],
        "Antwort": ["cat", "dog"], "Reaktionszeit": [800, 900],
    }  # fmt: skip
    answers = read_answers(german, columns={"items": "Bild1+Bild2+Bild3", "odd": "Antwort"})
    assert answers.report.columns == {"items": ("Bild1", "Bild2", "Bild3"), "odd": ("Antwort",)}
    assert answers.report.unused == ("VPNr", "Durchgang", "Reaktionszeit")
    assert columns_line(answers.report) == (
        "read: items = Bild1 + Bild2 + Bild3, odd = Antwort; not used: VPNr, Durchgang, Reaktionszeit"
    )
    assert answers.report.notes == ()
    plain = read_answers(TRIPLET)
    assert plain.report.unused == ()
    assert columns_line(plain.report) == "read: anchor, near, far"


def test_columns_that_turn_out_to_say_nothing_are_not_used():
    table = TRIPLET | {"answer": ["x", "y", "z", "x"], "rt": ["", "", "", ""], "participant": [""] * 4}
    with pytest.warns(UserWarning, match="'answer' was not used"):
        answers = read_answers(table)
    assert set(answers.report.columns) == {"anchor", "near", "far"}
    assert answers.report.unused == ("answer", "rt", "participant")


def test_many_columns_that_are_not_used_are_counted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = read_answers(TRIPLET | {f"question {at}": ["x"] * 4 for at in range(300)})
    assert len(answers.report.unused) == 300
    assert columns_line(answers.report).endswith("question 8, question 9 and 290 more")


def test_a_column_of_prolific_is_proposed_as_the_annotator():
    answers = read_answers(TRIPLET | {"PROLIFIC": ["5f1", "5f2", "5f1", "5f2"]})
    assert answers.annotators is None
    assert answers.report.notes == (
        "table: no column identifies who answered; if column 'PROLIFIC' does, use --columns annotator=PROLIFIC "
        "(columns={'annotator': 'PROLIFIC'})",
    )


def test_titles_that_name_an_anchor_and_two_options_are_proposed():
    rng = np.random.default_rng(0)
    asked = [rng.permutation([f"x{at:02d}" for at in range(12)])[:3] for _ in range(14)]
    table = {f"{a}: {b} or {c}": rng.choice([b, c], 8).tolist() for a, b, c in asked}
    with pytest.raises(ValueError, match="Try: --columns anchor=object_1,left=object_2,right=object_3,answer=response"):
        read_answers(table)
    columns = {"anchor": "object_1", "left": "object_2", "right": "object_3", "answer": "response"}
    with pytest.warns(UserWarning, match="14 questions have columns of their own"):
        answers = read_answers(table, columns=columns)
    assert (len(answers), answers.comparisons.n_objects) == (112, 12)
