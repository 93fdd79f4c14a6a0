"""What people answered to the same question, and whether the answers are transitive.

An answer says that the near pair is nearer than the far one: an arrow between two pairs. Answers that fit some order of
distances have no cycle of arrows. An arrow is on a cycle if both its ends are in one strongly connected component. In
noisy data nearly all of them end up in one large component, so the share of intransitive *triads* is more informative:
three pairs with all three questions between them answered. It is one quarter for guesses and zero for perfect answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from nearer._common.findings import Finding, Severity
from nearer.checking.context import Context, IntArray
from nearer.evaluation.intervals import wilson_interval

_MAX_PATHS = 1_000_000
_MAX_STARTS = 20
MIN_QUESTIONS = 30  # below, a share is too uncertain to be reported
_Z_99 = 2.58  # intervals of 99%: every study is looked at in many ways
_NEAR_CHANCE_DISAGREEMENT = 0.38  # below, answers are noisy, and no guesses
_NEAR_CHANCE_CYCLIC = 0.2  # a share known to be above this leaves little but guesses
_CHANCE_CYCLIC = 0.25  # of the eight ways to answer three questions about three pairs, two are cycles


@dataclass(frozen=True)
class Triads:
    """How many triads were examined, which share of them is intransitive, and one such triad."""

    n_closed: int
    share_cyclic: float | None
    example: tuple[int, int, int] | None


def strong_components(near: IntArray, far: IntArray, n_pairs: int) -> IntArray:
    """Return the number of the strongly connected component of each pair, shape (n_pairs,)."""
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs))
    return connected_components(arrows.tocsr(), directed=True, connection="strong")[1].astype(np.int64)


def count_triads(near: IntArray, far: IntArray, n_pairs: int, rng: np.random.Generator) -> Triads:
    """Count the intransitive triads; where there are very many, among a million paths of two arrows."""
    # A path of two arrows u -> v -> w whose ends are joined is part of a triad. A cycle has three such paths, any other
    # triad one.
    order = np.lexsort((far, near))
    near, far = near[order], far[order]
    codes = near * n_pairs + far
    starts = np.searchsorted(near, np.arange(n_pairs + 1))
    onward = np.diff(starts)[far]  # how many arrows leave the end of each
    total = int(onward.sum())
    if total <= _MAX_PATHS:
        first = np.repeat(np.arange(len(near)), onward)
        step = np.arange(total) - np.repeat(np.cumsum(onward) - onward, onward)
    else:
        chosen = np.sort(rng.integers(total, size=_MAX_PATHS))
        first = np.searchsorted(np.cumsum(onward), chosen, side="right")
        step = chosen - (np.cumsum(onward) - onward)[first]
    u, v = near[first], far[first]
    w = far[starts[v] + step]
    cyclic, straight = _contains(codes, w * n_pairs + u), _contains(codes, u * n_pairs + w)
    n_cyclic = int(cyclic.sum()) / 3
    n_closed = n_cyclic + int(straight.sum())
    if n_closed == 0:
        return Triads(0, None, None)
    where = np.flatnonzero(cyclic)
    example = (int(u[where[0]]), int(v[where[0]]), int(w[where[0]])) if len(where) else None
    return Triads(round(n_closed), n_cyclic / n_closed, example)


def shortest_cycle(near: IntArray, far: IntArray, component: IntArray, n_pairs: int) -> tuple[int, ...]:
    """Return the pairs along a short cycle: the shortest through any of a few pairs of the smallest component."""
    inside = component[near] == component[far]
    numbers, sizes = np.unique(component[near[inside]], return_counts=True)
    chosen = inside & (component[near] == numbers[sizes.argmin()])
    near, far = near[chosen], far[chosen]
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs)).tocsr()
    best: tuple[int, ...] = ()
    for start in np.unique(near)[:_MAX_STARTS]:
        reached, before = breadth_first_order(arrows, start)
        position = np.full(n_pairs, n_pairs)
        position[reached] = np.arange(len(reached))
        back = near[far == start]
        path = [int(back[position[back].argmin()])]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        if not best or len(path) < len(best):
            best = tuple(reversed(path))
    return best


def _contains(sorted_codes: IntArray, wanted: IntArray) -> NDArray[np.bool_]:
    places = np.searchsorted(sorted_codes, wanted).clip(max=len(sorted_codes) - 1)
    return np.asarray(sorted_codes[places] == wanted)


def check_repeats(context: Context) -> Iterator[Finding]:
    """Count questions asked more than once, and those answered both ways."""
    repeated = context.votes.sum(axis=1) > 1
    both = repeated & (context.votes.min(axis=1) > 0)
    n_repeated, n_both = int(repeated.sum()), int(both.sum())
    disagreement = _disagreement(context.votes[repeated]) if n_repeated else None
    counts = {"n_repeated": n_repeated, "n_contradicted": n_both, "disagreement": disagreement}
    context.counts |= counts
    if disagreement is None:
        return
    severity: Severity = "note" if n_repeated < MIN_QUESTIONS else "good"
    if n_both:
        severity = _severity_of_disagreement(disagreement, n_repeated)
    questions, examples = np.flatnonzero(both), []
    fewer, more = np.sort(context.votes[questions], axis=1).T
    for question in questions[np.argsort(-(fewer**2) / more, kind="stable")[:3]]:  # many answers, and evenly split
        row = int(np.flatnonzero((context.questions == question) & context.decided)[0])
        votes = context.votes[question][:: -1 if context.first_is_near[row] else 1].tolist()
        examples.append(context.comparison_labels(int(context.near[row]), int(context.far[row])) | {"votes": votes})
    yield Finding("contradictions", severity, numbers=counts | {"examples": examples})


def _disagreement(votes: IntArray) -> float:
    """Return how often two answers to one question differ, the mean over questions answered twice or more."""
    asked = votes.sum(axis=1)
    return float((votes.prod(axis=1) / (asked * (asked - 1) / 2)).mean())


def _severity_of_disagreement(disagreement: float, n_questions: int) -> Severity:
    """Return "warning" for answers that are guesses, "note" for answers that merely differ."""
    low, high = wilson_interval(disagreement, n_questions, _Z_99)
    is_guessing = n_questions >= MIN_QUESTIONS and low > _NEAR_CHANCE_DISAGREEMENT and high >= 0.5
    return "warning" if is_guessing else "note"


def check_self_contradictions(context: Context) -> Iterator[Finding]:
    """Count the questions that one person answered both ways."""
    if context.people is None or context.names is None:
        return
    own = context.people[context.answers.answer_of].astype(np.int64) * context.n_questions + context.questions
    codes, positions = np.unique(own[context.decided], return_inverse=True)  # a person's question each
    sides = 2 * positions + context.first_is_near[context.decided]
    votes = np.bincount(sides, minlength=2 * len(codes)).reshape(-1, 2)
    again = votes.sum(axis=1) > 1
    votes, (person, question) = votes[again], np.divmod(codes[again], context.n_questions)
    both = votes.min(axis=1) > 0
    n_both = int(both.sum())
    counts: dict[str, Any] = {"n_self_repeated": len(votes), "n_self_contradicted": n_both}
    counts |= {"self_disagreement": _disagreement(votes)} if n_both else {}
    context.counts |= counts
    if n_both == 0:
        return
    per_person = np.bincount(person[both], minlength=len(context.names))
    asked = np.bincount(person, minlength=len(context.names))
    worst = np.array([index for index in np.argsort(-per_person, kind="stable")[:3] if per_person[index]])
    people = [{"n_contradicted": int(per_person[each]), "n_repeated": int(asked[each])} for each in worst]
    n_different = len(np.unique(question))  # one hard question repeated to all says little about the others
    counts |= {"n_questions": n_different, "people": people}
    severity, names = _severity_of_disagreement(counts["self_disagreement"], n_different), context.people_names(worst)
    yield Finding("self-contradictions", severity, numbers=counts, concerned=names)


def check_transitivity(context: Context) -> Iterator[Finding]:
    """Look for cycles of answers: one pair nearer than a second, that than a third, that than the first."""
    near, far = context.majority
    if len(near) == 0:
        return
    component = strong_components(near, far, context.n_pairs)
    inside = component[near] == component[far]
    found = count_triads(near, far, context.n_pairs, context.stream("triads"))
    context.counts |= {
        "n_in_cycles": int(inside.sum()),
        "n_strong_components": len(np.unique(component[near][inside])),
        "n_triads_examined": found.n_closed,
        "share_intransitive": found.share_cyclic,
    }
    # Triads share questions, so no more of them than a third of the questions count as independent.
    n_triads = min(found.n_closed, len(near) // 3)
    if not inside.any():
        n_contradicted = int((context.votes.min(axis=1) > 0).sum())
        severity: Severity = "note" if n_contradicted or found.n_closed < MIN_QUESTIONS else "good"
        numbers: dict[str, Any] = {"n_triads": found.n_closed, "n_contradicted": n_contradicted}
        yield Finding("transitive", severity, numbers=numbers)
        return
    cycle = found.example or shortest_cycle(near, far, component, context.n_pairs)
    steps = [context.comparison_labels(*step) for step in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    share, severity = found.share_cyclic if n_triads >= MIN_QUESTIONS else None, "note"
    if share is not None:
        # An answer wrong with probability f makes a cycle with one of at most f (1 - f), a quarter for f = 1/2.
        low, high = wilson_interval(share, n_triads, _Z_99)
        severity = "warning" if high >= _CHANCE_CYCLIC and low > _NEAR_CHANCE_CYCLIC else "note"
    numbers = {"n_in_cycles": int(inside.sum()), "n_questions": len(near), "share": share, "cycle": steps}
    yield Finding("intransitive", severity, numbers=numbers)
