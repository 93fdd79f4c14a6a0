"""Files for papers: their size, text that is text, the same bytes each time, fonts with all letters."""

import re
import warnings

import numpy as np
import pytest
from matplotlib import rcParams
from PIL import Image

from nearer.plotting import Paper, plot_map, save_paper
from nearer.plotting.papers import fonts_for

POINTS = np.random.default_rng(0).normal(size=(6, 2))
NAMES = ["cat", "dog", "bird", "fish", "horse", "cow"]
UNKNOWN = "\U000f1234"  # of the private use area: no font has it


def drawn(**paper):
    return plot_map(POINTS, NAMES, color_by=("kind", ["a", "b", None] * 2), paper=Paper(**paper))


def test_files_are_as_large_as_asked_for(tmp_path):
    pdf, svg, png = save_paper(
        drawn(width=85, height=60), *(tmp_path / f"new/map.{end}" for end in ("pdf", "svg", "png"))
    )
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf.read_bytes())
    np.testing.assert_allclose([float(side) / 72 * 25.4 for side in box.groups()], [85, 60], atol=0.01)
    sides = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg.read_text())
    np.testing.assert_allclose([float(side) / 72 * 25.4 for side in sides.groups()], [85, 60], atol=0.01)
    with Image.open(png) as image:
        np.testing.assert_allclose(np.array(image.size) / 300 * 25.4, [85, 60], atol=0.1)
        np.testing.assert_allclose(image.info["dpi"], 300, atol=0.1)


def test_text_is_text(tmp_path):
    pdf, svg = save_paper(drawn(), tmp_path / "map.pdf", tmp_path / "map.svg")
    written = svg.read_text()
    assert all(f">{name}</text>" in written for name in NAMES)
    assert "font: 7px" in written or "font-size: 7px" in written
    assert b"/TrueType" in pdf.read_bytes() or b"/CIDFontType2" in pdf.read_bytes()
    assert b"/Type3" not in pdf.read_bytes()


def test_files_are_the_same_each_time_and_settings_stay_as_they_are(tmp_path):
    before = dict(rcParams)
    for run in ("one", "two"):
        save_paper(drawn(), *(tmp_path / run / f"map.{end}" for end in ("pdf", "svg", "png")))
    assert dict(rcParams) == before
    for end in ("pdf", "svg", "png"):
        assert (tmp_path / "one" / f"map.{end}").read_bytes() == (tmp_path / "two" / f"map.{end}").read_bytes()


def test_other_endings_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"map\.jpg: figures are written as"):
        save_paper(drawn(), tmp_path / "map.pdf", tmp_path / "map.jpg")
    assert list(tmp_path.iterdir()) == []


def test_letters_that_no_font_has_are_reported_once_with_their_labels():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plot_map(POINTS, [*NAMES[:5], f"sign {UNKNOWN}"], paper=Paper(font="DejaVu Sans")).figure.canvas.draw_idle()
    (warning,) = [str(each.message) for each in caught]
    assert "1 label" in warning
    assert "U+F1234" in warning
    assert "no font of this machine" in warning


def test_another_font_is_taken_for_letters_that_the_first_lacks():
    with pytest.warns(UserWarning, match=r"'\u2603 snow'.*they are set in DejaVu Sans"):
        fonts = fonts_for(["cat", "\u2603 snow"], "STIXGeneral")
    assert fonts == ["STIXGeneral", "DejaVu Sans"]


def test_a_font_that_is_not_here_is_refused():
    with pytest.raises(ValueError, match=r"no font 'DejaVu Sansa'.*DejaVu Sans"):
        fonts_for(["cat"], "DejaVu Sansa")
    assert fonts_for(["cat"], "dejavu sans") == ["DejaVu Sans"]
