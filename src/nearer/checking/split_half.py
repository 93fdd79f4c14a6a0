"""Whether the distances of a map would come out the same with other answers, by a quick map of each half of them."""

from __future__ import annotations

from dataclasses import asdict, replace

from nearer.checking.case import Case, CheckResult, quick_estimator, quick_part
from nearer.checking.findings import Finding, Findings
from nearer.evaluation.reproducibility import (
    DISTANCES_FAIR,
    DISTANCES_GOOD,
    SplitHalf,
    more_answers,
    reproduced,
    split_half,
    stepped_up,
)

_N_SPLITS = 3
_CODES = frozenset(("distances", "distances-roughly", "distances-differ", "distances-unknown"))


def check_distances(case: Case) -> CheckResult:
    """Make quick maps of halves of the answers and see how far their distances agree."""
    part = quick_part(case)
    try:
        found = split_half(quick_estimator(case), part, n_splits=_N_SPLITS, random_state=case.rng)
    except ValueError as error:
        title = "Whether distances on a map can be trusted cannot be told"
        return CheckResult((Finding("note", "distances-unknown", title, f"{str(error).capitalize()}."),))
    whole = len(case.known) / len(part)
    reliability, low, high = (stepped_up(each, whole) for each in (found.reliability, found.low, found.high))
    found = replace(found, reliability=reliability, low=low, high=high)
    return CheckResult((distances_finding(found, "a quick map"),), {"split_half": asdict(found)})


def distances_finding(found: SplitHalf, what: str = "the map") -> Finding:
    """Return what halves of the answers say of the distances on a map of all of them."""
    title = f"Distances on {what} {reproduced(found.reliability)} (reliability {found.reliability:.2f})"
    if found.reliability >= DISTANCES_GOOD and found.low < DISTANCES_FAIR:
        text = (
            f"From one split of the answers to another it goes from {found.low:.2f} to {found.high:.2f}: ask for more."
        )
        return Finding("note", "distances-roughly", title, text)
    if found.reliability >= DISTANCES_GOOD:
        return Finding("good", "distances", title, "Maps of two halves of the answers agree in their distances.")
    more = more_answers(found.reliability)
    if found.reliability >= DISTANCES_FAIR:
        text = f"What is near and what is far can be told, no more; distances to be trusted take {more}."
        return Finding("note", "distances-roughly", title, text)
    text = f"Maps of two halves of the answers hardly agree; distances to be trusted take {more}, or more careful ones."
    return Finding("warning", "distances-differ", title, text)


def with_distances(findings: Findings, found: SplitHalf) -> Findings:
    """Return findings in which maps of the method itself take the place of quick ones."""
    others = (finding for finding in findings if finding.code not in _CODES)
    return replace(findings, items=(*others, distances_finding(found)))
