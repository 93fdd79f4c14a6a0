"""What every estimator has in common: comparisons in, a map and predictions out.

`fit` checks the settings and the comparisons; `_fit` lists the steps of the method. In a pipeline of scikit-learn
`transform` returns the map, whose rows are the objects, so that a clustering after it labels objects.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray, is_dask
from nearer._common.formatting import pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import warn_caller
from nearer._common.randomness import Purpose, RandomState, stream
from nearer.data.cluster import ComparisonsOnCluster
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import with_same_metadata
from nearer.data.labels import are_indices, format_label
from nearer.data.streamed import Judgments, StreamedComparisons
from nearer.optimize.problems.choices import choice_log_probability
from nearer.optimize.problems.margins import clear_ties, error_from_margins, pair_distances
from nearer.optimize.solvers.driver import AnySolver, Callback, Solution

_MIN_PROBABILITY = 1e-150


class MapDraws(NamedTuple):
    """A distribution over maps: draws, (k, n, p), laid onto the map, and covariances of the places, (n, p, p)."""

    maps: FloatArray
    covariances: FloatArray


# scikit-learn's own wrapping of outputs gives them the index of the input, whose rows are others here.
@dataclass(eq=False, repr=False, kw_only=True)
class OrdinalEmbedding(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]
):
    """Base of all estimators; see `nearer.embedding` for those to use.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For what is drawn at random; pass one to repeat a fit to the last bit.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, n_components)
        The map: one row for each object, axes in order of falling variance, the mean of all objects compared at 0.
    objects_ : ndarray, shape (n_objects_,)
        Labels of the objects.
    n_objects_, n_iter_ : int
    converged_ : bool
    history_ : list of Progress
        Iteration, objective and duality gap at each check.
    solver_ : solver object
        The one that found the map.
    restarts_ : Restarts
        ``tried``, the number of descents, and ``agreed``, how many of them ended as low as the best one.
    trace_ : float
        The weight of tr(G), the sum of the squared norms, in the mean form of the problem.
    comparisons_ : Comparisons, ComparisonsFile or ComparisonsOnCluster
        What the map was fitted to; `partial_fit` adds to it.
    """

    n_components: int = field(default=2, kw_only=False)
    n_objects: int | None = None
    random_state: RandomState = None
    #: Whether answers go by distances on the map, which a rotation keeps.
    _has_distances: ClassVar[bool] = True

    @abstractmethod
    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        """Find a map, starting at a given one if there is one, and store it."""

    @abstractmethod
    def _add_objects(self, added: Comparisons) -> None:
        """Place the objects that the map lacks; the caller stores their labels."""

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2)."""

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to comparisons.

        Ctrl-C during a fit leaves the best map so far on the estimator, warns, and raises KeyboardInterrupt.

        Parameters
        ----------
        X : Comparisons, ComparisonsFile, ComparisonsOnCluster, or array-like of shape (m, 3) or (m, 4)
            Triplets (anchor, near, far) or quadruplets (near pair, far pair), as indices or labels. A dask array or
            dataframe is taken as a `nearer.data.ComparisonsOnCluster`.
        y : array-like, shape (m,), optional
            Answers: +1 (or True) as written, -1 (or False) the other way round. All +1 if left out.
        sample_weight : array-like, shape (m,), optional
            Nonnegative weights; a row of weight 2 counts as two rows.
        callback : callable, optional
            Called with the `Progress` of each iteration, of each descent if there are several.

        Returns
        -------
        self
        """
        self._check_settings()
        if not isinstance(X, Comparisons) and is_dask(X):
            if y is not None or sample_weight is not None:
                raise ValueError("a dask collection brings its own answers and weights, as columns; pass it alone")
            X = ComparisonsOnCluster(X, n_objects=self.n_objects)
        if isinstance(X, StreamedComparisons):
            if y is not None or sample_weight is not None:
                raise ValueError(f"a {type(X).__name__} brings its own answers and weights; pass it alone")
            if self.n_objects not in (None, X.n_objects):
                raise ValueError(
                    f"n_objects={self.n_objects}, but {X.title} has {X.n_objects}; leave it out here and "
                    f"make {type(X).__name__}(..., n_objects=...)"
                )
            comparisons: Judgments = X
        else:
            comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects)
        self._check_dimensions(comparisons.n_objects)
        self._fit(comparisons, callback)
        return self

    def partial_fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add comparisons to those fitted before and go on from the present map; the first call is a `fit`.

        Objects that are new take part from where `place` puts them. Methods over Gram matrices start afresh, as their
        solution does not depend on the start. The map is aligned with the one before by a rotation.

        Takes what `fit` takes, and returns the estimator.
        """
        if not hasattr(self, "embedding_"):
            return self.fit(X, y, sample_weight)
        self._check_settings()
        added = with_new_objects(self.objects_, X, y, sample_weight)
        everything = self._joined(added)
        self._check_dimensions(everything.n_objects)
        if added.n_objects > self.n_objects_:
            self._place(added, everything)
        same_dimension = self.n_components in (None, self.embedding_.shape[1])
        self._fit(everything, start=self.embedding_ if same_dimension else None)
        return self

    def place(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> FloatArray:
        """Put new objects into the map without moving the old ones, and return their points, (k, n_components).

        The map then has them as its last rows, in the order of `objects_`, and predicts comparisons with them. X, y and
        sample_weight are comparisons that mention them, as for `fit`; with old ones or with each other.
        """
        check_is_fitted(self)
        before = self.n_objects_
        added = with_new_objects(self.objects_, X, y, sample_weight)
        if added.n_objects == before:
            raise ValueError("all objects of these comparisons are on the map already; partial_fit takes more of them")
        streamed = isinstance(self.comparisons_, StreamedComparisons)
        self._place(added, self.comparisons_ if streamed else self._joined(added))
        return self.embedding_[before:]

    def _place(self, added: Comparisons, everything: Judgments) -> None:
        self._add_objects(added)
        # With what placed them, or an interrupt, and the next partial_fit, would know nothing of the new objects.
        self.objects_, self.n_objects_, self.comparisons_ = added.objects, added.n_objects, everything

    def _store_map(self, embedding: FloatArray, comparisons: Judgments) -> None:
        self.embedding_ = embedding
        self.comparisons_ = comparisons
        self.objects_, self.n_objects_ = comparisons.objects, comparisons.n_objects
        self.classes_ = np.array([-1, 1])

    def _store_run(self, solution: Solution[Any], solver: AnySolver) -> None:
        self.n_iter_, self.history_ = solution.n_iter, solution.history
        self.converged_, self.restarts_ = solution.outcome.ok, solution.restarts
        self.solver_ = solver

    @property
    def n_features_in_(self) -> int:
        """The number of columns that were fitted: 3 of triplets, 4 of quadruplets; n of a matrix of n objects."""
        if getattr(self, "_fitted_to_matrix", False):
            return self.n_objects_
        return 3 if self.comparisons_.is_triplets else 4

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def transform(self, X: Any = None) -> Any:
        """Return the map, one row for each object, shape (n_objects_, n_components).

        It is a data frame with `objects_` as its index after ``set_output(transform="pandas")``. X, which changes
        nothing, are comparisons of objects of the map, as a pipeline passes them on, or None.
        """
        check_is_fitted(self)
        if X is not None:
            self._check_objects(X)
        return self._wrapped_map()

    def fit_transform(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit and return the map as `transform` does, shape (n_objects_, n_components)."""
        return self.fit(X, y, sample_weight)._wrapped_map()

    def _wrapped_map(self) -> Any:
        output = _wrap_data_with_container("transform", self.embedding_, None, self)
        return output.set_axis(self.objects_) if hasattr(output, "set_axis") else output

    def _check_objects(self, X: Any) -> None:
        """Reject what is not about the objects of the map."""
        if not isinstance(X, StreamedComparisons):
            self._comparisons(X)
        elif X.n_objects > self.n_objects_:
            raise ValueError(f"{X.title} is about {X.n_objects} objects, and the map has {self.n_objects_}")

    def decision_function(self, X: Any) -> FloatArray:
        """Return how clearly comparisons hold as written, shape (m,): positive if they do, 0 for a tie up to rounding.

        The margin d2(far) - d2(near); of `MLDS` the difference of the intervals, negative ones where the scale falls
        against the order; of `MVTE` and `PosteriorEmbedding` the log-odds.
        """
        return self._margins(self._comparisons(X).quadruplets)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 where a comparison holds as written, -1 where the other way round; a tie gives +1."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def predict_choice_proba(self, items: Any) -> FloatArray:
        """Return the probability of each item to be named as the odd one of its trial, (m, k).

        Of three items, the pair of the two others is named as the most alike with probability proportional to the
        exponential of its similarity: of which `predict_proba` gives the differences, as log-odds of two pairs. Of more
        items, c is the odd one with probability proportional to exp(-2 / (k - 1) * sum of its k - 1 similarities).

        Parameters
        ----------
        items : array-like, shape (m, k)
            Labels, or indices, of the k >= 3 different items of each trial.
        """
        check_is_fitted(self)
        return np.exp(choice_log_probability(self._trial_similarities(self._items(items))))

    def _items(self, items: Any) -> NDArray[np.intp]:
        """Return the positions of the items of trials, (m, k)."""
        table = np.asarray(items)
        if table.ndim != 2 or table.shape[1] < 3:
            raise ValueError(f"items must have shape (m, k), with k >= 3 items for each trial; got {table.shape}")
        known = {label: position for position, label in enumerate(self.objects_.tolist())}
        unknown = [label for label in table.ravel().tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"object {format_label(unknown[0])} is not on the map, which has {self.n_objects_} objects"
            )
        places = np.array([known[label] for label in table.ravel().tolist()], np.intp).reshape(table.shape)
        repeated = np.flatnonzero((np.diff(np.sort(places, axis=1), axis=1) == 0).any(axis=1))
        if len(repeated):
            raise ValueError(f"items of trial {repeated[0]} repeat an object: {table[repeated[0]].tolist()}")
        return places

    def _trial_similarities(self, items: NDArray[np.intp]) -> FloatArray:
        """Return the similarities of all pairs of the items of trials, (m, k, k): differences are log-odds."""
        m, k = items.shape
        pairs = list(combinations(range(k), 2))
        similarities = np.zeros((m, k, k))
        for (a, b), (c, d) in combinations(pairs, 2):
            # Of both orders the small probability is exact, where 1 minus a large one is not.
            nearer, farther = (
                self.predict_proba(Comparisons.from_quadruplets(self.objects_[items[:, order]], objects=self.objects_))
                for order in ([a, b, c, d], [c, d, a, b])
            )
            odds = np.log(np.maximum(nearer[:, 1], _MIN_PROBABILITY) / np.maximum(farther[:, 1], _MIN_PROBABILITY))
            similarities[:, [a, b], [b, a]] += odds[:, None] / len(pairs)
            similarities[:, [c, d], [d, c]] -= odds[:, None] / len(pairs)
        return similarities

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of comparisons that the map satisfies, ties counting half: 1 - `comparison_error`."""
        comparisons = self._comparisons(X, y, sample_weight)
        margins = self.decision_function(comparisons)
        if comparisons.answers is not None:
            margins = margins * comparisons.answers
        return 1.0 - error_from_margins(margins, comparisons.sample_weight)

    def show(self, attributes: Any = None, *, thumbnails: Any = None, level: float = 0.95) -> Any:
        """Return the interactive map, which a notebook shows; takes what `nearer.report.show_map` takes."""
        # By name, as pages are made of maps and not maps of pages; storage finds its classes so, too.
        return import_module("nearer.report").show_map(self, attributes, thumbnails=thumbnails, level=level)

    @property
    def _chosen(self) -> OrdinalEmbedding:
        """The estimator that made the map: this one, or of several the one that was chosen."""
        return self

    def _copy_with(self, **settings: Any) -> OrdinalEmbedding:
        """Return a copy, not yet fitted, with some settings changed."""
        return clone(self).set_params(**settings)

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, that makes a map from other comparisons as this fit did."""
        check_is_fitted(self)
        return self._copy_with()

    def _for_cross_validation(self) -> OrdinalEmbedding:
        """Return what to fit to the folds of a held-out error, not yet fitted: a copy, or one that is as good there."""
        return self._copy_with()

    def _fast_surrogate(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, for what takes many fits: one like this, or a faster one of its kind."""
        check_is_fitted(self)
        return self._copy_with()

    def _map_draws(self, n_draws: int, random_state: RandomState = None) -> MapDraws | None:
        """Return maps drawn from the distribution that the fit has found; None for a method that finds one map."""
        check_is_fitted(self)
        return None

    def _has_features(self) -> NDArray[np.bool_]:
        """Return which objects of a fitted map are placed by features, too, (n_objects_,)."""
        return np.zeros(self.n_objects_, dtype=bool)

    def _full_rank_draws(self, n_draws: int, random_state: RandomState = None) -> FloatArray | None:
        """Return at most so many of these maps in all their dimensions, (k, n, q); None as above."""
        check_is_fitted(self)
        return None

    def rotated(self, axes: ArrayLike) -> Self:
        """Return a copy with a rotated, or mirrored, map: ``embedding_ @ axes``. Its predictions are the same.

        The axes are an orthogonal matrix, (p, p), such as `nearer.geometry.axes_along` returns.
        """
        check_is_fitted(self)
        rotation, p = np.asarray(axes, dtype=np.float64), self.embedding_.shape[1]
        if rotation.shape != (p, p) or not np.allclose(rotation.T @ rotation, np.eye(p), atol=1e-8):
            raise ValueError(f"axes must be an orthogonal matrix of shape ({p}, {p}), got shape {rotation.shape}")
        copied = copy.copy(self)
        copied._rotate(rotation)
        return copied

    def _rotate(self, axes: FloatArray) -> None:
        """Rotate everything that has the axes of the map; arrays are replaced, not written into."""
        self.embedding_ = self.embedding_ @ axes + 0.0

    def _check_state(self) -> None:
        """Reject inconsistent fitted values, such as those of a damaged file."""
        self._check_settings()
        state = vars(self)
        comparisons, embedding, n = state["comparisons_"], state["embedding_"], state["n_objects_"]
        if not isinstance(comparisons, Comparisons) or not isinstance(embedding, np.ndarray) or embedding.ndim != 2:
            raise ValueError("it has no map or no comparisons")
        if embedding.dtype != np.float64 or not np.isfinite(embedding).all():
            raise ValueError("its map holds something else than finite numbers")
        labels = state["objects_"].tolist()
        sizes = {"embedding_": len(embedding), "objects_": len(labels), "comparisons_": comparisons.n_objects}
        for part, size in sizes.items():
            if size != n:
                raise ValueError(f"{part} is about {size} objects, and the model about {n}")
        if labels != comparisons.objects.tolist() or len(set(labels)) < n:
            raise ValueError("the labels of its map are not those of its comparisons, each once")

    def _check_settings(self) -> None:
        check_integer("n_components", self.n_components, 1)

    def _check_dimensions(self, n_objects: int) -> None:
        """Reject more dimensions than n points can fill: n - 1."""
        if self.n_components is not None and self.n_components >= n_objects:
            raise ValueError(
                f"n_components={self.n_components} is too many for {pluralize(n_objects, 'object')}, which fill "
                f"{pluralize(n_objects - 1, 'dimension')} at most; choose n_components={n_objects - 1} or fewer"
            )

    def _require_in_memory(self, comparisons: Judgments) -> Comparisons:
        if isinstance(comparisons, StreamedComparisons):
            name = type(self).__name__
            raise ValueError(f"{name} needs all comparisons in memory; fit SOE, STE or TSTE to {comparisons.title}")
        return comparisons

    @contextmanager
    def _warning_of_early_interrupt(self) -> Iterator[None]:
        """Warn that there is no map where an interrupt comes before the first."""
        try:
            yield
        except KeyboardInterrupt:
            self._warn("the fit was interrupted before its first iteration; there is no new map")
            raise

    def _warn(self, advice: str, interrupted: bool = False) -> None:
        """Warn of a fit that is not what it should be; re-raise an interrupt, whose best map is stored."""
        try:
            warn_caller(f"{type(self).__name__}: {advice}.", ConvergenceWarning)
        finally:
            if interrupted:
                raise KeyboardInterrupt

    def _repeatable_rng(self, purpose: Purpose) -> np.random.Generator:
        """Return the generator for a purpose for which no seed is needed to repeat a fit."""
        return stream(0 if self.random_state is None else self.random_state, purpose)

    def _comparisons(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Comparisons:
        """Return comparisons over the objects of the fitted map."""
        check_is_fitted(self)
        if isinstance(X, Comparisons) or not are_indices(self.objects_):
            return as_comparisons(X, y, sample_weight, objects=self.objects_)
        comparisons = as_comparisons(X, y, sample_weight, n_objects=self.n_objects_)
        if not are_indices(comparisons.objects):
            raise ValueError(
                f"the map was fitted to indices 0..{self.n_objects_ - 1}, but the rows hold labels such as "
                f"{format_label(comparisons.objects[0])}; pass indices, or fit with the labels"
            )
        return comparisons

    def _joined(self, added: Comparisons) -> Comparisons:
        """Return the comparisons of the fit and the added ones, over the objects of these."""
        if isinstance(self.comparisons_, StreamedComparisons):
            raise ValueError(
                f"the map was fitted to {self.comparisons_.title}, to which partial_fit cannot add; write all "
                "comparisons to one file and fit that, or put new objects on the map with place"
            )
        return Comparisons.concatenate(with_same_metadata(self.comparisons_, added)).reindex(added.objects)

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return what is positive where a comparison holds as written, and 0 for a tie."""
        return clear_ties(*self._distances(quadruplets))

    def _distances(self, quadruplets: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        i, j, l, k = quadruplets.T  # noqa: E741
        return pair_distances(self.embedding_, i, j), pair_distances(self.embedding_, l, k)


def with_new_objects(
    old: NDArray[Any], X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Comparisons:
    """Return comparisons over the objects of a map and those that it lacks, these last."""
    named = None
    if not isinstance(X, Comparisons) and not are_indices(old) and old.dtype.kind in "iu":
        # Integers that are labels: without the list of objects they would be read as indices.
        named = [*old.tolist(), *np.setdiff1d(np.asarray(X), old).tolist()]
    with warnings.catch_warnings():
        # Comparisons of new objects need not mention the first one.
        warnings.filterwarnings("ignore", "index 0 never occurs")
        comparisons = as_comparisons(X, y, sample_weight, objects=named)
    if are_indices(old) != are_indices(comparisons.objects):
        raise ValueError(
            f"the map was fitted to objects such as {format_label(old[0])}, but these comparisons are about "
            f"{format_label(comparisons.objects[0])}; use the same labels, or indices, in both"
        )
    known = set(old.tolist())
    new = [label for label in comparisons.objects.tolist() if label not in known]
    if not new:
        return comparisons.reindex(old)
    comparisons = comparisons.reindex([*old.tolist(), *new])
    if not (comparisons.rows[(comparisons.rows >= len(old)).any(axis=1)] < len(old)).any():
        raise ValueError(
            f"no comparison links {format_label(new[0])} to an object of the map; add some, or fit all "
            "comparisons together"
        )
    unplaced = np.setdiff1d(np.arange(len(old), comparisons.n_objects), comparisons.rows)
    if len(unplaced):
        raise ValueError(
            f"object {format_label(comparisons.objects[unplaced[0]])} is not on the map, and no comparison says where "
            f"it belongs; the map has {len(old)} objects, so new indices go on from {len(old)}"
            if are_indices(old)
            else f"object {format_label(comparisons.objects[unplaced[0]])} is neither on the map nor in a comparison; "
            "leave it out of the objects"
        )
    return comparisons
