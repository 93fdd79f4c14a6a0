"""Figures of the results as they are told in several places: the error, what it rests on, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer._words import counted


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


def held_out_unit(results: Mapping[str, Any]) -> str:
    """Return what was held out whole, which there may be too few of: answers or people."""
    return "people" if (results["error"] or {}).get("unit") == "annotators" else "answers"


def basis(results: Mapping[str, Any]) -> str:
    """Return what the map rests on: how many answers, of how many people, about how many objects."""
    summary, source = results["summary"] or {}, results["source"] or {}
    about = f"about {counted(n_fitted(results), 'object')}"
    if source.get("n_answers") is not None:
        basis = counted(source["n_answers"], "answer")
    elif summary.get("n_comparisons") is not None:
        basis = counted(summary["n_comparisons"], "comparison")
    else:
        return f"answers {about}"
    if summary.get("n_annotators"):
        basis += f" of {counted(summary['n_annotators'], 'person', 'people')}"
    return f"{basis} {about}"


def placed(results: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is known of the objects that were placed on the map after it was fitted; None if there are none."""
    found: Mapping[str, Any] | None = results.get("placed")
    return found or None


def n_fitted(results: Mapping[str, Any]) -> int:
    """Return how many objects the map was fitted to, without those that were placed on it."""
    return len(results["objects"]) - len((placed(results) or {}).get("objects") or [])


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
