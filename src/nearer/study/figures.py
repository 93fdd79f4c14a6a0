"""The figures of a study: those that every run draws, and those for papers, with attributes and pictures of objects."""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import format_level, intcomma, percent, pluralize, quote_all
from nearer._common.tables import unescape_formula
from nearer.evaluation.curves import CHANCE
from nearer.geometry import covariance_ellipses
from nearer.io.delimited import as_utf8, delimited_table, read_bytes
from nearer.io.labels import same_objects
from nearer.io.messages import sentence
from nearer.plotting.fits import BEST_POSSIBLE, GUESSING, X_TITLE, Y_TITLE, CurveScale
from nearer.plotting.maps import Arrow, EllipseStyle
from nearer.plotting.papers import Paper
from nearer.study.results import Column, StudyResults, WeightsRecord
from nearer.study.study import Study, margins_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE_PAPER = Paper(width=180.0, font_size=8.0)


def draw_study(study: Study, folder: Path) -> list[str]:
    """Draw all figures and return the names of their files."""
    distances = study.chosen._has_distances
    known = {
        "map.png": distances,
        "margins.png": distances,
        "learning-curve.png": study.curve is not None,
        "dimensions.png": study.dimension is not None,
        "dimension-cards.png": study.results is not None and _has_cards(study.results),
    }
    drawn = {name: partial(draw, study) for name, draw in FIGURES.items() if known.get(name, True)}
    _save(drawn, folder)
    return list(drawn)


def draw_placed(results: StudyResults, folder: Path) -> None:
    """Draw the map of results, objects that were placed later in another color; of dimensions, their cards."""
    if results.weights is not None:
        if _has_cards(results):
            _save({"dimension-cards.png": lambda: draw_cards(results)}, folder)
        return
    n_new = len(results.objects) - results.n_fitted
    _save({"map.png": lambda: _map(results.embedding, results.objects, ellipses_on(results), n_new)}, folder)


def draw_dissimilarities(results: StudyResults, folder: Path) -> list[str]:
    """Draw the map of dissimilarities and their Shepard diagram, and return the names of the files."""
    drawn = {
        "map.png": lambda: _map(results.embedding, results.objects, ellipses_on(results)),
        SHEPARD: lambda: draw_shepard(results),
    }
    _save(drawn, folder)
    return list(drawn)


def draw_shepard(results: StudyResults, paper: Paper | None = None) -> Axes:
    """Draw the distances on a map against the dissimilarities that it was made of, and the line of disparities."""
    from nearer.plotting import FAINT, INK, PALETTE
    from nearer.plotting.keys import framed_axes

    found, sheet = results.dissimilarities, paper or Paper()
    assert found is not None
    with sheet.text():
        size = sheet.font_size
        ax = framed_axes(sheet, 0.8, room=(4 * size, 3.4 * size, 4.0, 2.0))
        ax.plot(found.values, found.distances, "o", color=FAINT, markersize=0.35 * size, label="pairs of objects")
        ax.plot(found.values, found.disparities, color=PALETTE["DMOE"], linewidth=1.2, label="disparities")
        ax.set_xlabel(SHEPARD_X, color=INK)
        ax.set_ylabel(SHEPARD_Y, color=INK)
        ax.set_ylim(0, None)
        ax.legend(frameon=False, loc="upper left", title=f"stress {found.stress:.3f}", title_fontsize=size)
    return ax


def ellipses_on(results: StudyResults, axes: tuple[int, int] = (0, 1)) -> FloatArray | None:
    """Return the ellipses of the objects on two axes of their map, where they are known."""
    if results.covariances is None or results.n_components < 2:
        return None
    assert results.scales is not None
    return covariance_ellipses(results.embedding, results.covariances, results.scales[1], axes)


def _save(figures: Mapping[str, Callable[[], Axes]], folder: Path) -> None:
    """Draw figures into files."""
    from nearer.plotting import save_figure

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # labels in letters that the font lacks
        for name, draw in figures.items():
            save_figure(draw(), folder / name)


