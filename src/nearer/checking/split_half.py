"""Whether the distances of a map would come out the same with other answers, by maps of halves of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from nearer.checking.case import Case, CheckResult, part_seed, quick_part
from nearer.checking.findings import Finding, Findings
from nearer.data.groups import Grouping
from nearer.embedding import CKL
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.reproducibility import (
    DISTANCES_FAIR,
    DISTANCES_GOOD,
    SplitHalf,
    more_answers,
    reproduced,
    split_half,
    stepped_up,
)

_CODES = frozenset(("distances", "distances-roughly", "distances-differ", "distances-unknown"))
_SEED = 8  # never changed, or results would


def check_distances(case: Case) -> CheckResult:
    """Make maps of halves of the answers and see how far their distances agree."""
    part = quick_part(case)
    try:
        # CKL, as for a posterior in `fit`: both state one figure.
        found = halves_of(CKL(case.n_components, random_state=case.seed), part, case.seed)
    except ValueError as error:
        title = "Whether distances on a map can be trusted cannot be told"
        return CheckResult((Finding("note", "distances-unknown", title, f"{str(error).capitalize()}."),))
    whole = len(case.known) / len(part)
    reliability, low, high = (stepped_up(each, whole) for each in (found.reliability, found.low, found.high))
    found = replace(found, reliability=reliability, low=low, high=high)
    return CheckResult((distances_finding(found, case.n_components),), {"split_half": asdict(found)})


def halves_of(
    method: OrdinalEmbedding,
    comparisons: Any,
    seed: int,
    by: Grouping = "trials",
    unrestricted: OrdinalEmbedding | None = None,
) -> SplitHalf:
    """Return how reproducible distances are, with the seed of a run; arguments as for `split_half`."""
    return split_half(method, comparisons, unrestricted=unrestricted, by=by, random_state=part_seed(seed, _SEED))


def distances_finding(found: SplitHalf, n_components: int, maps: str = "") -> Finding:
    """Return what halves of the answers say of the distances on a map of all of them.

    ``maps`` says which maps they are, where these are not those of `check`: "by SOE", say.
    """
    which = f" {maps}" if maps else ""
    reliability = f"{reproduced(found.reliability)} (reliability {found.reliability:.2f})"
    title = f"Distances on a {n_components}-D map{which} {reliability}"
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


def with_distances(findings: Findings, found: SplitHalf, n_components: int, maps: str = "") -> Findings:
    """Return findings in which the reliability of a run takes the place of that of `check`."""
    others = (finding for finding in findings if finding.code not in _CODES)
    return replace(findings, items=(*others, distances_finding(found, n_components, maps)))
