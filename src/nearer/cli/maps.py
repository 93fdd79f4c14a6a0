"""`nearer score`, `nearer place` and `nearer axes`: what can be done with a map."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._common.formatting import decimals, format_interval, format_level, percent, pluralize, quote, quote_all
from nearer.cli.argtypes import share, word, word_or_file, words
from nearer.cli.arguments import (
    Commands,
    add_command,
    add_features,
    add_file,
    add_folder,
    add_reading,
    add_seed,
    features_of,
    log_note,
    print_result,
    read_file,
)

if TYPE_CHECKING:
    from nearer._common.arrays import FloatArray
    from nearer.comparing import PropertyFits
    from nearer.data.comparisons import Comparisons
    from nearer.embedding.base import OrdinalEmbedding
    from nearer.io import Answers
    from nearer.study import StoredStudy, StudyResults

_SCORE = """\
Judge a map by answers that it has not seen: the share that it predicts wrongly, a tie counted half, with its confidence
interval. Answers about objects that are not on the map are refused; `nearer place` puts them there first."""
_PLACE = """\
Place new objects on a map by answers that compare them with those on it, by their features, or by both. The old objects
stay where they are. OUT gets the larger map as embedding.csv, map.png, model.json and model.npz, and results.json for
`nearer report`. Features place objects on a map that was made with `nearer fit --features`."""
_AXES = """\
Relate the directions of a map to attributes of the objects: how much of an attribute the map explains, in which
direction it grows, and how often chance explains as much. OUT gets the table as properties.csv and arrows on the map as
properties.png and .pdf.

