r"""Choices by the inner products of nonnegative weights: what dimensions with a meaning minimize.

With weights x_a on p dimensions the similarity of two objects is :math:`s_{ab} = x_a \cdot x_b`. Of k items the odd one
is c with probability

.. math:: P(c) = \frac{e^{u_c}}{\sum_a e^{u_a}}, \qquad u_c = -\frac{2}{k - 1} \sum_{a \ne c} s_{ca},

the central one with the opposite sign. Of three items this is :math:`P(c) \propto e^{s_{ab}}`, the model of SPoSE,
since the three similarities have one sum. The *mean* similarity to the others counts: a trial of more items is not a
sharper one. Two pairs are compared with :math:`P = \mathrm{sigmoid}(s_\text{near} - s_\text{far})`.

Minimized is the mean of :math:`-\log P` plus :math:`\lambda \sum (x + r x^2 / 2) / m`: the prior of a weight is an
exponential one times a normal one, cut off at 0. The first sets weights to 0, on the orthant it is linear, so that the
objective is smooth there. The second keeps the largest weights from following noise where answers are few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray, PointArray
from nearer.data.choices import Choices, ItemTrials, PairTrials
from nearer.optimize.problems.margins import BLOCK_ROWS, clear_ties


def utility_scale(n_items: int, *, central: bool = False) -> float:
    """Return what the sum of the similarities of an item to the others is multiplied by."""
    return (1.0 if central else -1.0) * 2.0 / (n_items - 1)


def choice_log_probability(similarities: FloatArray, *, central: bool = False) -> FloatArray:
    """Return the log-probability that each item is named, (m, k), given the similarities of all pairs, (m, k, k)."""
    k = similarities.shape[1]
    others = similarities.sum(axis=2) - np.diagonal(similarities, axis1=1, axis2=2)
    utilities = utility_scale(k, central=central) * others
    utilities -= utilities.max(axis=1, keepdims=True)
    return np.asarray(utilities - np.log(np.exp(utilities).sum(axis=1, keepdims=True)))


def pair_margins(points: FloatArray, objects: NDArray[np.integer]) -> FloatArray:
    """Return by how much near pairs are more similar than far ones, (m,), for rows of shape (m, 3) or (m, 4)."""
    i, j, l, k = (objects if objects.shape[1] == 4 else objects[:, [0, 1, 0, 2]]).T  # noqa: E741
    return clear_ties(inner_products(points, l, k), inner_products(points, i, j))


def inner_products(points: FloatArray, a: NDArray[np.integer], b: NDArray[np.integer]) -> FloatArray:
    """Return the similarity of each pair, (m,)."""
    found = np.empty(len(a))
    for start in range(0, len(a), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        found[block] = np.einsum("mp,mp->m", points[a[block]], points[b[block]])
    return found


def choice_log_probabilities(points: FloatArray, part: ItemTrials | PairTrials) -> FloatArray:
    """Return the log-probabilities of all answers, that which was given last, (m, k): items, or far and near pair."""
    if isinstance(part, PairTrials):
        margins = pair_margins(points, part.objects)
        return -np.logaddexp(0.0, np.column_stack([margins, -margins]))
    return choice_log_probability(item_similarities(points, part.items), central=part.central)


def item_similarities(points: FloatArray, items: NDArray[np.integer]) -> FloatArray:
    """Return the similarities of all pairs of items of trials, (m, k, k), 0 on the diagonal."""
    m, k = items.shape
    similarities = np.zeros((m, k, k))
    for a, b in combinations(range(k), 2):
        values = inner_products(points, items[:, a], items[:, b])
        similarities[:, a, b] = similarities[:, b, a] = values
    return similarities


def answer_losses(points: FloatArray, choices: Choices) -> FloatArray:
    """Return -log P of each answer, in the order of the parts, (n_answers,)."""
    return np.concatenate([-choice_log_probabilities(points, part)[:, -1] for part in choices.parts])


def simulate_choices(points: FloatArray, choices: Choices, rng: np.random.Generator) -> Choices:
    """Return the same trials with answers that the weights give."""
    parts: list[ItemTrials | PairTrials] = []
    for part in choices.parts:
        probabilities = np.exp(choice_log_probabilities(points, part))
        named = (rng.random(len(probabilities))[:, None] > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)
        each, last = np.arange(len(named)), probabilities.shape[1] - 1
        if isinstance(part, ItemTrials):
            items = part.items.copy()
            items[each, named], items[:, last] = part.items[:, last], part.items[each, named]
            parts.append(part._replace(items=items))
        else:
            swapped = [0, 2, 1] if part.objects.shape[1] == 3 else [2, 3, 0, 1]
            parts.append(part._replace(objects=np.where(named[:, None] == 0, part.objects[:, swapped], part.objects)))
    return replace(choices, parts=tuple(parts))


@dataclass(frozen=True, eq=False)
class WeightsProblem:
    """The mean loss of choices and the penalty, over nonnegative weights, (n, p).

    With ``movable``, (n,) or (n, p), only some entries change.
    """

    choices: Choices
    penalty: float = 0.0  # lambda, in units of one answer
    ridge: float = 0.0  # r
    movable: NDArray[np.bool_] | None = None
    n_threads: int | None = None

    @property
    def n_objects(self) -> int:
        return self.choices.n_objects

    @cached_property
    def total_weight(self) -> float:
        return self.choices.total_weight

    @cached_property
    def objective_at_zero(self) -> float:
        """The objective where all weights are 0: the mean loss of guessing."""
        zero = np.zeros((self.n_objects, 1))
        return self.loss_and_gradient(zero)[0]

    def objective_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        """Return the value to be minimized and its gradient, (n, p)."""
        value, gradient = self.loss_and_gradient(points)
        share = points.dtype.type(self.penalty / self.total_weight)
        value += float(share * (points.sum() + self.ridge / 2 * np.vdot(points, points)))
        gradient += share * (1 + points.dtype.type(self.ridge) * points)
        if self.movable is not None:
            gradient[~self.movable] = 0
        return value, gradient

    def loss_and_gradient(self, points: PointArray) -> tuple[float, PointArray]:
        """Return the mean loss, without the penalty, and its gradient."""
        from nearer.optimize.kernels.choices import evaluate_choices, evaluate_pairs

        total, gradient = 0.0, np.zeros_like(points)
        for part in self.choices.parts:
            if isinstance(part, ItemTrials):
                scale = utility_scale(part.items.shape[1], central=part.central)
                value, slope = evaluate_choices(points, part.items, part.weights, scale, self.n_threads)
            else:
                value, slope = evaluate_pairs(points, part.objects, part.weights, self.n_threads)
            total += value
            gradient += slope
        gradient /= points.dtype.type(self.total_weight)
        return total / self.total_weight, gradient
