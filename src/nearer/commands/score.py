"""`nearer score`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer._words import counted, level_of
from nearer.commands.parsing import Commands, add_command, add_file, read_file, say
from nearer.commands.values import share

_ABOUT = """\
Judge a map by answers that it has not seen: the share that it predicts wrongly, a tie counted half, with its confidence
interval, for which answers are independent of each other. Answers about objects that are not on the map are refused;
`nearer place` puts them there first."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "score", "judge a map by new answers", _ABOUT, run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote")
    parser.add_argument("--level", type=share, default=0.95, metavar="L", help="of the interval (0.95)")
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer._intervals import error_interval
    from nearer.formats.answers import matched
    from nearer.model_selection.folds import units_of
    from nearer.model_selection.judging import judge, read_counted
    from nearer.runs.results import share_known
    from nearer.storage import load_model

    model, answers = load_model(options.folder), read_file(options)
    judged = read_counted(matched(answers.comparisons, model.objects_).over(model.objects_))
    units = units_of(judged, "trials")[1]
    error, of_map = (
        error_interval(wrong, judged.sample_weight, units, options.level) for wrong in judge(model, judged)
    )
    known = share_known(judged, model.comparisons_)
    figures = {
        "n_answers": len(answers),
        "n_comparisons": len(judged),
        "level": options.level,
        **error._asdict(),
        **{f"map_{name}": value for name, value in of_map._asdict().items()},
        "share_known": known,
    }
    text = (
        f"{counted(len(answers), 'answer')} ({counted(len(judged), 'comparison')}): error {error.error:.3f} "
        f"({level_of(options.level)} interval {error.low:.3f} to {error.high:.3f}), "
        f"of the map {of_map.error:.3f} ({of_map.low:.3f} to {of_map.high:.3f}); chance is 0.5"
    )
    if known > 0.5:
        text += (
            f"\n{known:.0%} of these comparisons are among those that the map was made from: the error is too good. "
            "`nearer fit` tells the held-out error"
        )
    say(options, text, figures)
    return 0
