"""Who answered faster than anybody can look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearer.checking.case import Case, Outcome
from nearer.checking.findings import Finding
from nearer.common.words import counted, percent

# Nobody looks at three things and decides in less: choosing between two lights alone takes 0.3 s.
FLOOR = 0.5
_FEWEST = 10
_MANY_FAST = 0.1


def check_speed(case: Case) -> Outcome:
    """Find people who answer faster than anybody can look."""
    seconds = case.answers.seconds
    if seconds is None or not (timed := np.isfinite(seconds) & (seconds >= 0)).any():
        return Outcome()
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
    return Outcome(tuple(findings), counts)


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
    title = f"{counted(int(fast.sum()), 'person answers', 'people answer')} faster than the objects can be looked at"
    text = f"At least half of their answers took under {FLOOR:g} s; look at them, and leave these people out."
    return [Finding("warning", "too-fast", title, text, examples, case.said_of(enough[fast], "too fast"))]
