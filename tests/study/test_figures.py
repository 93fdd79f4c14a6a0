"""Figures of a run say what they show, as the page does."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from nearer.datasets import make_gaussian, sample_triplets
from nearer.io import read_answers
from nearer.plotting import PALETTE
from nearer.study import RunSettings, fit_study
from nearer.study.figures import _map, draw_curve, draw_map, draw_margins
from nearer.study.study import margins_histogram


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    rows = sample_triplets(make_gaussian(10, 3, random_state=0), 300, flipped=0.1, random_state=0).rows
    table = tmp_path_factory.mktemp("figures") / "answers.csv"
    table.write_text("\n".join(["anchor,near,far", *(",".join(map(str, row)) for row in rows)]))
    return fit_study(read_answers(table), RunSettings("SOE", 3, n_resamples=0))


def test_a_map_says_which_axes_it_leaves_out(study):
    (said,) = [text.get_text() for text in draw_map(study).texts if "axes" in text.get_text()]
    assert said.startswith("axes 1 and 2 of 3, ")
    assert said.endswith("% of the variance; axis 3 is not shown")
    flat = _map(study.model.embedding_[:, :2], list("abcdefghij"), None)
    assert not any("axes" in text.get_text() for text in flat.texts)


def test_dots_keep_their_size_when_objects_are_placed(study):
    labels = list("abcdefghij")
    before, after = (_map(study.model.embedding_, labels, None, n_new) for n_new in (0, 2))
    assert before.collections[0].get_sizes().tolist() == after.collections[0].get_sizes().tolist()


def test_margins_are_counted_and_coloured_as_on_the_page(study):
    ax, found = draw_margins(study), margins_histogram(study)
    assert [bar.get_height() for bar in ax.patches] == found["counts"].tolist()
    colours = [to_hex(bar.get_facecolor()) for bar in ax.patches]
    wrong = np.asarray(found["edges"])[1:] <= 1e-9
    assert colours == [PALETTE["DMOE"] if each else PALETTE["GNMDS"] for each in wrong]
    assert "beyond" in ax.get_title(loc="left")


def test_the_curve_says_what_its_band_and_its_axis_are(study):
    ax = draw_curve(study)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["95% interval"]
    assert "logarithmic" in ax.get_xlabel()
