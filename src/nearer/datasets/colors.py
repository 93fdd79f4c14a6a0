"""Named colors, with coordinates in a space where distance is close to perceived difference.

sRGB values become CIELAB in three steps: undo the gamma curve, mix the linear channels into XYZ with the
sRGB primaries, and compress XYZ relative to the white point D65 (IEC 61966-2-1 and CIE 15). The names cover
the whole solid: grays, browns, pinks, pale, vivid and dark colors, no two of them closer than 10 in CIELAB.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_HEX_CODES = {
    # greys
    "black": "000000", "charcoal": "2e2e2e", "dim gray": "555555", "gray": "808080", "silver": "b4b4b4",
    "light gray": "d6d6d6", "white": "ffffff",
    # reds and pinks
    "red": "ff0000", "crimson": "c8102e", "maroon": "800000", "burgundy": "4a0418", "brick": "b0413e",
    "coral": "ff7f50", "salmon": "fa9a8a", "dusty rose": "c08081", "pink": "ffc0cb", "hot pink": "ff69b4",
    "deep pink": "ff1493", "raspberry": "b3185f",
    # oranges and browns
    "orange": "ff8c00", "vermilion": "f04a1c", "rust": "a8480c", "copper": "b87333", "brown": "6b4423",
    "espresso": "3b2314", "tan": "d2b48c", "peach": "ffd0a8", "taupe": "8b7d6b",
    # yellows
    "yellow": "ffff00", "gold": "ffc800", "mustard": "c9a21a", "khaki": "f0e68c", "cream": "fff8d6",
    "olive": "808000",
    # greens
    "lime": "00ff00", "chartreuse": "a6f000", "moss": "5a6b2a", "sage": "a3b899", "mint": "a8f0c0",
    "forest": "1b6b2a", "dark green": "00340c", "emerald": "20b060", "sea green": "4f9a78", "grass": "6cb82c",
    "spring green": "00f58a",
    # cyans
    "cyan": "00ffff", "turquoise": "30c8c0", "teal": "007878", "petrol": "0a4a50", "ice": "d8f4f8",
    # blues
    "blue": "0000ff", "navy": "000070", "midnight": "14203c", "royal blue": "3a62e0", "sky blue": "7cc4f0",
    "azure": "0a90f0", "steel blue": "4a80a8", "slate": "5c6a7c", "powder blue": "b0c8e4",
    # purples
    "indigo": "4b0082", "purple": "8a1c9c", "violet": "8b40f0", "lavender": "d8ccf8", "orchid": "d070d8",
    "magenta": "ff00ff", "plum": "7c4a74", "mauve": "b49cc8", "aubergine": "301030",
}  # fmt: skip

# Rows X, Y, Z; columns the linear red, green and blue of the sRGB primaries.
_XYZ_FROM_RGB = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
# The white point as this matrix gives it, so that white is exactly neutral.
_WHITE_POINT = _XYZ_FROM_RGB.sum(axis=1)


@dataclass(frozen=True, eq=False)
class ColorSet:
    """Named colors.

    Attributes
    ----------
    names : ndarray of str, shape (n,)
    rgb : ndarray of shape (n, 3)
        sRGB, from 0 to 1.
    lab : ndarray of shape (n, 3)
        CIELAB for the white point D65: lightness L* from 0 to 100, green-red a*, blue-yellow b*.
    """

    names: NDArray[np.str_]
    rgb: NDArray[np.float64]
    lab: NDArray[np.float64]


def load_colors() -> ColorSet:
    """Return the bundled set of named colors; its arrays are read-only.

    Examples
    --------
    >>> colors = load_colors()
    >>> red = colors.names.tolist().index("red")
    >>> colors.rgb[red].tolist(), colors.lab[red].round(1).tolist()
    ([1.0, 0.0, 0.0], [53.2, 80.1, 67.2])
    """
    names = np.array(list(_HEX_CODES))
    rgb = np.array([list(bytes.fromhex(value)) for value in _HEX_CODES.values()]) / 255
    lab = lab_from_rgb(rgb)
    for array in (names, rgb, lab):
        array.flags.writeable = False
    return ColorSet(names, rgb, lab)


def lab_from_rgb(rgb: ArrayLike) -> NDArray[np.float64]:
    """Convert sRGB to CIELAB with the white point D65."""
    coded = np.asarray(rgb, dtype=np.float64)
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    relative = linear @ _XYZ_FROM_RGB.T / _WHITE_POINT
    # Below (6/29)^3 the cube root is replaced by its tangent, which keeps black at zero with a finite slope.
    step = 6 / 29
    x, y, z = np.moveaxis(np.where(relative > step**3, np.cbrt(relative), relative / (3 * step**2) + 4 / 29), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
