"""The density of a Bayesian map, and predictions from many draws of it.

The unknowns are one vector q: coordinates z (n p numbers), a weight u for each axis (p), a scale v for each object (n),
effects on the slope and on the lapse rate of each annotator (a each; a = 0 where annotators are not distinguished), and
the nine hyperparameters of `nearer.sampling.model`. All are independent and standard normal, or nearly so, a priori.
`place_objects` makes a map of them and `density` adds the log-likelihood of the comparisons given that map.

The expensive part is done for pairs of objects, of which there are often fewer than comparisons. Each comparison then
looks up two logarithms, and adds two numbers to the gradient.
"""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import inlined_in_order, loop, loop_in_order
from nearer.optimize.kernels.points import near_far, pair_objects

N_NUMBERS = 9
MIN_SQUARED_LENGTH = 1e-12  # so that an object at the origin has a direction
BLOCK_ROWS = 512  # comparisons at a time: what is kept of them between passes stays in the nearest cache
MAX_UNPADDED_DIMENSIONS = 4
MIN_EXPONENT = -700.0  # of which the exponential is a normal number
_LOG2_E, _LN2 = 1.4426950408889634, 0.6931471805599453
_LN2_HIGH, _LN2_LOW = 6.93147180369123816e-1, 1.90821492927058770e-10
SQRT_HALF_BITS = 4604544271217802189  # the bits of sqrt(1/2)
_near_far = inlined_in_order(near_far.py_func)


@loop
def exponentials(x, count, result, bits):
    """Set the first ``count`` entries of ``result`` to exp(x), x at most 0; ``bits``, of int64, is workspace."""
    # Written out, and not np.exp, so that eight are done at a time: exp(r) 2^k.
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
    """Set the first ``count`` entries of ``result`` to log(x), x normal and positive: k log(2) + 2 artanh(s)."""
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
def place_objects(q, exposure, n_annotators, axes, lengths, factors, points):
    """Set ``points`` (n, p or more) to the map of q; also spreads of axes, squared lengths and factors of scaling."""
    # The spreads exp(sigma u) are normalized to a sum of squares of 1. An object of coordinates y is scaled to length
    # |y|^radius times exp(omega v + gamma exposure).
    n, p = len(exposure), len(axes)
    numbers = n * p + p + n + 2 * n_annotators
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
    """Set offset + d^2 and its logarithm for the pairs that are compared."""
    for a in range(compared.shape[0]):
        i, j = np.uintp(compared[a, 0]), np.uintp(compared[a, 1])
        total = 0.0
        for d in range(points.shape[1]):
            deviation = points[i, d] - points[j, d]
            total += deviation * deviation
        widened[a] = total + offset
    logarithms(widened, len(widened), logs, np.empty(len(widened), np.int64))


@loop
def _points_gradient(points, bounds, others, which, pulls, by_points):
    """Set the gradient by the points: ``pulls`` are derivatives by the squared distances of the pairs."""
    # Object i is compared with ``others`` from bounds[i] to bounds[i + 1], in the pairs ``which``.
    for i in range(points.shape[0]):
        own = 0.0
        for a in range(bounds[i], bounds[i + 1]):
            j, pull = np.uintp(others[a]), 2 * pulls[np.uintp(which[a])]
            own += pull
            for d in range(points.shape[1]):
                by_points[i, d] -= pull * points[j, d]
        for d in range(points.shape[1]):
            by_points[i, d] += own * points[i, d]


@loop
def _gather_odds(logs, rows, annotators, start, count, slopes, ratios, odds, small):
    """Set the log-ratio of distances of ``count`` rows, their log-odds, and minus the size of these."""
    for a in range(count):
        ratios[a] = logs[np.uintp(rows[start + a, 1])] - logs[np.uintp(rows[start + a, 0])]
    for a in range(count):
        odds[a] = ratios[a] * slopes[np.uintp(annotators[start + a])]
        small[a] = -abs(odds[a])


