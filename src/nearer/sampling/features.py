r"""Features as a prior: objects that are alike in what is known of them are expected near each other.

The coordinates of an axis are Gaussian with covariance

.. math:: K = \Big(1 - \sum_f \rho_f\Big) I + \sum_f \rho_f K_f,

with a kernel :math:`K_f` for each feature set and learned shares :math:`\rho_f`: shares near 0 ignore the features, and
answers that contradict them outweigh them in any case. :math:`K_f` is half the linear and half the Gaussian kernel (of
the length of the median distance) between rows of features, centered, with a mean of 1 on its diagonal. Of its
eigenvalues :math:`\lambda_k` the leading ones are kept, and raised to a learned power: with a power above 1 the large
directions count for more, which suits features with much noise in the small ones.

Unknowns are independent normal, as without features: own deviations of the objects, and weights of the directions,

.. math:: z = \sqrt{1 - \textstyle\sum_f \rho_f}\; \varepsilon
          + \sum_f \sqrt{\rho_f}\, U_f \lambda_f^{\kappa_f / 2} \eta_f.

So a new object needs its row of features alone, and what is drawn of the directions says where it is likely to lie.
What the directions leave of its variance under the kernel is variance of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist, squareform

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize
from nearer.data.features import Features
from nearer.data.labels import Labels
from nearer.optimize.problems.covariance import Covariance

MAX_DIRECTIONS = 64  # of a feature set
_MIN_EIGENVALUE = 1e-6
_MAX_EXACT_LENGTH_OBJECTS = 2000  # of more, the median distance is that of some


class FeaturePrior(NamedTuple):
    """Centers and scales of the logits of shares, and of the logarithms of powers."""

    share: tuple[float, float] = (-1.0, 2.5)
    power: tuple[float, float] = (0.4, 0.5)


class FeatureBasis(NamedTuple):
    """The directions of all feature sets: what the compiled loops take.

    Attributes
    ----------
    directions : ndarray, shape (n, r)
        Eigenvectors; rows of objects without features are 0.
    log_values : ndarray, shape (r,)
        Logarithms of the eigenvalues.
    owners : ndarray of int, shape (r,)
        The feature set of each direction.
    described : ndarray, shape (n, sets)
        1 for objects with features, 0 for others; for new ones, 1 less the part of their variance under the kernel that
        is none of the directions'.
    centers, scales : ndarray, shape (2 sets,)
        Of the prior of the logits of all shares, then of the logarithms of all powers.
    """

    directions: FloatArray
    log_values: FloatArray
    owners: NDArray[np.int32]
    described: FloatArray
    centers: FloatArray
    scales: FloatArray

    @property
    def n_sets(self) -> int:
        """The number of feature sets."""
        return self.described.shape[1]

    @property
    def has_features(self) -> NDArray[np.bool_]:
        """Which objects are described by some set, (n,)."""
        return np.asarray(self.described.any(axis=1))

    def covariance(self, shares: Sequence[float], power: float) -> Covariance:
        """Return the covariance K of all objects at given shares of the sets, and one power of all directions."""
        own, values = np.ones(len(self.described)), np.exp(power * self.log_values)
        for number, share in enumerate(shares):
            members = self.owners == number
            values[members] *= share * np.exp(self.log_values[members]).sum() / values[members].sum()
            own -= share * self.described[:, number]
        return Covariance(own, self.directions * np.sqrt(values))

    def subset(self, rows: NDArray[np.integer]) -> FeatureBasis:
        """Return the basis over some of the objects."""
        return self._replace(
            directions=np.ascontiguousarray(self.directions[rows]),
            described=np.ascontiguousarray(self.described[rows]),
        )


def no_features(n_objects: int) -> FeatureBasis:
    """Return the basis of objects of which nothing is known."""
    none = np.empty(0)
    return FeatureBasis(np.empty((n_objects, 0)), none, np.empty(0, np.int32), np.empty((n_objects, 0)), none, none)


@dataclass(frozen=True, eq=False)
class FeatureKernel:
    """The kernel between the objects of a feature set, with its leading directions."""

    name: str
    objects: Labels  # (n,): of the rows
    center: FloatArray  # (f,)
    spread: FloatArray  # (f,): by which columns are divided
    rows: FloatArray  # (n, f): scaled
    length: float
    scales: tuple[float, float]  # of the linear and the Gaussian part
    means: FloatArray  # (n,): of the columns of the Gaussian part, before it was centered
    directions: FloatArray  # (n, r)
    values: FloatArray  # (r,)

    @classmethod
    def of(cls, features: Features, objects: Labels) -> FeatureKernel:
        """Return the kernel of features of objects that are named as in a list of all."""
        labels = features.labels_for(objects)
        if len(labels) < 3:
            raise ValueError(f"{features.name} describes {pluralize(len(labels), 'object')}; it takes at least three")
        center, spread = features.scaling()
        rows = (features.values - center) / spread
        n = len(rows)
        some = rows if n <= _MAX_EXACT_LENGTH_OBJECTS else rows[:: -(-n // _MAX_EXACT_LENGTH_OBJECTS)]
        distances = pdist(some)
        if not distances.any():
            raise ValueError(f"{features.name} is the same for all objects, and says nothing about them")
        length = float(np.median(distances)) or float(distances.max())
        linear, gaussian = rows @ rows.T, np.exp(-0.5 * squareform(pdist(rows, "sqeuclidean")) / length**2)
        means = gaussian.mean(axis=0)
        gaussian += means.mean() - means - means[:, None]
        scales = n / (2 * float(np.trace(linear))), n / (2 * float(np.trace(gaussian)))
        kernel = scales[0] * linear + scales[1] * gaussian
        values, directions = eigh(kernel, subset_by_index=[n - min(MAX_DIRECTIONS, n - 1), n - 1])
        kept = np.flatnonzero(values > _MIN_EIGENVALUE)[::-1]
        directions, values = np.ascontiguousarray(directions[:, kept]), values[kept]
        return cls(features.name, labels, center, spread, rows, length, scales, means, directions, values)

    def extend(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directions of new rows, (k, r), centered as the old ones are (Nystroem's method), and variances.

        The variance of a row, (k,), is its kernel with itself.
        """
        if features.shape[1] != len(self.center):
            raise ValueError(
                f"{self.name} has {pluralize(features.shape[1], 'column')} for the new objects, and "
                f"{len(self.center)} for those of the map"
            )
        rows = (features - self.center) / self.spread
        gaussian = np.exp(-0.5 * cdist(rows, self.rows, "sqeuclidean") / self.length**2)
        means = gaussian.mean(axis=1)
        gaussian += self.means.mean() - self.means - means[:, None]
        kernel = self.scales[0] * rows @ self.rows.T + self.scales[1] * gaussian
        own = 1 + self.means.mean() - 2 * means
        return kernel @ self.directions / self.values, self.scales[0] * (rows**2).sum(axis=1) + self.scales[1] * own


