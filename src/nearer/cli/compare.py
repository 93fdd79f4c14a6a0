"""`nearer compare`: its five ways, each in a module of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli import compare_groups, compare_maps, compare_matrices, compare_methods, compare_people
from nearer.cli.parsing import Commands, add_command, add_reading, add_seed

_ABOUT = """\
Compare what people, maps or methods make of the same objects:

  nearer compare answers.csv --by group              two or more groups of people: a map of each, laid onto each
                                                     other, and whether they differ
  nearer compare answers.csv --people                what each person goes by: weights of the axes of one map
  nearer compare MAP OTHER                           two maps that `nearer fit` wrote
  nearer compare MAP --with model.csv                a map and a matrix of distances, such as that of a model
  nearer compare answers.csv --methods DMOE,STE      methods, by the same held-out answers"""
_MAP_FILE = "results.json"  # what a folder of a map has


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "compare", "compare groups, maps or methods", _ABOUT, command=run)
    parser.add_argument("file", type=Path, nargs="+", metavar="WHAT", help="answers, or folders of maps")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="OUT", help="folder of tables and figures")
    add_seed(parser, "everything that is drawn")
    for way in (compare_groups, compare_maps, compare_matrices, compare_methods, compare_people):
        way.add(parser)
    add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command in the way that the options ask for."""
    ways = {
        "--by": (options.by, compare_groups.run),
        "--with": (options.model, compare_matrices.run),
        "--methods": (options.methods, compare_methods.run),
        "--people": (options.people, compare_people.run),
    }
    asked = [way for way, (said, _) in ways.items() if said is not None]
    if len(asked) > 1:
        raise ValueError(f"{asked[0]} and {asked[1]} are two comparisons; ask for one at a time")
    if asked:
        return ways[asked[0]][1](options)
    if len(options.file) == 2 and all((path / _MAP_FILE).exists() for path in options.file):
        return compare_maps.run(options)
    raise ValueError(
        "say what to compare: groups of people with --by COLUMN, people with --people, methods with --methods A,B, a "
        "map and a matrix with --with FILE, or name the folders of two maps"
    )
