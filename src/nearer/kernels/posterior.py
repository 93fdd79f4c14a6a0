"""The density of a Bayesian map, and predictions from many draws of it.

The unknowns are one vector q: coordinates z (n p numbers), a weight u for each axis (p), a scale v for each object (n),
and the seven numbers of `nearer.posterior.model`. All are independent and standard normal, or nearly so, before the
comparisons speak. `place_objects` makes a map of them and `density` adds what the comparisons say about that map.
"""

from __future__ import annotations

import numpy as np

from nearer.kernels.compiling import in_order, loop, part_in_order
from nearer.kernels.points import near_far, pairs, push

N_NUMBERS = 7
_TINY = 1e-12  # of squared length, so that an object at the origin has a direction
_SMALL = 1e-200  # product of probabilities of which the logarithm is taken; the next one is above 1e-100
_DOUBTLESS = 30.0  # log-odds
_near_far = part_in_order(near_far.py_func)  # type: ignore[attr-defined]


@in_order
def place_objects(q, exposure, axes, lengths, factors, points):
    """Set ``points`` (n, p) to the map of q; also the spread of each axis, squared lengths and factors before scaling.

    The spreads exp(sigma u) are normalized to a sum of squares of 1. An object of coordinates y is scaled to length
    |y|^radius times exp(omega v + gamma exposure).
    """
    n, p = points.shape
    numbers = n * p + p + n
    sigma = np.exp(q[numbers])
    omega = np.exp(q[numbers + 1])
    radius = 1 / (1 + np.exp(-q[numbers + 5]))
    gamma = q[numbers + 6]
    norm = 0.0
    for d in range(p):
        axes[d] = np.exp(sigma * q[n * p + d])
        norm += axes[d] * axes[d]
    norm = np.sqrt(norm)
    for d in range(p):
        axes[d] /= norm
    for i in range(n):
        length = _TINY
        for d in range(p):
            y = axes[d] * q[i * p + d]
            points[i, d] = y
            length += y * y
        lengths[i] = length
        factors[i] = np.exp(omega * q[n * p + p + i] + gamma * exposure[i]) * length ** ((radius - 1) / 2)
        for d in range(p):
            points[i, d] *= factors[i]


@loop
def _likelihood(points, objects, weights, slope, offset, lapse, gradient):
    """Return the log-likelihood and its derivatives by slope, offset and lapse; add that by the points to gradient."""
    answers = np.empty(0, np.int8)
    total = 0.0
    by_slope = 0.0
    by_offset = 0.0
    by_lapse = 0.0
    product = 1.0
    # Most comparisons of a map that fits are beyond doubt, pull nothing, and need no more than this.
    doubtless = np.exp(_DOUBTLESS / slope)
    n_doubtless = 0.0
    for q in range(objects.shape[0]):
        i, j, l, k = pairs(objects, answers, q)  # noqa: E741
        near, far = near_far(points, i, j, l, k)
        near += offset
        far += offset
        if far > doubtless * near:
            n_doubtless += weights[q] if weights.size else 1.0
            continue
        ratio = np.log(far / near)
        odds = slope * ratio
        t = np.exp(-abs(odds))
        less = t / (1 + t)
        chance = 1 - less if odds > 0 else less
        probability = 0.5 * lapse + (1 - lapse) * chance
        pull = (1 - lapse) * less / (1 + t) / probability  # chance * (1 - chance) = less / (1 + t)
        slip = (0.5 - chance) / probability
        if weights.size:
            total += weights[q] * np.log(probability)
            pull *= weights[q]
            slip *= weights[q]
        else:
            product *= probability
            if product < _SMALL:
                total += np.log(product)
                product = 1.0
        by_slope += pull * ratio
        by_lapse += slip
        pull *= slope
        by_offset += pull * (1 / far - 1 / near)
        push(points, gradient, i, j, l, k, -pull / near, pull / far)
    total += np.log(product) + n_doubtless * np.log1p(-0.5 * lapse)
    by_lapse -= 0.5 * n_doubtless / (1 - 0.5 * lapse)
    return total, by_slope, by_offset, by_lapse


