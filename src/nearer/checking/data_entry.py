"""How answers and labels were entered: duplicate rows, times and confidences, and labels written in several ways."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from nearer._common.findings import Finding, Severity
from nearer.checking.context import Context, IntArray
from nearer.data.groups import sorted_unique
from nearer.io.column_checks import MAX_CHANCE_SAME_FORM, chance_of_design

_ALPHA = 0.001
_MIN_BLOCK_ANSWERS = 20  # nobody repeats so many answers in a row without a change
_MAX_MISSING_SHARE = 0.5
_MAX_MEDIAN_SECONDS = 300.0  # beyond, times are probably milliseconds
MIN_SECONDS = 0.5  # to look at three objects and decide: choosing between two lights alone takes 0.3 s
_MIN_TIMED_ANSWERS = 10  # of a person
_MAX_FAST_SHARE = 0.1
_MISSING_LABELS = {
    "", "na", "n/a", "nan", "null", "none", "nil", "missing", "undefined", "?", "-", "--", "#n/a", "#ref!"
}  # fmt: skip
_RARE_SHARE = 0.1  # of the median number of answers
_MIN_COMPARISONS = 6  # from which on an object is hardly ever always near, or always far, by chance
_MIN_ONE_SIDED = 5
_MIN_ONE_SIDED_SHARE = 0.8  # of objects in enough comparisons; those at the rim of a map may well be always far


def check_trials(context: Context) -> Iterator[Finding]:
    """Report a column of trials whose numbers stand for several trials each."""
    found = context.answers.report.trial_numbers
    if found is not None:
        numbers = found._asdict() | {"has_people": context.people is not None, "file": context.answers.source}
        yield Finding("trial-numbers", "warning", numbers=numbers)


def check_duplicates(context: Context) -> Iterator[Finding]:
    """Find answers recorded twice: same person, same answer, and the very same time or the same trial."""
    pairs = np.concatenate([_same_time(context), _same_trial(context)])
    pairs = pairs[np.unique(pairs[:, 1], return_index=True)[1]]
    context.counts["n_duplicates"] = len(pairs)
    if len(pairs):
        lines = [[_place(context, first), _place(context, second)] for first, second in pairs[:5]]
        yield Finding("duplicate-answers", "warning", numbers={"n_duplicates": len(pairs), "lines": lines})


def _place(context: Context, answer: int, last: int | None = None) -> dict[str, Any]:
    """Return the file of an answer, None where there is only one, and its line, or those from it to another."""
    files, lines = context.answers.files, context.answers.lines
    first, last = int(lines[answer]), None if last is None else int(lines[last])
    return {"file": None if files is None else str(files[answer]), "line": first, "to": last}


def _same_time(context: Context) -> IntArray:
    """Return pairs of equal answers, (k, 2), of one person after the same time, if that is no coincidence."""
    none = np.empty((0, 2), dtype=np.int64)
    if context.answers.seconds is None:
        return none
    timed = np.flatnonzero(np.isfinite(context.answers.seconds))
    seconds, hashes = context.answers.seconds[timed], context.answer_hashes[timed]
    who = np.zeros(len(timed), dtype=np.int64) if context.people is None else context.people[timed].astype(np.int64)
    order = np.lexsort((seconds, hashes, who))
    same = (np.diff(who[order]) == 0) & (hashes[order][1:] == hashes[order][:-1]) & (np.diff(seconds[order]) == 0)
    doubled = np.flatnonzero(same)
    if len(doubled) == 0:
        return none
    # How many equal times, as of times in whole seconds, chance gives to answers that a person repeated.
    sizes, alike, (person, times) = np.bincount(who), _group_sizes(who, seconds), _group_sizes(who, hashes)
    chance = np.bincount(alike[0], alike[1] * (alike[1] - 1.0), len(sizes)) / np.maximum(sizes * (sizes - 1.0), 1)
    expected = float((times * (times - 1) / 2 * chance[person]).sum())
    is_chance = poisson.sf(len(doubled) - 1, expected) > _ALPHA
    return none if is_chance else np.column_stack([timed[order[doubled]], timed[order[doubled + 1]]])


def _same_trial(context: Context) -> IntArray:
    """Return pairs of equal answers, (k, 2), in one trial of one person, which holds no question twice."""
    if context.people is None or context.comparisons.trials is None:
        return np.empty((0, 2), dtype=np.int64)
    trials = np.empty(len(context.answers), dtype=np.int64)
    trials[context.answers.answer_of] = context.answers.trial_of
    order = np.lexsort((context.answer_hashes, trials, context.people))
    same = (np.diff(context.people[order]) == 0) & (np.diff(trials[order]) == 0)
    doubled = np.flatnonzero(same & (context.answer_hashes[order][1:] == context.answer_hashes[order][:-1]))
    return np.column_stack([order[doubled], order[doubled + 1]])


def _group_sizes(who: IntArray, values: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the person and the size of each group of answers with one value by one person."""
    order = np.lexsort((values, who))
    first = np.flatnonzero(np.append(True, (np.diff(who[order]) != 0) | (values[order][1:] != values[order][:-1])))
    return who[order][first], np.diff(np.append(first, len(who)))


