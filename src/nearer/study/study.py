"""A study: a map fitted to answers, and the analyses that show how far to trust it.

Each analysis has its own seed, so that leaving one out changes none of the others, and so that the folds by which the
number of dimensions was chosen are not those on which its error is measured. All analyses use the answers as they are,
also where the map was fitted to weighted ones.
"""

from __future__ import annotations

import datetime
import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer._common.formatting import percent, pluralize
from nearer._common.progress import elapsed_time
from nearer.checking import Finding, Findings, check, message_of
from nearer.checking.context import derive_seed
from nearer.checking.doctor import MAP_CHECKS
from nearer.checking.features import check_shares, share_findings
from nearer.checking.findings import format_line
from nearer.checking.sample_size import (
    CURVE_CODES,
    CURVE_SEED,
    check_distances,
    curve_trend,
    halves_of,
    reconcile,
    replace_curve,
    replace_distances,
)
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects
from nearer.data.labels import factorize
from nearer.embedding import SOE, STE, PosteriorEmbedding
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import MAX_SAMPLED_WORK
from nearer.embedding.posterior_sample import bimodality_message
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling
from nearer.evaluation.curves import LearningCurve, Trend, learning_curve
from nearer.evaluation.dimension import DimensionChoice, choose_dimension
from nearer.evaluation.distances import DISTANCES_FAIR, SplitHalf, ellipse_size
from nearer.evaluation.held_out import Evaluable, HeldOutError, WholeKFold, error_on_rows, held_out_error
from nearer.evaluation.metrics import margins
from nearer.evaluation.uncertainty import LEVEL, Bootstrap, bootstrap
from nearer.io import Answers
from nearer.io.features import FeatureFile
from nearer.optimize.problems.margins import error_from_margins
from nearer.sampling.differences import PeopleDifferences
from nearer.sampling.model import distinct_comparisons
from nearer.study.dimensions import describe_dimensions
from nearer.study.results import NOT_CONVERGED
from nearer.study.settings import AnnotatorWeighted, RunSettings

if TYPE_CHECKING:
    from nearer.io.multi_file import FileList
    from nearer.study.results import Lot, StudyResults

N_MARGIN_BINS = 40
CANDIDATE_DIMENSIONS = (1, 2, 3, 4, 5, 6, 8, 10)
#: The method that chooses the number of dimensions. CKL finds planted dimensions less often: its error hardly rises
#: beyond the true one.
DIMENSION_METHOD = SOE(trace=0.01)
DIMENSION_SEED = 0
# Held-out answers choose a method anew in each fold, which takes six times as long; so many show no optimism without.
_MIN_CHOSEN_ONCE = 50_000
_N_PARTS = 10  # parts, of which one is held out where fits take long
_MAX_CURVE_WORK = 20_000.0  # of each fit of a learning curve of posteriors, beyond which fewer are made
_MIN_PEOPLE, _MAX_PEOPLE_COMPARISONS = 3, 30_000  # of which differences between people are estimated
_SHARED_FEATURES = (
    "maps of two halves of the answers would share their features, and agree by these however little the answers say"
)


@dataclass(frozen=True)
class Provenance:
    """Where the answers of a study come from, and the command that made it, for its results and its log.

    Parameters
    ----------
    title, command : str
    file, sha256 : str, optional
        Of the answers; the name is theirs if left out.
    n_files, n_answers : int, optional
        Counted in the answers if left out.
    lots : tuple of Lot
        Where answers were added to earlier ones.
    features : tuple of FeatureFile
        The files of the features.
    date : str
        Now if left out.
    """

    title: str = "Map"
    file: str | None = None
    sha256: str | None = None
    n_files: int | None = None
    n_answers: int | None = None
    lots: tuple[Lot, ...] = ()
    command: str | None = None
    features: tuple[FeatureFile, ...] = ()
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))

    @classmethod
    def of_files(
        cls,
        files: FileList,
        arguments: Sequence[str],
        title: str | None = None,
        features: tuple[FeatureFile, ...] = (),
    ) -> Self:
        """Return the provenance of a study of files, and the arguments of the command line that made it."""
        command = shlex.join(["nearer", *arguments])
        return cls(
            title or files.title, files.source, files.digest(), len(files.paths), command=command, features=features
        )


