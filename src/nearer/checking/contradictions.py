"""What people said about the same question, and whether what they said fits together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.checking.case import Case, IntArray, Outcome
from nearer.checking.cycles import knots, shortest_cycle, triads
from nearer.checking.findings import Finding, Level
from nearer.common.words import counted, digits, percent
from nearer.evaluation.intervals import wilson

_FEWEST = 30  # questions below which a share says little
_QUANTILE = 2.58  # intervals of 99%: every study is looked at in many ways
_NEAR_CHANCE = 0.38  # of disagreement: below, answers are noisy, and no coin tosses
_NEAR_CYCLIC = 0.2  # a share known to be above this leaves little but coin tosses
_CHANCE_CYCLIC = 0.25  # of the eight ways to answer three questions about three pairs, two go in a circle


def check_repeats(case: Case) -> Outcome:
    """Count questions asked more than once, and those answered both ways."""
    asked = case.votes.sum(axis=1)
    repeated = asked > 1
    both = repeated & (case.votes.min(axis=1) > 0)
    n_repeated, n_both = int(repeated.sum()), int(both.sum())
    counts: dict[str, Any] = {"n_repeated": n_repeated, "n_contradicted": n_both, "disagreement": None}
    if n_repeated == 0:
        return Outcome(counts=counts)
    disagreement = _disagreement(case.votes[repeated])
    counts["disagreement"] = disagreement
    if n_both == 0:
        title = f"{counted(n_repeated, 'question was', 'questions were')} repeated, none was answered both ways"
        if n_repeated < _FEWEST:
            text = f"So few say little: from {_FEWEST} on it would be a sign that answers agree."
            return Outcome((Finding("note", "contradictions", title, text),), counts)
        text = "Answers to the same question agree."
        return Outcome((Finding("good", "contradictions", title, text),), counts)
    level, text = _verdict(disagreement, n_repeated)
    title = (
        f"{counted(n_both, 'question was', 'questions were')} answered both ways, {percent(n_both / n_repeated)} of "
        f"the {digits(n_repeated)} asked more than once"
    )
    return Outcome((Finding(level, "contradictions", title, text, _examples(case, both)),), counts)


def _verdict(disagreement: float, n_questions: int) -> tuple[Level, str]:
    """Tell answers that merely differ from answers that are coin tosses."""
    low, high = wilson(disagreement, n_questions, _QUANTILE)
    if n_questions >= _FEWEST and low > _NEAR_CHANCE and high >= 0.5:
        return "warning", (
            f"Two answers to one question differ in {percent(disagreement)} of cases, as coin tosses do; check that "
            "the answer column is read as it was meant, and what people were told."
        )
    return "note", (
        f"Two answers to one question differ in {percent(disagreement)} of cases (coin tosses: 50%). "
        "A map weighs them against each other; nothing needs to be removed."
    )


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
        lines.append(f"{words}: {counted(int(said), 'answer')}, the other way round: {other}")
    return tuple(lines)


def check_self_contradictions(case: Case) -> Outcome:
    """Count the questions that one person answered both ways."""
    if case.people is None or case.names is None:
        return Outcome()
    votes, person, n_different = _own_repeats(case, case.people)
    both = votes.min(axis=1) > 0
    n_repeated, n_both = len(votes), int(both.sum())
    counts: dict[str, Any] = {"n_self_repeated": n_repeated, "n_self_contradicted": n_both}
    if n_both == 0:
        return Outcome(counts=counts)
    disagreement = _disagreement(votes)
    counts["self_disagreement"] = disagreement
    per_person = np.bincount(person[both], minlength=len(case.names))
    chances = np.bincount(person, minlength=len(case.names))
    examples = tuple(
        f"{case.person_name(index)}: {per_person[index]} of {counted(int(chances[index]), 'question')} asked again"
        for index in np.argsort(-per_person, kind="stable")[:3]
        if per_person[index]
    )
    title = (
        f"{counted(n_both, 'question was', 'questions were')} answered both ways by the same person, "
        f"{percent(n_both / n_repeated)} of those that one person was asked again"
    )
    level, text = _verdict_on_self(disagreement, n_different)
    return Outcome((Finding(level, "self-contradictions", title, text, examples),), counts)


def _disagreement(votes: IntArray) -> float:
    """Return how often two answers to one question differ, the mean over questions answered twice or more."""
    asked = votes.sum(axis=1)
    return float((votes.prod(axis=1) / (asked * (asked - 1) / 2)).mean())


def _verdict_on_self(disagreement: float, n_questions: int) -> tuple[Level, str]:
    low, high = wilson(disagreement, n_questions, _QUANTILE)
    seen = f"Asked again, a person answers otherwise in {percent(disagreement)} of cases (coin tosses: 50%)"
    if n_questions >= _FEWEST and low > _NEAR_CHANCE and high >= 0.5:
        return "warning", f"{seen}; check how answers are recorded, and what people were told."
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


def check_cycles(case: Case) -> Outcome:
    """Look for answers that go in a circle: one pair nearer than a second, that than a third, that than the first."""
    near, far = case.majority
    if len(near) == 0:
        return Outcome()
    knot = knots(near, far, case.n_pairs)
    inside = int((knot[near] == knot[far]).sum())
    found = triads(near, far, case.n_pairs, case.rng)
    counts: dict[str, Any] = {
        "n_in_cycles": inside,
        "n_knots": len(np.unique(knot[near][knot[near] == knot[far]])),
        "n_triads_looked_at": found.n_closed,
        "share_cyclic": found.share_cyclic,
    }
    if inside == 0:
        return Outcome((_no_circle(case, found.n_closed),), counts)
    cycle = shortest_cycle(near, far, knot, case.n_pairs) if found.example is None else found.example
    words = tuple(
        case.comparison_name(first, second) for first, second in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    )
    n_triads = min(found.n_closed, len(near) // 3)
    if found.share_cyclic is None or n_triads < _FEWEST:
        level: Level = "note"
        title = f"{counted(inside, 'question')} of {digits(len(near))} take part in circles"
    else:
        level = _level_of_cycles(found.share_cyclic, n_triads)
        title = (
            f"Answers go in a circle in {percent(found.share_cyclic)} of the cases where they could (coin tosses: 25%)"
        )
    text = {
        "note": "Noisy answers always make some circles; a map settles them by weighing all answers.",
        "warning": "These answers follow no order of distances; check how they were recorded and what was asked.",
    }[level]
    return Outcome((Finding(level, "cycles", title, text, ("; ".join(words),)),), counts)


def _no_circle(case: Case, n_triads: int) -> Finding:
    """Say that there is no circle, which is a good sign only where many could be and no two answers disagree."""
    if n_both := int((case.votes.min(axis=1) > 0).sum()):
        title = "What most answers to each question say does not go in a circle"
        differ = counted(n_both, "question was", "questions were")
        text = f"But {differ} answered both ways, so that no order of distances agrees with all answers."
        return Finding("note", "cycles", title, text)
    title, text = "No answers go in a circle", "Some order of all distances agrees with them."
    if n_triads < _FEWEST:
        where = counted(n_triads, "case") if n_triads else "no case"
        return Finding("note", "cycles", title, f"{text} That says little, as three of them could in {where} only.")
    return Finding("good", "cycles", title, text)


def _level_of_cycles(share: float, n_triads: int) -> Level:
    """Compare the share of circles among triads with that of coin tosses.

    An answer wrong with chance f makes a circle with a chance of at most f (1 - f), which is one quarter for f = 1/2.
    Triads share questions, so no more of them than a third of the questions count as independent.
    """
    low, high = wilson(share, n_triads, _QUANTILE)
    return "warning" if high >= _CHANCE_CYCLIC and low > _NEAR_CYCLIC else "note"
