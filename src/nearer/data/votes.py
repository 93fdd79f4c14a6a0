"""Answers that speak for both sides.

"Can't tell" may be split into the comparisons of all possible answers. One trial then says both ways about a question:
nobody contradicts anybody there, and half of such an answer is wrong whatever is predicted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.data.units import near_and_far, numbered, trials_of


def torn(comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return which rows are of a trial that says both ways about their question, shape (m,).

    Trials that are numbered anew for each annotator are different trials. Without trials there are no such rows.

    Examples
    --------
    >>> rows = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [1, 0, 2]]
    >>> torn(Comparisons.from_triplets(rows, trials=[5, 5, 6, 6])).tolist()
    [True, True, False, False]
    """
    if comparisons.trials is None:
        return np.zeros(len(comparisons), dtype=bool)
    acts = trials_of(comparisons).astype(np.int64)
    if comparisons.annotators is not None:
        people, person = factorize(comparisons.annotators)
        acts = acts * len(people) + person
    near, far = near_and_far(comparisons.oriented, comparisons.n_objects)
    group = numbered(acts, np.minimum(near, far), np.maximum(near, far))
    one_way, rows = np.bincount(group, near < far), np.bincount(group)
    both: NDArray[np.bool_] = ((one_way > 0) & (one_way < rows))[group]
    return both
