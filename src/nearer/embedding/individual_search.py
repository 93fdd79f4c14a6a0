"""The search for the common map, its axes, the weights of people, and kinds of people, in this order.

*Axes.* In a map rotated by R the metric of a person is W_s = R diag(w_s) R^T. Close to the common map, W_s = I + A_s,
the log-likelihood of a person is quadratic in the symmetric A_s, whatever the axes; a rotation selects the A_s that it
makes diagonal. So all rotations are compared by the evidence of `Quadratic` without another look at the answers.

*Weights* are accepted only if they raise the evidence by more than 1 for each parameter chosen to raise it: the spread,
and the angles of the axes (AIC).

*Kinds.* A mixture of K normal distributions of equal width is fitted to what answers say about the contrasts, by
expectation maximization (as in Bovy, Hogg and Roweis 2011). K minimizes BIC, provided that each kind has three people
or more, and that BIC is below that of one kind by 6 or more, strong evidence (Kass and Raftery 1995).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment, minimize
from scipy.special import logsumexp
from scipy.stats import special_ortho_group
from sklearn.cluster import KMeans

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects
from nearer.embedding.fitting import Recipe, fit_points
from nearer.embedding.individual_model import (
    Quadratic,
    Spread,
    Unknowns,
    WeightedModel,
    evidence,
    expand,
    likeliest_spread,
    quadratic,
    slopes,
)
from nearer.geometry import align, fix_signs, to_principal_axes
from nearer.model import StudentT
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Factored, Progress
from nearer.sampling.model import distinct_comparisons

_N_RANDOM_STARTS, _N_ANGLES, _N_SWEEPS = 12, 18, 3
_COMPARISON_SPREAD = Spread(0.5, 0.3)  # with which rotations are compared


def metric_quadratic(model: WeightedModel, unknowns: Unknowns) -> Quadratic:
    """Return the log-likelihood of each person in (A, g, l) around a common map: A as diagonal, then rows above it."""
    gaps = model.gaps(unknowns.points)
    first, second = _symmetric_entries(model.n_components)
    products = gaps[:, first] * gaps[:, second] * np.where(first == second, 1.0, 2.0)
    found = model.parts(unknowns)[1]
    along = np.stack([products[model.answers.rows[:, side]] for side in (0, 1)])
    people = np.zeros((model.n_people, len(first) + 2))
    people[:, -2:] = unknowns.people[:, -2:]
    return quadratic(model, found, slopes(found, along, np.eye(len(first))), people)


def rotated_contrasts(rotation: FloatArray, contrasts: FloatArray) -> FloatArray:
    """Return how (A, g, l) depend on (c, g, l) in a map rotated by R, (q + 2, p + 1)."""
    first, second = _symmetric_entries(len(rotation))
    return block_diag((rotation[first] * rotation[second]) @ contrasts, np.eye(2))


def likeliest_rotation(shape: Quadratic, contrasts: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, Spread]:
    """Return the rotation of the axes, (p, p), in which weights explain most, and the spread of the weights there."""
    p, start = len(contrasts), _COMPARISON_SPREAD
    deviations = np.array([*[start.weights] * (p - 1), start.steepness, 1.0])

    def height(rotation: FloatArray) -> float:
        return shape.along(rotated_contrasts(rotation, contrasts)).evidence(deviations)

    others = [] if p == 2 else list(special_ortho_group.rvs(p, size=_N_RANDOM_STARTS, random_state=rng))
    climbed = [_coordinate_ascent(rotation, height) for rotation in (np.eye(p), *others)]
    rotation = max(climbed, key=height)
    return rotation, likeliest_spread(shape.along(rotated_contrasts(rotation, contrasts)), start)


def _coordinate_ascent(rotation: FloatArray, height: Callable[[FloatArray], float]) -> FloatArray:
    """Return the best rotation that rotations in one plane after the other lead to."""
    p = len(rotation)
    for sweep in range(1 if p == 2 else _N_SWEEPS):
        for plane in combinations(range(p), 2):
            angles = np.linspace(0, np.pi / 2, _N_ANGLES, endpoint=False) / 4**sweep
            rotated = [rotation @ plane_rotation(p, plane, angle - angles[-1] / 2 * (sweep > 0)) for angle in angles]
            rotation = max([rotation, *rotated], key=height)
    return rotation


def plane_rotation(n_components: int, plane: tuple[int, int], angle: float) -> FloatArray:
    """Return the rotation of two axes by an angle, (p, p)."""
    rotation = np.eye(n_components)
    a, b = plane
    rotation[[a, b], [a, b]] = np.cos(angle)
    rotation[a, b], rotation[b, a] = -np.sin(angle), np.sin(angle)
    return rotation


def _symmetric_entries(n_components: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the different entries of a symmetric matrix."""
    above = np.triu_indices(n_components, 1)
    diagonal = np.arange(n_components)
    return np.concatenate([diagonal, above[0]]), np.concatenate([diagonal, above[1]])


