"""Do groups differ, and in which objects? A score test on one map, by sign flips of people's contributions.

The formulas are on the page on mathematics, under groups of people; the functions below keep its letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from nearer._common.arrays import FloatArray
from nearer.comparing.group_models import CommonMap, Responses, departure_precision, fit_common
from nearer.comparing.group_results import ROUNDING, SignFlipTest
from nearer.data.groups import number_by_appearance
from nearer.model.answers import answer_derivatives

#: Departures of the objects of a group from the map of all, as a share of its spread.
DEPARTURE = 0.25
N_RESTORED = 20  # draws of what the fit has taken from the scores
MIN_EIGENVALUE = 1e-7  # of the information, as a share of the largest
_CHUNK_NUMBERS = 2**22  # of a Jacobian that are in memory at a time
_MIN_DEVIATION = 1e-12  # of an answer
_MIN_VARIANCE = 1e-6  # of the place of an object, as a share of the largest along any axis
_MAX_OWN_VARIANCE = 0.9  # of normal scores of p-values between draws
_CHUNK_FLIPS = 500  # at a time
_N_NUISANCES = 2  # of each person: slope and lapse rate


@dataclass(frozen=True, eq=False)
class Blocks:
    """The answers that one person gave in one group, as one block each: block of each row, (m,), and whose, (b,)."""

    of_rows: NDArray[np.intp]
    groups: NDArray[np.intp]
    people: NDArray[np.intp]
    n_groups: int

    @classmethod
    def of(cls, people: NDArray[np.intp], groups: NDArray[np.intp], n_groups: int) -> Blocks:
        """Return the blocks of rows, of which people and groups are known."""
        of_rows = number_by_appearance(people, groups)
        _, first = np.unique(of_rows, return_index=True)
        return cls(of_rows, groups[first], people[first], n_groups)

    @property
    def within(self) -> bool:
        """Whether some people are in several groups."""
        return len(np.unique(self.people)) < len(self.people)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return len(np.unique(self.people))


@dataclass(frozen=True, eq=False)
class Jacobian:
    """Standardized residuals and derivatives of some rows, those of each person's slope and lapse rate projected out.

    Of people with no more answers than that, who would have no score, those of their group are projected out.

    The score of a block is the sum of its rows of ``derivatives`` times ``residuals``, its information that of their
    squares.
    """

    chosen: NDArray[np.intp]  # (c,), which rows
    derivatives: FloatArray  # (c, d): by the coordinates, and by the log offset of each group
    residuals: FloatArray  # (c,)


def jacobians(responses: Responses, fitted: CommonMap, groups: NDArray[np.intp], n_groups: int) -> Iterator[Jacobian]:
    """Return the Jacobian of all rows, whole people at a time."""
    size = fitted.points.size + n_groups
    few = np.bincount(responses.people)[responses.people] <= _N_NUISANCES
    units = np.where(few, responses.n_people + groups, responses.people)
    order = np.argsort(units, kind="stable")
    ends = (np.flatnonzero(np.diff(units[order], append=-1)) + 1).tolist()
    start = 0
    for place, end in enumerate(ends):
        following = ends[min(place + 1, len(ends) - 1)]
        if end < ends[-1] and (following - start) * size <= _CHUNK_NUMBERS:
            continue
        chosen, start = order[start:end], end
        yield _jacobian(responses, fitted, groups, n_groups, chosen, units)


def _jacobian(
    responses: Responses,
    fitted: CommonMap,
    groups: NDArray[np.intp],
    n_groups: int,
    chosen: NDArray[np.intp],
    units: NDArray[np.intp],
) -> Jacobian:
    part = responses.subset(chosen)
    points, m = fitted.points, len(chosen)
    n, q = points.shape
    near, far = part.distances(points)
    answering = fitted.answering(part.people)
    log_odds = answering.log_odds(near, far)
    answers = answer_derivatives(log_odds, answering.lapse)
    by_near, by_far = answering.log_odds_gradient(near, far)
    deviation = np.sqrt(np.maximum(answers.probability * (1 - answers.probability), _MIN_DEVIATION))
    roots = np.sqrt(part.weights) / deviation
    derivatives = np.zeros((m, n * q + n_groups))
    i, j, l, k = part.rows.T  # noqa: E741
    each = np.arange(m)
    for a in range(q):
        of_near = 2 * by_near * (points[i, a] - points[j, a])
        of_far = 2 * by_far * (points[l, a] - points[k, a])
        for which, values in ((i, of_near), (j, -of_near), (l, of_far), (k, -of_far)):
            derivatives[each, which * q + a] += values
    # Each group has a kernel of its own: a difference of it is no difference of maps.
    derivatives[each, n * q + groups[chosen]] = fitted.offset * (by_near + by_far)
    derivatives *= (roots * answers.by_odds)[:, None]
    nuisances = roots[:, None] * np.column_stack([answers.by_odds * log_odds, answers.by_lapse])
    derivatives -= _projected(derivatives, nuisances, number_by_appearance(units[chosen]))
    return Jacobian(chosen, derivatives, roots * (1 - answers.probability))


def _projected(values: FloatArray, nuisances: FloatArray, people: NDArray[np.intp]) -> FloatArray:
    """Return the projection of columns onto the two nuisances of each person, within the rows of each."""
    sums = _sums(people, int(people.max()) + 1)
    length = np.maximum(np.sqrt(sums @ np.square(nuisances)), np.finfo(float).tiny)
    first, second = (nuisances / length[people]).T
    cosine = sums @ (first * second)
    second = second - cosine[people] * first
    length = np.sqrt(sums @ np.square(second))
    second = np.where(length[people] > 1e-6, second / np.maximum(length, 1e-6)[people], 0.0)
    found = np.zeros_like(values)
    for unit in (first, second):
        found += unit[:, None] * np.asarray(sums @ (unit[:, None] * values))[people]
    return found


def _sums(units: NDArray[np.intp], count: int) -> csr_array[np.float64]:
    """Return the matrix, (count, m), whose product sums rows of each unit."""
    m = len(units)
    return csr_array((np.ones(m), (units, np.arange(m))), shape=(count, m))


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Efficient scores of blocks on one map, in whitened coordinates, where the information of all is 1."""

    blocks: Blocks
    scores: FloatArray  # (b, r)
    taken: FloatArray  # (N_RESTORED, b, r): draws of what the fit has taken from them
    shares: FloatArray  # (k, r, r): the information of each group
    ridge: FloatArray  # (r, r): the precision of departures
    unwhiten: FloatArray  # (d, r): from whitened to coordinates
    shape: tuple[int, int]  # (n, q)

    def contributions(self, group: int, draw: int | None = None) -> FloatArray:
        """Return what blocks add to the contrast of one group with the others, (b, r).

        That is D_g = U_g - I_g U, whose blocks' scores have, in a draw, what the fit has taken from them.
        """
        scores = self.scores if draw is None else self.scores + self.taken[draw]
        return np.where((self.blocks.groups == group)[:, None], scores, 0.0) - scores @ self.shares[group]

    def contrast(self, group: int) -> FloatArray:
        """Return D_g, (r,)."""
        return self.contributions(group).sum(axis=0)

    def contrast_information(self, group: int) -> FloatArray:
        """Return K_g = I_g - I_g^2, the covariance of D_g, (r, r)."""
        return self.shares[group] - self.shares[group] @ self.shares[group]