@loop
def _answer_derivatives(odds, small, annotators, start, count, lapses, pulls, by_lapses, probabilities):
    """Set probabilities, and the derivatives of their logarithms by log-odds (``pulls``) and by lapse rates."""
    for a in range(count):
        inverse = 1 / (1 + small[a])
        less = small[a] * inverse
        probability = 1 - less if odds[a] > 0 else less
        lapse = lapses[np.uintp(annotators[start + a])]
        probabilities[a] = 0.5 * lapse + (1 - lapse) * probability
        surprise = 1 / probabilities[a]
        pulls[a] = (1 - lapse) * less * inverse * surprise  # probability * (1 - probability) = less * inverse
        by_lapses[a] = (0.5 - probability) * surprise


@loop
def _scatter_derivatives(rows, annotators, start, count, ratios, pulls, by_lapses, slopes, by_log, by_slope, by_lapse):
    """Add the derivatives by the logarithms of the pairs, and by the slope and the lapse rate of each annotator."""
    person = np.uintp(annotators[start])
    slope, of_slope, of_lapse = slopes[person], 0.0, 0.0
    for a in range(count):
        if annotators[start + a] != person:  # rows are sorted by annotator
            by_slope[person] += of_slope
            by_lapse[person] += of_lapse
            person = np.uintp(annotators[start + a])
            slope, of_slope, of_lapse = slopes[person], 0.0, 0.0
        of_slope += pulls[a] * ratios[a]
        of_lapse += by_lapses[a]
        pull = pulls[a] * slope
        by_log[np.uintp(rows[start + a, 0])] -= pull
        by_log[np.uintp(rows[start + a, 1])] += pull
    by_slope[person] += of_slope
    by_lapse[person] += of_lapse


@loop
def _log_likelihood(logs, rows, weights, annotators, slopes, lapses, by_log, by_slope, by_lapse):
    """Return the log-likelihood of comparisons of two pairs, and add its derivatives."""
    total = 0.0
    odds, ratios, small = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    probabilities, pulls, by_lapses = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS)
    bits = np.empty(BLOCK_ROWS, np.int64)
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows.shape[0] - start)
        _gather_odds(logs, rows, annotators, start, count, slopes, ratios, odds, small)
        exponentials(small, count, small, bits)
        _answer_derivatives(odds, small, annotators, start, count, lapses, pulls, by_lapses, probabilities)
        logarithms(probabilities, count, probabilities, bits)
        if weights.size:
            for a in range(count):
                probabilities[a] *= weights[start + a]
                pulls[a] *= weights[start + a]
                by_lapses[a] *= weights[start + a]
        for a in range(count):
            total += probabilities[a]
        _scatter_derivatives(
            rows, annotators, start, count, ratios, pulls, by_lapses, slopes, by_log, by_slope, by_lapse
        )
    return total


@loop_in_order
def _map_gradient(q, gradient, exposure, n_annotators, axes, lengths, factors, points, by_points, by_axis, total):
    """Set the gradient by all that `place_objects` makes the map of, from that by its points and its spreads."""
    # Returns ``total`` with the log-priors of coordinates, axes and scales, which take part in the gradient too.
    n, p = len(exposure), len(axes)
    first_axis = n * p
    first_scale = first_axis + p
    numbers = first_scale + n + 2 * n_annotators
    sigma = np.exp(q[numbers])
    omega = np.exp(q[numbers + 1])
    radius = 1 / (1 + np.exp(-q[numbers + 5]))
    by_omega = 0.0
    by_radius = 0.0
    by_gamma = 0.0
    for i in range(n):
        by_factor = 0.0
        for d in range(p):
            by_factor += by_points[i, d] * points[i, d]
        by_radius += by_factor * np.log(lengths[i]) / 2
        by_gamma += by_factor * exposure[i]
        inward = (radius - 1) * by_factor / lengths[i]
        for d in range(p):
            z = q[i * p + d]
            y = axes[d] * z
            by_y = factors[i] * by_points[i, d] + inward * y
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
def annotator_parameters(q, first, n_annotators, slopes, lapses):
    """Set slope and lapse rate of each annotator, or of all as the only one; return the offset."""
    numbers = first + 2 * n_annotators
    kernel = np.exp(q[numbers + 3])
    for a in range(len(slopes)):
        slope_effect = np.exp(q[numbers + 7]) * q[first + a] if n_annotators else 0.0
        lapse_effect = np.exp(q[numbers + 8]) * q[first + n_annotators + a] if n_annotators else 0.0
        slopes[a] = np.exp(q[numbers + 2] + slope_effect) * (1 + kernel)
        lapses[a] = 1 / (1 + np.exp(-q[numbers + 4] - lapse_effect))
    return 2 * kernel


