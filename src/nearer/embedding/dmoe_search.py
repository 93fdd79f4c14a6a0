"""Choosing the settings of DMOE by cross-validation: paths of candidates, successive elimination, shares for the best.

Two kinds of maps compete: with few comparisons a full Gram matrix under a ridge predicts best, with many or often wrong
ones a map of few dimensions under a trace penalty. A *path* goes from the strongest penalty to the weakest, each fit
from where the last one ended; only the order of candidates is wanted, so that a few steps for each suffice.

After each fold a candidate that is behind the best by more than two standard errors drops out. Those that are left are
hard to tell apart, and choosing among them by chance has a price: each gets a *share* proportional to exp(-d), d being
how many standard errors it is behind, and the Gram matrices are averaged by their shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.data.groups import assign_folds, group_indices, restrict_to_seen, with_positive_weight
from nearer.embedding.fitting import completed, gram_problem
from nearer.embedding.predictor import Calibration, Predictor, mean_squared_distance_of_points
from nearer.geometry import double_center, embedding_from_gram
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.covariance import Covariance
from nearer.optimize.problems.margins import clear_ties
from nearer.optimize.problems.points import FactoredProblem, Penalty, laplacian_spectrum
from nearer.optimize.problems.sources import InMemory, as_rows
from nearer.optimize.solvers import ADMM, ClosedForm, Factored, solve
from nearer.optimize.solvers.driver import AnySolver, limited_blas
from nearer.sampling.features import FeatureBasis

Rank: TypeAlias = int | Literal["full"]

# Trace and ridge, from strong ridges, for few comparisons, to weak ones.
_TRACES_AND_RIDGES = ((0.01, 10.0), (0.005, 3.0), (0.2, 0.3))
_RIDGES_CLOSED = ((0.0, 30.0), (0.0, 10.0), (0.0, 3.0), (0.0, 1.0))
_TRACE_PENALTIES = (0.6, 0.35, 0.2, 0.1, 0.03, 0.005)
# A high power weighs the comparisons that are hardest to satisfy, as the tail of a likelihood does: for clean answers.
_HIGH_POWER, _HIGH_POWER_TRACES = 12.0, (0.03, 0.006, 0.0015)
_STRONG_TRACE = 0.2  # of a small rank, where answers are few
_SMALL_RANK, _LARGE_RANK = 2, 10
# Comparisons for each object: maps of small rank are hopeless below the first and fully trusted above the second.
_MIN_PER_OBJECT, _ENOUGH_PER_OBJECT = 2.5, 10.0
FEATURE_POWER = 1.5  # of the directions of features: what the prior of `PosteriorEmbedding` expects
DEFAULT_FEATURE_SHARE = 0.5
FEATURE_SHARES = (0.0, 0.5, 0.8, 0.95)  # of all sets together
_SEARCH_ADMM = ADMM(tol=2e-2, max_iter=12, check_every=3)
_SEARCH_FACTORED = Factored(tol=3e-4, max_iter=200, path=())


@dataclass(frozen=True)
class Candidate:
    """One full setting of DMOE; ``rank`` is that of the matrix that predicts."""

    penalty: Penalty
    nu: float
    power: float
    rank: Rank
    shares: tuple[float, ...] = ()  # of the feature sets in the prior variance

    @property
    def loss(self) -> TwoSidedHinge:
        """The two-sided hinge with these settings."""
        return TwoSidedHinge(self.nu, self.power)

    def params(self) -> dict[str, Any]:
        """Return the arguments of DMOE that ask for this setting."""
        settings = {"penalty": self.penalty, "nu": self.nu, "power": self.power, "rank": self.rank}
        return {**settings, "feature_share": self.shares} if self.shares else settings

    def covariance(self, features: FeatureBasis | None) -> Covariance | None:
        """Return the prior covariance of the objects by their features; None for that without features."""
        return features.covariance(self.shares, FEATURE_POWER) if features is not None and any(self.shares) else None


class Path(NamedTuple):
    """Candidates of one kind, from the strongest penalty to the weakest, and how much trust they have beforehand."""

    name: str
    candidates: tuple[Candidate, ...]
    trust: float = 1.0


@dataclass(frozen=True)
class FixedSettings:
    """What the user has settled; None is open."""

    penalty: Penalty
    nu: float | None = None
    power: float | None = None
    rank: Rank | None = None
    shares: tuple[float, ...] | None = None

    def allows(self, candidate: Candidate) -> bool:
        """Whether a candidate, after `fill`, is what was asked for and can be fitted."""
        if self.rank is not None and candidate.rank != self.rank:
            return False
        trace, ridge, diagonal, specificity = candidate.penalty.values()
        if candidate.rank == "full":
            return candidate.power in (1, 2) and (trace, ridge) != (0, 0)
        return candidate.power > 1 and (diagonal, specificity) == (1, np.inf)

    def fill(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the values that were given."""
        return replace(
            candidate,
            penalty=self.penalty.filled_from(candidate.penalty),
            nu=candidate.nu if self.nu is None else self.nu,
            power=candidate.power if self.power is None else self.power,
            shares=candidate.shares if self.shares is None else self.shares,
        )


