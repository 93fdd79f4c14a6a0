"""The density of a Bayesian map, and predictions from many draws of it.

The unknowns are one vector q: coordinates z (n p numbers), a weight u for each axis (p), a scale v for each object (n),
a steepness and a carelessness for each person (a each; a = 0 where people are not told apart), and the nine numbers of
`nearer.sampling.model`. All are independent and standard normal, or nearly so, before the comparisons speak.
`place_objects` makes a map of them and `density` adds what the comparisons say about that map.

What costs time is done for pairs of objects, not for comparisons: of few objects there are few pairs, however many
comparisons. Each comparison then looks up two logarithms, and adds two numbers to the gradient.
"""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import inlined_in_order, loop, loop_in_order
from nearer.optimize.kernels.points import near_far, pair_objects

N_NUMBERS = 9
MIN_SQUARED_LENGTH = 1e-12  # of squared length, so that an object at the origin has a direction
BLOCK_ROWS = 512  # comparisons at a time: what is kept of them between passes stays in the nearest cache
MAX_UNPADDED_DIMENSIONS = 4  # dimensions
MIN_EXPONENT = -700.0  # of which the exponential is a normal number
_LOG2_E, _LN2, _LN2_HIGH, _LN2_LOW = (
    1.4426950408889634,
    0.6931471805599453,
    6.93147180369123816e-1,
    1.90821492927058770e-10,
)
SQRT_HALF_BITS = 4604544271217802189  # the bits of sqrt(1/2)
_near_far = inlined_in_order(near_far.py_func)  # type: ignore[attr-defined]


@loop
def exponentials(x, count, result, bits):
    """Set the first so many of ``result`` to exp(x), x at most 0; ``bits``, of int64, is room to work in.

    Written out, and not np.exp, so that eight are done at a time: exp(r) 2^k, with |r| below log(2) / 2.
    """
    for a in range(count):
        t = max(x[a], MIN_EXPONENT)
        k = np.floor(t * _LOG2_E + 0.5)
        r = (t - k * _LN2_HIGH) - k * _LN2_LOW
        value = 1 / 39916800
        value = value * r + 1 / 3628800
        value = value * r + 1 / 362880
        value = value * r + 1 / 40320
        value = value * r + 1 / 5040
        value = value * r + 1 / 720
        value = value * r + 1 / 120
        value = value * r + 1 / 24
        value = value * r + 1 / 6
        value = value * r + 1 / 2
        value = value * r + 1
        result[a] = value * r + 1
        bits[a] = (np.int64(k) + 1023) << 52
    powers = bits.view(np.float64)
    for a in range(count):
        result[a] *= powers[a]


@loop
def logarithms(x, count, result, bits):
    """Set the first so many of ``result`` to log(x), x normal and positive, likewise: k log(2) + 2 artanh(s)."""
    of_x = x.view(np.int64)
    mantissas = bits.view(np.float64)
    for a in range(count):
        exponent = (of_x[a] - SQRT_HALF_BITS) >> 52
        bits[a] = of_x[a] - (exponent << 52)
        result[a] = np.float64(exponent)
    for a in range(count):
        s = (mantissas[a] - 1) / (mantissas[a] + 1)
        square = s * s
        value = 2 / 17
        value = value * square + 2 / 15
        value = value * square + 2 / 13
        value = value * square + 2 / 11
        value = value * square + 2 / 9
        value = value * square + 2 / 7
        value = value * square + 2 / 5
        value = value * square + 2 / 3
        value = value * square + 2
        result[a] = result[a] * _LN2 + s * value


@loop_in_order
def place_objects(q, exposure, n_people, axes, lengths, factors, points):
    """Set ``points`` (n, p or more) to the map of q.

    Also the spread of each axis, squared lengths and factors before scaling. The spreads exp(sigma u) are normalized to
    a sum of squares of 1. An object of coordinates y is scaled to length |y|^radius times exp(omega v + gamma
    exposure).
    """
    n, p = len(exposure), len(axes)
    numbers = n * p + p + n + 2 * n_people
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
        length = MIN_SQUARED_LENGTH
        for d in range(p):
            y = axes[d] * q[i * p + d]
            points[i, d] = y
            length += y * y
        lengths[i] = length
        factors[i] = np.exp(omega * q[n * p + p + i] + gamma * exposure[i]) * length ** ((radius - 1) / 2)
        for d in range(p):
            points[i, d] *= factors[i]


@loop
def _pair_logs(points, compared, offset, widened, logs):
    """Set offset + d^2 and its logarithm of the pairs that are compared."""
    for a in range(compared.shape[0]):
        i, j = np.uintp(compared[a, 0]), np.uintp(compared[a, 1])
        total = 0.0
        for d in range(points.shape[1]):
            away = points[i, d] - points[j, d]
            total += away * away
        widened[a] = total + offset
    logarithms(widened, len(widened), logs, np.empty(len(widened), np.int64))


