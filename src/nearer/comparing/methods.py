"""Comparison of methods: how often each predicts held-out answers wrongly, and by how much they differ.

All methods have the same training parts and the same held-out answers: an answer that is noise is wrong for both of two
methods, and cancels in their difference. Differences are to the *first* method, as the best of several is best partly
by luck. The variance is explained on the page on mathematics.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_interval, format_level, pluralize
from nearer._common.parameters import check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState
from nearer._common.results import Result, Rows, text_table
from nearer._common.tables import rows_from_records
from nearer.comparing.results import (
    MIN_ANNOTATORS,
    Comparison,
    Estimate,
    comparisons_of,
    count_annotators,
    holm,
    p_text,
    plot_estimates,
)
from nearer.data.comparisons import Comparisons
from nearer.data.groups import Grouping, group_indices, resolve_grouping
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.held_out import Fold, WholeKFold, answer_probabilities, evaluate, number_folds, read_weighted
from nearer.evaluation.intervals import add_variances, clustered_variance, error_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_PROBABILITY = 1e-6  # of an answer: one that was held impossible costs 14 and not infinity
_TABLE_HEADER = ("method", "error", "interval", "less the first", "interval", "p (Holm)", "log loss", "seconds")


@dataclass(frozen=True)
class MethodScore(Result):
    """How well one method predicts held-out answers.

    Attributes
    ----------
    name : str
    error, low, high : float
        Of what `predict` uses, with its interval.
    map_error : float
        Of the map, `embedding_`.
    log_loss : float
        Mean of minus the logarithm of the probability of each held-out answer; guessing has 0.693.
    seconds : float
        Of one fit, on average.
    difference, difference_low, difference_high : float or None
        Its error less that of the first method, with the interval of that; None for the first.
    p_value, p_holm : float or None
        Of no difference, and corrected for the number of methods.
    """

    name: str
    error: float
    low: float
    high: float
    map_error: float
    log_loss: float
    seconds: float
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class MethodComparison(Comparison):
    """Methods, judged by the same held-out answers.

    Attributes
    ----------
    methods : tuple of MethodScore
        In the order in which they were given; differences are to the first.
    n_folds, n_wanted : int
        Folds that all methods were judged by, and those that were asked for: fewer after Ctrl-C.
    by : {"trials", "annotators", "questions"}
        What folds keep whole.
    unit : {"trials", "annotators", "questions"}
        What intervals take as independent.
    n_comparisons : int
        That were held out.
    level : float
        Of the intervals.

    Examples
    --------
    >>> ste = MethodScore("STE", 0.2, 0.18, 0.22, 0.2, 0.45, 0.3)
    >>> soe = MethodScore("SOE", 0.21, 0.19, 0.23, 0.21, 0.5, 0.2, 0.01, -0.01, 0.03, 0.3, 0.3)
    >>> print(MethodComparison((ste, soe), 5, 5, "trials", "annotators", 400, 0.95))
    method  error  interval        less the first  interval         p (Holm)  log loss  seconds
    STE     0.200  0.180 to 0.220                                             0.450     0.30
    SOE     0.210  0.190 to 0.230  +0.010          -0.010 to 0.030  0.3       0.500     0.20
    95% intervals; 400 comparisons held out in 5 folds of whole trials; people are taken as independent
    smallest error: STE; differences are to STE, the first
    """

    kind: ClassVar[str] = "methods"
    figure_name: ClassVar[str] = "methods"

    methods: tuple[MethodScore, ...]
    n_folds: int
    n_wanted: int
    by: Grouping
    unit: Grouping
    n_comparisons: int
    level: float

    @property
    def best(self) -> str:
        """The method with the smallest error; see the intervals for whether it is significantly better."""
        return min(self.methods, key=lambda score: score.error).name

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer folds than were asked for."""
        return self.n_folds < self.n_wanted

    def _derived(self) -> Mapping[str, Any]:
        of = {"best": self.best, "first": self.methods[0].name, "interrupted": self.interrupted}
        return {**super()._derived(), **of}

    def summary(self) -> str:
        """Return a table of all methods as text."""
        unit, whole = ("people" if each == "annotators" else each for each in (self.unit, self.by))
        stopped = f" of {self.n_wanted}, as the run was stopped," if self.interrupted else ""
        about = (
            f"{format_level(self.level)} intervals; {pluralize(self.n_comparisons, 'comparison')} held out in "
            f"{self.n_folds} folds{stopped} of whole {whole}; {unit} are taken as independent\n"
            f"smallest error: {self.best}; differences are to {self.methods[0].name}, the first"
        )
        return "\n".join([*text_table([_TABLE_HEADER, *map(_cells, self.methods)]), about])

    def tables(self) -> dict[str, Rows]:
        """Return a row for each method."""
        return {"methods.csv": rows_from_records([asdict(score) for score in self.methods])}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw by how much the error of each method differs from that of the first, with intervals."""
        first, *others = self.methods
        rows = []
        for score in others:
            ends = (
                each for each in (score.difference, score.difference_low, score.difference_high) if each is not None
            )
            value, low, high = ends
            rows.append(Estimate(f"{score.name} ({decimals(score.error)})", value, ((low, high),)))
        legend = f"{format_level(self.level)} interval; left of the line: better than {first.name}"
        return plot_estimates(rows, [legend], f"held-out error less that of {first.name} ({decimals(first.error)})", ax)


def _cells(score: MethodScore) -> tuple[str, ...]:
    return (
        score.name,
        decimals(score.error),
        format_interval(score.low, score.high),
        "" if score.difference is None else f"{score.difference:+.3f}",
        format_interval(score.difference_low, score.difference_high),
        p_text(score.p_holm),
        decimals(score.log_loss),
        f"{score.seconds:.2f}",
    )


def compare_methods(
    comparisons: Any,
    methods: Mapping[str, OrdinalEmbedding],
    *,
    n_splits: int = 5,
    by: Grouping = "trials",
    dimension: Callable[[Comparisons], int] | None = None,
    level: float = 0.95,
    random_state: RandomState = None,
) -> MethodComparison:
    """Compare methods by the same held-out answers.

    After Ctrl-C the result is of the folds that are done; KeyboardInterrupt is raised again where there are fewer than
    two.

    Parameters
    ----------
    comparisons : Answers, Comparisons or array-like, shape (m, 3) or (m, 4)
    methods : mapping from str to estimator
        At least two; the others are compared with the first. Copies of them are fitted.
    n_splits, by
        Folds, as for `WholeKFold`: by="trials" asks about further answers of the same people, by="annotators" about
        further people.
    dimension : callable, optional
        From the comparisons of a training part to the number of dimensions that all methods get there; each keeps its
        own if left out.
    level : float
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the folds.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> judgments = sample_triplets(make_gaussian(12, 2, random_state=0), 400, random_state=0)
    >>> methods = {"line": STE(1, random_state=0), "plane": STE(2, random_state=0)}
    >>> found = compare_methods(judgments, methods, random_state=0)
    >>> plane = found.methods[1]
    >>> plane.difference < 0, plane.p_holm < 0.01, found.best
    (True, True, 'plane')
    """
    check_level(level)
    if len(methods) < 2:
        raise ValueError(f"it takes two methods to compare, got {', '.join(methods) or 'none'}")
    judged = read_weighted(comparisons_of(comparisons))
    folds = list(WholeKFold(n_splits, by=by, random_state=random_state).split(judged))
    losses, seconds, n_done = _judge(judged, methods, folds, dimension)
    fold_of = number_folds(folds[:n_done], len(judged))
    rows = np.flatnonzero(fold_of >= 0)
    by_person = by == "annotators" or count_annotators(judged) >= MIN_ANNOTATORS
    unit: Grouping = "annotators" if by_person else resolve_grouping(judged, by)
    clusters, weights = group_indices(judged, unit)[rows], judged.sample_weight[rows]
    scores: list[MethodScore] = []
    for k, name in enumerate(methods):
        wrong, *others = losses[k][:, rows]
        found = error_interval(wrong, weights, clusters, level, n_folds=n_done)
        map_error, log_loss = (float(np.average(each, weights=weights)) for each in others)
        score = MethodScore(name, *found, map_error, log_loss, seconds[k] / max(n_done, 1))
        if k > 0:
            gap, low, high, p = paired_difference(wrong - losses[0][0, rows], weights, clusters, fold_of[rows], level)
            score = replace(score, difference=gap, difference_low=low, difference_high=high, p_value=p)
        scores.append(score)
    corrected = [None, *holm([score.p_value for score in scores if score.p_value is not None])]
    kept = tuple(replace(score, p_holm=p) for score, p in zip(scores, corrected, strict=True))
    return MethodComparison(kept, n_done, len(folds), resolve_grouping(judged, by), unit, len(rows), level)


def _judge(
    judged: Comparisons,
    methods: Mapping[str, OrdinalEmbedding],
    folds: list[Fold],
    dimension: Callable[[Comparisons], int] | None,
) -> tuple[FloatArray, list[float], int]:
    """Return error, error of the map and log loss of each answer by each method, the seconds of each, and folds done.

    The losses, (methods, 3, m), are NaN where answers were not judged yet.
    """
    losses, seconds, n_done = np.full((len(methods), 3, len(judged)), np.nan), [0.0] * len(methods), 0
    with progress_bar("methods", len(folds) * len(methods)) as bar:
        try:
            for train, test in folds:
                part, held_out = judged[train], judged[test]
                given = None if dimension is None else dimension(part)
                for k, (name, method) in enumerate(methods.items()):
                    copied: OrdinalEmbedding = clone(method) if given is None else _of_dimension(method, given)
                    copied, start = copied._for_cross_validation(), time.perf_counter()
                    try:
                        model = copied.fit(part)
                    except ValueError as error:
                        raise ValueError(f"{name}: {error}; leave it out, or give it what it needs") from error
                    seconds[k] += time.perf_counter() - start
                    chances = np.clip(answer_probabilities(model, held_out), _MIN_PROBABILITY, 1.0)
                    losses[k][:, test] = *evaluate(model, held_out), -np.log(chances)
                    bar.update()
                n_done += 1
        except KeyboardInterrupt:
            if n_done < 2:
                raise
    return losses, seconds, n_done


def _of_dimension(method: OrdinalEmbedding, dimension: int) -> OrdinalEmbedding:
    copied = clone(method)
    most = copied.get_params(deep=False).get("max_components")
    if most is not None and most < dimension:
        copied.set_params(max_components=dimension)
    copied.set_params(n_components=dimension)
    return copied


def paired_difference(
    differences: FloatArray,
    weights: FloatArray,
    clusters: NDArray[np.intp],
    folds: NDArray[np.intp],
    level: float = 0.95,
) -> tuple[float, float, float, float]:
    """Return the mean of differences, (m,), the ends of its interval and the p-value of none.

    ``clusters``, (m,), are of correlated answers, ``folds``, (m,), of the cross-validation.
    """
    mean = float(np.average(differences, weights=weights))
    n_clusters = len(np.unique(clusters))
    freedom = float(max(n_clusters - 1, 1))
    variance = clustered_variance(differences, weights, clusters)
    numbers = np.unique(folds)
    k = len(numbers)
    if k > 1 and np.isfinite(variance):
        parts = [folds == number for number in numbers]
        means = [float(np.average(differences[part], weights=weights[part])) for part in parts]
        within = [clustered_variance(differences[part], weights[part], clusters[part]) for part in parts]
        beyond = float(np.var(means, ddof=1) - np.mean(within)) if np.isfinite(within).all() else 0.0
        if beyond > 0:
            between = (1 / k + 1 / (k - 1)) * beyond
            variance, freedom = add_variances(variance, freedom, between, k - 1)
    if variance == 0:  # the same on every answer, or by the same amount
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    if not np.isfinite(variance):
        return mean, -1.0, 1.0, 1.0
    error = float(np.sqrt(variance))
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return mean, mean - reach, mean + reach, float(2 * stdtr(freedom, -abs(mean) / error))
