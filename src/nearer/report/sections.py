"""The sections of the page; each returns what its template needs, or None to be left out.

They state what the results hold, and nothing where they are silent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from markupsafe import Markup

from nearer._common.findings import SEVERITIES
from nearer._common.formatting import decimals, format_interval, format_level, intcomma, percent, pluralize
from nearer.data.dissimilarities import describe_judgments
from nearer.embedding.weight_intervals import LEVEL
from nearer.evaluation.ceiling import OTHER_PREDICTORS
from nearer.evaluation.dimension import NO_DIMENSION
from nearer.evaluation.distances import DISTANCES_FAIR, DISTANCES_GOOD, describe_answers_needed, describe_reliability
from nearer.plotting.fits import BEST_POSSIBLE
from nearer.report import charts as _charts
from nearer.report.verdict import (
    answer_noun,
    assumes_dimensions,
    basis,
    grade_predictions,
    method_name,
    predicted,
    setting_name,
    setting_value,
    share_of_way,
)
from nearer.study.dimensions import describe_dimensions
from nearer.study.results import ErrorRecord, FeatureRecord, MethodRecord, StudyResults, WeightsRecord

#: What a template of a section is given.
Content: TypeAlias = dict[str, Any]
N_NEIGHBORS = 5


class Section(NamedTuple):
    """A section of the page: its anchor, its heading, and a template with what it is filled with."""

    name: str
    title: str
    template: str
    content: Content


class Figure(NamedTuple):
    """A drawing with its caption."""

    drawing: Markup
    caption: str


def paragraph(*sentences: str) -> str:
    """Return sentences as a paragraph, without empty ones."""
    return " ".join(filter(None, sentences))


def notes(results: StudyResults) -> Content | None:
    """List the notes of the run: exclusions, and what it did to the answers."""
    return {"notes": results.notes} if results.notes else None


def missing_explanation(results: StudyResults, part: str, advice: str = "") -> str:
    """Return why a part of the study is missing: a pointer to the notes if they explain it, else the advice."""
    is_explained = results.interrupted or part in results.missing
    return "The notes on this run say why." if is_explained else advice


def trust(results: StudyResults) -> Content:
    """Show the held-out error against the ceiling and chance."""
    error, measured = results.error, results.map_error
    if error is None or measured is None:
        unknown = "The error on held-out answers was not measured in this run."
        paragraphs = [paragraph(unknown, missing_explanation(results, "error")), paragraph(*_about_distances(results))]
        return {"figure": None, "paragraphs": paragraphs}
    value, low, high = measured
    level = format_level(results.level)
    unit = f", {error.unit} kept whole" if error.unit else ""
    folds = f" Measured by {error.n_folds}-fold cross-validation{unit}." if error.n_folds else ""
    within = f" ({level} interval {format_interval(low, high)})" if format_interval(low, high) else ""
    about_error = paragraph(
        f"On {predicted(results)} that it was not fitted to, the map has an error of {decimals(value)}{within}: "
        "the share of them that it gets wrong.",
        _about_choices(error, level),
        f"Guessing has an error of {decimals(error.chance)}.",
        _about_ceiling(value, results),
    )
    whole = "The method can predict with more than positions on a map, and then has an error of "
    return {
        "figure": Figure(_charts.error_chart(error), f"Held-out error with {level} intervals.{folds}"),
        "paragraphs": [
            about_error,
            f"{whole}{decimals(error.held_out)}." if error.has_other_predictor else "",
            paragraph(*_about_distances(results)),
        ],
    }


def _about_distances(results: StudyResults) -> list[str]:
    """Return sentences on the reliability of the distances, and on the size of the ellipses."""
    found, size = results.reproducibility, results.ellipse_size
    if results.weights is not None:
        return [_about_reproducibility(results.weights)]
    if found:
        splits = f" in {pluralize(found.n_splits, 'split')}" if found.n_splits else ""
        within = f" ({found.low:.2f} to {found.high:.2f}{splits})" if None not in (found.low, found.high) else ""
        words = [
            f"Its distances {describe_reliability(found.reliability)}: maps of two halves of the answers, "
            f"extrapolated to all answers by the formula of Spearman and Brown, have a reliability of "
            f"{found.reliability:.2f}{within}.",
            f"From {DISTANCES_GOOD:g} on distances can be trusted; below {DISTANCES_FAIR:g} not even what is near and "
            "what is far.",
        ]
        if found.validity is not None and found.validity < 1:
            words.append(
                "The answers call for more dimensions than are shown: distances in these explain "
                f"{percent(found.validity)} of the variance of distances in all, which the reliability accounts for."
            )
    else:
        why = missing_explanation(results, "distances", "To have it measured, run nearer fit again.")
        words = ["How far its distances are reproducible was not measured.", why]
    # Of a map whose distances are not reproducible, small ellipses would promise too much.
    if size is not None and not (found and found.reliability < DISTANCES_FAIR):
        words.append(
            f"The place of a typical object is known to within {percent(size)} of the typical distance between two "
            "objects (95% ellipses)."
        )
    return words


def _about_reproducibility(weights: WeightsRecord) -> str:
    words = describe_dimensions(weights.reproducibility, len(weights.names))
    return f"{words[0].upper()}{words[1:]}."


def _about_choices(error: ErrorRecord, level: str) -> str:
    """Return a sentence on how often the odd one out of three is predicted, if answers are of this kind."""
    if error.choice is None:
        return ""
    low, high = error.choice_low, error.choice_high
    within = (
        f" ({level} interval {percent(1 - high)} to {percent(1 - low)})" if low is not None and high is not None else ""
    )
    return f"It predicts the odd one out of three in {percent(1 - error.choice)} of trials{within}; guessing, in 33%."


def _about_ceiling(value: float, results: StudyResults) -> str:
    best = None if results.error is None else results.error.best
    if results.dissimilarities is not None:
        return _about_agreement(results)
    if best is None:
        advice = "Too few questions were asked twice; put some to several people, or twice to one, to learn it."
        return f"The {BEST_POSSIBLE} is not known. {missing_explanation(results, 'ceiling', advice)}"
    ceiling = replace(best, level=results.level)
    words = f"The {BEST_POSSIBLE}: {ceiling.statement()}, as answers to the same question disagree. {OTHER_PREDICTORS}"
    if best.is_vague:
        return f"{words} That is too wide to measure this map by."
    if grade_predictions(results) == "unknown":
        return words
    share = share_of_way(value, best.error, results.chance)
    return f"{words} Of the way from guessing to there, this map has come {percent(max(share, 0.0))}."


def _about_agreement(results: StudyResults) -> str:
    """Return a sentence on how well people predict each other, where people are known."""
    error = results.error
    if error is None or error.ceiling is None or error.ceiling_at_most is None:
        return "Cells of the matrix were held out, as nobody knows who judged, or too few did."
    return (
        f"No map that all people share can be much better than their mean: the mean of the others has an error of "
        f"{decimals(error.ceiling_at_most)} on each person, and the mean of all, that person with them, "
        f"{decimals(error.ceiling)} (Nili et al. 2014)."
    )


def dissimilarities(results: StudyResults) -> Content | None:
    """Show what was judged, what was made of it, and how well the map fits: the diagram of Shepard."""
    found = results.dissimilarities
    if found is None:
        return None
    held = pluralize(found.n_pairs, "pair")
    known = f"all {held}" if found.n_pairs == found.n_possible else f"{held} of {intcomma(found.n_possible)}"
    rests = f"This map was made of {basis(results)}, of kind {found.kind}: {known} of objects were judged."
    stress = (
        f"Its stress (Kruskal's stress-1) is {found.stress:.3f}: the root of the squared differences between distances "
        "and disparities, relative to the squared distances. It falls with each dimension and rises with the number of "
        "objects, so that the error on held-out judgments is the better guide."
    )
    shown = "" if len(found.values) == found.n_pairs else f" {intcomma(len(found.values))} of the pairs are shown."
    caption = f"Shepard diagram: a dot for each pair; the line shows the disparities, which only ever rise.{shown}"
    words = describe_judgments(found.kind, found.high_is, found.known_by)
    return {"figure": Figure(_charts.shepard_chart(found), caption), "paragraphs": [paragraph(rests, words), stress]}


def features(results: StudyResults) -> Content | None:
    """Show how much of the map comes from features, and which objects answers place elsewhere, if it has any."""
    sets = results.features
    if not sets:
        return None
    described = [f"{each.name} ({about})" if (about := _size_of(each)) else each.name for each in sets]
    known = [each for each in sets if each.share is not None]
    shares = [f"{each.name} {percent(each.share or 0.0)}{_interval_of(each)}" for each in known]
    first = paragraph(
        f"This map was fitted to the answers and to features of the objects: {'; '.join(described)}.",
        "The share of the prior variance of the coordinates that features account for was learned from the answers: "
        f"{'; '.join(shares)}."
        if shares
        else "",
        "Near 0, the map is that of the answers alone.",
    )
    honest = (
        "So this map is no evidence that people agree with these features: fit one without them for that. The error on "
        "held-out answers measures how well it predicts people, as for any map."
    )
    figure = None
    if known and all(each.share_low is not None for each in known):
        caption = "Share of each set of features in the prior variance of the coordinates, with 95% intervals."
        figure = Figure(_charts.shares_chart(known), caption)
    return {"figure": figure, "paragraphs": [first, _about_deviations(results), honest]}


def _interval_of(record: FeatureRecord) -> str:
    low, high = record.share_low, record.share_high
    return "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"


def _size_of(record: FeatureRecord) -> str:
    if record.n_objects is None or record.n_columns is None:
        return ""
    return f"{pluralize(record.n_columns, 'number')} for each of {pluralize(record.n_objects, 'object')}"


def _about_deviations(results: StudyResults) -> str:
    """Return sentences on the objects that answers place farthest from where their features suggest."""
    found = results.feature_deviations or ()
    if not found:
        return ""
    listed = ", ".join(
        f"{each.object} ({each.distance:.2f}, {each.low:.2f} to {each.high:.2f})" for each in found[:N_NEIGHBORS]
    )
    return (
        "The answers place these objects farthest from where their features, and the objects like them, suggest: "
        f"{listed}; relative to the typical distance between two objects, posterior means and 95% intervals."
    )


def findings(results: StudyResults) -> Content:
    """List the findings about the answers, the worst first."""
    found = results.findings
    if found is None:
        unknown = "The answers were not checked in this run; to check them: nearer check FILE."
        return {"paragraphs": [paragraph(unknown, missing_explanation(results, "findings"))], "findings": []}
    nothing = [] if found else ["Nothing was found about the answers."]
    return {"paragraphs": nothing, "findings": sorted(found, key=lambda each: SEVERITIES.index(each.severity))}


def margins(results: StudyResults) -> Content | None:
    """Show how clearly the map satisfies the comparisons."""
    found = results.margins
    if not found:
        return None
    negative = found.share_negative
    caption = (
        "Margins of the comparisons the map was fitted to; below zero the map is wrong. "
        "The outermost bars also hold what lies beyond them."
    )
    explanation = paragraph(
        "The margin of a comparison is by how much its far pair is farther apart than its near pair, squared.",
        "Margins far from zero are clear cases; those around it are close calls.",
        f"Here {percent(negative)} of the comparisons go against the map." if negative is not None else "",
    )
    return {"figure": Figure(_charts.margins_chart(found), caption), "paragraphs": [explanation]}


def learning(results: StudyResults) -> Content | None:
    """Show whether more answers would help; of dissimilarities and dimensions that is not measured."""
    curve = results.learning_curve
    if results.dissimilarities is not None:
        return None
    if not curve:
        if results.weights is not None:
            return None
        unknown = "Whether more answers would help was not measured in this run."
        why = missing_explanation(results, "curve", "To have it measured, leave out --quick.")
        return {"figure": None, "paragraphs": [paragraph(unknown, why)]}
    caption = "Held-out error against the number of comparisons learned from, on a logarithmic axis."
    if any(step.low is not None and step.high is not None for step in curve):
        caption += f" The band is the {format_level(results.level)} interval."
    words, reliability = [results.trend.sentence] if results.trend else [], results.reliability
    if reliability is not None and reliability < DISTANCES_GOOD:
        words.append(f"Distances that can be trusted would take {describe_answers_needed(reliability)}.")
    return {"figure": Figure(_charts.learning_chart(curve, results.error), caption), "paragraphs": [paragraph(*words)]}


def cards(results: StudyResults) -> Content | None:
    """Leave room for a card for each dimension, which the page's script fills, and say what they are."""
    found = results.weights
    if found is None:
        return None
    meaning = paragraph(
        "An object has a nonnegative weight on each dimension, mostly 0, and two objects are alike by the sum of the "
        "products of their weights. Cards show the objects of the largest weights.",
        f"Lines are {format_level(LEVEL)} intervals. The penalty that makes weights sparse makes them smaller, too; "
        "intervals are corrected for that, and may lie above the weight."
        if found.intervals is not None
        else "",
    )
    naming = (
        "Names that you type are kept in this browser alone. To keep them with the map, download dimension-names.csv, "
        "and give it to the program, which writes them into its tables, figures and further pages:"
    )
    return {
        "paragraphs": [meaning, _about_reproducibility(found)],
        "naming": naming,
        "lines": ["nearer report FOLDER --dimension-names dimension-names.csv"],
        "n_others": len(found.counts) - sum(found.counts),
    }


