"""The Gram matrix that predicts, and what of its diagonal lies beyond the map."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.embedding.probability import spread_of
from nearer.problems.distances import clear_ties
from nearer.problems.gram import with_specificities
from nearer.problems.margins import MarginMap


class Predictor(NamedTuple):
    """A Gram matrix, (n, n), and the part of its diagonal that specificities make up, (n,), each at least 0.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> Predictor.of(line @ line.T).margins(Comparisons.from_triplets([[0, 1, 2]]))
    array([8.])
    """

    gram: FloatArray
    specificities: FloatArray

    @classmethod
    def of(cls, gram: FloatArray, specificities: FloatArray | None = None, diagonal: float = 1.0) -> Self:
        """Return the predictor for a solution whose diagonal counts ``diagonal`` times: w (g_ii + s_i).

        A constant on the diagonal changes no margin; it is set such that nothing is taken away from that of G, and the
        matrix stays in the cone.
        """
        beyond = diagonal * np.diagonal(with_specificities(gram, specificities)) - np.diagonal(gram)
        beyond = beyond - beyond.min()
        return cls(with_specificities(gram, beyond), beyond)

    def margins(self, comparisons: Comparisons) -> FloatArray:
        """Return the margins of comparisons as answered, (m,)."""
        return clear_ties(*MarginMap.from_quadruplets(comparisons.oriented, len(self.gram)).distances(self.gram))

    def size(self, comparisons: Comparisons) -> float:
        """Return how large the margins are on average."""
        return float(np.average(np.abs(self.margins(comparisons)), weights=comparisons.sample_weight))

    def spread(self, objects: NDArray[np.integer]) -> float:
        """Return the mean squared distance between these objects."""
        return spread_of(self.gram[np.ix_(objects, objects)])

    def scaled(self, factor: float) -> Predictor:
        """Return the predictor with all entries multiplied by a factor."""
        return Predictor(factor * self.gram, factor * self.specificities)

    def plus(self, other: Predictor) -> Predictor:
        """Return the sum with another."""
        return Predictor(self.gram + other.gram, self.specificities + other.specificities)
