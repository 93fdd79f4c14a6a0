"""`nearer report`."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.arguments import Commands, add_command, is_study, print_result

if TYPE_CHECKING:
    from nearer.survey.stimuli import Stimuli

_ABOUT = """\
Make one self-contained HTML page of what `nearer fit` found: an interactive map, how far to trust it, the doctor's
findings, neighbours, margins, learning curve, annotators, and how to cite. It needs no network and can be mailed.

Of the folder of a study of `nearer survey`, the map of the answers so far is made first, as by `nearer fit STUDY -o
STUDY/map`, unless it is there already; pictures and the further columns of objects.csv are shown with it."""
_MAP = "map"


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "report", "make a page of a map to look at and to send", _ABOUT, command=run)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote, or that of a study")
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
    from nearer.study.folder import refuse_output

    folder, stimuli = options.folder, None
    if is_study(options.folder):
        from nearer.survey.stimuli import gather_stimuli

        folder = options.folder / _MAP
        stimuli, wrong = gather_stimuli(options.folder)
        for where, what in wrong:
            sys.stderr.write(f"nearer: the page goes without {options.folder / where}: {what}\n")
        status = _fit(options.folder, folder)
        if status:
            return status
    results = read_results(folder)
    page = options.out or folder / "report.html"
    refuse_output(page, folder, [options.attributes])
    if page.suffix.lower() not in (".html", ".htm"):  # such as the file of answers, named by mistake
        raise ValueError(f"{page}: a page is written as .html; give the file this ending")
    if options.title is not None:
        results["title"] = options.title
    if options.attributes is not None:
        results["attributes"] = read_attributes(options.attributes, results["objects"])
    elif stimuli is not None:
        results["attributes"] = _attributes(stimuli, results["objects"])
    pictures = options.thumbnails
    if pictures is None and stimuli is not None:
        pictures = _pictures(options.folder, stimuli)
    path = write_report(results, page, thumbnails=pictures)
    print_result(options, f"written: {path}", {"report": str(path)})
    return 0


def _fit(study: Path, folder: Path) -> int:
    """Make the map of a study, unless it is that of these very answers; return the status of `nearer fit`."""
    from nearer.cli import fit
    from nearer.study import read_results
    from nearer.survey.exporting import study_table

    with contextlib.suppress(ValueError):  # there is none, or none that can be read
        known = read_results(folder)
        if known["source"]["sha256"] == study_table(study).digest() and not known["interrupted"]:
            sys.stderr.write(f"nearer: {folder} is the map of these answers\n")
            return 0
    arguments = ["fit", str(study), "-o", str(folder)]
    sys.stderr.write(f"nearer: first the map: {shlex.join(['nearer', *arguments])}\n")
    parser = argparse.ArgumentParser()
    fit.add(parser.add_subparsers())
    options = parser.parse_args(arguments)
    options.arguments = arguments
    with contextlib.redirect_stdout(sys.stderr):  # the result is the page
        return fit.run(options)


def _attributes(stimuli: Stimuli, objects: list[str]) -> dict[str, Any]:
    """Return the further columns of objects.csv."""
    from nearer.study.attributes import numbers_or_words

    names = dict.fromkeys(name for values in stimuli.attributes.values() for name in values)
    rows = [stimuli.attributes.get(label, {}) for label in objects]
    return {name: numbers_or_words([row.get(name) or None for row in rows]) for name in names}


def _pictures(study: Path, stimuli: Stimuli) -> Path | None:
    """Return the folder of pictures, if objects are pictures that a report can hold."""
    from nearer.report.page import LARGEST_TOTAL
    from nearer.study.figures import ENDINGS
    from nearer.survey.stimuli import STIMULI_FOLDER

    files = [stimuli[label].file for label in stimuli.objects]
    sizes = [file.stat().st_size for file in files if file is not None and file.suffix.lower() in ENDINGS]
    if sum(sizes) > LARGEST_TOTAL:
        sys.stderr.write(
            f"nearer: the pictures take {sum(sizes) / 1e6:.0f} MB, and a page holds {LARGEST_TOTAL / 1e6:.0f} MB: it "
            "goes without them; name a folder of smaller ones with --thumbnails\n"
        )
        return None
    return study / STIMULI_FOLDER if sizes else None
