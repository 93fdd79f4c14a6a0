"""A method fitted to answers that are weighted by how far each person can be relied on.

Reliability is worked out from the answers that the method is fitted to, and from no others: with weights from all
answers, those held out would have told how much they count. Where the answers are so few that nobody is better than
chance against a map of the others, all count alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator, clone

from nearer._common.arrays import FloatArray
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import as_comparisons
from nearer.embedding import CKL
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.annotators import annotator_reliability, reliability_weights


class AnnotatorWeighted(BaseEstimator):
    """A method for which people whose answers disagree with everybody else's count less.

    Parameters
    ----------
    method : estimator of `nearer.embedding`
        A copy of it is fitted.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the maps that people are judged by, and for their groups.

    Attributes
    ----------
    method_ : estimator
        The copy, fitted to weighted answers.
    embedding_ : ndarray, shape (n, p)
        Its map.
    is_weighted_ : bool
        Whether some people count more than others.

    Examples
    --------
    >>> from nearer import Comparisons
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points, judgments = make_gaussian(15, 2, random_state=0), []
    >>> for person, flipped in enumerate([0.1, 0.1, 0.1, 0.5]):
    ...     rows = sample_triplets(points, 200, flipped=flipped, random_state=person).rows
    ...     judgments.append(Comparisons.from_triplets(rows, annotators=[f"p{person}"] * 200, n_objects=15))
    >>> model = AnnotatorWeighted(CKL(2), random_state=0).fit(Comparisons.concatenate(judgments)).method_
    >>> bool(model.comparisons_.weights[-200:].max() < 0.5 * model.comparisons_.weights[:600].min())
    True
    """

    method_: OrdinalEmbedding
    is_weighted_: bool

    def __init__(self, method: OrdinalEmbedding, *, random_state: RandomState = None) -> None:
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """Weigh people by their answers, and fit the method."""
        comparisons = as_comparisons(X)
        rng = stream(self.random_state, "folds")
        quick = CKL(self.method.n_components or 2, random_state=int(rng.integers(2**31)))
        found = annotator_reliability(quick, comparisons, random_state=rng)
        try:
            comparisons = replace(comparisons, weights=reliability_weights(found, comparisons))
            self.is_weighted_ = True
        except ValueError:  # nobody is better than chance
            self.is_weighted_ = False
        self.method_ = clone(self.method).fit(comparisons)
        return self

    @property
    def embedding_(self) -> FloatArray:
        """The map of the fitted method."""
        return self.method_.embedding_

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of comparisons as written, shape (m,)."""
        return self.method_.decision_function(X)
