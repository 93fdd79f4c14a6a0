"""Fits of dimensions to choices: where they begin, the path of penalties, and what is found again.

At weights near 0 all trials pull equally, and the sum of these pulls is a matrix as in `optimize.solvers.descent`. A
descent begins at the positive parts of random directions in the space of its leading eigenvectors. The random numbers
mix eigenvectors, and not objects: another order of the objects is the same start.

The penalty is the rate of an exponential prior. Small ones overfit, and large ones leave no dimension: weights of 0
everywhere are a minimum for every penalty above 0, so that a path can only go up, from many dimensions to few. Each fit
on it begins at the last one. Where answers are few, a penalty of squared weights is added, if held-out trials call for
it: it does not set weights to 0, but keeps large ones from following noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.choices import Choices
from nearer.geometry import match_dimensions
from nearer.optimize.problems.choices import WeightsProblem, answer_losses
from nearer.optimize.problems.points import leading_eigenpairs
from nearer.optimize.solvers import Solution, solve
from nearer.optimize.solvers.descent import best_of_restarts
from nearer.optimize.solvers.driver import Callback
from nearer.optimize.solvers.orthant import Orthant

MAX_DIMENSIONS = 100  # to begin with; twice as many where all are used
MAX_PATH_TRIALS = 300_000  # differences between penalties have a standard error of 0.0005 then
MIN_HELD_OUT_TRIALS, MAX_FOLDS = 10_000, 5  # of tenths of the trials
# Of the square root of the answers about an object: noise that should not become a weight grows with it.
FIRST_PENALTY_SHARE, PENALTY_RATIO = 0.08, 1.25
MAX_PENALTIES = 30
RIDGES = (0.0, 0.5, 3.0)  # with 0.5, both parts of the penalty pull equally at a weight of 2
N_LARGE_HELD_OUT = 50_000
CLEAR_RISE = 1e-3  # of the held-out loss along the path over all answers
CLEAR_Z = 2.0  # standard errors by which the held-out loss has clearly risen
N_CLEAR_RISES = 2
PATH_TOL = 1e-4
MAX_EXACT_ANSWERS = 20_000
START_WEIGHT = 0.1  # mean weight of a start
LADDER = (0.33, 0.41, 0.51, 0.64, 0.8)  # of the penalty, on the way to it
AGREEMENT_TOL = 2e-4  # of objectives of fits that agree
_LINEAR_SCALE = 1e-4  # of weights so small that the pull is linear in them
_N_KRYLOV_BLOCKS = 4
_MAX_EXACT_OBJECTS = 1000  # whose whole matrix of pulls is worked out
_LEAST_EIGENVALUE = 0.01  # of a direction in the start, against the largest
_LEAST_TOTAL = 1e-9  # of the weights of a dimension that is there


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The fits along a path of penalties, by held-out trials.

    Attributes
    ----------
    penalties : ndarray, shape (k,)
    held_out_loss : ndarray, shape (k,)
        Mean of -log P over trials that were held out.
    standard_error : ndarray, shape (k,)
        Of the difference from the least.
    n_dimensions : ndarray, shape (k,)
        Dimensions that have not shrunk to nothing.
    n_trials, n_held_out : int
        Trials of each fit, and held out of it.
    ridge : float
        The share of squared weights in the penalty.
    """

    penalties: FloatArray
    held_out_loss: FloatArray
    standard_error: FloatArray
    n_dimensions: NDArray[np.int64]
    n_trials: int
    n_held_out: int
    ridge: float = 0.0

    @property
    def best(self) -> int:
        """The place of the least held-out loss."""
        return int(np.argmin(self.held_out_loss))


def spectral_starts(problem: WeightsProblem, n_dimensions: int, rng: np.random.Generator) -> Callable[[], FloatArray]:
    """Return a function that draws starts, (n, p)."""
    n = problem.n_objects

    def pull(points: FloatArray) -> FloatArray:
        return problem.loss_and_gradient(_LINEAR_SCALE * points)[1] / -_LINEAR_SCALE

    rank = min(n_dimensions, n)
    if n <= max(_MAX_EXACT_OBJECTS, _N_KRYLOV_BLOCKS * rank):
        matrix = pull(np.eye(n))
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        values, vectors = values[: -rank - 1 : -1], vectors[:, : -rank - 1 : -1]
    else:
        block = np.random.default_rng(0).normal(size=(n, rank))
        values, vectors = leading_eigenpairs(pull, block, rank, _N_KRYLOV_BLOCKS)
    # The sign of an eigenvector is arbitrary: its third moment has one.
    vectors = vectors * np.where((vectors**3).sum(axis=0) < 0, -1.0, 1.0)
    directions = vectors * np.sqrt(np.maximum(values, _LEAST_EIGENVALUE * max(values[0], 1e-12)))

    def draw() -> FloatArray:
        points = np.maximum(directions @ rng.normal(size=(len(directions.T), n_dimensions)), 0.0)
        return np.ascontiguousarray(points * (START_WEIGHT / max(points.mean(), 1e-300)))

    return draw