@loop_in_order
def _number_gradient(
    q, gradient, first, n_annotators, slopes, lapses, by_slope, by_lapse, by_offset, centers, scales, total
):
    """Set the gradient by annotators and hyperparameters, with their priors; return ``total``."""
    numbers = first + 2 * n_annotators
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
        if n_annotators:
            slope_effect, lapse_effect = q[first + a], q[first + n_annotators + a]
            gradient[first + a] = slope * np.exp(q[numbers + 7]) - slope_effect
            gradient[first + n_annotators + a] = lapse * np.exp(q[numbers + 8]) - lapse_effect
            gradient[numbers + 7] += slope * np.exp(q[numbers + 7]) * slope_effect
            gradient[numbers + 8] += lapse * np.exp(q[numbers + 8]) * lapse_effect
            total -= 0.5 * (slope_effect * slope_effect + lapse_effect * lapse_effect)
    for a in range(N_NUMBERS):
        deviation = (q[numbers + a] - centers[a]) / scales[a]
        if a == 6:
            total -= np.log1p(deviation * deviation)
            gradient[numbers + a] -= 2 * deviation / (1 + deviation * deviation) / scales[a]
        else:
            total -= 0.5 * deviation * deviation
            gradient[numbers + a] -= deviation / scales[a]
    return total


@loop_in_order
def place_people(q, people, axes, points, factors, departures, own):
    """Set the roots of people's weights, (people, p), departures from the map, (s, p), and ``own``, (s, p or more).

    ``own`` are the objects as people see them. ``q`` are the unknowns of people alone: of weights, of maps, and the
    logarithms of the spreads of both. Returns these spreads.
    """
    objects, whose, n_people, n_maps = people[:4]
    p = len(axes)
    of_weights, of_maps = np.exp(q[len(q) - 2]), np.exp(q[len(q) - 1])
    for a in range(n_people):
        for d in range(p):
            factors[a, d] = np.exp(0.5 * of_weights * q[a * p + d])
    first = n_people * p
    for s in range(len(objects)):
        for d in range(p):
            departures[s, d] = of_maps * axes[d] * q[first + s * p + d] if n_maps else 0.0
            own[s, d] = factors[whose[s], d] * (points[objects[s], d] + departures[s, d])
    return of_weights, of_maps


@loop_in_order
def _people_gradient(q, gradient, people, spreads, axes, factors, departures, own, by_own, by_points, by_axis):
    """Set the gradient by the unknowns of people, add to that by points and spreads of axes; return log-priors."""
    objects, whose, n_people, n_maps, centers, scales = people
    p, first, last = len(axes), n_people * len(axes), len(q) - 2
    for a in range(len(q)):
        gradient[a] = 0.0
    for s in range(len(objects)):
        for d in range(p):
            push = by_own[s, d] * factors[whose[s], d]
            by_points[objects[s], d] += push
            by_axis[d] += push * departures[s, d]
            gradient[whose[s] * p + d] += 0.5 * by_own[s, d] * own[s, d]
            if n_maps:
                gradient[first + s * p + d] = push * axes[d]
    total = 0.0
    for kind in range(2):
        start, stop, by_spread = first * kind, last if kind else first, 0.0
        for a in range(start, stop):
            by_spread += gradient[a] * q[a]
            gradient[a] = spreads[kind] * gradient[a] - q[a]
            total -= 0.5 * q[a] * q[a]
        deviation = (q[last + kind] - centers[kind]) / scales[kind]
        total -= 0.5 * deviation * deviation
        gradient[last + kind] = by_spread * spreads[kind] - deviation / scales[kind]
    return total


