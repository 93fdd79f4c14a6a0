"""What a run finds out about answers: a map, and how far to trust it.

Every part draws from a stream of its own, so that leaving one out changes none of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer.annotators import AnnotatorReliability, annotator_reliability, reliability_weights
from nearer.ceiling import NoiseCeiling, noise_ceiling
from nearer.checking import Findings, check
from nearer.comparisons import Comparisons
from nearer.embedding import CKL, SOE, BestOf, PosteriorEmbedding
from nearer.embedding.base import OrdinalEmbedding
from nearer.formats import Answers
from nearer.model_selection import (
    DimensionChoice,
    HeldOutError,
    LearningCurve,
    choose_dimension,
    held_out_error,
    learning_curve,
)
from nearer.runs.settings import RunSettings
from nearer.uncertainty import Bootstrap, bootstrap

_DIMENSIONS = (1, 2, 3, 4, 5, 6, 8, 10)
Part = TypeVar("Part")


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
    findings : Findings or None
    notes : tuple of str
        Why something is missing, a sentence each.
    interrupted : bool
        Whether Ctrl-C ended the run before its time.
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
    findings: Findings | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
    interrupted: bool = False

    @property
    def chosen(self) -> OrdinalEmbedding:
        """The method that made the map: of several, the one that was chosen."""
        return self.model.best_ if isinstance(self.model, BestOf) else self.model


def fit_study(answers: Answers, settings: RunSettings, keep: Callable[[Study], None] = lambda study: None) -> Study:
    """Fit a map to answers and find out how far to trust it.

    Parameters
    ----------
    answers : Answers
    settings : RunSettings
    keep : callable, optional
        Called with the study as soon as there is a map, and again with each part that was found out.

    Returns
    -------
    Study
        After Ctrl-C, what was found until then; before there is a map, the interrupt goes on.
    """
    comparisons, weighing = _weighed(answers.comparisons, settings)
    dimension = None
    n_components = settings.n_components
    if n_components is None:
        dimension = _dimension(comparisons, settings)
        n_components = 2 if dimension is None else dimension.chosen
    model = settings.estimator(n_components).fit(comparisons)
    study = Study(answers, settings, model, dimension=dimension, notes=weighing)
    keep(study)
    try:
        for name, part in _PARTS.items():
            study = replace(study, **_attempt(name, part, study))
            keep(study)
    except KeyboardInterrupt:
        study = replace(study, interrupted=True, notes=(*study.notes, "the run was stopped before its end"))
        keep(study)
    return study


def _attempt(name: str, part: Callable[[Study], Any], study: Study) -> dict[str, Any]:
    """Return a part of a study, or why there is none: a figure that cannot be had must not cost the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        try:
            return {name: part(study)}
        except ValueError as error:
            return {"notes": (*study.notes, f"no {_NAMES[name]}: {error}")}


def _weighed(comparisons: Comparisons, settings: RunSettings) -> tuple[Comparisons, tuple[str, ...]]:
    if not settings.weigh_annotators:
        return comparisons, ()
    quick = CKL(settings.n_components or 2, random_state=settings.seed)
    found = annotator_reliability(quick, comparisons, random_state=settings.seed)
    weights = reliability_weights(found, comparisons)
    return replace(comparisons, weights=weights), (f"answers of {len(found.names)} people are weighted by reliability",)


def _dimension(comparisons: Comparisons, settings: RunSettings) -> DimensionChoice | None:
    """Return the dimension that maps of a quick method predict best in; None if there is no choice.

    By SOE: planted dimensions are found by it more often than by CKL, whose error hardly rises beyond the true one.
    """
    seen = len(np.unique(comparisons.rows))
    candidates = [dimension for dimension in _DIMENSIONS if dimension <= seen - 2]
    if len(candidates) < 2:
        return None
    try:
        quick = SOE(trace=0.01, random_state=settings.seed)
        return choose_dimension(quick, comparisons, candidates, by=settings.by, random_state=settings.seed)
    except ValueError:  # too few answers to hold any out
        return None


def _error(study: Study) -> HeldOutError:
    settings = study.settings
    estimator = settings.estimator(study.model.embedding_.shape[1])
    return held_out_error(
        estimator, study.model.comparisons_, by=settings.by, level=settings.level, random_state=settings.seed
    )


def _places(study: Study) -> Bootstrap | None:
    settings = study.settings
    if settings.n_resamples == 0 or (settings.quick and not isinstance(study.chosen, PosteriorEmbedding)):
        return None
    return bootstrap(
        study.chosen, study.model.comparisons_, n_resamples=settings.n_resamples, by=settings.by,
        random_state=settings.seed,
    )  # fmt: skip


def _ceiling(study: Study) -> NoiseCeiling | None:
    return noise_ceiling(study.model.comparisons_, level=study.settings.level, random_state=study.settings.seed)


def _annotators(study: Study) -> AnnotatorReliability | None:
    comparisons = study.answers.comparisons
    if comparisons.annotators is None or study.settings.quick or len(np.unique(comparisons.annotators)) < 2:
        return None
    return annotator_reliability(
        _quick(study), comparisons, level=study.settings.level, random_state=study.settings.seed
    )


def _curve(study: Study) -> LearningCurve | None:
    if study.settings.quick:
        return None
    return learning_curve(
        _quick(study), study.model.comparisons_, by=study.settings.by, level=study.settings.level,
        random_state=study.settings.seed,
    )  # fmt: skip


def _quick(study: Study) -> OrdinalEmbedding:
    """Return the chosen method, or in place of one that takes minutes a quick one of the same kind."""
    if isinstance(study.chosen, PosteriorEmbedding):
        return CKL(study.model.embedding_.shape[1], random_state=study.settings.seed)
    method: OrdinalEmbedding = clone(study.chosen)
    return method


def _findings(study: Study) -> Findings:
    dimensions = study.model.embedding_.shape[1]
    return check(study.answers, n_components=dimensions, random_state=study.settings.seed)


# In the order of what a reader would miss most if the run were stopped.
_PARTS: dict[str, Callable[[Study], Any]] = {
    "error": _error,
    "ceiling": _ceiling,
    "findings": _findings,
    "places": _places,
    "annotators": _annotators,
    "curve": _curve,
}
_NAMES = {
    "error": "held-out error",
    "ceiling": "noise ceiling",
    "findings": "findings",
    "places": "ellipses",
    "annotators": "reliability of annotators",
    "curve": "learning curve",
}
