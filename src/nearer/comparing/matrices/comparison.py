r"""A map and models: how well matrices of distances explain the distances between objects (RSA).

With D the distances between objects in all dimensions that the answers call for, whatever a map shows (see
`nearer.comparing.matrices.ceiling`), M those of a model, and a measure r of how alike they are over all pairs of
objects (`nearer.comparing.matrices.measures`), three questions are asked:

- **Does the model explain anything?** The Mantel test (`nearer.comparing.matrices.mantel`).
- **How well, and would that hold for other objects?** Objects are drawn n times with replacement; pairs of an object
  with itself are dropped, as their distance is 0 by definition; r is taken over the remaining pairs. The interval is
  that of the percentiles over such draws.
- **Would it hold for other people?** Maps of resampled people (`people_matrices`) each give an r_k. These maps are
  worse than the one of all answers, so that the r_k are too low, but they scatter as r would: r +- t std(r_k).

Two models are compared by the difference of their r over the same draws. p is twice the smaller share of differences on
one side of 0, with 1 added above and below the line; those of all pairs of models are corrected together (Holm 1979).
The ceiling says how well any model could do (`nearer.comparing.matrices.ceiling`).

All models are judged by the same pairs: those that every model and the map know.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from scipy.special import stdtr, stdtrit
from scipy.stats import rankdata

from nearer._common.arrays import FloatArray
from nearer._common.formatting import pluralize, quote
from nearer._common.parameters import check_integer, check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.comparing.holm import holm
from nearer.comparing.matrices.ceiling import MatrixNoise, full_posterior, people_of
from nearer.comparing.matrices.mantel import FEWEST_OBJECTS, mantel
from nearer.comparing.matrices.measures import FUNCTIONS, MEASURES, Measure, measure_of, tied
from nearer.comparing.matrices.results import MatrixComparison, ModelDifference, ModelFit
from nearer.data.conversions import read_dissimilarities
from nearer.embedding import CKL
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.distances import compared_objects, distance_matrix
from nearer.evaluation.uncertainty import bootstrap

_Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]
_FEW_OBJECTS = 10  # of which an interval says little
_FEWEST_DRAWN = 3
_TIES = 0.05  # share of tied pairs from which tau-a is worth a word


def compare_matrices(
    distances: OrdinalEmbedding | ArrayLike,
    models: Mapping[str, ArrayLike],
    *,
    measure: Measure = "spearman",
    noise: MatrixNoise | None = None,
    people: ArrayLike | None = None,
    n_permutations: int = 9999,
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: RandomState = None,
) -> MatrixComparison:
    """Compare the distances between objects with those that models predict.

    Parameters
    ----------
    distances : fitted estimator, or array-like, shape (n, n)
        What is to be explained: of a map, the distances in all dimensions (see `full_posterior`, which is fitted where
        the map has no such draws).
    models : mapping from str to array-like, shape (n, n)
        Symmetric, objects in the same order, NaN where a model says nothing.
    measure : {"spearman", "kendall", "tau-a", "pearson"}
        For intervals, tests and ceiling; estimates by the others come with it. With a model that predicts many equal
        distances choose "tau-a".
    noise : MatrixNoise, optional
        Of `matrix_noise`, for the ceiling.
    people : array-like, shape (k, n, n), optional
        Of `people_matrices`, for intervals over people.
    n_permutations : int
        Of each Mantel test.
    n_resamples : int
        Draws of objects.
    level : float
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    MatrixComparison

    References
    ----------
    H. Nili et al. (2014). A toolbox for representational similarity analysis. PLoS Computational Biology 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = rng.normal(size=(12, 2))
    >>> apart = lambda points: np.linalg.norm(points[:, None] - points, axis=2)
    >>> found = compare_matrices(apart(places), {"noisy": apart(places + 0.3 * rng.normal(size=(12, 2))),
    ...                          "other": apart(rng.normal(size=(12, 2)))}, n_resamples=200, random_state=0)
    >>> [model.p_value < 0.01 for model in found.models], found.differences[0].p_holm < 0.05
    ([True, False], True)
    """
    check_level(level)
    check_integer("n_resamples", n_resamples, 10)
    measure_of(measure)
    if not models:
        raise ValueError("there is no model to compare with; give at least one matrix")
    models = {str(key): matrix for key, matrix in models.items()}
    rng = stream(random_state, "split")
    of_map: tuple[ArrayLike, tuple[str, ...], bool] = distances, (), True
    if isinstance(distances, OrdinalEmbedding):
        of_map = _of_map(distances, rng)
    own, notes, is_full = of_map
    matrices = [read_dissimilarities(own)] + [_read(key, matrix) for key, matrix in models.items()]
    n, (known, rows, columns) = len(matrices[0]), _shared(matrices, list(models))
    matrices = [matrices[0][np.ix_(known, known)], *_among(matrices[1:], known, (rows, columns))]
    values = [matrix[rows, columns] for matrix in matrices]
    tests = [
        mantel(matrices[0], matrix, measure=measure, n_permutations=n_permutations, random_state=rng)
        for matrix in matrices[1:]
    ]
    drawn = _resampled(matrices, (rows, columns), measure, n_resamples, rng)
    maps = None if people is None else _of_people(people, known, n, values[1:], (rows, columns), measure)
    estimates = np.array([FUNCTIONS[measure](values[0], other) for other in values[1:]])
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    fits = []
    for k, key in enumerate(models):
        reach = (None, None) if maps is None else _around(estimates[k], maps[:, k], level)
        every: dict[str, float] = {each: FUNCTIONS[each](values[0], values[k + 1]) for each in MEASURES}
        low, high = float(ends[0, k]), float(ends[1, k])
        ties = tied(values[k + 1])
        fits.append(ModelFit(key, float(estimates[k]), low, high, reach[0], reach[1], tests[k].p_value, every, ties))
    ceiling = None if noise is None else noise.over(known).ceiling(matrices[0], (rows, columns), measure)
    differences = _differences(list(models), estimates, drawn, maps, level) if is_full else ()
    notes = (*notes, *_notes(fits, measure, len(known)))
    return MatrixComparison(tuple(fits), differences, ceiling, measure, len(known), len(rows), level, notes)


def people_matrices(model: OrdinalEmbedding, n_resamples: int = 50, *, random_state: RandomState = None) -> FloatArray:
    """Return the distances on maps of resampled people, (k, n, n): what other people might have given.

    Each person gets a random weight (the Bayesian bootstrap, see `nearer.evaluation`), and a map is fitted again; in
    place of a posterior by CKL in as many dimensions as the posterior calls for, for speed.

    Parameters
    ----------
    model : fitted estimator
        Whose comparisons say who answered.
    n_resamples : int >= 10
    random_state : None, int, SeedSequence, Generator or RandomState

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> from nearer.embedding import STE
    >>> from dataclasses import replace
    >>> answers = sample_triplets(make_gaussian(8, 2, random_state=0), 160, random_state=0)
    >>> answers = replace(answers, annotators=np.arange(160) % 10)
    >>> people_matrices(STE(2, random_state=0).fit(answers), 10, random_state=0).shape
    (10, 8, 8)
    """
    comparisons = model.comparisons_
    if people_of(comparisons) < 2:
        raise ValueError("people can be resampled only where the comparisons say who answered")
    rng = stream(random_state, "split")
    full = full_posterior(model, random_state=rng)
    method = CKL(full.dimension_ or 2, n_objects=full.n_objects_, random_state=int(rng.integers(2**31)))
    found = bootstrap(method, comparisons, n_resamples=n_resamples, by="annotators", n_simulations=0, random_state=rng)
    return np.array([cdist(points, points) for points in found.maps])


def _of_map(model: OrdinalEmbedding, rng: np.random.Generator) -> tuple[ArrayLike, tuple[str, ...], bool]:
    """Return distances in all dimensions, NaN to objects that nobody compared, notes, and whether they are of all."""
    shown, notes, is_full = model.embedding_.shape[1], [], True
    source = model
    try:
        source = full = full_posterior(model, random_state=rng)
    except ValueError as error:
        is_full = False
        notes.append(
            f"correlations are with the distances on a map of {pluralize(shown, 'dimension')}, and no models are "
            f"compared with each other: {error}"
        )
    else:
        if full.dimension_ != shown:
            needed = full.dimension_
            notes.append(f"distances are in all dimensions; the answers call for {needed}, and the map shows {shown}")
    matrix, unseen = distance_matrix(source).matrix.copy(), ~compared_objects(model)
    matrix[unseen] = matrix[:, unseen] = np.nan
    np.fill_diagonal(matrix, 0.0)
    if unseen.any():
        notes.append(f"{pluralize(int(unseen.sum()), 'object')} that nobody compared left out")
    return matrix, tuple(notes), is_full


def _among(models: list[FloatArray], known: NDArray[np.intp], pairs: _Pairs) -> list[FloatArray]:
    """Return the distances of models for the pairs that all know, NaN for others: tests are of the same pairs."""
    common = np.zeros((len(known), len(known)), dtype=bool)
    common[pairs] = common[pairs[::-1]] = True
    np.fill_diagonal(common, True)
    return [np.where(common, model[np.ix_(known, known)], np.nan) for model in models]


def _read(key: str, matrix: ArrayLike) -> FloatArray:
    try:
        return read_dissimilarities(matrix)
    except ValueError as error:
        raise ValueError(f"model {quote(key)}: {error}") from error


def _shared(matrices: list[FloatArray], keys: list[str]) -> tuple[NDArray[np.intp], *_Pairs]:
    """Return the objects that all matrices know, and the pairs of them that all know, in their order."""
    n = len(matrices[0])
    for key, matrix in zip(keys, matrices[1:], strict=True):
        if len(matrix) != n:
            raise ValueError(f"model {quote(key)} is about {len(matrix)} objects, and the map about {n}; match them")
    known: NDArray[np.bool_] = np.all(~np.isnan(np.stack(matrices)), axis=0)
    np.fill_diagonal(known, False)
    shared = np.flatnonzero(known.any(axis=0))
    rows, columns = np.nonzero(np.triu(known[np.ix_(shared, shared)], 1))
    if len(shared) < FEWEST_OBJECTS or len(rows) < FEWEST_OBJECTS:
        raise ValueError(
            f"map and models know {pluralize(len(rows), 'distance')} of {pluralize(len(shared), 'object')} in "
            "common; it "
            f"takes at least {FEWEST_OBJECTS} objects"
        )
    return shared, rows, columns


def _resampled(
    matrices: list[FloatArray], pairs: _Pairs, measure: Measure, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Return the correlations with each model over drawn objects, (b, models)."""
    n, by_rank = len(matrices[0]), measure == "spearman"
    function = FUNCTIONS["pearson" if by_rank else measure]  # of ranks, each list ranked once
    allowed = np.zeros((n, n), dtype=bool)  # no pair of an object with itself
    allowed[pairs] = allowed[pairs[::-1]] = True
    first, second = np.triu_indices(n, 1)
    drawn = np.empty((n_resamples, len(matrices) - 1))
    with progress_bar("draws of objects", n_resamples) as bar:
        for number in range(n_resamples):
            while True:
                order = rng.integers(n, size=n)
                a, b = order[first], order[second]
                kept = allowed[a, b]
                if kept.sum() >= _FEWEST_DRAWN and len(np.unique(order)) >= _FEWEST_DRAWN:
                    break  # or one distance would be all there is
            own, *others = (rankdata(m[a[kept], b[kept]]) if by_rank else m[a[kept], b[kept]] for m in matrices)
            drawn[number] = [function(own, other) for other in others]
            bar.update()
    return drawn