_INITIAL_STEEPNESS_SD, _INITIAL_NUMBERS = 0.3, (1.5, 0.0, -4.0)
_MAX_ROUNDS, _LOG_SPREAD_TOL = 8, 0.03  # of the logarithms of the spreads
_MAX_ITER = 500
MAX_STEPS = 2 * _MAX_ROUNDS + 2


@dataclass(eq=False)
class SearchState:
    """How far a search has come."""

    model: WeightedModel
    unknowns: Unknowns
    evidence: float = -np.inf
    gain: float = 0.0  # what weights add to the evidence of the common map; 0 if they were not kept
    history: list[Progress] = field(default_factory=list)  # minus the log-density after each climb
    n_iter: int = 0
    converged: bool = True
    interrupted: bool = False


def search(
    comparisons: Comparisons,
    n_components: int,
    spread: float | None,
    rng: np.random.Generator,
    start: FloatArray | None,
    step: Callable[[], object],
) -> SearchState:
    """Return the likeliest map, weights and spreads; ``step`` is called before each of at most `MAX_STEPS`."""
    step()
    seen = seen_objects(comparisons)
    points = start
    if points is None:
        recipe = Recipe(StudentT(3.0), Penalty(trace=0.001, ridge=0.0), Factored(tol=1e-4), n_components)
        points = fit_points(InMemory(comparisons), recipe, rng).embedding
    size = np.sqrt(np.mean(np.sum(points[seen] ** 2, axis=1)))
    model = WeightedModel(
        distinct_comparisons(comparisons), len(points), n_components, Spread(0.0, _INITIAL_STEEPNESS_SD)
    )
    people = np.zeros((model.n_people, n_components + 1))
    found = SearchState(model, Unknowns(points / size if size > 0 else points, people, np.array(_INITIAL_NUMBERS)))
    found = _alternate(found, seen, step, weights=False)
    if spread == 0 or found.interrupted:
        return _aligned(found, start, seen)
    try:
        step()
        # The common map along the axes in which weights explain most, each weight where that is likeliest.
        unknowns = found.unknowns
        rotation, spreads = likeliest_rotation(metric_quadratic(found.model, unknowns), model.contrasts, rng)
        spreads = spreads if spread is None else Spread(spread, spreads.steepness)
        unknowns = unknowns._replace(points=unknowns.points @ rotation)
        rotated = replace(found, model=replace(found.model, spread=spreads), unknowns=unknowns)
        weighted = _alternate(rotated, seen, step, weights=spread is None)
    except KeyboardInterrupt:
        return replace(_aligned(found, start, seen), interrupted=True)
    weighted.gain = weighted.evidence - found.evidence
    chosen = 1 + n_components * (n_components - 1) // 2
    if spread is None and weighted.gain <= chosen:
        found = replace(found, n_iter=weighted.n_iter, history=weighted.history, interrupted=weighted.interrupted)
        return _aligned(found, start, seen)
    return _sort_axes(weighted, start)


