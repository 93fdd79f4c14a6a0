"""Maps for papers: labels, keys, pictures, arrows, and what cannot be drawn."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.offsetbox import AnnotationBbox
from matplotlib.patches import FancyArrowPatch

from nearer import report
from nearer.plotting import Paper, new_figure, plot_line, plot_map
from nearer.plotting.keys import COLORS, OTHER_LABEL, as_colors, as_shapes
from nearer.plotting.maps import _picture_side

POINTS = np.random.default_rng(0).normal(size=(12, 3))
NAMES = [f"object {k}" for k in range(12)]
WORDS = ["wind", "brass", "strings"] * 4


@pytest.mark.parametrize(("seed", "n", "paper"), [*((seed, 25, Paper()) for seed in range(10)), (0, 80, None)])
def test_drawn_labels_overlap_neither_each_other_nor_dots(seed, n, paper):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    ax = plot_map(points, [f"a name {'x' * (k % 9 if paper else 0)}" for k in range(n)], paper=paper)
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= (20 if paper else 71)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    dots = ax.transData.transform(points)
    assert not any(box.contains(*dot) for box in boxes for dot in dots)
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)


def test_letters_have_the_size_and_font_asked_for():
    ax = plot_map(
        POINTS, NAMES, color_by=("family", WORDS), paper=Paper(font_size=6, font="DejaVu Serif", title="a title")
    )
    (legend,) = ax.figure.legends
    texts = [*ax.texts, *legend.get_texts(), legend.get_title()]
    assert {text.get_fontsize() for text in texts} == {6.0}
    assert {text.get_fontname() for text in texts} == {"DejaVu Serif"}
    assert [text.get_text() for text in ax.figure.texts] == ["a title"]


def test_the_axes_asked_for_are_drawn():
    ax = plot_map(POINTS, axes=(2, 0), paper=Paper())
    np.testing.assert_allclose(ax.collections[0].get_offsets(), POINTS[:, [2, 0]])
    for wrong in ((0, 3), (1, 1)):
        with pytest.raises(ValueError, match="axes"):
            plot_map(POINTS, axes=wrong)


def test_words_get_colors_and_a_key_of_them():
    ax = plot_map(POINTS, color_by=("family", WORDS), palette={"wind": "red"}, paper=Paper())
    (legend,) = ax.figure.legends
    assert legend.get_title().get_text() == "family"
    assert [text.get_text() for text in legend.get_texts()] == ["brass", "strings", "wind"]
    handles = {handle.get_label(): handle.get_color() for handle in legend.legend_handles}
    assert handles == {"brass": COLORS[0], "strings": COLORS[1], "wind": "red"}


def test_words_have_the_colors_of_the_page():
    coded = as_colors("family", ["wind", "strings", "brass", "strings"])
    assert coded.marks == [COLORS[2], COLORS[0], COLORS[1], COLORS[0]]  # the most frequent first, then by name
    script = Path(report.__file__).parent / "assets" / "scripts" / "colors.js"
    assert ", ".join(f'"{color}"' for color in COLORS[:7]) in script.read_text(encoding="utf-8")


def test_shapes_and_colors_of_one_attribute_share_a_key():
    both = plot_map(POINTS, color_by=("family", WORDS), shape_by=("family", WORDS), paper=Paper())
    assert len(both.figure.legends) == 1
    assert len({handle.get_marker() for handle in both.figure.legends[0].legend_handles}) == 3
    apart = plot_map(POINTS, color_by=("size", range(12)), shape_by=("family", WORDS), paper=Paper())
    assert len(apart.figure.legends) == 1
    assert len(apart.figure.axes) == 2  # the map and the scale of colors
    assert sum(len(marks.get_offsets()) for marks in apart.collections) == 12


def test_keys_lie_on_no_label_and_not_on_axes_of_others():
    ax = plot_map(POINTS, NAMES, color_by=("family", WORDS), paper=Paper())
    key = ax.figure.legends[0].get_window_extent()
    assert not any(key.overlaps(text.get_window_extent()) for text in ax.texts)
    given = new_figure(5, 5, constrained=False).add_axes((0, 0, 0.7, 1))
    plot_map(POINTS, NAMES, color_by=("family", WORDS), shape_by=("kind", WORDS[::-1]), ax=given)
    assert sum(type(child).__name__ == "Legend" for child in given.get_children()) == 2


def test_too_many_words_share_a_color_or_are_refused():
    many = [f"word {k}" for k in range(12)] + ["word 0"]
    with pytest.warns(UserWarning, match="the rarest share one"):
        coded = as_colors("kind", many)
    assert len(coded.words) == 8
    assert coded.marks[0] == coded.marks[-1]
    assert OTHER_LABEL in coded.words
    with pytest.raises(ValueError, match="8 shapes"):
        as_shapes("kind", many)


def test_what_has_no_value_is_said_to_have_none():
    assert "not known" in as_colors("kind", ["a", None]).words
    assert as_colors("size", [1.0, None, 2.0]).marks[1] == "#c8c8c8"
    with pytest.raises(ValueError, match="no values"):
        as_colors("size", [None, None])


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"color_by": ("kind", ["a"])}, "1 values for 12"),
        ({"color_by": ("kind", WORDS), "palette": {"oboe": "red"}}, "no value of kind"),
        ({"color_by": ("kind", WORDS), "palette": {"wind": "reddish"}}, "is no color"),
        ({"color_by": ("kind", WORDS), "colors": "red"}, "give one of them"),
        ({"arrows": [("size", [0.0, 0.0])]}, "each arrow needs"),
        ({"paper": Paper(30, 20, font_size=12), "color_by": ("kind", WORDS)}, "no room"),
    ],
)
def test_what_cannot_be_drawn_is_refused(keys, sentence):
    with pytest.raises(ValueError, match=sentence):
        plot_map(POINTS, NAMES, **keys)


def test_ellipses_become_outlines_when_they_are_many():
    def drawn(n, size, style="auto"):
        points = np.random.default_rng(0).normal(size=(n, 2))
        ellipses = np.column_stack([points, np.full((n, 2), size), np.zeros(n)])
        found = list(plot_map(points, ellipses=ellipses, ellipse_style=style).collections)
        return [len(part.get_facecolor()) > 0 for part in found if isinstance(part, EllipseCollection)]

    assert drawn(10, 0.1) == [True]
    assert drawn(10, 0.6) == [False]
    assert drawn(60, 0.01) == [False]
    assert drawn(60, 0.01, "filled") == [True]
    assert drawn(10, 0.1, "none") == []


def test_ellipses_larger_than_half_the_map_do_not_hide_it():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [3.0, 3.0], [2.0, 1.0]])

    def drawn(sizes):
        ax = plot_map(points, ellipses=np.column_stack([points, sizes, sizes, np.zeros(5)]))
        dashed = [
            part.get_linestyle()[0][1] is not None for part in ax.collections if isinstance(part, EllipseCollection)
        ]
        return ax, dashed

    ax, dashed = drawn(np.full(5, 0.3))
    assert dashed == [False]
    small = ax.get_xlim()
    ax, dashed = drawn(np.array([0.3, 0.3, 0.3, 0.3, 5.0]))
    assert dashed == [False, True]
    assert ax.get_xlim() == pytest.approx(small)  # points decide what is shown
    ax, dashed = drawn(np.full(5, 5.0))
    assert dashed == []
    assert "5 of 5 ellipses are larger than half the map; none is drawn" in [text.get_text() for text in ax.texts]


def test_the_note_on_large_ellipses_is_on_the_paper():
    sizes = np.full(12, 50.0)
    ax = plot_map(POINTS, NAMES, ellipses=np.column_stack([POINTS[:, :2], sizes, sizes, 0 * sizes]), paper=Paper())
    ax.figure.canvas.draw()
    (note,) = (text.get_window_extent() for text in ax.texts if "none is drawn" in text.get_text())
    assert note.y1 <= ax.figure.bbox.y1
    assert note.x1 <= ax.figure.bbox.x1


def test_pictures_take_the_place_of_dots_and_no_label_lies_on_them():
    images = {k: np.full((20, 30, 3), 128, dtype=np.uint8) for k in range(11)}
    ax = plot_map(POINTS, NAMES, images=images, paper=Paper())
    pictures = [child for child in ax.get_children() if isinstance(child, AnnotationBbox)]
    assert len(pictures) == 11
    assert sum(len(dots.get_offsets()) for dots in ax.collections if not isinstance(dots, LineCollection)) == 1
    ax.figure.canvas.draw()
    boxes = [picture.offsetbox.get_window_extent() for picture in pictures]
    assert not any(box.overlaps(text.get_window_extent()) for box in boxes for text in ax.texts)
    assert all(abs(box.width / box.height - 1.5) < 0.1 for box in boxes)


def test_pictures_fill_a_fifth_of_the_map_unless_they_would_touch():
    at_corners, close = np.array([[10.0, 10.0], [90.0, 90.0]]), np.array([[10.0, 10.0], [20.0, 15.0]])
    assert [_picture_side(each, 100.0, 100.0) for each in (at_corners, close)] == [pytest.approx(np.sqrt(1000)), 10.0]


def test_arrows_stay_on_the_map_and_keep_their_proportions():
    ax = plot_map(POINTS, NAMES, arrows=[("size", [1.0, 0.0]), ("age", [0.0, -0.5])], paper=Paper())
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    ends = np.array([patch._posA_posB[1] for patch in arrows])
    lengths = [np.hypot(*np.subtract(*patch._posA_posB)) for patch in arrows]
    assert lengths[0] == pytest.approx(2 * lengths[1])
    assert (POINTS[:, :2].min(axis=0) <= ends).all()
    assert (ends <= POINTS[:, :2].max(axis=0)).all()
    assert {"size", "age"} <= {text.get_text() for text in ax.texts}


def test_signs_of_formulas_are_letters_in_labels():
    ax = plot_map(POINTS[:2], ["$x_1$ costs $5", "line\none"], paper=Paper())
    assert [text.get_text() for text in ax.texts] == ["$x_1$ costs $5", "line one"]
    ax.figure.canvas.draw()


def test_a_line_has_a_row_for_each_object_and_names_that_fit():
    places = np.linspace(-1, 1, 30)
    ax = plot_line(places, [f"object {k}" for k in range(30)], reaches=np.full(30, 0.1), color_by=("n", range(30)))
    names = list(ax.get_yticklabels())
    assert [text.get_text() for text in names] == [f"object {k}" for k in range(29, -1, -1)]
    low = plot_line(places, [f"object {k}" for k in range(30)], paper=Paper(85, 50))
    low.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in low.get_yticklabels()]
    assert 5 < len(boxes) < 30
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert min(box.x0 for box in boxes) >= 0
    for wrong in ({"labels": ["a"]}, {"reaches": [1.0]}):
        with pytest.raises(ValueError, match=r"1 labels|reaches"):
            plot_line(places, **wrong)


def test_of_thousands_of_labels_those_in_the_open_are_written_and_those_of_arrows():
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(1200, 2)), [[9.0, 9.0]]])
    ax = plot_map(points, [f"object {k}" for k in range(1201)], arrows=[("size", (1.0, 0.0))])
    written = {text.get_text() for text in ax.texts}
    assert {"object 1200", "size"} <= written
    assert 20 < len(written) <= 601