@loop
def _points_gradient(points, bounds, others, which, pulls, pushed):
    """Set the gradient by the points: ``pulls`` are derivatives by the squared distances of the pairs.

    Object i is compared with ``others`` from bounds[i] to bounds[i + 1], in the pairs ``which``.
    """
    for i in range(points.shape[0]):
        own = 0.0
        for a in range(bounds[i], bounds[i + 1]):
            j, pull = np.uintp(others[a]), 2 * pulls[np.uintp(which[a])]
            own += pull
            for d in range(points.shape[1]):
                pushed[i, d] -= pull * points[j, d]
        for d in range(points.shape[1]):
            pushed[i, d] += own * points[i, d]


@loop
def _gather_odds(logs, rows, people, start, count, slopes, ratios, odds, small):
    """Set the log-ratio of distances of so many rows, their log-odds, and minus the size of these."""
    for a in range(count):
        ratios[a] = logs[np.uintp(rows[start + a, 1])] - logs[np.uintp(rows[start + a, 0])]
    for a in range(count):
        odds[a] = ratios[a] * slopes[np.uintp(people[start + a])]
        small[a] = -abs(odds[a])


@loop
def _answer_derivatives(odds, small, people, start, count, lapses, pulls, slips, chances):
    """Set chances, and the derivatives of their logarithms by log-odds (``pulls``) and lapse rates (``slips``)."""
    for a in range(count):
        inverse = 1 / (1 + small[a])
        less = small[a] * inverse
        chance = 1 - less if odds[a] > 0 else less
        lapse = lapses[np.uintp(people[start + a])]
        chances[a] = 0.5 * lapse + (1 - lapse) * chance
        surprise = 1 / chances[a]
        pulls[a] = (1 - lapse) * less * inverse * surprise  # chance * (1 - chance) = less * inverse
        slips[a] = (0.5 - chance) * surprise


@loop
def _scatter_derivatives(rows, people, start, count, ratios, pulls, slips, slopes, by_log, by_slope, by_lapse):
    """Add the derivatives by the logarithms of the pairs, and by the slope and the lapse rate of each person."""
    person = np.uintp(people[start])
    slope, of_slope, of_lapse = slopes[person], 0.0, 0.0
    for a in range(count):
        if people[start + a] != person:  # rows are in the order of people
            by_slope[person] += of_slope
            by_lapse[person] += of_lapse
            person = np.uintp(people[start + a])
            slope, of_slope, of_lapse = slopes[person], 0.0, 0.0
        of_slope += pulls[a] * ratios[a]
        of_lapse += slips[a]
        pull = pulls[a] * slope
        by_log[np.uintp(rows[start + a, 0])] -= pull
        by_log[np.uintp(rows[start + a, 1])] += pull
    by_slope[person] += of_slope
    by_lapse[person] += of_lapse


@loop
def _log_likelihood(logs, rows, weights, people, slopes, lapses, by_log, by_slope, by_lapse):
    """Return the log-likelihood of comparisons of two pairs, and add its derivatives."""
    total = 0.0
    odds, ratios, small, chances = (
        np.empty(BLOCK_ROWS),
        np.empty(BLOCK_ROWS),
        np.empty(BLOCK_ROWS),
        np.empty(BLOCK_ROWS),
    )
    pulls, slips, bits = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS, np.int64)
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows.shape[0] - start)
        _gather_odds(logs, rows, people, start, count, slopes, ratios, odds, small)
        exponentials(small, count, small, bits)
        _answer_derivatives(odds, small, people, start, count, lapses, pulls, slips, chances)
        logarithms(chances, count, chances, bits)
        if weights.size:
            for a in range(count):
                chances[a] *= weights[start + a]
                pulls[a] *= weights[start + a]
                slips[a] *= weights[start + a]
        for a in range(count):
            total += chances[a]
        _scatter_derivatives(rows, people, start, count, ratios, pulls, slips, slopes, by_log, by_slope, by_lapse)
    return total


@loop_in_order
def _map_gradient(q, gradient, exposure, n_people, axes, lengths, factors, points, pushed, total):
    """Set the gradient by all that `place_objects` makes the map of, from that by its points, ``pushed``.

    Returns ``total`` with the log-priors of coordinates, axes and scales, which take part in the gradient too.
    """
    n, p = len(exposure), len(axes)
    first_axis = n * p
    first_scale = first_axis + p
    numbers = first_scale + n + 2 * n_people
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


@loop_in_order
def annotator_parameters(q, first, n_people, slopes, lapses):
    """Set slope and lapse rate of each person, or of all as the only one; return the offset, and d slope / d kernel."""
    numbers = first + 2 * n_people
    kernel = np.exp(q[numbers + 3])
    for a in range(len(slopes)):
        steeper = np.exp(q[numbers + 7]) * q[first + a] if n_people else 0.0
        careless = np.exp(q[numbers + 8]) * q[first + n_people + a] if n_people else 0.0
        slopes[a] = np.exp(q[numbers + 2] + steeper) * (1 + kernel)
        lapses[a] = 1 / (1 + np.exp(-q[numbers + 4] - careless))
    return 2 * kernel