def _alternate(
    found: SearchState, seen: NDArray[np.bool_], step: Callable[[], object], *, weights: bool
) -> SearchState:
    """Return the state of highest evidence that alternating steps find, with the spread of the weights if asked for."""
    best: SearchState | None = None
    for _ in range(_MAX_ROUNDS):
        try:
            step()
            found = _maximize_density(found, seen)
            found = replace(found, evidence=evidence(found.model, found.unknowns))
            best = found if best is None or found.evidence >= best.evidence else best
            spread = likeliest_spread(expand(found.model, found.unknowns), found.model.spread, weights=weights)
        except KeyboardInterrupt:
            if not found.history:
                raise
            return replace(best or found, interrupted=True)
        moved = np.abs(np.log(np.maximum(spread, 1e-12)) - np.log(np.maximum(found.model.spread, 1e-12))).max()
        if moved < _LOG_SPREAD_TOL:
            break
        found = _with_spread(found, spread)
    assert best is not None, "there are rounds"
    return replace(best, history=found.history, n_iter=found.n_iter)


def _with_spread(found: SearchState, spread: Spread) -> SearchState:
    """Return a search with other spreads; people who are too different for smaller ones become less so."""
    # A climb from what has become next to impossible would begin with a leap, and end anywhere.
    model = replace(found.model, spread=spread)
    before, after = found.model.deviations, model.deviations
    shrunk = np.minimum(after / np.where(before > 0, before, after.clip(min=1e-300)), 1.0)
    return replace(found, model=model, unknowns=found.unknowns._replace(people=found.unknowns.people * shrunk))


def _maximize_density(found: SearchState, seen: NDArray[np.bool_]) -> SearchState:
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
    unknowns = normalize_weights(model, model.unpack(ended.x), seen)
    return replace(found, unknowns=unknowns, history=history, n_iter=n_iter, converged=ended.nit < _MAX_ITER)


def normalize_weights(model: WeightedModel, unknowns: Unknowns, seen: NDArray[np.bool_]) -> Unknowns:
    """Return the same distances from weights with a geometric mean of 1 over people, and a centered map."""
    if model.spread.weights == 0:
        return unknowns._replace(points=to_principal_axes(unknowns.points, seen))
    people = unknowns.people.copy()
    means = people[:, : model.n_components - 1].mean(axis=0)
    people[:, : model.n_components - 1] -= means
    points = np.where(seen[:, None], unknowns.points - unknowns.points[seen].mean(axis=0), 0.0)
    return unknowns._replace(points=points * np.exp(model.contrasts @ means / 2), people=people)


def _sort_axes(found: SearchState, onto: FloatArray | None) -> SearchState:
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


def _aligned(found: SearchState, onto: FloatArray | None, seen: NDArray[np.bool_]) -> SearchState:
    """Return a common map, whose axes are free, rotated to lie on an earlier one."""
    if onto is None:
        return found
    points = align(found.unknowns.points, onto, scaling=False, moving=False, seen=seen)
    return replace(found, unknowns=found.unknowns._replace(points=points))


_MAX_KINDS = 5
_MAX_EM_STEPS, _EM_TOL = 200, 1e-5
_MIN_WIDTH = 1e-3
_STRONG_EVIDENCE, _MIN_PEOPLE = 6.0, 3


class Kinds(NamedTuple):
    """Kinds of people."""

    centers: FloatArray  # (K, d), contrasts of the logarithms of their weights
    of_people: NDArray[np.intp]  # (s,)
    bic: FloatArray  # of 1, 2, ... kinds, until it rises


def weights_marginal(shape: Quadratic, deviations: FloatArray) -> Quadratic:
    """Return the log-likelihood of c alone, with g and l integrated out."""
    d = shape.pull.shape[1] - 2
    rest = shape.curvature[:, d:, d:] + np.diag(1 / np.maximum(deviations[d:], 1e-6) ** 2)
    link = np.linalg.solve(rest, shape.curvature[:, d:, :d])
    curvature = shape.curvature[:, :d, :d] - np.swapaxes(shape.curvature[:, d:, :d], 1, 2) @ link
    pull = shape.pull[:, :d] - np.einsum("sab,sa->sb", link, shape.pull[:, d:])
    return Quadratic(curvature, pull)


