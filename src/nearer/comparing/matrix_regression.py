r"""Several matrices of distances at once: one given others, and weights that are judged by objects held out.

**Given others.** Whether a model X says more about distances D than matrices Z do. The partial correlation of D and X
is compared with that of models X* that depend on Z as X does, and on nothing else: the coordinates of X (classical
scaling) are regressed on those of Z, and the residuals exchanged between objects,

.. math:: X^* = \mathrm{dist}(H C + \Pi (I - H) C), \qquad C = \mathrm{coordinates}(X),

with H the projection onto the coordinates of Z and a constant. D stays as it is, so that its dependence on Z may have
any form. Permutations of residuals of the matrices themselves, whichever is permuted, take pairs of objects for
exchangeable that are not, and reject too often (Guillot and Rousset 2013).

**Weights.** The distances between some objects are regressed on those of all models, with weights of at least 0 (Lawson
and Hanson 1974), and predicted between the others (Khaligh-Razavi and Kriegeskorte 2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray
from nearer._common.formatting import intcomma, pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result, text_table
from nearer.comparing.matrix_tests import MEASURE_NAMES, Measure, measure_function, unit_length
from nearer.comparing.regression import orthonormal_basis
from nearer.comparing.results import p_text
from nearer.data.conversions import check_dissimilarities

PartialMeasure: TypeAlias = Literal["spearman", "pearson"]
_GIVEN_SHARE = 0.95  # of the variance of a matrix that is given, which its coordinates explain
_MIN_FREEDOM = 4  # of residuals of objects, of which there are 24 orders
_MIN_OBJECTS = 8  # whose halves have six distances each
_ROUNDING_TOL = 1e-10


@dataclass(frozen=True)
class PartialMantelTest(Result):
    """The partial correlation of two matrices given others, and its one-sided p-value.

    Examples
    --------
    >>> print(PartialMantelTest(0.4123, 0.002, 12, 1, 999, "spearman"))
    Spearman's correlation 0.412 over 12 objects, given 1 other matrix; p = 0.002 (999 permutations)
    """

    correlation: float
    p_value: float
    n_objects: int
    n_given: int
    n_permutations: int
    measure: PartialMeasure

    def summary(self) -> str:
        """Return correlation and p-value as text."""
        return (
            f"{MEASURE_NAMES[self.measure]} {self.correlation:.3f} over {pluralize(self.n_objects, 'object')}, given "
            f"{pluralize(self.n_given, 'other matrix', 'other matrices')}; p = {p_text(self.p_value)} "
            f"({intcomma(self.n_permutations)} permutations)"
        )


def partial_mantel(
    distances: ArrayLike,
    model: ArrayLike,
    given: Sequence[ArrayLike],
    *,
    measure: PartialMeasure = "spearman",
    n_permutations: int = 9999,
    random_state: RandomState = None,
) -> PartialMantelTest:
    """Test whether a model says more about distances than other matrices do.

    Valid where the objects' coordinates in the model are a linear function of those in the matrices given, and
    residuals that are exchangeable between objects. It is not where both depend on the same thing in another way, or
    where neighbors in space or time are alike for reasons that ``given`` does not have.

    Parameters
    ----------
    distances, model : array-like, shape (n, n)
        Symmetric, all distances known.
    given : sequence of array-like, shape (n, n)
        At least one. Their leading coordinates, which explain 95% of the variance of each, are accounted for.
    measure : {"spearman", "pearson"}
        Of the partial correlation, between residuals of ranks or of distances.
    n_permutations : int
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size, hue, other = rng.normal(size=(3, 20, 1))
    >>> seen, by_size, by_hue = (squareform(pdist(np.hstack(each))) for each in ([size, hue], [size, other], [hue]))
    >>> partial_mantel(seen, by_hue, [by_size], random_state=0).p_value < 0.01
    True
    >>> by_both = squareform(pdist(np.hstack([size, other])))
    >>> partial_mantel(seen, by_both, [squareform(pdist(size))], random_state=0).p_value > 0.05
    True
    """
    check_integer("n_permutations", n_permutations, 1)
    if measure not in get_args(PartialMeasure):
        raise ValueError(f"measure {measure!r} has no partial correlation here; choose 'spearman' or 'pearson'")
    if len(given) == 0:
        raise ValueError("give at least one other matrix; mantel() tests a model by itself")
    seen, own, *others = _read_all([distances, model, *given])
    n = len(seen)
    scaled = [_coordinates(each, _GIVEN_SHARE) / each.max() for each in others]
    basis = orthonormal_basis(np.column_stack([np.ones(n), *scaled]))
    if n - basis.shape[1] < _MIN_FREEDOM:
        raise ValueError(
            f"the matrices given have {basis.shape[1] - 1} dimensions, which leaves too little of {n} objects; "
            "give matrices of fewer dimensions, or more objects"
        )
    coordinates = _coordinates(own)
    fitted = basis @ (basis.T @ coordinates)
    residuals = coordinates - fitted
    if np.linalg.norm(residuals) < 1e-6 * np.linalg.norm(coordinates):
        raise ValueError("the matrices given explain the model completely")
    values = (lambda d: np.asarray(rankdata(d))) if measure == "spearman" else (lambda d: d)
    pair_basis = orthonormal_basis(
        np.column_stack([unit_length(values(squareform(each, checks=False))) for each in others])
    )
    response = _residual(values(squareform(seen, checks=False)), pair_basis)

    def correlation(apart: FloatArray) -> float:
        return float(response @ _residual(values(apart), pair_basis))

    observed, at_least = correlation(squareform(own, checks=False)), 0
    rng = stream(random_state, "split")
    for _ in progress_bar("partial Mantel test", n_permutations, range(n_permutations)):
        at_least += correlation(pdist(fitted + residuals[rng.permutation(n)])) >= observed - _ROUNDING_TOL
    return PartialMantelTest(
        observed, (1 + at_least) / (1 + n_permutations), n, len(others), int(n_permutations), measure
    )


def _residual(values: FloatArray, basis: FloatArray) -> FloatArray:
    """Return what columns of an orthonormal, centered basis leave of values, of length 1; zeros if nothing is left."""
    centered = unit_length(values)
    left = centered - basis @ (basis.T @ centered)
    length = float(np.linalg.norm(left))
    return left / length if length > _ROUNDING_TOL else np.zeros_like(left)


def _coordinates(distances: FloatArray, share: float = 1.0) -> FloatArray:
    """Return coordinates by classical scaling, (n, p): the leading ones that explain a share of the variance."""
    squares = distances**2
    means = squares.mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh((means[:, None] + means - means.mean() - squares) / 2)
    eigenvalues, vectors = eigenvalues[::-1], vectors[:, ::-1]
    positive = eigenvalues > _ROUNDING_TOL * eigenvalues[0]
    explained = np.cumsum(eigenvalues[positive]) / eigenvalues[positive].sum()
    kept = int(np.searchsorted(explained, share - _ROUNDING_TOL)) + 1
    return np.asarray((vectors[:, positive] * np.sqrt(eigenvalues[positive]))[:, :kept])


def _read_all(matrices: Sequence[ArrayLike]) -> list[FloatArray]:
    """Return matrices of distances between the same objects, all known."""
    read = [check_dissimilarities(each) for each in matrices]
    if len({len(each) for each in read}) > 1:
        sizes = ", ".join(str(len(each)) for each in read)
        raise ValueError(f"the matrices are about different numbers of objects: {sizes}; give all in the same order")
    if any(np.isnan(each).any() for each in read):
        raise ValueError("a distance is not known; leave out its objects from all matrices")
    if not all(each.any() for each in read):
        raise ValueError("all distances of a matrix are 0")
    return read


@dataclass(frozen=True, eq=False)
class WeightedModels(Result):
    """Models of distances with weights that are learned, judged by objects that they were not learned from.

    Attributes
    ----------
    names : tuple of str
    weights : ndarray, shape (k,)
        Learned from all objects, for models of variance 1; their sum is 1, or 0 where no model helps.
    held_out : float
        Mean correlation of weighted models with distances between objects that weights were not learned from.
    single : ndarray, shape (k,)
        Correlation of each model by itself with the same distances.
    equal : float
        The same for equal weights.
    p_value : float
        Of a correlation ``held_out`` as high, by permuting objects.
    n_objects, n_splits, n_permutations : int
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    """

    names: tuple[str, ...]
    weights: FloatArray
    held_out: float
    single: FloatArray
    equal: float
    p_value: float
    n_objects: int
    n_splits: int
    n_permutations: int
    measure: Measure

    def summary(self) -> str:
        """Return weights and correlations as text."""
        rows = [[name, f"{weight:.2f}", f"{single:.3f}"]
                for name, weight, single in zip(self.names, self.weights, self.single, strict=True)]  # fmt: skip
        rows += [["equal weights", "", f"{self.equal:.3f}"], ["learned weights", "", f"{self.held_out:.3f}"]]
        lines = text_table([["model", "weight", "held out"], *rows])
        lines.append(
            f"{MEASURE_NAMES[self.measure]} over held-out halves of {pluralize(self.n_objects, 'object')} in "
            f"{pluralize(self.n_splits, 'split')}; learned weights: p = {p_text(self.p_value)}"
        )
        return "\n".join(lines)


class _Split:
    """One half of the objects to learn weights from, and the other one to judge them by."""

    def __init__(self, learned: NDArray[np.intp], judged: NDArray[np.intp], models: Sequence[FloatArray]) -> None:
        self.learned, self.judged = _pairs(learned), _pairs(judged)
        centered = np.column_stack([each[self.learned] - each[self.learned].mean() for each in models])
        self.q, self.r = np.linalg.qr(centered)
        self.models = np.column_stack([each[self.judged] for each in models])

    def predict(self, distances: FloatArray) -> FloatArray:
        """Return the distances between the judged objects by weights learned from the others."""
        values = distances[self.learned]
        return np.asarray(self.models @ nnls(self.r, self.q.T @ (values - values.mean()))[0])


def weigh_models(
    distances: ArrayLike,
    models: Mapping[str, ArrayLike],
    *,
    measure: Measure = "spearman",
    n_splits: int = 10,
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> WeightedModels:
    """Learn weights of several models of distances from half of the objects, and judge them by the other half.

    A combination of models fits the distances that its weights were learned from better than each model, whatever it is
    worth. Distances between other objects are independent of that. Each split is used both ways.

    Parameters
    ----------
    distances : array-like, shape (n, n)
        Symmetric, all known, such as ``distance_matrix(full_posterior(model)).matrix``.
    models : dict of str to array-like, shape (n, n)
        Fewer than the distances between half of the objects.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    n_splits, n_permutations : int
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size, hue, other = rng.normal(size=(3, 20, 1))
    >>> seen = squareform(pdist(np.hstack([size, 0.5 * hue])))
    >>> models = {name: squareform(pdist(each)) for name, each in (("size", size), ("hue", hue), ("other", other))}
    >>> found = weigh_models(seen, models, n_permutations=99, random_state=0)
    >>> bool(found.held_out > found.single.max()), found.names[found.weights.argmax()], found.p_value
    (True, 'size', 0.01)
    """
    check_integer("n_splits", n_splits, 1)
    check_integer("n_permutations", n_permutations, 1)
    correlation = measure_function(measure)
    if not models:
        raise ValueError("there are no models to weigh")
    seen, *read = _read_all([distances, *models.values()])
    n = len(seen)
    if n < _MIN_OBJECTS:
        raise ValueError(f"halves of {n} objects have too few distances; {_MIN_OBJECTS} objects or more are needed")
    if len(read) >= (n // 2) * (n // 2 - 1) / 2:
        raise ValueError(f"{len(read)} models are as many as the distances between half of {n} objects; give fewer")
    for name, each in zip(models, read, strict=True):
        if not np.ptp(squareform(each, checks=False)) > 0:
            raise ValueError(f"all distances of {name!r} are the same")
    scaled = [each / squareform(each, checks=False).std() for each in read]
    rng, splits = stream(random_state, "split"), []
    for _ in range(n_splits):
        order = rng.permutation(n)
        halves = order[: n // 2], order[n // 2 :]
        splits += [_Split(*halves, scaled), _Split(*halves[::-1], scaled)]

    def held_out(of: FloatArray) -> float:
        return float(np.mean([correlation(split.predict(of), of[split.judged]) for split in splits]))

    observed, at_least = held_out(seen), 0
    for _ in progress_bar("weights of models", n_permutations, range(n_permutations)):
        order = rng.permutation(n)
        at_least += held_out(seen[np.ix_(order, order)]) >= observed - _ROUNDING_TOL
    single = [[correlation(column, seen[split.judged]) for column in split.models.T] for split in splits]
    equal = [correlation(split.models.sum(axis=1), seen[split.judged]) for split in splits]
    values = squareform(seen, checks=False)
    weights = nnls(
        np.column_stack([unit_length(squareform(each, checks=False)) for each in scaled]), unit_length(values)
    )[0]
    return WeightedModels(
        tuple(map(str, models)), weights / (weights.sum() or 1.0), observed, np.mean(single, axis=0),
        float(np.mean(equal)), (1 + at_least) / (1 + n_permutations), n, int(n_splits), int(n_permutations), measure,
    )  # fmt: skip


def _pairs(objects: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of some objects, as rows and columns of a matrix."""
    rows, columns = np.triu_indices(len(objects), 1)
    return objects[rows], objects[columns]
