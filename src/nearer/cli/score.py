"""`nearer score`."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from nearer._common.formatting import decimals, format_interval, format_level, percent, pluralize, quote_all
from nearer.cli.argtypes import share
from nearer.cli.arguments import Commands, add_command, add_file, add_folder, print_result, read_file

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons
    from nearer.embedding.base import OrdinalEmbedding
    from nearer.io import Answers

_ABOUT = """\
Judge a map by answers that it has not seen: the share that it predicts wrongly, a tie counted half, with its confidence
interval, for which answers are independent of each other. Answers about objects that are not on the map are refused;
`nearer place` puts them there first."""
_FEW_KNOWN = 0.05  # of the comparisons, which hardly change the error


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "score", "judge a map by new answers", _ABOUT, command=run)
    add_folder(parser)
    parser.add_argument("--level", type=share, default=0.95, metavar="L", help="of the interval (0.95)")
    add_file(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.data.groups import group_indices
    from nearer.embedding.storage import load_model
    from nearer.evaluation.held_out import judge, read_judged
    from nearer.evaluation.intervals import error_interval
    from nearer.io.labels import match_labels
    from nearer.study.results import share_known

    model, answers = load_model(options.folder), read_file(options, known_labels=True)
    comparisons = match_labels(answers.comparisons, model.objects_, answers.paths)
    _refuse_new(answers, comparisons, model, options)
    judged = read_judged(comparisons.reindex(model.objects_))
    units = group_indices(judged)
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
        f"{pluralize(len(answers), 'answer')} ({pluralize(len(judged), 'comparison')}): error {decimals(error.error)} "
        f"({format_level(options.level)} interval {format_interval(error.low, error.high)}), "
        f"of the map {decimals(of_map.error)} ({format_interval(of_map.low, of_map.high)}); chance is 0.5"
    )
    if known > _FEW_KNOWN:
        flatters = "the error is too good" if known > 0.5 else "if these are the same answers, the error is too good"
        text += (
            f"\n{percent(known)} of these comparisons are among those that the map was made from: {flatters}. "
            "`nearer fit` tells the held-out error"
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
            f"{quote_all(labels, 10)}. Put them on it first ({command}), or leave these answers out"
        )
