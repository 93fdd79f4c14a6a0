"""The likelihood of answers on one map, each with a slope and a lapse rate of its own, and its gradient."""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import loop_in_order

MIN_PROBABILITY = 1e-300


@loop_in_order
def log_likelihood(points, rows, slopes, lapses, weights, offset, gradient):
    """Add the gradient by the points, (n, p), to ``gradient``; return log P, and its derivatives by offset and slopes.

    With near and far squared distance of each row (i, j, l, k), P = lapse / 2 + (1 - lapse) / (1 + exp(-eta)) and
    eta = slope log((offset + far) / (offset + near)). The derivatives are by the logarithms of offset and of all slopes
    at once.
    """
    value, by_offset, by_slope = 0.0, 0.0, 0.0
    p = points.shape[1]
    for row in range(rows.shape[0]):
        i, j, l, k = rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3]  # noqa: E741
        near, far = offset, offset
        for a in range(p):
            near += (points[i, a] - points[j, a]) ** 2
            far += (points[l, a] - points[k, a]) ** 2
        eta = slopes[row] * np.log(far / near)
        attentive = 1 / (1 + np.exp(-eta))
        probability = max(lapses[row] / 2 + (1 - lapses[row]) * attentive, MIN_PROBABILITY)
        value += weights[row] * np.log(probability)
        by_odds = weights[row] * (1 - lapses[row]) * attentive * (1 - attentive) / probability
        by_slope += by_odds * eta
        by_near, by_far = -by_odds * slopes[row] / near, by_odds * slopes[row] / far
        by_offset += offset * (by_near + by_far)
        for a in range(p):
            step = 2 * by_near * (points[i, a] - points[j, a])
            gradient[i, a] += step
            gradient[j, a] -= step
            step = 2 * by_far * (points[l, a] - points[k, a])
            gradient[l, a] += step
            gradient[k, a] -= step
    return value, by_offset, by_slope


@loop_in_order
def grid_log_likelihood(log_odds, weights, people, factors, lapses, found):
    """Add to ``found``, (b, f, l), log P of answers with log-odds times each factor, at each lapse rate, by person."""
    for row in range(log_odds.shape[0]):
        person = people[row]
        for a in range(factors.shape[0]):
            attentive = 1 / (1 + np.exp(-factors[a] * log_odds[row]))
            for b in range(lapses.shape[0]):
                probability = lapses[b] / 2 + (1 - lapses[b]) * attentive
                found[person, a, b] += weights[row] * np.log(probability)
