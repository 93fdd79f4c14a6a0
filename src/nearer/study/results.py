"""What a study has found, as records: `results.json` is their `to_dict`, and a report needs nothing else.

None is what is not known, or was not asked for. Results are files, and files get damaged and edited. All of it is
checked once, as it is read, and trusted from then on. `FORMAT` grows with each change that a reader has to know of.
"""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.findings import Severity
from nearer._common.formatting import decimals, percent, pluralize
from nearer._common.json_files import parse_json
from nearer._common.results import MAX_NUMBER, Amount, Bounds, Count, Number, Result, Share, stored_as
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.dimensions import MIN_REPRODUCIBILITY
from nearer.evaluation.ceiling import NoiseCeiling
from nearer.sampling.convergence import Convergence
from nearer.study.dimensions import NAMES_FILE, read_names

FORMAT = 2
#: A value of an attribute for each object.
Column: TypeAlias = list[int | float | str | None]
RESULTS = "results.json"
_RERUN_ADVICE = "; write the results again with: nearer fit"
#: The code of the finding that the chains of a posterior disagree.
NOT_CONVERGED = "not-converged"


class _Record(Result):
    """A part of the results."""

    #: Fields that are left out of the file where they are None.
    optional: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().to_dict().items() if value is not None or key not in self.optional}


@dataclass(frozen=True)
class LeftOutRecord(_Record):
    """Rows that were left out on purpose: the rule, as `nearer.io.answers.LeftOut` has it, and in words."""

    n_rows: Count
    column: str
    sign: str
    values: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class CatchRecord(_Record):
    """Answers to catch questions, and right ones among them, of each person."""

    people: tuple[str, ...]
    n_asked: tuple[Count, ...]
    n_right: tuple[Count, ...]
    column: str = ""
    by: Literal["expected", "majority"] = "expected"


@dataclass(frozen=True)
class Lot(_Record):
    """Answers that came together."""

    file: str
    sha256: str | None = None
    n_answers: Count | None = None
    command: str | None = None
    optional = ("sha256", "n_answers", "command")


@dataclass(frozen=True)
class AnswerSource(_Record):
    """The files of the answers, and what was left out of them; lots where answers were added later."""

    file: str | None = None
    sha256: str | None = None
    kind: str | None = None
    n_answers: Count | None = None
    n_bad: Count | None = None
    n_undecided: Count | None = None
    left_out: tuple[LeftOutRecord, ...] = ()
    n_files: Count | None = None
    catches: CatchRecord | None = None
    lots: tuple[Lot, ...] | None = None
    optional = ("lots",)


@dataclass(frozen=True)
class FeatureRecord(_Record):
    """A set of features that the map was fitted with, and its share of the prior variance of the coordinates."""

    name: str
    file: str | None = None
    sha256: str | None = None
    n_objects: Count | None = None
    n_columns: Count | None = None
    share: Share | None = None
    share_low: Share | None = None
    share_high: Share | None = None


@dataclass(frozen=True)
class DeviationRecord(_Record):
    """How far an object lies from where its features suggest, as `PosteriorEmbedding.feature_deviations` returns it."""

    object: str
    distance: Amount
    low: Amount
    high: Amount


@dataclass(frozen=True)
class DataSummary(_Record):
    """Counts of the comparisons; None for what the answers do not say."""

    n_objects: Count | None = None
    n_comparisons: Count | None = None
    n_annotators: Count | None = None
    n_trials: Count | None = None
    n_unseen: Count | None = None
    n_triads: Count | None = None
    n_possible_triads: Count | None = None


@dataclass(frozen=True)
class DissimilarityRecord(_Record):
    """What a map of dissimilarities was made of, and how well it fits: `nearer.data.dissimilarities.Dissimilarities`.

    ``values`` are the dissimilarities of (some of the) pairs, with their distances on the map and their disparities.
    """

    kind: Literal["matrix", "ratings", "same-different", "confusions", "arrangement", "sorting"]
    high_is: Literal["different", "similar"]
    known_by: Literal["option", "name", "diagonal", "kind", "assumed"]
    n_pairs: Count
    n_possible: Count
    stress: Amount
    values: tuple[Number, ...]
    distances: tuple[Amount, ...]
    disparities: tuple[Number, ...]

    def __post_init__(self) -> None:
        for name in ("distances", "disparities"):
            check_length(f"dissimilarities.{name}", getattr(self, name), len(self.values))


@dataclass(frozen=True)
class RegionRecord(_Record):
    """What the ellipses are: credible regions of a posterior, or confidence regions by resampling whole units."""

    kind: Literal["confidence", "credible"]
    n_resamples: Count | None = None
    unit: str | None = None
    n_dimensions: Annotated[int, Bounds(1)] | None = None
    optional = ("n_dimensions",)


