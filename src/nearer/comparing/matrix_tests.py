"""Two matrices of distances: how strongly they correlate, whether that is chance, and how far noise lets them.

Measures, the Mantel test, distances in all dimensions and the noise ceiling (after Nili et al. 2014) are explained on
the page on RSA. With D_k the distances of draw k of the posterior and D the matrix compared, the upper end of the
ceiling is the mean correlation of D_k and D, and the lower one that of D_k and D_l, two draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.stats import kendalltau, rankdata

from nearer._common.arrays import FloatArray
from nearer._common.formatting import intcomma, pluralize
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.comparing.results import count_annotators, p_text
from nearer.data.comparisons import Comparisons
from nearer.data.conversions import check_dissimilarities
from nearer.embedding import CKL
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.uncertainty import bootstrap

if TYPE_CHECKING:
    from nearer.embedding import PosteriorEmbedding

Measure: TypeAlias = Literal["spearman", "kendall", "tau-a", "pearson"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
#: As people write them.
MEASURE_NAMES: dict[Measure, str] = {
    "spearman": "Spearman's correlation",
    "kendall": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "pearson": "Pearson's correlation",
}
MIN_OBJECTS = 4  # of which there are 24 orders
_ROUNDING_TOL = 1e-10
_BLOCK_SIZE = 2**21  # numbers at a time
_N_DRAWS = 100
_BUDGET_SECONDS = 120.0


def pearson(first: FloatArray, second: FloatArray) -> float:
    """Return Pearson's correlation; 0 where all values of a list are the same."""
    one, other = unit_length(first), unit_length(second)
    return float(np.clip(one @ other, -1.0, 1.0))


def unit_length(values: FloatArray) -> FloatArray:
    """Return values centered and of length 1, whose products are correlations; zeros where all are the same."""
    centered = values - values.mean()
    length = float(np.linalg.norm(centered))
    # What rounding leaves of equal values is no variation.
    alike = length <= 1e-12 * float(np.abs(values).max(initial=0.0)) * np.sqrt(len(values))
    return np.zeros_like(centered) if alike else centered / length


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's correlation."""
    return pearson(rankdata(first), rankdata(second))


