"""One map that answers as the posterior does.

Draws differ by rotations that no comparison can tell apart. Where the comparisons leave little open, their mean after
turning them onto each other is a good map; where they leave much open it is a shrunken cloud. So questions are drawn
the way the study asks them, the posterior says how likely each answer is, and descent finds maps of the wanted
dimension that agree with these chances. The one that agrees best, the mean among them, is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.embedding.fitting import fit_points, principal
from nearer.factored import InMemory
from nearer.losses import StudentT
from nearer.margins import FloatArray
from nearer.penalty import Penalty
from nearer.posterior.maps import chances_of, mean_map
from nearer.posterior.model import Draws, Model
from nearer.solvers import Factored, Outcome

N_QUESTIONS = 100_000
_SHAPES = (1.0, 3.0, 7.0)  # degrees of freedom of t-STE that the descent may take


def one_map(
    model: Model, draws: Draws, n_components: int, rng: np.random.Generator, n_threads: int | None
) -> tuple[FloatArray, bool]:
    """Return the map of so many dimensions that answers most like the draws do.

    Parameters
    ----------
    model : Model
        Whose comparisons tell what is asked.
    draws : Draws
        Over the objects of the model.

    Returns
    -------
    embedding : ndarray, shape (n, n_components)
        Centred, axes in order of falling variance; its size has no meaning.
    interrupted : bool
        Whether Ctrl-C ended the descent.
    """
    questions, chances, weights = _questions(model, draws, rng, n_threads)
    both = np.concatenate([questions, questions[:, [2, 3, 0, 1]]])
    comparisons = Comparisons.from_quadruplets(
        both, weights=np.concatenate([weights * chances, weights * (1 - chances)]), n_objects=model.n_objects
    )
    solver = Factored(rank=n_components, n_threads=n_threads)
    maps: list[FloatArray] = []
    interrupted = False
    for shape in _SHAPES:
        fitted = fit_points(InMemory(comparisons), StudentT(shape), Penalty(trace=0.0, ridge=0.0), solver, rng)
        maps.append(fitted.embedding)
        interrupted = fitted.solution.outcome is Outcome.INTERRUPTED
        if interrupted:
            break

    everything = np.ones(model.n_objects, dtype=bool)
    maps.append(principal(mean_map(draws), everything)[:, :n_components])

    def disagreement(points: FloatArray) -> float:
        return float(np.average(np.where(_holds(points, questions), 1 - chances, chances), weights=weights))

    return min(maps, key=disagreement), interrupted


def _questions(
    model: Model, draws: Draws, rng: np.random.Generator, n_threads: int | None
) -> tuple[NDArray[np.int32], FloatArray, FloatArray]:
    """Return questions as quadruplets, the chance of each, and weights: drawn ones and those of the study, half each.

    Anchors and pairs are drawn from those that occur, so that objects come as often as the study asks about them.
    """
    asked = model.objects if model.objects.shape[1] == 4 else model.objects[:, [0, 1, 0, 2]]
    anchors, near, far = (asked[rng.integers(len(asked), size=N_QUESTIONS), column] for column in (0, 1, 3))
    possible = (anchors != near) & (anchors != far) & (near != far)
    drawn, counts = _counted(anchors[possible], near[possible], far[possible], model.n_objects)
    weights = model.weights if model.weights.size else np.ones(len(asked))
    questions = np.concatenate([drawn, asked])
    shares = np.concatenate([counts / max(counts.sum(), 1), weights / weights.sum()])
    return questions, chances_of(draws, questions, n_threads), shares


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


def _holds(points: FloatArray, questions: NDArray[np.integer]) -> NDArray[np.bool_]:
    i, j, l, k = questions.T  # noqa: E741
    result: NDArray[np.bool_] = ((points[i] - points[j]) ** 2).sum(1) < ((points[l] - points[k]) ** 2).sum(1)
    return result
