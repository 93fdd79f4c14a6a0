"""The sections that judge the map; each returns what its template needs, or None to be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from markupsafe import Markup

from nearer._common.formatting import counted, digits, figure, interval, level_of, percent
from nearer.evaluation.ceiling import OTHER_PREDICTORS, Best, about_ceiling
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.evaluation.reproducibility import DISTANCES_FAIR, DISTANCES_GOOD, more_answers, reproduced
from nearer.plotting.curve_scale import BEST_POSSIBLE
from nearer.report import charts as _charts
from nearer.report.payload import N_NEIGHBOURS
from nearer.report.verdict import grade_predictions
from nearer.report.wording import map_error, share_of_way

Results: TypeAlias = Mapping[str, Any]
#: What a template of a section is given.
Content: TypeAlias = dict[str, Any]
_LEVELS = ("error", "warning", "note", "good")  # the worst first


@dataclass(frozen=True)
class Section:
    """A section of the page: its anchor, its heading, and a template with what it is filled with."""

    name: str
    title: str
    template: str
    content: Content


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption."""

    drawing: Markup
    caption: str


def sentences(*said: str) -> str:
    """Return sentences as a paragraph; empty ones are left out."""
    return " ".join(filter(None, said))


def notes(results: Results) -> Content | None:
    """List what the run says of itself: what it left out, and what it did to the answers."""
    return {"notes": results["notes"]} if results["notes"] else None


def left_out(results: Results, part: str, advice: str = "") -> str:
    """Return where to read why a part of the study is missing: in the notes if they tell, and else in the advice."""
    told = results["interrupted"] or part in (results["missing"] or [])
    return "The notes on this run say why." if told else advice


def trust(results: Results) -> Content:
    """Show the held-out error against the ceiling and chance."""
    error, measured = results["error"], map_error(results)
    if not error or measured is None:
        unknown = "The error on held-out answers was not measured in this run."
        paragraphs = [sentences(unknown, left_out(results, "error")), sentences(*_about_distances(results))]
        return {"figure": None, "paragraphs": paragraphs}
    value, low, high = measured
    level = level_of(results["level"] or 0.95)
    unit = f", {error['unit']} kept whole" if error.get("unit") else ""
    folds = f" Measured by {error['n_folds']}-fold cross-validation{unit}." if error.get("n_folds") else ""
    within = f" ({level} interval {interval(low, high)})" if interval(low, high) else ""
    said = sentences(
        f"On comparisons that it was not fitted to, the map has an error of {figure(value)}{within}: "
        "the share of them that it gets wrong.",
        f"Guessing has an error of {figure(error.get('chance') or 0.5)}.",
        _about_ceiling(value, results),
    )
    return {
        "figure": Figure(_charts.error_chart(error), f"Held-out error with {level} intervals.{folds}"),
        "paragraphs": [said, _about_whole(error), sentences(*_about_distances(results))],
    }


def _about_distances(results: Results) -> list[str]:
    """Say how far distances on the map can be trusted: their reliability, and the size of the ellipses."""
    found, size = results["reproducibility"], results["ellipse_size"]
    if found:
        splits = f" in {counted(found['n_splits'], 'split')}" if found.get("n_splits") else ""
        within = (
            f" ({found['low']:.2f} to {found['high']:.2f}{splits})"
            if None not in (found.get("low"), found.get("high"))
            else ""
        )
        words = [
            f"Its distances {reproduced(found['reliability'])}: maps of two halves of the answers, stepped up to all "
            f"answers by the formula of Spearman and Brown, have a reliability of {found['reliability']:.2f}{within}.",
            f"From {DISTANCES_GOOD:g} on distances can be trusted; below {DISTANCES_FAIR:g} not even what is near and "
            "what is far.",
        ]
        if found.get("validity", 1.0) < 1:
            words.append(
                "The answers call for more dimensions than are shown: distances in these explain "
                f"{percent(found['validity'])} of the variance of distances in all, which the reliability accounts for."
            )
    else:
        why = left_out(results, "distances", "To have it measured, run nearer fit again.")
        words = ["How far its distances are reproducible was not measured.", why]
    # Of a map whose distances are not reproducible, small ellipses would promise too much.
    if size is not None and not (found and found["reliability"] < DISTANCES_FAIR):
        words.append(
            f"The place of a typical object is known to within {percent(size)} of the typical distance between two "
            "objects (95% ellipses)."
        )
    return words


def _about_whole(error: Mapping[str, Any]) -> str:
    if error.get("map") is None or error.get("held_out") is None:
        return ""
    if not _charts.predicts_otherwise(error):
        return ""
    return (
        f"The method can predict with more than positions on a map, and then has an error of "
        f"{figure(error['held_out'])}."
    )


