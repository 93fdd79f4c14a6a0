"""How the map was made: the words of a methods section, the settings, and whom to cite.

Only what the results say is told, and nothing where they are silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer._common.formatting import counted, figure, interval, level_of, percent
from nearer.evaluation.ceiling import Best
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.plotting.curve_scale import BEST_POSSIBLE
from nearer.report.sections import Content, Results, called_for, determined, evidence_of, no_dimension, sentences
from nearer.report.wording import (
    assumes_dimensions,
    basis,
    map_error,
    method_name,
    n_fitted,
    setting_name,
    setting_value,
)


def methods(results: Results) -> Content | None:
    """Show a paragraph for a paper, with a button that copies it.

    There is none without a method.
    """
    if not (results["settings"] or {}).get("method"):
        return None
    made = (
        _data(results),
        _lots(results),
        _catches(results),
        _at_chance(results),
        _map(results),
        _weighed(results),
        _dimension(results),
    )
    judged = (_error(results), _distances(results), _regions(results), _placed(results))
    advice = "To start from; look through it before it goes into a paper."
    return {"paragraphs": [advice], "id": "methods", "lines": sentences(*made, *judged).split("\n")}


def _data(results: Results) -> str:
    source, summary = results["source"] or {}, results["summary"] or {}
    kind = f" ({source['kind']})" if source.get("kind") else ""
    n_undecided, n_bad = source.get("n_undecided"), source.get("n_bad")
    left = [counted(n_undecided, "undecided answer")] if n_undecided else []
    left += [f"{counted(n_bad, 'row')} that could not be read"] if n_bad else []
    left += [f"{counted(out['n_rows'], 'row')} where {out['where']}" for out in source.get("left_out") or []]
    listing = " and ".join(filter(None, [", ".join(left[:-1]), *left[-1:]]))
    without = f", without {listing}" if left else ""
    answers, comparisons = source.get("n_answers"), summary.get("n_comparisons")
    if answers is None or not comparisons:
        return f"The map rests on {basis(results)}{kind}{without}."
    was = "was" if answers == 1 else "were"
    return f"The {basis(results)}{kind} {was} read as {counted(comparisons, 'comparison')} of distances{without}."


def _lots(results: Results) -> str:
    """Say that answers came one lot after the other."""
    lots = (results["source"] or {}).get("lots") or []
    if len(lots) < 2:
        return ""
    numbers = [str(lot["n_answers"]) for lot in lots if lot.get("n_answers") is not None]
    sizes = f" of {', '.join(numbers[:-1])} and {numbers[-1]} answers" if len(numbers) == len(lots) else ""
    return f"The answers came in {len(lots)} lots{sizes}; the map was fitted anew to all of them."


def _catches(results: Results) -> str:
    """Say how people did on catch questions."""
    found = (results["source"] or {}).get("catches")
    if not found or not sum(found["n_asked"]):
        return ""
    right, asked = sum(found["n_right"]), sum(found["n_asked"])
    share = percent(right / asked)
    judged = ", the answer of most people taken for the right one," if found.get("by") == "majority" else ""
    return (
        f"{right} of {counted(asked, 'answer')} to catch questions{judged} {'was' if asked == 1 else 'were'} right "
        f"({share}); catch questions were not part of the map."
    )


def _at_chance(results: Results) -> str:
    """Say how many people are flagged, in the words of the finding, and that the map was fitted to all answers."""
    titles = [each["title"] for each in results["findings"] or [] if each.get("code") == "at-chance"]
    return "".join(f"{title}, judged by maps of the others; no answers were left out for it." for title in titles)


def _map(results: Results) -> str:
    settings, version = results["settings"], (results["versions"] or {}).get("nearer")
    program = f"nearer {version}" if version else "nearer"
    seed = "" if results["seed"] is None else f" (seed {results['seed']})"
    chosen = (settings.get("chosen") or {}).get("method")
    how = method_name(chosen or {"name": settings["method"]})
    how += ", which predicted held-out answers best among several methods" if chosen else ""
    return f"A map of {counted(len(results['embedding'][0]), 'dimension')} was fitted with {program}{seed} by {how}."


def _weighed(results: Results) -> str:
    settings = results["settings"]
    asked = (settings.get("run") or {}).get("weigh_annotators") and settings.get("weighed") is not False
    return "People whose answers disagreed with everybody else's counted less." if asked else ""


def _dimension(results: Results) -> str:
    found = results["dimension"]
    if evidence := evidence_of(results):
        return f"The posterior called for {called_for(evidence, determined(results))}."
    if no_dimension(results) or (found and found["chosen"] is None):
        return f"{NO_DIMENSION[0].upper()}{NO_DIMENSION[1:]}."
    if not found or found.get("rule") != "one standard error":
        return ""
    *others, last = sorted(found["candidates"])
    tried = f"{', '.join(map(str, others))} and {last}" if others else str(last)
    by = f" by {method_name(found['method'])}" if found.get("method") else ""
    return (
        f"Of {tried} dimensions, {found['chosen']} is the smallest number in which the held-out error of maps{by} "
        "lies within one standard error of the least."
    )


def _error(results: Results) -> str:
    measured, error = map_error(results), results["error"]
    if measured is None:
        return ""
    value, low, high = measured
    whole = f" that kept {error['unit']} whole" if error.get("unit") else ""
    folds = f"In {error['n_folds']}-fold cross-validation{whole} such maps" if error.get("n_folds") else "The map"
    beside = [f"guessing: {figure(error.get('chance') or 0.5)}"]
    if interval(low, high):
        beside.insert(0, f"{_level(results)} interval {interval(low, high)}")
    if error.get("ceiling") is not None:
        around, best = interval(error.get("ceiling_low"), error.get("ceiling_high")), Best.read(error)
        within = f", {_level(results)} interval {around}" if around else ""
        beside.append(f"{BEST_POSSIBLE} of maps that all people share: {best.shown(figure) if best else ''}{within}")
    return f"{folds} had an error of {figure(value)} on held-out comparisons ({'; '.join(beside)})."


def _distances(results: Results) -> str:
    found = results["reproducibility"]
    if not found:
        return ""
    kept = f" of whole {found['unit']}" if found.get("unit") else ""
    splits = f" (mean of {counted(found['n_splits'], 'random split')})" if found.get("n_splits") else ""
    return (
        f"Spearman correlations of the distances on maps of two halves{kept}{splits}, stepped up to all answers by the "
        f"Spearman-Brown formula, gave a reliability of {found['reliability']:.2f}."
    )


def _placed(results: Results) -> str:
    found = results["placed"]
    if found is None:
        return ""
    number, by = len(found["objects"]), found.get("n_answers")
    answers = f" by {counted(by, 'further answer')}" if by is not None else ""
    were = f"{counted(number, 'further object')} {'was' if number == 1 else 'were'}"
    return f"{were} placed on that map{answers}, which left the others where they were; no figure above takes them in."


def _regions(results: Results) -> str:
    found = results["regions"]
    if results["covariances"] is None or not found:
        return ""
    drawn, unit = found.get("n_resamples"), found.get("unit")
    resampled = f", from {counted(drawn, 'bootstrap resample')} of {unit}" if drawn and unit else ""
    if (found.get("n_dimensions") or 0) > len(results["embedding"][0]):
        resampled = f", projected from draws in up to {counted(found['n_dimensions'], 'dimension')}"
    assumed = "; they assume that the dimensions of the map are enough" if assumes_dimensions(results) else ""
    return f"Ellipses are {_level(results)} {found['kind']} regions of the positions{resampled}{assumed}."


def _level(results: Results) -> str:
    return level_of(results["level"] or 0.95)


def settings(results: Results) -> Content:
    """Show the settings, the versions and the command that repeats the map exactly."""
    later = (results["placed"] or {}).get("commands") or []
    source = results["source"] or {}
    earlier = [lot["command"] for lot in (source.get("lots") or [])[:-1] if lot.get("command")]
    many = later or earlier or (source.get("n_files") or 1) > 1
    files, commands = "files" if many else "file", "commands" if later or earlier else "command"
    repeat = f"The same {files}, versions, seed and {commands} give the same map."
    chosen = results["settings"] or {}
    lists = {
        "Data": _about_data(results),
        "Method": ({"method": chosen["method"]} if chosen.get("method") else {}) | (chosen.get("parameters") or {}),
        "Chosen by the data": chosen.get("chosen") or {},
        "Versions": results["versions"] or {},
    }
    facts = [(title, known) for title, facts in lists.items() if (known := _known(facts))]
    if not results["command"]:
        return {"paragraphs": [], "commands": [], "facts": facts}
    return {
        "paragraphs": [repeat],
        "commands": "\n".join([*earlier, results["command"], *later]).split("\n"),
        "facts": facts,
    }


def _about_data(results: Results) -> dict[str, Any]:
    source, summary, later = results["source"] or {}, results["summary"] or {}, results["placed"] or {}
    return {
        "file": source.get("file"),
        "sha256": source.get("sha256"),
        "kind of answers": source.get("kind"),
        "answers": source.get("n_answers"),
        "rows left out": "; ".join(f"{out['n_rows']} where {out['where']}" for out in source.get("left_out") or [])
        or None,
        "bad rows skipped": source.get("n_bad"),
        "undecided answers": source.get("n_undecided"),
        "comparisons": summary.get("n_comparisons"),
        "objects": n_fitted(results) if summary.get("n_objects") is not None else None,
        "objects placed later": len(later["objects"]) if later else None,
        "answers they were placed by": later.get("n_answers"),
        "objects never compared": summary.get("n_unseen"),
        "annotators": summary.get("n_annotators"),
        "trials": summary.get("n_trials"),
        "seed": results["seed"],
        "date": results["date"],
        "seconds": None if results["seconds"] is None else f"{results['seconds']:.1f}",
    }


def _known(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values in words; what is not known, or was left open, is left out."""
    return [(setting_name(name), setting_value(name, value)) for name, value in facts.items() if value is not None]


def citing(results: Results) -> Content | None:
    """Show what to cite, in words and for BibTeX, with buttons that copy it."""
    found = results["citations"]
    if not found:
        return None
    works = [cite["text"] + (f" doi:{cite['doi']}" if cite.get("doi") else "") for cite in found]
    please = f"If this map is of use in a publication, please cite {counted(len(works), 'work')}:"
    entries = [cite["bibtex"] for cite in found if cite.get("bibtex")]
    return {"paragraphs": [please], "id": "citations", "lines": "\n".join(works).split("\n"), "bibtex": entries}
