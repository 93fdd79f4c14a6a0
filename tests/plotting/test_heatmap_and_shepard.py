"""Heat maps and diagrams of agreement: what is drawn is what the map and the answers say."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from nearer import Comparisons
from nearer.embedding import STE
from nearer.plotting import Paper, agreement, new_figure, plot_heatmap, plot_shepard

POINTS = np.random.default_rng(0).normal(size=(20, 3))
NAMES = [f"object {k}" for k in range(20)]


class Known:
    """A map whose model is known: right with a chance that grows with the difference of distances."""

    def __init__(self, points, comparisons):
        self.embedding_, self.comparisons_ = points, comparisons
        self.objects_ = comparisons.objects

    def predict_proba(self, comparisons):
        chance = 1 / (1 + np.exp(-3 * gaps_of(self.embedding_, comparisons.rows)))
        return np.column_stack([1 - chance, chance])


def gaps_of(points, rows):
    return np.linalg.norm(points[rows[:, 0]] - points[rows[:, 2]], axis=1) - np.linalg.norm(
        points[rows[:, 0]] - points[rows[:, 1]], axis=1
    )


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(20)[:3] for _ in range(6000)])
    y = np.where(rng.random(6000) < 1 / (1 + np.exp(-3 * gaps_of(POINTS, rows))), 1, -1)
    return Known(POINTS, Comparisons.from_triplets(rows, y, trials=np.arange(6000)))


def test_a_heat_map_shows_distances_in_the_order_of_the_tree():
    ax = plot_heatmap(POINTS, NAMES, paper=Paper(120))
    order = leaves_list(linkage(pdist(POINTS), "average", optimal_ordering=True))
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown, squareform(pdist(POINTS))[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_yticklabels()] == [NAMES[k] for k in order]
    same = plot_heatmap(squareform(pdist(POINTS)), NAMES)
    np.testing.assert_allclose(same.images[0].get_array(), shown)
    given = new_figure(4, 4).add_subplot()
    assert plot_heatmap(POINTS, ax=given) is given


def test_names_beside_rows_do_not_overlap_and_are_not_cut():
    ax = plot_heatmap(POINTS, [f"a rather long name {k}" for k in range(20)], paper=Paper(85, 60))
    ax.figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.get_yticklabels()), key=lambda box: box.y0)
    assert 5 < len(boxes) < 20
    assert all(low.y1 <= high.y0 + 0.5 for low, high in itertools.pairwise(boxes))
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.x1
    for child in ax.child_axes:
        box = child.get_tightbbox()
        assert box.x0 >= -1
        assert box.y0 >= -1


def test_what_is_no_map_is_refused():
    for wrong in (np.zeros((1, 2)), np.zeros(3), np.full((3, 2), np.nan)):
        with pytest.raises(ValueError, match="heat map needs"):
            plot_heatmap(wrong)
    with pytest.raises(ValueError, match="2 labels for 20"):
        plot_heatmap(POINTS, ["a", "b"])


def test_shares_are_counts_of_answers_that_agree(known):
    found = agreement(known, by="difference", n_bins=5)
    gaps = gaps_of(POINTS, known.comparisons_.rows)
    agrees = np.sign(gaps) == known.comparisons_.answers
    for k in range(5):
        own = (np.abs(gaps) >= found.edges[k]) & ((np.abs(gaps) < found.edges[k + 1]) | (k == 4))
        assert found.n_answers[k] == own.sum()
        assert found.share[k] == pytest.approx(agrees[own].mean())
        expected = 1 / (1 + np.exp(-3 * np.abs(gaps[own])))
        assert found.expected[k] == pytest.approx(expected.mean())
    assert (found.low < found.share).all()
    assert (found.share < found.high).all()


def test_a_true_model_lies_inside_of_most_intervals(known):
    found = agreement(known, by="ratio", n_bins=20)
    inside = (found.low <= found.expected) & (found.expected <= found.high)
    assert inside.mean() > 0.75


def test_which_way_round_rows_are_written_changes_nothing(known):
    rows, y = known.comparisons_.rows, known.comparisons_.answers
    turned = Comparisons.from_triplets(rows[:, [0, 2, 1]], -y, trials=np.arange(len(rows)))
    for one, other in zip(agreement(known), agreement(known, turned), strict=True):
        np.testing.assert_allclose(one, other)


def test_the_diagram_shows_these_figures(known):
    ax = plot_shepard(known, n_bins=8)
    found = agreement(known, n_bins=8)
    model = next(line for line in ax.lines if line.get_label() == "model")
    np.testing.assert_allclose(model.get_ydata(), found.expected)
    assert len(ax.patches) == 8
    assert ax.texts[0].get_text() == "6,000 answers"
    with pytest.raises(ValueError, match="by='other'"):
        plot_shepard(known, by="other")
    with pytest.raises(ValueError, match="no map"):
        plot_shepard(STE())
