"""Whether there are answers enough, and how good a map of them can be.

A map of n objects in p dimensions needs a number of comparisons that grows as n p log n (Jamieson and Nowak 2011). With

    c = comparisons / (n p ln n)

maps of noisy answers, 20 to 200 objects in 1 to 5 dimensions, got this share of the true comparisons wrong:

    c                        0.25         0.5          1            2            4            8
    10% of answers wrong     0.33-0.44    0.25-0.40    0.12-0.25    0.07-0.11    0.05-0.06    0.03-0.05
    25% of answers wrong     0.40-0.48    0.36-0.47    0.22-0.35    0.16-0.28    0.08-0.12    0.07-0.10

Below c = 1 a map is mostly guesswork, from c = 4 on it is right in nine cases of ten whatever the noise.

Asking again tells less than asking something else. Of answers that are wrong in 10% of cases, k to one question tell as
many bits as 2 k / (k + 1) to different ones (within a tenth), and however many they are, no more than 2. Noisier ones
gain more, but a map needs enough questions as well. Very few objects do not have that many; what all triplets are
worth, asked three times each, is then enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nearer._words import counted, percent
from nearer.ceiling import noise_ceiling
from nearer.checking.findings import Finding
from nearer.checking.quick import quick_estimator, quick_part
from nearer.checking.study import Outcome, Study
from nearer.model_selection import learning_curve
from nearer.model_selection.folds import units_of

TOO_FEW, PLENTY = 1.0, 4.0
# The k comparisons of one act of judgment hang together: they are worth k^0.6 and not k, as for the posterior.
_WORTH = 0.6
_MOST_REPEATS = 2  # what answers to one question are worth at most
_FEW_QUESTIONS = 0.8  # for each comparison: below, their number is worth telling
_FALL = 0.05  # of the error, from half of the answers to all
_FEWEST = 50
_WIDE = 0.1  # an interval beyond this does not tell whether the error still falls
_NEAR_CHANCE = 0.4  # an error known to be above this is as good as a coin's


def check_rule(study: Study) -> Outcome:
    """Compare what the comparisons are worth with n p ln n."""
    n, p = study.n_objects, study.n_components
    unit = n * p * math.log(n)
    every_question = worth_of_repeats(3) * n * (n - 1) * (n - 2) / 2
    plenty = min(PLENTY * unit, every_question)
    worth, fresh = _worth(study)
    c = worth / unit
    counts = {"rule_constant": c, "worth": worth, "rule_unit": unit}
    title = (
        f"{counted(len(study.answers), 'answer')}{_repeats(study)} for {n} objects in {counted(p, 'dimension')}: "
        f"{_short(c)} n p log n"
    )
    few_objects = every_question < PLENTY * unit
    if worth >= plenty * (1 - 1e-9):
        text = "From 4 n p log n on, maps of noisy answers get nine of ten comparisons right."
        text = "There are hardly more questions about so few objects." if few_objects else text
        return Outcome((Finding("good", "enough", title, text),), counts)
    missing = counted(rounded(math.ceil((plenty - worth) / fresh)), "answer")
    more = f"about {missing} more make 4 n p log n, where nine of ten are right."
    more = "ask every question about them three times." if few_objects else more
    if c >= TOO_FEW:
        text = f"Maps of so many noisy answers get 7 to 9 of ten comparisons right; {more}"
        return Outcome((Finding("note", "rather-few", title, text),), counts)
    text = f"So few leave a map mostly to chance; {more}"
    return Outcome((Finding("warning", "too-few", title, text),), counts)


def _worth(study: Study) -> tuple[float, float]:
    """Return what all comparisons are worth, and one more answer to other questions; "can't tell" is worth nothing."""
    trials, asked = study.trials[study.decided], study.votes.sum(axis=1)[study.questions[study.decided]]
    if len(trials) == 0:
        return 0.0, 1.0
    each = np.bincount(trials)[trials] ** (_WORTH - 1)
    return float(each @ (worth_of_repeats(asked) / asked)), float(each.sum() / (len(study.answers) - study.n_split))


def worth_of_repeats(times: Any) -> Any:
    """Return how many different questions are worth one that is asked so many times.

    Examples
    --------
    >>> [worth_of_repeats(times) for times in (1, 3, 9)]
    [1.0, 1.5, 1.8]
    """
    return times * _MOST_REPEATS / (times + _MOST_REPEATS - 1)


def _repeats(study: Study) -> str:
    """Say how many questions there are where many comparisons repeat one."""
    asked = study.votes.sum(axis=1)
    n_asked = int((asked > 0).sum())
    return f" to {counted(n_asked, 'question')}" if n_asked < _FEW_QUESTIONS * asked.sum() else ""


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def rounded(number: int) -> int:
    """Return a number with two digits that count: the rule is no more exact than that."""
    return int(float(f"{number:.1e}"))


def check_curve(study: Study) -> Outcome:
    """See whether a map predicts answers that it has not seen, and whether more answers would help."""
    part = quick_part(study)
    m = len(part)
    largest = int(np.bincount(units_of(part, "trials")[1]).max())  # kept whole, so that the test part may grow by it
    most = math.floor(0.8 * m) - largest
    if m < _FEWEST or most < m // 2:
        return Outcome()
    curve = learning_curve(quick_estimator(study), part, [most // 2, most], random_state=study.rng)
    (half, error), low, high = curve.errors, float(curve.lows[-1]), float(curve.highs[-1])
    counts: dict[str, Any] = {"held_out": float(error), "held_out_low": low, "held_out_high": high}
    counts["held_out_half"] = float(half)
    title = f"A quick map errs in {percent(float(error))} of answers it has not seen (chance: 50%)"
    if high >= 0.5 and low > _NEAR_CHANCE:
        text = "No better than a coin: there are too few answers, or no order in them; see the other findings."
        return Outcome((Finding("warning", "no-signal", title, text),), counts)
    falls = half - error > max(_FALL * error, (high - low) / 4)  # a quarter of the interval is its standard error
    if high >= 0.5 or (high - low > _WIDE and not falls):
        text = f"The answers are too few to know better ({percent(low)} to {percent(high)}); ask more."
        return Outcome((Finding("note", "weak-signal", title, text),), counts)
    if falls:
        text = f"With half of the answers it was {percent(float(half))}: more answers would still make it better."
        return Outcome((Finding("note", "still-learning", title, text),), counts)
    if m < len(study.comparisons):
        text = f"With half of the {counted(m, 'comparison')} tried it was {percent(float(half))}: more change little."
    else:
        text = f"With half of the answers it was {percent(float(half))}: more answers would change little."
    return Outcome((Finding("good", "learned", title, text),), counts)


def check_ceiling(study: Study) -> Outcome:
    """Say how well any map could do, from questions asked more than once."""
    found = noise_ceiling(study.comparisons)
    if found is None:
        title = "How well a map could do at best is not known"
        text = "Too few questions were asked more than once; next time ask some of several people."
        return Outcome((Finding("note", "no-ceiling", title, text),), {"ceiling": None})
    counts = {"ceiling": found.error, "ceiling_low": found.low, "ceiling_high": found.high}
    interval = f"({percent(found.low)} to {percent(found.high)})"
    title = f"Judging by repeated questions, no map can err in less than {percent(found.error)} of answers {interval}"
    text = f"So much do people differ in the {counted(found.n_questions, 'question')} that several answered"
    text += ", and of what they cannot tell half is wrong in any case." if study.n_split else "."
    return Outcome((Finding("note", "ceiling", title, text),), counts)
