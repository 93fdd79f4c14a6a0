"""A demonstration: a map of colors from noisy judgments, and how well it predicts judgments it has not seen.

The judgments are simulated: "is a more like b or like c?" is answered by distances in CIELAB, a space made so that
distance is close to perceived difference, and close calls are often answered wrongly. The map is learned from the
answers alone, and its dots are colored afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer._common.results import Result
from nearer.datasets import ColorSet, load_colors, sample_triplets
from nearer.embedding import DMOE
from nearer.evaluation.metrics import comparison_error
from nearer.geometry import align
from nearer.plotting import FAINT, INK, new_figure, plot_map

N_JUDGMENTS = 3000
HELD_OUT = 0.2
# With distances in units of 50 (black and white are 2 apart) this slope makes one answer in nine wrong.
UNIT, SLOPE = 50.0, 2.0
FILE_NAME = "colors.png"


@dataclass(frozen=True)
class DemoResult(Result):
    """What the demonstration found; errors are of held-out judgments, ties counted half."""

    n_objects: int
    n_train: int
    n_held_out: int
    error_gram: float
    error_map: float  # of what is drawn
    error_truth: float  # the share of wrong answers, which no method can get below but by luck
    path: str

    def summary(self) -> str:
        """Return the result as text."""
        return f"""\
{self.n_train + self.n_held_out} simulated judgments about {self.n_objects} colors: "a is more like b than like c".
Learned from {self.n_train} of them. Error on the other {self.n_held_out}:

    guessing                 0.500
    the two-dimensional map  {self.error_map:.3f}
    the whole solution       {self.error_gram:.3f}   (all dimensions; what predict uses)
    the true colors          {self.error_truth:.3f}   (the share of wrong answers: the floor)

The map is in {self.path}: every dot has its own color, but the positions were learned from the judgments alone."""


def run_demo(folder: Path, seed: int = 0) -> DemoResult:
    """Simulate judgments, learn a map, judge it and draw it into ``colors.png`` in a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    colors = load_colors()
    judgments = sample_triplets(colors.lab / UNIT, N_JUDGMENTS, logistic_slope=SLOPE, random_state=seed)
    train, test = judgments.split(HELD_OUT, random_state=seed)
    model = DMOE(n_components=2).fit(train)
    result = DemoResult(
        n_objects=train.n_objects,
        n_train=len(train),
        n_held_out=len(test),
        error_gram=1 - model.score(test),
        error_map=comparison_error(test, model.embedding_),
        error_truth=comparison_error(test, colors.lab),
        path=str(folder / FILE_NAME),
    )
    draw_map(colors, model.embedding_, result)
    return result


def draw_map(colors: ColorSet, embedding: NDArray[np.float64], result: DemoResult) -> None:
    """Draw the map, rotated so that red is to the right and yellow at the top, as on a color wheel."""
    figure = new_figure(9, 9, constrained=False)
    figure.set_facecolor("#f7f5f0")  # paper that is not quite white, for the sake of the white dot
    ax = figure.add_axes((0.01, 0.01, 0.98, 0.89))
    plot_map(align(embedding, colors.lab[:, 1:], scaling=False, moving=False), colors.names, colors.rgb, ax)
    figure.text(0.03, 0.955, "A map of colors from comparisons alone", fontsize=17, color=INK)
    figure.text(
        0.03, 0.925, f"{result.n_train} judgments of the kind “a is more like b than like c”, "
        "about one in nine of them wrong", fontsize=10.5, color=FAINT,
    )  # fmt: skip
    figure.savefig(result.path, dpi=160)
