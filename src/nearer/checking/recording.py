"""How the answers were recorded: rows twice, times and confidences that say nothing, people too fast to look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from nearer._common.formatting import percent, pluralize
from nearer.checking.case import Case, CheckResult, IntArray
from nearer.checking.findings import Finding, Level
from nearer.io.messages import as_column, without_column

_LEVEL = 0.001
_BLOCK = 20  # answers in a row that are the same again: nobody repeats so many without a change
_MOSTLY = 0.5
_MILLISECONDS = 300.0
# Nobody looks at three things and decides in less: choosing between two lights alone takes 0.3 s.
FLOOR = 0.5
_FEWEST = 10
_MANY_FAST = 0.1


def check_trials(case: Case) -> CheckResult:
    """Find a column of trials whose numbers stand for several trials each."""
    found = case.answers.report.trial_numbers
    if found is None:
        return CheckResult()
    text = f"Rows of one trial are about one question, asked once; {found.remedy}."
    if case.people is None:
        named = as_column("annotator", "NAME")
        text += f" If the numbers begin again with every person, name the column of people: {named}."
    text += f" To do without the numbers, say {without_column('trial')}; or number the trials of a person throughout."
    return CheckResult(
        (Finding("warning", "trial-numbers", f"C{found.title[1:]}", text, found.listed(case.answers.source)),)
    )


def check_double(case: Case) -> CheckResult:
    """Find answers recorded twice: same person, same answer, and the very same time or the same trial."""
    pairs = np.concatenate([_same_time(case), _same_trial(case)])
    pairs = pairs[np.unique(pairs[:, 1], return_index=True)[1]]
    counts = {"n_doubled": len(pairs)}
    if len(pairs) == 0:
        return CheckResult(counts=counts)
    examples = tuple(f"{_lines(case, first)} and {_line(case, second)}" for first, second in pairs[:5])
    title = f"{pluralize(len(pairs), 'answer was', 'answers were')} recorded twice"
    text = (
        "Person, question and answer are the same, and so is the response time or the trial; "
        "remove the second copies, or they count double."
    )
    return CheckResult((Finding("warning", "doubled", title, text, examples),), counts)


def _line(case: Case, at: int) -> str:
    """Return where an answer stands, without the word for it."""
    row = case.answers.row_source(at)
    return str(row.row if case.answers.files is None else row)


def _lines(case: Case, at: int) -> str:
    """Return where the first of several answers stands."""
    return case.answers.line(at).replace("line ", "lines ", 1) if case.answers.files is None else _line(case, at)


def _same_time(case: Case) -> IntArray:
    """Return pairs of answers, (k, 2), of one person that say the same after the same time, if that is no accident."""
    none = np.empty((0, 2), dtype=np.int64)
    if case.answers.seconds is None:
        return none
    timed = np.flatnonzero(np.isfinite(case.answers.seconds))
    seconds, said = case.answers.seconds[timed], case.signatures[timed]
    who = np.zeros(len(timed), dtype=np.int64) if case.people is None else case.people[timed].astype(np.int64)
    order = np.lexsort((seconds, said, who))
    same = (np.diff(who[order]) == 0) & (said[order][1:] == said[order][:-1]) & (np.diff(seconds[order]) == 0)
    doubled = np.flatnonzero(same)
    if len(doubled) == 0 or poisson.sf(len(doubled) - 1, _coincidences(who, said, seconds)) > _LEVEL:
        return none
    return np.column_stack([timed[order[doubled]], timed[order[doubled + 1]]])


def _same_trial(case: Case) -> IntArray:
    """Return pairs of answers, (k, 2), that say the same in one trial of one person, which holds no question twice."""
    if case.people is None or case.comparisons.trials is None:
        return np.empty((0, 2), dtype=np.int64)
    trials = np.empty(len(case.answers), dtype=np.int64)
    trials[case.answers.answer_of] = case.answers.trial_of
    order = np.lexsort((case.signatures, trials, case.people))
    same = (np.diff(case.people[order]) == 0) & (np.diff(trials[order]) == 0)
    doubled = np.flatnonzero(same & (case.signatures[order][1:] == case.signatures[order][:-1]))
    return np.column_stack([order[doubled], order[doubled + 1]])


def _coincidences(who: IntArray, said: NDArray[np.uint64], seconds: NDArray[np.float64]) -> float:
    """Return how many equal times to expect by chance where a person gave an answer more than once.

    Times in whole seconds coincide now and then: what that explains is no double submission.
    """
    sizes = np.bincount(who)
    alike = _group_sizes(who, seconds)
    chance = np.bincount(alike[0], alike[1] * (alike[1] - 1.0), len(sizes)) / np.maximum(sizes * (sizes - 1.0), 1)
    person, times = _group_sizes(who, said)
    return float((times * (times - 1) / 2 * chance[person]).sum())


def _group_sizes(who: IntArray, values: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the person and the size of each group of answers with one value by one person."""
    order = np.lexsort((values, who))
    first = np.flatnonzero(np.append(True, (np.diff(who[order]) != 0) | (values[order][1:] != values[order][:-1])))
    return who[order][first], np.diff(np.append(first, len(who)))


