"""The verdict on a map, in one sentence: the one rule by which the page, the terminal and the results speak of trust.

**Predictions.** How far a map has come is measured between two errors that need no map: that of guessing (chance) and
that of the answers themselves, which contradict each other where a question was asked twice (the ceiling),

    share of the way = (chance - error) / (chance - ceiling),

with zero for a ceiling that is not known, or whose interval is vague (`nearer.evaluation.ceiling`), which makes the
share a lower bound. Errors have intervals, and what is said must hold at their far ends: the share is *sure* when it is
that of the upper end of the error, on the way to the lower end of the ceiling. Predictions are

    good        from a share of 0.85 on that is surely 0.7;     fair        from 0.6 on that is surely 0.4;

where no ceiling is known the sure share alone decides. They are not known if the interval of the error reaches near
chance from an error that is markedly better, or if it is wider than 0.15 and not even fair for sure: then the answers,
or the people where these are held out whole, are too few to tell. **Distances.** They are judged by their
split-half reliability and by the size of the ellipses; the bounds come from simulations, see `nearer.reproducibility`.
Each is good, fair, poor or not known, and the map can be trusted if both are good and nothing speaks against it:

    =============  ===========================  ===================================================================
    predictions    distances                    verdict
    =============  ===========================  ===================================================================
    not known      any                          not to be relied on yet
    at chance      any                          not to be trusted
    any            any, errors in the answers   not to be relied on before they are seen to
    poor           any                          with caution
    fair           poor                         neither its layout nor its distances yet
    fair           others                       its broad layout
    good           poor                         its predictions, not its distances yet
    good           fair                         its predictions, its distances roughly
    good           not known                    its predictions; of its distances nothing is known
    good           good                         it can be trusted; once warnings are read and flagged people seen to
    =============  ===========================  ===================================================================

Warnings and flagged people are named in every verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nearer.common.words import counted, digits, percent
from nearer.evaluation.ceiling import NEAR_CHANCE, SURELY_CHANCE, WIDE, Best
from nearer.evaluation.reproducibility import DISTANCES_FAIR, DISTANCES_GOOD, ELLIPSES_FAIR, ELLIPSES_GOOD, reproduced
from nearer.report.wording import basis, held_out_unit, map_error, n_fitted, share_of_way

Grade: TypeAlias = Literal["good", "fair", "poor", "unknown"]

# Of the way from chance to the ceiling, or to an error of zero, which nobody reaches, where there is none.
_GOOD, _FAIR = 0.85, 0.6
_SURELY_GOOD, _SURELY_FAIR = 0.7, 0.4


@dataclass(frozen=True)
class Verdict:
    """What to think of a map.

    Attributes
    ----------
    sentence : str
    trust, predictions, distances : {"good", "fair", "poor", "unknown"}
        The whole in a word, and its two parts.
    """

    sentence: str
    trust: Grade
    predictions: Grade
    distances: Grade


def verdict(results: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a map.

    Parameters
    ----------
    results : mapping
        What ``nearer fit`` leaves in ``results.json``.

    Examples
    --------
    >>> error = {"held_out": 0.1, "map": 0.12, "map_low": 0.11, "map_high": 0.13, "ceiling": 0.06, "chance": 0.5}
    >>> results = {"error": error, "summary": {}, "source": {"n_answers": 7097}, "findings": [], "objects": "ab"}
    >>> results |= {"annotators": None, "reproducibility": {"reliability": 0.95}, "ellipse_size": None, "placed": None}
    >>> verdict(results).sentence
    'The map gets 12% of unseen comparisons wrong (guessing: 50%, the best possible: 6%), which is 86% of the way \
from guessing to the best possible; its distances would come out much the same with other answers (reliability 0.95); \
it rests on 7097 answers about 2 objects, and you can trust it.'
    """
    predictions, distances = grade_predictions(results), grade_distances(results)
    trust, advice = _advice(results, predictions, distances)
    parts = [_about_predictions(results), _about_distances(results), f"it rests on {basis(results)}, and {advice}"]
    return Verdict(_about_placing(results) + "; ".join(filter(None, parts)) + ".", trust, predictions, distances)


def grade_predictions(results: Mapping[str, Any]) -> Grade:
    """Return how good the map's predictions are; poor at chance, and unknown where intervals leave it open."""
    measured = _measured(results)
    if measured is None:
        return "unknown"
    error, low, high = measured
    best, chance = Best.known(results["error"]), _chance(results)
    if high >= chance - (0.5 - NEAR_CHANCE):
        return "poor" if low > chance - (0.5 - SURELY_CHANCE) else "unknown"
    sure = share_of_way(high, None if best is None else best.low, chance)
    share = 1.0 if best is None else share_of_way(error, best.error, chance)
    if sure < _SURELY_FAIR and high - low > WIDE:
        return "unknown"
    if share < _FAIR or sure < _SURELY_FAIR:
        return "poor"
    return "fair" if share < _GOOD or sure < _SURELY_GOOD else "good"


def grade_distances(results: Mapping[str, Any]) -> Grade:
    """Return how far the map's distances can be trusted: as far as the worse of reliability and ellipses says."""
    found = results["reproducibility"] or {}
    reliability, low = found.get("reliability"), found.get("low")
    if reliability is None:
        return "unknown"
    size = results["ellipse_size"] or 0.0
    if reliability < DISTANCES_FAIR or size > ELLIPSES_FAIR:
        return "poor"
    roughly = reliability < DISTANCES_GOOD or size > ELLIPSES_GOOD or (low is not None and low < DISTANCES_FAIR)
    return "fair" if roughly else "good"


