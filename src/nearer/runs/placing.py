"""A run's folder with new objects on its map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nearer._words import counted
from nearer.embedding.base import OrdinalEmbedding
from nearer.runs.folder import MAP, RESULTS, map_csv, read_results, write_text
from nearer.runs.results import plain_values
from nearer.storage import save_model


def results_for(model: OrdinalEmbedding, folder: Path) -> dict[str, Any]:
    """Return the results in a folder, if they are those of the model in it."""
    results = read_results(folder)
    if results.get("objects") != [str(label) for label in model.objects_.tolist()]:
        raise ValueError(f"{folder}: model and results are about different objects; run `nearer fit` again")
    return results


def write_placed(model: OrdinalEmbedding, results: dict[str, Any], folder: Path) -> None:
    """Write a map that has got new objects, and the results of the old one brought up to date.

    How far the old objects can be trusted is still true; of the new ones it is not known, and so there are no ellipses.
    """
    before, after = len(results["objects"]), model.n_objects_
    columns = (results.get("attributes") or {}).items()
    added: dict[str, Any] = {
        "objects": [str(label) for label in model.objects_.tolist()],
        "embedding": plain_values(model.embedding_),
        "covariances": None,
        "attributes": {name: [*column, *[None] * (after - before)] for name, column in columns},
        "summary": {**(results.get("summary") or {}), "n_objects": after},
        "notes": [*(results.get("notes") or []), f"{counted(after - before, 'object')} placed on the map of {before}"],
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, folder)
    write_text(folder / MAP, map_csv(model))
    write_text(folder / RESULTS, json.dumps({**results, **added}, indent=1, allow_nan=False) + "\n")
