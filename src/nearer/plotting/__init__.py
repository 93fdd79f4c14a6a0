"""Figures: maps, trees, margins, the loss behind them, a search, calibration, errors over trials.

Every ``plot_`` function takes ``ax=None`` and returns the Axes it drew on; without one it makes a figure of its own,
for `save_figure`. Nothing is ever shown, and no global state of matplotlib is touched.
"""

from nearer.plotting.arrows import plot_arrows
from nearer.plotting.fits import plot_errors, plot_loss, plot_margins, plot_path, plot_reliability
from nearer.plotting.maps import plot_map
from nearer.plotting.style import FAINT, INK, PALETTE, new_figure, plain, save_figure
from nearer.plotting.trees import plot_dendrogram

__all__ = [
    "FAINT",
    "INK",
    "PALETTE",
    "new_figure",
    "plain",
    "plot_arrows",
    "plot_dendrogram",
    "plot_errors",
    "plot_loss",
    "plot_map",
    "plot_margins",
    "plot_path",
    "plot_reliability",
    "save_figure",
]