def draw_map(study: Study) -> Axes:
    """Draw the first two axes of the map, with ellipses where they are known."""
    points, ellipses = study.model.embedding_, None
    if study.places is not None and points.shape[1] > 1:
        ellipses = study.places.ellipses(study.settings.level)
    return _map(points, [str(label) for label in study.model.objects_], ellipses)


def _map(points: FloatArray, labels: Sequence[str], ellipses: FloatArray | None, n_new: int = 0) -> Axes:
    """Draw a map; the last so many objects, which were placed on it later, in another color."""
    from nearer.plotting import FAINT, PALETTE, plot_map
    from nearer.plotting.maps import dot_area

    n_components, variances = points.shape[1], points.var(axis=0)
    if n_components == 1:
        points = np.hstack([points, np.zeros_like(points)])
    colors = None if n_new == 0 else [PALETTE["GNMDS"]] * (len(points) - n_new) + [PALETTE["DMOE"]] * n_new
    ax = plot_map(points, labels, colors, ellipses=ellipses, area=dot_area(len(points)))
    if n_components > 2:
        share = f", {percent(variances[:2].sum() / variances.sum())} of the variance" if variances.any() else ""
        words = f"axes 1 and 2 of {n_components}{share}; the others are not shown"
        words = words.replace("the others are", "axis 3 is") if n_components == 3 else words
        ax.text(0, 0, words, transform=ax.transAxes, fontsize=7, color=FAINT, va="bottom")
    return ax


def draw_margins(study: Study) -> Axes:
    """Draw the margins on the map as the page does: how many lie where, those below zero in another color."""
    from nearer.plotting import FAINT, INK, PALETTE, despine, new_figure

    found, ax = margins_histogram(study), new_figure(6, 4).add_subplot()
    edges = np.array(found["edges"])
    wrong = edges[1:] <= 1e-9
    ax.bar(
        edges[:-1], found["counts"], np.diff(edges), align="edge", edgecolor="white", linewidth=0.5,
        color=np.where(wrong, PALETTE["DMOE"], PALETTE["GNMDS"]).tolist(),
    )  # fmt: skip
    ax.axvline(0, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel="margin, below zero the map is wrong", ylabel="comparisons", xlim=(edges[0], edges[-1]))
    ax.set_title("The outermost bars also hold what lies beyond them.", loc="left", fontsize=8, color=FAINT)
    return despine(ax)


def draw_curve(study: Study) -> Axes:
    """Draw the held-out error against the number of comparisons, on the axes of the page."""
    from nearer.plotting import FAINT, INK, despine, new_figure

    assert study.curve is not None
    curve, ax = study.curve, new_figure(5, 3.5).add_subplot()
    band = f"{format_level(study.settings.level)} interval"
    ax.fill_between(curve.sizes, curve.lows, curve.highs, color=INK, alpha=0.12, linewidth=0, label=band)
    ax.plot(curve.sizes, curve.errors, "o-", color=INK, markersize=4, linewidth=1.4)
    known = study.ceiling is not None and not study.ceiling.is_vague
    levels = {GUESSING: CHANCE} | ({BEST_POSSIBLE: study.ceiling.error} if study.ceiling and known else {})
    for name, height in levels.items():
        ax.axhline(height, color=FAINT, linewidth=1, linestyle="--")
        ax.annotate(
            name, (0, height), (4, 3), xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8
        )
    scale = CurveScale.of(curve.sizes.tolist(), curve.highs.tolist())
    ax.set(xscale="log", xlabel=X_TITLE, ylabel=Y_TITLE, xlim=scale.x, ylim=scale.y)
    ax.set_xticks(scale.ticks, [intcomma(round(size)) for size in scale.ticks])
    ax.set_yticks(scale.heights)
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    return despine(ax)


