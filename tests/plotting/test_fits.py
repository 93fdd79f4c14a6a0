import warnings

import numpy as np
import pytest

from nearer import Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.evaluation import reliability_curve
from nearer.plotting import new_figure, plot_errors, plot_loss, plot_map, plot_margins, plot_path, plot_reliability


@pytest.fixture
def ax():
    return new_figure(5, 5).add_subplot()


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_map(np.eye(3), ["a", "b", "c"], ax=ax),
        lambda ax: plot_margins(np.linspace(-1, 2, 50), np.linspace(-2, 2, 50), ax=ax),
        lambda ax: plot_loss(ax=ax),
        lambda ax: plot_reliability(reliability_curve([0.6, 0.8, 0.9], [1, -1, 1]), "a method", ax=ax),
        lambda ax: plot_errors({"DMOE": [0.2, 0.3]}, {"DMOE": 0.25}, 0.1, ax=ax),
    ],
)
def test_draws_on_the_axes_given_or_on_its_own(draw, ax):
    assert draw(ax) is ax
    own = draw(None)
    assert own is not ax
    own.figure.canvas.draw()


def test_a_label_stays_beside_its_own_dot():
    points = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    ax = plot_map(points, list("abcd"))
    for text in ax.texts:
        distances = np.linalg.norm(points - text.get_position(), axis=1)
        assert "abcd"[distances.argmin()] == text.get_text()
        assert distances.min() < 1


def test_margins_show_their_mean_and_deviation():
    ax = plot_margins([0.0, 2.0], [-1.0, 0.0, 1.0])
    (_, labels) = ax.get_legend_handles_labels()
    assert labels == ["training: mean 1.00, std 1.00", "held out: mean 0.00, std 0.82"]


def test_the_paper_median_stands_at_its_own_method():
    ax = plot_errors({"DMOE": [0.2, 0.3], "GNMDS": [0.4, 0.5]}, {"GNMDS": 0.45}, limit=0.1)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn["median in the paper"] == [[2.0, 0.45]]
    assert [y for _, y in drawn["best possible (median)"]] == [0.1, 0.1]


@pytest.mark.parametrize(("embedding", "labels"), [(np.zeros((3, 1)), None), (np.eye(3), ["a"]), (np.zeros(3), None)])
def test_a_map_that_cannot_be_drawn_is_refused(embedding, labels):
    with pytest.raises(ValueError, match=r"shape|labels"):
        plot_map(embedding, labels)


def test_drawing_loads_no_pyplot(forks):
    code = (
        "import sys, nearer.plotting\n"
        "nearer.plotting.plot_loss()\n"
        "nearer.plotting.plot_map([[0, 1], [1, 0], [2, 2]], [*'abc'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = forks.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_equal_margins_are_one_bin_and_none_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_margins([0.5, 0.5], [0.1, 0.2, 0.9])
        plot_margins([0.5])
    with pytest.raises(ValueError, match="no margins"):
        plot_margins([])


def test_a_path_shows_every_setting_and_rings_the_chosen_one(ax):
    rows = sample_triplets(make_gaussian(15, 2, random_state=0), 200, random_state=0)
    model = DMOE().fit(rows)
    assert plot_path(model, ax=ax) is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [*dict.fromkeys(model.cv_results_["path"]), "chosen"]
    ring = ax.lines[-1].get_xydata()[0]
    best = model.best_index_
    np.testing.assert_allclose(ring, [model.penalty_.trace, -model.cv_results_["mean_test_score"][best]])
    assert sum(len(line.get_xdata()) for line in ax.lines[:-1]) == len(model.cv_results_["params"])
    ax.figure.canvas.draw()
    with pytest.raises(ValueError, match="no search"):
        plot_path(DMOE(penalty=Penalty()).fit(rows))


def test_a_reliability_diagram_has_a_dot_for_each_bin_that_is_not_empty(ax):
    probability = np.repeat([0.52, 0.71, 0.93], [300, 500, 200])
    y = np.where(np.arange(1000) % 10 < 3, -1, 1)
    curve = reliability_curve(probability, y)
    plot_reliability(curve, ax=ax)
    diagonal, line = ax.lines
    np.testing.assert_array_equal(*diagonal.get_data())
    np.testing.assert_allclose(line.get_xdata(), [0.52, 0.71, 0.93])
    np.testing.assert_allclose(line.get_ydata(), 0.7)
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.sum(), curve.weight / 1000)
    assert ax.get_title() == ""


def test_a_reliability_diagram_shows_predictions_that_are_mostly_wrong(ax):
    plot_reliability(reliability_curve([0.9, 0.9, 0.9, 0.6], [-1, -1, -1, 1]), ax=ax)
    low, high = ax.get_ylim()
    assert all(low < y < high for y in ax.lines[-1].get_ydata())
