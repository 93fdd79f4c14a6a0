"""The results of a study, and the transaction that writes its folder: map, model, figures, log, and one JSON file."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from nearer._common.files import write_text
from nearer._common.formatting import pluralize, quote_all
from nearer._common.json_files import plain_values
from nearer._common.progress import elapsed_time
from nearer._common.results import MAX_NUMBER
from nearer._common.tables import coordinate_rows, csv_text
from nearer.checking import Findings, check_errors, message_of
from nearer.data.labels import factorize
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.embedding.storage import save_model
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.evaluation.distances import DISTANCES_FILE, MAX_MATRIX_OBJECTS, SPREAD_FILE, distance_matrix, matrix_csv
from nearer.evaluation.uncertainty import Bootstrap
from nearer.io import Answers
from nearer.study.dimensions import TABLES, carried_names, dimension_tables
from nearer.study.figures import FIGURES, SHEPARD, draw_placed, draw_study
from nearer.study.methods import METHOD_CLASSES, citations
from nearer.study.results import (
    RESULTS,
    AnnotatorRecord,
    AnswerSource,
    CatchRecord,
    CitationRecord,
    CurveStep,
    DataSummary,
    DeviationRecord,
    DimensionRecord,
    ErrorRecord,
    FeatureRecord,
    FindingRecord,
    LeftOutRecord,
    MarginRecord,
    MethodRecord,
    PeopleRecord,
    PersonRecord,
    RegionRecord,
    ReproducibilityRecord,
    SettingsRecord,
    StudyResults,
    TrendRecord,
    WeightsRecord,
    read_results,
)
from nearer.study.settings import RunSettings
from nearer.study.study import DIMENSION_METHOD, Provenance, Study, fit_study, margins_histogram

MAP, LOG = "embedding.csv", "log.txt"
#: What other commands read.
DATA_FILES = (MAP, *TABLES, DISTANCES_FILE, SPREAD_FILE, RESULTS, LOG, "model.json", "model.npz")
#: All names that a run, or a report of it, may write.
FILES = (*DATA_FILES, "report.html", *FIGURES, SHEPARD)
_N_DEVIATIONS = 10  # that are kept of the largest deviations from features
_N_FARTHEST_PEOPLE = 5  # whose maps depart most from the common one
VERSIONED_PACKAGES = ("nearer", "numpy", "scipy", "scikit-learn", "numba")


def has_study(folder: Path) -> bool:
    """Whether there are results of a study in a folder."""
    return (folder / RESULTS).exists()


def refuse_input(files: Sequence[Path], folder: Path) -> None:
    """Reject a folder in which results would overwrite the answers, or be read among them by the next run."""
    results = {(folder / name).resolve() for name in FILES}
    for file in files:
        if file.resolve() in results:
            raise ValueError(f"{file} would be written over by the results; choose another folder with --out")
        if file.is_dir() and file.resolve() == folder.resolve():
            raise ValueError(f"{file} is the folder of the answers; choose another folder for the results with --out")


def refuse_output(file: Path, folder: Path, inputs: Sequence[Path | None] = ()) -> None:
    """Reject a file that is part of a study, or an input of the command."""
    kept = {(folder / name).resolve() for name in DATA_FILES} | {path.resolve() for path in inputs if path is not None}
    if file.resolve() in kept:
        raise ValueError(f"{file} is a file that this command reads, and would be lost; choose another name with --out")


@contextmanager
def new_run(folder: Path) -> Iterator[Path]:
    """Yield an empty folder; at the end, its files replace those of the study in ``folder``.

    On an error, a full disk or Ctrl-C, the earlier study is left as it was.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(mkdtemp(prefix=".new-", dir=folder))
    try:
        yield staging
        for name in FILES:
            if (staging / name).exists():
                (staging / name).replace(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        if Path(str(error.filename)).parent != staging:
            raise
        raise OSError(error.errno, error.strerror, str(folder / Path(error.filename).name)) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C before a study was complete; its text says what the folder holds."""


class ErroneousAnswers(ValueError):
    """Answers of which no map can be right; ``findings`` are the errors."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        super().__init__(str(findings))


def run_study(
    answers: Answers,
    settings: RunSettings,
    folder: str | PathLike[str],
    provenance: Provenance | None = None,
    *,
    notes: tuple[str, ...] = (),
    despite_errors: bool = False,
    keep_earlier: bool = False,
    earlier: StudyResults | None = None,
    transform: Callable[[OrdinalEmbedding], OrdinalEmbedding] = lambda model: model,
    log_step: Callable[[str], None] = lambda step: None,
) -> Study:
    """Fit a map to answers, find out how far to trust it, and write all of it into a folder.

    An earlier study in the folder stays as it was until there is a new map. From then on the folder holds what was
    found so far, whatever interrupts the run.

    Parameters
    ----------
    answers, settings
        What the map is made of, and how.
    folder : path
        Gets embedding.csv, distances.csv, model.json, model.npz, results.json, log.txt and figures.
    provenance : Provenance, optional
        What results and log say of files and command.
    notes : tuple of str, optional
        Remarks that precede those of the run itself.
    despite_errors, keep_earlier : bool
        Whether a map is made even if `check_errors` finds that none can be right, and whether an earlier study in the
        folder stays as it was until the new one is complete.
    earlier : StudyResults, optional
        Names of its dimensions are kept for those that are the same ones here; left out, that of the folder.
    transform : callable, optional
        Called with the fitted model before any analysis; returns it with its map rotated.
    log_step : callable, optional
        Called with the name of each step before it begins.

    Returns
    -------
    Study
        With its ``results`` and the names of its ``files``. After Ctrl-C once there is a map, with the analyses that
        were complete.

    Raises
    ------
    ErroneousAnswers
        If the answers have errors.
    StudyInterrupted
        On Ctrl-C before there is a map, or while the end result is written.
    """
    with elapsed_time("looking for errors"):
        errors = check_errors(answers, n_components=settings.n_components or 2, features=settings.features)
    if errors and not despite_errors:
        raise ErroneousAnswers(errors)
    notes += tuple(
        f"a map was asked for with --anyway, in spite of an error: {message_of(error).title}" for error in errors
    )
    place, started, provenance = Path(folder), time.perf_counter(), provenance or Provenance()
    before, has_map = earlier or _earlier_results(place), False

    def run(target: Path) -> Study:
        nonlocal has_map

        def results(study: Study) -> StudyResults:
            return _with_names(results_of(study, provenance, time.perf_counter() - started), before)

        def checkpoint(study: Study) -> None:
            nonlocal has_map
            if has_map:
                write_map(results(study), target)
            else:
                with new_run(target) as new:
                    save_model(study.model, new)
                    write_distances(study.model, new)
                    write_map(results(study), new)
            has_map = True

        study = fit_study(answers, settings, checkpoint, log_step, notes, transform)
        if study.interrupted and keep_earlier:
            raise KeyboardInterrupt
        found = results(study)
        write_map(found, target)
        write_text(target / LOG, log_text(found))
        matrices = write_distances(study.model, target, study.places)
        tables = [] if found.weights is None else dimension_tables(found)
        files = (
            MAP,
            *tables,
            *matrices,
            RESULTS,
            LOG,
            "model.json",
            "model.npz",
            *draw_study(replace(study, results=found), target),
        )
        return replace(study, results=found, files=files, notes=found.notes)

    try:
        if not keep_earlier:
            return run(place)
        with new_run(place) as staging:
            return run(staging)
    except KeyboardInterrupt:
        if keep_earlier:
            raise StudyInterrupted(f"{place} is as it was") from None
        if has_map:
            raise StudyInterrupted(f"{place} holds what was found until then") from None
        also = f", and {place} holds that of an earlier run" if has_study(place) else ""
        raise StudyInterrupted(f"no map was written{also}") from None


def results_of(study: Study, provenance: Provenance, seconds: float | None = None) -> StudyResults:
    """Return what a study has found, for its file and its report."""
    model, settings = study.model, study.settings
    summary = study.answers.comparisons.summary()
    places, regions = study.places, None
    margins = margins_histogram(study) if study.chosen._has_distances else None
    if places is not None and study.is_distribution:
        regions = RegionRecord("credible", n_dimensions=study.chosen.draws_.points.shape[2])
    elif places is not None:
        regions = RegionRecord("confidence", settings.n_resamples, places.by)
    found = StudyResults(
        title=provenance.title,
        source=_source(study, provenance),
        features=_features(study, provenance),
        feature_deviations=_deviations(study),
        counts=DataSummary(**{each.name: getattr(summary, each.name) for each in fields(DataSummary)}),
        objects=tuple(map(str, model.objects_.tolist())),
        embedding=model.embedding_,
        scree=tuple(np.sort(model.embedding_.var(axis=0))[::-1].tolist()) if study.chosen._has_distances else None,
        weights=_weights(study),
        covariances=None if places is None else places.covariances,
        regions=regions,
        level=settings.level,
        scales=None
        if places is None
        else tuple(places.radius(settings.level, n_axes) for n_axes in range(1, min(study.n_components, 3) + 1)),
        ellipse_size=study.ellipse_size,
        reproducibility=_reproducibility(study),
        error=_error(study),
        margins=None
        if margins is None
        else MarginRecord(
            tuple(margins["edges"].tolist()), tuple(margins["counts"].tolist()), margins["share_negative"]
        ),
        learning_curve=_curve(study),
        trend=None if study.trend is None else TrendRecord(**asdict(study.trend)),
        dimension=_dimension(study),
        convergence=getattr(study.chosen, "convergence_", None),
        annotators=_annotators(study),
        people=_people(study),
        findings=None if study.findings is None else tuple(FindingRecord(**each) for each in study.findings.to_dicts()),
        settings=_settings(study),
        notes=study.notes,
        missing=study.missing,
        interrupted=study.interrupted,
        versions={name: version(name) for name in VERSIONED_PACKAGES} | {"python": platform.python_version()},
        seed=settings.seed,
        command=provenance.command,
        date=provenance.date,
        seconds=seconds,
        citations=tuple(CitationRecord(**each) for each in citations(type(study.chosen).__name__, version("nearer"))),
    )
    if found.lacks_dimension:
        shown = pluralize(study.n_components, "dimension")
        found = replace(found, notes=(*found.notes, f"{NO_DIMENSION}; the map of {shown} is for show"))
    return StudyResults.from_dict(found.to_dict())  # as readers of the file have it: None for what is not finite


def _source(study: Study, provenance: Provenance) -> AnswerSource:
    answers, report = study.answers, study.answers.report
    return AnswerSource(
        file=provenance.file or answers.source,
        sha256=provenance.sha256,
        kind=answers.kind,
        n_answers=len(answers) if provenance.n_answers is None else provenance.n_answers,
        n_bad=report.n_bad,
        n_undecided=report.n_undecided,
        left_out=tuple(LeftOutRecord.from_dict(left.to_dict()) for left in report.left_out),
        n_files=answers.n_files if provenance.n_files is None else provenance.n_files,
        catches=None if report.catches is None else CatchRecord(**report.catches._asdict()),
        lots=provenance.lots or None,
    )


def _features(study: Study, provenance: Provenance) -> tuple[FeatureRecord, ...] | None:
    """Return where the features come from, and what they explain."""
    files = {each.features.name: each for each in provenance.features}
    shares = getattr(study.chosen, "feature_share_", None) or {}
    found = []
    for each in study.settings.features:
        file, share, (n_objects, n_columns) = files.get(each.name), shares.get(each.name), each.values.shape
        found.append(
            FeatureRecord(
                each.name,
                None if file is None else file.file,
                None if file is None else file.sha256,
                n_objects,
                n_columns,
                *(share or (None, None, None)),
            )
        )
    return tuple(found) or None


def _deviations(study: Study) -> tuple[DeviationRecord, ...] | None:
    """Return which objects lie farthest from where their features suggest, if the method tells."""
    if not study.settings.features or not isinstance(study.chosen, PosteriorEmbedding):
        return None
    found = study.chosen.feature_deviations()[:_N_DEVIATIONS]
    return tuple(DeviationRecord(str(each.object), *each[1:]) for each in found)


def _weights(study: Study) -> WeightsRecord | None:
    model = study.chosen
    if model._has_distances:
        return None
    found, intervals = getattr(model, "reproducibility_", None), getattr(model, "weight_intervals_", None)
    if intervals is not None:  # in digits that mean something: files of many objects are half as large
        ends = [min(float(f"{end:.5g}"), MAX_NUMBER) for end in intervals.ravel().tolist()]
        intervals = np.array(ends).reshape(intervals.shape)
    names = ("",) * study.n_components
    return WeightsRecord(None if found is None else tuple(found.tolist()), intervals, names)


def _earlier_results(folder: Path) -> StudyResults | None:
    """Return the results of an earlier run in a folder, if they can be read."""
    try:
        return read_results(folder)
    except ValueError:
        return None


def _with_names(results: StudyResults, earlier: StudyResults | None) -> StudyResults:
    """Return results in which dimensions have the names of those of an earlier map that are the same."""
    if results.weights is None or earlier is None or earlier.weights is None or not any(earlier.weights.names):
        return results
    names, lost = carried_names(results, earlier)
    carried = [f"{pluralize(sum(map(bool, names)), 'dimension keeps its', 'dimensions keep their')} name"]
    notes = [f"no dimension is like those that were called {quote_all(lost)}, and these names are gone"] if lost else []
    return replace(results.with_names(names), notes=(*results.notes, *carried, *notes))


def _reproducibility(study: Study) -> ReproducibilityRecord | None:
    if study.distances is None:
        return None
    found = asdict(study.distances)
    return ReproducibilityRecord(unit=found.pop("by"), **found)


def _error(study: Study) -> ErrorRecord | None:
    if study.error is None:
        return None
    found, ceiling = study.error, study.ceiling
    error = ErrorRecord(
        held_out=found.error,
        low=found.low,
        high=found.high,
        map=found.map_error,
        map_low=found.map_low,
        map_high=found.map_high,
        n_folds=found.n_splits,
        unit=found.by,
        **(
            {}
            if found.choice is None
            else dict(zip(("choice", "choice_low", "choice_high"), found.choice, strict=True))
        ),
    )
    if ceiling is None:
        return error
    return replace(
        error,
        ceiling=ceiling.error,
        ceiling_at_most=ceiling.at_most,
        ceiling_low=ceiling.low,
        ceiling_high=ceiling.high,
    )


def _curve(study: Study) -> tuple[CurveStep, ...] | None:
    curve = study.curve
    if curve is None:
        return None
    fall_errors = np.full(len(curve.sizes), np.nan) if curve.fall_errors is None else curve.fall_errors
    columns = (curve.sizes, curve.errors, curve.lows, curve.highs, fall_errors)
    return tuple(CurveStep(*row) for row in zip(*(np.asarray(each).tolist() for each in columns), strict=True))


def _dimension(study: Study) -> DimensionRecord | None:
    found = study.dimension
    if found is None:
        return None
    return DimensionRecord(
        candidates=tuple(found.candidates.tolist()),
        errors=tuple(found.errors.tolist()),
        standard_errors=tuple(found.standard_errors.tolist()),
        chosen=found.chosen,
        reliabilities=None if found.reliabilities is None else tuple(found.reliabilities.tolist()),
        rule="one standard error",
        method=MethodRecord.of(DIMENSION_METHOD),
    )


def _annotators(study: Study) -> tuple[AnnotatorRecord, ...] | None:
    found = study.annotators
    if found is None:
        return None
    seconds = _median_seconds(study)
    flags = {} if study.findings is None else study.findings.flags()
    columns = (found.n_answers.tolist(), found.errors.tolist(), found.lows.tolist(), found.highs.tolist())
    return tuple(
        AnnotatorRecord(str(name), n, error, low, high, seconds.get(name), tuple(flags.get(str(name), ())))
        for name, n, error, low, high in zip(found.names.tolist(), *columns, strict=True)
    )


def _people(study: Study) -> PeopleRecord | None:
    found = study.people
    if found is None:
        return None
    lows = found.departure_intervals[:, 0]
    order = np.argsort(-lows, kind="stable")[:_N_FARTHEST_PEOPLE]
    order = order[lows[order] > np.median(found.departures)]  # farther than is usual, for sure
    farthest = [
        PersonRecord(str(found.people[k]), float(found.departures[k]), *found.departure_intervals[k].tolist())
        for k in order
    ]
    spreads = found.weight_spread, found.departure_spread
    return PeopleRecord(*spreads, found.axes_identified, len(found.kind_weights), tuple(farthest))


def _median_seconds(study: Study) -> dict[Any, float]:
    answers = study.answers
    if answers.seconds is None or answers.annotators is None:
        return {}
    names, person = factorize(answers.annotators)
    order = np.argsort(person, kind="stable")
    parts = np.split(answers.seconds[order], np.cumsum(np.bincount(person))[:-1])
    known = [part[np.isfinite(part)] for part in parts]
    return {name: float(np.median(part)) for name, part in zip(names.tolist(), known, strict=True) if len(part)}


def _settings(study: Study) -> SettingsRecord:
    model, chosen = study.model, study.chosen
    unnamed = ("random_state", "features")  # recorded apart
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in unnamed}
    decided = {
        name.removesuffix("_"): getattr(chosen, name)
        for name in ("penalty_", "nu_", "power_", "rank_", "dimension_")
        if hasattr(chosen, name)
    }
    if study.settings.n_components is None and hasattr(chosen, "dimension_evidence_"):
        decided["dimension_evidence"] = chosen.dimension_evidence_
    method = METHOD_CLASSES[study.settings.method]
    if chosen is not model:
        if getattr(model, "cv_results_", None) is None:  # too few answers to choose by
            method = type(chosen).__name__
        else:
            decided = {"method": MethodRecord.of(chosen).to_dict(), **decided}
    return SettingsRecord(
        method,
        plain_values(parameters | {"n_components": study.n_components}),
        plain_values(decided),
        study.settings.to_dict(),
        study.weighed,
    )