def dimensions(results: StudyResults) -> Content | None:
    """Show the variance of each axis, and how the number of dimensions was chosen."""
    scree, choice = results.scree, results.dimension
    if results.weights is not None or (not scree and not choice):
        return None
    figures, words = [], []
    if scree:
        total = sum(scree)
        figures.append(Figure(_charts.scree_chart(scree), "Share of the map's variance along each of its axes."))
        if total == 0:
            words.append("All objects lie in one place.")
        elif len(scree) > 2:
            words.append(f"The first two axes hold {percent(sum(scree[:2]) / total)} of the map's variance.")
    if choice:
        whiskers = " Whiskers are one standard error." if any(choice.standard_errors or []) else ""
        caption = f"Error of maps with more and fewer dimensions.{whiskers}"
        figures.append(Figure(_charts.dimension_chart(choice), caption))
    if results.lacks_dimension:
        words.append(f"{NO_DIMENSION[0].upper()}{NO_DIMENSION[1:]}; that of the map is for show.")
    elif choice:
        by = f" by the rule of {choice.rule}" if choice.rule else ""
        were = "was" if choice.chosen == 1 else "were"
        words.append(f"{pluralize(choice.chosen or 0, 'dimension')} {were} chosen{by}.")
        if choice.rule == "one standard error":
            words.append(
                "It takes the smallest number of dimensions whose error is at most one standard error above the lowest."
            )
    elif evidence := evidence_of(results):
        words += _about_evidence(evidence, determined(results), results.n_components)
    else:
        words.append("The number of dimensions was not chosen by cross-validation in this run.")
    return {"figures": figures, "paragraphs": [paragraph(*words)]}


