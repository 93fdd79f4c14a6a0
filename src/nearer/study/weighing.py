"""An estimator that lets people whose answers disagree with everybody else's count less.

How far each person can be relied on is worked out from the answers that it is fitted to, and from no others: with
weights from all answers, those held out would have told how much they count. Where the answers are so few that nobody
is better than chance against a map of the others, all count alike.
"""

from __future__ import annotations

from dataclasses import replace

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.file import ComparisonsFile
from nearer.embedding import CKL, BestOf
from nearer.evaluation.annotators import annotator_reliability, reliability_weights
from nearer.solvers.driver import Callback


class Weighed(BestOf):
    """One method (the first of ``methods``), fitted to answers that are weighted by reliability.

    Attributes
    ----------
    weighs_ : bool
        Whether some people count more than others.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points, judgments = make_gaussian(15, 2, random_state=0), []
    >>> for person, flipped in enumerate([0.1, 0.1, 0.1, 0.5]):
    ...     rows = sample_triplets(points, 200, flipped=flipped, random_state=person).rows
    ...     judgments.append(Comparisons.from_triplets(rows, annotators=[f"p{person}"] * 200, n_objects=15))
    >>> model = Weighed(2, methods=[CKL()], random_state=0).fit(Comparisons.concatenate(judgments))
    >>> bool(model.comparisons_.weights[-200:].max() < 0.5 * model.comparisons_.weights[:600].min())
    True
    """

    def _fit(
        self,
        comparisons: Comparisons | ComparisonsFile,
        callback: Callback | None = None,
        start: FloatArray | None = None,
    ) -> None:
        assert isinstance(comparisons, Comparisons)
        quick = CKL(self.n_components, random_state=0)
        found = annotator_reliability(quick, comparisons, random_state=0)
        try:
            comparisons = replace(comparisons, weights=reliability_weights(found, comparisons))
            self.weighs_ = True
        except ValueError:  # nobody is better than chance
            self.weighs_ = False
        super()._fit(comparisons, callback, start)
