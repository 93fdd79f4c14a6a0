"""The verdict on a map in a few lines, the same on page and terminal: predictions, distances, and what to do next.

docs/mathematics.md has the rule, "The verdict". It must hold at the far ends of the intervals of errors and ceiling.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nearer._common.formatting import format_number, intcomma, percent, pluralize
from nearer.data.dissimilarities import JUDGMENT_NOUNS
from nearer.evaluation.ceiling import AT_CHANCE, NEAR_CHANCE, WIDE_INTERVAL
from nearer.evaluation.distances import (
    DISTANCES_FAIR,
    DISTANCES_GOOD,
    ELLIPSES_FAIR,
    ELLIPSES_GOOD,
    describe_answers_needed,
)
from nearer.plotting.fits import BEST_POSSIBLE
from nearer.study.dimensions import describe_dimensions
from nearer.study.methods import method_title
from nearer.study.results import NOT_CONVERGED, MethodRecord, StudyResults, WeightsRecord

_SETTING_NAMES = {
    "n_components": "dimensions",
    "n_objects": "objects",
    "n_folds": "folds",
    "n_init": "starts",
    "max_iter": "iterations at most",
    "random_state": "seed",
}


def share_of_way(error: float, ceiling: float | None, chance: float) -> float:
    """Return how far an error is on the way from chance down to the ceiling, or to zero where there is none."""
    floor = min(ceiling or 0.0, chance - 1e-9)
    return min((chance - error) / (chance - floor), 1.0)


def assumes_dimensions(results: StudyResults) -> bool:
    """Whether ellipses are right only if the dimensions of the map are enough.

    Resampled maps have no more dimensions than the map; draws of a posterior do, unless somebody asked for fewer.
    """
    regions, shown = results.regions, results.n_components
    if regions is None:
        return False
    limited = regions.n_dimensions is not None and regions.n_dimensions <= shown < len(results.objects) - 1
    return regions.kind == "confidence" or limited


def held_out_unit(results: StudyResults) -> str:
    """Return what was held out whole, which there may be too few of: answers or people."""
    return "people" if results.error is not None and results.error.unit == "annotators" else "answers"


def answer_noun(results: StudyResults) -> tuple[str, str]:
    """Return what one answer is called, and several: those about pairs have names of their own."""
    found = results.dissimilarities
    return ("answer", "answers") if found is None else JUDGMENT_NOUNS[found.kind]


def predicted(results: StudyResults) -> str:
    """Return what errors are shares of: comparisons, or pairs of judgments that differ."""
    return "comparisons" if results.dissimilarities is None else "differences between judgments"


def basis(results: StudyResults) -> str:
    """Return what the map rests on: how many answers, of how many people, about how many objects."""
    counts, source = results.counts, results.source
    about = f"about {pluralize(results.n_fitted, 'object')}"
    if source.n_answers is not None:
        basis = pluralize(source.n_answers, *answer_noun(results))
    elif counts.n_comparisons is not None:
        basis = pluralize(counts.n_comparisons, "comparison")
    else:
        return f"answers {about}"
    if counts.n_annotators:
        basis += f" of {pluralize(counts.n_annotators, 'person', 'people')}"
    return f"{basis} {about}"


def method_name(method: MethodRecord) -> str:
    """Return a method as a paper names it, with the settings that it was given.

    >>> method_name(MethodRecord("SOE")), method_name(MethodRecord("TSTE", {"trace": 0.03}))
    ('soft ordinal embedding (SOE)', 't-distributed stochastic triplet embedding (TSTE) with trace 0.03')
    """
    name = method_title(method.name)
    given = (method.parameters or {}).items()
    if not given or any(isinstance(value, Mapping | list) for _, value in given):
        return name
    return f"{name} with " + ", ".join(f"{setting.replace('_', ' ')} {value}" for setting, value in given)


def setting_name(name: str) -> str:
    """Return a setting's name in words."""
    return _SETTING_NAMES.get(name, name.replace("_", " "))


