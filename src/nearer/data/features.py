"""What is known of objects before anybody compares them: numbers for each, such as the vectors of a network for images.

Feature sets are matched with objects by label. Objects without a row have no features; rows without an answer are
objects too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote_all
from nearer.data.labels import Labels, normalize_name, read_objects

#: Feature sets with at most this many columns are physical parameters in units of their own, and standardized; the
#: columns of a network's embedding share a unit, and their variances carry information.
MAX_STANDARDIZED_COLUMNS = 20
#: What columns of labels are called, in files and data frames.
LABEL_COLUMNS = ("object", "objects", "label", "name", "item", "stimulus", "image", "file", "filename", "word", "id")
_MAX_SIZE = 1e100  # of a number, whose square must be finite


@dataclass(frozen=True, eq=False)
class Features:
    """A set of features: a row of numbers for each object.

    Parameters
    ----------
    values : array-like, shape (n, f)
        Finite numbers.
    objects : sequence of labels, length n, optional
        Which object each row is about. Left out: the rows are in the order of the objects of the comparisons.
    name : str
        Of the set, where several are given.
    standardize : bool, optional
        Whether columns are scaled to unit variance. Left out: they are, if there are at most 20 of them.

    Examples
    --------
    >>> Features([[0.1, 2.0], [0.4, 1.0]], ["cat", "dog"]).of(["dog", "cow"])
    array([[0.4, 1. ],
           [nan, nan]])
    """

    values: FloatArray
    objects: Labels | None = None
    name: str = "features"
    standardize: bool | None = None

    def __init__(
        self,
        values: ArrayLike,
        objects: Sequence[Any] | NDArray[Any] | None = None,
        name: str = "features",
        standardize: bool | None = None,
    ) -> None:
        if hasattr(values, "toarray"):  # a sparse matrix, as scikit-learn makes of texts
            values = values.toarray()
        if np.iscomplexobj(values):
            raise ValueError(f"{name} must be real numbers; give real and imaginary parts as columns of their own")
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be numbers, a row for each object: {error}") from None
        numbers = numbers[:, None] if numbers.ndim == 1 else numbers
        if numbers.ndim != 2 or numbers.size == 0:
            raise ValueError(f"{name} must have the shape (objects, columns), got {numbers.shape}")
        labels = None if objects is None else read_objects(objects)
        if labels is not None and len(labels) != len(numbers):
            raise ValueError(f"{name} has {len(numbers)} rows for {pluralize(len(labels), 'label')}; give one for each")
        bad = ~np.isfinite(numbers).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            about = f"row {row}" if labels is None else f"the row of {labels[row]!s}"
            raise ValueError(
                f"{name}: {about} holds a value that is not a finite number; leave out such rows ({int(bad.sum())} in "
                "all), and their objects have no features"
            )
        largest = float(np.abs(numbers).max())
        if largest > _MAX_SIZE:
            raise ValueError(f"{name} has numbers as large as {largest:.0e}; give them in another unit")
        for field, value in {"values": numbers, "objects": labels, "name": name, "standardize": standardize}.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        n, columns = self.values.shape
        return f"Features({self.name!r}: {pluralize(n, 'object')}, {pluralize(columns, 'column')})"

    @classmethod
    def read(cls, given: Any, name: str = "features") -> Features:
        """Return features from a data frame, a dict of rows by label, or an array in the order of the objects."""
        if isinstance(given, Features):
            return given
        if isinstance(given, str | PathLike):
            raise ValueError(f"{name} is the name of a file; read it with nearer.io.read_features({str(given)!r})")
        if isinstance(given, Mapping):
            if not given:
                raise ValueError(f"{name} is empty; give a row of numbers for each label")
            return cls(_stacked(given, name), list(given), name)
        if hasattr(given, "to_frame"):  # a series
            given = given.to_frame()
        if hasattr(given, "columns"):
            return _read_frame(given, name)
        return cls(given, None, name)

    def scaling(self) -> tuple[FloatArray, FloatArray]:
        """Return the means of columns, and what they are divided by: 1 where they are not standardized."""
        spread = np.ones(self.values.shape[1])
        if self.standardize if self.standardize is not None else len(spread) <= MAX_STANDARDIZED_COLUMNS:
            spread = self.values.std(axis=0)
            spread[spread == 0] = 1.0
        return self.values.mean(axis=0), spread

    def labels_for(self, objects: Labels, *, new: bool = False) -> Labels:
        """Return the label of each row as ``objects`` has it, if they do; unless all are ``new``, one must be there."""
        if self.objects is None:
            if len(self.values) != len(objects):
                raise ValueError(
                    f"{self.name} has {pluralize(len(self.values), 'row')} without labels for "
                    f"{pluralize(len(objects), 'object')}; give a data frame or a dict by label, or as many rows"
                )
            return objects
        known = {str(label): label for label in objects.tolist()}
        written = [str(label) for label in self.objects.tolist()]
        stems = [PurePath(label).stem for label in written]
        if not known.keys() & set(written) and known.keys() & set(stems) and len(set(stems)) == len(stems):
            written = stems  # rows are named by files, such as images/cat.png
        labels = [known.get(name, label) for name, label in zip(written, self.objects.tolist(), strict=True)]
        if not new and known and not known.keys() & {str(label) for label in labels}:
            raise ValueError(
                f"{self.name} describes none of the objects: they are called {quote_all(list(known)[:3])}, and its "
                f"rows {quote_all(labels[:3])}"
            )
        return read_objects(labels)

    def renamed(self, name: str) -> Features:
        """Return the same set under another name."""
        return Features(self.values, self.objects, name, self.standardize)

    def labeled(self, objects: Labels) -> Features:
        """Return the same set with the labels of its rows as ``objects`` has them."""
        return Features(self.values, self.labels_for(objects), self.name, self.standardize)

    def updated(self, other: Features) -> Features:
        """Return the rows of both sets, those of the other where an object is in both."""
        if self.objects is None or other.objects is None or other.values.shape[1] != self.values.shape[1]:
            raise ValueError(
                f"{self.name}: rows can be added to features with labels, of as many columns "
                f"({self.values.shape[1]}, and not {other.values.shape[1]})"
            )
        labels = other.labels_for(self.objects, new=True)
        kept = ~np.isin(self.objects, labels)
        objects = read_objects([*self.objects[kept].tolist(), *labels.tolist()])
        return Features(np.vstack([self.values[kept], other.values]), objects, self.name, self.standardize)

    def among(self, objects: Labels) -> Features:
        """Return the rows of those objects that are on a list, under its labels."""
        labels = self.labels_for(objects)
        kept = np.isin(labels, objects)
        return Features(self.values[kept], labels[kept], self.name, self.standardize)

    def of(self, objects: Any) -> FloatArray:
        """Return the rows of objects by label, (n, f), NaN for those that have none."""
        labels = np.asarray(objects)
        rows = {str(label): row for row, label in enumerate(self.labels_for(labels, new=True).tolist())}
        found = np.full((len(labels), self.values.shape[1]), np.nan)
        for at, label in enumerate(labels.tolist()):
            if str(label) in rows:
                found[at] = self.values[rows[str(label)]]
        return found


def as_feature_sets(given: Any) -> tuple[Features, ...]:
    """Return the feature sets in what a user gives: one, or a list of them, or a dict of them by name."""
    if given is None:
        return ()
    if isinstance(given, Mapping) and all(_is_set(each) for each in given.values()) and given:
        return tuple(Features.read(each, str(name)).renamed(str(name)) for name, each in given.items())
    if isinstance(given, list | tuple) and given and all(_is_set(each) for each in given):
        sets = [Features.read(each, f"features {number}") for number, each in enumerate(given, 1)]
        names = [each.name for each in sets]
        if len(set(names)) < len(names):
            sets = [each.renamed(f"{each.name} {number}") for number, each in enumerate(sets, 1)]
        return tuple(sets)
    return (Features.read(given),)


def described_objects(features: Sequence[Features], known: Sequence[Any] = ()) -> list[Any]:
    """Return the objects that features name, as those that are known write them."""
    found: list[Any] = []
    for each in features:
        if each.objects is not None:
            found += each.labels_for(np.array([*known, *found]), new=True).tolist()
    return list(dict.fromkeys(found))


def _is_set(given: Any) -> bool:
    """Whether this is a feature set of its own, and not a row of one."""
    return isinstance(given, Features | Mapping) or hasattr(given, "columns") or np.ndim(given) == 2


def _stacked(rows: Mapping[Any, Any], name: str) -> list[FloatArray]:
    stacked = [np.atleast_1d(np.asarray(row)) for row in rows.values()]
    odd = next((label for label, row in zip(rows, stacked, strict=True) if row.shape != stacked[0].shape), None)
    if odd is not None:
        raise ValueError(
            f"{name}: the row of {odd!s} has the shape {np.shape(rows[odd])}, and that of {next(iter(rows))!s} "
            f"{stacked[0].shape}; give as many numbers for each object"
        )
    return stacked


def _read_frame(frame: Any, name: str) -> Features:
    """Return features of a data frame; labels are a column that is called so or holds no numbers, or its index."""
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise ValueError(f"{name}: reading a data frame needs narwhals: pip install narwhals") from error
    table = nw.from_native(frame, eager_only=True)
    index: Any = getattr(frame, "index", None)
    # Numbers from 0 on are no labels, but the index of a frame that was given none.
    is_named = index is not None and not (index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index))))
    texts = [column for column in table.columns if not table.schema[column].is_numeric()]
    labels = None
    if not is_named or index.dtype.kind in "iu":  # a frame of which some rows were left out may have labels in a column
        called_so = [column for column in table.columns if normalize_name(str(column)) in LABEL_COLUMNS]
        labels = next(iter([*called_so, *texts]), None)
    others = [column for column in texts if column != labels]
    if others:
        raise ValueError(
            f"{name}: the columns {quote_all(others)} hold no numbers; leave them out, or code them as numbers"
        )
    numeric = [column for column in table.columns if column != labels]
    if not numeric:
        raise ValueError(f"{name} has no column of numbers")
    values = np.column_stack([table.get_column(column).to_numpy() for column in numeric])
    if labels is not None:
        return Features(values, table.get_column(labels).to_numpy(), name)
    return Features(values, index.to_numpy() if is_named else None, name)
