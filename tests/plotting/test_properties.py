"""Arrows on a map: where they point, how long they are, and that nothing is written over anything."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from nearer.comparing import fit_properties
from nearer.plotting import new_figure, plot_properties

RNG = np.random.default_rng(0)
MAP = RNG.normal(size=(30, 3)) * [2.0, 1.5, 1.0] + [4.0, 0.0, 0.0]
LABELS = [f"object {k}" for k in range(30)]
FITS = fit_properties(
    MAP,
    {
        "size": MAP @ [1.0, 1.0, 0.0],
        "much the same as size": MAP @ [1.0, 1.05, 0.0] + 0.1 * RNG.normal(size=30),
        "chance": np.random.default_rng(9).normal(size=30),
        "kind": ["a", "b", "c"] * 10,
    },
    n_permutations=199,
    n_resamples=20,
    random_state=0,
)


@pytest.fixture(scope="module")
def ax():
    return plot_properties(MAP, FITS, LABELS)


def arrows_of(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_an_arrow_for_each_column_of_numbers_as_long_as_its_fit(ax):
    middle = MAP[:, :2].mean(axis=0)
    drawn = sorted((fit for fit in FITS if fit.direction is not None), key=lambda fit: -fit.r2)
    assert len(arrows_of(ax)) == 3
    starts, tips = np.array([arrow._posA_posB for arrow in arrows_of(ax)]).transpose(1, 0, 2)
    np.testing.assert_allclose(starts, np.tile(middle, (3, 1)))
    ways = tips - middle
    scale = np.linalg.norm(ways[0]) / np.linalg.norm(drawn[0].direction[:2]) / drawn[0].r2
    for arrow, way, fit in zip(arrows_of(ax), ways, drawn, strict=True):
        np.testing.assert_allclose(way, scale * fit.r2 * np.array(fit.direction[:2]), atol=1e-12)
        assert (arrow.get_linestyle() == "-") == (fit.p_holm < 0.05)
    assert (MAP[:, :2].min(axis=0) <= tips).all()
    assert (MAP[:, :2].max(axis=0) >= tips).all()
    assert FITS["chance"].p_holm > 0.05 > FITS["size"].p_holm


def test_no_label_lies_on_another_or_on_the_name_of_an_arrow(ax):
    texts = [text for text in ax.texts if text.get_text()]
    names = {text.get_text() for text in texts}
    assert {"size", "much the same as size", "chance"} <= names
    assert len(names & set(LABELS)) > 15
    boxes = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all((box.p0 >= frame.p0).all() and (box.p1 <= frame.p1).all() for box in boxes)


def test_it_draws_on_axes_that_are_given_and_without_arrows_it_is_a_map():
    ax = new_figure(4, 4).add_subplot()
    assert plot_properties(MAP, [FITS["kind"]], ax=ax) is ax
    assert len(ax.texts) == 0
    assert len(ax.collections) == 1


def test_objects_on_an_arrow_keep_their_names():
    places = np.column_stack([np.arange(-4.0, 5.0), np.zeros(9)])
    places[[0, 8], 1] = -3, 3
    fits = fit_properties(places, {"size": places[:, 0]}, n_permutations=19, random_state=0)
    ax = plot_properties(places, fits, list("abcdefghi"))
    assert set("abcdefghi") <= {text.get_text() for text in ax.texts}