def feature_basis(
    kernels: Sequence[FeatureKernel], objects: Labels, prior: FeaturePrior | None = None
) -> FeatureBasis | None:
    """Return the directions of feature sets over a list of all objects; None without any."""
    if not kernels:
        return None
    prior, position = prior or FeaturePrior(), {label: at for at, label in enumerate(objects.tolist())}
    directions, described = [], np.zeros((len(objects), len(kernels)))
    for number, kernel in enumerate(kernels):
        places = [position[label] for label in kernel.objects.tolist()]
        of_all = np.zeros((len(objects), len(kernel.values)))
        of_all[places] = kernel.directions
        directions.append(of_all)
        described[places, number] = 1
    log_values = [np.log(each.values * len(each.rows) / each.values.sum()) for each in kernels]
    owners = np.repeat(np.arange(len(kernels), dtype=np.int32), [len(each.values) for each in kernels])
    centers, scales = np.transpose([prior.share] * len(kernels) + [prior.power] * len(kernels))
    return FeatureBasis(
        np.hstack(directions), np.concatenate(log_values), owners, described, centers.copy(), scales.copy()
    )


def extend_basis(
    basis: FeatureBasis, kernels: Sequence[FeatureKernel], new: Labels, features: Sequence[Features]
) -> FeatureBasis:
    """Return the basis with new objects as further rows, by their features where they have some."""
    directions, described = np.zeros((len(new), len(basis.log_values))), np.zeros((len(new), len(kernels)))
    by_name = {each.name: each for each in features}
    for number, kernel in enumerate(kernels):
        given = by_name.get(kernel.name, features[0] if len(features) == len(kernels) == 1 else None)
        if given is None:
            continue
        rows = given.of(new)
        known = ~np.isnan(rows).any(axis=1)
        members = basis.owners == number
        extended, variances = kernel.extend(rows[known])
        directions[np.ix_(known, members)] = extended
        # Without their own part, new objects would lie where others suggest, nearer to the center than these.
        described[known, number] = 1 - np.maximum(variances - extended**2 @ np.exp(basis.log_values[members]), 0)
    return basis._replace(
        directions=np.vstack([basis.directions, directions]), described=np.vstack([basis.described, described])
    )


class FeatureShare(NamedTuple):
    """The share of features in the variance of the coordinates: mean over the posterior, and its interval of 95%.

    Where cross-validation chose the share, the interval is NaN.
    """

    mean: float
    low: float = np.nan
    high: float = np.nan
