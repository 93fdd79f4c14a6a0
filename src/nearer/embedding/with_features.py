"""Estimators whose objects may come with features: on the map by label, and placed by what is known of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote_all
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.features import Features, as_feature_sets
from nearer.data.labels import Labels, read_objects
from nearer.embedding.base import OrdinalEmbedding
from nearer.optimize.solvers.driver import Callback
from nearer.sampling.features import FeatureKernel


def match_features(comparisons: Comparisons, sets: Sequence[Features]) -> tuple[Comparisons, tuple[FeatureKernel, ...]]:
    """Return comparisons over their objects and those that features describe, and the kernels of the feature sets."""
    if sets:
        labels = [label for each in sets for label in each.labels_for(comparisons.objects).tolist()]
        comparisons = comparisons.reindex(list(dict.fromkeys([*comparisons.objects.tolist(), *labels])))
    return comparisons, tuple(FeatureKernel.of(each, comparisons.objects) for each in sets)


class EmbeddingWithFeatures(OrdinalEmbedding):
    """Base of estimators that take features."""

    features: Any
    features_: tuple[Features, ...]  # with labels, and rows of objects that were placed; only where there are features

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit a map to comparisons; see `OrdinalEmbedding.fit`."""
        self.__dict__.pop("features_", None)  # rows of objects that were placed on an earlier map
        return super().fit(X, y, sample_weight, callback=callback)

    fit.__doc__ = OrdinalEmbedding.fit.__doc__

    def _match_features(self, comparisons: Comparisons) -> tuple[Comparisons, tuple[FeatureKernel, ...]]:
        """Return comparisons over their objects and those that features describe, and the kernels of the sets."""
        earlier = {each.name: each for each in getattr(self, "features_", ())}
        sets = []
        for each in as_feature_sets(self.features):
            known = earlier.get(each.name)
            if known is not None and np.array_equal(known.values[: len(each.values)], each.values):
                each = known  # with labels, and rows of objects that were placed since
            sets.append(each.labeled(comparisons.objects))
        if sets:
            self.features_ = tuple(sets)
        return match_features(comparisons, sets)

    @property
    @abstractmethod
    def _uses_features(self) -> bool:
        """Whether the map was fitted with features."""

    @abstractmethod
    def _extend_map(self, objects: Labels, added: Comparisons | None, features: Sequence[Features]) -> None:
        """Place the objects beyond those of the map, by comparisons, by features, or by both."""

    def place(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        features: Any = None,
    ) -> FloatArray:
        """Put new objects into the map without moving the old ones, by answers, by features, or by both.

        Parameters
        ----------
        X, y, sample_weight
            Comparisons that mention the new objects, as for `fit`; left out: features alone place them.
        features : as for the estimator, by label, optional
            Rows of the new objects, of the same columns as those that the map was fitted with.

        Returns
        -------
        ndarray, shape (k, n_components)
            The points of the new objects.
        """
        check_is_fitted(self)
        sets = as_feature_sets(features)
        if not sets:
            if X is None:
                raise ValueError("place needs comparisons of the new objects, or their features")
            return super().place(X, y, sample_weight)
        if not self._uses_features:
            raise ValueError("the map was fitted without features; fit it with features=... to place objects by them")
        sets = self._named_as_fitted(sets)
        before = self.n_objects_
        labels = [label for each in sets for label in each.labels_for(self.objects_, new=True).tolist()]
        objects = read_objects(list(dict.fromkeys([*self.objects_.tolist(), *labels])))
        if len(objects) == before:
            raise ValueError("all objects with these features are on the map already")
        added = None if X is None else as_comparisons(X, y, sample_weight, objects=objects)
        before_them = self._require_in_memory(self.comparisons_)
        everything = before_them.reindex(objects) if added is None else self._joined(added)
        self._extend_map(objects, added, sets)
        by_name = {each.name: each.among(objects[before:]) for each in sets}
        self.features_ = tuple(
            known.updated(by_name[known.name]) if known.name in by_name else known for known in self.features_
        )
        self.objects_, self.n_objects_, self.comparisons_ = objects, len(objects), everything
        return self.embedding_[before:]

    def _named_as_fitted(self, sets: Sequence[Features]) -> tuple[Features, ...]:
        """Return the feature sets of new objects, a single one under the name of that of the map."""
        fitted = [each.name for each in self.features_]
        if len(sets) == 1 == len(fitted):
            return (sets[0].renamed(fitted[0]),)
        unknown = [each.name for each in sets if each.name not in fitted]
        if unknown:
            raise ValueError(
                f"the map has no features called {quote_all(unknown)}; it was made with {quote_all(fitted)}: name "
                "those of new objects in the same way"
            )
        return tuple(sets)
