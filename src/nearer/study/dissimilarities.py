"""A study of dissimilarities: a map by nonmetric scaling, how far to trust it, and the same folder as of any study."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from nearer._common.files import write_text
from nearer._common.formatting import percent, pluralize
from nearer._common.json_files import plain_values
from nearer.checking import Findings, check_dissimilarities
from nearer.checking.findings import format_line
from nearer.checking.messages import message_of
from nearer.data.dissimilarities import JUDGMENT_NOUNS, Dissimilarities
from nearer.embedding import NonmetricMDS
from nearer.embedding.storage import save_model
from nearer.evaluation.dimension import DimensionChoice
from nearer.evaluation.dissimilarities import (
    OrderError,
    bootstrap_map,
    choose_dimension,
    fit_dissimilarities,
    held_out_order,
    split_half_people,
)
from nearer.evaluation.distances import DISTANCES_FAIR, SplitHalf, ellipse_size
from nearer.evaluation.uncertainty import Bootstrap
from nearer.io.messages import sentence
from nearer.study.figures import draw_dissimilarities
from nearer.study.folder import (
    LOG,
    MAP,
    VERSIONED_PACKAGES,
    ErroneousAnswers,
    StudyInterrupted,
    log_text,
    new_run,
    write_distances,
    write_map,
)
from nearer.study.methods import citations
from nearer.study.results import (
    RESULTS,
    AnnotatorRecord,
    AnswerSource,
    CitationRecord,
    DataSummary,
    DimensionRecord,
    DissimilarityRecord,
    ErrorRecord,
    FindingRecord,
    MethodRecord,
    RegionRecord,
    ReproducibilityRecord,
    SettingsRecord,
    StudyResults,
)
from nearer.study.settings import RunSettings
from nearer.study.study import Provenance

METHOD = "NonmetricMDS"
CANDIDATE_DIMENSIONS = (1, 2, 3, 4, 5)
_MAX_TRIED_OBJECTS = 200  # of which maps of several dimensions take minutes
_NO_ELLIPSES = "no ellipses: they are made by resampling people, of whom eight must be known"
_NO_HALVES = "the reliability of distances is not known: people and pairs are too few to be halved"
_MAX_SHOWN_PAIRS = 2000  # in a Shepard diagram


@dataclass(frozen=True, eq=False)
class DissimilarityStudy:
    """A map of dissimilarities, and how far to trust it; what was not asked for, or could not be computed, is None."""

    data: Dissimilarities
    settings: RunSettings
    model: NonmetricMDS
    findings: Findings
    dimension: DimensionChoice | None = None
    error: OrderError | None = None
    places: Bootstrap | None = None
    distances: SplitHalf | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    results: StudyResults | None = None
    files: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return what was found, a line each."""
        data, size = self.data, None if self.results is None else self.results.ellipse_size
        people = "" if data.people is None else f" of {pluralize(len(data.people), 'person', 'people')}"
        lines = [
            f"{pluralize(data.n_objects, 'object')}, {pluralize(data.n_answers, *JUDGMENT_NOUNS[data.kind])}{people}",
            f"a map of {pluralize(self.model.n_components, 'dimension')}, by {METHOD}: stress {self.model.stress_:.3f}",
        ]
        lines += [] if self.distances is None else [str(self.distances)]
        if size is not None and not (self.distances and self.distances.reliability < DISTANCES_FAIR):
            lines.append(
                f"a typical object is known to lie within {percent(size)} of the typical distance between two objects "
                "(95% ellipse)"
            )
        lines += [message_of(each).text for each in self.findings if each.code == "judgments"]
        lines += [format_line(each) for each in self.findings if each.severity in ("error", "warning")]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def run_dissimilarity_study(
    data: Dissimilarities,
    settings: RunSettings,
    folder: str | PathLike[str],
    provenance: Provenance | None = None,
    *,
    despite_errors: bool = False,
    log_step: Callable[[str], None] = lambda step: None,
) -> DissimilarityStudy:
    """Fit a map to dissimilarities, find out how far to trust it, and write all of it into a folder.

    As `nearer.study.run_study` does for answers: embedding.csv, distances.csv, results.json, model, figures, log.

    Parameters
    ----------
    data : Dissimilarities
        As `nearer.io.read_dissimilarities` returns them.
    settings : RunSettings
        With the method "auto" or "NonmetricMDS", and no features.
    folder, provenance, despite_errors, log_step
        As for `nearer.study.run_study`.

    Returns
    -------
    DissimilarityStudy
    """
    settings = _settings(settings)
    started, provenance = time.perf_counter(), provenance or Provenance()
    findings = check_dissimilarities(data, n_components=settings.n_components or 2)
    errors = tuple(each for each in findings if each.severity == "error")
    if errors and not despite_errors:
        raise ErroneousAnswers(Findings(data.source, errors))
    try:
        study = _analyzed(data, settings, findings, log_step)
    except KeyboardInterrupt:
        raise StudyInterrupted("no map was written") from None
    found = _results(study, provenance, time.perf_counter() - started)
    with new_run(Path(folder)) as new:
        save_model(study.model, new)
        matrices = write_distances(study.model, new, study.places)
        write_map(found, new)
        write_text(new / LOG, log_text(found))
        figures = draw_dissimilarities(found, new)
    files = (MAP, *matrices, RESULTS, LOG, "model.json", "model.npz", *figures)
    return replace(study, results=found, files=files)