def evidence_of(results: StudyResults) -> Sequence[float]:
    """Return the posterior probability of 1, 2, ... dimensions, where one could be determined."""
    return () if results.is_at_chance else results.settings.dimension_evidence


def determined(results: StudyResults) -> int:
    """Return the dimension that the posterior determined: it may be less than the most probable one."""
    return results.settings.dimension or _most_probable(results.settings.dimension_evidence)


def _most_probable(evidence: Sequence[float]) -> int:
    return max(range(len(evidence)), key=evidence.__getitem__) + 1


def called_for(evidence: Sequence[float], dimension: int) -> str:
    """Return the determined dimension in words: with its probability, if it is the most probable one."""
    words = pluralize(dimension, "dimension")
    is_likely = _most_probable(evidence) == dimension
    return f"{words} (probability {percent(evidence[dimension - 1])})" if is_likely else words


def _about_evidence(evidence: Sequence[float], dimension: int, shown: int) -> list[str]:
    """Return sentences on the dimension that was determined, and on why it may differ from others."""
    words = [f"The answers call for {called_for(evidence, dimension)}."]
    if dimension < _most_probable(evidence):
        words.append(f"Along more than {dimension} the places of objects cannot be told apart.")
    if shown < dimension:
        words.append(f"The map shows {shown} of them.")
    if shown < _most_probable(evidence):
        words.append("Predictions use all dimensions of the posterior.")
    return words


