"""Synthetic points, questions about them, and answers that they would give, by several models of noise.

A *question* about triplets is an anchor i and an unordered pair {j, k} of other objects. All N = n (n - 1) (n - 2) / 2
of them are numbered, so that a sample of questions is a sample of integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import Any, Literal, SupportsIndex, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from nearer._common.arrays import FloatArray, checked_points
from nearer._common.parameters import check_integer, check_number
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.model.answers import answer_probability
from nearer.optimize.problems.margins import TIE_RTOL, clear_ties, pair_distances

Kind: TypeAlias = Literal["triplet", "quadruplet", "odd-one-out"]
NoiseName: TypeAlias = Literal["logistic", "probit", "tste"]
Noise: TypeAlias = NoiseName | Callable[[FloatArray, FloatArray], FloatArray] | None
Questions: TypeAlias = NDArray[np.int64]

# Columns of the pairs among which an answer names the one most alike; of an odd-one-out question, the pair that is left
# when the item of that place is the odd one.
_PAIRS: dict[Kind, tuple[tuple[int, int], ...]] = {
    "triplet": ((0, 1), (0, 2)),
    "quadruplet": ((0, 1), (2, 3)),
    "odd-one-out": ((1, 2), (0, 2), (0, 1)),
}
_TRIALS_PER_BLOCK = 2**16  # whose weights are gathered at once


def make_gaussian(
    n_objects: int = 100, n_components: int = 10, variance: float = 1 / 20, random_state: RandomState = None
) -> FloatArray:
    """Draw points from N(0, variance * I), by default those of the paper's synthetic experiment.

    Parameters
    ----------
    n_objects, n_components : int
        Numbers of points, n, and of dimensions, p.
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
        How many of the n(n-1)(n-2)/2 questions to ask, in random order; by default all of them, in order (485,100 for
        n = 100). Drawing takes memory for at most 20 * n_triplets integers.
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
    if logistic_slope is not None and not (np.isfinite(logistic_slope) and logistic_slope > 0):
        raise ValueError(f"logistic_slope={logistic_slope} must be positive and finite; None means no logistic noise")
    if not 0 <= flipped <= 0.5:
        raise ValueError(f"flipped={flipped} must be in [0, 0.5]; above one half the answers mean the opposite")
    questions = sample_questions(n_objects, n_triplets, stream(random_state, "triplets"))
    anchor, first, second = unrank_questions(questions, n_objects)
    difference = clear_ties(pair_distances(truth, anchor, first), pair_distances(truth, anchor, second))
    # Both draws are made whatever the noise: with one seed, more noise changes only the answers it must.
    uniform, flip = stream(random_state, "answers").random((2, len(difference)))
    probability = (
        np.heaviside(difference, 0.5) if logistic_slope is None else answer_probability(logistic_slope * difference)
    )
    first_is_near = (uniform < probability) ^ (flip < flipped)
    near, far = np.where(first_is_near, (first, second), (second, first))
    return Comparisons.from_triplets(np.column_stack([anchor, near, far]), n_objects=n_objects)


