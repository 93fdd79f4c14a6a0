"""What a run finds out about answers: a map, and how far to trust it.

Every part has a seed of its own, so that leaving one out changes none of the others, and so that the folds which the
number of dimensions was chosen by are not those that its error is measured on. All parts judge by the answers as they
are, also where the map was fitted to weighted ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer.checking import Findings, check
from nearer.checking.enough import agreed, with_curve
from nearer.checking.split_half import with_distances
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.units import seen_objects
from nearer.embedding import SOE
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.annotators import AnnotatorReliability, annotator_reliability
from nearer.evaluation.bootstrap import Bootstrap, bootstrap
from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling
from nearer.evaluation.dimension import DimensionChoice, choose_dimension
from nearer.evaluation.held_out import HeldOutError, held_out_error
from nearer.evaluation.learning_curve import LearningCurve, learning_curve
from nearer.evaluation.reproducibility import SplitHalf, split_half
from nearer.formats import Answers
from nearer.study.settings import RunSettings
from nearer.study.weighing import Weighed

_DIMENSIONS = (1, 2, 3, 4, 5, 6, 8, 10)
#: By which they are judged. CKL finds planted dimensions less often: its error hardly rises beyond the true one.
DIMENSIONS_BY = SOE(trace=0.01)
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
    distances : SplitHalf or None
        How reproducible the distances of the map are.
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
    distances: SplitHalf | None = None
    findings: Findings | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
    interrupted: bool = False

    @property
    def chosen(self) -> OrdinalEmbedding:
        """The method that made the map: of several, the one that was chosen."""
        return self.model.chosen_

    @property
    def n_components(self) -> int:
        """The dimension of the map."""
        return int(self.model.embedding_.shape[1])


def fit_study(
    answers: Answers,
    settings: RunSettings,
    keep: Callable[[Study], None] = lambda study: None,
    tell: Callable[[str], None] = lambda step: None,
    notes: tuple[str, ...] = (),
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

    Returns
    -------
    Study
        After Ctrl-C, what was found until then; before there is a map, the interrupt goes on.
    """
    _check_people(answers.comparisons, settings)
    dimension, notes = None, (*notes, *answers.notes)
    n_components = settings.n_components
    if n_components is None:
        tell("number of dimensions")
        dimension, why = _dimension(answers.comparisons, settings)
        n_components, notes = (2, (*notes, why)) if dimension is None else (dimension.chosen, notes)
    tell("map")
    model = _estimator(settings, settings.estimator(n_components)).fit(answers.comparisons)
    if isinstance(model, Weighed):
        less = "people whose answers disagree with everybody else's count less"
        alike = "nobody answers better than chance against a map of the others, so that all people count alike"
        model, notes = model.best_, (*notes, less if model.weighs_ else alike)
    study = Study(answers, settings, model, dimension=dimension, notes=notes)
    if _is_posterior(study):
        others = "" if settings.quick else ", reliability of people and learning curve"
        are = "is that" if settings.quick else "are those"
        study = replace(study, notes=(*notes, f"reproducibility of distances{others} {are} of CKL, for speed"))
    keep(study)
    try:
        for name, part in _PARTS.items():
            if not _wanted(name, study):
                continue
            tell(_NAMES[name])
            study = replace(study, **_attempt(name, part, study))
            keep(study)
    except KeyboardInterrupt:
        study = replace(study, interrupted=True, notes=(*study.notes, "the run was stopped before its end"))
        keep(study)
    return study


def _wanted(name: str, study: Study) -> bool:
    """Return whether a part was asked for, and can be had from these answers."""
    settings, people = study.settings, study.answers.comparisons.annotators
    if name == "places":
        quick = settings.quick and not _is_posterior(study)  # whose draws are there already
        return settings.n_resamples > 0 and not quick
    if name == "annotators":
        return not settings.quick and people is not None and len(factorize(people)[0]) > 1
    return name != "curve" or not settings.quick