def _about_ceiling(value: float, results: Results) -> str:
    best, chance = Best.read(results["error"]), results["error"].get("chance") or 0.5
    if best is None:
        return f"The {BEST_POSSIBLE} is not known. " + left_out(
            results,
            "ceiling",
            "Too few questions were asked twice; put some to several people, or twice to one, to learn it.",
        )
    ceiling = about_ceiling(best, results["level"] or 0.95)
    said = f"The {BEST_POSSIBLE}: {ceiling}, as answers to the same question disagree. {OTHER_PREDICTORS}"
    if best.vague:
        return f"{said} That is too wide to measure this map by."
    if grade_predictions(results) == "unknown":
        return said
    share = share_of_way(value, best.error, chance)
    return f"{said} Of the way from guessing to there, this map has come {percent(max(share, 0.0))}."


def findings(results: Results) -> Content:
    """List what the doctor found, the worst first."""
    found = results["findings"]
    if found is None:
        unknown = "The answers were not looked at in this run; ask for it with: nearer check FILE."
        return {"paragraphs": [sentences(unknown, left_out(results, "findings"))], "findings": []}
    nothing = [] if found else ["The doctor found nothing to say about the answers."]
    ranked = sorted(found, key=lambda finding: _LEVELS.index(finding["level"]))
    return {"paragraphs": nothing, "findings": [{"examples": [], **finding} for finding in ranked]}


def margins(results: Results) -> Content | None:
    """Show how clearly the map satisfies the comparisons."""
    found = results["margins"]
    if not found:
        return None
    negative = found.get("share_negative")
    caption = (
        "Margins of the comparisons the map was fitted to; below zero the map is wrong. "
        "The outermost bars also hold what lies beyond them."
    )
    said = sentences(
        "The margin of a comparison is by how much its far pair is farther apart than its near pair, squared.",
        "Margins far from zero are clear cases; those around it are close calls.",
        f"Here {percent(negative)} of the comparisons go against the map." if negative is not None else "",
    )
    return {"figure": Figure(_charts.margins_chart(found), caption), "paragraphs": [said]}


def learning(results: Results) -> Content:
    """Show whether more answers would help."""
    curve = results["learning_curve"]
    if not curve:
        unknown = "Whether more answers would help was not measured in this run."
        why = left_out(results, "curve", "To have it measured, leave out --quick.")
        return {"figure": None, "paragraphs": [sentences(unknown, why)]}
    caption = "Held-out error against the number of comparisons learned from, on a logarithmic axis."
    if _has_band(curve):
        caption += f" The band is the {level_of(results['level'] or 0.95)} interval."
    drawing = _charts.learning_chart(curve, results["error"])
    return {"figure": Figure(drawing, caption), "paragraphs": [sentences(*_about_curve(results))]}


def _has_band(curve: Sequence[Mapping[str, Any]]) -> bool:
    return any(step.get("low") is not None and step.get("high") is not None for step in curve)


def _about_curve(results: Results) -> list[str]:
    """Say whether more answers would help predictions, as the doctor says it, and whether distances need them."""
    words = [results["trend"]["sentence"]] if results["trend"] else []
    reliability = (results["reproducibility"] or {}).get("reliability")
    if reliability is not None and reliability < DISTANCES_GOOD:
        words.append(f"Distances that can be trusted would take {more_answers(reliability)}.")
    return words


def dimensions(results: Results) -> Content | None:
    """Show the variance of each axis, and how the number of dimensions was chosen."""
    scree, choice = results["scree"], results["dimension"]
    if not scree and not choice:
        return None
    figures, said = [], []
    if scree:
        total = sum(scree)
        figures.append(Figure(_charts.scree_chart(scree), "Share of the map's variance along each of its axes."))
        if total == 0:
            said.append("All objects lie in one place.")
        elif len(scree) > 2:
            said.append(f"The first two axes hold {percent(sum(scree[:2]) / total)} of the map's variance.")
    if choice:
        figures.append(Figure(_charts.dimension_chart(choice), _about_whiskers(choice)))
        said += _about_choice(choice)
    elif no_dimension(results):
        said.append(f"{NO_DIMENSION[0].upper()}{NO_DIMENSION[1:]}; that of the map is for show.")
    elif evidence := evidence_of(results):
        said += _about_evidence(evidence, determined(results), len(results["embedding"][0]))
    else:
        said.append("The number of dimensions was not chosen by cross-validation in this run.")
    return {"figures": figures, "paragraphs": [sentences(*said)]}


def evidence_of(results: Results) -> Sequence[float]:
    """Return the posterior probability of 1, 2, ... dimensions, where one could be determined."""
    found: Sequence[float] = _chosen(results).get("dimension_evidence") or ()
    return () if _only_guesses(results) else found


