"""`nearer place`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from nearer.cli.arguments import Commands, add_command, add_file, add_folder, print_result, read_file

_ABOUT = """\
Put new objects into a map by answers that compare them with those on it. The old objects stay where they are. OUT gets
the larger map as embedding.csv, map.png, model.json and model.npz, and results.json for `nearer report`."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "place", "put new objects into a map", _ABOUT, command=run)
    add_folder(parser)
    add_file(parser)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT", help="folder of the larger map")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    import numpy as np

    from nearer._common.formatting import pluralize, quote
    from nearer.embedding.storage import load_model
    from nearer.io.labels import match_labels
    from nearer.study.folder import refuse_input
    from nearer.study.update import place_objects, results_for, write_placed

    refuse_input(options.file, options.out)
    model, answers = load_model(options.folder), read_file(options, known_labels=True)
    results = results_for(model, options.folder)
    asked = match_labels(answers.comparisons, model.objects_, answers.paths).objects
    if set(asked.tolist()) <= set(model.objects_.tolist()):
        raise ValueError(
            f"{answers.source}: all objects of these answers are on the map of {options.folder} already, so that there "
            "is nothing to place. `nearer score` judges the map by them; `nearer fit` makes a map of all answers in "
            "one file"
        )
    known = results.get("covariances")
    new = place_objects(model, answers, None if known is None else np.array(known), random_state=0)
    write_placed(model, results, new, options.out, shlex.join(["nearer", *options.arguments]))
    points = dict(zip(new.objects, new.points.tolist(), strict=True))
    lines = [f"{quote(label)}: {', '.join(f'{x:.3f}' for x in at)}" for label, at in points.items()]
    lines.append(
        f"{pluralize(len(points), 'new object')}, placed by {pluralize(new.n_answers, 'answer')}; the other "
        f"{pluralize(len(results['objects']), 'object')} and how far to trust them are as they were"
    )
    if new.n_unsure:
        lines.append(
            f"{pluralize(new.n_unsure, 'new object has', 'new objects have')} too few answers to be placed surely"
        )
    figures = {"folder": str(options.out), "objects": points, "n_answers": new.n_answers, "n_unsure": new.n_unsure}
    print_result(options, "\n".join([*lines, f"the map is in {options.out}"]), figures)
    return 0
