"""Objects that several columns make up are read as if each had a column with its whole name."""

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.io import read_answers

RNG = np.random.default_rng(0)
HUES, LIGHTS = ("red", "green", "blue"), ("1", "2")
OBJECTS = [(hue, light) for hue in HUES for light in LIGHTS]
ROWS = [[OBJECTS[k] for k in RNG.choice(6, 4, replace=False)] for _ in range(20)]


def column(at, part):
    return [row[at][part] for row in ROWS]


def parts(*names):
    """Two columns for each place."""
    return {f"{name}_{what}": column(at, k) for at, name in enumerate(names) for k, what in enumerate(("hue", "light"))}


def whole(*names):
    return {name: [f"{hue}/{light}" for hue, light in (row[at] for row in ROWS)] for at, name in enumerate(names)}


def same(one, other):
    assert one.kind == other.kind
    np.testing.assert_array_equal(one.comparisons.objects, other.comparisons.objects)
    np.testing.assert_array_equal(one.comparisons.rows, other.comparisons.rows)


def test_triplets_and_answers_that_name_a_combination():
    columns = {role: f"{role}_hue*{role}_light" for role in ("anchor", "near", "far")}
    same(read_answers(parts(*columns), columns=columns), read_answers(whole(*columns)))
    asked = parts("anchor", "left", "right")
    answer = {"answer_hue": asked["left_hue"], "answer_light": asked["left_light"]}
    roles = {role: f"{role}_hue * {role}_light" for role in ("anchor", "left", "right", "answer")}
    expected = whole("anchor", "left", "right")
    same(read_answers(asked | answer, columns=roles), read_answers(expected | {"answer": expected["left"]}))


def test_lists_of_combinations():
    names = ("anchor", "a", "b", "c")
    columns = {"anchor": "anchor_hue*anchor_light", "ranking": "a_hue*a_light+b_hue*b_light+c_hue*c_light"}
    expected = read_answers(whole(*names), columns={"anchor": "anchor", "ranking": ["a", "b", "c"]})
    same(read_answers(parts(*names), columns=columns), expected)
    listed = columns | {"ranking": columns["ranking"].split("+")}
    same(read_answers(parts(*names), columns=listed), expected)


def test_a_part_that_is_missing_is_a_missing_object():
    table = parts("anchor", "near", "far")
    table["near_light"] = ["", *table["near_light"][1:]]
    columns = {role: f"{role}_hue*{role}_light" for role in ("anchor", "near", "far")}
    with pytest.raises(ValueError, match="there is no near"):
        read_answers(table, columns=columns)
    assert read_answers(table, columns=columns, skip_bad=True).report.n_bad == 1


def test_what_cannot_be_combined_is_refused():
    table = parts("anchor", "near", "far")
    with pytest.raises(ValueError, match=r"has no column 'size', of 'anchor_hue\*size'; it has 'anchor_hue'"):
        read_answers(table, columns={"anchor": "anchor_hue*size"})
    double = {"x": ["a/b", "a"], "y": ["c", "b/c"], "near": ["p", "q"], "far": ["q", "p"]}
    with pytest.raises(ValueError, match=r"are called 'a/b/c'; take '/' out"):
        read_answers(double, columns={"anchor": "x*y"})


def test_a_column_with_a_star_in_its_name_stays_one_column():
    table = {"a*b": ["x"], "near": ["y"], "far": ["z"]}
    assert read_answers(table, columns={"anchor": "a*b"}).comparisons.objects.tolist() == ["x", "y", "z"]


def test_on_the_command_line(tmp_path, capsys):
    table = parts("anchor", "near", "far")
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "answers.csv").write_text("\n".join(lines), encoding="utf-8")
    said = ",".join(f"{role}={role}_hue*{role}_light" for role in ("anchor", "near", "far"))
    main(["check", str(tmp_path / "answers.csv"), "--columns", said])
    assert "6 objects" in capsys.readouterr().out
