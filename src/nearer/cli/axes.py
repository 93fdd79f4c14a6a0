"""`nearer axes`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.argtypes import share, word, word_or_file, words
from nearer.cli.arguments import Commands, add_command, add_folder, add_seed, print_result

if TYPE_CHECKING:
    from nearer._common.arrays import FloatArray
    from nearer.comparing import PropertyFits

_ABOUT = """\
Say what the directions of a map mean. Attributes of the objects are fitted to their places: how much of an attribute
the map explains, in which direction it grows, and how often chance explains as much. OUT gets the table as
properties.csv and arrows on the map as properties.png and .pdf.

Comparisons leave open how a map is turned. With --rotate-to, --varimax or --align-to, OUT gets a copy of the map that
is turned, for `nearer report` and the other commands. No distance changes."""
_WAYS = "--rotate-to COLUMN, --varimax or --align-to MAP"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "axes", "say what the directions of a map mean, and turn it", _ABOUT, command=run)
    add_folder(parser)
    parser.add_argument(
        "--attributes", type=Path, default=None, metavar="FILE",
        help="CSV with a column of labels and columns of numbers or words",
    )  # fmt: skip
    group = parser.add_argument_group("objects that are not exchangeable, with --attributes (one of these)")
    randomized = group.add_mutually_exclusive_group()
    randomized.add_argument(
        "--within", type=word, default=None, metavar="COLUMN", help="permute objects within the blocks of this column"
    )
    randomized.add_argument(
        "--along", type=word_or_file, default=None, metavar="COLUMN|FILE",
        help="test against attributes that are as smooth along this column of numbers, such as a year, or these "
        "distances between objects, such as those of a phylogeny",
    )  # fmt: skip
    randomized.add_argument(
        "--copies", type=word, default=None, metavar="COLUMN", help="average objects with the same word in this column"
    )
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="OUT", help="folder of table, figure and map")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--rotate-to", type=words, default=None, metavar="COLUMN,...",
        help="turn the map: the first attribute grows along the first axis, a second along the second",
    )  # fmt: skip
    ways.add_argument("--varimax", action="store_true", help="turn the map: objects lie far out on few axes each")
    ways.add_argument(
        "--align-to", type=Path, default=None, metavar="MAP",
        help="turn the map onto another: a folder, or a CSV with labels and a column for each axis",
    )  # fmt: skip
    parser.add_argument("--level", type=share, default=0.95, metavar="P", help="of the intervals (0.95)")
    add_seed(parser, "permutations and resamples")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    import numpy as np

    from nearer.comparing import fit_properties
    from nearer.embedding.storage import load_model
    from nearer.evaluation.distances import compared_objects
    from nearer.study.attributes import read_attributes
    from nearer.study.rotate import turned_results, write_turned
    from nearer.study.update import results_for

    turning = options.rotate_to is not None or options.varimax or options.align_to is not None
    if options.attributes is None and (options.rotate_to is not None or not turning):
        raise ValueError(f"name the file of attributes with --attributes FILE, or say how to turn the map: {_WAYS}")
    if options.attributes is None and (options.within or options.along or options.copies):
        raise ValueError("--within, --along and --copies are about attributes; name their file with --attributes FILE")
    if turning and options.out is None:
        raise ValueError("a turned map is a copy; say where it goes with --out FOLDER")
    model = load_model(options.folder)
    results = results_for(model, options.folder)
    columns: dict[str, Any] = {}
    if options.attributes is not None:
        columns = dict(read_attributes(options.attributes, results["objects"]))
    seen = compared_objects(model)
    lines, figures = [], {}
    if turning:
        axes, note = _rotation(options, results, columns, seen)
        command = shlex.join(["nearer", *options.arguments])
        model = write_turned(model, results, options.folder, options.out, f"{note} ({command})", axes)
        results |= turned_results(results, axes)
        lines.append(f"{note}; the turned map is in {options.out}")
        figures = {"folder": str(options.out), "turned": note, "axes": axes}
    if columns:
        randomized, used = _randomization(options, columns, results["objects"])
        # Where an object in no comparison lies means nothing.
        known = {
            column: [cell if at else None for cell, at, use in zip(of, seen, used, strict=True) if use]
            for column, of in columns.items()
            if column not in (options.within, options.along, options.copies)
        }
        points = np.array(results["embedding"])[used]
        fits = fit_properties(points, known, level=options.level, random_state=options.seed, **randomized)
        written = [] if options.out is None else _write(fits, results, options.out)
        lines[:0] = [str(fits), *([f"written to {options.out}: {', '.join(written)}"] if written else [])]
        figures |= fits.to_dict()
    print_result(options, "\n".join(lines), figures)
    return 0


def _randomization(
    options: argparse.Namespace, columns: dict[str, Any], objects: list[str]
) -> tuple[dict[str, Any], Any]:
    """Return how to randomize objects, as arguments of `fit_properties`, and which objects have what that takes."""
    import sys

    import numpy as np

    from nearer._common.formatting import pluralize, quote, quote_all
    from nearer.comparing import read_matrix

    asked = {"within": options.within, "along": options.along, "copies": options.copies}
    way, source = next(((way, source) for way, source in asked.items() if source is not None), (None, None))
    if way is None or source is None:
        return {}, np.ones(len(objects), dtype=bool)
    if source not in columns and way == "along" and Path(source).exists():
        matrix = read_matrix(Path(source)).reindex(objects).matrix
        used = np.isfinite(matrix).sum(axis=1) > 1
        values: Any = matrix[np.ix_(used, used)]
    elif source not in columns:
        raise ValueError(
            f"--{way} names {quote(source)}, which is no column of {options.attributes}; it has "
            f"{quote_all(list(columns))}"
        )
    else:
        used = np.array([cell is not None for cell in columns[source]])
        values = [cell for cell in columns[source] if cell is not None]
    if not used.all():
        without = [label for label, use in zip(objects, used, strict=True) if not use]
        sys.stderr.write(
            f"nearer: {pluralize(len(without), 'object')} without a value of {quote(source)} left out: "
            f"{quote_all(without)}\n"
        )
    return {way: values}, used


def _rotation(
    options: argparse.Namespace, results: dict[str, Any], columns: dict[str, Any], seen: Any
) -> tuple[FloatArray, str]:
    """Return the axes that the options ask for, and a sentence about them."""
    import numpy as np

    from nearer._common.formatting import pluralize, quote, quote_all
    from nearer.geometry import axes_along, axes_onto, varimax_axes
    from nearer.study.rotate import read_places, shared

    points = np.array(results["embedding"])
    if options.varimax:
        return varimax_axes(points, seen=seen), "the map was turned by varimax"
    if options.align_to is not None:
        places = read_places(options.align_to, results["objects"])
        both = shared(places, seen)
        by = pluralize(int(both.sum()), "object")
        return axes_onto(points, places, both), f"the map was turned onto {options.align_to}, by {by} in both"
    features = []
    for column in options.rotate_to:
        if column not in columns:
            raise ValueError(f"{options.attributes} has no column {quote(column)}; it has {quote_all(list(columns))}")
        if any(isinstance(cell, str) for cell in columns[column]):
            raise ValueError(f"the column {quote(column)} has words, and a map can be turned to numbers alone")
        features.append(np.where(seen, np.array(columns[column], dtype=np.float64), np.nan))
    return axes_along(points, *features), f"the map was turned to {' and '.join(map(quote, options.rotate_to))}"


def _write(fits: PropertyFits, results: dict[str, Any], folder: Path) -> list[str]:
    """Write values and table, and the figure of a map of two axes or more, and return the names of the files."""
    import warnings

    import numpy as np

    from nearer._common.results import save_figures
    from nearer.geometry import covariance_ellipses
    from nearer.plotting import plot_properties

    files = fits.write(folder)
    points, ellipses = np.array(results["embedding"]), None
    if points.shape[1] < 2:
        return files
    if results["covariances"] is not None:
        ellipses = covariance_ellipses(points, np.array(results["covariances"]), results["scales"][1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # labels in letters that the font lacks
        pictures = {"properties": lambda: plot_properties(points, fits, results["objects"], ellipses=ellipses)}
        return [*files, *save_figures(folder, pictures)]
