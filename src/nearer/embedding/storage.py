"""Fitted estimators on disk: a JSON file for what can be read, an npz file for arrays, and never a pickle.

A pickle runs whatever its author wanted it to run. Here a file can only name classes of a fixed list, whose fields are
then checked, so that a model from a stranger is as safe to load as a picture.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearer._common.files import atomic_path
from nearer._common.formatting import quote
from nearer._common.json_files import parse_json
from nearer.data.comparisons import Comparisons
from nearer.data.features import as_feature_sets
from nearer.embedding.base import OrdinalEmbedding
from nearer.io.formats import read_arrays

__all__ = ["load_model", "save_model"]

FORMAT = 1


class ByState(Protocol):
    """An object with a state of values that a file can hold, restored by ``from_state``."""

    def state(self) -> dict[str, Any]:
        """Return the state."""


_JSON_NAME, _ARRAYS_NAME = "model.json", "model.npz"
# Classes that a file may name: class -> module.
READABLE_CLASSES = {
    "Penalty": "nearer.optimize.problems.points",
    **dict.fromkeys(("Progress", "Restarts"), "nearer.optimize.solvers.driver"),
    **dict.fromkeys(("ADMM", "SVRG", "ClosedForm", "Factored", "FactoredOnDevice"), "nearer.optimize.solvers"),
    **dict.fromkeys(("Paper", "Projected", "Shrinkage"), "nearer.optimize.solvers"),
    "Newton": "nearer.optimize.solvers.newton",
    "Smacof": "nearer.optimize.solvers.smacof",
    "Orthant": "nearer.optimize.solvers.orthant",
    "PenaltyPath": "nearer.embedding.dimensions",
    "Calibration": "nearer.embedding.predictor",
    "CuttingPlanes": "nearer.optimize.solvers.cutting_planes",
    **dict.fromkeys(("Candidate", "Path"), "nearer.embedding.dmoe_search"),
    "SearchResult": "nearer.embedding.dmoe_search",
    **dict.fromkeys(
        ("Convergence", "Diagnosis", "Draws", "Laplace", "Microcanonical", "NUTS", "Prior", "Variational"),
        "nearer.sampling",
    ),
    "LogOddsCalibration": "nearer.embedding.posterior_sample",
    "Model": "nearer.sampling.model",
    "PosteriorSample": "nearer.embedding.posterior_sample",
    "DistinctComparisons": "nearer.sampling.model",
    "Features": "nearer.data.features",
    **dict.fromkeys(("FeatureBasis", "FeatureKernel"), "nearer.sampling.features"),
    **dict.fromkeys(("PeopleDraws", "Reliability"), "nearer.sampling.annotators"),
    **dict.fromkeys(("Estimate", "PeopleDifferences"), "nearer.sampling.differences"),
}
# Models with a state of their own: class -> module.
BY_STATE = {"Questions": "nearer.design"}
_MAX_CHARS = 300


def save_model(model: OrdinalEmbedding | ByState, folder: str | PathLike[str]) -> Path:
    """Write a fitted estimator into a folder, as ``model.json`` and ``model.npz``, and return the folder.

    Parameters
    ----------
    model : fitted estimator of nearer.embedding, or nearer.design.Questions
    folder : str or path
        Made if it is not there. An older model in it is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from nearer.embedding import STE
    >>> model = STE(random_state=0).fit([("a", "b", "c"), ("c", "b", "a")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, folder))
    >>> bool((again.embedding_ == model.embedding_).all()), again.predict([("a", "b", "c")]).tolist()
    (True, [1])
    """
    if type(model).__name__ not in BY_STATE:
        if not isinstance(model, OrdinalEmbedding) or not hasattr(model, "embedding_"):
            raise ValueError(f"only a fitted estimator of nearer.embedding can be saved, got {model!r}; call fit first")
        if not isinstance(model.comparisons_, Comparisons):
            raise ValueError(
                f"the model was fitted to a {type(model.comparisons_).__name__}, which stays where it is; save the map "
                "with np.save('map.npy', model.embedding_)"
            )
    arrays: list[NDArray[Any]] = []
    what = {"format": FORMAT, "nearer": version("nearer"), **_encode(model, arrays)}
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    # Both files are whole before either takes its place: an interrupted save leaves the older model.
    with atomic_path(target / _JSON_NAME) as described, atomic_path(target / _ARRAYS_NAME) as stored:
        with open(stored, "wb") as file:
            np.savez_compressed(file, **{str(k): array for k, array in enumerate(arrays)})  # type: ignore[arg-type]
        described.write_text(json.dumps(what, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return target


def load_model(folder: str | PathLike[str]) -> Any:
    """Return the estimator, or `nearer.design.Questions`, that `save_model` wrote into a folder.

    An estimator predicts, places new objects and goes on with `partial_fit`. Files that are not a whole model of this
    format raise ValueError.

    Examples
    --------
    >>> load_model("nowhere")
    Traceback (most recent call last):
    ValueError: nowhere holds no model: there is no model.json; write one with `nearer fit` or save_model
    """
    source = Path(folder)
    if not (source / _JSON_NAME).is_file():
        raise ValueError(
            f"{source} holds no model: there is no {_JSON_NAME}; write one with `nearer fit` or save_model"
        )
    try:
        what = parse_json((source / _JSON_NAME).read_bytes())
        if what["format"] != FORMAT:
            raise ValueError(f"its format is {quote(what['format'])}, and this version of nearer reads {FORMAT}")
        stored = read_arrays((source / _ARRAYS_NAME).read_bytes(), _ARRAYS_NAME)
        arrays = [stored[str(k)] for k in range(len(stored))]
        if "by_state" in what:
            name = what["by_state"]
            if name not in BY_STATE:
                raise ValueError(f"the class {name!r} is not one that a model is made of")
            return getattr(import_module(BY_STATE[name]), name).from_state(_decode(what["state"], arrays))
        model = _decode_estimator(what, arrays)
        model._check_state()
        _try_out(model)
    except Exception as error:  # settings and figures of any kind have gone into code that trusts them
        reason = f"{quote(error.args[0])} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{source} holds no whole model: {(reason or type(error).__name__)[:_MAX_CHARS]}; write it again with "
            "`nearer fit` or save_model"
        ) from error
    return model


def _try_out(model: OrdinalEmbedding) -> None:
    """Use a model once: what is wrong with it shows now, and not in the middle of something."""
    asked = model.comparisons_[np.arange(1)]  # type: ignore[index]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decision, probability = model.decision_function(asked), model.predict_proba(asked)
    if np.isnan(decision).any() or not (probability >= 0).all() or not np.allclose(probability.sum(axis=1), 1):
        raise ValueError("what it predicts are no margins and probabilities")


def _encode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return what stands for a value in JSON; arrays are added to the list."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"labels": [_encode(label, arrays) for label in value.tolist()]}
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if isinstance(value, Comparisons):
        return {"comparisons": {f.name: _encode(getattr(value, f.name), arrays) for f in fields(value)}}
    name = type(value).__name__
    if isinstance(value, OrdinalEmbedding):
        settings = value.get_params(deep=False)
        state = {key: item for key, item in vars(value).items() if key not in settings}
        if not isinstance(settings["random_state"], int | np.integer):
            settings["random_state"] = None  # a generator has moved on since the fit: its state would repeat nothing
        if settings.get("features") is not None:
            settings["features"] = list(as_feature_sets(settings["features"]))
        return {"estimator": name, "settings": _encode(settings, arrays), "fitted": _encode(state, arrays)}
    if name in BY_STATE:
        return {"by_state": name, "state": _encode(value.state(), arrays)}
    if name in READABLE_CLASSES:
        names = [f.name for f in fields(value)] if is_dataclass(value) else list(value._fields)
        return {"class": name, "fields": {key: _encode(getattr(value, key), arrays) for key in names}}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_encode(item, arrays) for item in value]}
    raise ValueError(f"{name} cannot be written to a file: {value!r}")


def _decode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"{str(value)[:60]!r} stands where a value was expected")
    if "estimator" in value:
        return _decode_estimator(value, arrays)
    if "class" in value:
        name = value["class"]
        if name not in READABLE_CLASSES:
            raise ValueError(f"the class {name!r} is not one that a model is made of")
        found = getattr(import_module(READABLE_CLASSES[name]), name)
        return found(**{key: _decode(item, arrays) for key, item in value["fields"].items()})
    (kind, content), *_ = value.items()
    if kind == "number" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "array":
        if isinstance(content, bool) or not isinstance(content, int) or not 0 <= content < len(arrays):
            raise ValueError(f"{str(content)[:40]!r} is the index of no array")
        return arrays[content]
    if kind == "dict":
        return {key: _decode(item, arrays) for key, item in content.items()}
    if kind == "labels":
        return np.fromiter((_decode(item, arrays) for item in content), dtype=object, count=len(content))
    if kind in ("list", "tuple"):
        items = [_decode(item, arrays) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "comparisons":
        return _decode_comparisons({key: _decode(item, arrays) for key, item in content.items()})
    raise ValueError(f"{kind!r} is no kind of value")


def _decode_estimator(what: dict[str, Any], arrays: list[NDArray[Any]]) -> OrdinalEmbedding:
    from nearer import embedding

    if what["estimator"] not in embedding.__all__:
        raise ValueError(f"there is no estimator {what['estimator']!r}")
    model: OrdinalEmbedding = getattr(embedding, what["estimator"])(**_decode(what["settings"], arrays))
    state = _decode(what["fitted"], arrays)
    if state:
        shadows = [
            name for name in state if hasattr(type(model), name) and name not in type(model).__dataclass_fields__
        ]
        if shadows:
            raise ValueError(f"{shadows[0]} is no value of a fit")
        model.__dict__.update(state)
    return model


def _decode_comparisons(parts: dict[str, Any]) -> Comparisons:
    """Return comparisons that were checked again: compiled loops trust their indices."""
    objects, rows = parts["objects"], parts["rows"]
    if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) >= len(objects):
        raise ValueError("the rows of its comparisons are no positions in its list of objects")
    extras = {name: parts[name] for name in ("weights", "annotators", "trials")}
    make = Comparisons.from_triplets if rows.shape[1] == 3 else Comparisons.from_quadruplets
    checked = make(rows, parts["answers"], **extras, n_objects=len(objects))
    return replace(checked, objects=objects)
