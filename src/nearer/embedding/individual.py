"""IndividualDifferences: a common map, and for each person weights of its axes; of faces, one person goes by age."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtri
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.progress import progress_bar
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import with_positive_weight
from nearer.data.labels import Labels, factorize
from nearer.data.streamed import Judgments
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.fitting import completed, place_points
from nearer.embedding.individual_model import Spread, Unknowns, WeightedModel, answer_terms, expand, standard_errors
from nearer.embedding.individual_search import MAX_STEPS, SearchState, find_kinds, search, weights_marginal
from nearer.model import CrowdKernel
from nearer.optimize.problems.margins import clear_ties
from nearer.optimize.solvers import Restarts
from nearer.optimize.solvers.driver import Callback, limited_blas
from nearer.sampling.model import distinct_comparisons

_START_TRACE = 0.1  # of the start of new objects alone


@dataclass(eq=False, repr=False, kw_only=True)
class IndividualDifferences(OrdinalEmbedding):
    """One map, with weights of its axes for each person (the idea of INDSCAL, Carroll and Chang 1970).

    For person s the squared distance of two objects is sum_k w_sk (x_ik - x_jk)^2. Answers follow from it as in
    `PosteriorEmbedding`. Logarithms of weights are drawn from a normal distribution, whose spread is found from the
    answers of all (empirical Bayes). Weights fix the axes, which in other maps are arbitrary. Where the answers give no
    evidence that people differ, all weights are 1, and the axes are the principal ones.

    Parameters
    ----------
    n_components : int >= 2, default 2
        Dimension p of the map.
    spread : float >= 0, optional
        Standard deviation of the logarithms of weights; 0 gives the common map alone. Left out, it is found.
    n_objects, random_state
        As for every estimator; random_state is for starts.

    Attributes
    ----------
    embedding_ : ndarray, shape (n_objects_, n_components)
        The common map: that of someone whose weights are all 1. Axes in order of falling variance.
    people_ : ndarray of labels, shape (s,)
    weights_ : ndarray, shape (s, n_components)
        What an axis counts for a person; geometric means are 1, over axes and over people.
    weights_interval_ : ndarray, shape (s, n_components, 2)
        Ends of 95% intervals of the weights, by Laplace's approximation; see `intervals`.
    steepness_, lapse_ : ndarray, shape (s,)
        How fast someone's odds change with distance, relative to others, and the share of answers that are guesses.
    spread_, steepness_spread_ : float
        How much people differ: standard deviations of logarithms of weights and of steepness. 0: they do not.
    axes_identified_, axes_error_ : bool, float
        Whether people differ, so that the directions of the axes mean something; their standard error, in degrees.
    evidence_gain_ : float
        By how much weights raise the log-likelihood of the answers, with everything about people integrated out.
    n_kinds_, kinds_, kind_weights_ : int, ndarray of shape (s,), ndarray of shape (n_kinds_, n_components)
        The number of kinds of people, by BIC; who is of which, the largest being 0; and their weights.
    objects_, n_objects_, n_iter_, converged_, history_, restarts_, trace_, comparisons_
        As for every estimator.

    See Also
    --------
    MVTE : several maps, where people do not even see the same things.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> rng = np.random.default_rng(0)
    >>> points, weights = rng.normal(size=(12, 2)), np.exp(rng.normal(size=(8, 2)))
    >>> rows = np.array([rng.choice(12, 3, replace=False) for _ in range(1600)])
    >>> person = np.repeat(np.arange(8), 200)
    >>> near, far = (((points[rows[:, 0]] - points[rows[:, k]]) ** 2 * weights[person]).sum(axis=1) for k in (1, 2))
    >>> judgments = Comparisons.from_triplets(rows, far > near, annotators=person)
    >>> model = IndividualDifferences(2, random_state=0).fit(judgments)
    >>> found, true = (np.log(each[:, 0] / each[:, 1]) for each in (model.weights_, weights))
    >>> bool(abs(np.corrcoef(found, true)[0, 1]) > 0.95), model.axes_identified_
    (True, True)
    """

    spread: float | None = None

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins d2(far) - d2(near) of comparisons as written, shape (m,).

        Of the person who answers, where the comparisons say who that is and the map knows them; else the common map's.
        """
        comparisons = self._comparisons(X)
        return clear_ties(*self._weighted_distances(comparisons, _person_of_each(self.people_, comparisons)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2).

        Of the person who answers, as for `decision_function`; else of someone who is as usual.
        """
        comparisons = self._comparisons(X)
        person = _person_of_each(self.people_, comparisons)
        near, far = self._weighted_distances(comparisons, person)
        far = np.where(clear_ties(near, far) == 0, near, far)  # a tie is even to the last bit
        steepness, kernel, lapse = self._numbers
        traits = np.vstack([self._people[:, -2:], np.zeros(2)])[person]
        holds = answer_terms(near, far, steepness + traits[:, 0], kernel, lapse + traits[:, 1]).probability
        return np.column_stack([1 - holds, holds])

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Return intervals of the weights at another level than 95%, shape (s, n_components, 2)."""
        check_is_fitted(self)
        check_level(level)
        reach = float(ndtri(0.5 + level / 2)) * self._log_weights_error
        return self.weights_[:, :, None] * np.exp(np.stack([-reach, reach], axis=2))

    def _with_chosen_settings(self) -> OrdinalEmbedding:
        """Return an estimator, not yet fitted, with the spread of weights that was found."""
        check_is_fitted(self)
        return self._copy_with(spread=self.spread_)

    def _rotate(self, axes: FloatArray) -> None:
        if self.axes_identified_:
            raise ValueError(
                "people differ in how much the axes of this map count for them, so that it cannot be rotated; fit "
                "another method for a map with free axes"
            )
        super()._rotate(axes)

    def _check_state(self) -> None:
        super()._check_state()
        n_people, p = len(self.people_), self.embedding_.shape[1]
        weights = self.weights_.shape == self._log_weights_error.shape == (n_people, p)
        if not weights or self._people.shape != (n_people, p + 1) or not np.isfinite(self._people).all():
            raise ValueError(f"its weights are not those of {n_people} people")
        if self._numbers.shape != (3,) or not np.isfinite(self._numbers).all():
            raise ValueError("its model of answers holds something else than finite numbers")

    def _check_settings(self) -> None:
        check_integer("n_components", self.n_components, 1)
        if self.n_components == 1:
            raise ValueError(
                "n_components must be 2 or more: a single axis has nothing to be weighed against. PosteriorEmbedding "
                "estimates how steep people are"
            )
        if self.spread is not None:
            check_number("spread", self.spread, least=0)

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        comparisons = self._require_in_memory(comparisons)
        if not (comparisons.sample_weight > 0).any():
            raise ValueError("all comparisons have weight 0; there is nothing to fit")
        if comparisons.annotators is None:
            raise ValueError(
                "the comparisons do not say who answered; pass annotators= when making them, or "
                "columns={'annotator': NAME} when reading a file. Without people, take another method, such as "
                "PosteriorEmbedding"
            )
        people = factorize(comparisons.annotators[comparisons.sample_weight > 0])[0]
        if len(people) < 2:
            raise ValueError("all answers are of one person, who cannot differ from others; two are needed")
        rng = stream(self.random_state, "start")
        with (
            self._warning_of_early_interrupt(),
            limited_blas("points", comparisons.n_objects),
            progress_bar("fit", MAX_STEPS) as bar,
        ):
            found = search(comparisons, self.n_components, self.spread, rng, start, bar.update)
        self._store_search(found, people, comparisons)
        if callback is not None:
            for progress in self.history_:
                callback(progress)
        if found.interrupted:
            self._warn("the fit was interrupted; the best map so far is on the estimator", interrupted=True)
        elif not found.converged:
            self._warn("the iterations ran out before the map had settled. The result is usable; check the answers")

    def _store_search(self, found: SearchState, people: Labels, comparisons: Comparisons) -> None:
        model, unknowns = found.model, found.unknowns
        self._store_map(unknowns.points, comparisons)
        self.n_iter_, self.history_, self.converged_ = found.n_iter, found.history, found.converged
        self.restarts_ = Restarts(1, 1)
        self.trace_ = self.n_components / (2 * float(model.answers.total_weights.sum()))
        self.people_, self._people, self._numbers = people, unknowns.people, unknowns.numbers
        self.weights_ = np.exp(model.log_weights(unknowns.people))
        self.steepness_ = np.exp(unknowns.people[:, -2])
        self.lapse_ = expit(unknowns.numbers[2] + unknowns.people[:, -1])
        self.spread_, self.steepness_spread_ = model.spread
        self.axes_identified_, self.evidence_gain_ = self.spread_ > 0, found.gain
        self._log_weights_error, self.axes_error_ = standard_errors(model, unknowns)
        self.weights_interval_ = self.intervals()
        kinds = find_kinds(weights_marginal(expand(model, unknowns), model.deviations), self.spread_)
        self.n_kinds_, self.kinds_ = len(kinds.centers), kinds.of_people
        self.kind_weights_ = np.exp(kinds.centers @ model.contrasts.T)

    def _weighted_distances(self, comparisons: Comparisons, person: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the squared distances of near and far pair to the person of each row, (m,) each."""
        weights = np.vstack([self.weights_, np.ones(self.weights_.shape[1])])[person]
        i, j, l, k = comparisons.quadruplets.T  # noqa: E741
        points = self.embedding_
        near, far = (((points[a] - points[b]) ** 2 * weights).sum(axis=1) for a, b in ((i, j), (l, k)))
        return near, far

    def _add_objects(self, added: Comparisons) -> None:
        """Place new objects where the added answers are likeliest, everything else as it is."""
        points, (n, p) = self.embedding_, self.embedding_.shape
        start = completed(place_points(points, added, CrowdKernel(), _START_TRACE))
        answers, counting = distinct_comparisons(added), with_positive_weight(added)
        who = np.full(1, len(self.people_))
        if counting.annotators is not None:
            who = _positions_among(self.people_, factorize(counting.annotators)[0])
        everybody = np.vstack([self._people, np.zeros(p + 1)])
        answers = replace(answers, annotators=who[answers.annotators].astype(np.int32), n_annotators=len(everybody))
        # What the spread is does not matter: people stay as they are.
        model = WeightedModel(answers, added.n_objects, p, Spread(1.0, 1.0))

        def loss(new: FloatArray) -> tuple[float, FloatArray]:
            everything = np.vstack([points, new.reshape(-1, p)])
            value, gradient = model.density(model.pack(Unknowns(everything, everybody, self._numbers)))
            return -value, -gradient[n * p : added.n_objects * p]

        ended = minimize(loss, start.value[n:].ravel(), jac=True, method="L-BFGS-B")
        self.embedding_ = np.vstack([points, ended.x.reshape(-1, p)])


def _positions_among(people: Labels, labels: Labels) -> NDArray[np.intp]:
    """Return the number that each label has among people; the number after the last for somebody else."""
    known = {label: number for number, label in enumerate(people.tolist())}
    return np.array([known.get(label, len(known)) for label in labels.tolist()], dtype=np.intp)


def _person_of_each(people: Labels, comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the person of each row, (m,); that after the last for nobody in particular."""
    if comparisons.annotators is None:
        return np.full(len(comparisons), len(people))
    labels, person = factorize(comparisons.annotators)
    return _positions_among(people, labels)[person]