def check_blocks(context: Context) -> Iterator[Finding]:
    """Find stretches of answers that come again in the same order, as when a block is pasted twice."""
    answers = context.answers
    codes = context.answer_hashes.copy()
    # Hashes are random numbers of 63 bits, and odd multiples of other things keep sums of them distinct.
    if context.people is not None:
        codes += context.people.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    if answers.seconds is not None:
        codes += np.nan_to_num(answers.seconds, nan=-1.0).view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    starts, lengths, lags = _repeated_blocks(codes)
    found = lengths >= _MIN_BLOCK_ANSWERS
    counts = {"n_blocks": int(found.sum()), "n_in_blocks": int(lengths[found].sum())}
    context.counts |= counts
    if not found.any():
        return
    blocks = [
        [_place(context, start, start + length - 1), _place(context, start + lag, start + lag + length - 1)]
        for start, length, lag in list(zip(starts[found], lengths[found], lags[found], strict=True))[:5]
    ]
    # Without names two people may have been given one list and agreed on all of it.
    severity: Severity = "note" if context.people is None and answers.seconds is None else "warning"
    yield Finding("repeated-block", severity, numbers=counts | {"blocks": blocks})


def _repeated_blocks(codes: NDArray[np.uint64]) -> tuple[IntArray, IntArray, IntArray]:
    """Return start, length and lag of the stretches in which each code comes again after the same lag."""
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    places, lags = order[again], order[again + 1] - order[again]
    by_place = np.argsort(places)
    places, lags = places[by_place].astype(np.int64), lags[by_place].astype(np.int64)
    if len(places) == 0:
        return places, places, places
    first = np.flatnonzero(np.r_[True, (np.diff(places) != 1) | (np.diff(lags) != 0)])
    lengths = np.diff(np.r_[first, len(places)])
    # Overlapping repetition, as of one code over and over, is no copy of a block: it is no longer than its lag.
    return places[first], np.minimum(lengths, lags[first]), lags[first]


def check_columns(context: Context) -> Iterator[Finding]:
    """Find times and confidences that are missing, constant or impossible."""
    seconds = context.answers.seconds
    for column, values in (("response times", seconds), ("confidences", context.answers.confidences)):
        if values is None or len(values) == 0:
            continue
        present = values[np.isfinite(values)]
        missing = 1 - len(present) / len(values)
        if missing > _MAX_MISSING_SHARE:
            yield Finding("mostly-missing", "note", numbers={"column": column, "share": missing})
        if len(present) > 1 and present.min() == present.max():
            yield Finding("constant-column", "note", numbers={"column": column, "value": float(present[0])})
    if seconds is None:
        return
    if len(negative := np.flatnonzero(np.isfinite(seconds) & (seconds < 0))):
        numbers = {"n_answers": len(negative), "line": _place(context, int(negative[0]))}
        yield Finding("negative-times", "warning", numbers=numbers)
    known = seconds[np.isfinite(seconds)]
    if len(known) and (median := float(np.median(known))) > _MAX_MEDIAN_SECONDS:
        yield Finding("time-unit", "warning", numbers={"median_seconds": median})


