"""Checks of dissimilarities: pairs that nobody judged, orders that disagree, and people who rate otherwise than others.

Each person is correlated with the mean of the others over the pairs that both judged, by Spearman's rho.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import spearmanr

from nearer._common.arrays import FloatArray
from nearer._common.findings import Finding, Severity
from nearer.checking.findings import Findings
from nearer.data.dissimilarities import Dissimilarities

_MIN_PAIRS = 20  # pairs that are correlated
_ALPHA_REVERSED, _ALPHA_UNRELATED = 0.01, 0.05
_MAX_FAR = 0.05  # share of judgments that may lie far from all others
_MIN_AGREEMENT = 0.5  # between the two orders of a pair
_MAX_LISTED = 10
_STATED = "assumed-direction"  # what the first finding says anyway


def check_dissimilarities(data: Dissimilarities, *, n_components: int = 2) -> Findings:
    """Look for everything that can be wrong with judgments of pairs, before a map is made of them.

    Parameters
    ----------
    data : Dissimilarities
        As `nearer.io.read_dissimilarities` returns them.
    n_components : int
        Dimension of the map that they are for.

    Examples
    --------
    >>> import numpy as np
    >>> sums = np.triu(np.arange(16.0).reshape(4, 4), 1)[None]
    >>> [finding.code for finding in check_dissimilarities(Dissimilarities(sums, sums > 0, list("abcd"), "ratings"))]
    ['judgments']
    """
    found = [*_judgments(data), *_missing(data, n_components), *_orders(data), *_far(data), *_people(data)]
    found += [
        Finding("reading", "note", None, {"finding": each, "file": data.source})
        for each in data.findings
        if each.code != _STATED
    ]
    return Findings(data.source, tuple(found), {"n_objects": data.n_objects, "n_answers": data.n_answers})


def _judgments(data: Dissimilarities) -> Iterator[Finding]:
    known = int((~np.isnan(data.combined())).sum())
    numbers = {
        "kind": data.kind, "n_objects": data.n_objects, "n_answers": data.n_answers, "n_pairs": known,
        "n_people": None if data.people is None else len(data.people), "high_is": data.high_is,
        "known_by": data.known_by, "n_bad": data.n_bad,
    }  # fmt: skip
    yield Finding("judgments", "note", None, numbers)


def _missing(data: Dissimilarities, n_components: int) -> Iterator[Finding]:
    """Find pairs that nobody judged: objects with too few, and groups without any between them."""
    known = ~np.isnan(data.combined())
    if known.all():
        return
    n, (a, b) = data.n_objects, data.pairs
    matrix = np.zeros((n, n))
    matrix[a[known], b[known]] = 1
    n_parts, part = connected_components(matrix, directed=False)
    objects = np.array(data.objects, object)
    if n_parts > 1:
        groups = [objects[part == number].tolist() for number in range(n_parts)]
        yield Finding("unjudged-groups", "error", None, {"groups": groups})
    n_judged = (matrix + matrix.T).sum(axis=1).astype(int)
    few = np.flatnonzero(n_judged <= n_components)
    if len(few):
        numbers = {"n_judged": n_judged[few].tolist(), "n_components": n_components}
        yield Finding("few-judged", "warning", None, numbers, tuple(objects[few].tolist()))
    yield Finding("unjudged-pairs", "note", None, {"n_pairs": int((~known).sum()), "n_possible": len(known)})


def _orders(data: Dissimilarities) -> Iterator[Finding]:
    """Find whether pairs that were judged in both orders were judged alike; confusions are corrected for bias."""
    a, b = data.pairs
    one, other = (data.trials[:, i, j] for i, j in ((a, b), (b, a)))
    both = (one > 0) & (other > 0)
    if data.kind == "confusions" or not both.any():
        return
    means = [data.sums[:, i, j][both] / trials[both] for (i, j), trials in (((a, b), one), ((b, a), other))]
    differ = ~np.isclose(means[0], means[1])
    if not differ.any():
        return
    correlation = _rho(means[0], means[1]) if both.sum() >= _MIN_PAIRS else float("nan")
    severity: Severity = "warning" if correlation < _MIN_AGREEMENT else "note"
    numbers = {
        "n_pairs": int(both.sum()), "n_differ": int(differ.sum()), "mean": float(np.abs(means[0] - means[1]).mean()),
        "correlation": None if np.isnan(correlation) else correlation,
    }  # fmt: skip
    yield Finding("asymmetric", severity, None, numbers)


def _far(data: Dissimilarities) -> Iterator[Finding]:
    """Find judgments that lie farther from all others than these from each other, such as 99 on a scale of 7."""
    if data.kind not in ("ratings", "matrix"):
        return
    values = np.sort(
        np.divide(data.sums, data.trials, where=data.trials > 0, out=np.full(data.sums.shape, np.nan))[data.trials > 0]
    )
    gaps = np.diff(values)
    if len(values) < _MIN_PAIRS or not gaps.any():
        return
    at = int(gaps.argmax())
    below, above = values[: at + 1], values[at + 1 :]
    few, others = (below, above) if len(below) < len(above) else (above, below)
    if len(few) <= _MAX_FAR * len(values) and gaps[at] > np.ptp(others) > 0:
        numbers = {"values": np.unique(few)[:_MAX_LISTED].tolist(), "n": len(few), "low": others[0], "high": others[-1]}
        yield Finding("far-judgments", "warning", None, {**numbers, "turned": data.high_is == "similar"})


def _people(data: Dissimilarities) -> Iterator[Finding]:
    """Find people who say the same of all pairs, rate in reverse, or agree with nobody."""
    if data.people is None:
        return
    names = np.array(data.people, object)
    constant = ~data.counted
    if constant.any():
        yield Finding("constant-raters", "warning", None, {}, tuple(names[constant].tolist()))
    counted = np.flatnonzero(data.counted)
    if len(counted) < 3:
        return
    found: list[tuple[int, float, float]] = []
    for person in counted.tolist():
        others = np.ones(len(data.sums))
        others[person] = 0
        mean, own = data.combined(others), data.of_people[person]
        known = ~np.isnan(mean) & ~np.isnan(own)
        if known.sum() >= _MIN_PAIRS and np.ptp(own[known]) > 0 and np.ptp(mean[known]) > 0:
            rho, p = spearmanr(own[known], mean[known], alternative="less")
            found.append((person, float(rho), float(p)))
    if not found:
        return
    reversed_ = [each for each in found if each[2] < _ALPHA_REVERSED / len(found)]
    unrelated = [each for each in found if each not in reversed_ and each[2] < 1 - _ALPHA_UNRELATED]
    for code, people in (("reversed-raters", reversed_), ("unrelated-raters", unrelated)):
        if people:
            concerned = tuple(names[person] for person, *_ in people)
            yield Finding(code, "warning", None, {"people": [rho for _, rho, _ in people]}, concerned)
    agreement = float(np.median([rho for _, rho, _ in found]))
    if not unrelated and not reversed_:
        yield Finding("people-agree", "good", None, {"rho": agreement, "n_people": len(found)})


def _rho(one: FloatArray, other: FloatArray) -> float:
    return float(spearmanr(one, other).statistic) if np.ptp(one) > 0 and np.ptp(other) > 0 else float("nan")
