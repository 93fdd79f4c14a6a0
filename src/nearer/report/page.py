"""The report: one HTML file that needs nothing else, neither a network nor a server.

Words and charts go into templates as text and SVG. The map and the tables, which answer to the reader, are drawn by the
page's script from one block of JSON. A policy in the head of the page lets the browser run that script alone, named by
its hash, and load nothing from anywhere, so that a label can neither run nor fetch anything even if it slipped through.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.files import write_text
from nearer._common.formatting import format_level, percent, pluralize
from nearer.report import sections as _sections
from nearer.report.escaping import json_block, render
from nearer.report.sections import N_NEIGHBORS, Content, Section, citing, methods, settings
from nearer.report.verdict import answer_noun, assumes_dimensions, verdict
from nearer.study.dimensions import describe_reproducibility
from nearer.study.figures import find_pictures
from nearer.study.results import StudyResults

# In the order in which they use each other.
SCRIPTS = (
    "data", "tables", "colors", "scene", "labels", "vector", "drawing", "key", "saving", "panel", "gestures",
    "dimensions", "main",
)  # fmt: skip
# Of a map on the page: covariances of 60 axes are 30 MB for 2,000 objects.
MAX_MAP_AXES = 15


def write_report(
    results: StudyResults, path: str | PathLike[str], *, thumbnails: str | PathLike[str] | None = None
) -> Path:
    """Write the report of a map as one HTML file.

    Parameters
    ----------
    results : StudyResults
        As `nearer.study.run_study` returns them, or `nearer.study.read_results` reads them.
    path : path
        Of the HTML file; folders are made, and a file of that name is written over.
    thumbnails : path, optional
        Folder of pictures named after the objects (png, jpg, webp, gif, svg), 20 MB at most. An object without one
        is drawn as a dot.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from nearer.study import StudyResults
    >>> results = StudyResults(title="three things", objects=("a", "b", "c"), embedding=np.eye(3, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(results, f"{folder}/three.html").read_text(encoding="utf-8")
    >>> "<h1>three things</h1>" in page
    True
    """
    pictures = {} if thumbnails is None else read_thumbnails(thumbnails, results.objects)
    page = assemble(results, pictures)
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_text(place, page)
    return place


def assemble(results: StudyResults, pictures: Mapping[int, str]) -> str:
    """Return the page."""
    return _assembled(
        "page.html", results, pictures,
        kicker=_kicker(results), verdict=verdict(results), sections=all_sections(results),
        maker=f"nearer {results.versions.get('nearer', '')}".strip(),
    )  # fmt: skip


def assemble_inline(results: StudyResults, pictures: Mapping[int, str]) -> str:
    """Return a page of the map alone."""
    only = Section("map", results.title or "Map", "map.html", _map(results))
    return _assembled("inline.html", results, pictures, sections=[only])


def _assembled(template: str, results: StudyResults, pictures: Mapping[int, str], **content: Any) -> str:
    style, script = asset("report.css"), "".join(asset(f"scripts/{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    page = render(
        template,
        policy=Markup(_policy(style, script)),
        title=results.title or "Map",
        style=Markup(style),
        data=json_block(payload(results, pictures)),
        script=Markup(script),
        **content,
    )
    return f"{page}\n"  # jinja2 takes the last line end off


def all_sections(results: StudyResults) -> list[Section]:
    """Return the sections in the order of the page, without those of which nothing is known."""
    neighbors = "Nearest neighbors" if results.weights is None else "Most similar objects"
    found = (
        ("notes", "Notes on this run", "notes.html", _sections.notes),
        ("dimensions", "Dimensions", "cards.html", _sections.cards),
        ("map", "The map", "map.html", _map),
        ("trust", "How far to trust it", "figure_and_text.html", _sections.trust),
        ("features", "Features", "figure_and_text.html", _sections.features),
        ("dissimilarities", "What the map was made of", "figure_and_text.html", _sections.dissimilarities),
        ("findings", "Findings about the answers", "findings.html", _sections.findings),
        ("neighbors", neighbors, "table.html", _sections.neighbors),
        ("margins", "Margins", "figure_and_text.html", _sections.margins),
        ("learning", "Would more answers help?", "figure_and_text.html", _sections.learning),
        ("dimensions", "Dimensions", "figures_and_text.html", _sections.dimensions),
        ("annotators", "People", "table.html", _sections.annotators),
        ("settings", "How it was made", "settings.html", settings),
        ("methods", "For a methods section", "copyable.html", methods),
        ("cite", "How to cite", "cite.html", citing),
    )
    return [
        Section(name, title, template, content)
        for name, title, template, content_of in found
        if (content := content_of(results)) is not None
    ]


def _map(results: StudyResults) -> Content:
    keys = {"gestures": "Drag to move", "arrows": "arrows move"}
    if results.n_components > 2:
        keys = {
            "gestures": "Drag to move, or to turn the map in 3-D (with Shift to move)",
            "arrows": "arrows move or turn",
        }
    if results.weights is not None:
        words = "Each axis is a dimension, and objects that have much of it lie far out. " + _about_placed(results)
        return {"caption": words, **keys}
    advice = "To have it measured, leave out --quick (or --resamples 0)."
    why = _sections.missing_explanation(results, "places", advice)
    region = (
        f" The ellipse of an object holds its position with {format_level(results.level)} confidence"
        f"{', provided that the dimensions of the map are enough' if assumes_dimensions(results) else ''}."
        if results.covariances is not None
        else f" How sure each position is was not measured in this run. {why}"
    )
    region += _about_placed(results)
    dimensions, scree = results.n_components, results.scree or ()
    if dimensions > 2:
        share = f", and the first two hold {percent(sum(scree[:2]) / sum(scree))} of its variance" if sum(scree) else ""
        region += f" The map has {dimensions} dimensions, of which two or three are shown at a time{share}."
        if dimensions > MAX_MAP_AXES:
            region += f" The first {MAX_MAP_AXES} are on this page; embedding.csv has all."
    if dimensions == 1:
        region += " The map has one dimension: left and right are all that counts, and height only makes room."
    return {"caption": f"Objects that people find alike lie close together.{region}", **keys}


def _about_placed(results: StudyResults) -> str:
    """Return sentences on the objects that were placed on the map, and on their ellipses."""
    found = results.placed
    if found is None:
        return ""
    words = f" Rings are the {pluralize(len(found.objects), 'object')} placed on the map after it was fitted"
    if results.covariances is None:
        return f"{words}."
    words += "; their ellipses are outlined, and were not calibrated."
    if found.n_unsure:
        unsure = pluralize(found.n_unsure, "of them has", "of them have")
        words += f" {unsure} too few answers, and an ellipse as wide as the map."
    return words


def _kicker(results: StudyResults) -> str:
    """Return the line above the heading: what was compared, and how often."""
    source, later = results.source, results.placed
    parts = [pluralize(results.n_fitted, "object")]
    if source.n_answers is not None:
        noun = answer_noun(results)
        kind = f" ({source.kind})" if source.kind and source.kind not in noun else ""
        parts.append(pluralize(source.n_answers, *noun) + kind)
    if later is not None:
        by = f" by {pluralize(later.n_answers, 'answer')}" if later.n_answers is not None else ""
        parts.append(f"{pluralize(len(later.objects), 'object')} placed{by}")
    if results.date:
        parts.append(str(results.date)[:10])
    return " · ".join(parts)


def _policy(style: str, script: str) -> str:
    """Return the content security policy: this style, this script, pictures within the page, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}"


def asset(name: str) -> str:
    """Return the text of a file that comes with the package."""
    return resources.files("nearer.report").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def nearest_neighbors(embedding: FloatArray, k: int = N_NEIGHBORS) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the k nearest objects of each object, nearest first, and their distances."""
    from scipy.spatial import cKDTree

    n = len(embedding)
    k = min(k, n - 1)
    if k == 0:
        return np.zeros((n, 0), dtype=np.int64), np.zeros((n, 0))
    found = cKDTree(embedding).query(embedding, k=k + 1)
    distance, index = np.asarray(found[0]), np.asarray(found[1])
    # An object is its own nearest, but among many at one place the tree may leave it out; then the farthest goes.
    own = index == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return index[~own].reshape(n, k).astype(np.int64), distance[~own].reshape(n, k)


def most_similar(weights: FloatArray, k: int = N_NEIGHBORS) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the k objects with the largest inner products with each object, the largest first, and these."""
    n = len(weights)
    k = min(k, n - 1)
    index, similarity = np.zeros((n, k), dtype=np.int64), np.zeros((n, k))
    for row in range(n if k else 0):
        products = weights @ weights[row]
        products[row] = -np.inf
        index[row] = np.argsort(-products, kind="stable")[:k]
        similarity[row] = products[index[row]]
    return index, similarity


def _about_weights(results: StudyResults) -> dict[str, Any] | None:
    """Return what is known of dimensions; intervals of positive weights alone, an object a row."""
    found = results.weights
    if found is None:
        return None
    intervals: list[Any] | None = None
    if found.intervals is not None:
        positive = results.embedding[: len(found.intervals)] > 0
        intervals = [_rounded(ends[of].ravel(), 3) for ends, of in zip(found.intervals, positive, strict=True)]
    # Browsers may keep names of many maps in one place, where each map, with the names that it came with, has its own.
    digest = hashlib.sha256(np.ascontiguousarray(results.embedding).tobytes() + repr(found.names).encode("utf-8"))
    return {
        "names": found.names,
        "reproducibility": None if found.reproducibility is None else _rounded(np.array(found.reproducibility), 6),
        "grades": [describe_reproducibility(value) for value in found.reproducibility or ()],
        "counts": found.counts,
        "intervals": intervals,
        "key": f"nearer-dimension-names-{digest.hexdigest()[:16]}",
    }


def payload(results: StudyResults, thumbnails: Mapping[int, str]) -> dict[str, Any]:
    """Return what the page's script reads: the map, its neighbors and the annotators, in few digits."""
    nearest = nearest_neighbors if results.weights is None else most_similar
    index, distance = nearest(results.embedding)
    covariances: list[Any] | None = None
    n_axes = results.n_components if results.weights is not None else min(results.n_components, MAX_MAP_AXES)
    if results.covariances is not None:
        # A covariance is symmetric: its upper triangle, row by row, is all of it.
        upper = np.triu_indices(n_axes)
        covariances = _rounded(results.covariances[:, upper[0], upper[1]], 4)
    return {
        "objects": results.objects,
        "attributes": results.attributes,
        "embedding": _rounded(results.embedding[:, :n_axes], 6 if results.weights is None else 4),
        "weights": _about_weights(results),
        "covariances": covariances,
        "level": results.level,
        "scales": results.scales,
        "neighbors": index.tolist(),
        "distances": _rounded(distance, 4),
        "annotators": results.annotators and [person.to_dict() for person in results.annotators],
        "chance": None if results.error is None else results.error.chance,
        "fitted": results.n_fitted,
        "thumbnails": {str(place): uri for place, uri in thumbnails.items()},
    }


def _rounded(array: FloatArray, digits: int) -> list[Any]:
    """Return nested lists of so many significant digits: a page of thousands of objects is half as long for it."""
    short = np.array([float(f"{value:.{digits}g}") for value in array.ravel()])
    return list(short.reshape(array.shape).tolist())


_IMAGE_TYPES = {".jpg": "jpeg", ".svg": "svg+xml"}  # of images, where they are not named as the ending
MAX_PICTURE_BYTES = 20 * 10**6


def read_thumbnails(folder: str | PathLike[str], objects: Sequence[object]) -> dict[int, str]:
    """Return the pictures of the objects that have one, as data URIs by the number of the object."""
    found = find_pictures(folder, objects)
    total = sum(file.stat().st_size for file in set(found.values()))
    if total > MAX_PICTURE_BYTES:
        raise ValueError(
            f"the {len(found)} pictures in {Path(folder)} take {total / 1e6:.1f} MB, and a report holds at most "
            f"{MAX_PICTURE_BYTES / 1e6:.0f} MB; make them smaller (200 pixels wide is plenty)"
        )
    return {number: _data_uri(file) for number, file in found.items()}


def _data_uri(file: Path) -> str:
    ending, content = file.suffix.lower(), base64.b64encode(file.read_bytes()).decode("ascii")
    return f"data:image/{_IMAGE_TYPES.get(ending, ending[1:])};base64,{content}"
