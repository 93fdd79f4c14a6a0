"""People who fail catch questions.

Whoever looks gets a catch question right, and slips now and then: in one of ten at most, if the questions are good
ones. A person is named if somebody with nine right answers in ten would have so few with a chance below one in fifty
(one-sided binomial test). With 2 catch questions that means none right, with 4 one at most, with 6 three, with 10 six;
one catch question names nobody. Of people who guess one of three, 59% are named with 4 questions, 90% with 6 and 98%
with 10. The finding is a pointer and no verdict: of a hundred people who look, two may be named if each does slip in
one of ten, and hardly one if they slip less.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from nearer._common.formatting import percent, pluralize, quote
from nearer.checking.case import Case, CheckResult
from nearer.checking.findings import Finding

_USUAL = 0.9  # share of right answers, at least, of people who look
_LEVEL = 0.02


def check_catches(case: Case) -> CheckResult:
    """Find people who fail catch questions."""
    found = case.answers.report.catches
    if found is None or not sum(found.n_asked):
        return CheckResult()
    asked, right = np.array(found.n_asked), np.array(found.n_right)
    failed = np.flatnonzero(binom.cdf(right, asked, _USUAL) < _LEVEL)
    total, share = int(asked.sum()), float(right.sum() / asked.sum())
    counts = {"n_catch": total, "share_catch_right": share, "n_failed_catch": len(failed)}
    if len(failed) == 0:
        title = f"{percent(share)} of {pluralize(total, 'answer')} to catch questions are right"
        text = "Nobody fails more of them than happens to people who look."
        return CheckResult((Finding("good", "catch", title, text),), counts)
    failed = failed[np.argsort(right[failed] / asked[failed], kind="stable")]
    people = [found.people[at] for at in failed]
    examples = tuple(
        f"{quote(found.people[at]) if found.people[at] else 'everybody'}: {right[at]} of {asked[at]} right"
        for at in failed[:10]
    )
    title = f"{pluralize(len(failed), 'person fails', 'people fail')} catch questions"
    said = {str(label): label for label in (case.names.tolist() if case.names is not None else ())}
    flags = {said.get(person, person): "fails catch questions" for person in people if person}
    text = (
        f"People who look get {percent(_USUAL)} right or more; so few right answers would be chance in less than one "
        f"person in fifty. Leave these people out: --exclude person={','.join(people[:10])}."
    )
    if not flags:
        text = "Few catch questions are answered rightly; name the column of people to see by whom."
    return CheckResult((Finding("warning", "fails-catch", title, text, examples, flags),), counts)
