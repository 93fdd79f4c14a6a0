"""`nearer report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearer.cli.parsing import Commands, add_command, add_folder, say

_ABOUT = """\
Make one self-contained HTML page of what `nearer fit` found: an interactive map, how far to trust it, the doctor's
findings, neighbours, margins, learning curve, annotators, and how to cite. It needs no network and can be mailed."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "report", "make a page of a map to look at and to send", _ABOUT, command=run)
    add_folder(parser)
    parser.add_argument("-o", "--out", type=Path, default=None, metavar="FILE", help="the page (DIR/report.html)")
    parser.add_argument("--title", default=None, help="heading of the page")
    parser.add_argument(
        "--attributes", type=Path, default=None, metavar="FILE",
        help="CSV with a column of labels and columns to colour the map by",
    )  # fmt: skip
    parser.add_argument(
        "--thumbnails", type=Path, default=None, metavar="FOLDER", help="pictures named after the objects"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.report import write_report
    from nearer.study import read_results
    from nearer.study.attributes import read_attributes

    results = read_results(options.folder)
    if options.title is not None:
        results["title"] = options.title
    if options.attributes is not None:
        results["attributes"] = read_attributes(options.attributes, results["objects"])
    path = write_report(results, options.out or options.folder / "report.html", thumbnails=options.thumbnails)
    say(options, f"written: {path}", {"report": str(path)})
    return 0
