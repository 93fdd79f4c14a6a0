"""One map that answers as a Gram matrix of higher rank does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.data.rows import shared_first
from nearer.embedding.distillation import Answered, answering_map, questions_like
from nearer.embedding.predictor import Predictor
from nearer.embedding.probability import Calibration

N_QUESTIONS = 30_000
_SHAPES = (3.0, 30.0)  # for clusters and doubtful answers; for answers that are beyond doubt


def gram_map(
    comparisons: Comparisons, predictor: Predictor, calibration: Calibration, own: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, bool]:
    """Return the map that answers most like a matrix does, in as many dimensions as another map has.

    Parameters
    ----------
    comparisons : Comparisons
        That tell what is asked; each of weight above 0.
    predictor : Predictor
        The matrix.
    calibration : Calibration
        What its margins say about probabilities.
    own : ndarray, shape (n, p)
        A map that is there already, which is kept if it agrees better with the matrix.
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
    points, interrupted = answering_map(answered, n, own.shape[1], _SHAPES, [own])
    its_size = Predictor.of(points @ points.T).size(comparisons)
    return (points * np.sqrt(size / its_size) if its_size > 0 else own), interrupted


def _distinct(comparisons: Comparisons) -> tuple[NDArray[np.integer], FloatArray]:
    """Return the different rows as answered, by first appearance, and the weight of each.

    So the map does not depend on the way in which a row is written, nor on a repeated row in place of a weight.
    """
    rows, first, inverse = np.unique(shared_first(comparisons.oriented), axis=0, return_index=True, return_inverse=True)
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
    rows = np.searchsorted(upto[:-1] / upto[-1], rng.random((3, N_QUESTIONS)), side="right")
    columns = rng.integers(4, size=rows.shape)
    drawn = [of[row, column] for of, row, column in zip((anchors, compared, compared), rows, columns, strict=True)]
    pairs = np.concatenate([asked[:, :2], asked[:, 2:]])
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_objects, n_objects))
    group = connected_components(graph, directed=False)[1]
    together = (group[drawn[0]] == group[drawn[1]]) & (group[drawn[0]] == group[drawn[2]])
    return [objects[together] for objects in drawn]