def candidate_paths(
    given: FixedSettings,
    n_components: int,
    solver: Literal["auto", "admm", "closed", "factored"],
    per_object: float = np.inf,
    *,
    described: bool = False,
) -> list[Path]:
    """Return the paths to search, without doubles and without what the given values rule out."""
    # Features make up for answers: maps of small rank predict well from the first ones on, under strong penalties.
    few = per_object < _MIN_PER_OBJECT
    ranks = sorted({_SMALL_RANK, n_components, _LARGE_RANK})
    if solver == "factored":
        ranks = [n_components]
    elif isinstance(given.rank, int):
        ranks = [given.rank]
    kept: list[Path] = []
    seen: set[Candidate] = set()
    for path in [*_FULL_PATHS.get(solver, ()), *(_paths_of_ranks(ranks) if solver in ("auto", "factored") else ())]:
        rivals = [each for each in path.candidates if not (few and described) or _is_cautious(each)]
        candidates = [given.fill(candidate) for candidate in rivals]
        candidates = [each for each in dict.fromkeys(candidates) if given.allows(each) and each not in seen]
        seen.update(candidates)
        full = path.candidates[0].rank == "full"
        too_few = few and not (full or described) and any(other.trust == 1 for other in kept)
        trust = 1.0 if full or described else min(1.0, per_object / _ENOUGH_PER_OBJECT)
        if candidates and not too_few:
            kept.append(Path(path.name, tuple(candidates), trust))
    return kept


def _is_cautious(candidate: Candidate) -> bool:
    strong = candidate.penalty.values().trace >= _STRONG_TRACE and candidate.power == 2
    return candidate.rank == "full" or strong


def _full_path(
    name: str, traces_and_ridges: Iterable[tuple[float, float]], diagonal: float = 1.0, specificity: float = np.inf
) -> Path:
    penalties = [Penalty(trace, ridge, diagonal, specificity) for trace, ridge in traces_and_ridges]
    return Path(name, tuple(Candidate(penalty, 1.0, 2, "full") for penalty in penalties))


_RIDGE_PATHS = [
    _full_path("full, specificities", _TRACES_AND_RIDGES, specificity=20.0),
    _full_path("full, light diagonal", _TRACES_AND_RIDGES, diagonal=0.4),
]
_FULL_PATHS = {
    "auto": _RIDGE_PATHS,
    "admm": [*_RIDGE_PATHS, _full_path("full, trace alone", [(trace, 0.0) for trace in _TRACE_PENALTIES[:4]])],
    "closed": [
        _full_path("closed form", _RIDGES_CLOSED),
        _full_path("closed form, light diagonal", _RIDGES_CLOSED, diagonal=0.4),
    ],
}


def _paths_of_ranks(ranks: list[int]) -> list[Path]:
    def path(name: str, rank: int, power: float, traces: tuple[float, ...]) -> Path:
        return Path(name, tuple(Candidate(Penalty(trace, 0.0), 0.0, power, rank) for trace in traces))

    made = [path(f"rank {rank}", rank, 2, _TRACE_PENALTIES) for rank in ranks]
    return [*made, path(f"rank {ranks[-1]}, power {_HIGH_POWER:g}", ranks[-1], _HIGH_POWER, _HIGH_POWER_TRACES)]


@dataclass(frozen=True, eq=False)
class PointPredictor:
    """Points that predict, (n, r)."""

    points: PointArray

    def margins(self, comparisons: Comparisons) -> FloatArray:
        """Return the margins of comparisons as answered, (m,)."""
        from nearer.optimize import kernels

        return clear_ties(*kernels.squared_distances(self.points, as_rows(comparisons)))

    def spread(self, objects: NDArray[np.integer]) -> float:
        """Return the mean squared distance between these objects."""
        return mean_squared_distance_of_points(self.points[objects])

    def predictor(self) -> Predictor:
        """Return their Gram matrix."""
        return Predictor.from_solution(self.points @ self.points.T)


