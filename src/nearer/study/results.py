"""A study as one JSON object: all that a report needs, and nothing that has to be computed again."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np

from nearer._common.json_files import plain_values
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.embedding.base import OrdinalEmbedding
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.reproducibility import ellipse_size
from nearer.evaluation.uncertainty import LEVEL
from nearer.study.methods import METHOD_CLASSES, citations
from nearer.study.schema import FORMAT, SUMMARY_COUNTS
from nearer.study.study import DIMENSION_METHOD, Study, margins_histogram

_VERSIONS = ("nearer", "numpy", "scipy", "scikit-learn", "numba")


def results_of(study: Study, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study as plain values.

    Parameters
    ----------
    study : Study
    about : mapping
        ``title``, ``file``, ``sha256``, ``command``, ``date`` and ``seconds``; ``source`` where more is known of the
        answers than they say themselves, such as that they came in several lots.
    """
    answers, model, settings = study.answers, study.model, study.settings
    summary = answers.comparisons.summary()
    source = {"file": about["file"], "sha256": about["sha256"], "kind": answers.kind, "n_answers": len(answers)}
    variances = model.embedding_.var(axis=0)
    found = {
        "format": FORMAT,
        "title": about["title"],
        "source": {
            **source,
            "n_bad": answers.report.n_bad,
            "n_undecided": answers.report.n_undecided,
            "left_out": [left.to_dict() for left in answers.report.left_out],
            "n_files": answers.n_files,
            "catches": None if answers.report.catches is None else answers.report.catches._asdict(),
            **about.get("source", {}),
        },
        "summary": {name: getattr(summary, name) for name in SUMMARY_COUNTS},
        "objects": [str(label) for label in model.objects_.tolist()],
        "attributes": {},  # which come with the report
        "embedding": model.embedding_,
        "scree": np.sort(variances)[::-1],
        "covariances": None if study.places is None else study.places.covariances,
        "regions": _regions(study),
        "level": settings.level,
        "scales": _scales(study),
        "ellipse_size": size_of_ellipses(study),
        "reproducibility": _reproducibility(study),
        "error": _error(study),
        "margins": margins_histogram(study),
        "learning_curve": _curve(study),
        "trend": None if study.trend is None else asdict(study.trend),
        "dimension": _dimension(study),
        "annotators": None if study.annotators is None else _annotators(study, study.annotators),
        "findings": None if study.findings is None else study.findings.to_dicts(),
        "settings": _settings(study),
        "notes": study.notes,
        "missing": study.missing,
        "interrupted": study.interrupted,
        "placed": None,
        "versions": {name: version(name) for name in _VERSIONS} | {"python": platform.python_version()},
        "seed": settings.seed,
        "command": about["command"],
        "date": about["date"],
        "seconds": about["seconds"],
        "citations": citations(type(study.chosen).__name__, version("nearer")),
    }
    plain: dict[str, Any] = plain_values(found)
    return plain


def share_known(judged: Comparisons, fitted: Comparisons) -> float:
    """Return the share of comparisons that are, as they were answered, among others over the same objects.

    Examples
    --------
    >>> share_known(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]]), Comparisons.from_triplets([[0, 1, 2]]))
    0.5
    """
    known = {row.tobytes() for row in np.ascontiguousarray(fitted.reindex(judged.objects).oriented, dtype=np.int64)}
    rows = np.ascontiguousarray(judged.oriented, dtype=np.int64)
    return float(np.mean([row.tobytes() in known for row in rows]))


def _regions(study: Study) -> dict[str, Any] | None:
    """Return what the ellipses are: credible regions of a posterior, or confidence regions by resampling."""
    if study.places is None:
        return None
    if study.is_distribution:
        n_dimensions = study.chosen.draws_.points.shape[2]
        return {"kind": "credible", "n_resamples": None, "unit": None, "n_dimensions": n_dimensions}
    return {"kind": "confidence", "n_resamples": study.settings.n_resamples, "unit": study.places.by}


def _scales(study: Study) -> list[float] | None:
    """Return how many standard deviations an ellipse over 1, 2, 3 axes reaches out."""
    if study.places is None:
        return None
    axes = range(1, min(study.model.embedding_.shape[1], 3) + 1)
    return [study.places.radius(study.settings.level, n_axes) for n_axes in axes]