def efficient_scores(
    responses: Responses,
    fitted: CommonMap,
    groups: NDArray[np.intp],
    n_groups: int,
    rng: np.random.Generator,
) -> GroupScores:
    """Return the efficient scores of people on a map."""
    blocks = Blocks.of(responses.people, groups, n_groups)
    size = fitted.points.size + n_groups
    informations, total = np.zeros((n_groups, size, size)), np.zeros(size)
    for part in jacobians(responses, fitted, groups, n_groups):
        total += part.residuals @ part.derivatives
        for g in range(n_groups):
            inside = part.derivatives[groups[part.chosen] == g]
            informations[g] += inside.T @ inside
    values, vectors = eigh(informations.sum(axis=0))
    known = values > MIN_EIGENVALUE * values[-1]
    unwhiten = vectors[:, known] / np.sqrt(values[known])
    # The scores of all sum to 0 where the map fits best: each block has lost its information times their true sum.
    lost = rng.standard_normal((unwhiten.shape[1], N_RESTORED)) - (total @ unwhiten)[:, None]
    b = len(blocks.groups)
    scores, taken = np.zeros((b, unwhiten.shape[1])), np.zeros((N_RESTORED, b, unwhiten.shape[1]))
    for part in jacobians(responses, fitted, groups, n_groups):
        whitened = part.derivatives @ unwhiten
        which, inside = np.unique(blocks.of_rows[part.chosen], return_inverse=True)
        sums = _sums(inside, len(which))
        scores[which] += sums @ (part.residuals[:, None] * whitened)
        for draw, along in enumerate((whitened @ lost).T):
            taken[draw, which] += sums @ (along[:, None] * whitened)
    shares = np.stack([unwhiten.T @ each @ unwhiten for each in informations])
    precision = departure_precision(fitted, DEPARTURE)
    return GroupScores(blocks, scores, taken, shares, precision * unwhiten.T @ unwhiten, unwhiten, fitted.points.shape)