def make_dimensions(
    n_objects: int = 100,
    n_dimensions: int = 10,
    *,
    density: float = 0.15,
    shape: float = 2.0,
    scale: float = 0.5,
    random_state: RandomState = None,
) -> FloatArray:
    """Draw sparse nonnegative weights of objects on dimensions, such as people's answers about things show.

    A dimension applies to a share of the objects, which differs between dimensions; where it applies, the weight is
    from a gamma distribution. With the defaults and 42 dimensions the best possible accuracy in odd-one-out trials is
    about two thirds, as in THINGS.

    Parameters
    ----------
    n_objects, n_dimensions : int
    density : float in (0, 1]
        Mean share of the objects to which a dimension applies; the shares are from a gamma distribution of shape 3, and
        at least 5 objects.
    shape, scale : float > 0
        Of the gamma distribution of the weights.
    random_state : None, int, SeedSequence, Generator or RandomState
        The weights come from the seed's own stream "points".

    Returns
    -------
    ndarray of shape (n_objects, n_dimensions)

    Examples
    --------
    >>> weights = make_dimensions(300, 20, random_state=0)
    >>> weights.shape, bool((weights >= 0).all()), bool((weights == 0).mean() > 0.5)
    ((300, 20), True, True)
    """
    n, p = check_integer("n_objects", n_objects, 1), check_integer("n_dimensions", n_dimensions, 1)
    mean = check_number("density", density, above=0)
    if mean > 1:
        raise ValueError(f"density={density} must be a share of the objects, at most 1")
    alpha, unit = check_number("shape", shape, above=0), check_number("scale", scale, above=0)
    rng = stream(random_state, "points")
    shares = np.clip(rng.gamma(3.0, mean / 3, size=p), min(5 / n, 1), 1)
    # The objects of the smallest uniform numbers, so that each dimension has as many as its share says.
    ranks = np.argsort(np.argsort(rng.random((n, p)), axis=0), axis=0)
    return np.where(ranks < np.ceil(shares * n), rng.gamma(alpha, unit, size=(n, p)), 0.0)


def sample_odd_one_out(weights: ArrayLike, n_trials: int, *, random_state: RandomState = None) -> Comparisons:
    """Draw trials of three different objects and let objects with weights on dimensions answer them.

    The similarity of two objects is the inner product of their weights, and the pair (a, b) of a trial is named as the
    most alike, which leaves the third object as the odd one, with probability proportional to exp(x_a . x_b): the model
    of `nearer.embedding.SPoSE`.

    Parameters
    ----------
    weights : array of shape (n, p)
        At least 3 objects.
    n_trials : int
        Trials, each with three objects drawn uniformly; one of many trials may repeat the objects of another.
    random_state : None, int, SeedSequence, Generator or RandomState
        Questions and answers draw from separate streams, which are not that of `make_dimensions`.

    Returns
    -------
    Comparisons
        As of `simulate_answers`: the two comparisons that follow from an answer are one trial, with a weight of one
        half each.

    Examples
    --------
    >>> sample_odd_one_out(make_dimensions(random_state=0), 500, random_state=0)
    Comparisons(1000 triplets over 100 objects; weights, trials)
    """
    truth, m = checked_points(weights, "weights"), check_integer("n_trials", n_trials, 1)
    if len(truth) < 3:
        raise ValueError(f"an odd-one-out trial needs three objects; got weights of {len(truth)}")
    asked = np.asarray(distinct_rows(m, 3, len(truth), stream(random_state, "triplets")), np.int32)
    rng = stream(random_state, "answers")
    named = np.empty(m, np.intp)
    for start in range(0, m, _TRIALS_PER_BLOCK):
        block = asked[start : start + _TRIALS_PER_BLOCK]
        alike = [np.einsum("mp,mp->m", truth[block[:, a]], truth[block[:, b]]) for a, b in _PAIRS["odd-one-out"]]
        named[start : start + len(block)] = np.argmax(np.stack(alike, axis=1) + rng.gumbel(size=block.shape), axis=1)
    return _as_comparisons(Comparisons.from_triplets(asked, n_objects=len(truth)), "odd-one-out", named, None)


def count_questions(n_objects: int) -> int:
    """Return n(n-1)(n-2)/2, the number of questions about n objects."""
    return n_objects * (n_objects - 1) * (n_objects - 2) // 2


