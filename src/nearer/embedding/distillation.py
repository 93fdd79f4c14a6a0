"""Distillation: a map of few dimensions that answers like a better predictor.

The best predictor is often no map of p dimensions: a Gram matrix of high rank, or the posterior. So questions are drawn
as the study asks them, the predictor (the teacher) gives the probability of each answer, and maps of p dimensions are
fitted to these soft answers. The map that agrees best is kept.

Draws of a posterior differ by rotations that no comparison can tell apart. Where comparisons leave little open, their
mean after alignment is a good map; where they leave much open the mean is a shrunken cloud, and distillation is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.rows import canonical_pairs
from nearer.embedding.fitting import Recipe, fit_points
from nearer.embedding.predictor import Calibration, Predictor
from nearer.geometry import principal_axes_of_seen, to_principal_axes
from nearer.model import StudentT
from nearer.optimize.problems.margins import clear_ties, pair_distances
from nearer.optimize.problems.points import Penalty
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import Factored
from nearer.sampling.model import Draws
from nearer.sampling.summaries import mean_map, predictive_probability

QUESTIONS_OF_GRAM = 30_000
_SHAPES_OF_GRAM = (3.0, 30.0)  # for clusters and doubtful answers; for answers that are beyond doubt
QUESTIONS_OF_POSTERIOR = 20_000
_SHAPES_OF_POSTERIOR = (1.0, 3.0, 7.0)
_MANY = 2.0  # questions that were asked, for each object: from there on they count about as much as others


class Answered(NamedTuple):
    """Questions, the chance that each holds as written, and how much each counts.

    Attributes
    ----------
    questions : ndarray of int, shape (m, 4)
        Near and far pairs.
    chances, weights : ndarray, shape (m,)
    """

    questions: NDArray[np.integer]
    chances: FloatArray
    weights: FloatArray

    def disagreement(self, points: FloatArray) -> float:
        """Return how likely an answer differs from that of a map, a tie counted half.

        Examples
        --------
        >>> one = Answered(np.array([[0, 1, 0, 2]]), np.array([0.75]), np.array([1.0]))
        >>> one.disagreement(np.array([[0.0], [1.0], [2.0]])), one.disagreement(np.array([[0.0], [2.0], [1.0]]))
        (0.25, 0.75)
        >>> one.disagreement(np.zeros((3, 1)))
        0.5
        """
        i, j, l, k = self.questions.T  # noqa: E741
        margins = clear_ties(pair_distances(points, i, j), pair_distances(points, l, k))
        wrong = np.where(margins > 0, 1 - self.chances, self.chances)
        return float(np.average(np.where(margins == 0, 0.5, wrong), weights=self.weights))


def questions_like(
    asked: NDArray[np.integer],
    weights: FloatArray,
    drawn: Sequence[NDArray[np.integer]],
    n_objects: int,
    share: float = 0.5,
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return questions as quadruplets, and weights that sum to 2: those drawn, and those asked.

    Parameters
    ----------
    asked : ndarray of int, shape (m, 4)
        The questions of the study.
    weights : ndarray, shape (m,)
        Of those.
    drawn : three ndarrays of int, shape (k,)
        Anchors and the two objects to compare with each, drawn from those that occur, so that objects come as often as
        the study asks about them. Where two are the same there is no question.
    n_objects : int
    share : float
        Of the questions asked in the weights.
    """
    asked = asked.astype(np.int32, copy=False)
    anchors, near, far = drawn
    possible = (anchors != near) & (anchors != far) & (near != far)
    new, counts = _counted(anchors[possible], near[possible], far[possible], n_objects)
    shares = np.concatenate([(1 - share) * counts / max(counts.sum(), 1), share * weights / weights.sum()])
    return np.concatenate([new, asked]), 2 * shares


def distilled(
    answered: Answered,
    n_objects: int,
    n_components: int,
    shapes: Sequence[float],
    others: Sequence[FloatArray],
    n_threads: int | None = None,
) -> tuple[FloatArray, bool]:
    """Return the map of p dimensions that agrees best with soft answers.

    Parameters
    ----------
    answered : Answered
    n_objects, n_components : int
    shapes : sequence of float
        Degrees of freedom of t-STE that descent may take.
    others : sequence of ndarray, shape (n, p)
        Given maps, kept if they agree better.
    n_threads : int, optional

    Returns
    -------
    embedding : ndarray, shape (n, n_components)
        Its size has no meaning.
    interrupted : bool
        Whether Ctrl-C ended the descent.
    """
    questions, chances, weights = answered
    comparisons = Comparisons.from_quadruplets(
        np.concatenate([questions, questions[:, [2, 3, 0, 1]]]),
        weights=np.concatenate([weights * chances, weights * (1 - chances)]),
        n_objects=n_objects,
    )
    # One start for each shape: the maps are judged by what they answer, and one that is folded answers badly.
    solver = Factored(n_init=1, n_threads=n_threads)
    rng = np.random.default_rng(0)  # a spectral start draws nothing
    maps: list[FloatArray] = []
    interrupted = False
    for shape in shapes:  # one that stops early is no failure: the map that agrees best is taken
        recipe = Recipe(StudentT(shape), Penalty(trace=0.0, ridge=0.0), solver, n_components)
        fitted = fit_points(InMemory(comparisons), recipe, rng)
        maps.append(fitted.embedding)
        interrupted = fitted.solution.interrupted
        if interrupted:
            break
    return min([*maps, *others], key=answered.disagreement), interrupted


