"""The quick map that some checks need: a rough one, of a part of the answers where there are many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nearer.checking.case import Case
from nearer.data.comparisons import Comparisons
from nearer.embedding import STE
from nearer.solvers import Factored

# Measured on noisy answers of 20 to 200 objects in 1 to 5 dimensions: of STE, SOE and CKL with several traces this was
# the most even, near the best wherever there were answers enough to tell.
_TRACE = 0.03
_FELT = 1e-12  # of the largest weight


def quick_estimator(case: Case) -> STE:
    """Return an estimator that is fast and stands noise well; maps of STE fold so seldom that one start will do."""
    return STE(case.n_components, trace=_TRACE, solver=Factored(n_init=1), random_state=0)


def quick_part(case: Case, most: int = 50_000) -> Comparisons:
    """Return at most so many comparisons, those of whole answers drawn at random, with trials and annotators."""
    comparisons, answer_of = case.known, case.answers.answer_of
    if len(comparisons) <= most:
        return _weighty(comparisons)
    # The stream is the study's own: each check may see another part, and none depends on the order of the file.
    order = case.rng.permutation(len(case.answers))
    sizes = np.bincount(answer_of, minlength=len(case.answers))[order]
    chosen = np.zeros(len(case.answers), dtype=bool)
    chosen[order[np.cumsum(sizes) <= most]] = True
    return _weighty(comparisons[chosen[answer_of]])


def _weighty(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons that a map feels, with weights that can be squared."""
    if comparisons.weights is None or not comparisons.weights.any():
        return comparisons
    weights = comparisons.weights / comparisons.weights.max()
    return replace(comparisons, weights=weights)[weights > _FELT]