def _settings(settings: RunSettings) -> RunSettings:
    if settings.method not in ("auto", METHOD):
        raise ValueError(f"a map of dissimilarities is made by {METHOD}; leave out --method {settings.method}")
    if settings.features or settings.weigh_annotators:
        what = "features" if settings.features else "weights of people"
        raise ValueError(f"{METHOD} takes no {what}; leave them out")
    return replace(settings, method=METHOD)


def _analyzed(
    data: Dissimilarities, settings: RunSettings, findings: Findings, log_step: Callable[[str], None]
) -> DissimilarityStudy:
    notes = tuple(map(sentence, data.findings))
    seed, dimension, n_components = settings.seed, None, settings.n_components
    model = settings.estimator(n_components or 2)
    assert isinstance(model, NonmetricMDS)
    if n_components is None and data.n_objects <= _MAX_TRIED_OBJECTS:
        log_step("number of dimensions")
        dimension = choose_dimension(model, data, CANDIDATE_DIMENSIONS, random_state=seed)
        model.set_params(n_components=2 if dimension is None else dimension.shown)
    if n_components is None and dimension is None:
        notes += ("the number of dimensions was not chosen by the data: --dimensions sets it",)
    log_step("map")
    study = DissimilarityStudy(data, settings, fit_dissimilarities(model, data), findings, dimension, notes=notes)
    log_step("held-out judgments")
    study = replace(study, error=held_out_order(model, data, level=settings.level, random_state=seed))
    log_step("reliability of distances")
    study = replace(study, distances=split_half_people(model, data, random_state=seed))
    if settings.n_resamples and not settings.quick:
        log_step("ellipses")
        places = bootstrap_map(model, data, n_resamples=settings.n_resamples, random_state=seed)
        of_people = places is not None and places.by == "annotators"  # those of cells hold the truth half of the time
        study = replace(study, places=places) if of_people else _without(study, "places", _NO_ELLIPSES)
    return study if study.distances is not None else _without(study, "distances", _NO_HALVES)


def _without(study: DissimilarityStudy, part: str, why: str) -> DissimilarityStudy:
    """Return the study with a note on what it lacks."""
    return replace(study, notes=(*study.notes, why), missing=(*study.missing, part))


