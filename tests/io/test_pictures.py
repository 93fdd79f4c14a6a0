"""A picture in HTML is the object that its address names in another column."""

import json

import pytest

from nearer.io import read_answers
from nearer.io.labels import media_address

ROWS = [("cat", "dog", "car"), ("car", "bus", "cat"), ("dog", "cat", "bus")]


def table(anchor, option):
    first, second, third = zip(*ROWS, strict=True)
    shown = {"anchor": first, "near": second, "far": third}
    return {
        name: [(anchor if name == "anchor" else option).format(each) for each in column]
        for name, column in shown.items()
    }


@pytest.mark.parametrize(
    "html", ["<img src='{}.png'>", '<div class="a"><IMG width=9 src="{}.png" /></div>', "<img src={}.png>"]
)
def test_a_picture_goes_by_its_address_where_that_is_an_object(html):
    answers = read_answers(table(html, "{}.png"))
    assert answers.comparisons.objects.tolist() == ["bus.png", "car.png", "cat.png", "dog.png"]
    objects = answers.comparisons.objects[answers.comparisons.rows]
    assert objects.tolist() == [[f"{each}.png" for each in row] for row in ROWS]


@pytest.mark.filterwarnings("ignore")
def test_html_all_through_and_other_addresses_stay_as_they_are():
    html = "<img src='{}.png'>"
    assert "<img src='cat.png'>" in read_answers(table(html, html)).comparisons.objects
    assert "<img src='cat.png'>" in read_answers(table(html, "{}")).comparisons.objects


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
    table = {
        "trial_type": ["html-button-response"] * 3, "trial_index": [1, 2, 3], "time_elapsed": [10, 20, 30],
        "rt": [900, 800, 700], "response": [0, 1, 2], "choices": choices,
    }  # fmt: skip
    answers = read_answers(table, kind="odd-one-out")
    assert answers.comparisons.objects.tolist() == list("abcd")
    assert list(answers.paths.values()) == [f"img/{each}.jpg" for each in "abcd"]
    assert answers.places.tolist() == [0, 1, 2]
