import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from helpers.report_sample import addresses, color_results, empty_results, random_results

from nearer.plotting.fits import CurveScale
from nearer.report import write_report
from nearer.report.charts import error_chart, ticks
from nearer.report.page import SCRIPTS, asset
from nearer.study import StudyResults
from nearer.study.methods import citations
from nearer.study.results import ErrorRecord

SECTIONS = [
    "map",
    "trust",
    "findings",
    "neighbors",
    "margins",
    "learning",
    "dimensions",
    "annotators",
    "settings",
    "methods",
    "cite",
]
BAD = "</script><script>alert(1)</script>"


def written(folder, results, **options):
    return write_report(StudyResults.from_dict(results), folder / "deep" / "report.html", **options).read_text(
        encoding="utf-8"
    )


class Elements(HTMLParser):
    """The elements of a page, and whether each was closed."""

    VOID = frozenset({"meta", "link", "input"})

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_every_section_is_there_in_order_and_every_element_is_closed(tmp_path):
    elements = Elements(written(tmp_path, color_results()))
    assert elements.open == []
    assert [
        attributes["id"] for tag, attributes in elements.tags if tag == "section" and "id" in attributes
    ] == SECTIONS
    words = " ".join(elements.text)
    for content in (
        "colors.csv",
        "12 questions were answered both ways",
        "doi:10.0000/example",
        "--seed 20261115",
        "20261115",
    ):
        assert content in words


def test_identifiers_are_unique(tmp_path):
    names = [
        attributes["id"] for _, attributes in Elements(written(tmp_path, color_results())).tags if "id" in attributes
    ]
    assert len(names) == len(set(names))


