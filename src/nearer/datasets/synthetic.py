"""Synthetic points, and triplets answered by them.

A *question* is an anchor i and an unordered pair {j, k} of other objects: which of the two is nearer to i?
There are

    N = n * (n - 1) * (n - 2) / 2

of them. Questions are numbered 0..N-1, so that a sample of questions is a sample of integers and a small one
needs nothing of size N. Question q has the anchor q // M with M = (n - 1)(n - 2) / 2; the remainder r numbers
the pairs a < b of the n - 1 other objects by r = b (b - 1) / 2 + a, and counting past the anchor turns a and
b back into objects.
"""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.arrays import checked_points
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import clear_ties, pair_distances


def make_gaussian(
    n_objects: int = 100,
    n_components: int = 10,
    variance: float = 1 / 20,
    random_state: RandomState = None,
) -> NDArray[np.float64]:
    """Draw points from N(0, variance * I), by default those of the paper's synthetic experiment.

    Parameters
    ----------
    n_objects : int
        Number of points, n.
    n_components : int
        Number of dimensions, p.
    variance : float
        Variance of each coordinate.
    random_state : None, int, SeedSequence, Generator or RandomState
        The points come from the seed's own stream "points": an estimator with the same seed starts elsewhere.

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> make_gaussian(n_objects=5, n_components=2, random_state=0).shape
    (5, 2)
    """
    if n_objects < 1 or n_components < 1:
        raise ValueError(f"n_objects={n_objects} and n_components={n_components} must both be at least 1")
    if not (np.isfinite(variance) and variance > 0):
        raise ValueError(f"variance={variance} must be positive and finite")
    return stream(random_state, "points").normal(scale=np.sqrt(variance), size=(n_objects, n_components))


def sample_triplets(
    points: ArrayLike,
    n_triplets: SupportsIndex | None = None,
    *,
    logistic_slope: float | None = None,
    flipped: float = 0.0,
    random_state: RandomState = None,
) -> Comparisons:
    """Draw questions uniformly without replacement and let the points answer them.

    Each row of the result is (anchor, near, far); a wrong answer is a row with near and far exchanged.

    Parameters
    ----------
    points : array of shape (n, p)
        True coordinates, n at least 3.
    n_triplets : int, optional
        How many of the n(n-1)(n-2)/2 questions to ask, in random order. None asks all of them, in the order
        of their numbers (485,100 for n = 100). Drawing takes memory for at most 20 * n_triplets integers.
    logistic_slope : float, optional
        Noise that confuses close calls: a question is answered rightly with probability
        1 / (1 + exp(-slope * |d2(far) - d2(near)|)). None means no such noise.
    flipped : float
        Probability, in [0, 0.5], that an answer is exchanged whatever the distances, after logistic noise.
    random_state : None, int, SeedSequence, Generator or RandomState
        Questions and answers draw from separate streams: the same seed asks the same questions at any noise.

    Returns
    -------
    Comparisons
        With ``n_objects`` fixed to n, also when some object is in no row. Ties are answered at random.

    Examples
    --------
    >>> points = [[0.0], [1.0], [3.0]]
    >>> sample_triplets(points).rows.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    >>> sample_triplets(make_gaussian(random_state=0), 200, flipped=0.1, random_state=0).rows.shape
    (200, 3)
    """
    truth = checked_points(points, "points")
    n_objects = len(truth)
    if n_objects < 3:
        raise ValueError(f"a triplet needs three objects; got {n_objects} points")
    _check_noise(logistic_slope, flipped)
    questions = sample_questions(n_objects, n_triplets, stream(random_state, "triplets"))
    anchor, first, second = unrank_questions(questions, n_objects)
    difference = clear_ties(pair_distances(truth, anchor, first), pair_distances(truth, anchor, second))
    first_is_near = _answer(difference, logistic_slope, flipped, stream(random_state, "answers"))
    near, far = np.where(first_is_near, (first, second), (second, first))
    return Comparisons.from_triplets(np.column_stack([anchor, near, far]), n_objects=n_objects)


