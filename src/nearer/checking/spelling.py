"""Names of objects that may be two spellings of one, or no names at all."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from typing import Any

import numpy as np

from nearer._common.formatting import pluralize, quote, quote_all
from nearer.checking.case import Case, CheckResult
from nearer.checking.findings import Finding
from nearer.data.groups import sorted_unique
from nearer.io.column_checks import MAX_CHANCE_SAME_FORM, chance_of_design

_MISSING = {"", "na", "n/a", "nan", "null", "none", "nil", "missing", "undefined", "?", "-", "--", "#n/a", "#ref!"}
_RARE = 0.1  # of the usual number of answers
_OFTEN = 6  # comparisons in which an object that may be near or far is hardly ever one of them by chance
_FEWEST_ONE_SIDED = 5
_MOST_ONE_SIDED = 0.8  # of the objects that are seen often; those at the rim of a map may well be ever far


def folded(label: Any) -> str:
    r"""Return a label as it reads when case, spaces and ways of coding a letter are disregarded.

    Examples
    --------
    >>> folded("Cat ") == folded("cat"), folded("caf\u00e9") == folded("cafe\u0301")
    (True, True)
    """
    return " ".join(unicodedata.normalize("NFKC", str(label)).casefold().split())


def check_spellings(case: Case) -> CheckResult:
    """Find labels that differ only by case, space, Unicode form, zeros around a number, or the ending of a file."""
    labels = case.comparisons.objects.tolist()
    plain = {folded(label) for label in labels}
    groups: dict[str, list[Any]] = defaultdict(list)
    for label in labels:
        groups[_bare(folded(label), plain)].append(label)
    alike = [labels for labels in groups.values() if len(labels) > 1]
    counts = {"n_alike_labels": len(alike)}
    if not alike:
        return CheckResult(counts=counts)
    title = f"{pluralize(len(alike), 'object seems', 'objects seem')} to be written in more than one way"
    text = (
        "They differ only by case, spaces, coding, zeros or the ending of a file, and count as different objects; "
        "write each name one way."
    )
    examples = tuple(" and ".join(told_apart(labels)) for labels in alike[:5])
    return CheckResult((Finding("warning", "alike-labels", title, text, examples),), counts)


def _bare(word: str, words: set[str]) -> str:
    """Return a number without zeros around it, and the stem of a file if that is itself one of the words.

    Examples
    --------
    >>> _bare("012", set()), _bare("13.0", set()), _bare("cat.jpg", {"cat"}), _bare("cat.jpg", {"cat.png"})
    ('12', '13', 'cat', 'cat.jpg')
    """
    if number := re.fullmatch(r"0*(\d+)(\.0+)?", word):
        return number[1]
    file = re.fullmatch(r"(.+)\.[a-z][a-z0-9]{1,4}", word)
    return file[1] if file and file[1] in words else word


def told_apart(labels: list[Any]) -> list[str]:
    r"""Write labels such that they differ to the eye: with codes in place of letters only where nothing else does.

    Examples
    --------
    >>> told_apart(["K\u00e4se", "k\u00e4se"]) == ["'K\u00e4se'", "'k\u00e4se'"]
    True
    >>> told_apart(["caf\u00e9", "cafe\u0301"])
    ["'caf\\xe9'", "'cafe\\u0301'"]
    """
    seen = {unicodedata.normalize("NFKC", str(label)) for label in labels}
    return [repr(label) if len(seen) == len(labels) else ascii(label) for label in labels]


def check_misspelt(case: Case) -> CheckResult:
    """Find rare labels that are nearly a common one."""
    seen = case.answers_seen
    usual = float(np.median(seen[seen > 0]))
    rare = np.flatnonzero((seen > 0) & (seen <= 2) & (seen <= _RARE * usual))
    labels = case.comparisons.objects.tolist()
    common = {folded(labels[index]): labels[index] for index in np.flatnonzero(seen > _RARE * usual)}
    found = []
    for index in rare[:100]:  # more are no slips of the keyboard
        word = folded(labels[index])
        close = [
            other for other in difflib.get_close_matches(word, common, n=3, cutoff=0.8) if _same_numbers(word, other)
        ]
        if close and word not in common:
            found.append((labels[index], common[close[0]], int(seen[index])))
    counts = {"n_misspelt": len(found)}
    if not found:
        return CheckResult(counts=counts)
    title = (
        f"{pluralize(len(found), 'object', 'objects')} may be misspelt: hardly ever seen, and nearly the name of "
        "another"
    )
    text = f"Objects are in {usual:g} answers as a rule; correct the names in the file."
    examples = tuple(
        f"{quote(word)} ({pluralize(times, 'answer')}), perhaps {quote(other)}" for word, other, times in found[:5]
    )
    return CheckResult((Finding("warning", "misspelt-labels", title, text, examples),), counts)


def _same_numbers(first: str, second: str) -> bool:
    """Whether two labels hold the same numbers: egg17 is no misspelling of egg18."""
    return re.findall(r"\d+", first) == re.findall(r"\d+", second)


def check_one_sided(case: Case) -> CheckResult:
    """Find objects that are always near, or always far: the two columns then hold different objects, or spellings."""
    if case.answers.kind != "triplet" or case.comparisons.rows.shape[1] != 3:
        return CheckResult()  # of many options most are far
    near, far = case.comparisons.rows[:, 1:].T
    times_near, times_far = (np.bincount(each, minlength=case.n_objects) for each in (near, far))
    often = times_near + times_far >= _OFTEN
    one_sided = often & ((times_near == 0) | (times_far == 0))
    counts = {"n_one_sided": int(one_sided.sum())}
    if one_sided.sum() < _FEWEST_ONE_SIDED or one_sided.sum() < _MOST_ONE_SIDED * often.sum():
        return CheckResult(counts=counts)
    title = f"{counts['n_one_sided']} of {pluralize(int(often.sum()), 'object')} are only ever near or only ever far"
    text = (
        "Objects that are compared are near in some answers and far in others; see whether the columns of near and far "
        "write the same names, and whether they were chosen by the answer."
    )
    examples = tuple(
        f"only ever {side}: {quote_all(case.object_names(np.flatnonzero(one_sided & (others == 0))), 5)}"
        for side, others in (("near", times_far), ("far", times_near))
        if (one_sided & (others == 0)).any()
    )
    return CheckResult((Finding("warning", "one-sided", title, text, examples),), counts)


def check_anchors(case: Case) -> CheckResult:
    """Find more anchors that are never options than chance explains, beside options that are never anchors."""
    rows = case.comparisons.rows
    if case.answers.kind not in ("triplet", "grid", "ranking", "ranked-grid") or rows.shape[1] != 3:
        return CheckResult()
    anchors, options = (set(np.flatnonzero(np.bincount(rows[:, at].ravel())).tolist()) for at in (0, slice(1, 3)))
    never_options, never_anchors = sorted(anchors - options), sorted(options - anchors)
    counts = {"n_only_anchors": len(never_options)}
    if len(never_options) < 2 or not never_anchors or not anchors & options:
        return CheckResult(counts=counts)
    codes = (rows[:, :1].astype(np.int64) * case.n_objects + rows[:, 1:]).ravel()
    pairs = zip(*(each.tolist() for each in np.divmod(sorted_unique(codes), case.n_objects)), strict=True)
    if chance_of_design(pairs, len(never_options)) >= MAX_CHANCE_SAME_FORM:
        return CheckResult(counts=counts)
    title = f"{len(never_options)} of {pluralize(len(anchors), 'anchor')} are never among the options"
    text = (
        "Chance does not explain that. If they are other names of objects among the options, write each name one way; "
        "if the design has anchors of their own, nothing is wrong."
    )
    examples = tuple(
        f"only ever {role}: {quote_all(case.object_names(np.array(objects)), 5)}"
        for role, objects in (("anchors", never_options), ("options", never_anchors))
    )
    return CheckResult((Finding("warning", "only-anchors", title, text, examples),), counts)


def check_missing_labels(case: Case) -> CheckResult:
    """Find labels that stand for no object."""
    found = [label for label in case.comparisons.objects.tolist() if folded(label) in _MISSING]
    if not found:
        return CheckResult()
    title = f'{pluralize(len(found), "object has a name that means", "objects have names that mean")} "nothing here"'
    text = "Such cells count as an object of that name; leave those rows out, unless it is one."
    return CheckResult((Finding("warning", "missing-labels", title, text, (quote_all(found),)),))


def check_numbering(case: Case) -> CheckResult:
    """Find gaps in labels that number the objects."""
    seen = case.comparisons.objects[case.answers_seen > 0]
    texts = [str(label) for label in seen.tolist()]
    if len(texts) < 5 or not all(re.fullmatch(r"\d{1,9}", text) for text in texts):
        return CheckResult()
    numbers = np.array(sorted(map(int, texts)))
    if numbers[-1] > 2 * len(numbers):  # identifiers, which have no gaps
        return CheckResult()
    missing = np.setdiff1d(np.arange(numbers[0], numbers[-1] + 1), numbers)
    counts = {"n_numbers_missing": len(missing)}
    # With indices 0..n-1 the objects in the gaps are on the list and reported as never compared.
    if numbers[0] > 1 or len(missing) == 0 or len(seen) < case.n_objects:
        return CheckResult(counts=counts)
    absent = pluralize(len(missing), "number never occurs", "numbers never occur")
    title = f"The objects are numbered from {numbers[0]} to {numbers[-1]}, but {absent}"
    text = "If these are objects of the study, nobody was asked about them, and they will not be on the map."
    return CheckResult((Finding("note", "numbering-gaps", title, text, (quote_all(list(missing), 10),)),), counts)
