"""Distances for rsatoolbox, and dissimilarities from it, without depending on it.

What passes between them is a dictionary as ``RDMs.to_dict`` of rsatoolbox returns it: dissimilarities as rows of the
upper triangle, names of objects as the pattern descriptor ``object``, and what each row is about as a descriptor of
RDMs: ``draw``, ``person``, ``group`` or ``name``. ``RDMs(**to_rdms(model))`` is an object of rsatoolbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote, quote_all
from nearer._common.parameters import check_integer
from nearer._common.randomness import RandomState
from nearer.comparing.group_results import GroupComparison
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.evaluation.distances import Distances, distance_matrix
from nearer.io.matrix_files import NamedMatrix

MEASURE = "Euclidean distance of an ordinal embedding"
_NAMES = ("object", "name", "names", "label", "conds", "conditions", "stimulus", "stimuli", "index")


def to_rdms(
    source: Any, each: Literal["draw", "person"] | None = None, *, n_draws: int = 100, random_state: RandomState = None
) -> dict[str, Any]:
    """Return distances as rsatoolbox takes them.

    Parameters
    ----------
    source : fitted estimator, Distances, GroupComparison, or mapping of names to these or to matrices
        A mapping, such as of people or models, and the groups of a comparison become several RDMs.
    each : {"draw", "person"}, optional
        Of a posterior, an RDM for each of ``n_draws`` draws, in all their dimensions, or for each person, of the mean
        distances on their map (``people="maps"`` or ``"weights"``).
    n_draws : int
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    dict
        With ``dissimilarities``, (k, n (n - 1) / 2), ``dissimilarity_measure``, ``descriptors``, ``rdm_descriptors``
        and ``pattern_descriptors``: the arguments of ``rsatoolbox.rdm.RDMs``.

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> model = STE(random_state=0).fit([("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")])
    >>> record = to_rdms({"ours": model, "theirs": model})
    >>> record["dissimilarities"].shape, record["rdm_descriptors"], record["pattern_descriptors"]
    ((2, 3), {'name': ['ours', 'theirs']}, {'object': ['a', 'b', 'c']})
    """
    if each is not None:
        found = _of_posterior(source, each, n_draws, random_state)
    elif isinstance(source, GroupComparison):
        rows = [pdist(points) for points in source.maps]
        found = np.array(rows), {"group": [str(group) for group in source.groups]}, source.objects
    elif isinstance(source, Mapping):
        named = {str(name): _matrix(value) for name, value in source.items()}
        objects = _common_objects(named)
        rows = [_vector(matrix) for matrix, _ in named.values()]
        found = np.array(rows), {"name": list(named)}, objects
    else:
        matrix, objects = _matrix(source)
        found = _vector(matrix)[None], {}, objects
    dissimilarities, about, objects = found
    return {
        "dissimilarities": dissimilarities,
        "dissimilarity_measure": MEASURE,
        "descriptors": {},
        "rdm_descriptors": about,
        "pattern_descriptors": {"object": [str(label) for label in np.asarray(objects).tolist()]},
    }


def from_rdms(rdms: Any, names: str | None = None) -> list[NamedMatrix]:
    """Return the matrices of an RDMs object of rsatoolbox, or of the dictionary that it saves.

    Parameters
    ----------
    rdms : rsatoolbox.rdm.RDMs or dict
    names : str, optional
        The pattern descriptor with the names of the objects; found by itself where it is called object, name, conds or
        the like, or is the only one.

    Returns
    -------
    list of NamedMatrix
        One for each RDM, named by its descriptors; `nearer.comparing.compare_matrices` takes their ``matrix``, and
        `nearer.embedding.NonmetricMDS` fits it.

    Examples
    --------
    >>> record = {"dissimilarities": [[1.0, 2.0, 3.0]], "pattern_descriptors": {"conds": ["a", "b", "c"]}}
    >>> (found,) = from_rdms(record)
    >>> found.objects, found.matrix[0].tolist()
    (['a', 'b', 'c'], [0.0, 1.0, 2.0])
    """
    record = rdms if isinstance(rdms, Mapping) else rdms.to_dict()
    rows = np.asarray(record["dissimilarities"], dtype=np.float64)
    if rows.ndim == 3:
        rows = np.array([_vector(matrix) for matrix in rows])
    rows = np.atleast_2d(rows)
    n = round((1 + np.sqrt(1 + 8 * rows.shape[1])) / 2)
    if n * (n - 1) // 2 != rows.shape[1]:
        raise ValueError(f"dissimilarities have {rows.shape[1]} columns, which is no number of pairs: n (n - 1) / 2")
    objects = _object_names(_lists(record.get("pattern_descriptors")), names, n)
    about = {key: values for key, values in _lists(record.get("rdm_descriptors")).items() if key != "index"}
    titles = [", ".join(str(values[k]) for values in about.values()) or f"RDM {k + 1}" for k in range(len(rows))]
    return [NamedMatrix(title, squareform(row, checks=False), objects) for title, row in zip(titles, rows, strict=True)]


def _of_posterior(
    model: Any, each: str, n_draws: int, random_state: RandomState
) -> tuple[FloatArray, dict[str, list[Any]], Any]:
    """Return the rows of draws, or of people, what each is about, and the objects."""
    if each not in ("draw", "person") or not isinstance(model, PosteriorEmbedding):
        raise ValueError(f"each={each!r}: it must be 'draw' or 'person', of a fitted PosteriorEmbedding")
    check_is_fitted(model)
    if each == "draw":
        n_draws = min(check_integer("n_draws", n_draws, 1), len(model.draws_))
        rows = [pdist(points) for points in model.sample(n_draws, random_state)]
        return np.array(rows), {"draw": list(range(n_draws))}, model.objects_
    people = model.differences_.people if model.differences_ is not None else ()
    if not len(people):
        raise ValueError("all people share one map; fit it with people='maps' for a map of each")
    rows = [np.mean([pdist(points) for points in model.map_of(person).maps], axis=0) for person in people]
    return np.array(rows), {"person": [str(person) for person in people]}, model.objects_


def _matrix(source: Any) -> tuple[FloatArray, Any]:
    """Return a matrix of distances, and its objects."""
    if isinstance(source, OrdinalEmbedding):
        check_is_fitted(source)
        source = distance_matrix(source)
    if isinstance(source, Distances | NamedMatrix):
        return source.matrix, source.objects
    matrix = np.asarray(source, dtype=np.float64)
    if matrix.ndim != 2 or len(matrix) != matrix.shape[1]:
        raise ValueError(f"a matrix of distances must be square, got shape {matrix.shape}")
    return matrix, np.arange(len(matrix))


def _vector(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix)[np.triu_indices(len(matrix), 1)]


def _common_objects(named: Mapping[str, tuple[FloatArray, Any]]) -> Any:
    """Return the objects of all matrices, which must be the same in the same order."""
    if not named:
        raise ValueError("there are no matrices")
    (first, (_, objects)), *others = named.items()
    for name, (_, own) in others:
        if list(own) != list(objects):
            raise ValueError(f"{quote(name)} is about other objects than {quote(first)}, or has them in another order")
    return objects


def _lists(descriptors: Any) -> dict[str, list[Any]]:
    """Return descriptors as lists; files of rsatoolbox hold arrays, and dictionaries that are numbered from 0."""
    found: dict[str, list[Any]] = {}
    for key, values in dict(descriptors or {}).items():
        ordered: Iterable[Any] = values
        if isinstance(values, Mapping):
            ordered = (values[number] for number in sorted(values, key=int))
        found[str(key)] = [each.item() if isinstance(each, np.generic) else each for each in ordered]
    return found


def _object_names(patterns: Mapping[str, list[Any]], names: str | None, n: int) -> list[str]:
    if names is None:
        own = [key for key in patterns if key != "index"]
        names = next((key for key in _NAMES if key in own), own[0] if len(own) == 1 else None)
        if names is None and own:
            raise ValueError(f"say which descriptor names the objects with names=...: {quote_all(own)}")
    elif names not in patterns:
        raise ValueError(f"there is no pattern descriptor {quote(names)}; there are {quote_all(list(patterns))}")
    labels = [str(label) for label in (range(n) if names is None else patterns[names])]
    if len(labels) != n or len(set(labels)) != n:
        raise ValueError(f"the descriptor {quote(names)} must name each of {n} objects once")
    return labels
