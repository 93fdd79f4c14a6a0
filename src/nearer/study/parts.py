"""The parts of a study: what is found out about a map, one after the other.

Every part has a seed of its own, so that leaving one out changes none of the others, and so that the folds which the
number of dimensions was chosen by are not those that its error is measured on. All parts judge by the answers as they
are, also where the map was fitted to weighted ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from nearer.checking import Findings, check
from nearer.checking.case import part_seed
from nearer.checking.doctor import OF_MAPS
from nearer.checking.enough import CURVE_SEED
from nearer.checking.split_half import check_distances, halves_of
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects
from nearer.data.labels import factorize
from nearer.embedding import SOE, STE
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling
from nearer.evaluation.curves import LearningCurve, learning_curve
from nearer.evaluation.dimension import DimensionChoice, choose_dimension
from nearer.evaluation.held_out import HeldOutError, Judgeable, held_out_error
from nearer.evaluation.reproducibility import SplitHalf
from nearer.evaluation.uncertainty import Bootstrap, bootstrap
from nearer.study.settings import RunSettings
from nearer.study.study import Study
from nearer.study.weighing import Weighed

_DIMENSIONS = (1, 2, 3, 4, 5, 6, 8, 10)
#: By which they are judged. CKL finds planted dimensions less often: its error hardly rises beyond the true one.
DIMENSIONS_BY = SOE(trace=0.01)
_DIMENSION_SEED = 0


@dataclass(frozen=True)
class Part:
    """Something to find out about a map.

    Attributes
    ----------
    name : str
        Of the field of `Study` that it fills.
    words : str
        What people call it.
    seed_number : int
        Sets its random numbers apart from those of other parts. Never changed, or results would.
    find : callable
        Returns it, from the study so far and a seed; ValueError if it cannot be found out.
    wanted : callable
        Whether it was asked for, and can be had from these answers.
    """

    name: str
    words: str
    seed_number: int
    find: Callable[[Study, int], Any]
    wanted: Callable[[Study], bool] = lambda study: True

    def of(self, study: Study) -> Any:
        """Find it out."""
        return self.find(study, part_seed(study.settings.seed, self.seed_number))


def choose_dimensions(comparisons: Comparisons, settings: RunSettings) -> tuple[DimensionChoice | None, str]:
    """Return the dimension that maps of a quick method predict best in, or why there is no choice."""
    seen = int(seen_objects(comparisons).sum())
    candidates = [dimension for dimension in _DIMENSIONS if dimension <= seen - 2]
    if len(candidates) < 2:
        return None, f"two dimensions, as {seen} objects leave no choice"
    seed = part_seed(settings.seed, _DIMENSION_SEED)
    try:
        quick = clone(DIMENSIONS_BY).set_params(random_state=seed)
        return choose_dimension(quick, comparisons, candidates, by=settings.by, random_state=seed), ""
    except ValueError as error:
        return None, f"two dimensions, as no choice could be made: {error}"


def _error(study: Study, seed: int) -> HeldOutError:
    settings = study.settings
    return held_out_error(
        _as_fitted(settings, settings.estimator(study.n_components).for_judging()),
        study.answers.comparisons,
        by=settings.by,
        level=settings.level,
        random_state=seed,
    )


def _ceiling(study: Study, seed: int) -> NoiseCeiling | None:
    return noise_ceiling(study.answers.comparisons, level=study.settings.level)


def _findings(study: Study, seed: int) -> Findings:
    """Find what `nearer check` finds with the same seed; of maps, this one has more to say."""
    settings = study.settings
    without = [check_distances] if settings.quick else OF_MAPS
    return check(
        study.answers, n_components=study.n_components, level=settings.level, random_state=settings.seed,
        without=without,
    )  # fmt: skip


def _distances(study: Study, seed: int) -> SplitHalf:
    # With the settings chosen once, as for the ellipses: what their choice adds is in neither.
    method = study.chosen.quick_stand_in() if study.is_distribution else study.chosen.with_chosen_settings()
    more = study.more_dimensions
    enough = None if more is None else STE(more, random_state=seed)
    settings = study.settings
    return halves_of(method, study.model.comparisons_, settings.seed, settings.by, unrestricted=enough)


def _places(study: Study, seed: int) -> Bootstrap:
    settings, comparisons = study.settings, study.model.comparisons_
    by = None if settings.by == "trials" else settings.by  # annotators where enough of them are known
    return bootstrap(study.chosen, comparisons, n_resamples=settings.n_resamples, by=by, random_state=seed)


def _wants_places(study: Study) -> bool:
    return study.settings.n_resamples > 0 and (not study.settings.quick or study.is_distribution)


def _annotators(study: Study, seed: int) -> AnnotatorReliability | None:
    # As the findings name them: an error of each person that is stated twice must be the same.
    return None if study.findings is None else study.findings.annotators


def _wants_annotators(study: Study) -> bool:
    people = study.answers.comparisons.annotators
    return not study.settings.quick and people is not None and len(factorize(people)[0]) > 1


def _curve(study: Study, seed: int) -> LearningCurve:
    settings, method = study.settings, _as_fitted(study.settings, study.chosen.quick_stand_in())
    return learning_curve(method, study.answers.comparisons, by=settings.by, level=settings.level, random_state=seed)


def _as_fitted(settings: RunSettings, method: OrdinalEmbedding) -> Judgeable:
    """Return the method, with people weighed if the map was fitted so."""
    return Weighed(method, random_state=settings.seed) if settings.weigh_annotators else method


#: In the order of what a reader would miss most if the run were stopped.
PARTS = (
    Part("error", "held-out error", 2, _error),
    Part("ceiling", "noise ceiling", 3, _ceiling),
    Part("findings", "findings", 4, _findings),
    Part("distances", "reproducibility of distances", 8, _distances),
    Part("places", "ellipses", 5, _places, _wants_places),
    Part("annotators", "reliability of annotators", 6, _annotators, _wants_annotators),
    Part("curve", "learning curve", CURVE_SEED, _curve, lambda study: not study.settings.quick),
)