def _attempt(name: str, part: Callable[[Study], Any], study: Study) -> dict[str, Any]:
    """Return a part of a study, or why there is none: a figure that cannot be had must not cost the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        try:
            return _agreed(study, {name: part(study)})
        except ValueError as error:
            return {"notes": (*study.notes, f"no {_NAMES[name]}: {error}")}


def _agreed(study: Study, found: dict[str, Any]) -> dict[str, Any]:
    """Return a part, and the findings once what a quick map says in them is known from the map itself."""
    findings = found.get("findings", study.findings)
    curve, distances = found.get("curve", study.curve), found.get("distances", study.distances)
    if findings is not None and curve is not None:
        unit = "people" if study.settings.by == "annotators" else "answers"
        findings = with_curve(findings, curve, study.settings.level, unit)
    if findings is not None and distances is not None:
        findings = with_distances(findings, distances)
    return found | {"findings": None if findings is None else agreed(findings)}


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


def _seed(settings: RunSettings, part: str) -> int:
    """Return the seed of one part of a run."""
    number = _SEEDS.index(part)
    return int(np.random.SeedSequence([settings.seed, number]).generate_state(1)[0])


def _estimator(settings: RunSettings, method: OrdinalEmbedding) -> OrdinalEmbedding:
    """Return what is fitted: the method, or the method with people weighed."""
    if not settings.weigh_annotators:
        return method
    return Weighed(method.n_components, methods=[method], random_state=settings.seed)


def _dimension(comparisons: Comparisons, settings: RunSettings) -> tuple[DimensionChoice | None, str]:
    """Return the dimension that maps of a quick method predict best in, or why there is no choice."""
    seen = int(seen_objects(comparisons).sum())
    candidates = [dimension for dimension in _DIMENSIONS if dimension <= seen - 2]
    if len(candidates) < 2:
        return None, f"two dimensions, as {seen} objects leave no choice"
    seed = _seed(settings, "dimension")
    try:
        quick = clone(DIMENSIONS_BY).set_params(random_state=seed)
        return choose_dimension(quick, comparisons, candidates, by=settings.by, random_state=seed), ""
    except ValueError as error:
        return None, f"two dimensions, as no choice could be made: {error}"


def _error(study: Study) -> HeldOutError:
    settings = study.settings
    estimator = _estimator(settings, settings.estimator(study.n_components))
    return held_out_error(
        estimator,
        study.answers.comparisons,
        by=settings.by,
        level=settings.level,
        random_state=_seed(settings, "error"),
    )


def _distances(study: Study) -> SplitHalf:
    # Settled, as for the ellipses: what the choice of settings adds is in neither.
    model = study.chosen
    method = model.quick_stand_in() if _is_posterior(study) else model.with_chosen_settings()
    return split_half(
        method, study.model.comparisons_, by=study.settings.by, random_state=_seed(study.settings, "distances")
    )


def _places(study: Study) -> Bootstrap:
    settings = study.settings
    return bootstrap(
        study.chosen, study.model.comparisons_, n_resamples=settings.n_resamples, by=settings.by,
        random_state=_seed(settings, "places"),
    )  # fmt: skip


def _ceiling(study: Study) -> NoiseCeiling | None:
    return noise_ceiling(study.answers.comparisons, level=study.settings.level)


def _annotators(study: Study) -> AnnotatorReliability:
    comparisons = study.answers.comparisons
    seed = _seed(study.settings, "annotators")
    return annotator_reliability(
        study.chosen.quick_stand_in(), comparisons, level=study.settings.level, random_state=seed
    )


def _curve(study: Study) -> LearningCurve:
    settings = study.settings
    method = _estimator(settings, study.chosen.quick_stand_in())
    return learning_curve(
        method, study.answers.comparisons, by=settings.by, level=settings.level,
        random_state=_seed(settings, "curve"),
    )  # fmt: skip


def _is_posterior(study: Study) -> bool:
    """Return whether the map is one of a distribution of maps."""
    return study.chosen.map_draws(1, 0) is not None


def _findings(study: Study) -> Findings:
    return check(study.answers, n_components=study.n_components, random_state=_seed(study.settings, "findings"))


# In the order of what a reader would miss most if the run were stopped.
_PARTS: dict[str, Callable[[Study], Any]] = {
    "error": _error,
    "ceiling": _ceiling,
    "findings": _findings,
    "distances": _distances,
    "places": _places,
    "annotators": _annotators,
    "curve": _curve,
}
# Their places are part of the seeds: a new one goes to the end.
_SEEDS = ("dimension", "model", "error", "ceiling", "findings", "places", "annotators", "curve", "distances")
_NAMES = {
    "error": "held-out error",
    "ceiling": "noise ceiling",
    "findings": "findings",
    "distances": "reproducibility of distances",
    "places": "ellipses",
    "annotators": "reliability of annotators",
    "curve": "learning curve",
}
