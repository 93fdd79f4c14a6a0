"""Folds that keep trials, people or questions whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.parameters import check_integer
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import as_comparisons
from nearer.data.groups import Grouping, balance_folds, group_indices
from nearer.data.labels import factorize, read_labels

__all__ = ["Grouping", "WholeKFold"]


@dataclass(frozen=True)
class WholeKFold:
    """Folds for cross-validation that keep trials, annotators or questions whole.

    Works wherever scikit-learn takes ``cv=``. Rows of one trial are one act of judgment; split between training and
    test, the one part would tell about the other. Folds are drawn at random and have about equally many rows. With
    fewer units than ``n_splits`` there is one fold for each unit, so that no fold is empty. A `Comparisons` keeps its
    list of objects in every fold: an object that a training part misses is still scored.

    Parameters
    ----------
    n_splits : int >= 2, default 5
        The number of folds, at most.
    by : {"trials", "annotators", "questions"}
        What is kept whole. "trials" keeps questions whole where the comparisons know no trials, as rows that ask one
        question are copies of each other or contradict each other. "questions" may split a trial.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the folds.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(15, 2, random_state=0), 600, random_state=0)
    >>> scores = cross_val_score(STE(2, random_state=0), judgments, cv=WholeKFold(3, random_state=0))
    >>> scores.shape, bool(scores.min() > 0.8)
    ((3,), True)
    """

    n_splits: int = 5
    by: Grouping = field(default="trials", kw_only=True)
    random_state: RandomState = field(default=None, kw_only=True)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return pairs of training and test rows, as indices.

        Parameters
        ----------
        X : Comparisons or array-like, shape (m, 3) or (m, 4)
        y : ignored
        groups : array-like of labels, shape (m,), optional
            What is kept whole, in place of ``by``.
        """
        units, sizes = self._units(X, groups)
        n_folds = self._n_folds(sizes)
        folds = balance_folds(sizes, n_folds, stream(self.random_state, "split"))[units]
        return ((np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_folds))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds that `split` makes of X; ``n_splits`` without an X."""
        return self.n_splits if X is None else self._n_folds(self._units(X, groups)[1])

    def _units(self, X: Any, groups: Any) -> tuple[NDArray[np.intp], NDArray[np.integer]]:
        """Return the unit of each row, and how many rows of it count: what has no weight could not be scored alone."""
        comparisons = as_comparisons(X)
        if groups is not None:
            units = factorize(read_labels(groups, "groups", len(comparisons)))[1]
        else:
            units = group_indices(comparisons, self.by)
        return units, np.bincount(units[comparisons.sample_weight > 0], minlength=int(units.max()) + 1)

    def _n_folds(self, sizes: NDArray[np.integer]) -> int:
        n_splits = check_integer("n_splits", self.n_splits, 2)
        n_units = int(np.count_nonzero(sizes))
        if n_units < 2:
            raise ValueError(
                f"cannot make folds: all comparisons that count are one unit (by={self.by!r}), which stays whole; "
                "choose another `by`, or collect more answers"
            )
        return min(n_splits, n_units)
