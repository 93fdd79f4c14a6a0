r"""What stands behind a map in all dimensions, and how well any model could explain it: the noise ceiling.

**All dimensions.** A map shows two or three dimensions of what people see. Its distances leave out the rest, so that of
two models which are equally good the one is favored that is about the dimensions shown: with 20 objects in three and
five dimensions, 2-D maps and models of one true axis each, one of two equal models was called better in 17% and 19% of
simulations. Models are therefore compared with the distances of a posterior that has all dimensions the answers call
for (`full_posterior`), whatever a map shows.

**Ceiling.** These distances are the true ones and errors, so that even the true distances would not correlate with them
at 1. The ceiling has two ends (after Nili et al. 2014, who take them from the matrices of single people; here one
person's answers are far too few for a matrix):

    upper = what the true distances reach,          lower = what another map, of as many other answers, would reach.

A model between them does as well as can be told from these answers, and one below leaves something unexplained. Given
the answers, the truth is as likely to be one draw of the posterior as any other. With D_k the distances of draw k and D
the matrix that is compared, the upper end is the mean correlation of D_k and D over draws, and the lower one that of
D_k and D_l, two draws. This takes people as alike but for their noise, as the posterior does. How near the upper end is
to what the true distances reach is on the page on validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nearer._common.arrays import FloatArray
from nearer._common.randomness import RandomState
from nearer.comparing.matrices.measures import FUNCTIONS, Measure
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding

if TYPE_CHECKING:
    from nearer.embedding import PosteriorEmbedding

FEWEST_PEOPLE = 8  # whose resamples say something about people
_N_DRAWS = 100
_BUDGET_SECONDS = 120.0


@dataclass(frozen=True, eq=False)
class MatrixNoise:
    """Matrices from which it is seen how noisy a matrix of distances is.

    Attributes
    ----------
    first, second : ndarray, shape (k, n, n)
        The distances of draws of a posterior, two of each.

    Examples
    --------
    >>> apart = np.abs(np.arange(5.0)[:, None] - np.arange(5.0))[None]
    >>> MatrixNoise(apart, apart).ceiling(apart[0], np.triu_indices(5, 1), "pearson")
    NoiseCeilingOfMatrix(low=1.0, high=1.0)
    """

    first: FloatArray
    second: FloatArray

    def over(self, objects: NDArray[np.intp]) -> MatrixNoise:
        """Return the same for some of the objects."""
        at = np.ix_(np.arange(len(self.first)), objects, objects)
        return MatrixNoise(self.first[at], self.second[at])

    def ceiling(
        self, matrix: FloatArray, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], measure: Measure
    ) -> NoiseCeilingOfMatrix:
        """Return the two ends for a matrix, over some pairs of objects."""
        rows, columns = pairs
        ones, others, correlation = self.first[:, rows, columns], self.second[:, rows, columns], FUNCTIONS[measure]
        low = float(np.mean([correlation(one, other) for one, other in zip(ones, others, strict=True)]))
        high = float(np.mean([correlation(one, matrix[rows, columns]) for one in ones]))
        return NoiseCeilingOfMatrix(max(round(low, 12), 0.0), max(round(high, 12), round(low, 12), 0.0))


@dataclass(frozen=True)
class NoiseCeilingOfMatrix:
    """What another map of as many other answers would reach, and what the true distances would.

    Examples
    --------
    >>> NoiseCeilingOfMatrix(0.81, 0.9).high
    0.9
    """

    low: float
    high: float


def full_posterior(model: OrdinalEmbedding, *, random_state: RandomState = None) -> PosteriorEmbedding:
    """Return a posterior of the comparisons of a map in all dimensions that they call for.

    `compare_matrices` and `matrix_noise` do this themselves; give both the result to fit once.

    Parameters
    ----------
    model : fitted estimator
        Returned as it is where it is a posterior whose draws have dimensions to spare.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    PosteriorEmbedding

    Raises
    ------
    ValueError
        Where the comparisons are not in memory.

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
    from nearer.embedding.posterior_embedding import MOST_COMPONENTS

    chosen, comparisons = model.chosen_, model.comparisons_
    if isinstance(chosen, PosteriorEmbedding):
        free = chosen.draws_.points.shape[2]
        if free > chosen.dimension_ or free >= min(MOST_COMPONENTS, chosen.n_objects_ - 1):
            return chosen
    if not isinstance(comparisons, Comparisons):
        raise ValueError(
            "its comparisons are not in memory, which a posterior in all dimensions takes; fit a map to a part of them"
        )
    full = PosteriorEmbedding(n_objects=model.n_objects_, budget=_BUDGET_SECONDS, random_state=random_state)
    return full.fit(comparisons)


def matrix_noise(model: OrdinalEmbedding, *, random_state: RandomState = None) -> MatrixNoise:
    """Return what tells how noisy the distances of a fitted map are, for the ceiling of `compare_matrices`.

    Parameters
    ----------
    model : fitted estimator
        Where it has no draws in all dimensions, such a posterior is fitted (see `full_posterior`).
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    MatrixNoise

    Raises
    ------
    ValueError
        Where the comparisons are not in memory, or the posterior has a single draw.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> answers = sample_triplets(make_gaussian(10, 2, random_state=0), 300, random_state=0)
    >>> matrix_noise(STE(2, random_state=0).fit(answers), random_state=0).first.shape
    (100, 10, 10)
    """
    draws = full_posterior(model, random_state=random_state).wide_draws(2 * _N_DRAWS, random_state)
    if draws is None or len(draws) < 2:
        raise ValueError("the posterior has a single draw, which says nothing about noise; fit it with more")
    half = len(draws) // 2
    apart = np.array([cdist(points, points) for points in draws[: 2 * half]])
    return MatrixNoise(apart[:half], apart[half:])


def people_of(comparisons: Judgments) -> int:
    """Return how many people answered; 0 where that is not known."""
    people = comparisons.annotators if isinstance(comparisons, Comparisons) else None
    return 0 if people is None else len(factorize(people)[0])