def draw_dimensions(study: Study) -> Axes:
    """Draw the held-out error of maps of different dimension, and the one that was chosen."""
    from nearer.plotting import INK, despine, new_figure

    assert study.dimension is not None
    found, ax = study.dimension, new_figure(5, 3.5).add_subplot()
    ax.errorbar(found.candidates, found.errors, found.standard_errors, fmt="o-", color=INK, markersize=4, capsize=2)
    if found.chosen is not None:
        at = int(np.flatnonzero(found.candidates == found.chosen)[0])
        ax.plot(found.chosen, found.errors[at], "o", markersize=12, markerfacecolor="none", color=INK, label="chosen")
        ax.legend(frameon=False)
    ax.set(xlabel="dimensions", ylabel="held-out error of the map", xticks=found.candidates)
    return despine(ax)


def draw_study_cards(study: Study) -> Axes:
    """Draw a card for each reproducible dimension."""
    assert study.results is not None
    return draw_cards(study.results)


#: What is drawn, by the names of the files.
FIGURES: dict[str, Callable[[Study], Axes]] = {
    "map.png": draw_map,
    "margins.png": draw_margins,
    "learning-curve.png": draw_curve,
    "dimensions.png": draw_dimensions,
    "dimension-cards.png": draw_study_cards,
}


SHEPARD, SHEPARD_X, SHEPARD_Y = "shepard.png", "dissimilarity", "distance on the map"

_LABEL_COLUMNS = ("object", "label", "name", "item", "stimulus", "id")  # names of a column of labels
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".svg")