@dataclass(frozen=True, eq=False)
class Study:
    """A map, and how far to trust it. What was not asked for, or could not be computed, is None.

    Attributes
    ----------
    answers, settings
        What the map is made of, and how.
    model : estimator
        Fitted to all answers.
    dimension, error, places, ceiling, annotators, people, curve, distances, findings
        What was found out: the choice of the dimension, the held-out error, where each object may lie, the noise
        ceiling, the reliability of people, how they differ, the reliability of distances, the learning curve, and
        findings about the answers.
    notes : tuple of str
        Remarks on the run, a sentence each: what it did to the answers, and why something is missing.
    missing : tuple of str
        Analyses that were asked for and failed; the notes give the reasons.
    interrupted : bool
        Whether Ctrl-C ended the run before its time.
    weighed : bool
        Whether people have different weights.
    results : StudyResults or None
        What `run_study` has written as results.json.
    files : tuple of str
        The names of all files that it has written.
    """

    answers: Answers
    settings: RunSettings
    model: OrdinalEmbedding
    dimension: DimensionChoice | None = None
    error: HeldOutError | None = None
    places: Bootstrap | None = None
    ceiling: NoiseCeiling | None = None
    annotators: AnnotatorReliability | None = None
    people: PeopleDifferences | None = None
    curve: LearningCurve | None = None
    distances: SplitHalf | None = None
    findings: Findings | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    interrupted: bool = False
    weighed: bool = False
    results: StudyResults | None = None
    files: tuple[str, ...] = ()

    @property
    def chosen(self) -> OrdinalEmbedding:
        """The method that made the map: of several, the one that was chosen."""
        return self.model._chosen

    @property
    def is_distribution(self) -> bool:
        """Whether the map summarizes a distribution of maps, whose draws are at hand."""
        return self.chosen._map_draws(1, 0) is not None

    @property
    def held_out_rows(self) -> NDArray[np.integer] | None:
        """The comparisons that the map was not made of, as it calibrates its predictions by them; None without any."""
        return getattr(self.chosen, "held_out_rows_", None)

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
        unit = "people" if self.settings.by == "annotators" else "answers"
        return curve_trend(self.curve, few=few, ceiling=self.ceiling, level=self.settings.level, unit=unit)

    @property
    def n_components(self) -> int:
        """The dimension of the map."""
        return int(self.model.embedding_.shape[1])

    @property
    def n_restarts(self) -> tuple[int, int] | None:
        """How many starts there were, and how many led to the map; None for one, and for chains of a posterior."""
        made, agreed = getattr(self.model, "restarts_", (1, 1))
        return (made, agreed) if made > 1 else None

    @property
    def ellipse_size(self) -> float | None:
        """The size of a typical ellipse of 95%, whatever the level drawn; of an interval on a line."""
        if self.places is None:
            return None
        places, n_axes = self.places, min(self.n_components, 2)
        return ellipse_size(places.embedding, places.covariances, places.radius(LEVEL, n_axes))

    def summary(self) -> str:
        """Return what was found, a line each."""
        answers, n_objects = self.answers, self.model.n_objects_
        lines = [
            f"{pluralize(n_objects, 'object')}, {pluralize(len(answers), 'answer')} "
            f"({pluralize(len(answers.comparisons), 'comparison')})",
            f"a map of {pluralize(self.n_components, 'dimension')}, by {type(self.chosen).__name__}",
        ]
        if self.n_restarts is not None:
            lines.append(f"{self.n_restarts[1]} of {pluralize(self.n_restarts[0], 'start')} led to this map")
        if answers.report.n_bad:
            lines.append(f"{pluralize(answers.report.n_bad, 'row')} skipped because they could not be used")
        if n_undecided := answers.report.n_undecided:
            people = pluralize(len(answers.report.undecided), "person", "people")
            of = f" of {people}" if answers.report.undecided else ""
            lines.append(f'{pluralize(n_undecided, "further answer")}{of}: "can\'t tell"')
        lines += [str(found) for found in (self.error, self.ceiling, self.distances) if found is not None]
        # Of a map whose distances are not reproducible, small ellipses would promise too much.
        if self.ellipse_size is not None and not (self.distances and self.distances.reliability < DISTANCES_FAIR):
            lines.append(
                f"a typical object is known to lie within {percent(self.ellipse_size)} of the typical distance between "
                "two objects (95% ellipse)"
            )
        if self.curve is not None:
            lines += [message_of(finding).text for finding in self.findings or () if finding.code in CURVE_CODES]
        lines += [format_line(finding) for finding in self.findings or () if finding.severity in ("error", "warning")]
        if not self.chosen._has_distances:
            lines.insert(2, describe_dimensions(getattr(self.chosen, "reproducibility_", None), self.n_components))
            if self.error is not None and self.error.choice is not None:
                share = percent(1 - self.error.choice.error)
                lines.append(f"the odd one of three is predicted in {share} of held-out trials (guessing: 33%)")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def margins_histogram(study: Study) -> dict[str, Any]:
    """Return the histogram of the margins of all answers, and the share below zero.

    Margins are in units of the mean squared distance between two objects.
    """
    points, comparisons = study.model.embedding_, study.answers.comparisons
    gamma, weights = margins(comparisons.reindex(study.model.objects_), points), comparisons.sample_weight
    spread = 2 * points.var(axis=0).sum()
    gamma = gamma / spread if spread > 0 else gamma
    limit = float(np.quantile(np.abs(gamma), 0.995)) or 1.0
    # Outliers are in the outermost bins: one value far out must not leave all others in one bin.
    counts, edges = np.histogram(gamma.clip(-limit, limit), bins=N_MARGIN_BINS, range=(-limit, limit))
    return {"edges": edges, "counts": counts, "share_negative": error_from_margins(gamma, weights)}