def find_kinds(shape: Quadratic, spread: float) -> Kinds:
    """Return the number of kinds with the smallest BIC, their centers, the largest kind first, and who is of which."""
    n_people, d = shape.pull.shape
    if spread == 0:
        return Kinds(np.zeros((1, d)), np.zeros(n_people, np.intp), np.zeros(1))
    found, bics = [], []
    most = max(min(_MAX_KINDS, n_people // 3), 1)
    for number in range(1, most + 1):
        mixture = _mixture(shape, number)
        found.append(mixture)
        # The map itself holds the mean of all: only centers beyond the first are free.
        free = (number - 1) * (d + 1) + 1
        bics.append(free * np.log(n_people) - 2 * mixture.likelihood)
        if number > 2 and bics[-1] > bics[-2]:
            break
    sizes = [np.bincount(each.belongs.argmax(axis=1), minlength=len(each.centers)).min() for each in found]
    judged = [bic + _STRONG_EVIDENCE if size >= _MIN_PEOPLE else np.inf for bic, size in zip(bics, sizes, strict=True)]
    best = found[int(np.argmin([bics[0], *judged[1:]]))]
    order = np.argsort(-best.shares, kind="stable")
    return Kinds(best.centers[order], np.argsort(order)[best.belongs.argmax(axis=1)], np.array(bics))


class _Mixture(NamedTuple):
    centers: FloatArray
    shares: FloatArray
    belongs: FloatArray
    likelihood: float


def _mixture(shape: Quadratic, number: int) -> _Mixture:
    """Return the likeliest mixture of so many kinds that expectation maximization finds from clusters."""
    d = shape.pull.shape[1]
    guesses = np.linalg.solve(shape.curvature + np.eye(d), shape.pull[:, :, None])[:, :, 0]
    clusters = KMeans(number, n_init=3, random_state=0).fit(guesses)
    shares = np.bincount(clusters.labels_, minlength=number) / len(guesses)
    centers = np.zeros((1, d)) if number == 1 else clusters.cluster_centers_
    found = (_expectation_maximization(shape, centers, shares, width) for width in (0.1, 0.5))
    return max(found, key=lambda mixture: mixture.likelihood)


def _expectation_maximization(shape: Quadratic, centers: FloatArray, shares: FloatArray, width: float) -> _Mixture:
    n_people, d = shape.pull.shape
    before = -np.inf
    for _ in range(_MAX_EM_STEPS):
        # Relative to each center, a person is drawn from N(0, width^2); pulls move along.
        pulls = shape.pull[:, None] - np.einsum("sde,ke->skd", shape.curvature, centers)
        covariance = np.linalg.inv(shape.curvature + np.eye(d) / width**2)
        means = np.einsum("sde,ske->skd", covariance, pulls)
        offsets = np.einsum("sd,kd->sk", shape.pull, centers)
        offsets -= np.einsum("kd,sde,ke->sk", centers, shape.curvature, centers) / 2
        logs = offsets + np.einsum("skd,skd->sk", pulls, means) / 2
        logs += (np.linalg.slogdet(covariance)[1] / 2 - d * np.log(width))[:, None] + np.log(shares)
        totals = logsumexp(logs, axis=1)
        belongs = np.exp(logs - totals[:, None])
        likelihood = float(totals.sum())
        if likelihood - before < _EM_TOL * n_people:
            break
        before = likelihood
        shares = np.maximum(belongs.mean(axis=0), 1e-12)
        if len(centers) > 1:
            moved = centers + means
            centers = np.einsum("sk,skd->kd", belongs, moved) / (n_people * shares)[:, None]
            means = moved - centers
        squares = np.einsum("sk,skd->", belongs, means**2) + np.trace(covariance, axis1=1, axis2=2).sum()
        width = max(float(np.sqrt(squares / (n_people * d))), _MIN_WIDTH)
    return _Mixture(centers, shares, belongs, likelihood)
