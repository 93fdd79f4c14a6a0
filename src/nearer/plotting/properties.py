"""Attributes on a map: an arrow for each, in the direction in which it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from nearer.plotting.directions import arrows_of
from nearer.plotting.maps import plot_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_properties(
    embedding: ArrayLike,
    fits: Sequence[Any],
    labels: Sequence[str] | NDArray[Any] | None = None,
    ax: Axes | None = None,
    **map_options: Any,
) -> Axes:
    """Draw a map with an arrow for each attribute of numbers.

    An arrow has the direction in which its attribute grows, and its length goes by R2. What of it lies along further
    axes of the map is not seen. Arrows of attributes whose p-value (Holm) is 0.05 or more are dashed and pale.

    Parameters
    ----------
    embedding : array-like, shape (n, p)
        The first two columns are drawn.
    fits : sequence of PropertyFit
        As `nearer.comparing.fit_properties` returns them. Those of words have no direction and are not drawn.
    labels : sequence of str, length n, optional
        Of objects.
    ax : Axes, optional
    **map_options
        For `plot_map`, such as ``colors`` and ``ellipses``.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.comparing import fit_properties
    >>> places = np.random.default_rng(0).normal(size=(20, 2))
    >>> fits = fit_properties(places, {"size": places @ [1.0, 2.0]}, random_state=0)
    >>> [text.get_text() for text in plot_properties(places, fits).texts if text.get_text()]
    ['size']
    """
    return plot_map(embedding, labels, ax=ax, arrows=arrows_of(fits), **map_options)
