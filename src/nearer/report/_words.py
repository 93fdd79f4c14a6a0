"""Numbers in words, and the verdict on a map in one sentence.

How far a map has come is measured between two errors that need no map: that of guessing (chance) and that of the
answers themselves, which contradict each other where a question was asked twice (the ceiling),

    share of the way = (chance - error) / (chance - ceiling),

with zero for a ceiling that is not known, which makes the share a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nearer._words import percent

# Of the way from chance to the ceiling. Without one the way is measured to an error of zero, which nobody reaches.
_GOOD, _FAIR = 0.85, 0.6
_GOOD_UNKNOWN, _FAIR_UNKNOWN = 0.7, 0.4


@dataclass(frozen=True)
class Verdict:
    """What to think of a map, in a sentence and in a word."""

    sentence: str
    trust: Literal["good", "fair", "poor", "unknown"]


def verdict(results: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a map.

    Examples
    --------
    >>> error = {"held_out": 0.1, "map": 0.12, "map_low": 0.11, "map_high": 0.13, "ceiling": 0.06, "chance": 0.5}
    >>> results = {"error": error, "summary": {}, "source": {"n_answers": 7097}, "findings": [], "objects": "ab"}
    >>> verdict(results).sentence
    'The map gets 12% of unseen comparisons wrong (guessing: 50%, the best possible: 6%), which is 86% of the way \
from guessing to the best possible; it rests on 7,097 answers about 2 objects, and you can trust it.'
    """
    error = map_error(results)
    rests = f"it rests on {basis(results)}"
    if error is None:
        return Verdict(f"How good the map is was not measured; {rests}, and you should not rely on it yet.", "unknown")
    value, _, high = error
    ceiling, chance = results["error"].get("ceiling"), results["error"].get("chance") or 0.5
    share = share_of_way(value, ceiling, chance)
    known = f", the best possible: {percent(ceiling)}" if ceiling is not None else ""
    way = _way(value, share, ceiling)
    trust, advice = _trust(share, (value if high is None else high) >= chance, ceiling is not None, results["findings"])
    return Verdict(
        f"The map gets {percent(value)} of unseen comparisons wrong (guessing: {percent(chance)}{known}), {way}; "
        f"{rests}, and {advice}.",
        trust,
    )


def map_error(results: Mapping[str, Any]) -> tuple[float, float | None, float | None] | None:
    """Return the held-out error of the map with its interval, or that of the whole solution where it has none."""
    error = results["error"]
    if not error:
        return None
    if error.get("map") is not None:
        return error["map"], error.get("map_low"), error.get("map_high")
    if error.get("held_out") is not None:
        return error["held_out"], error.get("low"), error.get("high")
    return None


def share_of_way(error: float, ceiling: float | None, chance: float) -> float:
    """Return how much of the way from chance to the ceiling an error has come, at most 1.

    Examples
    --------
    >>> share_of_way(0.25, 0.0, 0.5)
    0.5
    """
    floor = min(ceiling or 0.0, chance - 1e-9)
    return min((chance - error) / (chance - floor), 1.0)


def _way(error: float, share: float, ceiling: float | None) -> str:
    if share <= 0:
        return "which is no better than guessing"
    if ceiling is None:
        return "with the best possible error not known"
    if error <= ceiling:
        return "which is as good as the answers allow"
    return f"which is {percent(share)} of the way from guessing to the best possible"


def _trust(
    share: float, at_chance: bool, known: bool, findings: list[Mapping[str, Any]] | None
) -> tuple[Literal["good", "fair", "poor"], str]:
    """Return whether to trust the map, and the advice that ends the verdict."""
    levels = [finding["level"] for finding in findings or []]
    good, fair = (_GOOD, _FAIR) if known else (_GOOD_UNKNOWN, _FAIR_UNKNOWN)
    if at_chance:
        return "poor", "you should not trust it"
    if "error" in levels:
        return "poor", f"you should not rely on it before you have seen to {_the(levels.count('error'), 'error')} below"
    if share < fair:
        return "poor", "you should read it with caution: more answers, or more careful ones, would change it"
    if share < good:
        return "fair", "you can trust its broad layout, but not who is the nearest neighbour of whom"
    if "warning" in levels:
        return "good", f"you can trust it once you have read {_the(levels.count('warning'), 'warning')} below"
    return "good", "you can trust it"


def _the(number: int, noun: str) -> str:
    return f"the {noun}" if number == 1 else f"the {count(number, noun)}"


def basis(results: Mapping[str, Any]) -> str:
    """Return what the map rests on: how many answers, of how many people, about how many objects."""
    summary, source = results["summary"] or {}, results["source"] or {}
    about = f"about {count(len(results['objects']), 'object')}"
    if source.get("n_answers") is not None:
        basis = count(source["n_answers"], "answer")
    elif summary.get("n_comparisons") is not None:
        basis = count(summary["n_comparisons"], "comparison")
    else:
        return f"answers {about}"
    if summary.get("n_annotators"):
        basis += f" of {count(summary['n_annotators'], 'person', 'people')}"
    return f"{basis} {about}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "answer"), count(7097, "answer")
    ('1 answer', '7,097 answers')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def figure(value: float | None) -> str:
    """Return an error as it is printed in tables, or a dash.

    Examples
    --------
    >>> figure(0.12345), figure(None)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval, or nothing.

    Examples
    --------
    >>> interval(0.11, 0.13)
    '0.110 to 0.130'
    """
    return "" if low is None or high is None else f"{figure(low)} to {figure(high)}"
