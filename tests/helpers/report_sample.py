"""Results as `nearer fit` leaves them, made quickly and without fitting anything."""

import colorsys
import re

import numpy as np
from scipy.stats import chi2

from nearer.datasets import load_colors


def color_results(n_components=2, **changes):
    """The map of the named colors: lightness goes to the third axis, as it varies least."""
    colors = load_colors()
    generator = np.random.default_rng(0)
    points = colors.lab[:, [1, 2, 0]] / 25 + generator.normal(scale=0.1, size=(len(colors.names), 3))
    points = points[:, :n_components] - points[:, :n_components].mean(axis=0)
    hues = [colorsys.rgb_to_hsv(*rgb) for rgb in colors.rgb]
    attributes = {
        "color": ["#" + "".join(f"{round(255 * channel):02x}" for channel in rgb) for rgb in colors.rgb],
        "hue": [round(360 * hue, 1) if saturation > 0.1 else None for hue, saturation, _ in hues],
        "family": [_family(hue, saturation) for hue, saturation, _ in hues],
    }
    return results_of(points, colors.names.tolist(), attributes) | changes


def _family(hue, saturation):
    if saturation < 0.1:
        return "grey"
    return ["red", "yellow", "green", "cyan", "blue", "magenta"][round(6 * hue) % 6]


def random_results(n_objects, n_components=2, **changes):
    """A map of as many objects as asked for, in clusters."""
    generator = np.random.default_rng(1)
    centers = generator.normal(size=(12, n_components))
    groups = generator.integers(12, size=n_objects)
    points = centers[groups] + generator.normal(scale=0.25, size=(n_objects, n_components))
    attributes = {"group": [f"group {group}" for group in groups], "size": generator.uniform(0, 9, n_objects).tolist()}
    return results_of(points, [f"object {place}" for place in range(n_objects)], attributes) | changes


def weights_results(n_objects=12, n_dimensions=4, labels=None, **changes):
    """Sparse dimensions, of which the last is not reproducible."""
    generator = np.random.default_rng(3)
    weights = generator.gamma(0.7, 1.0, size=(n_objects, n_dimensions))
    weights *= generator.random(weights.shape) < 0.4
    reproducibility = np.linspace(0.95, 0.4, n_dimensions).tolist()
    reproducibility[-1] = 0.1
    found = results_of(weights, labels or [f"object {place}" for place in range(n_objects)], {})
    found["weights"] = {
        "reproducibility": reproducibility,
        "intervals": np.stack([0.8 * weights, 1.3 * weights + 0.1], axis=2).tolist(),
        "names": [""] * n_dimensions,
    }
    unknown = ("scree", "covariances", "regions", "ellipse_size", "reproducibility", "margins", "learning_curve")
    found |= dict.fromkeys((*unknown, "trend", "dimension"))
    found["error"] |= {"choice": 0.4, "choice_low": 0.38, "choice_high": 0.42}
    found["settings"] = {"method": "SPoSE", "parameters": {}, "chosen": {"penalty": 12.0}}
    return found | changes


