"""What was compared: how much, which objects, and whether the comparison graph connects them.

No comparison changes when a part of a map moves rigidly and no distance along an edge of the comparison graph changes.
Connected components can be shifted and rotated against each other. A part that is joined to the rest by a single
object, an articulation point, can be rotated about that object. Features connect the objects that have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import comb

from nearer._common.findings import Finding, Severity
from nearer.checking.context import Context, IntArray

_MAX_OPEN_PROBABILITY = 0.05
_UNDECIDED_WARNING_SHARE = 0.25
_BAD_ROWS_WARNING_SHARE = 0.01
_UNEVEN_RATIO = 5.0
_MAX_LISTED = 10  # objects, with their counts


def check_counts(context: Context) -> Iterator[Finding]:
    """Count everything, and report what was excluded."""
    answers, report = context.answers, context.answers.report
    counts: dict[str, Any] = {
        "n_objects": context.n_objects,
        "n_answers": len(answers),
        "n_comparisons": len(context.comparisons),
        "n_annotators": None if context.names is None else len(context.names),
        "n_undecided": context.n_undecided,
        "n_split": context.n_split,
        "n_bad": report.n_bad,
        "n_trials": int(answers.trial_of.max()) + 1,
        "n_questions": context.n_questions,
        "n_pairs": context.n_pairs,
    }
    context.counts |= counts
    yield Finding("counts", "note", numbers=counts | {"kind": answers.kind})
    if context.n_undecided:
        yield _undecided(context)
    if report.n_bad:
        share = report.n_bad / (report.n_bad + context.n_given)
        numbers = {"n_rows": report.n_bad, "share": share, "rows": report.bad_rows[:3]}
        yield Finding("bad-rows", "warning" if share > _BAD_ROWS_WARNING_SHARE else "note", numbers=numbers)
    for each in report.findings:
        yield Finding("reading", "note", numbers={"finding": each, "file": answers.source})


def _undecided(context: Context) -> Finding:
    """Return how many answers are "can't tell", and how many of them each person gave."""
    share = context.n_undecided / context.n_given
    by_person = sorted(context.answers.report.undecided.items(), key=lambda each: -each[1])
    if sum(count for _, count in by_person) < context.n_undecided:  # of some of the answers the people are not known
        by_person = []
    severity: Severity = "warning" if share >= _UNDECIDED_WARNING_SHARE else "note"
    numbers = {"share": share, "n_undecided": context.n_undecided, "n_answers": [count for _, count in by_person]}
    return Finding("undecided", severity, numbers=numbers, concerned=tuple(person for person, _ in by_person))


def check_unseen(context: Context) -> Iterator[Finding]:
    """Find objects that are on the list but in no comparison."""
    unseen = np.flatnonzero((context.n_questions_per_object == 0) & ~context.has_features)
    context.counts["n_unseen"], names = len(unseen), context.object_names(unseen)
    if context.comparisons.objects.dtype.kind in "iu" and unseen.tolist() == [0] and names == (0,):
        yield Finding("numbered-from-one", "warning", concerned=names)
    elif len(unseen):
        yield Finding("never-compared", "error", concerned=names)


def open_probability(n_questions: int, n_components: int) -> float:
    """Return the probability that so many random half-spaces leave some direction open (Wendel 1962)."""
    # Each question about an object cuts its space in two. The object is enclosed once the cuts face every way; with
    # twice as many cuts as dimensions that is an even chance.
    if n_questions <= n_components:
        return 1.0
    faces = sum(comb(n_questions - 1, k, exact=True) for k in range(n_components))
    return float(faces / 2 ** (n_questions - 1))


def min_questions(n_components: int) -> int:
    """Return the fewest questions that enclose an object with a probability of 95%."""
    found = n_components + 1
    while open_probability(found, n_components) > _MAX_OPEN_PROBABILITY:
        found += 1
    return found


def check_undersampled_objects(context: Context) -> Iterator[Finding]:
    """Find objects in too few questions to have a determined position."""
    seen, p = context.n_questions_per_object, context.n_components
    needed = min_questions(p)
    undersampled = np.flatnonzero((seen > 0) & (seen < needed) & ~context.has_features)
    context.counts |= {
        "fewest_questions": int(seen.min()),
        "median_questions": float(np.median(seen)),
        "most_questions": int(seen.max()),
        "min_questions": needed,
        "n_undersampled": len(undersampled),
    }
    if len(undersampled) == 0:
        return
    undersampled = undersampled[np.argsort(seen[undersampled], kind="stable")]
    numbers = {"min_questions": needed, "n_components": p, "n_questions": seen[undersampled[:_MAX_LISTED]].tolist()}
    severity: Severity = "warning" if seen[undersampled[0]] <= 2 * p else "note"  # where open is likelier than not
    yield Finding("undersampled-objects", severity, numbers=numbers, concerned=context.object_names(undersampled))


def check_balance(context: Context) -> Iterator[Finding]:
    """Compare how often objects are asked about."""
    times = context.n_answers_per_object
    low, high = np.percentile(times[times > 0], [10, 90])
    ratio = context.counts["answers_ratio"] = float(high / low)
    if ratio >= _UNEVEN_RATIO and (times > 0).sum() >= 10:
        rare = np.argsort(np.where(times > 0, times, np.inf), kind="stable")[:5]
        numbers = {"ratio": ratio, "n_answers": times[rare].tolist()}
        yield Finding("uneven-sampling", "note", numbers=numbers, concerned=context.object_names(rare))


def check_connectivity(context: Context) -> Iterator[Finding]:
    """Find groups of objects that can be moved against each other without changing any answer."""
    parts = [part for part in components(context.connections, context.n_objects) if len(part) > 1]
    context.counts["n_components_of_graph"] = len(parts)
    if len(parts) > 1:
        numbers = {"n_groups": len(parts), "groups": [_group(context, part) for part in parts[:5]]}
        yield Finding("disconnected", "error", numbers=numbers)
        return
    rows, p = context.comparisons.rows, context.n_components
    anchors = np.unique(rows[:, 0]) if rows.shape[1] == 3 else ()
    if (
        0 < len(anchors) <= p and context.n_objects > p + 2 and not context.has_features.any()
    ):  # the map is free to rotate about them
        severity: Severity = "error" if len(anchors) == 1 else "warning"
        yield Finding("few-anchors", severity, numbers={"n_components": p}, concerned=context.object_names(anchors))
        return
    bridged = bridged_objects(context.connections, context.n_objects)
    # Single objects behind an articulation point are in few questions or have few partners, and are reported as such.
    groups = [each for each in bridged if len(each[1]) > 1]
    context.counts |= {"n_bridged": len(bridged), "n_bridged_groups": len(groups)}
    if groups:
        about = context.object_names([articulation for articulation, _ in groups])
        numbers = {"n_groups": len(groups), "groups": [_group(context, part) for _, part in groups[:5]]}
        yield Finding("articulation-points", "warning", numbers=numbers, concerned=about)
    # Objects compared in distance with p others or fewer have two possible positions at least; those in few questions
    # are reported as such.
    partners = np.bincount(context.pairs.ravel(), minlength=context.n_objects)
    asked_about = (context.n_questions_per_object >= min_questions(p)) & ~context.has_features
    few = np.flatnonzero((partners > 0) & (partners <= p) & asked_about)
    if len(few):
        yield Finding("few-partners", "warning", numbers={"n_components": p}, concerned=context.object_names(few))
    if not bridged and not len(few):
        yield Finding("connected", "good")


def _group(context: Context, part: IntArray) -> dict[str, Any]:
    """Return the size and the first labels of a group of objects."""
    return {"n_objects": len(part), "first": list(context.object_names(part[:5]))}


def components(pairs: IntArray, n_objects: int) -> list[IntArray]:
    """Return the objects of each connected component, the largest first."""
    count, component_of = connected_components(_adjacency(pairs, n_objects), directed=False)
    sizes = np.bincount(component_of, minlength=count)
    found = np.split(np.argsort(component_of, kind="stable"), np.cumsum(sizes)[:-1])
    return sorted(found, key=len, reverse=True)


def bridged_objects(pairs: IntArray, n_objects: int) -> list[tuple[int, IntArray]]:
    """Return articulation points of a connected graph, each with the smaller side that it alone joins to the rest.

    The largest come first, and those within another are excluded.
    """
    order, cuts = _cuts(_certificate(pairs, n_objects), n_objects)
    everything = np.sort(order)
    found: list[tuple[int, IntArray]] = []
    for articulation, start, stop in cuts:
        part = np.sort(order[start:stop])
        if 2 * len(part) > len(everything) - 1:
            part = np.setdiff1d(everything, np.append(part, articulation), assume_unique=True)
        if len(part):
            found.append((articulation, part))
    found.sort(key=lambda each: (-len(each[1]), each[0]))
    covered = np.zeros(n_objects, dtype=bool)
    outermost = []
    for articulation, part in found:
        if not covered[part].all():
            outermost.append((articulation, part))
            covered[part] = True
    return outermost


def _adjacency(pairs: IntArray, n_objects: int) -> csr_array[Any, Any]:
    ones = np.ones(len(pairs), dtype=np.int8)
    return coo_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n_objects, n_objects)).tocsr()


def _certificate(pairs: IntArray, n_objects: int) -> IntArray:
    """Return at most 2n pairs whose graph has the same articulation points."""
    if len(pairs) <= 2 * n_objects:
        return pairs
    # Two breadth-first forests, the second in what the first leaves, keep biconnectivity (Cheriyan, Kao and Thurimella
    # 1993), so that the walk in Python below is over 2n pairs and not over millions.
    first = _forest(pairs, n_objects)
    codes = pairs[:, 0] * n_objects + pairs[:, 1]
    rest = pairs[~np.isin(codes, first[:, 0] * n_objects + first[:, 1])]
    return np.concatenate([first, _forest(rest, n_objects)])


def _forest(pairs: IntArray, n_objects: int) -> IntArray:
    """Return the edges of breadth-first trees, one for each component, as sorted pairs."""
    component_of = connected_components(_adjacency(pairs, n_objects), directed=False)[1]
    roots = np.unique(component_of, return_index=True)[1]
    above = np.column_stack([roots, np.full(len(roots), n_objects)])  # one object more joins the components
    graph = _adjacency(np.concatenate([pairs, above]), n_objects + 1)
    parents = breadth_first_order(graph, n_objects, directed=False)[1][:n_objects]
    children = np.flatnonzero((parents >= 0) & (parents < n_objects))
    return np.sort(np.column_stack([children, parents[children]]).astype(np.int64), axis=1)


def _cuts(pairs: IntArray, n_objects: int) -> tuple[IntArray, list[tuple[int, int, int]]]:
    """Return the depth-first order of the objects, and (articulation point, start, stop) of each part behind one."""
    # Hopcroft and Tarjan 1973: subtrees without a back edge past their parent, as intervals of the order.
    graph = _adjacency(np.concatenate([pairs, pairs[:, ::-1]]), n_objects)
    starts, neighbors = graph.indptr.tolist(), graph.indices.tolist()
    visited, lowest = [-1] * n_objects, [0] * n_objects
    root = int(pairs[0, 0])
    order, parents, path, cuts = [root], {root: -1}, [root], []
    upcoming = starts[:-1]
    visited[root] = 0
    while path:
        here = path[-1]
        if upcoming[here] < starts[here + 1]:
            other = neighbors[upcoming[here]]
            upcoming[here] += 1
            if visited[other] < 0:
                visited[other] = lowest[other] = len(order)
                parents[other] = here
                order.append(other)
                path.append(other)
            elif other != parents[here]:
                lowest[here] = min(lowest[here], visited[other])
            continue
        path.pop()
        parent = parents[here]
        if parent >= 0:
            lowest[parent] = min(lowest[parent], lowest[here])
            if lowest[here] >= visited[parent]:
                cuts.append((parent, visited[here], len(order)))
    # A root with a single child is no articulation point.
    return np.array(order, dtype=np.int64), [cut for cut in cuts if cut[2] - cut[1] < len(order) - 1]
