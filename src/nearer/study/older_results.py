"""Results of older formats, brought up to the present one.

What a report needs to read them is changed before they are checked, and they may be damaged then. What follows from
them is worked out afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nearer.evaluation.ceiling import Best
from nearer.evaluation.curves import trend

# Keys that came later; without them nothing is known of what they hold.
_LATER = ("notes", "missing", "interrupted", "ellipse_size", "reproducibility", "placed", "regions", "trend")
# In format 1 a note began with these words where a part could not be found out.
_NOTES = {
    "error": "no held-out error:",
    "ceiling": "no noise ceiling:",
    "findings": "no findings:",
    "distances": "no reproducibility of distances:",
    "places": "no ellipses:",
    "annotators": "no reliability of annotators:",
    "curve": "no learning curve:",
}
_STOPPED, _ALIKE = "the run was stopped", "nobody answers better than chance"


def from_format_1(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results of format 1 in format 2."""
    newer = {**dict.fromkeys(_LATER), **results, "format": 2}
    notes = newer["notes"] if isinstance(newer["notes"], list) else []

    def told(beginning: str) -> bool:
        return any(isinstance(note, str) and note.startswith(beginning) for note in notes)

    newer["missing"] = [part for part, beginning in _NOTES.items() if told(beginning)]
    newer["interrupted"] = told(_STOPPED)
    if "dimension" in results:
        newer["dimension"] = _with_method(results["dimension"])
    settings = results.get("settings")
    if isinstance(settings, Mapping):
        method = settings.get("method")
        newer["settings"] = {
            **settings,
            "method": method_of(method)["name"] if isinstance(method, str) else method,
            "chosen": _with_method(settings.get("chosen")),
            "weighed": False if told(_ALIKE) else None,
        }
    return newer


def with_what_follows(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return results that were of format 1, and are checked, with what format 1 left to the report."""
    return {**results, "regions": _regions(results), "trend": _trend(results)}


def _regions(results: Mapping[str, Any]) -> dict[str, Any] | None:
    settings, summary = results["settings"] or {}, results["summary"] or {}
    run = settings.get("run") or {}
    if results["covariances"] is None:
        return None
    if settings.get("method") == "PosteriorEmbedding":
        return {"kind": "credible"}
    unit = "comparisons" if run.get("by") == "trials" and not summary.get("n_trials") else run.get("by")
    return {"kind": "confidence", "n_resamples": run.get("n_resamples"), "unit": unit}


def _trend(results: Mapping[str, Any]) -> dict[str, Any] | None:
    curve, error = results["learning_curve"], results["error"] or {}
    if not curve:
        return None
    lows, highs = ([step["error"] if step.get(end) is None else step[end] for step in curve] for end in ("low", "high"))
    found = trend(
        [step["n_comparisons"] for step in curve],
        [step["error"] for step in curve],
        lows,
        highs,
        results["level"] or 0.95,
        few=any(finding.get("code") == "too-few" for finding in results["findings"] or []),
        best=Best.read(error),
        falls_by=[step.get("falls_by") for step in curve],
        unit="people" if error.get("unit") == "annotators" else "answers",
    )
    return asdict(found)


def _with_method(value: Any) -> Any:
    if isinstance(value, Mapping) and isinstance(value.get("method"), str):
        return {**value, "method": method_of(value["method"])}
    return value


def method_of(text: str) -> dict[str, Any]:
    """Return name and parameters of a method from its repr.

    Examples
    --------
    >>> method_of("TSTE(n_components=2, trace=0.03)")
    {'name': 'TSTE', 'parameters': {'trace': '0.03'}}
    """
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text, flags=re.DOTALL)
    if found is None:
        return {"name": text, "parameters": {}}
    given = found[2] or ""
    # What is nested was never shown, and the number of dimensions is told anyway.
    pairs = [] if "(" in given else [part.strip().split("=", 1) for part in given.split(",") if "=" in part]
    return {"name": found[1], "parameters": {name: value for name, value in pairs if name != "n_components"}}
