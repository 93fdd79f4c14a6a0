"""`nearer compare`: groups of people, individual people, two maps, a map and matrices, or methods."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nearer._common.formatting import quote_all
from nearer.cli.argtypes import dimensions, displacement, folds, permutations, resamples, share, word, words
from nearer.cli.arguments import (
    Commands,
    add_command,
    add_reading,
    add_seed,
    dimension_of,
    log_note,
    log_step,
    print_result,
    read_file,
)
from nearer.cli.process import INTERRUPTED

if TYPE_CHECKING:
    from nearer._common.arrays import FloatArray
    from nearer._common.results import Result
    from nearer.comparing import MatrixNoise, NamedMatrix
    from nearer.comparing.matrix_tests import Measure
    from nearer.data.comparisons import Comparisons
    from nearer.embedding.base import OrdinalEmbedding

_ABOUT = """\
Compare what people, maps or methods make of the same objects:

  nearer compare answers.csv --by group              two or more groups of people: a map of each, aligned, and
                                                     whether they differ
  nearer compare answers.csv --people                individual people: weights of the axes, own maps
  nearer compare MAP OTHER                           two maps that `nearer fit` wrote
  nearer compare MAP --with model.csv                a map and a matrix of distances, such as that of a model
  nearer compare answers.csv --methods DMOE,STE      methods, by the same held-out answers"""
_MAPS = "two maps"
_LEVEL, _N_SPLITS = 0.95, 5
#: Options of each comparison; those that read answers take the options of reading, too.
_TAKES = {
    "--by": ("dimensions", "bound", "permutations", "level"),
    "--people": ("dimensions", "folds", "level"),
    "--methods": ("dimensions", "folds", "hold_out", "level"),
    "--with": ("features", "measure", "people_maps", "permutations", "level"),
    _MAPS: ("level",),
}
_READING = (
    "kind", "columns", "preset", "first_is", "skip_bad", "weight_by_confidence", "keep", "exclude", "exclude_from",
    "where", "catch",
)  # fmt: skip
_MEASURES = ("spearman", "kendall", "tau-a", "pearson")
#: Permutations of the Mantel test. Kendall's tau takes fifty times as long.
_N_PERMUTATIONS = {"spearman": 9999, "pearson": 9999, "kendall": 1999, "tau-a": 1999}
_N_PEOPLE_MAPS = 50


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "compare", "compare groups, people, maps or methods", _ABOUT, command=_compare)
    parser.add_argument("file", type=Path, nargs="+", metavar="WHAT", help="answers, or folders of maps")
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="folder of tables and figures")
    add_seed(parser)
    group = parser.add_argument_group("groups of people")
    group.add_argument("--by", type=word, metavar="COLUMN", help="column of the groups")
    group.add_argument(
        "--bound", type=displacement, metavar="B",
        help="the largest displacement that counts as none, as a share of the spread of the map (default: 0.25)",
    )  # fmt: skip
    group = parser.add_argument_group("a map and a matrix")
    group.add_argument(
        "--with", type=Path, action="append", dest="model", metavar="FILE",
        help="a matrix of distances with names of objects, a list of pairs, or the folder of another map; may be given "
        "several times",
    )  # fmt: skip
    group.add_argument(
        "--features", action="store_true", help="compare tables of features by their Euclidean distances"
    )
    group.add_argument(
        "--measure", choices=_MEASURES, help="measure for intervals, tests and ceiling (default: spearman)"
    )
    group.add_argument(
        "--people-maps", type=resamples, metavar="N", help="maps of resampled people, 0 for none (default: 50)"
    )
    group = parser.add_argument_group("methods")
    group.add_argument(
        "--methods", type=words, metavar="A,B,...",
        help="such as DMOE,STE,posterior; the others are compared with the first",
    )  # fmt: skip
    group.add_argument(
        "--hold-out", choices=("trials", "annotators"),
        help="what is held out as a whole: trials, for errors on further answers of the same people, or annotators, "
        "for further people (default: trials)",
    )  # fmt: skip
    group = parser.add_argument_group("individual people")
    group.add_argument(
        "--people", action="store_true", default=None,
        help="let people weigh the axes of the map differently and have maps of their own, and test whether that "
        "predicts better",
    )  # fmt: skip
    group = parser.add_argument_group("for several of these")
    group.add_argument(
        "--dimensions", type=dimensions, metavar="P",
        help="dimensions of the maps (default: those of study.toml, or chosen by the answers)",
    )  # fmt: skip
    group.add_argument(
        "--folds", type=folds, metavar="K", help="folds of the cross-validation of --methods and --people (default: 5)"
    )
    group.add_argument(
        "--permutations", type=permutations, metavar="N",
        help="sign flips of people with --by (default: 4999), permutations of objects with --with (default: 9999, or "
        "1999 for kendall and tau-a)",
    )  # fmt: skip
    group.add_argument("--level", type=share, metavar="L", help="level of the intervals (default: 0.95)")
    add_reading(parser)


def _compare(options: argparse.Namespace) -> int:
    """Run the comparison that the options ask for."""
    given = {"--by": options.by, "--with": options.model, "--methods": options.methods, "--people": options.people}
    asked = [option for option, value in given.items() if value is not None]
    if len(asked) > 1:
        raise ValueError(f"{asked[0]} and {asked[1]} are two comparisons; ask for one at a time")
    if not asked and len(options.file) == 2 and all(map(_has_map, options.file)):
        asked = [_MAPS]
    if not asked:
        raise ValueError(
            "name what to compare: groups of people with --by COLUMN, people with --people, methods with --methods "
            "A,B, a map and a matrix with --with FILE, or name the folders of two maps"
        )
    _settle(options, asked[0])
    found = _COMPARISONS[asked[0]](options)
    files = [] if options.out is None else found.write(options.out)
    text = found.summary() + (f"\nwritten to {options.out}: {', '.join(files)}" if files else "")
    print_result(options, text, {"folder": str(options.out) if files else None, "files": files, **found.to_dict()})
    return INTERRUPTED if getattr(found, "interrupted", False) else 0


def _has_map(folder: Path) -> bool:
    from nearer.study.folder import has_study

    return has_study(folder)


def _settle(options: argparse.Namespace, way: str) -> None:
    """Refuse options that a comparison would not look at, fill in defaults, and make the folder."""
    known = {name for taken in _TAKES.values() for name in taken} | set(_READING)
    taken = {*_TAKES[way], *(_READING if way in ("--by", "--people", "--methods") else ())}
    for name in sorted(known - taken):
        if getattr(options, name) not in (None, False, []):
            raise ValueError(f"--{name.replace('_', '-')} does nothing for {way}; leave it out")
    if options.out is not None:
        from nearer.study.folder import refuse_input

        refuse_input(options.file, options.out)
        if _has_map(options.out):
            raise ValueError(f"{options.out} holds a map; choose another folder for the comparison with --out")
        options.out.mkdir(parents=True, exist_ok=True)  # before there is anything to lose
    options.level = _LEVEL if options.level is None else options.level
    options.folds = _N_SPLITS if options.folds is None else options.folds


def _groups(options: argparse.Namespace) -> Result:
    from nearer.comparing import compare_groups
    from nearer.comparing.groups import BOUND, N_PERMUTATIONS

    answers = read_file(options, also=[options.by])
    given = dimension_of(options)
    log_step("comparing groups" if given else "choosing the number of dimensions, and comparing groups")
    return compare_groups(
        answers,
        options.by,
        n_components=given,
        bound=options.bound or BOUND,
        n_permutations=options.permutations or N_PERMUTATIONS,
        level=options.level,
        random_state=options.seed,
    )


def _people(options: argparse.Namespace) -> Result:
    from nearer.comparing import compare_people

    answers = read_file(options)
    log_step("fitting a map for each person, and judging it by held-out answers")
    dimension, level, seed = dimension_of(options), options.level, options.seed
    return compare_people(answers.comparisons, dimension, n_splits=options.folds, level=level, random_state=seed)


def _maps(options: argparse.Namespace) -> Result:
    from nearer.comparing import compare_maps

    return compare_maps(*options.file, level=options.level)


def _methods(options: argparse.Namespace) -> Result:
    from nearer.comparing import compare_methods
    from nearer.study import RunSettings

    names = [_method(name) for name in options.methods]
    answers = read_file(options)
    settings = {name: RunSettings(method=name, seed=options.seed) for name in dict.fromkeys(names)}
    given = dimension_of(options)
    log_step("methods" if given else "methods, with the number of dimensions chosen on each training part")
    return compare_methods(
        answers.comparisons,
        {name: each.estimator(given or 2) for name, each in settings.items()},
        n_splits=options.folds,
        by=options.hold_out or "trials",
        dimension=None if given else lambda train: _dimension(train, options.seed),
        level=options.level,
        random_state=options.seed,
    )


def _method(name: str) -> str:
    """Return the method of this name, in whatever letters."""
    from nearer.study import METHOD_CLASSES

    known = {method.lower(): method for method in METHOD_CLASSES}
    if name.lower() not in known:
        alike = difflib.get_close_matches(name.lower(), known, n=1)
        perhaps = f"; perhaps {known[alike[0]]} is meant" if alike else ""
        raise ValueError(f"method {name!r} is not known{perhaps}; choose among {', '.join(METHOD_CLASSES)}")
    return known[name.lower()]


def _dimension(train: Comparisons, seed: int) -> int:
    """Return the number of dimensions in which a quick method predicts best, on a training part."""
    from nearer.study import RunSettings
    from nearer.study.study import choose_dimensions

    choice, _ = choose_dimensions(train, RunSettings(seed=seed))
    return 2 if choice is None else choice.shown


def _matrices(options: argparse.Namespace) -> Result:
    from nearer.comparing import compare_matrices, read_matrix
    from nearer.comparing.shared_features import check_models
    from nearer.study import StoredStudy

    (folder, *others) = options.file
    if others or not _has_map(folder):
        what = quote_all([*map(str, options.file)])
        raise ValueError(
            f"--with compares one map, a folder that `nearer fit` wrote, with matrices; got {what}. Name the map first "
            "and put --with before each matrix: nearer compare MAP --with A.csv --with B.csv"
        )
    measure: Measure = options.measure or "spearman"
    stored = StoredStudy.read(folder)
    objects = stored.results.objects
    read = _named([read_matrix(path, features=options.features).reindex(objects) for path in options.model])
    for each in read:
        for note in each.notes:
            log_note(f"{each.name}: {note}")
    check_models(stored.model, {each.name: each.matrix for each in read})  # before anything is fitted
    full, noise, people, notes = _resampled(options, stored.model)
    found = compare_matrices(
        full,
        {each.name: each.matrix for each in read},
        measure=measure,
        noise=noise,
        people=people,
        n_permutations=options.permutations or _N_PERMUTATIONS[measure],
        level=options.level,
        random_state=options.seed,
    )
    models = [replace(fit, notes=each.notes) for fit, each in zip(found.models, read, strict=True)]
    return replace(found, models=tuple(models), notes=(*found.notes, *notes))


_COMPARISONS: dict[str, Callable[[argparse.Namespace], Result]] = {
    "--by": _groups,
    "--with": _matrices,
    "--methods": _methods,
    "--people": _people,
    _MAPS: _maps,
}


def _resampled(
    options: argparse.Namespace, model: OrdinalEmbedding
) -> tuple[OrdinalEmbedding, MatrixNoise | None, FloatArray | None, list[str]]:
    """Return a posterior in all dimensions, its noise, maps of resampled people, and why one is missing.

    Ctrl-C goes on without.
    """
    from nearer.comparing import full_posterior, matrix_noise, people_matrices
    from nearer.comparing.results import MIN_ANNOTATORS, count_annotators

    noise, people, notes = None, None, []
    wanted = _N_PEOPLE_MAPS if options.people_maps is None else options.people_maps
    full = model
    try:
        log_step("posterior in all dimensions")
        full = full_posterior(model, random_state=options.seed)
        noise = matrix_noise(full, random_state=options.seed)
    except ValueError as error:
        notes.append(f"no noise ceiling: {error}")
    except KeyboardInterrupt:
        return full, None, None, ["no noise ceiling and no interval over people: the run was stopped before its end"]
    if wanted and count_annotators(model.comparisons_) < MIN_ANNOTATORS:
        notes.append(f"no interval over people: it takes answers of at least {MIN_ANNOTATORS} identified people")
    elif wanted:
        try:
            log_step("maps of resampled people")
            people = people_matrices(full, max(wanted, 10), random_state=options.seed)
        except KeyboardInterrupt:
            notes.append("no interval over people: the run was stopped before its end")
    return full, noise, people, notes


def _named(read: list[NamedMatrix]) -> list[NamedMatrix]:
    """Return the matrices with a name each: two files may have the same in different folders."""
    names = [each.name for each in read]
    return [
        replace(each, name=f"{each.name} ({names[: k + 1].count(each.name)})") if names.count(each.name) > 1 else each
        for k, each in enumerate(read)
    ]