def _of_people(
    people: ArrayLike, known: NDArray[np.intp], n: int, models: list[FloatArray], pairs: _Pairs, measure: Measure
) -> FloatArray:
    """Return the correlations of maps of resampled people with each model, (k, models)."""
    matrices = np.asarray(people, dtype=np.float64)
    if matrices.ndim != 3 or matrices.shape[1:] != (n, n) or len(matrices) < 2:
        raise ValueError(f"people must have the shape (k, {n}, {n}), k at least 2, got {matrices.shape}")
    some = matrices[:, known[:, None], known]
    return np.array([[FUNCTIONS[measure](each[pairs], model) for model in models] for each in some])


def _around(estimate: float, drawn: FloatArray, level: float) -> tuple[float, float]:
    """Return an interval around an estimate from how draws scatter."""
    reach = float(stdtrit(len(drawn) - 1, (1 + level) / 2) * drawn.std(ddof=1))
    return max(float(estimate) - reach, -1.0), min(float(estimate) + reach, 1.0)


def _differences(
    keys: list[str], estimates: FloatArray, drawn: FloatArray, maps: FloatArray | None, level: float
) -> tuple[ModelDifference, ...]:
    found: list[dict[str, Any]] = []
    for i, j in combinations(range(len(keys)), 2):
        gap, away = float(estimates[i] - estimates[j]), drawn[:, i] - drawn[:, j]
        sides = min((away <= 0).sum(), (away >= 0).sum())
        low, high = np.quantile(away, [(1 - level) / 2, (1 + level) / 2])
        one = {"difference": gap, "low": float(low), "high": float(high)}
        one["p_value"] = min(1.0, 2 * (1 + int(sides)) / (1 + len(away)))
        if maps is not None:
            apart = maps[:, i] - maps[:, j]
            std, (low, high) = float(apart.std(ddof=1)), _around(gap, apart, level)
            one |= {"people_low": low, "people_high": high}
            one["people_p"] = float(2 * stdtr(len(apart) - 1, -abs(gap) / std)) if std > 0 else float(gap == 0)
        found.append({"first": keys[i], "second": keys[j], **one})
    corrected = holm([one["p_value"] for one in found])
    return tuple(ModelDifference(**one, p_holm=p) for one, p in zip(found, corrected, strict=True))


def _notes(fits: list[ModelFit], measure: Measure, n_objects: int) -> tuple[str, ...]:
    notes = []
    if n_objects < _FEW_OBJECTS:
        notes.append(f"intervals over {n_objects} objects say little")
    ties = [fit.name for fit in fits if fit.ties > _TIES]
    if ties and measure != "tau-a":
        verb = "predicts" if len(ties) == 1 else "predict"
        notes.append(
            f"{', '.join(ties)} {verb} many equal distances; tau-a sets such a model fairly beside one that orders "
            "everything"
        )
    return tuple(notes)
