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
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nearer._common.formatting import pluralize, round_to_two_digits, two_digits
from nearer.checking.case import Case, CheckResult, part_seed, quick_part
from nearer.checking.findings import Finding, Findings, Level
from nearer.data.comparisons import Comparisons
from nearer.data.groups import group_indices
from nearer.embedding import CKL
from nearer.evaluation.ceiling import OTHER_PREDICTORS, Best, NoiseCeiling, about_ceiling
from nearer.evaluation.curves import Kind, LearningCurve, Trend, learning_curve, trend

TOO_FEW, PLENTY = 1.0, 4.0
# The k comparisons of one act of judgment hang together: they are worth k^0.6 and not k, as for the posterior.
_WORTH = 0.6
_MOST_REPEATS = 2  # what answers to one question are worth at most
_FEW_QUESTIONS = 0.8  # for each comparison: below, their number is worth telling
_FEWEST, _FEWEST_UNITS = 50, 10  # comparisons, trials
CURVE_SEED = 7  # never changed, or results would


def check_rule(case: Case) -> CheckResult:
    """Compare what the comparisons are worth with n p ln n."""
    n, p = case.n_objects, case.n_components
    unit = n * p * math.log(n)
    every_question = worth_of_repeats(3) * n * (n - 1) * (n - 2) / 2
    plenty = min(PLENTY * unit, every_question)
    worth, fresh = _worth(case)
    missing = 0 if worth >= plenty * (1 - 1e-9) else round_to_two_digits(math.ceil((plenty - worth) / fresh))
    counts = {"rule_constant": worth / unit, "worth": worth, "rule_unit": unit, "rule_missing": missing}
    counts["rule_all_questions"] = every_question < PLENTY * unit
    title = (
        f"{pluralize(len(case.answers), 'answer')}{_repeats(case)} for {pluralize(n, 'object')} in "
        f"{pluralize(p, 'dimension')}: {two_digits(worth / unit)} n p log n"
    )
    return CheckResult((_rule(title, counts),), counts)


def _rule(title: str, counts: Mapping[str, Any], *, settled: bool = False, doubt: str = "") -> Finding:
    """Return what the rule of thumb says, unless the answers themselves have shown more.

    A learning curve that has settled knows better. Where there is doubt in the map, said in words, the rule promises
    nothing: it is about answers that follow the objects.
    """
    few_objects, missing = counts["rule_all_questions"], pluralize(counts["rule_missing"], "answer")
    code = "rather-few" if counts["rule_constant"] >= TOO_FEW else "too-few"
    if counts["rule_missing"] == 0 and doubt:
        return Finding("note", "enough", title, f"As a rule of thumb these are enough, but {doubt}.")
    if counts["rule_missing"] == 0:
        text = "As a rule of thumb, from 4 n p log n on maps of noisy answers get nine of ten comparisons right."
        text = "There are hardly more questions about so few objects." if few_objects else text
        return Finding("good", "enough", title, text)
    more = f"about {missing} more make 4 n p log n" + ("." if doubt else ", where nine of ten are right.")
    more = "ask every question about them three times." if few_objects else more
    if code == "rather-few" and settled:
        text = "As a rule of thumb one would ask for more, but they would hardly make predictions better."
        return Finding("note", code, title, text)
    if code == "rather-few" and doubt:
        return Finding("note", code, title, f"As a rule of thumb one would ask for more, and {doubt}; {more}")
    if code == "rather-few":
        text = f"As a rule of thumb, maps of so many noisy answers get 7 to 9 of ten comparisons right; {more}"
        return Finding("note", code, title, text)
    return Finding("warning", code, title, f"As a rule of thumb, so few leave a map mostly to chance; {more}")


def _worth(case: Case) -> tuple[float, float]:
    """Return what all comparisons are worth, and one more answer to other questions; "can't tell" is worth nothing."""
    trials, asked = case.answers.trial_of[case.decided], case.votes.sum(axis=1)[case.questions[case.decided]]
    if len(trials) == 0:
        return 0.0, 1.0
    each = np.bincount(trials)[trials] ** (_WORTH - 1)
    return float(each @ (worth_of_repeats(asked) / asked)), float(each.sum() / (len(case.answers) - case.n_split))


def worth_of_repeats(times: Any) -> Any:
    """Return how many different questions are worth one that is asked so many times.

    Examples
    --------
    >>> [worth_of_repeats(times) for times in (1, 3, 9)]
    [1.0, 1.5, 1.8]
    """
    return times * _MOST_REPEATS / (times + _MOST_REPEATS - 1)


def _repeats(case: Case) -> str:
    """Say how many questions there are where many comparisons repeat one."""
    asked = case.votes.sum(axis=1)
    n_asked = int((asked > 0).sum())
    return f" to {pluralize(n_asked, 'question')}" if n_asked < _FEW_QUESTIONS * asked.sum() else ""


