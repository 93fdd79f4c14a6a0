"""DMOE: distributional margin based ordinal embedding (Ma, Xu, Yang and Cao, AAAI 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote_all
from nearer._common.parameters import check_number
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features, as_feature_sets
from nearer.data.groups import seen_objects, with_positive_weight
from nearer.data.labels import Labels
from nearer.data.streamed import Judgments, StreamedComparisons
from nearer.embedding.distillation import distill_gram
from nearer.embedding.dmoe_search import (
    DEFAULT_FEATURE_SHARE,
    FEATURE_POWER,
    Candidate,
    FixedSettings,
    Path,
    Rank,
    SearchResult,
    average_predictors,
    can_tune,
    candidate_paths,
    comparisons_per_object,
    cross_validate,
    likely_shares,
    search_with_shares,
)
from nearer.embedding.fitting import (
    Fitted,
    GramEmbedding,
    Recipe,
    check_solver,
    fit,
    place_described_points,
    refine_map,
    refit_map,
)
from nearer.embedding.predictor import Predictor, check_calibration, mean_squared_distance_of_points
from nearer.embedding.with_features import EmbeddingWithFeatures
from nearer.geometry import embedding_from_gram
from nearer.model import TwoSidedHinge
from nearer.optimize.problems.points import Penalty
from nearer.optimize.solvers import ADMM, ClosedForm, Factored, Paper, Projected
from nearer.optimize.solvers.descent import DescentSettings
from nearer.optimize.solvers.device_lbfgs import for_device
from nearer.optimize.solvers.driver import AnySolver, Callback, limited_blas
from nearer.sampling.features import FeatureKernel, FeatureShare, extend_basis, feature_basis

Kind: TypeAlias = Literal["auto", "admm", "closed", "factored", "other"]  # of settings that a solver leaves open
_SOLVERS: dict[str, AnySolver] = {"admm": ADMM(), "paper": Paper(), "closed": ClosedForm(), "factored": Factored()}
_FIXED_PENALTIES = {"paper": Penalty(ridge=0.0), "closed": Penalty(trace=0.0), "factored": Penalty(0.01, ridge=0.0)}
# Beyond these the convex problem takes half a minute, and the map over points less than a second.
_MAX_OBJECTS_CONVEX, _MAX_COMPARISONS_CONVEX = 500, 50_000
# The path is the one that candidates are judged along. The last digits are worth 1% of the error on clean answers.
# It is longer than that of other methods, and such maps are hardly ever folded: one start will do.
_OF_RANK = Factored(tol=1e-5, path=(0.6, 0.35, 0.2, 0.1, 0.03), n_init=1)
_SEARCHED_PARAMETERS = {"n_components", "penalty", "nu", "power", "rank", "solver", "features", "feature_share"}
_MAX_FEW_PER_OBJECT = 15
_WITH_FEATURES = (ADMM, Paper, ClosedForm, Projected, Factored)


@dataclass(eq=False, repr=False, kw_only=True)
class DMOE(EmbeddingWithFeatures, GramEmbedding):
    r"""Distributional margin based ordinal embedding, which chooses its settings from the comparisons.

    Learns a Gram matrix whose margins have a high mean and a small spread, by the convex problem

    .. math:: \min_{G \succeq 0} \sum_q c_q \ell(\gamma_q) + \lambda \, \mathrm{tr}\, G
              + \frac{\kappa}{2} \lVert G \rVert_F^2, \qquad
              \ell(\gamma) = \max(1 - \gamma, 0)^a + \nu \max(\gamma - 1, 0)^a

    where :math:`c_q` are the weights of the comparisons divided by their sum, or the same problem over matrices of a
    small rank. With features of the objects, which give them a covariance :math:`K`, the penalties are
    :math:`\lambda \,\mathrm{tr}\, G K^{-1} + \frac{\kappa}{2} \lVert K^{-1/2} G K^{-1/2} \rVert_F^2`.

    What is left open, penalty, nu, power and rank, is chosen by cross-validation within the comparisons, at the price
    of about ten fits; settings that it cannot separate share in the result. There is no search if a penalty with all
    its values is passed, for fewer than 10 trials or questions, for more than two million comparisons, for a
    `ComparisonsFile`, and for Algorithm 1 of the paper and solvers beyond those named below.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of `embedding_`. It does not limit `gram_`, which predicts where there is one.
    penalty : Penalty, optional
        Weights of the trace, the ridge and more, in units that carry over; see `nearer.Penalty`. What is None in it, or
        all if it is left out, is chosen. Without a search: ``Penalty()``, without ridge for ``solver="paper"``,
        without trace for ``solver="closed"``, and ``Penalty(0.01, ridge=0)`` for ``solver="factored"``.
    nu : float >= 0, optional
        The price of margins above the target, relative to those below it. Without a search: 1 up to 15 comparisons for
        each object, and for "closed" and "paper"; 0 beyond.
    power : float >= 1, optional
        The exponent a; 1 or 2 for the convex solvers. Without a search 2.
    rank : int or "full", optional
        Of the Gram matrix that predicts. "full" is the convex problem; a number fits better to many comparisons, or to
        noisy ones. Left out: chosen among "full", 2, n_components and 10; without a search "full".
    solver : {"auto", "admm", "paper", "closed", "factored"} or solver object, default "auto"
        The two-block ADMM with its certificate; Algorithm 1 of the paper; the closed form for nu = 1, power 2 and
        ridge alone, without the cone; L-BFGS over points of dimension p, without a Gram matrix. "auto" takes, up to
        500 objects and 50,000 comparisons, ADMM for a full matrix and L-BFGS for one of small rank, and "factored"
        beyond; `solver_` is the one taken. `ADMM(tol=1e-8)` and the like, from `nearer.optimize.solvers`, set more.
    n_objects, random_state
        As for every estimator; random_state is for random starts, folds, and the questions that the map learns from
        `gram_`. A fit with the defaults needs none to repeat.
    device : str, optional
        Experimental: "cuda", "cuda:1" and so on, "mps" or "cpu" for ``solver="factored"`` by PyTorch; "auto" takes a
        GPU where there is one. The settings are chosen on the processor in any case.
    features : data frame, dict, array, Features, or a list or dict of several, optional
        What is known of the objects beforehand, as for `PosteriorEmbedding`: a row of numbers for each, by label, or in
        the order of the objects. Objects with a row but no answer are on the map, too; those without a row are placed
        by answers alone. Not for comparisons in files, for a device, and for solvers beyond those named above.
    feature_share : float in [0, 1), or one for each feature set, optional
        The share rho of the features in the covariance :math:`K = (1 - \rho) I + \rho K_f`; a single number is divided
        evenly among sets. Left out: chosen by cross-validation; without a search 0.5.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. After a search by ADMM or "auto", unless a number was passed as rank, the map is the one
        that answers most like `gram_`; otherwise its leading part, refined to a minimum of the problem over points.
    gram_ : ndarray, shape (n_objects_, n_objects_)
        The Gram matrix, which predicts: after a search the average of all settings that have a share in it. Not with
        ``solver="factored"``, where the map predicts.
    penalty_, nu_, power_, rank_ : Penalty, float, float, int or "full"
        The settings of the largest share, or those that were passed; all about the solver is theirs.
    cv_results_ : dict of arrays
        The search as scikit-learn reports it, one entry for each setting tried: ``mean_test_score`` is minus the
        smoothed error, ``share`` that in `gram_`. `nearer.plotting.plot_path` draws it. Only after a search.
    best_index_ : int
        The place in `cv_results_` of the settings of the largest share.
    feature_share_ : dict of str to FeatureShare, or None
        For each feature set its share in the covariance of the objects, as cross-validation chose it among 0, 0.5, 0.8
        and 0.95 for all sets together, or, where features are no better than none, as the map without them suggests. It
        has no interval, and neighboring values often predict alike. None without features.
    dual_gap_ : float
        Upper bound on how far the objective is from its minimum; NaN without a certificate, as for a small rank.
    specificities_ : ndarray, shape (n_objects_,)
        What each object adds to its squared distances in `gram_`, from the diagonal weight and the specificities of the
        penalty.
    ridge_ : float
        kappa, the weight of the ridge.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> model = DMOE(n_components=2).fit(sample_triplets(points, 800, random_state=0))
    >>> model.embedding_.shape, model.rank_
    ((20, 2), 2)
    >>> model.score(sample_triplets(points)) > 0.9
    True
    """

    penalty: Penalty | None = None
    nu: float | None = None
    power: float | None = None
    rank: Rank | None = None
    solver: str | AnySolver = "auto"
    device: str | None = None
    features: Any = None
    feature_share: float | Sequence[float] | None = None
    _reused_search: SearchResult = field(init=False)  # of `_with_chosen_settings`

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.penalty is not None and not isinstance(self.penalty, Penalty):
            raise ValueError(f"penalty must be a nearer.Penalty, such as Penalty(trace=0.2), got {self.penalty!r}")
        whole = isinstance(self.rank, int | np.integer) and not isinstance(self.rank, bool) and self.rank >= 1
        if self.rank is not None and self.rank != "full" and not whole:
            raise ValueError(f"rank must be an integer >= 1, 'full' or None, got {self.rank!r}")
        if whole and self.solver != "auto":
            raise ValueError(f"rank={self.rank} needs solver='auto', got {self.solver!r}; for maps, set n_components")
        self._fixed_shares(max(len(as_feature_sets(self.features)), 1))

    def _fixed_shares(self, n_sets: int) -> tuple[float, ...] | None:
        """Return the share of each feature set that was asked for; None if they are to be chosen."""
        if self.feature_share is None:
            return None
        if isinstance(self.feature_share, list | tuple | np.ndarray):
            shares = [check_number("feature_share", share, least=0) for share in self.feature_share]
        else:
            shares = [check_number("feature_share", self.feature_share, least=0) / n_sets] * n_sets
        if len(shares) != n_sets or sum(shares) >= 1:
            raise ValueError(
                "feature_share must be a number below 1, or one for each of "
                f"{pluralize(n_sets, 'feature set')} that add up to less, got {self.feature_share!r}"
            )
        return tuple(shares)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        self._kernels: tuple[FeatureKernel, ...] = ()
        if self.features is not None:
            comparisons, self._kernels = self._match_features(self._require_in_memory(comparisons))
        self._features = feature_basis(self._kernels, comparisons.objects)
        kind = self._kind(comparisons.n_objects, len(comparisons))
        self._check_device(kind)
        with self._warning_of_early_interrupt():
            found = self._search = self._cross_validate(comparisons, kind)
            self._choice = found.best if found and found.has_best else self._default_settings(comparisons, kind)
            recipe = self._recipe(kind, isinstance(comparisons, Comparisons))
            if start is not None and len(start) < comparisons.n_objects:  # which features have added
                start = None
            with limited_blas(recipe.solver.space, comparisons.n_objects):
                fitted = fit(comparisons, recipe, stream(self.random_state, "start"), start, callback)
                if isinstance(comparisons, Comparisons):
                    fitted = self._refit_map(fitted, comparisons, kind)
                    fitted = self._average_predictors(fitted, comparisons, kind)
        if self._search is not None and self._search.interrupted:
            fitted = fitted.interrupted()
        self._store_fit(fitted, comparisons, recipe.solver, start)
        self._report(fitted)
        if self._kernels and self.feature_share is None and not any(self._choice.shares):
            self._warn(
                f"{quote_all(list(self.feature_share_ or {}))}: cross-validation predicts best without these features; "
                "they are unrelated to the answers, or their rows belong to other objects"
            )

    def _cross_validate(self, comparisons: Judgments, kind: Kind) -> SearchResult | None:
        """Return the cross-validation of the settings that are open; None where there is nothing to choose."""
        if hasattr(self, "_reused_search"):
            return self._reused_search
        given = self._fixed_settings()
        if given.rank is not None and kind == "factored":
            raise ValueError(
                f"rank={given.rank!r} is that of a Gram matrix, which there is for up to {_MAX_OBJECTS_CONVEX} objects "
                f"and {_MAX_COMPARISONS_CONVEX} comparisons; leave it out, and set n_components"
            )
        choose_shares = bool(self._kernels) and given.shares is None
        if not (given.penalty.is_open or choose_shares) or kind == "other":
            return None
        if not isinstance(comparisons, Comparisons) or not can_tune(comparisons):
            return None

        def paths(*, described: bool) -> list[Path]:
            if given.penalty.is_open:
                per_object = comparisons_per_object(comparisons)
                return candidate_paths(given, self.n_components, kind, per_object, described=described)
            return [Path("as passed", (self._default_settings(comparisons, kind),))]

        def judge(paths: list[Path]) -> SearchResult:
            rng = self._repeatable_rng("folds")
            return cross_validate(comparisons, paths, rng, closed=kind == "closed", features=self._features)

        def likely(candidate: Candidate, options: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
            assert self._features is not None
            return likely_shares(candidate, comparisons, self._features, options, self.n_components)

        plain, described = paths(described=False), paths(described=True)
        if choose_shares:
            return search_with_shares(plain, described, len(self._kernels), judge, likely) if described else None
        tried = described if any(given.shares or ()) else plain
        return judge(tried) if tried else None

    def _fixed_settings(self) -> FixedSettings:
        rank = self.rank if self.rank is None or self.rank == "full" else int(self.rank)
        shares = self._fixed_shares(len(self._kernels)) if self._kernels else ()
        return FixedSettings(self.penalty or Penalty.open(), self.nu, self.power, rank, shares)

    def _kind(self, n_objects: int, n_comparisons: int) -> Kind:
        """Return which settings the solver leaves to choose from."""
        check_solver(self.solver, {"auto": None, **_SOLVERS})
        if self.solver == "auto":
            small = n_objects <= _MAX_OBJECTS_CONVEX and n_comparisons <= _MAX_COMPARISONS_CONVEX
            return "auto" if small and (self.power in (None, 1, 2) or self.rank is not None) else "factored"
        if self.solver == "admm" or isinstance(self.solver, ADMM):
            return "admm"
        if self.solver == "closed" or isinstance(self.solver, ClosedForm):
            return "closed"
        return "factored" if self.solver == "factored" or isinstance(self.solver, DescentSettings) else "other"

    def _default_settings(self, comparisons: Judgments, kind: Kind) -> Candidate:
        """Return the settings without a search."""
        given = self._fixed_settings()
        paper = self.solver == "paper" or isinstance(self.solver, Paper)
        over_points = isinstance(given.rank, int) or kind == "factored"
        usual = _FIXED_PENALTIES.get("paper" if paper else "factored" if over_points else kind, Penalty())
        # There is no other nu in the closed form and in Algorithm 1.
        n = comparisons.n_objects if isinstance(comparisons, StreamedComparisons) else seen_objects(comparisons).sum()
        few = paper or kind == "closed" or len(comparisons) <= _MAX_FEW_PER_OBJECT * n
        rank = given.rank or (self.n_components if kind == "factored" else "full")
        shares = tuple(DEFAULT_FEATURE_SHARE / len(self._kernels) for _ in self._kernels)
        return given.fill(Candidate(usual, float(few), 2, rank, shares))

    def _loss(self) -> TwoSidedHinge:
        return self._choice.loss

    def _recipe(self, kind: Kind, in_memory: bool) -> Recipe:
        device = self.device if kind == "factored" else None
        choice, solver = self._choice, for_device(self._solver(kind), device, in_memory=in_memory)
        specificity = choice.penalty.specificity
        if specificity is not None and specificity < np.inf and not isinstance(solver, ADMM):
            raise ValueError(f"specificity={specificity} needs solver='admm', got {self.solver!r}")
        if self._kernels and not isinstance(solver, _WITH_FEATURES):
            raise ValueError(
                f"{type(solver).__name__} cannot take features into account; use solver='auto', or one of "
                f"{', '.join(each.__name__ for each in _WITH_FEATURES)} without a device"
            )
        over_points = solver.space == "points" and choice.rank != "full"
        rank = int(choice.rank) if over_points else self.n_components
        return Recipe(choice.loss, choice.penalty, solver, rank, choice.covariance(self._features))

    def _solver(self, kind: Kind) -> AnySolver:
        if not isinstance(self.solver, str):
            return self.solver
        if self.solver == "auto" and self._choice.rank != "full":
            return _OF_RANK if kind == "auto" else _SOLVERS["factored"]
        return _SOLVERS["admm" if self.solver == "auto" else self.solver]

    def _check_device(self, kind: Kind) -> None:
        """Reject a device that has nothing to do, before a search that may take minutes."""
        if self.device not in (None, "auto") and kind != "factored":
            raise ValueError(
                f"device={self.device!r} is for solver='factored'; solver={self.solver!r} solves the convex problem "
                "here, or another that runs on the CPU: leave device out"
            )
        for_device(_SOLVERS["factored"], self.device)

    def _refit_map(self, fitted: Fitted, comparisons: Comparisons, kind: Kind) -> Fitted:
        """Refit the map in p dimensions with the best settings of rank p; predictions use the Gram matrix."""
        choice, p = self._choice, self.n_components
        best = None if self._search is None else self._search.best_of_rank(p)
        if fitted.predictor is not None and best is None:
            fitted = refine_map(fitted, comparisons, self._loss(), choice.covariance(self._features))
        if kind not in ("auto", "admm"):
            return fitted
        if choice.rank != "full":
            fitted = replace(fitted, predictor=Predictor.from_solution(fitted.embedding @ fitted.embedding.T))
        if choice.rank == p or (choice.rank == "full" and best is None):
            return fitted
        best = best or choice
        covariance = best.covariance(self._features)
        return refit_map(fitted, comparisons, Recipe(best.loss, best.penalty, _OF_RANK, p, covariance))

    def _average_predictors(self, fitted: Fitted, comparisons: Comparisons, kind: Kind) -> Fitted:
        """Average the Gram matrices by share, then distil the map from the average."""
        found, predictor = self._search, fitted.predictor
        if found is None or found.calibration is None or found.interrupted or not fitted.solution.outcome.ok:
            return fitted
        if predictor is None or kind not in ("auto", "admm") or self.rank not in (None, "full"):
            return fitted
        rng, weighted = self._repeatable_rng("questions"), with_positive_weight(comparisons)
        try:
            predictor = average_predictors(found, comparisons, predictor, self._features)
            fitted = replace(fitted, predictor=predictor)
            points, interrupted = distill_gram(weighted, predictor, found.calibration, fitted.embedding, rng)
        except KeyboardInterrupt:
            return fitted.interrupted()
        covariance = self._choice.covariance(self._features)
        if covariance is not None:  # the questions are about objects that are compared
            seen = np.flatnonzero(seen_objects(weighted))
            others = np.setdiff1d(self._places_known(comparisons), seen)
            points[others] = covariance.expected(points[seen], others, seen)
        fitted = replace(fitted, embedding=points)
        return fitted.interrupted() if interrupted else fitted

    def _check_state(self) -> None:
        super()._check_state()
        check_calibration(self._calibration)
        if self._features is not None and len(self._features.directions) != self.n_objects_:
            raise ValueError(f"its features are not about {self.n_objects_} objects")

    @property
    def feature_share_(self) -> dict[str, FeatureShare] | None:
        """The share of each feature set in the covariance of the objects; None without features."""
        shares = zip(self._kernels, self._shares, strict=True)
        return {kernel.name: FeatureShare(share) for kernel, share in shares} if self._kernels else None

    @property
    def _uses_features(self) -> bool:
        return self._features is not None

    def _places_known(self, comparisons: Comparisons) -> NDArray[np.intp]:
        """Return the objects with a place: those that are compared, or have features."""
        known = seen_objects(with_positive_weight(comparisons))
        if self._features is not None:
            known |= self._features.described.any(axis=1)
        return np.flatnonzero(known)

    def _add_objects(self, added: Comparisons) -> None:
        if self._features is None:
            super()._add_objects(added)
        else:
            self._extend_map(added.objects, added, ())

    def _extend_map(self, objects: Labels, added: Comparisons | None, features: Sequence[Features]) -> None:
        """Place new objects where features expect them, or where answers and the deviation from there are best."""
        assert self._features is not None
        before, known = self.n_objects_, self._places_known(self._require_in_memory(self.comparisons_))
        new = np.arange(before, len(objects))
        basis = extend_basis(self._features, self._kernels, objects[before:], features)
        covariance = basis.covariance(self._choice.shares, FEATURE_POWER)
        spread: FloatArray = np.asarray(np.linalg.cholesky(covariance.conditional(new, known)), np.float64)

        def extended(points: FloatArray, expected: FloatArray) -> FloatArray:
            if added is None:
                return np.vstack([points, expected])
            trace = self.trace_ * self._total_weight
            return self._accepted(place_described_points(points, added, self._loss(), trace, expected, spread))

        self.embedding_ = extended(self.embedding_, covariance.expected(self.embedding_[known], new, known))
        if hasattr(self, "gram_"):
            # In the space of the matrix without specificities, where the prior mean is at the origin.
            gram = self.gram_ - np.diag(self.specificities_)
            lift = max(0.0, -float(np.linalg.eigvalsh(gram)[0]))
            points = embedding_from_gram(gram + lift * np.eye(before), before)
            points = extended(points, covariance.regression(new, known) @ points[known])
            own = np.full(len(new), self.specificities_[known].mean())
            larger = points @ points.T + np.diag(np.concatenate([np.zeros(before), own])) - lift * np.eye(len(points))
            larger[:before, :before] = self.gram_
            self.gram_, self.specificities_ = larger, np.concatenate([self.specificities_, own])
        self._features = basis

    def _with_chosen_settings(self) -> DMOE:
        """Return an unfitted DMOE with the settings, their shares and the calibration of this fit."""
        check_is_fitted(self)
        same: DMOE = self._copy_with()
        if self._search is not None and self._search.has_best and not self._search.interrupted:
            same._reused_search = self._search
            return same
        # Without a Gram matrix there is no rank to ask for.
        rank = self.rank_ if self.solver == "auto" and hasattr(self, "gram_") else self.rank
        shares = self._choice.shares or None
        return same.set_params(penalty=self.penalty_, nu=self.nu_, power=self.power_, rank=rank, feature_share=shares)

    def __sklearn_clone__(self) -> Self:
        copy = super().__sklearn_clone__()
        if hasattr(self, "_reused_search"):
            copy._reused_search = self._reused_search
        return copy

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the search are searched again, also after `_with_chosen_settings`."""
        if params.keys() & _SEARCHED_PARAMETERS:
            self.__dict__.pop("_reused_search", None)
        return super().set_params(**params)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        After a search they are calibrated on the comparisons that it held out; else they are those of the loss.
        """
        margins = self.decision_function(X)
        if self._calibration is None:
            return super().predict_proba(X)
        holds = self._calibration.probability(margins / self._spread if self._spread > 0 else margins)
        return np.column_stack([1 - holds, holds])

    def _store_fit(
        self, fitted: Fitted, comparisons: Judgments, solver: AnySolver, onto: FloatArray | None = None
    ) -> None:
        super()._store_fit(fitted, comparisons, solver, onto)
        for name in ("gram_", "specificities_", "cv_results_", "best_index_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.dual_gap_, self.ridge_ = fitted.solution.dual_gap, fitted.ridge
        choice = self._choice
        self.penalty_, self.nu_, self.power_, self.rank_ = choice.penalty, choice.nu, choice.power, choice.rank
        self._shares = choice.shares
        if self._search is not None and self._search.has_best:
            self.cv_results_, self.best_index_ = self._search.results(), self._search.best_index
        if fitted.predictor is not None:
            self.gram_, self.specificities_ = fitted.predictor
        self._calibration = None if self._search is None else self._search.calibration
        if self._calibration is not None and isinstance(comparisons, Comparisons):
            seen = np.unique(with_positive_weight(comparisons).rows)
            if fitted.predictor is not None:
                self._spread = fitted.predictor.spread(seen)
            else:
                self._spread = mean_squared_distance_of_points(self.embedding_[seen])