def write_distances(model: OrdinalEmbedding, folder: Path, places: Bootstrap | None = None) -> list[str]:
    """Write the distances between all objects, with their spread where it is known, and return the names of the files.

    Of more than `MAX_MATRIX_OBJECTS` there is none.
    """
    for name in (DISTANCES_FILE, SPREAD_FILE):  # of an earlier map
        (folder / name).unlink(missing_ok=True)
    if model.n_objects_ > MAX_MATRIX_OBJECTS or not model._chosen._has_distances:
        return []
    found = distance_matrix(model, places)
    files = {DISTANCES_FILE: found.matrix} | ({} if found.spread is None else {SPREAD_FILE: found.spread})
    for name, matrix in files.items():
        write_text(folder / name, matrix_csv(matrix, found.objects))
    return list(files)


def write_map(results: StudyResults, folder: Path) -> None:
    """Write a map as CSV, with standard deviations where there are ellipses, its dimensions, and the results."""
    numbers, axes = results.embedding, range(1, results.n_components + 1)
    names = [f"x{k}" for k in axes]
    if results.covariances is not None:
        names += [f"sd{k}" for k in axes]
        numbers = np.hstack([numbers, np.sqrt(np.diagonal(results.covariances, axis1=1, axis2=2))])
    write_text(folder / MAP, csv_text(coordinate_rows(results.objects, numbers.tolist(), names)))
    write_text(folder / RESULTS, json.dumps(results.to_dict(), indent=1, allow_nan=False) + "\n")
    write_dimensions(results, folder)


