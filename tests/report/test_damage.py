"""Results that were damaged or edited end in a page or in a sentence, and never in a traceback."""

import copy
import re

import pytest
from helpers.report_sample import results_of

from nearer.report.page import assemble
from nearer.study.results import KEYS, StudyResults

JUNK = [
    None, True, 0, 5, -1, 0.5, 1e300, 10**400, float("nan"), float("inf"), "", "x", [], {}, [None], [5], ["x"], [[]],
    [{}], {"x": None}, {"x": [5]}, [[1.0, 2.0]], [0, 0], [[[1.0]]], {"counts": [1]},
]  # fmt: skip


def results():
    made = results_of([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]], ["a", "b", "c"], {"size": [1, 2, None]})
    later = {"objects": ["c"], "n_answers": 20, "n_unsure": 1, "title": "t", "commands": ["nearer place"]}
    for part in (made["dimension"], made["settings"]["chosen"]):
        part["method"] = {"name": "SOE", "parameters": {"trace": 0.01}}
    return made | {"notes": ["n"], "missing": ["curve"], "placed": later}


def places(value, path=()):
    """Every place in the results, with the first two items of each list for all of them."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value[:2]):
            yield from places(item, (*path, index))


def changed(path, junk, made):
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = copy.deepcopy(junk)
    return made


def without(path, made):
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return made


def outcome(damaged, key):
    """A page, or a sentence that names the key; anything else fails."""
    try:
        known = StudyResults.from_dict(damaged)
    except ValueError as error:
        said = str(error)
    else:
        assert "</html>" in assemble(known, {})
        return "page"
    assert re.search(rf"\b{key}\b", said)
    assert "\n" not in said
    return "sentence"


@pytest.mark.parametrize("key", KEYS)
def test_every_place_may_hold_junk(key):
    outcomes = [
        outcome(changed(path, junk, results()), key) for path in places(results()) if path[0] == key for junk in JUNK
    ]
    assert "sentence" in outcomes


def test_every_place_may_be_missing():
    for path in places(results()):
        outcome(without(path, results()), path[0])


@pytest.mark.parametrize(
    ("key", "junk", "message"),
    [
        ("error", 5, "error must be an object; got 5"),
        ("error", {"map": 5}, r"error\.map must be a number from 0 to 1; got 5"),
        ("findings", [{}], r"findings\[0\] lacks severity, title, text"),
        ("margins", {"counts": [1]}, "margins lacks edges"),
        ("margins", {"edges": [0, 1], "counts": [1, 2]}, r"margins\.edges must hold 3 numbers; got 2"),
        ("margins", {"edges": [1, 0], "counts": [1]}, r"margins\.edges must ascend"),
        ("scree", [0, 0, 0], "scree must hold 2 numbers; got 3"),
        ("learning_curve", "x", "learning_curve must be a list; got 'x'"),
        ("annotators", [{}], r"annotators\[0\] lacks name"),
        ("objects", "abc", "objects must be a list"),
        ("seed", -1, "seed must be a whole number of 0 or more"),
        ("covariances", [[[-1.0, 0.0], [0.0, 1.0]]] * 3, "row 0 holds a variance below zero"),
        ("embedding", [[10**400, 0], [0, 0], [0, 0]], "embedding must be rows of numbers"),
        ("settings", {"parameters": 5}, r"settings\.parameters must be an object"),
        ("dimension", {"candidates": [1], "errors": [], "chosen": 1}, r"dimension\.errors must hold 1 number; got 0"),
    ],
)
def test_the_sentence_says_what_was_wanted_and_what_came(key, junk, message):
    with pytest.raises(ValueError, match=message):
        StudyResults.from_dict(results() | {key: junk})


def test_long_junk_makes_no_long_sentence():
    with pytest.raises(ValueError, match="title must be a string") as caught:
        StudyResults.from_dict(results() | {"title": [["x" * 10_000] * 1000]})
    assert len(str(caught.value)) < 300


def test_nesting_beyond_reason_is_refused():
    deep = []
    for _ in range(800):
        deep = [deep]
    with pytest.raises(ValueError, match=r"^settings\.parameters.*nested at most 20 deep"):
        StudyResults.from_dict(results() | {"settings": {"parameters": {"a": deep}}})
    assert StudyResults.from_dict(results() | {"settings": {"parameters": {"a": [[[["fine"]]]]}}})


def test_a_person_of_whom_little_is_known_has_nulls_in_the_page():
    from nearer.report.page import payload

    (person,) = payload(StudyResults.from_dict(results() | {"annotators": [{"name": "A"}]}), {})["annotators"]
    assert (person.pop("name"), person.pop("flags")) == ("A", [])
    assert set(person.values()) == {None}
