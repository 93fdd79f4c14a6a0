"""The fits of a bootstrap: to resampled answers, and to copies of the data; and maps laid onto each other."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.units import restricted, seen_objects, with_positive_weight
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.parametric import imitate
from nearer.geometry import rotation, same_size


@dataclass(frozen=True, eq=False)
class Work:
    """What all fits of one bootstrap share."""

    estimator: OrdinalEmbedding
    reference: FloatArray
    comparisons: Comparisons
    n_jobs: int | None
    bar: Any

    @property
    def seen(self) -> NDArray[np.bool_]:
        """The objects that comparisons of positive weight mention."""
        return seen_objects(with_positive_weight(self.comparisons))

    def fit(self, sets: Iterable[Comparisons]) -> list[FloatArray]:
        """Return the maps of sets of comparisons."""
        from joblib import Parallel, delayed

        maps = []
        for points in Parallel(self.n_jobs, return_as="generator")(delayed(_map)(self.estimator, s) for s in sets):
            maps.append(points)
            self.bar.update()
        return maps

    def resampled(self, units: NDArray[np.intp], n_resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return maps of answers with a random weight for each unit, aligned with the reference, (b, n, p)."""
        before = self.comparisons.sample_weight

        def drawn() -> Comparisons:
            weights = before * rng.exponential(size=units.max() + 1)[units]
            # A penalty may be in units of one comparison: their number stays.
            return replace(self.comparisons, weights=weights * (before.sum() / weights.sum()))

        seen = self.seen
        return np.array(
            [_aligned(points, self.reference, seen) for points in self.fit(drawn() for _ in range(n_resamples))]
        )

    def distances(self, spread: FloatArray, n_simulations: int, rng: np.random.Generator) -> FloatArray:
        """Return squared distances of true from fitted places in copies of the data, by this spread, (k * n seen,)."""
        kept, seen = restricted(with_positive_weight(self.comparisons))
        reference = self.reference[seen]
        work = replace(self, comparisons=kept, estimator=clone(self.estimator).set_params(n_objects=None))
        imitation = imitate(kept, reference, work.fit, rng)
        misses = imitation.misses(work.fit(imitation.answers(kept, rng) for _ in range(n_simulations)))
        onto = reference - reference.mean(axis=0)
        return squared_distances(misses @ rotation(imitation.points, onto)[0], spread[seen]).ravel()


def _map(estimator: OrdinalEmbedding, comparisons: Comparisons) -> FloatArray:
    with warnings.catch_warnings():
        # One fit of hundreds that stops early changes no ellipse; the fit to all answers has warned already.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted: FloatArray = clone(estimator).fit(comparisons).embedding_
    return fitted


def _aligned(points: FloatArray, onto: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return points with those ``seen`` laid onto others; the rest, of which nothing is known, lie as these others."""
    centre = onto[seen].mean(axis=0)
    turned, closeness = same_size(points[seen], onto[seen] - centre)
    result = onto.copy()
    result[seen] = closeness * turned + centre
    return result


def mean_squares(away: FloatArray) -> FloatArray:
    """Return the mean of the outer products of deviations, (b, n, p), with themselves: (n, p, p)."""
    squares: FloatArray = np.einsum("bip,biq->ipq", away, away) / len(away)
    return squares


def squared_distances(away: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances, (..., n), of deviations, (..., n, p)."""
    p = covariances.shape[-1]
    # An object that never moves, or moves along a line, must not divide by zero.
    least = 1e-9 * np.trace(covariances, axis1=1, axis2=2).mean() or 1.0
    inverses = np.linalg.inv(covariances + least * np.eye(p))
    distances: FloatArray = np.einsum("...ip,ipq,...iq->...i", away, inverses, away)
    return distances
