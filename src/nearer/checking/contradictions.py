"""What people said about the same question, and whether what they said fits together.

An answer says that the near pair is nearer than the far one: an arrow between two pairs. Answers that fit some order of
distances make no circle of arrows. An arrow is on a circle if both its ends lie in one strongly connected part, a
*knot*. In noisy data nearly all of them end up in one big knot, so the share of circles among *triads* tells more:
three pairs with all three questions between them answered. It is one quarter for coin tosses and none for perfect
answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from nearer._common.formatting import intcomma, percent, pluralize
from nearer.checking.case import Case, CheckResult, IntArray
from nearer.checking.findings import Finding, Level
from nearer.evaluation.intervals import wilson

_MOST_PATHS = 1_000_000
_MOST_STARTS = 20
_FEWEST = 30  # questions below which a share says little
_QUANTILE = 2.58  # intervals of 99%: every study is looked at in many ways
_NEAR_CHANCE = 0.38  # of disagreement: below, answers are noisy, and no coin tosses
_NEAR_CYCLIC = 0.2  # a share known to be above this leaves little but coin tosses
_CHANCE_CYCLIC = 0.25  # of the eight ways to answer three questions about three pairs, two go in a circle


@dataclass(frozen=True)
class Triads:
    """How many triads were looked at, which share of them is cyclic, and one cyclic one."""

    n_closed: int
    share_cyclic: float | None
    example: tuple[int, int, int] | None


def knots(near: IntArray, far: IntArray, n_pairs: int) -> IntArray:
    """Return the number of the strongly connected part that each pair is in, shape (n_pairs,).

    Examples
    --------
    >>> part = knots(np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0]), 4)
    >>> len(set(part[:3].tolist())), bool(part[3] == part[0])
    (1, False)
    """
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs))
    return connected_components(arrows.tocsr(), directed=True, connection="strong")[1].astype(np.int64)


def triads(near: IntArray, far: IntArray, n_pairs: int, rng: np.random.Generator) -> Triads:
    """Count the triads that are circles; where there are very many, among a million paths of two arrows.

    A path of two arrows u -> v -> w whose ends are joined is part of a triad. A circle has three such paths and any
    other triad one.

    Parameters
    ----------
    near, far : ndarray of int, shape (q,)
        One arrow for each question.
    n_pairs : int
    rng : numpy Generator

    Examples
    --------
    >>> near, far = np.array([0, 1, 2, 0, 1]), np.array([1, 2, 0, 3, 3])
    >>> triads(near, far, 4, np.random.default_rng(0))
    Triads(n_closed=2, share_cyclic=0.5, example=(0, 1, 2))
    """
    order = np.lexsort((far, near))
    near, far = near[order], far[order]
    codes = near * n_pairs + far
    starts = np.searchsorted(near, np.arange(n_pairs + 1))
    onward = np.diff(starts)[far]  # how many arrows leave the end of each
    total = int(onward.sum())
    if total <= _MOST_PATHS:
        first = np.repeat(np.arange(len(near)), onward)
        step = np.arange(total) - np.repeat(np.cumsum(onward) - onward, onward)
    else:
        chosen = np.sort(rng.integers(total, size=_MOST_PATHS))
        first = np.searchsorted(np.cumsum(onward), chosen, side="right")
        step = chosen - (np.cumsum(onward) - onward)[first]
    u, v = near[first], far[first]
    w = far[starts[v] + step]
    circle, straight = _contains(codes, w * n_pairs + u), _contains(codes, u * n_pairs + w)
    n_circles = int(circle.sum()) / 3
    n_closed = n_circles + int(straight.sum())
    if n_closed == 0:
        return Triads(0, None, None)
    where = np.flatnonzero(circle)
    example = (int(u[where[0]]), int(v[where[0]]), int(w[where[0]])) if len(where) else None
    return Triads(round(n_closed), n_circles / n_closed, example)


def shortest_cycle(near: IntArray, far: IntArray, knot: IntArray, n_pairs: int) -> tuple[int, ...]:
    """Return the pairs along a short circle: the shortest through any of a few pairs of the smallest knot.

    Examples
    --------
    >>> near, far = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    >>> shortest_cycle(near, far, knots(near, far, 4), 4)
    (0, 1, 2, 3)
    """
    tied = knot[near] == knot[far]
    numbers, sizes = np.unique(knot[near[tied]], return_counts=True)
    chosen = tied & (knot[near] == numbers[sizes.argmin()])
    near, far = near[chosen], far[chosen]
    arrows = coo_array((np.ones(len(near), dtype=np.int8), (near, far)), shape=(n_pairs, n_pairs)).tocsr()
    best: tuple[int, ...] = ()
    for start in np.unique(near)[:_MOST_STARTS]:
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


def check_repeats(case: Case) -> CheckResult:
    """Count questions asked more than once, and those answered both ways."""
    asked = case.votes.sum(axis=1)
    repeated = asked > 1
    both = repeated & (case.votes.min(axis=1) > 0)
    n_repeated, n_both = int(repeated.sum()), int(both.sum())
    counts: dict[str, Any] = {"n_repeated": n_repeated, "n_contradicted": n_both, "disagreement": None}
    if n_repeated == 0:
        return CheckResult(counts=counts)
    disagreement = _disagreement(case.votes[repeated])
    counts["disagreement"] = disagreement
    if n_both == 0:
        title = f"{pluralize(n_repeated, 'question was', 'questions were')} repeated, none was answered both ways"
        if n_repeated < _FEWEST:
            text = f"So few say little: from {_FEWEST} on it would be a sign that answers agree."
            return CheckResult((Finding("note", "contradictions", title, text),), counts)
        text = "Answers to the same question agree."
        return CheckResult((Finding("good", "contradictions", title, text),), counts)
    level, text = _verdict(disagreement, n_repeated)
    title = (
        f"{pluralize(n_both, 'question was', 'questions were')} answered both ways, of {intcomma(n_repeated)} "
        "asked more "
        "than once"
    )
    return CheckResult((Finding(level, "contradictions", title, text, _examples(case, both)),), counts)


def _verdict(disagreement: float, n_questions: int) -> tuple[Level, str]:
    """Tell answers that merely differ from answers that are coin tosses."""
    low, high = wilson(disagreement, n_questions, _QUANTILE)
    if n_questions >= _FEWEST and low > _NEAR_CHANCE and high >= 0.5:
        return "warning", (
            f"Two answers to one question differ in {percent(disagreement)} of cases, as guesses do; check that "
            "the answer column is read as it was meant, and what people were told."
        )
    seen = (
        f"Two answers to one question differ in {percent(disagreement)} of cases (guesses: 50%)."
        if n_questions >= _FEWEST
        else f"From fewer than {_FEWEST} questions no rate of disagreement is estimated."
    )
    return "note", f"{seen} A map weighs them against each other; nothing needs to be removed."


def _examples(case: Case, chosen: NDArray[np.bool_], most: int = 3) -> tuple[str, ...]:
    """Write the most evenly split of some questions."""
    questions = np.flatnonzero(chosen)
    fewer, more = np.sort(case.votes[questions], axis=1).T
    order = np.argsort(-(fewer**2) / more, kind="stable")[:most]  # many answers, and evenly split
    lines = []
    for question in questions[order]:
        row = int(np.flatnonzero((case.questions == question) & case.decided)[0])
        said, other = case.votes[question][:: -1 if case.first_is_near[row] else 1]
        words = case.comparison_name(int(case.near[row]), int(case.far[row]))
        lines.append(f"{words}: {pluralize(int(said), 'answer')}, the other way round: {other}")
    return tuple(lines)


def check_self_contradictions(case: Case) -> CheckResult:
    """Count the questions that one person answered both ways."""
    if case.people is None or case.names is None:
        return CheckResult()
    votes, person, n_different = _own_repeats(case, case.people)
    both = votes.min(axis=1) > 0
    n_repeated, n_both = len(votes), int(both.sum())
    counts: dict[str, Any] = {"n_self_repeated": n_repeated, "n_self_contradicted": n_both}
    if n_both == 0:
        return CheckResult(counts=counts)
    disagreement = _disagreement(votes)
    counts["self_disagreement"] = disagreement
    per_person = np.bincount(person[both], minlength=len(case.names))
    chances = np.bincount(person, minlength=len(case.names))
    examples = tuple(
        f"{case.person_name(index)}: {per_person[index]} of {pluralize(int(chances[index]), 'question')} asked again"
        for index in np.argsort(-per_person, kind="stable")[:3]
        if per_person[index]
    )
    title = (
        f"{pluralize(n_both, 'question was', 'questions were')} answered both ways by the same person, of "
        f"{intcomma(n_repeated)} that one person was asked again"
    )
    level, text = _verdict_on_self(disagreement, n_different)
    return CheckResult((Finding(level, "self-contradictions", title, text, examples),), counts)


def _disagreement(votes: IntArray) -> float:
    """Return how often two answers to one question differ, the mean over questions answered twice or more."""
    asked = votes.sum(axis=1)
    return float((votes.prod(axis=1) / (asked * (asked - 1) / 2)).mean())


def _verdict_on_self(disagreement: float, n_questions: int) -> tuple[Level, str]:
    low, high = wilson(disagreement, n_questions, _QUANTILE)
    seen = f"Asked again, a person answers otherwise in {percent(disagreement)} of cases (guesses: 50%)"
    if n_questions >= _FEWEST and low > _NEAR_CHANCE and high >= 0.5:
        return "warning", f"{seen}; check how answers are recorded, and what people were told."
    if n_questions < _FEWEST:
        return "note", f"From fewer than {_FEWEST} questions no rate of disagreement is estimated."
    return "note", f"{seen}. This is how noisy single answers are; a map weighs them against each other."


def _own_repeats(case: Case, people: NDArray[np.intp]) -> tuple[IntArray, IntArray, int]:
    """Return for each question that a person answered more than once the votes, (r, 2), and who it was, (r,).

    Also how many different questions these are: one hard question asked of all again says little about the others.
    """
    own = people[case.answers.answer_of].astype(np.int64) * case.n_questions + case.questions
    codes, positions = np.unique(own[case.decided], return_inverse=True)
    votes = np.bincount(2 * positions + case.first_is_near[case.decided], minlength=2 * len(codes)).reshape(-1, 2)
    again = votes.sum(axis=1) > 1
    return votes[again], codes[again] // case.n_questions, len(np.unique(codes[again] % case.n_questions))


def check_cycles(case: Case) -> CheckResult:
    """Look for answers that go in a circle: one pair nearer than a second, that than a third, that than the first."""
    near, far = case.majority
    if len(near) == 0:
        return CheckResult()
    knot = knots(near, far, case.n_pairs)
    inside = int((knot[near] == knot[far]).sum())
    found = triads(near, far, case.n_pairs, case.stream("triads"))
    counts: dict[str, Any] = {
        "n_in_cycles": inside,
        "n_knots": len(np.unique(knot[near][knot[near] == knot[far]])),
        "n_triads_looked_at": found.n_closed,
        "share_cyclic": found.share_cyclic,
    }
    if inside == 0:
        return CheckResult((_no_circle(case, found.n_closed),), counts)
    cycle = shortest_cycle(near, far, knot, case.n_pairs) if found.example is None else found.example
    words = tuple(
        case.comparison_name(first, second) for first, second in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    )
    n_triads = min(found.n_closed, len(near) // 3)
    if found.share_cyclic is None or n_triads < _FEWEST:
        level: Level = "note"
        title = f"{pluralize(inside, 'question')} of {intcomma(len(near))} take part in intransitive cycles"
    else:
        level = _level_of_cycles(found.share_cyclic, n_triads)
        title = f"{percent(found.share_cyclic)} of testable triads are intransitive (guesses: 25%)"
    text = {
        "note": "Noisy answers always make some triads intransitive; a map weighs all answers.",
        "warning": "These answers follow no order of distances; check how they were recorded and what was asked.",
    }[level]
    return CheckResult((Finding(level, "cycles", title, text, ("; ".join(words),)),), counts)


def _no_circle(case: Case, n_triads: int) -> Finding:
    """Say that there is no circle, which is a good sign only where many could be and no two answers disagree."""
    if n_both := int((case.votes.min(axis=1) > 0).sum()):
        title = "The majority answers to all questions are transitive"
        differ = pluralize(n_both, "question was", "questions were")
        text = f"But {differ} answered both ways, so that no order of distances agrees with all answers."
        return Finding("note", "cycles", title, text)
    title, text = "No triad is intransitive", "Some order of all distances agrees with them."
    if n_triads < _FEWEST:
        testable = pluralize(n_triads, "triad is", "triads are") if n_triads else "no triad is"
        return Finding("note", "cycles", title, f"{text} That says little, as {testable} testable.")
    return Finding("good", "cycles", title, text)


def _level_of_cycles(share: float, n_triads: int) -> Level:
    """Compare the share of circles among triads with that of coin tosses.

    An answer wrong with chance f makes a circle with a chance of at most f (1 - f), which is one quarter for f = 1/2.
    Triads share questions, so no more of them than a third of the questions count as independent.
    """
    low, high = wilson(share, n_triads, _QUANTILE)
    return "warning" if high >= _CHANCE_CYCLIC and low > _NEAR_CYCLIC else "note"