def setting_value(name: str, value: Any) -> str:
    """Return a setting's value as people write it; what is None is left out of a group.

    >>> setting_value("penalty", {"class": "Penalty", "trace": 0.01, "ridge": None, "diagonal": 1.0})
    'trace 0.01, diagonal 1'
    >>> setting_value("settled", True), setting_value("candidates", [1, 2]), setting_value("answers", 12000)
    ('yes', '1, 2', '12,000')
    """
    if name == "method":
        return method_name(MethodRecord(**value) if isinstance(value, Mapping) else MethodRecord(value))
    if isinstance(value, Mapping):
        inner = {key: item for key, item in value.items() if key != "class" and item is not None}
        return ", ".join(f"{setting_name(key)} {setting_value(key, item)}" for key, item in inner.items())
    if isinstance(value, list | tuple):
        return ", ".join(setting_value(name, item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    # A seed is a name and not an amount: it has no separators.
    if isinstance(value, int | float) and name != "seed":
        return format_number(value)
    return str(value)


Grade: TypeAlias = Literal["good", "fair", "poor", "unknown"]

# Of the way from chance to the ceiling, or to an error of zero, which nobody reaches, where there is none.
_MIN_GOOD, _MIN_FAIR = 0.85, 0.6
_SURELY_GOOD, _SURELY_FAIR = 0.7, 0.4
_MOSTLY_ASKED = 0.5  # of all triads: beyond, other questions are few
_TRUST_SENTENCE = "you can trust this map"
_LEAVE_OUT = ("at-chance", "copies", "fails-catch", "too-fast", "position-bias")  # codes of findings about people
_MAX_NAMED = 3  # people
_MIN_REPRODUCIBLE = 0.5  # of the dimensions, for some trust in them


@dataclass(frozen=True)
class Verdict:
    """What to think of a map: lines, the grade of the whole, and those of its two parts."""

    lines: tuple[str, ...]
    trust: Grade
    predictions: Grade
    distances: Grade

    def __str__(self) -> str:
        return "\n".join(self.lines)


def verdict(results: StudyResults) -> Verdict:
    """Return the verdict on a map."""
    predictions, distances = grade_predictions(results), grade_distances(results)
    trust, advice, also = _advice(results, predictions, distances)
    first = _about_placing(results) + _about_predictions(results, predictions)
    lines = [first, _about_distances(results, distances), f"Next: {advice}", *([f"Also: {also}"] if also else [])]
    return Verdict(tuple(f"{line}." for line in lines), trust, predictions, distances)


def grade_predictions(results: StudyResults) -> Grade:
    """Return how good the map's predictions are; poor at chance, and unknown where intervals leave it open."""
    measured = _measured(results)
    if results.error is None or measured is None:
        return "unknown"
    error, low, high = measured
    best, chance = results.error.informative_ceiling, results.chance
    if high >= chance - (0.5 - NEAR_CHANCE):
        return "poor" if low > chance - (0.5 - AT_CHANCE) else "unknown"
    sure = share_of_way(high, None if best is None else best.low, chance)
    share = 1.0 if best is None else share_of_way(error, best.error, chance)
    if sure < _SURELY_FAIR and high - low > WIDE_INTERVAL:
        return "unknown"
    if share < _MIN_FAIR or sure < _SURELY_FAIR:
        return "poor"
    return "fair" if share < _MIN_GOOD or sure < _SURELY_GOOD else "good"


def grade_distances(results: StudyResults) -> Grade:
    """Return how far the map's distances can be trusted: as far as the worse of reliability and ellipses says."""
    if results.weights is not None:
        return _grade_dimensions(results.weights)
    if results.reproducibility is None:
        return "unknown"
    reliability, low = results.reproducibility.reliability, results.reproducibility.low
    size = results.ellipse_size or 0.0
    if reliability < DISTANCES_FAIR or size > ELLIPSES_FAIR:
        return "poor"
    roughly = reliability < DISTANCES_GOOD or size > ELLIPSES_GOOD or (low is not None and low < DISTANCES_FAIR)
    return "fair" if roughly else "good"


def _grade_dimensions(weights: WeightsRecord) -> Grade:
    """Return how far dimensions can be trusted: all, most, or few of them."""
    if weights.reproducibility is None:
        return "unknown"
    share = sum(weights.counts) / len(weights.counts)
    return "good" if share == 1 else "fair" if share >= _MIN_REPRODUCIBLE else "poor"


def _advice(results: StudyResults, predictions: Grade, distances: Grade) -> tuple[Grade, str, str]:
    """Return whether to trust the map, what to do next, and what to do besides."""
    n_errors, reading = results.n_findings("error"), _reading(results)
    if (predictions, distances) != ("good", "good") or n_errors:
        return *_limited(results, predictions, distances, n_errors), reading
    if results.findings_of(NOT_CONVERGED):
        return (
            "fair",
            "use its predictions; before you rely on distances, fit again with --set solver=thorough",
            reading,
        )
    judge = ""
    if not results.annotators:  # nobody was judged by a map of the others
        known = (results.counts.n_annotators or 0) > 1
        judge = "judge people by maps of the others (without --quick)" if known else "find out who gave which answers"
    to_do = " and ".join(filter(None, [judge, reading]))
    if not to_do:
        return "good", _TRUST_SENTENCE, ""
    # A map fitted to answers that are to be left out is not the one to trust.
    return "fair", to_do if _to_leave_out(results) else f"{to_do}; then {_TRUST_SENTENCE}", ""


def _limited(results: StudyResults, predictions: Grade, distances: Grade, n_errors: int) -> tuple[Grade, str]:
    """Return the advice on a map that something speaks against."""
    more = more_to_ask(results)
    if at_chance(results) and predictions != "unknown":
        return "poor", f"do not use this map; look at how the answers were read and what people were asked, then {more}"
    if predictions == "unknown":
        return "unknown", f"do not rely on this map yet; {more}"
    if n_errors:
        return "poor", f"resolve {_the(n_errors, 'error')} before you rely on this map"
    if predictions == "poor":
        return "poor", f"read this map with caution, it is wrong too often; {more}"
    if results.weights is not None:
        kept = "use the reproducible dimensions alone" if distances in ("fair", "poor") else "use its dimensions"
        broad = "" if predictions == "good" else ", and small differences of weights not at all"
        return "fair" if distances != "poor" else "poor", f"{kept}{broad}; {more}"
    if predictions == "fair":
        if distances == "poor":
            return "poor", f"trust neither the layout nor the distances yet; {more}"
        return "fair", f"trust the broad layout, but not who is the nearest neighbor of whom; {more}"
    if distances == "poor":
        return "fair", f"use its predictions, but not its distances; for these {more}"
    if distances == "fair":
        return "fair", f"use its predictions, and its distances only roughly; for these {more}"
    if results.features:
        return "fair", "use its predictions; of its distances, believe what people were asked about"
    return "fair", "use its predictions; nothing is known of its distances"


def more_to_ask(results: StudyResults) -> str:
    """Return how many more answers are needed, and to which questions."""
    reliability = results.reliability
    ask = "ask for more answers"
    if reliability is not None and reliability < DISTANCES_GOOD and not at_chance(results):
        ask = f"ask for {describe_answers_needed(reliability)}"
    asked, possible = results.counts.n_triads, results.counts.n_possible_triads
    if not asked or not possible:
        return ask
    if asked < _MOSTLY_ASKED * possible:
        return f"{ask}, to other questions ({intcomma(asked)} of {intcomma(possible)} triads were asked)"
    return f"{ask}, of more people ({intcomma(asked)} of {intcomma(possible)} triads were asked already)"


def _reading(results: StudyResults) -> str:
    """Return what a reader has to do: read the warnings, and leave out or look at flagged people."""
    n_warnings, n_flagged, without = results.n_findings("warning"), results.n_flagged, _to_leave_out(results)
    found = [f"read {_the(n_warnings, 'warning')}"] if n_warnings else []
    if without:
        found.append(f"fit again without {without}")
    elif n_flagged:
        found.append(f"look at {_flagged(n_flagged)}")
    return " and ".join(found)


def _to_leave_out(results: StudyResults) -> str:
    """Return who is to be left out, and how: people whose answers say nothing, or are those of somebody else."""
    found = [each for each in results.findings_of(*_LEAVE_OUT) if each.concerned]
    if any(each.code == "copies" for each in found):
        return "flagged people, but for one of each with the same answers (--exclude person=...)"
    people = list(dict.fromkeys(str(person) for each in found for person in each.concerned))
    named = shlex.quote(f"person={','.join(people)}") if len(people) <= _MAX_NAMED else "person=..."
    return f"{_flagged(len(people))} (--exclude {named})" if people else ""


def _flagged(number: int) -> str:
    return "the person who is flagged" if number == 1 else f"the {intcomma(number)} people who are flagged"


def _about_predictions(results: StudyResults, grade: Grade) -> str:
    measured = _measured(results)
    if results.error is None or measured is None:
        return "Predictions were not tested on held-out answers"
    error, low, high = measured
    best, chance = results.error.informative_ceiling, results.chance
    ceiling = f", {BEST_POSSIBLE}: {best.text()}" if best is not None else ""
    wrong = f"the map gets {percent(error)} of unseen {predicted(results)} wrong (guessing: {percent(chance)}{ceiling})"
    if grade == "unknown":
        return (
            f"How good predictions are is not known: {wrong}, but anything from {percent(low)} to {percent(high)} is "
            f"possible with so few {held_out_unit(results)}"
        )
    if at_chance(results):
        return f"Predictions are no better than guessing: {wrong}"
    return f"Predictions are {grade}: {wrong}"


def _about_distances(results: StudyResults, grade: Grade) -> str:
    reliability = results.reliability
    if at_chance(results):
        what = "Distances mean" if results.weights is None else "Dimensions mean"
        return f"{what} nothing where predictions may be no better than guessing"
    if results.weights is not None:
        words = describe_dimensions(results.weights.reproducibility, results.n_components)
        return f"{words[0].upper()}{words[1:]}"
    if reliability is None and results.features:
        return "Distances rest on the features as well as on the answers, and have no reliability of their own"
    if reliability is None:
        return "Whether distances are reproducible is not known"
    how = {
        "good": "reproducible: other answers would give much the same ones",
        "fair": "only roughly reproducible",
        "poor": "not reproducible",
        "unknown": "of unknown reproducibility",
    }[grade]
    return f"Distances are {how} (reliability {reliability:.2f}{_size_of_ellipses(results)})"


def _size_of_ellipses(results: StudyResults) -> str:
    """Return a clause on ellipses that are too large, where the reliability of the distances does not show it."""
    reliability = results.reliability or 0.0
    size = results.ellipse_size or 0.0
    if size > ELLIPSES_FAIR or (size > ELLIPSES_GOOD and reliability >= DISTANCES_GOOD):
        return f"; a typical place is known only to within {percent(size)} of the typical distance between two objects"
    return ""


def _about_placing(results: StudyResults) -> str:
    """Return a sentence on objects that were placed on the map: all figures are those of the map before."""
    found = results.placed
    if found is None:
        return ""
    number = len(found.objects)
    return (
        f"{pluralize(number, 'object')} {'was' if number == 1 else 'were'} placed on a map of {results.n_fitted}, and "
        f"what follows is about that map, without {'it' if number == 1 else 'them'}. "
    )


def _measured(results: StudyResults) -> tuple[float, float, float] | None:
    """Return the error of the map with its interval; one without an interval is taken as exact."""
    found = results.map_error
    if found is None:
        return None
    error, low, high = found
    return error, error if low is None else low, error if high is None else high


def at_chance(results: StudyResults) -> bool:
    """Whether the interval of the held-out error reaches up to chance."""
    measured = _measured(results)
    return measured is not None and measured[2] >= results.chance


def _the(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {pluralize(number, noun)}"
