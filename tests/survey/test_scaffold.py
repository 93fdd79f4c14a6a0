"""New studies: nothing is overwritten, and the study of colours is ready to run."""

import re

import numpy as np
import pytest

from nearer.datasets import load_colors
from nearer.survey.checking import check_study
from nearer.survey.scaffold import N_COLORS, demo_study, farthest_points, new_study
from nearer.survey.settings import Settings, read_settings
from nearer.survey.stimuli import gather_stimuli, read_stimuli


def test_a_new_study_has_the_defaults_and_no_objects(tmp_path):
    folder = new_study(tmp_path / "studies" / "birds")
    assert folder == tmp_path / "studies" / "birds"
    assert read_settings(folder / "study.toml") == Settings()
    stimuli, problems = gather_stimuli(folder)
    assert (len(stimuli), problems) == (0, [])
    assert "cat.png" in (folder / "stimuli" / "README.txt").read_text()
    assert [problem.file for problem in check_study(folder) if problem.severity == "error"] == ["stimuli"]


@pytest.mark.parametrize("make", [new_study, demo_study])
def test_nothing_is_overwritten(make, tmp_path):
    (tmp_path / "study.toml").write_text("mine")
    with pytest.raises(ValueError, match="is not empty"):
        make(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        make(tmp_path / "study.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
    assert (tmp_path / "study.toml").read_text() == "mine"


def test_an_empty_folder_will_do(tmp_path):
    assert new_study(tmp_path) == tmp_path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return demo_study(tmp_path_factory.mktemp("demo"))


class TestDemo:
    def test_nothing_is_wrong_with_it(self, folder):
        assert check_study(folder) == []

    def test_it_is_short_and_asks_about_pictures_without_names(self, folder):
        assert read_settings(folder).per_person == 20
        shown = read_stimuli(folder).values()
        assert {(each.kind, each.caption) for each in shown} == {("image", "")}
        assert len(shown) == N_COLORS

    def test_each_square_has_the_colour_of_its_name(self, folder):
        colors = load_colors()
        rgb = dict(zip(colors.names.tolist(), colors.rgb, strict=True))
        for label, stimulus in read_stimuli(folder).items():
            (fill,) = re.findall(r'fill="#(\w{6})"', stimulus.file.read_text())
            np.testing.assert_allclose(np.frombuffer(bytes.fromhex(fill), np.uint8) / 255, rgb[label])

    def test_colours_lie_farther_apart_than_those_drawn_by_lot(self):
        lab, rng = load_colors().lab, np.random.default_rng(0)

        def closest(chosen):
            away = np.linalg.norm(lab[chosen][:, None] - lab[chosen][None], axis=2)
            return away[np.triu_indices(len(chosen), 1)].min()

        by_lot = [closest(rng.choice(len(lab), N_COLORS, replace=False)) for _ in range(100)]
        assert closest(farthest_points(lab, N_COLORS)) > 1.5 * max(by_lot)


def test_no_point_is_taken_twice():
    points = np.random.default_rng(0).normal(size=(5, 2))
    assert sorted(farthest_points(points, 9)) == [0, 1, 2, 3, 4]
