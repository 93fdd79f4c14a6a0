"""Of several components of a PsychoPy experiment, the one that was answered in trials holds the answers."""

import pytest

from nearer.io import read_answers

TRIALS = [("cat", "dog", "car", "left"), ("car", "cat", "bus", "right"), ("dog", "bus", "cat", "right")]


def table(more=()):
    """Rows as PsychoPy writes them: a page of instructions, trials, and a last page."""
    pages = [{"start.keys": "left", "start.rt": 3.0, "participant": "p1"}]
    trials = [
        {"anchor": a, "left": b, "right": c, "key_resp.keys": key, "key_resp.rt": 0.5 + at, "trials.thisN": at}
        | {"participant": "p1"}
        for at, (a, b, c, key) in enumerate(TRIALS)
    ]
    rows = [*pages, *more, *trials, {"end.keys": "right", "end.rt": 9.0, "participant": "p1"}]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@pytest.mark.filterwarnings("ignore:.*ignored:UserWarning")
def test_keys_pressed_outside_of_trials_are_no_answers():
    answers = read_answers(table())
    assert answers.report.columns["answer"] == ("key_resp.keys",)
    assert answers.seconds.tolist() == [0.5, 1.5, 2.5]
    assert answers.places.tolist() == [0, 1, 1]
    assert answers.annotators.tolist() == ["p1"] * 3


@pytest.mark.filterwarnings("ignore:.*ignored:UserWarning")
def test_of_two_loops_the_caller_says_which():
    practice = {"practice.keys": "left", "practice.rt": 4.0, "practice_loop.thisN": 0, "participant": "p1"}
    with pytest.raises(ValueError, match=r"choose one with --columns answer="):
        read_answers(table([practice]))
    answers = read_answers(table([practice]), columns={"answer": "key_resp.keys"})
    assert answers.seconds.tolist() == [0.5, 1.5, 2.5]  # with the keys come their times


def test_rows_of_practice_are_passed_over_once_the_answers_are_named(tmp_path):
    file = tmp_path / "p.csv"
    file.write_text(
        "anchor,left,right,practice.thisN,trials.thisN,prac.keys,main.keys,main.rt,participant\n"
        "cat,dog,car,0,,right,,,p1\ncat,dog,car,,0,,left,0.9,p1\ncar,bus,cat,,1,,left,0.8,p1\ndog,car,cat,,2,,right,1,p1\n"
    )
    with pytest.warns(UserWarning, match="1 row has no response and was ignored"):
        answers = read_answers(file, columns={"answer": "main.keys"})
    assert answers.lines.tolist() == [3, 4, 5]
