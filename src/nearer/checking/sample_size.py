"""Whether there are enough answers, and how good a map of them can be.

A map of n objects in p dimensions needs a number of comparisons that grows as n p log n (Jamieson and Nowak 2011). With
c = effective comparisons / (n p ln n), a map is mostly guesswork below c = 1; from c = 4 on it is right in 9 of 10
cases where one answer in ten is wrong. Of such answers, k to one question have as many bits as 2 k / (k + 1) to
different ones (within a tenth). Where there are too few questions about few objects, three answers to each are enough.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from nearer._common.findings import Finding, Severity
from nearer._common.formatting import round_to_two_digits
from nearer.checking.context import Context, derive_seed, subsample
from nearer.checking.findings import Findings
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import Grouping, group_indices
from nearer.embedding import CKL, PosteriorEmbedding
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.ceiling import NoiseCeiling
from nearer.evaluation.curves import Kind, LearningCurve, Trend, learning_curve, trend
from nearer.evaluation.distances import DISTANCES_FAIR, DISTANCES_GOOD, SplitHalf, spearman_brown, split_half

TOO_FEW, PLENTY = 1.0, 4.0  # of n p ln n comparisons
_TRIAL_EXPONENT = 0.6  # the k comparisons of one trial are dependent: they count as k^0.6, as for the posterior
_MAX_REPEAT_GAIN = 2  # what answers to one question count at most
_FEW_QUESTIONS_SHARE = 0.8  # of the comparisons: below, the number of questions is reported
_MIN_COMPARISONS, _MIN_UNITS = 50, 10  # of a learning curve
CURVE_SEED, _DISTANCES_SEED = 7, 8  # never changed, or results would

_CURVE_FINDINGS: dict[Kind, tuple[str, Severity]] = {
    "guessing": ("no-signal", "warning"),
    "unknown": ("weak-signal", "note"),
    "falls": ("still-learning", "note"),
    "settled": ("learned", "good"),
}
CURVE_CODES = frozenset(code for code, _ in _CURVE_FINDINGS.values())
_RULE_CODES = frozenset({"enough", "rather-few", "too-few"})
_UNRELIABLE_CODES = frozenset({"distances-roughly", "distances-differ"})
_DISTANCES_CODES = _UNRELIABLE_CODES | {"distances", "distances-unknown"}


def check_rule(context: Context) -> Iterator[Finding]:
    """Compare the effective number of comparisons with n p ln n."""
    if 2 * np.count_nonzero(context.has_features) > context.n_objects:
        return  # the rule is about maps made of answers alone
    n, p = context.n_objects, context.n_components
    unit = n * p * math.log(n)
    every_question = effective_repeats(3) * n * (n - 1) * (n - 2) / 2
    plenty = min(PLENTY * unit, every_question)
    effective, fresh = _effective_comparisons(context)
    missing = 0 if effective >= plenty * (1 - 1e-9) else round_to_two_digits(math.ceil((plenty - effective) / fresh))
    counts = {
        "rule_constant": effective / unit,
        "effective_comparisons": effective,
        "rule_unit": unit,
        "rule_missing": missing,
        "rule_all_questions": every_question < PLENTY * unit,
    }
    context.counts |= counts
    asked = context.votes.sum(axis=1)
    n_asked = int((asked > 0).sum())
    size: dict[str, Any] = {"n_answers": len(context.answers), "n_objects": n, "n_components": p}
    size["n_questions"] = n_asked if n_asked < _FEW_QUESTIONS_SHARE * asked.sum() else None
    yield _rule_finding(counts | size)


def _rule_finding(numbers: Mapping[str, Any], codes: Collection[str] = ()) -> Finding:
    """Return the rule of thumb as a finding, in view of the codes of others.

    It does not ask for more answers after a learning curve that has settled, promises nothing where there is doubt
    about the map, and says how many more are needed only if the distances of the map do not.
    """
    doubt = "guessing" if "no-signal" in codes else "halves-differ" if "distances-differ" in codes else None
    more = not _UNRELIABLE_CODES.isdisjoint(codes)
    facts = {**numbers, "settled": "learned" in codes, "doubt": doubt, "distances_need_more": more}
    if numbers["rule_missing"] == 0:
        return Finding("enough", "note" if doubt else "good", numbers=facts)
    if numbers["rule_constant"] >= TOO_FEW:
        return Finding("rather-few", "note", numbers=facts)
    return Finding("too-few", "warning", numbers=facts)


def _effective_comparisons(context: Context) -> tuple[float, float]:
    """Return the effective number of comparisons, and what an answer to another question would add to it."""
    asked = context.votes.sum(axis=1)[context.questions[context.decided]]
    trials = context.answers.trial_of[context.decided]
    if len(trials) == 0:
        return 0.0, 1.0
    each = np.bincount(trials)[trials] ** (_TRIAL_EXPONENT - 1)
    return float(each @ (effective_repeats(asked) / asked)), float(
        each.sum() / (len(context.answers) - context.n_split)
    )


def effective_repeats(times: Any) -> Any:
    """Return how many different questions are as informative as one that is asked so many times."""
    return times * _MAX_REPEAT_GAIN / (times + _MAX_REPEAT_GAIN - 1)


def check_curve(context: Context) -> Iterator[Finding]:
    """See whether a map predicts held-out answers, and whether more answers would help."""
    part = subsample(context)
    if len(part) < _MIN_COMPARISONS or len(np.unique(group_indices(part))) < _MIN_UNITS:
        return
    curve = curve_of(context.n_components, part, context.seed, context.level, n_sizes=2, features=context.features)
    (half, error), low, high = curve.errors, float(curve.lows[-1]), float(curve.highs[-1])
    context.counts |= {"held_out": float(error), "held_out_low": low, "held_out_high": high}
    context.counts["held_out_half"] = float(half)
    unit = context.n_objects * context.n_components * math.log(context.n_objects)
    few = not context.features and _effective_comparisons(context)[0] / unit < TOO_FEW
    found = curve_trend(curve, few=few, ceiling=context.ceiling, level=context.level, unit="answers")
    yield curve_finding(found)


def curve_of(
    n_components: int,
    comparisons: Comparisons,
    seed: int,
    level: float,
    *,
    n_sizes: int,
    features: Sequence[Features] = (),
) -> LearningCurve:
    """Return the learning curve that `fit` has of a posterior: by CKL, which is fast, but takes no features."""
    method: OrdinalEmbedding = CKL(n_components, random_state=seed)
    if features:
        method = PosteriorEmbedding(n_components, features=list(features), solver="fast", random_state=seed)
    curve_seed = derive_seed(seed, CURVE_SEED)
    return learning_curve(method, comparisons, n_sizes=n_sizes, level=level, random_state=curve_seed)


def curve_trend(curve: LearningCurve, *, few: bool, ceiling: NoiseCeiling | None, level: float, unit: str) -> Trend:
    """Return where a learning curve leads, by the rule of `nearer.evaluation.curves`."""
    sizes, errors, lows, highs = (each.tolist() for each in (curve.sizes, curve.errors, curve.lows, curve.highs))
    fall_errors = None if curve.fall_errors is None else curve.fall_errors.tolist()
    return trend(sizes, errors, lows, highs, level, few=few, ceiling=ceiling, fall_errors=fall_errors, unit=unit)


def curve_finding(found: Trend, *, unreliable: bool = False) -> Finding:
    """Return where a learning curve leads as a finding; a settled one is no good sign if distances are unreliable."""
    code, severity = _CURVE_FINDINGS[found.kind]
    numbers = asdict(found) | {"unreliable_distances": unreliable}
    return Finding(code, "note" if unreliable else severity, numbers=numbers)


def check_ceiling(context: Context) -> Iterator[Finding]:
    """Estimate the noise ceiling from questions asked more than once."""
    found = context.ceiling
    if found is None:
        context.counts["ceiling"] = None
        yield Finding("no-ceiling", "note")
        return
    counts: dict[str, Any] = {"ceiling": found.error, "ceiling_low": found.low, "ceiling_high": found.high}
    counts["ceiling_at_most"] = found.at_most
    context.counts |= counts
    numbers = counts | {"level": found.level, "n_questions": found.n_questions, "n_split": context.n_split}
    yield Finding("vague-ceiling" if found.is_vague else "ceiling", "note", numbers=numbers)


def check_distances(context: Context) -> Iterator[Finding]:
    """Compare the distances of maps of two halves of the answers, unless they would share features."""
    if context.features:
        return
    part = subsample(context)
    try:
        # CKL, as for a posterior in `fit`: both report the same reliability.
        found = halves_of(CKL(context.n_components, random_state=context.seed), part, context.seed)
    except ValueError as error:
        yield Finding("distances-unknown", "note", numbers={"reason": str(error)})
        return
    whole = len(context.comparisons_with_metadata) / len(part)
    reliability, low, high = (spearman_brown(each, whole) for each in (found.reliability, found.low, found.high))
    found = replace(found, reliability=reliability, low=low, high=high)
    context.counts["split_half"] = asdict(found)
    yield distances_finding(found, context.n_components)


def halves_of(
    method: OrdinalEmbedding,
    comparisons: Any,
    seed: int,
    by: Grouping = "trials",
    unrestricted: OrdinalEmbedding | None = None,
    n_splits: int = 5,
) -> SplitHalf:
    """Return how reproducible distances are, with the seed of a run; arguments as for `split_half`."""
    halves_seed = derive_seed(seed, _DISTANCES_SEED)
    return split_half(
        method, comparisons, unrestricted=unrestricted, n_splits=n_splits, by=by, random_state=halves_seed
    )


def distances_finding(found: SplitHalf, n_components: int, maps: str = "") -> Finding:
    """Return the reliability of distances as a finding, of other ``maps`` than those of `check`: "by SOE", say."""
    numbers: dict[str, Any] = {"reliability": found.reliability, "low": found.low, "high": found.high}
    numbers |= {"n_components": n_components, "maps": maps}
    if found.reliability >= DISTANCES_GOOD and not found.low < DISTANCES_FAIR:
        return Finding("distances", "good", numbers=numbers)
    if found.reliability >= DISTANCES_FAIR:
        return Finding("distances-roughly", "note", numbers=numbers)
    return Finding("distances-differ", "warning", numbers=numbers)


def replace_curve(findings: Findings, found: Trend) -> Findings:
    """Return findings in which the learning curve of a run replaces that of `check`."""
    others = (finding for finding in findings if finding.code not in CURVE_CODES)
    return reconcile(replace(findings, items=(*others, curve_finding(found))))


def replace_distances(findings: Findings, found: SplitHalf, n_components: int, maps: str = "") -> Findings:
    """Return findings in which the reliability of a run replaces that of `check`."""
    others = (finding for finding in findings if finding.code not in _DISTANCES_CODES)
    return replace(findings, items=(*others, distances_finding(found, n_components, maps)))


def reconcile(findings: Findings) -> Findings:
    """Return findings of which none says that more answers help and another that they do not."""
    codes = {finding.code for finding in findings}
    return replace(findings, items=tuple(_reconciled(finding, codes) for finding in findings))


def _reconciled(finding: Finding, codes: Collection[str]) -> Finding:
    if finding.code in _RULE_CODES:
        return _rule_finding(finding.numbers, codes)
    if finding.code == "learned":
        found = Trend(finding.numbers["kind"], finding.numbers["sentence"])
        return curve_finding(found, unreliable=not _UNRELIABLE_CODES.isdisjoint(codes))
    return finding
