"""Comparisons: validated, immutable sets of judgments.

A comparison has a *near pair* (i, j) and a *far pair* (l, k) and says "i, j are more alike than l, k". A triplet
(i, j, k) is the comparison of (i, j) with (i, k). An answer of +1 takes the row as written, -1 reversed. Everything is
checked here, once, so that the code inside can trust what it gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.html import MAX_ROWS, html_block
from nearer._common.progress import warn_caller
from nearer._common.randomness import RandomState, stream
from nearer.data import labels as _labels
from nearer.data import rows as _rows
from nearer.data.groups import Summary, draw_test_rows, summarize, trial_indices
from nearer.data.labels import Indices, Labels

__all__ = ["Comparisons", "Summary", "as_comparisons"]


@dataclass(frozen=True, eq=False, repr=False, slots=True, kw_only=True)
class Comparisons:
    """A validated, immutable set of m comparisons over n objects.

    Make one with :meth:`from_triplets` or :meth:`from_quadruplets`; the constructor trusts its arguments. Arrays are
    read-only views. An int32 or int64 array of rows is not copied: leave yours unchanged. Two sets are equal only if
    they are the same one.

    Attributes
    ----------
    rows : ndarray of int, shape (m, 3) or (m, 4)
        (anchor, near, far), or near pair and far pair; positions in ``objects``.
    answers : ndarray of int8, shape (m,), or None
        +1 as written, -1 reversed; None means all +1.
    weights : ndarray of float64, shape (m,), or None
    annotators, trials : ndarray of labels, shape (m,), or None
        Who answered; which rows came from one act of judgment and must not be split.
    chosen : ndarray of bool, shape (m,), or None
        Whether a question was chosen for what earlier answers had left open, and not by a plan; None means none was.
    objects : ndarray of labels, shape (n,)

    Examples
    --------
    >>> judgments = Comparisons.from_triplets([("cat", "dog", "car"), ("car", "bus", "cat")])
    >>> judgments
    Comparisons(2 triplets over 4 objects)
    >>> judgments.objects.tolist(), judgments.rows.tolist()
    (['bus', 'car', 'cat', 'dog'], [[2, 3, 1], [1, 0, 2]])
    """

    rows: Indices
    answers: NDArray[np.int8] | None
    weights: NDArray[np.float64] | None
    annotators: Labels | None
    trials: Labels | None
    chosen: NDArray[np.bool_] | None = None
    objects: Labels

    __iter__ = None  # without this, Python would iterate through __getitem__ and NumPy would nest for ever

    def __post_init__(self) -> None:
        for name, value in self._fields().items():
            if value is not None:
                object.__setattr__(self, name, _read_only(value))

    @classmethod
    def from_triplets(
        cls,
        rows: Any,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        annotators: Any = None,
        trials: Any = None,
        chosen: Any = None,
        n_objects: int | None = None,
        objects: Any = None,
    ) -> Self:
        """Make a set from triplets (anchor, near, far).

        Parameters
        ----------
        rows : array-like, shape (m, 3), or data frame
            Integers are indices 0..n-1, or labels if ``objects`` is given; anything else hashable is a label. A frame,
            or a dict of columns, is read by the names of its columns, such as anchor, near and far.
        y : array-like of {-1, +1} or bool, shape (m,), optional
            Answers; by default all +1.
        weights : array-like of float, shape (m,), optional
            Nonnegative, not all zero.
        annotators, trials : array-like of labels, shape (m,), optional
        chosen : array-like of bool, shape (m,), optional
            Which questions were chosen by what earlier answers had left open, as `nearer.design.active` does.
        n_objects : int, optional
            Number of objects; by default the largest index plus one.
        objects : sequence of labels, shape (n,), optional
            All objects, in the order wanted; by default those in the rows, sorted if possible.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [2, 1, 0]], y=[1, -1], n_objects=5)
        Comparisons(2 triplets over 5 objects; answers)
        """
        return cls._read(rows, y, weights, annotators, trials, chosen, n_objects, objects, widths=(3,))

    @classmethod
    def from_quadruplets(
        cls,
        rows: Any,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        annotators: Any = None,
        trials: Any = None,
        chosen: Any = None,
        n_objects: int | None = None,
        objects: Any = None,
    ) -> Self:
        """Make a set from quadruplets (i, j, l, k): "i, j are more alike than l, k".

        Takes what :meth:`from_triplets` takes, with rows of shape (m, 4), or columns near_1, near_2, far_1 and far_2.

        Examples
        --------
        >>> Comparisons.from_quadruplets([("cat", "dog", "car", "fish")])
        Comparisons(1 quadruplet over 4 objects)
        """
        return cls._read(rows, y, weights, annotators, trials, chosen, n_objects, objects, widths=(4,))

    @classmethod
    def without_degenerate(
        cls,
        rows: Any,
        y: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        annotators: Any = None,
        trials: Any = None,
        chosen: Any = None,
        n_objects: int | None = None,
        objects: Any = None,
    ) -> Self:
        """Make a set from rows of 3 or 4 objects, leaving out those that carry no information.

        Left out are rows that compare an object with itself or a pair with the same pair; a UserWarning says how many.
        Objects that only such rows mention stay objects. A Comparisons holds no such rows and comes back as it is.
        """
        if isinstance(rows, cls):
            if any(extra is not None for extra in (y, weights, annotators, trials, chosen, n_objects, objects)):
                raise ValueError("a Comparisons brings its own answers, weights and labels; pass it alone")
            return rows
        read = cls._read(rows, y, weights, annotators, trials, chosen, n_objects, objects, degenerate=True)
        bad = _rows.has_self_comparison(read.rows) | _rows.has_equal_pairs(read.rows)
        dropped = int(bad.sum())
        if dropped == 0:
            return read
        if dropped == len(read):
            raise ValueError(f"all {dropped} rows compare an object or a pair with itself; none would be left")
        warn_caller(f"dropped {dropped} of {len(read)} rows that compare an object or a pair with itself")
        kept = read[~bad]
        if kept.weights is not None:
            _labels.refuse_all_zero(kept.weights)
        return kept

    @classmethod
    def _read(
        cls,
        rows: Any,
        y: Any,
        weights: Any = None,
        annotators: Any = None,
        trials: Any = None,
        chosen: Any = None,
        n_objects: int | None = None,
        objects: Any = None,
        *,
        widths: tuple[int, ...] = (3, 4),
        degenerate: bool = False,
    ) -> Self:
        indices, labels = _rows.read_rows(rows, widths, n_objects, objects)
        if not degenerate:
            _rows.raise_for_degenerate(indices, labels)
        m = len(indices)
        return cls(
            rows=indices,
            answers=None if y is None else _labels.read_answers(y, m),
            weights=None if weights is None else _labels.read_weights(weights, m),
            annotators=None if annotators is None else _labels.read_labels(annotators, "annotators", m),
            trials=None if trials is None else _labels.read_labels(trials, "trials", m),
            chosen=None if chosen is None else _labels.read_flags(chosen, "chosen", m),
            objects=labels,
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Comparisons]) -> Self:
        """Put sets one after the other; ``a + b`` does so for two.

        Objects are the union of all labels; for sets of plain indices, as many as the largest has. Triplets next to
        quadruplets become quadruplets; missing answers become +1, missing weights 1, and questions without a mark were
        not chosen. Annotators, and trials, must be in all parts or in none. Trials of different parts with the same
        label are one trial.

        Examples
        --------
        >>> first = Comparisons.from_triplets([("a", "b", "c")])
        >>> first + Comparisons.from_quadruplets([("a", "b", "c", "d")], weights=[2])
        Comparisons(2 quadruplets over 4 objects; weights)
        """
        sets = list(parts)
        if not sets or not all(isinstance(part, Comparisons) for part in sets):
            raise ValueError(f"concatenate takes one or more Comparisons, got {[type(p).__name__ for p in sets]}")
        labels = _labels.merge_objects([part.objects for part in sets])
        sets = [part.reindex(labels) for part in sets]
        mixed = len({part.is_triplets for part in sets}) > 1

        def joined(name: str, filled: str) -> Any:
            known = any(getattr(part, name) is not None for part in sets)
            return np.concatenate([getattr(part, filled) for part in sets]) if known else None

        return cls(
            rows=np.concatenate([part.quadruplets if mixed else part.rows for part in sets]),
            answers=joined("answers", "_signs"),
            weights=joined("weights", "sample_weight"),
            annotators=_labels.join_labels([part.annotators for part in sets], "annotators"),
            trials=_labels.join_labels([part.trials for part in sets], "trials"),
            chosen=joined("chosen", "was_chosen"),
            objects=labels,
        )

    def __add__(self, other: object) -> Self:
        return self.concatenate([self, other]) if isinstance(other, Comparisons) else NotImplemented

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        kind = ("triplet" if self.is_triplets else "quadruplet") + ("s" if len(self) != 1 else "")
        extras = [name for name in ROW_FIELDS[1:] if getattr(self, name) is not None]
        also = f"; {', '.join(extras)}" if extras else ""
        return f"Comparisons({len(self)} {kind} over {self.n_objects} objects{also})"

    def _repr_html_(self) -> str:
        names = ("anchor", "near", "far") if self.is_triplets else ("near_1", "near_2", "far_1", "far_2")
        shown = slice(0, MAX_ROWS)
        columns = dict(zip(names, self.objects[self.rows[shown]].T, strict=True))
        columns |= {name: getattr(self, name)[shown] for name in ROW_FIELDS[1:] if getattr(self, name) is not None}
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        return html_block("Comparisons", str(self.summary()).splitlines(), {"first rows, as written": rows})

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Comparisons, **self._fields()), ()  # the constructor: unpickled arrays are writeable again

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("a Comparisons is no array: take .rows (as written) or .oriented (answers applied)")

    def __getitem__(self, index: Any) -> Self:
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # scikit-learn indexes rows as X[index, ...]
        if not isinstance(index, slice):
            several_axes = isinstance(index, tuple)
            index = np.atleast_1d(np.asarray(index))
            if several_axes or index.ndim > 1 or (index.size and index.dtype.kind not in "biu"):
                raise IndexError("index comparisons with an int, a slice, a 1-D array of ints or a bool mask")
            index = index if index.size else slice(0)
        selected = {name: value[index] for name in ROW_FIELDS if (value := getattr(self, name)) is not None}
        if len(selected["rows"]) == 0:
            raise ValueError("the index selects no rows; a set of comparisons has at least one")
        return replace(self, **selected)

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def _signs(self) -> NDArray[np.int8]:
        return np.ones(len(self), dtype=np.int8) if self.answers is None else self.answers

    @property
    def n_objects(self) -> int:
        """Number of objects, seen or not."""
        return len(self.objects)

    @property
    def is_triplets(self) -> bool:
        """Whether rows are triplets; quadruplets otherwise."""
        return bool(self.rows.shape[1] == 3)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of ``rows``, which scikit-learn's splitters ask for."""
        return cast(tuple[int, int], self.rows.shape)

    @property
    def quadruplets(self) -> Indices:
        """Near and far pairs as written, shape (m, 4)."""
        return _read_only(self.rows[:, [0, 1, 0, 2]]) if self.is_triplets else self.rows

    @property
    def oriented(self) -> Indices:
        """Near and far pairs with the answers applied, shape (m, 4): every row reads +1."""
        if self.answers is None:
            return self.quadruplets
        rows = self.quadruplets
        return _read_only(np.where(self.answers[:, None] < 0, rows[:, [2, 3, 0, 1]], rows))

    @property
    def sample_weight(self) -> NDArray[np.float64]:
        """Weights, shape (m,), ones where none were given."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def was_chosen(self) -> NDArray[np.bool_]:
        """Which questions were chosen; none where that is not known."""
        return np.zeros(len(self), dtype=np.bool_) if self.chosen is None else self.chosen

    def reindex(self, objects: Any) -> Self:
        """Return the same comparisons with rows pointing into other labels, which hold all that rows mention.

        Examples
        --------
        >>> Comparisons.from_triplets([("b", "c", "d")]).reindex(["d", "c", "b", "a"]).rows
        array([[2, 1, 0]])
        """
        if isinstance(objects, np.ndarray) and _labels.same_labels(objects, self.objects):
            return self
        labels = _labels.read_objects(objects)
        if _labels.same_labels(labels, self.objects):
            return self
        return replace(self, rows=_labels.translate(self.rows, self.objects, labels), objects=labels)

    def split(self, test_size: float = 0.2, random_state: RandomState = None) -> tuple[Self, Self]:
        """Split into training and test rows, keeping the rows of a trial together and the order of rows.

        Parameters
        ----------
        test_size : float or int
            Share of rows in (0, 1), rounded up, or number of rows. With trials, whole trials are drawn until the test
            set has at least that many rows, but one trial always stays for training.
        random_state : None, int, SeedSequence, Generator or RandomState

        Examples
        --------
        >>> train, test = Comparisons.from_triplets([[0, 1, 2]] * 10).split(0.3, random_state=0)
        >>> len(train), len(test)
        (7, 3)
        """
        trials = trial_indices(self)
        if trials.max() < 1:
            what = "row" if self.trials is None else "trial, which stays whole"
            raise ValueError(f"cannot split a set of one {what}; both sides need at least one")
        in_test = draw_test_rows(trials, test_size, stream(random_state, "split"))
        return self[~in_test], self[in_test]

    def summary(self) -> Summary:
        """Count what the set holds: objects seen, questions repeated, questions answered both ways.

        Examples
        --------
        >>> Comparisons.from_triplets([[0, 1, 2], [0, 2, 1], [1, 2, 3]]).summary().n_contradicted
        1
        """
        return summarize(self)


ROW_FIELDS = ("rows", "answers", "weights", "annotators", "trials", "chosen")


def as_comparisons(
    X: Any,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    n_objects: int | None = None,
    objects: Any = None,
) -> Comparisons:
    """Return comparisons from whatever an estimator or metric was given; the width tells triplets from quadruplets.

    A set of plain indices grows to ``n_objects``; rows are made to point into ``objects``.
    """
    if not isinstance(X, Comparisons):
        return Comparisons._read(X, y, sample_weight, n_objects=n_objects, objects=objects)
    if y is not None:
        if X.answers is not None:
            raise ValueError("the Comparisons has answers and y was given too; pass one of them")
        X = replace(X, answers=_labels.read_answers(y, len(X)))
    if sample_weight is not None:
        if X.weights is not None:
            raise ValueError("the Comparisons has weights and sample_weight was given too; pass one of them")
        X = replace(X, weights=_labels.read_weights(sample_weight, len(X)))
    if X.weights is not None:
        _labels.refuse_all_zero(X.weights)  # a subset may have lost the positive ones
    if objects is not None:
        X = X.reindex(objects)
    n = X.n_objects if n_objects is None else _rows.read_n_objects(n_objects)
    if n == X.n_objects:
        return X
    if n < X.n_objects:
        raise ValueError(f"n_objects={n}, but the Comparisons has {X.n_objects}; raise it or leave it out")
    if not _labels.are_indices(X.objects):
        raise ValueError(f"n_objects={n}, but the Comparisons names {X.n_objects} objects; use .reindex(objects)")
    return replace(X, objects=np.arange(n))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the caller's own array keeps its flags."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
