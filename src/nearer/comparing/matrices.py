"""Comparison of a map with models (RSA): how well matrices of distances explain the distances between objects.

Correlations are with the distances in all dimensions that the answers call for, over the pairs that the map and every
model know. Intervals are of percentiles over drawn objects, and of maps of resampled people, whose correlations are too
low but vary as they should. See the page on RSA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray
from nearer._common.formatting import format_interval, format_level, pluralize, quote
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result, Rows
from nearer._common.tables import rows_from_records
from nearer.comparing.matrix_tests import (
    MEASURE_NAMES,
    MEASURES,
    MIN_OBJECTS,
    MatrixCeiling,
    MatrixNoise,
    Measure,
    full_posterior,
    mantel,
    measure_function,
    tied_share,
)
from nearer.comparing.results import Comparison, Estimate, holm, p_text, plot_estimates
from nearer.comparing.shared_features import check_models
from nearer.data.conversions import check_dissimilarities
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.evaluation.distances import compared_objects, distance_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
_FEW_OBJECTS = 10  # below, intervals over objects are unreliable
_MIN_DRAWN = 3  # pairs, and objects
_MANY_TIES = 0.05  # share of tied pairs from which tau-a is recommended


@dataclass(frozen=True)
class ModelFit(Result):
    """How well one model explains the distances of a map.

    Attributes
    ----------
    name : str
    estimate, low, high : float
        By the measure of the comparison, with its interval over objects.
    people_low, people_high : float or None
        Its interval over people, where there are maps of resampled people.
    p_value : float
        Of the Mantel test.
    measures : dict of str to float
        The estimate by every measure.
    ties : float
        The share of pairs of its distances that are equal.
    notes : tuple of str
        What was done to it when it was read.
    """

    name: str
    estimate: float
    low: float
    high: float
    people_low: float | None
    people_high: float | None
    p_value: float
    measures: dict[str, float]
    ties: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelDifference(Result):
    """By how much one model explains the distances better than another.

    Attributes
    ----------
    first, second : str
    difference, low, high : float
        First less second, with its interval over objects.
    p_value, p_holm : float
        Over objects, and corrected for all pairs of models.
    people_low, people_high, people_p_value : float or None
        The same over people, not corrected.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    people_low: float | None = None
    people_high: float | None = None
    people_p_value: float | None = None