@loop_in_order
def _number_gradient(
    q, gradient, first, n_people, slopes, lapses, by_slope, by_lapse, by_offset, centres, scales, total
):
    """Set the gradient by people and by all numbers, those of the map with their priors; return ``total``."""
    numbers = first + 2 * n_people
    kernel = np.exp(q[numbers + 3])
    for a in range(2, 9):
        if a != 5 and a != 6:
            gradient[numbers + a] = 0.0
    gradient[numbers + 3] = by_offset * 2 * kernel
    for a in range(len(slopes)):
        slope = by_slope[a] * slopes[a]
        lapse = by_lapse[a] * lapses[a] * (1 - lapses[a])
        gradient[numbers + 2] += slope
        gradient[numbers + 3] += slope * kernel / (1 + kernel)
        gradient[numbers + 4] += lapse
        if n_people:
            steeper, careless = q[first + a], q[first + n_people + a]
            gradient[first + a] = slope * np.exp(q[numbers + 7]) - steeper
            gradient[first + n_people + a] = lapse * np.exp(q[numbers + 8]) - careless
            gradient[numbers + 7] += slope * np.exp(q[numbers + 7]) * steeper
            gradient[numbers + 8] += lapse * np.exp(q[numbers + 8]) * careless
            total -= 0.5 * (steeper * steeper + careless * careless)
    for a in range(N_NUMBERS):
        away = (q[numbers + a] - centres[a]) / scales[a]
        if a == 6:
            total -= np.log1p(away * away)
            gradient[numbers + a] -= 2 * away / (1 + away * away) / scales[a]
        else:
            total -= 0.5 * away * away
            gradient[numbers + a] -= away / scales[a]
    return total


@loop_in_order
def density(q, gradient, compared, beside, rows, weights, people, exposure, n_people, p, centres, scales):
    """Return the log-density at q up to a constant, and set its gradient.

    ``compared`` are pairs of objects, (k, 2), and ``beside`` says what each object is compared with. ``rows`` are
    comparisons of two of the pairs, in the order of ``people``. ``centres`` and ``scales`` are those of the priors of
    the numbers: normal, and Cauchy for the exposure.
    """
    n = len(exposure)
    # Without a rest that is not a multiple of eight, loops over dimensions are done by vector instructions.
    width = p if p <= MAX_UNPADDED_DIMENSIONS else (p + 7) // 8 * 8
    points = np.zeros((n, width))
    pushed = np.zeros((n, width))
    axes = np.empty(p)
    lengths = np.empty(n)
    factors = np.empty(n)
    place_objects(q, exposure, n_people, axes, lengths, factors, points)
    first = n * p + p + n
    slopes, lapses = np.empty(max(n_people, 1)), np.empty(max(n_people, 1))
    offset = annotator_parameters(q, first, n_people, slopes, lapses)
    widened, logs = np.empty(len(compared)), np.empty(len(compared))
    _pair_logs(points, compared, offset, widened, logs)
    by_log, by_slope, by_lapse = np.zeros(len(compared)), np.zeros(len(slopes)), np.zeros(len(slopes))
    total = _log_likelihood(logs, rows, weights, people, slopes, lapses, by_log, by_slope, by_lapse)
    by_offset = 0.0
    for a in range(len(by_log)):
        by_log[a] /= widened[a]
        by_offset += by_log[a]
    bounds, others, which = beside
    _points_gradient(points, bounds, others, which, by_log, pushed)
    total = _map_gradient(q, gradient, exposure, n_people, axes, lengths, factors, points, pushed, total)
    return _number_gradient(
        q, gradient, first, n_people, slopes, lapses, by_slope, by_lapse, by_offset, centres, scales, total
    )


@loop_in_order
def predict(points, slopes, offsets, lapses, objects, start, stop, chances):
    """Set ``chances`` of rows start to stop to the mean over draws (k maps, (k, n, p)) of the chance that they hold."""
    answers = np.empty(0, np.int8)
    ratios, signs, bits = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS, np.int64)
    for first in range(start, stop, BLOCK_ROWS):
        count = min(BLOCK_ROWS, stop - first)
        for a in range(count):
            chances[first + a] = 0.0
        for draw in range(points.shape[0]):
            share = 0.5 * (1 - lapses[draw]) / points.shape[0]
            for a in range(count):
                i, j, l, k = pair_objects(objects, answers, first + a)  # noqa: E741
                near, far = _near_far(points[draw], i, j, l, k)
                ratios[a] = (min(near, far) + offsets[draw]) / (max(near, far) + offsets[draw])
                signs[a] = share if far > near else -share
            logarithms(ratios, count, ratios, bits)
            for a in range(count):
                ratios[a] *= slopes[draw]
            exponentials(ratios, count, ratios, bits)
            for a in range(count):
                chances[first + a] += signs[a] * (1 - ratios[a]) / (1 + ratios[a])
        # By way of the larger of the two chances, so that exchanging the pairs gives the complement to the last bit.
        for a in range(count):
            larger = 0.5 + abs(chances[first + a])
            chances[first + a] = larger if chances[first + a] > 0 else 1 - larger