def annotators(results: StudyResults) -> Content:
    """Leave room for the table of annotators, which the page's script fills."""
    found = results.annotators
    known = _about_people(results) if found else _no_people(results)
    return {"paragraphs": [known, *_about_differences(results)], "table": bool(found)}


def _no_people(results: StudyResults) -> str:
    people = results.counts.n_annotators
    if results.dissimilarities is not None:
        return "People were not judged one by one: that takes three who are known."
    if people == 1:
        return "All answers are of one person, and there are no others to judge them by."
    if people:
        why = missing_explanation(results, "annotators", "To have it measured, leave out --quick.")
        return paragraph("How reliable each person is was not measured in this run.", why)
    return (
        "The answers do not say who gave them; with a column of annotators each person would be judged here against "
        "the map of the others."
    )


def _about_people(results: StudyResults) -> str:
    found, looked_at, flagged = results.annotators or (), results.findings is not None, results.n_flagged
    if flagged:
        flags = f"{pluralize(flagged, 'person', 'people')} {'is' if flagged == 1 else 'are'} flagged."
    else:
        unknown = "Random responders were not looked for in this run."
        flags = "Nobody is flagged." if looked_at else unknown
    uncertain = [each.title + "." for each in results.findings_of("maybe-at-chance")]
    intervals = f", with {format_level(results.level)} intervals" if any(each.low is not None for each in found) else ""
    return paragraph(
        f"The error of {'one person' if len(found) == 1 else f'each of {intcomma(len(found))} people'} against a map "
        f"fitted without them{intervals}; the dashed line is guessing, "
        f"an error of {decimals(results.chance)}.",
        flags,
        *uncertain,
    )