@dataclass(frozen=True)
class MatrixComparison(Comparison):
    """A matrix of distances and models of it.

    Attributes
    ----------
    models : tuple of ModelFit
        In the order in which they were given.
    differences : tuple of ModelDifference
        Of all pairs of models.
    ceiling : MatrixCeiling or None
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    n_objects, n_pairs : int
        That all matrices know.
    level : float
        Of the intervals.
    notes : tuple of str
        What a reader should know.

    Examples
    --------
    >>> pitch = ModelFit("pitch", 0.8, 0.7, 0.9, None, None, 0.001, {"spearman": 0.8, "kendall": 0.6}, 0.0)
    >>> print(MatrixComparison((pitch,), (), MatrixCeiling(0.81, 0.9), "spearman", 12, 66, 0.95))
    Spearman's correlation over 66 pairs of 12 objects
    pitch: 0.800 (95% interval over objects 0.700 to 0.900); Mantel test p = 0.001; kendall 0.600
    noise ceiling: 0.810 to 0.900; pitch may reach it
    """

    kind: ClassVar[str] = "matrices"
    figure_name: ClassVar[str] = "rsa"

    models: tuple[ModelFit, ...]
    differences: tuple[ModelDifference, ...]
    ceiling: MatrixCeiling | None
    measure: Measure
    n_objects: int
    n_pairs: int
    level: float
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return models, noise ceiling, differences and notes as text."""
        over = f"{pluralize(self.n_pairs, 'pair')} of {pluralize(self.n_objects, 'object')}"
        lines = [f"{MEASURE_NAMES[self.measure]} over {over}"]
        for model in self.models:
            over_people = format_interval(model.people_low, model.people_high)
            people = f", over people {over_people}" if over_people else ""
            others = ", ".join(f"{key} {value:.3f}" for key, value in model.measures.items() if key != self.measure)
            lines.append(
                f"{model.name}: {model.estimate:.3f} ({format_level(self.level)} interval over objects "
                f"{format_interval(model.low, model.high)}{people}); Mantel test p = {p_text(model.p_value)}; {others}"
            )
        if self.ceiling is not None:
            reached = [model.name for model in self.models if model.high >= self.ceiling.low]
            verdict = f"{', '.join(reached)} may reach it" if reached else "every model leaves something unexplained"
            lines.append(f"noise ceiling: {format_interval(self.ceiling.low, self.ceiling.high)}; {verdict}")
        for each in self.differences:
            over_people = format_interval(each.people_low, each.people_high)
            people = f"; over people {over_people}, p = {p_text(each.people_p_value)}" if over_people else ""
            over_objects = f"over objects {format_interval(each.low, each.high)}, p = {p_text(each.p_holm)} after Holm"
            lines.append(f"{each.first} less {each.second}: {each.difference:+.3f} ({over_objects}{people})")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def tables(self) -> dict[str, Rows]:
        """Return a row for each model."""
        rows = [
            {
                "model": model.name, "estimate": model.estimate, "low": model.low, "high": model.high,
                "people_low": model.people_low, "people_high": model.people_high, "mantel_p_value": model.p_value,
                **model.measures,
            }
            for model in self.models
        ]  # fmt: skip
        return {"rsa.csv": rows_from_records(rows)}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how well each model explains the distances, with intervals, and the noise ceiling as a band."""
        rows = []
        for model in self.models:
            intervals = [(model.low, model.high)]
            if model.people_low is not None and model.people_high is not None:
                intervals.append((model.people_low, model.people_high))
            rows.append(Estimate(model.name, model.estimate, tuple(intervals)))
        labels = [f"{format_level(self.level)} interval over {each}" for each in ("objects", "people")]
        band = None if self.ceiling is None else (self.ceiling.low, self.ceiling.high, "noise ceiling")
        ax = plot_estimates(rows, labels, f"{MEASURE_NAMES[self.measure]} with the map's distances", ax, band)
        lows = [low for row in rows for low, _ in row.intervals]
        ax.set_xlim(min(-0.02, min(lows) - 0.03), 1.02)  # or a dot at 1 would be cut in half
        return ax


def compare_matrices(
    distances: OrdinalEmbedding | ArrayLike,
    models: Mapping[str, ArrayLike],
    *,
    measure: Measure = "spearman",
    noise: MatrixNoise | None = None,
    people: ArrayLike | None = None,
    n_permutations: int = 9999,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: RandomState = None,
) -> MatrixComparison:
    """Compare the distances between objects with those that models predict.

    Parameters
    ----------
    distances : fitted estimator, or array-like, shape (n, n)
        What is to be explained: of a map, the distances in all dimensions (see `full_posterior`, which is fitted where
        the map has no such draws). Distances of the features that a map was made with are refused as models of it.
    models : mapping from str to array-like, shape (n, n)
        Symmetric, objects in the same order, NaN where a model says nothing.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
        For intervals, tests and ceiling; estimates by the others come with it. With a model that predicts many equal
        distances choose "tau-a".
    noise : MatrixNoise, optional
        Of `matrix_noise`, for the ceiling.
    people : array-like, shape (k, n, n), optional
        Of `people_matrices`, for intervals over people.
    n_permutations, n_resamples : int
        Of each Mantel test; draws of objects.
    level : float
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState

    References
    ----------
    H. Nili et al. (2014). A toolbox for representational similarity analysis. PLoS Computational Biology 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = rng.normal(size=(12, 2))
    >>> apart = lambda points: np.linalg.norm(points[:, None] - points, axis=2)
    >>> found = compare_matrices(apart(places), {"noisy": apart(places + 0.3 * rng.normal(size=(12, 2))),
    ...                          "other": apart(rng.normal(size=(12, 2)))}, n_resamples=200, random_state=0)
    >>> [model.p_value < 0.01 for model in found.models], found.differences[0].p_holm < 0.05
    ([True, False], True)
    """
    check_level(level)
    check_integer("n_resamples", n_resamples, 10)
    correlation = measure_function(measure)
    if not models:
        raise ValueError("there is no model to compare with; give at least one matrix")
    models = {str(key): matrix for key, matrix in models.items()}
    rng = stream(random_state, "split")
    of_map: tuple[ArrayLike, tuple[str, ...], bool] = distances, (), True
    made_with: tuple[str, ...] = ()
    if isinstance(distances, OrdinalEmbedding):
        made_with = check_models(distances, models)
        of_map = _of_map(distances, rng)
    own, notes, is_full = of_map
    matrices = [check_dissimilarities(own)] + [_read(key, matrix) for key, matrix in models.items()]
    n, (known, rows, columns) = len(matrices[0]), _shared(matrices, list(models))
    matrices = [matrices[0][np.ix_(known, known)], *_among(matrices[1:], known, (rows, columns))]
    values = [matrix[rows, columns] for matrix in matrices]
    tests = [
        mantel(matrices[0], matrix, measure=measure, n_permutations=n_permutations, random_state=rng)
        for matrix in matrices[1:]
    ]
    drawn = _resampled(matrices, (rows, columns), measure, n_resamples, rng)
    maps = None if people is None else _of_people(people, known, n, values[1:], (rows, columns), measure)
    estimates = np.array([correlation(values[0], other) for other in values[1:]])
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    fits = []
    for k, key in enumerate(models):
        reach = (None, None) if maps is None else _around(estimates[k], maps[:, k], level)
        every: dict[str, float] = {each: measure_function(each)(values[0], values[k + 1]) for each in MEASURES}
        low, high = float(ends[0, k]), float(ends[1, k])
        ties = tied_share(values[k + 1])
        fits.append(ModelFit(key, float(estimates[k]), low, high, reach[0], reach[1], tests[k].p_value, every, ties))
    ceiling = None if noise is None else noise.subset(known).ceiling(matrices[0], (rows, columns), measure)
    differences = _differences(list(models), estimates, drawn, maps, level) if is_full else ()
    notes = (*made_with, *notes, *_notes(fits, measure, len(known)))
    return MatrixComparison(tuple(fits), differences, ceiling, measure, len(known), len(rows), level, notes)