def fit_study(
    answers: Answers,
    settings: RunSettings,
    checkpoint: Callable[[Study], None] = lambda study: None,
    log_step: Callable[[str], None] = lambda step: None,
    notes: tuple[str, ...] = (),
    transform: Callable[[OrdinalEmbedding], OrdinalEmbedding] = lambda model: model,
) -> Study:
    """Fit a map to answers and find out how far to trust it.

    Parameters
    ----------
    answers : Answers
    settings : RunSettings
    checkpoint : callable, optional
        Called with the study as soon as there is a map, and again after each analysis.
    log_step, notes, transform
        As for `run_study`.

    Returns
    -------
    Study
        After Ctrl-C, with the analyses that were complete; before there is a map, KeyboardInterrupt is raised.
    """
    _check_people(answers.comparisons, settings)
    asked, settings = settings, settings.for_answers(answers.comparisons)
    dimension, notes = None, (*notes, *answers.report.notes)
    if settings.method != asked.method:
        reason = "for so many objects, with so many answers each, a posterior of maps would take minutes"
        notes += (f"{reason}: held-out answers choose a method (--method posterior takes it all the same)",)
    elif settings.features and distinct_comparisons(answers.comparisons).work > MAX_SAMPLED_WORK:
        notes += ("only the posterior takes features, and of so many answers, or objects, it takes minutes",)
    n_components = settings.n_components
    if n_components is None and not settings.chooses_dimension:
        log_step("number of dimensions")
        dimension, why = choose_dimensions(answers.comparisons, settings)
        n_components, notes = (2, (*notes, why)) if dimension is None else (dimension.shown, notes)
    log_step("map")
    study = replace(_fitted(answers, settings, n_components, notes), dimension=dimension)
    study = replace(study, model=transform(study.model))
    try:
        checkpoint(study)
        for analysis in ANALYSES:
            if analysis.applies(study):
                log_step(analysis.title)
                study = _with_analysis(study, analysis)
                checkpoint(study)
    except KeyboardInterrupt:
        study = replace(study, interrupted=True, notes=(*study.notes, "the run was stopped before its end"))
        checkpoint(study)
    return study


def _fitted(answers: Answers, settings: RunSettings, n_components: int | None, notes: tuple[str, ...]) -> Study:
    """Return a study that has a map and nothing else."""
    model, weighed = settings.estimator(n_components), False
    if settings.weigh_annotators:
        wrapper = AnnotatorWeighted(model, random_state=settings.seed).fit(answers.comparisons)
        model, weighed = wrapper.method_, wrapper.is_weighted_
        weighted = "answers are weighted by the reliability of the person"
        equal = "nobody answers better than chance against a map of the others, so that all people have equal weight"
        notes = (*notes, weighted if weighed else equal)
    else:
        model.fit(answers.comparisons)
    if not model.embedding_.any() and not model._chosen._has_distances:
        raise ValueError(
            "no dimension predicts held-out answers: these are too few, or say nothing; fewer are enough for a map "
            "(the default method)"
        )
    study = Study(answers, settings, model, notes=notes, weighed=weighed)
    if study.is_distribution:
        others = "" if settings.quick else " and learning curve"
        are = "is that" if settings.quick else "are those"
        if not settings.features:  # which CKL does not take
            notes = (*notes, f"reproducibility of distances{others} {are} of CKL, for speed")
            study = replace(study, notes=notes)
        if study.held_out_rows is not None:
            held_out = pluralize(len(study.held_out_rows), "comparison")
            how = f"the posterior is approximated by a normal distribution; {held_out} that the map is not made of"
            study = replace(study, notes=(*notes, f"{how} calibrate its predictions and give the held-out error"))
    if twice := getattr(study.chosen, "bimodal_objects_", []):
        study = replace(study, notes=(*study.notes, f"{bimodality_message(twice)}, and their ellipses hold both"))
    return study


