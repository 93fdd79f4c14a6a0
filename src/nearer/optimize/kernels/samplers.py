"""Steps of the samplers of the posterior: no-U-turn and microcanonical Langevin.

`transition` is one step of the no-U-turn sampler (Hoffman and Gelman 2014) with multinomial choice of the draw
(Betancourt 2017). The tree is built leaf by leaf: only the momenta at the left ends of the open subtrees are kept.
`walk` takes steps of microcanonical Langevin dynamics (Robnik, De Luca, Silverstein and Seljak 2023): a particle of
constant speed, which the gradient of the log-density turns, and whose direction is forgotten after a while.
"""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import inlined_in_order, loop_in_order
from nearer.optimize.kernels.posterior import density

MAX_ENERGY_ERROR = 1000.0  # of log-density lost on the way


@inlined_in_order
def _log_sum(a, b):
    """Return log(exp(a) + exp(b))."""
    most = max(a, b)
    return most + np.log(np.exp(a - most) + np.exp(b - most))


# Loops and not assignments of whole arrays, for which numba compiles messages about shapes: as long as all the rest.


@inlined_in_order
def _copy(source, target):
    for a in range(target.size):
        target[a] = source[a]


@inlined_in_order
def _add(source, target):
    for a in range(target.size):
        target[a] += source[a]


@inlined_in_order
def _is_u_turn(inverse_mass, left, right, total):
    """Whether a trajectory with these momenta at its ends, and this sum of all momenta, makes a U-turn."""
    at_left = 0.0
    at_right = 0.0
    for a in range(inverse_mass.size):
        inner = inverse_mass[a] * (total[a] - 0.5 * (left[a] + right[a]))
        at_left += left[a] * inner
        at_right += right[a] * inner
    return at_left <= 0 or at_right <= 0


@loop_in_order
def _leapfrog(q, momentum, gradient, step, inverse_mass, model):
    """Move by one leapfrog step, all three in place; return the log-density there and twice the kinetic energy."""
    for a in range(q.size):
        momentum[a] += 0.5 * step * gradient[a]
        q[a] += step * inverse_mass[a] * momentum[a]
    value = density(q, gradient, *model)
    energy = 0.0
    for a in range(q.size):
        momentum[a] += 0.5 * step * gradient[a]
        energy += inverse_mass[a] * momentum[a] * momentum[a]
    return value, energy


@loop_in_order
def _closes_u_turn(leaf, momentum, total, inverse_mass, kept, kept_total, inner):
    """Whether a subtree that this leaf of the new half completes makes a U-turn."""
    # ``total`` is the sum of momenta so far; ``kept`` and ``kept_total`` hold the momentum and the sum at the left end
    # of each open subtree, and are updated; ``inner`` is workspace.
    level = 0
    bits = leaf >> 1
    while bits:
        level += bits & 1
        bits >>= 1
    if leaf & 1 == 0:
        _copy(momentum, kept[level])
        _copy(total, kept_total[level])
        return False
    bits = leaf
    while bits & 1:  # as many subtrees are closed as there are 1s at the end of the number
        for a in range(momentum.size):
            inner[a] = total[a] - kept_total[level, a] + kept[level, a]
        if _is_u_turn(inverse_mass, kept[level], momentum, inner):
            return True
        level -= 1
        bits >>= 1
    return False


