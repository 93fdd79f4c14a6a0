"""Cards of dimensions, and profiles of objects, on paper."""

import numpy as np
import pytest
from helpers.report_sample import weights_results

from nearer.plotting import Paper, plot_dimensions, plot_profiles

RESULTS = weights_results(20, 5)
WEIGHTS, LABELS = np.array(RESULTS["embedding"]), RESULTS["objects"]
INTERVALS = np.array(RESULTS["weights"]["intervals"])


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_a_card_names_the_objects_of_the_largest_weights():
    figure = plot_dimensions(WEIGHTS, LABELS, n_top=4, paper=Paper(180)).figure
    assert len(figure.axes) == 5
    for k, ax in enumerate(figure.axes):
        order = np.argsort(-WEIGHTS[:, k], kind="stable")[:4]
        assert words(ax) == [f"dimension {k + 1}", *[LABELS[place] for place in order if WEIGHTS[place, k] > 0]]


def test_bars_are_on_one_scale_and_lines_are_intervals():
    figure = plot_dimensions(WEIGHTS, LABELS, intervals=INTERVALS, paper=Paper(180)).figure
    units = []
    for k, ax in enumerate(figure.axes):
        order = [place for place in np.argsort(-WEIGHTS[:, k], kind="stable")[:8] if WEIGHTS[place, k] > 0]
        units += (np.array([bar.get_width() for bar in ax.patches]) / WEIGHTS[order, k]).tolist()
        start = ax.patches[0].get_x()
        ends = np.array([line.get_xdata() for line in ax.lines[:-1]]) - start
        np.testing.assert_allclose(ends, INTERVALS[order, k] * units[0])
        assert ends.max() + start <= ax.get_xlim()[1]
    np.testing.assert_allclose(units, units[0])


def test_long_words_are_cut_off_within_their_card():
    titles = ["a title that goes on and on and on and on and on"] * 5
    figure = plot_dimensions(WEIGHTS, ["very long label " * 4] * 20, titles, paper=Paper(85)).figure
    for ax in figure.axes:
        box = ax.get_window_extent()
        for text in ax.texts:
            assert text.get_text().endswith("…")
            assert text.get_window_extent().x1 <= box.x1 + 0.5


def test_pictures_stand_in_for_bars():
    pixels = np.zeros((6, 9, 3))
    pixels[:, :4] = 1.0
    figure = plot_dimensions(WEIGHTS, LABELS, images=dict.fromkeys(range(20), pixels), paper=Paper(180)).figure
    for k, ax in enumerate(figure.axes):
        assert len(ax.images) == min(6, int((WEIGHTS[:, k] > 0).sum()))
        left, right, lower, upper = ax.images[0].get_extent()
        np.testing.assert_allclose((right - left) / (lower - upper), 1.5)
        assert not ax.patches


def test_a_profile_has_the_dimensions_of_an_object():
    ax = plot_profiles(WEIGHTS, LABELS, ["object 3"], [f"d{k}" for k in range(5)])
    order = [k for k in np.argsort(-WEIGHTS[3], kind="stable") if WEIGHTS[3, k] > 0]
    assert words(ax) == ["object 3", *[f"d{k}" for k in order]]


@pytest.mark.parametrize("weights", [[[-1.0, 2.0]], [1.0, 2.0], [[np.nan, 1.0]]])
def test_what_is_no_weights_is_refused(weights):
    with pytest.raises(ValueError, match="0 or more, and n labels"):
        plot_dimensions(weights, ["a"])


def test_unknown_objects_have_no_profile():
    with pytest.raises(ValueError, match="'nobody' is not one"):
        plot_profiles(WEIGHTS, LABELS, ["nobody"])
