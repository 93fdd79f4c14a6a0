"""The parts of the results of a study, as records: None is what is not known, or was not asked for."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal, Self

from nearer._common.findings import Severity
from nearer._common.formatting import decimals, pluralize
from nearer._common.results import Amount, Bounds, Count, Number, Result, Share
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.ceiling import NoiseCeiling

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
    """Errors on held-out comparisons, of what the method predicts and of the map, and the noise ceiling."""

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
        """Return the record of an estimator.

        Examples
        --------
        >>> from nearer.embedding import SOE
        >>> MethodRecord.of(SOE(trace=0.01)).to_dict()
        {'name': 'SOE', 'parameters': {'trace': 0.01}}
        """
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
