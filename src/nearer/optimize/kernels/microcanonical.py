"""Steps of microcanonical Langevin dynamics (Robnik, De Luca, Silverstein and Seljak 2023).

A particle of constant speed moves through the unknowns, and the gradient of the log-density turns it. Its path visits
each region as often as the density says, however many unknowns there are, up to the error of the step; and its
direction is forgotten after a while, by a little noise now and then.
"""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import in_order
from nearer.optimize.kernels.posterior import density

_NOISE_EVERY = 5  # steps: random numbers cost as much as the density of a few answers


@in_order
def _normalize(velocity):
    total = 0.0
    for a in range(velocity.size):
        total += velocity[a] * velocity[a]
    norm = np.sqrt(total)
    for a in range(velocity.size):
        velocity[a] /= norm


@in_order
def _turn(velocity, gradient, scales, step):
    """Turn the velocity towards the gradient, as half a step does; return the change of the kinetic energy.

    Its norm stays 1 but for rounding.
    """
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


@in_order
def walk(q, velocity, gradient, value, step, length, scales, n_steps, rng, model):
    """Take so many steps; q, the velocity and the gradient are changed in place.

    Parameters
    ----------
    q, velocity, gradient : ndarray, shape (size,)
        The velocity has norm 1.
    value : float
        The log-density at q.
    step, length : float
        Of a step, and of the path on which the direction is forgotten, in units of the scales.
    scales : ndarray, shape (size,)
        About as far as each unknown varies.
    n_steps : int
    rng : numpy Generator
    model : tuple
        The arguments of the density.

    Returns
    -------
    value : float
        The log-density at the end.
    error : float
        The mean squared error of the energy in a step.
    """
    error = 0.0
    for number in range(1, n_steps + 1):
        before = value
        energy = _turn(velocity, gradient, scales, step)
        for a in range(q.size):
            q[a] += step * scales[a] * velocity[a]
        value = density(q, gradient, *model)
        energy += _turn(velocity, gradient, scales, step)
        error += (energy - (value - before)) ** 2
        if number % _NOISE_EVERY == 0 or number == n_steps:
            since = (number - 1) % _NOISE_EVERY + 1
            noise = np.sqrt((np.exp(2 * since * step / length) - 1) / q.size)
            for a in range(q.size):
                velocity[a] += noise * rng.standard_normal()
            _normalize(velocity)
    return value, error / n_steps