def fit_path(
    candidates: Sequence[Candidate], train: Comparisons, closed: bool, features: FeatureBasis | None = None
) -> Iterator[Predictor | PointPredictor]:
    """Return what each candidate of a path, all of the same shares, makes of comparisons, one after the other."""
    full, covariance = candidates[0].rank == "full", candidates[0].covariance(features)
    if full:
        return _fit_gram_path(candidates, train, closed, covariance)
    return _fit_points_path(candidates, train, covariance)


def _fit_gram_path(
    candidates: Sequence[Candidate], train: Comparisons, closed: bool, covariance: Covariance | None
) -> Iterator[Predictor]:
    problem, seen = gram_problem(train, candidates[0].loss, covariance)
    margins = problem.margins
    solver: AnySolver = ClosedForm() if closed else _SEARCH_ADMM
    state = None
    for candidate in candidates:
        diagonal = candidate.penalty.values().diagonal
        if problem.margins.diagonal != diagonal or problem.loss != candidate.loss:
            # One problem serves all candidates that differ in their weights alone: its pull is worked out once.
            problem = replace(problem, margins=replace(margins, diagonal=diagonal), loss=candidate.loss)
        solution = completed(solve(candidate.penalty.over_gram_matrices(problem), solver, state))
        state = None if closed else solution.state
        yield Predictor.over_all_objects(solution.value, seen, train.n_objects, diagonal, covariance)


def _fit_points_path(
    candidates: Sequence[Candidate], train: Comparisons, covariance: Covariance | None
) -> Iterator[PointPredictor]:
    rank = int(candidates[0].rank)
    # The direction of an object that none of these comparisons mentions would take a place in the start.
    n_objects = train.n_objects
    train, seen = restrict_to_seen(train)
    root = None if covariance is None else covariance.root(seen)
    loadings = None if covariance is None else covariance.loadings(seen)
    problem = FactoredProblem(InMemory(train), candidates[0].loss, rank=rank, root=root)
    spectrum = laplacian_spectrum(problem, rank)
    problem, start = replace(problem, spectrum=spectrum), None
    for candidate in candidates:
        penalized = candidate.penalty.over_points(replace(problem, loss=candidate.loss), float(spectrum.eigenvalues[0]))
        points = completed(solve(penalized, _SEARCH_FACTORED, start)).value
        # One point has no gradient out of it: nothing to go on from.
        start = points if np.ptp(points, axis=0).any() else None
        if loadings is None:
            placed = np.zeros((n_objects, rank))
            placed[seen] = points - points.mean(axis=0)
        else:
            placed = loadings @ points
        yield PointPredictor(placed)


_MIN_UNITS = 10  # trials, or questions: with fewer there is nothing to choose by
MAX_COMPARISONS = 2_000_000
MAX_SHARES = 8
_MAX_BEHIND = 2.0  # standard errors
_MIN_AHEAD = 1.0  # standard errors that features must be ahead of none


def can_tune(comparisons: Comparisons) -> bool:
    """Return whether there are enough comparisons to choose settings by, and not so many that it takes minutes."""
    few_enough = len(comparisons) <= MAX_COMPARISONS
    return few_enough and int(group_indices(with_positive_weight(comparisons)).max()) + 1 >= _MIN_UNITS


def comparisons_per_object(comparisons: Comparisons) -> float:
    """Return the number of comparisons for each object that they mention."""
    comparisons = with_positive_weight(comparisons)
    return float(comparisons.sample_weight.sum()) / len(np.unique(comparisons.rows))