def _of_map(model: OrdinalEmbedding, rng: np.random.Generator) -> tuple[ArrayLike, tuple[str, ...], bool]:
    """Return distances, NaN to objects that nobody compared, notes, and whether they are in all dimensions."""
    shown, notes, is_full = model.embedding_.shape[1], [], True
    source = model
    try:
        source = full = full_posterior(model, random_state=rng)
    except ValueError as error:
        is_full = False
        notes.append(
            f"correlations are with the distances on a map of {pluralize(shown, 'dimension')}, and no models are "
            f"compared with each other: {error}"
        )
    else:
        if full.dimension_ is None:
            notes.append(f"distances are in all dimensions; {NO_DIMENSION}")
        elif full.dimension_ != shown:
            notes.append(
                f"distances are in all dimensions; the answers call for {full.dimension_}, and the map shows {shown}"
            )
    matrix, unseen = distance_matrix(source).matrix.copy(), ~compared_objects(model)
    matrix[unseen] = matrix[:, unseen] = np.nan
    np.fill_diagonal(matrix, 0.0)
    if unseen.any():
        notes.append(f"{pluralize(int(unseen.sum()), 'object')} that nobody compared left out")
    return matrix, tuple(notes), is_full


def _among(models: list[FloatArray], known: NDArray[np.intp], pairs: _Pairs) -> list[FloatArray]:
    """Return the distances of models for the pairs that all know, NaN for others: tests are of the same pairs."""
    common = np.zeros((len(known), len(known)), dtype=bool)
    common[pairs] = common[pairs[::-1]] = True
    np.fill_diagonal(common, True)
    return [np.where(common, model[np.ix_(known, known)], np.nan) for model in models]


def _read(key: str, matrix: ArrayLike) -> FloatArray:
    try:
        return check_dissimilarities(matrix)
    except ValueError as error:
        raise ValueError(f"model {quote(key)}: {error}") from error


def _shared(matrices: list[FloatArray], keys: list[str]) -> tuple[NDArray[np.intp], *_Pairs]:
    """Return the objects that all matrices know, and the pairs of them that all know, in their order."""
    n = len(matrices[0])
    for key, matrix in zip(keys, matrices[1:], strict=True):
        if len(matrix) != n:
            raise ValueError(f"model {quote(key)} is about {len(matrix)} objects, and the map about {n}; match them")
    known: NDArray[np.bool_] = np.all(~np.isnan(np.stack(matrices)), axis=0)
    np.fill_diagonal(known, False)
    shared = np.flatnonzero(known.any(axis=0))
    rows, columns = np.nonzero(np.triu(known[np.ix_(shared, shared)], 1))
    if len(shared) < MIN_OBJECTS or len(rows) < MIN_OBJECTS:
        raise ValueError(
            f"map and models know {pluralize(len(rows), 'distance')} of {pluralize(len(shared), 'object')} in common; "
            f"it takes at least {MIN_OBJECTS} objects"
        )
    return shared, rows, columns