def _about_differences(results: StudyResults) -> list[str]:
    """Return a paragraph on how people differ from the common map, if it was measured."""
    found = results.people
    if found is None:
        return []
    weights, low, high = (math.exp(value) for value in found.weights)
    spreads = (
        "In a fit that lets them differ, the weights that people give to the axes of the map typically differ by a "
        f"factor of {weights:.2g} ({low:.2g} to {high:.2g}), and objects lie {percent(found.departures[0])} of the "
        f"size of the map ({percent(found.departures[1])} to {percent(found.departures[2])}) from their common places, "
        "from person to person: means over the posterior, with 95% intervals."
    )
    names = ", ".join(
        f"{each.name} ({percent(each.departure)}, {percent(each.low)} to {percent(each.high)})"
        for each in found.farthest
    )
    axes = "Their weights differ enough to identify the axes." if found.axes_identified else ""
    farthest = f"The maps of some people depart more than is usual: {names}." if names else ""
    whether = "Whether that predicts their answers better: nearer compare FILE --people."
    return [paragraph(spreads, axes, farthest, whether)]


def neighbors(results: StudyResults) -> Content:
    """Leave room for the table of neighbors, which the page's script fills."""
    many = min(N_NEIGHBORS, len(results.objects) - 1)
    space = pluralize(results.n_components, "dimension")
    if results.weights is not None and many > 0:
        words = f"The {many} objects most similar to each object, by all dimensions, and the similarity of the first."
    elif many == 0:
        words = "There is only one object, which has no neighbors."
    elif many == 1:
        words = f"The object nearest to each object in the map of {space}, and its distance."
    else:
        words = f"The {many} objects nearest to each object in the map of {space}, and the distance to the nearest."
    return {"paragraphs": [words], "table": True}


def methods(results: StudyResults) -> Content | None:
    """Show a paragraph for a paper, with a button that copies it; none without a method."""
    if not results.settings.method:
        return None
    made = (_data, _lots, _catches, _at_chance, _map, _convergence, _dimension)
    judged = (_error, _distances, _regions, _placed)
    advice = "A draft; check it before it goes into a paper."
    lines = paragraph(*(part(results) for part in (*made, *judged))).split("\n")
    return {"paragraphs": [advice], "id": "methods", "lines": lines}


def _data(results: StudyResults) -> str:
    source, summary = results.source, results.counts
    kind = f" ({source.kind})" if source.kind else ""
    n_undecided, n_bad = source.n_undecided, source.n_bad
    left = [pluralize(n_undecided, "undecided answer")] if n_undecided else []
    left += [f"{pluralize(n_bad, 'row')} that could not be read"] if n_bad else []
    left += [f"{pluralize(out.n_rows, 'row')} where {out.where}" for out in source.left_out]
    listing = " and ".join(filter(None, [", ".join(left[:-1]), *left[-1:]]))
    without = f", without {listing}" if left else ""
    if results.dissimilarities is not None:
        found = results.dissimilarities
        transformed = describe_judgments(found.kind, found.high_is, found.known_by)
        return f"The map rests on {basis(results)}{without}. {transformed}"
    answers, comparisons = source.n_answers, summary.n_comparisons
    if answers is None or not comparisons:
        return f"The map rests on {basis(results)}{kind}{without}."
    was = "was" if answers == 1 else "were"
    return f"The {basis(results)}{kind} {was} read as {pluralize(comparisons, 'comparison')} of distances{without}."


