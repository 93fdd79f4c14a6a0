"""The look of all figures: colors, an empty figure, plain axes, a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nearer._common.files import atomic_path

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#2b2b2b", "#9a9a9a"
PALETTE = {
    "DMOE": "#b5403a",
    "GNMDS": "#3d6a8a",
    "STE": "#5f8f7a",
    "TSTE": "#8a7aa8",
    "SOE": "#c28a2e",
    "CKL": "#7a5c4a",
}
ACCENT, SECOND = PALETTE["DMOE"], PALETTE["GNMDS"]


def new_figure(width: float, height: float, *, constrained: bool = True) -> Figure:
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained" if constrained else None)


def despine(ax: Axes) -> Axes:
    """Remove the top and right spines of axes, and make the others pale."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=9)
    return ax


def save_figure(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of axes into a file, in the format of its ending."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes without a figure draw nothing"
    try:
        with atomic_path(Path(path)) as part:
            figure.savefig(part, dpi=150)
    except ValueError as error:  # of matplotlib, on an ending it does not know
        raise ValueError(f"{path}: {error}") from error
