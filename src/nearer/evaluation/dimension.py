"""Choice of the number of dimensions by held-out error and reproducible distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Result
from nearer.data.comparisons import Comparisons
from nearer.data.groups import GUESSING_LEVEL, Grouping, group_indices, guessing_p_value
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.curves import CHANCE, checked_counts
from nearer.evaluation.distances import DISTANCES_GOOD, split_half
from nearer.evaluation.held_out import WholeKFold, cross_validate, number_folds, read_weighted
from nearer.evaluation.intervals import clustered_variance

NO_DIMENSION = "no dimension can be determined, as answers are predicted no better than by guessing"
_RELIABILITY_TOL = 0.05  # of reliability
_Z_95 = 1.64


@dataclass(frozen=True, eq=False)
class DimensionChoice(Result):
    """Held-out error of maps of different dimension, and the dimension that was chosen.

    Attributes
    ----------
    candidates : ndarray of int, shape (k,)
    errors, standard_errors : ndarray, shape (k,)
        Cross-validated error of the map in each dimension.
    chosen : int or None
        None where no dimension can be determined: held-out answers are predicted no better than by guessing, or the
        answers may be guesses.
    reliabilities : ndarray, shape (k,), or None
        Split-half reliability of distances in each dimension; None where the answers are too few to be halved.

    Examples
    --------
    >>> found = DimensionChoice(np.array([1, 2, 3]), np.array([0.3, 0.201, 0.2]), np.array([0.01, 0.008, 0.008]), 2)
    >>> print(found)
    dimension   error
            1   0.300 +- 0.010
            2   0.201 +- 0.008   chosen
            3   0.200 +- 0.008
    """

    candidates: NDArray[np.int64]
    errors: FloatArray
    standard_errors: FloatArray
    chosen: int | None
    reliabilities: FloatArray | None = None

    @property
    def shown(self) -> int:
        """The dimension to draw a map in: the chosen one, or the candidate next to two where there is none."""
        return self.chosen or int(self.candidates[np.abs(self.candidates - 2).argmin()])

    def summary(self) -> str:
        """Return a table of dimensions as text."""
        known = self.reliabilities is not None
        lines = ["dimension   error" + "             reliability of distances" * known]
        for row, candidate in enumerate(self.candidates):
            chosen = "   chosen" if candidate == self.chosen else ""
            reliability = f"   {self.reliabilities[row]:.2f}" if self.reliabilities is not None else ""
            error = f"{decimals(self.errors[row])} +- {decimals(self.standard_errors[row])}"
            lines.append(f"{candidate:>9}   {error}{reliability}{chosen}")
        if self.chosen is None:
            lines.append(f"{NO_DIMENSION}; a map of {self.shown} is for show")
        return "\n".join(lines)


def choose_dimension(
    estimator: OrdinalEmbedding,
    comparisons: Any,
    candidates: Sequence[int] = (1, 2, 3, 4, 5, 6),
    *,
    n_splits: int = 5,
    by: Grouping = "trials",
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> DimensionChoice:
    """Choose the number of dimensions by held-out error, among those whose distances are reproducible.

    A dimension counts if the split-half reliability of its distances (see `split_half`) is at least 0.9, or within
    0.05 of the best. Among these the smallest is chosen whose error is at most one standard error above the smallest
    error (Breiman, Friedman, Olshen and Stone 1984). It is the error of the p-dimensional map, `embedding_`;
    predictions of `DMOE` may use more dimensions. None is chosen where that error is not below one half by 1.64
    standard errors, or an exact test at 5% does not reject that all answers are guesses (`nearer.data.groups`).

    Parameters
    ----------
    estimator : estimator of `nearer.embedding`
        Copies of it, with ``n_components`` set, are fitted.
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
    candidates : sequence of int >= 1
        Those of n or more are left out: n objects have no more than n - 1 dimensions.
    n_splits, by, n_jobs, random_state
        As for `held_out_error`.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(15, 2, random_state=0), 900, flipped=0.1, random_state=0)
    >>> choose_dimension(STE(random_state=0), judgments, (1, 2, 3), random_state=0).chosen
    2
    """
    judged = read_weighted(comparisons)
    tried, n = checked_counts("candidates", candidates), judged.n_objects
    tried = tried[tried < n]
    if tried.size == 0:
        raise ValueError(f"{n} objects have at most {n - 1} dimensions; all candidates are above that")
    units = group_indices(judged, by)
    folds = list(WholeKFold(n_splits, by=by, random_state=random_state).split(judged))
    models = [clone(estimator).set_params(n_components=p) for p in tried.tolist()]
    wrong = [each.map for each in cross_validate(models, judged, folds, n_jobs, "dimensions")]
    weights = judged.sample_weight
    errors = np.array([np.average(each, weights=weights) for each in wrong])
    # The larger of the variance between units and that between folds, which hold them.
    clusters = units, number_folds(folds, len(judged))
    deviations = np.sqrt([max(clustered_variance(each, weights, of) for of in clusters) for each in wrong])
    reliabilities = _reliabilities(models, judged, by, n_jobs, random_state)
    counts = np.ones(len(tried), dtype=bool)
    if reliabilities is not None:
        counts = reliabilities >= min(DISTANCES_GOOD, reliabilities.max() - _RELIABILITY_TOL)
    best = np.flatnonzero(counts)[errors[counts].argmin()]
    within = counts & (errors <= errors[best] + deviations[best])
    guesses = guessing_p_value(judged, stream(random_state, "start")) > GUESSING_LEVEL
    guesses = guesses or bool(errors[best] + _Z_95 * deviations[best] >= CHANCE)
    return DimensionChoice(tried, errors, deviations, None if guesses else int(tried[within.argmax()]), reliabilities)


def _reliabilities(
    models: Sequence[OrdinalEmbedding], judged: Comparisons, by: Grouping, n_jobs: int | None, random_state: RandomState
) -> FloatArray | None:
    """Return the split-half reliability of distances of each model, or None where halves are too small."""
    seed = int(stream(random_state, "split").integers(2**31))
    try:
        found = [split_half(model, judged, n_splits=2, by=by, n_jobs=n_jobs, random_state=seed) for model in models]
    except ValueError:
        return None
    return np.array([each.reliability for each in found])