def _results(study: DissimilarityStudy, provenance: Provenance, seconds: float) -> StudyResults:
    """Return what was found, for the file and the page."""
    data, model, settings, places = study.data, study.model, study.settings, study.places
    n_shown = min(model.n_components, 3)
    found = StudyResults(
        title=provenance.title,
        source=AnswerSource(
            file=provenance.file or data.source, sha256=provenance.sha256, kind=data.kind, n_answers=data.n_answers,
            n_bad=data.n_bad, n_files=provenance.n_files,
        ),
        dissimilarities=_dissimilarities(study),
        counts=DataSummary(n_objects=data.n_objects, n_annotators=None if data.people is None else len(data.people)),
        objects=tuple(data.objects),
        embedding=model.embedding_,
        scree=tuple(np.sort(model.embedding_.var(axis=0))[::-1].tolist()),
        covariances=None if places is None else places.covariances,
        regions=None if places is None else RegionRecord("confidence", settings.n_resamples, _unit(places.by)),
        level=settings.level,
        scales=None if places is None else tuple(places.radius(settings.level, n) for n in range(1, n_shown + 1)),
        ellipse_size=None
        if places is None
        else ellipse_size(places.embedding, places.covariances, places.radius(0.95, min(model.n_components, 2))),
        reproducibility=None if study.distances is None else _reproducibility(study.distances),
        error=None if study.error is None else _error(study.error),
        dimension=None if study.dimension is None else _dimension(study.dimension, model),
        annotators=_annotators(study),
        findings=tuple(FindingRecord(**each) for each in study.findings.to_dicts()),
        settings=SettingsRecord(
            METHOD,
            plain_values({key: value for key, value in model.get_params(deep=False).items() if key != "random_state"}),
            {},
            settings.to_dict(),
        ),
        notes=study.notes,
        missing=study.missing,
        versions={name: version(name) for name in VERSIONED_PACKAGES} | {"python": platform.python_version()},
        seed=settings.seed,
        command=provenance.command,
        date=provenance.date,
        seconds=seconds,
        citations=tuple(CitationRecord(**each) for each in citations(METHOD, version("nearer"))),
    )  # fmt: skip
    return StudyResults.from_dict(json.loads(json.dumps(found.to_dict())))


def _dissimilarities(study: DissimilarityStudy) -> DissimilarityRecord:
    data, model = study.data, study.model
    values, distances = data.combined(), pdist(model.embedding_)
    disparities = model.disparities_[data.pairs]
    known = np.flatnonzero(~np.isnan(values))
    shown = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _MAX_SHOWN_PAIRS)).astype(int))]
    order = shown[np.argsort(values[shown], kind="stable")]
    columns: list[Any] = [tuple(np.round(each[order], 6).tolist()) for each in (values, distances, disparities)]
    return DissimilarityRecord(
        data.kind, data.high_is, data.known_by, len(known), len(values), float(model.stress_), *columns
    )


def _unit(by: str | None) -> str:
    """Return what is kept whole, in words: people, or cells of the matrix."""
    return "annotators" if by == "annotators" else "pairs of objects"


def _error(found: OrderError) -> ErrorRecord:
    ceiling = found.ceiling
    return ErrorRecord(
        held_out=found.error,
        low=found.low,
        high=found.high,
        map=found.error,
        map_low=found.low,
        map_high=found.high,
        ceiling=None if ceiling is None else ceiling.error,
        ceiling_at_most=None if ceiling is None else ceiling.at_most,
        ceiling_low=None if ceiling is None else ceiling.low,
        ceiling_high=None if ceiling is None else ceiling.high,
        n_folds=found.n_folds,
        unit=_unit(found.by),
    )


def _reproducibility(found: SplitHalf) -> ReproducibilityRecord:
    return ReproducibilityRecord(
        found.reliability, _unit(found.by), found.half, found.low, found.high, found.n_splits, found.n_objects
    )


def _dimension(found: DimensionChoice, model: NonmetricMDS) -> DimensionRecord:
    return DimensionRecord(
        tuple(found.candidates.tolist()), tuple(found.errors.tolist()), tuple(found.standard_errors.tolist()),
        found.chosen, rule="one standard error", method=MethodRecord(type(model).__name__),
    )  # fmt: skip


def _annotators(study: DissimilarityStudy) -> tuple[AnnotatorRecord, ...] | None:
    """Return each person with the error of a map of others."""
    people, error = study.data.people, study.error
    if people is None or error is None or not error.of_people:
        return None
    flags = study.findings.flags()
    return tuple(
        AnnotatorRecord(name, n, None if np.isnan(wrong) else wrong, None, None, None, tuple(flags.get(name, ())))
        for name, n, wrong in zip(people, error.n_judged, error.of_people, strict=True)
    )
