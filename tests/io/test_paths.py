"""Objects that are paths are called by what differs between them, and found again whatever a file's paths share."""

import json

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.comparing.matrix_files import NamedMatrix
from nearer.io import read_answers
from nearer.io.labels import same_objects, short_names

ROWS = [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a"), ("d", "c", "a"), ("a", "d", "b")]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def table(make, rows=ROWS):
    return {role: [make(row[at]) for row in rows] for at, role in enumerate(("anchor", "near", "far"))}


@pytest.mark.parametrize(
    "make",
    [
        "assets/stimuli/{}.png".format, "{}/x.png".format, "https://lab.org/stim/{}.JPG".format,
        r"C:\stim\{}.wav".format, "./img/deep/{}.webp".format,
    ],
)  # fmt: skip
def test_what_all_paths_share_is_left_out_and_said_once(make):
    answers = read_answers(table(make))
    short = "{}/x".format if make("a") == "a/x.png" else str
    assert sorted(answers.comparisons.objects.tolist()) == [short(each) for each in "abcd"]
    assert [note for note in answers.report.notes if "paths" in note] == [
        f"table: labels are file paths, shortened to the parts that differ: {make('a')!r} becomes {short('a')!r}"
    ]
    assert sorted(answers.with_paths().comparisons.objects.tolist()) == sorted(map(make, "abcd"))


def mixed(each):
    return "a" if each == "a" else f"s/{each}.png"


@pytest.mark.parametrize("make", ["{}.png".format, "{}".format, "red/{}".format, "stimuli/{}".format, mixed])
def test_other_names_stay(make):
    answers = read_answers(table(make))
    assert sorted(answers.comparisons.objects.tolist()) == sorted(map(make, "abcd"))
    assert not answers.report.notes


def test_objects_stay_distinct():
    ends = {"a": "s/x.png", "b": "s/x.jpg", "c": "s/y.png", "d": "s/t/x.png"}
    answers = read_answers(table(ends.get))
    assert sorted(answers.comparisons.objects.tolist()) == ["t/x.png", "x.jpg", "x.png", "y.png"]
    assert short_names(["s/.png", "s/a.png"]) == {"s/.png": ".png", "s/a.png": "a.png"}


def test_an_object_is_found_among_others_if_there_is_one():
    assert same_objects(["a/x.png", "y"], ["x", "b/y", "c/y"]) == {"a/x.png": "x"}
    assert same_objects(["a/x.png", "b/x.png"], ["x"]) == {}
    assert same_objects(["a/x.png", "a/y"], ["x.png", "x.jpg", "y.png", "y.jpg"]) == {"a/x.png": "x.png"}


def test_a_map_knows_its_objects_in_other_paths(tmp_path, capsys):
    """All pictures of the second file are of one folder, which the first file needed to tell them apart."""
    of = {"a": "s/old/a.png", "b": "s/old/b.png", "c": "s/new/c.png", "d": "s/new/d.png"}

    def write(name, columns):
        lines = [",".join(columns), *map(",".join, zip(*columns.values(), strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    first = write("first.csv", table(of.get, ROWS * 8))
    folder = str(tmp_path / "map")
    assert main(["fit", first, "-o", folder, "--quick", "--method", "STE", "--dimensions", "1"]) == 0
    known = json.loads((tmp_path / "map" / "results.json").read_text())["objects"]
    assert known == ["new/c", "new/d", "old/a", "old/b"]
    second = write("second.csv", {"anchor": ["s/new/c.png"], "near": ["s/new/d.png"], "far": ["s/new/e.png"]})
    capsys.readouterr()
    assert main(["score", folder, second]) == 2
    assert "about objects that are not on the map: 'e'" in capsys.readouterr().err
    near, far = "x/old/b.png", "y/new/c.png"
    third = write("third.csv", {"anchor": ["x/old/a.png"] * 2, "near": [near, far], "far": [far, near]})
    assert main(["score", folder, third, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_answers"] == 2
    sizes = write("sizes.csv", {"object": [*of.values()], "size": ["1", "2", "3", "4"]})
    page = tmp_path / "page.html"
    assert main(["report", folder, "--attributes", sizes, "-o", str(page)]) == 0
    assert "not on the map" not in capsys.readouterr().err


def test_a_matrix_may_name_the_paths():
    found = NamedMatrix("model", np.array([[0, 2, 3], [2, 0, 1], [3, 1, 0.0]]), ["s/a.png", "s/b.png", "other"])
    over = found.reindex(["b", "a", "c"])
    assert over.matrix[0, 1] == 2
    assert over.notes[:2] == (
        "1 object is not in it, and left out: 'c'",
        "1 object is not on the map, and left out: 'other'",
    )


def test_questions_to_ask_keep_their_paths(tmp_path):
    rows = table("stim/{}.png".format, ROWS * 4)
    lines = [",".join(rows), *map(",".join, zip(*rows.values(), strict=True))]
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "questions.csv"
    assert main(["ask", str(tmp_path / "answers.csv"), "-n", "5", "-o", str(out), "--dimensions", "1"]) == 0
    assert "stim/a.png" in out.read_text()
