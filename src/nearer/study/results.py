"""What a study has found, as records: `results.json` is their `to_dict`, and a report needs nothing else.

Results are files, and files get damaged and edited. All of it is checked once, as it is read, and trusted from then on.
`FORMAT` grows with each change that a reader has to know of.
"""

from __future__ import annotations

import platform
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.findings import Severity
from nearer._common.formatting import percent, pluralize
from nearer._common.json_files import parse_json, plain_values
from nearer._common.results import MAX_NUMBER, Amount, Bounds, Count, Result, Share, stored_as
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.study.methods import METHOD_CLASSES, citations
from nearer.study.records import (
    AnnotatorRecord,
    AnswerSource,
    CatchRecord,
    CitationRecord,
    CurveStep,
    DataSummary,
    DimensionRecord,
    ErrorRecord,
    FindingRecord,
    LeftOutRecord,
    MarginRecord,
    MethodRecord,
    PlacedRecord,
    RegionRecord,
    ReproducibilityRecord,
    SettingsRecord,
    TrendRecord,
    check_length,
)
from nearer.study.study import DIMENSION_METHOD, Provenance, Study, margins_histogram

FORMAT = 2
#: A value of an attribute for each object.
Column: TypeAlias = list[int | float | str | None]
RESULTS = "results.json"
_RERUN_ADVICE = "; write the results again with: nearer fit"
_VERSIONED_PACKAGES = ("nearer", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyResults(Result):
    """All that was found in a study; None for what was not asked for, or could not be computed.

    Examples
    --------
    >>> found = StudyResults(title="three things", objects=("a", "b", "c"), embedding=np.eye(3, 2))
    >>> print(found)
    three things: a map of 3 objects in 2 dimensions
    >>> StudyResults.from_dict(found.to_dict() | {"level": "x"})
    Traceback (most recent call last):
    ValueError: level must be a number from 0 to 1; got 'x'; write the results again with: nearer fit
    """

    format: int = FORMAT
    title: str | None = None
    source: AnswerSource = field(default_factory=AnswerSource)
    counts: DataSummary = field(default_factory=DataSummary, metadata=stored_as("summary"))
    objects: Annotated[tuple[str, ...], Bounds(1)]
    attributes: dict[str, Column] = field(default_factory=dict)
    embedding: FloatArray
    scree: tuple[Amount, ...] | None = None
    covariances: FloatArray | None = None
    regions: RegionRecord | None = None
    level: Share = 0.95
    scales: tuple[Amount, ...] | None = None
    ellipse_size: Amount | None = None
    reproducibility: ReproducibilityRecord | None = None
    error: ErrorRecord | None = None
    margins: MarginRecord | None = None
    learning_curve: tuple[CurveStep, ...] | None = None
    trend: TrendRecord | None = None
    dimension: DimensionRecord | None = None
    annotators: tuple[AnnotatorRecord, ...] | None = None
    findings: tuple[FindingRecord, ...] | None = None
    settings: SettingsRecord = field(default_factory=SettingsRecord)
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    interrupted: bool = False
    placed: PlacedRecord | None = None
    versions: dict[str, str] = field(default_factory=dict)
    seed: Count | None = None
    command: str | None = None
    date: str | None = None
    seconds: Amount | None = None
    citations: tuple[CitationRecord, ...] = ()

    def __post_init__(self) -> None:
        """Check what has to fit together: a place, and a value of each column, for each object."""
        n = len(self.objects)
        p = _check_matrix("embedding", self.embedding, (n, None))[1]
        if self.covariances is not None:
            _check_matrix("covariances", self.covariances, (n, p, p))
            variances = np.diagonal(self.covariances, axis1=1, axis2=2)
            if variances.min() < 0:
                raise ValueError(
                    f"covariances: row {int(np.argwhere(variances < 0)[0, 0])} holds a variance below zero"
                )
            if len(self.scales or ()) < min(p, 3):
                raise ValueError("scales must hold a number for each of 1, 2 and 3 dimensions shown")
        for name, column in self.attributes.items():
            if len(column) != n:
                raise ValueError(
                    f"attributes: the column {name!r} has {pluralize(len(column), 'value')} for "
                    f"{pluralize(n, 'object')}; give one for each"
                )
        if self.scree is not None:
            check_length("scree", self.scree, p)
        later = () if self.placed is None else self.placed.objects
        if later and (len(later) >= n or self.objects[-len(later) :] != later):
            raise ValueError("placed.objects must be the last of the objects")

    @property
    def n_components(self) -> int:
        """The dimension of the map."""
        return int(self.embedding.shape[1])

    @property
    def n_fitted(self) -> int:
        """How many objects the map was fitted to, without those that were placed on it."""
        return len(self.objects) - (0 if self.placed is None else len(self.placed.objects))

    @property
    def map_error(self) -> tuple[float, float | None, float | None] | None:
        """The held-out error of the map with its interval, or that of the whole solution where it has none."""
        return None if self.error is None else self.error.of_map

    @property
    def chance(self) -> float:
        """The error of guessing."""
        return 0.5 if self.error is None else self.error.chance

    @property
    def is_at_chance(self) -> bool:
        """Whether held-out answers are predicted no better than by guessing.

        The test of the posterior, the learning curve or the interval of the held-out error may show it.
        """
        upper = None if self.map_error is None else self.map_error[2]
        return (
            self.settings.chosen.get("dimension", 1) is None
            or bool(self.findings_of("no-signal"))
            or (upper is not None and upper >= self.chance)
        )

    @property
    def lacks_dimension(self) -> bool:
        """Whether the data were to choose the number of dimensions, and could not."""
        settings, found = self.settings, self.dimension
        if found is not None:
            return found.chosen is None or self.is_at_chance
        return settings.run.get("n_components") is None and "dimension" in settings.chosen and self.is_at_chance

    @property
    def reliability(self) -> float | None:
        """The split-half reliability of the distances."""
        return None if self.reproducibility is None else self.reproducibility.reliability

    @property
    def n_flagged(self) -> int:
        """How many annotators are flagged."""
        return sum(bool(person.flags) for person in self.annotators or ())

    def findings_of(self, *codes: str) -> list[FindingRecord]:
        """Return the findings with one of these codes."""
        return [each for each in self.findings or () if each.code in codes]

    def n_findings(self, severity: Severity) -> int:
        """Return how many findings are of a severity."""
        return sum(each.severity == severity for each in self.findings or ())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Return results that were read, or raise an error that names what is wrong; null is what is not known."""
        if not isinstance(values, Mapping):
            raise ValueError(f"the results must be a JSON object; got {type(values).__name__}{_RERUN_ADVICE}")
        if values.get("format") != FORMAT:
            raise ValueError(
                f"the results have the format {reprlib.repr(values.get('format'))}, and this version of nearer reads "
                f"format {FORMAT}{_RERUN_ADVICE}"
            )
        missing = [key for key in KEYS if key not in values]
        if missing:
            raise ValueError(f"the results lack {', '.join(missing)}{_RERUN_ADVICE}")
        try:
            return super().from_dict({key: value for key, value in values.items() if value is not None})
        except ValueError as error:
            raise ValueError(f"{error}{_RERUN_ADVICE}") from None

    def summary(self) -> str:
        """Return the map, its error and its reliability, a line each."""
        title = f"{self.title or 'Map'}: a map of {pluralize(len(self.objects), 'object')}"
        lines = [f"{title} in {pluralize(self.n_components, 'dimension')}"]
        if self.map_error is not None:
            lines.append(f"{percent(self.map_error[0])} of unseen comparisons wrong")
        if self.reliability is not None:
            lines.append(f"reliability of its distances {self.reliability:.2f}")
        return "\n".join(lines)


#: All keys of the file; each must be there.
KEYS = tuple(each.metadata.get("key", each.name) for each in fields(StudyResults))


def read_results(folder: str | PathLike[str]) -> StudyResults:
    """Return the results in a folder that `nearer fit` wrote.

    Examples
    --------
    >>> read_results("nowhere")
    Traceback (most recent call last):
    ValueError: nowhere holds no results: there is no results.json; make them with `nearer fit FILE -o nowhere`
    """
    path = Path(folder) / RESULTS
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no results: there is no {RESULTS}; make them with `nearer fit FILE -o {folder}`"
        )
    try:
        return StudyResults.from_dict(parse_json(path.read_bytes()))
    except ValueError as error:
        raise ValueError(
            f"{path} cannot be used: {str(error).removesuffix(_RERUN_ADVICE)}; run `nearer fit` again"
        ) from error


def _check_matrix(name: str, array: FloatArray, shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """Check that numbers are finite and have a shape, None meaning at least one, and return the shape."""
    fits = array.ndim == len(shape) and all(
        have == want if want is not None else have >= 1 for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("p" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); got {array.shape}, and objects go by rows")
    finite = np.abs(array) <= MAX_NUMBER
    if not finite.all():
        row = int(np.argwhere(~finite)[0, 0])
        raise ValueError(f"{name}: row {row} holds a value that is not a finite number")
    return array.shape


def results_of(study: Study, provenance: Provenance, seconds: float | None = None) -> StudyResults:
    """Return what a study has found, for its file and its report."""
    model, settings = study.model, study.settings
    summary = study.answers.comparisons.summary()
    places = study.places
    found = StudyResults(
        title=provenance.title,
        source=_source(study, provenance),
        counts=DataSummary(**{each.name: getattr(summary, each.name) for each in fields(DataSummary)}),
        objects=tuple(map(str, model.objects_.tolist())),
        embedding=model.embedding_,
        scree=tuple(np.sort(model.embedding_.var(axis=0))[::-1].tolist()),
        covariances=None if places is None else places.covariances,
        regions=_regions(study),
        level=settings.level,
        scales=None
        if places is None
        else tuple(places.radius(settings.level, n_axes) for n_axes in range(1, min(study.n_components, 3) + 1)),
        ellipse_size=study.ellipse_size,
        reproducibility=_reproducibility(study),
        error=_error(study),
        margins=_margins(study),
        learning_curve=_curve(study),
        trend=None if study.trend is None else TrendRecord(**asdict(study.trend)),
        dimension=_dimension(study),
        annotators=_annotators(study),
        findings=None if study.findings is None else tuple(FindingRecord(**each) for each in study.findings.to_dicts()),
        settings=_settings(study),
        notes=study.notes,
        missing=study.missing,
        interrupted=study.interrupted,
        versions={name: version(name) for name in _VERSIONED_PACKAGES} | {"python": platform.python_version()},
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


def share_known(judged: Comparisons, fitted: Comparisons) -> float:
    """Return the share of comparisons that are, as they were answered, among others over the same objects.

    Examples
    --------
    >>> share_known(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]), Comparisons.from_triplets([[0, 1, 2]]))
    0.5
    """
    known = {row.tobytes() for row in np.ascontiguousarray(fitted.reindex(judged.objects).oriented, dtype=np.int64)}
    rows = np.ascontiguousarray(judged.oriented, dtype=np.int64)
    return float(np.mean([row.tobytes() in known for row in rows]))


def _regions(study: Study) -> RegionRecord | None:
    if study.places is None:
        return None
    if study.is_distribution:
        return RegionRecord("credible", n_dimensions=study.chosen.draws_.points.shape[2])
    return RegionRecord("confidence", study.settings.n_resamples, study.places.by)


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


def _margins(study: Study) -> MarginRecord:
    found = margins_histogram(study)
    return MarginRecord(tuple(found["edges"].tolist()), tuple(found["counts"].tolist()), found["share_negative"])


def _curve(study: Study) -> tuple[CurveStep, ...] | None:
    if study.curve is None:
        return None
    curve = study.curve
    fall_errors = (
        [None] * len(curve.sizes) if curve.fall_errors is None else [_finite(each) for each in curve.fall_errors]
    )
    columns = (curve.sizes, curve.errors, curve.lows, curve.highs)
    rows = zip(*(np.asarray(column).tolist() for column in columns), fall_errors, strict=True)
    return tuple(CurveStep(*row) for row in rows)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


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
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name != "random_state"}
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
        asdict(study.settings),
        study.weighed,
    )