def _resampled(
    matrices: list[FloatArray], pairs: _Pairs, measure: Measure, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the correlations with each model over drawn objects, (b, models)."""
    n, by_rank = len(matrices[0]), measure == "spearman"
    function = measure_function("pearson" if by_rank else measure)  # of ranks, each list ranked once
    allowed = np.zeros((n, n), dtype=bool)  # no pair of an object with itself
    allowed[pairs] = allowed[pairs[::-1]] = True
    first, second = np.triu_indices(n, 1)
    drawn = np.empty((n_resamples, len(matrices) - 1))
    with progress_bar("draws of objects", n_resamples) as bar:
        for number in range(n_resamples):
            while True:
                order = rng.integers(n, size=n)
                a, b = order[first], order[second]
                kept = allowed[a, b]
                if kept.sum() >= _MIN_DRAWN and len(np.unique(order)) >= _MIN_DRAWN:
                    break  # or one distance would be all there is
            own, *others = (rankdata(m[a[kept], b[kept]]) if by_rank else m[a[kept], b[kept]] for m in matrices)
            drawn[number] = [function(own, other) for other in others]
            bar.update()
    return drawn


def _of_people(
    people: ArrayLike, known: NDArray[np.intp], n: int, models: list[FloatArray], pairs: _Pairs, measure: Measure
) -> FloatArray:
    """Return the correlations of maps of resampled people with each model, (k, models)."""
    matrices = np.asarray(people, dtype=np.float64)
    if matrices.ndim != 3 or matrices.shape[1:] != (n, n) or len(matrices) < 2:
        raise ValueError(f"people must have the shape (k, {n}, {n}), k at least 2, got {matrices.shape}")
    some = matrices[:, known[:, None], known]
    return np.array([[measure_function(measure)(each[pairs], model) for model in models] for each in some])


def _around(estimate: float, drawn: FloatArray, level: float) -> tuple[float, float]:
    """Return an interval around an estimate from the standard deviation of draws."""
    reach = float(stdtrit(len(drawn) - 1, (1 + level) / 2) * drawn.std(ddof=1))
    return max(float(estimate) - reach, -1.0), min(float(estimate) + reach, 1.0)


def _differences(
    keys: list[str], estimates: FloatArray, drawn: FloatArray, maps: FloatArray | None, level: float
) -> tuple[ModelDifference, ...]:
    found: list[dict[str, Any]] = []
    for i, j in combinations(range(len(keys)), 2):
        gap, away = float(estimates[i] - estimates[j]), drawn[:, i] - drawn[:, j]
        sides = min((away <= 0).sum(), (away >= 0).sum())
        low, high = np.quantile(away, [(1 - level) / 2, (1 + level) / 2])
        one = {"difference": gap, "low": float(low), "high": float(high)}
        one["p_value"] = min(1.0, 2 * (1 + int(sides)) / (1 + len(away)))
        if maps is not None:
            apart = maps[:, i] - maps[:, j]
            std, (low, high) = float(apart.std(ddof=1)), _around(gap, apart, level)
            one |= {"people_low": low, "people_high": high}
            one["people_p_value"] = float(2 * stdtr(len(apart) - 1, -abs(gap) / std)) if std > 0 else float(gap == 0)
        found.append({"first": keys[i], "second": keys[j], **one})
    corrected = holm([one["p_value"] for one in found])
    return tuple(ModelDifference(**one, p_holm=p) for one, p in zip(found, corrected, strict=True))


def _notes(fits: list[ModelFit], measure: Measure, n_objects: int) -> tuple[str, ...]:
    notes = []
    if n_objects < _FEW_OBJECTS:
        notes.append(f"intervals over {n_objects} objects are unreliable")
    ties = [fit.name for fit in fits if fit.ties > _MANY_TIES]
    if ties and measure != "tau-a":
        verb = "predicts" if len(ties) == 1 else "predict"
        notes.append(
            f"{', '.join(ties)} {verb} many equal distances; tau-a compares such a model fairly with one that orders "
            "everything"
        )
    return tuple(notes)
