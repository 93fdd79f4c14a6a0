r"""How well any model could do: the noise ceiling of a matrix of distances.

The distances of a map are the true ones and errors, so that even the true distances would not correlate with them at 1.
The ceiling has two ends (after Nili et al. 2014, who take them from the matrices of single people; here one person's
answers are far too few for a matrix):

    upper = what the true distances reach,          lower = what another map, of as many other answers, would reach.

A model between them does as well as can be told from these answers, and one below leaves something unexplained.

**Of a posterior.** Given the answers, the true map is as likely to be one draw of the posterior as any other. With D_k
the distances of draw k and D the matrix that is compared, the upper end is the mean correlation of D_k and D over
draws, and the lower one that of D_k and D_l, two draws. Nothing is fitted again. This takes people as alike but for
their noise, as the posterior does.

**Of one map.** The answers are dealt out into halves, of whole people where they are known, and each half gets a map of
its own. With r the mean correlation of the distances of two halves,

    R = 2 r / (1 + r)   (Spearman 1910, Brown 1910),        lower = R,        upper = sqrt(R)

(see `nearer.reproducibility`). In the terms of the first way: if D_k = D + errors, then two draws correlate at R and a
draw with D at sqrt(R), so that both have the same two ends. The formulas hold for correlations of values or ranks;
Kendall's tau becomes such a one by sin(pi tau / 2) first, and a tau again by its inverse (Greiner 1909).

**How true that is.** The matrix of a posterior, over 18 simulated studies (20 objects in 2 and 5 dimensions, 80 to 1200
triplets, one in ten wrong): mean upper end 0.76, mean Spearman correlation with the true distances 0.77. Maps of STE
and halves (15 objects in 2 dimensions, 10 studies each): with 200 triplets mean ends 0.66 and 0.81, correlation with
the truth 0.83; with 500 triplets 0.86 and 0.93, and 0.92. In single studies both differ by 0.08 and by
0.04 (one standard deviation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nearer.common.arrays import FloatArray
from nearer.common.randomness import RandomState, stream
from nearer.comparing.matrices.measures import FUNCTIONS, Measure
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.streamed import Judgments
from nearer.data.units import By
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.held_out import read_judged
from nearer.evaluation.reproducibility import maps_of_halves, stepped_up

FEWEST_PEOPLE = 8  # of whom halves, or resamples, say something about people
_N_DRAWS = 100
_N_SPLITS = 5


@dataclass(frozen=True, eq=False)
class MatrixNoise:
    """Matrices from which it is seen how noisy a matrix of distances is.

    Attributes
    ----------
    kind : {"draws", "halves"}
        Draws of a posterior, or maps of halves of the answers.
    first, second : ndarray, shape (k, n, n)
        Two draws, or the distances on the maps of both halves; NaN where a half does not compare an object.
    by : str, optional
        What the halves keep whole.

    Examples
    --------
    >>> apart = np.abs(np.arange(5.0)[:, None] - np.arange(5.0))[None]
    >>> MatrixNoise("halves", apart, apart, "trials").ceiling(apart[0], np.triu_indices(5, 1), "pearson")
    NoiseCeilingOfMatrix(low=1.0, high=1.0)
    """

    kind: Literal["draws", "halves"]
    first: FloatArray
    second: FloatArray
    by: By | None = None

    def over(self, objects: NDArray[np.intp]) -> MatrixNoise:
        """Return the same for some of the objects."""
        at = np.ix_(np.arange(len(self.first)), objects, objects)
        return replace(self, first=self.first[at], second=self.second[at])

    def ceiling(
        self, matrix: FloatArray, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], measure: Measure
    ) -> NoiseCeilingOfMatrix:
        """Return the two ends for a matrix, over some pairs of objects."""
        rows, columns = pairs
        ones, others = self.first[:, rows, columns], self.second[:, rows, columns]
        apart = float(np.mean([_known(one, other, measure) for one, other in zip(ones, others, strict=True)]))
        if self.kind == "draws":
            with_matrix = float(np.mean([_known(one, matrix[rows, columns], measure) for one in ones]))
            return NoiseCeilingOfMatrix(max(apart, 0.0), max(with_matrix, apart, 0.0))
        is_tau = measure in ("kendall", "tau-a")
        reliability = stepped_up(np.sin(np.pi / 2 * apart) if is_tau else apart)
        ends = np.array([reliability, np.sqrt(reliability)])
        low, high = 2 / np.pi * np.arcsin(ends) if is_tau else ends
        return NoiseCeilingOfMatrix(round(float(low), 12), round(float(high), 12))


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


def _known(one: FloatArray, other: FloatArray, measure: Measure) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    return FUNCTIONS[measure](one[both], other[both]) if both.sum() > 1 else 0.0


def matrix_noise(model: OrdinalEmbedding, *, random_state: RandomState = None) -> MatrixNoise:
    """Return what tells how noisy the distances of a fitted map are, for the ceiling of `compare_matrices`.

    Parameters
    ----------
    model : fitted estimator
        A posterior has its draws; any other method is fitted to five times two halves of its comparisons.
    random_state : None, int, SeedSequence, Generator or RandomState
        For draws or splits.

    Returns
    -------
    MatrixNoise

    Raises
    ------
    ValueError
        Where the answers are too few for halves.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> answers = sample_triplets(make_gaussian(10, 2, random_state=0), 300, random_state=0)
    >>> found = matrix_noise(STE(2, random_state=0).fit(answers), random_state=0)
    >>> found.kind, found.first.shape, found.by
    ('halves', (5, 10, 10), 'trials')
    """
    draws = model.chosen_.wide_draws(2 * _N_DRAWS, random_state)
    if draws is not None and len(draws) > 1:
        half = len(draws) // 2
        apart = np.array([cdist(points, points) for points in draws[: 2 * half]])
        return MatrixNoise("draws", apart[:half], apart[half:])
    judged, rng = read_judged(model.comparisons_), stream(random_state, "split")
    by: By = "annotators" if people_of(judged) >= FEWEST_PEOPLE else "trials"
    method = model.chosen_.with_chosen_settings()
    found = maps_of_halves(method, judged, n_splits=_N_SPLITS, by=by, n_jobs=None, rng=rng)
    ones: list[FloatArray] = []
    others: list[FloatArray] = []
    for first, second, both in found:
        unknown = ~(both[:, None] & both)
        for points, matrices in ((first, ones), (second, others)):
            matrices.append(np.where(unknown, np.nan, cdist(points, points)))
    return MatrixNoise("halves", np.array(ones), np.array(others), by)


def people_of(comparisons: Judgments) -> int:
    """Return how many people answered; 0 where that is not known."""
    people = comparisons.annotators if isinstance(comparisons, Comparisons) else None
    return 0 if people is None else len(factorize(people)[0])
