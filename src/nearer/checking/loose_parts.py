"""Which groups of objects the graph of pairs leaves free to move.

No comparison changes when a part of a map moves rigidly and no distance along an edge of the graph of pairs changes.
Parts with no edge between them can be shifted and turned at will. A part that hangs on the rest by one object can be
turned about that object.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

IntArray = NDArray[np.int64]


def components(pairs: IntArray, n_objects: int) -> list[IntArray]:
    """Return the objects of each connected part, the largest part first.

    Examples
    --------
    >>> [part.tolist() for part in components(np.array([[0, 3], [1, 2], [2, 4]]), 5)]
    [[1, 2, 4], [0, 3]]
    """
    count, part_of = connected_components(_adjacency(pairs, n_objects), directed=False)
    by_part = np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of, minlength=count))[:-1])
    return sorted(by_part, key=len, reverse=True)


def hanging_parts(pairs: IntArray, n_objects: int) -> list[tuple[int, IntArray]]:
    """Return the parts of a connected graph that hang on the rest by one object, the largest first.

    A part inside another is left out. Where an object parts the graph, the smaller side hangs on the larger one.

    Parameters
    ----------
    pairs : ndarray of int, shape (e, 2)
    n_objects : int
        The objects that ``pairs`` mentions must form one component.

    Returns
    -------
    list of (object, part)
        The object about which the part can turn, and the objects of the part without it.

    Examples
    --------
    >>> triangles = np.array([[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [2, 4]])
    >>> [(hinge, part.tolist()) for hinge, part in hanging_parts(triangles, 5)]
    [(2, [3, 4])]
    """
    kept = _certificate(pairs, n_objects)
    order, cuts = _cuts(kept, n_objects)
    everything = np.sort(order)
    found: list[tuple[int, IntArray]] = []
    for hinge, start, stop in cuts:
        part = np.sort(order[start:stop])
        if 2 * len(part) > len(everything) - 1:
            part = np.setdiff1d(everything, np.append(part, hinge), assume_unique=True)
        if len(part):
            found.append((hinge, part))
    found.sort(key=lambda each: (-len(each[1]), each[0]))
    covered = np.zeros(n_objects, dtype=bool)
    outermost = []
    for hinge, part in found:
        if not covered[part].all():
            outermost.append((hinge, part))
            covered[part] = True
    return outermost


def _adjacency(pairs: IntArray, n_objects: int) -> csr_array[Any, Any]:
    ones = np.ones(len(pairs), dtype=np.int8)
    return coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_objects, n_objects)).tocsr()


def _certificate(pairs: IntArray, n_objects: int) -> IntArray:
    """Return at most 2n pairs whose graph is cut by the same objects.

    Two breadth-first forests, the second in what the first leaves, keep all that is twofold connected (Cheriyan, Kao
    and Thurimella 1993), so that the walk in Python below is over 2n pairs and not over millions.
    """
    if len(pairs) <= 2 * n_objects:
        return pairs
    first = _forest(pairs, n_objects)
    codes = pairs[:, 0] * n_objects + pairs[:, 1]
    rest = pairs[~np.isin(codes, first[:, 0] * n_objects + first[:, 1])]
    return np.concatenate([first, _forest(rest, n_objects)])


def _forest(pairs: IntArray, n_objects: int) -> IntArray:
    """Return the edges of breadth-first trees, one for each component, as sorted pairs."""
    part_of = connected_components(_adjacency(pairs, n_objects), directed=False)[1]
    roots = np.unique(part_of, return_index=True)[1]
    above = np.column_stack([roots, np.full(len(roots), n_objects)])  # one object more joins the components
    graph = _adjacency(np.concatenate([pairs, above]), n_objects + 1)
    parents = breadth_first_order(graph, n_objects, directed=False)[1][:n_objects]
    children = np.flatnonzero((parents >= 0) & (parents < n_objects))
    return np.sort(np.column_stack([children, parents[children]]).astype(np.int64), axis=1)


def _cuts(pairs: IntArray, n_objects: int) -> tuple[IntArray, list[tuple[int, int, int]]]:
    """Walk the graph depth first (Hopcroft and Tarjan 1973).

    Returns the objects in the order of their first visit, and for each part that only its parent in the walk joins to
    the rest that parent and the interval of the order that the part fills.
    """
    graph = _adjacency(np.concatenate([pairs, pairs[:, ::-1]]), n_objects)
    starts, neighbours = graph.indptr.tolist(), graph.indices.tolist()
    visited, lowest = [-1] * n_objects, [0] * n_objects
    root = int(pairs[0, 0])
    order, parents, path, cuts = [root], {root: -1}, [root], []
    upcoming = starts[:-1]
    visited[root] = 0
    while path:
        here = path[-1]
        if upcoming[here] < starts[here + 1]:
            other = neighbours[upcoming[here]]
            upcoming[here] += 1
            if visited[other] < 0:
                visited[other] = lowest[other] = len(order)
                parents[other] = here
                order.append(other)
                path.append(other)
            elif other != parents[here]:
                lowest[here] = min(lowest[here], visited[other])
            continue
        path.pop()
        parent = parents[here]
        if parent >= 0:
            lowest[parent] = min(lowest[parent], lowest[here])
            if lowest[here] >= visited[parent]:
                cuts.append((parent, visited[here], len(order)))
    # The root's only child "hangs" on it too, though nothing is left on the other side.
    return np.array(order, dtype=np.int64), [cut for cut in cuts if cut[2] - cut[1] < len(order) - 1]