@loop_in_order
def _plain_density(
    q, gradient, compared, adjacency, rows, weights, annotators, exposure, n_annotators, p, centers, scales, people,
    of_people, by_people,
):  # fmt: skip
    """Return the log-density up to a constant, and set its gradient, where nothing is known of the objects."""
    # ``of_people`` are the unknowns of people's weights and maps, and ``by_people`` the gradient by these.
    # ``compared`` are pairs of objects, (k, 2), and ``adjacency`` lists those of each object. ``rows`` are comparisons
    # of two of the pairs, sorted by annotator. The priors of the hyperparameters are normal, Cauchy for the exposure.
    n = len(exposure)
    # Without a rest that is not a multiple of eight, loops over dimensions are done by vector instructions.
    width = p if p <= MAX_UNPADDED_DIMENSIONS else (p + 7) // 8 * 8
    points = np.zeros((n, width))
    by_points = np.zeros((n, width))
    axes = np.empty(p)
    lengths = np.empty(n)
    factors = np.empty(n)
    place_objects(q, exposure, n_annotators, axes, lengths, factors, points)
    n_places = len(people[0])
    of_weights, departures, own = np.empty((people[2], p)), np.empty((n_places, p)), np.zeros((n_places, width))
    spreads = (0.0, 0.0)
    if n_places:
        spreads = place_people(of_people, people, axes, points, of_weights, departures, own)
    first = n * p + p + n
    slopes, lapses = np.empty(max(n_annotators, 1)), np.empty(max(n_annotators, 1))
    offset = annotator_parameters(q, first, n_annotators, slopes, lapses)
    widened, logs = np.empty(len(compared)), np.empty(len(compared))
    _pair_logs(own if n_places else points, compared, offset, widened, logs)
    by_log, by_slope, by_lapse = np.zeros(len(compared)), np.zeros(len(slopes)), np.zeros(len(slopes))
    total = _log_likelihood(logs, rows, weights, annotators, slopes, lapses, by_log, by_slope, by_lapse)
    by_offset = 0.0
    for a in range(len(by_log)):
        by_log[a] /= widened[a]
        by_offset += by_log[a]
    bounds, others, which = adjacency
    by_axis = np.zeros(p)
    if n_places:
        by_own = np.zeros((n_places, width))
        _points_gradient(own, bounds, others, which, by_log, by_own)
        total += _people_gradient(
            of_people, by_people, people, spreads, axes, of_weights, departures, own, by_own, by_points, by_axis
        )
    else:
        _points_gradient(points, bounds, others, which, by_log, by_points)
    total = _map_gradient(
        q, gradient, exposure, n_annotators, axes, lengths, factors, points, by_points, by_axis, total
    )
    return _number_gradient(
        q, gradient, first, n_annotators, slopes, lapses, by_slope, by_lapse, by_offset, centers, scales, total
    )


@loop_in_order
def direction_weights(q, first, log_values, owners, shares, weights):
    """Set the share of each feature set in the variance of the coordinates, and the weight of each direction."""
    # From ``first`` on, q has the logits of the shares against the rest, then the logarithms of the powers.
    n_sets = len(shares)
    rest = 1.0
    for f in range(n_sets):
        shares[f] = np.exp(q[first + f])
        rest += shares[f]
    before, after = np.zeros(n_sets), np.zeros(n_sets)
    for k in range(len(weights)):
        weights[k] = np.exp(np.exp(q[first + n_sets + owners[k]]) * log_values[k])
        before[owners[k]] += np.exp(log_values[k])
        after[owners[k]] += weights[k]
    for f in range(n_sets):
        shares[f] /= rest
    for k in range(len(weights)):
        f = owners[k]
        weights[k] = np.sqrt(shares[f] * before[f] * weights[k] / after[f])


@loop_in_order
def mix_features(q, first, directions, log_values, owners, described, shares, weights, own, coordinates):
    """Set ``coordinates`` (n, p) to own deviations plus the directions of the features, whose factors begin at first.

    ``own`` are the weights of the deviations, and ``weights`` those of the directions.
    """
    n, p = coordinates.shape
    direction_weights(q, first + len(weights) * p, log_values, owners, shares, weights)
    for i in range(n):
        rest = 1.0
        for f in range(len(shares)):
            rest -= described[i, f] * shares[f]
        own[i] = np.sqrt(rest)
        for d in range(p):
            coordinates[i, d] = own[i] * q[i * p + d]
        for k in range(len(weights)):
            weight = weights[k] * directions[i, k]
            for d in range(p):
                coordinates[i, d] += weight * q[first + k * p + d]


