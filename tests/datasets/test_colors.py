import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from nearer.datasets import load_colors
from nearer.datasets.colors import lab_from_rgb


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        ((1, 1, 1), (100, 0, 0)),
        ((0, 0, 0), (0, 0, 0)),
        ((1, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 1, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 1), (32.30, 79.19, -107.86)),
        ((1, 1, 0), (97.14, -21.55, 94.48)),
        ((0, 1, 1), (91.11, -48.09, -14.13)),
        ((1, 0, 1), (60.32, 98.23, -60.82)),
        ((128 / 255, 128 / 255, 128 / 255), (53.59, 0, 0)),
    ],
)
def test_published_values_of_cielab(rgb, lab):
    np.testing.assert_allclose(lab_from_rgb(rgb), lab, atol=0.02)


def test_greys_are_neutral_and_lightness_grows_with_them():
    levels = np.linspace(0, 1, 256)
    lab = lab_from_rgb(np.repeat(levels[:, None], 3, axis=1))
    np.testing.assert_allclose(lab[:, 1:], 0, atol=1e-10)
    assert (np.diff(lab[:, 0]) > 0).all()


def test_both_gamma_branches_meet():
    below, above = lab_from_rgb(np.full((2, 3), [[0.04045], [0.0404500001]]))
    np.testing.assert_allclose(below, above, atol=1e-4)


def test_colors_are_distinct_named_dark_and_light():
    colors = load_colors()
    n = len(colors.names)
    assert 55 <= n <= 75
    assert len(set(colors.names.tolist())) == n
    assert colors.rgb.shape == colors.lab.shape == (n, 3)
    assert colors.rgb.min() == 0
    assert colors.rgb.max() == 1
    assert pdist(colors.lab).min() > 10
    lightness, green_red, blue_yellow = colors.lab.T
    assert (lightness < 25).sum() >= 5
    assert (lightness > 85).sum() >= 5
    assert (np.hypot(green_red, blue_yellow) < 1).sum() >= 5


def test_every_displayable_color_has_a_name_near_it():
    levels = np.linspace(0, 1, 12)
    displayable = lab_from_rgb(np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 3))
    gap = cdist(displayable, load_colors().lab).min(axis=1)
    # The solid is more than 250 across.
    assert gap.max() < 35
    assert np.median(gap) < 17


def test_arrays_are_read_only():
    colors = load_colors()
    with pytest.raises(ValueError, match="read-only"):
        colors.lab[0] = 0