def size_of_ellipses(study: Study) -> float | None:
    """Return the size of a typical ellipse of 95%, whatever the level drawn; of an interval on a line."""
    if study.places is None:
        return None
    places = study.places
    return ellipse_size(places.embedding, places.covariances, places.radius(LEVEL, min(study.n_components, 2)))


def _reproducibility(study: Study) -> dict[str, Any] | None:
    if study.distances is None:
        return None
    found = asdict(study.distances)
    return {"unit": found.pop("by"), **found}


def _error(study: Study) -> dict[str, Any] | None:
    if study.error is None:
        return None
    found = study.error
    return {
        "held_out": found.error, "low": found.low, "high": found.high,
        "map": found.map_error, "map_low": found.map_low, "map_high": found.map_high,
        **_ceiling(study),
        "chance": 0.5, "n_folds": found.n_splits, "unit": found.by,
    }  # fmt: skip


def _ceiling(study: Study) -> dict[str, float | None]:
    found = study.ceiling
    ends = (None,) * 4 if found is None else (found.error, found.at_most, found.low, found.high)
    return dict(zip(("ceiling", "ceiling_at_most", "ceiling_low", "ceiling_high"), ends, strict=True))


def _curve(study: Study) -> list[dict[str, Any]] | None:
    if study.curve is None:
        return None
    curve = study.curve
    columns: list[Any] = [curve.sizes, curve.errors, curve.lows, curve.highs]
    if curve.falls_by is not None:
        columns.append([each if np.isfinite(each) else None for each in curve.falls_by])
    names = ("n_comparisons", "error", "low", "high", "falls_by")[: len(columns)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _dimension(study: Study) -> dict[str, Any] | None:
    if study.dimension is None:
        return None
    found = study.dimension
    names = ("candidates", "errors", "standard_errors", "chosen", "reliabilities")
    return {
        **{name: getattr(found, name) for name in names},
        "rule": "one standard error",
        "method": method_record(DIMENSION_METHOD),
    }


def _annotators(study: Study, found: AnnotatorReliability) -> list[dict[str, Any]]:
    seconds = _median_seconds(study)
    flags = {} if study.findings is None else study.findings.flags()
    columns = (found.names.tolist(), found.n_answers, found.errors, found.lows, found.highs)
    return [
        {
            "name": str(name), "n_answers": number, "error": error, "low": low, "high": high,
            "median_seconds": seconds.get(name), "flags": flags.get(str(name), []),
        }
        for name, number, error, low, high in zip(*columns, strict=True)
    ]  # fmt: skip


def _median_seconds(study: Study) -> dict[Any, float]:
    answers = study.answers
    if answers.seconds is None or answers.annotators is None:
        return {}
    names, person = factorize(answers.annotators)
    order = np.argsort(person, kind="stable")
    parts = np.split(answers.seconds[order], np.cumsum(np.bincount(person))[:-1])
    known = [part[np.isfinite(part)] for part in parts]
    return {name: float(np.median(part)) for name, part in zip(names.tolist(), known, strict=True) if len(part)}


def _settings(study: Study) -> dict[str, Any]:
    model, chosen = study.model, study.chosen
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name != "random_state"}
    decided = {
        name.removesuffix("_"): getattr(chosen, name)
        for name in ("penalty_", "nu_", "power_", "rank_", "dimension_")
        if hasattr(chosen, name)
    }
    if study.settings.n_components is None and hasattr(chosen, "dimension_evidence_"):
        decided["dimension_evidence"] = chosen.dimension_evidence_
    method = METHOD_CLASSES[study.settings.method]
    if chosen is not model:
        if getattr(model, "cv_results_", None) is None:  # too few answers to choose by
            method = type(chosen).__name__
        else:
            decided = {"method": method_record(chosen), **decided}
    return {
        "method": method,
        "parameters": parameters | {"n_components": study.n_components},
        "chosen": decided,
        "run": asdict(study.settings),
        "weighed": study.weighed,
    }


def method_record(model: OrdinalEmbedding) -> dict[str, Any]:
    """Return the name of a method and the settings that it was given, without dimension and seed.

    Examples
    --------
    >>> method_record(DIMENSION_METHOD)
    {'name': 'SOE', 'parameters': {'trace': 0.01}}
    """
    usual = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
    given = {name: value for name, value in model.get_params(deep=False).items() if value != usual[name]}
    return {
        "name": type(model).__name__,
        "parameters": {name: value for name, value in given.items() if name not in ("n_components", "random_state")},
    }
