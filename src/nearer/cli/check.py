"""`nearer check`."""

from __future__ import annotations

import argparse

from nearer.cli.argtypes import dimensions
from nearer.cli.arguments import Commands, add_command, add_file, add_seed, dimension_of, print_result, read_file

_ABOUT = """\
Look for everything that can be wrong with a file of answers before a map is made of it: contradictions and cycles,
objects that were hardly compared or cannot be placed against each other, people who answer at chance, too fast or
always on one side, and whether there are enough answers. The exit status is 1 if there are errors."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "check", "find out what is wrong with a file of answers", _ABOUT, command=run)
    add_file(parser)
    parser.add_argument(
        "--dimensions",
        type=dimensions,
        default=None,
        metavar="P",
        help="of the map that they are for (2, or what study.toml says)",
    )
    add_seed(parser, "what is drawn from many answers")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.checking import check
    from nearer.checking.findings import format_finding
    from nearer.io.column_checks import columns_line

    answers = read_file(options, told=False)  # the notes are among the findings
    findings = check(answers, n_components=dimension_of(options) or 2, random_state=options.seed)
    report = answers.report
    figures = {
        "file": answers.source, "kind": answers.kind, "columns": report.columns,
        "unused": list(report.unused), "worst": findings.worst, "findings": findings.to_dicts(),
        "counts": dict(findings.counts), "bad_rows": list(report.skipped),
        "left_out": [left.to_dict() for left in report.left_out],
        "catches": None if report.catches is None else report.catches._asdict(),
    }  # fmt: skip
    catches = None if report.catches is None else str(report.catches)
    heading = filter(None, [findings.heading, columns_line(report), *map(str, report.left_out), catches])
    print_result(options, "\n\n".join(["\n".join(heading), *map(format_finding, findings)]), figures)
    return 1 if findings.worst == "error" else 0
