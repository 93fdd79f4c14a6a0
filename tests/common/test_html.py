"""What notebooks show of comparisons, answers, findings and results: text, escaped, in the colors of the notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from nearer import Comparisons
from nearer._common.html import MAX_ROWS, html_block
from nearer.checking import check
from nearer.comparing import compare_groups
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import held_out_error
from nearer.io import read_answers

EVIL = "<img src=x onerror=alert(1)>&\ud800"


class Parsed(HTMLParser):
    """Tags in order, checked to be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def comparisons():
    rows = sample_triplets(make_gaussian(8, 2, random_state=0), 150, flipped=0.1, random_state=0).rows
    names = np.array([EVIL, *"bcdefgh"], dtype=object)
    return Comparisons.from_triplets(names[rows], annotators=[f"p{number % 10}" for number in range(150)])


def shown_values(comparisons):
    answers = read_answers({"item_1": [EVIL, "a"], "item_2": ["b", "b"], "item_3": ["c", "d"], "odd": ["b", "d"]})
    groups = [int(name[1:]) % 2 for name in comparisons.annotators]
    return {
        "Comparisons": comparisons,
        "Answers": answers,
        "Findings": check(answers, random_state=0),
        "HeldOutError": held_out_error(STE(2, random_state=0), comparisons, random_state=0),
        "GroupComparison": compare_groups(comparisons, groups, n_components=2, n_permutations=99, random_state=0),
    }


def test_values_are_shown_as_text_that_is_closed_and_escaped(comparisons):
    for name, value in shown_values(comparisons).items():
        text = value._repr_html_()
        text.encode("utf-8")
        found = Parsed(text)
        assert set(found.tags) <= {"div", "strong", "table", "caption", "tr", "th", "td"}, name
        assert found.words[0].startswith(name)
        # Colors are those of the notebook, light or dark.
        assert not re.search(r"#[0-9a-f]{3}|background|(?<!-)color:", text)
    assert "<img src=x" in "".join(Parsed(comparisons._repr_html_()).words)


def test_long_tables_are_cut_and_say_so():
    rows = [("number",), *((number,) for number in range(1234))]
    found = Parsed(html_block("Title", ["line"], {"all": rows}))
    assert found.tags.count("td") == MAX_ROWS
    assert "all, the first 10 of 1,234 rows" in found.words


def test_of_many_comparisons_the_first_are_shown(comparisons):
    found = Parsed(comparisons._repr_html_())
    assert found.tags.count("tr") == MAX_ROWS + 1
    assert {"anchor", "near", "far", "annotators"} <= set(found.words)
