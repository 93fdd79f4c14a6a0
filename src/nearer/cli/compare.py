"""`nearer compare`: its five ways, each in a module of its own."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli import compare_groups, compare_maps, compare_matrices, compare_methods, compare_people
from nearer.cli.argtypes import dimensions, natural, share
from nearer.cli.arguments import Commands, add_command, add_reading, add_seed

_ABOUT = """\
Compare what people, maps or methods make of the same objects:

  nearer compare answers.csv --by group              two or more groups of people: a map of each, laid onto each
                                                     other, and whether they differ
  nearer compare answers.csv --people                what each person goes by: weights of the axes of one map
  nearer compare MAP OTHER                           two maps that `nearer fit` wrote
  nearer compare MAP --with model.csv                a map and a matrix of distances, such as that of a model
  nearer compare answers.csv --methods DMOE,STE      methods, by the same held-out answers"""
_MAP_FILE = "results.json"  # what a folder of a map has
_MAPS = "two maps"
_LEVEL, _FOLDS = 0.95, 5
#: What each way takes beside files, seed and folder; those that read answers take the options of reading, too.
_TAKES = {
    "--by": ("dimensions", "permutations", "level"),
    "--people": ("dimensions", "folds", "level"),
    "--methods": ("dimensions", "folds", "hold_out", "level"),
    "--with": ("features", "measure", "people_maps", "permutations", "level"),
    _MAPS: ("level",),
}
_READING = (
    "kind", "columns", "preset", "first_is", "skip_bad", "weight_by_confidence", "keep", "exclude", "exclude_from",
    "where", "catch",
)  # fmt: skip


def _permutations(text: str) -> int:
    """Return a number of permutations that can reach a p of 0.05."""
    return natural(text, 19, 10**6)


def _folds(text: str) -> int:
    """Return a number of folds."""
    return natural(text, 2, 100)


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "compare", "compare groups, maps or methods", _ABOUT, command=run)
    parser.add_argument("file", type=Path, nargs="+", metavar="WHAT", help="answers, or folders of maps")
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="OUT", help="folder of tables and figures")
    add_seed(parser, "everything that is drawn")
    for way in (compare_groups, compare_maps, compare_matrices, compare_methods, compare_people):
        way.add(parser)
    group = parser.add_argument_group("for several of these")
    group.add_argument(
        "--dimensions", type=dimensions, default=None, metavar="P",
        help="of the maps (chosen by the answers; 2 with --people)",
    )  # fmt: skip
    group.add_argument(
        "--folds", type=_folds, default=None, metavar="K", help="parts that --methods and --people hold out in turn (5)"
    )
    group.add_argument(
        "--permutations", type=_permutations, default=None, metavar="N",
        help="of people with --by (4999), of objects with --with (9999; 1999 for kendall and tau-a)",
    )  # fmt: skip
    group.add_argument("--level", type=share, default=None, metavar="L", help="of the intervals (0.95)")
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
        _settle(options, asked[0])
        return ways[asked[0]][1](options)
    if len(options.file) == 2 and all((path / _MAP_FILE).exists() for path in options.file):
        _settle(options, _MAPS)
        return compare_maps.run(options)
    raise ValueError(
        "say what to compare: groups of people with --by COLUMN, people with --people, methods with --methods A,B, a "
        "map and a matrix with --with FILE, or name the folders of two maps"
    )


def _settle(options: argparse.Namespace, way: str) -> None:
    """Refuse options that a comparison would not look at, fill in what was left out, and make the folder."""
    known = {name for taken in _TAKES.values() for name in taken} | set(_READING)
    taken = {*_TAKES[way], *(_READING if way in ("--by", "--people", "--methods") else ())}
    for name in sorted(known - taken):
        if getattr(options, name) not in (None, False, []):
            raise ValueError(f"--{name.replace('_', '-')} does nothing for {way}; leave it out")
    if options.out is not None:
        _begin(options.file, options.out)
    options.level = _LEVEL if options.level is None else options.level
    options.folds = _FOLDS if options.folds is None else options.folds


def _begin(files: list[Path], folder: Path) -> None:
    """Make the folder before there is anything to lose; refuse one that holds a map, or the answers."""
    from nearer.study.folder import refuse_input

    refuse_input(files, folder)
    if (folder / _MAP_FILE).exists():
        raise ValueError(f"{folder} holds a map; choose another folder for the comparison with --out")
    folder.mkdir(parents=True, exist_ok=True)
