r"""Fisher information of choices about the weights of one object after the other, those of the others being known.

With q the probabilities that the k items of a trial are named, and J the derivatives of their utilities with respect to
the weights of one object, a trial has the information :math:`J^T (\mathrm{diag}\, q - q q^T) J` about these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.choices import Choices, ItemTrials, PairTrials
from nearer.optimize.problems.choices import choice_log_probabilities, utility_scale


def object_information(points: FloatArray, choices: Choices) -> Iterator[FloatArray]:
    """Yield, for each object, the Fisher information about its weights, (p, p)."""
    parts = [
        (part, np.exp(choice_log_probabilities(points, part)), *_mentions(part, choices.n_objects))
        for part in choices.parts
    ]
    p = points.shape[1]
    for item in range(choices.n_objects):
        matrix = np.zeros((p, p))
        for part, probabilities, trials, starts in parts:
            rows = trials[starts[item] : starts[item + 1]]
            effects, chances = _effects(points, part, rows, item), probabilities[rows]
            if part.weights.size:
                chances *= part.weights[rows, None]
            totals = chances.sum(axis=1)  # the weights: 1 where there are none
            effects -= np.einsum("mk,mkp->mp", chances / totals[:, None], effects)[:, None, :]
            rooted = (np.sqrt(chances)[:, :, None] * effects).reshape(-1, p)
            matrix += rooted.T @ rooted
        yield matrix


def _mentions(part: ItemTrials | PairTrials, n_objects: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that mention each object, one object after the other, and where those of each begin, (n + 1,)."""
    order = np.argsort(part.objects, axis=None, kind="stable")
    mentioned, rows = part.objects.ravel()[order], order // part.objects.shape[1]
    first = np.ones(len(rows), dtype=bool)  # both pairs of a row may have the object
    first[1:] = (mentioned[1:] != mentioned[:-1]) | (rows[1:] != rows[:-1])
    return rows[first], np.searchsorted(mentioned[first], np.arange(n_objects + 1))


def _effects(points: FloatArray, part: ItemTrials | PairTrials, rows: NDArray[np.intp], item: int) -> FloatArray:
    """Return the derivatives of the utilities of rows with respect to the weights of an object, (m, k, q)."""
    if isinstance(part, ItemTrials):
        items = part.items[rows]
        own = items == item
        effects = points[items]
        others = effects.sum(axis=1) - points[item]
        effects[own] = others
        return utility_scale(items.shape[1], central=part.central) * effects
    objects = part.objects[rows]
    i, j, l, k = (objects if objects.shape[1] == 4 else objects[:, [0, 1, 0, 2]]).T  # noqa: E741
    # An object is at most once in a pair: of each pair, what multiplies its weights.
    near, far = (
        np.where((a == item)[:, None], points[b], 0) + np.where((b == item)[:, None], points[a], 0)
        for a, b in ((i, j), (l, k))
    )
    return np.stack([far, near], axis=1)