def write_dimensions(results: StudyResults, folder: Path) -> list[str]:
    """Write the tables of dimensions, under their names, and return the names of the files."""
    tables = {} if results.weights is None else dimension_tables(results)
    for name, rows in tables.items():
        write_text(folder / name, csv_text(rows))
    return list(tables)


def write_run(
    model: OrdinalEmbedding, results: StudyResults, folder: Path, copied: Mapping[str, Path], log: str = ""
) -> None:
    """Write a study whose map was changed, with files of the study before, by their names, and a line more in its log.

    What shows the map without the change goes.
    """
    with new_run(folder) as new:
        save_model(model, new)
        write_map(results, new)
        for name, source in copied.items():
            if source.is_file():
                shutil.copyfile(source, new / name)
        if DISTANCES_FILE not in copied:
            write_distances(model, new)
        if log:
            write_text(new / LOG, log)
        draw_placed(results, new)


def log_text(results: StudyResults) -> str:
    """Return what is needed to repeat a run exactly."""
    settings, source = results.settings, results.source
    lines = [
        f"command: {results.command}",
        f"date: {results.date}",
        f"seconds: {results.seconds or 0:.1f}",
        f"file: {source.file} (sha256 {source.sha256})",
        *(
            f"lot: {lot.file} (sha256 {lot.sha256 or 'not known'}), "
            f"{'unknown' if lot.n_answers is None else lot.n_answers} answers, by: {lot.command or 'not known'}"
            for lot in source.lots or ()
        ),
        *(
            f"features: {each.name}, {each.file or 'no file'} (sha256 {each.sha256 or 'not known'})"
            for each in results.features or ()
        ),
        *(f"left out: {pluralize(out.n_rows, 'row')} where {out.where}" for out in source.left_out),
        f"seed: {results.seed}",
        "versions: " + ", ".join(f"{name} {number}" for name, number in results.versions.items()),
        f"run: {json.dumps(settings.run)}",
        f"method: {settings.method} {json.dumps(settings.parameters)}",
        f"chosen: {json.dumps(settings.chosen)}",
        *(f"note: {note}" for note in results.notes),
    ]
    return "\n".join(lines) + "\n"
