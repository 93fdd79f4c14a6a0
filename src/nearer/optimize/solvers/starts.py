"""Where a descent over points begins.

At X = 0 every comparison pulls alike: far pairs apart, near pairs together. The sum of these pulls is a signed graph
Laplacian A^T c, and the points whose Gram matrix is nearest to it, its p leading eigenvectors, are a map that already
gets many comparisons right. Descent from there takes half as many steps as from random points, and ends as low.

For few objects the eigenvectors are exact. For many they come from a block Krylov space (Musco and Musco 2015): a few
products of the Laplacian with thin matrices, each as cheap as a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from nearer._common.arrays import FloatArray, PointArray
from nearer._common.parameters import check_counts
from nearer._common.randomness import stream
from nearer.optimize.problems.points import FactoredProblem, leading_pull

Start: TypeAlias = Literal["spectral", "random"] | PointArray

_SAMPLE = 20_000
_SMALLEST_SIZE = 0.01  # of a dimension, against the largest eigenvalue


def spectral_start(problem: FactoredProblem) -> PointArray:
    """Return the points of the leading pull, (n, p), as large as suits the loss best."""
    rank = problem.rank
    eigenvalues, vectors = leading_pull(problem, rank)
    points = np.zeros((problem.n_objects, rank))
    kept = min(rank, len(eigenvalues))
    # A dimension that starts at 0 has no gradient and would stay there: those of eigenvalues below 0 start small.
    sizes = np.sqrt(np.maximum(eigenvalues, _SMALLEST_SIZE * max(eigenvalues[0], 0.0)))
    points[:, :kept] = (vectors * sizes)[:, :kept]
    if problem.n_groups > 1:
        # The eigenvectors of separate groups are separate, and those that lead would leave each group flat.
        points += stream(0, "start").normal(scale=0.03 * np.sqrt(np.mean(points**2)), size=points.shape)
    points[problem.mentions == 0] = 0
    return at_best_size(problem, points)


class Beginning(NamedTuple):
    """The points that a descent starts from, and the trace penalties from the first to the one asked for."""

    points: PointArray
    path: tuple[float, ...]


def begin(
    problem: FactoredProblem,
    start: Start,
    path: Sequence[float],
    dtype: str,
    rng: np.random.Generator,
) -> Beginning:
    """Return the start of a descent: its name made into points, and the path's shares into penalties.

    A map to go on from is not taken apart: no path leads there.
    """
    penalties: tuple[float, ...] = (problem.trace,)
    _check_start(problem, start)
    if not isinstance(start, str):
        points = np.array(start)
    else:
        spectrum = leading_pull(problem, problem.rank)
        vanishing = problem.loss.pull_of_zero * float(spectrum.eigenvalues[0])
        penalties = (*(share * vanishing for share in path if share * vanishing > problem.trace), *penalties)
        problem = replace(problem, spectrum=spectrum)
        points = spectral_start(problem) if start == "spectral" else random_start(problem, rng)
    return Beginning(np.ascontiguousarray(points, dtype), penalties)


def check_begin(
    problem: FactoredProblem, start: Start, path: Sequence[float], dtype: str, n_threads: int | None
) -> None:
    """Refuse what no descent can begin with, and losses without a compiled loop."""
    if not isinstance(problem, FactoredProblem):
        raise ValueError("this solver moves points and works on a FactoredProblem; see nearer.optimize.problems.points")
    check_counts(rank=problem.rank, n_threads=1 if n_threads is None else n_threads)
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    if not all(0 <= share < np.inf for share in path):
        raise ValueError(f"path must hold finite numbers >= 0, got {path!r}")
    if isinstance(start, str) and start not in ("spectral", "random"):
        raise ValueError(f"start must be 'spectral', 'random' or an array of points, got {start!r}")
    _check_start(problem, start)
    _ = problem.loss.compiled


def _check_start(problem: FactoredProblem, start: Start) -> None:
    if not isinstance(start, str) and np.shape(start) != (problem.n_objects, problem.rank):
        raise ValueError(
            f"start must have shape {(problem.n_objects, problem.rank)}, one row for each object, got {np.shape(start)}"
        )
    if not isinstance(start, str) and not np.isfinite(start).all():
        raise ValueError("start holds NaN or infinity; pass finite points")


def random_start(problem: FactoredProblem, rng: np.random.Generator) -> PointArray:
    """Return Gaussian points, (n, p), as large as suits the loss best; objects in no comparison at the origin."""
    points = rng.normal(size=(problem.n_objects, problem.rank))
    points[problem.mentions == 0] = 0
    return at_best_size(problem, points)


def at_best_size(problem: FactoredProblem, points: FloatArray) -> PointArray:
    """Return points scaled such that the loss is least, but never to nothing.

    A poor start has its least loss at a point, where the gradient vanishes and descent would stay: the typical
    difference of squared distances is kept at a tenth of what the loss aims at, which is about 1.
    """
    from nearer.optimize import kernels

    rows = problem.source.sample(_SAMPLE)
    near, far = kernels.squared_distances(points, rows, problem.n_threads)
    weights = rows.weights if rows.weights.any() else np.ones(len(rows))
    shares = weights / weights.sum()
    typical = float(shares @ np.abs(far - near))
    if typical == 0:
        return points

    # A grid, not a search: rounding must not decide where the descent begins.
    scales = np.geomspace(0.1, 100, 31) / typical
    costs = [problem.loss.evaluate(scale * near, scale * far, shares).value for scale in scales]
    scaled: FloatArray = points * np.sqrt(scales[int(np.argmin(costs))])
    return scaled
