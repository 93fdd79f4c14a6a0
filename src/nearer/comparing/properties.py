"""Property fitting: how attributes of the objects relate to their places on a map (Carroll and Chang's PROFIT).

A column of numbers is regressed on the map; a column of words, which has no size, explains the map instead: R2 is the
share of its squared distances from the center that lies between the centers of categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.formatting import decimals, format_interval, format_level, pluralize, quote_all
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import NOT_STORED, Result, Rows, text_table
from nearer._common.tables import rows_from_records
from nearer.comparing.regression import (
    NotFittable,
    NullModel,
    Regression,
    are_numbers,
    copies_text,
    has_value,
    near_copies,
    neighbors_agree,
    read_blocks,
    read_line,
)
from nearer.comparing.results import Comparison, holm, p_text
from nearer.geometry import gradient

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_PERMUTATIONS_OF_NEIGHBORS = 199
_ALPHA_OF_NEIGHBORS = 0.01
#: What p-values assume, by the way objects are randomized.
_NULL_MODELS = {
    "within": "p-values: objects permuted within blocks",
    "along": "p-values: surrogates as smooth along the given line or distances (Moran spectral randomization)",
    "copies": "copies of one thing were averaged",
}


@dataclass(frozen=True)
class Category(Result):
    """A word of an attribute: how many objects have it, and the center of their places."""

    n_objects: int
    center: tuple[float, ...]


@dataclass(frozen=True)
class PropertyFit(Result):
    """How one attribute relates to the map.

    Attributes
    ----------
    name : str
    kind : {"number", "words"}
    n_objects : int
        Those that have a value.
    r2, adjusted_r2 : float
        Share that is explained, and the same less what chance explains.
    predicted_r2 : float
        Of each object predicted by the others (leave-one-out); below 0 it is worse than their mean.
    low, high : float
        Interval of the share among all objects of which these are a sample.
    p_value, p_holm : float
        By randomized objects, and corrected for all attributes.
    direction : tuple of float, or None
        In which numbers grow most, of length 1.
    categories : dict of str to Category, or None
        Of words.
    """

    name: str
    kind: Literal["number", "words"]
    n_objects: int
    r2: float
    adjusted_r2: float
    predicted_r2: float
    low: float
    high: float
    p_value: float
    p_holm: float
    direction: tuple[float, ...] | None = None
    categories: dict[str, Category] | None = None


@dataclass(frozen=True, eq=False)
class PropertyFits(Comparison, Sequence[PropertyFit]):
    """How attributes relate to a map, one after the other; printed, it is a table.

    Attributes
    ----------
    fits : tuple of PropertyFit
    not_fitted : dict of str to str
        Attributes that could not be fitted, and why.
    n_objects, n_permutations : int
    level : float
        Of the intervals.
    null : {"permutations", "within", "along", "copies"}
        How objects were randomized for the p-values.
    notes : tuple of str
        What a reader should know, such as objects that look like near copies of each other.
    embedding : ndarray, shape (n, p)
        The map that they were fitted to, for `plot`; empty where the result was read from a file.
    """

    json_name: ClassVar[str] = "properties.json"
    kind: ClassVar[str] = "properties"

    fits: tuple[PropertyFit, ...]
    not_fitted: dict[str, str]
    n_objects: int
    n_permutations: int
    level: float
    null: str = "permutations"
    notes: tuple[str, ...] = ()
    embedding: FloatArray = field(default_factory=lambda: np.empty((0, 0)), metadata=NOT_STORED)

    def __len__(self) -> int:
        return len(self.fits)

    def __getitem__(self, index: Any) -> Any:
        """Return a fit by its position or by the name of its attribute."""
        if isinstance(index, str):
            found = {fit.name: fit for fit in self.fits}
            if index not in found:
                raise KeyError(
                    self.not_fitted.get(index, f"no attribute {index!r}; there are {quote_all(list(found))}")
                )
            return found[index]
        return self.fits[index]

    def summary(self) -> str:
        """Return a table of attributes, and notes, as text."""
        lines = []
        if self.fits:
            shares = ("R2", f"{format_level(self.level)} interval", "adjusted R2", "predicted R2")
            lines = text_table([("attribute", "kind", "objects", *shares, "p", "p (Holm)"), *map(_cells, self.fits)])
        partly = [fit.name for fit in self.fits if fit.n_objects < self.n_objects]
        if partly:
            lines.append(f"objects without a value are left out: {quote_all(partly)}")
        lines += [f"{name} is not fitted: {why}" for name, why in self.not_fitted.items()]
        lines += [_NULL_MODELS[self.null]] if self.null in _NULL_MODELS else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def tables(self) -> dict[str, Rows]:
        """Return a row for each attribute; its direction goes into x1, x2, ..."""
        rows = []
        for fit in self.fits:
            row = {key: value for key, value in vars(fit).items() if key not in ("direction", "categories")}
            rows.append(row | {f"x{k + 1}": value for k, value in enumerate(fit.direction or ())})
        return {"properties.csv": rows_from_records(rows)}

    def plot(self, ax: Axes | None = None, labels: Sequence[str] | None = None, **map_options: Any) -> Axes:
        """Draw the map with an arrow for each attribute of numbers; see `nearer.plotting.plot_properties`."""
        from nearer.plotting import plot_properties

        if not len(self.embedding):
            raise ValueError(
                "the map is not in the file; draw it with nearer.plotting.plot_properties(embedding, fits)"
            )
        return plot_properties(self.embedding, self.fits, labels, ax, **map_options)


def _cells(fit: PropertyFit) -> tuple[str, ...]:
    kind = fit.kind if fit.categories is None else pluralize(len(fit.categories), "category", "categories")
    shares = decimals(fit.r2), format_interval(fit.low, fit.high), decimals(fit.adjusted_r2), decimals(fit.predicted_r2)
    return (fit.name, kind, str(fit.n_objects), *shares, p_text(fit.p_value), p_text(fit.p_holm))


def fit_properties(
    embedding: ArrayLike,
    attributes: Mapping[str, Sequence[Any]],
    *,
    within: Sequence[Any] | None = None,
    along: ArrayLike | None = None,
    copies: Sequence[Any] | None = None,
    n_permutations: int = 9999,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: RandomState = None,
) -> PropertyFits:
    """Fit attributes of objects to their places on a map.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
    attributes : mapping of str to sequence, length n
        Columns of numbers or of words, a value for each object; None or NaN where there is none. A table of
        `nearer.study.figures.read_attributes`, a dict, or a data frame in the order of the objects.
    within : sequence, length n, optional
        The block of each object: objects are permuted within blocks, and p-values are about differences within them.
    along : array-like, shape (n,) or (n, n), optional
        A position of each object on a line, such as its year, or distances between objects, such as those of a
        phylogeny. P-values are then those of an attribute that is as smooth along these as the one given.
    copies : sequence, length n, optional
        The thing that each object is a copy of: places and values of one thing are averaged. One of these three at a
        time.
    n_permutations : int
        For the p-values, of which 1 / (n_permutations + 1) is the smallest.
    n_resamples : int
        Of the objects, for the intervals.
    level : float
        Of the intervals.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> places = np.random.default_rng(0).normal(size=(30, 2))
    >>> size = places @ [3.0, 4.0] + 10
    >>> fits = fit_properties(places, {"size": size, "side": ["left" if x < 0 else "right" for x in places[:, 0]]},
    ...                       random_state=0)
    >>> [round(value, 6) for value in fits["size"].direction], fits["size"].p_holm < 0.001
    ([0.6, 0.8], True)
    >>> sorted(fits["side"].categories), 0.2 < fits["side"].r2 < 0.6
    (['left', 'right'], True)
    """
    points = checked_points(embedding, "embedding")
    check_integer("n_permutations", n_permutations, 1)
    check_integer("n_resamples", n_resamples, 1)
    check_level(level)
    columns: dict[str, list[Any]] = {name: list(column) for name, column in attributes.items()}
    not_fitted: dict[str, str] = {}
    given = {"within": within, "along": along, "copies": copies}
    ways = [way for way, values in given.items() if values is not None]
    if len(ways) > 1:
        raise ValueError(f"{ways[0]} and {ways[1]} are two ways to randomize objects; give one of them")
    if copies is not None:
        points, columns, not_fitted = _averaged(points, columns, list(copies))
    null = NullModel(
        None if within is None else read_blocks(list(within), len(points)),
        None if along is None else read_line(along, len(points)),
    )
    rng = stream(random_state, "split")
    fits: list[PropertyFit] = []
    notes: list[str] = []
    if not ways and (near := near_copies(points, rng)).any():
        notes.append(copies_text(int(near.sum()), len(near)))
    with progress_bar("attributes", len(columns)) as bar:
        for name, column in columns.items():
            try:
                of = Regression.of(points, column)
                p_value = of.p_value(null.subset(of.known), n_permutations, rng)
            except NotFittable as error:
                not_fitted[name] = str(error)
            else:
                low, high = of.interval(n_resamples, level, rng)
                fits.append(_fit(name, of, p_value, low, high))
                notes += [] if ways else _agreement(name, of, rng)
            bar.update()
    corrected = holm([fit.p_value for fit in fits])
    done = tuple(replace(fit, p_holm=p) for fit, p in zip(fits, corrected, strict=True))
    how = ways[0] if ways else "permutations"
    return PropertyFits(done, not_fitted, len(points), n_permutations, level, how, tuple(notes), points)


def _averaged(
    points: FloatArray, columns: dict[str, list[Any]], copies: list[Any]
) -> tuple[FloatArray, dict[str, list[Any]], dict[str, str]]:
    """Return places and values of things, the means of their copies, and which columns have none."""
    if len(copies) != len(points):
        raise ValueError(f"copies needs a thing for each of the {len(points)} objects, got {len(copies)}")
    things = np.unique([str(thing) for thing in copies], return_inverse=True)[1]
    members = [np.flatnonzero(things == thing) for thing in range(int(things.max()) + 1)]
    averaged: dict[str, list[Any]] = {}
    not_fitted = {}
    for name, column in columns.items():
        if len(column) != len(points):
            raise ValueError(f"an attribute needs a value for each of the {len(points)} objects, got {len(column)}")
        values = [[column[k] for k in objects if has_value(column[k])] for objects in members]
        if are_numbers([value for each in values for value in each]):
            averaged[name] = [float(np.mean(each)) if each else None for each in values]
        elif all(len(set(each)) <= 1 for each in values):
            averaged[name] = [each[0] if each else None for each in values]
        else:
            not_fitted[name] = "copies of one thing have different words"
    return np.array([points[objects].mean(axis=0) for objects in members]), averaged, not_fitted


def _agreement(name: str, of: Regression, rng: np.random.Generator) -> list[str]:
    """Return a note on neighbors whose values are alike beyond what the fit explains; words have no such residuals."""
    if of.values is None:
        return []
    if neighbors_agree(of.points, of.residuals, _N_PERMUTATIONS_OF_NEIGHBORS, rng) > _ALPHA_OF_NEIGHBORS:
        return []
    return [
        f"neighbors on the map have similar values of {name} beyond what a linear function explains: the relation is "
        "curved, or objects are not exchangeable and p is too small. Name copies of one thing (copies), blocks "
        "(within), or what map and attribute may both change smoothly with, such as time or descent (along)"
    ]


def _fit(name: str, of: Regression, p_value: float, low: float, high: float) -> PropertyFit:
    """Return the fit of one attribute; p_holm is not yet corrected."""
    n, r2 = len(of.points), of.r2
    direction, categories = None, None
    if of.values is not None:
        slopes = gradient(of.points, of.values)
        direction = tuple((slopes / np.linalg.norm(slopes)).tolist()) if slopes.any() else (0.0,) * len(slopes)
    if of.categories is not None:
        sizes = of.categories.sum(axis=0)
        centers = (of.middle + of.categories.T @ of.points / sizes[:, None]).tolist()
        categories = {
            word: Category(int(size), tuple(centre))
            for word, size, centre in zip(of.words, sizes, centers, strict=True)
        }
    return PropertyFit(
        name=name, kind="number" if of.values is not None else "words", n_objects=n, r2=r2,
        adjusted_r2=1 - (1 - r2) * (n - 1) / (n - 1 - of.freedom), predicted_r2=of.predicted_r2, low=low, high=high,
        p_value=p_value, p_holm=p_value, direction=direction, categories=categories,
    )  # fmt: skip
