"""Margins of a run's answers on its map."""

from __future__ import annotations

from nearer.margins import FloatArray
from nearer.metrics import margins
from nearer.runs.study import Study


def scaled_margins(study: Study) -> FloatArray:
    """Return the margins of all answers on the map, in units of the mean squared distance between two objects, (m,)."""
    found = margins(study.answers.comparisons.over(study.model.objects_), study.model.embedding_)
    spread = 2 * study.model.embedding_.var(axis=0).sum()
    scaled: FloatArray = found / spread if spread > 0 else found
    return scaled