def answers_per_object(choices: Choices) -> float:
    """Return in how many answers an object is on average, counting those that are in any."""
    counts = np.zeros(choices.n_objects)
    for part in choices.parts:
        for column in part.objects.T:
            counts += np.bincount(column, part.weights if part.weights.size else None, choices.n_objects)
    return float(counts[counts > 0].mean())


def without_empty(points: FloatArray) -> FloatArray:
    """Return the dimensions that have not shrunk to nothing."""
    kept = points.sum(axis=0) > _LEAST_TOTAL
    return points if kept.all() else np.ascontiguousarray(points[:, kept])


def by_total_weight(points: FloatArray) -> FloatArray:
    """Return dimensions in the order of falling total weight."""
    return np.ascontiguousarray(points[:, np.argsort(-points.sum(axis=0), kind="stable")])


def best_penalty_path(
    choices: Choices, n_dimensions: int, rng: np.random.Generator, ridges: Sequence[float] = RIDGES
) -> tuple[PenaltyPath, FloatArray]:
    """Follow paths of one ridge after the other, while they predict held-out trials better; return the best."""
    seed = int(rng.integers(2**63))
    best = penalty_path(choices, n_dimensions, np.random.default_rng(seed), ridges[0])
    for ridge in ridges[1:]:
        found = penalty_path(choices, n_dimensions, np.random.default_rng(seed), ridge)
        if found[0].held_out_loss.min() >= best[0].held_out_loss.min():
            break
        best = found
    return best


