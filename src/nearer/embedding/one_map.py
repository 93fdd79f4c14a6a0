"""One map that answers as the posterior does.

Draws differ by rotations that no comparison can tell apart. Where the comparisons leave little open, their mean after
turning them onto each other is a good map; where they leave much open it is a shrunken cloud, and a map fitted to the
answers of the posterior is better.
"""

from __future__ import annotations

import numpy as np

from nearer.common.arrays import FloatArray
from nearer.embedding.distillation import Answered, answering_map, questions_like
from nearer.geometry import principal
from nearer.posterior.maps import chances_of, mean_map
from nearer.posterior.model import Draws, Model

N_QUESTIONS = 100_000
_SHAPES = (1.0, 3.0, 7.0)


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
    asked = model.objects if model.objects.shape[1] == 4 else model.objects[:, [0, 1, 0, 2]]
    weights = model.weights if model.weights.size else np.ones(len(asked))
    drawn = [asked[rng.integers(len(asked), size=N_QUESTIONS), column] for column in (0, 1, 3)]
    questions, shares = questions_like(asked, weights, drawn, model.n_objects)
    answered = Answered(questions, chances_of(draws, questions, n_threads), shares)
    mean = principal(mean_map(draws), np.ones(model.n_objects, dtype=bool))[:, :n_components]
    return answering_map(answered, model.n_objects, n_components, _SHAPES, [mean], n_threads)