def kendall(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-b."""
    found = float(kendalltau(first, second, variant="b").statistic)
    return 0.0 if np.isnan(found) else found


def tau_a(first: FloatArray, second: FloatArray) -> float:
    """Return Kendall's tau-a."""
    return kendall(first, second) * float(np.sqrt((1 - tied_share(first)) * (1 - tied_share(second))))


def tied_share(values: FloatArray) -> float:
    """Return the share of pairs of values that are equal."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    n = len(values)
    return float((counts * (counts - 1)).sum() / max(n * (n - 1), 1))


_CORRELATIONS: dict[Measure, Callable[[FloatArray, FloatArray], float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "tau-a": tau_a,
    "pearson": pearson,
}


def measure_function(name: str) -> Callable[[FloatArray, FloatArray], float]:
    """Return the function of a measure."""
    if name not in _CORRELATIONS:
        raise ValueError(f"measure {name!r} is unknown; choose one of {', '.join(MEASURES)}")
    return _CORRELATIONS[name]


@dataclass(frozen=True)
class MantelTest(Result):
    """The correlation of two matrices, and its one-sided p-value: that of a correlation at least as high.

    Examples
    --------
    >>> print(MantelTest(0.8123, 0.0001, 12, 66, 9999, "spearman"))
    Spearman's correlation 0.812 over 66 pairs of 12 objects; Mantel test: p = 0.0001 (9,999 permutations)
    """

    correlation: float
    p_value: float
    n_objects: int
    n_pairs: int
    n_permutations: int
    measure: Measure

    def summary(self) -> str:
        """Return correlation and p-value as text."""
        return (
            f"{MEASURE_NAMES[self.measure]} {self.correlation:.3f} over {pluralize(self.n_pairs, 'pair')} of "
            f"{pluralize(self.n_objects, 'object')}; Mantel test: p = {p_text(self.p_value)} "
            f"({intcomma(self.n_permutations)} permutations)"
        )


def mantel(
    first: ArrayLike,
    second: ArrayLike,
    *,
    measure: Measure = "spearman",
    n_permutations: int = 9999,
    random_state: RandomState = None,
) -> MantelTest:
    """Test whether two matrices of distances are correlated, by permuting the objects of one (Mantel 1967).

    Parameters
    ----------
    first, second : array-like, shape (n, n)
        Symmetric, NaN where a distance is not known: such pairs are left out.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    n_permutations : int
    random_state : None, int, SeedSequence, Generator or RandomState
        For the permutations.

    Examples
    --------
    >>> line = np.arange(8.0)
    >>> apart = np.abs(line[:, None] - line)
    >>> found = mantel(apart, apart**2, random_state=0)
    >>> found.correlation, found.p_value < 0.01
    (1.0, True)
    """
    check_integer("n_permutations", n_permutations, 1)
    function = measure_function(measure)
    one, other = check_dissimilarities(first), check_dissimilarities(second)
    n = len(one)
    if len(other) != n:
        raise ValueError(f"the matrices are about {n} and {len(other)} objects; give both in the same order")
    if n < MIN_OBJECTS:
        raise ValueError(f"a Mantel test needs at least {MIN_OBJECTS} objects, got {n}")
    rows, columns = np.triu_indices(n, 1)
    known = ~np.isnan(one[rows, columns]) & ~np.isnan(other[rows, columns])
    if known.sum() < MIN_OBJECTS:
        raise ValueError(f"only {known.sum()} distances are known in both matrices; it takes {MIN_OBJECTS} or more")
    observed = function(one[rows, columns][known], other[rows, columns][known])
    rng = stream(random_state, "split")
    orders = (rng.permutation(n) for _ in range(n_permutations))
    at_least = 0
    with progress_bar("Mantel test", n_permutations) as bar:
        for found in _permuted_correlations(one, other, measure, orders):
            at_least += int((found >= observed - _ROUNDING_TOL).sum())
            bar.update(len(found))
    return MantelTest(
        observed, (1 + at_least) / (1 + n_permutations), n, int(known.sum()), int(n_permutations), measure
    )


def _permuted_correlations(
    one: FloatArray, other: FloatArray, measure: Measure, orders: Iterator[NDArray[np.intp]]
) -> Iterator[FloatArray]:
    """Return the correlations with the objects of the first matrix in other orders, some at a time."""
    rows, columns = np.triu_indices(len(one), 1)
    whole = not np.isnan(one).any() and not np.isnan(other).any()
    if whole and measure in ("spearman", "pearson"):
        # Ranks, mean and norm of all distances are the same in any order, which leaves one product.
        scores = [each[rows, columns] for each in (one, other)]
        scores = [unit_length(rankdata(each) if measure == "spearman" else each) for each in scores]
        square = np.zeros_like(one)
        square[rows, columns] = square[columns, rows] = scores[0]
        size = max(_BLOCK_SIZE // len(rows), 1)
        while block := [order for order, _ in zip(orders, range(size), strict=False)]:
            drawn = np.array(block)
            yield square[drawn[:, rows], drawn[:, columns]] @ scores[1]
        return
    function = measure_function(measure)
    for order in orders:
        moved, fixed = one[order[rows], order[columns]], other[rows, columns]
        both = ~np.isnan(moved) & ~np.isnan(fixed)
        yield np.array([function(moved[both], fixed[both])])


@dataclass(frozen=True, eq=False)
class MatrixNoise:
    """Distances of draws of a posterior, twice (k, n, n), which show how noisy a matrix of distances is."""

    first: FloatArray
    second: FloatArray

    def subset(self, objects: NDArray[np.intp]) -> MatrixNoise:
        """Return the matrices of some of the objects."""
        at = np.ix_(np.arange(len(self.first)), objects, objects)
        return MatrixNoise(self.first[at], self.second[at])

    def ceiling(
        self, matrix: FloatArray, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], measure: Measure
    ) -> MatrixCeiling:
        """Return the two ends for a matrix, over some pairs of objects."""
        rows, columns = pairs
        ones, others, correlation = self.first[:, rows, columns], self.second[:, rows, columns], _CORRELATIONS[measure]
        low = float(np.mean([correlation(one, other) for one, other in zip(ones, others, strict=True)]))
        high = float(np.mean([correlation(one, matrix[rows, columns]) for one in ones]))
        return MatrixCeiling(max(round(low, 12), 0.0), max(round(high, 12), round(low, 12), 0.0))


@dataclass(frozen=True)
class MatrixCeiling(Result):
    """Noise ceiling: what another map of as many other answers would reach, and what the true distances would."""

    low: float
    high: float


def full_posterior(model: OrdinalEmbedding, *, random_state: RandomState = None) -> PosteriorEmbedding:
    """Return a posterior of the comparisons of a map in all dimensions that they call for.

    `compare_matrices` and `matrix_noise` do this themselves; give both the result to fit once.

    Parameters
    ----------
    model : fitted estimator
        Returned as it is where it is a posterior whose draws have dimensions to spare. Its comparisons must be in
        memory.
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> answers = sample_triplets(make_gaussian(10, 3, random_state=0), 300, random_state=0)
    >>> full = full_posterior(STE(2, random_state=0).fit(answers), random_state=0)
    >>> full_posterior(full) is full, full.draws_.points.shape[2]
    (True, 9)
    """
    from nearer.embedding import PosteriorEmbedding
    from nearer.embedding.posterior_embedding import MAX_COMPONENTS

    chosen, comparisons = model._chosen, model.comparisons_
    if isinstance(chosen, PosteriorEmbedding):
        free = chosen.draws_.points.shape[2]
        if free > (chosen.dimension_ or 0) or free >= min(MAX_COMPONENTS, chosen.n_objects_ - 1):
            return chosen
    if not isinstance(comparisons, Comparisons):
        raise ValueError(
            "its comparisons are not in memory, which a posterior in all dimensions needs; fit a map to a part of them"
        )
    features = list(getattr(chosen, "features_", ())) or None
    full = PosteriorEmbedding(
        n_objects=model.n_objects_, budget=_BUDGET_SECONDS, features=features, random_state=random_state
    )
    return full.fit(comparisons)


def matrix_noise(model: OrdinalEmbedding, *, random_state: RandomState = None) -> MatrixNoise:
    """Return how noisy the distances of a fitted map are, for the ceiling of `compare_matrices`.

    Parameters
    ----------
    model : fitted estimator
        Where it has no draws in all dimensions, such a posterior is fitted (see `full_posterior`).
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> answers = sample_triplets(make_gaussian(10, 2, random_state=0), 300, random_state=0)
    >>> matrix_noise(STE(2, random_state=0).fit(answers), random_state=0).first.shape
    (100, 10, 10)
    """
    draws = full_posterior(model, random_state=random_state)._full_rank_draws(2 * _N_DRAWS, random_state)
    if draws is None or len(draws) < 2:
        raise ValueError("the posterior has a single draw, which does not show noise; fit it with more")
    half = len(draws) // 2
    apart = np.array([cdist(points, points) for points in draws[: 2 * half]])
    return MatrixNoise(apart[:half], apart[half:])


def people_matrices(model: OrdinalEmbedding, n_resamples: int = 50, *, random_state: RandomState = None) -> FloatArray:
    """Return the distances on maps of resampled people, (k, n, n): what other people might have answered.

    Each person gets a random weight (the Bayesian bootstrap, see `nearer.evaluation`), and a map is fitted again; in
    place of a posterior by CKL in as many dimensions as the posterior calls for, for speed.

    Parameters
    ----------
    model : fitted estimator
        Whose comparisons say who answered.
    n_resamples : int >= 10
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> from dataclasses import replace
    >>> answers = sample_triplets(make_gaussian(8, 2, random_state=0), 160, random_state=0)
    >>> answers = replace(answers, annotators=np.arange(160) % 10)
    >>> people_matrices(STE(2, random_state=0).fit(answers), 10, random_state=0).shape
    (10, 8, 8)
    """
    comparisons = model.comparisons_
    if count_annotators(comparisons) < 2:
        raise ValueError("people can be resampled only where the comparisons say who answered")
    rng = stream(random_state, "split")
    full = full_posterior(model, random_state=rng)
    method = CKL(full.dimension_ or 2, n_objects=full.n_objects_, random_state=int(rng.integers(2**31)))
    found = bootstrap(method, comparisons, n_resamples=n_resamples, by="annotators", n_simulations=0, random_state=rng)
    return np.array([cdist(points, points) for points in found.maps])
