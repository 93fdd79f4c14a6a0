"""The search: a common map first, then the turn in which weights explain most, then map and weights together.

Spreads and unknowns take turns: the unknowns climb to the highest density for given spreads, the spreads to the highest
evidence around these unknowns. Weights are kept only if they raise the evidence by more than 1 for each thing that was
chosen to raise it: the spread, and the angles of the axes (Akaike's count). Otherwise nothing says that people differ,
and the axes are free to point anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, minimize

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects
from nearer.embedding.fitting import Recipe, fit_points
from nearer.embedding.individual.axes import likeliest_turn, metrics
from nearer.embedding.individual.evidence import around, evidence, likeliest_spread
from nearer.embedding.individual.likelihood import Spread, Unknowns, WeightedModel
from nearer.geometry import align, fix_signs, to_principal_axes
from nearer.model import StudentT
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Factored, Progress
from nearer.sampling.model import distinct_comparisons

_FIRST_STEEPNESS, _FIRST_NUMBERS = 0.3, (1.5, 0.0, -4.0)
_ROUNDS, _SETTLED = 8, 0.03  # of the logarithms of the spreads
_MAX_ITER = 500
LONGEST = 2 * _ROUNDS + 2  # steps


@dataclass(eq=False)
class Found:
    """Where a search is.

    Attributes
    ----------
    model : WeightedModel
    unknowns : Unknowns
    evidence : float
    gain : float
        What weights add to the evidence of the common map; 0 if they were not kept.
    history : list of Progress
        Minus the log-density after each climb.
    n_iter : int
    converged, interrupted : bool
    """

    model: WeightedModel
    unknowns: Unknowns
    evidence: float = -np.inf
    gain: float = 0.0
    history: list[Progress] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = True
    interrupted: bool = False


def search(
    comparisons: Comparisons,
    n_components: int,
    spread: float | None,
    rng: np.random.Generator,
    start: FloatArray | None = None,
    step: Callable[[str], object] = lambda what: None,
) -> Found:
    """Return the likeliest map, weights and spreads.

    Ctrl-C ends the search with what it has; before there is a common map it goes through.

    Parameters
    ----------
    comparisons : Comparisons
        Of two people or more.
    n_components : int
    spread : float or None
        Of the logarithms of weights; None to find it.
    rng : numpy Generator
    start : ndarray, shape (n, p), optional
        A map to go on from.
    step : callable
        Called with the name of each step before it begins.
    """
    step("common map")
    seen = seen_objects(comparisons)
    points = _first_map(comparisons, n_components, rng) if start is None else start
    size = np.sqrt(np.mean(np.sum(points[seen] ** 2, axis=1)))
    model = WeightedModel(distinct_comparisons(comparisons), len(points), n_components, Spread(0.0, _FIRST_STEEPNESS))
    people = np.zeros((model.n_people, n_components + 1))
    found = Found(model, Unknowns(points / size if size > 0 else points, people, np.array(_FIRST_NUMBERS)))
    found = settled(found, seen, step, weights=False)
    if spread == 0 or found.interrupted:
        return _turned_onto(found, start, seen)
    try:
        step("axes")
        turned = _turned(found, rng, spread)
        weighted = settled(turned, seen, step, weights=spread is None)
    except KeyboardInterrupt:
        return replace(_turned_onto(found, start, seen), interrupted=True)
    weighted.gain = weighted.evidence - found.evidence
    chosen = 1 + n_components * (n_components - 1) // 2
    if spread is None and weighted.gain <= chosen:
        found = replace(found, n_iter=weighted.n_iter, history=weighted.history, interrupted=weighted.interrupted)
        return _turned_onto(found, start, seen)
    return in_order(weighted, start)


def _first_map(comparisons: Comparisons, n_components: int, rng: np.random.Generator) -> FloatArray:
    recipe = Recipe(StudentT(3.0), Penalty(trace=0.001, ridge=0.0), Factored(tol=1e-4), n_components)
    return fit_points(InMemory(comparisons), recipe, rng).embedding


def _turned(found: Found, rng: np.random.Generator, spread: float | None) -> Found:
    """Return a common map along the axes in which weights explain most, each weight where that is likeliest."""
    model, unknowns = found.model, found.unknowns
    turn, spreads = likeliest_turn(metrics(model, unknowns), model.contrasts, rng)
    spreads = spreads if spread is None else Spread(spread, spreads.steepness)
    return replace(
        found, model=replace(model, spread=spreads), unknowns=unknowns._replace(points=unknowns.points @ turn)
    )


def settled(found: Found, seen: NDArray[np.bool_], step: Callable[[str], object], *, weights: bool) -> Found:
    """Return the most evident of what taking turns comes by; ``weights``: find the spread of the weights, too."""
    best: Found | None = None
    for _ in range(_ROUNDS):
        try:
            step("weights" if found.model.spread.weights else "common map")
            found = climbed(found, seen)
            found = replace(found, evidence=evidence(found.model, found.unknowns))
            best = found if best is None or found.evidence >= best.evidence else best
            spread = likeliest_spread(around(found.model, found.unknowns), found.model.spread, weights=weights)
        except KeyboardInterrupt:
            if not found.history:
                raise
            return replace(best or found, interrupted=True)
        moved = np.abs(np.log(np.maximum(spread, 1e-12)) - np.log(np.maximum(found.model.spread, 1e-12))).max()
        if moved < _SETTLED:
            break
        found = _respread(found, spread)
    assert best is not None, "there are rounds"
    return replace(best, history=found.history, n_iter=found.n_iter)


def _respread(found: Found, spread: Spread) -> Found:
    """Return a search with other spreads; people who are too different for smaller ones become less so.

    A climb from what has become next to impossible would begin with a leap, and end anywhere.
    """
    model = replace(found.model, spread=spread)
    before, after = found.model.deviations, model.deviations
    shrunk = np.minimum(after / np.where(before > 0, before, after.clip(min=1e-300)), 1.0)
    return replace(found, model=model, unknowns=found.unknowns._replace(people=found.unknowns.people * shrunk))


def climbed(found: Found, seen: NDArray[np.bool_]) -> Found:
    """Return the unknowns of highest density, with weights whose logarithms have a mean of 0 over people."""
    model = found.model

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = model.density(vector)
        return -value, -gradient

    ended = minimize(
        loss, model.pack(found.unknowns), jac=True, method="L-BFGS-B",
        options={"maxiter": _MAX_ITER, "maxfun": 2 * _MAX_ITER, "maxcor": 20, "ftol": 1e-7, "gtol": 1e-3},
    )  # fmt: skip
    n_iter = found.n_iter + int(ended.nit)
    history = [*found.history, Progress(n_iter, float(ended.fun), float("nan"))]
    unknowns = centred(model, model.unpack(ended.x), seen)
    return replace(found, unknowns=unknowns, history=history, n_iter=n_iter, converged=ended.nit < _MAX_ITER)


def centred(model: WeightedModel, unknowns: Unknowns, seen: NDArray[np.bool_]) -> Unknowns:
    """Return the same distances for everybody from weights with a geometric mean of 1 over people, and a centred map.

    A map whose axes nothing fixes has them in order of falling variance, as has one in which people weigh axes.
    """
    if model.spread.weights == 0:
        return unknowns._replace(points=to_principal_axes(unknowns.points, seen))
    people = unknowns.people.copy()
    means = people[:, : model.n_components - 1].mean(axis=0)
    people[:, : model.n_components - 1] -= means
    points = np.where(seen[:, None], unknowns.points - unknowns.points[seen].mean(axis=0), 0.0)
    return unknowns._replace(points=points * np.exp(model.contrasts @ means / 2), people=people)


def in_order(found: Found, onto: FloatArray | None) -> Found:
    """Return axes in order of falling variance, or as those of an earlier map; signs are free."""
    points, people, numbers = found.unknowns
    order = np.argsort(-np.sum(points**2, axis=0), kind="stable")
    if onto is not None:
        order = linear_sum_assignment(-np.abs(onto.T @ points))[1]
    points = fix_signs(points[:, order])
    if onto is not None:
        points = points * np.where(np.sum(points * onto, axis=0) < 0, -1.0, 1.0)
    logs = found.model.log_weights(people)[:, order]
    people = np.column_stack([logs @ found.model.contrasts, people[:, -2:]])
    return replace(found, unknowns=Unknowns(points, people, numbers))


def _turned_onto(found: Found, onto: FloatArray | None, seen: NDArray[np.bool_]) -> Found:
    """Return a common map, whose axes are free, turned to lie on an earlier one."""
    if onto is None:
        return found
    points = align(found.unknowns.points, onto, scaling=False, moving=False, seen=seen)
    return replace(found, unknowns=found.unknowns._replace(points=points))
