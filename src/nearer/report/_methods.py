"""What was done, in the words of a methods section: only what the results say, and nothing where they are silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer._words import percent
from nearer.report._making import copyable
from nearer.report._sections import Results, paragraph
from nearer.report._words import basis, count, figure, interval, map_error


def methods(results: Results) -> str | None:
    """Show a paragraph for a paper, with a button that copies it; without a method there is none."""
    if not (results["settings"] or {}).get("method"):
        return None
    sentences = (_data(results), _map(results), _dimension(results), _error(results), _regions(results))
    return paragraph("To start from; look through it before it goes into a paper.") + copyable(
        "methods", " ".join(sentence for sentence in sentences if sentence)
    )


def _data(results: Results) -> str:
    source, summary = results["source"] or {}, results["summary"] or {}
    kind = f" ({source['kind']})" if source.get("kind") else ""
    left = [
        f"{number:,} {words}"
        for number, words in (
            (source.get("n_undecided"), "undecided answers"),
            (source.get("n_bad"), "rows that could not be read"),
        )
        if number
    ]
    without = f", without {' and '.join(left)}" if left else ""
    read = summary.get("n_comparisons")
    made = f" were read as {count(read, 'comparison')} of distances" if read else " were read"
    return f"The {basis(results)}{kind}{made}{without}."


def _map(results: Results) -> str:
    settings, version = results["settings"], (results["versions"] or {}).get("nearer")
    program = f"nearer {version}" if version else "nearer"
    seed = "" if results["seed"] is None else f" (seed {results['seed']})"
    chosen = (settings.get("chosen") or {}).get("method")
    how = f"{chosen}, which predicted held-out answers best among several methods" if chosen else settings["method"]
    return f"A map of {count(len(results['embedding'][0]), 'dimension')} was fitted with {program}{seed} by {how}."


def _dimension(results: Results) -> str:
    found = results["dimension"]
    if not found or found.get("rule") != "one standard error":
        return ""
    tried = found["candidates"]
    return (
        f"Of {min(tried)} to {max(tried)} dimensions, {found['chosen']} is the smallest number whose held-out error "
        "lies within one standard error of the least."
    )


def _error(results: Results) -> str:
    measured, error = map_error(results), results["error"]
    if measured is None:
        return ""
    value, low, high = measured
    whole = f" that kept {error['unit']} whole" if error.get("unit") else ""
    folds = f"In {error['n_folds']}-fold cross-validation{whole} it" if error.get("n_folds") else "It"
    beside = [f"guessing: {figure(error.get('chance') or 0.5)}"]
    if interval(low, high):
        beside.insert(0, f"{_level(results)} interval {interval(low, high)}")
    if error.get("ceiling") is not None:
        beside.append(f"the least that contradictions among the answers allow: {figure(error['ceiling'])}")
    return f"{folds} had an error of {figure(value)} on held-out comparisons ({'; '.join(beside)})."


def _regions(results: Results) -> str:
    if results["covariances"] is None:
        return ""
    kind = "credible" if results["settings"]["method"] == "PosteriorEmbedding" else "confidence"
    return f"Ellipses are {_level(results)} {kind} regions of the positions{_resampled(results['settings'])}."


def _resampled(settings: Mapping[str, Any]) -> str:
    run = settings.get("run") or {}
    if settings["method"] == "PosteriorEmbedding" or not run.get("n_resamples") or not run.get("by"):
        return ""
    return f", from {run['n_resamples']:,} bootstrap resamples of {run['by']}"


def _level(results: Results) -> str:
    return percent(results["level"] or 0.95)
