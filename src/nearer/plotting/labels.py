"""Places for labels: beside their marks where there is room, away from them with a line where not, none on another.

Each label has candidates: 16 places that touch its mark, and rings further out from where a line leads back to it. A
candidate that lies on a mark, or leaves the frame, is out. Two candidates of different labels are in conflict if their
boxes overlap, if the line of one crosses the box of the other, or if their lines cross. What is wanted is a candidate
for as many labels as can be, the cheapest ones: nearest to their marks. That is a problem of independent sets, hard to
solve exactly; labels with the fewest candidates choose first, then labels without a place, or far from their marks,
push others aside that have another one, and all look for something cheaper, until nothing changes. Where a few labels
found no place, other orders are tried.

All lengths are in points. A box is (left, bottom, right, top), a line (x, y, x, y) from the mark to the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.figures import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Beside a mark, best first.
_ADJACENT_DIRECTIONS = np.array(
    [(1, 0), (-1, 0), (0, 1), (0, -1)]
    + [(side, slant) for slant in (0.5, -0.5, 0.8, -0.8) for side in (1, -1)]
    + [(side, slant) for slant in (1, -1) for side in (0.4, -0.4)]
)
_RING_ANGLES = np.arange(16) * np.pi / 8
_RING_LENGTHS = (0.6, 1.3, 2.1, 3.0, 4.2, 5.6, 7.2, 9.0)  # how long lines are, in heights of a label
_MAX_LABELS_ALL_RINGS, _MAX_LABELS_THREE_RINGS = 150, 400  # labels: beyond, the first three rings, and the first alone
_BOX_PADDING, _MARK_GAP = 0.4, 1.3  # points around a box; between it and its mark
# Prices, in heights of a label, of being nearer to the mark of another, and of no place.
_AMBIGUITY_COST, _UNPLACED_COST = 1.5, 100.0
_N_SWEEPS = 6
_MAX_PUSHES_PER_LABEL = 20  # candidates of a label without a place that it tries to take from others, in a sweep
_MAX_PUSHES = 1500  # in all: about a second
_N_ORDERS, _MAX_LABELS_ORDERS = 4, 60  # further orders, for as many labels at most
_MAX_LABELS = 600  # labels that look for a place: no more than a few hundred find one


class LabelPlacement(NamedTuple):
    """Where labels go; NaN for those without a place, and for lines of labels next to their marks."""

    centers: FloatArray  # (k, 2), of the labels
    lines: FloatArray  # (k, 4), from the mark to the label


class _Candidates(NamedTuple):
    """Places of one label that lie on no mark, cheapest first."""

    centers: FloatArray
    boxes: FloatArray
    lines: FloatArray
    costs: FloatArray


def label_texts(labels: Sequence[Any] | NDArray[Any] | None, n_objects: int) -> list[str]:
    """Return each label on one line, and empty ones where there are none."""
    if labels is None:
        return [""] * n_objects
    if len(labels) != n_objects:
        raise ValueError(f"there are {len(labels)} labels for {n_objects} objects; give one for each")
    return [" ".join(str(label).split()) for label in labels]


def place_labels(
    anchors: FloatArray, radii: FloatArray, sizes: FloatArray, taken: FloatArray, frame: FloatArray
) -> LabelPlacement:
    """Return a place for each label that lies on no other label and on nothing that is taken.

    Marks have centers, (k, 2), and half sizes, (k, 2); labels have sizes, (k, 2). ``taken`` has the boxes of all marks
    and of all else, (m, 4), and labels stay in the box ``frame``.
    """
    few = len(anchors) <= _MAX_LABELS_ALL_RINGS
    rings = _RING_LENGTHS if few else _RING_LENGTHS[: 3 if len(anchors) <= _MAX_LABELS_THREE_RINGS else 1]
    marks = zip(anchors, radii, sizes / 2 + _BOX_PADDING, strict=True)
    found = [_candidates(*mark, taken, anchors, frame, rings) for mark in marks]
    centers, lines = np.full((len(anchors), 2), np.nan), np.full((len(anchors), 4), np.nan)
    for label, pick in enumerate(_best(found).picks):
        if pick >= 0:
            centers[label] = found[label].centers[pick]
            line = found[label].lines[pick]
            if not np.array_equal(line[:2], line[2:]):
                lines[label] = line
    return LabelPlacement(centers, lines)


def _best(candidates: list[_Candidates]) -> _Assignment:
    """Return the cheapest of several choices: by other orders, too, where the first one leaves labels out."""
    n = len(candidates)
    order = np.argsort([len(each.costs) for each in candidates], kind="stable")
    best, rng = _Assignment(candidates).improved(order), np.random.default_rng(0)
    possible = sum(len(each.costs) > 0 for each in candidates)
    for _ in range(_N_ORDERS if n <= _MAX_LABELS_ORDERS else 0):
        if (best.picks >= 0).sum() == possible:
            break
        other = _Assignment(candidates).improved(rng.permutation(n))
        if other.total < best.total:
            best = other
    return best


def _candidates(
    anchor: FloatArray,
    radius: FloatArray,
    half: FloatArray,
    taken: FloatArray,
    anchors: FloatArray,
    frame: FloatArray,
    rings: tuple[float, ...],
) -> _Candidates:
    """Return where a label can go, as far as marks and the frame allow, cheapest first."""
    height = 2 * half[1]
    away = np.column_stack([np.cos(_RING_ANGLES), np.sin(_RING_ANGLES)])
    clear = away / np.abs(away).max(axis=1, keepdims=True) * (half + radius + _MARK_GAP)
    beside = anchor + _ADJACENT_DIRECTIONS * (half + radius + _MARK_GAP)
    centers = np.concatenate([beside, *(anchor + clear + away * ring * height for ring in rings)])
    boxes = np.hstack([centers - half, centers + half])
    near = np.clip(anchor, boxes[:, :2], boxes[:, 2:])  # the point of the box that a line leads to
    lines = np.hstack([np.broadcast_to(anchor, near.shape), near])
    lines[: len(beside)] = np.tile(beside, 2)  # no line: a point inside of its own box
    costs = np.concatenate([np.linspace(0, 0.3, len(beside)), *(np.full(len(away), 1 + ring) for ring in rings)])
    reach = np.array([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)])
    others = taken[np.all((taken[:, 2:] > reach[0]) & (taken[:, :2] < reach[1]), axis=1)]
    inside = np.all((boxes[:, :2] >= frame[:2]) & (boxes[:, 2:] <= frame[2:]), axis=1)
    own = np.all((others[:, :2] < anchor + radius) & (others[:, 2:] > anchor - radius), axis=1)  # or on its own mark
    blocked = _overlap(boxes, others).any(axis=1) | _crosses(lines, others[~own]).any(axis=1)
    kept = inside & ~blocked
    nearby = np.all((anchors > reach[0] - height) & (anchors < reach[1] + height), axis=1)
    strangers = anchors[nearby & np.any(anchors != anchor, axis=1)]
    if len(strangers):
        astray = _gaps(boxes, strangers).min(axis=1) < _gaps(boxes, anchor[None])[:, 0] - 1e-9
        costs = costs + _AMBIGUITY_COST * astray
    order = np.flatnonzero(kept)[np.argsort(costs[kept], kind="stable")]
    return _Candidates(centers[order], boxes[order], lines[order], costs[order])


class _Assignment:
    """One candidate, or none (-1), for each label, such that no two are in conflict."""

    def __init__(self, candidates: list[_Candidates]) -> None:
        self.candidates = candidates
        self.picks = np.full(len(candidates), -1)
        self.pushes = 0
        self.boxes = np.full((len(candidates), 4), np.nan)
        self.lines = np.full((len(candidates), 4), np.nan)

    @property
    def total(self) -> float:
        """What all places cost together."""
        return sum(map(self._cost, range(len(self.picks))))

    def improved(self, order: NDArray[np.intp]) -> Self:
        """Choose until no label finds a place, or a cheaper one, any more."""
        for label in order:
            self._choose(label)
        for _ in range(_N_SWEEPS):
            before = self.picks.copy()
            costs = np.array([self._cost(label) for label in order])
            dear = order[np.argsort(-costs, kind="stable")][: (costs >= 1).sum()]  # those beside their marks stay
            for label in dear:
                if self.pushes < _MAX_PUSHES:
                    self._push(label)
            for label in order:
                self._choose(label)
            if np.array_equal(before, self.picks):
                break
        return self

    def _pick(self, label: int, pick: int) -> None:
        self.picks[label] = pick
        own = self.candidates[label]
        self.boxes[label] = np.nan if pick < 0 else own.boxes[pick]
        self.lines[label] = np.nan if pick < 0 else own.lines[pick]

    def _conflicts(self, label: int) -> NDArray[np.bool_]:
        """Return which candidates of a label, (c,), are in conflict with which labels that have a place, (c, k)."""
        own = self.candidates[label]
        conflicts = np.zeros((len(own.costs), len(self.picks)), dtype=bool)
        if len(own.costs):
            low = np.minimum(own.boxes[:, :2], own.lines[:, :2]).min(axis=0)
            high = np.maximum(own.boxes[:, 2:], own.lines[:, :2]).max(axis=0)
            ends = self.lines[:, :2]
            close = np.all(np.fmax(self.boxes[:, 2:], ends) > low, axis=1)
            close &= np.all(np.fmin(self.boxes[:, :2], ends) < high, axis=1)
            close[label] = False
            boxes, lines = self.boxes[close], self.lines[close]
            crossed = _crosses(own.lines, boxes) | _crosses(lines, own.boxes).T | _cross_each_other(own.lines, lines)
            conflicts[:, close] = _overlap(own.boxes, boxes) | crossed
        return conflicts

    def _choose(self, label: int) -> None:
        """Take the cheapest candidate that is free, if there is one."""
        free = np.flatnonzero(~self._conflicts(label).any(axis=1))
        self._pick(label, int(free[0]) if len(free) else -1)

    def _push(self, label: int) -> None:
        """Take a candidate from one or two labels that find another place, if all together are then cheaper."""
        conflicts, now = self._conflicts(label), self._cost(label)
        worth = (conflicts.sum(axis=1) <= 2) & (self.candidates[label].costs < now)
        for pick in np.flatnonzero(worth)[:_MAX_PUSHES_PER_LABEL]:
            self.pushes += 1
            moved = [label, *np.flatnonzero(conflicts[pick]).tolist()]
            before, cost = self.picks[moved].copy(), sum(map(self._cost, moved))
            for other in moved[1:]:
                self._pick(other, -1)
            self._pick(label, int(pick))
            for other in moved[1:]:
                self._choose(other)
            if sum(map(self._cost, moved)) < cost - 1e-9:
                return
            for other in moved:
                self._pick(other, -1)
            for other, old in zip(moved, before.tolist(), strict=True):
                self._pick(other, old)

    def _cost(self, label: int) -> float:
        pick = self.picks[label]
        return _UNPLACED_COST if pick < 0 else float(self.candidates[label].costs[pick])


def _overlap(boxes: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Return which of a boxes overlap which of b others, (a, b)."""
    first = boxes[:, None]
    return np.all((first[..., :2] < others[:, 2:]) & (first[..., 2:] > others[:, :2]), axis=2)


