"""Who answered: people who are too fast, and people whose answers are a coin's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

from nearer._rows import factorize
from nearer._votes import torn
from nearer._words import counted, name, percent
from nearer.annotators import AnnotatorReliability, annotator_reliability
from nearer.checking.findings import Finding
from nearer.checking.quick import quick_estimator, quick_part
from nearer.checking.study import Outcome, Study

# Nobody looks at three things and decides in less: choosing between two lights alone takes 0.3 s.
FLOOR = 0.5
_FEWEST = 10
_MOST_COMPARISONS = 200_000  # more than for other checks: each person needs enough answers
_LEVEL = 0.001  # of a false alarm in a whole study
_LEAST_SPREAD = 0.04  # of errors between people, who always differ; a few of them cannot show how much
_MANY_FAST = 0.1


def check_speed(study: Study) -> Outcome:
    """Find people who answer faster than anybody can look."""
    seconds = study.answers.seconds
    if seconds is None or not (timed := np.isfinite(seconds) & (seconds >= 0)).any():
        return Outcome()
    typical = float(np.median(seconds[timed]))
    share_fast = float((seconds[timed] < FLOOR).mean())
    counts = {"median_seconds": typical, "share_fast": share_fast}
    findings = []
    if study.people is not None:
        findings = _fast_people(study, study.people[timed], seconds[timed])
    if not findings and share_fast > _MANY_FAST:
        title = f"{percent(share_fast)} of the answers took less than {FLOOR:g} s"
        text = (
            "Nobody looks at the objects and decides so fast; check the unit of the times, or leave such answers out."
        )
        findings = [Finding("warning", "fast-answers", title, text)]
    return Outcome(tuple(findings), counts)


def _fast_people(study: Study, people: NDArray[np.intp], seconds: NDArray[np.float64]) -> list[Finding]:
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
        f"{study.person_name(int(person))}: half of {numbers[person]} answers in {median:.2f} s or less "
        f"(usual: {typical:.1f} s)"
        for person, median in sorted(zip(enough[fast], medians[fast], strict=True), key=lambda each: each[1])[:10]
    )
    title = f"{counted(int(fast.sum()), 'person answers', 'people answer')} faster than the objects can be looked at"
    text = f"At least half of their answers took under {FLOOR:g} s; look at them, and leave these people out."
    return [Finding("warning", "too-fast", title, text, examples, study.said_of(enough[fast], "too fast"))]


def check_chance(study: Study) -> Outcome:
    """Find people whose answers the map of the others predicts no better than chance, or gets all the wrong way."""
    part = quick_part(study, _MOST_COMPARISONS)
    sure = ~torn(part)  # who cannot tell is not careless
    if part.annotators is None or len(factorize(part.annotators[sure])[0]) < 3:
        return Outcome()
    part = part[sure]
    found = annotator_reliability(quick_estimator(study), part, random_state=study.rng)
    judged = found.n_answers >= _FEWEST
    if judged.sum() < 3:
        return Outcome()
    typical, spread = _usual(found.errors[judged], found.n_answers[judged])
    level = _LEVEL / int(judged.sum())
    # True errors of people vary as a Beta distribution does, whose tail is longer than a normal one's at small errors.
    worth = max(typical * (1 - typical) / spread**2 - 1, 1.0)
    wrong = np.rint(found.errors * found.n_answers)
    tail = betabinom.sf(wrong - 1, found.n_answers, max(typical, 0.01) * worth, (1 - typical) * worth)
    far_off = tail < level
    reverse = judged & far_off & (found.lows > 0.5)
    chance = judged & far_off & ~reverse & (found.highs >= 0.5)
    counts = {"typical_error": typical, "n_judged": int(judged.sum())}
    counts |= {"n_at_chance": int(chance.sum()), "n_reversed": int(reverse.sum())}
    findings = []
    if chance.any():
        title = f"{counted(int(chance.sum()), 'person answers', 'people answer')} at chance"
        text = "The map of all others predicts them no better than a coin; look at them, or give them less weight."
        flags = dict.fromkeys(found.names[chance].tolist(), "answers at chance")
        findings.append(Finding("warning", "at-chance", title, text, _errors(found, chance, typical), flags))
    if reverse.any():
        title = f"{counted(int(reverse.sum()), 'person answers', 'people answer')} the wrong way round"
        text = "They contradict the map of all others more often than a coin would; they may have taken near for far."
        flags = dict.fromkeys(found.names[reverse].tolist(), "answers the wrong way round")
        findings.append(Finding("warning", "reversed", title, text, _errors(found, reverse, typical), flags))
    return Outcome(tuple(findings), counts)


def _usual(errors: NDArray[np.float64], n_answers: NDArray[np.int64]) -> tuple[float, float]:
    """Return the median error and how much true errors vary between people.

    The spread is that of the better half, which careless people are not part of, less what chance adds.
    """
    typical = float(np.median(errors))
    better = errors <= typical
    seen = float(np.mean((errors[better] - typical) ** 2))
    by_chance = float(np.mean(typical * (1 - typical) / n_answers[better]))
    return typical, max(np.sqrt(max(seen - by_chance, 0.0)), _LEAST_SPREAD)


def _errors(found: AnnotatorReliability, chosen: NDArray[np.bool_], typical: float) -> tuple[str, ...]:
    return tuple(
        f"{name(found.names[person])}: {percent(float(found.errors[person]))} of "
        f"{counted(int(found.n_answers[person]), 'answer')} against the map (usual: {percent(typical)})"
        for person in np.flatnonzero(chosen)[:10]
    )
