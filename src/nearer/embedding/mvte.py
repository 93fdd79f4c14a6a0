"""MVTE: several maps at once, for answers that were given from several points of view.

Of fruit, one person asks which taste alike and the next which look alike, and the same person may go from the one to
the other. No single map holds such answers. `MVTE` fits several, and finds out which answer belongs to which.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent
from nearer._common.parameters import check_counts
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.mvte_search import (
    FoundViews,
    ViewCount,
    Views,
    ViewSearch,
    choose_number,
    place_views,
    select_likeliest,
)
from nearer.geometry import align
from nearer.model import StudentT
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import clear_ties, pair_distances
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.views import Mixture, PackedAnswers, assign_views
from nearer.optimize.solvers import Factored
from nearer.optimize.solvers.driver import Callback, limited_blas

_POINT_SIZE = 1e-3  # of the unit of the map


@dataclass(eq=False, repr=False, kw_only=True)
class MVTE(OrdinalEmbedding):
    """Multi-view triplet embedding (after Amid and Ukkonen 2015): a mixture of t-STE maps.

    Maximizes the likelihood P(near) = sum_v weights_v P_v(near), where P_v is that of t-STE in the map of view v, but
    for a share of answers that are guesses. The rows of a trial, where trials are known, are judged from one view;
    otherwise each comparison may have its own.

    Parameters
    ----------
    n_components : int, default 2
        Dimension p of each map.
    n_views : int, optional
        The number of maps. Left out, it is the smallest that no larger one beats on held-out answers: views are added
        as long as each raises their log-likelihood, in five folds, by more than its standard error and 0.01 bits an
        answer.
    alpha : float > 0, optional
        Degrees of freedom of t-STE. Left out, they are those of 1, 3, 7, 15 and 31 that predict held-out answers best
        if the number of views is open, too, and those that make the answers most likely if it is given.
    trace : float >= 0, default 0.001
        Penalty on the trace of the Gram matrix, as a share of the value at which a single map is a point.
    n_init : int, default 10
        The number of random starts, of which the best is kept; a single view needs none.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For starts and folds; None is 0.

    Attributes
    ----------
    views_ : ndarray, shape (n_views_, n_objects_, n_components)
        The maps, that of the largest weight first, each centered and with axes in order of falling variance.
    weights_ : ndarray, shape (n_views_,)
        The share of the answers that is given from each view.
    responsibilities_ : ndarray, shape (m, n_views_)
        How likely each view is the one that a row of `comparisons_` was judged from; worked out when asked for.
    embedding_ : ndarray, shape (n_objects_, n_components)
        The first of the views, which `transform` returns. Predictions are those of all.
    lapse_ : float
        The share of answers that are guesses.
    n_views_ : int
    alpha_ : float
    cv_results_ : dict or None
        ``n_views``, the best ``alpha`` for each, ``mean_test_log_likelihood`` of a comparison, and ``gain`` and
        ``gain_standard_error`` of one more view; None if the number was given or there were too few answers to hold
        any out.
    objects_, n_objects_, n_iter_, converged_, history_, restarts_, solver_, trace_, comparisons_
        As for every estimator. Iterations are those of the descents that led to the views.

    See Also
    --------
    TSTE : a single map.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> maps = [make_gaussian(20, 2, random_state=seed) for seed in (0, 1)]
    >>> color, taste = [sample_triplets(points, 1000, random_state=seed) for seed, points in enumerate(maps)]
    >>> model = MVTE(n_components=2, n_views=2, random_state=0).fit(color + taste)
    >>> model.views_.shape
    (2, 20, 2)
    >>> bool(abs(model.weights_ - 0.5).max() < 0.1)
    True
    """

    n_views: int | None = None
    alpha: float | None = None
    trace: float = 0.001
    n_init: int = 10
    views_: FloatArray = field(init=False)

    @property
    def responsibilities_(self) -> FloatArray:
        """How likely each view is the one that a row of `comparisons_` was judged from, (m, n_views_)."""
        check_is_fitted(self)
        answers = PackedAnswers(self._require_in_memory(self.comparisons_))
        shares = assign_views(self.views_, self._views().mixture, answers, StudentT(self.alpha_)).responsibilities
        return np.ascontiguousarray(answers.trials.to_rows(shares).T)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2), from a view not known."""
        holds = expit(self.decision_function(X))
        return np.column_stack([1 - holds, holds])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds that comparisons hold as written, shape (m,); ties are exactly 0."""
        return super().decision_function(X)

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an MVTE, not yet fitted, with the chosen degrees of freedom; refused where there are several views."""
        # A fit to other comparisons may put another view first, which does not show where objects lie in this one.
        check_is_fitted(self)
        if self.n_views_ > 1:
            raise ValueError(
                f"the map is the first of {self.n_views_} views ({percent(self.weights_[0])} of the answers), and maps "
                "of other answers may show another view first"
            )
        return self._fast_surrogate()

    def _fast_surrogate(self) -> OrdinalEmbedding:
        """Return an MVTE, not yet fitted, of the chosen number of views and degrees of freedom."""
        check_is_fitted(self)
        same: OrdinalEmbedding = clone(self).set_params(n_views=self.n_views_, alpha=self.alpha_)
        return same

    def _check_state(self) -> None:
        """Reject inconsistent fitted values."""
        super()._check_state()
        if self.views_.shape != (len(self.weights_), *self.embedding_.shape):
            raise ValueError(f"views_ has shape {self.views_.shape}, and there are {self.n_objects_} objects")

    def _rotate(self, axes: FloatArray) -> None:
        self.views_ = self.views_ @ axes + 0.0
        self.embedding_ = self.views_[0].copy()

    def _check_settings(self) -> None:
        super()._check_settings()
        check_counts(n_views=1 if self.n_views is None else self.n_views, n_init=self.n_init)
        if Penalty(trace=self.trace, ridge=0.0).is_open:
            raise ValueError("trace must be a finite number >= 0, got None")
        if self.alpha is not None:
            StudentT(self.alpha)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        known = self._reusable_views() if start is not None else None
        with self._warning_of_early_interrupt(), limited_blas("points", comparisons.n_objects):
            search = self._search_views if known is None else partial(self._continue_from, known)
            found = search(comparisons, callback)
        self._store_views(found.value, comparisons)
        self._store_run(found, self._view_search().solver)
        self._report(found)

    def _search_views(self, comparisons: Comparisons, callback: Callback | None) -> FoundViews:
        seed = 0 if self.random_state is None else self.random_state
        choice = ViewCount(self.n_views or 1, None, None)
        if self.n_views is None:
            choice = choose_number(comparisons, self._view_search(), stream(seed, "folds"))
        self.cv_results_ = choice.results
        return select_likeliest(
            self._view_search().run(comparisons, choice.n_views, stream(seed, "start"), callback), choice.alpha
        )

    def _continue_from(self, known: Views, comparisons: Comparisons, callback: Callback | None) -> FoundViews:
        found = self._view_search().continue_from(comparisons, known, callback)
        maps = zip(found.value.points, known.points, strict=True)
        aligned = [align(new, old, scaling=False, moving=False) for new, old in maps]
        return replace(found, value=replace(found.value, points=np.stack(aligned)))

    def _view_search(self) -> ViewSearch:
        return ViewSearch(self.n_components, self.alpha, self.trace, self.n_init, Factored(tol=1e-5))

    def _reusable_views(self) -> Views | None:
        """Return the present views, if they are what the settings ask for: `partial_fit` goes on from them."""
        same = self.n_views in (None, len(self.weights_)) and self.alpha in (None, self.alpha_)
        if not same or self.views_.shape[2] != self.n_components or self._is_point(self.views_):
            return None
        return self._views()

    def _views(self) -> Views:
        return Views(self.views_, Mixture(self.weights_, self.lapse_), self.alpha_, self.trace_)

    def _store_views(self, views: Views, comparisons: Comparisons) -> None:
        self._store_map(views.points[0].copy(), comparisons)
        self.views_, self.alpha_ = views.points, float(views.alpha)
        self.weights_, self.lapse_ = views.mixture
        self.n_views_ = len(self.weights_)
        self.trace_ = float(views.trace)

    def _is_point(self, points: FloatArray) -> bool:
        return bool(np.abs(points).max() < _POINT_SIZE * np.sqrt(self.alpha_))

    def _report(self, found: FoundViews) -> None:
        outcome = found.outcome
        if found.interrupted:
            advice = f"{outcome.value} after {self.n_iter_} iterations; the best views so far are on the estimator"
        elif not outcome.ok:
            advice = f"{outcome.value}. The result is usable; raise trace for a better one"
        elif self._is_point(self.views_):
            advice = "all views are single points: choose a trace well below 1, or check for answers that cancel out"
        else:
            return
        self._warn_of_outcome(advice, found.interrupted)

    def _add_objects(self, added: Comparisons) -> None:
        """Place the objects that the maps lack, in all of them."""
        solution = place_views(self._views(), added)
        if solution.interrupted:
            raise KeyboardInterrupt
        self.views_, self.embedding_ = solution.value, solution.value[0].copy()
        self.objects_, self.n_objects_ = added.objects, added.n_objects

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return the log-odds that comparisons hold."""
        i, j, l, k = quadruplets.T  # noqa: E741
        odds = []
        for points in self.views_:
            near, far = pair_distances(points, i, j), pair_distances(points, l, k)
            odds.append(np.where(clear_ties(near, far) == 0, 0.0, StudentT(self.alpha_).log_odds(near, far)))
        weights = self.weights_[:, None]
        holds, fails = (answer_probability(sign * np.stack(odds), self.lapse_) for sign in (1, -1))
        margins: FloatArray = np.log((weights * holds).sum(axis=0)) - np.log((weights * fails).sum(axis=0))
        return margins
