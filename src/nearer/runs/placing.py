"""A run's folder with new objects on its map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nearer.embedding.base import OrdinalEmbedding
from nearer.runs.folder import RESULTS, map_csv, read_results
from nearer.runs.results import plain_values
from nearer.storage import save_model


def write_placed(model: OrdinalEmbedding, old: Path, new: Path) -> None:
    """Write a map that has got new objects, and the results of the old one brought up to date.

    How far the old objects can be trusted is still true; of the new ones it is not known, and so there are no ellipses.
    """
    results = read_results(old)
    before, after = len(results["objects"]), model.n_objects_
    added: dict[str, Any] = {
        "objects": [str(label) for label in model.objects_.tolist()],
        "embedding": plain_values(model.embedding_),
        "covariances": None,
        "attributes": {name: [*column, *[None] * (after - before)] for name, column in results["attributes"].items()},
        "summary": {**results["summary"], "n_objects": after},
        "notes": [*results["notes"], f"{after - before} objects were placed on the map of {before} others"],
    }
    new.mkdir(parents=True, exist_ok=True)
    (new / "embedding.csv").write_text(map_csv(model), encoding="utf-8", newline="")
    (new / RESULTS).write_text(json.dumps({**results, **added}, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    save_model(model, new)
