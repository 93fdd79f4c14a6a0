"""Where on the screen people choose: always the same place, one place in long runs, or all of them one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from nearer._common.formatting import percent, pluralize
from nearer.checking.case import Case, CheckResult, IntArray
from nearer.checking.findings import Finding

_LEVEL = 0.001  # of a false alarm in a whole study
_FEWEST = 10  # answers of a person
_ALL = 0.95
_MOST_PEOPLE = 1 / 3  # if more of them repeat a place, the file is sorted by the answer


def place_name(place: int, n_places: int) -> str:
    """Name a place as people would.

    Examples
    --------
    >>> place_name(0, 2), place_name(1, 2), place_name(2, 3)
    ('the left one', 'the right one', 'place 3')
    """
    return ("the left one", "the right one")[place] if n_places == 2 else f"place {place + 1}"


def check_sides(case: Case) -> CheckResult:
    """See whether all people together choose one place."""
    _, places, n_places = _known(case)
    if n_places == 0 or len(places) < _FEWEST:
        return CheckResult()
    shares = np.bincount(places, minlength=n_places) / len(places)
    first = int(shares.argmax())
    counts = {"place_shares": shares.tolist()}
    if shares[first] < _ALL:
        return CheckResult(counts=counts)
    title = f"{percent(float(shares[first]))} of the answers choose {place_name(first, max(n_places, 2))}"
    text = "If the chosen object was always written there, say so when reading; else the options were not shuffled."
    return CheckResult((Finding("warning", "one-place", title, text),), counts)


def check_order(case: Case) -> CheckResult:
    """See whether the options were shuffled."""
    if not order_is_fixed(case):
        return CheckResult(counts={"fixed_order": False} if case.answers.places is not None else {})
    title = "The place of an option depends on which object it is"
    text = (
        "Either the file does not keep the order in which options were shown, or they were not shuffled; "
        "nothing can then be said about people who favour a place."
    )
    return CheckResult((Finding("note", "fixed-order", title, text),), {"fixed_order": True})


def order_is_fixed(case: Case) -> bool:
    """Whether places go with objects: equal answers nearly always at one place, or objects with places of their own."""
    known, places, n_places = _known(case)
    if n_places < 2 or np.bincount(places).max() >= _ALL * len(places):
        return False
    signatures = case.signatures[known]
    order = np.argsort(signatures, kind="stable")
    again = signatures[order][1:] == signatures[order][:-1]
    same = int((places[order][1:] == places[order][:-1])[again].sum())
    n_again = int(again.sum())
    if n_again >= _FEWEST and same > _ALL * n_again:
        return True
    first = np.unique(case.answers.answer_of, return_index=True)[1]  # one comparison speaks for an answer
    return any(_go_together(objects[known], places) for objects in case.comparisons.oriented[first][:, [1, 3]].T)


def _go_together(objects: NDArray[Any], places: IntArray) -> bool:
    """Whether a table of objects and places is far from what independence gives: six standard deviations of chi2."""
    table = _table(objects, places, int(objects.max()) + 1, int(places.max()) + 1).astype(np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return bool(((table - expected) ** 2 / expected).sum() > freedom + 6 * np.sqrt(2 * freedom) + 20)


def check_places(case: Case) -> CheckResult:
    """Find people who choose one place far more than the others do."""
    known, places, n_places = _known(case)
    if case.people is None or case.names is None or len(case.names) < 2 or n_places < 2 or order_is_fixed(case):
        return CheckResult()
    table = _table(case.people[known], places, len(case.names), n_places)
    asked = table.sum(axis=1)
    others = table.sum(axis=0) - table
    # One answer of each kind is added, so that what the others never do is rare and not impossible.
    expected = (others + 1) / (others + 1).sum(axis=1, keepdims=True)
    share = table / np.maximum(asked, 1)[:, None]
    tail = binom.sf(table - 1, asked[:, None], expected)
    # Halfway from what the others do to always: a slight habit is common and does no harm.
    flagged = (tail * table.size < _LEVEL) & (share > (1 + expected) / 2) & (asked >= _FEWEST)[:, None]
    culprits = np.argwhere(flagged)
    counts = {"n_one_place": len(culprits)}
    if len(culprits) == 0:
        return CheckResult(counts=counts)
    examples = tuple(
        f"{case.person_name(person)}: {place_name(place, n_places)} in {table[person, place]} of {asked[person]} "
        f"answers (others: {percent(float(expected[person, place]))})"
        for person, place in culprits[:10]
    )
    flags = case.said_of(culprits[:, 0], "always one place")
    title = f"{pluralize(len(culprits), 'person chooses', 'people choose')} nearly always the same place"
    text = "Such answers say little about the objects; look at them, and leave these people out if nothing explains it."
    return CheckResult((Finding("warning", "same-place", title, text, examples, flags),), counts)


def check_runs(case: Case) -> CheckResult:
    """Find people who give the same place many times in a row."""
    known, places, n_places = _known(case)
    if case.people is None or case.names is None or n_places < 2 or order_is_fixed(case):
        return CheckResult()
    people, order = case.people[known], np.argsort(case.people[known], kind="stable")
    n_people = len(case.names)
    table = _table(people, places, n_people, n_places)
    asked = table.sum(axis=1)
    longest, place = _longest_runs(people[order], places[order], n_people)
    share = table[np.arange(n_people), place] / np.maximum(asked, 1)
    # A run of length L can start at any answer: its chance is at most n * share^L. At a share of 1 it never is rare.
    chance = asked * np.maximum(share, 1 / n_places) ** longest
    culprits = np.flatnonzero((chance * n_people < _LEVEL) & (longest >= _FEWEST))
    counts = {"n_runs": len(culprits), "longest_run": int(longest.max())}
    if len(culprits) == 0 or (n_people > 2 and len(culprits) > _MOST_PEOPLE * n_people):
        return CheckResult(counts=counts)
    examples = tuple(
        f"{case.person_name(person)}: {place_name(int(place[person]), n_places)} {longest[person]} times in a row"
        for person in culprits[np.argsort(-longest[culprits], kind="stable")][:10]
    )
    flags = case.said_of(culprits, "one place in long runs")
    title = f"{pluralize(len(culprits), 'person gives', 'people give')} the same place many times in a row"
    text = "Attention may have lapsed there; look at these stretches, and leave them out if nothing explains them."
    return CheckResult((Finding("warning", "runs", title, text, examples, flags),), counts)


def _known(case: Case) -> tuple[NDArray[np.bool_], IntArray, int]:
    """Return which answers tell their place, these places, and how many different ones there are."""
    if case.answers.places is None:
        return np.zeros(len(case.answers), dtype=bool), np.empty(0, dtype=np.int64), 0
    known = case.answers.places >= 0
    places = case.answers.places[known]
    return known, places, int(places.max(initial=-1)) + 1


def _table(people: NDArray[Any], places: IntArray, n_people: int, n_places: int) -> IntArray:
    """Count the answers of each person at each place."""
    return np.bincount(people * n_places + places, minlength=n_people * n_places).reshape(n_people, n_places)


def _longest_runs(people: NDArray[Any], places: IntArray, n_people: int) -> tuple[IntArray, IntArray]:
    """Return the length and the place of the longest run of each person; answers are sorted by person."""
    change = np.flatnonzero(np.r_[True, (np.diff(people) != 0) | (np.diff(places) != 0)])
    lengths = np.diff(np.r_[change, len(people)])
    order = np.argsort(lengths, kind="stable")  # so that the longest is written last
    longest, place = np.zeros(n_people, dtype=np.int64), np.zeros(n_people, dtype=np.int64)
    longest[people[change[order]]] = lengths[order]
    place[people[change[order]]] = places[change[order]]
    return longest, place
