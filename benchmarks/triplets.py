"""The triplets that programs are timed on: drawn from Gaussian points, answered without noise.

Points, triplets and the start of an estimator come from different streams of one seed, so that no start can repeat the
numbers that made the points.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.randomness import stream
from nearer.datasets import make_gaussian, sample_triplets
from nearer.datasets.synthetic import count_questions, unrank_questions
from nearer.optimize.problems.margins import pair_distances

#: Held-out triplets of every measurement.
N_TEST = 100_000
#: Rows drawn at once: 1M rows are some 100 MB of temporary arrays, whatever the number of triplets.
BLOCK = 1_000_000


class Size(NamedTuple):
    """A number of objects and a number of training comparisons.

    Examples
    --------
    >>> str(Size(1000, 100_000))
    '1000x100000'
    """

    objects: int
    comparisons: int

    def __str__(self) -> str:
        return f"{self.objects}x{self.comparisons}"


class Data(NamedTuple):
    """Training and held-out triplets, (m, 3) each, of one set of points; no question is in both."""

    train: NDArray[np.integer]
    test: NDArray[np.integer]


def check_size(size: Size, n_test: int = 1) -> None:
    """Refuse a size that leaves fewer than `n_test` questions to hold out.

    Examples
    --------
    >>> check_size(Size(10, 360))
    Traceback (most recent call last):
    ValueError: size 10x360 is too large: 10 objects have 360 different triplets, and some must be held out
    """
    total = count_questions(size.objects)
    if size.objects < 3 or size.comparisons < 1:
        raise ValueError(f"size {size} is too small; it needs 3 objects and 1 comparison or more")
    if size.comparisons + n_test > total:
        raise ValueError(
            f"size {size} is too large: {size.objects} objects have {total} different triplets, and some must be held "
            "out"
        )


def make_data(size: Size, dimension: int, seed: int) -> Data:
    """Draw training triplets and up to `N_TEST` others to hold out, all different.

    Examples
    --------
    >>> data = make_data(Size(20, 500), dimension=2, seed=0)
    >>> data.train.shape, data.test.shape
    ((500, 3), (2920, 3))
    """
    check_size(size)
    n_test = min(N_TEST, count_questions(size.objects) - size.comparisons)
    points = make_gaussian(size.objects, dimension, random_state=seed)
    # Rows come in random order, so that the first are as fair a sample as the rest.
    rows = sample_triplets(points, size.comparisons + n_test, random_state=seed).rows
    return Data(rows[: size.comparisons], rows[size.comparisons :])


def save_data(data: Data, path: Path) -> None:
    """Write triplets to a file that any program with NumPy can read."""
    np.savez(path, train=data.train, test=data.test)


def start_seeds(seed: int, repeats: int) -> list[int]:
    """Return the `random_state` of each repeat of a fit.

    Examples
    --------
    >>> start_seeds(0, 3)[:2] == start_seeds(0, 2)
    True
    """
    return [int(number) for number in stream(seed, "start").integers(2**31, size=repeats)]


def draw_blocks(points: NDArray[np.float64], n_triplets: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Draw triplets independently, a block at a time: little memory beyond the result, (n_triplets, 3).

    A question may come twice; among the n^3 / 2 of a large set that hardly happens.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> rows = draw_blocks(points, 5, np.random.default_rng(0))
    >>> {tuple(row) for row in rows.tolist()} <= {(0, 1, 2), (1, 0, 2), (2, 1, 0)}
    True
    """
    n_objects = len(points)
    rows = np.empty((n_triplets, 3), dtype=np.int32)
    for start in range(0, n_triplets, BLOCK):
        block = rows[start : start + BLOCK]
        questions = rng.integers(count_questions(n_objects), size=len(block))
        anchor, first, second = unrank_questions(questions, n_objects)
        swap = pair_distances(points, anchor, first) > pair_distances(points, anchor, second)
        block[:, 0] = anchor
        block[:, 1] = np.where(swap, second, first)
        block[:, 2] = np.where(swap, first, second)
    return rows
