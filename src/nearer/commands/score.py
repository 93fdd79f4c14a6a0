"""`nearer score`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.commands.parsing import Commands, add_command, add_file, read_file, say

_ABOUT = """\
Judge a map by answers that it has not seen: the share that it predicts wrongly, a tie counted half. Answers about
objects that are not on the map are refused; `nearer place` puts them there first."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "score", "judge a map by new answers", _ABOUT, run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote")
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.formats.answers import matched
    from nearer.metrics import comparison_error
    from nearer.runs.results import share_known
    from nearer.storage import load_model

    model, answers = load_model(options.folder), read_file(options)
    judged = matched(answers.comparisons, model.objects_).over(model.objects_)
    known = share_known(judged, model.comparisons_)
    figures = {
        "n_answers": len(answers),
        "n_comparisons": len(judged),
        "error": 1 - model.score(judged),
        "map_error": comparison_error(judged, model.embedding_),
        "share_known": known,
    }
    text = (
        f"{len(answers)} answers ({len(judged)} comparisons): error {figures['error']:.3f}, "
        f"of the map {figures['map_error']:.3f}; chance is 0.5"
    )
    if known > 0.5:
        text += (
            f"\n{known:.0%} of these comparisons are among those that the map was made from: the error is too good. "
            "`nearer fit` tells the held-out error"
        )
    say(options, text, figures)
    return 0
