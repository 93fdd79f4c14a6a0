"""Places for labels: none on another, none on a mark, all inside, and as many as there is room for."""

import numpy as np
import pytest

from nearer.plotting.labels import place_labels

FRAME = np.array([0.0, 0.0, 240.0, 240.0])


def boxes_of(centers, sizes):
    return np.hstack([centers - sizes / 2, centers + sizes / 2])


def overlap(boxes, others):
    """Which boxes overlap which others, (a, b)."""
    first = boxes[:, None]
    return ((first[..., :2] < others[:, 2:]) & (others[:, :2] < first[..., 2:])).all(axis=2)


def along(line):
    """Points of a line as empty boxes."""
    points = line[:2] + np.linspace(0, 1, 100)[:, None] * (line[2:] - line[:2])
    return np.hstack([points, points])


@pytest.mark.parametrize("seed", range(10))
def test_no_label_lies_on_anything(seed):
    rng = np.random.default_rng(seed)
    n = 40
    anchors, radii = rng.uniform(20, 220, (n, 2)), np.full((n, 2), 2.0)
    sizes = np.column_stack([rng.uniform(10, 45, n), np.full(n, 8.0)])
    marks = boxes_of(anchors, 2 * radii)
    found = place_labels(anchors, radii, sizes, marks, FRAME)
    placed = np.flatnonzero(np.isfinite(found.centers[:, 0]))
    boxes = boxes_of(found.centers, sizes)[placed]
    assert len(placed) > 30
    assert not (overlap(boxes, boxes) & ~np.eye(len(boxes), dtype=bool)).any()
    assert not overlap(boxes, marks).any()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] <= 240).all()
    for row, label in enumerate(placed):
        if np.isfinite(found.lines[label, 0]):
            np.testing.assert_allclose(found.lines[label, :2], anchors[label])
            assert not overlap(along(found.lines[label]), np.delete(boxes, row, axis=0)).any()


def test_a_label_in_the_open_is_beside_its_mark_without_a_line():
    anchors = np.array([[60.0, 60.0], [180.0, 180.0]])
    found = place_labels(
        anchors, np.full((2, 2), 2.0), np.full((2, 2), 10.0), boxes_of(anchors, np.full(2, 4.0)), FRAME
    )
    assert np.isnan(found.lines).all()
    assert (np.abs(found.centers - anchors).max(axis=1) < 10).all()


def test_a_label_goes_away_from_a_crowd_with_a_line():
    around = np.array([(x, y) for x in range(90, 151, 10) for y in range(90, 151, 10)], dtype=float)
    middle = np.array([[120.0, 120.0]])
    found = place_labels(
        middle, np.full((1, 2), 2.0), np.array([[20.0, 8.0]]), boxes_of(around, np.full(2, 4.0)), FRAME
    )
    assert np.isfinite(found.lines).all() or np.isnan(found.centers).all()
    row = around[np.abs(around[:, 1] - 120) < 1]
    found = place_labels(
        middle, np.full((1, 2), 2.0), np.array([[40.0, 8.0]]), boxes_of(row, np.array([4.0, 16.0])), FRAME
    )
    assert np.isfinite(found.lines).all()
    assert abs(found.centers[0, 1] - 120) > 12


def test_a_label_pushes_another_one_aside():
    """Both marks are walled in: one label has a place that the other takes first, and a second one it does not see."""
    frame = np.array([0.0, 0.0, 60.0, 14.0])
    anchors = np.array([[20.0, 7.0], [40.0, 7.0]])
    sizes = np.array([[14.0, 8.0], [14.0, 8.0]])
    found = place_labels(anchors, np.full((2, 2), 2.0), sizes, boxes_of(anchors, np.full(2, 4.0)), frame)
    assert np.isfinite(found.centers).all()


def test_a_label_larger_than_the_frame_is_left_out():
    anchors = np.array([[120.0, 120.0]])
    found = place_labels(anchors, np.ones((1, 2)), np.array([[300.0, 8.0]]), boxes_of(anchors, np.full(2, 2.0)), FRAME)
    assert np.isnan(found.centers).all()