def _lots(results: StudyResults) -> str:
    """Return a sentence on answers that came in several lots."""
    lots = results.source.lots or ()
    if len(lots) < 2:
        return ""
    numbers = [str(lot.n_answers) for lot in lots if lot.n_answers is not None]
    sizes = f" of {', '.join(numbers[:-1])} and {numbers[-1]} answers" if len(numbers) == len(lots) else ""
    return f"The answers came in {len(lots)} lots{sizes}; the map was fitted anew to all of them."


def _catches(results: StudyResults) -> str:
    """Return a sentence on how people did on catch questions."""
    found = results.source.catches
    if not found or not sum(found.n_asked):
        return ""
    right, asked = sum(found.n_right), sum(found.n_asked)
    share = percent(right / asked)
    judged = ", the answer of most people taken for the right one," if found.by == "majority" else ""
    return (
        f"{right} of {pluralize(asked, 'answer')} to catch questions{judged} {'was' if asked == 1 else 'were'} right "
        f"({share}); catch questions were not part of the map."
    )


def _at_chance(results: StudyResults) -> str:
    """Return how many people are flagged, in the words of the finding; the map was fitted to all answers."""
    titles = [each.title for each in results.findings_of("at-chance")]
    return "".join(f"{title}, judged by maps of the others; no answers were left out for it." for title in titles)


def _map(results: StudyResults) -> str:
    settings, version = results.settings, results.versions.get("nearer")
    program = f"nearer {version}" if version else "nearer"
    seed = "" if results.seed is None else f" (seed {results.seed})"
    chosen = settings.chosen_method
    how = method_name(chosen or MethodRecord(settings.method or ""))
    how += ", which predicted held-out answers best among several methods" if chosen else ""
    is_weighted = settings.run.get("weigh_annotators") and settings.weighed
    weighted = " Answers were weighted by the reliability of the person." if is_weighted else ""
    size = pluralize(results.n_components, "dimension")
    if results.weights is not None:
        size = f"{size} with nonnegative weights"
    return f"A map of {size} was fitted with {program}{seed} by {how}.{weighted}{_prior(results)}"


def _convergence(results: StudyResults) -> str:
    """Return the rule by which drawing from a posterior ended."""
    return f"{results.convergence}." if results.convergence else ""


def _prior(results: StudyResults) -> str:
    """Return a sentence on features, if there are some."""
    if not results.features:
        return ""
    listed = "; ".join(
        f"{each.name}, {_size_of(each)}" + ("" if each.share is None else f", share {decimals(each.share)}")
        for each in results.features
    )
    return f" Features of the objects entered as the prior covariance of the coordinates ({listed})."


def _dimension(results: StudyResults) -> str:
    found = results.dimension
    if evidence := evidence_of(results):
        return f"The posterior called for {called_for(evidence, determined(results))}."
    if results.lacks_dimension:
        return f"{NO_DIMENSION[0].upper()}{NO_DIMENSION[1:]}."
    if not found or found.rule != "one standard error":
        return ""
    *others, last = sorted(found.candidates)
    tried = f"{', '.join(map(str, others))} and {last}" if others else str(last)
    by = f" by {method_name(found.method)}" if found.method else ""
    return (
        f"Of {tried} dimensions, {found.chosen} is the smallest number in which the held-out error of maps{by} "
        "lies within one standard error of the least."
    )


def _error(results: StudyResults) -> str:
    measured, error = results.map_error, results.error
    if error is None or measured is None:
        return ""
    value, low, high = measured
    whole = f" that kept {error.unit} whole" if error.unit else ""
    folds = f"In {error.n_folds}-fold cross-validation{whole} such maps" if error.n_folds else "The map"
    context, level = [f"guessing: {decimals(error.chance)}"], format_level(results.level)
    if format_interval(low, high):
        context.insert(0, f"{level} interval {format_interval(low, high)}")
    if error.ceiling is not None:
        around, best = format_interval(error.ceiling_low, error.ceiling_high), error.best
        within = f", {level} interval {around}" if around else ""
        context.append(f"{BEST_POSSIBLE} of maps that all people share: {best.text(decimals) if best else ''}{within}")
    return f"{folds} had an error of {decimals(value)} on held-out {predicted(results)} ({'; '.join(context)})."


