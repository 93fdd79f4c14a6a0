"""Labels: paths and pictures by short names, 13.0 as 13, and text against integers."""

import json

import numpy as np
import pytest
from helpers.tables import labeled_rows

from nearer.cli.main import main
from nearer.comparing.matrix_files import NamedMatrix
from nearer.data.comparisons import Comparisons
from nearer.io import read_answers
from nearer.io.labels import match_labels, media_address, same_objects, short_names

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
    assert same_objects(["a/x.png", "y", "z"], ["x", "b/y", "c/y", "d/z"]) == {"a/x.png": "x", "z": "d/z"}
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


PICTURE_ROWS = [("cat", "dog", "car"), ("car", "bus", "cat"), ("dog", "cat", "bus")]


def picture_table(anchor, option):
    first, second, third = zip(*PICTURE_ROWS, strict=True)
    shown = {"anchor": first, "near": second, "far": third}
    return {
        name: [(anchor if name == "anchor" else option).format(each) for each in column]
        for name, column in shown.items()
    }


@pytest.mark.parametrize(
    "html", ["<img src='{}.png'>", '<div class="a"><IMG width=9 src="{}.png" /></div>', "<img src={}.png>"]
)
def test_a_picture_goes_by_its_address_where_that_is_an_object(html):
    answers = read_answers(picture_table(html, "{}.png"))
    assert answers.comparisons.objects.tolist() == ["bus.png", "car.png", "cat.png", "dog.png"]
    objects = answers.comparisons.objects[answers.comparisons.rows]
    assert objects.tolist() == [[f"{each}.png" for each in row] for row in PICTURE_ROWS]


@pytest.mark.filterwarnings("ignore")
def test_html_all_through_and_other_addresses_stay_as_they_are():
    html = "<img src='{}.png'>"
    assert "<img src='cat.png'>" in read_answers(picture_table(html, html)).comparisons.objects
    assert "<img src='cat.png'>" in read_answers(picture_table(html, "{}")).comparisons.objects


def test_lists_hold_the_objects_too(tmp_path):
    path = tmp_path / "data.csv"
    rows = [
        '"<img src=\'cat.png\'>","[""dog.png"",""car.png""]",dog.png',
        '"<img src=\'car.png\'>","[""cat.png"",""bus.png""]",bus.png',
    ]
    path.write_text("\n".join(["anchor,shown,chosen", *rows]), encoding="utf-8")
    assert read_answers(path).comparisons.objects.tolist() == ["bus.png", "car.png", "cat.png", "dog.png"]


@pytest.mark.parametrize(
    "text", ["<p>a</p><img src='a.png'>", "<img src='a.png'><img src='b.png'>", "<img alt='a'>", "a < b"]
)
def test_words_two_pictures_and_none_have_no_address(text):
    assert media_address(text) is None


def test_buttons_of_jspsych_that_are_all_html_are_called_by_their_addresses():
    choices = [json.dumps([f'<img src="img/{each}.jpg" class="x">' for each in row]) for row in ("abc", "bcd", "cda")]
    picture_table = {
        "trial_type": ["html-button-response"] * 3, "trial_index": [1, 2, 3], "time_elapsed": [10, 20, 30],
        "rt": [900, 800, 700], "response": [0, 1, 2], "choices": choices,
    }  # fmt: skip
    answers = read_answers(picture_table, kind="odd-one-out")
    assert answers.comparisons.objects.tolist() == list("abcd")
    assert list(answers.paths.values()) == [f"img/{each}.jpg" for each in "abcd"]
    assert answers.places.tolist() == [0, 1, 2]


def read(tmp_path, text, **options):
    (tmp_path / "answers.csv").write_text(text)
    return read_answers(tmp_path / "answers.csv", **options)


