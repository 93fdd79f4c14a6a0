"""What a run says that it is doing is what it does."""

from dataclasses import replace

import pytest

from nearer.datasets import make_gaussian, sample_triplets
from nearer.io import read_answers
from nearer.study import RunSettings, fit_study
from nearer.study import study as study_module


@pytest.fixture
def answers(tmp_path):
    def write(people):
        rows = sample_triplets(make_gaussian(8, 2, random_state=0), 60, random_state=0).rows
        lines = [",".join([*map(str, row), f"p{k % 3}"][: 4 if people else 3]) for k, row in enumerate(rows)]
        (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far" + ",person" * people, *lines]))
        return read_answers(tmp_path / "answers.csv")

    return write


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("settings", [{"quick": True}, {"n_resamples": 0}, {"n_resamples": 10}])
def test_only_what_is_done_is_announced(answers, settings, people, monkeypatch):
    done, told = [], []
    parts = [
        replace(part, compute=lambda study, seed, words=part.title: done.append(words))
        for part in study_module.ANALYSES
    ]
    monkeypatch.setattr(study_module, "ANALYSES", parts)
    fit_study(answers(people), RunSettings("STE", 2, **settings), log_step=told.append)
    assert told == ["map", *done]
    assert done[:3] == ["held-out error", "noise ceiling", "findings"]
    assert ("ellipses" in done) == (settings.get("n_resamples", 100) > 0 and not settings.get("quick"))
    assert ("reliability of annotators" in done) == (people and not settings.get("quick"))
    assert ("learning curve" in done) == (not settings.get("quick"))


def test_every_part_has_a_seed_of_its_own_that_never_changes():
    numbers = {part.name: part.seed_number for part in study_module.ANALYSES}
    assert numbers == {
        "error": 2, "ceiling": 3, "findings": 4, "places": 5, "annotators": 6, "curve": 7, "distances": 8, "people": 9,
    }  # fmt: skip
