"""Figures: maps, trees, heat maps, margins, the loss behind them, a search, calibration, errors over trials.

Every ``plot_`` function takes ``ax=None`` and returns the Axes it drew on; without one it makes a figure of its own,
for `save_figure`, or `save_paper` where it goes into a paper. Nothing is ever shown, and no global state of matplotlib
is touched.
"""

from nearer._common.figures import FAINT, INK, PALETTE, despine, new_figure, save_figure
from nearer.plotting.dimensions import plot_dimensions, plot_profiles
from nearer.plotting.fits import (
    Agreement,
    agreement,
    plot_errors,
    plot_loss,
    plot_margins,
    plot_path,
    plot_reliability,
    plot_shepard,
)
from nearer.plotting.maps import plot_arrows, plot_map, plot_properties
from nearer.plotting.papers import Paper, save_paper
from nearer.plotting.rows import plot_dendrogram, plot_heatmap, plot_line, plot_weights

__all__ = [
    "FAINT",
    "INK",
    "PALETTE",
    "Agreement",
    "Paper",
    "agreement",
    "despine",
    "new_figure",
    "plot_arrows",
    "plot_dendrogram",
    "plot_dimensions",
    "plot_errors",
    "plot_heatmap",
    "plot_line",
    "plot_loss",
    "plot_map",
    "plot_margins",
    "plot_path",
    "plot_profiles",
    "plot_properties",
    "plot_reliability",
    "plot_shepard",
    "plot_weights",
    "save_figure",
    "save_paper",
]