def _crosses(lines: FloatArray, boxes: FloatArray) -> NDArray[np.bool_]:
    """Return which of a lines pass through which of b boxes, (a, b), by the share of a line between both sides."""
    start, along = lines[:, None, :2], (lines[:, 2:] - lines[:, :2])[:, None]
    flat = np.abs(along) < 1e-9
    slope = np.where(flat, 1.0, along)
    one, two = (boxes[:, :2] - start) / slope, (boxes[:, 2:] - start) / slope
    between = (start > boxes[:, :2]) & (start < boxes[:, 2:])
    enters = np.where(flat, np.where(between, -np.inf, np.inf), np.minimum(one, two)).max(axis=2)
    leaves = np.where(flat, np.where(between, np.inf, -np.inf), np.maximum(one, two)).min(axis=2)
    return (np.maximum(enters, 0) < np.minimum(leaves, 1)) & (enters < leaves)


def _cross_each_other(lines: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Return which of a lines cross which of b others, (a, b): the ends of each lie on both sides of the other."""
    first, second = lines[:, None], others[None]
    across = _side(first, second[..., :2]) * _side(first, second[..., 2:]) < 0
    return across & (_side(second, first[..., :2]) * _side(second, first[..., 2:]) < 0)


def _side(lines: FloatArray, points: FloatArray) -> FloatArray:
    """Return on which side of lines points lie: the sign of a cross product."""
    along, to = lines[..., 2:] - lines[..., :2], points - lines[..., :2]
    return along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]


def _gaps(boxes: FloatArray, points: FloatArray) -> FloatArray:
    """Return how far a boxes are from b points, (a, b)."""
    nearest = np.clip(points, boxes[:, None, :2], boxes[:, None, 2:])
    return np.linalg.norm(nearest - points, axis=2)


def write_labels(
    ax: Axes,
    anchors: FloatArray,
    labels: Sequence[str],
    radii: FloatArray,
    taken: FloatArray,
    *,
    colors: Sequence[str],
    n_last: int,
) -> None:
    """Write labels beside their marks, or away from them with a line; those that find no place are left out.

    Limits and place of the axes have to be final: labels are placed on paper, not on the map. Size and font are those
    of matplotlib's present settings. The ``n_last`` labels are tried however many there are.
    """
    from matplotlib.backends import backend_agg

    scale = ax.figure.dpi / 72
    places = np.asarray(ax.transData.transform(anchors)) / scale
    frame = ax.get_window_extent().get_points().ravel() / scale
    shown = _labels_to_write(labels, places, n_last)
    # Labels are no formulas, whatever signs are in them; and they are inside the axes and need no further room.
    look: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False, "in_layout": False}
    texts = [ax.text(0, 0, labels[index], color=colors[index], **look) for index in shown]
    agg: Any = backend_agg  # which has no types
    pen = agg.RendererAgg(1, 1, ax.figure.dpi)  # one for all: the figure would make a sheet for each label
    boxes = np.array([text.get_window_extent(pen).size for text in texts]).reshape(-1, 2) / scale
    marks = np.vstack([np.hstack([places - radii, places + radii]), taken])
    centers, lines = place_labels(places[shown], radii[shown], boxes, marks, frame)
    to_data = ax.transData.inverted()
    for text, center in zip(texts, centers, strict=True):
        if np.isnan(center[0]):
            text.remove()
        else:
            text.set_position(tuple(to_data.transform(center * scale)))
    drawn = np.isfinite(lines[:, 0])
    if drawn.any():
        _draw_leader_lines(ax, lines[drawn], radii[shown][drawn], scale)


def _labels_to_write(labels: Sequence[str], places: FloatArray, n_last: int) -> NDArray[np.intp]:
    """Return which labels are not empty, and, of too many, belong to marks with the most room around them."""
    from scipy.spatial import KDTree

    shown = np.arange(len(labels))
    if len(labels) > _MAX_LABELS:
        room = np.asarray(KDTree(places).query(places, k=2)[0])[:, 1]
        room[len(room) - n_last :] = np.inf
        shown = np.sort(np.argsort(-room, kind="stable")[:_MAX_LABELS])
    written = np.array([label != "" for label in labels], dtype=np.bool_)
    return shown[written[shown]]


def _draw_leader_lines(ax: Axes, lines: FloatArray, radii: FloatArray, scale: float) -> None:
    """Draw thin lines from the edge of each mark to its label."""
    from matplotlib.collections import LineCollection

    start, end = lines[:, :2], lines[:, 2:]
    length = np.linalg.norm(end - start, axis=1, keepdims=True)
    begin = start + (end - start) / length * np.minimum(radii.min(axis=1, keepdims=True), length)
    ends = ax.transData.inverted().transform(np.stack([begin, end], axis=1).reshape(-1, 2) * scale)
    drawn = LineCollection(list(ends.reshape(-1, 2, 2)), colors=FAINT, linewidths=0.5, zorder=2.5)
    ax.add_collection(drawn, autolim=False)