def _with_analysis(study: Study, analysis: Analysis) -> Study:
    """Return a study with one more analysis, or the reason that it failed, which must not cost the map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of maps that nobody sees
        try:
            seed = derive_seed(study.settings.seed, analysis.seed_number)
            found: dict[str, Any] = {analysis.name: analysis.compute(study, seed)}
        except ValueError as error:
            notes = (*study.notes, f"no {analysis.title}: {error}")
            return replace(study, notes=notes, missing=(*study.missing, analysis.name))
    return _with_consistent_findings(replace(study, **found))


def _with_consistent_findings(study: Study) -> Study:
    """Return a study whose findings state what the map itself has shown, where a quick map had to do before."""
    findings, trend = study.findings, study.trend
    if findings is None:
        return study
    if study.curve is not None and trend is not None:
        findings = replace_curve(findings, trend)
    if study.distances is not None:
        findings = replace_distances(findings, study.distances, study.n_components, study.compared_with)
    return replace(study, findings=reconcile(findings))


def _check_people(comparisons: Comparisons, settings: RunSettings) -> None:
    """Refuse settings that need to know who answered, where that is not known."""
    asked = "by annotators" if settings.by == "annotators" else "weighing" if settings.weigh_annotators else ""
    if asked and not _has_people(comparisons):
        raise ValueError(
            f"{asked} needs answers of at least two people, and the file does not say who answered, or names one; "
            "name the column with --columns annotator=NAME"
        )


def _has_people(comparisons: Comparisons) -> bool:
    return comparisons.annotators is not None and len(factorize(comparisons.annotators)[0]) > 1


def choose_dimensions(comparisons: Comparisons, settings: RunSettings) -> tuple[DimensionChoice | None, str]:
    """Return the dimension in which maps of a quick method predict best, or why there is no choice."""
    seen = int(seen_objects(comparisons).sum())
    candidates = [dimension for dimension in CANDIDATE_DIMENSIONS if dimension <= seen - 2]
    if len(candidates) < 2:
        return None, f"two dimensions, as {seen} objects leave no choice"
    seed = derive_seed(settings.seed, DIMENSION_SEED)
    try:
        quick = clone(DIMENSION_METHOD).set_params(random_state=seed)
        return choose_dimension(quick, comparisons, candidates, by=settings.by, random_state=seed), ""
    except ValueError as error:
        return None, f"two dimensions, as no choice could be made: {error}"


@dataclass(frozen=True)
class Analysis:
    """Something to find out about a map."""

    name: str  # the field of `Study` that it fills
    title: str
    seed_number: int  # keeps its random numbers apart from those of the others; never changed, or results would
    compute: Callable[[Study, int], Any]  # from the study so far and a seed; ValueError if that is impossible
    applies: Callable[[Study], bool] = lambda study: True


def _error(study: Study, seed: int) -> HeldOutError:
    settings, comparisons = study.settings, study.answers.comparisons
    if study.held_out_rows is not None and settings.by == "trials":
        return error_on_rows(study.chosen, comparisons, study.held_out_rows, level=settings.level)
    distances = study.chosen._has_distances
    is_large = len(comparisons) >= _MIN_CHOSEN_ONCE
    if (study.chosen is study.model and distances) or not is_large:
        method = settings.estimator(study.n_components if distances else None)._for_cross_validation()
    else:
        method = study.chosen._with_chosen_settings()._for_cross_validation()
    weighted = _weighted_like_map(settings, method)
    if is_large and not distances and settings.by == "trials":  # a fit takes as long as that of the map
        train, test = next(WholeKFold(_N_PARTS, random_state=seed).split(comparisons))
        return error_on_rows(clone(weighted).fit(comparisons[train]), comparisons, test, level=settings.level)
    return held_out_error(weighted, comparisons, by=settings.by, level=settings.level, random_state=seed)


def _ceiling(study: Study, seed: int) -> NoiseCeiling | None:
    with elapsed_time("noise ceiling"):
        return noise_ceiling(study.answers.comparisons, level=study.settings.level)


def _findings(study: Study, seed: int) -> Findings:
    """Run the checks of `nearer check` with the same seed, without those of maps, which this one replaces."""
    settings, model = study.settings, study.chosen
    findings = check(
        study.answers, n_components=study.n_components, level=settings.level, random_state=settings.seed,
        without=[check_distances, check_shares] if settings.quick else MAP_CHECKS, features=settings.features,
    )  # fmt: skip
    findings = replace(findings, items=(*findings.items, *share_findings(study.chosen)))
    if not study.is_distribution or model.converged_ or "distances" not in model.diagnostics_:
        return findings
    distances = model.diagnostics_["distances"]
    numbers = {name: float(getattr(distances, name)) for name in ("rhat", "effective")}
    numbers["is_thorough"] = getattr(model.solver_, "max_rhat", None) is not None
    return replace(findings, items=(*findings.items, Finding(NOT_CONVERGED, "warning", numbers=numbers)))


def _distances(study: Study, seed: int) -> SplitHalf:
    if study.settings.features:
        raise ValueError(_SHARED_FEATURES)
    # With the settings chosen once, as for the ellipses: what their choice adds is in neither.
    method = study.chosen._fast_surrogate() if study.is_distribution else study.chosen._with_chosen_settings()
    more = study.more_dimensions
    enough = None if more is None else STE(more, random_state=seed)
    settings, n_splits = study.settings, 5 if study.held_out_rows is None else 1
    comparisons = study.model.comparisons_
    return halves_of(method, comparisons, settings.seed, settings.by, unrestricted=enough, n_splits=n_splits)


def _places(study: Study, seed: int) -> Bootstrap:
    settings, comparisons = study.settings, study.model.comparisons_
    by = None if settings.by == "trials" else settings.by  # annotators where enough of them are known
    return bootstrap(study.chosen, comparisons, n_resamples=settings.n_resamples, by=by, random_state=seed)


def _has_distances(study: Study) -> bool:
    return study.chosen._has_distances


def _places_apply(study: Study) -> bool:
    if not _has_distances(study):  # resampled maps are rotated onto each other
        return False
    return study.settings.n_resamples > 0 and (not study.settings.quick or study.is_distribution)


def _annotators(study: Study, seed: int) -> AnnotatorReliability | None:
    # As in the findings: an error of a person that is stated twice must be the same.
    return None if study.findings is None else study.findings.annotators


def _annotators_apply(study: Study) -> bool:
    return not study.settings.quick and _has_people(study.answers.comparisons)


def _people(study: Study, seed: int) -> PeopleDifferences | None:
    if getattr(study.chosen, "differences_", None) is not None:
        return study.chosen.differences_
    features = list(study.settings.features) or None
    model = PosteriorEmbedding(study.n_components, people="maps", solver="fast", features=features, random_state=seed)
    with warnings.catch_warnings():
        # It is about spreads over people, which two short chains tell; what the map is worth is told by others.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(study.model.comparisons_).differences_


def _people_apply(study: Study) -> bool:
    comparisons = study.answers.comparisons
    if study.settings.quick or not study.is_distribution or comparisons.annotators is None:
        return False
    n_people = len(factorize(comparisons.annotators)[0])
    return n_people >= _MIN_PEOPLE and len(comparisons) <= _MAX_PEOPLE_COMPARISONS


def _curve(study: Study, seed: int) -> LearningCurve:
    settings, sizes = study.settings, {} if study.held_out_rows is None else {"n_sizes": 2, "n_repeats": 1}
    method = study.chosen._fast_surrogate()
    if settings.features and study.is_distribution:  # a few fits of a posterior take as long as many of CKL
        is_large = distinct_comparisons(study.answers.comparisons).work > _MAX_CURVE_WORK
        sizes = {"n_sizes": 2, "n_repeats": 2} if is_large else {"n_sizes": 4}
        method = study.chosen._for_cross_validation()
    weighted = _weighted_like_map(settings, method)
    return learning_curve(
        weighted, study.answers.comparisons, by=settings.by, level=settings.level, random_state=seed, **sizes
    )


def _weighted_like_map(settings: RunSettings, method: OrdinalEmbedding) -> Evaluable:
    """Return the method, with people weighted if the map was fitted so."""
    return AnnotatorWeighted(method, random_state=settings.seed) if settings.weigh_annotators else method


#: Ordered by what a reader would miss most if the run were stopped.
ANALYSES = (
    Analysis("error", "held-out error", 2, _error),
    Analysis("ceiling", "noise ceiling", 3, _ceiling),
    Analysis("findings", "findings", 4, _findings),
    Analysis("distances", "reproducibility of distances", 8, _distances, _has_distances),
    Analysis("places", "ellipses", 5, _places, _places_apply),
    Analysis("annotators", "reliability of annotators", 6, _annotators, _annotators_apply),
    Analysis("people", "differences between people", 9, _people, _people_apply),
    Analysis(
        "curve", "learning curve", CURVE_SEED, _curve, lambda study: not study.settings.quick and _has_distances(study)
    ),
)
