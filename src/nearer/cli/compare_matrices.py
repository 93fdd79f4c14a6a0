"""`nearer compare MAP --with model.csv`: a map and matrices of distances."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nearer.cli.argtypes import resamples
from nearer.cli.arguments import log_step, print_comparison

if TYPE_CHECKING:
    from nearer._common.arrays import FloatArray
    from nearer.comparing import MatrixNoise, NamedMatrix
    from nearer.comparing.matrix_tests import Measure
    from nearer.embedding.base import OrdinalEmbedding

_MEASURES = ("spearman", "kendall", "tau-a", "pearson")
#: Of the Mantel test. Kendall's tau takes fifty times as long.
_PERMUTATIONS = {"spearman": 9999, "pearson": 9999, "kendall": 1999, "tau-a": 1999}
_PEOPLE_MAPS = 50


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("a map and a matrix")
    group.add_argument(
        "--with", type=Path, default=None, action="append", dest="model", metavar="FILE",
        help="a matrix of distances with names of objects, a list of pairs, or the folder of another map; may be given "
        "several times",
    )  # fmt: skip
    group.add_argument(
        "--features", action="store_true", help="tables of features are compared by their Euclidean distances"
    )
    group.add_argument("--measure", choices=_MEASURES, default=None, help="for intervals, tests and ceiling (spearman)")
    group.add_argument(
        "--people-maps", type=resamples, default=None, metavar="N", help="maps of resampled people, 0 for none (50)"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.comparing import compare_matrices, read_matrix
    from nearer.embedding.storage import load_model
    from nearer.study.update import results_for

    if len(options.file) != 1:
        raise ValueError("--with compares one map with matrices; name one folder that `nearer fit` wrote")
    (folder,) = options.file
    measure: Measure = options.measure or "spearman"
    model = load_model(folder)
    objects = results_for(model, folder)["objects"]
    read = _named([read_matrix(path, features=options.features).reindex(objects) for path in options.model])
    for each in read:
        for note in each.notes:
            sys.stderr.write(f"nearer: {each.name}: {note}\n")
    full, noise, people, notes = _resampled(options, model)
    found = compare_matrices(
        full,
        {each.name: each.matrix for each in read},
        measure=measure,
        noise=noise,
        people=people,
        n_permutations=options.permutations or _PERMUTATIONS[measure],
        level=options.level,
        random_state=options.seed,
    )
    models = [replace(fit, notes=each.notes) for fit, each in zip(found.models, read, strict=True)]
    print_comparison(options, replace(found, models=tuple(models), notes=(*found.notes, *notes)))
    return 0


def _resampled(
    options: argparse.Namespace, model: OrdinalEmbedding
) -> tuple[OrdinalEmbedding, MatrixNoise | None, FloatArray | None, list[str]]:
    """Return a posterior in all dimensions, what tells of noise and of people, and why not; Ctrl-C goes on without."""
    from nearer.comparing import full_posterior, matrix_noise, people_matrices
    from nearer.comparing.results import MIN_ANNOTATORS, count_annotators

    noise, people, notes = None, None, []
    wanted = _PEOPLE_MAPS if options.people_maps is None else options.people_maps
    full = model
    try:
        log_step("posterior in all dimensions")
        full = full_posterior(model, random_state=options.seed)
        noise = matrix_noise(full, random_state=options.seed)
    except ValueError as error:
        notes.append(f"no noise ceiling: {error}")
    except KeyboardInterrupt:
        return full, None, None, ["no noise ceiling and no interval over people: the run was stopped before its end"]
    enough = count_annotators(model.comparisons_) >= MIN_ANNOTATORS
    if not enough and wanted:
        notes.append(f"no interval over people: it takes answers of at least {MIN_ANNOTATORS} identified people")
    if enough and wanted:
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
