"""The verdict on a map, in one sentence: the one rule by which the page, the terminal and the results speak of trust.

**Predictions.** How far a map has come is measured between two errors that need no map: that of guessing (chance) and
that of the answers themselves, which contradict each other where a question was asked twice (the ceiling),

    share of the way = (chance - error) / (chance - ceiling),

with zero for a ceiling that is not known, which makes the share a lower bound. **Distances.** They are judged by their
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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nearer._reliability import DISTANCES_FAIR, DISTANCES_GOOD, ELLIPSES_FAIR, ELLIPSES_GOOD, reproduced
from nearer._words import counted, digits, percent
from nearer.report._words import basis, map_error, n_fitted, placed, share_of_way

Grade: TypeAlias = Literal["good", "fair", "poor", "unknown"]

# Of the way from chance to the ceiling. Without one the way is measured to an error of zero, which nobody reaches.
_GOOD, _FAIR = 0.85, 0.6
_GOOD_UNKNOWN, _FAIR_UNKNOWN = 0.7, 0.4


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
    >>> results |= {"annotators": None, "reproducibility": {"reliability": 0.95}}
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
    """Return how good the map's predictions are; poor at chance."""
    measured = map_error(results)
    if measured is None:
        return "unknown"
    ceiling, chance = _ceiling_and_chance(results)
    good, fair = (_GOOD, _FAIR) if ceiling is not None else (_GOOD_UNKNOWN, _FAIR_UNKNOWN)
    share = share_of_way(measured[0], ceiling, chance)
    if share < fair or _at_chance(results):
        return "poor"
    return "fair" if share < good else "good"


def grade_distances(results: Mapping[str, Any]) -> Grade:
    """Return how far the map's distances can be trusted: as far as the worse of reliability and ellipses says."""
    reliability = (results.get("reproducibility") or {}).get("reliability")
    if reliability is None:
        return "unknown"
    size = results.get("ellipse_size") or 0.0
    if reliability < DISTANCES_FAIR or size > ELLIPSES_FAIR:
        return "poor"
    return "fair" if reliability < DISTANCES_GOOD or size > ELLIPSES_GOOD else "good"


def _advice(results: Mapping[str, Any], predictions: Grade, distances: Grade) -> tuple[Grade, str]:
    """Return whether to trust the map, and what to do, which ends the verdict."""
    levels = [finding["level"] for finding in results["findings"] or []]
    if predictions == "unknown":
        return "unknown", "you should not rely on it yet"
    if _at_chance(results):
        return "poor", "you should not trust it"
    if "error" in levels:
        return "poor", f"you should not rely on it before you have seen to {_the(levels.count('error'), 'error')} below"
    if predictions == "poor":
        return "poor", "you should read it with caution: it is wrong too often"
    if predictions == "fair":
        if distances == "poor":
            return "poor", "you should read it with caution: neither its layout nor its distances can be trusted yet"
        return "fair", "you can trust its broad layout, but not who is the nearest neighbour of whom"
    if distances == "poor":
        return "fair", "its predictions can be trusted, its distances cannot yet"
    if distances == "fair":
        return "fair", "its predictions can be trusted, its distances only roughly"
    if distances == "unknown":
        return "fair", "its predictions can be trusted, but whether its distances can is not known"
    return _after_reading(results, levels.count("warning"))


def _after_reading(results: Mapping[str, Any], n_warnings: int) -> tuple[Grade, str]:
    """Return the advice on a map that is good in itself."""
    flagged = sum(bool(person.get("flags")) for person in results["annotators"] or [])
    reasons = [f"read {_the(n_warnings, 'warning')} below"] if n_warnings else []
    if flagged:
        people = "the person who is" if flagged == 1 else f"the {digits(flagged)} people who are"
        reasons.append(f"seen to {people} flagged")
    if not reasons:
        return "good", "you can trust it"
    return "fair", f"you can trust it once you have {' and '.join(reasons)}"


def _about_predictions(results: Mapping[str, Any]) -> str:
    measured = map_error(results)
    if measured is None:
        return "How good the map is was not measured"
    ceiling, chance = _ceiling_and_chance(results)
    known = f", the best possible: {percent(ceiling)}" if ceiling is not None else ""
    way = _way(measured[0], share_of_way(measured[0], ceiling, chance), ceiling)
    return (
        f"The map gets {percent(measured[0])} of unseen comparisons wrong (guessing: {percent(chance)}{known}), {way}"
    )


def _about_distances(results: Mapping[str, Any]) -> str:
    reliability = (results.get("reproducibility") or {}).get("reliability")
    return "" if reliability is None else f"its distances {reproduced(reliability)} (reliability {reliability:.2f})"


def _about_placing(results: Mapping[str, Any]) -> str:
    """Say, where objects were placed on the map, that all figures are those of the map before."""
    found = placed(results)
    if found is None:
        return ""
    number = len(found["objects"])
    return (
        f"{counted(number, 'object')} {'was' if number == 1 else 'were'} placed on a map of {n_fitted(results)}, and "
        f"what follows is about that map, without {'it' if number == 1 else 'them'}. "
    )


def _way(error: float, share: float, ceiling: float | None) -> str:
    if share <= 0:
        return "which is no better than guessing"
    if ceiling is None:
        return "with the best possible error not known"
    if error <= ceiling:
        return "which is as good as the answers allow"
    return f"which is {percent(share)} of the way from guessing to the best possible"


def _ceiling_and_chance(results: Mapping[str, Any]) -> tuple[float | None, float]:
    return results["error"].get("ceiling"), results["error"].get("chance") or 0.5


def _at_chance(results: Mapping[str, Any]) -> bool:
    """Whether the error's interval reaches up to chance."""
    measured = map_error(results)
    assert measured is not None
    return (measured[0] if measured[2] is None else measured[2]) >= _ceiling_and_chance(results)[1]


def _the(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {counted(number, noun)}"
