"""Distillation: a map of few dimensions that answers like a better predictor.

The best predictor is often no map of p dimensions: a Gram matrix of high rank, or the posterior. So questions are drawn
as the study asks them, the predictor gives the probability of each answer, and maps of p dimensions are fitted to these
soft answers. The map that agrees best is kept.
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

N_QUESTIONS_GRAM = 30_000
_DEGREES_OF_FREEDOM_GRAM = (3.0, 30.0)  # for clusters and doubtful answers; for answers that are beyond doubt
N_QUESTIONS_POSTERIOR = 20_000
_DEGREES_OF_FREEDOM_POSTERIOR = (1.0, 3.0, 7.0)
_MANY_PER_OBJECT = 2.0  # questions that were asked, for each object: from there on they count about as much as others


class SoftAnswers(NamedTuple):
    """Questions, the chance that each holds as written, and how much each counts."""

    questions: NDArray[np.integer]  # (m, 4), near and far pairs
    chances: FloatArray  # (m,)
    weights: FloatArray

    def disagreement(self, points: FloatArray) -> float:
        """Return how likely an answer differs from that of a map, a tie counted half."""
        i, j, l, k = self.questions.T  # noqa: E741
        margins = clear_ties(pair_distances(points, i, j), pair_distances(points, l, k))
        wrong = np.where(margins > 0, 1 - self.chances, self.chances)
        return float(np.average(np.where(margins == 0, 0.5, wrong), weights=self.weights))


def mixed_questions(
    asked: NDArray[np.integer],
    weights: FloatArray,
    drawn: Sequence[NDArray[np.integer]],
    n_objects: int,
    share: float = 0.5,
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return questions as quadruplets, and weights that sum to 2: those drawn, and those asked."""
    asked = asked.astype(np.int32, copy=False)
    anchors, first, second = (objects.astype(np.int64) for objects in drawn)
    possible = (anchors != first) & (anchors != second) & (first != second)
    # The different questions, and how often each was drawn: of few objects there are few. Two keys in turn, each of
    # which 64 bits can hold whatever n.
    lower, upper = np.minimum(first, second)[possible], np.maximum(first, second)[possible]
    pairs, which = np.unique(lower * n_objects + upper, return_inverse=True)
    keys, counts = np.unique(anchors[possible] * len(pairs) + which, return_counts=True)
    anchors, which = np.divmod(keys, max(len(pairs), 1))
    lower, upper = np.divmod(pairs[which], n_objects)
    new = np.column_stack([anchors, lower, anchors, upper]).astype(np.int32)
    shares = np.concatenate([(1 - share) * counts / max(counts.sum(), 1), share * weights / weights.sum()])
    return np.concatenate([new, asked]), 2 * shares


def distill(
    answered: SoftAnswers,
    n_objects: int,
    n_components: int,
    shapes: Sequence[float],
    others: Sequence[FloatArray],
    n_threads: int | None = None,
) -> tuple[FloatArray, bool]:
    """Return the map of p dimensions that agrees best with soft answers."""
    questions, chances, weights = answered
    comparisons = Comparisons(
        rows=np.concatenate([questions, questions[:, [2, 3, 0, 1]]]),
        answers=None,
        weights=np.concatenate([weights * chances, weights * (1 - chances)]),
        annotators=None,
        trials=None,
        objects=np.arange(n_objects),
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


def distill_gram(
    comparisons: Comparisons, predictor: Predictor, calibration: Calibration, own: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, bool]:
    """Distill a Gram matrix into a map of as many dimensions as a given map has."""
    n, size = comparisons.n_objects, predictor.size(comparisons)
    if not size > 0:
        return own, False
    asked, weights = _distinct_rows(comparisons)
    questions, shares = mixed_questions(asked, weights, _draw_questions(asked, weights, n, rng), n)
    margins = predictor.margins(Comparisons.from_quadruplets(questions, n_objects=n))
    spread = predictor.spread(np.unique(comparisons.rows))
    answered = SoftAnswers(questions, calibration.probability(margins / spread), shares)
    points, interrupted = distill(answered, n, own.shape[1], _DEGREES_OF_FREEDOM_GRAM, [own])
    its_size = Predictor.from_solution(points @ points.T).size(comparisons)
    return (points * np.sqrt(size / its_size) if its_size > 0 else own), interrupted


def _distinct_rows(comparisons: Comparisons) -> tuple[NDArray[np.integer], FloatArray]:
    """Return the different rows as answered, by first appearance, and the weight of each."""
    # So that the map depends neither on how a row is written, nor on a repeated row in place of a weight.
    rows, first, inverse = np.unique(
        canonical_pairs(comparisons.oriented), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    return rows[order], np.bincount(inverse.ravel(), comparisons.sample_weight)[order].astype(np.float64)


def _draw_questions(
    asked: NDArray[np.integer], weights: FloatArray, n_objects: int, rng: np.random.Generator
) -> list[NDArray[np.integer]]:
    """Return anchors and two objects to compare with each, as often as they are asked about, of one group each."""
    # Of a comparison of four objects each may be anchor, and each may be compared. The matrix says nothing about
    # objects of components that no comparison connects.
    triplet = (asked[:, 0] == asked[:, 2])[:, None]
    anchors, compared = np.where(triplet, asked[:, :1], asked), np.where(triplet, asked[:, [1, 3, 1, 3]], asked)
    upto = np.cumsum(weights)
    rows = np.searchsorted(upto[:-1] / upto[-1], rng.random((3, N_QUESTIONS_GRAM)), side="right")
    columns = rng.integers(4, size=rows.shape)
    drawn = [of[row, column] for of, row, column in zip((anchors, compared, compared), rows, columns, strict=True)]
    pairs = np.concatenate([asked[:, :2], asked[:, 2:]])
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_objects, n_objects))
    group = connected_components(graph, directed=False)[1]
    together = (group[drawn[0]] == group[drawn[1]]) & (group[drawn[0]] == group[drawn[2]])
    return [objects[together] for objects in drawn]


def distill_posterior(
    asked: NDArray[np.integer],
    weights: FloatArray,
    exposure: FloatArray,
    draws: Draws,
    n_components: int,
    rng: np.random.Generator,
    n_threads: int | None,
) -> tuple[FloatArray, bool]:
    """Distill the draws of a posterior into a map of p dimensions."""
    # All objects are asked about, also those in no comparison: in the middle of the map, where they would be put
    # otherwise, an object is near to all others. The more questions of the study there are for each object, the more
    # they count next to those drawn: they show which questions matter, but a few would be overfitted.
    n, seen = len(exposure), np.isin(np.arange(len(exposure)), asked)
    rates = np.exp(exposure) / np.exp(exposure).sum()
    drawn = list(rng.choice(n, size=(3, N_QUESTIONS_POSTERIOR), p=rates))
    each = len(asked) / seen.sum()
    questions, shares = mixed_questions(asked, weights, drawn, n, 0.5 * each**2 / (each**2 + _MANY_PER_OBJECT**2))
    answered = SoftAnswers(questions, predictive_probability(draws, questions, n_threads), shares)
    mean = np.zeros((n, draws.points.shape[2]))
    mean[seen] = mean_map(Draws(draws.points[:, seen], *draws[1:]))
    own = to_principal_axes(mean, seen)[:, :n_components]
    points, interrupted = distill(answered, n, n_components, _DEGREES_OF_FREEDOM_POSTERIOR, [own], n_threads)
    return principal_axes_of_seen(points, seen), interrupted
