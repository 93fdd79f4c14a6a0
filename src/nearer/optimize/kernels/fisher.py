"""The Fisher information that answers carry about a map, as an operator, and noise of that covariance.

With the log-odds eta of an answer, the information of its row is s^2 times the outer product of the gradient of
log(offset + far) - log(offset + near), s^2 = weight slope^2 (dP / d eta)^2 / (P (1 - P)): a row of the comparisons adds
two entries, and a pair of objects two rows of coordinates. No matrix is made.
"""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import loop, loop_in_order

MIN_VARIANCE = 1e-12  # of an answer


@loop_in_order
def row_scales(points, pairs, rows, weights, annotators, slopes, lapses, offset, inverse, scales):
    """Set 2 / (offset + d^2) of each pair, and s of each row."""
    p = points.shape[1]
    logs = np.empty(len(pairs))
    for a in range(len(pairs)):
        total = offset
        for d in range(p):
            total += (points[pairs[a, 0], d] - points[pairs[a, 1], d]) ** 2
        inverse[a] = 2 / total
        logs[a] = np.log(total)
    for q in range(len(rows)):
        slope, lapse = slopes[annotators[q]], lapses[annotators[q]]
        odds = slope * (logs[rows[q, 1]] - logs[rows[q, 0]])
        small = np.exp(-abs(odds))
        by_odds = (1 - lapse) * small / (1 + small) ** 2
        less = lapse / 2 + (1 - lapse) * small / (1 + small)  # the smaller of P and 1 - P
        weight = weights[q] if weights.size else 1.0
        scales[q] = slope * by_odds * np.sqrt(weight / max(less * (1 - less), MIN_VARIANCE))


@loop
def pair_tangents(points, moves, pairs, inverse, tangents):
    """Set by how much log(offset + d^2) of each pair changes as the points move."""
    for a in range(len(pairs)):
        i, j = np.uintp(pairs[a, 0]), np.uintp(pairs[a, 1])
        total = 0.0
        for d in range(points.shape[1]):
            total += (points[i, d] - points[j, d]) * (moves[i, d] - moves[j, d])
        tangents[a] = total * inverse[a]


@loop_in_order
def row_products(rows, scales, tangents, products):
    """Add to ``products`` (k,) what rows make of the tangents of pairs."""
    for q in range(len(rows)):
        near, far = np.uintp(rows[q, 0]), np.uintp(rows[q, 1])
        value = np.float64(scales[q]) * scales[q] * (tangents[far] - tangents[near])
        products[far] += value
        products[near] -= value


@loop_in_order
def row_noise(rows, scales, noise, products):
    """Add to ``products`` (k,) the scores of answers that are given at random: ``noise`` is standard normal."""
    for q in range(len(rows)):
        value = scales[q] * noise[q]
        products[np.uintp(rows[q, 1])] += value
        products[np.uintp(rows[q, 0])] -= value


@loop
def pair_products(points, pairs, inverse, products, result):
    """Add to ``result`` (n, p) the gradient of log(offset + d^2) of each pair times its product."""
    for a in range(len(pairs)):
        i, j = np.uintp(pairs[a, 0]), np.uintp(pairs[a, 1])
        push = products[a] * inverse[a]
        for d in range(points.shape[1]):
            step = push * (points[i, d] - points[j, d])
            result[i, d] += step
            result[j, d] -= step


@loop
def object_blocks(points, pairs, inverse, rows, scales, stride, blocks):
    """Add to ``blocks`` (n, p, p) the information about each object given all others, of every ``stride``-th row."""
    p = points.shape[1]
    found = np.empty((4, p))
    who = np.empty(4, np.int64)
    for q in range(0, len(rows), stride):
        count = 0
        for side in range(2):
            a = rows[q, side]
            sign = (2 * side - 1) * scales[q] * inverse[a]
            for end in range(2):
                i, j = pairs[a, end], pairs[a, 1 - end]
                place = count
                for other in range(count):
                    if who[other] == i:
                        place = other
                if place == count:
                    who[place] = i
                    found[place, :] = 0.0
                    count += 1
                for d in range(p):
                    found[place, d] += sign * (points[i, d] - points[j, d])
        for place in range(count):
            i = np.uintp(who[place])
            for d in range(p):
                value = stride * found[place, d]
                for e in range(p):
                    blocks[i, d, e] += value * found[place, e]
