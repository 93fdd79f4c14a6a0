"""Figures: maps, margin distributions, the loss, errors over trials.

Every function takes ``ax=None`` and returns the Axes it drew on; without one it makes a figure of its own, to be saved
with ``ax.figure.savefig("map.png")``. Nothing is ever shown, and no global state of matplotlib is touched.
"""

from nearer.plotting.fits import plot_errors, plot_loss, plot_margins, plot_path, plot_reliability
from nearer.plotting.maps import plot_map
from nearer.plotting.style import FAINT, INK, PALETTE, new_figure, plain, save_figure

__all__ = [
    "FAINT",
    "INK",
    "PALETTE",
    "new_figure",
    "plain",
    "plot_errors",
    "plot_loss",
    "plot_map",
    "plot_margins",
    "plot_path",
    "plot_reliability",
    "save_figure",
]