def test_nothing_comes_from_elsewhere(tmp_path):
    page = written(tmp_path, color_results(3))
    assert addresses(page) == []
    for tag, attributes in Elements(page).tags:
        assert tag not in {"iframe", "object", "embed", "base"}
        assert attributes.get("src") is None
        assert attributes.get("href", "#").startswith(("#", "data:"))
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_the_policy_names_the_style_and_the_script(tmp_path):
    page = written(tmp_path, color_results())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for pattern, source in ((r"<style>(.*?)</style>", "style-src"), (r"<script>(.*?)</script>", "script-src")):
        content = re.search(pattern, page, flags=re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy


def test_what_is_null_is_left_out_or_says_how_to_get_it(tmp_path):
    page = written(tmp_path, empty_results())
    elements = Elements(page)
    found = [attributes["id"] for tag, attributes in elements.tags if tag == "section" and "id" in attributes]
    assert found == ["map", "trust", "findings", "neighbors", "learning", "annotators", "settings"]
    assert "None" not in " ".join(elements.text[: elements.text.index("Skip to the map") + 200])
    assert "with a column of annotators" in page
    assert "leave out --quick" in page


NEVER_NULL = {
    "format", "objects", "embedding", "attributes", "citations", "interrupted", "level", "missing", "notes", "settings",
    "source", "summary", "versions",
}  # fmt: skip


@pytest.mark.parametrize("key", sorted(set(color_results()) - NEVER_NULL))
def test_any_one_key_may_be_null(tmp_path, key):
    changes = {key: None} | ({"covariances": None} if key == "scales" else {})
    assert Elements(written(tmp_path, color_results(**changes))).open == []


@pytest.mark.parametrize("field", ["held_out", "low", "map", "map_low", "map_high", "ceiling", "n_folds", "unit"])
def test_any_part_of_the_error_may_be_null(tmp_path, field):
    results = color_results()
    results["error"][field] = None
    assert Elements(written(tmp_path, results)).open == []


def test_strings_from_outside_are_text_everywhere(tmp_path):
    results = random_results(6, title=BAD, command=BAD, date=BAD, objects=[BAD] * 6, attributes={BAD: [BAD] * 6})
    results["findings"] = [{"severity": "error", "code": BAD, "title": BAD, "text": BAD, "examples": [BAD]}]
    results["annotators"] = [results["annotators"][0] | {"name": BAD, "flags": [BAD]}]
    results["source"] = {"file": BAD, "sha256": BAD, "kind": BAD, "n_answers": 5}
    results["notes"] = [BAD]
    results["settings"] = {"method": BAD, "parameters": {BAD: BAD}, "chosen": {BAD: BAD}}
    results["versions"] = {"nearer": BAD, BAD: BAD}
    results["citations"] = [{"text": BAD, "doi": BAD, "bibtex": BAD}]
    results["dimension"]["rule"] = results["error"]["unit"] = BAD
    page = written(tmp_path, results)
    assert page.count("alert(1)") > 20
    assert page.count("<script") == 2
    assert len(re.findall("<script>alert", page)) == 0


def test_citations_are_there_for_bibtex_where_results_have_them(tmp_path):
    assert "BibTeX" not in written(tmp_path, color_results())
    page = written(tmp_path, color_results(citations=citations("CKL", "0.1.0")))
    for work in citations("CKL", "0.1.0"):
        assert work["bibtex"] in page
    assert 'data-copies="bibtex-text"' in page


@pytest.mark.parametrize("p", [1, 2, 3, 9])
def test_maps_of_any_dimension_are_written(tmp_path, p):
    assert Elements(written(tmp_path, random_results(12, p))).open == []


def test_one_object_is_a_report_too(tmp_path):
    assert "1 object" in written(tmp_path, empty_results(objects=["a"], embedding=[[0.0, 0.0]]))


def test_the_scripts_are_all_of_those_in_the_package():
    from importlib import resources

    files = resources.files("nearer.report").joinpath("assets", "scripts").iterdir()
    assert sorted(file.name for file in files) == sorted(f"{name}.js" for name in SCRIPTS)
    assert all("innerHTML" not in asset(f"scripts/{name}.js") for name in SCRIPTS)


@pytest.mark.parametrize(("low", "high"), [(0, 0.5), (-3.2, 7.9), (0, 41000), (0.1, 0.1), (1e-9, 2e-9)])
def test_ticks_are_few_and_within(low, high):
    places = ticks(low, high)
    assert len(places) <= 7
    assert all(low - 1e-9 <= place <= high + 1e-9 for place in places)


def test_nobody_is_flagged_only_where_somebody_looked(tmp_path):
    results = color_results()
    for person in results["annotators"]:
        person["flags"] = []
    assert "Nobody is flagged." in written(tmp_path, results)
    maybe = {
        "severity": "note",
        "code": "maybe-at-chance",
        "title": "3 people may answer at chance",
        "text": "Ask more.",
    }
    assert "Nobody is flagged. 3 people may answer at chance." in written(
        tmp_path, results | {"findings": [*results["findings"], maybe]}
    )
    page = written(tmp_path, results | {"findings": None})
    assert "Nobody is flagged." not in page
    assert "Random responders were not looked for in this run." in page


def test_settings_are_written_for_people(tmp_path):
    penalty = {"class": "Penalty", "trace": 0.01, "ridge": 10.0, "diagonal": None}
    settings = {
        "method": "BestOf",
        "parameters": {"methods": None, "n_components": 2, "n_objects": None, "n_folds": 5},
        "chosen": {"method": {"name": "DMOE", "parameters": {}}, "penalty": penalty, "power": 2},
    }
    page = written(tmp_path, color_results(settings=settings))
    made = page[page.index('<section id="settings"') : page.index('<section id="methods"')]
    for python in ("None", "{", "class", "n_", "=2"):
        assert python not in re.sub("<[^>]*>", " ", made)
    assert "<dt>dimensions</dt><dd>2</dd>" in made
    assert "<dt>penalty</dt><dd>trace 0.01, ridge 10</dd>" in made
    assert "<dt>method</dt><dd>distributional margin based ordinal embedding (DMOE)</dd>" in made


@pytest.mark.parametrize("ceiling", [0.01, 0.2, 0.33, 0.45, 0.5])
@pytest.mark.parametrize("value", [0.02, 0.317, 0.49, 0.6])
def test_no_label_of_the_error_is_cut_or_lies_on_another(ceiling, value):
    around = {"map_low": value - 0.02, "map_high": value + 0.02, "ceiling_low": ceiling - 0.01}
    error = {"map": value, "held_out": value + 0.001, "ceiling": ceiling, "ceiling_high": ceiling + 0.03} | around
    drawn = error_chart(ErrorRecord(**error))
    labels = re.findall(r'<text class="(\w+) (\w+)" x="([\d.-]+)" y="([\d.-]+)">([^<]*)</text>', drawn)
    named = [label for label in labels if label[0] == "name" or label[4] == "guessing"]
    assert len(named) == 4
    assert len({y for *_, y, _ in named}) == 4  # each on a line of its own
    for _, anchor, x, _, content in named:
        width = 7.5 * len(content)
        left = float(x) - (width if anchor == "end" else width / 2)
        assert left >= 0
        assert left + width <= 440
    assert drawn.count('class="plain stroke"') == 3  # the interval of the best possible error


def test_the_sizes_that_words_compare_are_written_below_the_curve():
    scale = CurveScale.of([24, 68, 192, 542, 1528, 3054], [0.5] * 6)
    assert {1528, 3054} <= set(scale.ticks)
