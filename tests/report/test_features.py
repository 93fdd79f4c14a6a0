"""The section on features: what share of the map they account for, and which objects people see otherwise."""

from helpers.report_sample import color_results

from nearer.report.page import all_sections, assemble
from nearer.report.verdict import verdict
from nearer.study import StudyResults

PIXELS = {
    "name": "pixels", "file": "pixels.csv", "sha256": None, "n_objects": 68, "n_columns": 1280, "share": 0.84,
    "share_low": 0.66, "share_high": 0.97,
}  # fmt: skip
WORDS = PIXELS | {"name": "<words>", "n_columns": 1, "share": 0.07, "share_low": 0.01, "share_high": 0.2}
DEVIATIONS = [{"object": "navy", "distance": 0.625, "low": 0.31, "high": 0.94}]


def section(**changes):
    results = StudyResults.from_dict(color_results(**changes))
    return next((each.content for each in all_sections(results) if each.name == "features"), None)


def test_a_map_of_answers_alone_has_no_such_section():
    assert section() is None


def test_it_tells_the_shares_and_the_objects_seen_otherwise():
    found = section(features=[PIXELS, WORDS], feature_deviations=DEVIATIONS)
    text = " ".join(found["paragraphs"])
    assert "pixels 84% (66% to 97%); <words> 7% (1% to 20%)" in text
    assert "1,280 numbers for each of 68 objects" in text
    assert "navy (0.62, 0.31 to 0.94)" in text or "navy (0.63, 0.31 to 0.94)" in text
    assert "is no evidence that people agree with these features" in text
    assert "pixels 0.840 (0.660 to 0.970)" in found["figure"].drawing


def test_shares_without_intervals_are_told_without_a_figure():
    bare = PIXELS | {"share_low": None, "share_high": None}
    found = section(features=[bare])
    assert "pixels 84%." in found["paragraphs"][0]
    assert found["figure"] is None


def test_names_are_escaped_and_the_methods_paragraph_mentions_the_prior():
    page = assemble(StudyResults.from_dict(color_results(features=[PIXELS, WORDS])), {})
    assert "<words>" not in page
    assert "Features of the objects entered as the prior covariance" in page


def test_the_verdict_says_what_distances_rest_on():
    results = StudyResults.from_dict(color_results(features=[PIXELS], reproducibility=None))
    assert "Distances rest on the features as well as on the answers" in str(verdict(results))
    without = StudyResults.from_dict(color_results(reproducibility=None))
    assert "features" not in str(verdict(without))
