"""BestOf: several methods, of which held-out answers choose one.

No method is the best for all judgments: with few answers of many objects a convex one is, with many noisy answers a
likelihood, with tight clusters one of heavy tails.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState
from nearer.data.comparisons import Comparisons
from nearer.data.groups import assign_folds, group_indices, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.base import MapDraws, OrdinalEmbedding
from nearer.embedding.classical import CKL, STE, TSTE
from nearer.embedding.dmoe import DMOE
from nearer.embedding.graphs import SOE
from nearer.embedding.posterior_embedding import MAX_COMPONENTS, PosteriorEmbedding
from nearer.embedding.predictor import Calibration, check_calibration
from nearer.geometry import align
from nearer.optimize.problems.margins import error_of_points
from nearer.optimize.solvers.driver import Callback

# A search of DMOE, or a posterior, in each fold is seconds below this, and minutes above.
_MAX_OBJECTS_EXPENSIVE, _MAX_COMPARISONS_EXPENSIVE = 150, 20_000
# With more, the kernel of TSTE has tails too light for tight clusters: it has p - 1 degrees of freedom.
_MAX_FEW_COMPONENTS = 5
_MAX_LOG_ODDS = 30.0  # log-odds of what is given a probability of 1
_DELEGATED_ATTRIBUTES = (
    "embedding_", "comparisons_", "objects_", "n_objects_", "classes_", "n_iter_", "converged_", "history_", "trace_",
    "solver_", "restarts_",
)  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class BestOf(OrdinalEmbedding):
    """The method whose maps predict held-out answers best.

    Each method is fitted to all answers but those of a fold, for each of five folds that keep trials (or repeated
    questions) whole, and judged by the error of its p-dimensional map on that fold. The best is then fitted to all.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of the map.
    methods : sequence of estimators, optional
        Their dimension, number of objects and random state are set here. Left out: CKL, STE, TSTE and SOE with a weak
        and a strong penalty each; up to 150 objects and 20,000 comparisons DMOE and PosteriorEmbedding; and above five
        dimensions TSTE with heavier tails, for tight clusters.
    n_splits : int, default 5
    n_objects, random_state
        As for every estimator; random_state is for the folds and the methods.

    Attributes
    ----------
    embedding_, objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator; those of `best_`.
    best_ : estimator
        The chosen one, fitted to all answers. It predicts.
    best_index_ : int
    cv_results_ : dict
        ``method`` (its settings, as text), ``mean_test_error`` and ``std_test_error`` over the folds; None if there
        were too few answers to hold any out, and the first method was taken.

    See Also
    --------
    DMOE, PosteriorEmbedding : which need no choice among methods.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> model = BestOf(2, methods=[TSTE(), CKL()], random_state=0)
    >>> model.fit(sample_triplets(points, 800, flipped=0.1, random_state=0)).score(sample_triplets(points)) > 0.85
    True
    >>> len(model.cv_results_["mean_test_error"])
    2
    """

    methods: Sequence[OrdinalEmbedding] | None = None
    n_splits: int = 5

    def _check_settings(self) -> None:
        super()._check_settings()
        check_integer("n_splits", self.n_splits, 2)
        listed = isinstance(self.methods, list | tuple) and len(self.methods) > 0
        if self.methods is not None and not (listed and all(isinstance(m, OrdinalEmbedding) for m in self.methods)):
            raise ValueError(
                f"methods must be estimators of nearer.embedding, such as [CKL(), TSTE()]; got {self.methods!r}"
            )

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        methods = self._candidates(comparisons)
        best, results, calibration = 0, None, None
        judged = with_positive_weight(comparisons)
        held_out = self._held_out(methods, judged)
        if held_out is not None:
            errors, odds = held_out
            results = {
                "method": [str(method._copy_with(random_state=None)) for method in methods],
                "mean_test_error": errors.mean(axis=1),
                "std_test_error": errors.std(axis=1),
            }
            best = int(np.argmin(errors.mean(axis=1)))  # the first of equals, which is the simpler one
            calibration = Calibration.from_margins(odds[best], judged.sample_weight, log_odds=True)
        chosen = methods[best]
        try:
            chosen.fit(comparisons, callback=callback)
        finally:  # also after Ctrl-C, which leaves the best map so far; without any, what there was before
            if hasattr(chosen, "embedding_"):
                if start is not None and start.shape == chosen.embedding_.shape:
                    chosen.embedding_ = align(chosen.embedding_, start, scaling=False, moving=False)
                self.best_, self.best_index_, self.cv_results_, self._calibration = chosen, best, results, calibration
                self._copy_fit()

    def _candidates(self, comparisons: Comparisons) -> list[OrdinalEmbedding]:
        methods = self.methods
        if methods is None:
            methods = [CKL(), TSTE(), SOE(), STE(), CKL(trace=0.03), TSTE(trace=0.03), SOE(trace=0.01), STE(trace=0.03)]
            if comparisons.n_objects <= _MAX_OBJECTS_EXPENSIVE and len(comparisons) <= _MAX_COMPARISONS_EXPENSIVE:
                free = max(MAX_COMPONENTS, self.n_components)
                methods += [DMOE(), PosteriorEmbedding(max_components=free)]
            if self.n_components > _MAX_FEW_COMPONENTS:
                methods.append(TSTE(alpha=3.0, trace=0.001))
        rng = self._repeatable_rng("start")
        common = {"n_components": self.n_components, "n_objects": self.n_objects}
        return [method._copy_with(**common, random_state=int(rng.integers(2**31))) for method in methods]

    def _held_out(
        self, methods: list[OrdinalEmbedding], comparisons: Comparisons
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return errors on each fold, (methods, folds), and log-odds of the answers, (methods, m); None without two."""
        units = group_indices(comparisons)
        n_splits = min(self.n_splits, int(units.max()) + 1)
        if len(methods) < 2 or n_splits < 2:
            return None
        folds = assign_folds(units, n_splits, self._repeatable_rng("folds"))
        errors, odds = np.empty((len(methods), n_splits)), np.empty((len(methods), len(comparisons)))
        with progress_bar("methods", errors.size, unit="fit") as bar:
            for fold in range(n_splits):
                train, test = comparisons[folds != fold], comparisons[folds == fold]
                for row, method in enumerate(methods):
                    with warnings.catch_warnings():
                        # A fold may be too small for a method, which its error then shows.
                        warnings.simplefilter("ignore", ConvergenceWarning)
                        fitted = method._for_cross_validation().fit(train)
                    errors[row, fold] = error_of_points(fitted.embedding_, test)
                    odds[row, folds == fold] = _log_odds(fitted, test)
                    bar.update()
        return errors, odds if comparisons.answers is None else odds * comparisons.answers

    def _check_state(self) -> None:
        super()._check_state()
        check_calibration(self._calibration)
        if not isinstance(self.best_, OrdinalEmbedding) or self.best_.n_objects_ != self.n_objects_:
            raise ValueError(f"the method that was chosen is not about {self.n_objects_} objects")
        self.best_._check_state()

    @property
    def _chosen(self) -> OrdinalEmbedding:
        check_is_fitted(self)
        return self.best_._chosen

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        return self._chosen._with_chosen_settings()

    def _fast_surrogate(self) -> OrdinalEmbedding:
        return self._chosen._fast_surrogate()

    def _map_draws(self, n_draws: int, random_state: RandomState = None) -> MapDraws | None:
        return self._chosen._map_draws(n_draws, random_state)

    def _rotate(self, axes: FloatArray) -> None:
        self.best_ = self.best_.rotated(axes)
        self._copy_fit()

    def _copy_fit(self) -> None:
        for name in _DELEGATED_ATTRIBUTES:
            self.__dict__.pop(name, None)
            if hasattr(self.best_, name):
                setattr(self, name, getattr(self.best_, name))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        Those of the chosen method, calibrated on the answers that were held out to choose it, if there were any.
        """
        asked = self._comparisons(X)  # or an estimator that is not fitted would name its missing best_
        if self._calibration is None:
            return self.best_.predict_proba(X)
        holds = self._calibration.probability(_log_odds(self.best_, asked))
        return np.column_stack([1 - holds, holds])

    def decision_function(self, X: Any) -> FloatArray:
        """Return that of the chosen method, shape (m,)."""
        check_is_fitted(self)
        return self.best_.decision_function(X)

    def _add_objects(self, added: Comparisons) -> None:
        self.best_.place(added)
        self._copy_fit()


def _log_odds(method: OrdinalEmbedding, comparisons: Comparisons) -> FloatArray:
    """Return the log-odds that a method gives to comparisons as they are written."""
    return logit(method.predict_proba(comparisons)[:, 1]).clip(-_MAX_LOG_ODDS, _MAX_LOG_ODDS)