def n_splits(n_comparisons: float) -> tuple[int, int]:
    """Return the number of folds, and how many of them are held out."""
    # With many comparisons the best penalty falls so fast with their number that most of them must be there to fit, and
    # a tenth suffices to judge.
    if n_comparisons <= 5000:
        return 4, 4
    return 10, 5 if n_comparisons <= 50_000 else 1


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found."""

    paths: list[Path]
    # (candidates, folds), the smoothed errors, candidates in the order of the paths; NaN where one had dropped out
    errors: FloatArray
    means: FloatArray  # (candidates,), over all comparisons that a candidate was judged by
    shares: FloatArray  # (candidates,), adding up to 1; 0 for those that dropped out or lie far behind
    interrupted: bool  # whether it ended before its last fold; without any fold there are no shares
    # of held-out margins of the average by shares; None without any fold
    calibration: Calibration | None = None

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates of all paths."""
        return [candidate for path in self.paths for candidate in path.candidates]

    @property
    def has_best(self) -> bool:
        """Whether any fold was completed, so that there is something to choose by."""
        return bool(self.shares.any())

    @property
    def best_index(self) -> int:
        """The place of the candidate that is chosen: the one of the largest share."""
        return int(np.argmax(self.shares))

    @property
    def best(self) -> Candidate:
        """The candidate that is chosen."""
        return self.candidates[self.best_index]

    def best_of_rank(self, rank: int) -> Candidate | None:
        """Return the best candidate of a rank; None if there is none, or no fold."""
        places = [place for place in self.order if self.candidates[place].rank == rank]
        return self.candidates[places[0]] if places and self.has_best else None

    @property
    def order(self) -> NDArray[np.intp]:
        """The places of the candidates, the best first: those that were judged by more folds before others."""
        return np.lexsort([self.means, np.isnan(self.errors).sum(axis=1)])

    def results(self) -> dict[str, Any]:
        """Return the search as scikit-learn's ``cv_results_``: one entry for each candidate."""
        candidates = self.candidates
        columns: dict[str, Any] = {
            "params": [candidate.params() for candidate in candidates],
            "path": np.array([path.name for path in self.paths for _ in path.candidates]),
        }
        for name in ("trace", "ridge", "diagonal", "specificity"):
            columns[f"param_{name}"] = np.array([getattr(each.penalty, name) for each in candidates])
        for name in ("nu", "power", "rank"):
            columns[f"param_{name}"] = np.array([getattr(each, name) for each in candidates], dtype=object)
        if any(each.shares for each in candidates):
            columns["param_feature_share"] = np.array([sum(each.shares) for each in candidates])
        for fold, errors in enumerate(self.errors.T):
            columns[f"split{fold}_test_score"] = -errors
        columns["mean_test_score"] = -self.means
        columns["std_test_score"] = np.nanstd(self.errors, axis=1)
        columns["rank_test_score"] = np.argsort(self.order).astype(np.int32) + 1
        columns["share"] = self.shares
        return columns