def _advice(results: Mapping[str, Any], predictions: Grade, distances: Grade) -> tuple[Grade, str]:
    """Return whether to trust the map, and what to do, which ends the verdict."""
    n_errors = sum(finding["level"] == "error" for finding in results["findings"] or [])
    if (predictions, distances) == ("good", "good") and not n_errors:
        done = _reading(results, "seen")
        return ("fair", f"you can trust it once you have {done}") if done else ("good", "you can trust it")
    trust, advice = _limited(results, predictions, distances, n_errors)
    to_do = _reading(results, "see")
    return trust, f"{advice}; also {to_do}" if to_do else advice


def _limited(results: Mapping[str, Any], predictions: Grade, distances: Grade, n_errors: int) -> tuple[Grade, str]:
    """Return the advice on a map that something speaks against."""
    why = _because_of_ellipses(results)
    if predictions == "unknown":
        return "unknown", "you should not rely on it yet"
    if _at_chance(results):
        return "poor", "you should not trust it"
    if n_errors:
        return "poor", f"you should not rely on it before you have seen to {_the(n_errors, 'error')}"
    if predictions == "poor":
        return "poor", "you should read it with caution: it is wrong too often"
    if predictions == "fair":
        if distances == "poor":
            return (
                "poor",
                f"you should read it with caution: neither its layout nor its distances can be trusted yet{why}",
            )
        return "fair", "you can trust its broad layout, but not who is the nearest neighbour of whom"
    if distances == "poor":
        return "fair", f"its predictions can be trusted, its distances cannot yet{why}"
    if distances == "fair":
        return "fair", f"its predictions can be trusted, its distances only roughly{why}"
    return "fair", "its predictions can be trusted, but whether its distances can is not known"


def _because_of_ellipses(results: Mapping[str, Any]) -> str:
    """Say that the ellipses are too large, where the reliability of the distances does not tell."""
    reliability = (results["reproducibility"] or {}).get("reliability") or 0.0
    size = results["ellipse_size"] or 0.0
    if size > ELLIPSES_FAIR or (size > ELLIPSES_GOOD and reliability >= DISTANCES_GOOD):
        return (
            f", as the place of a typical object is known only to within {percent(size)} of the typical distance "
            "between two objects"
        )
    return ""


def _reading(results: Mapping[str, Any], see: str) -> str:
    """Return what a reader has to do, or to have done: read the warnings, and see (or have seen) to flagged people."""
    n_warnings = sum(finding["level"] == "warning" for finding in results["findings"] or [])
    flagged = sum(bool(person.get("flags")) for person in results["annotators"] or [])
    found = [f"read {_the(n_warnings, 'warning')}"] if n_warnings else []
    if flagged:
        people = "the person who is" if flagged == 1 else f"the {digits(flagged)} people who are"
        found.append(f"{see} to {people} flagged")
    return " and ".join(found)


def _about_predictions(results: Mapping[str, Any]) -> str:
    measured = _measured(results)
    if measured is None:
        return "How good the map is was not measured"
    error, low, high = measured
    best, chance = Best.known(results["error"]), _chance(results)
    known = f", the best possible: {best.shown()}" if best is not None else ""
    said = f"The map gets {percent(error)} of unseen comparisons wrong (guessing: {percent(chance)}{known})"
    if grade_predictions(results) == "unknown":
        return (
            f"{said}, but it may be anything from {percent(low)} to {percent(high)}: too few "
            f"{held_out_unit(results)} to tell how good it is"
        )
    return f"{said}, {_way(measured, best, chance)}"


def _about_distances(results: Mapping[str, Any]) -> str:
    reliability = (results["reproducibility"] or {}).get("reliability")
    return "" if reliability is None else f"its distances {reproduced(reliability)} (reliability {reliability:.2f})"


def _about_placing(results: Mapping[str, Any]) -> str:
    """Say, where objects were placed on the map, that all figures are those of the map before."""
    found = results["placed"]
    if found is None:
        return ""
    number = len(found["objects"])
    return (
        f"{counted(number, 'object')} {'was' if number == 1 else 'were'} placed on a map of {n_fitted(results)}, and "
        f"what follows is about that map, without {'it' if number == 1 else 'them'}. "
    )


def _way(measured: tuple[float, float, float], best: Best | None, chance: float) -> str:
    error, low, high = measured
    if error >= chance:
        return "which is no better than guessing"
    if best is None:
        return "with the best possible error not known"
    if error <= best.error and high - low <= WIDE and high < chance - (0.5 - NEAR_CHANCE):
        return "which is as good as the answers allow"
    share = share_of_way(error, best.error, chance)
    return f"which is {percent(share)} of the way from guessing to the best possible"


def _measured(results: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """Return the error of the map with its interval; one without an interval is taken as exact."""
    found = map_error(results)
    if found is None:
        return None
    error, low, high = found
    return error, error if low is None else low, error if high is None else high


def _chance(results: Mapping[str, Any]) -> float:
    return results["error"].get("chance") or 0.5


def _at_chance(results: Mapping[str, Any]) -> bool:
    """Whether the error's interval reaches up to chance."""
    measured = _measured(results)
    return measured is not None and measured[2] >= _chance(results)


def _the(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {counted(number, noun)}"