def check_blocks(case: Case) -> CheckResult:
    """Find stretches of answers that come again in the same order, as when a block is pasted twice."""
    answers = case.answers
    codes = case.signatures.copy()
    # Signatures are random numbers of 63 bits, and odd multiples of other things keep sums of them apart.
    if case.people is not None:
        codes += case.people.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    if answers.seconds is not None:
        codes += np.nan_to_num(answers.seconds, nan=-1.0).view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    starts, lengths, lags = _repeated_blocks(codes)
    found = lengths >= _BLOCK
    counts = {"n_blocks": int(found.sum()), "n_in_blocks": int(lengths[found].sum())}
    if not found.any():
        return CheckResult(counts=counts)
    blocks = zip(starts[found], lengths[found], lags[found], strict=True)
    examples = tuple(
        f"{_lines(case, start)}-{answers.lines[start + length - 1]} again as "
        f"{_line(case, start + lag)}-{answers.lines[start + lag + length - 1]}"
        for start, length, lag in list(blocks)[:5]
    )
    title = f"{pluralize(counts['n_in_blocks'], 'answer')} come again in the same order"
    text = "A block of the file seems to be there twice; remove the copy, unless the same questions were put twice."
    # Without names two people may have been given one list and agreed on all of it.
    level: Level = "note" if case.people is None and answers.seconds is None else "warning"
    return CheckResult((Finding(level, "pasted-twice", title, text, examples),), counts)


def _repeated_blocks(codes: NDArray[np.uint64]) -> tuple[IntArray, IntArray, IntArray]:
    """Return start, length and lag of the stretches in which each code comes again after the same lag.

    Overlapping repetition, as of one code over and over, is no copy of a block: a stretch is no longer than its lag.
    """
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    places, lags = order[again], order[again + 1] - order[again]
    by_place = np.argsort(places)
    places, lags = places[by_place].astype(np.int64), lags[by_place].astype(np.int64)
    if len(places) == 0:
        return places, places, places
    breaks = np.r_[True, (np.diff(places) != 1) | (np.diff(lags) != 0)]
    first = np.flatnonzero(breaks)
    lengths = np.diff(np.r_[first, len(places)])
    return places[first], np.minimum(lengths, lags[first]), lags[first]


def check_columns(case: Case) -> CheckResult:
    """See whether times and confidences vary and are there at all."""
    findings: list[Finding] = []
    columns = {"response times": case.answers.seconds, "confidences": case.answers.confidences}
    for noun, values in columns.items():
        if values is None or len(values) == 0:
            continue
        present = values[np.isfinite(values)]
        missing = 1 - len(present) / len(values)
        if missing > _MOSTLY:
            title = f"{percent(missing)} of the {noun} are missing"
            findings.append(Finding("note", "mostly-missing", title, "Little can be read from the rest of them."))
        if len(present) > 1 and present.min() == present.max():
            title = f"The {noun} are all {present[0]:g}"
            text = "A column that never changes says nothing; check that the right one was read."
            findings.append(Finding("note", "constant-column", title, text))
    return CheckResult((*findings, *_impossible_times(case)))


def _impossible_times(case: Case) -> list[Finding]:
    if case.answers.seconds is None:
        return []
    seconds = case.answers.seconds[np.isfinite(case.answers.seconds)]
    findings = []
    if (negative := int((seconds < 0).sum())) > 0:
        line = case.answers.line(int(np.flatnonzero(case.answers.seconds < 0)[0]))
        text = "A clock was wrong, or the column is none of times; check it."
        title = f"{pluralize(negative, 'response time is', 'response times are')} negative"
        findings.append(Finding("warning", "negative-times", title, text, (line,)))
    if len(seconds) and np.median(seconds) > _MILLISECONDS:
        title = f"Half of the response times are over {np.median(seconds):.0f} seconds"
        text = "They look like milliseconds; divide the column by 1000, or nobody will seem too fast."
        findings.append(Finding("warning", "time-unit", title, text))
    return findings


def check_speed(case: Case) -> CheckResult:
    """Find people who answer faster than anybody can look."""
    seconds = case.answers.seconds
    if seconds is None or not (timed := np.isfinite(seconds) & (seconds >= 0)).any():
        return CheckResult()
    typical = float(np.median(seconds[timed]))
    share_fast = float((seconds[timed] < FLOOR).mean())
    counts = {"median_seconds": typical, "share_fast": share_fast}
    findings = []
    if case.people is not None:
        findings = _fast_people(case, case.people[timed], seconds[timed])
    if not findings and share_fast > _MANY_FAST:
        title = f"{percent(share_fast)} of the answers took less than {FLOOR:g} s"
        text = (
            "Nobody looks at the objects and decides so fast; check the unit of the times, or leave such answers out."
        )
        findings = [Finding("warning", "fast-answers", title, text)]
    return CheckResult(tuple(findings), counts)


def _fast_people(case: Case, people: NDArray[np.intp], seconds: NDArray[np.float64]) -> list[Finding]:
    order = np.lexsort((seconds, people))
    numbers = np.bincount(people)
    starts = np.cumsum(numbers) - numbers
    enough = np.flatnonzero(numbers >= _FEWEST)
    medians = seconds[order][starts[enough] + numbers[enough] // 2]
    if len(enough) < 2:
        return []
    typical = float(np.median(medians))
    fast = (medians < FLOOR) & (medians < typical / 2)
    if not fast.any():
        return []
    examples = tuple(
        f"{case.person_name(int(person))}: half of {numbers[person]} answers in {median:.2f} s or less "
        f"(usual: {typical:.1f} s)"
        for person, median in sorted(zip(enough[fast], medians[fast], strict=True), key=lambda each: each[1])[:10]
    )
    title = f"{pluralize(int(fast.sum()), 'person answers', 'people answer')} faster than the objects can be looked at"
    text = f"At least half of their answers took under {FLOOR:g} s; look at them, and leave these people out."
    return [Finding("warning", "too-fast", title, text, examples, case.said_of(enough[fast], "too fast"))]
