"""Names, groups and questions from files and from the command line."""

import pytest

from nearer.design.lists.inputs import check_names, names_or_file, read_allowed, read_groups, read_names


def written(folder, text, name="given.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cat\ndog\n\n cow \n", ["cat", "dog", "cow"]),
        ("object\ncat\ndog\n", ["cat", "dog"]),
        ("family,object\npet,cat\nfarm,cow\n", ["cat", "cow"]),
        ("salt, pepper\ncat\n", ["salt, pepper", "cat"]),
        ("\ufeffcat\r\nC#\r\n", ["cat", "C#"]),
    ],
)
def test_names_are_lines_or_a_column(text, names, tmp_path):
    assert read_names(written(tmp_path, text)) == names


def test_repeated_and_missing_names_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"given.csv names objects twice: 'cat'"):
        read_names(written(tmp_path, "cat\ndog\ncat\n"))
    with pytest.raises(ValueError, match="names no object; write one name on each line"):
        read_names(written(tmp_path, "object\n"))


def test_groups_are_arguments_or_lines_of_a_file(tmp_path):
    path = written(tmp_path, 'cat,dog\n"salt, pepper",sugar,\n')
    assert read_groups([("a", "b"), (str(path),)]) == [["a", "b"], ["cat", "dog"], ["salt, pepper", "sugar"]]
    with pytest.raises(ValueError, match="'cat' alone cannot be kept apart"):
        read_groups([("cat",)])


def test_participants_are_arguments_or_lines_of_a_file(tmp_path):
    assert names_or_file(("ann", "bob"), "participant") == ["ann", "bob"]
    assert names_or_file((str(written(tmp_path, "participant\nann\nbob\n")),), "participant") == ["ann", "bob"]


def test_unknown_names_are_rejected_with_a_suggestion():
    check_names(["cat"], ["cat", "dog"], "--focus")
    with pytest.raises(ValueError, match="--focus: 'cta' is none of the 2 objects; perhaps 'cat' is meant"):
        check_names(["cta", "dog"], ["cat", "dog"], "--focus")


@pytest.mark.parametrize(
    ("text", "kind", "rows"),
    [
        ("anchor,left,right\ncat,dog,cow\n", "triplet", [("cat", "dog", "cow")]),
        ("head;option1;option2\ncat;dog;cow\n", "triplet", [("cat", "dog", "cow")]),
        ("anchor,near,far\ncat,dog,cow\n", "triplet", [("cat", "dog", "cow")]),
        ("anchor,left,right,answer\ncat,dog,cow,left\n", "triplet", [("cat", "dog", "cow")]),
        ("object_1,object_2,object_3\ncat,dog,cow\n", "odd-one-out", [("cat", "dog", "cow")]),
        ("items\ncat;dog;cow\n", "most-central", [("cat", "dog", "cow")]),
        ("anchor,shown\ncat,dog;cow;pig\n", "1 of 3", [("cat", "dog", "cow", "pig")]),
        ("anchor,shown_1,shown_2,shown_3\ncat,dog,cow,pig\n", "2 of 3", [("cat", "dog", "cow", "pig")]),
    ],
)
def test_allowed_questions_have_the_columns_of_answers(text, kind, rows, tmp_path):
    assert read_allowed(written(tmp_path, text), kind, len(rows[0])) == rows


def test_repeated_objects_are_rejected_with_their_line(tmp_path):
    path = written(tmp_path, "anchor,left,right\ncat,dog,cow\ncat,dog,cat\n")
    with pytest.raises(ValueError, match=r"given.csv:3: a question of kind 'triplet' has 3 different objects"):
        read_allowed(path, "triplet", 3)
    with pytest.raises(ValueError, match="missing"):
        read_allowed(written(tmp_path, "anchor,left\ncat,dog\n"), "triplet", 3)