def cross_validate(
    comparisons: Comparisons,
    paths: list[Path],
    rng: np.random.Generator,
    *,
    closed: bool = False,
    features: FeatureBasis | None = None,
) -> SearchResult:
    """Judge the candidates of all paths, fold by fold; an interrupt ends it with the folds that are complete."""
    comparisons = with_positive_weight(comparisons)
    units = group_indices(comparisons)
    n_split, n_held_out = n_splits(comparisons.sample_weight.sum())
    folds = assign_folds(units, n_split, rng)
    race = _Race(comparisons, units, paths, closed, features)
    interrupted = False
    with limited_blas("gram", comparisons.n_objects), progress_bar("tune", n_held_out) as bar:
        try:
            for fold in range(n_held_out):
                most = max(MAX_SHARES, len(race.behind) * (n_split - fold - 1) // n_split)
                race.run(folds == fold, most)
                bar.update()
                if np.isfinite(race.behind).sum() == 1:
                    break
        except KeyboardInterrupt:
            interrupted = True
    return SearchResult(paths, race.errors(), race.means(), race.shares(), interrupted, race.calibration())


def search_with_shares(
    plain: list[Path],
    described: list[Path],
    n_sets: int,
    judge: Callable[[list[Path]], SearchResult],
    likely: Callable[[Candidate, Sequence[tuple[float, ...]]], tuple[float, ...]],
) -> SearchResult:
    """Judge paths by the shares of feature sets, too: these by one candidate of each path, the rest at the best shares.

    Several sets are compared first, each alone and all alike, and the share of all together is judged next. Candidates
    of other shares that could not be told from the best stay, and take part in the average. ``plain`` are the paths at
    a share of 0, and ``described`` those at others. Where features are no better than none, ``likely`` tells the share
    that the map of a candidate suggests.
    """

    def at_shares(shares: tuple[float, ...], *, whole: bool = False) -> list[Path]:
        # The best of many shares is flattered: features are taken if they are clearly better than none.
        trust = np.exp(-_MIN_AHEAD) if any(shares) else 1.0
        name = " + ".join(f"{share:g}" for share in shares)
        made = []
        for path in described if any(shares) else plain:
            candidates = [replace(each, shares=shares) for each in path.candidates]
            middle = (len(candidates) - 1) // 2
            kept = candidates if whole else candidates[middle : middle + 1]
            made.append(Path(f"{path.name}, features {name}", tuple(kept), trust * path.trust))
        return made

    mix: tuple[float, ...] = (1 / n_sets,) * n_sets
    if n_sets > 1:
        mixes = [mix, *(tuple(float(each == alone) for each in range(n_sets)) for alone in range(n_sets))]
        scaled = [tuple(DEFAULT_FEATURE_SHARE * each for each in weights) for weights in mixes]
        compared = judge([path for shares in scaled for path in at_shares(shares)])
        if compared.interrupted or not compared.has_best:
            return compared
        mix = tuple(share / DEFAULT_FEATURE_SHARE for share in compared.best.shares)
    options = [tuple(total * weight for weight in mix) for total in FEATURE_SHARES]
    found = judge([path for shares in options for path in at_shares(shares)])
    if found.interrupted or not found.has_best:
        return found
    best, dropped = found.best.shares, set()
    if not any(best):
        # With many answers features add nothing to predictions about objects that were asked about, but place others.
        best = likely(found.best, options)
        dropped = {best, options[0]}
    left = {found.candidates[place] for place in np.flatnonzero(found.shares)}
    others = [
        path for path in found.paths if path.candidates[0].shares not in (best, *dropped) and left & {*path.candidates}
    ]
    last = judge([*at_shares(best, whole=True), *others])
    return last if last.has_best else replace(found, interrupted=last.interrupted)


def likely_shares(
    candidate: Candidate,
    comparisons: Comparisons,
    features: FeatureBasis,
    options: Sequence[tuple[float, ...]],
    n_components: int,
) -> tuple[float, ...]:
    """Return the shares under which the map of a candidate without features is most likely."""
    comparisons = with_positive_weight(comparisons)
    seen = np.unique(comparisons.rows).astype(np.intp)
    (found,) = fit_path([candidate], comparisons, closed=False)
    predictor = found.predictor() if isinstance(found, PointPredictor) else found
    gram = predictor.gram - np.diag(predictor.specificities)
    points = embedding_from_gram(double_center(gram[np.ix_(seen, seen)]), n_components)
    points = points[:, points.any(axis=0)]
    covariances = [features.covariance(shares, FEATURE_POWER) for shares in options]
    return options[int(np.argmax([each.log_likelihood(points, seen) for each in covariances]))]


def average_predictors(
    found: SearchResult, comparisons: Comparisons, chosen: Predictor, features: FeatureBasis | None = None
) -> Predictor:
    """Return the matrices of all candidates with a share, fitted to all comparisons and averaged."""
    scale, best = chosen.size(comparisons), found.best_index
    total = chosen.scaled(found.shares[best])
    for places, members in _remaining(found.paths, found.shares > 0):
        if places == [best]:
            continue
        fitted = fit_path(members, with_positive_weight(comparisons), closed=False, features=features)
        for place, member in zip(places, fitted, strict=True):
            predictor = member.predictor() if isinstance(member, PointPredictor) else member
            size = predictor.size(comparisons)
            if place != best and size > 0:
                total = total.plus(predictor.scaled(found.shares[place] * scale / size))
    return total


def _remaining(paths: list[Path], kept: NDArray[np.bool_]) -> Iterator[tuple[list[int], list[Candidate]]]:
    """Return, for each path with any, the places of the candidates that are kept, and these."""
    first = 0
    for path in paths:
        inside = np.flatnonzero(kept[first : first + len(path.candidates)]).tolist()
        if inside:
            yield [first + place for place in inside], [path.candidates[place] for place in inside]
        first += len(path.candidates)


class _Race:
    """Candidates, and how they stand after the folds run so far."""

    def __init__(
        self,
        comparisons: Comparisons,
        units: NDArray[np.intp],
        paths: list[Path],
        closed: bool,
        features: FeatureBasis | None,
    ) -> None:
        self.comparisons, self.units, self.paths, self.closed = comparisons, units, paths, closed
        self.features = features
        count = sum(len(path.candidates) for path in paths)
        self.folds: list[NDArray[np.intp]] = []  # the rows of each
        # Margins of these rows, their mean size being 1; NaN for a candidate that has dropped out.
        self.margins = np.zeros((count, 0))
        self.objects = np.unique(comparisons.rows)
        self.spreads = np.zeros((count, 0))  # of each map, in the same unit, for each of these rows
        self.behind = np.zeros(count)  # the best, in standard errors of the difference; infinite for those that are out

    def run(self, held_out: NDArray[np.bool_], most: int) -> None:
        """Fit the candidates to all but the rows held out, judge them by these, and keep the best ones in the race."""
        train, judged = self.comparisons[~held_out], self.comparisons[held_out]
        margins = np.full((len(self.behind), len(judged)), np.nan)
        spreads = np.full((len(self.behind), len(judged)), np.nan)
        for places, racing in _remaining(self.paths, np.isfinite(self.behind)):
            for place, found in zip(places, fit_path(racing, train, self.closed, self.features), strict=True):
                each = found.margins(judged)
                size = np.average(np.abs(each), weights=judged.sample_weight)
                margins[place] = each / size if size > 0 else each
                spreads[place] = found.spread(self.objects) / size if size > 0 else 0.0
        self.margins = np.concatenate([self.margins, margins], axis=1)
        self.spreads = np.concatenate([self.spreads, spreads], axis=1)
        self.folds.append(np.flatnonzero(held_out))
        self._eliminate(most)

    def losses(self) -> FloatArray:
        """Return the loss of each row judged so far: 1 for a clear miss, 1/2 for a tie, 0 for a clear hit."""
        # Smoothed the more widely the larger the error is: near 1/2 counting separates nothing; where it is small, the
        # count is what matters.
        missed = np.where(self.margins == 0, 0.5, self.margins < 0)
        missed[np.isnan(self.margins)] = np.nan
        least = np.nanmin(np.average(missed, axis=1, weights=self._weights()))
        return ndtr(-self.margins / max(2 * least, 1e-3))

    def errors(self) -> FloatArray:
        """Return the error of each candidate in each fold, (candidates, folds); NaN where it was out."""
        if not self.folds:
            return np.zeros((len(self.behind), 0))
        parts = np.split(self.losses(), np.cumsum([len(rows) for rows in self.folds])[:-1], axis=1)
        weights = self.comparisons.sample_weight
        return np.column_stack(
            [np.average(part, axis=1, weights=weights[rows]) for part, rows in zip(parts, self.folds, strict=True)]
        )

    def means(self) -> FloatArray:
        """Return the error of each candidate over all rows that it was judged by, (candidates,)."""
        weights = np.array([self.comparisons.sample_weight[rows].sum() for rows in self.folds])
        errors = self.errors()
        judged = np.where(np.isnan(errors), 0.0, weights).sum(axis=1)
        return np.nansum(errors * weights, axis=1) / np.where(judged > 0, judged, np.nan)

    def shares(self) -> FloatArray:
        """Return the shares of the candidates, (candidates,)."""
        if not self.folds:
            return np.zeros(len(self.behind))
        trust = [path.trust for path in self.paths for _ in path.candidates]
        shares = np.exp(-self.behind) * trust
        shares[np.argsort(-shares, kind="stable")[MAX_SHARES:]] = 0
        return shares / shares.sum()

    def calibration(self) -> Calibration | None:
        """Return the calibration of the margins judged so far."""
        if not self.folds:
            return None
        sharing = self.shares() > 0
        shares = self.shares()[sharing]
        spread = shares @ self.spreads[sharing]
        margins = shares @ self.margins[sharing] / np.where(spread > 0, spread, 1.0)
        return Calibration.from_margins(margins, self._weights())

    def _weights(self) -> FloatArray:
        return self.comparisons.sample_weight[np.concatenate(self.folds)]

    def _eliminate(self, most: int) -> None:
        """Measure how far each candidate lies behind the best; drop those beyond 2 standard errors, or ``most``."""
        weights = self._weights()
        running = np.isfinite(self.behind)
        losses = self.losses()[running]
        means = np.average(losses, axis=1, weights=weights)
        best = int(np.argmin(means))
        # Rows of one unit are no independent witnesses: their deviations are added before they are squared.
        _, unit = np.unique(self.units[np.concatenate(self.folds)], return_inverse=True)
        deviations = weights * (losses - losses[best] - (means - means[best])[:, None])
        summed = np.stack([np.bincount(unit, each) for each in deviations])
        standard_errors = np.sqrt(np.sum(summed**2, axis=1)) / weights.sum()
        behind = (means - means[best]) / np.maximum(standard_errors, 1e-12)
        behind[(behind > _MAX_BEHIND) | (np.argsort(np.argsort(means, kind="stable")) >= most)] = np.inf
        self.behind[running] = behind