def check_speed(context: Context) -> Iterator[Finding]:
    """Find people who answer faster than anybody can look."""
    seconds = context.answers.seconds
    if seconds is None or not (timed := np.isfinite(seconds) & (seconds >= 0)).any():
        return
    share_fast = float((seconds[timed] < MIN_SECONDS).mean())
    context.counts |= {"median_seconds": float(np.median(seconds[timed])), "share_fast": share_fast}
    fast = None if context.people is None else _fast_people(context, context.people[timed], seconds[timed])
    if fast is not None:
        yield fast
    elif share_fast > _MAX_FAST_SHARE:
        yield Finding("fast-answers", "warning", numbers={"share": share_fast})


def _fast_people(context: Context, people: NDArray[np.intp], seconds: NDArray[np.float64]) -> Finding | None:
    order = np.lexsort((seconds, people))
    numbers = np.bincount(people)
    starts = np.cumsum(numbers) - numbers
    judged = np.flatnonzero(numbers >= _MIN_TIMED_ANSWERS)
    if len(judged) < 2:
        return None
    medians = seconds[order][starts[judged] + numbers[judged] // 2]
    typical = float(np.median(medians))
    fast = np.flatnonzero((medians < MIN_SECONDS) & (medians < typical / 2))
    if len(fast) == 0:
        return None
    fast = fast[np.argsort(medians[fast], kind="stable")]
    rows = [{"n_answers": int(numbers[judged[at]]), "median_seconds": float(medians[at])} for at in fast[:10]]
    facts = {"typical_seconds": typical, "people": rows}
    return Finding("too-fast", "warning", numbers=facts, concerned=context.people_names(judged[fast]))


def folded(label: Any) -> str:
    """Return a label without differences of case, white space and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", str(label)).casefold().split())


def check_spellings(context: Context) -> Iterator[Finding]:
    """Find labels that differ only by case, space, Unicode form, zeros around a number, or the ending of a file."""
    labels = context.comparisons.objects.tolist()
    plain = {folded(label) for label in labels}
    groups: dict[str, list[Any]] = defaultdict(list)
    for label in labels:
        groups[_stem(folded(label), plain)].append(label)
    alike = [labels for labels in groups.values() if len(labels) > 1]
    context.counts["n_similar_labels"] = len(alike)
    if alike:
        concerned = tuple(label for group in alike for label in group)
        numbers = {"n_groups": len(alike), "groups": alike[:5]}
        yield Finding("similar-labels", "warning", numbers=numbers, concerned=concerned)


def _stem(word: str, words: set[str]) -> str:
    """Return a number without zeros around it, and the stem of a file if that is itself one of the words."""
    if number := re.fullmatch(r"0*(\d+)(\.0+)?", word):
        return number[1]
    file = re.fullmatch(r"(.+)\.[a-z][a-z0-9]{1,4}", word)
    return file[1] if file and file[1] in words else word


def check_misspelled(context: Context) -> Iterator[Finding]:
    """Find rare labels that are nearly a common one."""
    seen = context.n_answers_per_object
    usual = float(np.median(seen[seen > 0]))
    rare = np.flatnonzero((seen > 0) & (seen <= 2) & (seen <= _RARE_SHARE * usual))
    labels = context.comparisons.objects.tolist()
    common = {folded(labels[index]): labels[index] for index in np.flatnonzero(seen > _RARE_SHARE * usual)}
    found: list[tuple[Any, Any, int]] = []
    for index in rare[:100]:  # more are no slips of the keyboard
        word = folded(labels[index])
        close = [
            other
            for other in difflib.get_close_matches(word, common, n=3, cutoff=0.8)
            if re.findall(r"\d+", word) == re.findall(r"\d+", other)  # egg17 is no misspelling of egg18
        ]
        if close and word not in common:
            found.append((labels[index], common[close[0]], int(seen[index])))
    context.counts["n_misspelled"] = len(found)
    if found:
        rows = [{"perhaps": other, "n_answers": times} for _, other, times in found[:5]]
        numbers = {"typical_n_answers": usual, "labels": rows}
        yield Finding("misspelled-labels", "warning", numbers=numbers, concerned=tuple(each[0] for each in found))


def check_one_sided(context: Context) -> Iterator[Finding]:
    """Find objects that are always near, or always far: the two columns then hold different objects, or spellings."""
    if context.answers.kind != "triplet" or context.comparisons.rows.shape[1] != 3:
        return  # of many options most are far
    near, far = context.comparisons.rows[:, 1:].T
    times_near, times_far = (np.bincount(each, minlength=context.n_objects) for each in (near, far))
    often = times_near + times_far >= _MIN_COMPARISONS
    only_near, only_far = (np.flatnonzero(often & (others == 0)) for others in (times_far, times_near))
    n_one_sided = context.counts["n_one_sided"] = len(only_near) + len(only_far)
    if n_one_sided >= max(_MIN_ONE_SIDED, _MIN_ONE_SIDED_SHARE * often.sum()):
        numbers = {"n_objects": int(often.sum()), "n_only_near": len(only_near)}
        names = context.object_names(np.append(only_near, only_far))
        yield Finding("one-sided", "warning", numbers=numbers, concerned=names)


def check_anchors(context: Context) -> Iterator[Finding]:
    """Find more anchors that are never options than chance explains, next to options that are never anchors."""
    rows = context.comparisons.rows
    if context.answers.kind not in ("triplet", "grid", "ranking", "ranked-grid") or rows.shape[1] != 3:
        return
    anchors, options = (set(np.flatnonzero(np.bincount(rows[:, at].ravel())).tolist()) for at in (0, slice(1, 3)))
    never_options, never_anchors = sorted(anchors - options), sorted(options - anchors)
    n_only = context.counts["n_only_anchors"] = len(never_options)
    if n_only < 2 or not never_anchors or not anchors & options:
        return
    codes = (rows[:, :1].astype(np.int64) * context.n_objects + rows[:, 1:]).ravel()
    pairs = zip(*(each.tolist() for each in np.divmod(sorted_unique(codes), context.n_objects)), strict=True)
    if chance_of_design(pairs, n_only) < MAX_CHANCE_SAME_FORM:
        names = context.object_names(never_options + never_anchors)
        numbers = {"n_only_anchors": n_only, "n_anchors": len(anchors)}
        yield Finding("only-anchors", "warning", numbers=numbers, concerned=names)


def check_missing_labels(context: Context) -> Iterator[Finding]:
    """Find labels that stand for no object."""
    found = tuple(label for label in context.comparisons.objects.tolist() if folded(label) in _MISSING_LABELS)
    if found:
        yield Finding("missing-labels", "warning", concerned=found)


def check_numbering(context: Context) -> Iterator[Finding]:
    """Find gaps in labels that number the objects."""
    seen = context.comparisons.objects[context.n_answers_per_object > 0]
    texts = [str(label) for label in seen.tolist()]
    if len(texts) < 5 or not all(re.fullmatch(r"\d{1,9}", text) for text in texts):
        return
    numbers = np.array(sorted(map(int, texts)))
    if numbers[-1] > 2 * len(numbers):  # identifiers, which have no gaps
        return
    missing = np.setdiff1d(np.arange(numbers[0], numbers[-1] + 1), numbers)
    context.counts["n_numbers_missing"] = len(missing)
    # With indices 0..n-1 the objects in the gaps are on the list and reported as never compared.
    if numbers[0] <= 1 and len(missing) and len(seen) == context.n_objects:
        ends = {"first": int(numbers[0]), "last": int(numbers[-1])}
        yield Finding("numbering-gaps", "note", numbers=ends, concerned=tuple(missing.tolist()))