@dataclass(frozen=True)
class ReproducibilityRecord(_Record):
    """Split-half reliability of the distances."""

    reliability: Share
    unit: str | None = None
    half: Annotated[float, Bounds(-1, 1)] | None = None
    low: Share | None = None
    high: Share | None = None
    n_splits: Annotated[int, Bounds(1)] | None = None
    n_objects: Count | None = None
    validity: Share | None = None


@dataclass(frozen=True)
class ErrorRecord(_Record):
    """Errors on held-out comparisons, of what the method predicts and of the map, and the noise ceiling.

    With that of the choice of the odd one out of three, where answers are of this kind.
    """

    held_out: Share | None = None
    low: float | None = None
    high: float | None = None
    map: Share | None = None
    map_low: float | None = None
    map_high: float | None = None
    ceiling: Share | None = None
    ceiling_at_most: Share | None = None
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    chance: Share = 0.5
    n_folds: Count | None = None
    unit: str | None = None
    choice: Share | None = None
    choice_low: float | None = None
    choice_high: float | None = None
    optional = ("choice", "choice_low", "choice_high")

    @property
    def best(self) -> NoiseCeiling | None:
        """The noise ceiling with its interval, which may be vague."""
        return NoiseCeiling.read(asdict(self))

    @property
    def informative_ceiling(self) -> NoiseCeiling | None:
        """The noise ceiling, unless it is vague."""
        return NoiseCeiling.read_informative(asdict(self))

    @property
    def of_map(self) -> tuple[float, float | None, float | None] | None:
        """The error of the map with its interval, or that of the whole solution where it has none."""
        if self.map is not None:
            return self.map, self.map_low, self.map_high
        return None if self.held_out is None else (self.held_out, self.low, self.high)

    @property
    def has_other_predictor(self) -> bool:
        """Whether the method predicts by something else than the map: the two errors differ where they are printed."""
        return None not in (self.map, self.held_out) and decimals(self.map) != decimals(self.held_out)


@dataclass(frozen=True)
class WeightsRecord(_Record):
    """Of a map whose axes are nonnegative dimensions: how reproducible these are, intervals of weights, and names.

    Intervals are those of the objects that the map was fitted to. The name of a dimension is empty until somebody names
    it, in the file `nearer.study.dimensions.NAMES_FILE` next to the results.
    """

    reproducibility: tuple[Annotated[float, Bounds(-1, 1)], ...] | None = None
    intervals: FloatArray | None = None
    names: tuple[str, ...] = ()

    @property
    def titles(self) -> list[str]:
        """The name of each dimension, or its number."""
        return [name or f"dimension {number}" for number, name in enumerate(self.names, start=1)]

    @property
    def counts(self) -> list[bool]:
        """Which dimensions are reproducible, as far as that was measured."""
        return [value >= MIN_REPRODUCIBILITY for value in self.reproducibility or (1.0,) * len(self.names)]


@dataclass(frozen=True)
class MarginRecord(_Record):
    """The histogram of the margins of all answers."""

    edges: tuple[Number, ...]
    counts: Annotated[tuple[Amount, ...], Bounds(1)]
    share_negative: Share | None = None

    def __post_init__(self) -> None:
        check_length("margins.edges", self.edges, len(self.counts) + 1)
        if any(right < left for left, right in itertools.pairwise(self.edges)):
            raise ValueError("margins.edges must ascend")


@dataclass(frozen=True)
class CurveStep(_Record):
    """A point of the learning curve, with the standard error of the fall of the error from there to the last point."""

    n_comparisons: Amount
    error: Share
    low: float | None = None
    high: float | None = None
    fall_error: Amount | None = None


@dataclass(frozen=True)
class TrendRecord(_Record):
    """Where the learning curve leads."""

    kind: Literal["guessing", "unknown", "falls", "settled"]
    sentence: str


@dataclass(frozen=True)
class MethodRecord(_Record):
    """A method and the settings that it was given, without dimension and seed."""

    name: str
    parameters: dict[str, Any] | None = None

    @classmethod
    def of(cls, model: OrdinalEmbedding) -> Self:
        """Return the record of an estimator."""
        usual = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
        given = {name: value for name, value in model.get_params(deep=False).items() if value != usual[name]}
        given = {name: value for name, value in given.items() if name not in ("n_components", "random_state")}
        return cls(type(model).__name__, given)


@dataclass(frozen=True)
class DimensionRecord(_Record):
    """Held-out errors of maps of several dimensions, and which was chosen by them."""

    candidates: Annotated[tuple[Annotated[int, Bounds(1)], ...], Bounds(1)]
    errors: tuple[Share, ...]
    standard_errors: tuple[Amount | None, ...] | None = None
    chosen: Annotated[int, Bounds(1)] | None = None
    reliabilities: tuple[Share, ...] | None = None
    rule: str | None = None
    method: MethodRecord | None = None

    def __post_init__(self) -> None:
        for name in ("errors", "standard_errors"):
            if getattr(self, name) is not None:
                check_length(f"dimension.{name}", getattr(self, name), len(self.candidates))