@loop_in_order
def transition(q, gradient, value, step, inverse_mass, max_depth, rng, model):
    """Return q, gradient, log-density, mean acceptance, number of steps and whether it diverged, of the next draw."""
    size = q.size
    momentum = np.empty(size)
    energy = 0.0
    for a in range(size):
        noise = rng.standard_normal()
        momentum[a] = noise / np.sqrt(inverse_mass[a]) if inverse_mass[a] > 0 else 0.0
        energy += inverse_mass[a] * momentum[a] * momentum[a]
    start = value - 0.5 * energy
    ends_q = (q.copy(), q.copy())
    ends_r = (momentum.copy(), momentum.copy())
    ends_g = (gradient.copy(), gradient.copy())
    total = momentum.copy()
    drawn_q, drawn_g, drawn_value = q.copy(), gradient.copy(), value
    weight = 0.0
    sub_q, sub_g, sub_value = np.empty(size), np.empty(size), 0.0
    room = np.empty(size)
    kept = np.empty((max_depth + 1, size))
    kept_total = np.empty((max_depth + 1, size))
    acceptance = 0.0
    n_steps = 0
    for depth in range(max_depth):
        side = 1 if rng.random() < 0.5 else 0
        at, r, g = ends_q[side], ends_r[side], ends_g[side]
        sub_total = np.zeros(size)
        sub_weight = -np.inf
        for leaf in range(1 << depth):
            here, energy = _leapfrog(at, r, g, step if side else -step, inverse_mass, model)
            _add(r, sub_total)
            n_steps += 1
            gain = here - 0.5 * energy - start
            if not gain > -MAX_ENERGY_ERROR:
                return drawn_q, drawn_g, drawn_value, acceptance / n_steps, n_steps, True
            acceptance += np.exp(min(gain, 0.0))
            sub_weight = _log_sum(sub_weight, gain)
            if np.log(rng.random()) < gain - sub_weight:
                _copy(at, sub_q)
                _copy(g, sub_g)
                sub_value = here
            if _closes_u_turn(leaf, r, sub_total, inverse_mass, kept, kept_total, room):
                return drawn_q, drawn_g, drawn_value, acceptance / n_steps, n_steps, False
        if np.log(rng.random()) < sub_weight - weight:
            _copy(sub_q, drawn_q)
            _copy(sub_g, drawn_g)
            drawn_value = sub_value
        weight = _log_sum(weight, sub_weight)
        _add(sub_total, total)
        if _is_u_turn(inverse_mass, ends_r[0], ends_r[1], total):
            break
    return drawn_q, drawn_g, drawn_value, acceptance / n_steps, n_steps, False


NOISE_INTERVAL_STEPS = 5  # random numbers cost as much as the density of a few answers


@loop_in_order
def _normalize(velocity):
    total = 0.0
    for a in range(velocity.size):
        total += velocity[a] * velocity[a]
    norm = np.sqrt(total)
    for a in range(velocity.size):
        velocity[a] /= norm


@loop_in_order
def _rotate_velocity(velocity, gradient, scales, step):
    """Rotate the velocity towards the gradient, as half a step does; return the change of the kinetic energy."""
    norm = 1e-300
    along = 0.0
    for a in range(velocity.size):
        slope = gradient[a] * scales[a]
        norm += slope * slope
        along += slope * velocity[a]
    norm = np.sqrt(norm)
    along /= norm
    angle = 0.5 * step * norm / (velocity.size - 1)
    # cosh and sinh of the angle, both times its negative exponential, which cannot overflow.
    shrunk = np.exp(-angle)
    cosh, sinh = 0.5 * (1 + shrunk * shrunk), 0.5 * (1 - shrunk * shrunk)
    stretch = cosh + along * sinh
    towards = (sinh + along * (cosh - shrunk)) / (norm * stretch)
    for a in range(velocity.size):
        velocity[a] = velocity[a] * (shrunk / stretch) + gradient[a] * scales[a] * towards
    return (velocity.size - 1) * (angle + np.log(stretch))


@loop_in_order
def walk(q, velocity, gradient, value, step, length, scales, n_steps, rng, model):
    """Take steps in place; return the log-density and the mean squared error of the energy in a step."""
    error = 0.0
    for number in range(1, n_steps + 1):
        before = value
        energy = _rotate_velocity(velocity, gradient, scales, step)
        for a in range(q.size):
            q[a] += step * scales[a] * velocity[a]
        value = density(q, gradient, *model)
        energy += _rotate_velocity(velocity, gradient, scales, step)
        error += (energy - (value - before)) ** 2
        if number % NOISE_INTERVAL_STEPS == 0 or number == n_steps:
            since = (number - 1) % NOISE_INTERVAL_STEPS + 1
            noise = np.sqrt((np.exp(2 * since * step / length) - 1) / q.size)
            for a in range(q.size):
                velocity[a] += noise * rng.standard_normal()
            _normalize(velocity)
    return value, error / n_steps
