"""The map as the output of a scikit-learn transformer, so that an estimator can be a step of a pipeline.

`transform` returns the map whatever comparisons it is given: its rows are the objects, not the comparisons. So a
clustering that follows in a pipeline gives a label to each object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer.data.streamed import Judgments, StreamedComparisons

if TYPE_CHECKING:
    from numpy.typing import NDArray


# scikit-learn's own wrapping of outputs gives them the index of the input, whose rows are others here.
class ReturnsMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """`transform`, `fit_transform` and what scikit-learn asks of a step of a pipeline."""

    embedding_: FloatArray
    comparisons_: Judgments
    objects_: NDArray[Any]
    n_objects_: int

    @property
    def n_features_in_(self) -> int:
        """The number of columns that were fitted: 3 of triplets, 4 of quadruplets; n of a matrix of n objects."""
        comparisons = self.comparisons_
        if getattr(self, "_from_matrix", False):
            return self.n_objects_
        return 3 if comparisons.is_triplets else 4

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def transform(self, X: Any = None) -> Any:
        """Return the map, one row for each object.

        Parameters
        ----------
        X : Comparisons, or array-like of shape (m, 3) or (m, 4), optional
            Comparisons of objects of the map, as a pipeline passes them on. They change nothing: `partial_fit` learns
            from more of them, `place` puts new objects on the map.

        Returns
        -------
        ndarray, shape (n_objects_, n_components)
            `embedding_`; a data frame with `objects_` as its index after ``set_output(transform="pandas")``.
        """
        check_is_fitted(self)
        if X is not None:
            self._check_known(X)
        return self._as_output()

    def fit_transform(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit and return the map as `transform` does, shape (n_objects_, n_components)."""
        self.fit(X, y, sample_weight)
        return self._as_output()

    def _check_known(self, X: Any) -> None:
        """Refuse what is not about the objects of the map."""
        if isinstance(X, StreamedComparisons):
            if X.n_objects > self.n_objects_:
                raise ValueError(f"{X.title} is about {X.n_objects} objects, and the map has {self.n_objects_}")
            return
        self._comparisons(X)

    def _as_output(self) -> Any:
        output = _wrap_data_with_container("transform", self.embedding_, None, self)
        return output.set_axis(self.objects_) if hasattr(output, "set_axis") else output
