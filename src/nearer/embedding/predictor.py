"""The Gram matrix that predicts, what of its diagonal lies beyond the map, and probabilities from margins.

The chance that a comparison holds is lapse / 2 + (1 - lapse) sigmoid(slope * margin / spread), where the spread is the
mean squared distance between the objects of the map. Slope and lapse rate are the most likely ones on comparisons that
the maps were not fitted to, if lapses of about 2 percent are usual.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.model.answers import answer_probability
from nearer.optimize.problems.covariance import Covariance
from nearer.optimize.problems.gram import Gram
from nearer.optimize.problems.margins import MarginMap, clear_ties, with_specificities

_LAPSE_LOGIT_MEAN, _LAPSE_LOGIT_SD = -4.0, 1.5  # on the scale of log-odds: 2 percent, give or take a factor of four
_LOG_SLOPE_SD = 1.0  # of the logarithm, around log-odds as they are


class Predictor(NamedTuple):
    """A Gram matrix, (n, n), and the part of its diagonal that specificities make up, (n,), each at least 0."""

    gram: FloatArray
    specificities: FloatArray

    @classmethod
    def from_solution(cls, gram: FloatArray, specificities: FloatArray | None = None, diagonal: float = 1.0) -> Self:
        """Return the predictor for a solution whose diagonal counts ``diagonal`` times: w (g_ii + s_i)."""
        # A constant on the diagonal changes no margin; this one takes nothing away from the diagonal of G, and keeps
        # the matrix in the cone.
        beyond = diagonal * np.diagonal(with_specificities(gram, specificities)) - np.diagonal(gram)
        beyond = beyond - beyond.min()
        return cls(with_specificities(gram, beyond), beyond)

    @classmethod
    def over_all_objects(
        cls,
        found: Gram,
        seen: NDArray[np.intp],
        n_objects: int,
        diagonal: float,
        covariance: Covariance | None = None,
    ) -> Self:
        """Return the predictor for a solution over the objects that are seen, a representer if features are known."""
        everywhere = found.expand(seen, n_objects, covariance)
        return cls.from_solution(everywhere.matrix, everywhere.specificities, diagonal)

    def margins(self, comparisons: Comparisons) -> FloatArray:
        """Return the margins of comparisons as answered, (m,)."""
        return clear_ties(*MarginMap.from_quadruplets(comparisons.oriented, len(self.gram)).distances(self.gram))

    def size(self, comparisons: Comparisons) -> float:
        """Return how large the margins are on average."""
        return float(np.average(np.abs(self.margins(comparisons)), weights=comparisons.sample_weight))

    def spread(self, objects: NDArray[np.integer]) -> float:
        """Return the mean squared distance between these objects."""
        return mean_squared_distance(self.gram[np.ix_(objects, objects)])

    def scaled(self, factor: float) -> Predictor:
        """Return the predictor with all entries multiplied by a factor."""
        return Predictor(factor * self.gram, factor * self.specificities)

    def plus(self, other: Predictor) -> Predictor:
        """Return the sum with another."""
        return Predictor(self.gram + other.gram, self.specificities + other.specificities)


class Calibration(NamedTuple):
    """Slope and lapse rate."""

    slope: float
    lapse: float

    @classmethod
    def from_margins(cls, margins: FloatArray, weights: FloatArray, *, log_odds: bool = False) -> Calibration:
        """Return the calibration of held-out margins, in units of the spread, of comparisons that read as answered."""
        slope_sd = _LOG_SLOPE_SD if log_odds else np.inf

        def cost(unknowns: FloatArray) -> float:
            log_slope, lapse = unknowns
            chances = cls(float(np.exp(log_slope)), float(expit(lapse))).probability(margins)
            unusual = ((lapse - _LAPSE_LOGIT_MEAN) / _LAPSE_LOGIT_SD) ** 2 + (log_slope / slope_sd) ** 2
            return float(-weights @ np.log(chances) + unusual / 2)

        size = float(np.average(np.abs(margins), weights=weights))
        bounds = [(-7.0, 9.0), (-12.0, 3.0)]
        start = np.array([np.clip(-np.log(size), -6, 8) if size > 0 else 0.0, _LAPSE_LOGIT_MEAN])
        found = minimize(cost, start, method="L-BFGS-B", bounds=bounds).x
        return cls(float(np.exp(found[0])), float(expit(found[1])))

    def probability(self, margins: FloatArray) -> FloatArray:
        """Return the chance that comparisons with these margins, in units of the spread, hold."""
        return answer_probability(self.slope * margins, self.lapse)


def check_calibration(calibration: object) -> None:
    """Refuse what is neither None nor a calibration with a slope and a lapse rate that make sense."""
    if calibration is not None and not (
        isinstance(calibration, Calibration) and 0 < calibration.slope < np.inf and 0 <= calibration.lapse <= 1
    ):
        raise ValueError(f"_calibration is no slope and lapse rate: {calibration!r}")


def mean_squared_distance(gram: FloatArray) -> float:
    """Return the mean squared distance between objects of a Gram matrix."""
    return _spread(len(gram), float(np.trace(gram)), float(gram.sum()))


def mean_squared_distance_of_points(points: FloatArray) -> float:
    """Return the mean squared distance between points, (n, p)."""
    total = points.sum(axis=0)
    return _spread(len(points), float(np.vdot(points, points)), float(total @ total))


def _spread(n: int, trace: float, total: float) -> float:
    return 2 * (n * trace - total) / (n * (n - 1)) if n > 1 else 0.0
