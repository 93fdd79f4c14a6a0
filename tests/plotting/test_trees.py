"""Trees of clusters: what is drawn is the tree, in the colors of the clusters."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from nearer.datasets import sample_triplets
from nearer.embedding.clustering import ComparisonHC
from nearer.plotting import FAINT, PALETTE, new_figure, plot_dendrogram

POINTS = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], [4, 4, 1], axis=0) + np.arange(18).reshape(9, 2) / 10
TONES = list(PALETTE.values())


@pytest.fixture(scope="module")
def model():
    return ComparisonHC(3, random_state=0).fit(sample_triplets(POINTS, random_state=0))


def test_a_leaf_for_each_object_in_the_color_of_its_cluster(model):
    assert sorted(np.bincount(model.labels_).tolist()) == [1, 4, 4]
    ax = plot_dendrogram(model)
    ax.figure.canvas.draw()
    texts = ax.get_yticklabels()
    assert sorted(text.get_text() for text in texts) == [str(index) for index in range(9)]
    for text in texts:
        assert text.get_color() == TONES[model.labels_[int(text.get_text())]]


def test_links_have_the_heights_of_the_tree_and_gray_joins_clusters(model):
    ax = plot_dendrogram(model)
    drawn = sorted(ax.lines, key=lambda line: max(line.get_xdata()))
    np.testing.assert_allclose([max(line.get_xdata()) for line in drawn], model.linkage_matrix_[:, 2])
    assert [line.get_color() == FAINT for line in drawn] == [False] * 6 + [True] * 2


def test_a_link_is_beside_its_leaves(model):
    ax = plot_dendrogram(model)
    place = {int(text.get_text()): y for y, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)}
    first, second = model.linkage_matrix_[0, :2].astype(int)
    lowest = min(ax.lines, key=lambda line: max(line.get_xdata()))
    assert set(lowest.get_ydata()) == {place[first], place[second]}


def test_names_are_those_given_or_none(model):
    ax = new_figure(4, 4).add_subplot()
    assert plot_dendrogram(model, ax, labels=list("abcdefghi")) is ax
    assert {text.get_text() for text in ax.get_yticklabels()} == set("abcdefghi")
    assert len(plot_dendrogram(model, labels=False).get_yticks()) == 0


def test_what_cannot_be_drawn_is_refused(model):
    with pytest.raises(ValueError, match="there are 2 labels for 9 objects"):
        plot_dendrogram(model, labels=["a", "b"])
    with pytest.raises(ValueError, match="labels=True"):
        plot_dendrogram(model, labels=True)
    with pytest.raises(ValueError, match="no tree"):
        plot_dendrogram(ComparisonHC())


def test_large_trees_are_drawn_without_names():
    rng = np.random.default_rng(0)
    large = ComparisonHC(2, random_state=0).fit(sample_triplets(rng.normal(size=(160, 2)), 4000, random_state=0))
    ax = plot_dendrogram(large)
    assert len(ax.get_yticks()) == 0
    assert len(ax.lines) == 159


def test_a_chain_deeper_than_python_may_call_itself_is_drawn():
    n = sys.getrecursionlimit() + 100
    merges = [(0, 1, 1, 2)] + [(step + 1, n + step - 1, step + 1, step + 2) for step in range(1, n - 1)]
    chain = SimpleNamespace(linkage_matrix_=np.array(merges, dtype=float), labels_=np.zeros(n, dtype=int))
    assert len(plot_dendrogram(chain).lines) == n - 1