@pytest.mark.parametrize(
    ("floats", "integers"),
    [
        ("anchor,near,far\n11,12,13.0\n13,11,12.0\n", "anchor,near,far\n11,12,13\n13,11,12\n"),
        (
            "anchor,left,right,answer\n11,12,13,13.0\n13,11,12,11.0\n",
            "anchor,left,right,answer\n11,12,13,13\n13,11,12,11\n",
        ),
        (
            "item1,item2,item3,item4,odd\n12,11,14,,14\n11,14,12,13.0,13\n",
            "item1,item2,item3,item4,odd\n12,11,14,,14\n11,14,12,13,13\n",
        ),
        (
            'anchor,shown,chosen\n11.0,"12;13;14",12\n12.0,"[11, 13.0, 14]",13\n',
            'anchor,shown,chosen\n11,"12;13;14",12\n12,"[11, 13, 14]",13\n',
        ),
    ],
)
def test_a_whole_number_with_a_decimal_point_is_the_number(tmp_path, floats, integers):
    answers = read(tmp_path, floats)
    assert labeled_rows(answers) == labeled_rows(read(tmp_path, integers))
    assert not any(".0" in label for label in answers.comparisons.objects.tolist())


def test_other_labels_stay_as_written(tmp_path):
    assert "1.0" in read(tmp_path, "anchor,near,far\nv1,1.0,2\n1.0,v1,2\n").comparisons.objects.tolist()
    assert "012" in read(tmp_path, "anchor,near,far\n012,1.0,2\n1,012,2\n").comparisons.objects.tolist()
    assert "1.5" in read(tmp_path, "anchor,near,far\n1.5,1.0,2\n1,1.5,2\n").comparisons.objects.tolist()


NUMBER_ROWS = [(1, 2, 10), (2, 10, 1), (10, 3, 2)]


def labeled(comparisons):
    return comparisons.objects[comparisons.rows].tolist()


@pytest.mark.parametrize(("form", "other"), [("npz", "csv"), ("csv", "npz")])
def test_files_of_the_same_objects_meet(tmp_path, form, other):
    (tmp_path / "ints.csv").write_text("anchor,near,far\n" + "\n".join(",".join(map(str, row)) for row in NUMBER_ROWS))
    np.savez(tmp_path / "ints.npz", triplets=np.array(NUMBER_ROWS))
    fitted = read_answers(tmp_path / f"ints.{form}").comparisons
    scored = read_answers(tmp_path / f"ints.{other}").comparisons
    with pytest.raises(ValueError, match="is not among the 4 objects"):
        scored.reindex(fitted.objects)
    over = match_labels(scored, fitted.objects).reindex(fitted.objects)
    assert over.objects.tolist() == fitted.objects.tolist()
    assert labeled(over) == labeled(fitted)


def test_new_objects_may_come_with_the_old_ones():
    texts = Comparisons.from_triplets([tuple(map(str, row)) for row in NUMBER_ROWS])
    assert labeled(match_labels(Comparisons.from_triplets(NUMBER_ROWS, objects=[1, 2, 3, 10]), ["1", "2"])) == labeled(
        texts
    )
    assert labeled(match_labels(texts, [1, 2, 3, 10, 11])) == [list(row) for row in NUMBER_ROWS]


@pytest.mark.parametrize(
    ("labels", "objects"),
    [
        (("1", "2", "10"), ["1", "2", "10"]),  # already alike
        (("01", "2", "10"), [1, 2, 10]),  # "01" is no spelling of 1
        (("1", "2", "cat"), [1, 2]),
        (("1", "2", "10"), [1, 2, 3]),  # neither side holds the other
        ((1, 2, 10), ["1", "2", "3"]),
    ],
)
def test_labels_that_do_not_meet_stay(labels, objects):
    comparisons = Comparisons.from_triplets([labels], objects=sorted(labels))
    assert match_labels(comparisons, objects) is comparisons


def test_what_comes_with_comparisons_stays():
    comparisons = Comparisons.from_triplets([("1", "2", "10")], [-1], weights=[2.0], annotators=["p"])
    integers = match_labels(comparisons, [10, 1, 2])
    assert (integers.answers.tolist(), integers.weights.tolist(), integers.annotators.tolist()) == ([-1], [2], ["p"])
