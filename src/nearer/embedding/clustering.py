"""Clusters straight from comparisons, without a map.

The additive similarity S_ij of two objects (Perrot, Esser and Ghoshdastidar 2020) is how often they were the near pair,
less how often they were the far pair; over triplets it is AddS-3, over quadruplets AddS-4. With few comparisons most of
S is noise, but groups of objects stand out in its leading eigenvectors. A direction counts if its eigenvalue is larger
than any that random answers to the same questions give. The linkage is over the part of S in these directions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage
from scipy.linalg import eigh, eigvalsh
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, ClusterMixin

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import warn_caller
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import group_indices, number_by_appearance, pair_codes, with_positive_weight
from nearer.data.labels import Indices, format_label
from nearer.data.streamed import StreamedComparisons

__all__ = ["ComparisonHC"]

_RANDOM_ANSWERS = 19  # the largest of 20 exchangeable eigenvalues is that of the answers in 1 of 20 cases
_MOST_CLUSTERS = 10  # that are tried if their number is left open
_MAX_DENSE_OBJECTS = 200  # objects, up to which all eigenvalues take no longer than an iteration for one


@dataclass(eq=False, repr=False, kw_only=True)
class ComparisonHC(ClusterMixin, BaseEstimator):
    """Hierarchical clustering straight from comparisons, without a map (Ghoshdastidar, Perrot, von Luxburg 2019).

    Parameters
    ----------
    n_clusters : int, optional
        Left out, it is the number from 2 to 10 whose clusters have the largest silhouette in the directions that stand
        out from random answers, and 1 if there are none. The tree is the same whatever the number.
    linkage : {"average", "4-AL"}, default "average"
        Average linkage over the additive similarities, cut to the directions that stand out; or the average linkage
        over comparisons of clusters of the 2019 paper, which wants very many comparisons.
    random_state : int, Generator, SeedSequence or None
        For the random answers.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_objects_,)
        The cluster of each object, numbered by first appearance.
    linkage_matrix_ : ndarray, shape (n_objects_ - 1, 4)
        The tree, for `scipy.cluster.hierarchy`. The height of "average" is the average similarity of two clusters in
        the leading directions, counted down from the largest that an object has to itself; that of "4-AL" counts the
        merges.
    similarity_ : ndarray, shape (n_objects_, n_objects_)
        AddS-3 of triplets, AddS-4 of quadruplets; 0 on the diagonal.
    directions_ : ndarray, shape (n_objects_, r)
        The leading directions: their products are the similarities that "average" links. One if none stands out.
    n_clusters_, n_objects_ : int
    objects_ : ndarray, shape (n_objects_,)
        Labels of the objects.
    n_features_in_ : int
        3 of triplets, 4 of quadruplets.

    Examples
    --------
    >>> from itertools import permutations
    >>> kinds = {"cat": 0, "dog": 0, "cow": 0, "car": 1, "bus": 1, "tram": 1}
    >>> alike = [(a, b, c) for a, b, c in permutations(kinds, 3) if kinds[a] == kinds[b] != kinds[c]]
    >>> model = ComparisonHC(n_clusters=2, random_state=0).fit(alike)
    >>> model.objects_.tolist(), model.labels_.tolist()
    (['bus', 'car', 'cat', 'cow', 'dog', 'tram'], [0, 0, 1, 1, 1, 0])
    """

    n_clusters: int | None = field(default=None, kw_only=False)
    linkage: Literal["average", "4-AL"] = "average"
    random_state: RandomState = None

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Build the tree, and cut it.

        Parameters
        ----------
        X : Comparisons, array-like of shape (m, 3) or (m, 4), or data frame
            Triplets (anchor, near, far) or quadruplets (near pair, far pair), as indices or labels.
        y : array-like, shape (m,), optional
            Answers: +1 (or True) as written, -1 (or False) the other way round. All +1 if left out.
        sample_weight : array-like, shape (m,), optional
            Nonnegative weights; a row of weight 2 counts as two rows.
        """
        if isinstance(X, StreamedComparisons):
            raise ValueError(f"ComparisonHC needs all comparisons in memory, not in a {type(X).__name__}")
        comparisons = as_comparisons(X, y, sample_weight)
        self._check_settings(comparisons.n_objects)
        kept = with_positive_weight(comparisons)
        _warn_of_parts(kept)
        similarity = _additive_similarity(kept.oriented, kept.sample_weight, kept.n_objects)
        threshold = _largest_of_random_answers(kept, stream(self.random_state, "start"))
        self.similarity_ = similarity.toarray()
        self.directions_, found = _leading_directions(self.similarity_, threshold)
        leading = self.directions_ @ self.directions_.T
        tree = _average_linkage(leading) if self.linkage == "average" else _linkage_of_comparisons(kept, leading)
        self.linkage_matrix_ = tree
        self.n_clusters_ = self._number_of_clusters(found)
        self.labels_ = _cut(tree, self.n_clusters_)
        self.objects_, self.n_objects_ = comparisons.objects, comparisons.n_objects
        self.n_features_in_ = comparisons.shape[1]
        return self

    def fit_predict(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> NDArray[Any]:
        """Fit, and return the cluster of each object, shape (n_objects_,); takes what `fit` takes."""
        return self.fit(X, y, sample_weight).labels_

    def _check_settings(self, n_objects: int) -> None:
        if self.linkage not in ("average", "4-AL"):
            raise ValueError(f"linkage must be 'average' or '4-AL', got {self.linkage!r}")
        if self.n_clusters is not None:
            check_integer("n_clusters", self.n_clusters, 1, n_objects)

    def _number_of_clusters(self, found: int) -> int:
        if found == 0:
            warn_caller(
                "no groups stand out from what random answers to the same questions would show; collect more answers"
            )
        if self.n_clusters is not None:
            return int(self.n_clusters)
        if found == 0:
            return 1
        from sklearn.metrics import silhouette_score

        candidates = range(2, min(_MOST_CLUSTERS, len(self.directions_) - 1) + 1)
        widths = [silhouette_score(self.directions_, _cut(self.linkage_matrix_, count)) for count in candidates]
        return candidates[int(np.argmax(widths))]


def _additive_similarity(rows: Indices, weights: FloatArray, n_objects: int) -> csr_array[np.float64]:
    """Return S, from near and far pairs (m, 4): symmetric, sparse."""
    first, second = np.concatenate([rows[:, [0, 1]], rows[:, [2, 3]]]).T
    one_way = coo_array((np.concatenate([weights, -weights]), (first, second)), shape=(n_objects, n_objects)).tocsr()
    return csr_array(one_way + one_way.T)


def _largest_of_random_answers(comparisons: Comparisons, rng: np.random.Generator) -> float:
    """Return the largest eigenvalue of S among several sets of random answers to the questions asked."""
    # Answers to one trial, or one question, are flipped together: copies of a row are not new answers.
    rows, weights, n = comparisons.oriented, comparisons.sample_weight, comparisons.n_objects
    units = group_indices(comparisons)
    largest = 0.0
    for _ in range(_RANDOM_ANSWERS):
        signs = rng.choice([-1.0, 1.0], size=int(units.max()) + 1)
        similarity = _additive_similarity(rows, weights * signs[units], n)
        largest = max(largest, _largest_eigenvalue(similarity, rng))
    return largest


def _largest_eigenvalue(matrix: csr_array[np.float64], rng: np.random.Generator) -> float:
    n = matrix.shape[0]
    if n <= _MAX_DENSE_OBJECTS:
        return float(eigvalsh(matrix.toarray(), subset_by_index=(n - 1, n - 1))[0])
    if not matrix.data.any():
        return 0.0  # on which the iteration would fail
    start = rng.normal(size=n)
    return float(eigsh(matrix, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _leading_directions(similarity: FloatArray, threshold: float) -> tuple[FloatArray, int]:
    """Return eigenvectors times roots of eigenvalues, (n, r), and how many stand out; the first one if none does."""
    n = len(similarity)
    values, vectors = eigh(similarity, subset_by_value=(threshold * (1 + 1e-6), np.inf))
    found = len(values)
    if found == 0:
        values, vectors = eigh(similarity, subset_by_index=(n - 1, n - 1))
    return vectors[:, ::-1] * np.sqrt(values[::-1].clip(min=0)), found


def _average_linkage(similarity: FloatArray) -> FloatArray:
    """Return the tree of average linkage; no two objects are more alike than one that stands out most is to itself."""
    unlike = (similarity.diagonal().max() - squareform(similarity, checks=False)).clip(min=0)
    return np.asarray(linkage(unlike, "average"))


def _linkage_of_comparisons(comparisons: Comparisons, leading: FloatArray) -> FloatArray:
    """Return the tree of 4-AL: each step merges the two clusters whose pairs were near most often."""
    # Clusters p, q score the sum of w / (|p| |q| |r| |s|) over comparisons of a pair across p, q with a pair across two
    # clusters r, s: near pairs less far pairs. With few comparisons many scores tie; the leading directions break ties.
    n = comparisons.n_objects
    rows, weights = np.array(comparisons.oriented, dtype=np.intp), comparisons.sample_weight
    names, sizes, sums = np.arange(n), np.ones(n), leading.copy()
    tree = np.empty((n - 1, 4))
    for step in range(n - 1):
        across = (rows[:, 0] != rows[:, 1]) & (rows[:, 2] != rows[:, 3])
        rows, weights = rows[across], weights[across]
        last = n - 1 - step
        first, second = _to_merge(rows, weights, sizes[: last + 1], sums)
        sizes[first] += sizes[second]
        tree[step] = (*sorted((names[first], names[second])), step + 1, sizes[first])
        names[first] = n + step
        sums[first] += sums[second]
        sums[:, first] += sums[:, second]
        rows[rows == second] = first
        # The last cluster takes the free place, so that clusters are numbered without gaps.
        rows[rows == last] = second
        names[second], sizes[second] = names[last], sizes[last]
        sums[second] = sums[last]
        sums[:, second] = sums[:, last]
    return tree


def _to_merge(
    rows: NDArray[np.intp], weights: FloatArray, sizes: FloatArray, sums: FloatArray
) -> tuple[np.intp, np.intp]:
    """Return two clusters, the smaller number first; ``sums`` are the similarities that break ties."""
    k = len(sizes)
    shares = weights / sizes[rows].prod(axis=1)
    codes = np.concatenate([pair_codes(rows[:, 0], rows[:, 1], k), pair_codes(rows[:, 2], rows[:, 3], k)])
    scores = np.bincount(codes, np.concatenate([shares, -shares]), k * k).reshape(k, k).astype(np.float64, copy=False)
    scores[np.tri(k, dtype=bool)] = -np.inf  # a pair has one place, above the diagonal
    best = scores.max()
    one, other = np.nonzero(scores >= best - 1e-9 * abs(best))
    tied = np.argmax(sums[one, other] / (sizes[one] * sizes[other]))
    return one[tied], other[tied]


def _cut(tree: FloatArray, n_clusters: int) -> NDArray[np.intp]:
    """Return the cluster of each object before the last n_clusters - 1 merges; heights may tie."""
    n = len(tree) + 1
    merges = np.arange(n - n_clusters)
    joined = tree[merges, :2].T.astype(np.intp).ravel()
    nodes = n + np.tile(merges, 2)
    graph = coo_array((np.ones(len(nodes)), (joined, nodes)), shape=(2 * n - 1, 2 * n - 1)).tocsr()
    return number_by_appearance(connected_components(graph, directed=False)[1][:n])


def _warn_of_parts(comparisons: Comparisons) -> None:
    """Warn of objects that no compared pair connects to the others: how similar such groups are is unknown."""
    n, rows = comparisons.n_objects, comparisons.quadruplets
    ends = np.concatenate([rows[:, [0, 1]], rows[:, [2, 3]]])
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    count, part = connected_components(graph, directed=False)
    if count == 1:
        return
    outside = np.flatnonzero(part != np.argmax(np.bincount(part)))
    named = ", ".join(format_label(label) for label in comparisons.objects[outside[:5]]) + (
        ", ..." if len(outside) > 5 else ""
    )
    warn_caller(
        f"no comparison connects {pluralize(len(outside), 'object')} ({named}) to the others; which cluster they join "
        "is chance. Leave them out, or ask questions about them together with the others"
    )