@loop_in_order
def _unmix_gradient(q, gradient, first, features, shares, weights, own, coordinates):
    """Turn the gradient by coordinates into that by what `mix_features` makes them of; return the change of log-prior.

    On entry the gradient includes that of a standard normal prior of the coordinates, which is taken back.
    """
    directions, log_values, owners, described, centers, scales = features
    (n, p), n_sets = coordinates.shape, len(shares)
    by_direction, by_share = np.zeros((len(weights), p)), np.zeros(n_sets)
    change = 0.0
    for i in range(n):
        by_own = 0.0
        for d in range(p):
            z, deviation = coordinates[i, d], q[i * p + d]
            by_z = gradient[i * p + d] + z
            change += 0.5 * (z * z - deviation * deviation)
            by_own += by_z * deviation
            for k in range(len(weights)):
                by_direction[k, d] += directions[i, k] * by_z
            gradient[i * p + d] = own[i] * by_z - deviation
        for f in range(n_sets):
            by_share[f] -= by_own * described[i, f] / (2 * own[i])
    means, totals = np.zeros(n_sets), np.zeros(n_sets)
    for k in range(len(weights)):
        means[owners[k]] += weights[k] * weights[k] * log_values[k]
        totals[owners[k]] += weights[k] * weights[k]
    last = first + len(weights) * p
    by_log, by_power = np.zeros(n_sets), np.zeros(n_sets)  # by the logarithms of shares, and by powers
    for k in range(len(weights)):
        by_weight = 0.0
        for d in range(p):
            factor = q[first + k * p + d]
            by_weight += by_direction[k, d] * factor
            gradient[first + k * p + d] = weights[k] * by_direction[k, d] - factor
            change -= 0.5 * factor * factor
        f, half = owners[k], 0.5 * by_weight * weights[k]
        by_log[f] += half
        by_power[f] += half * (log_values[k] - means[f] / totals[f])
    mixed = 0.0
    for f in range(n_sets):
        by_log[f] += by_share[f] * shares[f]
        mixed += by_log[f]
    for f in range(n_sets):
        gradient[last + f] = by_log[f] - shares[f] * mixed
        gradient[last + n_sets + f] = by_power[f] * np.exp(q[last + n_sets + f])
    for a in range(2 * n_sets):
        deviation = (q[last + a] - centers[a]) / scales[a]
        change -= 0.5 * deviation * deviation
        gradient[last + a] -= deviation / scales[a]
    return change


@loop_in_order
def density(q, gradient, features, data):
    """Return the log-density at q up to a constant, and set its gradient.

    ``features`` is a `nearer.sampling.features.FeatureBasis`, and ``data`` what `_plain_density` takes. The unknowns of
    the map come first, then the factors of the directions of features, logits of shares and log-powers, then people.
    """
    directions, log_values, owners, described, _, _ = features
    exposure, n_annotators, p = data[5], data[6], data[7]
    n, n_sets = len(exposure), described.shape[1]
    core = n * p + p + n + 2 * n_annotators + N_NUMBERS
    own_first = core + directions.shape[1] * p + 2 * n_sets
    of_people, by_people = q[own_first:], gradient[own_first:]
    if directions.shape[1] == 0:
        return _plain_density(q[:core], gradient[:core], *data, of_people, by_people)
    shares, weights, own = np.empty(n_sets), np.empty(directions.shape[1]), np.empty(n)
    mixed = q[:core].copy()
    coordinates = mixed[: n * p].reshape(n, p)
    mix_features(q, core, directions, log_values, owners, described, shares, weights, own, coordinates)
    value = _plain_density(mixed, gradient[:core], *data, of_people, by_people)
    return value + _unmix_gradient(q, gradient, core, features, shares, weights, own, coordinates)


@loop_in_order
def predict(points, slopes, offsets, lapses, objects, start, stop, probabilities):
    """Set the mean probabilities, over draws of maps (k, n, p), that rows ``start`` to ``stop`` hold."""
    answers = np.empty(0, np.int8)
    ratios, signs, bits = np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS), np.empty(BLOCK_ROWS, np.int64)
    for first in range(start, stop, BLOCK_ROWS):
        count = min(BLOCK_ROWS, stop - first)
        for a in range(count):
            probabilities[first + a] = 0.0
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
                probabilities[first + a] += signs[a] * (1 - ratios[a]) / (1 + ratios[a])
        # Through the larger of the two probabilities: exchanging the pairs gives the complement to the last bit.
        for a in range(count):
            larger = 0.5 + abs(probabilities[first + a])
            probabilities[first + a] = larger if probabilities[first + a] > 0 else 1 - larger