def penalty_path(
    choices: Choices, n_dimensions: int, rng: np.random.Generator, ridge: float = 0.0
) -> tuple[PenaltyPath, FloatArray]:
    """Follow a path of penalties, judged by held-out trials; return it, and the fit to a fold at the best penalty.

    The noise that weights would follow grows with the square root of the answers, and so does the best penalty: those
    of the path are in units of all answers, though its fits are to fewer.
    """
    sample = choices if choices.n_answers <= MAX_PATH_TRIALS else choices.sample(MAX_PATH_TRIALS, rng)
    tenth = _tenths(sample, rng)
    n_folds = int(np.clip(-(-MIN_HELD_OUT_TRIALS * 10 // sample.n_answers), 1, MAX_FOLDS))
    folds = [(sample.take(tenth != fold), sample.take(tenth == fold)) for fold in range(n_folds)]
    problems = [WeightsProblem(train, ridge=ridge) for train, _ in folds]
    points = [spectral_starts(problem, n_dimensions, rng)() for problem in problems]
    first = FIRST_PENALTY_SHARE * answers_per_object(folds[0][0]) ** 0.5
    penalties, losses, sizes, fits, rises = list[float](), list[FloatArray](), list[int](), list[FloatArray](), 0
    weights = np.concatenate([held.weights for _, held in folds])
    with progress_bar("penalties", MAX_PENALTIES) as bar:
        while len(penalties) < MAX_PENALTIES and rises < N_CLEAR_RISES:
            penalty = first * PENALTY_RATIO ** len(penalties)
            for fold, problem in enumerate(problems):
                fitted = solve(replace(problem, penalty=penalty), Orthant(tol=PATH_TOL), points[fold])
                if fitted.interrupted:
                    raise KeyboardInterrupt
                points[fold] = without_empty(fitted.value)
            penalties.append(penalty)
            losses.append(np.concatenate([answer_losses(points[k], held) for k, (_, held) in enumerate(folds)]))
            sizes.append(points[0].shape[1])
            fits.append(points[0])
            _, gaps, errors = _compared(losses, weights)
            rises = rises + 1 if gaps[-1] > CLEAR_Z * errors[-1] else 0
            bar.update()
            if not points[0].any():
                break
    means, _, errors = _compared(losses, weights)
    path = PenaltyPath(
        np.array(penalties) * np.sqrt(choices.total_weight / folds[0][0].total_weight),
        means,
        errors,
        np.array(sizes),
        folds[0][0].n_answers,
        folds[0][1].n_answers,
        ridge,
    )
    return path, fits[path.best]


def _compared(losses: list[FloatArray], weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean losses, their differences from the least, and the standard errors of these."""
    shares = weights / weights.sum()
    means = np.array([shares @ each for each in losses])
    best = losses[int(np.argmin(means))]
    errors = [np.sqrt(np.sum(shares**2 * (each - best - shares @ (each - best)) ** 2)) for each in losses]
    return means, means - means.min(), np.array(errors)


def _tenths(choices: Choices, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the tenth that each trial is in, (n_trials,)."""
    return np.asarray(rng.permutation(choices.n_trials) % 10)


def refined_penalty(problem: WeightsProblem, start: FloatArray, rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Return the penalty of many answers, given that of a sample of them, and the fit to almost all.

    The more answers, the smaller the best penalty is, relative to the square root of their number, and the more
    dimensions can be told apart: a second path, over all answers, leads to the penalty of the sample.
    """
    choices, penalty = problem.choices, problem.penalty
    tenth = rng.random(choices.n_trials) < N_LARGE_HELD_OUT / choices.n_trials
    train, held = choices.take(~tenth), choices.take(tenth)
    points, fits, losses = start, list[FloatArray](), list[float]()
    shares = (*LADDER, 1.0)
    for share in progress_bar("penalties, all answers", len(shares), shares):
        solution = solve(replace(problem, choices=train, penalty=share * penalty), Orthant(tol=PATH_TOL), points)
        if solution.interrupted:
            raise KeyboardInterrupt
        points = without_empty(solution.value)
        fits.append(points)
        losses.append(float(np.average(answer_losses(points, held), weights=held.weights)))
        if losses[-1] > min(losses) + CLEAR_RISE:
            break
    best = int(np.argmin(losses))
    return shares[best] * penalty, fits[best]


def final_tolerance(choices: Choices) -> float:
    """Return the tolerance of the last fit: answers that take milliseconds to go through are fitted to the end."""
    return 1e-8 if choices.n_answers <= MAX_EXACT_ANSWERS else 1e-6


def fit_from_start(
    problem: WeightsProblem, start: FloatArray, solver: Orthant, callback: Callback | None = None
) -> Solution[FloatArray]:
    """Return the fit that a path of rising penalties leads to: at the last one alone, dimensions would die early."""
    points = start
    for share in LADDER:
        solution = solve(replace(problem, penalty=share * problem.penalty), Orthant(tol=PATH_TOL), points)
        if solution.interrupted:
            return solution
        points = without_empty(solution.value)
    return solve(problem, solver, points, callback=callback)


def best_of(fits: Iterable[Solution[FloatArray]]) -> Solution[FloatArray]:
    """Return the fit of least objective; after an interrupt, the best so far."""
    return best_of_restarts(iter(fits), AGREEMENT_TOL)


#: Reproducibility from which on a dimension counts.
MIN_REPRODUCIBILITY = 0.3
# Of the penalty of all trials, for half of them: less than the square root of one half, at which dimensions that are
# hardly found in all trials would be missed in half of them. More of those that follow noise do no harm there.
HALF_PENALTY = 0.57


def reproducibility(points: FloatArray, problem: WeightsProblem, n_splits: int, rng: np.random.Generator) -> FloatArray:
    """Return how well dimensions agree between halves of the trials, each fitted from a start of its own, (p,).

    A dimension that follows the noise of all trials is in part found again in either half: so the halves, whose noise
    is independent, are compared with each other, in the dimensions that match one of all trials. The least of the three
    correlations counts.
    """
    p, total, choices = points.shape[1], np.zeros(points.shape[1]), problem.choices
    with progress_bar("halves", 2 * n_splits) as bar:
        for _ in range(n_splits):
            first, matched = rng.permutation(choices.n_trials) % 2 == 0, list[FloatArray]()
            for half in (choices.take(first), choices.take(~first)):
                start = spectral_starts(WeightsProblem(half), 2 * p, rng)()
                of_half = replace(problem, choices=half, penalty=HALF_PENALTY * problem.penalty)
                solution = fit_from_start(of_half, start, Orthant(tol=PATH_TOL))
                if solution.interrupted:
                    raise KeyboardInterrupt
                found = np.column_stack([solution.value, np.zeros(len(points))])  # the last for those without a match
                matched.append(found[:, match_dimensions(points, solution.value).assignment])
                bar.update()
            pairs = (matched[0], matched[1]), (points, matched[0]), (points, matched[1])
            total += np.min([paired_correlations(*pair) for pair in pairs], axis=0)
    return np.asarray(total / n_splits)


def paired_correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the correlation of each column with that of another array, 0 where one is constant, (p,)."""
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    lengths = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    return np.divide((a * b).sum(axis=0), lengths, out=np.zeros(len(lengths)), where=lengths > 0)
