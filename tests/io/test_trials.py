"""A column of trials is believed where the rows of each number are about one question."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from helpers.tables import saved, table

from nearer.checking import check, message_of
from nearer.cli.main import main
from nearer.data.groups import number_by_appearance
from nearer.io import read_answers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N_OBJECTS, N_PEOPLE, N_TRIALS = 12, 4, 10
NAMES = [f"stimulus {each}" for each in range(N_OBJECTS)]


def triplets(rng, per_trial=1):
    """Rows of (person, trial, anchor, near, far): one for each trial, or the two of an odd one out."""
    for person in range(N_PEOPLE):
        for trial in range(1, N_TRIALS + 1):
            a, b, c = rng.permutation(NAMES)[:3].tolist()
            yield from [(f"p{person}", trial, a, b, c), (f"p{person}", trial, b, a, c)][:per_trial]


PLAIN = "person trial anchor near far"


@pytest.mark.parametrize("write", ["dict", "csv", "json", "frame"])
def test_numbers_that_begin_again_with_every_person_are_no_trials(tmp_path, write):
    whole = table(triplets(np.random.default_rng(0)), PLAIN)
    source = {name: column for name, column in whole.items() if name != "person"}
    source = saved(source, write, tmp_path)
    with pytest.warns(UserWarning, match="does not number trials: 10 of its 10 numbers are shared by several tri"):
        answers = read_answers(source)
    without = read_answers(source, columns={"trial": None})
    assert answers.comparisons.trials is None
    assert answers.comparisons.weights is None
    np.testing.assert_array_equal(answers.comparisons.rows, without.comparisons.rows)
    found = answers.report.trial_numbers
    assert (found.n_answers, found.n_numbers, found.n_mixed, found.n_trials) == (40, 10, 10, 40)
    first, example = 2 if write == "csv" else 1, found.listed(answers.source)[0]
    assert f"line {first} (" in example
    assert f"line {first + N_TRIALS} (" in example
    assert "trial" in answers.report.unused
    assert read_answers(whole).report.trial_numbers is None  # with the person they are trials


def test_rows_next_to_each_other_stay_together_where_they_are_about_one_question():
    whole = table(triplets(np.random.default_rng(1), per_trial=2), PLAIN)
    true = read_answers(whole)
    assert true.report.trial_numbers is None
    answers = read_answers({name: column for name, column in whole.items() if name != "person"})
    np.testing.assert_array_equal(number_by_appearance(answers.trial_of), number_by_appearance(true.trial_of))
    assert answers.comparisons.weights.tolist() == [0.5] * len(answers)
    assert answers.report.trial_numbers.n_trials == N_PEOPLE * N_TRIALS
    assert "rows next to each other are read as one trial" in str(answers.report.trial_numbers)


def test_numbers_that_begin_again_with_every_block_of_a_person():
    rows = [(who, (trial - 1) % 5 + 1, *rest) for who, trial, *rest in triplets(np.random.default_rng(2))]
    answers = read_answers(table(rows, PLAIN))
    assert answers.report.trial_numbers.n_numbers == N_PEOPLE * 5
    assert answers.comparisons.trials is None


def test_one_list_of_questions_for_everybody_is_not_one_trial_a_question():
    list_of_questions = [row[2:] for row in triplets(np.random.default_rng(3))][:N_TRIALS]
    rows = [(trial, *row) for _ in range(6) for trial, row in enumerate(list_of_questions)]
    for order in (rows, sorted(rows)):  # as given, and trial by trial
        answers = read_answers(table(order, "trial anchor near far"))
        assert answers.report.trial_numbers.n_trials == len(answers) == 60
        assert answers.comparisons.weights is None


def test_a_slip_in_one_number_leaves_the_other_trials_as_they_are():
    rows = list(triplets(np.random.default_rng(4), per_trial=2))
    rows[3] = ("p0", 1, *rows[3][2:])
    answers = read_answers(table(rows, PLAIN))
    sizes = np.bincount(answers.trial_of)
    assert (answers.report.trial_numbers.n_mixed, np.bincount(sizes).tolist()) == (1, [0, 2, 39])
    assert read_answers(table(rows[:2] + rows[4:], PLAIN)).report.trial_numbers is None


def expanded(kind, items):
    """The comparisons of one answer, as exports write them."""
    a, *others = items
    if kind == "grid":
        return [(a, near, far) for near in others[:2] for far in others[2:]]
    if kind == "ranking, neighbors":
        return [(a, near, far) for near, far in pairwise(others)]
    if kind == "odd":
        return [(one, other, a) for one, other in permutations(others, 2)]
    if kind == "odd, each pair once":
        return [(one, other, a) for one, other in permutations(others, 2) if one < other]
    return [(one, a, other) for one, other in permutations(others, 2)]  # central


@pytest.mark.parametrize("size", [3, 5, 8])
@pytest.mark.parametrize("kind", ["grid", "ranking, neighbors", "odd", "odd, each pair once", "central"])
def test_answers_taken_apart_into_triplets_are_trials(kind, size):
    rng = np.random.default_rng(5)
    rows = [
        (trial, *row)
        for trial in range(20)
        for row in expanded(kind, rng.permutation(NAMES)[: size + (kind == "grid")].tolist())
    ]
    answers = read_answers(table(rows, "trial anchor near far"))
    assert answers.report.trial_numbers is None
    assert len(np.unique(answers.trial_of)) == 20
    again = [((trial - 1) % 7, *row) for trial, *row in rows]
    answers = read_answers(table(again, "trial anchor near far"))
    assert len(np.unique(answers.trial_of)) == 20


def test_clicks_on_one_grid_are_a_trial_and_those_on_two_are_not():
    shown = ["b;c;d;e", "b;c;d;e", "f;g;h;i", "f;g;h;i"]
    clicks = {"trial": [1, 1, 2, 2], "anchor": ["a"] * 4, "shown": shown, "chosen": ["b", "c", "f", "g"]}
    assert read_answers(clicks).report.trial_numbers is None
    assert read_answers(clicks | {"anchor": ["a", "a", "b", "c"]}).report.trial_numbers.n_mixed == 1
    assert read_answers(clicks | {"trial": [1, 1, 1, 1]}).report.trial_numbers.n_trials == 4
    assert read_answers(clicks | {"chosen": ["b", "b", "f", "g"]}).report.trial_numbers.n_mixed == 1  # of two people


def test_closest_pairs_are_trials():
    rows = [(1, "a", "b", *other) for other in ("ac", "ad", "bc", "bd", "cd")] + [
        (2, "c", "d", *other) for other in ("ac", "ad", "bc", "bd", "ab")
    ]
    found = table(rows, "trial near_1 near_2 far_1 far_2")
    assert read_answers(found).report.trial_numbers is None
    assert read_answers(found | {"trial": [1] * 10}).report.trial_numbers.n_trials == 10


def test_it_is_a_warning_of_check_and_fit(tmp_path, capsys):
    rows = [row[1:] for row in triplets(np.random.default_rng(6))]
    answers = read_answers(table(rows, "Trial anchor near far"))
    found = next(finding for finding in check(answers, random_state=0) if finding.code == "trial-numbers")
    assert found.severity == "warning"
    title, _, examples = message_of(found)
    assert title.startswith("Column 'Trial' does not number trials")
    assert len(examples) == 3
    for person in range(2):
        lines = [",".join(map(str, row)) for row in rows[20 * person : 20 * person + 20]]
        (tmp_path / f"p{person}.csv").write_text("\n".join(["trial,anchor,near,far", *lines]))
    assert main(["fit", str(tmp_path), "-o", str(tmp_path / "map"), "--method", "STE", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert "warning: Column 'trial' does not number trials" in out
    assert "nearer: warning: 2 files in " in err
    assert "\n  p0.csv:2 (" in err
