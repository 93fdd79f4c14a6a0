"""Answers that go in a circle.

An answer says that the near pair is nearer than the far one: an arrow between two pairs. Answers that fit some order of
distances make no circle of arrows. An arrow is on a circle if both its ends lie in one strongly connected part, a
*knot*. In noisy data nearly all of them end up in one big knot, so the share of circles among *triads* tells more:
three pairs with all three questions between them answered. It is one quarter for coin tosses and none for perfect
answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

IntArray = NDArray[np.int64]

_MOST_PATHS = 1_000_000
_MOST_STARTS = 20


@dataclass(frozen=True)
class Triads:
    """How many triads were looked at, which share of them is cyclic, and one cyclic one."""

    n_closed: int
    share_cyclic: float | None
    example: tuple[int, int, int] | None


def knots(near: IntArray, far: IntArray, n_pairs: int) -> IntArray:
    """Return the number of the strongly connected part that each pair is in, shape (n_pairs,).

    Examples
    --------
    >>> part = knots(np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]), 4)
    >>> len(set(part[:3].tolist())), bool(part[3] == part[0])
    (1, False)
    """
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs))
    return connected_components(arrows.tocsr(), directed=True, connection="strong")[1].astype(np.int64)


def triads(near: IntArray, far: IntArray, n_pairs: int, rng: np.random.Generator) -> Triads:
    """Count the triads that are circles; where there are very many, among a million paths of two arrows.

    A path of two arrows u -> v -> w whose ends are joined is part of a triad. A circle has three such paths and any
    other triad one.

    Parameters
    ----------
    near, far : ndarray of int, shape (q,)
        One arrow for each question.
    n_pairs : int
    rng : numpy Generator

    Examples
    --------
    >>> near, far = np.array([0, 1, 2, 0, 1]), np.array([1, 2, 0, 3, 3])
    >>> triads(near, far, 4, np.random.default_rng(0))
    Triads(n_closed=2, share_cyclic=0.5, example=(0, 1, 2))
    """
    order = np.lexsort((far, near))
    near, far = near[order], far[order]
    codes = near * n_pairs + far
    starts = np.searchsorted(near, np.arange(n_pairs + 1))
    onward = np.diff(starts)[far]  # how many arrows leave the end of each
    total = int(onward.sum())
    if total <= _MOST_PATHS:
        first = np.repeat(np.arange(len(near)), onward)
        step = np.arange(total) - np.repeat(np.cumsum(onward) - onward, onward)
    else:
        chosen = np.sort(rng.integers(total, size=_MOST_PATHS))
        first = np.searchsorted(np.cumsum(onward), chosen, side="right")
        step = chosen - (np.cumsum(onward) - onward)[first]
    u, v = near[first], far[first]
    w = far[starts[v] + step]
    circle, straight = _contains(codes, w * n_pairs + u), _contains(codes, u * n_pairs + w)
    n_circles = int(circle.sum()) / 3
    n_closed = n_circles + int(straight.sum())
    if n_closed == 0:
        return Triads(0, None, None)
    where = np.flatnonzero(circle)
    example = (int(u[where[0]]), int(v[where[0]]), int(w[where[0]])) if len(where) else None
    return Triads(round(n_closed), n_circles / n_closed, example)


def shortest_cycle(near: IntArray, far: IntArray, knot: IntArray, n_pairs: int) -> tuple[int, ...]:
    """Return the pairs along a short circle: the shortest through any of a few pairs of the smallest knot.

    Examples
    --------
    >>> near, far = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    >>> shortest_cycle(near, far, knots(near, far, 4), 4)
    (0, 1, 2, 3)
    """
    tied = knot[near] == knot[far]
    numbers, sizes = np.unique(knot[near[tied]], return_counts=True)
    chosen = tied & (knot[near] == numbers[sizes.argmin()])
    near, far = near[chosen], far[chosen]
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs)).tocsr()
    best: tuple[int, ...] = ()
    for start in np.unique(near)[:_MOST_STARTS]:
        reached, before = breadth_first_order(arrows, start)
        position = np.full(n_pairs, n_pairs)
        position[reached] = np.arange(len(reached))
        back = near[far == start]
        path = [int(back[position[back].argmin()])]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        if not best or len(path) < len(best):
            best = tuple(reversed(path))
    return best


def _contains(sorted_codes: IntArray, wanted: IntArray) -> NDArray[np.bool_]:
    places = np.searchsorted(sorted_codes, wanted).clip(max=len(sorted_codes) - 1)
    return np.asarray(sorted_codes[places] == wanted)
