"""Margins of a run's answers on its map."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.evaluation.metrics import margins
from nearer.problems.margins import error_from_margins
from nearer.study.study import Study

_BINS = 40


def scaled_margins(study: Study) -> FloatArray:
    """Return the margins of all answers on the map, in units of the mean squared distance between two objects, (m,)."""
    found = margins(study.answers.comparisons.over(study.model.objects_), study.model.embedding_)
    spread = 2 * study.model.embedding_.var(axis=0).sum()
    scaled: FloatArray = found / spread if spread > 0 else found
    return scaled


def margins_histogram(study: Study) -> dict[str, Any]:
    """Return how many margins of all answers lie where, those far out in the outermost bins, and the share of wrong."""
    gamma, weights = scaled_margins(study), study.answers.comparisons.sample_weight
    limit = float(np.quantile(np.abs(gamma), 0.995)) or 1.0
    # One value far out must not leave all others in one bin.
    counts, edges = np.histogram(gamma.clip(-limit, limit), bins=_BINS, range=(-limit, limit))
    return {"edges": edges, "counts": counts, "share_negative": error_from_margins(gamma, weights)}