@dataclass(frozen=True)
class AnnotatorRecord(_Record):
    """A person, judged by a map of the others."""

    name: str
    n_answers: Count | None = None
    error: Share | None = None
    low: float | None = None
    high: float | None = None
    median_seconds: Amount | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class PersonRecord(_Record):
    """How far the map of a person departs from the common one, relative to its size."""

    name: str
    departure: Amount
    low: Amount
    high: Amount


@dataclass(frozen=True)
class PeopleRecord(_Record):
    """How people differ: standard deviations of the logarithms of weights, and of departures from the common map.

    Means, and ends of intervals of 95%; departures are relative to the size of the map.
    """

    weights: tuple[Amount, Amount, Amount]
    departures: tuple[Amount, Amount, Amount]
    axes_identified: bool
    n_kinds: Annotated[int, Bounds(1)] = 1
    farthest: tuple[PersonRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FindingRecord(_Record):
    """A finding about the answers, with its text."""

    code: str | None = None
    severity: Severity
    numbers: dict[str, Any] = field(default_factory=dict)
    concerned: tuple[Any, ...] = ()
    title: str
    text: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class SettingsRecord(_Record):
    """The method with its settings, what the data chose of them, and the settings of the run."""

    method: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    weighed: bool = False

    def __post_init__(self) -> None:
        _ = self.chosen_method, self.dimension_evidence

    @property
    def chosen_method(self) -> MethodRecord | None:
        """The method that predicted held-out answers best, where several were tried."""
        found = self.chosen.get("method")
        return None if found is None else MethodRecord.from_dict(found, "settings.chosen.method")

    @property
    def dimension_evidence(self) -> tuple[float, ...]:
        """The posterior probability of 1, 2, ... dimensions; empty where it is not known."""
        return _Evidence.from_dict(self.chosen, "settings.chosen").dimension_evidence or ()

    @property
    def dimension(self) -> int | None:
        """The dimension that a posterior determined."""
        return _Evidence.from_dict(self.chosen, "settings.chosen").dimension


@dataclass(frozen=True)
class _Evidence(_Record):
    """What a posterior says of the number of dimensions."""

    dimension_evidence: Annotated[tuple[Share, ...], Bounds(1)] | None = None
    dimension: Annotated[int, Bounds(1)] | None = None


@dataclass(frozen=True)
class PlacedRecord(_Record):
    """Objects that were placed on the map later."""

    objects: Annotated[tuple[str, ...], Bounds(1)]
    n_answers: Count | None = None
    n_unsure: Count | None = None
    title: str | None = None
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class CitationRecord(_Record):
    """A work to cite."""

    text: str
    doi: str | None = None
    bibtex: str | None = None


def check_length(place: str, values: tuple[Any, ...], wanted: int) -> None:
    """Check how many numbers a list holds."""
    if len(values) != wanted:
        raise ValueError(f"{place} must hold {pluralize(wanted, 'number')}; got {len(values)}")


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
    features: tuple[FeatureRecord, ...] | None = None
    feature_deviations: tuple[DeviationRecord, ...] | None = None
    dissimilarities: DissimilarityRecord | None = None
    counts: DataSummary = field(default_factory=DataSummary, metadata=stored_as("summary"))
    objects: Annotated[tuple[str, ...], Bounds(1)]
    attributes: dict[str, Column] = field(default_factory=dict)
    embedding: FloatArray
    scree: tuple[Amount, ...] | None = None
    weights: WeightsRecord | None = None
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
    convergence: Convergence | None = None
    annotators: tuple[AnnotatorRecord, ...] | None = None
    people: PeopleRecord | None = None
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
        if self.weights is not None:
            check_length("weights.names", self.weights.names, p)
            if self.weights.reproducibility is not None:
                check_length("weights.reproducibility", self.weights.reproducibility, p)
            if self.weights.intervals is not None:
                _check_matrix("weights.intervals", self.weights.intervals, (self.n_fitted, p, 2))
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

    def with_names(self, names: tuple[str, ...]) -> Self:
        """Return the results with names of the dimensions."""
        return self if self.weights is None else replace(self, weights=replace(self.weights, names=names))

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
        results = StudyResults.from_dict(parse_json(path.read_bytes()))
    except ValueError as error:
        raise ValueError(
            f"{path} cannot be used: {str(error).removesuffix(_RERUN_ADVICE)}; run `nearer fit` again"
        ) from error
    if results.weights is None or not (path.parent / NAMES_FILE).is_file():
        return results
    return results.with_names(read_names(path.parent / NAMES_FILE, results.n_components))


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
