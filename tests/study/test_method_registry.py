"""Sentences and BibTeX entries of what to cite come from the same fields."""

import re

import pytest

from nearer.study.methods import METHODS, Work, citations

WORKS = {name: method.source for name, method in METHODS.items() if method.source is not None}

NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "note"},
}


def read_entry(text):
    """Read one entry as BibTeX does: a kind, a key, and fields whose braces are in pairs."""
    kind, key, body = re.fullmatch(r"@(\w+)\{(\w+),\n(.*)\n\}", text, flags=re.DOTALL).groups()
    fields = {}
    for line in body.split(",\n"):
        name, value = re.fullmatch(r"  (\w+) = \{(.*)\}", line).groups()
        plain = re.sub(r"\\[{}]", "", value)
        depth = [plain[:place].count("{") - plain[:place].count("}") for place in range(len(plain) + 1)]
        assert min(depth) >= 0
        assert depth[-1] == 0
        fields[name] = value
    return kind, key, fields


@pytest.mark.parametrize("method", [*WORKS, "unheard-of"])
def test_every_work_is_an_entry_with_what_bibtex_needs(method):
    for found in citations(method, "0.1.0"):
        kind, _, fields = read_entry(found["bibtex"])
        assert set(fields) >= NEEDED[kind]
        assert fields["title"].translate({ord("{"): None, ord("}"): None}) in found["text"]
        assert fields.get("year", "") in found["text"]
        assert all(name.split(",")[0].strip("{}") in found["text"] for name in fields["author"].split(" and "))
        assert fields.get("doi") == found["doi"]


def test_keys_tell_works_apart():
    assert len({work.key for work in WORKS.values()}) == len(set(WORKS.values()))


def test_what_is_special_to_latex_is_written_as_it_stands():
    work = Work("k", ("O'Neil & Sons",), "50% of a_b {x} in R^2", 2020, journal="J", pages="1-9", note="# 1")
    _, _, fields = read_entry(work.bibtex)
    assert fields["author"] == r"{O'Neil \& Sons}"
    assert fields["title"] == r"50\% of a\_b \{x\} in {R}\^{}2"
    assert fields["pages"] == "1--9"
    assert fields["note"] == r"\# 1"
