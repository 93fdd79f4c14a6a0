"""Small functions of reading, each on a few inputs."""

from pathlib import Path

import numpy as np
import pytest

from nearer._common.findings import Source
from nearer.io import attention_checks, choice_coding, columns, formats, labels, messages, table
from nearer.io.ambiguity import answer_columns_hint
from nearer.io.column_checks import chance_of_design
from nearer.io.multi_file import _folder_title, file_list, namespace_by_file
from nearer.io.presets import detect_program, with_combined_columns
from nearer.io.selecting import Rule, parse_rules
from nearer.io.table import Column, RowSources

PLAIN = columns.by_plain(["Trial ID", "Input.anchor", "q1.rt", "q2.rt"])
JSPSYCH = ["rt", "response", "trial_type", "trial_index", "time_elapsed", "anchor", "left", "right"]
MARK = attention_checks.REPEAT_MARK
FILES = ["a.log", "a.psydat", "b.csv", "b.log", "b.psydat", "c.log"]


def column(*values):
    return Column(np.arange(len(values), dtype=np.int32), list(values))


CASES = {
    "undecided": ([*map(choice_coding.is_undecided, ["Can't tell", "?", "cat"])], [True, True, False]),
    "codes of the first": (
        [choice_coding.candidates(*each) for each in (([0, 1], 2), (["True", "False"], 2), ([1, -1], 2), ([1, 2], 3))],
        [("0", "1"), ("true", "false"), ("1", "-1"), ("0", "1")],
    ),
    "chance": (round(chance_of_design([(i, j) for i in range(4) for j in "abcdefghi"], 4), 6), 1e-4),
    "numbered questions": (
        columns.unknown_questions(["age", *(f"{k}_Q2" for k in range(1, 20))])[:2],
        ["1_Q2", "2_Q2"],
    ),
    "plain names": (PLAIN, dict(zip(["trialid", "inputanchor", "q1rt", "q2rt", "anchor"], [
        "Trial ID", "Input.anchor", "q1.rt", "q2.rt", "Input.anchor"], strict=True)),
    ),
    "families": (
        list(columns.families(columns.by_plain(["Item 1", "Item 2", "Item 3", "Item 4", "odd"]), set())),
        [("Item 1", "Item 2", "Item 3", "Item 4")],
    ),
    "JSON values in a line": ([*map(formats._values, ["[1, 2][3]", "[1] and more"])], [[[1, 2], [3]], [None]]),
    "paths": (
        [labels.short_names([f"{a}.png", b]) for a, b in (
            ("stimuli/a", "stimuli/b.png"), ("stimuli/a", "stimuli/a.jpg"), ("x/a", "y/a.png"), ("a", "b.png"))],
        [{"stimuli/a.png": "a", "stimuli/b.png": "b"}, {"stimuli/a.png": "a.png", "stimuli/a.jpg": "a.jpg"},
         {"x/a.png": "x/a", "y/a.png": "y/a"}, {}],
    ),
    "places": (
        [messages.place(Source("p1.csv", 7), whole) for whole in ("p1.csv", "3 files in data")],
        ["line 7", "p1.csv:7"],
    ),
    "a proposal": (
        str(messages.Proposal({"first_is": "1"}, {"items": "a+b+c", "odd": "pick"})),
        "--columns items=a+b+c,odd=pick --first-is 1 (columns={'items': 'a+b+c', 'odd': 'pick'}, first_is='1')",
    ),
    "advice": (
        [messages.without_column("trial"), messages.with_column("anchor"), messages.with_columns(["near", "far"]),
         messages.as_column("anchor", "stimulus"), messages.one_of("first_is", ["0", "1"])],
        ["--columns trial= (columns={'trial': None})",
         "--columns anchor=NAME,... (columns={'anchor': 'NAME', ...})",
         "--columns near=NAME,far=NAME (columns={'near': 'NAME', 'far': 'NAME'})",
         "--columns anchor=stimulus (columns={'anchor': 'stimulus'})",
         "--first-is 0 (first_is='0') or --first-is 1 (first_is='1')"],
    ),
    "many files": (messages._skipped_files(FILES, [".csv"]).partition("ignored: ")[2], "'b.csv'; 3 .log, 2 .psydat"),
    "folders": ([_folder_title(Path(each)) for each in ("/labs/tools/data", "/labs/tools")], ["tools", "tools"]),
    "Salmon": (detect_program(["head", "left", "right", "winner", "loser", "puid", "response_time"]), "salmon"),
    "rules": (
        parse_rules("rt > 0.2 and 'my block' != practice"),
        (Rule("rt", ">", ("0.2",)), Rule("my block", "!=", ("practice",))),
    ),
    "two answers": (
        answer_columns_hint(["anchor", "q1.keys", "q2.keys"]),
        ". Columns 'q1.keys' and 'q2.keys' can each be the answer; choose one with --columns answer=NAME",
    ),
    "an object twice": (
        [attention_checks._score_repeated_object(frozenset([row])) for row in (
            ("a" + MARK, "a", "a", "b"), ("a", "b", "a", "a" + MARK), ("a", "b", "a", "c"))],
        [True, False, None],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES)
def test_conversions(found, expected):
    assert found == expected


def test_numbers_and_seconds():
    found = table.plain_numbers(Column(np.array([0, 1, -1, 2], np.int32), ["0,5", "1,25", "late"]))
    np.testing.assert_array_equal(found, [0.5, 1.25, np.nan, np.inf])
    np.testing.assert_allclose(table.as_seconds(np.array([1200.0, 800.0, -1.0]), "rt"), [1.2, 0.8, np.nan])


def test_numbers_of_trials_mean_something_within_a_file():
    trial = Column(np.array([0, 1, 0, 1], np.int32), ["1", "2"])
    two = RowSources("2 files", np.array([2, 3, 2, 3]), ("a.csv", "b.csv"), np.array([0, 0, 1, 1]))
    assert namespace_by_file(trial, two).codes.tolist() == [0, 1, 2, 3]


def test_files_in_a_folder(tmp_path):
    for name in ("p2.csv", "p1.csv", "README.md"):
        (tmp_path / name).write_text("anchor,near,far")
    found = file_list(tmp_path)
    assert (found.names, found.people) == (("p1.csv", "p2.csv"), ("p1", "p2"))


def test_two_columns_make_up_an_object():
    frame = formats.frame_table({"hue": ["red", "blue", "red"], "light": [1, 2, None]})
    combined = with_combined_columns(frame, {"anchor": "hue*light"}).load(["hue*light"]).columns["hue*light"]
    assert (combined.values, combined.codes.tolist()) == (["blue/2", "red/1"], [1, 0, -1])
