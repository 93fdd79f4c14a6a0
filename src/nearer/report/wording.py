"""Figures of the results as they are told in several places: the error, what it rests on, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer._common.formatting import counted, number

_METHODS = {
    "DMOE": "distributional margin based ordinal embedding",
    "GNMDS": "generalized non-metric multidimensional scaling",
    "SOE": "soft ordinal embedding",
    "STE": "stochastic triplet embedding",
    "TSTE": "t-distributed stochastic triplet embedding",
    "CKL": "crowd kernel learning",
    "MVTE": "multi-view triplet embedding",
    "NonmetricMDS": "nonmetric multidimensional scaling",
    "LOE": "local ordinal embedding",
    "SPE": "structure preserving embedding",
    "LORE": "low-rank ordinal embedding",
    "FORTE": "ordinal embedding by projected descent over Gram matrices",
    "MLDS": "maximum-likelihood difference scaling",
    "PosteriorEmbedding": "draws from the posterior distribution of maps",
    "BestOf": "the best of several methods",
}
_SETTINGS = {
    "n_components": "dimensions",
    "n_objects": "objects",
    "n_folds": "folds",
    "n_init": "starts",
    "max_iter": "iterations at most",
    "random_state": "seed",
}


def map_error(results: Mapping[str, Any]) -> tuple[float, float | None, float | None] | None:
    """Return the held-out error of the map with its interval, or that of the whole solution where it has none."""
    error = results["error"]
    if not error:
        return None
    if error.get("map") is not None:
        return error["map"], error.get("map_low"), error.get("map_high")
    if error.get("held_out") is not None:
        return error["held_out"], error.get("low"), error.get("high")
    return None


def share_of_way(error: float, ceiling: float | None, chance: float) -> float:
    """Return how much of the way from chance to the ceiling an error has come, at most 1.

    Examples
    --------
    >>> share_of_way(0.25, 0.0, 0.5)
    0.5
    """
    floor = min(ceiling or 0.0, chance - 1e-9)
    return min((chance - error) / (chance - floor), 1.0)


def assumes_dimensions(results: Mapping[str, Any]) -> bool:
    """Whether ellipses are right only if the dimensions of the map are enough.

    Resampled maps have no more dimensions than the map; draws of a posterior do, unless somebody asked for fewer.

    Examples
    --------
    >>> map_of_four = {"embedding": [[0.0, 0.0]] * 4}
    >>> assumes_dimensions(map_of_four | {"regions": {"kind": "confidence"}})
    True
    >>> assumes_dimensions(map_of_four | {"regions": {"kind": "credible", "n_dimensions": 3}})
    False
    """
    regions, (n_objects, shown) = results["regions"] or {}, (len(results["embedding"]), len(results["embedding"][0]))
    limited = regions.get("n_dimensions") is not None and regions["n_dimensions"] <= shown < n_objects - 1
    return regions.get("kind") == "confidence" or limited


def held_out_unit(results: Mapping[str, Any]) -> str:
    """Return what was held out whole, which there may be too few of: answers or people."""
    return "people" if (results["error"] or {}).get("unit") == "annotators" else "answers"


def basis(results: Mapping[str, Any]) -> str:
    """Return what the map rests on: how many answers, of how many people, about how many objects."""
    summary, source = results["summary"] or {}, results["source"] or {}
    about = f"about {counted(n_fitted(results), 'object')}"
    if source.get("n_answers") is not None:
        basis = counted(source["n_answers"], "answer")
    elif summary.get("n_comparisons") is not None:
        basis = counted(summary["n_comparisons"], "comparison")
    else:
        return f"answers {about}"
    if summary.get("n_annotators"):
        basis += f" of {counted(summary['n_annotators'], 'person', 'people')}"
    return f"{basis} {about}"


def n_fitted(results: Mapping[str, Any]) -> int:
    """Return how many objects the map was fitted to, without those that were placed on it."""
    return len(results["objects"]) - len((results["placed"] or {}).get("objects") or [])


def method_name(method: Mapping[str, Any]) -> str:
    """Return a method as a paper names it, with the settings that it was given.

    Examples
    --------
    >>> method_name({"name": "SOE"}), method_name({"name": "TSTE", "parameters": {"trace": 0.03}})
    ('soft ordinal embedding (SOE)', 't-distributed stochastic triplet embedding (TSTE) with trace 0.03')
    """
    name = method["name"]
    given = (method.get("parameters") or {}).items()
    name = f"{_METHODS[name]} ({name})" if name in _METHODS else name
    if not given or any(isinstance(value, Mapping | list) for _, value in given):
        return name
    return f"{name} with " + ", ".join(f"{setting.replace('_', ' ')} {value}" for setting, value in given)


def setting_name(name: str) -> str:
    """Return a setting's name in words.

    Examples
    --------
    >>> setting_name("n_components"), setting_name("batch_size")
    ('dimensions', 'batch size')
    """
    return _SETTINGS.get(name, name.replace("_", " "))


def setting_value(name: str, value: Any) -> str:
    """Return a setting's value as people write it; what is None is left out of a group.

    Examples
    --------
    >>> setting_value("penalty", {"class": "Penalty", "trace": 0.01, "ridge": None, "diagonal": 1.0})
    'trace 0.01, diagonal 1'
    >>> setting_value("settled", True), setting_value("candidates", [1, 2]), setting_value("answers", 12000)
    ('yes', '1, 2', '12 000')
    """
    if name == "method":
        return method_name(value if isinstance(value, Mapping) else {"name": value})
    if isinstance(value, Mapping):
        inner = {key: item for key, item in value.items() if key != "class" and item is not None}
        return ", ".join(f"{setting_name(key)} {setting_value(key, item)}" for key, item in inner.items())
    if isinstance(value, list | tuple):
        return ", ".join(setting_value(name, item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    # A seed is a name and not an amount: it has no separators.
    if isinstance(value, int | float) and name != "seed":
        return number(value)
    return str(value)
