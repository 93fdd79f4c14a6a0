"""What was asked about: how much, about which objects, and whether the objects hang together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import comb

from nearer._common.formatting import intcomma, percent, pluralize, quote, quote_all
from nearer.checking.case import Case, CheckResult
from nearer.checking.findings import Finding, Level
from nearer.checking.loose_parts import components, hanging_parts
from nearer.io.messages import sentence, statement

_CHANCE_OPEN = 0.05
_MANY_UNDECIDED = 0.25
_MANY_BAD = 0.01
_UNEVEN = 5.0


def check_counts(case: Case) -> CheckResult:
    """Count everything, and say what was left out."""
    answers = case.answers
    n_people = None if case.names is None else len(case.names)
    n_trials = int(case.answers.trial_of.max()) + 1
    counts: dict[str, Any] = {
        "n_objects": case.n_objects,
        "n_answers": len(answers),
        "n_comparisons": len(case.comparisons),
        "n_annotators": n_people,
        "n_undecided": case.n_undecided,
        "n_split": case.n_split,
        "n_bad": answers.report.n_bad,
        "n_trials": n_trials,
        "n_questions": case.n_questions,
        "n_pairs": case.n_pairs,
    }
    people = "" if n_people is None else f" by {pluralize(n_people, 'person', 'people')}"
    expanded = f", {pluralize(len(case.comparisons), 'comparison')}" if len(case.comparisons) > len(answers) else ""
    grouped = f" in {pluralize(n_trials, 'trial')}" if n_trials < len(answers) else ""
    title = (
        f"{pluralize(len(answers), 'answer')}{grouped}{people} about {pluralize(case.n_objects, 'object')}{expanded}"
    )
    left_out = case.n_undecided - case.n_split
    also = [f'{pluralize(case.n_split, "answer is", "answers are")} "can\'t tell"'] if case.n_split else []
    also += [f'{pluralize(left_out, "more was", "more were")} "can\'t tell"'] if left_out else []
    also += [f"{pluralize(answers.report.n_bad, 'row was', 'rows were')} skipped"] if answers.report.n_bad else []
    text = f"Asked as {answers.kind} questions{'; ' if also else ''}{' and '.join(also)}."
    findings = [Finding("note", "counts", title, text), *_undecided(case), *_bad_rows(case), *_notes(case)]
    return CheckResult(tuple(findings), counts)


def _undecided(case: Case) -> list[Finding]:
    share = case.n_undecided / max(case.n_given, 1)
    if share < _MANY_UNDECIDED:
        return []
    text = (
        "So many mean that the questions are too hard or unclear; ask about objects that differ more, or explain more."
    )
    return [Finding("warning", "undecided", f'{percent(share)} of the answers are "can\'t tell"', text)]


def _bad_rows(case: Case) -> list[Finding]:
    n_bad, skipped = case.answers.report.n_bad, case.answers.report.skipped
    if n_bad == 0:
        return []
    share = n_bad / (n_bad + case.n_given)
    level: Level = "warning" if share > _MANY_BAD else "note"
    title = f"{pluralize(n_bad, 'row')} could not be used ({percent(share)})"
    return [Finding(level, "bad-rows", title, "They were skipped; correct them in the file.", skipped[:3])]


def _notes(case: Case) -> list[Finding]:
    """Repeat what the reader of the file had to say."""
    own = case.answers.source
    said = [
        statement(each) if each.source is not None and each.source.file == own else sentence(each)
        for each in case.answers.report.findings
    ]
    return [Finding("note", "reading", note, "Noticed while the file was read.") for note in said]


def check_unseen(case: Case) -> CheckResult:
    """Find objects that are on the list but in no comparison."""
    unseen = np.flatnonzero(case.questions_seen == 0)
    counts = {"n_unseen": len(unseen)}
    labels = case.comparisons.objects
    if labels.dtype.kind in "iu" and unseen.tolist() == [0] and labels[0] == 0:
        title = "Object 0 is in no comparison, all others are"
        text = "The objects seem to be numbered from 1; subtract 1, or give the objects names."
        return CheckResult((Finding("warning", "numbered-from-one", title, text, ("0",)),), counts)
    if len(unseen) == 0:
        return CheckResult(counts=counts)
    title = f"{pluralize(len(unseen), 'object is', 'objects are')} in no comparison"
    text = "No map can place them; ask about them, or take them off the list."
    return CheckResult(
        (Finding("error", "never-compared", title, text, (quote_all(case.object_names(unseen), 10),)),), counts
    )


def chance_open(n_questions: int, n_components: int) -> float:
    """Return the chance that so many random half-spaces leave some direction open (Wendel 1962).

    Each question about an object cuts its space in two. The object is enclosed once the cuts face every way; with
    twice as many cuts as dimensions that is an even chance.

    Examples
    --------
    >>> chance_open(4, 2), chance_open(2, 2), round(chance_open(9, 2), 3)
    (0.5, 1.0, 0.035)
    """
    if n_questions <= n_components:
        return 1.0
    faces = sum(comb(n_questions - 1, k, exact=True) for k in range(n_components))
    return float(faces / 2 ** (n_questions - 1))


def questions_wanted(n_components: int) -> int:
    """Return the fewest questions that enclose an object with a chance of 95%.

    Examples
    --------
    >>> [questions_wanted(p) for p in (1, 2, 3, 5)]
    [6, 9, 12, 17]
    """
    wanted = n_components + 1
    while chance_open(wanted, n_components) > _CHANCE_OPEN:
        wanted += 1
    return wanted


def check_hardly(case: Case) -> CheckResult:
    """Find objects in too few questions, or measured against too few others, to be pinned down."""
    seen, p = case.questions_seen, case.n_components
    wanted = questions_wanted(p)
    counts = {
        "fewest_questions": int(seen.min()),
        "median_questions": float(np.median(seen)),
        "most_questions": int(seen.max()),
        "questions_wanted": wanted,
    }
    hardly = np.flatnonzero((seen > 0) & (seen < wanted))
    counts["n_hardly"] = len(hardly)
    if len(hardly) == 0:
        return CheckResult(counts=counts)
    hardly = hardly[np.argsort(seen[hardly], kind="stable")]
    labels = case.object_names(hardly[:10])
    examples = tuple(f"{quote(label)}: {seen[index]}" for label, index in zip(labels, hardly, strict=False))
    title = f"{pluralize(len(hardly), 'object is', 'objects are')} in fewer than {wanted} different questions"
    level: Level = "warning" if seen[hardly[0]] <= 2 * p else "note"  # where open is likelier than not
    there = f"In {pluralize(p, 'dimension')}"
    text = {
        "warning": f"{there} so few leave the place of the rarest likelier open on some side than not; ask more about "
        "them, or do not rely on their place.",
        "note": f"{there} their place may stay open on some side; a few questions more about them would settle it.",
    }[level]
    return CheckResult((Finding(level, "hardly-compared", title, text, examples),), counts)


def check_uneven(case: Case) -> CheckResult:
    """Compare how often objects are asked about."""
    seen = case.answers_seen[case.answers_seen > 0]
    low, high = np.percentile(seen, [10, 90])
    ratio = float(high / low)
    counts = {"uneven": ratio}
    if ratio < _UNEVEN or len(seen) < 10:
        return CheckResult(counts=counts)
    title = f"Some objects are in {ratio:.0f} times as many answers as others (the top tenth against the bottom tenth)"
    text = "The map is surer of some places than of others; ask about the rarer objects next."
    rare = np.argsort(np.where(case.answers_seen > 0, case.answers_seen, np.inf), kind="stable")[:5]
    examples = tuple(
        f"{quote(label)}: {pluralize(int(case.answers_seen[index]), 'answer')}"
        for label, index in zip(case.object_names(rare), rare, strict=True)
    )
    return CheckResult((Finding("note", "uneven", title, text, examples),), counts)


def check_groups(case: Case) -> CheckResult:
    """Find groups of objects that can be moved against each other without changing any answer."""
    parts = [part for part in components(case.pairs, case.n_objects) if len(part) > 1]
    counts: dict[str, Any] = {"n_groups": len(parts)}
    if len(parts) > 1:
        title = f"The objects fall into {intcomma(len(parts))} groups with no comparison of a distance between them"
        text = "No map can place them against each other; ask questions that mix them, or map each group alone."
        return CheckResult((Finding("error", "disconnected", title, text, _part_names(case, parts)),), counts)
    if few_anchors := _few_anchors(case):
        return CheckResult(few_anchors, counts)
    hanging = hanging_parts(case.pairs, case.n_objects)
    # Single objects that hang are in few questions or have few partners, and are reported as such.
    groups = [each for each in hanging if len(each[1]) > 1]
    counts |= {"n_hanging": len(hanging), "n_hanging_groups": len(groups)}
    findings = [_hinged(case, groups)] if groups else []
    findings += _few_partners(case)
    if not hanging and not findings:
        title = "All objects are connected"
        text = "Every one and every group of them is measured against others through more than one object."
        findings.append(Finding("good", "connected", title, text))
    return CheckResult(tuple(findings), counts)


def _part_names(case: Case, parts: list[Any]) -> tuple[str, ...]:
    lines = [f"{pluralize(len(part), 'object')}: {quote_all(case.object_names(part))}" for part in parts[:5]]
    return (*lines, f"... {intcomma(len(parts) - 5)} groups more") if len(parts) > 5 else tuple(lines)


def _few_anchors(case: Case) -> tuple[Finding, ...]:
    """Find triplets with so few anchors that the map is free to rotate about them."""
    rows, p = case.comparisons.rows, case.n_components
    if rows.shape[1] != 3:
        return ()
    anchors = np.unique(rows[:, 0])
    if len(anchors) > p or case.n_objects <= p + 2:
        return ()
    labels = quote_all(case.object_names(anchors))
    one = len(anchors) == 1
    title = f"The anchor is always {labels}" if one else f"Only {intcomma(len(anchors))} objects are ever the anchor"
    text = (
        "Such answers order the others by their distance from it and say nothing of the distances between them; "
        if one
        else f"A map in {pluralize(p, 'dimension')} needs distances from at least {p + 1}; "
    ) + "let every object take its turn as the anchor."
    return (Finding("error" if one else "warning", "few-anchors", title, text, (labels,)),)


def _hinged(case: Case, hanging: list[tuple[int, Any]]) -> Finding:
    count = f"{intcomma(len(hanging))} groups hang" if len(hanging) > 1 else "A group hangs"
    title = f"{count} on the rest by a single object"
    text = "The answers let such a group turn about that object; ask questions that mix it with the others."
    examples = []
    for hinge, part in hanging[:5]:
        about = quote(case.object_names(np.array([hinge]))[0])
        examples.append(f"{pluralize(len(part), 'object')} about {about}: {quote_all(case.object_names(part))}")
    return Finding("warning", "hinged", title, text, tuple(examples))


def _few_partners(case: Case) -> tuple[Finding, ...]:
    """Find objects whose distances to p others or fewer are all that is asked about: they have two places at least."""
    partners, p = np.bincount(case.pairs.ravel(), minlength=case.n_objects), case.n_components
    # Those in few questions are reported as such.
    few = np.flatnonzero((partners > 0) & (partners <= p) & (case.questions_seen >= questions_wanted(p)))
    if len(few) == 0:
        return ()
    others = pluralize(p, "other")
    title = f"{pluralize(len(few), 'object is', 'objects are')} compared in distance with no more than {others}"
    text = (
        f"In {pluralize(p, 'dimension')} that leaves two places or more for each; compare them with other objects too."
    )
    return (Finding("warning", "few-partners", title, text, (quote_all(case.object_names(few), 10),)),)
