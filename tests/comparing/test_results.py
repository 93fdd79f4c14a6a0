"""What all comparisons share: they come back from JSON as they were, and leave their values, tables and figures."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.schemas import check_file

from nearer._common.results import Result
from nearer.comparing import (
    compare_groups,
    compare_maps,
    compare_matrices,
    compare_methods,
    compare_people,
    fit_properties,
)
from nearer.comparing.matrix_tests import MatrixNoise
from nearer.comparing.results import Estimate, holm, p_text, plot_estimates
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.evaluation import distance_matrix

pytestmark = pytest.mark.usefixtures("one_start")
POINTS = make_gaussian(8, 2, random_state=0)
ROWS = sample_triplets(POINTS, 160, flipped=0.1, random_state=0)
JUDGMENTS = replace(ROWS, annotators=np.arange(160) % 8)
LABELS = [f"object {k}" for k in range(8)]


def of_matrices():
    apart = distance_matrix(STE(2, random_state=0).fit(ROWS)).matrix
    noise, people = MatrixNoise(apart[None], apart[None]), np.array([apart, apart + 0.1 * (1 - np.eye(8))])
    models = {"same": apart, "square": apart**2}
    return compare_matrices(apart, models, noise=noise, people=people, n_permutations=9, n_resamples=10, random_state=0)


MADE = {
    "groups": lambda: compare_groups(
        JUDGMENTS, np.arange(160) % 8 % 3, n_components=2, n_permutations=19, random_state=0
    ),
    "groups of nobody": lambda: compare_groups(ROWS, np.arange(160) % 2, n_components=1, random_state=0),
    "maps": lambda: compare_maps(STE(2, random_state=0).fit(ROWS), STE(1, random_state=0).fit(ROWS)),
    "matrices": of_matrices,
    "methods": lambda: compare_methods(ROWS, {"plane": STE(2), "line": STE(1)}, n_splits=2, random_state=0),
    "people": lambda: compare_people(JUDGMENTS, n_splits=2, random_state=0),
    "properties": lambda: fit_properties(
        POINTS, {"size": POINTS[:, 0], "side": ["ab"[int(x > 0)] for x in POINTS[:, 1]], "same": [1] * 8},
        n_permutations=9, n_resamples=9, random_state=0,
    ),
}  # fmt: skip
FILES = {
    "groups": {
        "comparison.json", "displacements.csv", "map-all.csv", "map-0.csv", "map-1.csv", "map-2.csv",
        *(f"groups-{pair}.{ending}" for pair in ("0-1", "0-2", "1-2") for ending in ("png", "pdf")),
    },
    "groups of nobody": {
        "comparison.json", "displacements.csv", "map-all.csv", "map-0.csv", "map-1.csv", "groups.png", "groups.pdf",
    },
    "maps": {"comparison.json", "displacements.csv", "maps.png", "maps.pdf"},
    "matrices": {"comparison.json", "rsa.csv", "rsa.png", "rsa.pdf"},
    "methods": {"comparison.json", "methods.csv", "methods.png", "methods.pdf"},
    "people": {"comparison.json", "weights.csv", "departures.csv", "embedding.csv", "people.png", "people.pdf"},
    "properties": {"properties.json", "properties.csv"},
}  # fmt: skip


@pytest.fixture(scope="module", params=MADE)
def made(request):
    return request.param, MADE[request.param]()


def test_a_comparison_comes_back_from_json(made):
    _, found = made
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = type(found).from_dict(values)
    assert again.to_dict() == values
    assert str(again) == str(found) == found.summary()


def test_a_comparison_leaves_its_files(made, tmp_path):
    pytest.importorskip("matplotlib")
    name, found = made
    assert isinstance(found, Result)
    files = found.write(tmp_path / "new" / "folder")
    assert set(files) == {path.name for path in (tmp_path / "new" / "folder").iterdir()} == FILES[name]
    values = json.loads((tmp_path / "new" / "folder" / found.json_name).read_text())
    assert values["kind"] == name.split()[0]
    check_file(tmp_path / "new" / "folder" / found.json_name, "comparison")
    for file in files:
        if file.endswith(".csv"):
            with (tmp_path / "new" / "folder" / file).open(newline="") as table:
                header, *rows = csv.reader(table)
            assert rows
            assert {len(row) for row in rows} == {len(header)}


def test_a_comparison_is_drawn_on_axes(made):
    matplotlib = pytest.importorskip("matplotlib.figure")
    ax = matplotlib.Figure().add_subplot()
    name, found = made
    assert found.plot(ax) is ax
    labels = {"matrices": "correlation with the map's distances", "methods": "held-out error less that of"}
    assert labels.get(name, "") in ax.get_xlabel()


def test_estimates_are_drawn_in_order_with_each_interval_at_its_place():
    pytest.importorskip("matplotlib")
    rows = [Estimate("first", 0.5, ((0.4, 0.6), (0.3, 0.7))), Estimate("a" * 40, -0.1, ((-0.2, 0.0), (-0.3, 0.1)))]
    ax = plot_estimates(rows, ["objects", "people"], "r", band=(0.8, 0.9, "ceiling"))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a" * 25 + "...", "first"]
    ends = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2][1:]
    assert ends == [(-0.2, 0.0), (-0.3, 0.1), (0.4, 0.6), (0.3, 0.7)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ceiling", "objects", "people"]


def test_p_values_are_written_in_two_digits():
    assert [p_text(each) for each in (0.00021, 0.25, 1.0, None)] == ["0.00021", "0.25", "1", ""]


def test_holm_step_by_step():
    assert holm([]) == []
    assert holm([0.2, 0.01, 0.02]) == pytest.approx([0.2, 0.03, 0.04])
    assert holm([0.01, 0.2, 0.02]) == pytest.approx([0.03, 0.2, 0.04])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
