"""Features that a map was made with cannot be what it is explained by: they are found among models and attributes.

A matrix of distances is taken for one of the features if its order, or its values, hardly differ from distances between
their rows; a column, if it hardly differs from one of theirs, or from a weighted sum of a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote, quote_all
from nearer.comparing.matrix_tests import pearson, spearman
from nearer.comparing.regression import are_numbers
from nearer.data.features import MAX_STANDARDIZED_COLUMNS, Features
from nearer.embedding.base import OrdinalEmbedding

_MIN_SAME_CORRELATION = 0.99  # above which two things are taken for one
_MIN_PAIRS = 10
_METRICS = ("euclidean", "cosine", "correlation", "cityblock")


def features_of_map(model: OrdinalEmbedding) -> tuple[Features, ...]:
    """Return the feature sets that a map was made with."""
    return tuple(getattr(model._chosen, "features_", ()))


def check_models(model: OrdinalEmbedding, models: Mapping[str, ArrayLike]) -> tuple[str, ...]:
    """Refuse matrices, (n, n), of the features that a map was made with; return a note for others."""
    sets = features_of_map(model)
    for each in sets:
        rows = each.of(model.objects_)
        for name, matrix in models.items():
            if _are_distances_of(np.asarray(matrix, dtype=np.float64), rows, each):
                raise ValueError(
                    f"{quote(name)} has the distances of the features {quote(each.name)} that the map was made with, "
                    "so that their agreement would show nothing; make a map of the answers alone, without features, "
                    "and compare that"
                )
    return features_note(model)


def features_note(model: OrdinalEmbedding, what: str = "the map was") -> tuple[str, ...]:
    """Return a note on a map that was made with features; none for others."""
    names = [each.name for each in features_of_map(model)]
    if not names:
        return ()
    return (
        f"{what} made partly of the features {quote_all(names)}: a model that resembles them agrees with it whatever "
        "people answered; a map of the answers alone shows how people and models agree",
    )


def own_columns(model: OrdinalEmbedding, columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return those of some columns, a value for each object, that are among the features of a map, with their set."""
    found: dict[str, str] = {}
    for each in features_of_map(model):
        rows = each.of(model.objects_)
        for name, column in columns.items():
            if name not in found and are_numbers([cell for cell in column if cell is not None]):
                values = np.array([np.nan if cell is None else cell for cell in column], dtype=np.float64)
                if _is_column_of(values, rows):
                    found[name] = each.name
    return found


def _are_distances_of(matrix: FloatArray, rows: FloatArray, features: Features) -> bool:
    first, second = np.triu_indices(len(matrix), 1)
    center, spread = features.scaling()
    for values in (rows, (rows - center) / spread, (rows - center) / np.where(spread == 1, _deviations(rows), spread)):
        for metric in _METRICS:
            apart = pdist(values, metric)  # type: ignore[call-overload]
            known = np.isfinite(apart) & np.isfinite(matrix[first, second])
            one, other = apart[known], matrix[first, second][known]
            if len(one) < _MIN_PAIRS or not one.std() or not other.std():
                continue
            if max(pearson(one, other), spearman(one, other)) > _MIN_SAME_CORRELATION:
                return True
    return False


def _deviations(rows: FloatArray) -> FloatArray:
    found: FloatArray = np.nanstd(rows, axis=0)
    return np.where(found > 0, found, 1.0)


def _is_column_of(values: FloatArray, rows: FloatArray) -> bool:
    known = np.isfinite(values) & np.isfinite(rows).all(axis=1)
    response = values[known] - values[known].mean() if known.any() else values[known]
    if len(response) < 4 or not response.std():
        return False
    centered = rows[known] - rows[known].mean(axis=0)
    norms = np.linalg.norm(centered, axis=0)
    correlations = centered.T @ response / np.where(norms > 0, norms, np.inf) / np.linalg.norm(response)
    if np.abs(correlations).max() > _MIN_SAME_CORRELATION:
        return True
    if centered.shape[1] > min(MAX_STANDARDIZED_COLUMNS, len(response) // 3):
        return False  # so many columns add up to anything
    fitted = centered @ np.linalg.lstsq(centered, response, rcond=None)[0]
    return bool(1 - np.square(response - fitted).sum() / np.square(response).sum() > _MIN_SAME_CORRELATION**2)