def _flips(count: int, blocks: Blocks, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Return random signs of blocks, (c, b), some at a time; a person's blocks are flipped together."""
    people, whose = np.unique(blocks.people, return_inverse=True)
    for start in range(0, count, _CHUNK_FLIPS):
        size = min(_CHUNK_FLIPS, count - start)
        yield rng.choice([-1.0, 1.0], size=(size, len(people)))[:, whose]


def _combined(as_large: NDArray[np.intp], count: int) -> FloatArray:
    """Return one p-value for those of all draws, (draws, ...), of which each alone is exact.

    Their normal scores have a common part, and one of each draw, whose variance is that between draws: the mean score
    has the variance of the common part and a share of the other.
    """
    p_values = np.minimum((1 + as_large) / (1 + count), 1 - 1 / (2 + 2 * count))
    normal = ndtri(p_values)
    own = np.minimum(normal.var(axis=0, ddof=1), _MAX_OWN_VARIANCE)
    return np.asarray(ndtr(normal.mean(axis=0) / np.sqrt(1 - own * (1 - 1 / len(normal)))))


def sign_flip_test(scores: GroupScores, count: int, rng: np.random.Generator) -> SignFlipTest:
    """Test whether groups matter for the map as a whole: T against its values with signs of people flipped."""
    n_groups = scores.blocks.n_groups
    contrasted = range(1, n_groups) if n_groups == 2 else range(n_groups)  # of two groups, one is minus the other
    factors = {g: cho_factor(scores.contrast_information(g) + scores.ridge, lower=True)[0] for g in contrasted}

    def standardized(group: int, values: FloatArray) -> FloatArray:
        return np.asarray(solve_triangular(factors[group], values.T, lower=True).T)

    statistic = sum(float(np.square(standardized(g, scores.contrast(g)[None])).sum()) for g in contrasted)
    of_draws = [
        np.concatenate([standardized(g, scores.contributions(g, draw)) for g in contrasted], axis=1)
        for draw in range(N_RESTORED)
    ]
    as_large = np.zeros(N_RESTORED, dtype=np.intp)
    for signs in _flips(count, scores.blocks, rng):
        for draw, each in enumerate(of_draws):
            as_large[draw] += (np.square(signs @ each).sum(axis=1) >= statistic * (1 - ROUNDING)).sum()
    smallest = max(1 / (1 + count), 2.0 ** (1 - scores.blocks.n_people))
    return SignFlipTest(statistic, float(_combined(as_large, count)), count, smallest)


def object_p_values(scores: GroupScores, which: NDArray[np.intp], count: int, rng: np.random.Generator) -> FloatArray:
    """Return p-values of displacements of some objects between two groups, for the family of them (maxT).

    The statistic of an object is the squared length of s = (K + R)^-1 D at it, in units of its covariance under the
    model, times how far the contributions of people are from it.
    """
    n, q = scores.shape
    known = scores.contrast_information(1)
    step = cho_solve(cho_factor(known + scores.ridge), scores.unwhiten.T).T
    step = step[: n * q].reshape(n, q, -1)[which]  # (w, q, r)
    covariance = np.einsum("iar,rs,ibs->iab", step, known, step, optimize=True)
    values, vectors = np.linalg.eigh(covariance)
    least = np.maximum(_MIN_VARIANCE * values[:, -1:], np.finfo(float).tiny)
    standard = np.einsum("iab,iar->ibr", vectors / np.sqrt(np.maximum(values, least))[:, None], step)
    observed = np.square(standard @ scores.contrast(1)).sum(axis=1)
    flat = standard.reshape(-1, standard.shape[2])
    of_draws = []
    for draw in range(N_RESTORED):
        each = scores.contributions(1, draw) @ flat.T  # (b, w q)
        scale = np.square(each).sum(axis=0).reshape(-1, q).sum(axis=1)
        of_draws.append((each, np.maximum(scale, np.finfo(float).tiny)))
    as_large = np.zeros((N_RESTORED, len(which)), dtype=np.intp)
    for signs in _flips(count, scores.blocks, rng):
        for draw, (each, scale) in enumerate(of_draws):
            largest = (np.square(signs @ each).reshape(len(signs), -1, q).sum(axis=2) / scale).max(axis=1)
            as_large[draw] += (largest[:, None] >= observed / scale * (1 - ROUNDING)).sum(axis=0)
    return _combined(as_large, count)


def step_down(
    responses: Responses,
    fitted: CommonMap,
    groups: NDArray[np.intp],
    scores: GroupScores,
    tested: NDArray[np.bool_],
    count: int,
    alpha: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return p-values of displacements between two groups for the family of all objects, (n,).

    The object with the smallest p-value, if that is at most alpha, gets a place of its own in each group; the map is
    fitted again, and the other objects are tested on it, until none is significant.
    """
    p_values, which, least = np.ones(len(tested)), np.flatnonzero(tested), 0.0
    while len(which) > fitted.points.shape[1]:
        found = np.maximum(object_p_values(scores, which, count, rng), least)
        first = int(found.argmin())
        least = float(found[first])
        p_values[which] = found
        if least > alpha:
            break
        chosen, which = which[first], np.delete(which, first)
        p_values[which] = 1.0
        responses, fitted = _freed(responses, fitted, groups, int(chosen))
        fitted = fit_common(responses, fitted, 1)
        scores = efficient_scores(responses, fitted, groups, 2, rng)
    return p_values


def _freed(
    responses: Responses, fitted: CommonMap, groups: NDArray[np.intp], chosen: int
) -> tuple[Responses, CommonMap]:
    """Return responses in which the second group was asked about another object, and the map with that object."""
    rows = np.where((responses.rows == chosen) & (groups == 1)[:, None], responses.n_objects, responses.rows)
    points = np.vstack([fitted.points, fitted.points[chosen]])
    return replace(responses, rows=rows, n_objects=responses.n_objects + 1), replace(fitted, points=points)
