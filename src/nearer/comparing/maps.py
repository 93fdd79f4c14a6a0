"""Comparison of two maps of the same objects: aligned with each other, and judged by each other's answers.

With C_1 and C_2 the covariances of an object's place on the two maps, the second aligned with the first, and v the
displacement, v^T (C_1 + C_2)^-1 v follows chi-square where both maps mean one place and are independent: for two maps
of the same answers it is too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import chi2, pearsonr, spearmanr
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, pluralize, quote, quote_all
from nearer._common.parameters import check_level
from nearer._common.results import Result, Rows
from nearer.comparing.results import Comparison, holm, is_significant
from nearer.comparing.shared_features import features_note, features_of_map
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import group_indices, restrict_to_seen
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.distances import compared_objects
from nearer.evaluation.held_out import evaluate, read_weighted
from nearer.evaluation.intervals import error_interval
from nearer.evaluation.uncertainty import squared_distances
from nearer.geometry import procrustes_error, rotation
from nearer.io.labels import match_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_OBJECTS = 3  # on both maps, for a shape to compare


@dataclass(frozen=True)
class CrossError(Result):
    """The error of a map, with its interval, on the answers that another map was fitted to, about objects on both."""

    error: float
    low: float
    high: float
    n_comparisons: int


@dataclass(frozen=True, eq=False)
class MapComparison(Comparison):
    """Two maps, and how similar they are.

    Attributes
    ----------
    names : pair of str
    objects : ndarray of str, shape (n,)
        On both maps.
    only_first, only_second : tuple of str
        Objects on one of them alone; those that nobody compared are on none.
    first, second : ndarray, shape (n, p)
        The maps, the second aligned with the first.
    procrustes : float
        The share of the shape that is left unexplained: 0 for maps of one shape.
    pearson, spearman : float
        Correlations of the distances between objects.
    lengths : ndarray, shape (n,)
        Of the displacements, as shares of the spread of the first map.
    squared_distances, object_p_values : ndarray, shape (n,), or None
        How far apart places are by both ellipses (Mahalanobis), and p-values for the family of all objects; None where
        a map has no ellipses.
    first_on_second, second_on_first : CrossError or None
        The error of a map on the answers of the other; None where these are not stored.
    notes : tuple of str
    """

    kind: ClassVar[str] = "maps"
    figure_name: ClassVar[str] = "maps"

    names: tuple[str, str]
    objects: NDArray[np.str_]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    first: FloatArray
    second: FloatArray
    procrustes: float
    pearson: float
    spearman: float
    lengths: FloatArray
    squared_distances: FloatArray | None
    object_p_values: FloatArray | None
    first_on_second: CrossError | None
    second_on_first: CrossError | None
    notes: tuple[str, ...] = ()

    def is_displaced(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Return whose displacement is significant at alpha, (n,); none where there are no ellipses."""
        return is_significant(self.object_p_values, len(self.objects), alpha)

    def _derived(self) -> Mapping[str, Any]:
        displaced = self.objects[self.is_displaced()]
        return {**super()._derived(), "n_shared": len(self.objects), "displaced": displaced}

    def summary(self) -> str:
        """Return how similar the maps are, and which objects are displaced, as text."""
        first, second = (quote(each) for each in self.names)
        lines = [
            f"{pluralize(len(self.objects), 'object')} on both maps",
            f"Procrustes error {decimals(self.procrustes)} (0: one shape); correlation of distances "
            f"{self.pearson:.3f}, of their ranks {self.spearman:.3f}",
        ]
        crossed = (second, first, self.first_on_second), (first, second, self.second_on_first)
        for answers, judge_of, found in crossed:
            if found is not None:
                lines.append(
                    f"the answers of {answers} on the map {judge_of}: error {decimals(found.error)} "
                    f"({format_interval(found.low, found.high)})"
                )
        order = np.argsort(-self.lengths)
        farthest = ", ".join(f"{quote(self.objects[k])} {self.lengths[k]:.2f}" for k in order[:3])
        lines.append(f"largest displacements, as shares of the spread: {farthest}")
        displaced = order[self.is_displaced()[order]]
        if self.object_p_values is not None:
            lines.append(
                f"displacements significant by the ellipses of both (p <= 0.05, Holm): "
                f"{quote_all(self.objects[displaced].tolist(), 10)}"
                if len(displaced)
                else "no object's displacement is significant (p > 0.05, ellipses of both maps, Holm)"
            )
        for which, only in ((first, self.only_first), (second, self.only_second)):
            if only:
                lines.append(f"on {which} alone: {quote_all(only)}")
        return "\n".join([*lines, *self.notes])

    def tables(self) -> dict[str, Rows]:
        """Return the places of each object on both maps, and its displacement."""
        axes = range(1, self.first.shape[1] + 1)
        places = [f"{which}{k}" for which in ("first_x", "second_x") for k in axes]
        rows: list[list[Any]] = [["object", *places, "length", "distance", "p_value", "significant"]]
        displaced = self.is_displaced()
        for i, label in enumerate(self.objects.tolist()):
            distance = None if self.squared_distances is None else float(self.squared_distances[i]) ** 0.5
            p = None if self.object_p_values is None else float(self.object_p_values[i])
            both = [*self.first[i].tolist(), *self.second[i].tolist()]
            rows.append([label, *both, float(self.lengths[i]), distance, p, "yes" if displaced[i] else "no"])
        return {"displacements.csv": rows}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both maps, with arrows from one to the other, and return the Axes."""
        from nearer.plotting import plot_arrows

        tested = self.object_p_values is not None
        emphasized = {} if tested else {"emphasized": "displacement"}
        shown = self.is_displaced() if tested else None
        return plot_arrows(self.first, self.second, self.objects, shown, ax, names=self.names, **emphasized)


class _Map(NamedTuple):
    """A map: its objects that somebody compared, and where they lie."""

    name: str
    labels: list[str]
    points: FloatArray
    covariances: FloatArray | None
    model: OrdinalEmbedding


def compare_maps(
    first: Any, second: Any, *, names: tuple[str, str] | None = None, level: float = 0.95
) -> MapComparison:
    """Compare two maps of the same objects, or of some of them.

    Parameters
    ----------
    first, second : path of a folder that `nearer fit` wrote, or fitted estimator
        The second is aligned with the first. Objects are matched by their labels as text.
    names : pair of str, optional
        What to call them; the names of the folders, or "first" and "second", if left out.
    level : float, default 0.95
        Of the intervals.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import SOE, STE
    >>> judgments = sample_triplets(make_gaussian(12, 2, random_state=0), 400, random_state=0)
    >>> found = compare_maps(STE(2).fit(judgments), SOE(2).fit(judgments))
    >>> found.first.shape, found.procrustes < 0.1, found.spearman > 0.9
    ((12, 2), True, True)
    """
    check_level(level)
    titles = names or ("first", "second")
    maps = [_read(each, names is not None, title) for each, title in zip((first, second), titles, strict=True)]
    if maps[0].name == maps[1].name:
        maps = [each._replace(name=title) for each, title in zip(maps, ("first", "second"), strict=True)]
    one, other = maps
    shared = [label for label in one.labels if label in set(other.labels)]
    if len(shared) < _MIN_OBJECTS:
        raise ValueError(
            f"only {pluralize(len(shared), 'object')} on both maps; two maps are compared by {_MIN_OBJECTS} or more. "
            f"Labels are such as {quote(one.labels[0])} and {quote(other.labels[0])}: do both maps name objects alike?"
        )
    rows = [np.array([each.labels.index(label) for label in shared]) for each in maps]
    points, covariances = _aligned(maps, rows)
    spread = float(np.sqrt(np.square(points[0]).sum(axis=1).mean()))
    apart = points[1] - points[0]
    distances = None if covariances is None else squared_distances(apart, covariances)
    p_values = None if distances is None else holm(chi2.sf(distances, apart.shape[1]).tolist())
    between, opposite = (pdist(each) for each in points)
    untested = () if covariances is not None else ("a map has no ellipses, so that displacements are not tested",)
    return MapComparison(
        (one.name, other.name),
        np.array(shared),
        tuple(label for label in one.labels if label not in set(shared)),
        tuple(label for label in other.labels if label not in set(shared)),
        points[0],
        points[1],
        procrustes_error(points[1], points[0]),
        float(pearsonr(between, opposite).statistic),
        float(spearmanr(between, opposite).statistic),
        np.linalg.norm(apart, axis=1) / spread,
        distances,
        None if p_values is None else np.array(p_values, dtype=np.float64),
        _error_on(one, other, level),
        _error_on(other, one, level),
        (*_notes_on_features(one, other), *untested),
    )


def _notes_on_features(one: _Map, other: _Map) -> tuple[str, ...]:
    """Return what a reader should know of features that the maps were made with."""
    shared = [each.name for each in features_of_map(one.model) if _is_among(each, features_of_map(other.model))]
    if shared:
        return (
            f"both maps were made with the features {quote_all(shared)}: they agree by these however people answered",
        )
    return tuple(note for each in (one, other) for note in features_note(each.model, f"the map {each.name} was"))


def _is_among(features: Features, others: Sequence[Features]) -> bool:
    """Whether a set has the values of another one, for the objects of both."""
    if features.objects is None:
        return any(np.array_equal(features.values, each.values) for each in others)
    rows = [each.of(features.objects) for each in others if each.values.shape[1] == features.values.shape[1]]
    known = [np.isfinite(each).all(axis=1) for each in rows]
    return any(at.any() and np.allclose(each[at], features.values[at]) for each, at in zip(rows, known, strict=True))


def _read(source: Any, has_title: bool, title: str) -> _Map:
    if not isinstance(source, str | PathLike):
        if not isinstance(source, OrdinalEmbedding):
            raise ValueError(
                f"a map is a fitted estimator, or the folder that `nearer fit` wrote; got {type(source).__name__}"
            )
        check_is_fitted(source)
        labels = [str(label) for label in source.objects_.tolist()]
        return _among_compared(_Map(title, labels, np.asarray(source.embedding_), None, source))
    from nearer.embedding.storage import load_model
    from nearer.study.results import read_results

    folder = Path(source)
    results, model = read_results(folder), load_model(folder)
    label = title if has_title else folder.resolve().name
    labels = list(results.objects)
    return _among_compared(_Map(label, labels, results.embedding, results.covariances, model))


def _among_compared(found: _Map) -> _Map:
    """Return a map without the objects that nobody compared, whose places mean nothing."""
    seen = compared_objects(found.model)
    return found._replace(
        labels=[label for label, known in zip(found.labels, seen, strict=True) if known],
        points=found.points[seen],
        covariances=None if found.covariances is None else found.covariances[seen],
    )


def _aligned(maps: list[_Map], rows: list[NDArray[np.intp]]) -> tuple[list[FloatArray], FloatArray | None]:
    """Return the centered places of the shared objects, the second aligned with the first, and sums of covariances."""
    p = max(each.points.shape[1] for each in maps)
    points = [
        np.pad(each.points[row], ((0, 0), (0, p - each.points.shape[1]))) for each, row in zip(maps, rows, strict=True)
    ]
    points = [each - each.mean(axis=0) for each in points]
    axes, closeness = rotation(points[1], points[0])
    axes = axes * (float(closeness) / float(np.vdot(points[1], points[1])))
    points[1] = points[1] @ axes
    padded = []
    for each, row in zip(maps, rows, strict=True):
        if each.covariances is None:
            return points, None
        free = p - each.points.shape[1]
        padded.append(np.pad(each.covariances[row], ((0, 0), (0, free), (0, free))))
    return points, padded[0] + axes.T @ padded[1] @ axes


def _error_on(judge_of: _Map, other: _Map, level: float) -> CrossError | None:
    """Return the error of one map on the other's answers about objects that both have."""
    comparisons = getattr(other.model, "comparisons_", None)
    if not isinstance(comparisons, Comparisons):
        return None
    comparisons = match_labels(comparisons, judge_of.model.objects_)
    known = np.isin(comparisons.objects, judge_of.model.objects_)[comparisons.rows].all(axis=1)
    if not known.any():
        return None
    kept, _ = restrict_to_seen(comparisons[known])
    judged = read_weighted(kept.reindex(judge_of.model.objects_))
    wrong = evaluate(judge_of.model, judged).predictions
    return CrossError(*error_interval(wrong, judged.sample_weight, group_indices(judged), level), len(judged))
