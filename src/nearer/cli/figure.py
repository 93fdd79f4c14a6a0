"""`nearer figure`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._common.formatting import percent, pluralize, quote_all
from nearer.cli.argtypes import axes_pair, dots, millimetres, pairs, points, word, words
from nearer.cli.arguments import Commands, add_command, add_folder, print_result

if TYPE_CHECKING:
    from nearer.plotting.directions import Arrow
    from nearer.plotting.papers import Paper
    from nearer.study.figures import Drawn

_ABOUT = """\
Draw a figure for a paper of what `nearer fit` found: the map, a heat map of its distances with a tree of clusters, or
how often answers agree with it (shepard). PDF, SVG or PNG by the ending; several -o write several files. No label lies
on another or on a dot, text stays text, and the file is as large as --size says and the same each time."""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "figure", "draw a figure for a paper", _ABOUT, command=run)
    add_folder(parser)
    parser.add_argument(
        "-o", "--out", dest="files", type=Path, action="append", metavar="FILE",
        help="the figure: .pdf, .svg or .png; may be given several times (DIR/KIND.pdf)",
    )  # fmt: skip
    parser.add_argument("--kind", choices=("map", "shepard", "heatmap"), default="map", help="what is drawn (map)")
    parser.add_argument("--title", default=None, help="written above")
    _add_look(parser)
    group = parser.add_argument_group("paper")
    group.add_argument(
        "--size", type=millimetres, default=(85.0, None), metavar="WxH",
        help="width and height in mm, such as 85x85; or the width alone (85, one column)",
    )  # fmt: skip
    group.add_argument("--font-size", type=points, default=7.0, metavar="PT", help="of all letters, in points (7)")
    group.add_argument("--font", type=word, default=None, metavar="NAME", help="of all letters (Arial or one like it)")
    group.add_argument("--dpi", type=dots, default=300, metavar="N", help="dots on an inch, in PNG and pictures (300)")


def _add_look(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("map")
    group.add_argument("--axes", type=axes_pair, default=(1, 2), metavar="I,J", help="which two axes (1,2)")
    group.add_argument(
        "--attributes",
        type=Path,
        default=None,
        metavar="FILE",
        help="CSV with a column of labels and one for each attribute",
    )
    group.add_argument(
        "--color-by",
        type=word,
        default=None,
        metavar="ATTRIBUTE",
        help="numbers get a scale of colours, words one each",
    )
    group.add_argument("--shape-by", type=word, default=None, metavar="ATTRIBUTE", help="at most eight words")
    group.add_argument(
        "--colors",
        type=pairs,
        default={},
        metavar="WORD=COLOR,...",
        help="of words, such as brass=#d55e00,strings=black",
    )
    group.add_argument(
        "--arrows", type=words, default=(), metavar="ATTRIBUTE,...",
        help="the directions in which these numbers grow, as long as the map explains them (see `nearer axes`)",
    )  # fmt: skip
    group.add_argument(
        "--images", type=Path, default=None, metavar="FOLDER", help="pictures named after the objects, in place of dots"
    )
    names = group.add_mutually_exclusive_group()
    names.add_argument("--labels", type=words, default=None, metavar="A,B,...", help="names of these objects only")
    names.add_argument("--no-labels", action="store_true", help="no names")
    group.add_argument(
        "--ellipses", choices=("auto", "filled", "outline", "none"), default="auto",
        help="where else objects may lie: outlines where they are many or large, unless you choose (auto)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.plotting.glyphs import font_of_papers
    from nearer.plotting.papers import Paper, check_endings, save_paper

    files = options.files or [options.folder / f"{options.kind}.pdf"]
    check_endings(files)
    width, height = options.size
    paper = Paper(width, height, options.font_size, options.font or font_of_papers(), options.title)
    drawn = _drawn(options, paper)
    written = save_paper(drawn.ax, *files, dpi=options.dpi)
    for note in _notes(options, drawn):
        sys.stderr.write(f"nearer: {note}\n")
    figure = drawn.ax.get_figure(root=True)
    assert figure is not None
    size = [round(float(side) * 25.4, 3) for side in figure.get_size_inches()]
    figures: dict[str, Any] = {
        "files": [str(file) for file in written],
        "kind": options.kind,
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
    from nearer.study.attributes import read_attributes
    from nearer.study.figures import Drawn, MapLook, draw_heatmap_for_paper, draw_map_for_paper

    results = read_results(options.folder)
    if options.kind == "shepard":
        return Drawn(plot_shepard(load_model(options.folder), paper=paper), [], 0.0)
    if options.attributes is not None:
        results["attributes"] = read_attributes(options.attributes, results["objects"])
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


def _arrows(results: dict[str, Any], names: Sequence[str], axes: tuple[int, int]) -> list[Arrow]:
    """Return the directions in which attributes grow on a map."""
    import numpy as np

    from nearer.comparing import fit_properties
    from nearer.plotting.directions import arrows_of
    from nearer.study.figures import attribute_of

    columns = {name: attribute_of(results, name) for name in names}
    fits = fit_properties(np.array(results["embedding"], dtype=np.float64), columns, n_permutations=999, random_state=0)
    still = {fit.name for fit in fits if fit.direction is None}
    for name in names:
        if name in still or name in fits.not_fitted:
            why = fits.not_fitted.get(name, "it has words, which grow in no direction")
            raise ValueError(f"there can be no arrow for {name!r}: {why}")
    return arrows_of(fits, axes)


def _notes(options: argparse.Namespace, drawn: Drawn) -> list[str]:
    """Return what a reader of the figure should know of it."""
    notes = []
    if drawn.left_out:
        notes.append(
            f"{pluralize(len(drawn.left_out), 'label finds', 'labels find')} no place and "
            f"{'is' if len(drawn.left_out) == 1 else 'are'} left out: {quote_all(drawn.left_out, 10)}; a larger "
            "--size, a "
            "smaller --font-size or fewer --labels make room"
        )
    if drawn.spread_elsewhere > 0:
        notes.append(
            f"axes {options.axes[0]} and {options.axes[1]} are drawn; the others hold "
            f"{percent(drawn.spread_elsewhere)} of the variance of the map"
        )
    return notes