def _counted(
    anchors: NDArray[np.int32], near: NDArray[np.int32], far: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int32], NDArray[np.integer]]:
    """Return the different questions as quadruplets, and how often each was drawn: of few objects there are few."""
    lower, upper = np.minimum(near, far).astype(np.int64), np.maximum(near, far)
    # Two keys in turn, each of which 64 bits can hold whatever n.
    pairs, which = np.unique(lower * n + upper, return_inverse=True)
    keys, counts = np.unique(anchors.astype(np.int64) * len(pairs) + which, return_counts=True)
    anchors, which = np.divmod(keys, max(len(pairs), 1))
    lower, upper = np.divmod(pairs[which], n)
    return np.column_stack([anchors, lower, anchors, upper]).astype(np.int32), counts


def distilled_gram(
    comparisons: Comparisons, predictor: Predictor, calibration: Calibration, own: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, bool]:
    """Distil a Gram matrix into a map of as many dimensions as a given map has.

    Parameters
    ----------
    comparisons : Comparisons
        They say what is asked; all weights are above 0.
    predictor : Predictor
        The teacher.
    calibration : Calibration
        What its margins say about probabilities.
    own : ndarray, shape (n, p)
        A given map, which is kept if it agrees better with the matrix.
    rng : numpy Generator

    Returns
    -------
    embedding : ndarray, shape (n, p)
        With margins as large as those of the matrix on average.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """
    n, size = comparisons.n_objects, predictor.size(comparisons)
    if not size > 0:
        return own, False
    asked, weights = _distinct(comparisons)
    questions, shares = questions_like(asked, weights, _drawn(asked, weights, n, rng), n)
    margins = predictor.margins(Comparisons.from_quadruplets(questions, n_objects=n))
    spread = predictor.spread(np.unique(comparisons.rows))
    answered = Answered(questions, calibration.probability(margins / spread), shares)
    points, interrupted = distilled(answered, n, own.shape[1], _SHAPES_OF_GRAM, [own])
    its_size = Predictor.of(points @ points.T).size(comparisons)
    return (points * np.sqrt(size / its_size) if its_size > 0 else own), interrupted


def _distinct(comparisons: Comparisons) -> tuple[NDArray[np.integer], FloatArray]:
    """Return the different rows as answered, by first appearance, and the weight of each.

    So the map does not depend on the way in which a row is written, nor on a repeated row in place of a weight.
    """
    rows, first, inverse = np.unique(
        canonical_pairs(comparisons.oriented), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    weights: FloatArray = np.bincount(inverse.ravel(), weights=comparisons.sample_weight)[order].astype(np.float64)
    return rows[order], weights


def _drawn(
    asked: NDArray[np.integer], weights: FloatArray, n_objects: int, rng: np.random.Generator
) -> list[NDArray[np.integer]]:
    """Return anchors and two objects to compare with each, as often as they are asked about, of one group each.

    Of a comparison of four objects each may be anchor, and each may be compared. About objects of groups that nothing
    connects the matrix has nothing to say.
    """
    triplet = (asked[:, 0] == asked[:, 2])[:, None]
    anchors, compared = np.where(triplet, asked[:, :1], asked), np.where(triplet, asked[:, [1, 3, 1, 3]], asked)
    upto = np.cumsum(weights)
    rows = np.searchsorted(upto[:-1] / upto[-1], rng.random((3, QUESTIONS_OF_GRAM)), side="right")
    columns = rng.integers(4, size=rows.shape)
    drawn = [of[row, column] for of, row, column in zip((anchors, compared, compared), rows, columns, strict=True)]
    pairs = np.concatenate([asked[:, :2], asked[:, 2:]])
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_objects, n_objects))
    group = connected_components(graph, directed=False)[1]
    together = (group[drawn[0]] == group[drawn[1]]) & (group[drawn[0]] == group[drawn[2]])
    return [objects[together] for objects in drawn]


def distilled_posterior(
    asked: NDArray[np.integer],
    weights: FloatArray,
    exposure: FloatArray,
    draws: Draws,
    n_components: int,
    rng: np.random.Generator,
    n_threads: int | None,
) -> tuple[FloatArray, bool]:
    """Distil the draws of a posterior into a map of p dimensions.

    Questions are about all objects, also those in no comparison: in the middle of the map, where they would be put
    otherwise, an object is near to all others.

    Parameters
    ----------
    asked : ndarray of int, shape (m, 4)
        The questions of the study. The more of them there are for each object, the more they count beside those that
        are drawn: they tell what kind of questions matters, but a few would be learned by heart.
    weights : ndarray, shape (m,)
        Of those.
    exposure : ndarray, shape (n,)
        The logarithm of how often each object is asked about.
    draws : Draws

    Returns
    -------
    embedding : ndarray, shape (n, n_components)
        Objects that occur in questions are centred, their axes in order of falling variance; its size has no meaning.
    interrupted : bool
        Whether Ctrl-C ended the descent.
    """
    n, seen = len(exposure), np.isin(np.arange(len(exposure)), asked)
    rates = np.exp(exposure) / np.exp(exposure).sum()
    drawn = list(rng.choice(n, size=(3, QUESTIONS_OF_POSTERIOR), p=rates))
    each = len(asked) / seen.sum()
    questions, shares = questions_like(asked, weights, drawn, n, 0.5 * each**2 / (each**2 + _MANY**2))
    answered = Answered(questions, predictive_probability(draws, questions, n_threads), shares)
    mean = np.zeros((n, draws.points.shape[2]))
    mean[seen] = mean_map(Draws(draws.points[:, seen], *draws[1:]))
    own = to_principal_axes(mean, seen)[:, :n_components]
    points, interrupted = distilled(answered, n, n_components, _SHAPES_OF_POSTERIOR, [own], n_threads)
    return principal_axes_of_seen(points, seen), interrupted