def find_pictures(folder: str | PathLike[str], objects: Sequence[object]) -> dict[int, Path]:
    """Return the files of the objects that have a picture, by the number of the object; warn of what is left over.

    The picture of an object is called like its label, with or without the ending: ``cat.png`` belongs to the object
    ``cat``, to ``cat.png`` and to ``stimuli/cat.png``.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is not a folder; thumbnails come from a folder of pictures named after the objects")
    # Files are looked up by name in this listing, and no path is ever made from a label.
    files = sorted(file for file in place.iterdir() if file.suffix.lower() in ENDINGS and file.is_file())
    by_name = {_key(name): file for file in reversed(files) for name in (file.stem, file.name)}
    found = {
        number: by_name[name]
        for number, label in enumerate(map(str, objects))
        for name in (_key(PurePosixPath(label).name), _key(label))  # the last that a picture goes by
        if name in by_name
    }
    if not found:
        raise ValueError(
            f"no picture in {place} is named after an object: the first object is {objects[0]!r}, "
            + (f"the first picture {files[0].name!r}" if files else f"and no file ends in {', '.join(ENDINGS)}")
        )
    taken = {_key(file.stem) for file in found.values()}  # of cat.jpg and cat.png, one is used
    unmatched = [file.name for file in files if _key(file.stem) not in taken]
    missing = [label for number, label in enumerate(objects) if number not in found]
    _warn_unmatched(place.name, unmatched, ("picture is", "pictures are", "of no object"), missing, "picture")
    return found


def _warn_unmatched(
    source: str, unmatched: Sequence[Any], words: tuple[str, str, str], missing: Sequence[Any], what: str
) -> None:
    """Warn of what belongs to no object, and of objects that lack something."""
    problems = []
    if unmatched:
        problems.append(f"{pluralize(len(unmatched), *words[:2])} {words[2]}: {quote_all(unmatched, 10)}")
    if missing:
        problems.append(f"{pluralize(len(missing), 'object has', 'objects have')} no {what}: {quote_all(missing, 10)}")
    if problems:
        warnings.warn(f"{source}: {'; '.join(problems)}", UserWarning, stacklevel=3)


def _key(name: str) -> str:
    # Some file systems write é as one character and some as two.
    return unicodedata.normalize("NFC", name)


@dataclass(frozen=True)
class MapLook:
    """What is drawn of a map, and how."""

    axes: tuple[int, int] = (0, 1)  # counted from 0
    color_by: str | None = None  # attributes
    shape_by: str | None = None
    palette: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] | None = None  # objects whose names are written; None: all
    images: str | PathLike[str] | None = None
    ellipses: EllipseStyle = "auto"
    arrows: Sequence[Arrow] = ()


class Drawn(NamedTuple):
    """A figure."""

    ax: Axes
    left_out: list[str]  # labels that found no place
    spread_elsewhere: float  # share of the variance along axes that are not drawn


def draw_map_for_paper(results: StudyResults, look: MapLook, paper: Paper) -> Drawn:
    """Draw a map, or the line that it is if it has one axis."""
    from nearer.plotting import plot_line, plot_map

    points, objects = results.embedding, list(results.objects)
    names = _names(objects, look.labels)
    coded: dict[str, Any] = {
        "color_by": look.color_by and (look.color_by, attribute_of(results, look.color_by)),
        "shape_by": look.shape_by and (look.shape_by, attribute_of(results, look.shape_by)),
        "palette": look.palette or None,
        "paper": paper,
    }
    if points.shape[1] == 1:
        reaches = None
        if results.covariances is not None and results.scales is not None and look.ellipses != "none":
            reaches = results.scales[0] * np.sqrt(results.covariances[:, 0, 0])
        ax = plot_line(points, names, reaches=reaches, **coded)
        return Drawn(ax, _missing(names, [text.get_text() for text in ax.get_yticklabels()]), 0.0)
    if max(look.axes) >= points.shape[1]:
        raise ValueError(
            f"the map has {points.shape[1]} axes, and axis {max(look.axes) + 1} is not among them; choose --axes from "
            f"1 to {points.shape[1]}"
        )
    ellipses = None if look.ellipses == "none" else ellipses_on(results, look.axes)
    ax = plot_map(
        points, names, ellipses=ellipses, axes=look.axes, ellipse_style=look.ellipses,
        arrows=look.arrows,
        images=None if look.images is None else find_pictures(Path(look.images), objects), **coded,
    )  # fmt: skip
    variances = points.var(axis=0)
    elsewhere = 1 - variances[list(look.axes)].sum() / variances.sum() if variances.any() else 0.0
    return Drawn(ax, _missing(names, [text.get_text() for text in ax.texts]), max(float(elsewhere), 0.0))


def draw_heatmap_for_paper(results: StudyResults, look: MapLook, paper: Paper) -> Drawn:
    """Draw the distances on a map, over all its axes."""
    from nearer.plotting import plot_heatmap

    names = _names(list(results.objects), look.labels)
    ax = plot_heatmap(results.embedding, names, paper=paper)
    return Drawn(ax, _missing(names, [text.get_text() for text in ax.get_yticklabels()]), 0.0)


def draw_cards(
    results: StudyResults,
    images: str | PathLike[str] | None = None,
    n_top: int | None = None,
    paper: Paper = _WIDE_PAPER,
) -> Axes:
    """Draw a card for each reproducible dimension, under its name."""
    from nearer.plotting import plot_dimensions

    record = _weights_of(results)
    kept = np.flatnonzero(record.counts)
    if not len(kept):
        raise ValueError("no dimension is reproducible, so that there is none to draw; more answers may show some")
    values = record.reproducibility
    return plot_dimensions(
        results.embedding[:, kept], results.objects, [record.titles[k] for k in kept],
        notes=None if values is None else [f"reproducibility {values[k]:.2f}" for k in kept],
        intervals=None if record.intervals is None else record.intervals[:, kept],
        images=None if images is None else find_pictures(images, results.objects), n_top=n_top, paper=paper,
    )  # fmt: skip


def draw_profiles(
    results: StudyResults, objects: Sequence[str], n_top: int | None = None, paper: Paper = _WIDE_PAPER
) -> Axes:
    """Draw what objects consist of, by reproducible dimensions under their names."""
    from nearer.plotting import plot_profiles

    record = _weights_of(results)
    kept = np.flatnonzero(record.counts)
    return plot_profiles(
        results.embedding[:, kept], results.objects, objects, [record.titles[k] for k in kept],
        intervals=None if record.intervals is None else record.intervals[:, kept], n_top=n_top or 10, paper=paper,
    )  # fmt: skip


def _has_cards(results: StudyResults) -> bool:
    return results.weights is not None and any(results.weights.counts)


def _weights_of(results: StudyResults) -> WeightsRecord:
    if results.weights is None:
        raise ValueError("the axes of this map are not dimensions with a meaning; fit them with --method SPoSE")
    return results.weights


def _names(objects: list[str], shown: Sequence[str] | None) -> list[str]:
    """Return what is written of each object: its label, or nothing."""
    if shown is None:
        return objects
    strange = [label for label in shown if label not in objects]
    if strange:
        raise ValueError(f"labels of no object: {quote_all(strange, 5)}; the map has {quote_all(objects, 5)}")
    return [label if label in shown else "" for label in objects]


def _missing(names: Sequence[str], written: Sequence[str]) -> list[str]:
    there = set(written)
    return [name for name in names if name and " ".join(name.split()) not in there]


def attribute_of(results: StudyResults, name: str) -> list[Any]:
    """Return an attribute of the objects, one value for each."""
    known = results.attributes
    if name not in known:
        where = f"there are {quote_all(list(known), 10)}" if known else "give a file of them with --attributes FILE.csv"
        raise ValueError(f"there is no attribute {name!r}; {where}")
    return list(known[name])


def read_attributes(path: Path, objects: Sequence[str]) -> dict[str, Column]:
    """Return the columns of a table, ordered as the objects are; None where an object or a value is missing.

    The column of labels is the one called object, label, name, item, stimulus or id, or else the first. A column whose
    values are all numbers is one of numbers. Labels that are not on the map, and objects without a row, are warned of.
    """
    table = delimited_table(as_utf8(read_bytes(path), path.name)[0], path.name)
    if len(table.names) < 2:
        raise ValueError(f"{path} needs a column of labels and at least one more column")
    loaded = table.load(table.names)
    if loaded.n_bad:
        raise ValueError(sentence(loaded.bad_rows[0]))
    columns = [column.map_values(str, "", object).tolist() for column in loaded.columns.values()]
    key = next((k for k, name in enumerate(table.names) if name.strip().lower() in _LABEL_COLUMNS), 0)
    labels = [unescape_formula(label) for label in columns[key]]
    on_map = set(objects)
    same = same_objects([label for label in labels if label not in on_map], objects)
    labels = [same.get(label, label) if same.get(label) not in labels else label for label in labels]
    row_of = {label: row for row, label in enumerate(labels)}
    if len(row_of) < len(labels):
        double = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{path}: {double!r} has several rows; give each object one")
    if not any(label in row_of for label in objects):
        raise ValueError(
            f"{path}: no label of its column {table.names[key]!r} is an object of the map, such as {objects[0]!r}; "
            "call the column of labels 'object'"
        )
    unmatched = [label for label in labels if label not in on_map]
    missing = [label for label in objects if label not in row_of]
    _warn_unmatched(path.name, unmatched, ("label is", "labels are", "not on the map"), missing, "attributes")
    rows = [row_of.get(label) for label in objects]
    return {
        name: numbers_or_words([None if row is None else column[row] or None for row in rows])
        for k, (name, column) in enumerate(zip(table.names, columns, strict=True))
        if k != key
    }


def numbers_or_words(column: list[str | None]) -> Column:
    """Return a column as numbers if all its values are.

    >>> numbers_or_words(["1", None, "2.5"]), numbers_or_words(["1", "two"])
    ([1.0, None, 2.5], ['1', 'two'])
    """
    try:
        numbers: Column = [None if cell is None else float(cell) for cell in column]
    except ValueError:
        return [*column]
    finite = all(number is None or math.isfinite(float(number)) for number in numbers)
    return numbers if finite and any(number is not None for number in numbers) else [*column]
