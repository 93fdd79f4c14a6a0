"""A map that answers as something better does.

What predicts best is often no map of the wanted dimension: an average of many maps, or a Gram matrix of high rank. So
questions are drawn the way the study asks them, the better predictor says how likely each answer is, and descent finds
maps of the wanted dimension that agree with these chances. The one that agrees best is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.embedding.fitting import fit_points
from nearer.losses import StudentT
from nearer.problems.distances import clear_ties, pair_distances
from nearer.problems.penalty import Penalty
from nearer.problems.points import InMemory
from nearer.solvers import Factored, Outcome


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
    asked: NDArray[np.integer], weights: FloatArray, drawn: Sequence[NDArray[np.integer]], n_objects: int
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return questions as quadruplets, and weights: those drawn and those asked, half each.

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
    """
    asked = asked.astype(np.int32, copy=False)
    anchors, near, far = drawn
    possible = (anchors != near) & (anchors != far) & (near != far)
    new, counts = _counted(anchors[possible], near[possible], far[possible], n_objects)
    shares = np.concatenate([counts / max(counts.sum(), 1), weights / weights.sum()])
    return np.concatenate([new, asked]), shares


def answering_map(
    answered: Answered,
    n_objects: int,
    n_components: int,
    shapes: Sequence[float],
    others: Sequence[FloatArray],
    n_threads: int | None = None,
) -> tuple[FloatArray, bool]:
    """Return the map of so many dimensions that agrees best with answers.

    Parameters
    ----------
    answered : Answered
    n_objects, n_components : int
    shapes : sequence of float
        Degrees of freedom of t-STE that descent may take.
    others : sequence of ndarray, shape (n, p)
        Maps that are there already.
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
    solver = Factored(rank=n_components, n_init=1, n_threads=n_threads)
    rng = np.random.default_rng(0)  # a spectral start draws nothing
    maps: list[FloatArray] = []
    interrupted = False
    for shape in shapes:  # one that stops early is no failure: the map that agrees best is taken
        fitted = fit_points(InMemory(comparisons), StudentT(shape), Penalty(trace=0.0, ridge=0.0), solver, rng)
        maps.append(fitted.embedding)
        interrupted = fitted.solution.outcome is Outcome.INTERRUPTED
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