def _distances(results: StudyResults) -> str:
    if results.weights is not None:
        return _about_reproducibility(results.weights)
    found = results.reproducibility
    if not found:
        return ""
    kept = f" of whole {found.unit}" if found.unit else ""
    splits = f" (mean of {pluralize(found.n_splits, 'random split')})" if found.n_splits else ""
    return (
        f"Spearman correlations of the distances on maps of two halves{kept}{splits}, stepped up to all answers by the "
        f"Spearman-Brown formula, gave a reliability of {found.reliability:.2f}."
    )


def _placed(results: StudyResults) -> str:
    found = results.placed
    if found is None:
        return ""
    number, by = len(found.objects), found.n_answers
    answers = f" by {pluralize(by, 'further answer')}" if by is not None else ""
    were = f"{pluralize(number, 'further object')} {'was' if number == 1 else 'were'}"
    return f"{were} placed on that map{answers}, which left the others where they were; no figure above takes them in."


def _regions(results: StudyResults) -> str:
    found = results.regions
    if results.covariances is None or not found:
        return ""
    drawn, unit = found.n_resamples, found.unit
    resampled = f", from {pluralize(drawn, 'bootstrap resample')} of {unit}" if drawn and unit else ""
    if found.n_dimensions is not None and found.n_dimensions > results.n_components:
        resampled = f", projected from draws in up to {pluralize(found.n_dimensions, 'dimension')}"
    assumed = "; they assume that the dimensions of the map are enough" if assumes_dimensions(results) else ""
    return f"Ellipses are {format_level(results.level)} {found.kind} regions of the positions{resampled}{assumed}."


def settings(results: StudyResults) -> Content:
    """Show the settings, the versions and the command that reproduces the map exactly."""
    source, settings, later = results.source, results.settings, results.placed.commands if results.placed else ()
    earlier = [lot.command for lot in (source.lots or ())[:-1] if lot.command]
    files = "files" if later or earlier or (source.n_files or 1) > 1 else "file"
    commands = "commands" if later or earlier else "command"
    undetermined = ("dimension", "dimension_evidence") if results.is_at_chance else ()
    lists = {
        "Data": _about_data(results),
        "Method": ({"method": settings.method} if settings.method else {}) | settings.parameters,
        "Chosen by the data": {name: value for name, value in settings.chosen.items() if name not in undetermined},
        "Versions": results.versions,
    }
    facts = [(title, known) for title, facts in lists.items() if (known := _known(facts))]
    if not results.command:
        return {"paragraphs": [], "commands": [], "facts": facts}
    repeat = f"The same {files}, versions, seed and {commands} give the same map."
    lines = "\n".join([*earlier, results.command, *later]).split("\n")
    return {"paragraphs": [repeat], "commands": lines, "facts": facts}


def _about_data(results: StudyResults) -> dict[str, Any]:
    source, summary, later = results.source, results.counts, results.placed
    return {
        "file": source.file,
        "sha256": source.sha256,
        "kind of answers": source.kind,
        answer_noun(results)[1]: source.n_answers,
        "rows left out": "; ".join(f"{out.n_rows} where {out.where}" for out in source.left_out) or None,
        "bad rows skipped": source.n_bad,
        "undecided answers": source.n_undecided,
        "comparisons": summary.n_comparisons,
        "objects": results.n_fitted if summary.n_objects is not None else None,
        "objects placed later": len(later.objects) if later else None,
        "answers they were placed by": later.n_answers if later else None,
        "objects never compared": summary.n_unseen,
        "annotators": summary.n_annotators,
        "judged pairs": None if results.dissimilarities is None else results.dissimilarities.n_pairs,
        "stress": None if results.dissimilarities is None else f"{results.dissimilarities.stress:.4f}",
        "trials": summary.n_trials,
        "seed": results.seed,
        "date": results.date,
        "seconds": None if results.seconds is None else f"{results.seconds:.1f}",
    }


def _known(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values in words; what is not known, or was left open, is left out."""
    return [(setting_name(name), setting_value(name, value)) for name, value in facts.items() if value is not None]


def citing(results: StudyResults) -> Content | None:
    """Show what to cite, in words and for BibTeX, with buttons that copy it."""
    found = results.citations
    if not found:
        return None
    works = [cite.text + (f" doi:{cite.doi}" if cite.doi else "") for cite in found]
    please = f"If this map is of use in a publication, please cite {pluralize(len(works), 'work')}:"
    entries = [cite.bibtex for cite in found if cite.bibtex]
    return {"paragraphs": [please], "id": "citations", "lines": "\n".join(works).split("\n"), "bibtex": entries}
