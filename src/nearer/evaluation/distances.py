r"""The distances between all objects of a map, as a square matrix for other programs, and how well each is known.

**Which distances.** A method that finds one map has the distances on it. A `PosteriorEmbedding` has many maps, in as
many dimensions as the answers call for, and its matrix is the mean of their distances,

    D_ab = mean over draws of |x_a - x_b|,

each draw made as large as the map. Of all matrices this one is nearest to the true distances in the expected squared
error, as far as the model of answers is right, and it does not depend on how many dimensions the map is drawn in. In
simulations (20 objects in 2 and 5 dimensions, 80 to 1200 triplets with one in ten wrong, 3 seeds of each) its Spearman
correlation with the true distances was 0.755 on average where the truth had five dimensions, and that of the 2-D map
0.713; where the truth had two they were 0.790 and 0.788.

**Spread.** S_ab is the standard deviation of the same distance over the draws or, for a method with one map, over the
maps of resampled answers, times the factor that their ellipses were calibrated with.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from nearer._common.arrays import FloatArray
from nearer._common.tables import escape_formula
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects, with_positive_weight
from nearer.data.labels import Labels
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.uncertainty import Bootstrap

#: Files of a run.
DISTANCES, SPREAD = "distances.csv", "distances_spread.csv"
#: Beyond so many objects a matrix fills tens of megabytes: the map says the same in a thousandth of it.
MOST_OBJECTS = 1000
N_DRAWS = 400  # of a posterior


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between all objects, in the units of the map.

    Attributes
    ----------
    matrix : ndarray, shape (n, n)
    spread : ndarray, shape (n, n), or None
        The standard deviation of each; None where nothing is known of it.
    objects : ndarray, shape (n,)
        Labels, in the order of rows and columns.

    Examples
    --------
    >>> Distances(np.array([[0.0, 1.0], [1.0, 0.0]]), None, np.array(["a", "b"])).matrix[0, 1]
    np.float64(1.0)
    """

    matrix: FloatArray
    spread: FloatArray | None
    objects: Labels


def distance_matrix(model: OrdinalEmbedding, places: Bootstrap | None = None) -> Distances:
    """Return the distances between all objects of a fitted map.

    Parameters
    ----------
    model : fitted estimator
        Of a posterior, the mean distances of its draws; otherwise the distances on the map.
    places : Bootstrap, optional
        Of this map, for the spread of a method that finds one map.

    Returns
    -------
    Distances

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> model = STE(random_state=0).fit([("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
    >>> found = distance_matrix(model)
    >>> found.matrix.shape, bool(found.matrix[0, 1] < found.matrix[0, 2]), found.spread
    ((3, 3), True, None)
    """
    draws = model._chosen._full_rank_draws(N_DRAWS, 0)
    if draws is not None:
        mean, spread = _moments(draws)
        return Distances(mean, spread, model.objects_)
    own = cdist(model.embedding_, model.embedding_)
    if places is None or len(places.maps) < 2 or len(places.embedding) != len(own):
        return Distances(own, None, model.objects_)
    return Distances(own, np.sqrt(places.inflation) * _moments(places.maps)[1], model.objects_)


def compared_objects(model: OrdinalEmbedding) -> NDArray[np.bool_]:
    """Return which objects of a map somebody compared, (n,): where the others lie means nothing.

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> compared_objects(STE(1, n_objects=4, random_state=0).fit([(0, 1, 2), (2, 1, 0)])).tolist()
    [True, True, True, False]
    """
    comparisons = model.comparisons_
    if not isinstance(comparisons, Comparisons):
        return np.ones(len(model.objects_), dtype=bool)
    return seen_objects(with_positive_weight(comparisons))


def _moments(maps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each distance over maps, one map in memory at a time."""
    mean = np.zeros((maps.shape[1], maps.shape[1]))
    squares = np.zeros_like(mean)
    for number, points in enumerate(maps, start=1):
        away = cdist(points, points) - mean
        mean += away / number
        squares += (1 - 1 / number) * away**2  # Welford: no difference of large numbers
    return mean, np.sqrt(squares / max(len(maps) - 1, 1))


def matrix_csv(matrix: FloatArray, objects: Labels) -> str:
    r"""Return a square matrix as CSV, with the names of the objects in the first row and the first column.

    Examples
    --------
    >>> print(matrix_csv(np.array([[0.0, 1.5], [1.5, 0.0]]), np.array(["a", "b"])).replace("\r", ""))
    object,a,b
    a,0,1.5
    b,1.5,0
    <BLANKLINE>
    """
    names = [escape_formula(str(label)) for label in objects.tolist()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # as in the table of the map
    writer.writerow(["object", *names])
    for label, row in zip(names, matrix.tolist(), strict=True):
        writer.writerow([label, *(f"{value:.6g}" for value in row)])
    return text.getvalue()