def unrank_questions(
    questions: NDArray[np.int64], n_objects: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Turn numbers of questions into anchors and pairs."""
    # The remainder b (b - 1) / 2 + a numbers the pairs a < b of the n - 1 others, counted past the anchor.
    anchor, remainder = np.divmod(questions, (n_objects - 1) * (n_objects - 2) // 2)
    larger = ((1 + np.sqrt(1 + 8 * remainder)) / 2).astype(np.int64)
    # The square root can round across an integer, in either direction.
    larger -= larger * (larger - 1) // 2 > remainder
    larger += larger * (larger + 1) // 2 <= remainder
    smaller = remainder - larger * (larger - 1) // 2
    return anchor, smaller + (smaller >= anchor), larger + (larger >= anchor)


def distinct_rows(n_rows: int, size: int, n_objects: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows of different objects, shape (n_rows, size)."""
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


def draw_questions(
    n_objects: int, n_questions: SupportsIndex, kind: Kind = "triplet", random_state: RandomState = None
) -> Questions:
    """Draw different questions about n objects, each as likely as any other, in random order.

    Parameters
    ----------
    n_objects : int
    n_questions : int
        At most n(n-1)(n-2)/2 triplets, n(n-1)(n-2)(n-3)/8 quadruplets (of four objects) or n(n-1)(n-2)/6 odd-one-out
        questions: there are no more.
    kind : {"triplet", "quadruplet", "odd-one-out"}
    random_state : None, int, SeedSequence, Generator or RandomState
        Answers of `simulate_answers` with the same seed are drawn from another stream.

    Returns
    -------
    ndarray of int, shape (m, 3) or (m, 4)
        Anchor and two others; two pairs; or three items.

    Examples
    --------
    >>> draw_questions(30, 100, "odd-one-out", random_state=0).shape
    (100, 3)
    """
    _check_kind(kind)
    size, n = check_integer("n_questions", n_questions, 1), check_integer("n_objects", n_objects, 3)
    rng = stream(random_state, "triplets")
    if kind == "triplet":
        return np.column_stack(unrank_questions(sample_questions(n, size, rng, "n_questions"), n))
    width = 4 if kind == "quadruplet" else 3
    ways = 3 if kind == "quadruplet" else 1  # to make two pairs of four objects
    total = ways * comb(n, width)
    if size > total:
        raise ValueError(f"n_questions={size}, but {n} objects have {total} different questions of the kind {kind!r}")
    if 2 * size > total:
        sets = np.array(list(combinations(range(n), width)))
        if ways == 3:
            sets = np.concatenate([sets, sets[:, [0, 2, 1, 3]], sets[:, [0, 3, 1, 2]]])
        return sets[rng.permutation(total)[:size]]
    found: Questions = np.empty((0, width), np.int64)
    while len(found) < size:
        rows = np.asarray(distinct_rows(size, width, n, rng), np.int64)
        if kind == "quadruplet":
            rows = np.sort(rows.reshape(-1, 2, 2), axis=2)
            swapped = rows[:, 0, 0] > rows[:, 1, 0]
            rows = np.where(swapped[:, None, None], rows[:, ::-1], rows).reshape(-1, 4)
        else:
            rows = np.sort(rows, axis=1)
        together = np.concatenate([found, rows])
        found = together[np.sort(np.unique(together, axis=0, return_index=True)[1])]
    return found[:size]


def simulate_answers(
    points: ArrayLike,
    questions: Any,
    noise: Noise = "logistic",
    *,
    kind: Kind | None = None,
    slope: float | ArrayLike = 1.0,
    alpha: float = 1.0,
    lapses: float | ArrayLike = 0.0,
    flipped: float = 0.0,
    people: int | None = None,
    random_state: RandomState = None,
) -> Comparisons:
    """Let points answer given questions.

    Whoever answers perceives how alike each pair of a question is, with an error, and names the pair perceived as most
    alike. With squared distances d2, a slope s, and errors e drawn anew for each pair and answer, the similarity is

        logistic   -s d2 + e,                                   e from Gumbel's distribution
        probit     -s d2 + e,                                   e normal, of variance 1/2
        tste       -(alpha + 1) / 2 * log(1 + s d2 / alpha) + e,    e from Gumbel's distribution

    so that of two pairs the first is named with probability sigmoid(s (d2_2 - d2_1)), Phi(s (d2_2 - d2_1)), or the
    ratio of Student's kernels: the models of STE, of MLDS on squared distances, and of t-STE. Of the three pairs of an
    odd-one-out question one is named by the same rule: with Gumbel's errors, Luce's choice rule. Then a lapse replaces
    the answer by a guess, a flip by another answer, whatever the distances.

    Parameters
    ----------
    points : array of shape (n, p)
        True coordinates.
    questions : array of int of shape (m, 3) or (m, 4), or Comparisons
        Positions of objects, such as `draw_questions` draws, in one row for each answer: a question may be repeated. Of
        a `Comparisons` the rows as written are asked.
    noise : {"logistic", "probit", "tste"}, callable or None
        What makes close calls uncertain. None is no such noise, with ties answered at random. A callable gets the
        squared distances of both pairs, (m,) each, and returns the probability that the first is called the one more
        alike; for triplets and quadruplets.
    kind : {"triplet", "quadruplet", "odd-one-out"}, optional
        By default three columns are triplets, four quadruplets.
    slope : float > 0, or one for each person
        How sharp judgments are: squared distances are multiplied by it.
    alpha : float > 0
        Degrees of freedom of ``noise="tste"``.
    lapses : float in [0, 1], or one for each person
        Share of answers that are guesses.
    flipped : float in [0, 1]
        Share of answers that are exchanged for another one, whatever the distances.
    people : int, optional
        Number of people, among whom the questions are dealt out evenly and at random; they are the annotators.
    random_state : None, int, SeedSequence, Generator or RandomState
        The same seed makes the same people and errors, whatever the noise.

    Returns
    -------
    Comparisons
        Triplets and quadruplets as they were asked, with answers +1 and -1. Of an odd-one-out answer the two
        comparisons that follow from it, as one trial, with a weight of one half each.

    Examples
    --------
    >>> points = make_gaussian(20, 2, random_state=0)
    >>> simulate_answers(points, [[0, 1, 2], [5, 3, 4]], random_state=0).answers.tolist()
    [1, -1]
    >>> questions = draw_questions(20, 50, "odd-one-out", random_state=0)
    >>> simulate_answers(points, questions, kind="odd-one-out", slope=10, people=5, random_state=0)
    Comparisons(100 triplets over 20 objects; weights, annotators, trials)
    """
    truth = checked_points(points, "points")
    asked, kind = _checked_questions(questions, kind, len(truth))
    n_people = None if people is None else check_integer("people", people, 1)
    m, pairs = len(asked.rows), _PAIRS[kind]
    dealt = np.arange(m) % (n_people or 1)
    person = stream(random_state, "split").permutation(dealt)
    slopes = _one_per_person("slope", slope, n_people)[person]
    rates = _one_per_person("lapses", lapses, n_people)[person]
    if not (slopes > 0).all() or not ((rates >= 0) & (rates <= 1)).all() or not 0 <= flipped <= 1:
        raise ValueError("slope must be above 0, lapses and flipped within [0, 1]")
    distances = np.stack([pair_distances(truth, asked.rows[:, a], asked.rows[:, b]) for a, b in pairs], axis=1)
    rng = stream(random_state, "answers")
    named = _chosen_pairs(noise, distances, slopes[:, None], check_number("alpha", alpha, above=0), rng)
    # All draws are made whatever the rates: with one seed, more noise changes only the answers it must.
    guesses, lapsed, flips = rng.integers(len(pairs), size=m), rng.random(m) < rates, rng.random(m) < flipped
    others = rng.integers(1, len(pairs), size=m)
    named = np.where(lapsed, guesses, named)
    named = np.where(flips, (named + others) % len(pairs), named)
    labels = None if n_people is None else np.array([f"person {k + 1}" for k in range(n_people)])[person]
    return _as_comparisons(asked, kind, named, labels)


def _chosen_pairs(
    noise: Noise, distances: FloatArray, slope: FloatArray, alpha: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the number of the pair that is named most alike, (m,), of squared distances of shape (m, pairs)."""
    uniform = np.maximum(rng.random(distances.shape), np.finfo(np.float64).tiny)
    gumbel = -np.log(-np.log(uniform))
    if callable(noise):
        if distances.shape[1] != 2:
            raise ValueError(
                "a noise function compares two pairs; for odd-one-out questions name 'logistic' or another"
            )
        probabilities = np.asarray(noise(*(slope * distances).T), np.float64)
        if probabilities.shape != (len(distances),) or not ((probabilities >= 0) & (probabilities <= 1)).all():
            raise ValueError("a noise function must return a probability for each question, shape (m,)")
        return np.where(uniform[:, 0] < probabilities, 0, 1)
    if noise is None:
        least, most = distances.min(axis=1, keepdims=True), distances.max(axis=1, keepdims=True)
        similarity = np.where(distances <= least + 2 * TIE_RTOL * most, uniform, -1.0)
    elif noise == "logistic":
        similarity = gumbel - slope * distances
    elif noise == "tste":
        similarity = gumbel - (alpha + 1) / 2 * np.log1p(slope * distances / alpha)
    elif noise == "probit":
        similarity = np.sqrt(0.5) * ndtri(uniform) - slope * distances
    else:
        raise ValueError(f"noise must be one of {get_args(NoiseName)}, a function or None, got {noise!r}")
    return np.asarray(np.argmax(similarity, axis=1))


def _as_comparisons(
    asked: Comparisons, kind: Kind, named: NDArray[np.intp], annotators: NDArray[np.str_] | None
) -> Comparisons:
    if kind != "odd-one-out":
        make = Comparisons.from_triplets if kind == "triplet" else Comparisons.from_quadruplets
        answers = np.where(named == 0, 1, -1)
        return make(asked.objects[asked.rows], answers, annotators=annotators, objects=asked.objects)
    each = np.arange(len(named))
    odd = asked.rows[each, named]
    first, second = (asked.rows[each, np.array(_PAIRS[kind])[named, side]] for side in (0, 1))
    rows = np.stack([np.stack([first, second, odd], axis=1), np.stack([second, first, odd], axis=1)], axis=1)
    return Comparisons.from_triplets(
        asked.objects[rows.reshape(-1, 3)],
        weights=np.full(2 * len(named), 0.5),
        annotators=None if annotators is None else np.repeat(annotators, 2),
        trials=np.repeat(each, 2),
        objects=asked.objects,
    )


def _checked_questions(questions: Any, kind: Kind | None, n_objects: int) -> tuple[Comparisons, Kind]:
    if isinstance(questions, Comparisons):
        asked = questions
    else:
        rows = np.asarray(questions)
        if rows.ndim != 2 or rows.shape[1] not in (3, 4) or rows.dtype.kind not in "iu":
            raise ValueError(
                "questions must be positions of objects in rows of three or four, such as draw_questions draws; got an "
                f"array of {rows.dtype} and shape {rows.shape}"
            )
        make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
        asked = make(rows, n_objects=n_objects)
    if asked.n_objects != n_objects:
        raise ValueError(f"the questions are about {asked.n_objects} objects, and there are {n_objects} points")
    kind = ("triplet" if asked.is_triplets else "quadruplet") if kind is None else kind
    _check_kind(kind)
    if asked.is_triplets != (kind != "quadruplet"):
        raise ValueError(f"kind={kind!r} does not go with rows of {asked.shape[1]}")
    return asked, kind


def _check_kind(kind: str) -> None:
    if kind not in _PAIRS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, _PAIRS))}, got {kind!r}")


def _one_per_person(name: str, values: float | ArrayLike, n_people: int | None) -> FloatArray:
    """Return a value for each person."""
    numbers = np.asarray(values, np.float64)
    if numbers.ndim and numbers.shape != (n_people,):
        raise ValueError(f"{name} must be a number, or one for each of the people; got shape {numbers.shape}")
    return np.broadcast_to(numbers, n_people or 1)