@in_order
def _pull_back(q, gradient, exposure, axes, lengths, factors, points, pushed, total):
    """Set the gradient by all that `place_objects` makes the map of, from that by its points, ``pushed``.

    Returns ``total`` with the log-priors of coordinates, axes and scales, which take part in the gradient too.
    """
    n, p = points.shape
    first_axis = n * p
    first_scale = first_axis + p
    numbers = first_scale + n
    sigma = np.exp(q[numbers])
    omega = np.exp(q[numbers + 1])
    radius = 1 / (1 + np.exp(-q[numbers + 5]))
    by_axis = np.zeros(p)
    by_omega = 0.0
    by_radius = 0.0
    by_gamma = 0.0
    for i in range(n):
        by_factor = 0.0
        for d in range(p):
            by_factor += pushed[i, d] * points[i, d]
        by_radius += by_factor * np.log(lengths[i]) / 2
        by_gamma += by_factor * exposure[i]
        inward = (radius - 1) * by_factor / lengths[i]
        for d in range(p):
            z = q[i * p + d]
            y = axes[d] * z
            by_y = factors[i] * pushed[i, d] + inward * y
            by_axis[d] += by_y * y
            gradient[i * p + d] = by_y * axes[d] - z
            total -= 0.5 * z * z
        v = q[first_scale + i]
        gradient[first_scale + i] = by_factor * omega - v
        by_omega += by_factor * omega * v
        total -= 0.5 * v * v
    by_norm = 0.0
    for d in range(p):
        by_norm += by_axis[d]
    by_sigma = 0.0
    for d in range(p):
        u = q[first_axis + d]
        by_u = sigma * (by_axis[d] - by_norm * axes[d] * axes[d])
        gradient[first_axis + d] = by_u - u
        by_sigma += by_u * u
        total -= 0.5 * u * u
    gradient[numbers] = by_sigma
    gradient[numbers + 1] = by_omega
    gradient[numbers + 5] = by_radius * radius * (1 - radius)
    gradient[numbers + 6] = by_gamma
    return total


@in_order
def density(q, gradient, objects, weights, exposure, n, p, centres, scales):
    """Return the log-density at q up to a constant, and set its gradient.

    ``centres`` and ``scales`` are those of the priors of the seven numbers: normal, and Cauchy for the last.
    """
    points = np.empty((n, p))
    pushed = np.zeros((n, p))
    axes = np.empty(p)
    lengths = np.empty(n)
    factors = np.empty(n)
    place_objects(q, exposure, axes, lengths, factors, points)
    numbers = n * p + p + n
    steepness = np.exp(q[numbers + 2])
    kernel = np.exp(q[numbers + 3])
    lapse = 1 / (1 + np.exp(-q[numbers + 4]))
    offset = 2 * kernel
    slope = steepness * (1 + kernel)
    total, by_slope, by_offset, by_lapse = _likelihood(points, objects, weights, slope, offset, lapse, pushed)
    total = _pull_back(q, gradient, exposure, axes, lengths, factors, points, pushed, total)
    gradient[numbers + 2] = by_slope * slope
    gradient[numbers + 3] = by_slope * steepness * kernel + by_offset * offset
    gradient[numbers + 4] = by_lapse * lapse * (1 - lapse)
    for a in range(N_NUMBERS):
        away = (q[numbers + a] - centres[a]) / scales[a]
        if a == N_NUMBERS - 1:
            total -= np.log1p(away * away)
            gradient[numbers + a] -= 2 * away / (1 + away * away) / scales[a]
        else:
            total -= 0.5 * away * away
            gradient[numbers + a] -= away / scales[a]
    return total


@in_order
def predict(points, slopes, offsets, lapses, objects, start, stop, chances):
    """Set ``chances`` of rows start to stop to the mean over draws (k maps, (k, n, p)) of the chance that they hold."""
    answers = np.empty(0, np.int8)
    for q in range(start, stop):
        chances[q] = 0.0
    # One map at a time, which stays in the cache.
    for draw in range(points.shape[0]):
        share = 0.5 * (1 - lapses[draw]) / points.shape[0]
        for q in range(start, stop):
            i, j, l, k = pairs(objects, answers, q)  # noqa: E741
            near, far = _near_far(points[draw], i, j, l, k)
            t = slopes[draw] * np.log((min(near, far) + offsets[draw]) / (max(near, far) + offsets[draw]))
            t = np.exp(t)
            away = share * (1 - t) / (1 + t)
            chances[q] += away if far > near else -away
    # By way of the larger of the two chances, so that exchanging the pairs gives the complement to the last bit.
    for q in range(start, stop):
        larger = 0.5 + abs(chances[q])
        chances[q] = larger if chances[q] > 0 else 1 - larger