def check_curve(case: Case) -> CheckResult:
    """See whether a map predicts answers that it has not seen, and whether more answers would help."""
    part = quick_part(case)
    if len(part) < _FEWEST or len(np.unique(group_indices(part))) < _FEWEST_UNITS:
        return CheckResult()
    curve = curve_of(case.n_components, part, case.seed, case.level, n_sizes=2)
    (half, error), low, high = curve.errors, float(curve.lows[-1]), float(curve.highs[-1])
    counts: dict[str, Any] = {"held_out": float(error), "held_out_low": low, "held_out_high": high}
    counts["held_out_half"] = float(half)
    worth = _worth(case)[0] / (case.n_objects * case.n_components * math.log(case.n_objects))
    best = None if case.ceiling is None else case.ceiling.best
    found = curve_trend(curve, few=worth < TOO_FEW, best=best, level=case.level, unit="answers")
    return CheckResult((curve_finding(found),), counts)


def curve_of(n_components: int, comparisons: Comparisons, seed: int, level: float, *, n_sizes: int) -> LearningCurve:
    """Return the learning curve that `fit` has of a posterior: by CKL, which is fast."""
    method = CKL(n_components, random_state=seed)
    return learning_curve(method, comparisons, n_sizes=n_sizes, level=level, random_state=part_seed(seed, CURVE_SEED))


_CURVE: dict[Kind, tuple[Level, str, str]] = {
    "guessing": ("warning", "no-signal", "Held-out answers are predicted no better than by guessing"),
    "unknown": ("note", "weak-signal", "Whether more answers would improve predictions is not known"),
    "falls": ("note", "still-learning", "More answers would improve predictions"),
    "settled": ("good", "learned", "Predictions have settled"),
}

_FOR_DISTANCES = " Distances take more."
RULE_CODES = frozenset({"enough", "rather-few", "too-few"})
DISTANCES_TAKE_MORE = frozenset({"distances-roughly", "distances-differ"})
CURVE_CODES = frozenset(code for _, code, _ in _CURVE.values())


def curve_trend(curve: LearningCurve, *, few: bool, best: Best | None, level: float, unit: str) -> Trend:
    """Return where a learning curve leads, by the rule of `nearer.evaluation.curves`."""
    sizes, errors, lows, highs = (each.tolist() for each in (curve.sizes, curve.errors, curve.lows, curve.highs))
    falls_by = None if curve.falls_by is None else curve.falls_by.tolist()
    return trend(sizes, errors, lows, highs, level, few=few, best=best, falls_by=falls_by, unit=unit)


def curve_finding(found: Trend) -> Finding:
    """Return where a learning curve leads as a finding."""
    return Finding(*_CURVE[found.kind], found.sentence)


def with_curve(findings: Findings, found: Trend) -> Findings:
    """Return findings in which the learning curve of a run takes the place of that of `check`."""
    others = (finding for finding in findings if finding.code not in CURVE_CODES)
    return agreed(replace(findings, items=(*others, curve_finding(found))))


def agreed(findings: Findings) -> Findings:
    """Return findings of which none says that more answers help and another that they do not.

    The rule of thumb does not ask for more once the learning curve has settled; and that is no good sign as long as
    distances take more. Nor does the rule promise anything where answers or distances are as if people guessed.
    """
    codes = {finding.code for finding in findings}
    items = (_agreeing(finding, findings.counts, codes) for finding in findings)
    return replace(findings, items=tuple(items))


def _agreeing(finding: Finding, counts: Mapping[str, Any], codes: Collection[str]) -> Finding:
    if finding.code in RULE_CODES:
        return _rule(finding.title, counts, settled="learned" in codes, doubt=_doubt(codes))
    if finding.code == "learned":
        distances = not DISTANCES_TAKE_MORE.isdisjoint(codes)
        text = finding.text.removesuffix(_FOR_DISTANCES) + (_FOR_DISTANCES if distances else "")
        return replace(finding, level="note" if distances else "good", text=text)
    return finding


def _doubt(codes: Collection[str]) -> str:
    """Say what stands against the rule of thumb."""
    if "no-signal" in codes:
        return "held-out answers are predicted no better than by guessing"
    return "maps of two halves of the answers hardly agree" if "distances-differ" in codes else ""


def check_ceiling(case: Case) -> CheckResult:
    """Say how well any map could do, from questions asked more than once."""
    found = case.ceiling
    if found is None:
        title = "The noise ceiling is not known"
        text = "Too few questions were asked more than once; next time ask some of several people."
        return CheckResult((Finding("note", "no-ceiling", title, text),), {"ceiling": None})
    counts = {"ceiling": found.error, "ceiling_low": found.low, "ceiling_high": found.high}
    counts["ceiling_at_most"] = found.at_most
    asked = f"estimated from {pluralize(found.n_questions, 'question')} that several answered"
    if found.best.vague:
        text = f"That interval is too wide to measure maps by, {asked}; ask more of them of more people."
        return CheckResult((Finding("note", "vague-ceiling", _title(found), text),), counts)
    text = f"So much do people differ over the same question, {asked}"
    text += "; of what they cannot tell half is wrong in any case." if case.n_split else "."
    return CheckResult((Finding("note", "ceiling", _title(found), f"{text} {OTHER_PREDICTORS}"),), counts)


def _title(found: NoiseCeiling) -> str:
    sentence = about_ceiling(found.best, found.level)
    return sentence[0].upper() + sentence[1:]
