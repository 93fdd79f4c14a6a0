"""A study: a map of answers, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._common.arrays import FloatArray
from nearer.checking import Findings
from nearer.checking.enough import curve_trend
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.ceiling import NoiseCeiling
from nearer.evaluation.curves import LearningCurve, Trend
from nearer.evaluation.dimension import DimensionChoice
from nearer.evaluation.held_out import HeldOutError
from nearer.evaluation.metrics import margins
from nearer.evaluation.reproducibility import SplitHalf
from nearer.evaluation.uncertainty import Bootstrap
from nearer.io import Answers
from nearer.optimize.problems.margins import error_from_margins
from nearer.study.settings import RunSettings

_BINS = 40


@dataclass(frozen=True, eq=False)
class Study:
    """A map, and how far to trust it. What was not asked for, or could not be found out, is None.

    Attributes
    ----------
    answers : Answers
    settings : RunSettings
    model : estimator
        Fitted to all answers.
    dimension : DimensionChoice or None
    error : HeldOutError or None
    places : Bootstrap or None
        Where each object may lie.
    ceiling : NoiseCeiling or None
    annotators : AnnotatorReliability or None
    curve : LearningCurve or None
    distances : SplitHalf or None
        How reproducible the distances of the map are.
    findings : Findings or None
    notes : tuple of str
        What the run says of itself, a sentence each: what it did to the answers, and why something is missing.
    missing : tuple of str
        Parts that were asked for and could not be found out; the notes say why.
    interrupted : bool
        Whether Ctrl-C ended the run before its time.
    weighed : bool
        Whether some people count less than others.
    """

    answers: Answers
    settings: RunSettings
    model: OrdinalEmbedding
    dimension: DimensionChoice | None = None
    error: HeldOutError | None = None
    places: Bootstrap | None = None
    ceiling: NoiseCeiling | None = None
    annotators: AnnotatorReliability | None = None
    curve: LearningCurve | None = None
    distances: SplitHalf | None = None
    findings: Findings | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    interrupted: bool = False
    weighed: bool = False

    @property
    def chosen(self) -> OrdinalEmbedding:
        """The method that made the map: of several, the one that was chosen."""
        return self.model.chosen_

    @property
    def is_distribution(self) -> bool:
        """Whether the map stands for a distribution of maps, whose draws are there already."""
        return self.chosen.map_draws(1, 0) is not None

    @property
    def compared_with(self) -> str:
        """Which maps of halves were compared, in words, where they are not those of `check`."""
        if not self.is_distribution:
            return f"by {type(self.chosen).__name__}"
        return "" if self.more_dimensions is None else f"of {self.more_dimensions} dimensions"

    @property
    def more_dimensions(self) -> int | None:
        """The number of dimensions that a posterior has determined, if it is more than are shown."""
        determined: int | None = getattr(self.chosen, "dimension_", None) if self.is_distribution else None
        return determined if determined is not None and determined > self.n_components else None

    @property
    def trend(self) -> Trend | None:
        """Where the learning curve leads: the one answer to whether more answers would help predictions."""
        if self.curve is None:
            return None
        few = any(finding.code == "too-few" for finding in self.findings or ())
        best = None if self.ceiling is None else self.ceiling.best
        unit = "people" if self.settings.by == "annotators" else "answers"
        return curve_trend(self.curve, few=few, best=best, level=self.settings.level, unit=unit)

    @property
    def n_components(self) -> int:
        """The dimension of the map."""
        return int(self.model.embedding_.shape[1])


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
