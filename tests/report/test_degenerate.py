"""Maps and charts in which all is one and the same."""

import re

import pytest
from helpers.report_sample import color_results, results_of

from nearer.report import charts as _charts
from nearer.report.charts import Axes
from nearer.report.page import assemble
from nearer.study import StudyResults
from nearer.study.results import CurveStep, DimensionRecord, ErrorRecord, MarginRecord


def numbers(drawing):
    return [float(value) for value in re.findall(r' (?:x|y|x1|y1|x2|y2|cx|cy|width|height)="([^"]+)"', drawing)]


def is_drawn(drawing):
    return all(abs(value) < 1e4 for value in numbers(drawing))


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_map_that_is_one_point(n, p):
    results = results_of([[0.0] * p] * n, [f"object {k}" for k in range(n)], {"size": [1.0] * n})
    results["margins"] = {"edges": [-1.0, 0.0, 1.0], "counts": [0, 4], "share_negative": 0.5}
    page = assemble(StudyResults.from_dict(results), {})
    assert "All objects lie in one place." in page
    assert "NaN" not in page.split("</style>")[1].split("<script>")[0]


def test_a_scree_of_zeros_is_drawn_flat():
    drawing = _charts.scree_chart([0.0, 0.0])
    assert is_drawn(drawing)
    assert [float(height) for height in re.findall(r'bar"[^>]*height="([^"]+)"', drawing)] == [0.0, 0.0]
    assert "axis 2 0%" in drawing


@pytest.mark.parametrize("edge", [0.0, 3.0, -1e90])
def test_margins_that_are_all_the_same(edge):
    assert is_drawn(_charts.margins_chart(MarginRecord((edge, edge), (7,))))
    assert is_drawn(_charts.margins_chart(MarginRecord((edge, edge), (0,))))


def test_a_learning_curve_of_no_error_and_no_size():
    step = CurveStep(0, 0.0, 0.0, 0.0)
    assert is_drawn(_charts.learning_chart([step, step], ErrorRecord(ceiling=0.0)))


@pytest.mark.parametrize("deviations", [None, [0.0], [None]])
def test_one_dimension_of_no_error(deviations):
    choice = DimensionRecord((1,), (0.0,), deviations, 1)
    drawing = _charts.dimension_chart(choice)
    assert is_drawn(drawing)
    assert "1 dimension 0.000" in drawing


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_errors_that_are_all_the_same(value):
    assert is_drawn(
        _charts.error_chart(ErrorRecord(**dict.fromkeys(("map", "low", "high", "ceiling", "chance"), value)))
    )


@pytest.mark.parametrize("ends", [(0.0, 0.0), (2.0, 2.0), (-1e99, -1e99), (1.0, 0.0), (1e12, 1e12 + 1e-4)])
def test_an_axis_always_has_a_length(ends):
    axes = Axes(x=ends, y=ends)
    assert axes.at_x(ends[0]) == axes.left
    assert is_drawn("".join(axes.frame("x", "y")))


def test_every_error_has_its_whisker():
    choice = DimensionRecord.from_dict(color_results()["dimension"])
    drawing = _charts.dimension_chart(choice)
    assert "reference" not in drawing
    assert drawing.count("second stroke") == 3 * len(choice.candidates)
