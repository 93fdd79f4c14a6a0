"""`nearer report` and `nearer figure`: a map for readers."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._common.formatting import percent, pluralize, quote_all
from nearer.cli.argtypes import axes_pair, dots, millimetres, pairs, points, positive, word, words
from nearer.cli.arguments import Commands, add_command, add_folder, is_study, log_note, print_result

if TYPE_CHECKING:
    from nearer.plotting.maps import Arrow
    from nearer.plotting.papers import Paper
    from nearer.study import StudyResults
    from nearer.study.figures import Drawn
    from nearer.survey.stimuli import Stimuli

_REPORT = """\
Make one self-contained HTML page of what `nearer fit` found: an interactive map, how far to trust it, findings about
the answers, neighbors, margins, learning curve, annotators, and how to cite. It needs no network and can be mailed.

For the folder of a study of `nearer survey`, the map of the answers so far is made first, as by `nearer fit STUDY -o
STUDY/map`, unless it is there already; pictures and the further columns of objects.csv are shown with it."""
_FIGURE = """\
Draw a figure for a paper of what `nearer fit` found: the map, a heat map of its distances with a tree of clusters, or
how often answers agree with it (shepard). Of nonnegative dimensions (`nearer fit --method SPoSE`), a card for each with
its top objects (--dimensions), or what some objects consist of (--profiles). PDF, SVG or PNG by the ending; several -o
write several files. No label lies on another or on a dot, text stays text, and the file is as large as --size says and
the same each time."""
_MAP = "map"  # folder of the map in that of a study
_ATTRIBUTES = "CSV with a column of labels and one for each attribute"


def add(commands: Commands) -> None:
    """Add the commands."""
    report = add_command(commands, "report", "make a page of a map to look at and to send", _REPORT, command=_report)
    report.add_argument("folder", type=Path, metavar="DIR", help="folder that `nearer fit` wrote, or that of a study")
    report.add_argument("-o", "--out", type=Path, metavar="FILE", help="the page (default: DIR/report.html)")
    report.add_argument("--title", help="title of the page")
    report.add_argument("--attributes", type=Path, metavar="FILE", help=f"{_ATTRIBUTES}, to color the map by")
    report.add_argument(
        "--dimension-names", type=Path, metavar="FILE",
        help="names of dimensions, as the page saves them or as edited: they are kept in DIR",
    )  # fmt: skip
    report.add_argument("--thumbnails", type=Path, metavar="FOLDER", help="pictures named after the objects")
    figure = add_command(commands, "figure", "draw a figure for a paper", _FIGURE, command=_figure)
    add_folder(figure)
    figure.add_argument(
        "-o", "--out", dest="files", type=Path, action="append", metavar="FILE",
        help="the figure: .pdf, .svg or .png; may be given several times (default: DIR/KIND.pdf)",
    )  # fmt: skip
    figure.add_argument(
        "--kind", choices=("map", "shepard", "heatmap"), default="map", help="what is drawn (default: map)"
    )
    figure.add_argument("--title", help="title above the figure")
    sparse = figure.add_argument_group("dimensions")
    chosen = sparse.add_mutually_exclusive_group()
    chosen.add_argument("--dimensions", action="store_true", help="a card for each reproducible dimension")
    chosen.add_argument("--profiles", type=words, metavar="A,B,...", help="the dimensions of these objects")
    sparse.add_argument(
        "--top", type=positive, metavar="N",
        help="objects on the card of a dimension (default: 8, or 6 with --images), or dimensions of an object (10)",
    )  # fmt: skip
    _add_look(figure.add_argument_group("map"))
    group = figure.add_argument_group("paper")
    group.add_argument(
        "--size", type=millimetres, default=(85.0, None), metavar="WxH",
        help="width and height in mm, such as 85x85; or the width alone (default: 85, one column)",
    )  # fmt: skip
    group.add_argument(
        "--font-size", type=points, default=7.0, metavar="PT", help="size of all text in points (default: 7)"
    )
    group.add_argument("--font", type=word, metavar="NAME", help="font of all text (default: Arial or a similar one)")
    group.add_argument(
        "--dpi", type=dots, default=300, metavar="N", help="dots per inch of PNG files and pictures (default: 300)"
    )


def _add_look(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--axes", type=axes_pair, default=(1, 2), metavar="I,J", help="the two axes that are drawn (default: 1,2)"
    )
    group.add_argument("--attributes", type=Path, metavar="FILE", help=_ATTRIBUTES)
    group.add_argument(
        "--color-by", type=word, metavar="ATTRIBUTE", help="color objects: a color scale for numbers, a color a word"
    )
    group.add_argument("--shape-by", type=word, metavar="ATTRIBUTE", help="a marker for each of at most eight words")
    group.add_argument(
        "--colors", type=pairs, default={}, metavar="WORD=COLOR,...",
        help="colors of words, such as brass=#d55e00,strings=black",
    )  # fmt: skip
    group.add_argument(
        "--arrows", type=words, default=(), metavar="ATTRIBUTE,...",
        help="the directions in which these numbers grow, as long as the map explains them (see `nearer axes`)",
    )  # fmt: skip
    group.add_argument(
        "--images", type=Path, metavar="FOLDER", help="pictures named after the objects, in place of dots"
    )
    names = group.add_mutually_exclusive_group()
    names.add_argument("--labels", type=words, metavar="A,B,...", help="label these objects only")
    names.add_argument("--no-labels", action="store_true", help="draw no labels")
    group.add_argument(
        "--ellipses", choices=("auto", "filled", "outline", "none"), default="auto",
        help="regions in which objects may lie (default: auto, outlines where they are many or large)",
    )  # fmt: skip


def _report(options: argparse.Namespace) -> int:
    from nearer.report import write_report
    from nearer.study import read_results
    from nearer.study.dimensions import read_names
    from nearer.study.figures import read_attributes
    from nearer.study.folder import refuse_output, write_dimensions

    folder, stimuli = options.folder, None
    if is_study(options.folder):
        from nearer.survey.stimuli import gather_stimuli

        folder = options.folder / _MAP
        stimuli, problems = gather_stimuli(options.folder)
        for problem in problems:
            if problem.severity == "error":
                log_note(f"the page goes without {options.folder / problem.file}: {problem.message}")
        status = _fit_survey(options.folder, folder)
        if status:
            return status
    results = read_results(folder)
    page = options.out or folder / "report.html"
    refuse_output(page, folder, [options.attributes])
    if page.suffix.lower() not in (".html", ".htm"):  # such as the file of answers, named by mistake
        raise ValueError(f"{page}: a page is written as .html; give the file this ending")
    if options.dimension_names is not None:
        if results.weights is None:
            raise ValueError(f"{folder} has no dimensions to name; fit them with --method SPoSE")
        results = results.with_names(read_names(options.dimension_names, results.n_components))
        write_dimensions(results, folder)
    if options.title is not None:
        results = replace(results, title=options.title)
    if options.attributes is not None:
        results = replace(results, attributes=read_attributes(options.attributes, results.objects))
    elif stimuli is not None:
        results = replace(results, attributes=_attributes_of(stimuli, results.objects))
    pictures = options.thumbnails
    if pictures is None and stimuli is not None:
        pictures = _pictures_of(options.folder, stimuli)
    path = write_report(results, page, thumbnails=pictures)
    print_result(options, f"written: {path}", {"report": str(path)})
    return 0


def _fit_survey(study: Path, folder: Path) -> int:
    """Make the map of a survey, unless it is that of these very answers; return the status of `nearer fit`."""
    from nearer.cli import fit
    from nearer.io.features import read_feature_files
    from nearer.study import read_results
    from nearer.survey.exporting import study_table

    with contextlib.suppress(ValueError):  # there is none, or none that can be read
        known = read_results(folder)
        table = study_table(study)
        used = [each.sha256 for each in known.features or ()]
        has_same_features = used == [each.sha256 for each in read_feature_files(table.feature_files)]
        if has_same_features and known.source.sha256 == table.digest() and not known.interrupted:
            log_note(f"{folder} is the map of these answers")
            return 0
    arguments = ["fit", str(study), "-o", str(folder)]
    log_note(f"first the map: {shlex.join(['nearer', *arguments])}")
    parser = argparse.ArgumentParser()
    fit.add(parser.add_subparsers())
    options = parser.parse_args(arguments)
    options.arguments = arguments
    with contextlib.redirect_stdout(sys.stderr):  # the result is the page
        status: int = options.command(options)
        return status


def _attributes_of(stimuli: Stimuli, objects: Sequence[str]) -> dict[str, Any]:
    """Return the further columns of objects.csv."""
    from nearer.study.figures import numbers_or_words

    names = dict.fromkeys(name for each in stimuli.values() for name in each.attributes)
    rows = [stimuli[label].attributes if label in stimuli else {} for label in objects]
    return {name: numbers_or_words([row.get(name) or None for row in rows]) for name in names}


def _pictures_of(study: Path, stimuli: Stimuli) -> Path | None:
    """Return the folder of pictures, if objects are pictures that a report can hold."""
    from nearer.report.page import MAX_PICTURE_BYTES
    from nearer.study.figures import ENDINGS
    from nearer.survey.stimuli import STIMULI_FOLDER

    files = [each.file for each in stimuli.values()]
    sizes = [file.stat().st_size for file in files if file is not None and file.suffix.lower() in ENDINGS]
    if sum(sizes) > MAX_PICTURE_BYTES:
        log_note(
            f"the pictures take {sum(sizes) / 1e6:.0f} MB, and a page holds {MAX_PICTURE_BYTES / 1e6:.0f} MB: it "
            "goes without them; name a folder of smaller ones with --thumbnails"
        )
        return None
    return study / STIMULI_FOLDER if sizes else None


def _figure(options: argparse.Namespace) -> int:
    from nearer.plotting.papers import Paper, check_endings, paper_font, save_paper

    kind = "dimensions" if options.dimensions else "profiles" if options.profiles else options.kind
    files = options.files or [options.folder / f"{kind}.pdf"]
    check_endings(files)
    width, height = options.size
    paper = Paper(width, height, options.font_size, options.font or paper_font(), options.title)
    drawn = _drawn(options, paper)
    written = save_paper(drawn.ax, *files, dpi=options.dpi)
    if drawn.left_out:
        log_note(
            f"{pluralize(len(drawn.left_out), 'label finds', 'labels find')} no place and "
            f"{'is' if len(drawn.left_out) == 1 else 'are'} left out: {quote_all(drawn.left_out, 10)}; a larger "
            "--size, a smaller --font-size or fewer --labels make room"
        )
    if drawn.spread_elsewhere > 0:
        log_note(
            f"axes {options.axes[0]} and {options.axes[1]} are drawn; the others hold "
            f"{percent(drawn.spread_elsewhere)} of the variance of the map"
        )
    figure = drawn.ax.get_figure(root=True)
    assert figure is not None
    size = [round(float(side) * 25.4, 3) for side in figure.get_size_inches()]
    figures: dict[str, Any] = {
        "files": [str(file) for file in written],
        "kind": kind,
        "width_mm": size[0],
        "height_mm": size[1],
        "font": paper.font,
        "labels_left_out": drawn.left_out,
        "spread_elsewhere": drawn.spread_elsewhere,
    }
    print_result(options, f"written, {size[0]:g} x {size[1]:.4g} mm: {', '.join(map(str, written))}", figures)
    return 0


def _drawn(options: argparse.Namespace, paper: Paper) -> Drawn:
    """Draw what was asked for."""
    from nearer.embedding.storage import load_model
    from nearer.plotting import plot_shepard
    from nearer.study import read_results
    from nearer.study.figures import (
        Drawn,
        MapLook,
        draw_cards,
        draw_heatmap_for_paper,
        draw_map_for_paper,
        draw_profiles,
        draw_shepard,
        read_attributes,
    )

    results = read_results(options.folder)
    if options.kind == "shepard" and results.dissimilarities is not None:
        return Drawn(draw_shepard(results, paper), [], 0.0)
    if options.kind == "shepard":
        return Drawn(plot_shepard(load_model(options.folder), paper=paper), [], 0.0)
    if options.dimensions:
        return Drawn(draw_cards(results, options.images, options.top, paper), [], 0.0)
    if options.profiles:
        return Drawn(draw_profiles(results, options.profiles, options.top, paper), [], 0.0)
    if options.attributes is not None:
        results = replace(results, attributes=read_attributes(options.attributes, results.objects))
    axes = options.axes[0] - 1, options.axes[1] - 1
    look = MapLook(
        axes=axes,
        color_by=options.color_by,
        shape_by=options.shape_by,
        palette=options.colors,
        labels=() if options.no_labels else options.labels,
        images=options.images,
        ellipses=options.ellipses,
        arrows=_arrows(results, options.arrows, axes),
    )
    draw = draw_map_for_paper if options.kind == "map" else draw_heatmap_for_paper
    return draw(results, look, paper)


def _arrows(results: StudyResults, names: Sequence[str], axes: tuple[int, int]) -> list[Arrow]:
    """Return the directions in which attributes grow on a map."""
    from nearer.comparing import fit_properties
    from nearer.plotting.maps import property_arrows
    from nearer.study.figures import attribute_of

    columns = {name: attribute_of(results, name) for name in names}
    fits = fit_properties(results.embedding, columns, n_permutations=999, random_state=0)
    constant = {fit.name for fit in fits if fit.direction is None}
    for name in names:
        if name in constant or name in fits.not_fitted:
            why = fits.not_fitted.get(name, "it has words, which grow in no direction")
            raise ValueError(f"there can be no arrow for {name!r}: {why}")
    return property_arrows(fits, axes)