def determined(results: Results) -> int:
    """Return the dimension that the posterior determined: it may be less than the most probable one."""
    evidence: Sequence[float] = _chosen(results)["dimension_evidence"]
    return int(_chosen(results).get("dimension") or _most_probable(evidence))


def no_dimension(results: Results) -> bool:
    """Whether the data were to choose the number of dimensions, and could not."""
    given = ((results["settings"] or {}).get("run") or {}).get("n_components")
    return given is None and "dimension" in _chosen(results) and _only_guesses(results)


def _chosen(results: Results) -> Mapping[str, Any]:
    """Return what a method found out by itself."""
    return (results["settings"] or {}).get("chosen") or {}


def _only_guesses(results: Results) -> bool:
    """Whether answers are predicted no better than by guessing, by the posterior's test or by the learning curve."""
    findings = results["findings"] or []
    return _chosen(results).get("dimension", 1) is None or any(each.get("code") == "no-signal" for each in findings)


def _most_probable(evidence: Sequence[float]) -> int:
    return max(range(len(evidence)), key=evidence.__getitem__) + 1


def called_for(evidence: Sequence[float], dimension: int) -> str:
    """Return the determined dimension in words: with its probability, if it is the most probable one."""
    told = counted(dimension, "dimension")
    likely = _most_probable(evidence) == dimension
    return f"{told} (probability {percent(evidence[dimension - 1])})" if likely else told


def _about_evidence(evidence: Sequence[float], dimension: int, shown: int) -> list[str]:
    """Say which dimension was determined, and why it may be less than the most probable one, or more than is shown."""
    words = [f"The answers call for {called_for(evidence, dimension)}."]
    if dimension < _most_probable(evidence):
        words.append(f"Along more than {dimension} the places of objects cannot be told apart.")
    if shown < dimension:
        words.append(f"The map shows {shown} of them.")
    if shown < _most_probable(evidence):
        words.append("Predictions use all dimensions of the posterior.")
    return words


def _about_whiskers(choice: Mapping[str, Any]) -> str:
    whiskers = any(choice.get("standard_errors") or [])
    return "Error of maps with more and fewer dimensions." + (" Whiskers are one standard error." if whiskers else "")


def _about_choice(choice: Mapping[str, Any]) -> list[str]:
    chosen, rule = choice["chosen"], choice.get("rule")
    if chosen is None:
        return [f"{NO_DIMENSION[0].upper()}{NO_DIMENSION[1:]}; that of the map is for show."]
    by = f" by the rule of {rule}" if rule else ""
    words = [f"{counted(chosen, 'dimension')} {'was' if chosen == 1 else 'were'} chosen{by}."]
    if rule == "one standard error":
        words.append(
            "It takes the smallest number of dimensions whose error is at most one standard error above the lowest."
        )
    return words


def annotators(results: Results) -> Content:
    """Leave room for the table of annotators, which the page's script fills."""
    found = results["annotators"]
    return {"paragraphs": [_about_people(results) if found else _no_people(results)], "table": bool(found)}


def _no_people(results: Results) -> str:
    people = (results["summary"] or {}).get("n_annotators")
    if people == 1:
        return "All answers are of one person, and there are no others to judge them by."
    if people:
        why = left_out(results, "annotators", "To have it measured, leave out --quick.")
        return sentences("How reliable each person is was not measured in this run.", why)
    return (
        "The answers do not say who gave them; with a column of annotators each person would be judged here against "
        "the map of the others."
    )


def _about_people(results: Results) -> str:
    found, looked_at = results["annotators"], results["findings"] is not None
    flagged = sum(bool(person.get("flags")) for person in found)
    if flagged:
        flags = f"{counted(flagged, 'person', 'people')} {'is' if flagged == 1 else 'are'} flagged."
    else:
        unknown = "Whether somebody answers at chance was not looked at in this run."
        flags = "Nobody is flagged." if looked_at else unknown
    untold = [each["title"] + "." for each in results["findings"] or [] if each.get("code") == "maybe-at-chance"]
    return sentences(
        f"The error of {'one person' if len(found) == 1 else f'each of {digits(len(found))} people'} against a map "
        f"fitted without them, with {level_of(results['level'] or 0.95)} intervals; the dashed line is guessing, "
        f"an error of {figure((results['error'] or {}).get('chance') or 0.5)}.",
        flags,
        *untold,
    )


def neighbours(results: Results) -> Content:
    """Leave room for the table of neighbours, which the page's script fills."""
    many = min(N_NEIGHBOURS, len(results["objects"]) - 1)
    space = counted(len(results["embedding"][0]), "dimension")
    if many == 0:
        words = "There is only one object, which has no neighbours."
    elif many == 1:
        words = f"The object nearest to each object in the map of {space}, and its distance."
    else:
        words = f"The {many} objects nearest to each object in the map of {space}, and the distance to the nearest."
    return {"paragraphs": [words], "table": True}