def results_of(points, labels, attributes):
    points = np.asarray(points, dtype=np.float64)
    n, p = points.shape
    generator = np.random.default_rng(2)
    roots = generator.normal(scale=0.09, size=(n, p, p))
    margins = generator.normal(1.0, 0.8, size=4000)
    counts, edges = np.histogram(margins, bins=np.arange(-2, 4.01, 0.2).round(10))
    sizes = [500, 1000, 2000, 3000, 4000]
    return {
        "format": 2,
        "title": "colors",
        "source": {
            "file": "colors.csv", "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "kind": "triplet", "n_answers": 4000, "n_bad": 0, "n_undecided": 12,
        },
        "features": None,
        "dissimilarities": None,
        "feature_deviations": None,
        "people": None,
        "weights": None,
        "convergence": None,
        "summary": {"n_objects": n, "n_comparisons": 4000, "n_annotators": 12, "n_trials": 4000, "n_unseen": 0},
        "objects": labels,
        "attributes": attributes,
        "embedding": points.tolist(),
        "scree": sorted(points.var(axis=0).tolist(), reverse=True),
        "covariances": (roots @ roots.transpose(0, 2, 1)).tolist(),
        "level": 0.95,
        "scales": [float(np.sqrt(chi2.ppf(0.95, k))) for k in (1, 2, 3)],
        "regions": {"kind": "confidence", "n_resamples": 100, "unit": "trials"},
        "ellipse_size": 0.12,
        "reproducibility": {
            "half": 0.88, "reliability": 0.936, "low": 0.92, "high": 0.95, "n_splits": 5, "n_objects": n,
            "unit": "trials",
        },
        "error": {
            "held_out": 0.112, "low": 0.101, "high": 0.124, "map": 0.124, "map_low": 0.113, "map_high": 0.136,
            "ceiling": 0.074, "chance": 0.5, "n_folds": 5, "unit": "trials",
        },
        "margins": {"edges": edges.tolist(), "counts": counts.tolist(), "share_negative": float(np.mean(margins < 0))},
        "learning_curve": [
            {"n_comparisons": size, "error": error, "low": error - 0.01, "high": error + 0.012}
            for size, error in zip(sizes, [0.31, 0.22, 0.16, 0.135, 0.124], strict=True)
        ],
        "trend": {"kind": "falls", "sentence": "More answers would still make predictions better."},
        "dimension": {
            "candidates": [1, 2, 3, 4, 5], "errors": [0.26, 0.124, 0.119, 0.12, 0.122],
            "standard_errors": [0.008, 0.006, 0.006, 0.006, 0.006], "chosen": 2, "rule": "one standard error",
        },
        "annotators": [
            {
                "name": f"A{place}", "n_answers": 300 + 7 * place, "error": error, "low": error - 0.04,
                "high": error + 0.05, "median_seconds": 2.1 + 0.1 * place if place else None,
                "flags": ["answers at chance"] if error > 0.4 else [],
            }
            for place, error in enumerate([0.12, 0.09, 0.14, 0.47, 0.11, 0.1, 0.13, 0.16, 0.08, 0.12, 0.15, 0.11])
        ],
        "findings": [
            {
                "severity": "good", "code": "connected", "title": "The comparison graph is 2-connected",
                "text": "Every object can be placed against every other.", "examples": [],
            },
            {
                "severity": "warning", "code": "contradictions", "title": "12 questions were answered both ways",
                "text": "People disagree about them, which is noise that no map can follow. Nothing needs to be done.",
                "examples": ["is coral nearer to salmon or to tomato: 3 for salmon, 2 for tomato"],
            },
            {
                "severity": "note", "code": "enough", "title": "There are enough answers",
                "text": "The learning curve has settled.", "examples": [],
            },
        ],
        "settings": {
            "method": "DMOE", "parameters": {"n_components": p, "power": 2, "random_state": 0},
            "chosen": {"trace": 0.0123456789, "ridge": None},
        },
        "notes": [],
        "missing": [],
        "interrupted": False,
        "placed": None,
        "versions": {"nearer": "0.1.0", "numpy": "2.4.6", "python": "3.11.9"},
        "seed": 20261115,
        "command": "nearer fit colors.csv -o colors --seed 20261115",
        "date": "2026-11-15T17:00:00+00:00",
        "seconds": 12.34,
        "citations": [
            {"text": "Ma, Xu, Yang & Cao (2019). Less but better. AAAI.", "doi": "10.0000/example"},
            {"text": "The nearer developers (2026). nearer 0.1.0.", "doi": None},
        ],
    }  # fmt: skip


def empty_results(**changes):
    """Nothing but a map of three objects: all that may be null is null, or empty."""
    full = results_of([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ["a", "b", "c"], {})
    keep = ("format", "title", "objects", "embedding", "level", "scales")
    empty = {key: {} for key in ("source", "summary", "settings", "attributes", "versions")}
    empty |= {key: [] for key in ("notes", "missing", "citations")} | {"interrupted": False}
    return {key: value if key in keep else empty.get(key) for key, value in full.items()} | changes


def addresses(page):
    """Everything in a page that a browser could be sent to."""
    return re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}|\burl\(|@import", page, flags=re.IGNORECASE)
