r"""Which way the axes of a common map point: the turn in which people differ by weights alone.

In a map turned by R the metric of a person is W_s = R diag(w_s) R^T. Close to the common map, W_s = I + A_s, the
log-likelihood of a person is quadratic in the symmetric A_s, whatever the axes; a turn picks those A_s that it makes
diagonal. So all turns can be compared by the evidence of `Quadratic` without another look at the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import special_ortho_group

from nearer._common.arrays import FloatArray
from nearer.embedding.individual.evidence import Quadratic, likeliest_spread, quadratic, slopes
from nearer.embedding.individual.likelihood import Spread, Unknowns, WeightedModel

_N_STARTS, _N_ANGLES, _SWEEPS = 12, 18, 3
_FIRST = Spread(0.5, 0.3)  # what turns are compared with


def metrics(model: WeightedModel, unknowns: Unknowns) -> Quadratic:
    """Return the log-likelihood of each person in (A, g, l) around a common map: A as diagonal, then rows above it."""
    gaps, _ = model.squares(unknowns.points)
    first, second = _entries(model.n_components)
    products = gaps[:, first] * gaps[:, second] * np.where(first == second, 1.0, 2.0)
    along, found = model.parts(unknowns)
    along = np.stack([products[model.answers.rows[:, side]] for side in (0, 1)])
    people = np.zeros((model.n_people, len(first) + 2))
    people[:, -2:] = unknowns.people[:, -2:]
    return quadratic(model, found, slopes(found, along, np.eye(len(first))), people)


def directions(turn: FloatArray, contrasts: FloatArray) -> FloatArray:
    """Return how (A, g, l) depend on (c, g, l) in a map turned by R, (q + 2, p + 1).

    Examples
    --------
    >>> directions(np.eye(2), np.array([[1.0], [-1.0]]))[:3, 0].tolist()
    [1.0, -1.0, 0.0]
    """
    first, second = _entries(len(turn))
    metric = (turn[first] * turn[second]) @ contrasts
    whole = np.zeros((len(first) + 2, contrasts.shape[1] + 2))
    whole[: len(first), :-2] = metric
    whole[-2:, -2:] = np.eye(2)
    return whole


def likeliest_turn(
    shape: Quadratic, contrasts: FloatArray, rng: np.random.Generator, start: Spread = _FIRST
) -> tuple[FloatArray, Spread]:
    """Return the turn of the axes, (p, p), in which weights explain most, and the spread of the weights there."""
    p = len(contrasts)
    deviations = np.array([*[start.weights] * (p - 1), start.steepness, 1.0])

    def height(turn: FloatArray) -> float:
        return shape.along(directions(turn, contrasts)).evidence(deviations)

    others = [] if p == 2 else list(special_ortho_group.rvs(p, size=_N_STARTS, random_state=rng))
    climbed = [_climbed(turn, height) for turn in (np.eye(p), *others)]
    turn = max(climbed, key=height)
    return turn, likeliest_spread(shape.along(directions(turn, contrasts)), start)


def _climbed(turn: FloatArray, height: Callable[[FloatArray], float]) -> FloatArray:
    """Return the best turn that turns in one plane after the other lead to."""
    p = len(turn)
    for sweep in range(1 if p == 2 else _SWEEPS):
        for plane in combinations(range(p), 2):
            angles = np.linspace(0, np.pi / 2, _N_ANGLES, endpoint=False) / 4**sweep
            turned = [turn @ in_plane(p, plane, angle - angles[-1] / 2 * (sweep > 0)) for angle in angles]
            turn = max([turn, *turned], key=height)
    return turn


def in_plane(n_components: int, plane: tuple[int, int], angle: float) -> FloatArray:
    """Return the turn of two axes by an angle, (p, p).

    Examples
    --------
    >>> in_plane(2, (0, 1), np.pi / 2).round(6).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    turn = np.eye(n_components)
    a, b = plane
    turn[[a, b], [a, b]] = np.cos(angle)
    turn[a, b], turn[b, a] = -np.sin(angle), np.sin(angle)
    return turn


def _entries(n_components: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the different entries of a symmetric matrix."""
    above = np.triu_indices(n_components, 1)
    diagonal = np.arange(n_components)
    return np.concatenate([diagonal, above[0]]), np.concatenate([diagonal, above[1]])
