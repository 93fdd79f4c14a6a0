"""What a run does with answers: fit a map, then find out part by part how far to trust it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from nearer._common.formatting import counted
from nearer.checking.enough import agreed, with_curve
from nearer.checking.split_half import with_distances
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import two_maps
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.io import Answers
from nearer.study.parts import PARTS, Part, choose_dimensions
from nearer.study.settings import RunSettings
from nearer.study.study import Study
from nearer.study.weighing import Weighed


def fit_study(
    answers: Answers,
    settings: RunSettings,
    keep: Callable[[Study], None] = lambda study: None,
    tell: Callable[[str], None] = lambda step: None,
    notes: tuple[str, ...] = (),
    turn: Callable[[OrdinalEmbedding], OrdinalEmbedding] = lambda model: model,
) -> Study:
    """Fit a map to answers and find out how far to trust it.

    Parameters
    ----------
    answers : Answers
    settings : RunSettings
    keep : callable, optional
        Called with the study as soon as there is a map, and again with each part that was found out.
    tell : callable, optional
        Called with the name of each step before it begins.
    notes : tuple of str, optional
        What to say of the run before what it says itself.
    turn : callable, optional
        Called with the fitted model before anything is found out about it; returns it with its map turned.

    Returns
    -------
    Study
        After Ctrl-C, what was found until then; before there is a map, the interrupt goes on.
    """
    _check_people(answers.comparisons, settings)
    settings = settings.for_answers(answers.comparisons)
    dimension, notes = None, (*notes, *answers.notes)
    n_components = settings.n_components
    if n_components is None and not settings.chooses_dimension:
        tell("number of dimensions")
        dimension, why = choose_dimensions(answers.comparisons, settings)
        n_components, notes = (2, (*notes, why)) if dimension is None else (dimension.shown, notes)
        notes = notes if dimension is None or dimension.chosen else (*notes, _for_show(dimension.shown))
    tell("map")
    study = replace(_fitted(answers, settings, n_components, notes), dimension=dimension)
    study = replace(study, model=turn(study.model))
    try:
        keep(study)
        for part in PARTS:
            if part.wanted(study):
                tell(part.words)
                study = _with_part(study, part)
                keep(study)
    except KeyboardInterrupt:
        study = replace(study, interrupted=True, notes=(*study.notes, "the run was stopped before its end"))
        keep(study)
    return study


def _fitted(answers: Answers, settings: RunSettings, n_components: int | None, notes: tuple[str, ...]) -> Study:
    """Return a study that has a map and nothing else."""
    model, weighed = settings.estimator(n_components), False
    if settings.weigh_annotators:
        wrapper = Weighed(model, random_state=settings.seed).fit(answers.comparisons)
        model, weighed = wrapper.method_, wrapper.weighs_
        less = "people whose answers disagree with everybody else's count less"
        alike = "nobody answers better than chance against a map of the others, so that all people count alike"
        notes = (*notes, less if weighed else alike)
    else:
        model.fit(answers.comparisons)
    study = Study(answers, settings, model, notes=notes, weighed=weighed)
    if study.is_distribution:
        others = "" if settings.quick else " and learning curve"
        are = "is that" if settings.quick else "are those"
        study = replace(study, notes=(*notes, f"reproducibility of distances{others} {are} of CKL, for speed"))
    if n_components is None and getattr(study.chosen, "dimension_", 1) is None:
        study = replace(study, notes=(*study.notes, _for_show(study.n_components)))
    if twice := getattr(study.chosen, "two_places_", []):
        study = replace(study, notes=(*study.notes, f"{two_maps(twice)}, and their ellipses hold both"))
    return study


def _for_show(n_components: int) -> str:
    return f"{NO_DIMENSION}; the map of {counted(n_components, 'dimension')} is for show"


def _with_part(study: Study, part: Part) -> Study:
    """Return a study with one more part, or with why there is none: a missing figure must not cost the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        try:
            found: dict[str, Any] = {part.name: part.of(study)}
        except ValueError as error:
            notes = (*study.notes, f"no {part.words}: {error}")
            return replace(study, notes=notes, missing=(*study.missing, part.name))
    return _agreed(replace(study, **found))


def _agreed(study: Study) -> Study:
    """Return a study whose findings tell what the map itself has shown, where a quick map had to do before."""
    findings, trend = study.findings, study.trend
    if findings is None:
        return study
    if study.curve is not None and trend is not None:
        findings = with_curve(findings, trend)
    if study.distances is not None:
        findings = with_distances(findings, study.distances, study.n_components, study.compared_with)
    return replace(study, findings=agreed(findings))


def _check_people(comparisons: Comparisons, settings: RunSettings) -> None:
    """Refuse what needs to know who answered, where that is not known."""
    asked = [
        name
        for name, on in {"by annotators": settings.by == "annotators", "weighing": settings.weigh_annotators}.items()
        if on
    ]
    if asked and (comparisons.annotators is None or len(factorize(comparisons.annotators)[0]) < 2):
        raise ValueError(
            f"{asked[0]} needs answers of at least two people, and the file does not say who answered, or names one; "
            "name the column with --columns annotator=NAME"
        )
