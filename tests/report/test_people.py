"""The section on people: how reliable each is, and how much they differ from the common map."""

from helpers.report_sample import color_results

from nearer.report.page import all_sections
from nearer.study import StudyResults

RECORD = {
    "weights": [0.47, 0.1, 0.69], "departures": [0.24, 0.16, 0.3], "axes_identified": True, "n_kinds": 1,
    "farthest": [{"name": "<Ada>", "departure": 0.4, "low": 0.31, "high": 0.52}],
}  # fmt: skip


def text(**changes):
    results = StudyResults.from_dict(color_results(**changes))
    found = next(each.content for each in all_sections(results) if each.name == "annotators")
    return " ".join(str(each) for each in found["paragraphs"])


def test_differences_that_were_not_measured_are_not_told():
    assert "from person to person" not in text()


def test_it_tells_how_much_people_differ():
    found = text(people=RECORD)
    assert "differ by a factor of 1.6 (1.1 to 2)" in found
    assert "objects lie 24% of the size of the map (16% to 30%) from their common places" in found
    assert "identify the axes" in found
    assert "depart more than is usual" in found
    assert "nearer compare FILE --people" in found


def test_what_is_not_sure_is_left_out():
    found = text(people=RECORD | {"axes_identified": False, "farthest": []})
    assert "direction" not in found
    assert "than is usual" not in found