def count_questions(n_objects: int) -> int:
    """Return n(n-1)(n-2)/2, the number of questions about n objects.

    Examples
    --------
    >>> count_questions(100)
    485100
    """
    return n_objects * (n_objects - 1) * (n_objects - 2) // 2


def unrank_questions(
    questions: NDArray[np.int64], n_objects: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Turn numbers of questions into anchors and pairs.

    Parameters
    ----------
    questions : array of shape (m,)
        Integers in 0..n(n-1)(n-2)/2 - 1.
    n_objects : int
        Number of objects, n.

    Returns
    -------
    anchor, first, second : arrays of shape (m,)
        Three different objects, ``first < second``.

    Examples
    --------
    >>> unrank_questions(np.array([0, 1, 2]), 3)
    (array([0, 1, 2]), array([1, 0, 0]), array([2, 2, 1]))
    """
    pairs_per_anchor = (n_objects - 1) * (n_objects - 2) // 2
    anchor, remainder = np.divmod(questions, pairs_per_anchor)
    larger = ((1 + np.sqrt(1 + 8 * remainder)) / 2).astype(np.int64)
    # The square root can round across an integer, in either direction.
    larger -= larger * (larger - 1) // 2 > remainder
    larger += larger * (larger + 1) // 2 <= remainder
    smaller = remainder - larger * (larger - 1) // 2
    return anchor, smaller + (smaller >= anchor), larger + (larger >= anchor)


def distinct_rows(n_rows: int, size: int, n_objects: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows of different objects, shape (n_rows, size).

    Examples
    --------
    >>> rows = distinct_rows(1000, 3, 4, np.random.default_rng(0))
    >>> {len(set(row)) for row in rows.tolist()}
    {3}
    """
    if n_objects < 2 * size**2:
        return np.argsort(rng.random((n_rows, n_objects)), axis=1)[:, :size]
    rows = rng.integers(n_objects, size=(n_rows, size))
    while len(repeated := np.flatnonzero((np.diff(np.sort(rows, axis=1), axis=1) == 0).any(axis=1))):
        rows[repeated] = rng.integers(n_objects, size=(len(repeated), size))
    return rows


def sample_questions(
    n_objects: int, n_triplets: SupportsIndex | None, rng: np.random.Generator, name: str = "n_triplets"
) -> NDArray[np.int64]:
    """Return numbers of different questions, (m,), in random order; of all, in order, if their number is None."""
    total = count_questions(n_objects)
    if n_triplets is None:
        return np.arange(total)
    size = operator.index(n_triplets)
    if not 1 <= size <= total:
        raise ValueError(
            f"{name}={size}, but {n_objects} points have {total} different questions; "
            f"ask for 1 to {total}, or leave {name} out to get them all"
        )
    # Shuffled, so that the first rows of a sample are themselves a fair sample. NumPy draws with a hash set
    # unless more than a twentieth of the questions is asked for; only then does it build the whole range.
    return rng.choice(total, size=size, replace=False, shuffle=True)


def _answer(
    difference: NDArray[np.float64], logistic_slope: float | None, flipped: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    # Both draws are made whatever the noise: with one seed, more noise changes only the answers it must.
    coin, flip = rng.random((2, len(difference)))
    chance = (
        np.heaviside(difference, 0.5) if logistic_slope is None else answer_probability(logistic_slope * difference)
    )
    answer: NDArray[np.bool_] = (coin < chance) ^ (flip < flipped)
    return answer


def _check_noise(logistic_slope: float | None, flipped: float) -> None:
    if logistic_slope is not None and not (np.isfinite(logistic_slope) and logistic_slope > 0):
        raise ValueError(f"logistic_slope={logistic_slope} must be positive and finite; None means no logistic noise")
    if not 0 <= flipped <= 0.5:
        raise ValueError(f"flipped={flipped} must be in [0, 0.5]; above one half the answers mean the opposite")