Comparisons leave the rotation of a map open. With --rotate-to, --varimax or --align-to, OUT gets a rotated copy of the
map for `nearer report` and the other commands. No distance changes."""
_ROTATIONS = "--rotate-to COLUMN, --varimax or --align-to MAP"
_MIN_SHARE_KNOWN = 0.05  # of the comparisons: fewer hardly change the error


def add(commands: Commands) -> None:
    """Add the commands."""
    score = add_command(commands, "score", "judge a map by new answers", _SCORE, command=_score)
    add_folder(score)
    _add_level(score)
    add_file(score)
    place = add_command(commands, "place", "place new objects on a map", _PLACE, command=_place)
    add_folder(place)
    place.add_argument(
        "file", type=Path, nargs="*", metavar="FILE",
        help="answers about the new objects, as for `nearer fit`; none where features place them",
    )  # fmt: skip
    add_features(place, "the new ones: the map must have been made with sets of the same names")
    add_reading(place)
    place.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder of the larger map")
    _add_axes(commands)


def _add_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--level", type=share, default=0.95, metavar="L", help="level of the intervals (default: 0.95)")


def _add_axes(commands: Commands) -> None:
    axes = add_command(commands, "axes", "relate a map to attributes of objects, or rotate it", _AXES, command=_axes)
    add_folder(axes)
    axes.add_argument(
        "--attributes", type=Path, metavar="FILE", help="CSV with a column of labels and columns of numbers or words"
    )
    group = axes.add_argument_group("objects that are not exchangeable, with --attributes (one of these)")
    randomized = group.add_mutually_exclusive_group()
    randomized.add_argument(
        "--within", type=word, metavar="COLUMN", help="permute objects within the blocks of this column"
    )
    randomized.add_argument(
        "--along", type=word_or_file, metavar="COLUMN|FILE",
        help="test against attributes that are as smooth along this column of numbers, such as a year, or these "
        "distances between objects, such as those of a phylogeny",
    )  # fmt: skip
    randomized.add_argument(
        "--copies", type=word, metavar="COLUMN", help="average objects with the same word in this column"
    )
    axes.add_argument("-o", "--out", type=Path, metavar="OUT", help="folder of table, figure and map")
    rotations = axes.add_mutually_exclusive_group()
    rotations.add_argument(
        "--rotate-to", type=words, metavar="COLUMN,...",
        help="rotate the map: the first attribute grows along the first axis, a second along the second",
    )  # fmt: skip
    rotations.add_argument("--varimax", action="store_true", help="rotate the map to simple structure (varimax)")
    rotations.add_argument(
        "--align-to", type=Path, metavar="MAP",
        help="rotate the map onto another: a folder, or a CSV with labels and a column for each axis",
    )  # fmt: skip
    _add_level(axes)
    add_seed(axes)


def _score(options: argparse.Namespace) -> int:
    import numpy as np

    from nearer.embedding.storage import load_model
    from nearer.evaluation.held_out import error_on_rows, read_weighted
    from nearer.io.labels import match_labels
    from nearer.study.update import share_known

    model, answers = load_model(options.folder), read_file(options, known_labels=True)
    comparisons = match_labels(answers.comparisons, model.objects_, answers.paths)
    _refuse_new(answers, comparisons, model, options)
    judged = read_weighted(comparisons.reindex(model.objects_))
    found = error_on_rows(model, judged, np.arange(len(judged)), level=options.level)
    known = share_known(judged, model.comparisons_)
    figures = {
        "n_answers": len(answers),
        "n_comparisons": len(judged),
        "level": options.level,
        **{name: getattr(found, name) for name in ("error", "low", "high", "map_error", "map_low", "map_high")},
        "choice_error": None if found.choice is None else found.choice.error,
        "share_known": known,
    }
    text = (
        f"{pluralize(len(answers), 'answer')} ({pluralize(len(judged), 'comparison')}): error {decimals(found.error)} "
        f"({format_level(options.level)} interval {format_interval(found.low, found.high)}), "
        f"of the map {decimals(found.map_error)} ({format_interval(found.map_low, found.map_high)}); chance is 0.5"
    )
    if found.choice is not None and not model._has_distances:
        text += f"\nthe odd one of three is predicted in {percent(1 - found.choice.error)} of trials; chance is 33%"
    if known > _MIN_SHARE_KNOWN:
        flatters = "the error is too low" if known > 0.5 else "if these are the same answers, the error is too low"
        text += (
            f"\n{percent(known)} of these comparisons are among those that the map was made from: {flatters}. "
            "`nearer fit` reports the held-out error"
        )
    print_result(options, text, figures)
    return 0


def _refuse_new(
    answers: Answers, comparisons: Comparisons, model: OrdinalEmbedding, options: argparse.Namespace
) -> None:
    """Refuse answers about objects that are not on the map, by their lines."""
    import numpy as np

    known = set(model.objects_.tolist())
    new = np.array([label not in known for label in comparisons.objects.tolist()])
    about = np.unique(answers.answer_of[new[comparisons.rows].any(axis=1)])
    if len(about):
        labels = comparisons.objects[np.unique(comparisons.rows[new[comparisons.rows]])].tolist()
        command = shlex.join(["nearer", "place", str(options.folder), *map(str, options.file), "-o", "OUT"])
        raise ValueError(
            f"{answers.source}: {len(about)} of {pluralize(len(answers), 'answer')}, the first on "
            f"{answers.line(about[0])}, {'is' if len(about) == 1 else 'are'} about objects that are not on the map: "
            f"{quote_all(labels, 10)}. Place them on it first ({command}), or leave these answers out"
        )


def _place(options: argparse.Namespace) -> int:
    from nearer.study import StoredStudy
    from nearer.study.folder import refuse_input
    from nearer.study.update import place_objects, write_placed

    refuse_input([*options.file, *(path for _, path in options.features)], options.out)
    stored = StoredStudy.read(options.folder)
    if not options.file and not options.features:
        raise ValueError("name a file of answers about the new objects, or their features with --features FILE")
    answers = read_file(options, known_labels=True) if options.file else None
    features = [each.features for each in features_of(options)] if options.features else []
    if answers is not None and not features:
        _refuse_known(answers, stored)
    new = place_objects(stored.model, answers, stored.results.covariances, features=features, random_state=0)
    write_placed(stored, new, options.out, shlex.join(["nearer", *options.arguments]))
    points = dict(zip(new.objects, new.points.tolist(), strict=True))
    lines = [f"{quote(label)}: {', '.join(f'{x:.3f}' for x in at)}" for label, at in points.items()]
    lines.append(
        f"{pluralize(len(points), 'new object')}, placed by {_placed_by(new.n_answers, bool(features))}; the other "
        f"{pluralize(len(stored.results.objects), 'object')} and how far to trust them are as they were"
    )
    if new.n_unsure:
        unsure = pluralize(new.n_unsure, "new object has", "new objects have")
        lines.append(f"{unsure} too few answers to be placed with confidence")
    figures = {"folder": str(options.out), "objects": points, "n_answers": new.n_answers, "n_unsure": new.n_unsure}
    print_result(options, "\n".join([*lines, f"the map is in {options.out}"]), figures)
    return 0


def _refuse_known(answers: Answers, stored: StoredStudy) -> None:
    """Refuse answers about no new object."""
    from nearer.io.labels import match_labels

    asked = match_labels(answers.comparisons, stored.model.objects_, answers.paths).objects
    if set(asked.tolist()) <= set(stored.model.objects_.tolist()):
        raise ValueError(
            f"{answers.source}: all objects of these answers are on the map of {stored.folder} already, so that there "
            "is nothing to place. `nearer score` judges the map by them; `nearer fit` makes a map of all answers in "
            "one file"
        )


def _placed_by(n_answers: int, by_features: bool) -> str:
    if not by_features:
        return pluralize(n_answers, "answer")
    return f"features and {pluralize(n_answers, 'answer')}" if n_answers else "features"


def _axes(options: argparse.Namespace) -> int:
    from nearer.comparing import fit_properties
    from nearer.comparing.shared_features import features_note, own_columns
    from nearer.evaluation.distances import compared_objects
    from nearer.study import StoredStudy
    from nearer.study.figures import read_attributes
    from nearer.study.update import rotate_study

    rotates = options.rotate_to is not None or options.varimax or options.align_to is not None
    if options.attributes is None and (options.rotate_to is not None or not rotates):
        raise ValueError(f"name a file of attributes with --attributes FILE, or a rotation: {_ROTATIONS}")
    if options.attributes is None and (options.within or options.along or options.copies):
        raise ValueError("--within, --along and --copies are about attributes; name their file with --attributes FILE")
    if rotates and options.out is None:
        raise ValueError("a rotated map is a copy; name its folder with --out FOLDER")
    stored = StoredStudy.read(options.folder)
    objects = stored.results.objects
    columns: dict[str, Any] = {}
    if options.attributes is not None:
        columns = dict(read_attributes(options.attributes, objects))
    seen = compared_objects(stored.model)
    own = own_columns(stored.model, columns)
    for name, features in own.items():
        log_note(
            f"{quote(name)} is not fitted: the map was made with it, as one of the features {quote(features)}; "
            "fit it to a map of the answers alone"
        )
    lines, figures = [], {}
    if rotates:
        axes, note = _rotation(options, stored.results, columns, seen)
        command = shlex.join(["nearer", *options.arguments])
        stored = rotate_study(stored, axes, options.out, f"{note} ({command})")
        lines.append(f"{note}; the rotated map is in {options.out}")
        figures = {"folder": str(options.out), "rotated": note, "axes": axes}
    if columns:
        randomized, used = _randomization(options, columns, objects)
        # The place of an object in no comparison means nothing.
        known = {
            column: [cell if at else None for cell, at, use in zip(of, seen, used, strict=True) if use]
            for column, of in columns.items()
            if column not in (options.within, options.along, options.copies) and column not in own
        }
        points = stored.results.embedding[used]
        if not known:
            raise ValueError(f"{options.attributes} has no attribute that the map was not made with")
        for note in features_note(stored.model):
            log_note(note)
        fits = fit_properties(points, known, level=options.level, random_state=options.seed, **randomized)
        written = [] if options.out is None else _write_properties(fits, stored.results, options.out)
        lines[:0] = [str(fits), *([f"written to {options.out}: {', '.join(written)}"] if written else [])]
        figures |= fits.to_dict()
    print_result(options, "\n".join(lines), figures)
    return 0


def _randomization(
    options: argparse.Namespace, columns: dict[str, Any], objects: tuple[str, ...]
) -> tuple[dict[str, Any], Any]:
    """Return how to randomize objects, as arguments of `fit_properties`, and which objects have what that takes."""
    import numpy as np

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
        has = quote_all(list(columns))
        raise ValueError(f"--{way} names {quote(source)}, which is no column of {options.attributes}; it has {has}")
    else:
        used = np.array([cell is not None for cell in columns[source]])
        values = [cell for cell in columns[source] if cell is not None]
    if not used.all():
        without = [label for label, use in zip(objects, used, strict=True) if not use]
        left_out = f"{pluralize(len(without), 'object')} without a value of {quote(source)} left out"
        log_note(f"{left_out}: {quote_all(without)}")
    return {way: values}, used


def _rotation(
    options: argparse.Namespace, results: StudyResults, columns: dict[str, Any], seen: Any
) -> tuple[FloatArray, str]:
    """Return the axes that the options ask for, and a sentence about them."""
    import numpy as np

    from nearer.geometry import axes_along, axes_onto, varimax_axes
    from nearer.study.update import objects_on_both, read_coordinates

    points = results.embedding
    if options.varimax:
        return varimax_axes(points, seen=seen), "the map was rotated by varimax"
    if options.align_to is not None:
        places = read_coordinates(options.align_to, results.objects)
        both = objects_on_both(places, seen)
        by = pluralize(int(both.sum()), "object")
        return axes_onto(points, places, both), f"the map was rotated onto {options.align_to}, by {by} in both"
    features = []
    for column in options.rotate_to:
        if column not in columns:
            raise ValueError(f"{options.attributes} has no column {quote(column)}; it has {quote_all(list(columns))}")
        if any(isinstance(cell, str) for cell in columns[column]):
            raise ValueError(f"the column {quote(column)} has words, and a map can be rotated to numbers alone")
        features.append(np.where(seen, np.array(columns[column], dtype=np.float64), np.nan))
    return axes_along(points, *features), f"the map was rotated to {' and '.join(map(quote, options.rotate_to))}"


def _write_properties(fits: PropertyFits, results: StudyResults, folder: Path) -> list[str]:
    """Write values and table, and the figure of a map of two axes or more, and return the names of the files."""
    import warnings

    from nearer._common.results import save_figures
    from nearer.plotting import plot_properties
    from nearer.study.figures import ellipses_on

    files = fits.write(folder)
    if results.n_components < 2:
        return files
    ellipses = ellipses_on(results)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # labels in letters that the font lacks
        draw = {"properties": lambda: plot_properties(results.embedding, fits, results.objects, ellipses=ellipses)}
        return [*files, *save_figures(folder, draw)]
