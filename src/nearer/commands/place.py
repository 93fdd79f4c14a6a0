"""`nearer place`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.commands.parsing import Commands, add_command, add_file, read_file, say

_ABOUT = """\
Put new objects into a map by answers that compare them with those on it. The old objects stay where they are. OUT gets
the larger map as embedding.csv, model.json and model.npz, and results.json for `nearer report`."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "place", "put new objects into a map", _ABOUT, run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote")
    add_file(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder of the larger map")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer._words import counted, name
    from nearer.formats.answers import matched
    from nearer.runs.folder import refuse_input
    from nearer.runs.placing import results_for, write_placed
    from nearer.storage import load_model

    refuse_input(options.file, options.out)
    model, answers = load_model(options.folder), read_file(options)
    results, before = results_for(model, options.folder), model.n_objects_
    points = model.place(matched(answers.comparisons, model.objects_)).tolist()
    write_placed(model, results, options.out)
    new = model.objects_[before:].tolist()
    figures = {"folder": str(options.out), "objects": {str(label): at for label, at in zip(new, points, strict=True)}}
    lines = [f"{name(label)}: {', '.join(f'{x:.3f}' for x in at)}" for label, at in zip(new, points, strict=True)]
    say(options, "\n".join([*lines, f"{counted(len(new), 'new object')}; the map is in {options.out}"]), figures)
    return 0
