"""Arrows between two maps: one for each object, in color for those that moved."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch

from nearer._common.figures import INK
from nearer.plotting import PALETTE, new_figure, plot_arrows

FIRST = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SECOND = FIRST + np.array([[0.5, 0.0], [0.0, 0.1], [0.0, 0.0], [np.nan, 0.0]])


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_moved_objects_are_in_color_and_named_and_unknown_ones_left_out():
    ax = plot_arrows(FIRST, SECOND, list("abcd"), [True, False, False, False], names=("old", "young"))
    assert len(arrows(ax)) == 3
    colors = [to_hex(arrow.get_edgecolor()) for arrow in arrows(ax)]
    assert colors.count(PALETTE["DMOE"]) == 1
    written = {text.get_text(): to_hex(text.get_color()) for text in ax.texts}
    assert set(written) == {"a", "b", "c"}
    assert written["a"] != written["b"] == written["c"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["old (dot)", "young (arrowhead)", "displaced (p \u2264 0.05)", "others"]


def test_a_moved_object_in_a_crowd_is_named_all_the_same():
    rng = np.random.default_rng(0)
    crowd = 0.001 * rng.normal(size=(30, 2))
    ax = plot_arrows(crowd, crowd + 0.001, [f"a long name {k}" for k in range(30)], np.arange(30) == 7)
    assert "a long name 7" in {text.get_text() for text in ax.texts}


def test_maps_on_a_line_get_a_height_for_each_object():
    ax = new_figure(4, 4).add_subplot()
    assert plot_arrows([[0.0], [1.0], [2.0]], [[0.5], [1.0], [2.0]], ax=ax) is ax
    heights = {tuple(arrow.get_path().vertices[0].round(3)) for arrow in arrows(ax)}
    assert len(arrows(ax)) == len(heights) == 3


@pytest.mark.parametrize(("second", "labels"), [(np.zeros((3, 2)), None), (FIRST, ["a"]), (np.zeros(4), None)])
def test_maps_of_other_shapes_are_refused(second, labels):
    with pytest.raises(ValueError, match=r"give|must"):
        plot_arrows(FIRST, second, labels)


def test_where_nothing_moved_the_legend_says_so_and_labels_can_be_read():
    ax = plot_arrows(FIRST, SECOND, list("abcd"), [False] * 4, emphasized="moved (p < 0.05)")
    assert [text.get_text() for text in ax.get_legend().get_texts()][2:] == ["none moved (p < 0.05)"]
    assert {to_hex(text.get_color()) for text in ax.texts} == {INK}


def test_arrows_have_no_circles_along_them_where_labels_have_leader_lines():
    rng = np.random.default_rng(1)
    first = rng.normal(size=(40, 2))
    ax = plot_arrows(first, first + 0.25 * rng.normal(size=(40, 2)), [f"object {k}" for k in range(40)])
    dots = [each for each in ax.collections if isinstance(each, PathCollection)]
    assert len(ax.collections) > len(dots) == 1  # or there are no leader lines, and nothing is tested
    assert len(dots[0].get_edgecolor()) == 0
